"""Confidence sequences for a mean of bounded values: valid at every moment, also while the mean drifts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mistakebound._support.arguments import Interval, require
from mistakebound.errors import StreamError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mistakebound._support.arrays import FloatArray

LEVELS = np.arange(-4, 22)
RATES = 3.0 * 2.0**-LEVELS
"""λ of each martingale, in units of 1/scale: some for a handful of rounds, some for thousands of millions."""
WEIGHTS = 1 / ((np.abs(LEVELS) + 1) * (np.abs(LEVELS) + 2))
LOG_WEIGHTS = np.log(WEIGHTS / WEIGHTS.sum())
ANY = Interval(infinite=True)
LARGEST = 1e60
SCALE = Interval(least=1e-60, most=2 * LARGEST)
"""Sizes of the numbers. Squares of their quotients, summed over any number of rounds, are floats."""
AT_ONCE = 4096
"""Rounds that are computed together: enough to be quick, few enough to stay small."""


class Bounds(NamedTuple):
    """After each round, lower and upper bound on the mean of the conditional expectations so far."""

    lower: FloatArray
    upper: FloatArray


class ConfidenceSequence:
    r"""Bounds on ``Δ_t = (δ_1 + ... + δ_t)/t``, δ_i what d_i was expected to be, that hold at every t at once.

    Values d_1, d_2, ... come one at a time, from anywhere: they need not be independent nor have the same distribution,
    and may depend on all that came before. Before round i it is known that ``l_i ≤ d_i ≤ h_i``, and a guess γ_i in
    that range is made; ``δ_i = E[d_i | what was known before d_i]``. Then

        P(lower_t ≤ Δ_t ≤ upper_t for every t ≥ 1) ≥ 1 − α,

    so that one may look after every round, and stop whenever one likes. Since Δ_t is another number in every round, the
    intervals of several rounds must not be intersected.

    See docs/theory.md, "Confidence sequences".

    Parameters
    ----------
    alpha : float
        Probability that the bounds fail in any round.
    low, high : float
        All values lie between them. A round may pass a narrower range, see ``learn_one``. Each may be infinite; finite
        limits must be at most 1e60 in absolute value, because the bounds use squares of ``high − low``.
    scale : float, optional
        The size of values for which the bounds are tightest; they hold for any scale from 1e-60 to 2e60. Default:
        ``high − low``; required if that is infinite.

    Notes
    -----
    *One round.* Let λ ≥ 0, ``c = γ − l`` and ``ψ(x) = −ln(1−x) − x``. Then ``E[exp(λ(d−δ) − a)] ≤ 1`` for

    - ``a = λ²(h−l)²/8`` (Hoeffding 1963, lemma 1);
    - ``a = ψ(λc)·(d−γ)²/c²``, if λc < 1 (and ``λ²(d−γ)²/2`` if c = 0): by Fan, Grama and Liu (2015),
      ``exp(λξ − ψ(λ)ξ²) ≤ 1 + λξ`` for ξ ≥ −1 and 0 ≤ λ < 1. Put ``ξ = (d−γ)/c`` and λc for λ, take expectations, and
      ``1 + λ(δ−γ) ≤ exp(λ(δ−γ))`` (Howard, Ramdas, McAuliffe and Sekhon 2021, theorem 4).

    The second one is the smaller where the guess is good and values near an end of their range are rare. Which of them
    a round takes is settled before d is seen: the one that would be smaller if d were only l or h, with mean γ.

    *All rounds.* With A_k the sum of the a's for λ_k, ``M_t = Σ_k w_k exp(λ_k Σ_i(d_i−δ_i) − A_k)``, the weights w_k
    summing to 1, is a nonnegative supermartingale that begins at 1, so by Ville's inequality it ever reaches 2/α with
    probability at most α/2. Below 2/α it keeps ``Σ(d_i−δ_i)`` below the s where ``Σ_k w_k exp(λ_k s − A_k) = 2/α``, so
    ``lower_t = mean_t − s/t``. The same of −d gives the upper bound with the other α/2. Here λ_k = 3·2^{−k}/scale, and
    w_k is proportional to 1/((|k|+1)(|k|+2)), k = −4, ..., 21. Besides, Δ_t lies between the means of l and of h.

    With ``c`` the whole range and one ψ for all rounds this is the empirical-Bernstein sequence of Choe and Ramdas
    (Operations Research 2023, theorem 2), which mixes over λ by a gamma distribution.

    References
    ----------
    Fan, Grama and Liu (2015), Exponential inequalities for martingales with applications, Electronic Journal of
    Probability 20. Howard, Ramdas, McAuliffe and Sekhon (2021), Time-uniform, nonparametric, nonasymptotic confidence
    sequences, Annals of Statistics 49. Choe and Ramdas (2023), Comparing sequential forecasters, Operations Research.

    Examples
    --------
    >>> from mistakebound.forecasters.confidence_sequence import ConfidenceSequence
    >>> sequence = ConfidenceSequence(alpha=0.05, low=0, high=1)
    >>> for _ in range(50):
    ...     lower, upper = sequence.learn_one(1)
    >>> round(lower, 3), upper
    (0.823, 1.0)
    """

    def __init__(self, alpha: float = 0.05, low: float = -1.0, high: float = 1.0, scale: float | None = None) -> None:
        self.alpha: float = Interval(above=0, below=1).checked("alpha", alpha)
        self.low: float = ANY.checked("low", low)
        self.high: float = ANY.checked("high", high)
        for name, end in (("low", self.low), ("high", self.high)):
            require(math.isinf(end) or abs(end) <= LARGEST, f"{name} must be at most {LARGEST:g} in size, got {end!r}")
        require(self.low < self.high, f"low must be below high, got {low!r} and {high!r}")
        between = self.high - self.low
        require(scale is not None or math.isfinite(between), "scale must be passed because low or high is infinite")
        self.scale: float = SCALE.checked(*(("high - low", between) if scale is None else ("scale", scale)))
        self.rounds = 0
        self._rates: FloatArray = np.asarray(RATES / self.scale, np.float64)
        self._sums = np.zeros(3)
        """Of the values, and of the ends of their ranges."""
        self._spent = np.zeros((2, len(RATES)))
        """A_k of each λ: of the values, which bound Δ from below, and of the values with the other sign."""
        self._bounds: tuple[float, float] = (self.low, self.high)

    @property
    def mean(self) -> float:
        """Mean of the values so far; NaN before the first."""
        return float(self._sums[0]) / self.rounds if self.rounds else math.nan

    @property
    def lower(self) -> float:
        """What Δ_t is at least."""
        return self._bounds[0]

    @property
    def upper(self) -> float:
        """What Δ_t is at most."""
        return self._bounds[1]

    @property
    def log_evidence_below(self) -> float:
        """Natural logarithm of an e-value against "Δ_t ≥ 0 in every round": large if the values are below zero.

        Its exponential is at most M_t of the notes, with −d for d, if that hypothesis holds: it ever reaches 1/α with
        probability at most α. (``upper`` is below 0 if and only if it has reached 2/α, or all values had to be.)
        """
        return float(_log_sum(LOG_WEIGHTS - self._rates * self._sums[0] - self._spent[1]))

    @property
    def log_evidence_above(self) -> float:
        """The same against "Δ_t ≤ 0 in every round": large if the values are above zero."""
        return float(_log_sum(LOG_WEIGHTS + self._rates * self._sums[0] - self._spent[0]))

    def learn_one(
        self, value: float, low: float | None = None, high: float | None = None, guess: float | None = None
    ) -> tuple[float, float]:
        """Take the next value, and return the bounds after it.

        ``low``, ``high`` and ``guess`` must have been known before the value: between what it had to lie, and where it
        was expected. The guess is the mean of the values so far (and of the middle) unless told.
        """
        told: dict[str, Any] = {"value": value, "low": low, "high": high, "guess": guess}
        for name, one in told.items():
            if np.ndim(one) != 0:
                message = f"{name} must be one number, got {one!r}"
                raise StreamError(message, round=self.rounds)
        given = [None if each is None else [each] for each in (low, high, guess)]
        self.run([value], *given)
        return self._bounds

    def run(
        self,
        values: ArrayLike,
        lows: ArrayLike | None = None,
        highs: ArrayLike | None = None,
        guesses: ArrayLike | None = None,
    ) -> Bounds:
        """Take many values, and return the bounds after each: the same numbers as one at a time."""
        d = _numbers(values, "values")
        low = self._column(lows, self.low, len(d), "lows")
        high = self._column(highs, self.high, len(d), "highs")
        guess = None if guesses is None else self._column(guesses, 0.0, len(d), "guesses")
        good, wrong = self._check(d, low, high, guess)
        bounds = Bounds(np.empty(good), np.empty(good))
        for begin in range(0, good, AT_ONCE):
            some = slice(begin, min(begin + AT_ONCE, good))
            bounds.lower[some], bounds.upper[some] = self._take(
                d[some], low[some], high[some], None if guess is None else guess[some]
            )
        if wrong:
            raise StreamError(wrong, round=self.rounds)
        return bounds

    @staticmethod
    def _column(given: ArrayLike | None, default: float, rounds: int, name: str) -> FloatArray:
        column = np.full(rounds, default) if given is None else _numbers(given, name)
        if len(column) != rounds:
            message = f"there are {rounds} values but {len(column)} {name}"
            raise ValueError(message)
        return column

    def _check(self, d: FloatArray, low: FloatArray, high: FloatArray, guess: FloatArray | None) -> tuple[int, str]:
        """How many rounds are good, and what is wrong with the one after them."""
        finite = np.maximum(np.abs(low), np.abs(high)) <= LARGEST
        inside = (low <= d) & (d <= high) & (low >= self.low) & (high <= self.high) & finite
        if guess is not None:
            inside &= (low <= guess) & (guess <= high)
        if inside.all():
            return len(d), ""
        at = int(np.argmin(inside))
        if not finite[at]:
            ends = f"{low[at]:g} and {high[at]:g}"
            return at, f"the bounds of a value must be finite and at most {LARGEST:g} in absolute value, got {ends}"
        if low[at] < self.low or high[at] > self.high:
            return at, f"its range from {low[at]:g} to {high[at]:g} is not between {self.low:g} and {self.high:g}"
        what = f"value {d[at]:g}" if guess is None or not low[at] <= d[at] <= high[at] else f"guess {guess[at]:g}"
        return at, f"{what} is not between {low[at]:g} and {high[at]:g}"

    def _take(
        self, d: FloatArray, low: FloatArray, high: FloatArray, guess: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        t = np.arange(self.rounds + 1, self.rounds + 1 + len(d))
        sums = np.cumsum(np.vstack([self._sums, np.stack([d, low, high], axis=1)]), axis=0)
        if guess is None:
            middle = (self.low + self.high) / 2 if math.isfinite(self.high - self.low) else 0.0
            guess = np.clip((middle + sums[:-1, 0]) / t, low, high)
        above = _running(self._spent[0], _costs(self._rates, d, low, high, guess))
        below = _running(self._spent[1], _costs(self._rates, -d, -high, -low, -guess))
        reach = math.log(2) - math.log(self.alpha)
        lower = np.maximum(sums[1:, 0] - _largest(self._rates, above, reach), sums[1:, 1]) / t
        upper = np.minimum(sums[1:, 0] + _largest(self._rates, below, reach), sums[1:, 2]) / t
        self.rounds += len(d)
        self._sums = sums[-1]
        self._spent = np.stack([above[-1], below[-1]])
        self._bounds = (float(lower[-1]), float(upper[-1]))
        return lower, upper


def _numbers(values: ArrayLike, name: str) -> FloatArray:
    """Numbers in a row; ValueError, which names the argument, for what is none."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biuf":  # not words that look like numbers, nor None
            array = np.array([ANY.checked(name, each) for each in array.reshape(-1).tolist()], np.float64)
    except (TypeError, ValueError) as error:
        message = f"{name} must be numbers: {error}"
        raise ValueError(message) from None
    return np.asarray(array, np.float64).reshape(-1)


def _running(before: FloatArray, costs: FloatArray) -> FloatArray:
    return np.cumsum(np.vstack([before, costs]), axis=0)[1:]


def _costs(rates: FloatArray, d: FloatArray, low: FloatArray, high: FloatArray, guess: FloatArray) -> FloatArray:
    """Return a of the notes for each round and each λ: by Hoeffding, or by Fan et al. where that promises less."""
    width, c = (high - low)[:, None], (guess - low)[:, None]
    hoeffding = (rates * width) ** 2 / 8
    x = rates * c
    small = x < 1e-4  # where ψ(x)/x² = 1/2 + x/3 + ... would lose its digits
    possible = np.where(small | (x >= 1), 0.5, x)
    ratio = np.where(small, 0.5 + x / 3 + x**2 / 4 + x**3 / 5, (-np.log1p(-possible) - possible) / possible**2)
    fan = rates**2 * ratio
    promised = fan * c * (high - guess)[:, None]
    return np.where((x < 1) & (promised < hoeffding), fan * ((d - guess) ** 2)[:, None], hoeffding)


def _log_sum(terms: FloatArray) -> FloatArray:
    """Logarithm of the sum of exponentials, over the last axis."""
    top = terms.max(axis=-1, keepdims=True)
    return np.asarray(top[..., 0] + np.log(np.exp(terms - top).sum(axis=-1)))


def _largest(rates: FloatArray, spent: FloatArray, reach: float) -> FloatArray:
    """The s where ``ln Σ_k w_k exp(λ_k s − A_k)`` is ``reach``, by Newton's method from above.

    That logarithm is convex and increasing in s. Begun where one term alone reaches it, each step stays at or above the
    root, so rounding apart the bounds are never too narrow; a row that moves no more stays as it is, whatever its
    neighbours do.
    """
    s = np.asarray(((reach - LOG_WEIGHTS + spent) / rates).min(axis=1))
    for _ in range(100):
        terms = LOG_WEIGHTS + rates * s[:, None] - spent
        top = terms.max(axis=1, keepdims=True)
        shares = np.exp(terms - top)
        total = shares.sum(axis=1)
        slope = (shares * rates).sum(axis=1) / total
        step = np.minimum(s, s - (top[:, 0] + np.log(total) - reach) / slope)
        if np.array_equal(step, s):
            break
        s = step
    return s

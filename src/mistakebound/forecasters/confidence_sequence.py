"""Confidence sequences for the mean of bounded values: valid after every round, also if the mean drifts."""

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
"""λ of each martingale, in units of 1/scale: from values for a few rounds to values for billions of rounds."""
WEIGHTS = 1 / ((np.abs(LEVELS) + 1) * (np.abs(LEVELS) + 2))
LOG_WEIGHTS = np.log(WEIGHTS / WEIGHTS.sum())
ANY = Interval(infinite=True)
LARGEST = 1e60
SCALE = Interval(least=1e-60, most=2 * LARGEST)
"""Limits of the scale: sums of squared quotients cannot overflow, for any number of rounds."""
AT_ONCE = 4096
"""Rounds that are computed together: a compromise between speed and memory."""


class Bounds(NamedTuple):
    """After each round, lower and upper bound on the mean of the conditional expectations so far."""

    lower: FloatArray
    upper: FloatArray


class ConfidenceSequence:
    r"""Bounds on ``Δ_t = (δ_1 + ... + δ_t)/t``, the mean of the expected values, that hold for every t at once.

    The values d_1, d_2, ... come one at a time. They need not be independent or have the same distribution, and may
    depend on all earlier values. Before round i, a range ``l_i ≤ d_i ≤ h_i`` and a guess γ_i in this range are known.
    With ``δ_i = E[d_i | everything known before d_i]``,

        P(lower_t ≤ Δ_t ≤ upper_t for every t ≥ 1) ≥ 1 − α.

    So you may look at the bounds after every round, and stop at any time. Δ_t is a different number in every round, so
    the intervals of several rounds must not be intersected.

    See docs/theory.md, "Confidence sequences".

    Parameters
    ----------
    alpha : float
        Probability that the bounds fail in any round.
    low, high : float
        The range of all values. ``learn_one`` accepts a narrower range for one round. Each may be infinite; finite
        limits must be at most 1e60 in absolute value, because the bounds use squares of ``high − low``.
    scale : float, optional
        The size of values for which the bounds are tightest. They hold for any scale from 1e-60 to 2e60. Default:
        ``high − low``; required if that is infinite.

    Notes
    -----
    *One round.* Let λ ≥ 0, ``c = γ − l`` and ``ψ(x) = −ln(1−x) − x``. Then ``E[exp(λ(d−δ) − a)] ≤ 1`` for

    - ``a = λ²(h−l)²/8`` (Hoeffding 1963, lemma 1);
    - ``a = ψ(λc)·(d−γ)²/c²``, if λc < 1 (and ``λ²(d−γ)²/2`` if c = 0): by Fan, Grama and Liu (2015),
      ``exp(λξ − ψ(λ)ξ²) ≤ 1 + λξ`` for ξ ≥ −1 and 0 ≤ λ < 1. Put ``ξ = (d−γ)/c`` and λc for λ, take expectations, and
      ``1 + λ(δ−γ) ≤ exp(λ(δ−γ))`` (Howard, Ramdas, McAuliffe and Sekhon 2021, theorem 4).

    The second is smaller if the guess is good and values near the ends of their range are rare. Which of the two a
    round uses is decided before d is known: the one that would be smaller on average if d were either l or h with mean
    γ.

    *All rounds.* Let A_k be the sum of the a's for λ_k, and let the weights w_k sum to 1. Then
    ``M_t = Σ_k w_k exp(λ_k Σ_i(d_i−δ_i) − A_k)`` is a nonnegative supermartingale that starts at 1. By Ville's
    inequality, the probability that it ever reaches 2/α is at most α/2. While M_t < 2/α, ``Σ(d_i−δ_i)`` is below the s
    where ``Σ_k w_k exp(λ_k s − A_k) = 2/α``, so ``lower_t = mean_t − s/t``. The same for −d gives the upper bound with
    the other α/2. Here λ_k = 3·2^{−k}/scale, and w_k is proportional to 1/((|k|+1)(|k|+2)), k = −4, ..., 21. In
    addition, Δ_t lies between the mean of the l_i and the mean of the h_i.

    With ``c`` the whole range and one ψ for all rounds, this is the empirical-Bernstein sequence of Choe and Ramdas
    (Operations Research 2023, theorem 2), which mixes over λ with a gamma distribution.

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
            require(
                math.isinf(end) or abs(end) <= LARGEST,
                f"{name} must be at most {LARGEST:g} in absolute value, got {end!r}",
            )
        require(self.low < self.high, f"low must be below high, got {low!r} and {high!r}")
        between = self.high - self.low
        require(scale is not None or math.isfinite(between), "scale must be set because low or high is infinite")
        self.scale: float = SCALE.checked(*(("high - low", between) if scale is None else ("scale", scale)))
        self.rounds = 0
        self._rates: FloatArray = np.asarray(RATES / self.scale, np.float64)
        self._sums = np.zeros(3)
        """Sums of the values, of the lower and of the upper ends of their ranges."""
        self._spent = np.zeros((2, len(RATES)))
        """A_k of each λ: first for the values (lower bound), then for the negated values (upper bound)."""
        self._bounds: tuple[float, float] = (self.low, self.high)

    @property
    def mean(self) -> float:
        """The mean of the values so far; NaN before the first."""
        return float(self._sums[0]) / self.rounds if self.rounds else math.nan

    @property
    def lower(self) -> float:
        """The lower bound on Δ_t."""
        return self._bounds[0]

    @property
    def upper(self) -> float:
        """The upper bound on Δ_t."""
        return self._bounds[1]

    @property
    def log_evidence_below(self) -> float:
        """The natural logarithm of an e-value against "Δ_t ≥ 0 in every round": large if the values are below 0.

        If the hypothesis holds, the e-value is at most M_t of the notes with −d for d, so the probability that it ever
        reaches 1/α is at most α. (``upper`` is below 0 if and only if the e-value has reached 2/α, or the ranges
        exclude values of 0 and more.)
        """
        return float(_log_sum(LOG_WEIGHTS - self._rates * self._sums[0] - self._spent[1]))

    @property
    def log_evidence_above(self) -> float:
        """The same against "Δ_t ≤ 0 in every round": large if the values are above zero."""
        return float(_log_sum(LOG_WEIGHTS + self._rates * self._sums[0] - self._spent[0]))

    def learn_one(
        self, value: float, low: float | None = None, high: float | None = None, guess: float | None = None
    ) -> tuple[float, float]:
        """Add a value, and return the bounds after it.

        ``low`` and ``high`` (the range of the value) and ``guess`` (its expected value) must be known before the value.
        The default guess is the mean of the values so far and the middle of the range.
        """
        arguments: dict[str, Any] = {"value": value, "low": low, "high": high, "guess": guess}
        for name, one in arguments.items():
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
        """Add many values, and return the bounds after each: the same numbers as from ``learn_one``."""
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
            message = f"{name} must have one number for each of the {rounds} values, got {len(column)} numbers"
            raise ValueError(message)
        return column

    def _check(self, d: FloatArray, low: FloatArray, high: FloatArray, guess: FloatArray | None) -> tuple[int, str]:
        """Return the number of good rounds before the first bad one, and the reason why that one is bad."""
        finite = np.maximum(np.abs(low), np.abs(high)) <= LARGEST
        inside = (low <= d) & (d <= high) & (low >= self.low) & (high <= self.high) & finite
        if guess is not None:
            inside &= (low <= guess) & (guess <= high)
        if inside.all():
            return len(d), ""
        at = int(np.argmin(inside))
        if not finite[at]:
            ends = f"{low[at]:g} and {high[at]:g}"
            return at, f"the range of a value must be finite and at most {LARGEST:g} in absolute value, got {ends}"
        if low[at] < self.low or high[at] > self.high:
            limits = f"{self.low:g} to {self.high:g}"
            return at, f"the range of a value must lie within {limits}, got {low[at]:g} to {high[at]:g}"
        is_value = guess is None or not low[at] <= d[at] <= high[at]
        name, number = ("value", d[at]) if is_value or guess is None else ("guess", guess[at])
        return at, f"{name} must be between {low[at]:g} and {high[at]:g}, got {number:g}"

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
    """Return numbers as one row; raise ValueError with the argument's name if one is not a number."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:  # rows of different lengths
        message = f"all {name} must be numbers ({error})"
        raise ValueError(message) from None
    if array.dtype.kind not in "biuf":  # texts and None are not numbers
        array = np.array([ANY.checked(name, each) for each in array.reshape(-1).tolist()], np.float64)
    return np.asarray(array, np.float64).reshape(-1)


def _running(before: FloatArray, costs: FloatArray) -> FloatArray:
    return np.cumsum(np.vstack([before, costs]), axis=0)[1:]


def _costs(rates: FloatArray, d: FloatArray, low: FloatArray, high: FloatArray, guess: FloatArray) -> FloatArray:
    """Return the term a of the notes for each round and each λ, in the form that is expected to be smaller.

    The two forms are that of Hoeffding and that of Fan, Grama and Liu.

    See docs/theory.md, "Confidence sequences".
    """
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
    """Return the logarithm of the sum of exponentials, over the last axis."""
    top = terms.max(axis=-1, keepdims=True)
    return np.asarray(top[..., 0] + np.log(np.exp(terms - top).sum(axis=-1)))


def _largest(rates: FloatArray, spent: FloatArray, reach: float) -> FloatArray:
    """Return the s where ``ln Σ_k w_k exp(λ_k s − A_k)`` equals ``reach``, by Newton's method from above.

    This logarithm is convex and increasing in s. The start is where one term alone reaches it, so each step stays at or
    above the root: except for rounding, the bounds are never too narrow. A row that has converged does not depend on
    the other rows.
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

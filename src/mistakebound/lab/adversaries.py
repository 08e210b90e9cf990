"""Adversaries: opponents that force mistakes from any learner, by the lower bounds of the theory.

Each plays against any object with `predict_one(x)` and `learn_one(x, y)` and touches nothing else of it.
A prediction that is not the positive label counts as negative, so None from a fresh learner is fine.
Answers are given after the prediction is seen: not even a learner that flips coins escapes.

See docs/theory.md, "Adversaries and lower bounds".
"""

from __future__ import annotations

import importlib
import math
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from mistakebound.lab.streams import check_whole, generator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Form = Literal["array", "dict"]

DENSE_CELLS = 4_000_000  # a larger record of binary examples (32 MB) is kept as a scipy CSR array


class Learner(Protocol):
    """All that an adversary asks of its opponent."""

    def predict_one(self, x: Any, /) -> Any:
        """Predict the label of x."""

    def learn_one(self, x: Any, y: Any, /) -> Any:
        """Learn that the label of x is y."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Played:
    """What happened in a game.

    Parameters
    ----------
    adversary : its name.
    rounds, mistakes : of the learner, counted from what `predict_one` said.
    forced : mistakes that the theorem promises; None where it speaks of an expectation only.
    comparator : vector, variables or expert that did best in hindsight.
    X, y : the examples and labels played, to check all this; a large X is a scipy CSR array.
    margin : margin of the comparator where it has one, else None.
    best : mistakes of the comparator.
    """

    adversary: str
    rounds: int
    mistakes: int
    forced: int | None
    comparator: Any
    X: Any
    y: NDArray[Any]
    margin: float | None = None
    best: int = 0

    @property
    def regret(self) -> int:
        """Mistakes of the learner less those of the comparator."""
        return self.mistakes - self.best

    def __str__(self) -> str:
        """Tell the game in one line."""
        forced = "" if self.forced is None else f" ({self.forced} forced)"
        margin = "" if self.margin is None else f" of margin {self.margin:.4g}"
        game = f"{self.adversary}: {self.mistakes} mistakes in {self.rounds} rounds{forced}"
        return f"{game}; the comparator{margin} made {self.best}"

    __repr__ = __str__  # the arrays may be long


@dataclass(frozen=True, slots=True)
class UnitVectors:
    """Show the unit vectors e_1, ..., e_k and deny every prediction: k mistakes, yet margin 1/sqrt(k).

    The comparator (y_1, ..., y_k)/sqrt(k), labels taken as -1/+1, has length 1 and is right on every
    round by exactly the margin; so the Perceptron's (R/margin)^2 = k cannot be improved.
    Each round hands out a fresh array, which takes microseconds, so that a learner may keep or change it
    (keeping all of 10,000 costs 0.8 GB). With `form="dict"` examples look like {"x0": 1.0}.

    See docs/theory.md, "Unit vectors".

    Examples
    --------
    >>> class Constant:
    ...     def predict_one(self, x): return 1
    ...     def learn_one(self, x, y): pass
    >>> print(UnitVectors(25).play(Constant()))
    unit-vectors: 25 mistakes in 25 rounds (25 forced); the comparator of margin 0.2 made 0

    References
    ----------
    Kakade, S. and Tewari, A. (2008). CMSC 35900 Learning Theory, lecture notes on the Perceptron.
    """

    k: int
    _: KW_ONLY
    labels: tuple[Any, Any] = (-1, 1)
    form: Form = "array"

    def __post_init__(self) -> None:
        """Check the arguments."""
        _check(self, k=(self.k, 1))

    @classmethod
    def from_margin(cls, gamma: float, **options: Any) -> UnitVectors:
        """Play as many rounds as a margin of gamma allows: the largest k with 1/sqrt(k) >= gamma.

        A gamma that is 1/sqrt(k) up to rounding means that k.

        Examples
        --------
        >>> int(1 / 0.1**2), UnitVectors.from_margin(0.1).k
        (99, 100)
        """
        if not 0 < gamma <= 1:
            message = f"gamma must be above 0 and at most 1, the radius of the examples, not {gamma!r}"
            raise ValueError(message)
        nearest = round(1 / gamma**2)
        exact = math.isclose(1 / math.sqrt(nearest), gamma, rel_tol=1e-12)
        return cls(nearest if exact else math.floor(1 / gamma**2), **options)

    def play(self, learner: Learner) -> Played:
        """Play k rounds, each a mistake."""
        game = _Game(learner, self.labels)
        for i in range(self.k):
            game.round(_example([i], self.k, self.form))
        margin = 1 / math.sqrt(self.k)
        u = np.where(game.told, margin, -margin)
        X = _record([[i] for i in range(self.k)], self.k)
        return Played("unit-vectors", self.k, game.mistakes, self.k, u, X, game.y, margin)


@dataclass(frozen=True, slots=True)
class Disjunction:
    """Search r blocks of n/r variables for the relevant one, always where the learner least wants it.

    In a block a set of candidates is left. Half of it is shown switched on, all else off, and the
    prediction denied. If the label is positive, the relevant variable is among those shown; if negative,
    among the others: either way half the candidates remain. That is floor(lg(n/r)) mistakes a block, and
    the labels are the OR of the r survivors.

    See docs/theory.md, "Binary search for a disjunction".

    Examples
    --------
    >>> class Constant:
    ...     def predict_one(self, x): return 1
    ...     def learn_one(self, x, y): pass
    >>> print(Disjunction(100, 4).play(Constant()))
    disjunction: 16 mistakes in 16 rounds (16 forced); the comparator made 0

    References
    ----------
    Littlestone, N. (1988). Learning quickly when irrelevant attributes abound. Machine Learning 2.
    """

    n: int
    r: int
    _: KW_ONLY
    labels: tuple[Any, Any] = (0, 1)
    form: Form = "array"

    def __post_init__(self) -> None:
        """Check the arguments."""
        _check(self, n=(self.n, 1), r=(self.r, 1, self.n))

    def play(self, learner: Learner) -> Played:
        """Play r * floor(lg(n/r)) rounds, each a mistake."""
        game = _Game(learner, self.labels)
        size = int(self.n // self.r)
        steps = size.bit_length() - 1
        survivors: list[int] = []
        actives: list[Sequence[int]] = []
        for block in range(self.r):
            candidates = range(block * size, block * size + 2**steps)  # a power of 2 halves evenly
            while len(candidates) > 1:
                half = len(candidates) // 2
                shown, hidden = candidates[:half], candidates[half:]
                actives.append(shown)
                candidates = shown if game.round(_example(shown, self.n, self.form)) else hidden
            survivors += candidates
        X = _record(actives, self.n)
        forced = self.r * steps
        return Played("disjunction", len(actives), game.mistakes, forced, tuple(survivors), X, game.y)


@dataclass(frozen=True, slots=True)
class HalvingTree:
    """Consult 2^k experts that are all the functions of k rounds: k mistakes, yet one is perfect.

    In round t = 0, 1, ... expert i says the positive label if bit t of i is set; x is the vector of what
    they say. Denying the learner k times spells the number of the expert that was right throughout.

    See docs/theory.md, "All functions of k rounds".

    Examples
    --------
    >>> class FirstExpert:
    ...     def predict_one(self, x): return x[0]
    ...     def learn_one(self, x, y): pass
    >>> played = HalvingTree(5).play(FirstExpert())
    >>> print(played, "- expert", played.comparator)
    halving-tree: 5 mistakes in 5 rounds (5 forced); the comparator made 0 - expert 31
    """

    k: int
    _: KW_ONLY
    labels: tuple[Any, Any] = (-1, 1)

    def __post_init__(self) -> None:
        """Check the arguments."""
        _check(self, k=(self.k, 1, 20))  # 20 rounds of a million experts already are 160 MB

    def play(self, learner: Learner) -> Played:
        """Play k rounds, each a mistake."""
        game = _Game(learner, self.labels)
        says = np.arange(2**self.k) >> np.arange(self.k)[:, None] & 1
        X = _advice(self.labels)[says]
        for row in X:
            game.round(row.copy())
        perfect = sum(positive << t for t, positive in enumerate(game.told))
        return Played("halving-tree", self.k, game.mistakes, self.k, perfect, X, game.y)


@dataclass(frozen=True, slots=True)
class CoinFlip:
    """Flip a coin for each of n experts and for the outcome, every round.

    Nothing can be learned, so half of any learner's predictions are wrong on average, while the luckiest
    expert does better: the expected regret is that of `coin_flip_regret`, whatever the learner.

    See docs/theory.md, "Coin flips".

    Examples
    --------
    >>> class FirstExpert:
    ...     def predict_one(self, x): return x[0]
    ...     def learn_one(self, x, y): pass
    >>> played = CoinFlip(n=8, rounds=100).play(FirstExpert())
    >>> played.regret == played.mistakes - played.best >= 0
    True
    """

    n: int
    rounds: int
    seed: int = 0
    _: KW_ONLY
    labels: tuple[Any, Any] = (-1, 1)

    def __post_init__(self) -> None:
        """Check the arguments."""
        _check(self, n=(self.n, 1), rounds=(self.rounds, 1), seed=(self.seed, 0))

    def play(self, learner: Learner) -> Played:
        """Play all rounds; the comparator is the expert with the fewest mistakes, the first of equals."""
        game = _Game(learner, self.labels)
        rng = generator(self.seed, 3)
        says = rng.integers(2, size=(self.rounds, self.n))
        outcomes = rng.integers(2, size=self.rounds)
        X = _advice(self.labels)[says]
        for row, outcome in zip(X, outcomes.tolist(), strict=True):
            game.round(row.copy(), positive=outcome == 1)
        wrong = (says != outcomes[:, None]).sum(axis=0)
        luckiest, best = int(wrong.argmin()), int(wrong.min())
        return Played("coin-flip", self.rounds, game.mistakes, None, luckiest, X, game.y, best=best)


def coin_flip_regret(n: int, rounds: int) -> float:
    """Return the expected regret of any learner against `CoinFlip`: T/2 - E[min of n Binomial(T, 1/2)].

    Exact up to rounding, also for astronomical n. As first T and then n grow, it tends to
    sqrt(T ln(n)/2), slowly and from below.

    See docs/theory.md, "Coin flips".

    Examples
    --------
    >>> coin_flip_regret(2, 1)  # the better of two experts errs with probability 1/4
    0.25
    >>> round(coin_flip_regret(1000, 10_000) / math.sqrt(10_000 * math.log(1000) / 2), 3)
    0.872

    References
    ----------
    Cesa-Bianchi, N. and Lugosi, G. (2006). Prediction, Learning, and Games, Theorem 3.7.
    """
    check_whole(n=(n, 1), rounds=(rounds, 1))
    # E[min] is the sum of P(min > m) = P(X > m)^n. Sum below the middle what it lacks of 1, so that no
    # large numbers cancel; above it, P(X > m) = P(X < T - m) by symmetry. below[m] = P(X <= m), m < T/2.
    half = (rounds + 1) // 2
    m = np.arange(half, 0, -1)
    steps = np.log(m / (rounds - m + 1.0))  # ln P(X = m-1) - ln P(X = m), from the middle outwards
    tail = np.exp(np.cumsum(steps))[::-1]  # P(X = m) for m < T/2, relative to P(X = half)
    below = np.cumsum(tail) / (2 * tail.sum() + (rounds % 2 == 0))
    lacking = -np.expm1(float(n) * np.log1p(-below))
    above = below[: rounds // 2] ** float(n)
    return float(lacking.sum() - above.sum() - (rounds % 2) / 2)


@dataclass(slots=True)
class _Game:
    """The rounds of one game against a learner."""

    learner: Learner
    labels: tuple[Any, Any]
    told: list[bool] = field(default_factory=list)  # whether the label was the positive one
    mistakes: int = 0

    def round(self, x: Any, *, positive: bool | None = None) -> bool:
        """Ask, answer the opposite unless the answer was settled before, teach; return the answer."""
        said = bool(self.learner.predict_one(x) == self.labels[1])
        told = not said if positive is None else positive
        self.learner.learn_one(x, self.labels[told])
        self.told.append(told)
        self.mistakes += said != told
        return told

    @property
    def y(self) -> NDArray[Any]:
        return np.array([self.labels[told] for told in self.told])


def _check(adversary: Any, **whole: tuple[Any, ...]) -> None:
    check_whole(**whole)
    if len(adversary.labels) != 2 or adversary.labels[0] == adversary.labels[1]:
        message = f"labels must be two different values (negative, positive), not {adversary.labels!r}"
        raise ValueError(message)
    form = getattr(adversary, "form", "array")
    if form not in {"array", "dict"}:
        message = f"form must be 'array' or 'dict', not {form!r}"
        raise ValueError(message)


def _advice(labels: tuple[Any, Any]) -> NDArray[Any]:
    """Return what an expert may say, as numbers if the labels are."""
    said = np.array(labels)
    return said.astype(float) if said.dtype.kind in "biuf" else said


def _example(active: Sequence[int], n: int, form: Form) -> Any:
    if form == "dict":
        return {f"x{i}": 1.0 for i in active}
    x = np.zeros(n)
    x[active] = 1
    return x


def _record(actives: list[Sequence[int]], n: int) -> Any:
    """Stack the examples with these active variables, densely if that is not too large."""
    if len(actives) * n <= DENSE_CELLS:
        return np.array([_example(active, n, "array") for active in actives]).reshape(-1, n)
    csr_array = importlib.import_module("scipy.sparse").csr_array  # slow to import, seldom needed
    columns = np.concatenate([np.asarray(active, dtype=np.int32) for active in actives])
    starts = np.cumsum([0, *map(len, actives)], dtype=np.int32)
    return csr_array((np.ones(columns.size), columns, starts), shape=(len(actives), n))

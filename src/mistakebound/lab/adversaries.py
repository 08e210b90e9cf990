"""Adversaries that force mistakes from any learner. They reach the lower bounds of the theory.

An adversary plays against any object with the methods `predict_one(x)` and `learn_one(x, y)`. A prediction that is not
the positive label counts as negative, also None from a learner without examples so far. The adversary chooses the label
after it has seen the prediction. Hence a randomised learner is forced to make the same number of mistakes.

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

DENSE_CELLS = 4_000_000  # the examples of a game with more cells (32 MB) are returned as a scipy CSR array


class Learner(Protocol):
    """The methods of a learner that an adversary calls."""

    def predict_one(self, x: Any, /) -> Any:
        """Predict the label of x."""

    def learn_one(self, x: Any, y: Any, /) -> Any:
        """Learn that the label of x is y."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Played:
    """The result of a game.

    Parameters
    ----------
    adversary : name of the adversary.
    rounds, mistakes : number of rounds, and of wrong predictions of the learner.
    forced : mistakes that the theorem guarantees, or None if it is about an expectation.
    comparator : the vector, variables or expert with the fewest mistakes in hindsight.
    X, y : the examples and labels of the game. A large X is a scipy CSR array.
    margin : margin of the comparator, or None if it has none.
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
        """Mistakes of the learner minus mistakes of the comparator."""
        return self.mistakes - self.best

    def __str__(self) -> str:
        """Describe the game in one line."""
        forced = "" if self.forced is None else f" ({self.forced} forced)"
        margin = "" if self.margin is None else f" of margin {self.margin:.4g}"
        game = f"{self.adversary}: {self.mistakes} mistakes in {self.rounds} rounds{forced}"
        return f"{game}; the comparator{margin} made {self.best}"

    __repr__ = __str__  # the arrays may be long


@dataclass(frozen=True, slots=True)
class UnitVectors:
    """Show the unit vectors e_1, ..., e_k and contradict each prediction: k mistakes, although the margin is 1/sqrt(k).

    With labels -1/+1, the comparator (y_1, ..., y_k)/sqrt(k) has norm 1 and the margin 1/sqrt(k) in every round. Hence
    the Perceptron's bound (R/margin)^2 = k cannot be improved.

    Each round passes a new array, which the learner may keep or change (keeping all of 10,000 takes 0.8 GB). With
    `form="dict"`, an example is a dict such as {"x0": 1.0}.

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
        """Return the adversary with the largest k for which 1/sqrt(k) >= gamma.

        If gamma equals 1/sqrt(k) up to rounding, that k is used.

        Examples
        --------
        >>> int(1 / 0.1**2), UnitVectors.from_margin(0.1).k
        (99, 100)
        """
        if not 0 < gamma <= 1:
            message = f"gamma must be above 0 and at most 1 (the norm of the examples), got {gamma!r}"
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
        u = np.where(game.positives, margin, -margin)
        X = _record([[i] for i in range(self.k)], self.k)
        return Played("unit-vectors", self.k, game.mistakes, self.k, u, X, game.y, margin)


@dataclass(frozen=True, slots=True)
class Disjunction:
    """Force mistakes on an OR of r of n variables by a binary search in each of r blocks of n/r variables.

    In each round half of the remaining candidates of a block are 1 and all other variables are 0, and the adversary
    contradicts the prediction. If the label is positive, the relevant variable is one of those that are 1, otherwise
    one of the other candidates. Half of the candidates remain. This gives floor(log2(n/r)) mistakes per block, and the
    labels are the OR of the r variables that remain.

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
        """Play r * floor(log2(n/r)) rounds, each a mistake."""
        game = _Game(learner, self.labels)
        size = int(self.n // self.r)
        steps = size.bit_length() - 1
        survivors: list[int] = []
        actives: list[Sequence[int]] = []
        for block in range(self.r):
            candidates = range(block * size, block * size + 2**steps)
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
    """Play with 2^k experts, one for each sequence of k labels: k mistakes, although one expert makes none.

    In round t = 0, 1, ... expert i predicts the positive label if bit t of i is 1, and x is the vector of these
    predictions. The adversary contradicts the learner k times. The k labels are the bits of the expert that is right.

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
        _check(self, k=(self.k, 1, 20))  # k = 20 already takes 160 MB

    def play(self, learner: Learner) -> Played:
        """Play k rounds, each a mistake."""
        game = _Game(learner, self.labels)
        votes = np.arange(2**self.k) >> np.arange(self.k)[:, None] & 1
        X = _as_advice(self.labels)[votes]
        for row in X:
            game.round(row.copy())
        perfect = sum(positive << t for t, positive in enumerate(game.positives))
        return Played("halving-tree", self.k, game.mistakes, self.k, perfect, X, game.y)


@dataclass(frozen=True, slots=True)
class CoinFlip:
    """Choose the advice of n experts and the outcome of every round by fair coin flips.

    Every learner errs in half of the rounds on average, but the best of n experts errs in fewer. The expected regret is
    `coin_flip_regret` for every learner.

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
        """Play all rounds. The comparator is the first expert with the fewest mistakes."""
        game = _Game(learner, self.labels)
        rng = generator(self.seed, 3)
        votes = rng.integers(2, size=(self.rounds, self.n))
        outcomes = rng.integers(2, size=self.rounds)
        X = _as_advice(self.labels)[votes]
        for row, outcome in zip(X, outcomes.tolist(), strict=True):
            game.round(row.copy(), positive=outcome == 1)
        wrong = (votes != outcomes[:, None]).sum(axis=0)
        best_expert, best = int(wrong.argmin()), int(wrong.min())
        return Played("coin-flip", self.rounds, game.mistakes, None, best_expert, X, game.y, best=best)


def coin_flip_regret(n: int, rounds: int) -> float:
    """Return the expected regret of any learner against `CoinFlip`: T/2 - E[min of n Binomial(T, 1/2)].

    The value is exact up to rounding, also for very large n. It tends to sqrt(T ln(n)/2) from below, slowly, as T and
    then n increase.

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
    # E[min] is the sum over m of P(min > m) = P(X > m)^n. For m < T/2 the code sums 1 - P(X > m)^n, so that no large
    # numbers cancel. For larger m it uses P(X > m) = P(X < T - m). below[m] is P(X <= m) for m < T/2.
    half = (rounds + 1) // 2
    m = np.arange(half, 0, -1)
    steps = np.log(m / (rounds - m + 1.0))  # ln P(X = m-1) - ln P(X = m), from the middle outwards
    tail = np.exp(np.cumsum(steps))[::-1]  # P(X = m) for m < T/2, relative to P(X = half)
    below = np.cumsum(tail) / (2 * tail.sum() + (rounds % 2 == 0))
    complement = -np.expm1(float(n) * np.log1p(-below))  # 1 - P(X > m)^n
    above = below[: rounds // 2] ** float(n)
    return float(complement.sum() - above.sum() - (rounds % 2) / 2)


@dataclass(slots=True)
class _Game:
    """The rounds of one game against a learner."""

    learner: Learner
    labels: tuple[Any, Any]
    positives: list[bool] = field(default_factory=list)  # for each round, whether its label was positive
    mistakes: int = 0

    def round(self, x: Any, *, positive: bool | None = None) -> bool:
        """Play one round, and return whether the label was positive.

        If ``positive`` is None, the label is the opposite of the prediction.
        """
        predicted = bool(self.learner.predict_one(x) == self.labels[1])
        positive = not predicted if positive is None else positive
        self.learner.learn_one(x, self.labels[positive])
        self.positives.append(positive)
        self.mistakes += predicted != positive
        return positive

    @property
    def y(self) -> NDArray[Any]:
        return np.array([self.labels[positive] for positive in self.positives])


def _check(adversary: Any, **whole: tuple[Any, ...]) -> None:
    check_whole(**whole)
    if len(adversary.labels) != 2 or adversary.labels[0] == adversary.labels[1]:
        message = f"labels must be two different values (negative, positive), got {adversary.labels!r}"
        raise ValueError(message)
    form = getattr(adversary, "form", "array")
    if form not in {"array", "dict"}:
        message = f"form must be 'array' or 'dict', got {form!r}"
        raise ValueError(message)


def _as_advice(labels: tuple[Any, Any]) -> NDArray[Any]:
    """Return the two labels as an array, of floats if they are numbers."""
    values = np.array(labels)
    return values.astype(float) if values.dtype.kind in "biuf" else values


def _example(active: Sequence[int], n: int, form: Form) -> Any:
    if form == "dict":
        return {f"x{i}": 1.0 for i in active}
    x = np.zeros(n)
    x[active] = 1
    return x


def _record(actives: list[Sequence[int]], n: int) -> Any:
    """Return the matrix of the examples with these active variables: dense, or CSR if it is large."""
    if len(actives) * n <= DENSE_CELLS:
        return np.array([_example(active, n, "array") for active in actives]).reshape(-1, n)
    csr_array = importlib.import_module("scipy.sparse").csr_array  # slow to import, and rarely needed
    columns = np.concatenate([np.asarray(active, dtype=np.int32) for active in actives])
    starts = np.cumsum([0, *map(len, actives)], dtype=np.int32)
    return csr_array((np.ones(columns.size), columns, starts), shape=(len(actives), n))

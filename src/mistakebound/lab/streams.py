"""Planted streams: generated data with a known target, for which the premises of a theorem hold by construction.

Every function returns a `Stream`, which unpacks as `X, y`. The same `seed` gives the same stream.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ACTIVE_WHEN_SPARSE = 30  # mean number of irrelevant variables that are 1 in a round of a sparse stream, by default
L1_SUPPORT = 10  # number of variables on which the target of `margin(norm="l1")` is not 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stream:
    """Examples, labels, and the target from which the labels were computed.

    Parameters
    ----------
    X : array or scipy CSR array with one row per round.
    y : array of labels, 0/1 or -1/+1; class ids for `classes`.
    target : indices of the relevant variables or experts, or a vector.
    margin : margin of the target, or None if it has none.
    flipped : rounds (from 0) whose label was flipped by noise.

    Examples
    --------
    >>> X, y = stream = disjunction(n=20, r=2, rounds=100)
    >>> X.shape, len(stream), len(stream.target)
    ((100, 20), 100, 2)
    """

    X: Any
    y: NDArray[np.int64]
    target: Any
    margin: float | None = None
    flipped: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __iter__(self) -> Iterator[Any]:
        """Yield X, then y, so that `X, y = stream` works."""
        yield self.X
        yield self.y

    def __len__(self) -> int:
        """Return the number of rounds."""
        return len(self.y)

    def __repr__(self) -> str:
        """Return the sizes only, because the arrays and the target may be long."""
        return f"<Stream: {len(self)} rounds, {self.X.shape[1]} features, {self.flipped.size} labels flipped>"

    def rounds(self) -> Iterator[tuple[Any, Any]]:
        """Yield (x, y) for each round. x is a dense row, or a CSR array with one row."""
        dense = isinstance(self.X, np.ndarray)
        rows = self.X if dense else (self.X[t : t + 1] for t in range(len(self)))
        yield from zip(rows, self.y.tolist(), strict=True)


def disjunction(
    n: int, r: int, rounds: int, seed: int = 0, *, density: float | None = None, sparse: bool = False
) -> Stream:
    """Return a stream whose label (0/1) is the OR of `r` of the `n` binary variables. About half are positive.

    `density` is the probability that an irrelevant variable is 1. By default it is that of the relevant variables, so
    that frequencies do not reveal the target. In a sparse stream the default is limited to 30 such variables per
    round on average. With the same `density`, the sparse and the dense stream are equal.

    See docs/theory.md, "Winnow on disjunctions".

    Examples
    --------
    >>> X, y = stream = disjunction(n=1000, r=3, rounds=50, seed=1)
    >>> bool(np.all(y == X[:, stream.target].any(axis=1)))
    True

    References
    ----------
    Littlestone, N. (1988). Learning quickly when irrelevant attributes abound. Machine Learning 2.
    """
    check_whole(n=(n, 1), r=(r, 1, n))
    return replace(threshold(n, 1, r, rounds, seed, density=density, sparse=sparse), margin=None)


def conjunction(n: int, r: int, rounds: int, seed: int = 0) -> Stream:
    """Return a stream whose label (0/1) is the AND of `r` of the `n` binary variables. About half are positive.

    It is a disjunction with inputs and labels complemented (De Morgan).

    See docs/theory.md, "Conjunctions and negated variables".

    Examples
    --------
    >>> X, y = stream = conjunction(n=20, r=3, rounds=50)
    >>> bool(np.all(y == X[:, stream.target].all(axis=1)))
    True
    """
    stream = disjunction(n, r, rounds, seed)
    return replace(stream, X=1 - stream.X, y=1 - stream.y)


def threshold(
    n: int, r: int, k: int, rounds: int, seed: int = 0, *, density: float | None = None, sparse: bool = False
) -> Stream:
    """Return a stream whose label is 1 if at least `r` of `k` relevant variables are 1. About half are positive.

    With the weights mu_i = 1/r on the target, mu.x >= 1 on positive examples and mu.x <= 1 - delta on negative ones,
    where delta = 1/r is the `margin` of the stream. `density` and `sparse` are as in `disjunction`.

    See docs/theory.md, "Winnow on separable data".

    Examples
    --------
    >>> X, y = stream = threshold(n=50, r=2, k=5, rounds=80)
    >>> bool(np.all(y == (X[:, stream.target].sum(axis=1) >= 2))), stream.margin
    (True, 0.5)

    References
    ----------
    Littlestone (1988), Theorem 9. Kerman, J. (2011), arXiv:1111.0433, for the median of a Beta.
    """
    check_whole(n=(n, 1), k=(k, 1, n), r=(r, 1, k), rounds=(rounds, 1))
    activity = _activity(r, k)
    if density is None:
        density = min(activity, ACTIVE_WHEN_SPARSE / n) if sparse else activity
    _check_share("density", density)
    rng = generator(seed)
    target = _choose(rng, n, k)
    on = rng.random((rounds, k)) < activity
    others = np.delete(np.arange(n), target)
    row, col = np.divmod(_ones(rng, rounds, others.size, density), max(1, others.size))
    target_row, target_col = np.nonzero(on)
    cells = np.concatenate([row * n + others[col], target_row * n + target[target_col]])
    y = (on.sum(axis=1) >= r).astype(np.int64)
    return Stream(_matrix(cells, (rounds, n), sparse=sparse), y, tuple(target.tolist()), 1 / r)


def panel(n: int, k: int, rounds: int, seed: int = 0) -> Stream:
    """Return the advice (-1/+1) of `n` experts, such that the majority of `k` of them (odd) is always right.

    Each expert's advice alone is a sequence of fair coin flips. The uniform u over the k experts has margin 1/k.

    Examples
    --------
    >>> X, y = stream = panel(n=30, k=5, rounds=100)
    >>> bool(np.all(y == np.sign(X[:, stream.target].sum(axis=1))))
    True
    """
    check_whole(n=(n, 1), k=(k, 1, n), rounds=(rounds, 1))
    check_odd(k)
    rng = generator(seed)
    target = _choose(rng, n, k)
    X = rng.choice([-1.0, 1.0], (rounds, n))
    y = np.where(X[:, target].sum(axis=1) > 0, 1, -1)
    return Stream(X, y, tuple(target.tolist()), 1 / k)


def classes(n: int, k: int, rounds: int, margin: float, seed: int = 0) -> Stream:
    """Return points of `k` classes with u_y.x - u_r.x >= margin for all other classes r.

    The target U has a row for each class, and Frobenius norm 1. Its rows are orthogonal, so that `margin` must be below
    1/sqrt(k). Points x have Euclidean norm 1; those too near a boundary are moved towards the row of their class.

    See docs/theory.md, "The multiclass Perceptron".

    Examples
    --------
    >>> X, y = stream = classes(n=50, k=5, rounds=100, margin=0.2)
    >>> scores = np.sort(X @ stream.target.T, axis=1)
    >>> bool(np.min(scores[:, -1] - scores[:, -2]) >= 0.2)
    True
    """
    check_whole(n=(n, 1), k=(k, 2, n), rounds=(rounds, 1))
    if not 0 < margin < 0.99 / np.sqrt(k):
        message = f"margin must be above 0 and below 0.99 / sqrt(k) = {0.99 / np.sqrt(k):.6g}, got {margin!r}"
        raise ValueError(message)
    rng = generator(seed)
    rows = np.linalg.qr(rng.normal(size=(n, k)))[0].T
    X = rng.normal(size=(rounds, n))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.argmax(X @ rows.T, axis=1).astype(np.int64)
    push = 0.125
    while (near := _class_margins(X, rows, y) < margin * np.sqrt(k)).any():
        X[near] += push * rows[y[near]]
        X[near] /= np.linalg.norm(X[near], axis=1, keepdims=True)
    return Stream(X, y, rows / np.sqrt(k), margin)


def _class_margins(X: Floats, rows: Floats, y: NDArray[np.int64]) -> Floats:
    """Return the score of each label minus the largest other score."""
    scores = X @ rows.T
    own = np.take_along_axis(scores, y[:, None], axis=1)[:, 0]
    np.put_along_axis(scores, y[:, None], -np.inf, axis=1)
    return np.asarray(own - scores.max(axis=1))


def margin(n: int, rounds: int, margin: float, seed: int = 0, *, norm: Literal["l2", "l1"] = "l2") -> Stream:
    """Return points with y(u.x) >= margin for a vector u, which is the target of the stream.

    With `norm="l2"`, x and u have Euclidean norm 1. With `norm="l1"`, x lies in [-1, 1]^n, the absolute values of u sum
    to 1, and u is not 0 on at most ten variables. Points too near the boundary are moved away from it.

    Examples
    --------
    >>> X, y = stream = margin(n=50, rounds=100, margin=0.2)
    >>> bool(np.min(y * (X @ stream.target)) >= 0.2)
    True
    """
    check_whole(n=(n, 2), rounds=(rounds, 1))
    slack = 16 * n * np.finfo(float).eps  # more than the rounding error of a dot product in any order of summation
    if not 0 < margin <= 1 - slack:
        message = f"margin must be above 0 and below 1, got {margin!r}; for margin 1 use panel(n, 1, rounds)"
        raise ValueError(message)
    if norm not in {"l2", "l1"}:
        message = f"norm must be 'l2' or 'l1', got {norm!r}"
        raise ValueError(message)
    X, u = (_sphere if norm == "l2" else _cube)(generator(seed), n, rounds, margin + slack)
    scores = X @ u
    if np.min(np.abs(scores)) < margin:
        message = f"a point has a margin below {margin!r}: this is a bug in mistakebound, please report it"
        raise RuntimeError(message)
    return Stream(X, np.where(scores > 0, 1, -1), u, float(margin))


def drifting(n: int, r: int, rounds: int, seed: int = 0, *, every: int) -> Stream:
    """Return a stream whose label is an OR of `r` variables, with new variables every `every` rounds.

    The distribution of the inputs does not change. The target is a tuple of pairs (first round, variable indices).
    Successive targets differ.

    Examples
    --------
    >>> stream = drifting(n=30, r=2, rounds=100, every=40)
    >>> [first for first, variables in stream.target]
    [0, 40, 80]
    """
    check_whole(n=(n, 2), r=(r, 1, n - 1), rounds=(rounds, 1), every=(every, 1))
    rng = generator(seed)
    X = _matrix(_ones(rng, rounds, n, _activity(1, r)), (rounds, n), sparse=False)
    y = np.empty(rounds, dtype=np.int64)
    targets: list[tuple[int, tuple[int, ...]]] = []
    for first in range(0, rounds, every):
        variables = tuple(_choose(rng, n, r).tolist())
        while targets and variables == targets[-1][1]:
            variables = tuple(_choose(rng, n, r).tolist())
        targets.append((first, variables))
        y[first : first + every] = X[first : first + every, variables].any(axis=1)
    return Stream(X, y, tuple(targets))


def label_noise(stream: Stream, rate: float, seed: int = 0) -> Stream:
    """Return the stream with each label flipped independently with probability `rate`.

    Examples
    --------
    >>> clean = disjunction(n=20, r=2, rounds=1000)
    >>> noisy = label_noise(clean, rate=0.1)
    >>> bool(np.all(np.flatnonzero(noisy.y != clean.y) == noisy.flipped))
    True
    """
    _check_share("rate", rate)
    values = np.unique(stream.y)
    if values.size != 2:
        message = f"stream must have two different labels, got {values.tolist()}; use more rounds"
        raise ValueError(message)
    flips = np.flatnonzero(generator(seed, 1).random(len(stream)) < rate)
    y = stream.y.copy()
    y[flips] = np.where(y[flips] == values[0], values[1], values[0])
    # A label that was flipped before is now the original one.
    return replace(stream, y=y, margin=None, flipped=np.setxor1d(stream.flipped, flips))


def attribute_noise(stream: Stream, rate: float, seed: int = 0) -> Stream:
    """Return the stream with each entry of X flipped (0/1, or the sign of -1/+1) with probability `rate`.

    The labels do not change. In a sparse stream about rate * n more variables become 1 in each round.

    Examples
    --------
    >>> clean = panel(n=10, k=3, rounds=500)
    >>> noisy = attribute_noise(clean, rate=0.1)
    >>> bool(0.08 < np.mean(noisy.X != clean.X) < 0.12)
    True
    """
    _check_share("rate", rate)
    dense = isinstance(stream.X, np.ndarray)
    values = set(np.unique(stream.X if dense else stream.X.data).tolist())
    signs = dense and values <= {-1, 1} and (-1 in values or -1 in stream.y)
    if not signs and not values <= {0, 1}:
        message = "stream must have entries 0/1, or -1/+1 in a dense array; for other streams use label_noise"
        raise ValueError(message)
    rounds, n = shape = stream.X.shape
    flips = _ones(generator(seed, 2), rounds, n, rate)
    if dense:
        X = stream.X.copy()  # a copy is in C order, which reshape(-1) needs to return a view
        X.reshape(-1)[flips] = -X.reshape(-1)[flips] if signs else 1 - X.reshape(-1)[flips]
    else:
        row, col = stream.X.nonzero()
        X = _matrix(np.setxor1d(row.astype(np.int64) * n + col, flips), shape, sparse=True)
    return replace(stream, X=X, margin=None)


def check_whole(**arguments: tuple[Any, ...]) -> None:
    """Raise ValueError unless each argument, name=(value, least[, most]), is a whole number in its range."""
    for name, (value, least, *most) in arguments.items():
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not whole or value < least or any(value > limit for limit in most):
            span = f"from {least} to {most[0]}" if most else f"of at least {least}"
            message = f"{name} must be a whole number {span}, got {value!r}"
            raise ValueError(message)


def check_odd(k: int) -> None:
    """Raise ValueError unless the number of experts of a panel is odd."""
    if k % 2 == 0:
        message = f"k must be odd, because an even number of experts may tie, got {k}; use {k - 1}"
        raise ValueError(message)


def generator(seed: int, part: int = 0) -> Generator:
    """Return a random generator for a seed. Generators with different `part` are independent: data and noise."""
    check_whole(seed=(seed, 0))
    return np.random.default_rng((seed, 1729, part))


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        message = f"{name} must be a probability from 0 to 1, got {value!r}"
        raise ValueError(message)


def _choose(rng: Generator, n: int, size: int) -> NDArray[np.int64]:
    return np.sort(rng.choice(n, size, replace=False))


def _activity(r: int, k: int) -> float:
    """Return p such that P(Binomial(k, p) >= r) is about 1/2: Kerman's median of Beta(r, k - r + 1)."""
    return (r - 1 / 3) / (k + 1 / 3)


def _ones(rng: Generator, rows: int, width: int, density: float) -> NDArray[np.int64]:
    """Choose each cell of a matrix with probability `density`. The cost depends only on the cells chosen."""
    cells = int(rows) * int(width)  # a numpy integer could overflow
    found = [np.empty(0, dtype=np.int64)]
    last = -1
    while density > 0 and last < cells - 1:
        expected = (cells - last) * density
        gaps = rng.geometric(density, int(expected + 4 * expected**0.5) + 10)
        found.append(last + np.cumsum(np.minimum(gaps, cells + 1)))  # limited, so that the sum fits into 64 bits
        last = int(found[-1][-1])
    ones = np.concatenate(found)
    return ones[ones < cells]


def _matrix(cells: NDArray[np.int64], shape: tuple[int, int], *, sparse: bool) -> Any:
    """Return the 0/1 matrix with ones in these cells, which are numbered row by row."""
    rounds, n = shape
    if not sparse:
        X = np.zeros(shape)
        X.reshape(-1)[cells] = 1
        return X
    csr_array = importlib.import_module("scipy.sparse").csr_array  # slow to import, and rarely needed
    row, col = np.divmod(np.sort(cells), n)
    index = np.int32 if max(n, cells.size) < 2**31 else np.int64  # many libraries support only 32-bit indices
    starts = np.searchsorted(row, np.arange(rounds + 1)).astype(index)
    return csr_array((np.ones(col.size), col.astype(index), starts), shape=shape)


def _sphere(rng: Generator, n: int, rounds: int, goal: float) -> tuple[Floats, Floats]:
    """Draw points x and u of norm 1. Points with abs(u.x) < goal are moved to abs(u.x) = goal."""
    u = rng.normal(size=n)
    u /= np.linalg.norm(u)
    X = rng.normal(size=(rounds, n))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    scores = X @ u
    near = np.abs(scores) < goal
    along = X[near] - np.outer(scores[near], u)
    along *= (1 - goal**2) ** 0.5 / np.linalg.norm(along, axis=1, keepdims=True)
    X[near] = along + np.outer(np.copysign(goal, scores[near]), u)
    return X, u


def _cube(rng: Generator, n: int, rounds: int, goal: float) -> tuple[Floats, Floats]:
    """Draw points x of the cube, and u. Points with abs(u.x) < goal move towards the nearer corner with u.x = ±1."""
    support = _choose(rng, n, min(n, L1_SUPPORT))
    signs = rng.choice([-1.0, 1.0], support.size)
    u = np.zeros(n)
    u[support] = signs * rng.dirichlet(np.ones(support.size))
    X = rng.uniform(-1, 1, (rounds, n))
    scores = X @ u
    step = np.clip((goal - np.abs(scores)) / (1 - np.abs(scores)), 0, 1)[:, None]
    X[:, support] = (1 - step) * X[:, support] + step * np.copysign(1, scores)[:, None] * signs
    return X, u

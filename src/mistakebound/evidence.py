"""What a certificate reads off a ledger: the mistaken rounds as a matrix, and a replay that trusts no learner."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix, hstack

from mistakebound.example import Csr
from mistakebound.life import Life, Reduction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound.arrays import BoolArray, FloatArray
    from mistakebound.ledger import Ledger
    from mistakebound.rules import Rule


@dataclass(frozen=True)
class Step:
    """One update as the proofs see it: z before and after, the example, its label, all with the constant feature."""

    rule: Rule
    z: FloatArray
    z_next: FloatArray
    x: FloatArray
    y: int
    mistaken: bool
    first_seen: int
    """How many of the active features were in no earlier update."""


class Evidence:
    """The rounds that changed the weights (or should have), with the constant feature if there is one.

    The proofs of the mistake-driven linear rules sum over these rounds only, so radius, margins and hinge losses are
    all taken over them; the bounds that result are tighter and still true (THEORY, "Only mistakes matter").
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.rule = ledger.rule

    @cached_property
    def X(self) -> csr_matrix:  # noqa: N802
        """One row per kept round; repeated features are summed."""
        kept = self.ledger.kept
        x = csr_matrix((kept.value, kept.index, kept.indptr), shape=(len(kept), self.ledger.n))
        x.sum_duplicates()
        if not self.rule.bias:
            return x
        constant = csr_matrix(np.full((len(kept), 1), self.rule.bias))
        return csr_matrix(hstack([x, constant], format="csr"))

    @cached_property
    def y(self) -> FloatArray:
        """+1 or −1 a row."""
        return self.ledger.kept.labels.astype(np.float64)

    @property
    def mistaken(self) -> BoolArray:
        """Whether a row was a mistake; the others were updated inside the update margin only."""
        return self.ledger.kept.mistaken

    @property
    def positive(self) -> BoolArray:
        """Whether a row's label was the positive one."""
        return np.asarray(self.y > 0)

    @property
    def n(self) -> int:
        """Number of features, the constant one included."""
        return self.ledger.n + (1 if self.rule.bias else 0)

    def radius(self, p: float) -> float:
        """Largest p-norm of a row."""
        data = np.abs(self.X.data)
        if not len(data):
            return 0.0
        if np.isinf(p):
            return float(data.max())
        top = float(data.max())  # scaled, so that no power overflows
        rows = np.repeat(np.arange(self.X.shape[0]), np.diff(self.X.indptr))
        sums = np.bincount(rows, weights=(data / top) ** p, minlength=self.X.shape[0])
        return float(top * float(sums.max()) ** (1 / p))

    @property
    def most_active(self) -> int:
        """σ: the largest number of non-zeros in a row."""
        return int(np.diff(self.X.indptr).max(initial=0))

    def margins(self, u: FloatArray) -> FloatArray:
        """y(u·x) of each row."""
        return np.asarray(self.y * (self.X @ u))

    def as_vector(self, comparator: Any) -> FloatArray:
        """Read a comparator that a user gave: an array, or {name: weight}; the constant feature may be left out."""
        if isinstance(comparator, dict):
            if not self.ledger.named:
                message = "features have positions here: the comparator is an array of weights, not a dict"
                raise ValueError(message)
            ids = {name: i for i, name in enumerate(self.ledger.names)}
            u = np.zeros(self.n)
            for name, weight in comparator.items():
                if name in ids:  # features of no mistaken round add nothing
                    u[ids[name]] = weight
            return u
        u = np.asarray(comparator, np.float64).ravel()
        if len(u) == self.ledger.n:
            u = np.append(u, np.zeros(self.n - self.ledger.n))
        if len(u) != self.n or not np.isfinite(u).all():
            message = f"the comparator needs {self.n} finite weights, got {len(u)}"
            raise ValueError(message)
        return u

    def as_variables(self, comparator: Any) -> tuple[int, ...]:
        """Read the variables of a disjunction or a panel that a user gave, as indices or names."""
        ids = {name: i for i, name in enumerate(self.ledger.names)}
        found = []
        for item in comparator:
            index = ids.get(item, -1) if isinstance(item, str) else int(item)
            if not isinstance(item, str) and not 0 <= index < self.n:
                message = f"variable {item} is outside 0..{self.n - 1}"
                raise ValueError(message)
            if index >= 0:
                found.append(index)
        return tuple(sorted(set(found)))

    @cached_property
    def replays(self) -> bool:
        """Play the kept rounds alone with a fresh learner: each must be a mistake again where it was one, and update.

        Rounds without an update change nothing, so a true ledger replays exactly.
        """
        kept = self.ledger.kept
        life = Life(self.rule, None if self.ledger.named else self.ledger.n, 0, Reduction())
        if self.ledger.named:
            wrong = [
                life.learn_named(self._example(t), int(kept.labels[t])) != (kept.labels[t] > 0)
                for t in range(len(kept))
            ]
        else:
            rows = Csr(kept.indptr, kept.index, kept.value, self.ledger.n)
            played = life.play(rows, kept.labels)
            wrong = [] if played.words else played.positive != (kept.labels > 0)
        counts = life.counts
        return bool(
            len(wrong) == len(kept)
            and np.array_equal(wrong, kept.mistaken)
            and counts.updates == self.ledger.updates
            and int(kept.mistaken.sum()) == self.ledger.mistakes
        )

    def _example(self, t: int) -> dict[str, float]:
        kept = self.ledger.kept
        x: dict[str, float] = {}
        for k in range(kept.indptr[t], kept.indptr[t + 1]):
            name = str(kept.index[k])
            x[name] = x.get(name, 0.0) + float(kept.value[k])
        return x

    def steps(self) -> Iterator[Step]:
        """Every update in turn, z recomputed from the rounds themselves."""
        z = np.zeros(self.n)
        seen = np.zeros(self.n, bool)
        for t in range(self.X.shape[0]):
            x = self.X[t].toarray().ravel()
            y = int(self.y[t])
            moves = not (self.rule.id == "elimination" and y > 0)
            z_next = (z + y * x).astype(np.float32).astype(np.float64) if moves else z
            yield Step(self.rule, z, z_next, x, y, bool(self.mistaken[t]), int(np.sum((x != 0) & ~seen)))
            z = z_next
            seen |= x != 0

"""What a certificate is derived from: rounds as a matrix, and a replay that trusts no learner."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix, hstack

from mistakebound.play.engine import Life, Reduction
from mistakebound.play.inputs import Csr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound._support.arrays import AnyArray, BoolArray, FloatArray, IntArray
    from mistakebound.play.ledger import Kept, Ledger
    from mistakebound.rules import Rule


@dataclass(frozen=True)
class Premise:
    """Something that a theorem asks for, whether it was so, and what was measured."""

    statement: str
    holds: bool
    measured: str = ""


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
    older: FloatArray | None = None
    """The z that the prediction was made with, if it was an older one."""

    @property
    def z_seen(self) -> FloatArray:
        """The z that the prediction was made with."""
        return self.z if self.older is None else self.older

    @property
    def power(self) -> float:
        """The p of the norm that the rule is measured in."""
        return self.rule.parameter if self.rule.id == "pnorm" else 2.0


MISTAKEN_ROUNDS, WHOLE_STREAM = "mistaken rounds", "whole stream"
"""The two scopes of a certificate: the rounds over which radius, margins and losses are taken."""


class Evidence:
    """The rounds over which a theorem is checked, with the constant feature if there is one.

    Here they are the rounds that changed the weights (or should have). The proofs of the mistake-driven linear rules
    sum over these rounds only, so the bounds that result are tighter and still true. What they are evidence for is
    another matter: the premises were checked on these rounds alone.
    """

    scope = MISTAKEN_ROUNDS
    every_round = "every mistaken round"
    """Where premises are checked, in words."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.rule = ledger.rule
        self._radius: dict[float, float] = {}
        self.searched: dict[str, FloatArray | None] = {}
        """Comparators that several theorems ask for, by what they are."""

    @property
    def examples(self) -> Kept:
        """The examples of the rounds, in CSR form without the constant feature."""
        return self.ledger.kept

    @property
    def names(self) -> list[str]:
        """Feature names by index; empty for features by position."""
        return self.ledger.names

    @property
    def features(self) -> int:
        """Number of features without the constant one."""
        return self.ledger.n

    @property
    def complete(self) -> Premise:
        """Whether every round is here."""
        kept = f"only {len(self.examples)} were: set a larger keep_bytes, or certify over the whole stream"
        return Premise("every mistaken example was kept", self.ledger.complete, "" if self.ledger.complete else kept)

    @property
    def times(self) -> FloatArray | float:
        """How many rounds each row stands for."""
        return 1.0

    @cached_property
    def X(self) -> csr_matrix:  # noqa: N802
        """One row per round; repeated features are summed."""
        kept = self.examples
        x = csr_matrix((kept.value, kept.index, kept.indptr), shape=(len(kept), self.features))
        x.sum_duplicates()
        if not self.rule.bias:
            return x
        constant = csr_matrix(np.full((len(kept), 1), self.rule.bias))
        return csr_matrix(hstack([x, constant], format="csr"))

    @cached_property
    def y(self) -> FloatArray:
        """+1 or −1 a row."""
        return self.examples.labels.astype(np.float64)

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
        return self.features + (1 if self.rule.bias else 0)

    @property
    def one_pass(self) -> Evidence:
        """The same rounds, each counted once however many passes there were."""
        return self

    @property
    def rounds(self) -> int:
        """Number of rounds of the learner's life."""
        return self.ledger.rounds

    def total(self, values: AnyArray) -> float:
        """Sum of one value a row, over all rounds that the rows stand for."""
        return float(np.sum(values * self.times))

    def radius(self, p: float) -> float:
        """Largest p-norm of a row."""
        if p not in self._radius:
            self._radius[p] = self._largest_norm(p)
        return self._radius[p]

    def _largest_norm(self, p: float) -> float:
        data = np.abs(self.X.data)
        top = float(data.max(initial=0.0))
        if top == 0 or np.isinf(p):
            return top
        # Values are scaled, so that no power overflows.
        sums = csr_matrix(((data / top) ** p, self.X.indices, self.X.indptr), shape=self.X.shape).sum(axis=1)
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
            ids = {name: i for i, name in enumerate(self.names)}
            u = np.zeros(self.n)
            for name, weight in comparator.items():
                if name in ids:  # features of none of these rounds add nothing
                    u[ids[name]] = weight
        else:
            u = np.asarray(comparator, np.float64).ravel()
            if len(u) == self.features:
                u = np.append(u, np.zeros(self.n - self.features))
        if len(u) != self.n or not np.isfinite(u).all():
            message = f"the comparator needs {self.n} finite weights, got {len(u)}"
            raise ValueError(message)
        return u

    def as_variables(self, comparator: Any) -> tuple[int, ...]:
        """Read the variables of a disjunction or a panel that a user gave, as indices or names."""
        ids = {name: i for i, name in enumerate(self.names)}
        found = []
        try:
            items = [item if isinstance(item, str) else int(item) for item in comparator]
        except TypeError:
            message = f"the comparator is a list of variables, got {comparator!r}"
            raise ValueError(message) from None
        for item in items:
            index = ids.get(item, -1) if isinstance(item, str) else item
            if not isinstance(item, str) and not 0 <= index < self.n:
                message = f"variable {item} is outside 0..{self.n - 1}"
                raise ValueError(message)
            if index >= 0:
                found.append(index)
        return tuple(sorted(set(found)))

    @property
    def replayed(self) -> Premise:
        """Whether a fresh learner does the same in these rounds."""
        return Premise("the mistaken rounds replay to the same mistakes", self.replays)

    @cached_property
    def replays(self) -> bool:
        """Play the kept rounds alone with a fresh learner: each must be a mistake again where it was one, and update.

        Rounds without an update change nothing, so a true ledger replays exactly.
        """
        kept = self.ledger.kept
        life = Life(self.rule, None if self.ledger.named else self.ledger.n, 0, Reduction())
        if self.ledger.late:
            wrong = self._replay_late(life)
        elif self.ledger.named:
            wrong = [
                life.learn_named(self._example(t), int(kept.labels[t])) != (kept.labels[t] > 0)
                for t in range(len(kept))
            ]
        else:
            rows = Csr(kept.indptr, kept.index, kept.value, self.ledger.n)
            played = life.play(rows, kept.labels)
            wrong = [] if played.fault else list(played.positive != (kept.labels > 0))
        counts = life.counts
        return bool(
            len(wrong) == len(kept)
            and np.array_equal(wrong, kept.mistaken)
            and counts.updates == self.ledger.updates
            and int(kept.mistaken.sum()) == self.ledger.mistakes
        )

    def _replay_late(self, life: Life) -> list[bool]:
        """Whether each kept round is a mistake, if its prediction is made as many updates earlier as it was."""
        kept, waiting = self.ledger.kept, deque(np.argsort(self._asked_at, kind="stable").tolist())
        served: dict[int, Any] = {}
        wrong: list[bool] = []
        for t in range(len(kept)):
            while waiting and self._asked_at[waiting[0]] <= life.counts.updates:
                served[waiting[0]] = life.serve(self._row(waiting[0]))
                waiting.popleft()
            if t not in served:
                break  # a delay that cannot be
            life.tell(served[t], int(kept.labels[t]))
            wrong.append(served.pop(t).positive != (kept.labels[t] > 0))
        return wrong

    def _row(self, t: int) -> Any:
        kept = self.ledger.kept
        if self.ledger.named:
            return self._example(t)
        own = slice(kept.indptr[t], kept.indptr[t + 1])
        return Csr(np.array([0, own.stop - own.start]), kept.index[own], kept.value[own], self.ledger.n)

    @cached_property
    def _moves(self) -> BoolArray:
        """Whether each kept round changed the weights."""
        return np.asarray([self.rule.id != "elimination" or label < 0 for label in self.ledger.kept.labels], bool)

    @cached_property
    def _asked_at(self) -> IntArray:
        """How many updates the prediction of each kept round had seen."""
        return np.asarray(np.cumsum(self._moves) - self._moves - self.ledger.delays, np.int64)

    @cached_property
    def mean_delay(self) -> float:
        """τ̄: the mean number of updates between a prediction and its outcome, over the rounds that updated."""
        delays = self.ledger.delays[self._moves]
        return float(delays.mean()) if len(delays) else 0.0

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
        past = [z] if self.ledger.late else []
        seen = np.zeros(self.n, bool)
        for t in range(self.X.shape[0]):
            x = self.X[t].toarray().ravel()
            y = int(self.y[t])
            moves = y < 0 or self.rule.learns_from_positives
            z_next = (z + y * x).astype(np.float32).astype(np.float64) if moves else z
            older = past[self._asked_at[t]] if past else None
            yield Step(self.rule, z, z_next, x, y, bool(self.mistaken[t]), int(np.sum((x != 0) & ~seen)), older)
            if past and moves:
                past.append(z_next)
            z = z_next
            seen |= x != 0


class WholeStream(Evidence):
    """All rounds of a learner's life: the textbook's statement. ``replay`` makes it in a second pass over the stream.

    Parameters
    ----------
    ledger : Ledger
        Of the learner's whole life.
    stream : Ledger
        Of a learner that kept every example of the stream.
    """

    scope = WHOLE_STREAM
    every_round = "every round"

    def __init__(self, ledger: Ledger, stream: Ledger) -> None:
        super().__init__(ledger)
        self._stream = stream

    @cached_property
    def examples(self) -> Kept:
        """Every example of the stream, once however many passes there were."""
        return self._stream.kept

    @cached_property
    def names(self) -> list[str]:
        """Every feature name of the stream, by index."""
        return self._stream.names

    @property
    def features(self) -> int:
        """Number of features of the stream."""
        return max(self.ledger.n, self._stream.n)

    @property
    def complete(self) -> Premise:
        """Whether every round is here."""
        kept = "" if self._stream.complete else f"{len(self.examples)} of {self._stream.rounds} were"
        return Premise("every example of the stream was kept in memory", self._stream.complete, kept)

    @cached_property
    def times(self) -> FloatArray | float:
        """How many rounds each row stands for: one a pass; the last pass may have ended early."""
        rows = len(self.examples)
        passes, left = divmod(self.ledger.rounds, max(rows, 1))
        return float(passes) if left == 0 else passes + (np.arange(rows) < left).astype(np.float64)

    @property
    def one_pass(self) -> Evidence:
        """The same rounds, each counted once."""
        return self if self.ledger.rounds <= len(self.examples) else OnePass(self)

    @property
    def replayed(self) -> Premise:
        """A second pass over the stream gave the same mistakes and weights, or there would be no such evidence."""
        return Premise("learning the stream again gives the same mistakes and weights", True)


class OnePass(WholeStream):
    """The rounds of one pass: what is left of the evidence of several passes, since they repeat the same labels."""

    times = 1.0

    def __init__(self, whole: WholeStream) -> None:
        super().__init__(whole.ledger, whole._stream)  # noqa: SLF001 - of the same class
        self.__dict__ |= {"X": whole.X, "y": whole.y}

    @property
    def rounds(self) -> int:
        """Number of rounds of one pass."""
        return len(self.examples)

"""`Evidence`: the rounds that a theorem is checked on, as arrays and numbers; and a comparator with its measures."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack

from mistakebound.theorems.replay import replays
from mistakebound.theorems.steps import Mix, Piece, Step, moves

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound._support.arrays import AnyArray, BoolArray, FloatArray, IntArray
    from mistakebound.play.ledger import Ledger
    from mistakebound.play.mixing import Span
    from mistakebound.play.record import Kept
    from mistakebound.rules.base import Rule

PROMPT = "no outcome came late"
ALONE = "one learner learned all rounds, without shards whose states were mixed"
MISTAKEN_ROUNDS, WHOLE_STREAM = "mistaken rounds", "whole stream"
"""The two scopes of a certificate: the rounds over which radius, margins and losses are computed."""


@dataclass(frozen=True)
class Premise:
    """A premise of a theorem, whether it holds, and the measured numbers."""

    statement: str
    holds: bool
    measured: str = ""


class Witness(NamedTuple):
    """A comparator: a vector u, or the variables of a disjunction or panel, and the γ at which it is measured."""

    u: FloatArray = np.zeros(0)
    variables: tuple[int, ...] = ()
    margin: float | None = None


@dataclass(frozen=True, eq=False)
class Measured:
    """The numbers of one comparator on these rounds, which premises, bound and certificate use."""

    witness: Witness
    """The comparator at the scale of the theorem, for example with ‖u‖₁ = 1."""
    scores: FloatArray
    """Score of each row; the comparator predicts the positive label if it is at least 0."""
    mistakes: int
    """Number of rounds in which the comparator errs."""
    norm: float
    """Its norm in the bound; see ``Theorem.norm_is``."""
    gamma: float = 1.0
    """The margin γ of the bound."""
    loss: float = 0.0
    """Its loss over these rounds, which the bound includes; 0 if the theorem requires separation."""
    gain: float = 0.0
    """By how much each mistake reduces the relative entropy; only for the proofs of Winnow."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The rounds on which a theorem is checked, with the constant feature if there is one.

    These are either all rounds of a learner, or only the mistaken rounds: those that changed the weights, or should
    have. The proofs of the mistake-driven linear rules sum over the mistaken rounds only, so bounds over them are
    valid and tighter. But then the premises are checked on those rounds alone. See docs/theory.md, "Scope: the whole
    stream" and "Scope: the mistaken rounds".
    """

    scope: str
    every_round: str
    """The rounds on which premises are checked, in words."""
    rule: Rule
    parameter: float
    """The one number that the rule's link depends on: η, p, …"""
    named: bool
    rounds: int
    """Number of rounds of the learner."""
    mistakes: int
    updates: int
    names: list[str]
    """Feature names by index; empty if features have positions."""
    features: int
    """Number of features without the constant one."""
    n: int
    """Number of features, the constant one included."""
    complete: bool
    """Whether every round was kept; otherwise ``X`` has no rows."""
    premises: tuple[Premise, ...]
    """The premises of every theorem: a learner that was fresh, and rounds that were all kept and replay exactly."""
    prompt: tuple[Premise, ...]
    """The premise that no outcome came late, which most theorems need; empty if it holds."""
    alone: tuple[Premise, ...]
    """The premise that no states were mixed, which most theorems need; empty if it holds."""
    epochs: tuple[tuple[Piece, ...], ...]
    """For the mistaken rounds of a mixed learner: the rows of each shard, by epochs. See ``Mixing.spans``."""
    X: csr_matrix
    """The examples, one row per round; repeated features are summed."""
    y: FloatArray
    """The label of each row, +1 or −1."""
    largest_value: float
    """L: the largest absolute value of a feature."""
    mistaken: BoolArray
    """For mistaken rounds: whether each row was a mistake; otherwise only the update margin caused the update."""
    delays: IntArray
    """For mistaken rounds: the updates between each prediction and its outcome, 0 unless the outcome came late."""
    late: int
    """Number of predictions whose outcome came after an update that they had not seen."""
    mean_delay: float
    """τ̄: the mean number of updates between a prediction and its outcome, over the rounds that updated."""
    times: FloatArray | float = 1.0
    """How many rounds each row stands for: one per pass."""
    radii: dict[float, float] = field(default_factory=dict)
    """Results of ``radius``."""
    searched: dict[str, FloatArray | None] = field(default_factory=dict)
    """Results of searches that several theorems share, by name."""

    @classmethod
    def of(cls, ledger: Ledger, stream: Ledger | None = None) -> Evidence:
        """Return the evidence of a ledger.

        Parameters
        ----------
        ledger : Ledger
            The ledger of all rounds of a learner, or of its first run.
        stream : Ledger, optional
            The ledger of a second pass over the stream, which kept every example once and gave the same mistakes and
            weights. Without it, the evidence covers the mistaken rounds.
        """
        if ledger.several and cls is Evidence:
            from mistakebound.theorems.class_evidence import ClassEvidence  # noqa: PLC0415 - it imports this module

            return ClassEvidence.of(ledger, stream)
        source, rule, whole = stream or ledger, ledger.rule, stream is not None
        kept, complete, n = source.kept, source.complete, max(ledger.n, source.n)
        rounds, examples, names = ledger.rounds, source.rounds, source.names if ledger.named else []
        # A second pass cannot repeat late outcomes: a ledger with one has no evidence of the whole stream.
        delays = ledger.delays if not whole and ledger.late else np.zeros(len(kept.labels), np.int64)
        spans = () if ledger.mixing is None else ledger.mixing.spans(ledger.rounds)
        mistakes, updates, parameter = ledger.mistakes, ledger.updates, rule.parameter
        late = int(np.count_nonzero(delays))
        not_replayed = not complete or (ledger.several and ledger.mixing is not None)
        if complete:
            X, y = _matrix(kept, n, rule.bias, copy=not whole), kept.labels.astype(np.float64)
        else:
            X, y = csr_matrix((0, n + bool(rule.bias))), np.zeros(0)
        return cls(
            scope=WHOLE_STREAM if whole else MISTAKEN_ROUNDS,
            every_round="every round" if whole else "every mistaken round",
            rule=rule,
            parameter=parameter,
            named=ledger.named,
            rounds=rounds,
            mistakes=mistakes,
            updates=updates,
            names=names,
            features=n,
            n=n + bool(rule.bias),
            complete=complete,
            premises=(
                Premise("the learner was fresh in the first round", ledger.from_start),
                *(() if not_replayed else (_replayed(ledger, whole=whole),)),
                *(() if complete else (_missing(len(kept.labels), examples, whole=whole),)),
            ),
            prompt=(Premise(PROMPT, False, f"{late} predictions had not seen all updates before them"),)
            if late
            else (),
            alone=() if ledger.mixing is None else (mixed_from(ledger),),
            epochs=tuple(tuple(_piece(kept, span) for span in epoch) for epoch in spans) if complete else (),
            X=X,
            y=y,
            largest_value=float(max(X.data.max(initial=0.0), -X.data.min(initial=0.0))),
            mistaken=kept.mistaken,
            delays=delays,
            late=late,
            mean_delay=float(delays.sum()) / max(updates, 1),
            times=_times(rounds, len(y)) if whole else 1.0,
            **cls._of_classes(ledger, kept),
        )

    @classmethod
    def _of_classes(cls, ledger: Ledger, kept: Kept) -> dict[str, Any]:  # noqa: ARG003 - for ``ClassEvidence``
        """Return the fields that only the evidence of several classes has."""
        return {}

    @property
    def shards(self) -> int:
        """The largest number of shards of an epoch."""
        return max((len(epoch) for epoch in self.epochs), default=1)

    @property
    def weights(self) -> int:
        """Number of weights of a comparator."""
        return self.n

    def split(self, place: int) -> tuple[str, int]:
        """Return what a certificate writes before the feature of a weight of a comparator, and the feature."""
        return "", place

    def parse(self, name: str) -> tuple[int, str]:
        """Return the reverse of ``split`` for a name: what to add to the place of the feature, and its name."""
        return 0, name

    @cached_property
    def positive(self) -> BoolArray:
        """Whether each row has the positive label."""
        return np.asarray(self.y > 0)

    @cached_property
    def most_active(self) -> int:
        """σ, the largest number of non-zeros in a row."""
        return int(np.diff(self.X.indptr).max(initial=0))

    def radius(self, p: float) -> float:
        """Return the largest p-norm of a row. The result is cached."""
        top = self.largest_value
        if top == 0:
            return top
        if p not in self.radii:
            powers = (np.abs(self.X.data) / top) ** p  # scaled, so that no power overflows
            sums = csr_matrix((powers, self.X.indices, self.X.indptr), shape=self.X.shape).sum(axis=1)
            self.radii[p] = float(top * float(sums.max()) ** (1 / p))
        return self.radii[p]

    def total(self, values: AnyArray) -> float:
        """Return the sum over all rounds of values that are given per row."""
        return float(np.sum(values * self.times))

    def errors(self, scores: FloatArray) -> int:
        """Return the number of rounds in which scores predict the wrong label; a score of at least 0 is positive."""
        return round(self.total((scores >= 0) != self.positive))

    def one_pass(self) -> Evidence:
        """Return the evidence of one pass: each row stands for one round."""
        rows = self.X.shape[0]
        whole = self.scope == WHOLE_STREAM and self.rounds > rows
        return replace(self, rounds=rows, times=1.0) if whole else self

    def as_vector(self, comparator: Any) -> FloatArray:
        """Return as a vector the array or {name: weight} that a user passed; the constant feature may be left out."""
        if isinstance(comparator, dict):
            if not self.named:
                message = "the features of this learner have positions: the comparator must be an array, got a dict"
                raise ValueError(message)
            ids = {name: i for i, name in enumerate(self.names)}
            u = np.zeros(self.n)
            for name, weight in comparator.items():
                if name in ids:  # a feature that occurs in none of these rounds adds nothing
                    u[ids[name]] = weight
        else:
            u = np.asarray(comparator, np.float64).ravel()
            if len(u) == self.features:
                u = np.append(u, np.zeros(self.n - self.features))
        if len(u) != self.n or not np.isfinite(u).all():
            message = f"the comparator must have {self.n} finite weights, got {len(u)}"
            raise ValueError(message)
        return u

    def as_variables(self, comparator: Any) -> tuple[int, ...]:
        """Return the indices of the variables of a disjunction or panel that a user passed as indices or names."""
        ids = {name: i for i, name in enumerate(self.names)}
        found = []
        try:
            items = [item if isinstance(item, str) else int(item) for item in comparator]
        except TypeError:
            message = f"the comparator must be a list of variables, got {comparator!r}"
            raise ValueError(message) from None
        for item in items:
            index = ids.get(item, -1) if isinstance(item, str) else item
            if not isinstance(item, str) and not 0 <= index < self.n:
                message = f"a variable of the comparator must be from 0 to {self.n - 1}, got {item}"
                raise ValueError(message)
            if index >= 0:
                found.append(index)
        return tuple(sorted(set(found)))

    def steps(self) -> Iterator[Step]:
        """Yield every update in turn, with z recomputed from the rounds."""
        return (found for found in moves(self) if isinstance(found, Step))

    def mixes(self) -> Iterator[Mix]:
        """Yield every mix of shards in turn, with z recomputed from the rounds."""
        return (found for found in moves(self) if isinstance(found, Mix))


def mixed_from(ledger: Ledger) -> Premise:
    """Return the premise that one learner learned all rounds, which does not hold for a mixed learner."""
    shown = "states were mixed before these rounds" if ledger.mixing is None else f"up to {ledger.mixing.shards} shards"
    return Premise(ALONE, False, shown)


def _piece(kept: Kept, span: Span) -> Piece:
    first, end = np.searchsorted(kept.rounds, (span.first, span.end)).tolist()
    return Piece(first, end, span.share)


def _matrix(kept: Kept, features: int, bias: float, *, copy: bool) -> csr_matrix:
    """Return the examples with the constant feature. Without a copy, which may be too large, ``kept`` is sorted."""
    rows = len(kept.labels)
    x = csr_matrix((kept.value, kept.index, kept.indptr), shape=(rows, features), copy=copy)
    x.sum_duplicates()
    if not bias:
        return x
    constant = csr_matrix(np.full((rows, 1), bias))
    return csr_matrix(hstack([x, constant], format="csr"))


def _times(rounds: int, rows: int) -> FloatArray | float:
    """Return how many rounds each row stands for: one per pass. The last pass may have ended early."""
    passes, left = divmod(rounds, max(rows, 1))
    return float(passes) if left == 0 else passes + (np.arange(rows) < left).astype(np.float64)


def _replayed(ledger: Ledger, *, whole: bool) -> Premise:
    if whole:  # the second pass has checked it; otherwise there is no evidence of the whole stream
        return Premise("learning the stream again gives the same mistakes and weights", True)
    return Premise("the mistaken rounds replay to the same mistakes", replays(ledger))


def _missing(kept: int, rounds: int, *, whole: bool) -> Premise:
    if whole:
        return Premise("every example of the stream was kept in memory", False, f"{kept} of {rounds} were")
    few = f"only {kept} were: set a larger keep_bytes, or certify over the whole stream"
    return Premise("every mistaken example was kept", False, few)

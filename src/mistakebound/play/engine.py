"""`LearnerEngine`: one linear learner in the compiled core. It plays rounds, scores examples and keeps a record."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._core import Engine, FaultKind, NamedFault
from mistakebound._support.lazy import np
from mistakebound.play.faults import FEATURE_FAULTS, RowFault, row_fault
from mistakebound.play.inputs import Csr, Dense, complemented, densified, sparse_row
from mistakebound.play.ledger import Counts, Ledger
from mistakebound.play.record import EngineRecord

if TYPE_CHECKING:
    from typing import TypeGuard

    from mistakebound._core import Fault
    from mistakebound._support.arrays import BoolArray, FloatArray, IntArray, SignArray
    from mistakebound.data.parts import Part
    from mistakebound.errors import StreamError
    from mistakebound.play.inputs import Positional
    from mistakebound.play.mixing import Mixing
    from mistakebound.play.standings import Standings
    from mistakebound.rules import Rule
    from mistakebound.rules.panel import PanelRule

NO_ROUNDS = Counts(0, 0, 0, 0, 0)


def is_panel(rule: Rule) -> TypeGuard[PanelRule]:
    """Return whether a rule is the Panel, of two labels or of several classes."""
    return rule.id in {"panel", "multiclass-panel"}


class Reduction(NamedTuple):
    """How a target is turned into a disjunction of the variables that the rule sees.

    A conjunction is the negation of a disjunction of negated variables (De Morgan), so ``conjunction`` negates the
    inputs and the label. ``complements`` passes every variable and its negation to the rule.
    See docs/theory.md, "Conjunctions and negated variables".
    """

    conjunction: bool = False
    complements: bool = False

    def slots(self, width: int) -> int:
        """Return the number of variables that the rule sees."""
        return 2 * width if self.complements else width

    def rows(self, rows: Positional) -> Positional:
        """Return the examples as the rule sees them; of a sparse matrix, the rows before the first malformed one."""
        if self == Reduction():
            return rows
        return complemented(rows.x if isinstance(rows, Dense) else densified(rows), both=self.complements)


class Played(NamedTuple):
    """The result of a batch: the predictions and, if a row was bad, its number and its fault."""

    positive: BoolArray
    row: int
    fault: RowFault | None
    before: Counts
    after: Counts


class PlayedPart(NamedTuple):
    """The result of a part of a file, without numpy: ``positive`` has one byte per prediction, 1 if it was positive."""

    positive: bytes
    row: int
    fault: RowFault | None
    before: Counts
    after: Counts


class ServedExample(NamedTuple):
    """A prediction whose outcome comes later, with its example and score, as the rule sees them."""

    example: Any
    """A dict, set or list of names, or a `Csr` of one row."""
    positive: bool
    score: float
    updates: int
    """Number of updates before the prediction."""


class LearnerEngine:
    """A rule with its state in the compiled core: created at a learner's first input, and again by each ``fit``.

    Parameters
    ----------
    rule : Rule
        The rule with its parameters.
    width : int or None
        Number of features by position; None for features with names.
    growing : bool
        Whether the number of features by position may grow, as it does when a file is read.
    """

    max_features: int | None = None
    """The limit on the number of named features; None for no limit. ``play.feature_limit`` applies it."""
    mixing: Mixing | None = None
    """What was mixed, if this is a mixed learner; ``learners.mixing`` sets it."""
    dropped = 0
    """Features that were dropped, because there were more."""

    def __init__(
        self, rule: Rule, width: int | None, keep_bytes: int, reduction: Reduction, *, growing: bool = False
    ) -> None:
        self.growing = growing
        self.rule = rule
        self.width = width
        self.named = width is None
        self.reduction = reduction
        slots = 0 if width is None else reduction.slots(width)
        self.core = Engine(
            rule.id,
            rule.parameter,
            rule.threshold,
            rule.tie_is_negative,
            rule.update_margin,
            rule.bias,
            width is None,
            slots,
            keep_bytes,
            growing,
            **self._members(),
        )

    def _members(self) -> dict[str, Any]:
        """Return which members a panel has; empty for a linear rule."""
        return {"members": int(self.rule.members), "joined": int(self.rule.joined)} if is_panel(self.rule) else {}

    @property
    def direct(self) -> bool:
        """Whether the core alone predicts and learns, so that it may be called directly."""
        return self.max_features is None

    @property
    def takes_weights(self) -> bool:
        """Whether examples may have weights."""
        return self.rule.takes_weights

    @property
    def standings(self) -> Standings | None:
        """The members of a panel; None for a linear rule."""
        if not is_panel(self.rule):
            return None
        from mistakebound.play.standings import of_core  # noqa: PLC0415 - only a panel needs it

        return of_core(self.core.standings(), self.member_names, mixed=self.mixing is not None)

    @property
    def member_names(self) -> tuple[str, ...]:
        """The names of the members of a panel."""
        return self.rule.names if is_panel(self.rule) else ()

    @property
    def counts(self) -> Counts:
        """Totals so far, by the labels that the rule sees, which are negated for a conjunction."""
        return Counts(*self.core.counts())

    @property
    def measured_counts(self) -> Counts:
        """The totals, and how good the probabilities were."""
        return Counts.of_core((*self.core.counts(), self.core.measures()))

    def play_part(
        self,
        part: Part,
        signs: bytes,
        first: int = 0,
        *,
        scores: FloatArray | None = None,
        weights: FloatArray | None = None,
    ) -> PlayedPart:
        """Predict, then learn, rows of a part of a file from row ``first`` on; ``signs`` has a byte per label.

        ``scores`` gets the score of each row before it is learned. Without ``weights``, each row has the weight 1.
        """
        chunk = part.chunk
        if self.reduction != Reduction():
            played = self.play(self.csr(part, len(signs), first), np.frombuffer(signs, np.int8), scores)
            return PlayedPart(played.positive.tobytes(), played.row, played.fault, played.before, played.after)
        try:
            row, fault, before, after, positive = self.core.play_chunk(chunk, signs, first, scores, weights)
        except MemoryError:
            raise MemoryError(too_large(part)) from None
        return PlayedPart(positive[:row], row, part_fault(part, fault), Counts.of_core(before), Counts.of_core(after))

    def score_part(self, part: Part) -> tuple[FloatArray, BoolArray, RowFault | None]:
        """Return the scores and predictions of a part, up to the first bad row, and the fault of that row, or None."""
        if not self.named:
            return self._scores(self.csr(part, part.rows))
        out, positive = np.empty(part.rows), np.empty(part.rows, np.uint8)
        row, fault = self.core.score_chunk(part.chunk, out, positive)
        return out[:row], positive[:row].view(np.bool_), part_fault(part, fault)

    def csr(self, part: Part, rows: int, first: int = 0) -> Csr:
        """Return rows of a part whose features have positions."""
        chunk = part.chunk
        width = self.width if self.width is not None and not self.growing else chunk.width
        return Csr(chunk.indptr[first : first + rows + 1], chunk.index, chunk.value, width, first=part.first)

    def play(
        self,
        rows: Positional,
        signs: SignArray,
        scores: FloatArray | None = None,
        weights: FloatArray | None = None,
    ) -> Played:
        """Predict, then learn, row by row; ``signs`` are the labels as +1, −1, or 0 if unknown.

        ``scores`` gets the score of each row before it is learned. Without ``weights``, each row has the weight 1.
        """
        seen = self.reduction.rows(rows)
        flip = self.reduction.conjunction
        signs = np.ascontiguousarray((-signs if flip else signs)[: len(seen)])
        weights = None if weights is None else weights[: len(seen)]
        out = np.empty(len(seen), np.uint8)
        if isinstance(seen, Dense):
            row, fault, before, after = self.core.play_dense(seen.x, signs, out, scores, weights)
        else:
            row, fault, before, after = self.core.play_csr(
                seen.indptr, seen.index, seen.value, signs, out, scores, weights
            )
        wrong = self._fault(rows, seen, fault)
        return Played(out[:row].view(np.bool_) ^ flip, row, wrong, Counts.of_core(before), Counts.of_core(after))

    def scores(self, rows: Positional) -> tuple[FloatArray, BoolArray]:
        """Return the score and the prediction of each row, without learning."""
        out, positive, fault = self._scores(rows)
        if fault:
            raise fault.error().at_round(len(out))
        return out, positive

    def _scores(self, rows: Positional) -> tuple[FloatArray, BoolArray, RowFault | None]:
        """Return the scores and predictions up to the first bad row, and the fault of that row, or None."""
        seen = self.reduction.rows(rows)
        out, positive = np.empty(len(seen)), np.empty(len(seen), np.uint8)
        if isinstance(seen, Dense):
            row, fault = self.core.score_dense(seen.x, out, positive)
        else:
            row, fault = self.core.score_csr(seen.indptr, seen.index, seen.value, out, positive)
        return out[:row], positive[:row].view(np.bool_) ^ self.reduction.conjunction, self._fault(rows, seen, fault)

    def learn_named(self, x: Any, sign: int, weight: float = 1.0) -> bool:
        """Predict, then learn, a named example; return whether the prediction was positive."""
        try:
            return self.core.learn_named(x, sign, weight)
        except NamedFault as fault:
            raise stream_error(fault) from None

    def score_named(self, x: Any) -> tuple[float, bool]:
        """Return the score and the prediction of a named example, without learning."""
        try:
            return self.core.score_named(x)
        except NamedFault as fault:
            raise stream_error(fault) from None

    def serve(self, x: Any) -> ServedExample:
        """Predict a named example, or one row, whose outcome comes later. The example is copied."""
        example = copy(x) if self.named else sparse_row(self.reduction.rows(x))
        while True:
            updates = self.counts.updates
            score, positive = self.score_named(example) if self.named else self._score_row(x)
            if self.counts.updates == updates:  # no other thread has learned meanwhile
                break
        return ServedExample(example, positive, score, updates)

    def _score_row(self, x: Positional) -> tuple[float, bool]:
        scores, positive = self.scores(x)
        return float(scores[0]), bool(positive[0]) ^ self.reduction.conjunction

    def tell(self, served: ServedExample, sign: int, weight: float = 1.0) -> None:
        """Learn from the outcome of an earlier prediction, which counts as a mistake if it was wrong."""
        x, positive, score, updates = served
        if self.named:
            try:
                self.core.tell_named(x, sign, positive, score, updates, weight)
            except NamedFault as fault:
                raise stream_error(fault) from None
            return
        sign = -sign if self.reduction.conjunction else sign
        played = self.core.tell_csr(x.indptr, x.index, x.value, sign, positive, score, updates, weight)
        if wrong := self._fault(x, x, played[1]):
            raise wrong.error()

    def weights(self) -> FloatArray:
        """Return the normalised weight of every slot; the last is that of the constant feature, if there is one."""
        if self.rule.scalars:
            w, bias_w = self.core.weights()
            return np.append(w, bias_w) if self.rule.bias else w
        z, bias_z = self.core.z()
        z = z.astype(np.float64)
        return self.rule.weights(np.append(z, bias_z) if self.rule.bias else z)

    def intercept(self) -> float:
        """Return the score of an example without features: that of the constant feature, or of a prior."""
        if not self.rule.scalars:
            return float(self.weights()[-1]) * self.rule.bias if self.rule.bias else 0.0
        if self.named:
            return self.score_named({})[0]
        return float(self.scores(Csr(np.zeros(2, np.int64), np.zeros(0, np.int64), np.zeros(0), self.width or 0))[0][0])

    def names(self, slots: int) -> list[str]:
        """Return the names of the first ``slots`` slots, except slot 0, which has none."""
        return self.core.names()[: max(slots - 1, 0)]

    def ledger(
        self,
        classes: tuple[Any, Any],
        before: Counts = NO_ROUNDS,
        now: Counts | None = None,
        positive: BoolArray | bytes | None = None,
        mistakes: IntArray | bytes | None = None,
        *,
        mixed: bool = False,
    ) -> Ledger:
        """Return the ledger of the rounds from ``before`` to ``now``.

        Parameters
        ----------
        classes : tuple
            (negative, positive) label.
        before, now : Counts
            By default, all rounds so far.
        positive, mistakes
            What the caller has recorded of these rounds: see `EngineRecord`.
        mixed : bool
            Whether other threads played rounds meanwhile. Then it is not known which of the kept examples belong to
            these rounds, and the ledger has none.
        """
        now = now or self.measured_counts
        slots = self.core.slots()
        kept_until = now._replace(to_keep=before.to_keep) if mixed else now
        return Ledger(
            flipped(now - before) if self.reduction.conjunction else now - before,
            rule=self.rule,
            n=slots,
            classes=classes,
            from_start=before.rounds == 0,
            named=self.named,
            record=EngineRecord(self, slots, before, kept_until, positive, mistakes),
            positive_predictions=positive.count(1) if isinstance(positive, bytes) else None,
            standings=self.standings,
            mixing=None if before.rounds else self.mixing,
        )

    def error_of(self, rows: Positional, fault: Fault | None) -> StreamError | None:
        """Return the error for a fault that the core found in rows, or None."""
        found = self._fault(rows, rows, fault)
        return None if found is None else found.error()

    def _fault(self, rows: Positional, seen: Positional, fault: Fault | None) -> RowFault | None:
        """Return the fault of the first row that was not played; None if all rows were played."""
        if fault is None:
            return self._malformed(rows, seen) or (RowFault("broken", rows.broken) if rows.broken else None)
        if fault.kind not in FEATURE_FAULTS:
            return row_fault(fault.kind)
        if seen is not rows and isinstance(seen, Dense):
            row, column = divmod(fault.position, seen.width)
            column %= rows.width
            value = seen.x[row, column]
            column += rows.first if isinstance(rows, Csr) else 0
        else:
            column, value = rows.feature_at(fault.position)
        return row_fault(fault.kind, int(column), value, of_sum=fault.of_sum)

    def _malformed(self, rows: Positional, seen: Positional) -> RowFault | None:
        """Return the fault of the first row that a reduction could not make dense; None if it made all rows dense."""
        if not isinstance(rows, Csr) or len(seen) == len(rows):
            return None
        begin, end = rows.indptr[len(seen)], rows.indptr[len(seen) + 1]
        if not 0 <= begin <= end <= len(rows.index):
            return row_fault(FaultKind.MALFORMED)
        outside = (rows.index[begin:end] < 0) | (rows.index[begin:end] >= rows.width)
        return row_fault(FaultKind.INDEX, int(rows.feature_at(begin + int(np.argmax(outside)))[0]))


def part_fault(part: Part, fault: Fault | None) -> RowFault | None:
    """Return the fault of a row of a file; None if the row is good."""
    if fault is None or fault.kind not in FEATURE_FAULTS:  # the row may have no feature to name
        return None if fault is None else row_fault(fault.kind)
    chunk, at = part.chunk, fault.position
    feature = chunk.name(at).decode(errors="replace") if chunk.named else int(chunk.index[at]) + part.first
    return row_fault(fault.kind, feature, chunk.value[at], of_sum=fault.of_sum)


def too_large(part: Part) -> str:
    """Return the message for a part with too many features for the memory."""
    chunk = part.chunk
    if chunk.named or not len(chunk.index):
        return f"{part.file}: there is not enough memory for so many features"
    position = int(np.argmax(chunk.index))
    row = int(np.searchsorted(chunk.indptr, position, side="right")) - 1
    index = int(chunk.index[position]) + part.first
    return f"{part.where(row)}: there is not enough memory for index {index}, because every index up to it has a weight"


def stream_error(fault: NamedFault) -> StreamError:
    """Return the error for a named example with a fault."""
    kind, name, of_sum = fault.args
    return row_fault(kind, name, of_sum=of_sum).error()


def flipped(counts: Counts) -> Counts:
    """Return the counts with the two labels exchanged."""
    return Counts(counts.rounds, counts.false_negatives, counts.false_positives, counts.updates, counts.to_keep)

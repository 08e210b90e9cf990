"""Base class of the linear learners: predict and learn one example, a stream, or an example with a late outcome."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any, ClassVar

from mistakebound._support.lazy import np
from mistakebound._support.locks import Lock
from mistakebound.data.labels import Labels, as_labels
from mistakebound.errors import StreamError, as_stream_error
from mistakebound.learners.stream_loop import steps
from mistakebound.play.engine import NO_ROUNDS, LearnerEngine, Reduction
from mistakebound.play.inputs import Named, as_example, is_empty, is_frame, is_named, read_one, read_rows, refuse_path
from mistakebound.play.ledger import Counts
from mistakebound.play.tickets import Asked, Tickets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from mistakebound._core import Chunk
    from mistakebound._support.arrays import AnyArray, FloatArray
    from mistakebound.data.options import Reading
    from mistakebound.data.parts import Part
    from mistakebound.data.reader import StreamReader
    from mistakebound.data.source import Stream
    from mistakebound.errors import InputError
    from mistakebound.play.inputs import Positional
    from mistakebound.play.ledger import Ledger
    from mistakebound.rules import Rule

KEEP_BYTES = 16 * 2**20
_STARTING = Lock()
"""Held while a learner begins or forgets, and while its tickets change: moments, so one lock serves all learners."""


class Learner:
    """Base class of the linear learners. A subclass defines its parameters and its rule.

    The first input decides whether features have names or positions.
    ``predict_one`` never changes what is learned; ``learn_one`` predicts, then learns; ``run`` does that for a stream.
    """

    rule_id: ClassVar[str]
    """Id of its rule in ``rules.registry``."""
    default_labels: ClassVar[tuple[int, int]] = (-1, 1)
    classes: Sequence[Any] | None
    keep_bytes: int

    # Not parameters: learned state. Class attributes, so that __init__ sets parameters only.
    _life: LearnerEngine | None = None
    _engine_type: type[LearnerEngine] = LearnerEngine
    _labels: Labels | None = None
    _tickets: Tickets | None = None
    _reading: Reading | None = None
    """How the files that it learned from were read."""
    _opened: tuple[Stream, Reading | None] | None = None
    """The last stream passed to ``run``, and the reading options known before it: a second pass needs both."""

    def _make_rule(self, n: int | None) -> Rule:
        """Return the rule with its parameters; n is the number of features, None when features have names."""
        raise NotImplementedError

    def _reduction(self) -> Reduction:
        """How targets are turned into disjunctions, for the learners that can."""
        return Reduction()

    # ------------------------------------------------------------------ one example

    def predict_one(self, x: Any) -> Any:
        """Predicted label of one example."""
        return self._the_labels().decode(self._score_one(x)[1])

    def score_one(self, x: Any) -> float:
        """w·x of one example on normalised weights; compared with the rule's threshold it gives the prediction."""
        return self._score_one(x)[0]

    def learn_one(self, x: Any, y: Any) -> None:
        """Predict x, compare with y, count the mistake if it is one, and learn."""
        life = self._life
        try:
            # Fast path for a learner with named features. On any error, the general path below raises it.
            if type(x) is dict and life.named:  # type: ignore[union-attr]
                life.engine.learn_named(x, self._labels.signs[y])  # type: ignore[union-attr]
                return
        except (AttributeError, KeyError, TypeError, ValueError):
            pass
        try:
            if (row := self._row(x)) is not None:
                list(self.run_parts(row, own_labels(row, [y])))
            else:
                self._learn_one(as_example(x), y)
        except ValueError as error:
            rounds = 0 if life is None else life.counts.rounds
            self._forget(life)
            raise as_stream_error(error, rounds, self.ledger_) from None

    def _learn_one(self, x: Any, y: Any) -> None:
        labels = self._the_labels().copy()
        if self._brings_names(x):
            self._start(None).learn_named(x, labels.sign(y))
        else:
            rows = read_one(x)
            played = self._start(rows.width).play(rows, np.array([labels.sign(y)], np.int8))
            if played.fault:
                raise played.fault.error()
        self._labels = labels

    def ask(self, x: Any) -> Asked:
        """Predict an example whose outcome comes later: pass what is returned to ``tell`` with the outcome, once.

        Other rounds may be learned meanwhile. The theorem ``delayed`` bounds the mistakes of such a stream.

        Examples
        --------
        >>> import mistakebound as mb
        >>> learner = mb.Perceptron()
        >>> monday, tuesday = learner.ask({"rain": 1}), learner.ask({"rain": 1, "wind": 1})
        >>> tuesday.prediction
        1
        >>> learner.tell(tuesday, -1), learner.tell(monday, -1)
        (None, None)
        >>> learner.weights_, learner.ledger_.mistakes, learner.ledger_.late
        ({'rain': -2.0, 'wind': -1.0}, 2, 1)
        """
        x = as_example(x) if (row := self._row(x)) is None else self._example_of(row)
        begun = self._life
        try:
            if self._brings_names(x):
                served = self._start(None).serve(x)
            else:
                rows = read_one(x)
                served = self._start(rows.width).serve(rows)
        except ValueError:
            self._forget(begun)
            raise
        life = self._begun()
        prediction = self._the_labels().decode(served.positive ^ life.reduction.conjunction)
        with _STARTING:
            if self._tickets is None:
                self._tickets = Tickets()
            return self._tickets.add(Asked(prediction, life.counts.rounds, served))

    def tell(self, asked: Asked, y: Any) -> None:
        """Learn from the outcome of a prediction that ``ask`` made.

        A mistake is counted, and learned from, if the prediction that was made then was wrong; with an update margin
        it is also learned from if the score of then was inside the margin. If nothing was learned meanwhile, this is
        ``learn_one``.

        Examples
        --------
        >>> import mistakebound as mb
        >>> learner = mb.Perceptron(classes=("dry", "wet"))
        >>> ticket = learner.ask({"clouds": 1})
        >>> learner.tell(ticket, "dry")
        >>> ticket.prediction, learner.predict_one({"clouds": 1})
        ('wet', 'dry')
        """
        rounds = self._begun().counts.rounds
        with _STARTING:
            tickets = Tickets() if self._tickets is None else self._tickets
            tickets.check(asked, type(self).__name__, rounds)
            tickets.close(asked)
        try:
            labels = self._the_labels().copy()
            self._begun().tell(asked.held, labels.sign(y))
            self._labels = labels
        except ValueError as error:
            with _STARTING:
                tickets.reopen(asked)
            raise as_stream_error(error, rounds, self.ledger_) from None

    def _score_one(self, x: Any) -> tuple[float, bool]:
        if (row := self._row(x)) is not None:
            [(scores, labels)] = self.score_parts(row)
            return float(scores[0]), bool(labels[0] == self._the_labels().positive)
        x = as_example(x)
        if self._brings_names(x):
            return self._start(None).score_named(x)
        rows = read_one(x)
        scores, positive = self._start(rows.width).scores(rows)
        return float(scores[0]), bool(positive[0])

    def _brings_names(self, x: Any) -> bool:
        """Whether an example has names; an empty list has the kind that the learner knows, names if it knows none."""
        return is_named(x) or (is_empty(x) and (self._life is None or self._life.named))

    # ------------------------------------------------------------------ a stream

    def run(self, X: Any, y: Any = None) -> Ledger:
        """Predict, then learn, over a whole stream in its order. Returns the ledger of these rounds.

        Parameters
        ----------
        X : array, scipy sparse matrix, DataFrame, iterable of dicts, sets or lists of names, or Source
            One example per round. A learner that was trained on files with columns reads a DataFrame like those files;
            otherwise its columns are feature names. A Source has its own labels; options that were not passed to it are
            those of the files that the learner learned from before. Repeated features of an example are summed. Values
            must be 0 or between 1e-30 and 1e30 in absolute value.
        y : iterable
            One label per round. Not needed for a DataFrame with the label column of the learner's files.
        """
        if (stream := self.stream_of(X)) is not None:
            before = NO_ROUNDS if self._life is None else self._life.counts
            positive, mistakes, rounds = [np.zeros(0, np.bool_)], [np.zeros(0, np.int64)], 0
            labels = own_labels(stream, y)
            reader = self.open_stream(stream, label_may_be_missing=labels is not None)
            for part in self.run_parts(reader, labels):
                positive.append(part.positive)
                mistakes.append(part.mistake_rounds + rounds)
                rounds += part.rounds
            own = np.concatenate(positive)
            ledger = self._begun().ledger(self._the_labels().pair, before, own=own, mistakes=np.concatenate(mistakes))
            ledger.reading = reader.report
            return ledger
        try:
            rows = read_rows(X)
        except StreamError as error:
            error.ledger = self._no_rounds()
            raise
        return self._run_named(rows.examples, y) if isinstance(rows, Named) else self._run_rows(rows, y)

    def run_parts(self, stream: Stream | StreamReader, y: AnyArray | None = None) -> Iterator[Ledger]:
        """Like ``run``, but return the ledger of each part of the stream as soon as it is learned.

        ``y`` are the labels, if they are not those of the stream.
        """
        reader = self.open_stream(stream, label_may_be_missing=y is not None)
        if y is not None:
            self._look_ahead(y)
        try:
            for step in steps(self, reader, y):
                yield step.ledger
        except StreamError as error:
            error.ledger = self.ledger_
            error.ledger.reading = reader.report
            raise

    def open_stream(
        self,
        stream: Stream | StreamReader,
        *,
        labels_needed: bool = True,
        label_may_be_missing: bool = False,
        warn: bool = True,
    ) -> StreamReader:
        """Begin to read a stream as the files before it, as far as no other options were passed for it.

        The options are those of ``Source.open``. A reader is returned as it is.
        """
        from mistakebound.data.reader import StreamReader  # noqa: PLC0415 - here and below, only files need it

        if isinstance(stream, StreamReader):
            return stream
        known = self.known_for(stream)
        if labels_needed and stream.rows is None:
            self._opened = (stream, known)
        return stream.open(known, labels_needed=labels_needed, label_may_be_missing=label_may_be_missing, warn=warn)

    def known_for(self, stream: Stream) -> Reading | None:
        """How to read a stream: as the learner's files, or if it is the last of them as it was read then."""
        known, opened = self.known_reading(), self._opened
        return known if known is None or opened is None or opened[0] is not stream else opened[1]

    @property
    def labels_settled(self) -> bool:
        """Whether both labels are known."""
        return self._the_labels().settled

    def run_part(
        self, part: Part, first: int = 0, last: int | None = None, y: AnyArray | None = None
    ) -> tuple[Ledger, InputError | None]:
        """Predict, then learn, rows of a part. Returns their ledger, and what is wrong with the row after them.

        ``y`` are the labels of its rows, if they are not those of the file.
        """
        last = part.rows if last is None else min(last, part.rows)
        labels = self._the_labels().copy()
        known = (
            labels.encode_ids(part.labels, part.label_ids[first:last]) if y is None else labels.encode(y[first:last])
        )
        codes, pair = bytes(known), labels.pair
        life = self._start_with(part.chunk)
        played = life.play_part(part, codes, first)
        if played.row > 0:
            self._labels, self._reading = labels, part.reading
        ledger = life.ledger(pair, played.before, played.after, played.positive, codes[: played.row])
        if played.row < len(codes):
            row, unknown = first + played.row, codes[played.row] == 0
            label = part.label(row) if y is None else y[row]
            if unknown and label is None:
                return ledger, part.no_label(row)
            fault = None if unknown else played.fault
            return ledger, part.error_at(row, fault.error() if fault else labels.objection(label))
        return ledger, part.error if last == part.rows else None

    def score_parts(self, stream: Stream | StreamReader) -> Iterator[tuple[FloatArray, AnyArray]]:
        """Scores and predicted labels of the examples of files, part by part, without learning. Labels are not read."""
        reader = self.open_stream(stream, labels_needed=False)
        return ((scores, labels) for scores, labels, _ in self.scored_parts(reader))

    def scored_parts(self, reader: StreamReader) -> Iterator[tuple[FloatArray, AnyArray, int]]:
        """Like ``score_parts``; also how many of the examples have features with names, none of which is known."""
        rounds = 0
        for part in reader:
            life = self._start_with(part.chunk)
            scores, positive, fault = life.score_part(part)
            unknown = life.engine.unknown_rows(part.chunk, len(scores)) if life.named else 0
            yield scores, self._the_labels().decode_all(positive), unknown
            rounds += len(scores)
            if error := part.error_at(len(scores), fault.error()) if fault else part.error:
                raise error.at_round(rounds)

    def _run_rows(self, rows: Positional, y: Any) -> Ledger:
        labels = labels_of_rows(y, len(rows), more=bool(rows.broken))
        begun = self._life
        try:
            life = self._start(rows.width)
        except StreamError as error:
            raise error.at_round(0, self._no_rounds()) from None
        trial = self._the_labels().copy()
        codes = trial.encode(labels[: len(rows)])
        played = life.play(rows, codes)
        if played.row > 0:
            self._labels = trial
        ledger = life.ledger(trial.pair, played.before, played.after, played.positive)
        if played.fault:
            if played.row == 0:
                self._forget(begun)
            unknown = played.row < len(codes) and codes[played.row] == 0
            bad = trial.copy().objection(labels[played.row]) if unknown else played.fault.error()
            raise bad.at_round(played.row, ledger)
        return ledger

    def _run_named(self, examples: Iterable[Any], y: Any) -> Ledger:
        rounds = zip_labels(examples, y if isinstance(y, Iterator) else as_labels(y))
        begun, before = self._life, NO_ROUNDS if self._life is None else self._life.counts
        settled = self._labels
        if not isinstance(y, Iterator):
            self._look_ahead(as_labels(y))
        positive: list[bool] = []
        told: list[int] = []
        for x, label in rounds:
            try:
                positive.append(self._named_round(x, label, told))
            except ValueError as error:  # noqa: PERF203 - to say which round it was
                if not positive and self._forget(begun):
                    self._labels = settled
                ledger = self._own_ledger(before, positive, told)
                raise as_stream_error(error, len(positive), ledger) from None
        return self._own_ledger(before, positive, told)

    def _named_round(self, x: Any, label: Any, told: list[int]) -> bool:
        if x is NOTHING or label is NOTHING:
            ended, going = ("examples", "labels") if x is NOTHING else ("labels", "examples")
            message = f"the {ended} end before the {going} do"
            raise StreamError(message)
        life = self._start(None)
        if not self._brings_names(x):
            if isinstance(x, (list, tuple)) or hasattr(x, "__array__") or hasattr(x, "tocsr"):
                life.require(0, type(self).__name__)
            message = f"a named example is a dict, or a set or list of names, got {type(x).__name__}"
            raise StreamError(message)
        labels = self._the_labels() if self._the_labels().settled else self._the_labels().copy()
        sign = labels.sign(label)
        positive = life.learn_named(x, sign)
        self._labels = labels
        told.append(sign)
        return positive

    def _look_ahead(self, y: Any) -> None:
        labels = self._the_labels()
        if not labels.settled:
            trial = labels.copy()
            trial.look_ahead(y)
            if trial.settled or self._life is not None:
                self._labels = trial

    def _no_rounds(self) -> Ledger:
        life = self._begun()
        return life.ledger(self._the_labels().pair, life.counts, own=np.zeros(0, np.bool_))

    def _own_ledger(self, before: Counts, positive: list[bool], told: list[int]) -> Ledger:
        """Ledger of rounds that were played one by one, without those that other threads played in between.

        Which examples were kept is then not told apart, so that no certificate is made from them; ``updates`` counts
        those of all threads.
        """
        predicted, truth = np.array(positive, np.bool_), np.array(told[: len(positive)], np.int8) > 0
        life = self._begun()
        now = life.counts
        if now.rounds - before.rounds == len(positive):
            return life.ledger(self._the_labels().pair, before, now, predicted)
        own = Counts(
            before.rounds + len(positive),
            before.false_positives + int(np.sum(predicted & ~truth)),
            before.false_negatives + int(np.sum(truth & ~predicted)),
            now.updates,
            before.to_keep + len(positive),
        )
        mistakes = np.flatnonzero(predicted != truth)
        return life.ledger(self._the_labels().pair, before, own, predicted, mistakes, mixed=True)

    # ------------------------------------------------------------------ what is known

    @property
    def has_learned(self) -> bool:
        """Whether it has learned from anything."""
        return self._life is not None and self._life.counts.rounds > 0

    @property
    def ledger_(self) -> Ledger:
        """What happened in the learner's whole life."""
        labels = self._the_labels()
        return self._begun().ledger((labels.negative, labels.positive))

    @property
    def weights_(self) -> FloatArray | dict[str, float]:
        """Normalised weights: an array, or {name: weight} for named features (without the constant feature)."""
        life = self._begun()
        weights = life.weights()
        if life.rule.bias:
            weights = weights[:-1]
        return dict(zip(life.names(len(weights)), weights[1:].tolist(), strict=True)) if life.named else weights

    @property
    def intercept_(self) -> float:
        """What the constant feature adds to the score: its weight times ``bias``."""
        life = self._begun()
        return float(life.weights()[-1]) * life.rule.bias if life.rule.bias else 0.0

    # ------------------------------------------------------------------ files

    def stream_of(self, X: Any) -> Stream | StreamReader | None:
        """X as a stream: if it is one, or is a frame and the learner reads columns as those of its files."""
        from mistakebound.data.reader import StreamReader  # noqa: PLC0415
        from mistakebound.data.source import Source, Stream  # noqa: PLC0415

        if isinstance(X, Source):
            return X
        refuse_path(X)
        if is_frame(X):
            if not self._reads_columns():
                return None
            from mistakebound.data.frame import FrameSource  # noqa: PLC0415 - few need it

            return FrameSource(X)
        return X if isinstance(X, (Stream, StreamReader)) else None

    def _row(self, x: Any) -> Stream | StreamReader | None:
        """A frame of one row, or a pandas Series, as a stream, if the learner reads it so."""
        if not (is_frame(x) or hasattr(x, "to_frame")) or not self._reads_columns():
            return None
        frame = x if is_frame(x) else x.to_frame().T
        if len(frame) != 1:
            message = f"one example must be one row, got a DataFrame of {len(frame)}; use run, fit or predict instead"
            raise ValueError(message)
        return self.stream_of(frame)

    def _example_of(self, row: Stream | StreamReader) -> dict[str, float]:
        """A row of a frame as the learner reads it."""
        (part,) = self.open_stream(row, labels_needed=False)
        chunk, example = part.chunk, dict[str, float]()
        for k in range(chunk.indptr[0], chunk.indptr[1]):
            name = chunk.name(k).decode()
            example[name] = example.get(name, 0.0) + float(chunk.value[k])
        return example

    def known_reading(self) -> Reading | None:
        """How its files were read, once something was learned."""
        return self._reading if self._life is not None and self._life.counts.rounds else None

    def _reads_columns(self) -> bool:
        known = self.known_reading()
        return known is not None and known.has_columns and self._begun().named

    # ------------------------------------------------------------------ inside

    def _the_labels(self) -> Labels:
        if self._labels is None:
            self._labels = Labels(self.default_labels, self.classes)
        return self._labels

    def _start(self, width: int | None) -> LearnerEngine:
        """Begin with features by name (width None) or by position; later require that it is the same kind."""
        life = self._life or self._begin(self._new_life(width))
        life.require(width, type(self).__name__)
        return life

    def _start_with(self, chunk: Chunk) -> LearnerEngine:
        """Begin with a file. The number of features by position is not known then: it grows with what comes."""
        life = self._life or self._begin(self._new_life(None, growing=not chunk.named))
        life.require(None if chunk.named else life.width or 0, type(self).__name__)
        return life

    def _begin(self, first: LearnerEngine) -> LearnerEngine:
        """Begin with this engine; of two threads that begin at once, both get the same one."""
        with _STARTING:
            self._life = self._life or first
            return self._life

    def _forget(self, before: LearnerEngine | None) -> bool:
        """A bad first round begins nothing, unless another thread has learned or asked something meanwhile."""
        with _STARTING:
            if self._life is None or (self._life.counts.rounds == 0 and self._tickets is None):
                self._life = before
        return self._life is before

    def _new_life(self, width: int | None, *, growing: bool = False) -> LearnerEngine:
        if not isinstance(self.keep_bytes, int) or not 0 <= self.keep_bytes < 2**63:
            message = f"keep_bytes must be a whole number of at least 0 (and below 2**63), got {self.keep_bytes!r}"
            raise ValueError(message)
        reduction = self._reduction()
        if width is None and reduction != Reduction():
            message = "complements and conjunctions need to know all variables: use positional features"
            raise ValueError(message)
        rule = self._make_rule(None if width is None else reduction.slots(width))
        return self._engine_type(rule, 0 if growing else width, self.keep_bytes, reduction, growing=growing)

    def _begun(self) -> LearnerEngine:
        """Return the life so far; before any input, one of no rounds that is not kept."""
        return self._life or LearnerEngine(self._make_rule(0), 0, 0, Reduction())

    def __copy__(self) -> Self:
        """A copy learns on its own, so it cannot share the weights."""
        return deepcopy(self)


def labels_of_rows(y: Any, rows: int, *, more: bool = False) -> AnyArray:
    """Labels for so many rows; there may be more of them if the rows are broken off."""
    labels = as_labels(y)
    if len(labels) != rows and not (more and len(labels) > rows):
        message = f"X has {rows} rounds but y has {len(labels)} labels: inconsistent numbers of samples"
        raise ValueError(message)
    return labels


def own_labels(stream: Stream | StreamReader, y: Any) -> AnyArray | None:
    """The labels for a stream that does not have its own; None for files, which have them."""
    from mistakebound.data.reader import StreamReader  # noqa: PLC0415

    if y is None or isinstance(stream, StreamReader) or stream.rows is None:
        return None
    return labels_of_rows(y, stream.rows)


NOTHING = object()


def zip_labels(examples: Iterable[Any], y: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Pairs of example and label; where one of the two ends early, NOTHING in its place, once."""
    told, rows = iter(y), iter(examples)
    for x in rows:
        label = next(told, NOTHING)
        yield x, label
        if label is NOTHING:
            return
    extra = next(told, NOTHING)
    if extra is not NOTHING:
        yield NOTHING, extra

"""Predict, then learn, one round at a time or a whole stream at once: what all linear learners share."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sized
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mistakebound.errors import StreamError
from mistakebound.example import Named, is_named, read_one, read_rows
from mistakebound.labels import Labels
from mistakebound.ledger import Ledger
from mistakebound.life import Life, Reduction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound.arrays import FloatArray
    from mistakebound.example import Positional
    from mistakebound.rules import Rule

KEEP_BYTES = 16 * 2**20
_STARTING = threading.Lock()
_NOTHING = object()


class Learner:
    """Base of the linear learners. A subclass says its parameters and its rule; everything else is here.

    The life of a learner begins with its first input, which also settles whether its features have names.
    ``predict_one`` never changes what is learned; ``learn_one`` predicts, then learns; ``run`` does that for a stream.
    """

    default_labels: ClassVar[tuple[int, int]] = (-1, 1)
    classes: Sequence[Any] | None
    keep_bytes: int

    # Not parameters: what the learner comes to know. Class attributes, so that __init__ sets parameters only.
    _life: Life | None = None
    _labels: Labels | None = None

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
        """Predict x, be told y, count a mistake if there was one, and learn from it."""
        life, labels = self._life, self._labels
        if type(x) is dict and life is not None and labels is not None and life.named:
            # The short way, for a learner that has begun. Whatever is amiss, the long way below says it.
            try:
                if life.engine.learn_named(x, labels.signs[y]) >= 0:
                    return
            except (KeyError, TypeError, ValueError):
                pass
        if not is_named(x):
            self._learn_row(x, y)
            return
        life = self._start(None)
        try:
            life.learn_named(x, self._the_labels().sign(y))
        except ValueError as error:
            raise self._located(error, life.counts.rounds) from None

    def _learn_row(self, x: Any, y: Any) -> None:
        rows = self._one_row(x)
        life = self._start(rows.width)
        try:
            sign = self._the_labels().sign(y)
        except StreamError as error:
            raise self._located(error, life.counts.rounds) from None
        _, _, words = life.play(rows, np.array([sign], np.int8))
        if words:
            raise self._located(StreamError(words), life.counts.rounds)

    def _score_one(self, x: Any) -> tuple[float, bool]:
        if is_named(x):
            return self._start(None).score_named(x)
        rows = self._one_row(x)
        scores, positive = self._start(rows.width).scores(rows)
        return float(scores[0]), bool(positive[0])

    def _one_row(self, x: Any) -> Positional:
        if self._life is not None and self._life.named:
            self._life.require(0, type(self).__name__)
        return read_one(x)

    # ------------------------------------------------------------------ a stream

    def run(self, X: Any, y: Any) -> Ledger:
        """Predict, then learn, over a whole stream in its order. Returns the ledger of these rounds.

        Parameters
        ----------
        X : array, scipy sparse matrix, DataFrame, or iterable of dicts, sets or lists of names
            One example a round. The columns of a DataFrame are names here.
        y : iterable
            One label a round.
        """
        rows = read_rows(X)
        return self._run_named(rows.examples, y) if isinstance(rows, Named) else self._run_rows(rows, y)

    def _run_rows(self, rows: Positional, y: Any) -> Ledger:
        labels = as_labels(y)
        if len(labels) != len(rows):
            message = f"X has {len(rows)} rounds but y has {len(labels)} labels: inconsistent numbers of samples"
            raise ValueError(message)
        life = self._start(rows.width)
        before = life.counts
        codes = self._the_labels().encode(labels)
        positive, row, words = life.play(rows, codes)
        ledger = life.ledger(self._the_labels().pair, before, positive)
        if words:
            if codes[row] == 0:
                words = self._the_labels().objection(labels[row])
            raise StreamError(words, round=row, ledger=ledger)
        return ledger

    def _run_named(self, examples: Iterable[Any], y: Any) -> Ledger:
        life = self._start(None)
        before = life.counts
        if isinstance(y, Sized):
            y = as_labels(y)
            self._the_labels().look_ahead(y)
        predictions = bytearray()
        told = iter(y)
        try:
            for x in examples:
                predictions.append(self._named_round(life, x, next(told, _NOTHING)))
            if next(told, _NOTHING) is not _NOTHING:
                message = "the examples end before the labels do"
                raise StreamError(message)
        except ValueError as error:
            ledger = life.ledger(self._the_labels().pair, before, as_bools(predictions))
            raise StreamError(str(error), round=len(predictions), ledger=ledger) from None
        return life.ledger(self._the_labels().pair, before, as_bools(predictions))

    def _named_round(self, life: Life, x: Any, label: Any) -> bool:
        if label is _NOTHING:
            message = "the labels end before the examples do"
            raise StreamError(message)
        if not is_named(x) and x != [] and x != ():
            life.require(0, type(self).__name__)
        return life.learn_named(x, self._the_labels().sign(label))

    # ------------------------------------------------------------------ what is known

    @property
    def ledger_(self) -> Ledger:
        """What happened in the learner's whole life."""
        return self._begun().ledger(self._the_labels().pair)

    @property
    def weights_(self) -> FloatArray | dict[str, float]:
        """Normalised weights: an array, or {name: weight} for named features (without the constant feature)."""
        life = self._begun()
        weights = life.weights()
        if life.rule.bias:
            weights = weights[:-1]
        return dict(zip(life.engine.names(), weights[1:].tolist(), strict=True)) if life.named else weights

    @property
    def intercept_(self) -> float:
        """What the constant feature adds to the score: its weight times ``bias``."""
        life = self._begun()
        return float(life.weights()[-1]) * life.rule.bias if life.rule.bias else 0.0

    # ------------------------------------------------------------------ inside

    def _located(self, error: ValueError, number: int) -> StreamError:
        return StreamError(str(error), round=number, ledger=self.ledger_)

    def _the_labels(self) -> Labels:
        if self._labels is None:
            self._labels = Labels(self.default_labels, self.classes)
        return self._labels

    def _start(self, width: int | None) -> Life:
        """Begin with features by name (width None) or by position; later require that it is the same kind."""
        life = self._life
        if life is None:
            with _STARTING:
                if self._life is None:
                    self._life = self._new_life(width)
            life = self._life
        life.require(width, type(self).__name__)
        return life

    def _new_life(self, width: int | None) -> Life:
        reduction = self._reduction()
        if width is None and reduction != Reduction():
            message = "complements and conjunctions need to know all variables: use positional features"
            raise ValueError(message)
        rule = self._make_rule(None if width is None else reduction.slots(width))
        return Life(rule, width, self.keep_bytes, reduction)

    def _begun(self) -> Life:
        """Return the life so far; before any input, one of no rounds that is not kept."""
        return self._life or Life(self._make_rule(0), 0, self.keep_bytes, Reduction())


def as_labels(y: Any) -> Any:
    """Labels as a one-dimensional array, whatever their type."""
    labels = np.asarray(y if hasattr(y, "__len__") or hasattr(y, "__array__") else list(y))
    if labels.ndim != 1:
        message = f"y should be a 1d array of labels, got an array of shape {labels.shape} instead"
        raise ValueError(message)
    return labels


def as_bools(predictions: bytearray) -> Any:
    """Bytes 0 and 1 as an array of bool."""
    return np.frombuffer(bytes(predictions), np.bool_)

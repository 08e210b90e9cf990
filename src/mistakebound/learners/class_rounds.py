"""Predict and learn with several classes: what ``rounds`` and ``sklearn`` call for more than two labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from mistakebound._support.lazy import np
from mistakebound.learners.prediction import PredictedPart, start_with
from mistakebound.learners.streams import row_as_stream
from mistakebound.play.class_engine import counts_of, rows_from
from mistakebound.play.class_ledger import ClassCounts
from mistakebound.play.inputs import as_example

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mistakebound._support.arrays import AnyArray, FloatArray, IntArray
    from mistakebound.data.reader import StreamReader
    from mistakebound.errors import InputError
    from mistakebound.learners.class_play import ClassPlay
    from mistakebound.learners.learner import Learner
    from mistakebound.play.class_ledger import ClassLedger
    from mistakebound.play.inputs import Positional
    from mistakebound.play.ledger import Ledger

Wrong = TypeVar("Wrong", bound=ValueError)


def class_play(learner: Learner) -> ClassPlay:
    """Return the play of a learner that has several classes."""
    return cast("ClassPlay", learner._current_play())


def in_order(play: ClassPlay, probabilities: FloatArray, *, new: bool) -> FloatArray:
    """Return probabilities by class id as columns in the order of ``classes_``, and then that of a new label.

    Without ``new``, they are the probabilities given that the label is not new. A label of ``classes`` that has not
    occurred has the probability 0: with ``new``, the last column includes it.
    """
    columns = play.labels.columns
    known, of_new = probabilities[:, :-1], probabilities[:, -1:]
    if known.shape[1] == 0:  # nothing was learned yet
        found = np.full((len(known), len(columns)), 0.0 if new else 1 / max(len(columns), 1))
    else:
        shares = known if new else given_known(probabilities)
        found = np.where(columns >= 0, shares[:, columns], 0.0)
    return np.concatenate([found, of_new], axis=1) if new else found


def given_known(probabilities: FloatArray) -> FloatArray:
    """Return probabilities by class id, given that the label is not new; the last column is that of a new label."""
    known = probabilities[:, :-1]
    return np.asarray(known / known.sum(axis=1, keepdims=True))


# ---------------------------------------------------------------------- predict


def probabilities_of_one(learner: Learner, x: Any) -> tuple[ClassPlay, FloatArray, int]:
    """Return the play, the probabilities of one example by class id and of a new label, and the predicted class id."""
    if (row := row_as_stream(learner, x)) is not None:
        reader = learner.open_stream(row, labels_needed=False)
        [(found, ids, _)] = probabilities_of_parts(learner, reader)
        return class_play(learner), found[0], int(ids[0])
    play, example = start_with(learner, as_example(x))
    of_classes = cast("ClassPlay", play)
    found, class_id = of_classes.engine.probabilities_of_one(example)
    return of_classes, found, class_id


def probabilities_of_many(learner: Learner, X: Any) -> tuple[ClassPlay, FloatArray, IntArray]:
    """Return the play, the probabilities of each example by class id and of a new label, and the predicted ids."""
    from mistakebound.learners.sklearn import check_fitted, known_rows, named_examples  # noqa: PLC0415 - it imports this module

    check_fitted(learner, "predict")
    play = class_play(learner)
    if (stream := learner.stream_of(X)) is not None:
        parts = list(probabilities_of_parts(learner, learner.open_stream(stream, labels_needed=False)))
    elif play.engine.named:
        ones = [probabilities_of_one(learner, x)[1:] for x in named_examples(learner, X)]
        parts = [(found[None], np.array([class_id]), 0) for found, class_id in ones]
    else:
        parts = [(*play.engine.probabilities(known_rows(learner, X)), 0)]
    if not parts:
        return play, np.zeros((0, play.engine.class_count + 1)), np.zeros(0, np.int64)
    return play, np.concatenate([each[0] for each in parts]), np.concatenate([each[1] for each in parts])


def probabilities_of_parts(learner: Learner, reader: StreamReader) -> Iterator[tuple[FloatArray, IntArray, int]]:
    """Yield the probabilities and class ids of each part, and how many of its examples have unknown names only."""
    rounds = 0
    for part in reader:
        play = cast("ClassPlay", learner._start_with_chunk(part.chunk))
        found, ids, fault = play.engine.probabilities_of_part(part)
        unknown = play.engine.core.unknown_rows(part.chunk, len(found)) if play.engine.named else 0
        yield found, ids, unknown
        rounds += len(found)
        if error := part.error_at(len(found), fault.error()) if fault else part.error:
            raise error.at_round(rounds)


def decisions(learner: Learner, X: Any) -> FloatArray:
    """Return the score of each label as columns in the order of ``classes_``; of two labels, the difference of the two.

    Of equal scores, that of the predicted label is made the largest by one unit in the last place, so that the
    largest score predicts. A label of ``classes`` that has not occurred has the score −∞.
    """
    play, found, ids = probabilities_of_many(learner, X)
    columns, rows = play.labels.columns, np.arange(len(found))
    best = found[rows, ids]
    rivals = found[:, :-1].copy()
    rivals[rows, ids] = -np.inf
    found[rows, ids] = np.where(best == rivals.max(axis=1, initial=-np.inf), np.nextafter(best, np.inf), best)
    scores = np.where(columns >= 0, found[:, columns], -np.inf)
    return np.asarray(scores[:, 1] - scores[:, 0] if len(columns) == 2 else scores)


def predicted_parts(learner: Learner, reader: StreamReader) -> Iterator[PredictedPart]:
    """Yield the predictions of each part: see ``prediction.predicted_parts``."""
    for found, ids, unknown in probabilities_of_parts(learner, reader):
        yield predicted_of(class_play(learner), found, ids)._replace(unknown=unknown)


def predicted_rows(learner: Learner, X: Any) -> PredictedPart:
    """Return the predictions of the rows of X: see ``prediction.predicted_rows``."""
    return predicted_of(*probabilities_of_many(learner, X))


def predicted_of(play: ClassPlay, found: FloatArray, ids: IntArray) -> PredictedPart:
    """Return the predictions that belong to probabilities by class id, or to scores of a learner without them."""
    has_probabilities = play.engine.rule.log_odds
    by_id = given_known(found) if has_probabilities else found[:, :-1]
    best = by_id[np.arange(len(ids)), ids] if by_id.shape[1] else np.zeros(len(ids))
    chances = in_order(play, found, new=False) if has_probabilities else None
    return PredictedPart(play.labels.decode_all(ids), best, chances, 0)


# ---------------------------------------------------------------------- learn


def with_third_label(
    learner: Learner, done: Ledger, wrong: Wrong, learn: Callable[[ClassPlay], tuple[Ledger, Wrong | None]]
) -> tuple[Ledger, Wrong | None]:
    """Convert a Panel if ``wrong`` is a third label, and learn the other rounds of a batch.

    ``done`` is the ledger of the rounds before it. Return the ledger of all rounds, and an error or None. If the first
    of the other rounds cannot be learned either, the Panel is not converted.
    """
    before = learner._play
    if learner.add_class(wrong) is None:
        return done, wrong
    ledger, error = learn(class_play(learner))
    if error is not None and ledger.rounds == done.rounds:
        learner._play = before
        return done, error
    return ledger, error


def rest_of_rows(
    learner: Learner, rows: Positional, y: AnyArray, weights: FloatArray | None, done: Ledger, wrong: InputError
) -> tuple[Ledger, InputError | None]:
    """Learn the rows from a third label on: see ``with_third_label``."""
    rest, labels = rows_from(rows, done.rounds), y[done.rounds :]
    others = None if weights is None else weights[done.rounds :]
    return with_third_label(learner, done, wrong, lambda play: play.run_rows(rest, labels, others, done))


def rest_of_named(
    learner: Learner, pairs: Iterable[tuple[Any, Any]], weights: FloatArray | None, done: Ledger, wrong: ValueError
) -> tuple[Ledger, ValueError | None]:
    """Learn the named examples from a third label on: see ``with_third_label``."""
    name = type(learner).__name__
    others = None if weights is None else weights[done.rounds :]
    return with_third_label(learner, done, wrong, lambda play: play.run_named(pairs, name, others, done))


def ledger_since(learner: Learner, before: Any) -> ClassLedger:
    """Return the ledger of the rounds after ``before``: counts of two labels, or of several classes."""
    play = class_play(learner)
    return play.engine.class_ledger(play.labels, before if isinstance(before, ClassCounts) else counts_of(before))

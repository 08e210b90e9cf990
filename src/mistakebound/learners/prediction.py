"""Predict inputs of any kind with a linear learner, without learning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._support.lazy import np
from mistakebound.learners.streams import dict_rows, row_as_stream
from mistakebound.play.inputs import as_example, is_empty, is_named, read_one

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound._support.arrays import AnyArray, BoolArray, FloatArray
    from mistakebound.data.reader import StreamReader
    from mistakebound.data.source import Stream
    from mistakebound.learners.learner import Learner
    from mistakebound.learners.linear_play import LinearPlay


def start_with(learner: Learner, x: Any, *, is_row: bool = True) -> tuple[LinearPlay, Any]:
    """Start a learner with one example; return its play, and the example in the form that the play reads.

    An empty list has features of the same kind as the learner's; before the first input, named features. ``is_row``:
    whether a dict may contain cells of a table instead of features.
    """
    play = learner._play
    if is_row and isinstance(x, Mapping) and (cells := dict_rows(learner)) is not None:
        x = cells.features(x)
    if is_named(x) or (is_empty(x) and (play is None or play.engine.named)):
        return learner._start(None), x
    rows = read_one(x)
    return learner._start(rows.width), rows


def score_one(learner: Learner, x: Any) -> tuple[float, bool]:
    """Return the score of one example, and whether the prediction is positive."""
    if (row := row_as_stream(learner, x)) is not None:
        [(scores, labels)] = learner.score_parts(row)
        if not answers_all(learner):
            return float(scores[0]), bool(scores[0] >= learner._current_play().engine.rule.threshold)
        return float(scores[0]), bool(labels[0] == learner._labels.positive)
    play, example = start_with(learner, as_example(x))
    return play.score_one(example)


def predict_one(learner: Learner, x: Any) -> Any:
    """Return the predicted label of one example, without learning; None if the learner abstains."""
    if learner.several:
        from mistakebound.learners.class_rounds import probabilities_of_one  # noqa: PLC0415 - few have several classes

        play, _, class_id = probabilities_of_one(learner, x)
        return play.labels.decode(class_id)
    score, positive = score_one(learner, x)
    if answers_all(learner) or not learner._current_play().engine.rule.abstains(np.array([score]))[0]:
        return learner._labels.decode(positive)
    return None


def answers_all(learner: Learner) -> bool:
    """Return whether a learner always predicts a label; a Panel may abstain."""
    return learner._current_play().engine.rule.band is None


def predicted_labels(learner: Learner, scores: FloatArray, positive: BoolArray) -> AnyArray:
    """Return the predicted labels; None where the learner abstains."""
    labels = learner._labels.decode_all(positive)
    if answers_all(learner):
        return labels
    labels = labels.astype(object)
    labels[learner._current_play().engine.rule.abstains(scores)] = None
    return labels


def predict_proba_one(learner: Learner, x: Any, *, new: bool = False) -> dict[Any, float]:
    """Return the probability of each label for one example, without learning.

    With ``new=True``, the key None has the probability of a label that has not occurred yet; it is only defined for
    more than two classes.

    Examples
    --------
    >>> import mistakebound as mb
    >>> panel = mb.Panel(classes=("ham", "spam"))
    >>> panel.predict_proba_one({"win": 1})
    {'ham': 0.4999999999999999, 'spam': 0.5000000000000001}
    """
    from mistakebound.learners.sklearn import probabilities_of, refuse_new  # noqa: PLC0415 - it imports this module

    if learner.several:
        from mistakebound.learners.class_rounds import in_order, probabilities_of_one  # noqa: PLC0415 - few have them

        play, by_id, _ = probabilities_of_one(learner, x)
        row = in_order(play, by_id[None], new=new)[0].tolist()
        return dict(zip([*play.labels.ordered, None] if new else play.labels.ordered, row, strict=True))
    refuse_new(new)
    score, positive = score_one(learner, x)
    (pair,) = probabilities_of(learner, np.array([score]), np.array([positive])).tolist()
    return dict(zip(learner._labels.pair, pair, strict=True))


def score_parts(learner: Learner, stream: Stream | StreamReader) -> Iterator[tuple[FloatArray, AnyArray]]:
    """Yield the scores and predicted labels of each part of files, without learning. Labels are not read."""
    reader = learner.open_stream(stream, labels_needed=False)
    return ((each.scores, each.labels) for each in predicted_parts(learner, reader))


class PredictedPart(NamedTuple):
    """The predictions of a part of a stream."""

    labels: AnyArray
    scores: FloatArray
    """With several classes, the probability of each predicted label, if the learner has probabilities."""
    probabilities: FloatArray | None
    """The rows of ``predict_proba``; None if the learner has no probabilities."""
    unknown: int
    """How many examples have no feature name that was learned."""


def predicted_parts(learner: Learner, reader: StreamReader) -> Iterator[PredictedPart]:
    """Yield the predictions of each part of a stream, without learning."""
    if learner.several:
        from mistakebound.learners.class_rounds import predicted_parts as of_classes  # noqa: PLC0415 - few have them

        yield from of_classes(learner, reader)
        return
    rounds = 0
    for part in reader:
        play = learner._start_with_chunk(part.chunk)
        scores, positive, fault = play.engine.score_part(part)
        unknown = play.engine.core.unknown_rows(part.chunk, len(scores)) if play.engine.named else 0
        yield predicted_of_scores(learner, scores, positive)._replace(unknown=unknown)
        rounds += len(scores)
        if error := part.error_at(len(scores), fault.error()) if fault else part.error:
            raise error.at_round(rounds)


def predicted_of_scores(learner: Learner, scores: FloatArray, positive: BoolArray) -> PredictedPart:
    """Return the predictions that belong to scores, for two labels."""
    from mistakebound.learners.sklearn import probabilities_of  # noqa: PLC0415 - it imports this module

    rule = learner._current_play().engine.rule
    likely = positive if rule.band is None else np.asarray(scores >= rule.threshold)  # as in ``predict_proba``
    chances = probabilities_of(learner, scores, likely) if rule.log_odds else None
    return PredictedPart(predicted_labels(learner, scores, positive), scores, chances, 0)


def predicted_rows(learner: Learner, X: Any) -> PredictedPart:
    """Return the predictions of the rows of X, which is that of ``predict``, without learning."""
    if learner.several:
        from mistakebound.learners.class_rounds import predicted_rows as of_classes  # noqa: PLC0415 - few have them

        return of_classes(learner, X)
    from mistakebound.learners.sklearn import score_many  # noqa: PLC0415 - it imports this module

    return predicted_of_scores(learner, *score_many(learner, X))

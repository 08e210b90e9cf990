"""Learn inputs of any kind with a linear learner, each after its prediction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from mistakebound._support.lazy import np
from mistakebound.data.labels import as_labels
from mistakebound.errors import StreamError, as_stream_error
from mistakebound.learners.prediction import start_with
from mistakebound.learners.stream_loop import steps
from mistakebound.learners.streams import (
    dict_rows,
    example_of,
    labels_of_rows,
    labels_of_stream,
    row_as_stream,
    weights_of_stream,
    zip_labels,
)
from mistakebound.learners.weights import weight_at, weight_of_round, weights_of_rows
from mistakebound.play.inputs import Named, as_example, read_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mistakebound._support.arrays import AnyArray, FloatArray
    from mistakebound.data.reader import StreamReader
    from mistakebound.data.source import Stream
    from mistakebound.learners.learner import Learner
    from mistakebound.learners.linear_play import LinearPlay
    from mistakebound.play.inputs import Positional
    from mistakebound.play.ledger import Ledger
    from mistakebound.play.tickets import Asked


def learn_one(learner: Learner, x: Any, y: Any, weight: float = 1.0) -> None:
    """Predict one example, then learn it."""
    learner.check_alone()
    before = learner._play
    try:
        weights = weight_of_round(learner, weight)
        if (row := row_as_stream(learner, x)) is not None:
            list(learner.run_parts(row, labels_of_stream(row, [y]), weights))
        else:
            play, example = start_with(learner, as_example(x))
            of_row = weight_at(weights, 0)
            or_with_classes(learner, play, lambda either: either.learn_one(example, y, of_row))
    except Exception as error:
        learner._forget(before)
        if not isinstance(error, ValueError):  # raised by the caller's own objects, such as the hash of a label
            raise
        rounds = 0 if before is None else before.engine.counts.rounds
        raise as_stream_error(error, rounds, learner.ledger_) from None


def ask(learner: Learner, x: Any) -> Asked:
    """Predict an example whose outcome comes later. Pass the returned object to ``tell`` with the outcome, once.

    Other rounds may be learned meanwhile. For the bounds of such a stream see docs/theory.md, "Late outcomes: the
    Perceptron".

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
    row, before = row_as_stream(learner, x), learner._play
    x = as_example(x) if row is None else example_of(learner.open_stream(row, labels_needed=False))
    try:
        play, example = start_with(learner, x, is_row=row is None)
        return play.ask(example)
    except Exception:
        learner._forget(before)
        raise


def tell(learner: Learner, asked: Asked, y: Any, weight: float = 1.0) -> None:
    """Learn from the outcome of a prediction that ``ask`` made.

    It counts as a mistake if that prediction was wrong. The learner learns if it was wrong, or if its score was
    inside the update margin. If nothing else was learned since ``ask``, this equals ``learn_one``.
    Raises TicketError if ``asked`` is not from this learner, or was passed before.

    Examples
    --------
    >>> import mistakebound as mb
    >>> learner = mb.Perceptron(classes=("dry", "wet"))
    >>> ticket = learner.ask({"clouds": 1})
    >>> learner.tell(ticket, "dry")
    >>> ticket.prediction, learner.predict_one({"clouds": 1})
    ('wet', 'dry')
    """
    learner.check_alone()
    of_row = weight_at(weight_of_round(learner, weight), 0)
    name = type(learner).__name__
    or_with_classes(learner, learner._current_play(), lambda either: either.tell(asked, y, name, of_row))


def or_with_classes(learner: Learner, play: LinearPlay, learn: Callable[[LinearPlay], Any]) -> None:
    """Learn one round. On a third label, convert a Panel, unless the round is not valid for several classes either."""
    before = learner._play
    try:
        learn(play)
    except StreamError as error:
        if (more := learner.add_class(error)) is None:
            raise
        try:
            learn(more)
        except Exception:
            learner._play = before
            raise


def run(learner: Learner, X: Any, y: Any = None, *, sample_weight: Any = None) -> Ledger:
    """Predict, then learn, each example of a stream in its order; return the ledger of these rounds.

    Parameters
    ----------
    X : array, scipy sparse matrix, DataFrame, iterable of dicts, sets or lists of names, or Source
        One example per round. A DataFrame is read like a table in a file, and the values of a dict like cells of the
        tables that the learner learned from. If a learner learned from dicts or sets first, the columns of a DataFrame
        are feature names. A Source has its own labels; options that were not passed to it are those of the files that
        the learner learned from before. The values of a repeated feature are summed. Values must be 0 or between 1e-30
        and 1e30 in absolute value, except in a DataFrame.
    y : iterable
        One label per round. Not needed for a DataFrame with the label column of the learner's files.
    sample_weight : array, optional
        A weight from 0 to 1e9 for each round; 1 by default. It multiplies what is learned from the round, and does not
        change how mistakes are counted. A Source has its own weights. See docs/learners.md, "Weights".
    """
    if (stream := learner.stream_of(X, new=True)) is not None:
        return run_stream(learner, stream, y, weights_of_stream(learner, stream, sample_weight))
    try:
        rows = read_rows(X)
    except StreamError as error:
        error.ledger = learner._current_play().no_rounds()
        raise
    if isinstance(rows, Named):
        return run_named(learner, rows.examples, y, weights_of_rows(learner, sample_weight))
    return run_rows(learner, rows, y, sample_weight)


def run_stream(learner: Learner, stream: Stream | StreamReader, y: Any, weights: FloatArray | None = None) -> Ledger:
    """Predict, then learn, files or a DataFrame that is read like files."""
    before = learner.counts_now()
    positive, mistakes, rounds = [np.zeros(0, np.bool_)], [np.zeros(0, np.int64)], 0
    labels = labels_of_stream(stream, y)
    reader = learner.open_stream(stream, label_may_be_missing=labels is not None)
    for part in learner.run_parts(reader, labels, weights):
        if not learner.several:
            positive.append(part.positive)
            mistakes.append(part.mistake_rounds + rounds)
        rounds += part.rounds
    if learner.several:
        from mistakebound.learners.class_rounds import ledger_since  # noqa: PLC0415 - few have several classes

        ledger: Ledger = ledger_since(learner, before)
    else:
        play = learner._current_play()
        ledger = play.engine.ledger(
            play.labels.pair, before, positive=np.concatenate(positive), mistakes=np.concatenate(mistakes)
        )
    ledger.reading = reader.report
    return ledger


def run_parts(
    learner: Learner, stream: Stream | StreamReader, y: AnyArray | None = None, weights: FloatArray | None = None
) -> Iterator[Ledger]:
    """Like ``run``, but yield the ledger of each part of the stream after it is learned.

    ``y`` are the labels, and ``weights`` the weights, if they are not in the stream.
    """
    learner.check_alone()
    reader = learner.open_stream(stream, label_may_be_missing=y is not None)
    if y is not None:
        look_ahead(learner, y)
    try:
        for step in steps(learner, reader, y, weights=weights):
            yield step.ledger
    except StreamError as error:
        error.ledger = learner.ledger_
        error.ledger.reading = reader.report
        raise
    finally:
        learner.rest()


def run_rows(learner: Learner, rows: Positional, y: Any, sample_weight: Any = None) -> Ledger:
    """Predict, then learn, rows of a matrix."""
    learner.check_alone()
    labels = labels_of_rows(y, len(rows), more=bool(rows.broken))
    weights = weights_of_rows(learner, sample_weight, len(labels))
    before = learner._play
    learner.expect_labels(labels)
    try:
        play = learner._start(rows.width)
    except StreamError as error:
        raise error.at_round(0, learner._current_play().no_rounds()) from None
    ledger, wrong = play.run_rows(rows, labels, weights)
    if wrong is not None and learner.takes_several:
        from mistakebound.learners.class_rounds import rest_of_rows  # noqa: PLC0415 - few have several classes

        ledger, wrong = rest_of_rows(learner, rows, labels, weights, ledger, wrong)
    if wrong is not None:
        if ledger.rounds == 0:
            learner._forget(before)
        raise wrong.at_round(ledger.rounds, ledger)
    return ledger


def run_named(learner: Learner, examples: Iterable[Any], y: Any, weights: FloatArray | None = None) -> Ledger:
    """Predict, then learn, examples whose features have names."""
    learner.check_alone()
    labels = y if isinstance(y, Iterator) else as_labels(y)
    pairs = zip_labels(as_cells(learner, examples), labels)
    first = next(pairs, None)
    if first is None:
        return learner._current_play().no_rounds()
    before = learner._play
    if not isinstance(labels, Iterator):
        learner.expect_labels(labels)
    try:
        play = learner._start(None)
    except ValueError as error:
        raise as_stream_error(error, 0, learner._current_play().no_rounds()) from None
    known, rounds = play.labels, play.engine.counts.rounds
    if not isinstance(labels, Iterator):
        play.look_ahead(labels)
    last = [first]
    ledger, wrong = play.run_named(remembered(chain([first], pairs), last), type(learner).__name__, weights)
    if wrong is not None and learner.takes_several:
        from mistakebound.learners.class_rounds import rest_of_named  # noqa: PLC0415 - few have several classes

        ledger, wrong = rest_of_named(learner, chain(last, pairs), weights, ledger, wrong)
    if wrong is None and weights is not None and ledger.rounds < len(weights):
        message = "there are fewer examples than weights"
        wrong = StreamError(message, kind="weights")
    if wrong is not None:
        if play.engine.counts.rounds == rounds:  # no thread has learned these labels
            play.labels = known
        if ledger.rounds == 0:
            learner._forget(before)
        raise as_stream_error(wrong, ledger.rounds, ledger) from None
    return ledger


def as_cells(learner: Learner, examples: Iterable[Any]) -> Iterable[Any]:
    """Return the examples; if the learner learned from tables, their dicts are read like rows of these tables."""
    cells = dict_rows(learner)
    if cells is None:
        return examples
    return (cells.features(x) if isinstance(x, Mapping) else x for x in examples)


def remembered(pairs: Iterable[tuple[Any, Any]], last: list[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs, and keep the last one in ``last``, so that it can be learned again."""
    for pair in pairs:
        last[0] = pair
        yield pair


def look_ahead(learner: Learner, y: AnyArray) -> None:
    """Set the two labels from the first two different labels of a batch, before a part of it is learned."""
    learner.expect_labels(y)
    if learner.several:
        return
    if learner._play is not None:
        learner._play.look_ahead(y)
    elif not learner._labels.settled:
        labels = learner._labels.copy()
        labels.look_ahead(y)
        if labels.settled:
            learner._early_labels = labels

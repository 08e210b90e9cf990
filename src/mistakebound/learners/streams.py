"""Turn what is passed to a linear learner into a stream, and match its examples with labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mistakebound.data.labels import as_labels
from mistakebound.learners.weights import refuse_weights, weights_of_rows
from mistakebound.play.inputs import is_frame, refuse_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mistakebound._support.arrays import AnyArray, FloatArray
    from mistakebound.data.dict_rows import DictRows
    from mistakebound.data.reader import StreamReader
    from mistakebound.data.source import Stream
    from mistakebound.learners.learner import Learner


def as_stream(X: Any, *, reads_columns: bool) -> Stream | StreamReader | None:
    """Return X as a stream, if it is one; a DataFrame too, if the learner reads columns. Otherwise None."""
    from mistakebound.data.reader import StreamReader  # noqa: PLC0415 - here and below, only files need it
    from mistakebound.data.source import Source, Stream  # noqa: PLC0415

    if isinstance(X, Source):
        return X
    refuse_path(X)
    if is_frame(X):
        if not reads_columns:
            return None
        from mistakebound.data.frame import FrameSource  # noqa: PLC0415 - few need it

        return FrameSource(X)
    return X if isinstance(X, (Stream, StreamReader)) else None


def open_stream(
    learner: Learner,
    stream: Stream | StreamReader,
    *,
    labels_needed: bool = True,
    label_may_be_missing: bool = False,
    warn: bool = True,
) -> StreamReader:
    """Begin to read a stream, with the options of the learner's files where none were passed for the stream.

    The parameters are those of ``Source.open``. A reader is returned unchanged.
    """
    from mistakebound.data.reader import StreamReader  # noqa: PLC0415

    if isinstance(stream, StreamReader):
        return stream
    known = learner.reading_for(stream)
    if labels_needed and stream.rows is None:
        learner._last_stream = (stream, known)
    reader = stream.open(known, labels_needed=labels_needed, label_may_be_missing=label_may_be_missing, warn=warn)
    check_positive(learner, reader.settings.given.positive)
    if labels_needed:
        use_weights(learner, reader)
    return reader


def check_positive(learner: Learner, positive: str | None) -> None:
    """Raise OptionError if the option ``positive`` of files contradicts the labels of a learner."""
    if positive is not None:
        learner._labels.copy().settle_positive(positive)


def use_weights(learner: Learner, reader: StreamReader) -> None:
    """Set whether the weights of a reader are used; raise ValueError if its column of weights cannot be used."""
    reader.weights_used = learner.takes_weights
    if "weight" in reader.settings.how.table:
        refuse_weights(learner)


def row_as_stream(learner: Learner, x: Any) -> Stream | StreamReader | None:
    """Return a DataFrame of one row, or a Series, as a stream, if the learner learned from tables or is new."""
    if not (is_frame(x) or hasattr(x, "to_frame")) or not (learner._reads_columns() or is_new(learner, x)):
        return None
    frame = x if is_frame(x) else x.to_frame().T
    if len(frame) != 1:
        message = f"one example must be one row, got a DataFrame of {len(frame)}; use run or predict instead"
        raise ValueError(message)
    return as_stream(frame, reads_columns=True)


def is_new(learner: Learner, x: Any) -> bool:
    """Whether nothing was learned yet, and all columns of a DataFrame, or the index of a Series, are names."""
    names = x.columns if is_frame(x) else x.index if hasattr(x, "index") else [0]
    return not learner.has_learned and all(isinstance(name, str) for name in names)


def dict_rows(learner: Learner) -> DictRows | None:
    """Return the converter of dicts to features, if the learner's tables were read with the option ``auto``."""
    known = learner.known_reading()
    if known is None or not known.table.get("auto") or not learner._reads_columns():
        return None
    from mistakebound.data.dict_rows import DictRows  # noqa: PLC0415 - few need it

    return DictRows(known)


def example_of(reader: StreamReader) -> dict[str, float]:
    """Return the features of the only row of a stream by name."""
    (part,) = reader
    chunk, example = part.chunk, dict[str, float]()
    for k in range(chunk.indptr[0], chunk.indptr[1]):
        name = chunk.name(k).decode()
        example[name] = example.get(name, 0.0) + float(chunk.value[k])
    return example


def labels_of_rows(y: Any, rows: int, *, more: bool = False) -> AnyArray:
    """Return labels for so many rows; ``more`` allows more labels than rows, because a bad row ended the rows."""
    labels = as_labels(y)
    if len(labels) != rows and not (more and len(labels) > rows):
        message = f"X has {rows} rounds but y has {len(labels)} labels: inconsistent numbers of samples"
        raise ValueError(message)
    return labels


def labels_of_stream(stream: Stream | StreamReader, y: Any) -> AnyArray | None:
    """Return the labels that were passed for a DataFrame; None for files, which have labels of their own."""
    from mistakebound.data.reader import StreamReader  # noqa: PLC0415 - only files need it

    if y is None or isinstance(stream, StreamReader) or stream.rows is None:
        return None
    return labels_of_rows(y, stream.rows)


def weights_of_stream(learner: Learner, stream: Stream | StreamReader, sample_weight: Any) -> FloatArray | None:
    """Return the weights that were passed for a DataFrame; files have weights of their own."""
    from mistakebound.data.reader import StreamReader  # noqa: PLC0415 - only files need it

    if sample_weight is None:
        return None
    if isinstance(stream, StreamReader) or stream.rows is None:
        message = "sample_weight is not valid for files: pass the column of the weights, mb.Source(..., weight=COLUMN)"
        raise ValueError(message)
    return weights_of_rows(learner, sample_weight, stream.rows)


END = object()
"""In place of an example or a label, where one of the two ends before the other."""


def zip_labels(examples: Iterable[Any], y: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of example and label; if one of the two ends first, a last pair has END in its place."""
    labels = iter(y)
    for x in examples:
        label = next(labels, END)
        yield x, label
        if label is END:
            return
    extra = next(labels, END)
    if extra is not END:
        yield END, extra

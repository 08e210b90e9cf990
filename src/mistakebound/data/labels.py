"""Map two labels of any type to +1 and −1, and predictions back to these labels."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

from mistakebound._support.lazy import np
from mistakebound.errors import Option, OptionError, StreamError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mistakebound._support.arrays import AnyArray, SignArray

POSITIVE, NEGATIVE, UNKNOWN = 1, -1, 0
NO_LABEL = "this line has no label"
BY_CLASSES = Option("classes", "set classes=(negative, positive)")


def plain(label: Any) -> Any:
    """Return a number, bool or str of numpy as a plain Python value; other labels unchanged."""
    if type(label).__module__ != "numpy":  # checked first: most labels are plain, and numpy may not be imported
        return label
    return label.item() if isinstance(label, (np.bool_, np.number, np.str_)) else label


def label_array(labels: Iterable[Any]) -> AnyArray:
    r"""Return labels as an array with the same values; an array of objects if numpy would change one.

    numpy would convert mixed types, and remove NUL characters from the end of a text.

    >>> label_array([0, "a"]).tolist(), label_array([0, 1]).dtype.kind, label_array(["b", "b\0"]).tolist()
    ([0, 'a'], 'i', ['b', 'b\x00'])
    """
    values = [plain(label) for label in labels]
    kinds = {type(value) for value in values}
    truncated = kinds <= {str, bytes} and any(map(has_nul, set(values)))
    if (len(kinds) == 1 and not truncated) or kinds <= {bool, int, float}:
        with suppress(ValueError, OverflowError):
            array = np.array(values)
            if array.ndim == 1 and (array.dtype.kind != "f" or float in kinds) and array.dtype.kind in "biufUS":
                return array
    objects = np.empty(len(values), object)
    objects[:] = values
    return objects


def has_nul(label: Any) -> bool:
    """Return whether a label is text or bytes with a NUL character, which an array of text may lose."""
    return (isinstance(label, str) and "\0" in label) or (isinstance(label, bytes) and b"\0" in label)


def as_labels(y: Any) -> AnyArray:
    """Return labels of any type as a one-dimensional array."""
    if isinstance(y, (str, bytes)) or not (hasattr(y, "__iter__") or hasattr(y, "__array__")):
        message = f"y should be a 1d array of labels, one per round, got {type(y).__name__}"
        raise ValueError(message)
    labels = np.asarray(y) if hasattr(y, "__array__") else label_array(y)
    if labels.ndim != 1:
        message = f"y should be a 1d array of labels, got an array of shape {labels.shape} instead"
        raise ValueError(message)
    if np.ma.isMaskedArray(y) and np.ma.is_masked(y):
        message = "y contains masked (missing) labels"
        raise ValueError(message)
    return labels


class Labels:
    """The two labels of a learner, from ``classes`` or from the labels that it sees.

    Without ``classes``, the positive label is the greater of the two. If only one label has been seen, a number is
    positive if it is above 0; for a text, ``classes`` is required.

    >>> labels = Labels((-1, 1))
    >>> labels.encode(np.array([0, 1, 1])).tolist(), labels.decode(True), labels.decode(False)
    ([-1, 1, 1], 1, 0)
    """

    def __init__(self, default: tuple[Any, Any], classes: Iterable[Any] | None = None) -> None:
        self.negative, self.positive = default
        self.signs: dict[Any, int] = {}
        if classes is not None:
            self.settle_both(*check_classes(classes))

    def copy(self) -> Labels:
        """Return a copy, to try a label without changing the learner."""
        other = Labels((self.negative, self.positive))
        other.signs = dict(self.signs)
        return other

    def settle_both(self, negative: Any, positive: Any) -> None:
        """Set both labels; raise ValueError if they contradict labels that are known already."""
        refuse_nul(negative, positive)
        wanted = {plain(negative): NEGATIVE, plain(positive): POSITIVE}
        if any(wanted.get(label) != sign for label, sign in self.signs.items()):
            known = {("positive" if sign > 0 else "negative"): label for label, sign in self.signs.items()}
            message = f"classes=({negative!r}, {positive!r}) contradicts the labels learned so far: {known}"
            raise ValueError(message)
        self.negative, self.positive = plain(negative), plain(positive)
        self.signs = wanted

    def settle_positive(self, text: str) -> None:
        """Set both labels for the option ``positive``; raise OptionError if they contradict labels that are known."""
        try:
            self.settle_both(*labels_of_positive(text))
        except ValueError:
            raise contradicted(text, self.seen_before) from None

    @property
    def seen_before(self) -> list[Any]:
        """The labels that are known."""
        return list(self.signs)

    @property
    def settled(self) -> bool:
        """Whether both labels are known."""
        return len(self.signs) == 2

    @property
    def pair(self) -> tuple[Any, Any]:
        """The labels (negative, positive)."""
        return (self.negative, self.positive)

    def decode(self, positive: bool) -> Any:  # noqa: FBT001
        """Return the label of a prediction."""
        return self.positive if positive else self.negative

    def decode_all(self, positive: AnyArray) -> AnyArray:
        """Return the labels of many predictions."""
        return label_array(self.pair)[positive.astype(np.intp)]

    def sign(self, label: Any) -> int:
        """Return +1 or −1 for a label, and remember it; raise StreamError for a third label."""
        try:
            known = self.signs.get(label)
        except TypeError:
            message = f"the label {label!r} is not hashable; use a number, a string or a tuple"
            raise StreamError(message, kind="label", value=label) from None
        return known if known is not None else self._settle_one(plain(label))

    def objection(self, label: Any) -> StreamError:
        """Return the error for a label that has no sign."""
        try:
            self.sign(label)
        except StreamError as error:
            return error
        return StreamError(f"the label {label!r} was not expected", kind="label", value=label)

    def encode(self, y: AnyArray) -> SignArray:
        """Return +1 or −1 for each label of a batch; 0 for a third label."""
        self.look_ahead(y)
        matches = {sign: equal(y, label).view(np.int8) for label, sign in self.signs.items()}
        none = np.zeros(len(y), np.int8)
        return np.asarray(matches.get(POSITIVE, none) - matches.get(NEGATIVE, none))

    def encode_ids(self, texts: list[bytes], ids: bytes) -> bytes:
        """Return +1, −1 or 0, as signed bytes, for labels that are given as positions in a list of texts."""
        labels = [plain_label(text) for text in texts]
        if labels and not self.settled:
            self._settle(labels[0], [label for label in labels if label not in (None, labels[0])][:1])
        signs = bytes(self.signs.get(label, UNKNOWN) % 256 for label in labels)
        return ids.translate(signs.ljust(256, bytes([UNKNOWN])))

    def look_ahead(self, y: AnyArray) -> None:
        """Set the labels from the first two different labels of a batch, as far as they are known.

        Errors are not raised here, but in the round of the bad label.
        """
        if self.settled or len(y) == 0:
            return
        for seen in (y[:1000], y):  # most batches have both labels among the first rows
            other = np.flatnonzero(~equal(seen, y[0]))
            if len(other):
                break
        self._settle(plain(y[0]), [plain(label) for label in y[other[:1]]])

    def _settle(self, first: Any, second: list[Any]) -> None:
        if not self.signs and second:
            with suppress(StreamError):
                self.settle_both(*negative_and_positive(first, second[0]))
                return
        for label in (first, *second):
            with suppress(StreamError):
                self.sign(label)

    def _settle_one(self, label: Any) -> int:
        refuse_nul(label)
        if self.settled and label is None:
            raise StreamError(NO_LABEL, kind="no label")
        if self.settled:
            message = f"label {label!r} is a third label, after {self.negative!r} and {self.positive!r}; for a file, "
            remedy = " predicts one label against all others"
            raise StreamError(message, Option("positive", "positive=LABEL"), remedy, kind="third label", value=label)
        if label is None:
            message = "there is no label; for a table, set its column: "
            raise StreamError(message, Option("label", "label=NAME or NUMBER"), kind="no label")
        if not isinstance(label, (bool, int, float)):
            message = f"label {label!r} is the only label so far, so it is not known which label is positive: "
            raise StreamError(message, BY_CLASSES, kind="lone label", value=label)
        if label != label:  # noqa: PLR0124
            message = "label is not finite; it must be a finite number or text"
            raise StreamError(message, kind="label", value=label)
        sign = POSITIVE if label > 0 else NEGATIVE
        if self.signs:  # the other label is known, and the greater one is positive
            ((known, known_sign),) = self.signs.items()
            sign = -known_sign
            if negative_and_positive(known, label) != ((known, label) if sign == POSITIVE else (label, known)):
                message = (
                    f"the first label {known!r} was used as the "
                    f"{'positive' if known_sign == POSITIVE else 'negative'} label; now {label!r} occurs, "
                    "and the greater label should be the positive one: "
                )
                raise StreamError(message, BY_CLASSES, kind="label order", value=label)
        self.signs[label] = sign
        if sign == POSITIVE:
            self.positive = label
        else:
            self.negative = label
        return sign


@lru_cache(maxsize=1024)  # every part of a file has the same few labels
def plain_label(text: bytes) -> Any:
    """Return the label that a text of a file means: a number if possible, otherwise text; None if it is empty.

    An infinite number becomes NaN, which is not accepted as a label.

    >>> plain_label(b"+1"), plain_label(b"0.5"), plain_label(b"spam"), plain_label(b"1_0"), plain_label(b"")
    (1, 0.5, 'spam', '1_0', None)
    >>> plain_label(b"1e999")
    nan
    """
    if not text:
        return None
    if b"_" not in text:  # int("1_0") is 10 in Python, but a file means text
        with suppress(ValueError):
            return int(text)
        with suppress(ValueError):
            number = float(text)
            return number if isfinite(number) else nan
    return text.decode(errors="replace")


def all_others(positive: bytes) -> bytes:
    """Return the label that stands for all labels except the positive one."""
    return b"not " + positive


def labels_of_positive(text: str) -> tuple[Any, Any]:
    """Return the labels (negative, positive) of files that are read with the option ``positive``.

    >>> labels_of_positive("spam"), labels_of_positive("1")
    (('not spam', 'spam'), ('not 1', 1))
    """
    positive = text.encode()
    return plain_label(all_others(positive)), plain_label(positive)


def contradicted(text: str, known: list[Any]) -> OptionError:
    """Return the error for an option ``positive`` that would add to the labels of a learner."""
    what = f" contradicts the labels of the learner, which are {' and '.join(map(repr, known))}; leave "
    remedy = " out, or use a new learner"
    given = Option("positive", f"positive={text!r}", text)
    return OptionError(given, what, Option("positive", "positive", True), remedy, kind="option conflict", value=text)


def equal(y: AnyArray, label: Any) -> AnyArray:
    """Return which labels equal this one. Objects are compared one by one, because numpy would unpack a tuple."""
    if y.dtype.kind == "O":
        return np.fromiter((bool(found == label) for found in y), np.bool_, len(y))
    return np.asarray(y == label, np.bool_)


def refuse_nul(*labels: Any) -> None:
    """Raise StreamError for a label that has a NUL character."""
    for label in labels:
        if has_nul(label):
            reason = "which NumPy removes from the end of a text; remove it from the label"
            message = f"the label {label!r} has a NUL character, {reason}"
            raise StreamError(message, kind="label", value=label)


def negative_and_positive(a: Any, b: Any) -> tuple[Any, Any]:
    """Return (negative, positive): the positive label is the greater one."""
    try:
        hash((a, b))
        if a < b or a > b:
            return (a, b) if a < b else (b, a)
    except TypeError:
        pass
    message = f"the labels {a!r} and {b!r} have no order: "
    raise StreamError(message, BY_CLASSES, kind="label order")


def check_classes(classes: Iterable[Any]) -> tuple[Any, Any]:
    """Return the two classes; raise ValueError if they are not two different labels."""
    try:
        negative, positive = (plain(label) for label in classes)
        distinct = len({negative, positive}) == 2 and negative == negative and positive == positive  # noqa: PLR0124
    except (TypeError, ValueError):
        distinct = False
    if not distinct:
        message = f"classes must be two different labels (negative, positive), got {classes!r}"
        raise ValueError(message)
    refuse_nul(negative, positive)
    return negative, positive

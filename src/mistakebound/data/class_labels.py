"""Convert labels to class ids, and back. Ids are assigned from 0 in the order in which the labels first occur."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mistakebound._support.lazy import np
from mistakebound.data.labels import contradicted, label_array, labels_of_positive, plain, plain_label, refuse_nul
from mistakebound.errors import StreamError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mistakebound._support.arrays import AnyArray, IntArray

UNKNOWN = -1
"""The class id of something that is not a label."""


class ClassLabels:
    """The labels of a learner of several classes.

    Parameters
    ----------
    classes : sequence, optional
        Labels that are known before the first round. They come first in ``ordered``. Other labels may occur, too.

    Examples
    --------
    >>> labels = ClassLabels()
    >>> labels.encode(np.array(["b", "a", "b", "c"])).tolist(), labels.ordered
    ([0, 1, 0, 2], ['a', 'b', 'c'])
    """

    def __init__(self, classes: Sequence[Any] | None = None) -> None:
        self.given: tuple[Any, ...] = () if classes is None else check_labels(classes)
        self.ids: dict[Any, int] = {}
        """The class id of each label that has occurred."""

    def copy(self) -> ClassLabels:
        """Return a copy, to read labels without changing the learner."""
        other = ClassLabels()
        other.given, other.ids = self.given, dict(self.ids)
        return other

    def keep(self, count: int) -> ClassLabels:
        """Return a copy with the first ``count`` classes only: those whose first round was learned."""
        other = ClassLabels()
        other.given, other.ids = self.given, {label: k for label, k in self.ids.items() if k < count}
        return other

    def settle_positive(self, text: str) -> None:
        """Raise OptionError if the option ``positive`` contradicts labels that are known."""
        if not {*self.ordered} <= {*labels_of_positive(text)}:
            raise contradicted(text, self.ordered)

    @property
    def settled(self) -> bool:
        """True: labels need not be known before they occur."""
        return True

    @property
    def seen(self) -> list[Any]:
        """The labels that have occurred, by class id."""
        return list(self.ids)

    @property
    def ordered(self) -> list[Any]:
        """All labels in the order of ``classes_``: those of ``classes``, then the others, sorted if possible."""
        others = [label for label in self.ids if label not in self.given]
        try:
            return [*self.given, *sorted(others)]
        except TypeError:  # labels of different types have no order
            return [*self.given, *others]

    @property
    def columns(self) -> IntArray:
        """The class id of each label of ``ordered``; −1 if it has not occurred."""
        return np.array([self.ids.get(label, UNKNOWN) for label in self.ordered], np.int64)

    def decode(self, class_id: int) -> Any:
        """Return the label of a class id; None for −1, the prediction before the first label."""
        return self.seen[class_id] if class_id >= 0 else None

    def decode_all(self, class_ids: AnyArray) -> AnyArray:
        """Return the labels of many class ids: see ``labels_of_ids``."""
        return labels_of_ids(self.seen, class_ids)

    def id_of(self, label: Any) -> int:
        """Return the class id of a label, a new one if it has not occurred; raise StreamError for a bad label."""
        try:
            known = self.ids.get(label)
        except TypeError:
            message = f"the label {label!r} is not hashable; use a number, a string or a tuple"
            raise StreamError(message, kind="label", value=label) from None
        if known is not None:
            return known
        label = plain(label)
        refuse_nul(label)
        if label is None:
            message = "there is no label"
            raise StreamError(message, kind="no label")
        if label != label or label in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN
            message = "label is not finite; it must be a finite number or text"
            raise StreamError(message, kind="label", value=label)
        return self.ids.setdefault(label, len(self.ids))

    def objection(self, label: Any) -> StreamError:
        """Return the error for a label that has no class id."""
        try:
            self.copy().id_of(label)
        except StreamError as error:
            return error
        return StreamError(f"the label {label!r} was not expected", kind="label", value=label)

    def encode(self, y: AnyArray) -> AnyArray:
        """Return the class id of each label of a batch, −1 from the first bad label on. New labels get new ids."""
        if y.dtype.kind in "biuUS":
            distinct, first, inverse = np.unique(y, return_index=True, return_inverse=True)
            by_round = np.argsort(first)
            found = self._ids_of(distinct[by_round].tolist())
            ids = np.empty(len(distinct), np.int32)
            ids[by_round] = found
            return np.ascontiguousarray(ids[inverse.reshape(-1)])
        return np.array(self._ids_of(y.tolist()), np.int32)

    def encode_ids(self, texts: Sequence[bytes], codes: bytes, others: Sequence[bytes]) -> AnyArray:
        """Return the class ids of labels of a file. A code is a place in ``texts``; 255 is the next of ``others``."""
        from mistakebound.data.label_codes import MOST  # noqa: PLC0415 - it imports the readers of files

        rows = np.frombuffer(codes, np.uint8)
        if not (rows == MOST).any():
            distinct, first = np.unique(rows, return_index=True)
            by_round = distinct[np.argsort(first)]
            ids = np.full(256, UNKNOWN, np.int32)
            ids[by_round] = self._ids_of([plain_label(texts[code]) for code in by_round.tolist()])
            return np.ascontiguousarray(ids[rows])
        rest = iter(others)
        labels = [plain_label(texts[code] if code < MOST else next(rest)) for code in codes]
        return np.array(self._ids_of(labels), np.int32)

    def _ids_of(self, labels: Iterable[Any]) -> list[int]:
        found: list[int] = []
        rest = iter(labels)
        with suppress(StreamError):
            found.extend(map(self.id_of, rest))
            return found
        return [*found, UNKNOWN, *(UNKNOWN for _ in rest)]


def labels_of_ids(seen: Sequence[Any], class_ids: AnyArray) -> AnyArray:
    """Return the labels of class ids, where ``seen`` has the label of each id. −1 becomes None, in an array of objects.

    >>> labels_of_ids(["a", "b"], np.array([-1, 1, 0])).tolist()
    [None, 'b', 'a']
    """
    some_missing = len(class_ids) > 0 and class_ids.min() < 0
    return label_array([*seen, None] if some_missing else seen)[class_ids]


def check_labels(classes: Sequence[Any]) -> tuple[Any, ...]:
    """Return the classes; raise ValueError if they are not two or more different labels."""
    labels = ClassLabels()
    try:
        found = tuple(plain(label) for label in classes)
        for label in found:
            labels.id_of(label)
    except (TypeError, StreamError):
        found = ()
    if len(labels.ids) != len(found) or len(found) < 2:
        message = f"classes must be two or more different labels, got {classes!r}"
        raise ValueError(message)
    return found

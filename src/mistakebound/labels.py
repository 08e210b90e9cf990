"""Two labels of any type: which one is positive, and how predictions come back in the same values."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.errors import StreamError

if TYPE_CHECKING:
    from mistakebound.arrays import AnyArray, SignArray

POSITIVE, NEGATIVE, UNKNOWN = 1, -1, 0


def plain(label: Any) -> Any:
    """A numpy scalar as the Python value that it is."""
    return label.item() if isinstance(label, np.generic) else label


class Labels:
    """The learner's two labels, settled by ``classes`` or by the labels that it sees.

    Without ``classes`` the positive label is the greater of the two. A label seen alone is positive if it is above
    zero. Text has no such side, so a lone text label needs ``classes``.

    >>> labels = Labels((-1, 1))
    >>> labels.encode(np.array([0, 1, 1])).tolist(), labels.decode(True), labels.decode(False)
    ([-1, 1, 1], 1, 0)
    """

    def __init__(self, default: tuple[int, int], classes: Sequence[Any] | None = None) -> None:
        self.negative, self.positive = default
        self.signs: dict[Any, int] = {}
        if classes is not None:
            self.settle_both(*check_classes(classes))

    def settle_both(self, negative: Any, positive: Any) -> None:
        """Fix both labels."""
        self.negative, self.positive = plain(negative), plain(positive)
        self.signs = {self.negative: NEGATIVE, self.positive: POSITIVE}

    @property
    def settled(self) -> bool:
        """Whether both labels are known."""
        return len(self.signs) == 2

    @property
    def pair(self) -> tuple[Any, Any]:
        """(negative, positive)."""
        return (self.negative, self.positive)

    def decode(self, positive: bool) -> Any:  # noqa: FBT001
        """Return the label of a prediction."""
        return self.positive if positive else self.negative

    def decode_all(self, positive: AnyArray) -> AnyArray:
        """Return the labels of many predictions."""
        return np.array([self.negative, self.positive])[positive.astype(np.intp)]

    def sign(self, label: Any) -> int:
        """+1 or −1 for a label, learning which one it is; raises for a third one."""
        try:
            known = self.signs.get(label)
        except TypeError:
            known = None
        return known if known is not None else self._settle_one(plain(label))

    def objection(self, label: Any) -> str:
        """Say what is wrong with a label that has no sign."""
        try:
            self.sign(label)
        except StreamError as error:
            return str(error)
        return f"label {label!r} was not expected"

    def encode(self, y: AnyArray) -> SignArray:
        """+1 or −1 for each label of a batch; 0 from the first label on that is a third one."""
        self.look_ahead(y)
        codes = np.zeros(len(y), np.int8)
        for label, sign in self.signs.items():
            codes[np.asarray(y == label, bool)] = sign
        return codes

    def look_ahead(self, y: AnyArray) -> None:
        """Settle the labels by the first two different ones of a batch, as far as they go."""
        if self.settled or len(y) == 0:
            return
        first = y[0]
        if first != first:  # noqa: PLR0124 - NaN is no label; its round will say so
            return
        other = np.flatnonzero(np.asarray(y != first, bool))
        if not self.signs and len(other) and y[other[0]] == y[other[0]]:
            self.settle_both(*in_order(plain(first), plain(y[other[0]])))
            return
        for label in (plain(first), *map(plain, y[other[:1]])):
            if label not in self.signs and not self.settled:
                with suppress(StreamError):  # the round that brings it will say what is wrong
                    self._settle_one(label)

    def _settle_one(self, label: Any) -> int:
        if self.settled:
            message = f"label {label!r} is a third one beside {self.negative!r} and {self.positive!r}"
            raise StreamError(message)
        if not isinstance(label, (bool, int, float)):
            message = f"label {label!r} alone does not tell which side is positive: pass classes=(negative, positive)"
            raise StreamError(message)
        if label != label:  # noqa: PLR0124
            message = "label is NaN"
            raise StreamError(message)
        sign = POSITIVE if label > 0 else NEGATIVE
        if self.signs:  # the other one is known: the greater is positive
            (known, known_sign), *_ = self.signs.items()
            sign = -known_sign
            if (label > known) != (sign == POSITIVE):
                message = (
                    f"labels {known!r} and {label!r} came one at a time, and {known!r} was taken for the "
                    f"{'positive' if known_sign == POSITIVE else 'negative'} one: pass classes=(negative, positive)"
                )
                raise StreamError(message)
        self.signs[label] = sign
        if sign == POSITIVE:
            self.positive = label
        else:
            self.negative = label
        return sign


def in_order(a: Any, b: Any) -> tuple[Any, Any]:
    """Return (negative, positive): the positive label is the greater one."""
    try:
        return (a, b) if a < b else (b, a)
    except TypeError:
        message = f"labels {a!r} and {b!r} have no order: pass classes=(negative, positive)"
        raise StreamError(message) from None


def check_classes(classes: Sequence[Any]) -> tuple[Any, Any]:
    """Return the two classes, or say what is wrong with them."""
    found = list(classes)
    if len(found) != 2 or plain(found[0]) == plain(found[1]):
        message = f"classes must be two different labels (negative, positive), got {found!r}"
        raise ValueError(message)
    return found[0], found[1]

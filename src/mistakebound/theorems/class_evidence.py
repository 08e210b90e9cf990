"""`ClassEvidence`: the rounds of a learner of several classes that a theorem is checked on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mistakebound.theorems.evidence import Evidence
from mistakebound.theorems.steps import Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound._support.arrays import FloatArray, IntArray
    from mistakebound.play.class_ledger import ClassKept, ClassLedger
    from mistakebound.play.ledger import Ledger
    from mistakebound.play.record import Kept


@dataclass(frozen=True, eq=False)
class ClassEvidence(Evidence):
    """The rounds on which a theorem on several classes is checked.

    ``y`` has class ids. A comparator is a vector with the weights of class 0, then those of class 1, and so on.
    """

    seen: list[Any] = field(default_factory=list)
    """The labels by class id."""
    predicted: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    """For mistaken rounds: the class id that was predicted."""

    @classmethod
    def _of_classes(cls, ledger: Ledger, kept: Kept) -> dict[str, Any]:
        several = cast("ClassLedger", ledger)
        return {"seen": several.seen, "predicted": cast("ClassKept", kept).predicted}

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.seen)

    @property
    def weights(self) -> int:
        """Number of weights of a comparator."""
        return self.n * self.classes

    @property
    def ids(self) -> IntArray:
        """The class id of each row."""
        return np.asarray(self.y, np.int64)

    @property
    def unpredicted(self) -> int:
        """Number of mistakes without a prediction, which changed no weight: that of the first round."""
        return self.mistakes - self.updates

    def split(self, place: int) -> tuple[str, int]:
        """Return the class of a weight of a comparator, as a certificate shows it, and the feature."""
        r, feature = divmod(place, self.n)
        return f"{r}:", feature

    def parse(self, name: str) -> tuple[int, str]:
        """Return the first place of the class that a weight of a certificate has, and the name of the feature."""
        r, colon, feature = name.partition(":")
        known = bool(colon) and r.isdecimal() and len(r) < 10 and int(r) < self.classes
        if not known:
            message = f"the weight {name!r} of the comparator must begin with a class, from 0: to {self.classes - 1}:"
            raise ValueError(message)
        return int(r) * self.n, feature

    def as_vector(self, comparator: Any) -> FloatArray:
        """Return as a vector the {label: weights}, or the array with a row for each class, that a user passed."""
        if isinstance(comparator, dict):
            unknown = [label for label in comparator if label not in self.seen]
            if unknown:
                message = f"the comparator has the label {unknown[0]!r}, which has not occurred; there are {self.seen}"
                raise ValueError(message)
            zero: Any = {} if self.named else np.zeros(self.n)
            rows = [comparator.get(label, zero) for label in self.seen]
        else:
            rows = list(np.asarray(comparator, np.float64).reshape(self.classes, -1))
        return np.concatenate([super(ClassEvidence, self).as_vector(row) for row in rows])

    def steps(self) -> Iterator[Step]:
        """Yield every update in turn, with the weights of all classes as one vector."""
        W = np.zeros((self.classes, self.n))
        for t in range(self.X.shape[0]):
            x, y, y_hat = self.X[t].toarray().ravel(), int(self.y[t]), int(self.predicted[t])
            W_next = W.copy()
            W_next[y] = (W_next[y] + x).astype(np.float32)
            W_next[y_hat] = (W_next[y_hat] - x).astype(np.float32)
            yield Step(self.rule, W.ravel(), W_next.ravel(), x, y, True, 0)
            W = W_next

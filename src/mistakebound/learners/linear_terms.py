"""`Features`: the features of a linear learner by name, their weights, and what each adds to a score."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._support.lazy import np
from mistakebound.learners.explanation import CONSTANT, Term
from mistakebound.play.engine import Reduction
from mistakebound.play.inputs import sparse_row

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mistakebound._support.arrays import AnyArray, FloatArray
    from mistakebound.data.parts import Part
    from mistakebound.learners.learner import Learner
    from mistakebound.play.engine import LearnerEngine
    from mistakebound.play.inputs import Positional


class NonZero(NamedTuple):
    """A feature of an example: its name, its place among the weights (0 if its name was never learned), its value."""

    name: str
    place: int
    value: float


class Features:
    """The features of a linear learner, by their names in the input, and their normalised weights.

    Parameters
    ----------
    learner : Learner
        A learner that has learned something.
    zero_based : bool
        Whether indices of the svmlight file count from 0; see `first_index`.
    class_id : int, optional
        Of a learner with a weight vector for each class: the class; −1 for one that has not occurred.
    """

    def __init__(self, learner: Learner, *, zero_based: bool = False, class_id: int | None = None) -> None:
        self.engine: LearnerEngine = learner._current_play().engine
        self.first = first_index(learner, zero_based=zero_based)
        self.several = class_id is not None
        weights = self.engine.weights() if class_id is None else weights_of_class(self.engine, class_id)
        bias = self.engine.rule.bias
        self.constant: Term | None = None
        if bias:
            self.constant = Term(CONSTANT, bias * float(weights[-1]), bias, float(weights[-1]))
        elif class_id is None and (prior := self.engine.intercept()):
            self.constant = Term(CONSTANT, prior, 1.0, prior)
        self.weights = weights[:-1] if bias else weights
        # With names, slot 0 stands for all features that were never learned.
        self.names = ["", *self.engine.names(len(self.weights))] if self.engine.named else []
        self._places: dict[str, int] = {}

    def named_weights(self) -> list[tuple[str, float]]:
        """Return the name and the weight of each feature."""
        first = int(self.engine.named)
        return [(self._name(place), float(self.weights[place])) for place in range(first, len(self.weights))]

    def of_part(self, part: Part, row: int) -> list[Term]:
        """Return what each feature of a row of a file adds to its score, the largest first."""
        if self.engine.reduction != Reduction():
            return self._sorted(self._reduced(self.engine.csr(part, 1, row), part.first))
        chunk = part.chunk
        span = range(int(chunk.indptr[row]), int(chunk.indptr[row + 1]))
        if self.engine.named:
            return self.of_named((chunk.name(at).decode(), float(chunk.value[at])) for at in span)
        places = [(int(chunk.index[at]), float(chunk.value[at])) for at in span]
        return self._terms([NonZero(str(place + part.first), place, value) for place, value in places])

    def of_example(self, x: Any) -> list[Term]:
        """Return the same for an example as the engine reads it: with names, or a matrix of one row."""
        if self.engine.named:
            return self.of_named((x if isinstance(x, dict) else Counter(x)).items())
        if self.engine.reduction != Reduction():
            return self._sorted(self._reduced(x))
        row = sparse_row(x)
        pairs = zip(row.index.tolist(), row.value.tolist(), strict=True)
        return self._terms([NonZero(self._name(place), place, value) for place, value in pairs])

    def of_named(self, pairs: Iterable[tuple[str, float]]) -> list[Term]:
        """Return the same for pairs of name and value."""
        self._places = self._places or {name: place for place, name in enumerate(self.names) if place}
        return self._terms([NonZero(name, self._places.get(name, 0), float(value)) for name, value in pairs if value])

    def _terms(self, row: list[NonZero]) -> list[Term]:
        found = [self._term(each.name, each.value, self._weight(each.place)) for each in row]
        return self._sorted(self._computed(found) if self.engine.rule.scalars else found)

    def _sorted(self, found: list[Term]) -> list[Term]:
        found += [] if self.constant is None else [self.constant]
        return sorted(found, key=lambda term: -abs(term.adds))

    def _term(self, name: str, value: float, weight: float) -> Term:
        return Term(name, value * weight, value, weight, (name,))

    def _weight(self, place: int) -> float:
        return float(self.weights[place]) if place < len(self.weights) else self._unknown()

    def _computed(self, found: list[Term]) -> list[Term]:
        """Return what each feature adds by the formula of the rule. The values of a repeated feature are summed."""
        summed: dict[str, Term] = {}
        for term in found:
            value = (term.value or 0.0) + ((summed[term.name].value or 0.0) if term.name in summed else 0.0)
            summed[term.name] = replace(term, value=value)
        pairs = [(term.weight or 0.0, term.value or 0.0) for term in summed.values()]
        adds = self.engine.rule.contributions(pairs)
        return [replace(term, adds=added) for term, added in zip(summed.values(), adds, strict=True)]

    def _unknown(self) -> float:
        """Return the weight of a position beyond all that were learned, which the core computes."""
        if self.several:
            return 0.0  # every class starts with weights of 0
        out, positive = np.empty(2), np.empty(2, np.uint8)
        place = np.array([len(self.weights)], np.int32)
        self.engine.core.score_csr(np.array([0, 0, 1]), place, np.ones(1), out, positive)
        return float(out[1] - out[0])

    def _reduced(self, rows: Positional, first: int | None = None) -> list[Term]:
        """Return the terms of the variables that the rule sees in place of those of the example."""
        seen = self.engine.reduction.rows(rows)
        values: AnyArray = getattr(seen, "x")[0]  # noqa: B009 - a reduction makes rows dense
        return [
            self._term(self._name(place, first), float(values[place]), float(self.weights[place]))
            for place in np.flatnonzero(values).tolist()
        ]

    def _name(self, place: int, first: int | None = None) -> str:
        if self.engine.named:
            return self.names[place]
        first = self.first if first is None else first
        width = self.engine.width or 0
        if self.engine.reduction.complements:
            return f"not {place - width + first}" if place >= width else str(place + first)
        return f"not {place + first}" if self.engine.reduction.conjunction else str(place + first)


def weights_of_class(engine: Any, class_id: int) -> FloatArray:
    """Return the weights of one class, and that of the constant feature if there is one."""
    rows: FloatArray = engine.class_weights()
    return rows[class_id] if class_id >= 0 else np.zeros(rows.shape[1])


def first_index(learner: Learner, *, zero_based: bool = False) -> int:
    """Return the number that the first feature by position has.

    Features of a file have the file's indices as names, which count from 1 by default; features of an array have their
    columns, which count from 0. ``zero_based`` is not needed for a learner that learned from files: it stores how their
    indices count.
    """
    known = learner.known_reading()
    growing = learner._current_play().engine.growing
    return 1 if growing and not (zero_based or (known and known.zero_based)) else 0

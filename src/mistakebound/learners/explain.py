"""Explain predictions: the weight of each feature, and what it adds to the score of an example."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.play.engine import Reduction, is_panel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound._support.arrays import AnyArray
    from mistakebound.data.parts import Part
    from mistakebound.data.source import Source
    from mistakebound.learners.learner import Learner
    from mistakebound.play.engine import LearnerEngine

CONSTANT = "(constant)"
"""The feature that ``bias`` adds to every example, or the prior of a rule."""


@dataclass(frozen=True)
class Contribution:
    """What one feature adds to the score of an example."""

    feature: str
    value: float
    weight: float
    added: float | None = None
    """What it adds, if that is not its value times its weight."""

    @property
    def adds(self) -> float:
        """What the feature adds to the score: its value times its weight, unless the rule adds another number."""
        return self.value * self.weight if self.added is None else self.added


@dataclass(frozen=True)
class Explanation:
    """The score of one example as the sum of ``contributions``, the largest first.

    ``label`` is None if the file has no labels.
    """

    file: str
    line: int
    score: float
    threshold: float
    prediction: Any
    label: Any
    contributions: list[Contribution]


class Features:
    """The features of a learner, by their names in the input, and their normalised weights.

    Parameters
    ----------
    learner : Learner
        A learner that has learned something.
    zero_based : bool
        Whether indices of the svmlight file count from 0. Features of a file have the file's indices as names, which
        count from 1 by default; features of an array have their columns, which count from 0. Not needed for a learner
        that learned from files: it stores how their indices count.
    """

    def __init__(self, learner: Learner, *, zero_based: bool = False) -> None:
        self.engine: LearnerEngine = learner._current_play().engine
        if is_panel(self.engine.rule):
            message = (
                "this model is a panel, which has no single weight for each feature; "
                "a linear learner has one, such as arow (mb.Arow)"
            )
            raise ValueError(message)
        if learner.several:
            message = "this model has a weight for each feature and label: learner.weights_ returns them"
            raise ValueError(message)
        known = learner.known_reading()
        self.first = 1 if self.engine.growing and not (zero_based or (known and known.zero_based)) else 0
        weights = self.engine.weights()
        bias = self.engine.rule.bias
        self.constant = Contribution(CONSTANT, bias, float(weights[-1])) if bias else None
        if not bias and (prior := self.engine.intercept()):
            self.constant = Contribution(CONSTANT, 1.0, prior)
        self.weights = weights[:-1] if bias else weights
        # With names, slot 0 stands for all features that were never learned.
        self.names = ["", *self.engine.names(len(self.weights))] if self.engine.named else []
        self._places: dict[str, int] = {}

    def largest(self, count: int | None = None) -> list[tuple[str, float]]:
        """Return (name, weight) of the ``count`` features with the largest absolute weights; by default, of all."""
        known = self.weights[1:] if self.engine.named else self.weights
        order = np.argsort(-np.abs(known), kind="stable")[:count].tolist()
        return [(self._name(place + self.engine.named), float(known[place])) for place in order]

    def explain(self, part: Part, row: int) -> list[Contribution]:
        """Return what each feature of a row adds to its score, the largest first."""
        chunk = part.chunk
        if self.engine.reduction != Reduction():
            found = self._reduced(part, row)
        else:
            span = range(int(chunk.indptr[row]), int(chunk.indptr[row + 1]))
            found = [self._one(part, at, float(chunk.value[at])) for at in span]
            found = self._computed(found) if self.engine.rule.scalars else found
        found += [] if self.constant is None else [self.constant]
        return sorted(found, key=lambda each: -abs(each.adds))

    def _computed(self, found: list[Contribution]) -> list[Contribution]:
        """Return what each feature adds by the formula of the rule. The values of a repeated feature are summed."""
        summed: dict[str, Contribution] = {}
        for each in found:
            value = each.value + (summed[each.feature].value if each.feature in summed else 0.0)
            summed[each.feature] = replace(each, value=value)
        adds = self.engine.rule.contributions([(each.weight, each.value) for each in summed.values()])
        return [replace(each, added=added) for each, added in zip(summed.values(), adds, strict=True)]

    def _one(self, part: Part, at: int, value: float) -> Contribution:
        if self.engine.named:
            self._places = self._places or {name: place for place, name in enumerate(self.names) if place}
            name = part.chunk.name(at).decode()
            return Contribution(name, value, float(self.weights[self._places.get(name, 0)]))
        place = int(part.chunk.index[at])
        weight = float(self.weights[place]) if place < len(self.weights) else self._unknown()
        return Contribution(str(place + part.first), value, weight)

    def _unknown(self) -> float:
        """Return the weight of a position beyond all that were learned, which the core computes."""
        out, positive = np.empty(2), np.empty(2, np.uint8)
        place = np.array([len(self.weights)], np.int32)
        self.engine.core.score_csr(np.array([0, 0, 1]), place, np.ones(1), out, positive)
        return float(out[1] - out[0])

    def _reduced(self, part: Part, row: int) -> list[Contribution]:
        """Return the contributions of the variables that the rule sees in place of those of the example."""
        seen = self.engine.reduction.rows(self.engine.csr(part, part.rows))
        values: AnyArray = getattr(seen, "x")[row]  # noqa: B009 - a reduction makes rows dense
        return [
            Contribution(self._name(place, part.first), float(values[place]), float(self.weights[place]))
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


def explanations(learner: Learner, X: Source | Any, line: int | None = None) -> Iterator[Explanation]:
    r"""Yield an explanation of each prediction, without learning; with ``line``, only of the example in that line.

    X is a Source, or a DataFrame if the learner learned from files with columns.

    Examples
    --------
    >>> import mistakebound as mb, pathlib, tempfile
    >>> from mistakebound.learners.explain import explanations
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "stream.svm"
    >>> _ = file.write_text("-1 1:1 3:0.5\n")
    >>> learner = mb.Perceptron()
    >>> ledger = learner.run(mb.Source(file))
    >>> [found] = explanations(learner, mb.Source(file))
    >>> found.score, [(each.feature, each.adds) for each in found.contributions]
    (-1.25, [('1', -1.0), ('3', -0.25)])
    """
    stream = learner.stream_of(X)
    if stream is None:
        message = f"X must be a Source, or a DataFrame if the learner learned from tables, got {type(X).__name__}"
        raise TypeError(message)
    features = Features(learner)
    engine, labels = features.engine, learner._labels
    for part in learner.open_stream(stream, labels_needed=False):
        scores, positive, fault = learner._start_with_chunk(part.chunk).engine.score_part(part)
        for row, score in enumerate(scores.tolist()):
            found_in = part.line(row)
            if line not in (None, found_in):
                continue
            yield Explanation(
                part.file,
                found_in,
                score,
                engine.rule.threshold,
                labels.decode(bool(positive[row])),
                part.label(row),
                features.explain(part, row),
            )
        if error := part.error_at(len(scores), fault.error()) if fault else part.error:
            raise error.at_round(None)

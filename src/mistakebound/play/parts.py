"""`Parts`: what the parts of one example add to the scores of the members of a panel, as the core returns it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._core import NamedFault
from mistakebound._support.lazy import np
from mistakebound.play.engine import stream_error
from mistakebound.play.inputs import Csr, sparse_row
from mistakebound.play.joined_engine import JoinedEngine

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray, IntArray
    from mistakebound.play.engine import LearnerEngine

PLACE_MEMBERS = 11
"""Number of members whose scores are sums over features. Four with interactions and the label history follow."""
ALONE_MEMBERS = 13
"""Number of members that give a score to a row with a single feature."""


class Parts(NamedTuple):
    """What each part of an example adds to the score of each member."""

    features: list[str] | IntArray
    """Names, or positions from 0, of the non-zeros."""
    values: FloatArray
    of_places: FloatArray
    """[place, member, class]: of each non-zero, and then of the constant, for the first 11 members of the Panel."""
    slots: IntArray
    """[interaction, 3]: its places, −1 where there are fewer than three."""
    of_slots: FloatArray
    """[interaction, 2, class]: of coin betting and of AdaGrad."""
    scores: FloatArray
    """[member, class]"""
    factors: FloatArray
    """Factor of each member's scores."""
    mixing: FloatArray
    """[mixer, member]: weights."""
    shares: FloatArray
    """Of members and mixers in the Bayes mixture."""
    logit: float
    """Of the positive label, as it is predicted."""
    prediction: int
    """1 for the positive label, otherwise 0; or a class id."""
    overridden: bool
    """Whether the guard overrode the mixture."""
    probabilities: FloatArray
    """With several classes, of each class id and of a new label."""

    @property
    def classes(self) -> int:
        """Number of scores of each member: 1 for two labels."""
        return int(self.of_places.shape[2])


def parts_of(engine: LearnerEngine, x: Any) -> Parts:
    """Return the parts of one example: a named one, or a matrix of one row. Nothing is learned."""
    if engine.named:
        if isinstance(engine, JoinedEngine):
            engine.score_named(x)  # asks the members from outside for their scores
        try:
            return of_core(engine.core.explain_named(x)[1])
        except NamedFault as fault:
            raise stream_error(fault) from None
    if isinstance(engine, JoinedEngine):
        engine.scores(x)
    row = sparse_row(x)
    wrong, found = engine.core.explain_csr(row.indptr, row.index, row.value)
    if error := engine.error_of(row, wrong):
        raise error
    return of_core(found)


def without_features(engine: LearnerEngine) -> Parts:
    """Return the parts of an example without features."""
    if engine.named:
        return of_core(engine.core.explain_named({})[1])
    empty = Csr(np.zeros(2, np.int64), np.zeros(0, np.int64), np.zeros(0), engine.width or 0)
    return of_core(engine.core.explain_csr(empty.indptr, empty.index, empty.value)[1])


def of_core(found: tuple[Any, ...]) -> Parts:
    """Return what the core returned, with the shapes of its arrays."""
    features, values, classes, of_places, slots, of_slots, scores, factors, mixing, shares, *rest = found
    places = len(values) + 1
    return Parts(
        features,
        values,
        of_places.reshape(places, PLACE_MEMBERS, classes),
        slots.reshape(-1, 3),
        of_slots.reshape(len(slots) // 3, 2, classes),
        scores.reshape(len(factors), classes),
        factors,
        mixing.reshape(3, len(factors)),
        shares,
        *rest,
    )

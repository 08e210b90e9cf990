"""`JoinedEngine`: a panel that also has members from outside: objects with ``predict_one`` and ``learn_one``.

The core needs their scores before each round, so rounds are played one at a time, in Python.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mistakebound._support.lazy import np
from mistakebound.play.engine import LearnerEngine, Played, PlayedPart
from mistakebound.play.inputs import Csr, Dense

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import BoolArray, FloatArray, SignArray
    from mistakebound.data.parts import Part
    from mistakebound.play.engine import ServedExample
    from mistakebound.play.faults import RowFault
    from mistakebound.play.inputs import Positional

LARGEST_LOGIT = 8.0
"""Logits of members are clipped to ± this value."""


class JoinedEngine(LearnerEngine):
    """The engine of a panel with members from outside.

    A member sees each example as it was passed: a dict, set or list of names, or a row as a one-dimensional array. Rows
    of sparse matrices and of files are dicts ``{name: value}``; the name of a column is its number. Labels are True and
    False.
    """

    joined: Sequence[tuple[str, Any]] = ()
    """Names and members; set before the first round."""

    @property
    def direct(self) -> bool:
        """False, because the core needs the scores of the members from outside before each round."""
        return False

    @property
    def takes_weights(self) -> bool:
        """False, because members from outside could not use weights."""
        return False

    @property
    def member_names(self) -> tuple[str, ...]:
        """The names of all members."""
        return (*super().member_names, *(name for name, _ in self.joined))

    def _ask(self, x: Any) -> None:
        self.core.join([asked(name, member, x) for name, member in self.joined])

    def _teach(self, x: Any, sign: int) -> None:
        """Let the members learn before the core does, so that the core has not changed if one of them fails."""
        for name, member in self.joined:
            taught(name, member, x, sign)

    def learn_named(self, x: Any, sign: int, weight: float = 1.0) -> bool:
        """Predict, then learn, a named example; return whether the prediction was positive."""
        super().score_named(x)  # raises for an example that the core cannot learn, before the members see it
        self._ask(x)
        self._teach(x, sign)
        return super().learn_named(x, sign, weight)

    def score_named(self, x: Any) -> tuple[float, bool]:
        """Return the score and the prediction of a named example, without learning."""
        super().score_named(x)
        self._ask(x)
        return super().score_named(x)

    def play(
        self,
        rows: Positional,
        signs: SignArray,
        scores: FloatArray | None = None,
        weights: FloatArray | None = None,  # noqa: ARG002 - there are none
    ) -> Played:
        """Predict, then learn, row by row; ``signs`` are the labels as +1, −1, or 0 if unknown."""
        before, positive, fault = self.measured_counts, [], None
        for r in range(min(len(rows), len(signs))):
            row = single(rows, r)
            if signs[r] != 0 and super()._scores(row)[2] is None:
                x = example(rows, r)
                self._ask(x)
                self._teach(x, int(signs[r]))
            played = super().play(row, signs[r : r + 1], None if scores is None else scores[r : r + 1])
            if played.fault:
                fault = played.fault
                break
            positive.append(bool(played.positive[0]))
        else:
            fault = self._fault(rows, rows, None)
        return Played(np.array(positive, np.bool_), len(positive), fault, before, self.measured_counts)

    def _scores(self, rows: Positional) -> tuple[FloatArray, BoolArray, RowFault | None]:
        found, positive, fault = [], [], None
        for r in range(len(rows)):
            row = single(rows, r)
            score, sign, fault = super()._scores(row)
            if fault:
                break
            self._ask(example(rows, r))
            score, sign, _ = super()._scores(row)
            found.append(float(score[0]))
            positive.append(bool(sign[0]))
        return np.array(found), np.array(positive, np.bool_), fault

    def play_part(
        self,
        part: Part,
        signs: bytes,
        first: int = 0,
        *,
        scores: FloatArray | None = None,
        weights: FloatArray | None = None,  # noqa: ARG002 - there are none
    ) -> PlayedPart:
        """Predict, then learn, rows of a part of a file from row ``first`` on; ``signs`` has a byte per label."""
        before, positive, fault = self.measured_counts, bytearray(), None
        numbers, good = np.frombuffer(signs, np.int8), self._good_rows(part)
        for k in range(len(signs)):
            if numbers[k] != 0 and first + k < good:
                self._ask(x := example_of_part(part, first + k))
                self._teach(x, int(numbers[k]))
            score = None if scores is None else scores[k : k + 1]
            played = super().play_part(part, signs[k : k + 1], first + k, scores=score)
            if played.row == 0:
                fault = played.fault
                break
            positive += played.positive
        return PlayedPart(bytes(positive), len(positive), fault, before, self.measured_counts)

    def _good_rows(self, part: Part) -> int:
        """Return how many rows of a part come before the first one that the core cannot learn."""
        if self.named:
            return len(super().score_part(part)[0])
        return len(super()._scores(self.csr(part, part.rows))[0])

    def score_part(self, part: Part) -> tuple[FloatArray, BoolArray, RowFault | None]:
        """Return the scores and predictions of a part, up to the first bad row, and the fault of that row, or None."""
        if not self.named:
            return self._scores(self.csr(part, part.rows))
        fault = super().score_part(part)[2]
        pairs = [self.score_named(example_of_part(part, row)) for row in range(self._good_rows(part))]
        return np.array([score for score, _ in pairs]), np.array([sign for _, sign in pairs], np.bool_), fault

    def tell(self, served: ServedExample, sign: int, weight: float = 1.0) -> None:
        """Learn from the outcome of an earlier prediction, which counts as a mistake if it was wrong."""
        x = served.example if self.named else example(served.example, 0)
        self._ask(x)
        self._teach(x, sign)
        super().tell(served, sign, weight)


def asked(name: str, member: Any, x: Any) -> float:
    """Return the logit of a member for x. An exception of the member is raised as a ValueError with its name."""
    try:
        return logit_of(member, x)
    except Exception as error:
        message = f"the member {name} could not predict this example: {describe(error)}"
        raise ValueError(message) from error


def taught(name: str, member: Any, x: Any, sign: int) -> None:
    """Let a member learn x. An exception of the member is raised as a ValueError with its name."""
    try:
        member.learn_one(x, sign > 0)
    except Exception as error:
        message = f"the member {name} could not learn this example: {describe(error)}"
        raise ValueError(message) from error


def describe(error: Exception) -> str:
    """Return the type and the text of an error."""
    return f"{type(error).__name__}: {error}"


def logit_of(member: Any, x: Any) -> float:
    """Return the prediction of a member for x as log odds of True, clipped to ±8.

    A probability becomes its log odds, a score counts as log odds, a label is 1 or −1, and None is 0.
    """
    if hasattr(member, "predict_proba_one"):
        found = member.predict_proba_one(x)
        if not isinstance(found, dict) or not {True, False} & {*found}:
            message = f"predict_proba_one must return a dict with the probabilities of True and False, got {found!r}"
            raise ValueError(message)
        p = float(found[True]) if True in found else 1 - float(found[False])
        if not 0 <= p <= 1:  # also NaN
            message = f"predict_proba_one must return probabilities, got {p!r}"
            raise ValueError(message)
        return clipped(math.log(max(p, 1e-9) / max(1 - p, 1e-9)))
    if hasattr(member, "score_one"):
        return clipped(float(member.score_one(x)))
    label = member.predict_one(x)
    return 0.0 if label is None else 1.0 if label else -1.0


def clipped(logit: float) -> float:
    """Return a logit clipped to ±8. NaN raises ValueError."""
    if math.isnan(logit):
        message = "its score must be a number, got NaN"
        raise ValueError(message)
    return min(max(logit, -LARGEST_LOGIT), LARGEST_LOGIT)


def single(rows: Positional, r: int) -> Positional:
    """Return row r alone."""
    if isinstance(rows, Dense):
        return Dense(rows.x[r : r + 1])
    return Csr(rows.indptr[r : r + 2], rows.index, rows.value, rows.width, first=rows.first)


def example(rows: Positional, r: int) -> Any:
    """Return row r as members from outside see it."""
    if isinstance(rows, Dense):
        return rows.x[r]
    found: dict[str, float] = {}
    begin, end = max(int(rows.indptr[r]), 0), int(rows.indptr[r + 1])
    for index, value in zip(rows.index[begin:end].tolist(), rows.value[begin:end].tolist(), strict=True):
        name = str(index + rows.first)
        found[name] = found.get(name, 0.0) + value
    return found


def example_of_part(part: Part, row: int) -> dict[str, float]:
    """Return a row of a file as members from outside see it."""
    chunk, found = part.chunk, dict[str, float]()
    for k in range(int(chunk.indptr[row]), int(chunk.indptr[row + 1])):
        name = chunk.name(k).decode() if chunk.named else str(int(chunk.index[k]) + part.first)
        found[name] = found.get(name, 0.0) + float(chunk.value[k])
    return found

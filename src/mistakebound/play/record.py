"""The larger parts of a ledger, which are read when they are needed: from an engine, or stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from mistakebound._support.lazy import np

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray, BoolArray, FloatArray, IntArray, SignArray
    from mistakebound.play.engine import LearnerEngine
    from mistakebound.play.ledger import Counts

NOT_KEPT = "a panel keeps no examples"


@dataclass(frozen=True, eq=False)  # arrays cannot be compared to one bool
class Kept:
    """The rounds with an update or a mistake. The proofs of the linear rules sum over these rounds only.

    ``indptr``, ``index`` and ``value`` are their examples in CSR form (without the constant feature).

    See docs/theory.md, "Which rounds count".
    """

    rounds: IntArray
    labels: SignArray
    mistaken: BoolArray
    indptr: IntArray
    index: IntArray
    value: FloatArray

    def __len__(self) -> int:
        return len(self.rounds)


class Record(Protocol):
    """The larger parts of a ledger, which are read when they are needed."""

    def predictions(self) -> BoolArray | None:
        """Return whether each prediction was positive; None if not all were kept."""

    def mistake_rounds(self) -> IntArray | None:
        """Return the 0-based rounds of the mistakes; None if not all were kept."""

    def kept(self) -> Kept:
        """Return the rounds with an update or a mistake, as far as they were kept."""

    def late(self) -> tuple[IntArray, IntArray]:
        """Return the kept rounds whose outcome came late, and for each the updates since its prediction."""

    def names(self) -> list[str]:
        """Return the names of the features by index; empty for features by position."""


class StoredRecord:
    """The record of a ledger that is not in an engine, such as one that was read from JSON.

    ``predictions`` are those of the ledger: whether each was positive, or with several classes the class ids.
    """

    def __init__(
        self,
        predictions: AnyArray | None,
        mistakes: IntArray | None,
        kept: Kept | None,
        late: tuple[IntArray, IntArray],
        names: list[str],
    ) -> None:
        self._predictions, self._mistakes, self._kept = predictions, mistakes, kept
        self._late, self._names = late, names

    def predictions(self) -> AnyArray | None:
        """Return the predictions; None if not all were kept."""
        return self._predictions

    def mistake_rounds(self) -> IntArray | None:
        """Return the 0-based rounds of the mistakes; None if not all were kept."""
        return self._mistakes

    def kept(self) -> Kept:
        """Return the rounds that a proof needs, as far as they were kept. A panel keeps none: ValueError."""
        if self._kept is None:
            raise ValueError(NOT_KEPT)
        return self._kept

    def late(self) -> tuple[IntArray, IntArray]:
        """Return the kept rounds whose outcome came late, and for each the updates since its prediction."""
        return self._late

    def names(self) -> list[str]:
        """Return the names of the features by index; empty for features by position."""
        return self._names


class RoundsOfEngine:
    """Some rounds in an engine, which only ever appends to its record: what all learners have of them.

    Parameters
    ----------
    engine : LearnerEngine
        The engine that played the rounds.
    slots : int
        Number of features at the end of these rounds.
    before, now : Counts or ClassCounts
        Counts of the engine before the first and after the last of these rounds.
    """

    def __init__(self, engine: LearnerEngine, slots: int, before: Any, now: Any) -> None:
        self._engine, self._slots, self.before, self._now = engine, slots, before, now

    def late(self) -> tuple[IntArray, IntArray]:
        """Return the kept rounds whose outcome came late, and for each the updates since its prediction."""
        rounds, delays = self._engine.core.late()
        own = (rounds >= self.before.rounds) & (rounds < self._now.rounds)
        return rounds[own] - self.before.rounds, delays[own]

    def names(self) -> list[str]:
        """Return the names of the features by index, without those that came later; empty for features by position."""
        return self._engine.core.names()[: max(self._slots - 1, 0)] if self._engine.named else []


class EngineRecord(RoundsOfEngine):
    """The record of some rounds in a learner's engine, read when it is needed.

    Parameters
    ----------
    engine, slots, before, now
        Those of ``RoundsOfEngine``.
    positive : array, bytes or None
        Whether each prediction was positive, if the caller has it; otherwise the engine's record is read.
    mistakes : array, bytes or None
        The rounds of the mistakes, or the sign of each label as a byte, if the caller has them.
    """

    def __init__(
        self,
        engine: LearnerEngine,
        slots: int,
        before: Counts,
        now: Counts,
        positive: BoolArray | bytes | None,
        mistakes: IntArray | bytes | None,
    ) -> None:
        super().__init__(engine, slots, before, now)
        self._positive, self._mistakes = positive, mistakes

    def predictions(self) -> BoolArray | None:
        """Return whether each prediction was positive; None if not all were kept."""
        if self._positive is not None:
            return np.frombuffer(self._positive, np.bool_) if isinstance(self._positive, bytes) else self._positive
        wanted = self._now.rounds - self.before.rounds
        found: AnyArray = self._engine.core.predictions(self.before.rounds, self._now.rounds)
        return found.view(np.bool_) ^ self._engine.reduction.conjunction if len(found) == wanted else None

    def mistake_rounds(self) -> IntArray | None:
        """Return the 0-based rounds of the mistakes; None if not all were kept."""
        if isinstance(self._mistakes, bytes):
            return np.flatnonzero(self.predictions() != (np.frombuffer(self._mistakes, np.int8) > 0))
        if self._mistakes is not None:
            return self._mistakes
        before, now = self.before, self._now
        first = before.false_positives + before.false_negatives
        last = now.false_positives + now.false_negatives
        found: IntArray = self._engine.core.mistake_rounds(first, last)
        return found - before.rounds if len(found) == last - first else None

    def z(self) -> tuple[FloatArray, float] | None:
        """Return the z of every slot and of the constant feature; None if the engine has learned more rounds."""
        return self._engine.core.z() if self._engine.counts.rounds == self._now.rounds else None

    def kept(self) -> Kept:
        """Return the rounds with an update or a mistake, as far as they were kept."""
        rounds, labels, mistaken, indptr, index, value = self._engine.core.kept(self.before.to_keep, self._now.to_keep)
        return Kept(rounds - self.before.rounds, labels, mistaken.view(np.bool_), indptr, index.astype(np.int64), value)

"""What happened to a learner that follows experts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mistakebound._support.lazy import np

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray, FloatArray, IntArray


@dataclass(frozen=True)
class ExpertLedger:
    """What happened to a learner that follows experts, over all of its rounds or over those of one ``run``.

    ``expert_mistakes`` counts each expert's own mistakes; ``expected_mistakes`` is Σ F_t, the share of weight on wrong
    answers, which is what the theorem on the randomized rule speaks of.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mb.experts.WeightedMajority().run([[0, 1, 1], [0, 1, 1]], [0, 0])
    <ExpertLedger: 2 mistakes in 2 rounds, weighted-majority; experts: 3, the best '0' with 0 mistakes in 2 rounds>
    """

    rule: str
    beta: float
    rounds: int
    predictions: AnyArray
    mistake_rounds: IntArray
    expert_mistakes: IntArray
    expected_mistakes: float
    expert_losses: FloatArray
    """Its mistakes, and while it slept what the learner expected to lose: what the theorems speak of."""
    expert_rounds: IntArray
    """Rounds in which it was awake."""
    prior: FloatArray
    names: tuple[str, ...]
    from_start: bool = True
    """Whether the learner began with these rounds."""
    weights: FloatArray | None = None
    """Rounds × experts, if ``run`` was asked for them: what each of its rounds was voted with, 0 for sleepers."""

    def __repr__(self) -> str:
        """What a person asks first; the arrays may be long."""
        told = (
            f"<ExpertLedger: {self.mistakes} mistakes in {self.rounds} rounds, {self.rule}; experts: {len(self.names)}"
        )
        if not self.rounds:
            return told + ">"
        best = self.best_expert
        mistakes, awake = self.expert_mistakes[best], self.expert_rounds[best]
        return f"{told}, the best {self.names[best]!r} with {mistakes} mistakes in {awake} rounds>"

    @property
    def mistakes(self) -> int:
        """Wrong predictions of the master."""
        return len(self.mistake_rounds)

    @property
    def best_expert(self) -> int:
        """Index of the expert with the least losses."""
        return int(np.argmin(self.expert_losses))

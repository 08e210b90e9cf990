"""`GuardedLedger`: the ledger of a guard, which also records what the advice did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mistakebound.play.expert_ledger import ExpertLedger

if TYPE_CHECKING:
    from mistakebound._support.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class GuardedLedger(ExpertLedger):
    """The record of a guard, for all of its rounds or for those of one ``run``: that of votes, and of the advice.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mb.experts.Guarded().run([[1, 0]] * 4, [1] * 4, advice=[1, 0, 0, 0])  # doctest: +NORMALIZE_WHITESPACE
    <GuardedLedger: 2 mistakes in 4 rounds, guarded-weighted-majority; experts: 2, the best '0' with 0 mistakes in 4
    rounds; advice: 3 mistakes in 4 rounds, 1 overridden>
    """

    override_rounds: IntArray
    """Rounds in which the prediction was not the advice."""
    advice_rounds: int
    """Number of rounds in which there was advice."""
    advice_mistakes: int
    """Number of these rounds in which the advice was wrong."""

    def __repr__(self) -> str:
        advice = f"{self.advice_mistakes} mistakes in {self.advice_rounds} rounds, {self.overrides} overridden"
        return f"{super().__repr__()[:-1]}; advice: {advice}>"

    @property
    def overrides(self) -> int:
        """Number of rounds in which the prediction was not the advice."""
        return len(self.override_rounds)

    def to_json(self) -> str:
        """Return the ledger without ``weights`` as JSON text, which ``GuardedLedger.from_json`` reads."""
        from mistakebound.play.expert_ledger_schema import guarded_to_json  # noqa: PLC0415 - not needed to learn

        return guarded_to_json(self)

    @classmethod
    def from_json(cls, text: str) -> GuardedLedger:
        """Return the ledger that ``to_json`` wrote; raise ModelError with the ``field`` that is not valid."""
        from mistakebound.play.expert_ledger_schema import read_guarded  # noqa: PLC0415 - not needed to learn

        return cls(**read_guarded(text))

    def _table(self) -> dict[str, Any]:
        advice = {"advice mistakes": f"{self.advice_mistakes} in {self.advice_rounds} rounds"}
        return super()._table() | advice | {"overrides": self.overrides}

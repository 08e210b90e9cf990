"""What every learner can do, linear or over experts: one round, a stream, late outcomes, a file, a certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import os

    from mistakebound._support.arrays import FloatArray
    from mistakebound.play.tickets import Asked


class OnlineLedger(Protocol):
    """What happened, as every ledger tells it."""

    @property
    def rounds(self) -> int:
        """Number of rounds."""

    @property
    def predictions(self) -> Any:
        """What was predicted in each round before learning from it."""

    @property
    def loss_curve(self) -> FloatArray:
        """What was lost up to and including each round; a mistake is a loss of 1."""

    @property
    def from_start(self) -> bool:
        """Whether the learner began with these rounds."""

    @property
    def late(self) -> int:
        """How many outcomes came late."""

    def to_json(self) -> str:
        """The ledger as JSON text, which ``from_json`` of its class reads."""

    def _repr_html_(self) -> str:
        """A table for notebooks."""


@runtime_checkable
class OnlineLearner(Protocol):
    """Predict, then learn: an example and its label, or the advice of experts and the outcome.

    ``x`` is an example or a round of advice, ``y`` its label or outcome. A round that is refused changes
    nothing: it raises ValueError.
    """

    def predict_one(self, x: Any) -> Any:
        """Predict without learning."""

    def learn_one(self, x: Any, y: Any) -> None:
        """Predict, then learn one round."""

    def run(self, X: Any, y: Any) -> OnlineLedger:
        """Predict, then learn a stream; return the ledger of its rounds."""

    def ask(self, x: Any) -> Asked:
        """Predict a round whose outcome comes later."""

    def tell(self, asked: Asked, y: Any) -> None:
        """Learn from the outcome of a prediction that ``ask`` made, once."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 - scikit-learn's signature
        """Parameters of the constructor."""

    def set_params(self, **params: Any) -> Any:
        """Change parameters that have not begun to count."""

    @property
    def ledger_(self) -> OnlineLedger:
        """What happened so far."""

    def certify(self) -> Any:
        """The mistakes or losses beside what a theorem allows."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that is known to a file, from which ``mistakebound.load`` reads it."""

    def _repr_html_(self) -> str:
        """A table for notebooks."""

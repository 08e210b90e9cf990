"""`OnlineLearner`: the methods that linear learners and learners over experts have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import os

    from mistakebound._support.arrays import FloatArray
    from mistakebound.play.tickets import Asked


class OnlineLedger(Protocol):
    """The attributes that every ledger has. A ledger is the record of a learner's rounds."""

    @property
    def rounds(self) -> int:
        """Number of rounds."""

    @property
    def predictions(self) -> Any:
        """The prediction of each round, before learning from it."""

    @property
    def loss_curve(self) -> FloatArray:
        """Cumulative loss after each round; a mistake is a loss of 1."""

    @property
    def from_start(self) -> bool:
        """Whether the first of these rounds was the learner's first round."""

    @property
    def late(self) -> int:
        """Number of outcomes that came late."""

    def to_json(self) -> str:
        """Return the ledger as JSON text, which ``from_json`` of its class reads."""

    def _repr_html_(self) -> str:
        """A table for notebooks."""


@runtime_checkable
class OnlineLearner(Protocol):
    """A learner that predicts each round before it learns from it.

    ``x`` is an example and ``y`` its label; for experts, ``x`` is their advice in a round and ``y`` the outcome.
    A round that raises ValueError changes nothing.
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
        """Return the parameters of the constructor."""

    def set_params(self, **params: Any) -> Any:
        """Set parameters; they have no effect on a learner that has started."""

    @property
    def ledger_(self) -> OnlineLedger:
        """The ledger of all rounds so far."""

    def certify(self) -> Any:
        """Compare the mistakes or losses with the bound of a theorem."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to a file that ``mistakebound.load`` reads."""

    def _repr_html_(self) -> str:
        """A table for notebooks."""

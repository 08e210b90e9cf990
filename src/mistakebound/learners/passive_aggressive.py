"""The passive-aggressive learners: `PassiveAggressiveI` and `PassiveAggressiveII`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from mistakebound.learners.learner import KEEP_BYTES, Learner

if TYPE_CHECKING:
    from collections.abc import Sequence


class PassiveAggressiveI(Learner):
    """PA-I: if y(w·x) < 1, change w as little as makes it 1, but by at most c·x.

    For every u, it makes at most ``max(R², 1/c)(‖u‖² + 2cΣℓ)`` mistakes, where ℓ = max(0, 1 − y u·x) is the loss of u
    in a round: see docs/theory.md, "Passive-aggressive I".

    Parameters
    ----------
    c : float
        Aggressiveness, from 1e-30 to 1e30. The larger c is, the larger are the steps on examples with large losses.
    bias, classes, keep_bytes
        As for ``Perceptron``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> learner = mb.PassiveAggressiveI(c=0.5)
    >>> ledger = learner.run([[1, 0], [0, 1], [1, 1]], [-1, 1, -1])
    >>> ledger.mistakes, ledger.updates, ledger.predictions.tolist()
    (2, 3, [1, 1, 1])
    >>> learner.weights_.tolist()
    [-1.0, 0.0]
    """

    rule_id: ClassVar[str] = "passive-aggressive-i"

    def __init__(
        self,
        c: float = 1.0,
        *,
        bias: float = 0.0,
        classes: Sequence[Any] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.c = c
        self.bias = bias
        self.classes = classes
        self.keep_bytes = keep_bytes


class PassiveAggressiveII(Learner):
    """PA-II: if y(w·x) < 1, add τ·y·x to w, τ = (1 − y w·x)/(‖x‖² + 1/(2c)).

    For every u, it makes at most ``(R² + 1/(2c))(‖u‖² + 2cΣℓ²)`` mistakes, where ℓ = max(0, 1 − y u·x) is the loss of
    u in a round: see docs/theory.md, "Passive-aggressive II".

    Parameters
    ----------
    c, bias, classes, keep_bytes
        As for ``PassiveAggressiveI``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> learner = mb.PassiveAggressiveII(c=0.5)
    >>> ledger = learner.run([[1, 0], [0, 1], [1, 1]], [-1, 1, -1])
    >>> ledger.mistakes, ledger.updates
    (2, 3)
    """

    rule_id: ClassVar[str] = "passive-aggressive-ii"

    def __init__(
        self,
        c: float = 1.0,
        *,
        bias: float = 0.0,
        classes: Sequence[Any] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.c = c
        self.bias = bias
        self.classes = classes
        self.keep_bytes = keep_bytes

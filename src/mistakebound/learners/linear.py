"""The public linear learners: one class per rule, with its parameters. Larger families have modules of their own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from mistakebound.learners.gradient import (
    AdaGradHinge,
    AdaGradLogistic,
    CoinBetting,
    ExponentiatedGradient,
    FtrlProximal,
    ImplicitLogistic,
    LogisticSgd,
)
from mistakebound.learners.label_counts import DecisionList, NaiveBayes
from mistakebound.learners.learner import KEEP_BYTES, Learner
from mistakebound.learners.multiclass import MulticlassPerceptron
from mistakebound.learners.panel import Panel
from mistakebound.learners.passive_aggressive import PassiveAggressiveI, PassiveAggressiveII
from mistakebound.learners.winnow import BalancedWinnow, Elimination, NormalizedWinnow, Winnow
from mistakebound.rules.registry import DECLARATIONS

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

__all__ = [
    "AdaGradHinge",
    "AdaGradLogistic",
    "Arow",
    "AveragedPerceptron",
    "BalancedWinnow",
    "CoinBetting",
    "DecisionList",
    "Elimination",
    "ExponentiatedGradient",
    "FtrlProximal",
    "ImplicitLogistic",
    "LogisticSgd",
    "MulticlassPerceptron",
    "NaiveBayes",
    "NormalizedWinnow",
    "PNormPerceptron",
    "Panel",
    "PassiveAggressiveI",
    "PassiveAggressiveII",
    "Perceptron",
    "Winnow",
]
"""The names that ``import mistakebound`` exports."""


class Perceptron(Learner):
    """Perceptron: predict the sign of z·x, and add y·x to z on a mistake.

    It makes at most ``(R‖u‖/γ)²`` mistakes if some u separates the stream with margin γ, and ‖x‖₂ ≤ R: see
    docs/theory.md, "Novikoff's theorem".

    Parameters
    ----------
    update_margin : float
        If positive, also learn when ``y·score ≤ update_margin``.
    bias : float
        Value of a constant feature of every example: 0 for none, or 1e-30 to 1e30 in absolute value.
    classes : (negative, positive), optional
        The two labels. By default, the greater of the two labels that occur is the positive one.
    keep_bytes : int
        Memory for the examples of mistakes and updates, which certificates need.

    Examples
    --------
    >>> import mistakebound as mb
    >>> learner = mb.Perceptron()
    >>> ledger = learner.run([[1, 0], [0, 1], [1, 1]], [-1, 1, -1])
    >>> ledger.mistakes, ledger.predictions.tolist()
    (1, [1, 1, -1])
    >>> learner.weights_.tolist()
    [-1.0, 0.0]
    """

    rule_id: ClassVar[str] = "perceptron"

    def __init__(
        self,
        *,
        update_margin: float = 0.0,
        bias: float = 0.0,
        classes: Sequence[Any] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.update_margin = update_margin
        self.bias = bias
        self.classes = classes
        self.keep_bytes = keep_bytes


class PNormPerceptron(Learner):
    """The p-norm Perceptron: weights sign(z)|z|^{p−1}. p = 2 is the Perceptron; p ≈ 2 ln n behaves like Winnow.

    It makes at most ``(p−1)(X‖u‖_q/γ)²`` mistakes if y(u·x) ≥ γ, ‖x‖_p ≤ X and 1/p + 1/q = 1: see docs/theory.md,
    "The p-norm Perceptron".

    Parameters
    ----------
    p : float or "best"
        p ≥ 2. ``"best"`` is max(2, 2 ln n) for n features, which suits targets with few relevant features.
    update_margin, bias, classes, keep_bytes
        As for ``Perceptron``; the update margin is measured on the normalised link.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mb.PNormPerceptron(p=3).run([[1, 0], [1, 0]], [-1, -1]).mistakes
    1
    """

    rule_id: ClassVar[str] = "pnorm"

    def __init__(
        self,
        p: float | str = 4.0,
        *,
        update_margin: float = 0.0,
        bias: float = 0.0,
        classes: Sequence[Any] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.p = p
        self.update_margin = update_margin
        self.bias = bias
        self.classes = classes
        self.keep_bytes = keep_bytes

    def _best_parameter(self, n: int | None) -> float:
        if n is None:
            message = 'p="best" needs the number of features: use arrays, or pass a number for p'
            raise ValueError(message)
        return max(2.0, 2 * math.log(max(n, 1)))


class Arow(Learner):
    """AROW with a diagonal covariance: the more often a feature was learned, the less its weight changes.

    It learns whenever ``y·score < 1``, even without a mistake. It has no mistake bound, so ``certify`` raises
    ValueError: see docs/theory.md, "AROW".

    Parameters
    ----------
    r : float
        r > 0. The larger r is, the smaller are the steps.
    bias, classes, keep_bytes
        As for ``Perceptron``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> learner = mb.Arow()
    >>> ledger = learner.run([[1, 0], [0, 1], [1, 1]], [-1, 1, -1])
    >>> ledger.mistakes, ledger.updates, ledger.predictions.tolist()
    (2, 3, [1, 1, 1])
    >>> learner.weights_.tolist()
    [-0.75, 0.25]
    """

    rule_id: ClassVar[str] = "arow"

    def __init__(
        self,
        r: float = 1.0,
        *,
        bias: float = 0.0,
        classes: Sequence[Any] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.r = r
        self.bias = bias
        self.classes = classes
        self.keep_bytes = keep_bytes


class AveragedPerceptron(Learner):
    """The averaged Perceptron: it predicts by the mean of all weight vectors of a Perceptron so far.

    The Perceptron inside updates if its own prediction is wrong, and ``updates`` counts these updates. A mistake is a
    wrong prediction by the mean. No mistake bound is known for it, and ``certify`` raises ValueError: see
    docs/theory.md, "The averaged Perceptron".

    Parameters
    ----------
    bias, classes, keep_bytes
        As for ``CoinBetting``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> learner = mb.AveragedPerceptron()
    >>> ledger = learner.run([[1, 0], [0, 1], [1, 1]], [-1, 1, -1])
    >>> ledger.mistakes, ledger.updates, ledger.predictions.tolist()
    (1, 1, [1, 1, -1])
    >>> learner.weights_.tolist()
    [-0.75, 0.0]
    """

    rule_id: ClassVar[str] = "averaged-perceptron"

    def __init__(
        self, *, bias: float = 0.0, classes: Sequence[Any] | None = None, keep_bytes: int = KEEP_BYTES
    ) -> None:
        self.bias = bias
        self.classes = classes
        self.keep_bytes = keep_bytes


KINDS: dict[str, type[Learner]] = {each.learner: globals()[each.learner] for each in DECLARATIONS.values()}
"""The public learners by name. A model file can have only these."""


def load(path: str | os.PathLike[str]) -> Learner:
    """Return the learner that a model file has. Nothing in the file is executed.

    Parameters
    ----------
    path : str or path
        A file that ``learner.save`` wrote.

    Raises
    ------
    ModelError
        If the file is incomplete, was changed, contradicts itself, or is from a newer version.
    """
    from mistakebound.models.model_file import load as read  # noqa: PLC0415 - it needs json and hashes

    return read(path, KINDS)


def not_a_learner(found: object) -> TypeError:
    """Return the error for something that was passed in place of a linear learner.

    >>> class Forest: ...
    >>> print(not_a_learner(Forest))
    the learner must be a linear learner such as mb.Perceptron(), got the class Forest
    """
    what = f"the class {found.__name__}" if isinstance(found, type) else type(found).__name__
    return TypeError(f"the learner must be a linear learner such as mb.Perceptron(), got {what}")

"""Linear learners that follow gradients, of logistic loss or of hinge loss, in every round or in those with a loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from mistakebound.learners.learner import KEEP_BYTES, Learner

if TYPE_CHECKING:
    from collections.abc import Sequence


class CoinBetting(Learner):
    """Coin betting: logistic regression without a learning rate (COCOB).

    Each feature bets a part of its wealth on the sign of its next gradient. It learns every example. Its score is the
    log odds of the positive label. No mistake bound is known for it, and ``certify`` raises ValueError: see
    docs/theory.md, "Coin betting".

    Parameters
    ----------
    bias : float
        Value of a constant feature of every example: 0 for none, or 1e-30 to 1e30 in absolute value. Without one, a
        score of 0 is the only prediction for an example without known features.
    classes : (negative, positive), optional
        The two labels. By default, the greater of the two labels that occur is the positive one.
    keep_bytes : int
        Memory for the predictions and for the rounds of the mistakes. Examples are not kept, because no certificate
        needs them.

    Examples
    --------
    >>> import mistakebound as mb
    >>> stream = mb.streams.margin(n=20, rounds=1000, margin=0.1, seed=0)
    >>> learner = mb.CoinBetting()
    >>> ledger = learner.run(stream.X, stream.y)
    >>> ledger.mistakes < 100
    True
    """

    rule_id: ClassVar[str] = "coin-betting"

    def __init__(
        self, *, bias: float = 0.0, classes: Sequence[Any] | None = None, keep_bytes: int = KEEP_BYTES
    ) -> None:
        self.bias = bias
        self.classes = classes
        self.keep_bytes = keep_bytes


class ImplicitLogistic(Learner):
    """Implicit AdaGrad on logistic loss: the gradient is taken at the weights after the update.

    A large rate cannot make a step too long. It learns every example. Its score is the log odds of the positive label.
    No mistake bound is known for it, and ``certify`` raises ValueError: see docs/theory.md, "Implicit AdaGrad on
    logistic loss".

    Parameters
    ----------
    rate : float
        The learning rate, from 1e-30 to 1e30.
    bias, classes, keep_bytes
        As for ``CoinBetting``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mb.ImplicitLogistic(rate=0.5).run([[1, 0], [0, 1], [1, 0]], [-1, 1, -1]).mistakes
    1
    """

    rule_id: ClassVar[str] = "implicit-logistic"

    def __init__(
        self,
        rate: float = 2.0,
        *,
        bias: float = 0.0,
        classes: Sequence[Any] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.rate = rate
        self.bias = bias
        self.classes = classes
        self.keep_bytes = keep_bytes


class AdaGradLogistic(Learner):
    """AdaGrad on logistic loss: the learning rate of each feature falls with its gradients so far.

    It learns every example. Its score is the log odds of the positive label. No mistake bound is known for it, and
    ``certify`` raises ValueError: see docs/theory.md, "AdaGrad on logistic loss".

    Parameters
    ----------
    rate : float
        The learning rate, from 1e-30 to 1e30: the size of the first step.
    bias, classes, keep_bytes
        As for ``CoinBetting``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mb.AdaGradLogistic(rate=0.5).run([[1, 0], [0, 1], [1, 0]], [-1, 1, -1]).mistakes
    1
    """

    rule_id: ClassVar[str] = "adagrad-logistic"

    def __init__(
        self,
        rate: float = 1.0,
        *,
        bias: float = 0.0,
        classes: Sequence[Any] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.rate = rate
        self.bias = bias
        self.classes = classes
        self.keep_bytes = keep_bytes


class AdaGradHinge(Learner):
    """AdaGrad on hinge loss, with steps that are no longer than needed.

    It learns whenever ``y·score < 1``, even without a mistake. No mistake bound is known for it, and ``certify`` raises
    ValueError: see docs/theory.md, "AdaGrad on hinge loss".

    Parameters
    ----------
    rate : float
        The largest learning rate, from 1e-30 to 1e30.
    bias, classes, keep_bytes
        As for ``CoinBetting``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mb.AdaGradHinge(rate=0.5).run([[1, 0], [0, 1], [1, 0]], [-1, 1, -1]).mistakes
    1
    """

    rule_id: ClassVar[str] = "adagrad-hinge"

    def __init__(
        self,
        rate: float = 1.0,
        *,
        bias: float = 0.0,
        classes: Sequence[Any] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.rate = rate
        self.bias = bias
        self.classes = classes
        self.keep_bytes = keep_bytes


class FtrlProximal(Learner):
    """FTRL-Proximal on logistic loss, without L1 and L2 terms and with β = 0.3.

    It learns every example. Its score is the log odds of the positive label. No mistake bound is known for it, and
    ``certify`` raises ValueError: see docs/theory.md, "FTRL-Proximal".

    Parameters
    ----------
    alpha : float
        α, the learning rate, from 1e-30 to 1e30.
    bias, classes, keep_bytes
        As for ``CoinBetting``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mb.FtrlProximal(alpha=0.1).run([[1, 0], [0, 1], [1, 0]], [-1, 1, -1]).mistakes
    1
    """

    rule_id: ClassVar[str] = "ftrl-proximal"

    def __init__(
        self,
        alpha: float = 0.3,
        *,
        bias: float = 0.0,
        classes: Sequence[Any] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.alpha = alpha
        self.bias = bias
        self.classes = classes
        self.keep_bytes = keep_bytes


class LogisticSgd(Learner):
    """Logistic regression by gradient descent with a fixed learning rate.

    It learns every example. Its score is the log odds of the positive label. A bound on its log loss is proved, but not
    implemented as a certificate, and ``certify`` raises ValueError: see docs/theory.md, "Logistic regression by
    gradient descent".

    Parameters
    ----------
    rate : float
        The learning rate, from 1e-30 to 1e30.
    bias, classes, keep_bytes
        As for ``CoinBetting``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mb.LogisticSgd(rate=0.1).run([[1, 0], [0, 1], [1, 0]], [-1, 1, -1]).mistakes
    1
    """

    rule_id: ClassVar[str] = "logistic-sgd"

    def __init__(
        self,
        rate: float = 0.03,
        *,
        bias: float = 0.0,
        classes: Sequence[Any] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.rate = rate
        self.bias = bias
        self.classes = classes
        self.keep_bytes = keep_bytes


class ExponentiatedGradient(Learner):
    """EG±: exponentiated gradients on logistic loss, with weights ½·sinh(z).

    It suits targets with few relevant features. It learns every example. Its score is the log odds of the positive
    label. No mistake bound is known for it, and ``certify`` raises ValueError: see docs/theory.md, "Exponentiated
    gradients".

    Parameters
    ----------
    eta : float
        η, the learning rate, from 1e-30 to 1e30.
    bias, classes, keep_bytes
        As for ``CoinBetting``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mb.ExponentiatedGradient(eta=0.1).run([[1, 0], [0, 1], [1, 0]], [-1, 1, -1]).mistakes
    1
    """

    rule_id: ClassVar[str] = "exponentiated-gradient"

    def __init__(
        self,
        eta: float = 0.5,
        *,
        bias: float = 0.0,
        classes: Sequence[Any] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.eta = eta
        self.bias = bias
        self.classes = classes
        self.keep_bytes = keep_bytes

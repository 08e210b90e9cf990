"""Linear learners of the Winnow family: `Winnow`, `NormalizedWinnow`, `BalancedWinnow` and `Elimination`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from mistakebound.errors import InputError, Option
from mistakebound.learners.learner import KEEP_BYTES, Learner, number_of
from mistakebound.play.engine import Reduction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mistakebound.play.ledger import Ledger
    from mistakebound.rules.base import Range


class Winnow(Learner):
    """Littlestone's Winnow for x in {0,1}ⁿ: predict 1 if the weights of the active variables sum to at least θ.

    With α = 2 and θ = n, it makes fewer than ``2 + 3r⌈lg n⌉`` mistakes if the label is an OR of r of the n variables:
    see docs/theory.md, "Winnow on disjunctions".

    Parameters
    ----------
    alpha : float
        α > 1. A mistake multiplies the active weights by α on a positive example, and by 1/α on a negative one.
    threshold : float, optional
        θ > 0; by default the number of variables. It must be passed for named features, because their number is not
        known: c·σ with c > 2, if at most σ features are active at once. The bound then does not depend on the number
        of names: see docs/theory.md, "Winnow with an unknown number of features".
    strict : bool
        Predict 1 only if the sum is greater than θ.
    target : {"disjunction", "conjunction"}
        A conjunction is learned as the negation of a disjunction of negated variables.
    complements : bool
        Add the negation of every variable (n → 2n), for targets that contain negated variables.
    bias : {0, 1}
        1 adds a variable that is always active.
    classes, keep_bytes
        As for ``Perceptron``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> X, y = mb.streams.disjunction(n=100, r=2, rounds=1000, seed=1)
    >>> bool(mb.Winnow().run(X, y).mistakes < mb.bounds.littlestone(100, 2))
    True
    """

    rule_id: ClassVar[str] = "winnow"

    default_labels: ClassVar[tuple[int, int]] = (0, 1)
    _binary_inputs: ClassVar[bool] = True

    def __init__(
        self,
        alpha: float = 2.0,
        threshold: float | None = None,
        strict: bool = False,  # noqa: FBT001, FBT002 - part of the public signature
        *,
        target: str = "disjunction",
        complements: bool = False,
        bias: float = 0.0,
        classes: Sequence[Any] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.alpha = alpha
        self.threshold = threshold
        self.strict = strict
        self.target = target
        self.complements = complements
        self.bias = bias
        self.classes = classes
        self.keep_bytes = keep_bytes

    def _own_parameters(self, ranges: Mapping[str, Range], n: int | None) -> dict[str, Any]:
        theta = self.threshold
        if theta is None:
            if n is None:
                message = "Winnow with named features needs a threshold, because their number is not known: pass "
                option = Option("threshold", "threshold=4*s", "4*s")
                raise InputError(message, option, " if at most s features are active at once", kind="threshold")
            theta = float(max(n + number_of("bias", self.bias, ranges["bias"]), 1))
        return {"theta": number_of("threshold", theta, ranges["theta"]), "strict": bool(self.strict)}

    def known_bound(self, relevant: int | None) -> Callable[[Ledger, int], float | None] | None:
        """Return Littlestone's bound for a label that is an OR of ``relevant`` features.

        It holds for n = the number of features so far, because the weights of other features have not changed.
        """
        if relevant is None or self.bias:
            return super().known_bound(relevant)

        def bound(ledger: Ledger, _: int) -> float | None:
            from mistakebound.bounds import littlestone  # noqa: PLC0415 - most runs do not need it

            rule: Any = ledger.rule
            seen = ledger.n - ledger.named  # with names, one slot stands for all unknown features
            return littlestone(seen, min(relevant, seen), rule.alpha, rule.theta, rule.strict) if seen else None

        return bound

    def known_theorem(self) -> str:
        """Return the id of the theorem of ``known_bound``."""
        return "littlestone"

    def _reduction(self) -> Reduction:
        return _reduction(self.target, self.complements)


class Elimination(Learner):
    """Predict the OR of all variables; a mistake on a negative example removes every variable that is active in it.

    It makes at most ``n − r`` mistakes, none of them on a positive example, if the label is an OR of r of the n
    variables: see docs/theory.md, "Elimination".

    Parameters
    ----------
    target, complements, classes, keep_bytes
        As for ``Winnow``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> learner = mb.Elimination()
    >>> learner.run([[1, 1, 0], [0, 1, 1], [1, 0, 0]], [0, 1, 0]).mistakes
    1
    >>> learner.weights_.tolist()
    [0.0, 0.0, 1.0]
    """

    rule_id: ClassVar[str] = "elimination"

    default_labels: ClassVar[tuple[int, int]] = (0, 1)
    _binary_inputs: ClassVar[bool] = True

    def __init__(
        self,
        *,
        target: str = "disjunction",
        complements: bool = False,
        classes: Sequence[Any] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.target = target
        self.complements = complements
        self.classes = classes
        self.keep_bytes = keep_bytes

    def known_bound(self, relevant: int | None) -> Callable[[Ledger, int], float | None] | None:
        """Return the bound n, the number of features so far; there is no bound after a mistake on a positive example.

        Each mistake on a negative example removes at least one feature. A mistake on a positive example shows that the
        label is not an OR of the features.
        """
        if relevant is not None:
            return super().known_bound(relevant)

        def bound(ledger: Ledger, missed: int) -> float | None:
            from mistakebound.bounds import elimination  # noqa: PLC0415 - most runs do not need it

            seen = ledger.n - ledger.named  # with names, one slot stands for all unknown features
            return elimination(seen) if seen and not missed else None

        return bound

    def known_theorem(self) -> str:
        """Return the id of the theorem of ``known_bound``."""
        return "elimination"

    def _reduction(self) -> Reduction:
        return _reduction(self.target, self.complements)


class NormalizedWinnow(Learner):
    """Winnow whose weights are a probability distribution, proportional to e^{ηz}.

    It makes at most ``ln n / (ηγ − ln cosh(ηL))`` mistakes if some distribution u over the features has y(u·x) ≥ γ,
    and ‖x‖_∞ ≤ L: see docs/theory.md, "Normalised Winnow at a fixed rate".

    Parameters
    ----------
    eta : float or "best"
        Learning rate η > 0. ``"best"`` is the rate with the smallest bound for ``margin`` and ``radius``. η = ∞ is
        allowed: then the features with the largest z share all the weight.
    margin, radius : float
        γ and L for ``eta="best"``.
    update_margin, bias, classes, keep_bytes
        As for ``Perceptron``; the update margin is measured on normalised weights.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mb.NormalizedWinnow(eta="best", margin=1).run([[1, -1], [1, -1]], [-1, -1]).mistakes
    1
    """

    rule_id: ClassVar[str] = "normalized-winnow"

    _poor_score: ClassVar[bool] = True

    def __init__(
        self,
        eta: float | str = 0.1,
        *,
        margin: float | None = None,
        radius: float = 1.0,
        update_margin: float = 0.0,
        bias: float = 0.0,
        classes: Sequence[Any] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.eta = eta
        self.margin = margin
        self.radius = radius
        self.update_margin = update_margin
        self.bias = bias
        self.classes = classes
        self.keep_bytes = keep_bytes

    def _best_parameter(self, n: int | None) -> float:  # noqa: ARG002 - the theorem's rate does not depend on n
        return _best_rate(self.margin, self.radius)


class BalancedWinnow(Learner):
    """Normalised Winnow on (x, −x): weights sinh(ηz) of either sign.

    The bounds are those of ``NormalizedWinnow`` with ln 2n in place of ln n, for any u with ‖u‖₁ = 1: see
    docs/theory.md, "Balanced Winnow".

    Parameters
    ----------
    eta, margin, radius, update_margin, bias, classes, keep_bytes
        As for ``NormalizedWinnow``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> X, y = mb.streams.margin(n=50, rounds=500, margin=0.3, seed=0, norm="l1")
    >>> ledger = mb.BalancedWinnow(eta="best", margin=0.3).run(X, y)
    >>> bool(ledger.mistakes <= mb.bounds.balanced_winnow(50, 0.3))
    True
    """

    rule_id: ClassVar[str] = "balanced-winnow"

    def __init__(
        self,
        eta: float | str = 0.1,
        *,
        margin: float | None = None,
        radius: float = 1.0,
        update_margin: float = 0.0,
        bias: float = 0.0,
        classes: Sequence[Any] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.eta = eta
        self.margin = margin
        self.radius = radius
        self.update_margin = update_margin
        self.bias = bias
        self.classes = classes
        self.keep_bytes = keep_bytes

    def _best_parameter(self, n: int | None) -> float:  # noqa: ARG002 - the theorem's rate does not depend on n
        return _best_rate(self.margin, self.radius)


def _best_rate(margin: float | None, radius: float) -> float:
    """Return the η with the smallest bound for this margin and radius."""
    if margin is None:
        message = 'eta="best" needs the expected margin γ: pass margin=...'
        raise ValueError(message)
    from mistakebound.bounds.winnow import winnow_rate  # noqa: PLC0415 - rarely needed
    from mistakebound.rules.base import Range  # noqa: PLC0415 - likewise

    number = Range(lambda _: True, "a number")  # winnow_rate checks the ranges
    return winnow_rate(number_of("margin", margin, number), number_of("radius", radius, number))


def _reduction(target: str, complements: bool) -> Reduction:  # noqa: FBT001 - the values of two parameters
    """Return how a target is turned into a disjunction; raise ValueError for an unknown target."""
    if target not in ("disjunction", "conjunction"):
        message = f'target must be "disjunction" or "conjunction", got {target!r}'
        raise ValueError(message)
    return Reduction(conjunction=target == "conjunction", complements=bool(complements))

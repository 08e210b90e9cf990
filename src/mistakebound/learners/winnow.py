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

    Fewer than ``2 + 3r⌈lg n⌉`` mistakes if the labels are an OR of r of the n variables (α = 2, θ = n), so the number
    of irrelevant variables hardly matters.

    Parameters
    ----------
    alpha : float
        A mistake multiplies the active weights by α (should have been 1) or by 1/α (should have been 0). α > 1.
    threshold : float, optional
        θ > 0; by default the number of variables. Needed for named features, whose number is not known: c·σ with c > 2
        and σ the most features active at once (``infinite-winnow``: nothing then depends on the vocabulary).
    strict : bool
        Predict 1 only if the sum is greater than θ.
    target : {"disjunction", "conjunction"}
        A conjunction is learned as the negation of a disjunction of negated variables.
    complements : bool
        Give the rule the negation of every variable too (n → 2n), for targets that contain negated variables.
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
                message = "a Winnow with named features needs a threshold, because their number is not known: pass "
                option = Option("threshold", "threshold=4*s", "4*s")
                raise InputError(message, option, " if at most s features are active at once", kind="threshold")
            theta = float(max(n + number_of("bias", self.bias, ranges["bias"]), 1))
        return {"theta": number_of("threshold", theta, ranges["theta"]), "strict": bool(self.strict)}

    def known_bound(self, relevant: int | None) -> Callable[[Ledger, int], float | None] | None:
        """Littlestone's bound, if the label is an OR of ``relevant`` features.

        It holds with n the number of features so far: the weights of features that never came neither rose nor fell.
        """
        if relevant is None or self.bias:
            return super().known_bound(relevant)

        def bound(ledger: Ledger, _: int) -> float | None:
            from mistakebound.bounds import littlestone  # noqa: PLC0415 - most runs do without

            rule: Any = ledger.rule
            seen = ledger.n - ledger.named  # with names, one slot stands for all that are not known yet
            return littlestone(seen, min(relevant, seen), rule.alpha, rule.theta, rule.strict) if seen else None

        return bound

    def _reduction(self) -> Reduction:
        return _reduction(self.target, self.complements)


class Elimination(Learner):
    """Start with the OR of all variables; a mistake on a negative example removes every variable active in it.

    At most ``n − r`` mistakes if the labels are an OR of r of the n variables, none of them on a positive example.

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
        """At most n mistakes on negative examples, and no others as long as no positive example was missed.

        A mistake on a negative example strikes out at least one of the n features seen so far. This has no premise. A
        missed positive shows that the label is not an OR of the features: then there is no bound.
        """
        if relevant is not None:
            return super().known_bound(relevant)

        def bound(ledger: Ledger, missed: int) -> float | None:
            from mistakebound.bounds import elimination  # noqa: PLC0415 - most runs do without

            seen = ledger.n - ledger.named  # with names, one slot stands for all that are not known yet
            return elimination(seen) if seen and not missed else None

        return bound

    def _reduction(self) -> Reduction:
        return _reduction(self.target, self.complements)


class NormalizedWinnow(Learner):
    """Winnow with weights that form a distribution, proportional to e^{ηz}.

    At most ``ln n / (ηγ − ln cosh(ηL))`` mistakes if some distribution u over the features has y(u·x) ≥ γ and
    ‖x‖_∞ ≤ L.

    Parameters
    ----------
    eta : float or "best"
        Learning rate η > 0. ``"best"`` takes the one that the theorem prefers for ``margin`` and ``radius``. η = ∞ is
        allowed: halving that eliminates only when the master errs.
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
    """Normalised Winnow on (x, −x), so that weights may have either sign: sinh(ηz).

    The bounds are those of ``NormalizedWinnow`` with ln 2n for ln n, against any u with ‖u‖₁ = 1.

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
        message = 'eta="best" needs the margin γ that you expect: pass margin=...'
        raise ValueError(message)
    from mistakebound.bounds.winnow import winnow_rate  # noqa: PLC0415 - rarely needed
    from mistakebound.rules.base import Range  # noqa: PLC0415 - likewise

    number = Range(lambda _: True, "a number")  # winnow_rate checks the ranges
    return winnow_rate(number_of("margin", margin, number), number_of("radius", radius, number))


def _reduction(target: str, complements: bool) -> Reduction:  # noqa: FBT001
    if target not in ("disjunction", "conjunction"):
        message = f'target must be "disjunction" or "conjunction", got {target!r}'
        raise ValueError(message)
    return Reduction(conjunction=target == "conjunction", complements=bool(complements))

"""Follow the potential of a proof from mistake to mistake, with the line that its lemma draws."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from mistakebound._support.text import many
from mistakebound.theorems import THEOREMS
from mistakebound.theorems.evidence import Evidence, Witness
from mistakebound.theorems.normalized_winnow import log_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.play.ledger import Ledger

ROUNDING = 1e-5
"""Relative error that z in float32 may leave in a step."""

WITH_POTENTIAL = ("perceptron", "normalized-winnow")
"""The rules whose proof follows a potential that can be drawn."""


class Quantity(NamedTuple):
    """What an inequality of a lemma limits: from above (≤) or from below (≥), as a function of z."""

    inequality: str
    direction: Literal["≤", "≥"]
    value: Callable[[FloatArray], float]


@dataclass
class Potential:
    """A number that a proof follows, after 0, 1, 2, ... mistakes, and what the lemma alone says of it."""

    inequality: str
    values: list[float] = field(default_factory=list)
    line: list[float] = field(default_factory=list)
    """The value if every mistake moved it exactly as far as the lemma requires."""
    slacks: list[float] = field(default_factory=list)
    """How far each step is from violating the inequality, relative to the size of the value."""

    @property
    def mistakes(self) -> list[int]:
        """The numbers of mistakes that the values belong to."""
        return list(range(len(self.values)))

    @property
    def holds(self) -> bool:
        """Whether there are mistakes, and each of them satisfies the inequality."""
        return bool(self.slacks) and min(self.slacks) >= -ROUNDING

    def least_slack(self) -> str:
        """Return the least slack as text; a negative one is shown with the tolerance.

        >>> Potential("", slacks=[0.5, -3e-9]).least_slack()
        'least slack -3e-09 in 2 mistakes; tolerance for rounding 1e-05'
        """
        least = min(self.slacks, default=0.0)
        tolerance = f"; tolerance for rounding {ROUNDING:g}" if least < 0 else ""
        return f"least slack {least:.3g} in {many(len(self.slacks), 'mistake')}{tolerance}"

    def line_to(self, bound: float, *, factors: bool = False) -> tuple[list[float], list[float]]:
        """Return the line up to the bound on the mistakes: after the last one, with the mean of its steps or factors.

        >>> Potential("", [8, 3], [8, 6]).line_to(3)
        ([0.0, 1.0, 3.0], [8, 6, 2.0])
        """
        last, places = len(self.line) - 1, [float(count) for count in self.mistakes]
        if not 0 < last < bound < math.inf:
            return places, self.line
        more, first, end = (bound - last) / last, self.line[0], self.line[-1]
        reached = end * (end / first) ** more if factors else end + (end - first) * more
        return [*places, float(bound)], [*self.line, reached]


def perceptron_quantities(u: FloatArray) -> list[Quantity]:
    """Return ‖z‖² and u·z, which the proof for the Perceptron follows."""
    square = Quantity("‖z⁺‖² ≤ ‖z‖² + ‖x‖² + 2b", "≤", lambda z: float(z @ z))
    return [square, Quantity("u·z⁺ ≥ u·z + γ − hinge", "≥", lambda z: float(u @ z))]


def winnow_quantities(u: FloatArray, eta: float) -> list[Quantity]:
    """Return RE(u‖w), which the proof for normalised Winnow follows; u ≥ 0 sums to 1."""
    own = float(np.sum(u[u > 0] * np.log(u[u > 0])))
    value = lambda z: own - float(u @ log_weights(z, eta, doubled=False))  # noqa: E731 - a formula
    return [Quantity("RE(u‖w⁺) ≤ RE(u‖w) − C + ηH", "≤", value)]


def potentials_of(ledger: Ledger, comparator: Any, margin: float) -> dict[str, Potential]:
    """Return what the proof for the rule of a ledger follows, by name; raise ValueError if the rule has no such proof.

    The comparator of normalised Winnow is divided by its sum.
    """
    rule = ledger.rule.id
    if rule not in WITH_POTENTIAL:
        raise ValueError(_no_potential(rule))
    if ledger.mixing is not None:
        message = "a potential is drawn for one learner that learned all rounds, not for one that was mixed"
        raise ValueError(message)
    u = np.asarray(comparator, np.float64)
    if u.shape != (ledger.n,) or not np.isfinite(u).all():
        message = f"the comparator must have a number for each of the {many(ledger.n, 'feature')}"
        raise ValueError(message)
    if rule == "perceptron":
        quantities = dict(zip(("‖z‖²", "u·z"), perceptron_quantities(u), strict=True))
        found = follow(ledger, "perceptron-agnostic", Witness(u, margin=margin), [*quantities.values()])
    elif (u >= 0).all() and u.any():
        share, eta = u / u.sum(), ledger.rule.parameter
        quantities = dict(zip(("RE(u‖w)",), winnow_quantities(share, eta), strict=True))
        witness = Witness(share, margin=margin / float(u.sum()))
        found = follow(ledger, "winnow-agnostic", witness, [*quantities.values()])
    else:
        raise ValueError(_no_potential(f"{rule} with this comparator"))
    return dict(zip(quantities, found, strict=True))


def _no_potential(what: str) -> str:
    which = "a potential is drawn for a Perceptron, and for a NormalizedWinnow with a comparator u ≥ 0"
    return f"{which}, not for {what}"


def follow(ledger: Ledger, theorem: str, witness: Witness, quantities: Sequence[Quantity]) -> list[Potential]:
    """Replay the mistakes of a linear learner, and evaluate the lemma of a theorem at each of them."""
    found = [Potential(each.inequality) for each in quantities]
    for step in Evidence.of(ledger).steps():
        lemma = THEOREMS[theorem].lemma(step, witness)
        for each, quantity in zip(found, quantities, strict=True):
            before, after, slack = quantity.value(step.z), quantity.value(step.z_next), lemma[each.inequality]
            if not each.values:
                each.values, each.line = [before], [before]
            each.values.append(after)
            each.line.append(each.line[-1] + after - before + (slack if quantity.direction == "≤" else -slack))
            each.slacks.append(slack / (1 + abs(before)))
    return found

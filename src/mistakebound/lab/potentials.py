"""Follow the potential of a proof from mistake to mistake, with the line that its lemma draws."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

import mistakebound as mb
from mistakebound._support.text import many
from mistakebound.lab.charts import bound, measured
from mistakebound.theorems import EXPERT_THEOREMS, THEOREMS, Witness
from mistakebound.theorems.base import indicator
from mistakebound.theorems.evidence import Evidence
from mistakebound.theorems.normalized_winnow import log_weights
from mistakebound.viz.chart import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mistakebound._support.arrays import AnyArray, FloatArray
    from mistakebound.experts import WeightedMajority
    from mistakebound.lab.streams import Stream
    from mistakebound.play.ledger import Ledger
    from mistakebound.viz.chart import Line, Mark

ROUNDING = 1e-5
"""Relative error that z in float32 may leave in a step."""


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


class Followed(NamedTuple):
    """The potentials of a learner, the certificate of its theorem, and the marks of a chart."""

    potentials: Sequence[Potential]
    certificate: mb.Certificate
    marks: Sequence[Mark]


def perceptron(stream: Stream) -> Followed:
    """Follow ‖z‖² and u·z of the Perceptron on a stream with a margin. The marks show ‖z‖ rather than its square."""
    learner, u = mb.Perceptron(), stream.target
    square = Quantity("‖z⁺‖² ≤ ‖z‖² + ‖x‖² + 2b", "≤", lambda z: float(z @ z))
    inner = Quantity("u·z⁺ ≥ u·z + γ − hinge", "≥", lambda z: float(u @ z))
    witness = Witness(u, margin=stream.margin)
    norm, grows = found = follow(learner.run(*stream), "perceptron-agnostic", witness, [square, inner])
    certificate = learner.certify("novikoff", comparator=u, X=stream.X, y=stream.y)
    at, line = norm.line_to(certificate.bound)
    root = measured("‖z‖", norm.mistakes, np.sqrt(norm.values).tolist(), 0)
    marks = [root, bound("‖z‖ at most (lemma)", at, np.sqrt(line).tolist(), 0)]
    return Followed(found, certificate, [*marks, *_lines(grows, "u·z", "least", certificate.bound, 1)])


def winnow(stream: Stream) -> Followed:
    """Follow RE(u‖w) of normalised Winnow, where the majority of some experts is right."""
    k = len(stream.target)
    learner, u = mb.NormalizedWinnow("best", margin=1 / k), indicator(stream.target, stream.X.shape[1]) / k
    ledger = learner.run(*stream)
    eta, own = ledger.rule.parameter, -math.log(k)  # the sum of u ln u
    entropy = Quantity(
        "RE(u‖w⁺) ≤ RE(u‖w) − C + ηH", "≤", lambda z: own - float(u @ log_weights(z, eta, doubled=False))
    )
    found = follow(ledger, "winnow-fixed-rate", Witness(u, margin=1 / k), [entropy])
    certificate = learner.certify("winnow-fixed-rate", comparator=u, X=stream.X, y=stream.y)
    return Followed(found, certificate, _lines(found[0], "RE(u‖w)", "most", certificate.bound))


def majority(stream: Stream) -> Followed:
    """Follow the total weight W of Weighted Majority with β = 1/2."""
    learner = mb.experts.WeightedMajority(0.5)
    found, certificate = follow_weights(learner, stream.X, stream.y), learner.certify()
    best = Level(
        "best expert's weight at the end", learner.beta ** float(learner.ledger_.expert_mistakes.min()), colour=2
    )
    return Followed([found], certificate, [*_lines(found, "W", "most", certificate.bound, factors=True), best])


def _lines(
    found: Potential, name: str, limit: str, most: float, colour: int = 0, *, factors: bool = False
) -> list[Line]:
    line = found.line_to(most, factors=factors)
    return [
        measured(name, found.mistakes, found.values, colour),
        bound(f"{name} at {limit} (lemma)", *line, colour),
    ]


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


def follow_weights(learner: WeightedMajority, advice: AnyArray, outcomes: AnyArray) -> Potential:
    """Let Weighted Majority learn, and evaluate its lemma on the total weight W at each mistake."""
    mistaken, n = learner.run(advice, outcomes).mistake_rounds, advice.shape[1]
    theorem = EXPERT_THEOREMS["weighted-majority"]
    wrong = np.cumsum(advice != outcomes[:, None], axis=0)
    found = Potential("W⁺ ≤ W(1+β)/2", [float(n)], [float(n)])
    for t in mistaken:
        errors = wrong[t - 1] if t else np.zeros(n)
        before, after = (np.power(float(learner.beta), count.astype(float)) for count in (errors, wrong[t]))
        slack = theorem.lemma(before, after, learner.beta, 0.0)[found.inequality]
        found.values.append(float(after.sum()))
        found.line.append(found.line[-1] * (found.values[-1] + slack) / float(before.sum()))
        found.slacks.append(slack / float(before.sum()))
    return found

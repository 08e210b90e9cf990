"""The potentials of three learners on planted streams, with their certificates and the lines of the lemmas."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import mistakebound as mb
from mistakebound.lab.charts import bound, measured
from mistakebound.theorems import EXPERT_THEOREMS, Witness
from mistakebound.theorems.base import indicator
from mistakebound.theorems.potential import Potential, follow, perceptron_quantities, winnow_quantities
from mistakebound.viz.chart import Level
from mistakebound.viz.colours import colour_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import AnyArray
    from mistakebound.experts import WeightedMajority
    from mistakebound.lab.streams import Stream
    from mistakebound.viz.chart import Line, Mark


class Followed(NamedTuple):
    """The potentials of a learner, the certificate of its theorem, and the marks of a chart."""

    potentials: Sequence[Potential]
    certificate: mb.Certificate
    marks: Sequence[Mark]


def perceptron(stream: Stream) -> Followed:
    """Follow ‖z‖² and u·z of the Perceptron on a stream with a margin. The marks show ‖z‖ rather than its square."""
    learner, u = mb.Perceptron(), stream.target
    witness = Witness(u, margin=stream.margin)
    norm, grows = found = follow(learner.run(*stream), "perceptron-agnostic", witness, perceptron_quantities(u))
    certificate = learner.certify("novikoff", comparator=u, X=stream.X, y=stream.y)
    colour = colour_of("Perceptron")
    at, line = norm.line_to(certificate.bound)
    root = measured("‖z‖", norm.mistakes, np.sqrt(norm.values).tolist(), colour)
    marks = [root, bound("‖z‖ at most (lemma)", at, np.sqrt(line).tolist(), colour)]
    return Followed(found, certificate, [*marks, *_lines(grows, "u·z", "least", certificate.bound, 5)])


def winnow(stream: Stream) -> Followed:
    """Follow RE(u‖w) of normalised Winnow, where the majority of some experts is right."""
    k = len(stream.target)
    learner, u = mb.NormalizedWinnow("best", margin=1 / k), indicator(stream.target, stream.X.shape[1]) / k
    ledger = learner.run(*stream)
    quantities = winnow_quantities(u, ledger.rule.parameter)
    found = follow(ledger, "winnow-fixed-rate", Witness(u, margin=1 / k), quantities)
    certificate = learner.certify("winnow-fixed-rate", comparator=u, X=stream.X, y=stream.y)
    return Followed(found, certificate, _lines(found[0], "RE(u‖w)", "most", certificate.bound, colour_of("Winnow")))


def majority(stream: Stream) -> Followed:
    """Follow the total weight W of Weighted Majority with β = 1/2."""
    learner = mb.experts.WeightedMajority(0.5)
    found, certificate = follow_weights(learner, stream.X, stream.y), learner.certify()
    best = Level(
        "best expert's weight at the end", learner.beta ** float(learner.ledger_.expert_mistakes.min()), colour=5
    )
    return Followed(
        [found],
        certificate,
        [*_lines(found, "W", "most", certificate.bound, colour_of("Weighted Majority"), factors=True), best],
    )


def _lines(found: Potential, name: str, limit: str, most: float, colour: int, *, factors: bool = False) -> list[Line]:
    line = found.line_to(most, factors=factors)
    return [
        measured(name, found.mistakes, found.values, colour),
        bound(f"{name} at {limit} (lemma)", *line, colour),
    ]


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

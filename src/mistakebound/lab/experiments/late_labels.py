"""Outcomes that come late: the Perceptron pays for the updates that its predictions have not seen."""

from __future__ import annotations

import numpy as np

import mistakebound as mb
from mistakebound.lab.charts import line
from mistakebound.lab.experiment import Check, Findings, Table, certified, experiment
from mistakebound.lab.playing import learn_late
from mistakebound.lab.sizes import Size, Together, limited
from mistakebound.viz.chart import Axis, Chart
from mistakebound.viz.colours import colour_of

DELAYS = (0, 1, 2, 4, 8, 16, 32)


@experiment(
    "late-labels",
    title="Late outcomes cost a factor of at most 1 + 2τ̄",
    claim="If outcomes come late, the Perceptron makes at most (1 + 2τ̄)(R‖u‖/γ)² mistakes. τ̄ is the mean number of "
    "updates between a wrong prediction and its outcome. An adversary reaches the bound exactly.",
    setting="Random stream: points with a planted margin; the outcome of each round comes τ rounds later. Adversary: "
    "each of k unit vectors is shown τ + 1 times in a row, and then the τ + 1 outcomes come together. All rounds "
    "are played twice.",
    theorems=("delayed",),
    quick={"rounds": 1000, "margin": 0.3, "k": 5},
    sizes={"rounds": Size(200, 50_000), "n": Size(2, 2000), "margin": Size(0.05, 0.5), "k": Size(1, 500)},
    together=(
        Together(
            "rounds ≥ 50/margin²", lambda at: at["rounds"] >= 50 / at["margin"] ** 2, "the bounds would be vacuous"
        ),
        limited("n", "rounds"),
    ),
)
def late_labels(*, rounds: int = 2500, n: int = 20, margin: float = 0.15, k: int = 30, seed: int = 0) -> Findings:
    """Learn both streams with several delays."""
    planted = mb.streams.margin(n, rounds, margin, seed)
    rows, checks = [], []
    for delay in DELAYS:
        shown = np.tile(np.repeat(np.eye(k), delay + 1, axis=0), (2, 1))
        streams = {
            "random": (planted.X, planted.y, planted.target),
            "adversary": (shown, np.full(len(shown), -1), -np.ones(k)),
        }
        for name, (X, y, u) in streams.items():
            learner = mb.Perceptron(classes=(-1, 1))
            learn_late(learner, X, y, delay, together=name == "adversary")
            certificate = learner.certify("delayed", u)
            rows.append((delay, name, len(y), certificate.mistakes, certificate.bound))
            checks.append(certified(f"τ = {delay}, {name}", certificate))
        forced = certificate.mistakes
        reached = forced == (delay + 1) * k and certificate.bound - forced <= 1e-6 * forced
        checks.append(Check(f"τ = {delay}: the adversary reaches the bound, (τ + 1)k", reached, f"{forced}"))
    random, adversary = rows[::2], rows[1::2]
    slower = random[-1][3] > random[0][3]
    checks.append(Check("random stream: the longest delay costs more mistakes than none", slower, f"{random[-1][3]}"))
    charts = [
        Chart(
            f"Mistakes on the {title}",
            Axis("τ: rounds until the outcome comes", low=0),
            Axis("mistakes", low=0),
            [
                line("Perceptron", found, 0, 3),
                line("bound (1 + 2τ̄)(R‖u‖/γ)²", found, 0, 4, colour=colour_of("Perceptron"), dashed=True),
            ],
        )
        for title, found in (("random stream", random), ("stream of the adversary", adversary))
    ]
    conclusion = (
        f"With outcomes {DELAYS[-1]} rounds late, the Perceptron makes {random[-1][3]} mistakes on the random stream "
        f"instead of {random[0][3]}; the bound is {random[-1][4]:,.0f}. The adversary forces {adversary[-1][3]:,}, "
        f"all that the bound allows, instead of {adversary[0][3]}."
    )
    table = Table("Mistakes and delays", ("τ", "stream", "rounds", "mistakes", "bound"), rows)
    return Findings(conclusion, checks, [table], charts)

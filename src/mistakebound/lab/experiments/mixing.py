"""Shards that learn in parallel and are mixed after each epoch: what they cost in mistakes."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

import mistakebound as mb
from mistakebound._support.text import many
from mistakebound.lab.charts import line
from mistakebound.lab.experiment import Check, Findings, Table, certified, experiment
from mistakebound.lab.sizes import Size, Together, fits
from mistakebound.viz.chart import Axis, Chart

SHARDS = (1, 2, 4, 8, 16)
LEAST = "rounds·epochs·margin² > 16"


@experiment(
    "mixing",
    title="Shards that learn in parallel make more mistakes, within the bound",
    claim="If shards learn in parallel and their weights are averaged after each epoch, the mean of their mistakes, "
    "added up over the epochs, is at most (R‖u‖/γ)², as for one learner. So all shards together make at most as many "
    "times this as there are shards.",
    setting="Random points with a planted margin are dealt to the shards. In each epoch, each shard learns its points "
    "once, from a copy of the mixed Perceptron; shares are equal. The error is measured on other points of the stream.",
    theorems=("mixing",),
    quick={"rounds": 2000, "n": 50, "margin": 0.1},
    sizes={"rounds": Size(500, 30_000), "n": Size(20, 2000), "margin": Size(0.05, 0.3), "epochs": Size(1, 10)},
    together=(
        Together(
            LEAST, lambda at: at["rounds"] * at["epochs"] * at["margin"] ** 2 > 16, "the bounds must say something"
        ),
        fits("n·rounds·epochs", lambda at: at["n"] * at["rounds"] * at["epochs"]),
    ),
)
def mixing(*, rounds: int = 3000, n: int = 200, margin: float = 0.05, epochs: int = 4, seed: int = 0) -> Findings:
    """Learn the same points with each number of shards."""
    stream = mb.streams.margin(n, 2 * rounds, margin, seed)
    u = np.asarray(stream.target, float)
    B = mb.bounds.novikoff(1, 1, margin)
    rows, checks = [], []
    for shards in SHARDS:
        learner: Any = mb.Perceptron(classes=(-1, 1))
        for epoch in range(1, epochs + 1):
            parts = [copy(learner) for _ in range(shards)]
            for k, part in enumerate(parts):
                part.run(stream.X[k:rounds:shards], stream.y[k:rounds:shards])
            learner = mb.mix(learner, parts)
            ledger = learner.ledger_
            error = float(np.mean(learner.predict(stream.X[rounds:]) != stream.y[rounds:]))
            rows.append((shards, epoch, ledger.mistakes, ledger.mistakes / shards, B, shards * B, error))
        name, mean = many(shards, "shard"), rows[-1][3]
        checks.append(certified(name, learner.certify("mixing", u)))
        checks.append(Check(f"{name}: ΣΣ μk is at most (R‖u‖/γ)²", mean <= B, f"{mean:.1f} of {B:.1f}"))
    last = rows[epochs - 1 :: epochs]
    fewest, most = last[0][2], last[-1][2]
    checks.append(Check(f"{SHARDS[-1]} shards make more mistakes than one", most > fewest, f"{most:,} and {fewest:,}"))
    first = rows[::epochs]
    when = "after the first epoch", f"after {epochs} epochs"
    mistakes, errors = (
        [line(name, ends, 0, k) for name, ends in zip(when, (first, last), strict=True)] for k in (2, 6)
    )
    mistakes.append(line("bound: shards·(R‖u‖/γ)²", last, 0, 5, dashed=True))
    x = Axis("shards", low=0)
    charts = [
        Chart("Mistakes of all shards", x, Axis("mistakes", low=0), mistakes),
        Chart("Error on other points", x, Axis("error", low=0), errors),
    ]
    conclusion = (
        f"After {epochs} epochs, {SHARDS[-1]} shards have made {most:,} mistakes, and one learner {fewest:,}; the "
        f"bounds are {last[-1][5]:,.0f} and {B:,.0f}. Their errors on other points are {last[-1][6]:.2%} and "
        f"{last[0][6]:.2%}."
    )
    columns = ("shards", "epochs", "mistakes", "ΣΣ μk", "(R‖u‖/γ)²", "bound", "error")
    return Findings(conclusion, checks, [Table("Mistakes by shards and epochs", columns, rows)], charts)

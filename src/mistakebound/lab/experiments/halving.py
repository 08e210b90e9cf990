"""Halving makes at most ⌊lg n⌋ mistakes, and an adversary forces exactly this number."""

from __future__ import annotations

import numpy as np

import mistakebound as mb
from mistakebound.lab.charts import bound, measured
from mistakebound.lab.experiment import Check, Findings, Table, certified, experiment
from mistakebound.lab.sizes import Size, fits
from mistakebound.viz.chart import Axis, Chart

COLUMNS = ("k", "experts n", "against the adversary", "on random advice, mean", "on random advice, most", "⌊lg n⌋")


@experiment(
    "halving",
    title="Halving: lg n mistakes are enough, and cannot be avoided",
    claim="If one of n experts never errs, Halving makes at most ⌊lg n⌋ mistakes: each one removes at least half of "
    "the experts that are left. With n = 2^k experts, an adversary forces k mistakes from any deterministic learner.",
    setting="The adversary has an expert for each sequence of k labels, and contradicts the prediction k times. Then "
    "the same rounds are repeated. Random advice: one expert is always right, and the others flip coins.",
    theorems=("halving",),
    quick={"k": 6, "streams": 5},
    sizes={"k": Size(3, 16), "streams": Size(5, 1000)},
    together=(fits("streams·2^k", lambda at: at["streams"] * 2.0 ** at["k"], 1_300_000),),
)
def halving(*, k: int = 12, streams: int = 20, seed: int = 0) -> Findings:
    """Play Halving with 2, 4, ..., 2^k experts against the adversary and on random advice."""
    rows, forced, random, half = [], [], [], 0
    for power in range(1, k + 1):
        learner = mb.experts.Halving()
        played = mb.adversaries.HalvingTree(power).play(learner)
        half += sum(learner.run(played.X, played.y).mistakes for _ in range(2))
        forced.append(learner.certify())
        made = []
        for number in range(streams):
            other = mb.experts.Halving()
            made.append(other.run(*mb.streams.panel(2**power, 1, 4 * power + 20, seed + number)).mistakes)
            random.append(other.certify())
        rows.append((power, 2**power, played.mistakes, float(np.mean(made)), max(made), mb.bounds.halving(2**power)))
    exact = [row[0] for row in rows if row[2] != row[0]]
    shown = f"k = {k}: {rows[-1][2]} mistakes" if not exact else f"not for k = {exact}"
    checks = [
        Check("the adversary forces exactly k mistakes, for every k", not exact, shown),
        Check("there are no mistakes when the same rounds are repeated", half == 0, f"{half}"),
        certified("against the adversary", *forced),
        certified("on random advice", *random),
        Check("random advice is easier than the adversary", rows[-1][3] < k, f"{rows[-1][3]:.3g} and {k} mistakes"),
    ]
    powers = [row[0] for row in rows]
    chart = Chart(
        "Mistakes of Halving",
        Axis("k = lg n, for n experts", low=0),
        Axis("mistakes", low=0),
        [
            measured("against the adversary", powers, [row[2] for row in rows], 0),
            measured(f"on random advice, mean of {streams}", powers, [row[3] for row in rows], 2),
            bound("bound ⌊lg n⌋", powers, [row[5] for row in rows], 1),
        ],
    )
    conclusion = (
        f"With {2**k:,} experts the adversary forces {rows[-1][2]} mistakes, as many as the theorem allows. On random "
        f"advice Halving makes {rows[-1][3]:.3g} on average."
    )
    return Findings(conclusion, checks, [Table("Mistakes", COLUMNS, rows)], [chart])

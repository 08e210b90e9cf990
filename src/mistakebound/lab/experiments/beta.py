"""The factor β of Weighted Majority: small if the best expert hardly errs, larger if it errs often."""

from __future__ import annotations

import mistakebound as mb
from mistakebound.lab.charts import bound, measured
from mistakebound.lab.experiment import Check, Findings, Table, certified, experiment
from mistakebound.lab.sizes import Size, limited
from mistakebound.viz.chart import Axis, Chart

COLUMNS = ("noise", "m", "β", "mistakes", "bound")
NOISE = (0.0, 0.01, 0.1)
BETAS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@experiment(
    "beta",
    title="How much weight a wrong expert should lose",
    claim="Weighted Majority, which multiplies the weight of a wrong expert by β, makes at most (ln n + m ln(1/β)) / "
    "ln(2/(1+β)) mistakes if the best expert makes m. The larger m is, the larger is the β with the smallest bound.",
    setting="One of n experts is right except for noise: a share of the labels is flipped. The others flip coins. Each "
    "β is used on the same rounds.",
    theorems=("weighted-majority",),
    quick={"n": 16, "rounds": 1000},
    sizes={"n": Size(8, 20_000), "rounds": Size(500, 1_000_000)},
    together=(limited("n", "rounds"),),
)
def beta(*, n: int = 64, rounds: int = 4000, seed: int = 0) -> Findings:
    """Measure Weighted Majority for several β, without noise and with two rates of it."""
    clean = mb.streams.panel(n, 1, rounds, seed)
    rows, checks, lines, best = [], [], [], []
    for colour, noise in enumerate(NOISE):
        stream = mb.streams.label_noise(clean, noise, seed)
        certificates = []
        for each in BETAS:
            learner = mb.experts.WeightedMajority(each)
            ledger = learner.run(stream.X, stream.y)
            certificates.append(learner.certify())
            m = int(ledger.expert_mistakes.min())
            rows.append((noise, m, each, ledger.mistakes, certificates[-1].bound))
        here = rows[-len(BETAS) :]
        name = f"noise {100 * noise:g} %, m = {here[0][1]}"
        checks.append(certified(name, *certificates))
        lines.append(measured(name, BETAS, [row[3] for row in here], colour))
        lines.append(bound(f"bound, m = {here[0][1]}", BETAS, [row[4] for row in here], colour))
        best.append(min(here, key=lambda row: row[4]))
    chosen = [row[2] for row in best]
    shown = ", ".join(f"β = {row[2]:g} for m = {row[1]}" for row in best)
    grows = chosen == sorted(chosen) and chosen[0] < chosen[-1]
    checks.append(Check("the β with the smallest bound grows with m", grows, shown))
    careful, bold = rows[len(BETAS) - 1], rows[0]
    slower = f"without noise, β = {careful[2]:g} makes more mistakes than β = {bold[2]:g}"
    checks.append(Check(slower, careful[3] > bold[3], f"{careful[3]} and {bold[3]}"))
    chart = Chart(
        f"Mistakes of Weighted Majority over {n} experts", Axis("β", low=0, high=1), Axis("mistakes", "log"), lines
    )
    conclusion = (
        f"The smallest bound is at {shown}. Measured, the choice matters less: with {100 * NOISE[-1]:g} % noise the "
        f"best expert makes {best[-1][1]} mistakes, and Weighted Majority between {min(row[3] for row in here)} and "
        f"{max(row[3] for row in here)}."
    )
    return Findings(conclusion, checks, [Table("Mistakes", COLUMNS, rows)], [chart])

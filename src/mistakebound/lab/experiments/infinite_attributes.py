"""Winnow with new names in each round: the bound does not depend on the number of features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mistakebound as mb
from mistakebound.lab.charts import line
from mistakebound.lab.experiment import Check, Findings, Table, certified, experiment
from mistakebound.lab.experiment_streams import KNOWN_WORDS, words
from mistakebound.lab.sizes import Size, Together
from mistakebound.viz.chart import Axis, Chart

if TYPE_CHECKING:
    from mistakebound.lab.sizes import Sizes

SHARES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
GROWS = "the number of features must grow tenfold"
DISTINCT = f"no example would have so many different words of {KNOWN_WORDS}"


def _useful(at: Sizes) -> bool:
    return bool(at["rounds"] > mb.bounds.infinite_winnow(at["r"], at["active"], 4.0))


@experiment(
    "infinite-attributes",
    title="The bound of Winnow does not depend on the number of features",
    claim="Winnow with the threshold 4σ needs no list of features: a feature that was never seen has the weight 1. If "
    "the label is an OR of r features, and at most σ are active at once, the bound depends on r and σ, but not "
    "on the number of features, which may grow without end.",
    setting="An example is a set of σ words, and its label is the OR of r of them. A share of the other words is new "
    "in each round, the rest comes from 200 known words. Winnow with the usual threshold θ = n, the number of "
    "features that will be seen, learns the same examples.",
    theorems=("infinite-winnow", "littlestone"),
    quick={"rounds": 400},
    sizes={"rounds": Size(400, 50_000), "r": Size(1, 15), "active": Size(4, 30, large=DISTINCT)},
    together=(
        Together("r ≤ active/2", lambda at: 2 * at["r"] <= at["active"], "other words must be active"),
        Together(
            "rounds·(σ − 1) ≥ 2500 + 10r", lambda at: at["rounds"] * (at["active"] - 1) >= 2500 + 10 * at["r"], GROWS
        ),
        Together("rounds > bound", _useful, "the bound would be vacuous"),
    ),
)
def infinite_attributes(*, rounds: int = 2000, r: int = 3, active: int = 12, seed: int = 0) -> Findings:
    """Learn streams of words, of which a growing share is new."""
    targets = [f"target {i}" for i in range(r)]
    rows, checks = [], []
    for share in SHARES:
        X, y = words(rounds, targets, active, share, seed)
        seen = len(set().union(*X))
        learner, usual = mb.Winnow(threshold=4 * active), mb.Winnow(threshold=seen)
        mistakes, of_usual = learner.run(X, y).mistakes, usual.run(X, y).mistakes
        certificate = learner.certify("infinite-winnow", targets, X=X, y=y)
        rows.append((share, seen, mistakes, certificate.bound, of_usual, mb.bounds.littlestone(seen, r)))
        checks.append(certified(f"{seen:,} features", certificate))
    same, most = len({row[3] for row in rows}) == 1, max(row[2] for row in rows)
    checks += [
        Check("the bound is the same for every number of features", same, f"{rows[0][3]:g}"),
        Check("the number of features grows at least tenfold", rows[-1][1] >= 10 * rows[0][1], f"{rows[-1][1]:,}"),
        Check("with the most features, θ = n makes more mistakes", rows[-1][4] > rows[-1][2], f"{rows[-1][4]}"),
    ]
    chart = Chart(
        "Mistakes of Winnow",
        Axis("features seen", "log"),
        Axis("mistakes", low=0),
        [
            line("Winnow, θ = 4σ", rows, 1, 2),
            line("bound for Winnow, θ = 4σ", rows, 1, 3, dashed=True),
            line("θ = n", rows, 1, 4, colour=5),
            line("bound for θ = n", rows, 1, 5, colour=5, dashed=True),
        ],
    )
    columns = ("share of new words", "features seen", "mistakes, θ = 4σ", "bound", "mistakes, θ = n", "bound for θ = n")
    conclusion = (
        f"From {rows[0][1]:,} to {rows[-1][1]:,} features, Winnow makes at most {most} mistakes, and its bound is "
        f"{rows[0][3]:g} throughout. With θ = n the mistakes grow from {rows[0][4]} to {rows[-1][4]}."
    )
    return Findings(conclusion, checks, [Table(f"Mistakes in {rounds:,} rounds", columns, rows)], [chart])

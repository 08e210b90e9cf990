"""Regret grows like √T on coin flips, and not at all for the square loss with an exp-concave rate."""

from __future__ import annotations

import math

import numpy as np

import mistakebound as mb
from mistakebound.lab.charts import line
from mistakebound.lab.experiment import Check, Findings, Table, certified, experiment
from mistakebound.lab.playing import regrets_on_coin_flips
from mistakebound.lab.sizes import Size, limited
from mistakebound.viz.chart import Axis, Chart
from mistakebound.viz.colours import colour_of

ERRORS = 5.0  # standard errors within which a mean must lie


@experiment(
    "vanishing-regret",
    title="The average regret vanishes, and on coin flips no rule does better",
    claim="The regret of Hedge in T rounds is at most √(T ln n/2). No rule does much better: on coin flips the "
    "expected regret of every rule is T/2 − E[min of n Binomial(T, ½)], which tends to √(T ln n/2). For the square "
    "loss, exponential weights with η = ½ have a regret of at most 2 ln n, for every T.",
    setting="Coin flips: the loss of each expert in each round is 0 or 1, by a fair coin, and the regret is averaged "
    "over several streams. Square loss: one expert is always right, and the others always wrong.",
    theorems=("hedge", "adahedge", "exponentially-weighted-average"),
    quick={"rounds": 1024, "n": 8, "streams": 20},
    sizes={"rounds": Size(1024, 65_536), "n": Size(2, 900), "streams": Size(20, 400)},
    together=(limited("n", "rounds", most=1_000_000), limited("n", "rounds", "streams", most=50_000_000)),
)
def vanishing_regret(*, rounds: int = 4096, n: int = 16, streams: int = 40, seed: int = 0) -> Findings:
    """Measure the regrets for several numbers of rounds, up to the one that is passed."""
    rows, checks = [], []
    for T in (rounds // 64, rounds // 16, rounds // 4, rounds):
        expected, bound, means = mb.adversaries.coin_flip_regret(n, T), mb.bounds.hedge(n, T), []
        for name, mixer in {"Hedge": mb.experts.Hedge(horizon=T), "AdaHedge": mb.experts.AdaHedge()}.items():
            regrets, certificate = regrets_on_coin_flips(mixer, T, n, streams, seed)
            mean, error = float(np.mean(regrets)), float(np.std(regrets, ddof=1)) / math.sqrt(streams)
            near = abs(mean - expected) <= ERRORS * error
            statement = f"T = {T}, {name}: the mean regret is the expected one, within {ERRORS:g} standard errors"
            checks.append(Check(statement, near, f"{mean:.4g} ± {error:.2g}, expected {expected:.4g}"))
            checks.append(certified(f"T = {T}, {name}", certificate))
            if name == "Hedge":
                most = max(regrets)
                checks.append(Check(f"T = {T}: no regret of Hedge exceeds √(T ln n/2)", most <= bound, f"{most:.4g}"))
            means.append(mean)
        exponential = mb.experts.ExponentiallyWeightedAverage(eta="theorem")
        exponential.run(np.tile(np.arange(n) == 0, (T, 1)).astype(float), np.ones(T))
        found = exponential.certify()
        checks.append(certified(f"T = {T}, square loss", found))
        rows.append((T, *means, expected, bound, found.regret, found.bound))
    flips = [
        line("Hedge, mean", rows, 0, 1),
        line("AdaHedge, mean", rows, 0, 2),
        line("expected for every rule", rows, 0, 3, dashed=True),
        line("bound √(T ln n/2)", rows, 0, 4, dashed=True),
    ]
    square = [
        line("exponential weights, η = ½", rows, 0, 5),
        line("bound 2 ln n", rows, 0, 6, colour=colour_of("exponential weights"), dashed=True),
    ]
    charts = [
        Chart("Regret on coin flips", Axis("rounds T", "log"), Axis("regret", "log"), flips),
        Chart("Regret with the square loss", Axis("rounds T", "log"), Axis("regret", low=0), square),
    ]
    columns = ("T", "Hedge, mean", "AdaHedge, mean", "expected", "√(T ln n/2)", "square loss", "2 ln n")
    conclusion = (
        f"In {T:,} rounds of coin flips, Hedge has a mean regret of {means[0]:.1f}; {expected:.1f} is expected for "
        f"every rule, and the bound is {bound:.1f}, {100 * bound / T:.2f} % of the rounds. With the square loss the "
        f"regret is {rows[0][5]:.2f} after {rows[0][0]} rounds and {found.regret:.2f} after {T:,}; the bound is "
        f"{found.bound:.2f}."
    )
    return Findings(conclusion, checks, [Table("Regret", columns, rows)], charts)

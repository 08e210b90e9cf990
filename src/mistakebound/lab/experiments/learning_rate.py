"""The learning rate of Winnow: which η has the smallest bound, and which makes the fewest mistakes."""

from __future__ import annotations

import mistakebound as mb
from mistakebound.lab.charts import bound, measured
from mistakebound.lab.experiment import Check, Findings, Table, certified, experiment
from mistakebound.lab.sizes import Size, fits, share
from mistakebound.theorems.base import indicator
from mistakebound.viz.chart import Axis, Chart, Level
from mistakebound.viz.colours import NEUTRAL, colour_of

COLUMNS = ("η", "η/η*", "C", "mistakes", "ln n/C", "RE/C", "status")
BELOW, ABOVE = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.3, 1.6, 1.8), (2.5, 4.0, 8.0)
"""Rates as multiples of the best one. Above 2, C is negative for small margins, and the theorem does not apply."""


@experiment(
    "learning-rate",
    title="The learning rate of Winnow",
    claim="At the rate η, Winnow makes at most ln n/C mistakes with C = ηγ − ln cosh η, if C > 0. The bound is "
    "smallest at η* = ½ ln((1+γ)/(1−γ)). A much smaller rate costs more mistakes. Far above η*, C < 0, and "
    "the theorem does not apply.",
    setting="n experts vote −1 or +1, and the label is the majority of k of them, so that γ = 1/k. Normalised Winnow "
    "sees the same rounds with different rates.",
    theorems=("winnow-fixed-rate",),
    quick={"n": 64, "k": 3},
    sizes={"n": Size(8, 11_000), "k": Size(3, 31, odd=True)},
    together=(
        share("k", "n", 2, "the panel is a part of the experts"),
        fits("n·rounds", lambda at: at["n"] * _rounds(at["n"], at["k"])),
    ),
)
def learning_rate(*, n: int = 500, k: int = 5, seed: int = 0) -> Findings:
    """Measure Winnow with rates from a tenth of the best one to eight times it."""
    best = mb.bounds.winnow_rate(1 / k)
    X, y = stream = mb.streams.panel(n, k, _rounds(n, k), seed)
    u = indicator(stream.target, n) / k
    rows, certificates = [], []
    for times in (*BELOW, *ABOVE):
        learner = mb.NormalizedWinnow(best * times)
        mistakes = learner.run(X, y).mistakes
        found = learner.certify("winnow-fixed-rate", comparator=u, X=X, y=y)
        certificates.append(found)
        gain = mb.bounds.winnow_gain(1 / k, best * times)
        simple = mb.bounds.winnow_fixed_rate(n, 1 / k, best * times)
        rows.append((best * times, times, gain, mistakes, simple, found.bound, found.status))
    rates, _, _, mistakes_at, simple_at, bound_at, _ = map(list, zip(*rows, strict=True))
    count, at_best = len(BELOW), rows[BELOW.index(1.0)]
    beyond = {each.status for each in certificates[count:]}
    lowest, fewest = (min(rows, key=lambda row: row[at]) for at in (4, 3))
    checks = [
        certified("η up to 1.8 η*", *certificates[:count]),
        Check("the bound is smallest at η*", lowest[1] == 1, f"{lowest[4]:.5g} at {lowest[1]:g} η*"),
        Check("from 2.5 η* on, C < 0 and the theorem does not apply", beyond == {"does not apply"}, ", ".join(beyond)),
        Check("at η*/10 there are more mistakes than at η*", rows[0][3] > at_best[3], f"{rows[0][3]} and {at_best[3]}"),
    ]
    chart = Chart(
        f"Mistakes of Winnow, with n = {n} and k = {k}",
        Axis("learning rate η", "log"),
        Axis("mistakes", "log"),
        [
            measured("Winnow", rates, mistakes_at),
            bound("bound ln n/C", rates[:count], simple_at[:count], colour_of("Winnow")),
            bound("bound RE(u‖uniform)/C", rates[:count], bound_at[:count]),
            Level("η*, with the smallest bound", best, along="x", colour=NEUTRAL),
        ],
    )
    conclusion = (
        f"At η* = {best:.3g} Winnow makes {at_best[3]} mistakes, and the bound is {at_best[4]:.4g}. The fewest "
        f"mistakes are {fewest[3]}, at {fewest[1]:g} η*: the rate with the smallest bound need not be the best here."
    )
    return Findings(conclusion, checks, [Table("Rates", COLUMNS, rows)], [chart])


def _rounds(n: int, k: int) -> int:
    """Return twice the largest bound."""
    best = mb.bounds.winnow_rate(1 / k)
    return int(2 * max(mb.bounds.winnow_fixed_rate(n, 1 / k, best * times) for times in BELOW))

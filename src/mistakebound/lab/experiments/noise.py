"""Noise in labels and in attributes: mistakes grow with the noise, and so do the agnostic bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

import mistakebound as mb
from mistakebound.lab.charts import line
from mistakebound.lab.experiment import Check, Findings, Table, certified, experiment
from mistakebound.lab.sizes import Size, Together, limited, share
from mistakebound.viz.chart import Axis, Chart, Level, Mark

VACUOUS = "the bounds would be vacuous"
RATES = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)


@experiment(
    "noise",
    title="Mistakes grow with noise, and so do the agnostic bounds",
    claim="No vector separates a stream with noise, so the bounds for separable streams do not apply. The agnostic "
    "bounds hold for every vector u on every stream: they add the hinge loss of u, which grows with the noise.",
    setting="The majority of k of n experts is right. Then each label (first chart) or each vote (second chart) is "
    "flipped with the probability on the x axis. u is the planted panel, given beforehand, and losses are summed over "
    "the whole stream. A bound that is not below the number of rounds is vacuous: the table shows the status.",
    theorems=("perceptron-agnostic", "winnow-agnostic"),
    quick={"rounds": 1500, "n": 16},
    sizes={"rounds": Size(1000, 200_000), "n": Size(3, 500), "k": Size(3, 31, odd=True)},
    together=(
        share("k", "n", 1, "the panel is a part of the experts"),
        Together("rounds ≥ 10nk", lambda at: at["rounds"] >= 10 * at["n"] * at["k"], VACUOUS),
        limited("n", "rounds"),
    ),
)
def noise(*, rounds: int = 4000, n: int = 32, k: int = 3, seed: int = 0) -> Findings:
    """Learn the stream with several rates of both kinds of noise."""
    clean = mb.streams.panel(n, k, rounds, seed)
    u = np.isin(np.arange(n), clean.target) / k
    eta = mb.bounds.winnow_rate(1 / k) / 2  # half of the best rate without noise
    rows: list[tuple[Any, ...]] = []
    checks, charts = [], []
    for kind, noisy in (("labels", mb.streams.label_noise), ("attributes", mb.streams.attribute_noise)):
        marks: list[Mark] = []
        for name in ("Perceptron", "Winnow"):
            found = []
            for rate in RATES:
                stream = noisy(clean, rate, seed)
                learner: Any = mb.Perceptron() if name == "Perceptron" else mb.NormalizedWinnow(eta=eta)
                mistakes = learner.run(stream.X, stream.y).mistakes
                certificate = learner.certify(f"{name.lower()}-agnostic", u, 1 / k, X=stream.X, y=stream.y)
                errs, bound, status = certificate.comparator["mistakes"], certificate.bound, certificate.status
                found.append((kind, rate, name, errs, mistakes, bound, status))
                vacuous = Check(
                    f"{name}, {100 * rate:.0f} % of {kind}: the bound, vacuous", mistakes <= bound, f"{mistakes}"
                )
                useful = certified(f"{name}, {100 * rate:.0f} % of {kind}", certificate)
                checks.append(vacuous if status == "vacuous" else useful)
            rows += found
            less, more = found[0][4], found[-1][4]
            holds = sum(row[-1] == "holds" for row in found)
            checks += [
                Check(f"{name}: noise in {kind} costs mistakes", less < more, f"{less}, and {more} with most noise"),
                Check(f"{name}: the bound is useful with some noise in {kind}", holds > 1, f"for {holds} rates"),
            ]
            marks += [line(name, found, 1, 4), line(f"bound of {name}", found, 1, 5, dashed=True)]
        axes = Axis(f"share of flipped {kind}", low=0), Axis("mistakes", low=0)
        marks += [line("planted panel", found, 1, 3), Level("rounds", float(rounds), guide=True)]
        charts.append(Chart(f"Noise in {kind}", *axes, marks, note=f"The grey line is at {rounds:,} rounds."))
    columns = ("noise in", "rate", "learner", "mistakes of u", "mistakes", "bound", "status")
    at = {(row[0], row[1], row[2]): row for row in rows}
    words = [
        f"with 10 % of the {kind} flipped, u errs {at[kind, 0.1, 'Perceptron'][3]:,} times, the Perceptron "
        f"{at[kind, 0.1, 'Perceptron'][4]:,} and Winnow {at[kind, 0.1, 'Winnow'][4]:,} times"
        for kind in ("labels", "attributes")
    ]
    conclusion = f"In {rounds:,} rounds {'; '.join(words)}."
    return Findings(conclusion, checks, [Table("Mistakes and agnostic bounds", columns, rows)], charts)

"""Winnow on votes is a Weighted Majority that learns only from its own mistakes."""

from __future__ import annotations

import math

import numpy as np

import mistakebound as mb
from mistakebound.lab.charts import curve, mistakes_so_far
from mistakebound.lab.experiment import Check, Findings, Table, certified, experiment
from mistakebound.lab.playing import learn_own_mistakes
from mistakebound.lab.sizes import Size, Together, limited
from mistakebound.viz.chart import Level
from mistakebound.viz.colours import NEUTRAL

USELESS = "the bound of Winnow would be vacuous"


@experiment(
    "winnow-and-majority",
    title="Winnow is a Weighted Majority that learns from its own mistakes only",
    claim="On votes −1 and +1, a mistake of normalised Winnow multiplies the weight of a wrong expert by e^{−2η} "
    "relative to a right one, as Weighted Majority with β = e^{−2η} does. But Winnow learns from its own mistakes "
    "only. If Weighted Majority learns from these rounds only, it makes the same predictions in all rounds.",
    setting="The majority of k of n experts is always right; the vote of each expert alone is a coin flip. η is best "
    "for the margin 1/k, which gives β = ½ for k = 3. Winnow, Weighted Majority that learns in each round, and one "
    "that learns only after its own mistakes see the same rounds.",
    theorems=("winnow-best-rate", "winnow-panel", "weighted-majority"),
    quick={"rounds": 600, "n": 31},
    sizes={"rounds": Size(200, 200_000), "n": Size(4, 5000), "k": Size(3, 31, odd=True)},
    together=(
        Together("k < n", lambda at: at["k"] < at["n"], "the panel is a part of the experts"),
        Together("rounds ≥ 3k² ln n", lambda at: at["rounds"] >= 3 * at["k"] ** 2 * math.log(at["n"]), USELESS),
        limited("n", "rounds", most=3_000_000),
    ),
)
def winnow_and_majority(*, rounds: int = 3000, n: int = 99, k: int = 3, seed: int = 0) -> Findings:
    """Play the three learners on one stream."""
    stream = mb.streams.panel(n, k, rounds, seed)
    eta = mb.bounds.winnow_rate(1 / k)
    beta = math.exp(-2 * eta)
    winnow, majority = mb.NormalizedWinnow(eta=eta), mb.experts.WeightedMajority(beta)
    learned, voted = winnow.run(stream.X, stream.y), majority.run(stream.X, stream.y)
    lazy = mb.experts.WeightedMajority(beta)
    answers = learn_own_mistakes(lazy, stream)
    same, parted = int(np.sum(answers == learned.predictions)), np.flatnonzero(voted.predictions != learned.predictions)
    first = int(parted[0]) + 1 if parted.size else rounds
    weights = float(np.abs(lazy.weights_for(stream.X[0]) - np.asarray(winnow.weights_)).max())
    certificate = winnow.certify("winnow-best-rate", np.isin(np.arange(n), stream.target), X=stream.X, y=stream.y)
    checks = [
        Check("with own mistakes only, Weighted Majority predicts the same as Winnow", same == rounds, f"{same}"),
        Check("their final weights agree", weights <= 1e-9, f"largest difference {weights:.2g}"),
        Check("Weighted Majority that learns in each round predicts differently", parted.size > 0, f"{parted.size}"),
        certified("Winnow", certificate),
        certified("Weighted Majority", majority.certify()),
    ]
    rows = [
        ("Winnow", learned.mistakes, learned.mistakes, certificate.bound),
        ("Weighted Majority, own mistakes only", int(np.sum(answers != stream.y)), lazy.ledger_.rounds, ""),
        ("Weighted Majority, every round", voted.mistakes, rounds, majority.certify().bound),
        ("best expert", int(voted.expert_mistakes.min()), 0, ""),
    ]
    chart = mistakes_so_far(
        "Mistakes of the three learners",
        [
            curve("Winnow", learned.mistake_curve),
            curve("Weighted Majority, own mistakes only", np.cumsum(answers != stream.y), colour=NEUTRAL, dashed=True),
            curve("Weighted Majority, every round", voted.mistake_curve),
            Level("bound of Winnow", certificate.bound),
        ],
        note=f"Winnow and Weighted Majority that learns in each round differ for the first time in round {first}.",
    )
    columns = ("learner", "mistakes", "rounds learned from", "bound")
    conclusion = (
        f"Winnow makes {learned.mistakes} mistakes and learns from no other round; Weighted Majority with the same "
        f"factor β = {beta:.3g} makes the same predictions if it learns only from its mistakes. If it learns in each "
        f"round, it differs from round {first} on, follows the best single expert, and errs {voted.mistakes} times."
    )
    return Findings(conclusion, checks, [Table("Mistakes", columns, rows)], [chart])

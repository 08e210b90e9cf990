"""Weighted Majority errs twice as often as the best expert; its randomized form does not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import mistakebound as mb
from mistakebound.lab.charts import line
from mistakebound.lab.experiment import Check, Findings, Table, certified, experiment
from mistakebound.lab.experiment_streams import against_majority
from mistakebound.lab.sizes import Size, Together, limited
from mistakebound.viz.chart import Axis, Chart
from mistakebound.viz.colours import colour_of

if TYPE_CHECKING:
    from mistakebound.lab.sizes import Sizes

SPREAD = math.log(1e6) / 2  # a probability of one in a million that the draws deviate by √(T·SPREAD)


def _useful(at: Sizes) -> bool:
    return bool(at["rounds"] >= 400 * math.log(2 * at["pairs"]))


@experiment(
    "randomized-majority",
    title="Drawing an expert by weight removes the factor 2",
    claim="An adversary who knows the weights makes Weighted Majority err twice as often as the best expert, so its "
    "average regret stays above a constant. The randomized rule with the same weights and η = min(½, √(ln n/T)) has "
    "an expected regret of at most 2√(T ln n): its average regret vanishes.",
    setting="In every second round all n = 2·pairs experts are right. In the others a random half of them votes 1, the "
    "other half 0, and the outcome is the opposite of the weighted majority. Both rules play the same rounds. Σ F_t "
    "is the exact expected number of mistakes of the randomized rule; one sequence of draws is also played.",
    theorems=("weighted-majority", "randomized-weighted-majority"),
    quick={"rounds": 4000, "pairs": 4},
    sizes={"rounds": Size(400, 200_000), "pairs": Size(1, 500)},
    together=(
        Together("rounds ≥ 400 ln(2·pairs)", _useful, "the bounds would be vacuous in a sixteenth of the rounds"),
        limited("pairs", "rounds", most=5_000_000),
    ),
)
def randomized_majority(*, rounds: int = 16000, pairs: int = 8, seed: int = 0) -> Findings:
    """Play both rules against the adversary, with several numbers of rounds up to the one that is passed."""
    n = 2 * pairs
    rows, averages, checks = [], [], []
    for T in (rounds // 16, rounds // 8, rounds // 4, rounds // 2, rounds):
        eta = min(0.5, math.sqrt(math.log(n) / T))
        votes, outcomes = against_majority(n, T, eta, seed)
        voter, drawer = mb.experts.WeightedMajority(eta=eta), mb.experts.RandomizedWeightedMajority(eta=eta, seed=seed)
        errs, ledger = voter.run(votes, outcomes).mistakes, drawer.run(votes, outcomes)
        best, expected, drawn = int(ledger.expert_mistakes.min()), ledger.expected_mistakes, ledger.mistakes
        regret, most = expected - best, 2 * math.sqrt(T * math.log(n))
        allowed, bound, limit = voter.certify().bound, drawer.certify().bound, expected + math.sqrt(T * SPREAD)
        rows.append((T, best, errs, allowed, expected, bound, drawn, limit))
        averages.append((T, *((count - best) / T for count in (errs, expected, bound, drawn, allowed))))
        checks += [
            Check(f"T = {T}: Weighted Majority errs in every hard round", errs == T // 2, f"{errs} of {T // 2}"),
            Check(f"T = {T}: at least twice as often as the best expert", errs >= 2 * best, f"{errs} and {best}"),
            Check(f"T = {T}: the expected regret is at most 2√(T ln n)", regret <= most, f"{regret:.4g} of {most:.4g}"),
            Check(f"T = {T}: the draws exceed Σ F_t by at most √(T ln(1/δ)/2)", drawn <= limit, f"{drawn}"),
            certified(f"T = {T}, Weighted Majority", voter.certify()),
            certified(f"T = {T}, randomized", drawer.certify()),
        ]
    marks = [
        line("Weighted Majority", averages, 0, 1),
        line("bound of Weighted Majority", averages, 0, 5, dashed=True),
        line("randomized, expected", averages, 0, 2),
        line("bound of the randomized rule", averages, 0, 3, colour=colour_of("randomized"), dashed=True),
        line("randomized, drawn", averages, 0, 4, colour=5),
    ]
    chart = Chart("Average regret", Axis("rounds T", "log"), Axis("regret / T"), marks)
    columns = ("T", "best expert", "Weighted Majority", "bound", "Σ F_t", "bound of Σ F_t", "drawn", "limit of draws")
    conclusion = (
        f"In {T:,} rounds the best expert errs {best:,} times, Weighted Majority {errs:,} times, and the randomized "
        f"rule {expected:,.0f} times on average. Its average regret falls from {averages[0][2]:.4f} to "
        f"{averages[-1][2]:.4f}; that of Weighted Majority stays at {averages[-1][1]:.4f}."
    )
    return Findings(conclusion, checks, [Table("Mistakes; δ = 1e-06", columns, rows)], [chart])

"""A guard for advice that cannot be trusted: the bound holds for any advice."""

from __future__ import annotations

import numpy as np

import mistakebound as mb
from mistakebound.lab.charts import curve, mistakes_so_far
from mistakebound.lab.experiment import Check, Findings, Table, certified, experiment
from mistakebound.lab.sizes import Size, limited
from mistakebound.lab.streams import generator
from mistakebound.viz.chart import Level


@experiment(
    "lying-adviser",
    title="The guard keeps its bound even if the adviser lies",
    claim="Guarded Weighted Majority follows any advice while the weights allow it. It makes at most 2.41(m + lg n) "
    "mistakes, where m is the number of mistakes of the best of n experts, even if the adviser always lies. With a "
    "good adviser, it errs less often than the experts.",
    setting="One of n experts errs in 10 % of the rounds, the others in 40 %. Three advisers: one always lies, one is "
    "always right, one is right in the first half and lies in the second. The guard is compared with Weighted "
    "Majority, which does not see the advice, and with the advice alone.",
    theorems=("guarded-weighted-majority", "weighted-majority"),
    quick={"rounds": 600, "n": 8},
    sizes={"rounds": Size(200, 1_000_000), "n": Size(2, 5000)},
    together=(limited("n", "rounds"),),
)
def lying_adviser(*, rounds: int = 2000, n: int = 20, seed: int = 0) -> Findings:
    """Play the guard with each adviser."""
    rng = generator(seed, 7)
    y = rng.integers(2, size=rounds)
    wrong = rng.random((rounds, n)) < np.where(np.arange(n) == 0, 0.1, 0.4)
    votes = np.where(wrong, 1 - y[:, None], y[:, None])
    advisers = {
        "always lies": 1 - y,
        "is always right": y,
        "starts to lie": np.where(np.arange(rounds) < rounds // 2, y, 1 - y),
    }
    voter = mb.experts.WeightedMajority()
    alone = voter.run(votes, y)
    checks, rows, charts = [certified("Weighted Majority", voter.certify())], [], []
    made = {}
    for name, advice in advisers.items():
        guard = mb.experts.Guarded()
        ledger = guard.run(votes, y, advice)
        certificate = guard.certify()
        made[name] = ledger.mistakes
        rows.append(
            (name, ledger.advice_mistakes, alone.mistakes, ledger.mistakes, ledger.overrides, certificate.bound)
        )
        checks.append(certified(f"the adviser {name}", certificate))
        charts.append(
            mistakes_so_far(
                f"The adviser {name}",
                [
                    curve("advice alone", np.cumsum(advice != y), dashed=True),
                    curve("Weighted Majority", alone.mistake_curve),
                    curve("guard", ledger.mistake_curve),
                    Level("bound of the guard", certificate.bound),
                ],
                note=f"Mistakes of the advice: {ledger.advice_mistakes:,}; of the guard: {ledger.mistakes:,}.",
            )
        )
    best = int(alone.expert_mistakes.min())
    lies, right, turns = made.values()
    checks += [
        Check("the guard errs less often than the adviser who always lies", lies < rounds, f"{lies} of {rounds}"),
        Check("if the adviser is always right, less often than Weighted Majority", right < alone.mistakes, f"{right}"),
        Check("if the adviser starts to lie, less often than the advice", turns < rounds - rounds // 2, f"{turns}"),
    ]
    columns = ("the adviser", "advice alone", "Weighted Majority", "guard", "overrides", "bound of the guard")
    conclusion = (
        f"The best expert errs {best} times in {rounds:,} rounds, Weighted Majority {alone.mistakes} times. The guard "
        f"errs {lies} times with an adviser who always lies, {right} times with one who is always right, and {turns} "
        f"times with one who starts to lie; the bound is {rows[0][-1]:.0f} each time."
    )
    return Findings(conclusion, checks, [Table(f"Mistakes in {rounds:,} rounds", columns, rows)], charts)

"""The best expert changes: Fixed Share follows it, exponential weights do not."""

from __future__ import annotations

import numpy as np

import mistakebound as mb
from mistakebound._support.text import many
from mistakebound.lab.charts import curve
from mistakebound.lab.experiment import Check, Findings, Table, certified, experiment
from mistakebound.lab.sizes import TOO_FEW, Size, Together, limited
from mistakebound.lab.streams import generator
from mistakebound.viz.chart import Axis, Chart, Level, Mark
from mistakebound.viz.colours import colour_of

ETA = 0.5  # the square loss on [0, 1] is exp-concave at this rate


@experiment(
    "switching-experts",
    title="Fixed Share follows the best expert when it changes",
    claim="Exponential weights have a small regret to the best single expert, but change slowly to another one. Fixed "
    "Share gives a share α of the weight back to all experts after each round. Its regret to the best sequence of "
    "experts with k switches is at most ((k+1) ln n + k ln(1/α) + (T−1−k) ln(1/(1−α)))/η.",
    setting="In each of k + 1 spans of time another of n experts forecasts with errors of 0.1; the others are off by "
    "0.4. Forecasts are cut to [0, 1]. Square loss, η = ½, and α = k/(T−1). The best sequence is found in hindsight.",
    theorems=("fixed-share", "exponentially-weighted-average"),
    quick={"rounds": 400, "n": 4, "switches": 1},
    sizes={"rounds": Size(200, 50_000), "n": Size(2, 500), "switches": Size(1, 10)},
    together=(
        Together("rounds ≥ 100(switches + 1)", lambda at: at["rounds"] >= 100 * (at["switches"] + 1), TOO_FEW),
        limited("n", "rounds", most=1_000_000),
    ),
)
def switching_experts(*, rounds: int = 2000, n: int = 8, switches: int = 3, seed: int = 0) -> Findings:
    """Mix the forecasts with both rules, and compare them with the best sequence of experts."""
    rng, times = generator(seed, 8), np.arange(rounds)
    y = rng.uniform(0, 1, rounds)
    good = (times * (switches + 1) // rounds) % n
    size = np.where(np.arange(n) == good[:, None], 0.1, 0.4)
    advice = np.clip(y[:, None] + size * rng.choice([-1, 1], (rounds, n)), 0, 1)
    losses, alpha = (advice - y[:, None]) ** 2, switches / (rounds - 1)
    sharing = mb.experts.FixedShare(eta=ETA, alpha=alpha, gradient=False)
    exponential = mb.experts.ExponentiallyWeightedAverage(eta="theorem")
    shared, averaged = sharing.run(advice, y, keep_weights=True), exponential.run(advice, y)
    ideal = np.cumsum(losses[times, good])
    best, of_shared, of_averaged = float(losses.sum(axis=0).min()), shared.total_loss, averaged.total_loss
    sequence = float(np.asarray(mb.oracles.best_switching(losses, switches).totals)[-1])
    bound, regret = mb.bounds.fixed_share(n, ETA, alpha, rounds, switches), of_shared - sequence
    checks = [
        certified("Fixed Share", sharing.certify()),
        certified("exponential weights", exponential.certify()),
        Check("the regret of Fixed Share to the sequence is within its bound", regret <= bound, f"{regret:.4g}"),
        Check("its loss is below that of exponential weights", of_shared < of_averaged, f"{of_shared:.4g}"),
        Check("its loss is below that of the best single expert", of_shared < best, f"{best:.4g}"),
    ]
    losers = {"Fixed Share": shared, "exponential weights": averaged}
    regrets: list[Mark] = [curve(name, each.loss_curve - ideal) for name, each in losers.items()]
    regrets.append(Level("bound of Fixed Share", bound))
    weights = [curve("weight", np.asarray(shared.weights)[times, good], colour=colour_of("Fixed Share"))]
    when, share = Axis("round", low=0), Axis("weight", low=0, high=1)
    charts = [
        Chart("Regret to the sequence of good experts", when, Axis("regret so far"), regrets),
        Chart("Weight of the good expert in Fixed Share", when, share, weights),
    ]
    ideal_name = f"best sequence with {many(switches, 'switch', 'es')}"
    rows = [
        ("Fixed Share", of_shared, regret, bound),
        ("exponential weights", of_averaged, of_averaged - sequence, ""),
        ("best single expert", best, best - sequence, ""),
        (ideal_name, sequence, 0.0, ""),
    ]
    conclusion = (
        f"The best single expert loses {best:.1f} in {rounds:,} rounds, exponential weights {of_averaged:.1f}, Fixed "
        f"Share {of_shared:.1f}. The {ideal_name} loses {sequence:.1f}; the regret of Fixed "
        f"Share to it is {regret:.1f}, and the bound {bound:.1f}."
    )
    table = Table("Square loss", ("who", "loss", "regret to the sequence", "bound"), rows)
    return Findings(conclusion, checks, [table], charts)

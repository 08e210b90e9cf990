"""Draw mistakes, bounds, probabilities, experts and forecasters with matplotlib (``pip install 'mistakebound[plot]'``).

Each function returns a ``matplotlib.figure.Figure``, which ``figure.savefig("x.png")`` saves. No window is opened.
``dark=True`` draws light marks on a dark page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.viz import expert_charts, forecaster_charts, mistake_charts, probability_charts
from mistakebound.viz.expert_charts import MOST_EXPERTS
from mistakebound.viz.figure import draw
from mistakebound.viz.mistake_charts import Bound, window_borders

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mistakebound._support.arrays import FloatArray, IntArray
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.forecasters.verdict import Report
    from mistakebound.play.expert_ledger import ExpertLedger
    from mistakebound.play.ledger import Ledger
    from mistakebound.play.measures import Measures

__all__ = [
    "MOST_EXPERTS",
    "calibration",
    "curves",
    "experts",
    "forecasters",
    "leadership",
    "mistakes",
    "potential",
    "regret",
    "roc",
    "thresholds",
    "weights",
    "windows",
]


def mistakes(
    runs: Mapping[str, Ledger | ExpertLedger | tuple[Ledger | ExpertLedger, Certificate | None]],
    title: str = "Mistakes, and the bounds of theorems",
    *,
    dark: bool = False,
) -> Any:
    """Draw the number of mistakes against rounds, with the bound of each certificate as a dashed line.

    Parameters
    ----------
    runs : mapping
        {name: ledger}, or {name: (ledger, certificate)} to draw the bound, too.
    title : str
        The title of the picture.
    dark : bool
        Whether the page is dark.
    """
    lines, bounds = {}, {}
    for name, run in runs.items():
        ledger, certificate = run if isinstance(run, tuple) else (run, None)
        counted = zip((ledger.mistake_rounds + 1).tolist(), range(1, ledger.mistakes + 1), strict=True)
        lines[name] = [(1, 0), *counted, (max(ledger.rounds, 1), ledger.mistakes)]
        if certificate is not None:
            bounds[name] = Bound(certificate.bound, certificate.theorem)
    return draw(mistake_charts.mistakes_chart(lines, bounds, title=title), dark=dark)


def windows(
    runs: Mapping[str, Ledger | ExpertLedger], width: int | None = None, title: str = "", *, dark: bool = False
) -> Any:
    """Draw the mistakes per 100 rounds in windows of equal width, from {name: ledger}.

    Parameters
    ----------
    runs : mapping
        {name: ledger}.
    width : int, optional
        Rounds of a window; by default there are about 40 windows.
    title : str
        The title of the picture; by default it names the width.
    dark : bool
        Whether the page is dark.
    """
    lines = {}
    for name, ledger in runs.items():
        borders = window_borders(ledger.rounds, width)
        lines[name] = list(zip(borders, np.searchsorted(ledger.mistake_rounds, borders).tolist(), strict=True))
    return draw(mistake_charts.window_chart(lines, title=title), dark=dark)


def curves(
    lines: Mapping[str, Sequence[tuple[int, int]]], title: str = "Mistakes on the same stream", *, dark: bool = False
) -> Any:
    """Draw the mistakes of many learners against rounds, from {name: [(rounds, mistakes), ...]}."""
    return draw(mistake_charts.comparison_chart(lines, title=title), dark=dark)


def leadership(
    changes: Sequence[tuple[int, str]], rounds: int, title: str = "Leader of the panel over time", *, dark: bool = False
) -> Any:
    """Draw which member of a panel had the least log loss so far: a row for each member that ever led.

    Parameters
    ----------
    changes : sequence of (round, member)
        The changes of the leader, as ``Panel.leadership()`` returns them.
    rounds : int
        Number of rounds of the panel.
    title : str
        The title of the picture.
    dark : bool
        Whether the page is dark.
    """
    return draw(mistake_charts.leadership_chart(changes, rounds, title=title), dark=dark)


def calibration(measures: Measures, positive: str = "the positive label", *, dark: bool = False) -> Any:
    """Draw how often the positive label occurred, against its predicted probability, from ``ledger.measures``."""
    return draw(probability_charts.calibration_chart(measures.calibration(), positive), dark=dark)


def roc(measures: Measures | Mapping[str, Measures], *, dark: bool = False) -> Any:
    """Draw the ROC curve of ``ledger.measures``, or of several: {name: measures}."""
    named = measures if hasattr(measures, "items") else {"": measures}
    lines = {
        f"{name}: {probability_charts.auc_in_words(each.auc)}".removeprefix(": "): each.roc()
        for name, each in named.items()
    }
    return draw(probability_charts.roc_chart(lines), dark=dark)


def thresholds(measures: Measures, cut: float | None = None, *, dark: bool = False) -> Any:
    """Draw precision, recall and error of ``ledger.measures`` against the threshold; ``cut`` is the one in use."""
    return draw(probability_charts.threshold_chart(measures, cut), dark=dark)


def forecasters(report: Report, *, dark: bool = False) -> Any:
    """Draw the reliability diagram of each forecaster, and its difference from the best one over time."""
    diagrams, differences = forecaster_charts.forecaster_charts(report)
    return draw([*diagrams, *differences], dark=dark, columns=min(3, max(2, len(diagrams))))


def weights(
    rounds: IntArray,
    values: FloatArray,
    names: Sequence[str],
    title: str = "Weights of the experts",
    *,
    dark: bool = False,
) -> Any:
    """Draw the weights of experts over time.

    Parameters
    ----------
    rounds, values : array
        0-based rounds, and the weights of the experts in each of them. If a weight is below 0, they are drawn as lines.
    names : sequence of str
        The names of the experts.
    title : str
        The title of the picture.
    dark : bool
        Whether the page is dark.
    """
    return draw(expert_charts.weights_chart(rounds.tolist(), values, names, title=title), dark=dark)


def regret(
    regrets: Mapping[str, FloatArray],
    title: str = "Loss so far minus the loss of the best expert",
    *,
    bounds: Sequence[tuple[int, float]] = (),
    dark: bool = False,
) -> Any:
    """Draw the regret of rules after each round: {rule: regrets}, and (rounds, bound) of the first rule."""
    chart = expert_charts.regret_chart(regrets, title=title, bounds=bounds, bound_name="bound of a theorem")
    return draw(chart, dark=dark)


def potential(
    values: Mapping[str, Sequence[float]],
    limits: Mapping[str, Sequence[float]] | None = None,
    title: str = "Potential after each mistake",
    *,
    dark: bool = False,
) -> Any:
    """Draw the potential of a proof after 0, 1, 2, ... mistakes, {name: values}, and its limits as dashed lines."""
    return draw(expert_charts.potential_chart(values, limits, title=title), dark=dark)


def experts(
    rounds: IntArray,
    weights: FloatArray,
    regrets: Mapping[str, FloatArray],
    *,
    names: Sequence[str],
    against: str | Mapping[str, str],
    bounds: Sequence[tuple[int, float]] = (),
    allowed: str = "",
    dark: bool = False,
) -> Any:
    """Draw the weights of the experts over time, and below them the regret of each rule to the best expert.

    All axes are linear. A bound far above the regrets gets its own chart, together with the regret of the first rule.

    Parameters
    ----------
    rounds, weights : array
        0-based rounds, and the weights of the experts in each of them. If a weight is below 0, they are drawn as lines.
    regrets : mapping
        {rule: regret after each round}. The weights and the bounds belong to the first rule.
    names : sequence of str
        The names of the experts.
    against : str or mapping
        The expert that the regret is measured against; or {rule: expert}, if it differs.
    bounds : sequence of (rounds, bound)
        Bounds of a theorem on the regret after that many rounds.
    allowed : str
        The text for the bounds in the legend.
    dark : bool
        Whether the page is dark.
    """
    first = next(iter(regrets))
    rivals = dict.fromkeys(regrets, against) if isinstance(against, str) else against
    one = len({*rivals.values()}) == 1
    named = {rule if one else f"{rule}, to {rivals[rule]}": regret for rule, regret in regrets.items()}
    whom = f"the best expert, {rivals[first]}" if one else "the expert to which each rule has the largest regret"
    bound_name = allowed or (f"bound of a theorem for {first}: {bounds[-1][1]:.4g} in the end" if bounds else "")
    largest = max(float(max(regret.max(), np.ptp(regret) / 4)) for regret in regrets.values())
    far = bool(bounds) and max(bound for _, bound in bounds) > expert_charts.FAR * largest
    charts = [
        expert_charts.weights_chart(rounds.tolist(), weights, names, title=f"Weights of the experts by {first}"),
        expert_charts.regret_chart(
            named,
            title=f"Loss so far minus the loss of {whom}",
            bounds=() if far else bounds,
            bound_name=bound_name,
            end_labels=len(named) > 6,
        ),
    ]
    if far:
        alone = dict([next(iter(named.items()))])
        title = "The same, with the bound of a theorem"
        charts.append(expert_charts.regret_chart(alone, title=title, bounds=bounds, bound_name=bound_name))
    return draw(charts, dark=dark)

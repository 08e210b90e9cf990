"""Sections of the HTML report for learners with probabilities, and for a panel: calibration, members, leaders."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any

from mistakebound._support.text import share

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

COUNTS = ("true_positives", "false_positives", "true_negatives", "false_negatives")
SIDE, LEFT, BOTTOM, EDGE = 300, 45, 40, 10
STRIP, ROW = 640, 22


def probabilities(measured: Mapping[str, Any], positive: str) -> str:
    """Return the log loss, Brier score and AUC, the confusion by threshold, and the calibration as a picture.

    ``measured`` is ``Measures.to_dict()``; ``positive`` is the positive label as HTML.
    """
    confusion = table(
        ("threshold", "precision", "recall", "true +", "false +", "true −", "false −"),
        (
            (
                f"{each['threshold']:.1f}",
                f"{each['precision']:.4f}",
                f"{each['recall']:.4f}",
                *(f"{each[name]:,}" for name in COUNTS),
            )
            for each in measured["confusion"]
        ),
    )
    key = (
        f"Each probability was predicted before its label was read. The table counts {positive} as predicted if its "
        "probability is at least the threshold. In the picture, each dot stands for the rounds whose probability is in "
        "one interval: it shows the share of that label against their mean probability. On the dashed line, both are "
        "equal."
    )
    dots = [(each["mean"], each["positive"], each["rounds"]) for each in measured["calibration"]]
    return probabilities_with_picture(measured, dots) + f"{confusion}<p>{key}</p>"


def single_measures(measured: Mapping[str, Any]) -> str:
    """Return a table of the measures that are one number."""
    named = {"log_loss": "log loss", "brier": "Brier score", "auc": "AUC", "calibration_error": "calibration error"}
    lines = ((words, f"{measured[name]:.4f}") for name, words in named.items() if name in measured)
    return table(("measure", "value"), lines, numbers_from=1)


def probabilities_with_picture(measured: Mapping[str, Any], dots: Sequence[tuple[float, float, int]]) -> str:
    """Return the heading, the calibration as a picture (see ``calibration``), and the measures beside it."""
    return (
        f"<h2>Probabilities</h2><div class='pictures'><figure class='square'>{calibration(dots)}"
        f"<figcaption>calibration</figcaption></figure><div>{single_measures(measured)}</div></div>"
    )


def abstentions(answers: Mapping[str, Any]) -> str:
    """Return how many rounds had no prediction, and the mistakes in the others; ``answers`` as in ``run --json``."""
    rounds = answers["abstentions"] + answers["answered"]
    counts = table(
        ("rounds", "", "", "mistakes", ""),
        (
            (f"{answers['abstentions']:,}", share(answers["abstentions"], rounds), "without a prediction", "", ""),
            (
                f"{answers['answered']:,}",
                share(answers["answered"], rounds),
                "with a prediction",
                f"{answers['mistakes']:,}",
                share(answers["mistakes"], answers["answered"]),
            ),
        ),
    )
    return f"<h2>Abstentions</h2>{counts}<p>All other mistakes on this page are counted without abstention.</p>"


def calibration(dots: Sequence[tuple[float, float, int]]) -> str:
    """Return the calibration as SVG. A dot has a mean probability, a share of labels, and a number of rounds."""

    def place(x: float, y: float) -> tuple[float, float]:
        return LEFT + x * (SIDE - LEFT - EDGE), SIDE - BOTTOM - y * (SIDE - BOTTOM - EDGE)

    parts = [f'<svg viewBox="0 0 {SIDE} {SIDE}" role="img" aria-label="calibration">']
    for tick in (0.0, 0.5, 1.0):
        (x, low), (left, y) = place(tick, 0), place(0, tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{EDGE}" y2="{low:.1f}"/>')
        parts.append(f'<line class="grid" x1="{left:.1f}" x2="{SIDE - EDGE}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{x:.1f}" y="{low + 16:.1f}" text-anchor="middle">{tick:g}</text>')
        parts.append(f'<text x="{left - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    (x1, y1), (x2, y2) = place(0, 0), place(1, 1)
    parts.append(f'<line class="other" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')
    most = max((rounds for _, _, rounds in dots), default=1)
    for mean, share_of_labels, rounds in dots:
        x, y = place(mean, share_of_labels)
        radius = 2.5 + 6 * (rounds / most) ** 0.5
        parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>')
    parts.append(f'<text x="{(SIDE + LEFT) / 2}" y="{SIDE - 6}" text-anchor="middle">probability</text></svg>')
    return "".join(parts)


def members(panel: Mapping[str, Any], rounds: int) -> str:
    """Return the members of a panel with their mistakes and weights, the bounds, and the leaders over time.

    ``panel`` has what ``run --json`` writes for a panel.
    """
    ranked = sorted(panel["members"], key=lambda each: each["log_loss"])
    listed = table(
        ("member", "log loss", "mistakes", "", "weight", "leads since"),
        (
            (
                escape(each["name"]),
                f"{each['log_loss']:.4f}",
                f"{each['mistakes']:,}",
                share(each["mistakes"], rounds),
                f"{each['weight']:.3f}",
                "" if each["leads_since"] is None else f"round {each['leads_since']:,}",
            )
            for each in ranked
        ),
        numbers_from=1,
    )
    bounds = table(
        ("theorem", "bound on the mistakes"),
        ((escape(theorem), f"{bound:,.1f}") for theorem, bound in panel["bounds"].items()),
        numbers_from=1,
    )
    seen = " in the rounds of labels that had occurred before" if panel["first_seen"] else ""
    losses = (
        f"<p>The log loss of the mixture is {panel['log_loss']:.4f}{seen}; the theorem bayes-mixture allows "
        f"{panel['log_loss_bound']:.4f}. The guard did not follow the mixture in {panel['overrides']:,} rounds.</p>"
    )
    key = "<p>The leader is the member with the least log loss so far; the axis of the rounds is logarithmic.</p>"
    drawn = leaders([(each["round"], each["member"]) for each in panel["leaders"]], rounds)
    return f"<h2>Members of the panel</h2>{listed}<h2>Leader over time</h2>{drawn}{key}<h2>Bounds</h2>{bounds}{losses}"


def leaders(changes: Sequence[tuple[int, str]], rounds: int) -> str:
    """Return the leaders over time as SVG: a row for each member that ever led, and a bar while it did."""
    names = list(dict.fromkeys(name for _, name in changes))
    if not names:
        return ""
    left, height = 170, ROW * len(names) + 24
    full = math.log(max(rounds, 2))

    def along(at: int) -> float:
        return left + (STRIP - left - 10) * math.log(max(at, 1)) / full

    parts = [f'<svg class="strip" viewBox="0 0 {STRIP} {height}" role="img" aria-label="leader over time">']
    for power in range(len(str(rounds))):
        x = along(10**power)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height - 22}"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - 6}" text-anchor="middle">{10**power:,}</text>')
    for row, name in enumerate(names):
        parts.append(f'<text x="{left - 8}" y="{ROW * row + 16}" text-anchor="end">{escape(name)}</text>')
    ends = [*(begin for begin, _ in changes[1:]), rounds]
    for (begin, name), end in zip(changes, ends, strict=True):
        x, width = along(begin), max(along(end) - along(begin), 1.0)
        parts.append(
            f'<rect class="dot" x="{x:.1f}" y="{ROW * names.index(name) + 5}" width="{width:.1f}" height="{ROW - 10}"/>'
        )
    return "".join(parts) + "</svg>"


def table(head: Sequence[str], lines: Iterable[Sequence[str]], *, numbers_from: int = 0) -> str:
    """Return an HTML table with a head. Cells are HTML already; those from column ``numbers_from`` on are numbers."""
    kinds = ["" if column < numbers_from else ' class="n"' for column in range(len(head))]
    top = "".join(f"<th{kind}>{words}</th>" for kind, words in zip(kinds, head, strict=True))
    body = "\n".join(
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, line, strict=True)) + "</tr>"
        for line in lines
    )
    return f'<div class="wide"><table><tr>{top}</tr>\n{body}</table></div>'

"""Write a self-contained HTML page about a run: no scripts, no network; text from files is escaped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._support.text import escaped, many, share, size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Lines = list[tuple[str, Sequence[tuple[int, float]]]]

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5b6570; --line: #d5dae0; --page: #ffffff; --ours: #0b62c4;
  --other: #b3541e; --good: #17753b; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --soft: #9aa5b1; --line: #39414a; --page: #14181c;
  --ours: #6cb2ff; --other: #f0a468; --good: #6fd08c; --bad: #ff8a80; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { font-size: 1.15rem; margin-top: 2rem; }
p, footer { color: var(--soft); } footer { margin-top: 3rem; font-size: .85rem; }
table { border-collapse: collapse; } td, th { padding: .2rem 1rem .2rem 0; border-bottom: 1px solid var(--line);
  text-align: left; vertical-align: top; overflow-wrap: anywhere; font-weight: normal; }
th { color: var(--soft); } .n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.pictures { display: flex; flex-wrap: wrap; gap: 1rem; } figure { flex: 1 1 24rem; margin: 0; }
figcaption { color: var(--soft); font-size: .9rem; } svg { width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 12px; } .grid { stroke: var(--line); } .ours { stroke: var(--ours); }
.other { stroke: var(--other); stroke-dasharray: 6 4; } .bound { stroke: var(--good); stroke-dasharray: 2 3; }
.ours, .other, .bound { fill: none; stroke-width: 2; } code { font-size: .9em; overflow-wrap: anywhere; }
td.n, th.n { text-align: right; } .wide { overflow-x: auto; margin: 1rem 0; }
.wide td { white-space: nowrap; } figure.square { flex: 0 1 20rem; }
.strip { max-width: 40rem; } .dot { fill: var(--ours); fill-opacity: .7; }
.holds { color: var(--good); } .violated { color: var(--bad); }
"""


class CertificateText(NamedTuple):
    """The parts of a certificate that the page shows."""

    status: str
    scope: str
    meaning: str
    """One sentence."""
    details: Sequence[str]
    """Lines."""
    bound: float


def page(
    facts: Mapping[str, Any],
    points: Sequence[tuple[int, int]],
    largest: Sequence[tuple[str, float]],
    certificate: CertificateText | None = None,
    version: str = "",
    sections: Sequence[str] = (),
) -> str:
    """Return the page.

    Parameters
    ----------
    facts : mapping
        ``files``, ``stopped`` (why, or empty), ``skipped`` (lines), ``remarks`` (notes), ``learner`` (in words),
        ``classes`` (negative, positive), the counts ``rounds``, ``mistakes``, ``false_positives`` and
        ``false_negatives`` (None for several classes), ``majority`` (the more frequent label) and
        ``majority_mistakes``, ``seconds`` and ``bytes``.
    points : sequence of (rounds, mistakes)
        The curve of mistakes, from (0, 0).
    largest : sequence of (feature, weight)
        The largest weights; none for a learner without weights.
    certificate : CertificateText
        The certificate of the run, if there is one.
    version : str
        The version of the program, for the last line.
    sections : sequence of str
        More sections, as HTML.
    """
    title = f"{many(facts['mistakes'], 'mistake')} in {many(facts['rounds'], 'round')}"
    files = ", ".join(text(file) for file in facts["files"])
    ended = f"<p>Stopped early: {text(facts['stopped'])}</p>" if facts["stopped"] else ""
    bound = certificate.bound if certificate is not None and math.isfinite(certificate.bound) else None
    body = [
        f"<h1>{title}</h1><p>{share(facts['mistakes'], facts['rounds'])} of {files}</p>{ended}",
        summary(facts),
        pictures(points, facts["majority_mistakes"], facts["majority"], bound),
        "" if certificate is None else certified(certificate),
        *sections,
        weights(largest),
        listing("Notes", [text(remark) for remark in facts["remarks"]]),
        listing("Skipped lines", [text(line) for line in facts["skipped"]]),
        f"<footer>mistakebound {version}</footer>",
    ]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>\n<body>\n'
        + "\n".join(part for part in body if part)
        + "\n</body></html>\n"
    )


def text(value: Any) -> str:
    """Return text from a file or the user as HTML: escaped, and isolated in its writing direction."""
    return f"<bdi>{escape(escaped(value))}</bdi>"


def rows(cells: Iterable[tuple[str, ...]]) -> str:
    """Return an HTML table. Cells are HTML already; all but the last of a row are numbers."""
    lines = []
    for *numbers, last in cells:
        lines.append("<tr>" + "".join(f'<td class="n">{each}</td>' for each in numbers) + f"<td>{last}</td></tr>")
    return "<table>" + "\n".join(lines) + "</table>"


def summary(facts: Mapping[str, Any]) -> str:
    """Return the mistakes by kind, those of always predicting the same label, the learner and the time."""
    rounds = facts["rounds"]
    kinds = [(facts["majority_mistakes"], f"with always predicting {text(facts['majority'])}")]
    if facts["false_positives"] is None:  # several classes, whose mistakes are in a table of their own
        kinds.insert(0, (facts["mistakes"], "of the learner"))
    else:
        negative, positive = (text(label) for label in facts["classes"])
        kinds[:0] = [
            (facts["false_positives"], f"predicted {positive}, label {negative}"),
            (facts["false_negatives"], f"predicted {negative}, label {positive}"),
        ]
    counts = rows((f"{count:,}", share(count, rounds), words) for count, words in kinds)
    parameters = rows([(f"<code>{text(facts['learner'])}</code>",)])
    speed = f", {size(facts['bytes'])} of text" if facts["bytes"] else ""
    return f"<h2>Mistakes</h2>{counts}<h2>Learner</h2>{parameters}<p>{facts['seconds']:.2f} s{speed}</p>"


def certified(certificate: CertificateText) -> str:
    """Return the certificate in words, with its premises."""
    status = certificate.status.replace(" ", "-")
    verdict = f'<b class="{status}">{escape(certificate.status)}</b> on the {escape(certificate.scope)}'
    details = "".join(f"<li>{text(line)}</li>" for line in certificate.details)
    return f"<h2>Certificate</h2><p>{verdict}: {escape(certificate.meaning)}</p><ul>{details}</ul>"


def weights(largest: Sequence[tuple[str, float]]) -> str:
    """Return the table of the largest weights."""
    if not largest:
        return ""
    return f"<h2>Largest weights</h2>{rows((f'{weight:.6g}', text(name)) for name, weight in largest)}"


def listing(title: str, lines: list[str]) -> str:
    """Return lines under a title; empty if there are none."""
    return f"<h2>{title}</h2>{rows((line,) for line in lines)}" if lines else ""


# ---------------------------------------------------------------------- pictures

WIDTH, HEIGHT, LEFT, RIGHT, TOP_EDGE, BOTTOM = 480, 300, 60, 10, 10, 40


def pictures(points: Sequence[tuple[int, int]], guessing: int, guess: object, bound: float | None) -> str:
    """Return the curves of mistakes, also of always predicting the same label, with linear and logarithmic axes."""
    rounds, mistakes = points[-1]
    if not rounds:
        return ""
    highest = max(mistakes, guessing, 1)
    lines: Lines = [("other", [(x, x * guessing / rounds) for x, _ in points]), ("ours", points)]
    if bound is not None and bound <= 2 * highest:
        lines.append(("bound", [(0, bound), (1, bound), (rounds, bound)]))
        highest = max(highest, math.ceil(bound))
    drawn = "".join(
        f"<figure>{picture(lines, rounds, highest, axes)}<figcaption>{axes.caption}</figcaption></figure>"
        for axes in ((LINEAR, LOGARITHMIC) if rounds >= 10 else (LINEAR,))
    )
    key = f"Solid: the learner. Dashed: always predicting {text(guess)} (average rate of mistakes)."
    key += " Dotted: the bound of the certificate." if len(lines) > 2 else ""
    return f'<h2>Mistakes over time</h2><div class="pictures">{drawn}</div><p>{key}</p>'


def picture(lines: Lines, right: int, top: int, axes: Axes) -> str:
    """Return lines of (x, y) as SVG, from the lowest number of the axes to ``right`` and ``top``."""
    lowest = axes.lowest

    def place(x: float, y: float) -> tuple[float, float]:
        along, up = axes.share(x, right), axes.share(y, top)
        return LEFT + along * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP_EDGE - BOTTOM)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="mistakes against rounds">']
    for tick in axes.ticks(right):
        x, y = place(tick, lowest)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP_EDGE}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle">{brief(tick)}</text>')
    for tick in axes.ticks(top):
        x, y = place(lowest, tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{brief(tick)}</text>')
    for kind, points in lines:
        places = (place(x, y) for x, y in points if min(x, y) >= lowest)
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline class="{kind}" points="{joined}"/>')
    parts.append(f'<text x="{(WIDTH + LEFT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">rounds</text></svg>')
    return "".join(parts)


def linear_ticks(most: int) -> list[int]:
    """Return about five numbers from 0 in steps of 1, 2 or 5 times a power of ten.

    >>> linear_ticks(32_561)
    [0, 10000, 20000, 30000]
    """
    power = 10 ** max(0, math.floor(math.log10(most / 5)) if most >= 5 else 0)
    step = next(step for step in (power, 2 * power, 5 * power, 10 * power) if most / step <= 5)
    return list(range(0, most + 1, step))


def powers_of_ten(most: int) -> list[int]:
    """Return 1, 10, 100, ... up to ``most``."""
    return [10**power for power in range(len(str(most)))]


def brief(number: int) -> str:
    """Return a number in a short form.

    >>> [brief(number) for number in (0, 500, 20_000, 3_000_000)]
    ['0', '500', '20k', '3M']
    """
    for unit, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= unit and number % (unit // 10) == 0:
            return f"{number / unit:g}{letter}"
    return str(number)


@dataclass(frozen=True)
class Axes:
    """Linear or logarithmic axes: the caption, the lowest number, the position of a number, and the marked numbers."""

    caption: str
    lowest: int
    share: Callable[[float, float], float]
    ticks: Callable[[int], list[int]]


LINEAR = Axes("mistakes against rounds", 0, lambda x, most: x / most, linear_ticks)
LOGARITHMIC = Axes(
    "the same, both axes logarithmic", 1, lambda x, most: math.log(x) / math.log(max(most, 2)), powers_of_ten
)

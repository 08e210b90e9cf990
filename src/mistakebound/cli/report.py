"""``run --report``: a page that needs nothing but itself. No script, no network; everything from files is escaped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mistakebound as mb
from mistakebound._support.escaping import escaped
from mistakebound.cli.summary import headline, meaning, share, size
from mistakebound.errors import naming
from mistakebound.learners.explain import Features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mistakebound.certificates.certificate import Certificate
    from mistakebound.cli.curve import Curve
    from mistakebound.learners.linear import LinearLearner

    Lines = list[tuple[str, Sequence[tuple[int, float]]]]

TOP = 40
"""How many weights are listed."""

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
.holds { color: var(--good); } .violated { color: var(--bad); }
"""


def write_page(
    path: str,
    found: dict[str, Any],
    curve: Curve,
    model: LinearLearner,
    certificate: Certificate | None,
) -> None:
    """Write the page of a run."""
    text = page(found, curve.to_now(), Features(model), certificate)
    with naming(path):
        Path(path).write_text(text, encoding="utf-8")


def page(
    found: dict[str, Any], points: list[tuple[int, int]], features: Features, certificate: Certificate | None
) -> str:
    """The whole page, from the facts of a run, its curve, the learner's features and its certificate."""
    title = headline(found)
    files = ", ".join(text(file) for file in found["files"])
    ended = f"<p>Ended before the end: {text(found['stopped'])}</p>" if found["stopped"] else ""
    bound = certificate.bound if certificate is not None and math.isfinite(certificate.bound) else None
    body = [
        f"<h1>{title}</h1><p>{share(found['mistakes'], found['rounds'])} of {files}</p>{ended}",
        summary(found),
        pictures(points, found["majority_mistakes"], found["majority"], bound),
        "" if certificate is None else certified(certificate),
        weights(features),
        listing("Skipped lines", [text(line) for line in found["skipped"]]),
        f"<footer>mistakebound {mb.__version__}</footer>",
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
    """Something from a file or of the user's, made harmless; its direction of writing stays its own."""
    return f"<bdi>{escape(escaped(value))}</bdi>"


def rows(cells: Iterable[tuple[str, ...]]) -> str:
    """A table of cells that are HTML already; all but the last are numbers."""
    lines = []
    for *numbers, last in cells:
        lines.append("<tr>" + "".join(f'<td class="n">{each}</td>' for each in numbers) + f"<td>{last}</td></tr>")
    return "<table>" + "\n".join(lines) + "</table>"


def summary(found: dict[str, Any]) -> str:
    """Mistakes by kind, what guessing would have made, and how it was done."""
    rounds = found["rounds"]
    negative, positive = (text(label) for label in found["classes"])
    kinds = [
        (found["false_positives"], f"said {positive}, was {negative}"),
        (found["false_negatives"], f"said {negative}, was {positive}"),
        (found["majority_mistakes"], f"would be those of always saying {text(found['majority'])}"),
    ]
    counts = rows((f"{count:,}", share(count, rounds), words) for count, words in kinds)
    parameters = rows([(f"<code>{text(found['options'])}</code>",)])
    speed = f", {size(found['bytes'])} of text" if found["bytes"] else ""
    return f"<h2>Mistakes</h2>{counts}<h2>Learner</h2>{parameters}<p>{found['seconds']:.2f} s{speed}</p>"


def certified(certificate: Certificate) -> str:
    """The certificate in words, with its premises."""
    status = certificate.status.replace(" ", "-")
    verdict = f'<b class="{status}">{escape(certificate.status)}</b> on the {escape(certificate.scope)}'
    details = "".join(f"<li>{text(line)}</li>" for line in certificate.details())
    return f"<h2>Certificate</h2><p>{verdict}: {escape(meaning(certificate))}</p><ul>{details}</ul>"


def weights(features: Features) -> str:
    """The largest weights."""
    constant = [] if features.constant is None else [(f"{features.constant.adds:.6g}", text(features.constant.feature))]
    found = [(f"{weight:.6g}", text(name)) for name, weight in features.largest(TOP)]
    return f"<h2>Largest weights</h2>{rows([*constant, *found])}"


def listing(title: str, lines: list[str]) -> str:
    """Some lines under a title, if there are any."""
    return f"<h2>{title}</h2>{rows((line,) for line in lines)}" if lines else ""


# ---------------------------------------------------------------------- pictures

WIDTH, HEIGHT, LEFT, RIGHT, TOP_EDGE, BOTTOM = 480, 300, 60, 10, 10, 40


def pictures(points: list[tuple[int, int]], guessing: int, guess: object, bound: float | None) -> str:
    """Mistakes against rounds on both kinds of paper, beside those of always guessing the same."""
    rounds, mistakes = points[-1]
    if not rounds:
        return ""
    highest = max(mistakes, guessing, 1)
    lines: Lines = [("other", [(x, x * guessing / rounds) for x, _ in points]), ("ours", points)]
    if bound is not None and bound <= 2 * highest:
        lines.append(("bound", [(0, bound), (1, bound), (rounds, bound)]))
        highest = max(highest, math.ceil(bound))
    drawn = "".join(
        f"<figure>{picture(lines, rounds, highest, paper)}<figcaption>{paper.words}</figcaption></figure>"
        for paper in ((EVEN, LOGARITHMIC) if rounds >= 10 else (EVEN,))
    )
    key = f"Solid: the learner. Dashed: always saying {text(guess)}, as often as it is wrong in the end."
    key += " Dotted: what the certificate allows." if len(lines) > 2 else ""
    return f'<h2>As it went</h2><div class="pictures">{drawn}</div><p>{key}</p>'


def picture(lines: Lines, right: int, top: int, paper: Paper) -> str:
    """Lines of (x, y) on one kind of paper, from its lowest number to ``right`` and ``top``."""
    lowest = paper.lowest

    def place(x: float, y: float) -> tuple[float, float]:
        along, up = paper.share(x, right), paper.share(y, top)
        return LEFT + along * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP_EDGE - BOTTOM)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="mistakes against rounds">']
    for tick in paper.ticks(right):
        x, y = place(tick, lowest)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP_EDGE}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle">{brief(tick)}</text>')
    for tick in paper.ticks(top):
        x, y = place(lowest, tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{brief(tick)}</text>')
    for kind, points in lines:
        places = (place(x, y) for x, y in points if min(x, y) >= lowest)
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline class="{kind}" points="{joined}"/>')
    parts.append(f'<text x="{(WIDTH + LEFT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">rounds</text></svg>')
    return "".join(parts)


def even_ticks(most: int) -> list[int]:
    """From 0 in even steps of 1, 2 or 5 times a power of ten, about five of them.

    >>> even_ticks(32_561)
    [0, 10000, 20000, 30000]
    """
    power = 10 ** max(0, math.floor(math.log10(most / 5)) if most >= 5 else 0)
    step = next(step for step in (power, 2 * power, 5 * power, 10 * power) if most / step <= 5)
    return list(range(0, most + 1, step))


def powers_of_ten(most: int) -> list[int]:
    """Return 1, 10, 100, ... up to ``most``."""
    return [10**power for power in range(len(str(most)))]


def brief(number: int) -> str:
    """A short number.

    >>> [brief(number) for number in (0, 500, 20_000, 3_000_000)]
    ['0', '500', '20k', '3M']
    """
    for unit, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= unit and number % (unit // 10) == 0:
            return f"{number / unit:g}{letter}"
    return str(number)


@dataclass(frozen=True)
class Paper:
    """What a picture is drawn on: where a number lies between the lowest one and the most, and which are marked."""

    words: str
    lowest: int
    share: Callable[[float, float], float]
    ticks: Callable[[int], list[int]]


EVEN = Paper("mistakes against rounds", 0, lambda x, most: x / most, even_ticks)
LOGARITHMIC = Paper(
    "the same, both axes logarithmic", 1, lambda x, most: math.log(x) / math.log(max(most, 2)), powers_of_ten
)

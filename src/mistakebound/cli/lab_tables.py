"""Show the results of experiments in a terminal, with rich."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mistakebound._support.text import escaped, many
from mistakebound.lab.experiment import cell, has_words
from mistakebound.lab.results_page import theorems_in_words
from mistakebound.viz.chart import LIGHT
from mistakebound.viz.text_chart import text_chart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound.lab.experiment import Result
    from mistakebound.lab.experiment import Table as Rows

COLOURS = ("blue", "dark_orange3", "green", "magenta", "yellow", "purple", "white")
"""Colours of a terminal for the marks of a chart, in the order of `LIGHT`."""
WIDE = 100
"""Columns of text that is not for a terminal."""
LEAST_WORDS = 24
"""A column of words is not made narrower than this."""


def show(result: Result, *, drawn: bool) -> None:
    """Show one experiment: claim, setting, a chart, tables, checks and the verdict."""
    console = console_of()
    console.print(Text(result.title, style="bold"))
    console.print()
    for name, words in (("Claim", result.claim), ("Setting", result.setting)):
        console.print(hanging(f"{name}:", words))
    if result.theorems:
        console.print(hanging("Theorems:", theorems_in_words(result)))
    console.print()
    if result.charts:
        show_chart(console, result, drawn=drawn)
    for table in result.tables:
        console.print(Text("\n".join([*lines_of(table, console.width), ""])), soft_wrap=True)
    for check in result.checks:
        console.print(hanging(*mark(holds=check.holds), check.statement, check.measured))
    console.print()
    console.print(hanging("Result:", result.conclusion))
    console.print(verdict(result))
    console.print(Text(f"to repeat: {result.command}", style="dim"), soft_wrap=True)


def console_of() -> Console:
    """Return rich's console for standard output. Text in a file or a pipe is as wide as a page."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDE)


def show_chart(console: Console, result: Result, *, drawn: bool) -> None:
    """Show the first chart as text, and how to see the others."""
    for pieces in text_chart(result.charts[0], width=min(console.width, 90) - 2):
        line = Text("  ")
        for text, colour in pieces:
            line.append(text, style="" if colour is None else COLOURS[colour % len(LIGHT)])
        line.rstrip()
        console.print(line, no_wrap=True)
    if not drawn:
        more = len(result.charts) - 1
        words = (
            f"{many(more, 'more chart')}: --plot FILE.png or --report FILE.html" if more else "--plot FILE.png draws it"
        )
        console.print(Text(f"  {words}", style="dim"))
    console.print()


def lines_of(rows: Rows, width: int = WIDE) -> list[str]:
    r"""Return a table as lines of text. Heads are wrapped to the width of their columns; numbers are at the right.

    A table that is wider than the terminal has its longest column of words wrapped. If that is not enough, the columns
    are printed in several tables, one below the other, each with the first column, or with the first two if the first
    does not tell the rows apart.

    >>> from mistakebound.lab.experiment import Table
    >>> table = Table("Mistakes", ("n", "who", "most mistakes"), [(1000, "we", 2), (5, "they", 10)])
    >>> print(*lines_of(table), sep="\n")
    Mistakes
                       most
          n  who   mistakes
      ─────────────────────
      1,000  we           2
          5  they        10
    """
    cells = [[escaped(cell(value)) for value in row] for row in rows.rows]
    widths = [max(map(len, [*name.split(), *(row[place] for row in cells)])) for place, name in enumerate(rows.columns)]
    words = [place for place in range(len(widths)) if has_words(rows, place)]
    if words:
        longest = max(words, key=widths.__getitem__)
        too_much = max(0, sum(widths) + 2 * len(widths) - width)
        widths[longest] = max(widths[longest] - too_much, min(widths[longest], LEAST_WORDS))
    named = (
        1 if len({row[0] for row in cells}) == len(cells) or len({tuple(row[:2]) for row in cells}) < len(cells) else 2
    )
    blocks = [list(range(named))]
    for place in range(named, len(widths)):
        if sum(widths[at] + 2 for at in [*blocks[-1], place]) > width and len(blocks[-1]) > named:
            blocks.append(list(range(named)))
        blocks[-1].append(place)
    lines = [rows.title]
    for number, block in enumerate(blocks):
        head = [wrap(rows.columns[at], widths[at]) for at in block]
        body = [[wrap(row[at], widths[at]) or [""] for at in block] for row in cells]
        sides = [str.ljust if at in words else str.rjust for at in block]
        above = _lines(head, [widths[at] for at in block], sides, bottom=True)
        below = [line for row in body for line in _lines(row, [widths[at] for at in block], sides, bottom=False)]
        ruler = "  " + "─" * (max(map(len, [*above, *below])) - 2)
        lines += [*([""] if number else []), *above, ruler, *below]
    return lines


def _lines(cells: Sequence[list[str]], widths: Sequence[int], sides: Sequence[Any], *, bottom: bool) -> list[str]:
    """Return the lines of a row, whose cells have several lines; short cells are at the top or at the bottom."""
    tallest = max(map(len, cells))
    padded = []
    for lines, width, side in zip(cells, widths, sides, strict=True):
        missing = [""] * (tallest - len(lines))
        padded.append([side(line, width) for line in ([*missing, *lines] if bottom else [*lines, *missing])])
    return ["  " + "  ".join(line).rstrip() for line in zip(*padded, strict=True)]


def hanging(first: str | Text, *words: str | Text) -> Any:
    """Return words beside a name or a sign; later lines are indented. A second text is dim, in brackets."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column()
    body = Text(str(words[0]))
    for more in words[1:]:
        body.append(f" ({more})" if more else "", style="dim")
    grid.add_row(first, body)
    return Padding(grid, 0)


def mark(*, holds: bool) -> tuple[Text]:
    """Return the sign of a check."""
    return (Text("✓", style="green") if holds else Text("✗", style="bold red"),)


def verdict(result: Result) -> Text:
    """Return whether the checks hold, and the time."""
    failed = sum(not check.holds for check in result.checks)
    checks = many(len(result.checks), "check")
    time = f" ({result.seconds:.1f} s)"
    if failed:
        return Text.assemble((f"✗ {failed} of {checks} fail", "bold red"), time)
    return Text.assemble((f"✓ all {checks} hold", "bold green"), time)


def show_all(results: Sequence[Result]) -> None:
    """Show one line for each experiment, and the checks that fail."""
    console = console_of()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("experiment", "claim", "verdict"):
        table.add_column(name, overflow="fold")
    table.add_column("seconds", justify="right")
    for result in results:
        failed = sum(not check.holds for check in result.checks)
        text = f"✗ {failed} of {len(result.checks)} fail" if failed else f"✓ {many(len(result.checks), 'check')}"
        style = "bold red" if failed else "green"
        table.add_row(Text(result.name), Text(result.title), Text(text, style=style), f"{result.seconds:.1f}")
    console.print(table)
    for result in results:
        for check in result.checks:
            if not check.holds:
                console.print(hanging(*mark(holds=False), f"{result.name}: {check.statement}", check.measured))
    wrong = [result.name for result in results if not result.holds]
    seconds = sum(result.seconds for result in results)
    checks = sum(len(result.checks) for result in results)
    words = f"all {many(len(results), 'experiment')} hold: {many(checks, 'check')}, {seconds:.1f} s"
    console.print(Text(f"✗ {len(wrong)} of {many(len(results), 'experiment')} fail" if wrong else f"✓ {words}"))

"""Self-contained HTML pages: nothing is loaded from elsewhere, and text from files is escaped."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from functools import cache
from html import escape
from importlib.resources import files
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from mistakebound._support.text import escaped
from mistakebound.errors import add_file_name
from mistakebound.viz.svg_chart import figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mistakebound.viz.chart import Chart

LONG, VERY_LONG = 16, 40
"""Most letters of a cell that is not wrapped: in the first column, and in others."""


def page(headline: str, lead: str, sections: Sequence[str], *, made_by: Mapping[str, str], command: str = "") -> str:
    """Return a page.

    Parameters
    ----------
    headline : str
        The title and headline, as plain text.
    lead : str
        What the headline means: a sentence or two, as HTML.
    sections : sequence of str
        HTML; empty sections are left out.
    made_by : mapping
        The programs that made it, with their versions.
    command : str
        The command that makes the page again.
    """
    script = _read("hover.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    title = escape(escaped(headline))
    again = f"<h2>Make this page again</h2>{command_line(command)}" if command else ""
    versions = ", ".join(f"{escape(name)} {escape(version)}" for name, version in made_by.items())
    body = [f"<header><h1>{title}</h1><p class='lead'>{lead}</p></header>", *sections, again]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width"><style>{_read("page.css")}</style></head>\n<body>\n'
        + "\n".join(part for part in body if part)
        + f"\n<footer>{versions}</footer>\n<script>{script}</script>\n</body></html>\n"
    )


def versions() -> dict[str, str]:
    """Return the versions of the programs that make a page: of this package, of Python, and of the system."""
    import platform  # noqa: PLC0415 - only pages need it

    package: Any = sys.modules[__name__.partition(".")[0]]  # importing it here would be a cycle
    system = platform.uname()
    return {
        "mistakebound": package.__version__,
        "Python": platform.python_version(),
        system.system: f"{system.release} {system.machine}",
    }


@cache
def _read(name: str) -> str:
    return (files("mistakebound.viz") / name).read_text("utf-8")


def section(title: str, *parts: str, anchor: str = "") -> str:
    """Return a section with a title; empty if it has no content. Links can lead to its anchor."""
    body = "\n".join(part for part in parts if part)
    place = f' id="{escape(anchor)}"' if anchor else ""
    return f"<section{place}><h2>{escape(title)}</h2>\n{body}</section>" if body else ""


def text(value: Any) -> str:
    """Return text from a file or the user as HTML: escaped, and isolated in its writing direction."""
    return f"<bdi>{escape(escaped(value))}</bdi>"


def paragraph(words: str) -> str:
    """Return a paragraph of plain text."""
    return f"<p>{escape(escaped(words))}</p>"


def command_line(command: str) -> str:
    """Return a command of the shell; on a narrow screen, a line breaks only between words."""
    return f"<pre>{_whole_words(command)}</pre>"


def code(line: str) -> str:
    """Return options of a command, for a line of text; a line breaks only between words."""
    return f"<code>{_whole_words(line)}</code>"


def _whole_words(line: str) -> str:
    """Return words that are not broken, although a browser breaks a line after a hyphen."""
    return " ".join(f"<span>{escape(escaped(word))}</span>" for word in line.split(" "))


def charts(drawn: Iterable[Chart]) -> str:
    """Return charts beside each other, as far as the page is wide enough."""
    figures = "".join(figure(each) for each in drawn)
    return f'<div class="charts">{figures}</div>' if figures else ""


def cards(numbers: Mapping[str, str]) -> str:
    """Return the most important numbers, each with its name: {name: number}."""
    entries = "".join(f"<li><b>{escape(value)}</b>{escape(name)}</li>" for name, value in numbers.items())
    return f'<ul class="cards">{entries}</ul>'


def write(path: str | PathLike[str], made: str) -> None:
    """Write a page to a file; an error has the name of the file."""
    with add_file_name(fspath(path)), open(path, "w", encoding="utf-8") as file:
        file.write(made)


def listing(title: str, lines: Iterable[Any]) -> str:
    """Return a section with a list of texts; empty if there are none."""
    entries = "".join(f"<li>{text(line)}</li>" for line in lines)
    return section(title, f"<ul>{entries}</ul>") if entries else ""


def facts(rows: Mapping[str, str]) -> str:
    """Return names with what belongs to them, which is HTML already; empty ones are left out."""
    lines = "\n".join(f"<tr><th>{escape(name)}</th><td>{cell}</td></tr>" for name, cell in rows.items() if cell)
    return f'<table class="facts">{lines}</table>'


def table(
    head: Sequence[str], lines: Iterable[Sequence[str]], *, numbers_from: int = 0, words: Sequence[int] = ()
) -> str:
    """Return an HTML table with a head. Cells are HTML already.

    Those from column ``numbers_from`` on are numbers, except for the columns ``words``.
    """
    kinds = ["" if column < numbers_from or column in words else ' class="n"' for column in range(len(head))]
    top = "".join(f"<th{kind}>{words}</th>" for kind, words in zip(kinds, head, strict=True))
    body = "\n".join(
        "<tr>" + "".join(f"<td{kinds[k] or _kind(k, cell)}>{cell}</td>" for k, cell in enumerate(line)) + "</tr>"
        for line in lines
    )
    return f'<div class="wide"><table><tr>{top}</tr>\n{body}</table></div>'


def _kind(column: int, cell: str) -> str:
    """Return the class of a cell with words: a long one is wrapped, a name of a row earlier than other texts."""
    return ' class="long"' if (LONG if column == 0 else VERY_LONG) < len(re.sub("<[^>]*>", "", cell)) else ""


def bar_table(head: tuple[str, str], rows: Sequence[tuple[str, float]]) -> str:
    """Return names and numbers with a bar for each number: to the right if it is above 0, to the left if below."""
    largest = max((abs(value) for _, value in rows), default=0.0) or 1.0
    both = any(value < 0 for _, value in rows)
    lines = []
    for name, value in rows:
        width = abs(value) / largest * (50 if both else 100)
        left = (50 - width if value < 0 else 50) if both else 0
        colour = "c1" if value < 0 else "c0"
        rect = f'<rect class="box {colour}" x="{left:.2f}" width="{width:.2f}" height="10"/>'
        bar = f'<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">{rect}</svg>'
        lines.append(
            f'<tr><td class="text">{text(name)}</td><td class="bar">{bar}</td><td class="n">{value:.4g}</td></tr>'
        )
    top = f"<tr><th>{escape(head[0])}</th><th></th><th class='n'>{escape(head[1])}</th></tr>"
    return f'<div class="wide"><table>{top}\n{"".join(lines)}</table></div>'

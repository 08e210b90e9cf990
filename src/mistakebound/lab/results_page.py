"""Write the results of experiments as one HTML page."""

from __future__ import annotations

import platform
from html import escape
from typing import TYPE_CHECKING

import numpy as np

import mistakebound as mb
from mistakebound._support.text import many
from mistakebound.lab.experiment import cell, has_words
from mistakebound.viz import page as html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound.lab.experiment import Check, Result, Table

MOST_ROWS = 12
"""A longer table is folded."""
MOST_CHECKS = 8
"""If there are more checks, those that hold are folded."""


ONLY_HERE = "They hold on these streams, for this seed; the proofs of the theorems are in theory.md of the docs."


def results_page(results: Sequence[Result], command: str = "") -> str:
    """Return a page with a list of the experiments, and a section for each of them."""
    failed = [result for result in results if not result.holds]
    checks = sum(len(result.checks) for result in results)
    if len(results) == 1:
        headline = results[0].title
        lead = verdict(results[0])
    else:
        headline = f"{many(len(results), 'experiment')}: {'no claim is refuted' if not failed else 'a claim fails'}"
        names = ", ".join(result.name for result in failed)
        lead = escape(f"These fail: {names}." if failed else f"All {checks} checks hold. {ONLY_HERE}")
    sections = [] if len(results) == 1 else [contents(results)]
    sections += [section_of(result, alone=len(results) == 1) for result in results]
    made_by = {"mistakebound": mb.__version__, "Python": platform.python_version(), "numpy": np.__version__}
    return html.page(headline, lead, sections, made_by=made_by, command=command)


def verdict(result: Result) -> str:
    """Return as HTML whether the checks of an experiment hold."""
    failed = sum(not check.holds for check in result.checks)
    if failed:
        return f'<b class="fails">✗ {failed} of {many(len(result.checks), "check")} fail</b>'
    return f'<b class="holds">✓ all {many(len(result.checks), "check")} hold</b>'


def contents(results: Sequence[Result]) -> str:
    """Return the list of the experiments, with links to their sections."""
    lines = [
        (
            f'<a href="#{escape(result.name)}">{escape(result.name)}</a>',
            verdict(result),
            f"{result.seconds:.1f}",
            escape(result.title),
        )
        for result in results
    ]
    return html.section(
        "Contents", html.table(("experiment", "verdict", "seconds", "title"), lines, words=(0, 1, 3)), anchor="contents"
    )


def section_of(result: Result, *, alone: bool) -> str:
    """Return what an experiment claims, what it found, and the command that repeats it."""
    return html.section(
        "The experiment" if alone else result.title,
        f"<p>{verdict(result)}</p>" if not alone else "",
        _part("Claim", result.claim),
        _part("Setting", result.setting),
        _part("Theorems", theorems_in_words(result)),
        _part("Result", result.conclusion),
        html.charts(result.charts),
        "\n".join(map(_table, result.tables)),
        _checks(result),
        html.command_line(result.command),
        '<p><a href="#contents">contents</a></p>' if not alone else "",
        anchor=result.name,
    )


def _part(name: str, words: str) -> str:
    return f"<p><b>{name}.</b> {escape(words)}</p>" if words else ""


def theorems_in_words(result: Result) -> str:
    """Return the ids of the theorems of an experiment, and where their proofs are."""
    proofs = "its proof is" if len(result.theorems) == 1 else "their proofs are"
    return f"{', '.join(result.theorems)}; {proofs} in theory.md of the docs." if result.theorems else ""


def _table(table: Table) -> str:
    head = [escape(name) for name in table.columns]
    words = [column for column in range(len(head)) if has_words(table, column)]
    lines = [[escape(cell(value)) for value in row] for row in table.rows]
    drawn = html.table(head, lines, words=words)
    if len(table.rows) <= MOST_ROWS:
        return f"<h3>{escape(table.title)}</h3>{drawn}"
    return f"<details><summary>{escape(table.title)}: {many(len(table.rows), 'row')}</summary>{drawn}</details>"


def _checks(result: Result) -> str:
    held = [check for check in result.checks if check.holds]
    if len(result.checks) <= MOST_CHECKS or not held:
        return f"<h3>Checks</h3>{_list(result.checks)}"
    failed = [check for check in result.checks if not check.holds]
    summary = f"{many(len(held), 'check')} {'holds' if len(held) == 1 else 'hold'}"
    folded = f"<details><summary>{summary}</summary>{_list(held)}</details>"
    return f"<h3>Checks</h3>{_list(failed) if failed else ''}{folded}"


def _list(checks: Sequence[Check]) -> str:
    signs = {True: '<b class="holds">✓</b>', False: '<b class="fails">✗</b>'}
    lines = "".join(
        f"<li>{signs[check.holds]}{escape(check.statement)}"
        + (f' <span class="soft">({escape(check.measured)})</span>' if check.measured else "")
        + "</li>"
        for check in checks
    )
    return f'<ul class="checks">{lines}</ul>'

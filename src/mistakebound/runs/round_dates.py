"""The dates of the rounds of a run, from a column of its table, for the charts of its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mistakebound.data.columns import read_columns
from mistakebound.data.dates import date_column
from mistakebound.runs.progress import cannot_be_read_again
from mistakebound.viz.time_axis import ROUNDS, TimeAxis

if TYPE_CHECKING:
    from mistakebound.data.reader import ReadReport
    from mistakebound.data.source import Source

LARGEST = 50_000_000
"""Bytes of text that are read again at most to find dates; a larger table has rounds on its axis."""
OF_ONE_FILE = ("separator", "header")


def time_axis(source: Source, report: ReadReport | None, rounds: int) -> TimeAxis:
    """Return an axis of dates if a column has a date in every row that never decreases; otherwise of rounds.

    The files are read a second time. Dates are used only if there is one row for each round: after one pass over a
    table or JSON lines, with a label in every row.
    """
    options = None if report is None else report.options
    if report is None or options is None or options.format not in ("table", "json") or not 0 < report.bytes <= LARGEST:
        return ROUNDS
    if source.follow or cannot_be_read_again(source):
        return ROUNDS
    table = {name: options.table[name] for name in OF_ONE_FILE if name in options.table}
    try:
        frame = read_columns(source.files, format=options.format, table=table, skip_bad=source.skip_bad)
    except (OSError, ValueError):  # a file that ends the run early cannot be read completely
        return ROUNDS
    found = date_column(frame) if frame.rows == rounds else None
    return ROUNDS if found is None else TimeAxis(found.name, found.seconds)

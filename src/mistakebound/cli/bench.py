"""``mistakebound bench``: time this package and other libraries on the same stream, on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import mistakebound as mb
from mistakebound._support.json_numbers import json_of
from mistakebound._support.text import many
from mistakebound.cli.help import EXIT_CODES, Manual

if TYPE_CHECKING:
    from mistakebound.bench.comparison import Timing


@click.command(cls=Manual, epilog=EXIT_CODES, short_help="Compare the speed with other libraries.")
@click.option(
    "--rows", default=20_000, show_default=True, type=click.IntRange(100), help="Number of rows of the stream."
)
@click.option(
    "--repeats", default=3, show_default=True, type=click.IntRange(1), help="Number of turns; the best one counts."
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of the table.")
def bench(rows: int, repeats: int, *, as_json: bool) -> None:
    """Compare the speed with scikit-learn, river and Vowpal Wabbit, if they are installed.

    Both sides learn a Perceptron from the same generated stream (75 non-zeros per row, about 1.2 kB of text), in
    alternating turns; Vowpal Wabbit runs its default learner. The ratio is the time of the other library divided by
    ours. With few rows the times include the start of the programs: --rows 200000 takes some minutes, and is more
    precise.
    """
    from mistakebound.bench.comparison import not_installed, timings  # noqa: PLC0415 - it needs numpy

    missing, results = not_installed(), []
    if not as_json:
        click.echo(f"{rows:,} rows, best of {many(repeats, 'turn')} each\n")
        click.echo(f"{'':46} {'library':>14} {'seconds':>9} {'ours':>9} {'ratio':>8}")
    for found in timings(rows, repeats):
        results.append(
            {
                "what": found.what,
                "peer": found.peer,
                "ours": found.ours,
                "theirs": found.theirs,
                "ratio": found.ratio,
            }
        )
        if not as_json:
            click.echo(as_text(found))
    if as_json:
        about = {"version": mb.__version__, "rows": rows, "repeats": repeats}
        click.echo(json_of(about | {"results": results, "not_installed": missing}))
    elif missing:
        click.echo(f"\nnot installed: {', '.join(missing)}; to compare: pip install {' '.join(missing)}")


def as_text(found: Timing) -> str:
    """Return one line of the table."""
    seconds = f"{found.theirs:.3f}" if found.theirs else "–"
    ratio = f"{found.ratio:.1f}x" if found.ratio else "–"
    return f"{found.what:46} {found.peer:>14} {seconds:>9} {found.ours:>9.3f} {ratio:>8}"

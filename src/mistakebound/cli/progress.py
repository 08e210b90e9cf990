"""Progress of a command: a table of lines, and a bar at the foot of a terminal. Rich is imported only to draw it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from mistakebound._support.text import escaped
from mistakebound.cli.output import as_flag, can_be_drawn, note, progress_line
from mistakebound.runs.progress import Progress

if TYPE_CHECKING:
    import mistakebound as mb
    from mistakebound.data.remarks import Remark
    from mistakebound.runs.progress import Line, Position, Tally

PATIENCE = 0.5
"""Seconds before a bar is drawn: most runs have ended by then, and importing rich takes time."""
WIDE = 120
"""Columns that a terminal needs for a bar beside the text."""


class Table(Progress):
    """A table with lines at rounds 1, 2, 4, 8, ... and at the end, and a bar below it during the run."""

    def __init__(self, source: mb.Source, passes: int, checkpoint: str | None, *, quiet: bool) -> None:
        self.checkpoint, self.quiet = checkpoint, quiet
        self.lines = not quiet
        self.bar = None if quiet or not can_be_drawn() else Bar(source, passes)
        self.has_header = False

    def begin(self, rounds: int | None) -> None:
        """Show where a resumed run starts."""
        if rounds is None:
            click.echo(f"there is no {escaped(self.checkpoint)} yet: starting at the beginning", err=True)
            return
        click.echo(f"resuming after {rounds:,} examples", err=True)
        if self.bar is not None:
            self.bar.resume()

    def learned(self, tally: Tally, position: Position) -> None:
        """Show the new lines, and update the bar."""
        if tally.lines:
            self._show(tally)
        if self.bar is not None:
            self.bar.update(tally, position.done)

    def remark(self, remark: Remark) -> None:
        """Show a remark."""
        if not self.quiet:
            if self.bar is not None:
                self.bar.close()
            note(remark.text(as_flag))

    def end(self, tally: Tally) -> None:
        """Show the last line."""
        if self.bar is not None:
            self.bar.close()
        if not self.quiet:
            self._show(tally)

    def _show(self, tally: Tally) -> None:
        if self.bar is not None:
            self.bar.close()  # the next update draws it again
        for line in tally.lines:
            if not self.has_header:
                self.has_header = True
                losses = "" if line.loss is None else f" {'mix loss':>8} {'its bound':>9}"
                click.echo(
                    f"{'rounds':>12} {'mistakes':>9} {'rate':>7} {'since':>7} {'bound':>9}{losses} {'examples/s':>11}"
                )
            click.echo(as_text(line))


def as_text(line: Line) -> str:
    """Return a line of the table."""
    rounds, mistakes, bound = line.rounds, line.mistakes, line.bound
    allowed = "–" if bound is None else f"{bound:,.0f}" if mistakes <= bound else "exceeded"
    loss_bound = "–" if line.loss_bound is None else f"{line.loss_bound:.4f}"
    losses = "" if line.loss is None else f" {line.loss:>8.4f} {loss_bound:>9}"
    rates = f"{mistakes / rounds:>7.4f} {line.since:>7.4f}"
    return f"{rounds:>12,} {mistakes:>9,} {rates} {allowed:>9}{losses} {line.speed:>11,.0f}"


class Bar:
    """A bar with the bytes read, examples per second, mistakes so far, and the time left if it is known.

    A thread of rich draws it on standard error. It is removed while something else is written.
    """

    def __init__(self, source: mb.Source, passes: int) -> None:
        self.following = source.follow
        one_pass = source.total
        self.total = None if one_pass is None else passes * one_pass
        self.start = time.perf_counter()
        # Lines of a pipe are shown at once, because a person may be waiting for them.
        self.patience = PATIENCE if one_pass else 0.0
        self._drawn: Any = None
        self._first: tuple[float, int] | None = (0.0, 0)

    def resume(self) -> None:
        """Ignore the bytes of an earlier process when the time left is estimated."""
        self._first = None

    def update(self, tally: Tally, done: int) -> None:
        """Show the counts of a run that has read ``done`` bytes."""
        seconds = time.perf_counter() - self.start
        if self._first is None:
            self._first = (seconds, done)
        if self._drawn is None and seconds < self.patience:
            return
        speed = (tally.rounds - tally.earlier) / max(seconds, 1e-9)
        words = f"{tally.rounds:,} examples, {tally.mistakes:,} mistakes, {speed:,.0f} examples/s"
        if self.following:
            words += ", waiting for more"
        elif self.total and done > self._first[1]:
            each = (seconds - self._first[0]) / (done - self._first[1])
            words += f", {duration(each * max(self.total - done, 0))} left"
        self._draw(done, words)

    def close(self) -> None:
        """Remove the bar."""
        if self._drawn is not None:
            self._drawn.stop()
            self._drawn = None

    def _draw(self, done: int, words: str) -> None:
        if self._drawn is None:
            self._drawn = self._new()
            self._drawn.add_task("", total=self.total, completed=done, words=words)
            self._drawn.start()
        self._drawn.update(self._drawn.task_ids[0], completed=done, words=words)

    def _new(self) -> Any:
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import BarColumn, DownloadColumn, TaskProgressColumn, TextColumn  # noqa: PLC0415
        from rich.table import Column  # noqa: PLC0415

        wide = Console(stderr=True).width >= WIDE
        known = [] if not self.total else [BarColumn(20), DownloadColumn()] if wide else [TaskProgressColumn()]
        return progress_line(
            *known, TextColumn("{task.fields[words]}", markup=False, table_column=Column(no_wrap=True))
        )


def duration(seconds: float) -> str:
    """Return a time as hours, minutes and seconds.

    >>> duration(7.2), duration(125), duration(7300)
    ('0:07', '2:05', '2:01:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

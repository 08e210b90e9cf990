"""A line at the foot of a terminal that tells how far a run is. Rich is imported only where it is drawn."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import mistakebound as mb

PATIENCE = 0.5
"""Seconds that a run may last without a bar: most are over by then, and importing rich takes a while."""
PER_SECOND = 4
WIDE = 120
"""Columns of a terminal on which there is room for a bar beside what is told."""


class Bar:
    """Bytes done of all where that is known, examples a second, mistakes so far and the time left.

    It is drawn on standard error by a thread of rich's, and taken away while something else is written.
    """

    def __init__(self, source: mb.Source, passes: int, *, wanted: bool) -> None:
        self.source = source
        self._one_pass = source.total
        self.total = None if self._one_pass is None else passes * self._one_pass
        self.wanted = wanted and can_be_drawn()
        self.start = time.perf_counter()
        # What comes line by line is shown at once; who waits for it wants to see it come.
        self.patience = PATIENCE if self._one_pass else 0.0
        self._drawn: Any = None
        self._before = self._earlier = 0
        self._first: tuple[float, int] | None = (0.0, 0)

    def go_on(self, rounds: int) -> None:
        """Begin where an earlier process stopped; the speed is that of this one."""
        self._earlier, self._first = rounds, None

    def update(self, rounds: int, mistakes: int, done: int) -> None:
        """Show these counts, and how many bytes of the present pass are done."""
        if not self.wanted:
            return
        seconds, done = time.perf_counter() - self.start, self._before + done
        if self._first is None:  # what an earlier process has done tells nothing of the time that is left
            self._first = (seconds, done)
        if self._drawn is None and seconds < self.patience:
            return
        speed = (rounds - self._earlier) / max(seconds, 1e-9)
        told = f"{rounds:,} examples, {mistakes:,} mistakes, {speed:,.0f} examples/s"
        if self.source.follow:
            told += ", waiting for more"
        elif self.total and done > self._first[1]:
            each = (seconds - self._first[0]) / (done - self._first[1])
            told += f", {left(each * max(self.total - done, 0))} left"
        self._draw(done, told)

    def passed(self, passes: int) -> None:
        """So many passes are done."""
        self._before = passes * (self._one_pass or 0)

    @contextmanager
    def away(self) -> Iterator[None]:
        """Take the bar away, to write something else in its place; the next update draws it again."""
        self.close()
        yield

    def close(self) -> None:
        """Take the bar away."""
        if self._drawn is not None:
            self._drawn.stop()
            self._drawn = None

    def _draw(self, done: int, told: str) -> None:
        if self._drawn is None:
            self._drawn = self._new()
            self._drawn.add_task("", total=self.total, completed=done, told=told)
            self._drawn.start()
        self._drawn.update(self._drawn.task_ids[0], completed=done, told=told)

    def _new(self) -> Any:
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import BarColumn, DownloadColumn, TaskProgressColumn, TextColumn  # noqa: PLC0415
        from rich.table import Column  # noqa: PLC0415

        wide = Console(stderr=True).width >= WIDE
        known = [] if not self.total else [BarColumn(20), DownloadColumn()] if wide else [TaskProgressColumn()]
        return foot(*known, TextColumn("{task.fields[told]}", markup=False, table_column=Column(no_wrap=True)))


def can_be_drawn() -> bool:
    """Whether standard error is a terminal that can take a line away again."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def foot(*columns: Any) -> Any:
    """Rich's progress on standard error, of these columns."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    return Progress(
        *columns,
        console=Console(stderr=True, highlight=False),
        transient=True,
        refresh_per_second=PER_SECOND,
        redirect_stdout=False,  # what goes to standard output must not end on standard error
        redirect_stderr=False,
    )


def left(seconds: float) -> str:
    """A time as people say it.

    >>> left(7.2), left(125), left(7300)
    ('0:07', '2:05', '2:01:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

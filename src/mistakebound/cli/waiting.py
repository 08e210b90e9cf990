"""A line at the foot of a terminal that tells what is being worked on. Rich is imported only where it is drawn."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def waiting(steps: int, *, wanted: bool) -> Iterator[Callable[[str], None]]:
    """What is yielded is called with what the next step is, before it; on a terminal alone that is shown."""
    if not (wanted and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"):
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (BarColumn(20), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(
        *columns,
        console=Console(stderr=True, highlight=False),
        transient=True,
        refresh_per_second=4,
        redirect_stdout=False,  # what goes to standard output must not end on standard error
        redirect_stderr=False,
    ) as progress:
        task = progress.add_task("", total=steps)
        begun = False

        def next_step(what: str) -> None:
            nonlocal begun
            progress.update(task, advance=int(begun), description=what, refresh=True)
            begun = True

        yield next_step

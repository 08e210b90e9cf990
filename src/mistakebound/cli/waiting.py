"""A line at the foot of a terminal that tells what is being worked on. Rich is imported only where it is drawn."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from mistakebound.cli.bar import can_be_drawn, foot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def waiting(steps: int, *, wanted: bool) -> Iterator[Callable[[str], None]]:
    """What is yielded is called with what the next step is, before it; on a terminal alone that is shown."""
    if not (wanted and can_be_drawn()):
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (BarColumn(20), MofNCompleteColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with foot(*columns) as progress:
        task = progress.add_task("", total=steps)
        begun = False

        def next_step(what: str) -> None:
            nonlocal begun
            progress.update(task, advance=int(begun), description=what, refresh=True)
            begun = True

        yield next_step

"""A line at the foot of a terminal that shows the step of a job. Rich is imported only if it is drawn."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from mistakebound.cli.bar import can_be_drawn, foot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def waiting(least_cells: int, *, wanted: bool) -> Iterator[Callable[[str, int, int, int], None] | None]:
    """A callback for progress (what, number of the step, steps, numbers to work on); None if nothing is to be drawn.

    Nothing is drawn either if steps × numbers are below ``least_cells``: such a job is over at once.
    """
    if not (wanted and can_be_drawn()):
        yield None
        return
    with ExitStack() as stack:
        drawn: list[Any] = []

        def progress(what: str, number: int, steps: int, cells: int) -> None:
            if not number and (steps - 1) * cells >= least_cells:
                drawn.append(stack.enter_context(foot(*_columns())))
                drawn[0].add_task("", total=steps)
            if drawn:
                drawn[0].update(drawn[0].task_ids[0], completed=number, description=what, refresh=True)

        yield progress


def _columns() -> tuple[Any, ...]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    return BarColumn(20), MofNCompleteColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()

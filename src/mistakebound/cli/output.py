"""Write the output of commands: JSON, notes, pictures and files."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from mistakebound._support.text import escaped
from mistakebound.cli.errors import as_flag
from mistakebound.errors import naming

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mistakebound.data.report import BadLine

COLOUR = False if os.environ.get("NO_COLOR") else None
"""None: on a terminal only."""


def note(remark: str) -> None:
    """Write something beside the output."""
    click.echo(f"note: {escaped(remark)}", err=True)


def tell_skipped(lines: Iterable[BadLine]) -> None:
    """List bad lines that were left out."""
    for line in lines:
        click.echo(f"skipped: {escaped(line.text(as_flag))}", err=True)


@contextmanager
def written(path: str | None) -> Iterator[Any]:
    """A file to write to, if one is wanted."""
    if path is None:
        yield None
        return
    new = click.open_file(path, "w")
    try:
        yield new
    finally:
        with naming(path), new:  # what is left is written when it is closed; standard output stays open
            pass


def picture_maker(name: str) -> Any:
    """The function that draws such a picture; without matplotlib, an error before anything is read."""
    from mistakebound.viz import plot  # noqa: PLC0415 - few ask for a picture

    try:
        import matplotlib.figure  # noqa: F401, PLC0415
    except ImportError:
        message = "pictures need matplotlib: pip install 'mistakebound[plot]'"
        raise ModuleNotFoundError(message) from None
    return getattr(plot, name)

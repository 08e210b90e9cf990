"""What a person sees: the table of progress, errors in one line, files written."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound.ledger import Ledger


class Table:
    """Lines at rounds 1, 2, 4, 8, ..., and a closing one."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.rounds = self.mistakes = self.false_positives = self.false_negatives = self.positives = 0
        self.start, self.seconds = time.perf_counter(), 0.0
        self.next, self.last = 1, (0, 0)

    def add(self, part: Ledger) -> None:
        """Count the rounds of a part, and show the lines that fall into it."""
        self.seconds = time.perf_counter() - self.start
        while self.next <= self.rounds + part.rounds:
            mistakes = int((part.mistake_rounds < self.next - self.rounds).sum())
            self._show(self.next, self.mistakes + mistakes, self.rounds + part.rounds)
            self.next *= 2
        self.rounds += part.rounds
        self.mistakes += part.mistakes
        self.false_positives += part.false_positives
        self.false_negatives += part.false_negatives
        self.positives += int(part.positive.sum()) - part.false_positives + part.false_negatives

    def end(self) -> None:
        """Show the last line."""
        self.seconds = time.perf_counter() - self.start
        if self.rounds > self.last[0]:
            self._show(self.rounds, self.mistakes, self.rounds)

    def totals(self) -> dict[str, Any]:
        """Return what was counted, for machines."""
        names = ("rounds", "mistakes", "false_positives", "false_negatives", "positives", "seconds")
        return {name: getattr(self, name) for name in names} | {"rate": self.mistakes / max(self.rounds, 1)}

    def _show(self, rounds: int, mistakes: int, done: int) -> None:
        if self.quiet:
            return
        if not self.last[0]:
            click.echo(f"{'rounds':>12} {'mistakes':>10} {'rate':>8} {'since':>8} {'examples/s':>12}")
        since = (mistakes - self.last[1]) / (rounds - self.last[0])
        speed = done / max(self.seconds, 1e-9)
        click.echo(f"{rounds:>12,} {mistakes:>10,} {mistakes / rounds:>8.4f} {since:>8.4f} {speed:>12,.0f}")
        self.last = (rounds, mistakes)


def shown(name: str) -> str:
    r"""A name from a file as it may be put on a terminal or a page: what cannot be printed is escaped.

    >>> shown("size\x1b[31m"), shown("größe €")
    ('size\\x1b[31m', 'größe €')
    """
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


@contextmanager
def told() -> Iterator[None]:
    """What went wrong as one line and exit code 1; no traceback for what the user can mend."""
    try:
        yield
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (OSError, ValueError, ImportError) as error:
        raise click.ClickException(reason_of(error)) from None


def reason_of(error: BaseException) -> str:
    """What went wrong. Of files, the line says where, and no round need."""
    return str(error).removeprefix(f"round {getattr(error, 'round', None)}: ")


class OutputFile(click.Path):
    """A file that will be written in the end: better to hear now than after an hour that it cannot be."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True, allow_dash=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse what cannot be written."""
        folder = os.path.dirname(os.path.abspath(value))  # noqa: PTH100, PTH120 - pathlib need not be imported
        if value != "-" and not (os.path.isdir(folder) and os.access(folder, os.W_OK)):  # noqa: PTH112
            self.fail(f"{value}: there is no folder {folder} that can be written to", param, ctx)
        return super().convert(value, param, ctx)


@contextmanager
def written(path: str | None) -> Iterator[Any]:
    """A file to write to, if one is wanted."""
    if path is None:
        yield None
    else:
        with click.open_file(path, "w") as file:
            yield file

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
        self.rounds = self.mistakes = self.false_positives = self.false_negatives = 0
        self.start, self.seconds = time.perf_counter(), 0.0
        self.next, self.last, self.earlier, self.begun = 1, (0, 0), 0, False

    def go_on(self, rounds: int, false_positives: int, false_negatives: int, last: tuple[int, int]) -> None:
        """Begin where an earlier process stopped; the speed is that of this one."""
        self.rounds = self.earlier = rounds
        self.mistakes = false_positives + false_negatives
        self.false_positives, self.false_negatives, self.last = false_positives, false_negatives, last
        self.next = 1 << rounds.bit_length()

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

    def end(self) -> None:
        """Show the last line."""
        self.seconds = time.perf_counter() - self.start
        if self.rounds > self.last[0]:
            self._show(self.rounds, self.mistakes, self.rounds)

    def totals(self) -> dict[str, Any]:
        """Return what was counted, for machines."""
        names = ("rounds", "mistakes", "false_positives", "false_negatives", "seconds")
        return {name: getattr(self, name) for name in names} | {"rate": self.mistakes / max(self.rounds, 1)}

    def _show(self, rounds: int, mistakes: int, done: int) -> None:
        since = (mistakes - self.last[1]) / (rounds - self.last[0])
        self.last = (rounds, mistakes)
        if self.quiet:
            return
        if not self.begun:
            self.begun = True
            click.echo(f"{'rounds':>12} {'mistakes':>10} {'rate':>8} {'since':>8} {'examples/s':>12}")
        speed = (done - self.earlier) / max(self.seconds, 1e-9)
        click.echo(f"{rounds:>12,} {mistakes:>10,} {mistakes / rounds:>8.4f} {since:>8.4f} {speed:>12,.0f}")


@contextmanager
def told() -> Iterator[None]:
    """What went wrong as one line and exit code 1; no traceback for what the user can mend."""
    try:
        yield
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (OSError, ValueError, ImportError) as error:
        raise click.ClickException(str(error)) from None


@contextmanager
def written(path: str | None, at: int = 0) -> Iterator[Any]:
    """A file to write to, if one is wanted; after so many bytes of what it has already."""
    if path is None:
        yield None
    elif at:
        with open(path, "r+", encoding="utf-8") as file:  # noqa: PTH123 - like click's
            if os.fstat(file.fileno()).st_size < at:
                message = f"cannot resume: {path} should have {at} bytes at least"
                raise ValueError(message)
            file.seek(at)
            file.truncate()
            yield file
    else:
        with click.open_file(path, "w") as file:
            yield file

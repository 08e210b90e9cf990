"""What a person sees: the table of progress, errors in one line, files written."""

from __future__ import annotations

import json
import math
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from mistakebound._support.escaping import escaped
from mistakebound.cli.flags import as_flag
from mistakebound.errors import InputError, naming

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mistakebound.cli.bar import Bar
    from mistakebound.play.ledger import Ledger


class Table:
    """Lines at rounds 1, 2, 4, 8, ..., and a closing one.

    ``bound`` tells what a theorem allows from the ledger of a part and the positives missed so far, or None.
    """

    def __init__(self, bar: Bar, bound: Callable[[Ledger, int], float | None], *, quiet: bool) -> None:
        self.quiet, self.bar, self.bound_of = quiet, bar, bound
        self.bound: float | None = None
        self.told: set[str] = set()
        self.rounds = self.mistakes = self.false_positives = self.false_negatives = self.positives = 0
        self.start, self.seconds = time.perf_counter(), 0.0
        self.next, self.last, self.earlier, self.begun = 1, (0, 0), 0, False

    def go_on(self, life: Ledger, counts: list[int], last: tuple[int, int]) -> None:
        """Begin where an earlier process stopped; the speed is that of this one. ``life`` is the learner's so far."""
        self.rounds, self.false_positives, self.false_negatives, self.positives = counts
        self.mistakes = self.false_positives + self.false_negatives
        self.earlier, self.last, self.next = self.rounds, last, 1 << self.rounds.bit_length()
        self.bound = self.bound_of(life, self.false_negatives) if self.rounds else None
        self.bar.go_on(self.rounds)

    def add(self, part: Ledger, done: int = 0) -> None:
        """Count the rounds of a part, and show the lines that fall into it; ``done`` bytes of the pass are read."""
        self.seconds = time.perf_counter() - self.start
        while not self.quiet and self.next <= self.rounds + part.rounds:
            rounds = part.mistake_rounds[part.mistake_rounds < self.next - self.rounds]
            missed = len(rounds) - int(part.positive[rounds].sum())
            self.bound = self.bound_of(part, self.false_negatives + missed)
            self._show(self.next, self.mistakes + len(rounds), self.rounds + part.rounds)
            self.next *= 2
        self.rounds += part.rounds
        self.mistakes += part.mistakes
        self.false_positives += part.false_positives
        self.false_negatives += part.false_negatives
        self.positives += part.said_positive - part.false_positives + part.false_negatives
        self.bound = self.bound_of(part, self.false_negatives)
        self.bar.update(self.rounds, self.mistakes, done)

    def tell(self, remarks: list[str]) -> None:
        """Show those remarks that were not shown yet."""
        for remark in remarks:
            if not self.quiet and remark not in self.told:
                with self.bar.away():
                    note(remark)
                self.told.add(remark)

    def end(self) -> None:
        """Show the last line."""
        self.bar.close()
        self.seconds = time.perf_counter() - self.start
        if self.rounds > self.last[0]:
            self._show(self.rounds, self.mistakes, self.rounds)

    def totals(self) -> dict[str, Any]:
        """Return what was counted, for machines."""
        names = ("rounds", "mistakes", "false_positives", "false_negatives", "positives", "bound", "seconds")
        return {name: getattr(self, name) for name in names} | {"rate": self.mistakes / max(self.rounds, 1)}

    def _show(self, rounds: int, mistakes: int, done: int) -> None:
        since = (mistakes - self.last[1]) / (rounds - self.last[0])
        self.last = (rounds, mistakes)
        if self.quiet:
            return
        if not self.begun:
            self.begun = True
            click.echo(f"{'rounds':>12} {'mistakes':>10} {'rate':>8} {'since':>8} {'bound':>10} {'examples/s':>12}")
        speed = (done - self.earlier) / max(self.seconds, 1e-9)
        bound = "–" if self.bound is None else f"{self.bound:,.0f}" if mistakes <= self.bound else "exceeded"
        with self.bar.away():
            click.echo(
                f"{rounds:>12,} {mistakes:>10,} {mistakes / rounds:>8.4f} {since:>8.4f} {bound:>10} {speed:>12,.0f}"
            )


def note(remark: str) -> None:
    """Say something beside the output."""
    click.echo(f"note: {escaped(remark)}", err=True)


def in_lines(labels: Iterable[Any]) -> Iterator[str]:
    r"""Labels for a file that has one a line: control characters are escaped, a newline among them.

    >>> list(in_lines(["spam", 1, "a\nb"]))
    ['spam', '1', 'a\\nb']
    """
    known: dict[Any, str] = {}  # there are only two, as a rule
    for label in labels:
        if label not in known:
            known[label] = escaped(label)
        yield known[label]


def json_of(value: Any) -> str:
    """A value in JSON, where every number is finite: what is not is null, so that any program can read it.

    >>> json_of({"bound": float("inf"), "rate": [0.5, float("nan")]})
    '{"bound": null, "rate": [0.5, null]}'
    """
    return json.dumps(finite(value), allow_nan=False)


def finite(value: Any) -> Any:
    """The same, with None for each number that is not finite."""
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def told() -> Iterator[None]:
    """What went wrong as one line and exit code 1; no traceback for what the user can mend."""
    try:
        yield
    except BrokenPipeError:  # the reader, such as head, has seen enough: that is no error
        raise
    except OSError as error:
        known = error.filename is not None and error.strerror is not None
        raise click.ClickException(f"{error.filename}: {error.strerror}" if known else str(error)) from None
    except (ValueError, ImportError) as error:
        raise click.ClickException(reason_of(error)) from None
    except MemoryError as error:
        words = str(error).removeprefix("std::bad_alloc")
        raise click.ClickException(words or "there is not enough memory") from None


def reason_of(error: BaseException) -> str:
    """What went wrong. Of files, the line says where, so the round is left out."""
    words = error.text(as_flag, with_round=False) if isinstance(error, InputError) else str(error)
    return escaped(words)


class OutputFile(click.Path):
    """A file that will be written in the end: better to hear now than after an hour that it cannot be."""

    def __init__(self, *, replaced: bool = False) -> None:
        super().__init__(dir_okay=False, writable=True, allow_dash=not replaced)
        self.replaced = replaced  # by a new file, once that is whole

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse what cannot be written."""
        folder = os.path.dirname(os.path.abspath(value))
        if value != "-" and not (os.path.isdir(folder) and os.access(folder, os.W_OK)):
            self.fail(f"{value}: there is no folder {folder} that can be written to", param, ctx)
        if self.replaced and os.path.exists(value) and not os.path.isfile(value) and not os.path.isdir(value):
            self.fail(f"{value} is no file, and would be replaced by one: choose another name", param, ctx)
        return super().convert(value, param, ctx)


@contextmanager
def written(path: str | None, at: int = 0) -> Iterator[Any]:
    """A file to write to, if one is wanted; after so many bytes of what it has already."""
    if path is None:
        yield None
    elif at:
        with open(path, "r+", encoding="utf-8") as file:
            if os.fstat(file.fileno()).st_size < at:
                message = f"cannot resume: {path} should have {at} bytes at least"
                raise ValueError(message)
            file.seek(at)
            file.truncate()
            yield file
    else:
        new = click.open_file(path, "w")
        try:
            yield new
        finally:
            with naming(path), new:  # what is left is written when it is closed; standard output stays open
                pass


def picture_maker(name: str) -> Any:
    """What draws such a picture; better to hear now than after the reading that it is not there."""
    from mistakebound.viz import plot  # noqa: PLC0415 - few ask for a picture

    try:
        import matplotlib.figure  # noqa: F401, PLC0415
    except ImportError:
        message = "pictures need matplotlib: pip install 'mistakebound[plot]'"
        raise ModuleNotFoundError(message) from None
    return getattr(plot, name)

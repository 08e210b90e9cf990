"""Write the output of commands: errors, notes and skipped lines with options as flags; pictures, files, progress."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, contextmanager
from shlex import quote
from typing import TYPE_CHECKING, Any, NoReturn

import click

from mistakebound._support.text import escaped, size
from mistakebound.errors import MOST_IGNORED, InputError, OptionError, ResumeError, add_file_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mistakebound.data.remarks import BadLine
    from mistakebound.errors import Option

COLOUR = False if os.environ.get("NO_COLOR") else None
"""None: on a terminal only."""
PER_SECOND = 4
"""How often a progress line is drawn."""
FLAGS = {"checkpoint": "--save", "rules": "--rule", "gradient": "--no-gradient"}
"""Options that have another name on the command line."""
PHRASES = {
    "classes": "set --classes NEGATIVE,POSITIVE",
    "label": "--label NAME or NUMBER",
    "labels": "set --labels FILE",
    "positive": "--positive LABEL",
    "zero_based": "set --zero-based",
}
"""How a message names an option without a value."""


def raise_rendered(error: Exception) -> NoReturn:
    """Raise an error of known kind as one line, without a traceback, with exit code 1 (2 for options).

    The message is escaped, because it may quote any text, such as the name of a file. Other errors are raised again.
    """
    if isinstance(error, click.ClickException):
        vars(error)["message"] = escaped(error.message)  # click declares the attribute final
        raise error
    if isinstance(error, OptionError):
        raise click.UsageError(reason_of(error)) from None
    if isinstance(error, OSError):
        known = error.filename is not None and error.strerror is not None
        message = f"{error.filename}: {error.strerror}" if known else str(error)
    elif isinstance(error, ValueError | ImportError):
        message = reason_of(error)
    elif isinstance(error, MemoryError):
        message = str(error).removeprefix("std::bad_alloc") or "there is not enough memory"
    else:
        raise error
    raise click.ClickException(escaped(message)) from None


def reason_of(error: BaseException) -> str:
    """Return the message of an error, with options as flags. Rounds are left out, because files have lines."""
    if isinstance(error, OptionError):
        return escaped(error.text(lambda named: as_flag(named) if isinstance(named.value, str) else flag(named.name)))
    if isinstance(error, InputError):
        return escaped(error.text(as_flag, with_round=False))
    if isinstance(error, ResumeError) and error.option is not None:
        return escaped(f"cannot resume from {error.path}: {changed_option(error.option, error.before, error.now)}")
    return escaped(str(error))


def changed_option(name: str, before: Any, now: Any) -> str:
    """Return a message: which option differs between a run and the command that should resume it."""
    if name == "predictions":
        return f"its run was {'with' if before else 'without'} --predictions to a file; this one must be the same"
    if name == "skip_bad":
        return f"its run has skipped {before} bad lines, which is more than --skip-bad allows"
    if name == "learner":
        return f"its learner is {before}, not {now}"
    return f"its run had {option(name, before)}, this one has {option(name, now)}"


def as_flag(named: Option) -> str:
    """Return an option of a message as it is typed in a shell.

    >>> from mistakebound.errors import Option
    >>> as_flag(Option("header", "header=True", True)), as_flag(Option("skip_bad", "skip_bad=3", 3))
    ('--header', '--skip-bad 3')
    >>> as_flag(Option("ignore", "", ["a b", "c"])), as_flag(Option("classes", "pass classes="))
    ("--ignore 'a b' --ignore c", 'set --classes NEGATIVE,POSITIVE')
    """
    if named.value is None and named.name in PHRASES:
        return PHRASES[named.name]
    word = flag(named.name)
    if isinstance(named.value, list):
        more = " ..." if len(named.value) > MOST_IGNORED else ""
        return " ".join(f"{word} {quote(name)}" for name in named.value[:MOST_IGNORED]) + more
    return word if named.value is None or named.value is True else f"{word} {quote(str(named.value))}"


def flag(name: str) -> str:
    """Return the flag of an option.

    >>> flag("zero_based"), flag("checkpoint")
    ('--zero-based', '--save')
    """
    return FLAGS.get(name, f"--{name.replace('_', '-')}")


NEGATED = {"header": "--no-header", "auto": "--plain"}
"""Options that are set to False by another flag."""


def option(name: str, value: Any) -> str:
    """Return an option with its value as it is typed in a shell.

    >>> option("zero_based", True), option("text", ["a", "b"]), option("bins", None), option("interact", [["a", "b"]])
    ('--zero-based', '--text a --text b', 'no --bins', '--interact a,b')
    """
    word = flag(name)
    if value is False and name in NEGATED:
        return NEGATED[name]
    if value is None or value is False or value in ([], (), {}):
        return f"no {word}"
    if name == "classes":
        return f"{word} {','.join(map(str, value))}"
    if isinstance(value, dict):
        return " ".join(f"{word} {label}={number:.12g}" for label, number in value.items())
    if isinstance(value, (list, tuple)):
        return " ".join(f"{word} {each if isinstance(each, str) else ','.join(each)}" for each in value)
    return word if value is True else f"{word} {value}"


def note(remark: str) -> None:
    """Write a note to standard error."""
    click.echo(f"note: {escaped(remark)}", err=True)


def show_skipped(lines: Iterable[BadLine]) -> None:
    """List the bad lines that were skipped, on standard error."""
    for line in lines:
        click.echo(f"skipped: {escaped(line.text(as_flag))}", err=True)


@contextmanager
def output_file(path: str | None) -> Iterator[Any]:
    """Open a file for writing; yield None if there is no path."""
    if path is None:
        yield None
        return
    with add_file_name(path), click.open_file(path, "w") as new:  # standard output stays open
        yield new


def files_as_text(files: Mapping[str, str | None]) -> list[str]:
    """Return a line for each file that was written, with its size: {what it is: path}.

    None is not a file, and - is standard output.
    """
    return [
        f"{what:13} {escaped(path)} ({size(os.path.getsize(path))})"
        for what, path in files.items()
        if path not in (None, "-")
    ]


def show_files(*, quiet: bool = False, err: bool = False, **files: str | None) -> None:
    """List the files that were written, unless the output is JSON (``quiet``)."""
    for line in [] if quiet else files_as_text(files):
        click.echo(line, err=err)


def picture_maker(name: str) -> Any:
    """Return a function of ``viz.plot``. Raise at once if matplotlib is missing, before files are read."""
    from mistakebound.viz import plot  # noqa: PLC0415 - few runs draw a picture
    from mistakebound.viz.figure import figure_class  # noqa: PLC0415

    figure_class()
    return getattr(plot, name)


WORDS = "mistakebound.words"
"""Where the words of the command line are stored, in the ``meta`` of click's context."""


def command_line(*more: str) -> str:
    """Return the command as it was typed, with ``more`` options, quoted for a shell."""
    words: list[str] = list(click.get_current_context().meta.get(WORDS, []))
    end = words.index("--") if "--" in words else len(words)  # only arguments follow "--"
    return " ".join(["mistakebound", *map(quote, [*words[:end], *more, *words[end:]])])


def can_be_drawn() -> bool:
    """Whether standard error is a terminal that can erase a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def progress_line(*columns: Any) -> Any:
    """Return a progress line of rich on standard error, with these columns."""
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


@contextmanager
def step_progress(least_cells: int, *, wanted: bool) -> Iterator[Callable[[str, int, int, int], None] | None]:
    """Return a callback that shows progress (step, its number, number of steps, numbers to process), or None.

    It is None if progress is not wanted or cannot be drawn. The callback draws nothing if steps × numbers are below
    ``least_cells``, because such a job is finished at once.
    """
    if not (wanted and can_be_drawn()):
        yield None
        return
    with ExitStack() as stack:
        drawn: list[Any] = []

        def progress(what: str, number: int, steps: int, cells: int) -> None:
            if not number and (steps - 1) * cells >= least_cells:
                drawn.append(stack.enter_context(progress_line(*_steps())))
                drawn[0].add_task("", total=steps)
            if drawn:
                drawn[0].update(drawn[0].task_ids[0], completed=number, description=what, refresh=True)

        yield progress


def _steps() -> tuple[Any, ...]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    return BarColumn(20), MofNCompleteColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()

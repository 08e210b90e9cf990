"""Options that say how files are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import mistakebound as mb
from mistakebound._support.escaping import escaped
from mistakebound.cli.flags import as_flag
from mistakebound.data.options import TABLE
from mistakebound.errors import OptionConflictError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mistakebound.data.columns import Frame
    from mistakebound.data.report import ReadReport
    from mistakebound.learners.linear import LinearLearner

FILES = click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))

SEPARATOR = click.option("--separator", metavar="CHAR", help="What separates the columns of a table.")
HEADER = click.option(
    "--header/--no-header", default=None, help="Whether a table begins with the names of its columns."
)
SKIP_BAD = click.option(
    "--skip-bad", default=0, type=click.IntRange(0), metavar="N", help="Leave out up to N bad lines, and list them."
)
THREADS = click.option(
    "--threads",
    default=2,
    show_default=True,
    type=click.IntRange(1),
    help="Threads that parse ahead; the result is the same.",
)
READING = (
    click.option(
        "--format",
        type=click.Choice(["auto", "svmlight", "vw", "table", "json"]),
        default="auto",
        help="What the files are; auto looks at their content.",
    ),
    click.option("--label", metavar="COLUMN", help="Column (name, or number from 1) or JSON key of the label."),
    click.option("--labels", metavar="FILE", type=click.Path(), help="Labels in a file of their own, one a line."),
    click.option("--positive", metavar="LABEL", help="This label against all others."),
    click.option(
        "--text",
        multiple=True,
        metavar="COLUMN",
        help="A column of words: each word is a feature. Again for more columns.",
    ),
    click.option("--words", type=click.IntRange(0), metavar="N", help="Of a text, runs of up to N words."),
    click.option("--letters", type=click.IntRange(0), metavar="N", help="Of a text, also runs of N characters."),
    click.option(
        "--bins",
        type=click.IntRange(0),
        metavar="N",
        help="Numbers as categories: N bins (1, 2, 4, ...) between two powers of two, for numbers of all sizes; try 4.",
    ),
    click.option(
        "--categorical",
        multiple=True,
        metavar="COLUMN",
        help="A column of categories, also if numbers. Again for more.",
    ),
    click.option("--ignore", multiple=True, metavar="COLUMN", help="Leave a column out. Again for more."),
    click.option("--interact", multiple=True, metavar="A,B", help="Features of column A times those of column B."),
    SEPARATOR,
    HEADER,
    click.option("--zero-based", is_flag=True, help="svmlight indices count from 0."),
    SKIP_BAD,
    click.option("--cache", is_flag=True, help="Keep what was parsed in FILE.mbcache, and read that the next time."),
    THREADS,
)
READING_NAMES = ("format", "label", "labels", "positive", "zero_based", "skip_bad", "threads")
TABLE_NAMES = tuple(TABLE)


def reading(command: Any) -> Any:
    """Add the options that say how files are read."""
    for option in reversed(READING):
        command = option(command)
    return command


def reading_columns(command: Any) -> Any:
    """Add the options that say how files are read as columns."""
    for option in (SKIP_BAD, HEADER, SEPARATOR):
        command = option(command)
    return command


def columns_of(files: tuple[str, ...], *, separator: str | None, header: bool | None, skip_bad: int) -> Frame:
    """The files as columns; what was left out of them is told."""
    from mistakebound.data.columns import read_columns  # noqa: PLC0415 - it needs numpy

    table = {"separator": separator, "header": header}
    told = {name: value for name, value in table.items() if value is not None}
    frame = read_columns(files, skip_bad=skip_bad, table=told)
    tell_skipped(frame.skipped)
    return frame


def tell_skipped(lines: Iterable[object]) -> None:
    """List bad lines that were left out."""
    for line in lines:
        click.echo(f"skipped: {escaped(line)}", err=True)


def source_of(
    files: tuple[str, ...], options: dict[str, Any], model: LinearLearner | None = None, **more: Any
) -> mb.Source:
    """Return a Source for the files. Reading options are removed from ``options``; they must not contradict a model."""
    told = {name: options.pop(name) for name in TABLE_NAMES}
    told["interact"] = [tuple(pair.split(",")) for pair in told["interact"]]
    if any(len(pair) != 2 for pair in told["interact"]):
        message = "--interact takes two columns: A,B"
        raise click.UsageError(message)
    table = {name: value for name, value in told.items() if value not in (None, (), [])}
    cache = f"{files[0]}.mbcache" if options.pop("cache") else None
    told = {name: options.pop(name) for name in READING_NAMES}
    if told["label"] is not None and told["labels"] is not None:
        message = "labels come from a column (--label) or from a file of their own (--labels), not from both"
        raise click.UsageError(message)
    try:
        source = mb.Source(files, table=table, cache=cache, **told, **more)
        if model is not None:
            source.settings(model.known_reading())
    except OptionConflictError as error:
        given, known = (option(error.option, value) for value in (error.given, error.known))
        message = f"{given} contradicts the model, which was trained with {known}; remove {option(error.option, True)}"
        raise click.UsageError(message) from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return source


def option(name: str, value: Any) -> str:
    """Return an option as it is written on the command line.

    >>> option("zero_based", True), option("text", ["a", "b"]), option("bins", None), option("interact", [["a", "b"]])
    ('--zero-based', '--text a --text b', 'no --bins', '--interact a,b')
    """
    word = f"--{name.replace('_', '-')}"
    if value is None or value is False or value in ([], ()):
        return "--no-header" if name == "header" and value is False else f"no {word}"
    if isinstance(value, (list, tuple)):
        return " ".join(f"{word} {each if isinstance(each, str) else ','.join(each)}" for each in value)
    return word if value is True else f"{word} {value}"


def notes_of(report: ReadReport) -> list[str]:
    """What should be known of files to be predicted: whether lines count once or more often does not matter there."""
    return [remark.text(as_flag) for remark in report.remarks if remark.kind != "weights ignored"]

"""Options that several commands share: how files are read, where results are written, and the learner."""

from __future__ import annotations

import inspect
import os
from typing import TYPE_CHECKING, Any

import click

from mistakebound.cli.output import flag, option
from mistakebound.data.labels import plain_label
from mistakebound.data.options import TABLE, TEXT_FORMATS
from mistakebound.errors import OptionConflictError
from mistakebound.learners.linear import KINDS
from mistakebound.rules.registry import DECLARATIONS, OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound.data.source import Source
    from mistakebound.learners.learner import Learner

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
        type=click.Choice(TEXT_FORMATS),
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


def reading_options(command: Any) -> Any:
    """Add the options that say how files are read."""
    for each in reversed(READING):
        command = each(command)
    return command


def column_options(command: Any) -> Any:
    """Add the options that say how files are read as columns."""
    for each in (SKIP_BAD, HEADER, SEPARATOR):
        command = each(command)
    return command


def source_of(files: tuple[str, ...], options: dict[str, Any], model: Learner | None = None, **more: Any) -> Source:
    """Return a Source for the files. Reading options are removed from ``options``; they must not contradict a model."""
    from mistakebound.data.source import Source  # noqa: PLC0415 - "--help" needs none of it

    passed = {name: options.pop(name) for name in TABLE_NAMES}
    passed["interact"] = [tuple(pair.split(",")) for pair in passed["interact"]]
    if any(len(pair) != 2 for pair in passed["interact"]):
        message = "--interact takes two columns: A,B"
        raise click.UsageError(message)
    table = {name: value for name, value in passed.items() if value not in (None, (), [])}
    cache = f"{files[0]}.mbcache" if options.pop("cache") else None
    passed = {name: options.pop(name) for name in READING_NAMES}
    if passed["label"] is not None and passed["labels"] is not None:
        message = "labels come from a column (--label) or from a file of their own (--labels), not from both"
        raise click.UsageError(message)
    try:
        source = Source(files, table=table, cache=cache, **passed, **more)
        if model is not None:
            source.settings(model.known_reading())
    except OptionConflictError as error:
        given, known = (option(error.option, value) for value in (error.given, error.known))
        message = f"{given} contradicts the model, which was trained with {known}; remove {option(error.option, True)}"
        raise click.UsageError(message) from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return source


class OutputFile(click.Path):
    """A file that will be written at the end; one that cannot be written is refused at the start."""

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


def refuse_to_overwrite(files: tuple[str, ...], labels: str | None, *outputs: str | None) -> None:
    """Say if a file would be written that is read, or that something else is written to."""
    read = {os.path.realpath(file): file for file in (*files, labels) if file not in (None, "-")}
    taken: set[str] = set()
    for output in outputs:
        if output is None or output == "-" or output.startswith("/dev/"):
            continue
        place = os.path.realpath(output)
        if place in read or place in taken:
            message = f"{output} is {'read' if place in read else 'written'} already: choose another name to write to"
            raise click.UsageError(message)
        taken.add(place)


# ---------------------------------------------------------------------- the learner

DEFAULT = "balanced-winnow"
PARAMETERS = (*OPTIONS, "update_margin", "bias", "classes")
"""What a learner can be made with on the command line."""


def learner_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of all learners."""
    options = [click.option("--learner", type=click.Choice(list(DECLARATIONS)), default=DEFAULT, show_default=True)]
    options += [click.option(flag(name), type=float, help=words) for name, words in OPTIONS.items()]
    for option_of in reversed(options):
        command = option_of(command)
    return command


def make(learner: str, parameters: dict[str, Any], *, keep: bool) -> Learner:
    """A learner by its name, with the parameters that were given."""
    given = {name: value for name, value in parameters.items() if value is not None}
    if "classes" in given:
        given["classes"] = two_labels(given["classes"])
    declared = DECLARATIONS[learner]
    kind = KINDS[declared.learner]
    takes = inspect.signature(kind).parameters
    for name in given:
        if name not in takes:
            message = f"{flag(name)} is not a parameter of {learner}"
            raise click.UsageError(message)
    options: dict[str, Any] = {**declared.defaults, **given}
    if not keep:
        options["keep_bytes"] = 0  # nothing will ask for the mistaken examples
    made: Learner = kind(**options)
    return made


def two_labels(text: str) -> tuple[Any, ...]:
    """The labels of ``--classes``."""
    labels = tuple(plain_label(label.strip().encode()) for label in text.split(","))
    if len(labels) != 2 or labels[0] == labels[1] or None in labels:
        message = f"--classes takes two different labels, NEGATIVE,POSITIVE, not {text!r}"
        raise click.UsageError(message)
    return labels

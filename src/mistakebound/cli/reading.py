"""Options that say how files are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import mistakebound as mb
from mistakebound.cli.output import printable
from mistakebound.errors import ModelError
from mistakebound.limits import TABLE
from mistakebound.tables import numbered_names

if TYPE_CHECKING:
    from mistakebound.columns import Frame
    from mistakebound.learners import LinearLearner

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
    from mistakebound.columns import read_columns  # noqa: PLC0415 - it needs numpy

    table = {"separator": separator, "header": header}
    told = {name: value for name, value in table.items() if value is not None}
    frame = read_columns(files, skip_bad=skip_bad, table=told)
    tell_skipped(frame.skipped)
    return frame


def tell_skipped(lines: list[str]) -> None:
    """List bad lines that were left out."""
    for line in lines:
        click.echo(f"skipped: {printable(line)}", err=True)


def source_of(files: tuple[str, ...], options: dict[str, Any], known: dict[str, Any] | None = None) -> mb.Source:
    """The files, to be read as the options say, which are taken out of the others; if they do not, as is known."""
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
        source = mb.Source(files, table=table, cache=cache, **told)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if known is not None:
        source.remembered = known["table"].keys() - source.table.keys()
        source.table = {**known["table"], **source.table}
        source.known_columns = known["columns"]
        for name in ("format", "label", "zero_based"):
            if click.get_current_context().get_parameter_source(name) is not click.core.ParameterSource.COMMANDLINE:
                setattr(source, name, known[name])
                source.remembered |= {name}
                source.label_may_be_missing |= name == "label"
    return source


def source_to_predict(files: tuple[str, ...], options: dict[str, Any], known: dict[str, Any] | None) -> mb.Source:
    """The same, where labels are not needed: they may be missing, unless somebody has just said where they are."""
    source = source_of(files, options, known)
    source.label_may_be_missing |= source.label is None
    return source


def notes_of(source: mb.Source) -> list[str]:
    """What should be known of files to be predicted: whether lines count once or more often does not matter there."""
    from mistakebound.sources import IGNORED  # noqa: PLC0415 - what most commands do without

    return [remark for remark in source.remarks if remark != IGNORED]


def how_read(source: mb.Source) -> dict[str, Any]:
    """What a model should know of the files that it learned from, in JSON, for others to be read the same way."""
    columns = source.known_columns + [name for name in source.columns if name not in source.known_columns]
    told = {name: getattr(source, name) for name in ("format", "label", "zero_based", "table")}
    return {**told, **by_name(told["label"], told["table"], source.columns), "columns": columns}


def by_name(label: str | None, table: dict[str, Any], columns: list[str]) -> dict[str, Any]:
    """The same with columns called by their names where they were told by number: the next table may lack some."""

    def name(column: str) -> str:
        place = int(column) - 1 if column.isascii() and column.isdigit() and column not in columns else -1
        return columns[place] if 0 <= place < len(columns) and not numbered_names(columns) else column

    lists = {
        role: [name(column) for column in table[role]] for role in ("text", "categorical", "ignore") if role in table
    }
    pairs = (
        {"interact": [tuple(name(each) for each in pair) for pair in table["interact"]]} if "interact" in table else {}
    )
    return {"label": label and name(label), "table": {**table, **lists, **pairs}}


def loaded(path: str) -> tuple[LinearLearner, dict[str, Any] | None]:
    """A saved model, and how its files were read if it came from files."""
    from mistakebound.learners import KINDS  # noqa: PLC0415 - here and below, what most runs start without
    from mistakebound.store import load_with_notes  # noqa: PLC0415

    model, _, reading = load_with_notes(path, KINDS)
    if reading is None:
        return model, None
    try:
        return model, checked(reading)
    except ModelError as error:
        message = f"cannot load {path}: {error}"
        raise ModelError(message) from None


def checked(reading: dict[str, Any]) -> dict[str, Any]:
    """What a model file says of reading, if it is what we would have written."""
    from mistakebound.limits import fault_of, fault_of_table  # noqa: PLC0415
    from mistakebound.schema import fields, is_list_of, need  # noqa: PLC0415

    wrong = "how its files were read is not told rightly"
    reading = {"columns": [], **reading}  # the first files of format 3 do not have it
    form, label, zero_based, table, columns = fields(reading, "format", "label", "zero_based", "table", "columns")
    need(form in ("auto", "svmlight", "vw", "table", "json") and type(zero_based) is bool, wrong)
    need((label is None or type(label) is str) and isinstance(table, dict), wrong)
    need(is_list_of(str, columns), wrong)
    need(not (fault_of_table(table) or fault_of({**table, "label": label, "columns": columns})), wrong)
    pairs = {"interact": [tuple(pair) for pair in table["interact"]]} if "interact" in table else {}
    return {"format": form, "label": label, "zero_based": zero_based, "table": {**table, **pairs}, "columns": columns}

"""Options that say how files are read."""

from __future__ import annotations

from typing import Any

import click

import mistakebound as mb

FILES = click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))


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
    click.option("--text", multiple=True, metavar="COLUMN", help="A column of words: each word is a feature."),
    click.option("--words", type=int, metavar="N", help="Of a text, runs of up to N words."),
    click.option("--letters", type=int, metavar="N", help="Of a text, also runs of N characters."),
    click.option(
        "--bins",
        type=int,
        metavar="N",
        help="Numbers as categories: N bins (1, 2, 4, ...) between two powers of two, for numbers of all sizes; try 4.",
    ),
    click.option("--categorical", multiple=True, metavar="COLUMN", help="A column of categories, also if numbers."),
    click.option("--ignore", multiple=True, metavar="COLUMN", help="Leave a column out."),
    click.option("--interact", multiple=True, metavar="A,B", help="Features of column A times those of column B."),
    click.option("--separator", metavar="CHAR", help="What separates the columns of a table."),
    click.option("--header/--no-header", default=None, help="Whether a table begins with the names of its columns."),
    click.option("--zero-based", is_flag=True, help="svmlight indices count from 0."),
    click.option("--skip-bad", default=0, metavar="N", help="Leave out up to N bad lines, and list them."),
    click.option("--cache", is_flag=True, help="Keep what was parsed in FILE.mbcache, and read that the next time."),
    click.option("--threads", default=2, show_default=True, help="Threads that parse ahead; the result is the same."),
)
READING_NAMES = ("format", "label", "labels", "positive", "zero_based", "skip_bad", "threads")
TABLE_NAMES = ("text", "words", "letters", "bins", "categorical", "ignore", "interact", "separator", "header")


def reading(command: Any) -> Any:
    """Add the options that say how files are read."""
    for option in reversed(READING):
        command = option(command)
    return command


def source_of(files: tuple[str, ...], options: dict[str, Any]) -> mb.Source:
    """The files, to be read as the options say, which are taken out of the others."""
    told = {name: options.pop(name) for name in TABLE_NAMES}
    told["interact"] = [tuple(pair.split(",")) for pair in told["interact"]]
    if any(len(pair) != 2 for pair in told["interact"]):
        message = "--interact takes two columns: A,B"
        raise click.UsageError(message)
    table = {name: value for name, value in told.items() if value not in (None, (), [])}
    cache = f"{files[0]}.mbcache" if options.pop("cache") else None
    return mb.Source(files, table=table, cache=cache, **{name: options.pop(name) for name in READING_NAMES})

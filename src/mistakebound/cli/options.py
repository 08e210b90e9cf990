"""Options that several commands share: reading files, writing results, and the learner."""

from __future__ import annotations

import inspect
import os
import re
from typing import TYPE_CHECKING, Any

import click

from mistakebound.cli.output import flag, option
from mistakebound.data.labels import plain_label
from mistakebound.data.options import TABLE, TEXT_FORMATS
from mistakebound.errors import OptionConflictError
from mistakebound.learners.linear import KINDS
from mistakebound.learners.weights import check_class_weight
from mistakebound.rules.panel_members import ROSTERS
from mistakebound.rules.registry import DECLARATIONS, OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound.data.source import Source
    from mistakebound.learners.learner import Learner

FILES = click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))

SEPARATOR = click.option("--separator", metavar="CHAR", help="Character between the columns of a table.")
HEADER = click.option(
    "--header/--no-header", default=None, help="Whether the first line of a table holds the names of its columns."
)
SKIP_BAD = click.option(
    "--skip-bad", default=0, type=click.IntRange(0), metavar="N", help="Skip up to N bad lines, and list them."
)
THREADS = click.option(
    "--threads",
    default=2,
    show_default=True,
    type=click.IntRange(1),
    help="Threads that parse ahead; 1: the panel has no second thread, either. The result is the same.",
)
WEIGHTS_SHIFT_LITTLE = (
    "Weights change what the members of a panel learn, but its mixture stays unweighted, so its predictions shift "
    "little; to predict a label more often, set --threshold (two labels), or --positive LABEL and --threshold, or "
    "compare the probabilities of 'predict --probabilities'."
)
READING = (
    click.option(
        "--format",
        type=click.Choice(TEXT_FORMATS),
        default="auto",
        help="Format of the files; auto detects it by their content.",
    ),
    click.option("--label", metavar="COLUMN", help="Column of the label (name, or number from 1), or JSON key."),
    click.option("--labels", metavar="FILE", type=click.Path(), help="Separate file with the labels, one per line."),
    click.option("--positive", metavar="LABEL", help="Predict this label against all others."),
    click.option(
        "--weight",
        metavar="COLUMN",
        help="Column of the weight of each row (name, or number from 1), or JSON key. " + WEIGHTS_SHIFT_LITTLE,
    ),
    click.option(
        "--text",
        multiple=True,
        metavar="COLUMN",
        help="Column of words: each word is a feature, also if a cell is one number. Repeatable.",
    ),
    click.option("--words", type=click.IntRange(0), metavar="N", help="Use sequences of up to N words of a text."),
    click.option("--letters", type=click.IntRange(0), metavar="N", help="Also use sequences of N characters."),
    click.option(
        "--bins",
        type=click.IntRange(0),
        metavar="N",
        help="Turn numbers into categories: N bins (1, 2, 4, ...) between two powers of two; try 4.",
    ),
    click.option(
        "--categorical",
        multiple=True,
        metavar="COLUMN",
        help="Column of categories, even if they are numbers. Repeatable.",
    ),
    click.option("--ignore", multiple=True, metavar="COLUMN", help="Column to leave out. Repeatable."),
    click.option(
        "--interact",
        multiple=True,
        metavar="A,B",
        help="Add the features of column A times those of column B. Repeatable.",
    ),
    click.option(
        "--auto/--plain",
        default=None,
        help="auto (the default) scales numbers, and detects dates, missing cells and short texts; plain does not "
        "scale numbers, and reads any other cell as one category.",
    ),
    SEPARATOR,
    HEADER,
    click.option("--zero-based", is_flag=True, help="svmlight indices count from 0."),
    SKIP_BAD,
    click.option(
        "--cache", is_flag=True, help="Store the parsed examples in FILE.mbcache, and read them the next time."
    ),
    THREADS,
)
READING_NAMES = ("format", "label", "labels", "positive", "zero_based", "skip_bad", "threads")
TABLE_NAMES = tuple(TABLE)


def reading_options(command: Any) -> Any:
    """Add the options for reading files as examples to a command."""
    for each in reversed(READING):
        command = each(command)
    return command


def split_at_commas(_: click.Context, __: click.Parameter, value: str | None) -> list[str]:
    """Split words at commas."""
    return [] if value is None else [each.strip() for each in value.split(",")]


def column_options(command: Any) -> Any:
    """Add the options for reading files as columns to a command."""
    for each in (SKIP_BAD, HEADER, SEPARATOR):
        command = each(command)
    return command


def source_of(files: tuple[str, ...], options: dict[str, Any], model: Learner | None = None, **more: Any) -> Source:
    """Return a Source for the files. Reading options are removed from ``options``; they must not contradict a model."""
    from mistakebound.data.source import Source  # noqa: PLC0415 - "--help" needs none of it

    passed = {name: options.pop(name) for name in TABLE_NAMES}
    passed["interact"] = [tuple(pair.split(",")) for pair in passed["interact"]]
    if any(len(pair) != 2 for pair in passed["interact"]):
        message = f"--interact must be two columns, A,B, got {', '.join(','.join(pair) for pair in passed['interact'])}"
        raise click.UsageError(message)
    table = {name: value for name, value in passed.items() if value not in (None, (), [])}
    cache = f"{files[0]}.mbcache" if options.pop("cache") else None
    passed = {name: options.pop(name) for name in READING_NAMES}
    if passed["label"] is not None and passed["labels"] is not None:
        message = "--label and --labels cannot both be set: the labels are in a column or in a separate file"
        raise click.UsageError(message)
    try:
        source = Source(files, table=table, cache=cache, **passed, **more)
        if model is not None:
            source.settings(model.known_reading())
    except OptionConflictError as error:
        given, known = (option(error.option, value) for value in (error.given, error.known))
        flag_given = given if error.given is False else option(error.option, True)
        message = f"{given} contradicts the model, which was trained with {known}; remove {flag_given}"
        raise click.UsageError(message) from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return source


class OutputFile(click.Path):
    """The type of a file that is written at the end. A file that cannot be written is refused at the start.

    Without ``dash``, "-" is refused: the file cannot be standard output.
    """

    def __init__(self, *, replaced: bool = False, dash: bool = True) -> None:
        super().__init__(dir_okay=False, writable=True, allow_dash=dash and not replaced)
        self.replaced = replaced  # by a new file, once that is complete

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; fail if it cannot be written."""
        if value == "-" and not self.allow_dash:
            self.fail("- (standard output) is not possible here: choose the name of a file", param, ctx)
        folder = os.path.dirname(os.path.abspath(value))
        if value != "-" and not (os.path.isdir(folder) and os.access(folder, os.W_OK)):
            self.fail(f"{value}: the folder {folder} does not exist, or is not writable", param, ctx)
        if self.replaced and os.path.exists(value) and not os.path.isfile(value) and not os.path.isdir(value):
            self.fail(f"{value} is not a regular file, and would be replaced: choose another name", param, ctx)
        return super().convert(value, param, ctx)


def refuse_to_overwrite(files: tuple[str, ...], labels: str | None, *outputs: str | None) -> None:
    """Raise UsageError if an output is also an input, or two outputs are the same file."""
    read = {os.path.realpath(file): file for file in (*files, labels) if file not in (None, "-")}
    taken: set[str] = set()
    for output in outputs:
        if output is None or output == "-" or output.startswith("/dev/"):
            continue
        place = os.path.realpath(output)
        if place in read or place in taken:
            other = "also an input" if place in read else "the file of two outputs"
            message = f"{output} is {other}: choose another name for the output"
            raise click.UsageError(message)
        taken.add(place)


# ---------------------------------------------------------------------- the learner

DEFAULT = "panel"
PARAMETERS = (*OPTIONS, "members", "max_features", "abstain", "class_weight", "update_margin", "bias", "classes")
"""Parameters of learners that are options of commands."""


def learner_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of all learners to a command."""
    names = list(DECLARATIONS)
    about = f"One of {', '.join(names)}."
    options = [
        click.option(
            "--learner", type=click.Choice(names), metavar="NAME", default=DEFAULT, show_default=True, help=about
        )
    ]
    options.append(
        click.option(
            "--members", metavar="NAMES", help="Of the panel: all, lean (faster), or names separated by commas."
        )
    )
    options.append(
        click.option(
            "--max-features",
            metavar="N",
            type=click.IntRange(1),
            help="For the panel: drop the rarest features if there are more than N; for endless streams.",
        )
    )
    options += [click.option(flag(name), type=float, help=words) for name, words in OPTIONS.items()]
    options.append(
        click.option(
            "--abstain",
            type=float,
            metavar="B",
            help="For the panel: predict no label if the probability is less than B away from the threshold.",
        )
    )
    options.append(
        click.option(
            "--class-weight",
            multiple=True,
            metavar="LABEL=WEIGHT",
            help="For the panel: learn the examples of a label with this weight, from 0 to 1e9. Repeatable. "
            + WEIGHTS_SHIFT_LITTLE,
        )
    )
    for option_of in reversed(options):
        command = option_of(command)
    return command


def make_learner(learner: str, parameters: dict[str, Any], *, keep: bool) -> Learner:
    """Return a learner by its name, with the parameters that are not None.

    ``keep`` is whether the mistaken examples are kept for a certificate.
    """
    given = {name: value for name, value in parameters.items() if value not in (None, ())}
    if given.get("members") not in (None, *ROSTERS):
        given["members"] = tuple(given["members"].split(","))
    if "classes" in given:
        given["classes"] = parse_classes(given["classes"])
    if "class_weight" in given:
        given["class_weight"] = parse_class_weight(given["class_weight"])
    declared = DECLARATIONS[learner]
    kind = KINDS[declared.learner]
    takes = inspect.signature(kind).parameters
    for name in given:
        if name not in takes:
            message = f"{flag(name)} is not a parameter of {learner}"
            raise click.UsageError(message)
    options: dict[str, Any] = {**declared.defaults, **given}
    if not keep:
        options["keep_bytes"] = 0  # the mistaken examples will not be needed
    made: Learner = kind(**options)
    return made


def parse_classes(text: str) -> tuple[Any, ...]:
    """Parse the labels of ``--classes``."""
    labels = tuple(plain_label(label.strip().encode()) for label in text.split(","))
    if len(labels) < 2 or len({*labels}) < len(labels) or None in labels:
        message = f"--classes must be different labels, such as NEGATIVE,POSITIVE, got {text!r}"
        raise click.UsageError(message)
    return labels


def parse_class_weight(texts: tuple[str, ...]) -> dict[Any, float]:
    """Parse the weights of ``--class-weight``.

    >>> parse_class_weight(("spam=5", "a=b=0.5", "1=2"))
    {'spam': 5.0, 'a=b': 0.5, 1: 2.0}
    """
    found: dict[Any, float] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        if re.search(r"=[-+.e\d]+,", name):
            message = (
                f"set --class-weight once for each label (--class-weight spam=5 --class-weight ham=2), got {text!r}"
            )
            raise click.UsageError(message)
        label = plain_label(name.strip().encode())
        try:
            weight = float(number)
        except ValueError:
            equals = ""
        if not equals or label is None:
            message = f"--class-weight must be LABEL=WEIGHT, such as spam=5, got {text!r}"
            raise click.UsageError(message)
        if label in found:
            message = f"--class-weight must have each label once, got {name.strip()!r} twice"
            raise click.UsageError(message)
        found[label] = weight
    check_class_weight(found)
    return found

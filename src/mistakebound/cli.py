"""The command line: learn from a file and show mistakes, predict, look at weights, ask for a bound."""

from __future__ import annotations

import inspect
import json
import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

import mistakebound as mb
from mistakebound.labels import plain_label

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound.learners import LinearLearner
    from mistakebound.ledger import Ledger

LEARNERS: dict[str, str] = {
    "perceptron": "Perceptron",
    "winnow": "Winnow",
    "normalized-winnow": "NormalizedWinnow",
    "balanced-winnow": "BalancedWinnow",
    "pnorm": "PNormPerceptron",
    "elimination": "Elimination",
}
DEFAULTS: dict[str, dict[str, float]] = {"balanced-winnow": {"update_margin": 0.01}}
"""Where the command line's default is not the textbook's: an update margin serves real data better."""

INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    r"""Online learning that proves how few mistakes it makes.

    \b
    Examples:
      mistakebound run stream.svm                      learn, and show the mistakes
      mistakebound run train.vw.gz --save model.mb     ... and keep the model
      mistakebound predict model.mb new.svm            a prediction a line
      mistakebound weights model.mb                    the features that matter most
      mistakebound bound littlestone --n 100 --r 2     what a theorem allows
    """


FILES = click.argument("files", nargs=-1, required=True, metavar="FILE...")


READING = (
    click.option(
        "--format", "format", default="auto", help="svmlight, vw, table or json; told by the content otherwise."
    ),
    click.option("--label", metavar="COLUMN", help="Column (name, or number from 1) or JSON key of the label."),
    click.option("--labels", metavar="FILE", help="Labels in a file of their own, one a line."),
    click.option("--positive", metavar="LABEL", help="This label against all others."),
    click.option("--text", multiple=True, metavar="COLUMN", help="A column of words: each word is a feature."),
    click.option("--words", type=int, metavar="N", help="Of a text, runs of up to N words."),
    click.option("--letters", type=int, metavar="N", help="Of a text, also runs of N characters."),
    click.option("--categorical", multiple=True, metavar="COLUMN", help="A column of categories, also if numbers."),
    click.option("--ignore", multiple=True, metavar="COLUMN", help="Leave a column out."),
    click.option("--interact", multiple=True, metavar="A,B", help="Features of column A times those of column B."),
    click.option("--separator", metavar="CHAR", help="What separates the columns of a table."),
    click.option("--header/--no-header", default=None, help="Whether a table begins with the names of its columns."),
    click.option("--zero-based", is_flag=True, help="svmlight indices count from 0."),
    click.option("--skip-bad", default=0, metavar="N", help="Leave out up to N bad lines, and list them."),
    click.option("--threads", default=2, show_default=True, help="Threads that parse ahead; the result is the same."),
)
READING_NAMES = ("format", "label", "labels", "positive", "zero_based", "skip_bad", "threads")
TABLE_NAMES = ("text", "words", "letters", "categorical", "ignore", "interact", "separator", "header")


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
    return mb.Source(files, table=table, **{name: options.pop(name) for name in READING_NAMES})


@main.command()
@FILES
@click.option("--learner", type=click.Choice(list(LEARNERS)), default="balanced-winnow", show_default=True)
@click.option("--eta", type=float, help="Learning rate of the Winnow family.")
@click.option("--alpha", type=float, help="Winnow's factor.")
@click.option("--threshold", type=float, help="Winnow's threshold.")
@click.option("--p", type=float, help="p of the p-norm Perceptron.")
@click.option("--update-margin", type=float, help="Learn also when y times the score is at or below this.")
@click.option("--bias", type=float, help="Value of a constant feature; 0 for none.")
@click.option("--classes", metavar="NEGATIVE,POSITIVE", help="The two labels; otherwise the greater one is positive.")
@click.option("--passes", default=1, show_default=True, help="How often to go through the files.")
@click.option("--load", "load_from", type=click.Path(exists=True), help="Go on with a saved model.")
@click.option("--save", "save_to", type=click.Path(), help="Write the model here at the end.")
@click.option(
    "--predictions", type=click.Path(), help="Write what was predicted in each round, before learning from it."
)
@click.option("--certify", is_flag=True, help="Find a comparator in hindsight, and say what its theorem allows.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of the table.")
@reading
def run(
    files: tuple[str, ...],
    *,
    learner: str,
    passes: int,
    load_from: str | None,
    save_to: str | None,
    predictions: str | None,
    certify: bool,
    as_json: bool,
    **options: Any,
) -> None:
    r"""Predict, then learn, each line of FILE in turn, and show the mistakes.

    \b
    The table has a line at rounds 1, 2, 4, 8, ...:
      rate   mistakes per round so far
      since  mistakes per round since the line before

    FILE is svmlight, VW text, a table or JSON lines, plain, .gz or .zst; - is standard input. Ctrl-C ends with the
    summary, and saves.
    """
    source = source_of(files, options)
    if source.positive is not None:
        options["classes"] = options["classes"] or f"not {source.positive},{source.positive}"
    with told():
        model = mb.load(load_from) if load_from else make(learner, options, keep=certify or save_to is not None)
        table = Table(quiet=as_json)
        with written(predictions) as out:
            stopped = learn(model, source, passes, table, out)
        if save_to:
            model.save(save_to)
        certificate = model.certify() if certify else None
        if as_json:
            more = {"learner": type(model).__name__, "skipped": source.skipped, "stopped": str(stopped or "")}
            found = {"certificate": json.loads(certificate.to_json())} if certificate else {}
            click.echo(json.dumps(table.totals() | more | found))
        else:
            for line in source.skipped:
                click.echo(f"skipped {line}", err=True)
            click.echo(f"\n{table.mistakes:,} mistakes in {table.rounds:,} rounds, {table.seconds:.2f} s")
            if certificate:
                click.echo(str(certificate))
    if isinstance(stopped, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    if stopped:
        raise click.ClickException(str(stopped))


def learn(model: LinearLearner, source: mb.Source, passes: int, table: Table, out: Any) -> BaseException | None:
    """Learn from the source, and return what ended it before its end, if anything did."""
    try:
        for _ in range(passes):
            for part in model.run_parts(source):
                table.add(part)
                if out:
                    out.writelines(f"{label}\n" for label in part.predictions.tolist())
    except (KeyboardInterrupt, ValueError) as reason:
        return reason
    finally:
        table.end()
    return None


@main.command()
@click.argument("model", type=click.Path(exists=True))
@FILES
@click.option("--scores", is_flag=True, help="Write the score after each label.")
@reading
def predict(model: str, files: tuple[str, ...], *, scores: bool, **options: Any) -> None:
    """Write the predicted label of each line of FILE, without learning. Labels in FILE may be missing."""
    source = source_of(files, options)
    with told():
        for numbers, labels in mb.load(model).score_parts(source):
            pairs = zip(labels.tolist(), numbers.tolist(), strict=True)
            lines = [f"{label}\t{score:.6g}\n" if scores else f"{label}\n" for label, score in pairs]
            click.echo("".join(lines), nl=False)


@main.command()
@click.argument("model", type=click.Path(exists=True))
@click.option("--top", default=20, show_default=True, help="How many; 0 for all.")
def weights(model: str, top: int) -> None:
    """Show the largest weights of a saved model, by size."""
    with told():
        found = mb.load(model).weights_
        pairs = list(found.items()) if isinstance(found, dict) else list(enumerate(found.tolist()))
        pairs.sort(key=lambda pair: -abs(pair[1]))
        for name, weight in pairs[: top or None]:
            click.echo(f"{weight:>14.6g}  {name}")


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("theorem", required=False)
@click.argument("values", nargs=-1, type=click.UNPROCESSED, metavar="[--NAME VALUE]...")
def bound(theorem: str | None, values: tuple[str, ...]) -> None:
    """Compute what a theorem allows; without THEOREM, list them with what they need.

    Example: mistakebound bound littlestone --n 100 --r 2
    """
    known = bounds()
    if theorem is None:
        for name, function in known.items():
            needs = " ".join(f"--{each}" for each in inspect.signature(function).parameters)
            click.echo(f"{name:32} {needs}")
        return
    if theorem not in known:
        message = f"there is no theorem {theorem!r}; 'mistakebound bound' lists them"
        raise click.UsageError(message)
    if len(values) % 2 or not all(name.startswith("--") for name in values[::2]):
        message = f"what {theorem} needs comes as --name value: {inspect.signature(known[theorem])}"
        raise click.UsageError(message)
    with told():
        given = {name[2:].replace("-", "_"): number(text) for name, text in zip(values[::2], values[1::2], strict=True)}
        try:
            inspect.signature(known[theorem]).bind(**given)
        except TypeError as error:
            message = f"{theorem}: {error}; it takes {inspect.signature(known[theorem])}"
            raise click.UsageError(message) from None
        click.echo(known[theorem](**given))


@main.command()
def version() -> None:
    """Show the version."""
    from mistakebound._core import has_avx2  # noqa: PLC0415

    click.echo(
        f"mistakebound {mb.__version__} (Python {sys.version.split()[0]}, {'AVX2' if has_avx2() else 'portable'})"
    )


class Table:
    """Lines at rounds 1, 2, 4, 8, ..., and a closing one."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.rounds = self.mistakes = self.false_positives = self.false_negatives = 0
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
        if self.quiet:
            return
        if not self.last[0]:
            click.echo(f"{'rounds':>12} {'mistakes':>10} {'rate':>8} {'since':>8} {'examples/s':>12}")
        since = (mistakes - self.last[1]) / (rounds - self.last[0])
        speed = done / max(self.seconds, 1e-9)
        click.echo(f"{rounds:>12,} {mistakes:>10,} {mistakes / rounds:>8.4f} {since:>8.4f} {speed:>12,.0f}")
        self.last = (rounds, mistakes)


def make(learner: str, parameters: dict[str, Any], *, keep: bool) -> LinearLearner:
    """A learner by its name, with the parameters that were given."""
    given = {name: value for name, value in parameters.items() if value is not None}
    if "classes" in given:
        given["classes"] = tuple(plain_label(text.encode()) for text in given["classes"].split(","))
    kind = getattr(mb, LEARNERS[learner])
    takes = inspect.signature(kind).parameters
    for name in given:
        if name not in takes:
            message = f"--{name.replace('_', '-')} is not a parameter of {learner}"
            raise click.UsageError(message)
    options: dict[str, Any] = {**DEFAULTS.get(learner, {}), **given}
    if not keep:
        options["keep_bytes"] = 0  # nothing will ask for the mistaken examples
    made: LinearLearner = kind(**options)
    return made


def bounds() -> dict[str, Any]:
    """The formulas of ``mistakebound.bounds`` by the names of their theorems."""
    own = inspect.getmembers(mb.bounds, lambda each: getattr(each, "__module__", "") == "mistakebound.bounds")
    return {name.replace("_", "-"): each for name, each in own if inspect.isfunction(each) and not name.startswith("_")}


def number(text: str) -> float | int:
    """A whole number if it is one, for some formulas want it."""
    try:
        return int(text)
    except ValueError:
        return float(text)


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
def written(path: str | None) -> Iterator[Any]:
    """A file to write to, if one is wanted."""
    if path is None:
        yield None
    else:
        with click.open_file(path, "w") as file:
            yield file

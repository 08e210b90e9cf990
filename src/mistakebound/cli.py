"""The command line: learn from a file and show mistakes, predict, look at weights, ask for a bound."""

from __future__ import annotations

import inspect
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

import mistakebound as mb

if TYPE_CHECKING:
    from mistakebound.ledger import Ledger
    from mistakebound.learners import LinearLearner

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
    """Online learning that proves how few mistakes it makes.

    \b
    Examples:
      mistakebound run stream.svm                      learn, and show the mistakes
      mistakebound run train.vw.gz --save model.mb     ... and keep the model
      mistakebound predict model.mb new.svm            a prediction a line
      mistakebound weights model.mb                    the features that matter most
      mistakebound bound littlestone --n 100 --r 2     what a theorem allows
    """


FILES = click.argument("files", nargs=-1, required=True, metavar="FILE...")


def reading(command: Any) -> Any:
    """Add the options that say how files are read."""
    for option in (
        click.option("--threads", default=2, show_default=True, help="Threads that parse ahead; the result is the same."),
        click.option("--skip-bad", default=0, metavar="N", help="Leave out up to N bad lines, and list them."),
        click.option("--zero-based", is_flag=True, help="svmlight indices count from 0."),
        click.option("--format", "format_", default="auto", help="svmlight or vw; told by the content if not given."),
    ):
        command = option(command)
    return command


@main.command()
@FILES
@click.option("--learner", type=click.Choice(list(LEARNERS)), default="balanced-winnow", show_default=True)
@click.option("--eta", type=float, help="Learning rate of the Winnow family.")
@click.option("--alpha", type=float, help="Winnow's factor.")
@click.option("--threshold", type=float, help="Winnow's threshold.")
@click.option("--p", type=float, help="p of the p-norm Perceptron.")
@click.option("--update-margin", type=float, help="Learn also when y times the score is at or below this.")
@click.option("--bias", type=float, help="Value of a constant feature; 0 for none.")
@click.option("--passes", default=1, show_default=True, help="How often to go through the files.")
@click.option("--load", "load_from", type=click.Path(exists=True), help="Go on with a saved model.")
@click.option("--save", "save_to", type=click.Path(), help="Write the model here at the end.")
@click.option("--predictions", type=click.Path(), help="Write what was predicted in each round, before learning from it.")
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
    format_: str,
    zero_based: bool,
    skip_bad: int,
    threads: int,
    **parameters: float | None,
) -> None:
    """Predict, then learn, each line of FILE in turn, and show the mistakes.

    \b
    The table has a line at rounds 1, 2, 4, 8, ...:
      rate   mistakes per round so far
      since  mistakes per round since the line before

    FILE is svmlight or VW text, plain, .gz or .zst; - is standard input. Ctrl-C ends with the summary, and saves.
    """
    with told():
        model = mb.load(load_from) if load_from else make(learner, parameters, keep=certify or save_to is not None)
        source = mb.Source(files, format=format_, zero_based=zero_based, skip_bad=skip_bad, threads=threads)
        table = Table(quiet=as_json)
        start = time.perf_counter()
        stopped: BaseException | None = None
        with written(predictions) as out:
            try:
                for _ in range(passes):
                    for part in model.run_parts(source):
                        table.add(part, time.perf_counter() - start)
                        if out:
                            out.writelines(f"{label}\n" for label in part.predictions.tolist())
            except (KeyboardInterrupt, ValueError) as reason:
                stopped = reason
        summary = table.end(time.perf_counter() - start)
        if save_to:
            model.save(save_to)
        certificate = model.certify() if certify else None
        if as_json:
            more = {"learner": learner, "skipped": source.skipped, "stopped": str(stopped) if stopped else None}
            found = {"certificate": json.loads(certificate.to_json())} if certificate else {}
            click.echo(json.dumps(summary | more | found))
        else:
            for line in source.skipped:
                click.echo(f"skipped {line}", err=True)
            click.echo(f"\n{summary['mistakes']:,} mistakes in {summary['rounds']:,} rounds ({summary['rate']:.4f})")
            if certificate:
                click.echo(str(certificate))
    if isinstance(stopped, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    if stopped:
        raise click.ClickException(str(stopped))


@main.command()
@click.argument("model", type=click.Path(exists=True))
@FILES
@click.option("--scores", is_flag=True, help="Write the score after each label.")
@reading
def predict(
    model: str, files: tuple[str, ...], *, scores: bool, format_: str, zero_based: bool, skip_bad: int, threads: int
) -> None:
    """Write the predicted label of each line of FILE, without learning. Labels in FILE may be missing."""
    with told():
        source = mb.Source(files, format=format_, zero_based=zero_based, skip_bad=skip_bad, threads=threads)
        for numbers, labels in mb.load(model).score_parts(source):
            pairs = zip(labels.tolist(), numbers.tolist(), strict=True)
            click.echo("\n".join(f"{label}\t{score:.6g}" if scores else f"{label}" for label, score in pairs))


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

    click.echo(f"mistakebound {mb.__version__} (Python {sys.version.split()[0]}, {'AVX2' if has_avx2() else 'portable'})")


class Table:
    """Lines at rounds 1, 2, 4, 8, ..., and a closing one."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.rounds = self.mistakes = self.false_positives = self.false_negatives = 0
        self.next, self.last, self.shown = 1, (0, 0), False

    def add(self, part: Ledger, seconds: float) -> None:
        """Count the rounds of a part, and show the lines that fall into it."""
        while self.next <= self.rounds + part.rounds:
            mistakes = int((part.mistake_rounds < self.next - self.rounds).sum())
            self._show(self.next, self.mistakes + mistakes, (self.rounds + part.rounds) / seconds)
            self.next *= 2
        self.rounds += part.rounds
        self.mistakes += part.mistakes
        self.false_positives += part.false_positives
        self.false_negatives += part.false_negatives

    def end(self, seconds: float) -> dict[str, Any]:
        """Show the last line, and return the totals."""
        if self.rounds > self.last[0]:
            self._show(self.rounds, self.mistakes, self.rounds / seconds)
        rate = self.mistakes / self.rounds if self.rounds else 0.0
        names = ("rounds", "mistakes", "false_positives", "false_negatives")
        return {name: getattr(self, name) for name in names} | {"rate": rate, "seconds": seconds}

    def _show(self, rounds: int, mistakes: int, speed: float) -> None:
        if self.quiet:
            return
        if not self.shown:
            click.echo(f"{'rounds':>12} {'mistakes':>10} {'rate':>8} {'since':>8} {'examples/s':>12}")
            self.shown = True
        since = (mistakes - self.last[1]) / (rounds - self.last[0])
        click.echo(f"{rounds:>12,} {mistakes:>10,} {mistakes / rounds:>8.4f} {since:>8.4f} {speed:>12,.0f}")
        self.last = (rounds, mistakes)


def make(learner: str, parameters: dict[str, float | None], *, keep: bool) -> LinearLearner:
    """A learner by its name, with the parameters that were given."""
    given = {name: value for name, value in parameters.items() if value is not None}
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

"""``mistakebound run``: learn from files, and show the mistakes."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

import mistakebound as mb
from mistakebound.cli.curve import Curve
from mistakebound.cli.making import LEARNERS, make
from mistakebound.cli.output import OutputFile, Table, told, written
from mistakebound.cli.reading import FILES, reading, source_of
from mistakebound.cli.summary import certificate_in_words, facts, in_words

if TYPE_CHECKING:
    from mistakebound.learners import LinearLearner

INTERRUPTED = 130
COLOUR = False if os.environ.get("NO_COLOR") else None
"""None: on a terminal only."""


@click.command(short_help="Learn from FILE, and show the mistakes.")
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
@click.option("--save", "save_to", type=OutputFile(), help="Write the model here at the end.")
@click.option(
    "--predictions", type=OutputFile(), help="Write what was predicted in each round, before learning from it."
)
@click.option("--report", type=OutputFile(), metavar="FILE.html", help="Write a page with all about the run here.")
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
    report: str | None,
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

    \b
    Examples:
      mistakebound run stream.svm --certify
      mistakebound run mail.csv --label kind --text subject --save mail.mb --report mail.html
      mistakebound run measured.csv --label ok --bins 4          numbers of very different sizes
      mistakebound run more.csv --label kind --text subject --load mail.mb --save mail.mb
    """
    source = source_of(files, options)
    if source.positive is not None:
        options["classes"] = options["classes"] or f"not {source.positive},{source.positive}"
    with told():
        model = mb.load(load_from) if load_from else make(learner, options, keep=certify or save_to is not None)
        table, curve = Table(quiet=as_json), Curve()
        with written(predictions) as out:
            stopped = learn(model, source, passes, table, curve, out)
        found = facts(model, source, table, stopped)
        nothing = bool(stopped) and not table.rounds  # such as a column that is not there: no model, no summary
        if save_to and not nothing:
            model.save(save_to)
            found["saved"] = save_to
        certificate = model.certify() if certify and not nothing else None
        if report:
            from mistakebound.cli.report import page  # noqa: PLC0415 - seldom needed
            from mistakebound.explain import Features  # noqa: PLC0415

            features = Features(model, zero_based=source.zero_based)
            with open(report, "w", encoding="utf-8") as file:  # noqa: PTH123 - pathlib need not be imported
                file.write(page(found, curve.to_now(), features, certificate))
            found["report"] = report
        if as_json:
            told_of = {"certificate": json.loads(certificate.to_json())} if certificate else {}
            click.echo(json.dumps(found | told_of))
        else:
            for line in source.skipped:
                click.echo(f"skipped {line}", err=True)
            if not nothing:
                click.echo("\n" + in_words(found), color=COLOUR)
            if certificate:
                click.echo(certificate_in_words(certificate), color=COLOUR)
    if isinstance(stopped, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    if stopped:
        raise click.ClickException(found["stopped"])


def learn(
    model: LinearLearner, source: mb.Source, passes: int, table: Table, curve: Curve, out: Any
) -> BaseException | None:
    """Learn from the source, and return what ended it before its end, if anything did."""
    try:
        for _ in range(passes):
            for part in model.run_parts(source):
                table.add(part)
                curve.add(part)
                if out:
                    out.writelines(f"{label}\n" for label in part.predictions.tolist())
    except (KeyboardInterrupt, ValueError) as reason:
        return reason
    finally:
        table.end()
    return None

"""Commands that use a saved model: ``predict``, ``weights``, ``explain``."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from mistakebound._support.json_numbers import json_of
from mistakebound._support.text import escaped
from mistakebound.cli.help import EXIT_CODES, Manual
from mistakebound.cli.options import FILES, reading_options, source_of
from mistakebound.cli.output import as_flag, note
from mistakebound.learners.linear import load

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mistakebound.data.remarks import Remark
    from mistakebound.learners.explain import Explanation


@click.command(cls=Manual, epilog=EXIT_CODES, short_help="Predict the label of each line of FILE.")
@click.argument("model", type=click.Path(exists=True))
@FILES
@click.option(
    "--scores", is_flag=True, help="Also write the probability of the positive label, if there is one, and the score."
)
@reading_options
def predict(model: str, files: tuple[str, ...], *, scores: bool, **options: Any) -> None:
    r"""Write the predicted label of each line of FILE, without learning. Labels in FILE may be missing.

    FILE is read with the options of the files that the model was trained on. --format, --separator and --header
    describe one file and may be set again; --ignore may name more columns. Any other option that contradicts the model
    is an error. So is a table that lacks a column that the model learned from, unless --ignore names that column. The
    label column may be missing; in a table without a header, only if it was the last column.

    Control characters in a label are written as escapes (a newline as \n), so each example has exactly one line.

    \b
    Examples:
      mistakebound predict model.mb new.csv
      mistakebound predict model.mb new.csv --scores
      cat new.csv | mistakebound predict model.mb -
    """
    from mistakebound.runs import predictions  # noqa: PLC0415 - "--help" needs none of it

    learner = load(model)
    source = source_of(files, options, learner)
    found = predictions.predict(source, learner, click.open_file("-", "w"), scores=scores)
    show_remarks(found.remarks)
    if 2 * found.unknown > found.rounds:
        note(
            f"{found.unknown:,} of {found.rounds:,} lines have no feature that the model has learned. Check --text, "
            "--bins, --header, ...; 'mistakebound weights' lists the features of the model"
        )


def show_remarks(remarks: Iterable[Remark]) -> None:
    """Show the remarks on files to predict, except those on importance weights, which do not matter there."""
    for remark in remarks:
        if remark.kind != "weights ignored":
            note(remark.text(as_flag))


@click.command(cls=Manual, epilog=EXIT_CODES, short_help="Show the largest weights of a model.")
@click.argument("model", type=click.Path(exists=True))
@click.option("--top", default=20, show_default=True, type=click.IntRange(0), help="How many weights; 0 for all.")
@click.option("--zero-based", is_flag=True, help="The svmlight file counts from 0.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of the list.")
def weights(model: str, top: int, *, zero_based: bool, as_json: bool) -> None:
    r"""Show the largest weights of a saved model, and what its constant feature adds, if it has one.

    A panel, the default learner, has no single weight for each feature: learn a linear model for that.

    \b
    Names of features of a table:
      column           a number
      column=value     a category, a bin of numbers, or a word of a text
      a=x*b=y          an interaction

    Features of svmlight have the numbers of the file, which count from 1 unless it was read with --zero-based. Features
    of arrays have the numbers of their columns, from 0.

    \b
    Examples:
      mistakebound run mail.csv --label kind --learner arow --save arow.mb
      mistakebound weights arow.mb
      mistakebound weights arow.mb --top 0 --json
    """
    from mistakebound.learners.explain import Features  # noqa: PLC0415 - it needs numpy

    features = Features(load(model), zero_based=zero_based)
    found, constant = features.largest(top or None), features.constant
    if as_json:
        added = 0.0 if constant is None else constant.adds
        known = len(features.weights) - features.engine.named
        click.echo(json_of({"features": known, "intercept": added, "weights": [list(pair) for pair in found]}))
        return
    if constant is not None:
        click.echo(f"{constant.adds:>14.6g}  {constant.feature}")
    for name, weight in found:
        click.echo(f"{weight:>14.6g}  {escaped(name)}")


@click.command(cls=Manual, epilog=EXIT_CODES, short_help="Show why a model makes its predictions.")
@click.argument("model", type=click.Path(exists=True))
@click.argument("file")
@click.option("--line", type=click.IntRange(1), metavar="N", help="Explain the example that begins in line N.")
@click.option(
    "--first", default=3, show_default=True, type=click.IntRange(1), help="How many examples, without --line."
)
@click.option(
    "--top", default=10, show_default=True, type=click.IntRange(0), help="How many features of each; 0 for all."
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object per line instead of the list.")
@reading_options
def explain(model: str, file: str, *, line: int | None, first: int, top: int, as_json: bool, **options: Any) -> None:
    r"""Show why MODEL makes its predictions for examples of FILE: how much each feature adds to the score.

    The score is the sum of value times weight over all features. If it is at or above the threshold, the prediction is
    the positive label. The weights of normalized-winnow and balanced-winnow are normalised, as in 'mistakebound
    weights'.

    FILE is read with the options of the files that the model was trained on: see 'mistakebound predict --help'.

    \b
    Examples:
      mistakebound run mail.csv --label kind --learner arow --save arow.mb
      mistakebound explain arow.mb new.csv
      mistakebound explain arow.mb new.csv --line 3 --top 0 --json
    """
    from mistakebound.learners.explain import explanations  # noqa: PLC0415 - it needs numpy

    learner = load(model)
    reader = learner.open_stream(source_of((file,), options, learner), labels_needed=False, warn=False)
    found = explanations(learner, reader, line)
    shown_so_far = 0
    for each in islice(found, first if line is None else 1):
        separator = "\n" if shown_so_far else ""
        click.echo(explanation_as_json(each, top) if as_json else separator + explanation_as_text(each, top))
        shown_so_far += 1
    show_remarks(reader.report.remarks)
    if line is not None and not shown_so_far:
        message = f"{file}: no example begins at line {line}"
        raise click.ClickException(message)


def explanation_as_text(found: Explanation, top: int) -> str:
    """Return an explanation as text, with the ``top`` largest contributions."""
    label = "" if found.label is None else f", the label is {escaped(found.label)}"
    sign = ">=" if found.score >= found.threshold else "<"
    lines = [
        f"{escaped(found.file)}:{found.line}: predicted {escaped(found.prediction)}{label}",
        f"score {found.score:.6g} {sign} threshold {found.threshold:.6g}",
        f"{'adds':>14} {'value':>12} {'weight':>14}  feature",
    ]
    listed = found.contributions[: top or None]
    lines += [
        f"{each.adds:>14.6g} {each.value:>12.6g} {each.weight:>14.6g}  {escaped(each.feature)}" for each in listed
    ]
    rest = found.contributions[len(listed) :]
    if rest:
        lines.append(f"{sum(each.adds for each in rest):>14.6g} {'':>12} {'':>14}  ({len(rest)} more features)")
    return "\n".join(lines)


def explanation_as_json(found: Explanation, top: int) -> str:
    """Return an explanation as one line of JSON, with the ``top`` largest contributions."""
    names = ("file", "line", "score", "threshold", "prediction", "label")
    listed = found.contributions[: top or None]
    features = [
        {"feature": each.feature, "value": each.value, "weight": each.weight, "adds": each.adds} for each in listed
    ]
    rest = sum(each.adds for each in found.contributions[len(listed) :])
    return json_of({name: getattr(found, name) for name in names} | {"features": features, "rest": rest})

"""Commands that use a saved model: ``predict``, ``weights``, ``explain``."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from mistakebound._support.json_numbers import json_of
from mistakebound._support.text import escaped
from mistakebound.cli.help import EXIT_CODES, Manual
from mistakebound.cli.options import FILES, reading_options, source_of
from mistakebound.cli.output import as_flag, note
from mistakebound.data.labels import plain_label
from mistakebound.learners.explanation import CONSTANT
from mistakebound.learners.learner import Learner
from mistakebound.learners.linear import load
from mistakebound.learners.panel import Panel
from mistakebound.models.container import is_zip, learner_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mistakebound.data.remarks import Remark
    from mistakebound.learners.explanation import Explanation


def refuse_threshold(_context: click.Context, _option: click.Parameter, value: str | None) -> None:
    """Raise UsageError if ``predict`` is called with the option --threshold of ``run``."""
    if value is not None:
        message = (
            "--threshold is not an option of predict: 'mistakebound run --threshold' stores it in the model; "
            "for another one, compare the probabilities that --probabilities writes"
        )
        raise click.UsageError(message)


@click.command(cls=Manual, epilog=EXIT_CODES, short_help="Predict the label of each line of FILE.")
@click.argument("model", type=click.Path(exists=True))
@FILES
@click.option(
    "--scores",
    is_flag=True,
    help="Also write the probability of the positive label, if there is one, and the score; with more than two labels, "
    "the probability of the predicted label.",
)
@click.option(
    "--probabilities",
    is_flag=True,
    help="Also write the probability of every label. They are in the order of the header that --csv writes.",
)
@click.option("--threshold", hidden=True, expose_value=False, callback=refuse_threshold)
@click.option("--csv", is_flag=True, help="Write CSV with a header, instead of columns that are separated by tabs.")
@reading_options
def predict(
    model: str, files: tuple[str, ...], *, scores: bool, probabilities: bool, csv: bool, **options: Any
) -> None:
    r"""Write the predicted label of each line of FILE, without learning. Labels in FILE may be missing.

    FILE is read with the options of the files that the model was trained on. --format, --separator and --header
    describe one file and may be set again; --ignore may name more columns. Any other option that contradicts the model
    is an error. So is a table that lacks a column that the model learned from, unless --ignore names that column. The
    label column may be missing; in a table without a header, only if it was the last column.

    Control characters in a label are written as escapes (a newline as \n), so each example has exactly one line. For a
    model of a MultilabelPanel, the line has all predicted labels, separated by commas. With --scores, the probability
    of each label of the model follows, as label:probability; with --probabilities, the probabilities alone.

    \b
    Examples:
      mistakebound predict model.mb new.csv
      mistakebound predict model.mb new.csv --scores
      mistakebound predict model.mb new.csv --probabilities --csv > new-p.csv
      cat new.csv | mistakebound predict model.mb -
    """
    from mistakebound.runs import predictions  # noqa: PLC0415 - "--help" needs none of it

    learner = load_any(model)
    out = click.open_file("-", "w")
    if isinstance(learner, Learner):
        source = source_of(files, options, learner)
        found = predictions.predict(source, learner, out, scores=scores, probabilities=probabilities, csv=csv)
    else:
        source = source_of(files, options, learner.reading_panel)
        found = predictions.predict_sets(source, learner, out, scores=scores, probabilities=probabilities, csv=csv)
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


of_class = click.option(
    "--class",
    "of_class",
    metavar="LABEL",
    help="For a panel or a multiclass perceptron: show the logit or score of this label. By default, the positive "
    "label; with several classes, the predicted one. Needed for a MultilabelPanel.",
)


def load_any(path: str) -> Any:
    """Return the linear learner or the MultilabelPanel of a model file."""
    if not is_zip(path):
        refuse_state_of_experts(path)
        return load(path)
    from mistakebound.learners.multilabel_file import load as load_multilabel  # noqa: PLC0415 - few files have it

    return load_multilabel(path)


def refuse_state_of_experts(path: str) -> None:
    """Raise ClickException if a file is a state of ``experts``, and name the command that shows its weights."""
    from mistakebound.experts.model import STATE  # noqa: PLC0415 - only the name is needed, and only here

    if learner_in(path) == STATE:
        again = f"mistakebound experts FILE --outcome COLUMN --load {quote(path)} --weights weights.csv"
        message = f"{path} is a state of 'mistakebound experts', not a model; for its weights: {again}"
        raise click.ClickException(message)


def load_one(path: str, label: Any) -> tuple[Learner, Any]:
    """Return the learner of a model file, and the label to explain; of a MultilabelPanel, the panel of the label."""
    learner = load_any(path)
    if isinstance(learner, Learner):
        return learner, label
    if label not in learner.panels:
        listed = ", ".join(map(str, learner.panels))
        message = f"{path} has a panel for each of several labels: set --class to one of them ({listed})"
        raise click.UsageError(message)
    return learner.panels[label], True


def label_of(text: str | None) -> Any:
    """Return the label that a text on the command line stands for."""
    return None if text is None else plain_label(text.encode())


@click.command(cls=Manual, epilog=EXIT_CODES, short_help="Show the largest weights of a model.")
@click.argument("model", type=click.Path(exists=True))
@click.option("--top", default=20, show_default=True, type=click.IntRange(0), help="How many weights; 0 for all.")
@click.option(
    "--class",
    "of_class",
    metavar="LABEL",
    help="For a panel or a multiclass perceptron: show the weights for this label. By default, the positive label; "
    "with several classes, each of them.",
)
@click.option("--zero-based", is_flag=True, help="The svmlight file counts from 0.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of the list.")
def weights(model: str, top: int, *, of_class: str | None, zero_based: bool, as_json: bool) -> None:
    r"""Show the largest weights of a saved model, and what its constant feature adds, if it has one.

    The weight of a feature of a linear model is what a value of 1 adds to the score. The weight of a feature of a
    panel, the default learner, is what it adds to the logit of an example that has only this feature, with its largest
    absolute value so far. Pairs of features have no weights; 'mistakebound explain' shows what they add.

    \b
    Names of features of a table:
      column           a number
      column=value     a category, a bin of numbers, or a word of a text
      a=x*b=y          an interaction

    Features of svmlight have the numbers of the file, which count from 1 unless it was read with --zero-based. Features
    of arrays have the numbers of their columns, from 0.

    \b
    Examples:
      mistakebound weights model.mb
      mistakebound weights model.mb --top 0 --json
    """
    from mistakebound.learners.explain import explained_labels, weights_and_constant  # noqa: PLC0415 - it needs numpy

    learner, label = load_one(model, label_of(of_class))
    labels = explained_labels(learner) if label is None else [label]
    found = [(each, *weights_and_constant(learner, label=each, zero_based=zero_based)) for each in labels]
    if as_json:
        objects = [
            {
                "features": len(pairs),
                "intercept": constant or 0.0,
                "weights": [list(pair) for pair in pairs[: top or None]],
            }
            for _, pairs, constant in found
        ]
        one = objects[0] if len(labels) == 1 else None
        click.echo(json_of(one or {"classes": [{"label": each} | o for each, o in zip(labels, objects, strict=True)]}))
        return
    for place, (each, pairs, constant) in enumerate(found):
        if len(labels) > 1:
            kind = "logit" if isinstance(learner, Panel) else "score"
            click.echo(("\n" if place else "") + f"{kind} of {escaped(each)}")
        if constant is not None:
            click.echo(f"{constant:>14.6g}  {CONSTANT}")
        for name, weight in pairs[: top or None]:
            click.echo(f"{weight:>14.6g}  {escaped(name)}")


@click.command(cls=Manual, epilog=EXIT_CODES, short_help="Show why a model makes its predictions.")
@click.argument("model", type=click.Path(exists=True))
@click.argument("file")
@click.option("--line", type=click.IntRange(1), metavar="N", help="Explain the example that begins in line N.")
@click.option(
    "--first", default=3, show_default=True, type=click.IntRange(1), help="How many examples, without --line."
)
@click.option("--top", default=10, show_default=True, type=click.IntRange(0), help="Terms per example; 0 for all.")
@of_class
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object per line instead of the list.")
@reading_options
def explain(
    model: str,
    file: str,
    *,
    line: int | None,
    first: int,
    top: int,
    of_class: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    r"""Show why MODEL makes its predictions for examples of FILE: how much each feature adds to the score.

    The score of a linear model is the sum of value times weight over all features. If it is at or above the threshold,
    the prediction is the positive label. A multiclass perceptron has weights and a score for each label, and predicts
    the label with the largest score. The weights of normalized-winnow and balanced-winnow are normalised, as in
    'mistakebound weights'.

    The score of a panel, the default learner, is the logit ln(p/(1 - p)) of a label with the probability p. It is the
    sum of what features, pairs and triples of features ("a & b"), the constant and the previous labels add to it. Below
    them are the members of the panel that add most, each with its own logit.

    FILE is read with the options of the files that the model was trained on: see 'mistakebound predict --help'.

    \b
    Examples:
      mistakebound explain model.mb new.csv
      mistakebound explain model.mb new.csv --line 3 --top 0 --json
    """
    from mistakebound.learners.explain import explanations  # noqa: PLC0415 - it needs numpy

    shown_label = label_of(of_class)
    learner, label = load_one(model, shown_label)
    reader = learner.open_stream(source_of((file,), options, learner), labels_needed=False, warn=False)
    found = explanations(learner, reader, line, label=label)
    shown_so_far = 0
    for each in islice(found, first if line is None else 1):
        each = each if label is shown_label else replace(each, of=shown_label)  # noqa: PLW2901 - of a MultilabelPanel
        separator = "\n" if shown_so_far else ""
        click.echo(explanation_as_json(each, top) if as_json else separator + each.largest(top or None).as_text())
        shown_so_far += 1
    show_remarks(reader.report.remarks)
    if line is not None and not shown_so_far:
        message = f"{file}: no example begins at line {line}"
        if line == 1 and reader.report.has_header:
            message = f"{file}: line 1 is the header; the first example is in line 2"
        raise click.ClickException(message)


def explanation_as_json(found: Explanation, top: int) -> str:
    """Return an explanation as one line of JSON, with the ``top`` largest terms."""
    names = ("file", "line", "score", "threshold", "prediction", "label")
    listed = found.terms[: top or None]
    rest = math.fsum(term.adds for term in found.terms[len(listed) :])
    as_object = {name: getattr(found, name) for name in names}
    if not found.members:
        features = [{"feature": t.name, "value": t.value, "weight": t.weight, "adds": t.adds} for t in listed]
        of = {"of": found.of} if found.threshold is None else {}
        return json_of(as_object | of | {"features": features, "rest": rest})
    terms = [
        {"term": t.name, "features": list(t.features), "value": t.value, "adds": t.adds, "by_member": t.by_member}
        | ({} if (original := found.in_table(t)) is None else {"in_table": original})
        for t in listed
    ]
    members = [each._asdict() for each in found.members]
    as_object |= {"of": found.of, "probability": found.probability}
    return json_of(as_object | {"terms": terms, "rest": rest, "members": members})

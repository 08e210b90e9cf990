"""What can be done with a saved model: ``predict``, ``weights``."""

from __future__ import annotations

from typing import Any

import click

import mistakebound as mb
from mistakebound._support.escaping import escaped
from mistakebound.cli.manual import EXIT_CODES, Manual
from mistakebound.cli.output import in_lines, json_of, note, told
from mistakebound.cli.reading import FILES, notes_of, reading, source_of


@click.command(cls=Manual, epilog=EXIT_CODES, short_help="Predict the label of each line of FILE.")
@click.argument("model", type=click.Path(exists=True))
@FILES
@click.option("--scores", is_flag=True, help="Write the score after each label.")
@reading
def predict(model: str, files: tuple[str, ...], *, scores: bool, **options: Any) -> None:
    r"""Write the predicted label of each line of FILE, without learning. Labels in FILE may be missing.

    FILE is read with the options of the files that the model was trained on. --format, --separator and --header
    describe one file and may be set again; --ignore may name more columns. Any other option that contradicts the model
    is an error. So is a table that lacks a column that the model learned from, unless --ignore names that column. The
    label column may be missing; in a table without a header, only if it was the last column.

    Control characters in a label are written as escapes (a newline as \n), so that each example has exactly one line.

    \b
    Examples:
      mistakebound predict model.mb new.csv
      mistakebound predict model.mb new.csv --scores
      cat new.csv | mistakebound predict model.mb -
    """
    with told():
        learner = mb.load(model)
        reader = learner.open_stream(source_of(files, options, learner), labels_needed=False, warn=False)
        rows = unknown = 0
        for numbers, labels, unknown_here in learner.scored_parts(reader):
            rows += len(numbers)
            unknown += unknown_here
            pairs = zip(in_lines(labels.tolist()), numbers.tolist(), strict=True)
            lines = [f"{label}\t{score:.6g}\n" if scores else f"{label}\n" for label, score in pairs]
            click.echo("".join(lines), nl=False)
        for remark in notes_of(reader.report):
            note(remark)
        if 2 * unknown > rows:
            note(
                f"{unknown:,} of {rows:,} lines say nothing to the model: are they read as when it was learned "
                "(--text, --bins, --header, ...)? 'mistakebound weights' shows the names that it knows"
            )


@click.command(cls=Manual, epilog=EXIT_CODES, short_help="Show the largest weights of a model.")
@click.argument("model", type=click.Path(exists=True))
@click.option("--top", default=20, show_default=True, type=click.IntRange(0), help="How many; 0 for all.")
@click.option("--zero-based", is_flag=True, help="The svmlight file counted from 0.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of the list.")
def weights(model: str, top: int, *, zero_based: bool, as_json: bool) -> None:
    r"""Show the largest weights of a saved model, by size, and what its constant feature adds, if it has one.

    \b
    A feature of a table is called
      column           a number
      column=value     a category, a bin of numbers, or a word of a text
      a=x*b=y          an interaction

    Features without names are called by the numbers of the file that the model learned from: svmlight's own, which
    count from 1 unless it was read with --zero-based. One that learned from arrays calls them by their column, from 0.

    \b
    Examples:
      mistakebound weights model.mb
      mistakebound weights model.mb --top 0 --json
    """
    from mistakebound.learners.explain import Features  # noqa: PLC0415 - it needs numpy

    with told():
        features = Features(mb.load(model), zero_based=zero_based)
        found, constant = features.largest(top or None), features.constant
        if as_json:
            added = 0.0 if constant is None else constant.adds
            known = len(features.weights) - features.life.named
            click.echo(json_of({"features": known, "intercept": added, "weights": [list(pair) for pair in found]}))
            return
        if constant is not None:
            click.echo(f"{constant.adds:>14.6g}  {constant.feature}")
        for name, weight in found:
            click.echo(f"{weight:>14.6g}  {escaped(name)}")

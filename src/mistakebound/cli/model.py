"""What can be done with a saved model: ``predict``, ``weights``."""

from __future__ import annotations

import json
from typing import Any

import click

import mistakebound as mb
from mistakebound.cli.output import shown, told
from mistakebound.cli.reading import FILES, reading, source_of


@click.command(short_help="Predict the label of each line of FILE.")
@click.argument("model", type=click.Path(exists=True))
@FILES
@click.option("--scores", is_flag=True, help="Write the score after each label.")
@reading
def predict(model: str, files: tuple[str, ...], *, scores: bool, **options: Any) -> None:
    r"""Write the predicted label of each line of FILE, without learning.

    Say how to read FILE as `mistakebound run` was told. Labels are not used: leave --label out if FILE has no such
    column.

    \b
    Examples:
      mistakebound predict model.mb new.svm > labels
      mistakebound predict mail.mb new.csv --text subject --scores
    """
    source = source_of(files, options)
    with told():
        for numbers, labels in mb.load(model).score_parts(source):
            pairs = zip(labels.tolist(), numbers.tolist(), strict=True)
            lines = [f"{label}\t{score:.6g}\n" if scores else f"{label}\n" for label, score in pairs]
            click.echo("".join(lines), nl=False)


@click.command(short_help="Show the largest weights of a model.")
@click.argument("model", type=click.Path(exists=True))
@click.option("--top", default=20, show_default=True, type=click.IntRange(0), help="How many; 0 for all.")
@click.option("--zero-based", is_flag=True, help="The svmlight file counted from 0.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of the list.")
def weights(model: str, top: int, *, zero_based: bool, as_json: bool) -> None:
    r"""Show the largest weights of a saved model, by size, and what its constant feature adds, if it has one.

    \b
    Features without names are called by the numbers of the file that the model learned from: svmlight's own, which
    count from 1 unless --zero-based. A model that learned from arrays calls them by their column, from 0.
    """
    from mistakebound.explain import Features  # noqa: PLC0415 - it needs numpy

    with told():
        features = Features(mb.load(model), zero_based=zero_based)
        found, constant = features.largest(top or None), features.constant
        if as_json:
            added = 0.0 if constant is None else constant.adds
            known = len(features.weights) - features.life.named
            click.echo(json.dumps({"features": known, "intercept": added, "weights": [list(pair) for pair in found]}))
            return
        if constant is not None:
            click.echo(f"{constant.adds:>14.6g}  {constant.feature}")
        for name, weight in found:
            click.echo(f"{weight:>14.6g}  {shown(name)}")

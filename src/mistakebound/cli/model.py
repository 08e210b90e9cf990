"""What can be done with a saved model: ``predict``, ``weights``."""

from __future__ import annotations

from typing import Any

import click

import mistakebound as mb
from mistakebound.cli.manual import EXIT_CODES, Manual
from mistakebound.cli.output import told
from mistakebound.cli.reading import FILES, reading, source_of


@click.command(cls=Manual, epilog=EXIT_CODES)
@click.argument("model", type=click.Path(exists=True))
@FILES
@click.option("--scores", is_flag=True, help="Write the score after each label.")
@reading
def predict(model: str, files: tuple[str, ...], *, scores: bool, **options: Any) -> None:
    r"""Write the predicted label of each line of FILE, without learning. Labels in FILE may be missing.

    Tell the same about the columns as when the model was learned. If the file has the label's column, name it with
    --label, or leave it out with --ignore: otherwise it is a feature that the model does not know.

    \b
    Examples:
      mistakebound predict model.mb new.csv --text subject --ignore kind
      mistakebound predict model.mb new.csv --text subject --ignore kind --scores
      cat new.csv | mistakebound predict model.mb - --text subject --ignore kind
    """
    source = source_of(files, options)
    with told():
        for numbers, labels in mb.load(model).score_parts(source):
            pairs = zip(labels.tolist(), numbers.tolist(), strict=True)
            lines = [f"{label}\t{score:.6g}\n" if scores else f"{label}\n" for label, score in pairs]
            click.echo("".join(lines), nl=False)


@click.command(cls=Manual, epilog=EXIT_CODES)
@click.argument("model", type=click.Path(exists=True))
@click.option("--top", default=20, show_default=True, help="How many; 0 for all of them.")
def weights(model: str, top: int) -> None:
    r"""Show the largest weights of a saved model, by size.

    \b
    A feature of a table is called
      column           a number
      column=value     a category, or a word of a text
      a=x*b=y          an interaction

    \b
    Examples:
      mistakebound weights model.mb
      mistakebound weights model.mb --top 0
    """
    with told():
        found = mb.load(model).weights_
        pairs = list(found.items()) if isinstance(found, dict) else list(enumerate(found.tolist()))
        pairs.sort(key=lambda pair: -abs(pair[1]))
        for name, weight in pairs[: top or None]:
            click.echo(f"{weight:>14.6g}  {name}")

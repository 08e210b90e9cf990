"""What can be done with a saved model: ``predict``, ``weights``."""

from __future__ import annotations

from typing import Any

import click

import mistakebound as mb
from mistakebound.cli.output import told
from mistakebound.cli.reading import FILES, reading, source_of


@click.command()
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


@click.command()
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

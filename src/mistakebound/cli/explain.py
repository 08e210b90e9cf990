"""``mistakebound explain``: why a prediction was made."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import click

import mistakebound as mb
from mistakebound._support.escaping import escaped
from mistakebound.cli.manual import EXIT_CODES, Manual
from mistakebound.cli.output import json_of, note, told
from mistakebound.cli.reading import notes_of, reading, source_of

if TYPE_CHECKING:
    from mistakebound.learners.explain import Explanation


@click.command(cls=Manual, epilog=EXIT_CODES, short_help="Show why a model predicts what it does.")
@click.argument("model", type=click.Path(exists=True))
@click.argument("file")
@click.option("--line", type=click.IntRange(1), metavar="N", help="The example that begins in line N.")
@click.option("--first", default=3, show_default=True, type=click.IntRange(1), help="Without --line: so many examples.")
@click.option("--top", default=10, show_default=True, type=click.IntRange(0), help="So many features; 0 for all.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object a line instead of the list.")
@reading
def explain(model: str, file: str, *, line: int | None, first: int, top: int, as_json: bool, **options: Any) -> None:
    r"""Show why MODEL predicts what it does for examples of FILE: its features by what they add to the score.

    \b
    The score is the sum over all features of value times weight. At the threshold or above it, the prediction is the
    positive label. Of Winnow's normalised relatives the weights are normalised, as in `mistakebound weights`.

    FILE is read with the options of the files that the model was trained on; see `mistakebound predict --help`.

    \b
    Examples:
      mistakebound explain model.mb new.csv
      mistakebound explain model.mb new.csv --line 3 --top 0 --json
    """
    from mistakebound.learners.explain import explanations  # noqa: PLC0415 - it needs numpy

    with told():
        learner = mb.load(model)
        reader = learner.open_stream(source_of((file,), options, learner), labels_needed=False, warn=False)
        found = explanations(learner, reader, line)
        shown_so_far = 0
        for each in islice(found, first if line is None else 1):
            click.echo(as_object(each, top) if as_json else ("\n" if shown_so_far else "") + in_words(each, top))
            shown_so_far += 1
        for remark in notes_of(reader.report):
            note(remark)
        if line is not None and not shown_so_far:
            message = f"{file}: no example begins in line {line}"
            raise click.ClickException(message)


def in_words(found: Explanation, top: int) -> str:
    """A few lines for a person."""
    label = "" if found.label is None else f", truly {escaped(found.label)}"
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


def as_object(found: Explanation, top: int) -> str:
    """One line for a machine."""
    names = ("file", "line", "score", "threshold", "prediction", "label")
    listed = found.contributions[: top or None]
    features = [
        {"feature": each.feature, "value": each.value, "weight": each.weight, "adds": each.adds} for each in listed
    ]
    rest = sum(each.adds for each in found.contributions[len(listed) :])
    return json_of({name: getattr(found, name) for name in names} | {"features": features, "rest": rest})

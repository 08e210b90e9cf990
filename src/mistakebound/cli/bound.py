"""``mistakebound bound``: compute the bound of a theorem, or list the theorems."""

from __future__ import annotations

import inspect
import re
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

import mistakebound as mb
from mistakebound.aggregation.registry import ALIASES
from mistakebound.cli.help import Manual
from mistakebound.errors import closest

if TYPE_CHECKING:
    from collections.abc import Iterable


@click.command(
    cls=Manual, short_help="Compute the bound of a theorem.", context_settings={"ignore_unknown_options": True}
)
@click.argument("theorem", required=False, shell_complete=lambda _ctx, _param, word: complete_theorem(word))
@click.argument("values", nargs=-1, type=click.UNPROCESSED, metavar="[--NAME VALUE]...")
def bound(theorem: str | None, values: tuple[str, ...]) -> None:
    r"""Compute the bound of a theorem.

    Without THEOREM, list all theorems with their parameters and premises. With THEOREM alone, explain it.

    Most bounds limit the number of mistakes. Those of rules that combine forecasts limit the regret to the best expert.

    \b
    Examples:
      mistakebound bound
      mistakebound bound fixed-share
      mistakebound bound littlestone --n 100 --r 2
      mistakebound bound novikoff --radius 1 --norm 1 --margin 0.1
      mistakebound bound fixed-share --n 10 --eta 0.5 --alpha 0.01 --rounds 1000
    """
    known = bounds()
    if theorem is None:
        for name, function in known.items():
            click.echo("\n".join([name, *indented(parameters_as_options(function)), *indented(premises_of(function))]))
        return
    theorem = ALIASES.get(theorem, theorem)
    if theorem not in known:
        near = closest(theorem, known)
        hint = f"did you mean {near!r}?" if near else "'mistakebound bound' lists them"
        message = f"there is no theorem {theorem!r}; {hint}"
        raise click.UsageError(message)
    takes = f"the parameters of this bound are {parameters_as_options(known[theorem])}"
    if len(values) % 2 or not all(name.startswith("--") for name in values[::2]):
        message = f"the parameters of {theorem} must be pairs --NAME VALUE; {takes}"
        raise click.UsageError(message)
    if not values:
        click.echo(f"{explanation_of(known[theorem])}\n\nOptions: {parameters_as_options(known[theorem])}")
        return
    given = {name[2:].replace("-", "_"): number(text) for name, text in zip(values[::2], values[1::2], strict=True)}
    parameters = inspect.signature(known[theorem]).parameters
    missing = [name for name, each in parameters.items() if each.default is each.empty and name not in given]
    foreign = [name for name in given if name not in parameters]
    if missing or foreign:
        what = f"has no parameter {options(foreign)}" if foreign else f"also needs {options(missing)}"
        message = f"{theorem} {what}; {takes}"
        raise click.UsageError(message)
    try:
        value = known[theorem](**given)
    except ValueError as error:
        message = f"{error}; {takes}"
        raise click.UsageError(message) from None
    click.echo(value)


def indented(text: str) -> list[str]:
    """Return a text as indented lines that fit a terminal of 80 columns. A hyphen is not a place to break a line."""
    return wrap(text, 80, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def options(names: Iterable[str]) -> str:
    """Return parameters as options of the command line."""
    return " ".join(f"--{name.replace('_', '-')}" for name in names)


def parameters_as_options(function: Any) -> str:
    """Return the parameters of a formula as options; optional ones are in brackets."""
    needed = {name: each.default is each.empty for name, each in inspect.signature(function).parameters.items()}
    return " ".join(options([name]) if needed[name] else f"[{options([name])}]" for name in needed)


def bounds() -> dict[str, Any]:
    """Return the formulas of ``mistakebound.bounds`` by the ids of their theorems, and the parts of formulas."""
    return dict(sorted({**mb.bounds.PARTS, **mb.bounds.BOUNDS}.items()))


def explanation_of(function: Any) -> str:
    """Return the docstring of a formula up to its notes: what it bounds, the formula, parameters and premises."""
    text = re.split(r"\n(?:Notes|Examples|References)\n-+\n", inspect.getdoc(function) or "")[0]
    return re.sub(r"\n-+\n", "\n", text).replace("`", "").strip()


def premises_of(function: Any) -> str:
    """Return the premises of a formula in one line; empty if there are none."""
    found = re.search(r"\nPremises\n-+\n(.*?)(\n\n|$)", inspect.getdoc(function) or "", re.DOTALL)
    return "" if found is None else " ".join(found[1].replace("`", "").split())


def complete_theorem(word: str) -> list[str]:
    """Return the theorems whose ids start with the word, for the Tab key."""
    return [name for name in bounds() if name.startswith(word)]


def number(text: str) -> float | int:
    """Return an int if possible, because some formulas need one; otherwise a float."""
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            message = f"{text!r} is not a number"
            raise click.UsageError(message) from None

"""``mistakebound bound`` and ``version``."""

from __future__ import annotations

import inspect
import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

import mistakebound as mb
from mistakebound.cli.manual import Manual
from mistakebound.cli.output import told

if TYPE_CHECKING:
    from collections.abc import Iterable


@click.command(
    cls=Manual, short_help="Compute what a theorem allows.", context_settings={"ignore_unknown_options": True}
)
@click.argument("theorem", required=False, shell_complete=lambda _ctx, _param, word: named_like(word))
@click.argument("values", nargs=-1, type=click.UNPROCESSED, metavar="[--NAME VALUE]...")
def bound(theorem: str | None, values: tuple[str, ...]) -> None:
    r"""Compute what a theorem allows; without THEOREM, list them with what they need.

    \b
    Examples:
      mistakebound bound
      mistakebound bound littlestone --n 100 --r 2
      mistakebound bound novikoff --radius 1 --norm 1 --margin 0.1
    """
    known = bounds()
    if theorem is None:
        for name, function in known.items():
            click.echo(f"{name:32} {taken_by(function)}")
        return
    if theorem not in known:
        near = get_close_matches(theorem, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else "'mistakebound bound' lists them"
        message = f"there is no theorem {theorem!r}; {hint}"
        raise click.UsageError(message)
    takes = f"it takes {taken_by(known[theorem])}"
    if len(values) % 2 or not all(name.startswith("--") for name in values[::2]):
        message = f"what {theorem} needs comes as --name value; {takes}"
        raise click.UsageError(message)
    with told():
        given = {name[2:].replace("-", "_"): number(text) for name, text in zip(values[::2], values[1::2], strict=True)}
        parameters = inspect.signature(known[theorem]).parameters
        missing = [name for name, each in parameters.items() if each.default is each.empty and name not in given]
        foreign = [name for name in given if name not in parameters]
        if missing or foreign:
            what = f"does not take {options(foreign)}" if foreign else f"also needs {options(missing)}"
            message = f"{theorem} {what}; {takes}"
            raise click.UsageError(message)
        click.echo(known[theorem](**given))


def options(names: Iterable[str]) -> str:
    """Parameters, as the command line has them."""
    return " ".join(f"--{name.replace('_', '-')}" for name in names)


def taken_by(function: Any) -> str:
    """What a formula takes; what it can do without is in brackets."""
    needed = {name: each.default is each.empty for name, each in inspect.signature(function).parameters.items()}
    return " ".join(options([name]) if needed[name] else f"[{options([name])}]" for name in needed)


@click.command(cls=Manual, short_help="Show the version.")
def version() -> None:
    """Show the version, that of Python, and whether the core runs its AVX2 kernel."""
    from mistakebound._core import has_avx2  # noqa: PLC0415

    click.echo(
        f"mistakebound {mb.__version__} (Python {sys.version.split()[0]}, {'AVX2' if has_avx2() else 'portable'})"
    )


def bounds() -> dict[str, Any]:
    """The formulas of ``mistakebound.bounds`` by the names of their theorems."""
    own = inspect.getmembers(mb.bounds, lambda each: getattr(each, "__module__", "") == "mistakebound.bounds")
    return {name.replace("_", "-"): each for name, each in own if inspect.isfunction(each) and not name.startswith("_")}


def named_like(word: str) -> list[str]:
    """Theorems whose names begin so, for the Tab key."""
    return [name for name in bounds() if name.startswith(word)]


def number(text: str) -> float | int:
    """A whole number if it is one, for some formulas want it."""
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            message = f"{text!r} is not a number"
            raise click.UsageError(message) from None

"""``mistakebound lab``: run the experiments of the lab, each of which checks a claim of the theory."""

from __future__ import annotations

import sys
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

import mistakebound as mb
from mistakebound._support.json_numbers import json_of
from mistakebound._support.text import did_you_mean
from mistakebound.cli.bound import number
from mistakebound.cli.help import EXIT_CODES, Manual
from mistakebound.cli.options import OutputFile
from mistakebound.cli.output import flag, step_progress

if TYPE_CHECKING:
    from mistakebound.lab.experiment import Experiment, Result


@click.command(
    cls=Manual,
    short_help="Check the theorems in experiments.",
    context_settings={"ignore_unknown_options": True},
    epilog=EXIT_CODES.replace("1    bad input: the message says where", "1    a check fails"),
)
@click.argument("name", required=False, shell_complete=lambda _ctx, _param, word: complete(word))
@click.argument("sizes", nargs=-1, type=click.UNPROCESSED, metavar="[--SIZE NUMBER]...")
@click.option("--all", "everything", is_flag=True, help="Run all experiments.")
@click.option("--quick", is_flag=True, help="Use small sizes, to save time.")
@click.option(
    "--report", type=OutputFile(dash=False), metavar="FILE.html", help="Write a page with charts, tables and checks."
)
@click.option("--plot", type=OutputFile(dash=False), metavar="FILE.png", help="Draw the charts; needs matplotlib.")
@click.option("--dark", is_flag=True, help="Draw the charts of --plot on a dark page.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of text.")
def lab(
    name: str | None,
    sizes: tuple[str, ...],
    *,
    everything: bool,
    quick: bool,
    report: str | None,
    plot: str | None,
    dark: bool,
    as_json: bool,
) -> None:
    r"""Run experiments that check the theorems.

    An experiment makes a claim, lets learners learn a stream or play against an adversary, and checks the claim with
    certificates and measured numbers. Without NAME, list the experiments.

    The sizes of an experiment and its seed are options. The same sizes and seed give the same numbers,
    except for the seconds. --all takes a seed, for all experiments that have one.

    \b
    Examples:
      mistakebound lab
      mistakebound lab disjunctions
      mistakebound lab panel-of-experts --n 1024 --seed 3 --plot panel.png
      mistakebound lab --all --seed 3 --report lab.html
    """
    words = (*([] if name is None else [name]), *sizes)
    refuse_conflicts(words, everything=everything, plot=plot, report=report, dark=dark)
    if plot:
        from mistakebound.viz.figure import figure_class  # noqa: PLC0415 - few runs draw a picture

        figure_class()  # raises at once if matplotlib is missing
    if everything:
        seed = sizes_of(words, "--all takes --seed NUMBER")
        results = run_all(seed, quick=quick)
        again = " ".join(
            ["mistakebound lab --all", *(["--quick"] if quick else []), *filter(None, [sizes_as_options(seed)])]
        )
        as_object: Any = {
            "holds": all(each.holds for each in results),
            "experiments": [each.to_dict() for each in results],
        }
    elif name is None:
        listed = [mb.lab.get(each) for each in mb.lab.names()]
        show_list(listed) if not as_json else click.echo(json_of([each.to_dict() for each in listed]))
        return
    else:
        result = run_one(experiment_of(name), sizes, quick=quick)
        results, again, as_object = [result], result.command, result.to_dict()
    if as_json:
        click.echo(json_of(as_object))
    else:
        from mistakebound.cli import lab_tables  # noqa: PLC0415 - it needs rich

        lab_tables.show_all(results) if everything else lab_tables.show(results[0], drawn=bool(plot or report))
    if plot:
        results[0].figure(dark=dark).savefig(plot, dpi=150)
    if report:
        mb.lab.report(results, report, command=f"{again} --report {quote(report)}")
    for path in filter(None, (plot, report)):
        click.echo(f"wrote {path}", err=True)
    if not all(result.holds for result in results):
        sys.exit(1)


def refuse_conflicts(words: tuple[str, ...], *, everything: bool, plot: Any, report: Any, dark: bool) -> None:
    """Raise UsageError for options that contradict each other; ``words`` are the name and the sizes."""
    message = ""
    if words and words[0].startswith("-"):
        message = f"{words[0]} needs an experiment: mistakebound lab NAME {' '.join(words)}"
    if everything:
        seeded = not words or words[0].partition("=")[0] == "--seed"
        own = f"--all runs all experiments, each with its own sizes; leave out {' '.join(words)}"
        message = "" if seeded and len(words) <= 2 else own
    if report and not everything and not words:
        message = "--report needs an experiment: add its NAME, or --all for all experiments"
    if plot and (everything or not words):
        message = "--plot needs the name of one experiment; for all of them use --all --report FILE.html"
    if dark and not plot:
        message = "--dark needs --plot; a page of --report is light or dark by the setting of the browser"
    if message:
        raise click.UsageError(message)


def experiment_of(name: str) -> Experiment:
    """Return the experiment; an unknown name is an error that suggests a similar one."""
    if name not in mb.lab.names():
        near = did_you_mean(name, mb.lab.names()) or "; 'mistakebound lab' lists them"
        message = f"there is no experiment {name!r}{near}"
        raise click.UsageError(message)
    return mb.lab.get(name)


def run_one(experiment: Experiment, words: tuple[str, ...], *, quick: bool) -> Result:
    """Run an experiment with the sizes that were typed. Wrong sizes are errors that list those that exist."""
    defaults = experiment.defaults
    takes = f"its sizes are {sizes_as_options(defaults)}" if defaults else "it has no sizes"
    given = sizes_of(words, f"the sizes of {experiment.name} must be pairs --SIZE NUMBER; {takes}")
    foreign = [word for word in given if word not in defaults]
    if foreign:
        message = f"{experiment.name} has no size {flag(foreign[0])}; {takes}"
        raise click.UsageError(message)
    try:
        return experiment.run(**{**(experiment.quick if quick else {}), **given})
    except ValueError as error:
        message = f"{error}; {takes}"
        raise click.UsageError(message) from None


def sizes_of(words: tuple[str, ...], message: str) -> dict[str, Any]:
    """Return the sizes that were typed, such as --n 64 --k=3. Other words are an error with this message.

    >>> sizes_of(("--n", "64", "--some-rate=0.5"), "")
    {'n': 64, 'some_rate': 0.5}
    """
    pairs = [word for each in words for word in (each.split("=", 1) if each.startswith("--") else [each])]
    if len(pairs) % 2 or not all(word.startswith("--") for word in pairs[::2]):
        raise click.UsageError(message)
    return {word[2:].replace("-", "_"): number(text) for word, text in zip(pairs[::2], pairs[1::2], strict=True)}


def run_all(seed: dict[str, Any], *, quick: bool) -> list[Result]:
    """Run all experiments, with a line of progress. ``seed`` is {"seed": number}, or empty for the default ones."""
    names = mb.lab.names()
    results = []
    with step_progress(0, wanted=True) as progress:
        for place, name in enumerate(names):
            if progress is not None:
                progress(name, place, len(names), 1)
            experiment = mb.lab.get(name)
            own = seed if "seed" in experiment.defaults else {}
            try:
                results.append(experiment.run(**{**(experiment.quick if quick else {}), **own}))
            except ValueError as error:
                raise click.UsageError(str(error)) from None
    return results


def show_list(experiments: list[Experiment]) -> None:
    """List the experiments: name, title, the first sentence of the claim, and the sizes with their ranges."""
    from mistakebound.cli.bound import indented  # noqa: PLC0415

    for each in experiments:
        click.echo(f"{click.style(each.name, bold=True)}: {each.title}")
        click.echo("\n".join(indented(each.summary)))
        click.echo(f"    {sizes_as_options(each.defaults)}")
        click.echo("\n".join(indented(f"{ranges_in_words(each)}.")) + "\n")
    click.echo("'mistakebound lab NAME' runs one of them, and 'mistakebound lab --all' runs all.")


def sizes_as_options(defaults: dict[str, Any]) -> str:
    """Return sizes as options of the command line.

    >>> sizes_as_options({"n": 100, "some_rate": 0.5})
    '--n 100 --some-rate 0.5'
    """
    return " ".join(f"{flag(name)} {value}" for name, value in defaults.items())


def ranges_in_words(experiment: Experiment) -> str:
    """Return the ranges of the sizes, and the conditions on several of them."""
    own = [f"{name} {size}" for name, size in experiment.ranges.items() if name != "seed"]
    return "; ".join([*own, *(each.statement for each in experiment.together)])


def complete(word: str) -> list[str]:
    """Return the experiments whose names start with the word, for the Tab key."""
    return [name for name in mb.lab.names() if name.startswith(word)]

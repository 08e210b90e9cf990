"""Planted streams, adversaries that force mistakes, and experiments that check the theorems."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mistakebound._support.text import did_you_mean
from mistakebound.errors import InputError, add_file_name

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from mistakebound.lab.experiment import Experiment, Result

EXPERIMENTS = (
    "unit-vectors",
    "panel-of-experts",
    "disjunctions",
    "learning-rate",
    "beta",
    "signed-targets",
    "pnorm",
    "disjunction-adversary",
    "halving",
    "potential",
    "infinite-attributes",
    "noise",
    "drift",
    "late-labels",
    "mixing",
    "multiclass",
    "winnow-and-majority",
    "randomized-majority",
    "lying-adviser",
    "vanishing-regret",
    "switching-experts",
    "panel-learner",
    "alice-and-bob",
)
"""Names of the experiments, in the order of the list; each has a module of its own in ``experiments/``."""


def names() -> list[str]:
    """Return the names of the experiments.

    >>> import mistakebound as mb
    >>> "unit-vectors" in mb.lab.names()
    True
    """
    return list(EXPERIMENTS)


def get(name: str) -> Experiment:
    """Return an experiment by its name: its title, claim, setting and sizes."""
    if name not in EXPERIMENTS:
        near = did_you_mean(name, EXPERIMENTS) or f"; the experiments are {', '.join(EXPERIMENTS)}"
        message = f"there is no experiment {name!r}{near}"
        raise InputError(message)
    module = name.replace("-", "_")
    found: Experiment = getattr(import_module(f"mistakebound.lab.experiments.{module}"), module)
    return found


def run(name: str, **sizes: Any) -> Result:
    """Run an experiment; return its tables, charts and checks.

    Parameters
    ----------
    name : str
        One of ``names()``.
    sizes
        Sizes and the seed of the experiment; ``get(name).defaults`` shows them.

    Examples
    --------
    >>> import mistakebound as mb
    >>> result = mb.lab.run("unit-vectors", k=25)
    >>> result.holds, result.tables[0].rows[-1][:3]
    (True, (25, 25, 0))
    """
    return get(name).run(**sizes)


def report(results: Result | Iterable[Result], path: str | PathLike[str], *, command: str = "") -> None:
    """Write one self-contained HTML page about the results of experiments.

    Parameters
    ----------
    results : Result, or iterable of Result
        What ``run`` returned.
    path : str or path
        The HTML file.
    command : str
        The command that makes the page again; it is shown at the end of the page.

    Examples
    --------
    >>> import pathlib, tempfile, mistakebound as mb
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "lab.html"
    >>> mb.lab.report(mb.lab.run("unit-vectors", k=25), path)
    >>> "k = 25: 25" in path.read_text("utf-8")
    True
    """
    from mistakebound.lab.experiment import Result  # noqa: PLC0415 - names() needs nothing else
    from mistakebound.lab.results_page import results_page  # noqa: PLC0415

    several = [results] if isinstance(results, Result) else list(results)
    with add_file_name(str(path)), open(path, "w", encoding="utf-8") as file:
        file.write(results_page(several, command))

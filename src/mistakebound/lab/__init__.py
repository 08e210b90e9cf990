"""Planted streams, adversaries that force mistakes, and an experiment for each theorem."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mistakebound._support.text import did_you_mean
from mistakebound.errors import InputError

if TYPE_CHECKING:
    from mistakebound.lab.experiment import Experiment, Result

EXPERIMENTS = (
    "unit-vectors",
    "infinite-attributes",
    "noise",
    "drift",
    "late-labels",
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

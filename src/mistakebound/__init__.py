"""Online learning that proves how few mistakes it makes.

>>> import mistakebound as mb
>>> learner = mb.Perceptron()
>>> X, y = mb.streams.panel(n=16, k=3, rounds=200, seed=0)
>>> ledger = learner.run(X, y)
>>> learner.certify().status
'holds'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from mistakebound.errors import InputError, ModelError, StreamError
from mistakebound.learners import linear
from mistakebound.learners.linear import *  # noqa: F403 - the public learners are listed there, once
from mistakebound.play.ledger import Ledger

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from mistakebound import bounds, experts, forecasters, lab, losses, runs, theorems
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.certificates.certify import certify
    from mistakebound.data.source import Source
    from mistakebound.hindsight import oracles
    from mistakebound.lab import adversaries, streams
    from mistakebound.learners.multilabel import MultilabelPanel
    from mistakebound.viz import plot

__version__ = "0.1.0"

AnyLearner = TypeVar("AnyLearner")

__all__ = [
    "Certificate",
    "InputError",
    "Ledger",
    "ModelError",
    "MultilabelPanel",
    "Source",
    "StreamError",
    "adversaries",
    "bounds",
    "certify",
    "experts",
    "forecasters",
    "lab",
    "load",
    "losses",
    "mix",
    "oracles",
    "plot",
    "runs",
    "streams",
    "theorems",
]
__all__ += linear.__all__

_ROOMS = frozenset({"bounds", "experts", "forecasters", "lab", "losses", "runs", "theorems"})
_MODULES = {
    "adversaries": "lab.adversaries",
    "oracles": "hindsight.oracles",
    "plot": "viz.plot",
    "streams": "lab.streams",
}
_FROM_MODULES = {
    "Certificate": "certificates.certificate",
    "certify": "certificates.certify",
    "MultilabelPanel": "learners.multilabel",
    "Source": "data.source",
}


def load(path: str | os.PathLike[str]) -> Any:
    """Return the learner that a model file contains, linear or over experts. Nothing in the file is executed.

    Parameters
    ----------
    path : str or path
        A file that ``learner.save`` wrote.

    Raises
    ------
    ModelError
        If the file is incomplete, was altered, contradicts itself, or was written by a newer version.

    Examples
    --------
    >>> import pathlib, tempfile, mistakebound as mb
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "m.mb"
    >>> for learner in (mb.Perceptron(bias=1), mb.experts.AdaHedge()):
    ...     learner.save(path)
    ...     print(mb.load(path))
    Perceptron(bias=1)
    <AdaHedge(): 0 rounds, 0 experts>
    """
    from mistakebound.models.container import is_zip, learner_in  # noqa: PLC0415 - importing the package needs no json and no hashes

    if is_zip(path):
        from mistakebound.learners.multilabel_file import load as load_multilabel  # noqa: PLC0415 - few files have it

        return load_multilabel(path)
    name = learner_in(path)
    if name in linear.KINDS or not hasattr(import_module("mistakebound.experts"), name):
        return linear.load(path)  # it also raises the error for a file without a known learner
    from mistakebound.experts.model import load as load_experts  # noqa: PLC0415 - only models of experts need it

    return load_experts(path)


def mix(start: AnyLearner, parts: Sequence[AnyLearner], shares: Sequence[float] | str | None = None) -> AnyLearner:
    """Return one learner that has learned what the parts have learned, each of which continued from a copy of start.

    Of linear learners and a Panel, weights are averaged with the shares, and counts are added. Of experts, losses are
    added: the weights are those of one learner that learned all rounds, in any order, if its rate is fixed
    (`WeightedMajority`, `RandomizedWeightedMajority`, `Halving`; `Hedge` and `ExponentiallyWeightedAverage` with a
    fixed rate and ``gradient=False``), and if no expert slept in a part. The record of the result has the rounds of
    ``start``, then those that each part has learned, one after another. The arguments do not change. If one part has
    the whole share (of experts: if only one part has learned anything), the result is a copy of that part. Predictions
    that wait for their outcome (``ask``) are not taken over.

    Parameters
    ----------
    start : learner
        The learner that was copied; it may have learned nothing.
    parts : sequence of learners
        The copies, each of which went on learning.
    shares : sequence of float or str, optional
        Not valid for experts. A number of at least 0 for each part; they sum to 1. By default, the parts that learned
        at least one round have equal shares. ``"mistakes"`` means shares proportional to the updates of each part since
        ``start``.

    Raises
    ------
    ValueError
        If a part does not continue from ``start``, if the shares are not valid, or if the rule cannot be mixed.

    Examples
    --------
    >>> import copy, mistakebound as mb
    >>> start = mb.experts.WeightedMajority()
    >>> parts = [copy.copy(start), copy.copy(start)]
    >>> parts[0].learn_one({"Ann": 1, "Bob": 0}, 1)
    >>> parts[1].learn_one({"Ann": 1, "Bob": 0}, 1)
    >>> mb.mix(start, parts).weights_.tolist()
    [0.8, 0.2]
    >>> start = mb.Perceptron()
    >>> parts = [copy.copy(start), copy.copy(start)]
    >>> parts[0].learn_one({"free": 1}, -1)
    >>> parts[1].learn_one({"lunch": 1}, -1)
    >>> mixed = mb.mix(start, parts)
    >>> mixed.weights_, mixed.ledger_.mistakes
    ({'free': -0.5, 'lunch': -0.5}, 2)
    """
    mixing: Any = None
    from mistakebound.learners.learner import Learner  # noqa: PLC0415 - it is not a public name

    if not isinstance(start, Learner):
        from mistakebound.experts.mixing import is_over_experts, mix_experts  # noqa: PLC0415 - not for linear learners

        mixing = mix_experts if is_over_experts(start) else None
    if mixing is None:
        from mistakebound.learners.mixing import mix as mixing  # noqa: PLC0415 - few need it
    found: AnyLearner = mixing(start, parts, shares)
    return found


def __getattr__(name: str) -> Any:
    """Import a module at its first use: importing the package stays fast and does not need scipy."""
    if name in _ROOMS:
        return import_module(f"mistakebound.{name}")
    if name in _MODULES:
        return import_module(f"mistakebound.{_MODULES[name]}")
    if name in _FROM_MODULES:
        return getattr(import_module(f"mistakebound.{_FROM_MODULES[name]}"), name)
    message = f"module 'mistakebound' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return __all__

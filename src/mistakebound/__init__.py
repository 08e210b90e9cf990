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
from typing import TYPE_CHECKING, Any

from mistakebound.errors import ModelError, StreamError
from mistakebound.learners import (
    BalancedWinnow,
    Elimination,
    NormalizedWinnow,
    Perceptron,
    PNormPerceptron,
    Winnow,
    load,
)
from mistakebound.ledger import Ledger

if TYPE_CHECKING:
    from mistakebound import adversaries, bounds, experts, forecasters, losses, oracles, streams, theorems
    from mistakebound.certificate import Certificate
    from mistakebound.certification import certify
    from mistakebound.sources import Source

__version__ = "0.1.0"

__all__ = [
    "BalancedWinnow",
    "Certificate",
    "Elimination",
    "Ledger",
    "ModelError",
    "NormalizedWinnow",
    "PNormPerceptron",
    "Perceptron",
    "Source",
    "StreamError",
    "Winnow",
    "adversaries",
    "bounds",
    "certify",
    "experts",
    "forecasters",
    "load",
    "losses",
    "oracles",
    "streams",
    "theorems",
]

# Loaded when first used, so that importing stays quick and needs no scipy.
_MODULES = frozenset({"adversaries", "bounds", "experts", "forecasters", "losses", "oracles", "streams", "theorems"})
_FROM_MODULES = {"Certificate": "certificate", "certify": "certification", "Source": "sources"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"mistakebound.{name}")
    if name in _FROM_MODULES:
        return getattr(import_module(f"mistakebound.{_FROM_MODULES[name]}"), name)
    message = f"module 'mistakebound' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return __all__

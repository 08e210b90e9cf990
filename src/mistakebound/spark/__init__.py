"""Learn on a Spark cluster by iterative parameter mixing, with the mistake bound of the theorem.

This package needs pyspark 4.1 or later: ``pip install 'mistakebound[spark]'``. The workers need mistakebound, too.
See docs/spark.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

try:
    import pyspark as _pyspark  # noqa: F401 - only to raise the error below
except ImportError:
    message = "mistakebound.spark needs the package pyspark: pip install 'mistakebound[spark]'"
    raise ModuleNotFoundError(message) from None

if TYPE_CHECKING:
    from mistakebound.spark.estimator import OnlineClassifier
    from mistakebound.spark.model import OnlineClassifierModel
    from mistakebound.spark.streaming import StreamingClassifier

__all__ = ["OnlineClassifier", "OnlineClassifierModel", "StreamingClassifier"]

_MODULES = {"OnlineClassifier": "estimator", "OnlineClassifierModel": "model", "StreamingClassifier": "streaming"}


def __getattr__(name: str) -> Any:
    """Import a class at its first use: a worker needs few of the modules."""
    if name in _MODULES:
        return getattr(import_module(f"mistakebound.spark.{_MODULES[name]}"), name)
    reason = f"module 'mistakebound.spark' has no attribute {name!r}"
    raise AttributeError(reason)


def __dir__() -> list[str]:
    return __all__

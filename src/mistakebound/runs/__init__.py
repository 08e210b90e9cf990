r"""A whole job in one call: learn files with checkpoints, compare learners, verify certificates, predict.

>>> import mistakebound as mb
>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     _ = Path(f"{folder}/a.svm").write_text("1 1:1\n0 2:1\n" * 50)
...     result = mb.runs.run(mb.Source(f"{folder}/a.svm"), mb.Perceptron(), certify=True)
>>> result.rounds, result.mistakes, result.certificate.status
(100, 1, 'holds')
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mistakebound.runs.comparison import Comparison, Contender, compare
    from mistakebound.runs.predictions import predict
    from mistakebound.runs.progress import Progress
    from mistakebound.runs.runner import RunResult, run
    from mistakebound.runs.verification import Check, Verification, verify

__all__ = [
    "Check",
    "Comparison",
    "Contender",
    "Progress",
    "RunResult",
    "Verification",
    "compare",
    "predict",
    "run",
    "verify",
]

_MODULES = {
    "Check": "verification",
    "Comparison": "comparison",
    "Contender": "comparison",
    "Progress": "progress",
    "RunResult": "runner",
    "Verification": "verification",
    "compare": "comparison",
    "predict": "predictions",
    "run": "runner",
    "verify": "verification",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, because each command needs only a few of them."""
    if name in _MODULES:
        return getattr(import_module(f"mistakebound.runs.{_MODULES[name]}"), name)
    message = f"module 'mistakebound.runs' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return __all__

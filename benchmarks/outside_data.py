"""The data sets outside this repository: where they are, and the public streams of docs/accuracy.md."""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

SETS = (
    "a9a",
    "rcv1_small",
    "spam_stream",
    "sms_spam",
    "ppattach",
    "mushroom",
    "house_votes_84",
    "elec2",
    "kdd99_10pct",
)
MONKS = {f"monks{k}": k for k in (1, 2, 3)}
STREAMS = (*SETS, *MONKS)
"""The twelve public streams."""


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--data``, by default the environment variable MISTAKEBOUND_DATA, then ``../shared/data``."""
    default = os.environ.get("MISTAKEBOUND_DATA", Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--data", type=Path, default=Path(default), metavar="FOLDER")


def loaders(folder: Path) -> Any:
    """Return the module ``loaders.py`` of the data folder, which has a function for each set that returns (X, y)."""
    path = folder / "loaders.py"
    if not path.is_file():
        sys.exit(f"{path} does not exist: pass the data folder with --data, or set MISTAKEBOUND_DATA")
    spec = importlib.util.spec_from_file_location("loaders", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stream(data: Any, name: str) -> tuple[Any, np.ndarray]:
    """Return a public stream as a CSR matrix and labels 0 and 1, in the order in which it is learned.

    The sets are in file order, except the monks: their test files are sorted, so training and test rows are permuted.
    """
    load: Callable[[], tuple[Any, np.ndarray]] = (
        partial(data.monks, MONKS[name]) if name in MONKS else getattr(data, name)
    )
    X, y = load()
    if name in MONKS:
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
    return X, y

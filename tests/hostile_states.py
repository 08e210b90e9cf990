"""Forged states of comparisons of experts, for ``hostile.py``."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import mistakebound as mb
from mistakebound.experts.comparison.state_file import load_state

TABLES: list[tuple[dict[str, list[Any]], dict[str, Any]]] = [
    ({"day": ["a", "b", "c"], "p": [1.0, 2.0, 3.0], "q": [2.0, None, 1.0], "y": [1.5, 2.0, 2.0]}, {"rules": "all"}),
    ({"p": ["u", "v", "u"], "q": ["v", "v", ""], "y": ["u", "v", "v"]}, {"rules": "all"}),
    ({"p": ["u", "v", "u"], "q": ["v", "v", ""], "y": ["u", "v", "v"]}, {"advice": "q", "seed": None}),
    (
        {"p_u": [0.5, 0.25], "p_v": [0.5, 0.75], "q_u": [1.0, 0.0], "q_v": [0.0, 1.0], "y": ["u", "v"]},
        {"classes": ["u", "v"], "rules": ["ml-poly", "fixed-share"]},
    ),
]


def make(rng: random.Random, folder: Path) -> Any:
    """Return the parts of the file of a small state."""
    from hostile import taken

    table, options = rng.choice(TABLES)
    path = folder / "sound.mb"
    mb.experts.compare(table, "y", save=path, **options)
    return taken(path)


def use(data: bytes, folder: Path) -> None:
    """Load a state, continue it with each of the tables, and save it."""
    from hostile import attempt

    path = folder / "forged.mb"
    path.write_bytes(data)
    try:
        state = load_state(path)
        repr(state)
        for table, _ in TABLES:
            attempt(lambda: mb.experts.compare(table, state.outcome, load=path, overlap="learn"))
            attempt(lambda: mb.experts.compare(table, "y", load=path, overlap="skip").save(path))
        attempt(lambda: load_state(path))
    finally:
        path.unlink(missing_ok=True)

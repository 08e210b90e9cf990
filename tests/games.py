"""Play the Python reference on a stream, and record the quantities of the proofs. Mutants are played the same way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.rules.reference import ReferenceGame
from mistakebound.theorems.steps import Step

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mistakebound.rules import Rule


@dataclass
class Game:
    """The record of a run: predictions (True = positive), mistakes, every change of z, and z at the end."""

    predictions: list[bool]
    mistakes: int
    steps: list[Step]
    z: list[float]
    bias_z: float
    state: list[tuple[float, ...]]
    bias_state: tuple[float, ...]


def nonzeros(x: Iterable[float]) -> list[tuple[int, float]]:
    """Return the non-zero features of a dense example, in order."""
    return [(i, float(v)) for i, v in enumerate(x) if v != 0]


def play(rule: Rule, X: Any, y: Any) -> Game:
    """Play all rounds with the reference. Labels above 0 are positive."""
    rows = np.asarray(X, float)
    game = ReferenceGame(rule, rows.shape[1])
    seen = np.zeros(rows.shape[1] + bool(rule.bias), bool)
    predictions, steps, mistakes = [], [], 0
    for row, label in zip(rows, y, strict=True):
        sign = 1 if label > 0 else -1
        before, updates = _state(game), game.updates
        positive = game.round(nonzeros(row), sign)
        mistaken = positive != (sign == 1)
        mistakes += mistaken
        predictions.append(positive)
        if game.updates > updates or mistaken:
            x = np.append(row, rule.bias) if rule.bias else row
            steps.append(Step(rule, before, _state(game), x, sign, mistaken, int(np.sum((x != 0) & ~seen))))
            seen |= x != 0
    return Game(predictions, mistakes, steps, list(game.z), game.bias_z, game.state, game.bias_state)


def _state(game: ReferenceGame) -> np.ndarray:
    return np.array([*game.z, game.bias_z] if game.rule.bias else game.z)

"""Rules that use the general form: several floats per feature, a second sum, and an update in every round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest
from games import nonzeros

from mistakebound.rules.base import Round, Rule
from mistakebound.rules.reference import ReferenceGame, float32

if TYPE_CHECKING:
    from collections.abc import Sequence


def sigmoid(a: float) -> float:
    return 1 / (1 + math.exp(-a))


class Linear(Rule):
    """The weight is z."""

    def link(self, z: float, factor: float) -> float:
        return z


@dataclass(frozen=True, kw_only=True)
class PassiveAggressive(Linear):
    """‖x‖² is the second sum: τ = y·max(0, 1 − y·score)/‖x‖²."""

    id: ClassVar[str] = "passive-aggressive"

    def gather(self, state: Sequence[float], x: float, now: Round) -> float:
        return x * x

    def step(self, now: Round) -> float:
        return now.y * max(0.0, 1 - now.y * now.score) / now.gathered


@dataclass(frozen=True, kw_only=True)
class Coin(Linear):
    """Coin betting on the logistic loss. The state is w and four sums per feature; every round updates it."""

    id: ClassVar[str] = "coin"
    start: ClassVar[tuple[float, ...]] = (0.0, 0.0, 0.0, 0.0, 0.0)

    def step(self, now: Round) -> float:
        return now.y * sigmoid(-now.y * now.score)

    def apply(self, state: Sequence[float], x: float, tau: float, now: Round) -> tuple[float, ...]:
        w, total, largest, spent, reward = state
        gamma = tau * x
        largest, spent = max(largest, abs(gamma), abs(x) / 2), spent + abs(gamma)
        reward, total = max(reward + w * gamma, 0.0), total + gamma
        return total / (largest * (spent + largest)) * (largest + reward), total, largest, spent, reward


@dataclass(frozen=True, kw_only=True)
class ImplicitAdaGrad(Linear):
    """w and G per feature. The second sum is Σ x²/√G, where G already includes the gradient of this round."""

    id: ClassVar[str] = "implicit-adagrad"
    start: ClassVar[tuple[float, ...]] = (0.0, 0.0)

    def grown(self, state: Sequence[float], x: float, now: Round) -> float:
        return state[1] + (sigmoid(-now.y * now.score) * x) ** 2

    def gather(self, state: Sequence[float], x: float, now: Round) -> float:
        return x * x / math.sqrt(self.grown(state, x, now))

    def step(self, now: Round) -> float:
        h = sigmoid(-now.y * now.score)
        for _ in range(4):
            e = sigmoid(-(now.y * now.score + 2 * now.gathered * h))
            h -= (h - e) / (1 + 2 * now.gathered * e * (1 - e))
        return 2 * now.y * h

    def apply(self, state: Sequence[float], x: float, tau: float, now: Round) -> tuple[float, ...]:
        grown = self.grown(state, x, now)
        return state[0] + tau * x / math.sqrt(grown), grown


@pytest.mark.parametrize("rule", [PassiveAggressive(), Coin(bias=1.0), ImplicitAdaGrad()], ids=lambda rule: rule.id)
def test_a_planted_target_is_learned(rule: Rule) -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((400, 6))
    y = np.where(X @ [2.0, -1.0, 0.5, 0.0, 0.0, 0.0] > 0, 1, -1)
    game = ReferenceGame(rule, 6)
    wrong = [game.round(nonzeros(x), int(label)) != (label > 0) for x, label in zip(X, y, strict=True)]
    assert sum(wrong) < 60
    assert sum(wrong[200:]) < sum(wrong[:200])
    assert {len(state) for state in (*game.state, game.bias_state)} == {len(rule.start)}


def test_passive_aggressive_by_hand() -> None:
    """Round 1: ‖x‖² = 4 and loss 1, so w = x/4. Round 2: margin 1, no update. Round 3: ‖x‖² = 1, loss 1.5, w −= 1.5."""
    game = ReferenceGame(PassiveAggressive(), 2)
    assert game.round([(0, 2.0)], 1)
    assert game.round([(0, 2.0)], 1)
    assert game.updates == 1
    assert game.state == [(0.5,), (0.0,)]
    assert game.round([(0, 1.0)], -1)
    assert game.state == [(-1.0,), (0.0,)]


def test_states_are_float32() -> None:
    game = ReferenceGame(Coin(), 1)
    game.round([(0, 0.1)], 1)
    assert game.state == [tuple(map(float32, game.state[0]))]
    assert game.state[0][1] == float32(0.5 * 0.1)


def test_only_the_bindings_include_python_headers() -> None:
    core = Path(__file__).parents[2] / "core"
    files = [path for path in core.rglob("*") if path.suffix in (".hpp", ".cpp") and path.parent.name != "bindings"]
    assert len(files) > 30
    assert not [path for path in files if "nanobind" in path.read_text() or "Python.h" in path.read_text()]

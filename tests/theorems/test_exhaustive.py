"""For n ≤ 3 variables, every target disjunction and every stream of length ≤ 6: no rule exceeds its bound.

The streams are walked as a tree, prefix by prefix, with the games that have reached the same state shared, so that all
8⁶ streams of length 6 (and all shorter ones) are covered for every target.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from games import nonzeros
from linear_checks import LEARNERS

from mistakebound import bounds
from mistakebound.rules import RULES
from mistakebound.rules.reference import ReferenceGame

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound.rules import Rule

LENGTH = 6
State = tuple[float, ...]


def disjunctions(n: int) -> list[tuple[int, ...]]:
    """Every set of variables, including the empty set, whose OR is always false."""
    return [tuple(i for i in range(n) if chosen[i]) for chosen in product((0, 1), repeat=n)]


def novikoff(rule: Rule, n: int, target: tuple[int, ...]) -> float:
    """With the constant feature 1: u = 1 on the target and −1/2 on the constant has margin 1/2; ‖x‖² ≤ n + 1."""
    del rule
    return bounds.novikoff(math.sqrt(n + 1), math.sqrt(len(target) + 0.25), 0.5)


def pnorm(rule: Rule, n: int, target: tuple[int, ...]) -> float:
    """The same u in the p-norm."""
    p = rule.parameter
    q = p / (p - 1)
    return bounds.pnorm(p, (n + 1) ** (1 / p), (len(target) + 0.5**q) ** (1 / q), 0.5)


def balanced(rule: Rule, n: int, target: tuple[int, ...]) -> float:
    """The same u scaled to ‖u‖₁ = 1: margin 1/(2r + 1)."""
    return bounds.balanced_winnow(n + 1, 1 / (2 * len(target) + 1), rule.parameter)


def normalized(rule: Rule, n: int, target: tuple[int, ...]) -> float:
    """On ±1 inputs: u = 1 on the target and r−1 on the constant, scaled to ‖u‖₁ = 1, has margin 1/(2r−1)."""
    return bounds.winnow_fixed_rate(n + 1, 1 / (2 * len(target) - 1), rule.parameter) if target else math.inf


def littlestone(rule: Any, n: int, target: tuple[int, ...]) -> float:
    """αn/((α−1)θ) + (1+α)·r·s, and mistakes stay strictly below it."""
    return math.nextafter(bounds.littlestone(n, len(target), rule.alpha, rule.theta, rule.strict), 0)


def elimination(rule: Rule, n: int, target: tuple[int, ...]) -> float:
    """n − r."""
    del rule
    return bounds.elimination(n, len(target))


GAMES: list[tuple[str, dict[str, Any], Callable[[Any, int, tuple[int, ...]], float]]] = [
    ("perceptron", {"bias": 1.0}, novikoff),
    ("winnow", {"theta": 1.0}, littlestone),
    ("winnow", {"theta": 2.0}, littlestone),
    ("winnow", {"theta": 3.0}, littlestone),
    ("winnow", {"theta": 2.0, "strict": True}, littlestone),
    ("winnow", {"theta": 4.0, "alpha": 1.5}, littlestone),
    ("normalized-winnow", {"eta": 0.2, "bias": 1.0}, normalized),
    ("normalized-winnow", {"eta": 1.0, "bias": 1.0}, normalized),
    ("balanced-winnow", {"eta": 0.2, "bias": 1.0}, balanced),
    ("pnorm", {"p": 3.0, "bias": 1.0}, pnorm),
    ("elimination", {}, elimination),
]


def shown(rule_id: str, x: tuple[int, ...]) -> tuple[int, ...]:
    """Return the example for the rule: rules with non-negative weights need values ±1 to predict the negative label."""
    return tuple(2 * v - 1 for v in x) if rule_id == "normalized-winnow" else x


def worst_case(rule: Rule, n: int, target: tuple[int, ...]) -> tuple[int, list[tuple[int, ...]]]:
    """Return the largest number of mistakes on any stream of LENGTH rounds, and such a stream."""
    examples = list(product((0, 1), repeat=n))

    @cache
    def walk(state: State, left: int) -> tuple[int, tuple[tuple[int, ...], ...]]:
        best: tuple[int, tuple[tuple[int, ...], ...]] = (0, ())
        if left == 0:
            return best
        for x in examples:
            game = ReferenceGame(rule, n)
            *game.state, game.bias_state = ((z,) for z in state)
            game._recompute_weights()
            y = 1 if any(x[i] for i in target) else -1
            mistaken = game.round(nonzeros(shown(rule.id, x)), y) != (y == 1)
            more, path = walk((*game.z, game.bias_z), left - 1)
            best = max(best, (mistaken + more, (x, *path)))
        return best

    mistakes, path = walk((0.0,) * (n + 1), LENGTH)
    return mistakes, list(path)


@pytest.mark.parametrize(("rule_id", "parameters", "bound_of"), GAMES, ids=[f"{g[0]}-{g[1]}" for g in GAMES])
def test_no_stream_exceeds_the_bound(
    rule_id: str, parameters: dict[str, Any], bound_of: Callable[..., float], capsys: pytest.CaptureFixture[str]
) -> None:
    tightest = (-1.0, "")
    for n in (1, 2, 3):
        for target in disjunctions(n):
            rule = RULES[rule_id](**parameters)
            bound = bound_of(rule, n, target)
            mistakes, stream = worst_case(rule, n, target)
            assert mistakes <= bound + 1e-9, (n, target, stream)
            assert mistakes == replayed(rule_id, parameters, target, stream)
            if 1 <= bound < math.inf:
                allowed = math.floor(bound + 1e-9)
                said = f"{mistakes} of at most {allowed} mistakes at n={n}, r={len(target)}"
                tightest = max(tightest, (mistakes / allowed, said))
    with capsys.disabled():
        print(f"\n    worst case in {LENGTH} rounds, {rule_id} {parameters}: {tightest[1]}")


def replayed(rule_id: str, parameters: dict[str, Any], target: tuple[int, ...], stream: list[tuple[int, ...]]) -> int:
    """Return the mistakes of the compiled learner on the worst stream."""
    y = np.array(stream)[:, list(target)].any(axis=1).astype(int)
    learner = LEARNERS[rule_id](classes=(0, 1), **parameters)
    return int(learner.run([shown(rule_id, x) for x in stream], y).mistakes)

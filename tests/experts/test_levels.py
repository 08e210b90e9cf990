"""Every SIMD level returns the same bits as the plain level."""

from __future__ import annotations

import numpy as np
import pytest
from expert_streams import CASES, LOSSES, asleep, both, same, streams, uneven

from mistakebound import _core

LEVELS = [
    pytest.param(level, marks=pytest.mark.skipif(level not in _core.simd_levels(), reason=f"no {level} here"))
    for level in ("avx2", "avx512")
]
COUNTS = [1, 3, 4, 5, 8, 9, 31, 64]


def test_the_plain_level_is_always_there() -> None:
    assert _core.simd_levels()[0] == "plain"
    game = _core.Majority(0.5)
    for level in _core.simd_levels():
        game.use_simd(level)
    with pytest.raises(ValueError, match="'sse9'"):
        game.use_simd("sse9")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("rule", "parameters"), CASES)
def test_forecasts(rule: str, parameters: dict[str, float], level: str) -> None:
    """All rules and losses, with and without sleeping experts, for numbers of experts near the width of a vector."""
    for loss, n in ((loss, n) for loss in LOSSES for n in COUNTS):
        A, y = streams(loss, n=n, rounds=40)["random"]
        for rows in (A, asleep(A, "some")) if n > 2 else (A,):
            plain, other = (both(rule, parameters, loss, uneven(n), gradient=loss != "log")[0] for _ in range(2))
            plain.core.use_simd("plain")
            other.core.use_simd(level)
            assert all(np.array_equal(a, b) for a, b in zip(plain.run(rows, y), other.run(rows, y), strict=True))
            assert same(plain, other)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("eta", [1e-3, 0.02, 0.1, 2.0, 300.0])
@pytest.mark.parametrize("n", COUNTS)
def test_hedge_on_losses(n: int, eta: float, level: str) -> None:
    """Exponents that are small, large, or both in one vector; the level changes between rounds of one run."""
    rng = np.random.default_rng(n)
    for L in (
        rng.random((1100, n)),
        rng.standard_normal((300, n)),
        np.where(rng.random((300, n)) < 0.01, 40.0, rng.random((300, n))),
        np.where(rng.random((300, n)) < 0.01, np.nan, rng.random((300, n))),
    ):
        L[np.isnan(L).all(axis=1), 0] = 1.0
        plain, other, mixed = (both("hedge", {"eta": eta}, "square", uneven(n), gradient=False)[0] for _ in range(3))
        plain.core.use_simd("plain")
        other.core.use_simd(level)
        losses = plain.run_losses(L)[0]
        assert np.array_equal(other.run_losses(L)[0], losses)
        for first in range(0, len(L), 37):
            mixed.core.use_simd(level if first % 2 else "plain")
            assert np.array_equal(mixed.run_losses(L[first : first + 37])[0], losses[first : first + 37])
        assert same(plain, other)
        assert same(plain, mixed)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [*COUNTS, 200])
@pytest.mark.parametrize("beta", [0.0, 0.2, 0.5, 0.95])
def test_majority(beta: float, n: int, level: str) -> None:
    rng = np.random.default_rng(n)
    A, y = (rng.random((400, n)) < 0.4).astype(np.uint8), (rng.random(400) < 0.5).astype(np.uint8)
    plain, other = _core.Majority(beta), _core.Majority(beta)
    for game, name in ((plain, "plain"), (other, level)):
        game.join(np.zeros(n))
        game.use_simd(name)
    assert np.array_equal(np.stack(plain.run(A, y)), np.stack(other.run(A, y)))
    assert all(np.array_equal(values, other.state()[name]) for name, values in plain.state().items())

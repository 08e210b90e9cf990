"""Bad input of the compiled engine; and Weighted Majority in batches, one by one, and in exact fractions."""

from __future__ import annotations

import copy
import pickle
import re
import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from expert_streams import CASES, both, same, streams, uneven

from mistakebound import _core
from mistakebound.errors import StreamError
from mistakebound.losses import loss_named
from mistakebound.play.expert_engine import CompiledEngine

INF, NAN = np.inf, np.nan
BAD_LOSSES = [
    ([NAN] * 3, "asleep"),
    ([1, INF, 2], "expert 1 is inf"),
    ([1, NAN, -1e200], "expert 2 is -1e+200"),
]
BAD = [
    ("square", [NAN, NAN, NAN], 1.0, "asleep"),
    ("square", [1.0, INF, 2.0], 1.0, "expert 1.*forecast.* inf.*finite"),
    ("square", [1.0, NAN, -INF], 1.0, "expert 2.*forecast.* -inf.*finite"),
    ("square", [1.0, 2.0, 3.0], NAN, "outcome.* nan.*finite"),
    ("absolute", [1.0, 2.0, 3.0], INF, "outcome.* inf.*finite"),
    ("percentage", [1.0, 2.0, 3.0], 0.0, "outcome.* 0.0.*percentage loss"),
    ("log", [0.5, 0.5, 1.5], 1.0, "expert 2.*forecast.* 1.5.*log loss"),
    ("log", [0.5, -0.1, NAN], 0.0, "expert 1.*forecast.* -0.1.*log loss"),
    ("log", [0.5, 0.5, 0.5], 0.5, "outcome.* 0.5.*log loss.*0 or 1"),
    ("log", [0.5, 0.0, 0.5], 1.0, "loss.* inf"),  # the learner's too, if it follows expert 1
    ("log", [0.0, NAN, 0.0], 1.0, "loss.*forecast.* inf"),
    ("square", [1e200, 2.0, 3.0], 1.0, "loss.* inf"),
    ("absolute", [1e200, 2.0, 3.0], 1.0, "squared"),
]


@pytest.mark.parametrize(("loss", "x", "y", "why"), BAD)
@pytest.mark.parametrize("rule_parameters", CASES, ids=str)
def test_a_bad_round_is_named_and_changes_nothing(
    rule_parameters: tuple[str, dict[str, float]], loss: str, x: list[float], y: float, why: str
) -> None:
    A, outcomes = streams("log")["random"]
    A, outcomes = A[:9, :3] + 0.01 * (loss != "log"), outcomes[:9] if loss == "log" else outcomes[:9] + 0.5
    for gradient in (True, False):
        core, good = (both(*rule_parameters, loss, uneven(3), gradient=gradient)[0] for _ in range(2))
        good.run(A[:5], outcomes[:5])
        good.serve(A[5])  # weights are made when they are asked for
        forecasts, losses, error = core.run(np.insert(A, 5, x, axis=0), np.insert(outcomes, 5, y))
        assert len(forecasts) == len(losses) == 5
        assert isinstance(error, StreamError)
        assert error.round == 5
        assert re.search(why, str(error))
        assert str(error).startswith("round 5: ")
        core.serve(A[5])
        assert same(core, good)
        with pytest.raises(StreamError) as caught:
            core.learn(core.serve(np.array(x)), np.asarray(y))
        assert re.search(why, str(caught.value))
        assert caught.value.round is None
        assert same(core, good)
        assert np.array_equal(core.run(A[5:], outcomes[5:])[0], good.run(A[5:], outcomes[5:])[0])


@pytest.mark.parametrize("rule_parameters", CASES, ids=str)
@pytest.mark.parametrize(
    ("row", "expert", "why"),
    [
        ([NAN] * 3, None, "asleep"),
        ([1, INF, 2], 1, " inf"),
        ([1, NAN, -1e200], 2, " -1e+200"),
    ],
)
def test_bad_losses(
    rule_parameters: tuple[str, dict[str, float]], row: list[float], expert: int | None, why: str
) -> None:
    L = np.random.default_rng(0).random((12, 3))
    core, spec = both(*rule_parameters, "square", uneven(3), gradient=False)
    good = both(*rule_parameters, "square", uneven(3), gradient=False)[0]
    good.run_losses(L[:6])
    good.weights()
    for engine in (core, spec):
        losses, error = engine.run_losses(np.insert(L, 6, row, axis=0))
        assert len(losses) == 6
        assert (error.round, error.expert) == (6, expert)
        assert why in str(error)
    core.weights()
    assert same(core, good)
    assert np.array_equal(core.run_losses(L[6:])[0], good.run_losses(L[6:])[0])


def test_arguments_are_checked() -> None:
    prior = np.full(2, 0.5)

    def make(**change: Any) -> Any:
        said = {
            "rule": "hedge",
            "parameters": {"eta": 1.0},
            "loss": "square",
            "tau": 0.5,
            "gradient": False,
            "prior": prior,
        }
        return _core.Mixture(**(said | change))

    for change in (
        {"rule": "follow"},
        {"loss": "zero-one"},
        {"loss": "pinball", "tau": 1.0},
        {"parameters": {"eta": 0.0}},
        {"parameters": {"eta": NAN}},
        {"parameters": {"eta": 1.0, "alpha": 0.1}},
        {"rule": "boa", "parameters": {"eta": INF}},
        {"rule": "fixed-share", "parameters": {"eta": 1.0, "alpha": 1.5}},
        {"rule": "ml-poly", "parameters": {"eta": 1.0}},
        {"prior": np.zeros(0)},
        {"prior": np.array([1.0, 0.0])},
        {"prior": np.array([1.0, NAN])},
    ):
        with pytest.raises(ValueError):
            make(**change)
    game = make()
    for call in (
        lambda: game.join(np.ones(1)),
        lambda: game.serve(np.ones(3)),
        lambda: game.learn(np.ones(1), 1.0, 1.0),
        lambda: game.run(np.ones((2, 3)), np.ones(2)),
        lambda: game.run(np.ones((2, 2)), np.ones(3)),
        lambda: game.run_losses(np.ones((2, 1))),
        lambda: _core.elementwise("sin", np.ones(1), "plain"),
    ):
        with pytest.raises(ValueError):
            call()


def test_impossible_states_are_rejected() -> None:
    game = CompiledEngine("ml-prod", {}, loss_named("square"), uneven(5), gradient=True)
    game.run(*streams("square", n=5)["random"])
    state = game.core.state()
    for change in (
        {"rule": "boa-adaptive"},
        {"gradient": False},
        {"w": np.ones(4)},
        {"prior": np.ones(6)},
        {"prior": -np.ones(5)},
        {"numbers": np.ones(3)},
    ):
        before = copy.deepcopy(game.core.state())
        with pytest.raises(ValueError):
            game.core.restore(state | change)
        assert all(np.array_equal(before[k], v) for k, v in game.core.state().items())
    majority = _core.Majority(0.5)
    majority.join(np.zeros(3))
    state = majority.state()
    for change in (
        {"beta": 0.4},
        {"loss": np.zeros(2)},
        {"in_block": np.full(3, 9, np.uint8)},
        {"since": np.full(3, 9, np.uint8)},
        {"phase": 248},
    ):
        with pytest.raises(ValueError):
            majority.restore(state | change)


def test_threads_share_one_engine() -> None:
    """Four threads run rounds in one engine; no round is lost."""
    A, y = streams("square")["random"]
    core, _ = both("boa-adaptive", {}, "square", uneven(7), gradient=True)
    rows, outcomes = np.tile(A, (200, 1)), np.tile(y, 200)
    threads = [threading.Thread(target=lambda: core.run(rows, outcomes)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert core.sums["rounds"].tolist() == [4.0 * len(rows)] * 7


def majority_stream(n: int, rounds: int = 700) -> tuple[np.ndarray, np.ndarray]:
    """Return advice of experts that are sometimes wrong, and all wrong in one long stretch."""
    rng = np.random.default_rng(n)
    y = (rng.random(rounds) < 0.5).astype(np.uint8)
    wrong = rng.random((rounds, n)) < rng.random(n) * 0.6
    wrong[100:250] = True
    return (wrong ^ y[:, None].astype(bool)).astype(np.uint8), y


def majority(beta: float, n: int) -> _core.Majority:
    game = _core.Majority(beta)
    game.join(np.zeros(n))
    return game


@pytest.mark.parametrize("n", [1, 2, 3, 7, 33, 100])
@pytest.mark.parametrize("beta", [0.0, 1e-20, 1e-3, 0.1, 0.3, 0.5, 0.9, 0.999])
def test_majority_many_rounds_at_once(beta: float, n: int) -> None:
    A, y = majority_stream(n)
    whole, plain, ones, codes, kept = (majority(beta, n) for _ in range(5))
    plain.use_simd("plain")
    lean, total = whole.run(A, y)
    assert np.array_equal(np.stack(plain.run(A, y)), np.stack([lean, total]))
    single = [ones.run(A[t : t + 1], y[t : t + 1]) for t in range(len(y))]
    assert [(a[0], b[0]) for a, b in single] == list(zip(lean, total, strict=True))
    for row, outcome in zip(A, y, strict=True):
        codes.learn(row.astype(np.int32), int(outcome), 0.0)
    kept.run(A[:301], y[:301])
    kept = pickle.loads(pickle.dumps(kept))
    kept.run(A[301:], y[301:])
    for other in (plain, ones, codes, kept):
        assert all(np.array_equal(v, other.state()[k]) for k, v in whole.state().items())
    wrong = np.cumsum(y[:, None] != A, axis=0)
    assert whole.losses().tolist() == wrong[-1].tolist()
    before = np.vstack([np.zeros(n), wrong[:-1]])
    w = np.power(beta, before - before.min(axis=1, keepdims=True))
    share = np.where(y[:, None] != A, w, 0.0).sum(axis=1) / w.sum(axis=1)
    np.testing.assert_allclose((1 - lean / total) / 2, share, rtol=0, atol=1e-12)
    last = np.power(beta, wrong[-1] - wrong[-1].min().astype(float))
    np.testing.assert_allclose(whole.weights() / whole.total(), last / last.sum(), rtol=1e-12, atol=1e-150)


def test_majority_in_fractions_with_sleepers_and_newcomers() -> None:
    rng = np.random.default_rng(9)
    beta = Fraction(1, 4)
    game = _core.Majority(0.25)
    loss: list[Fraction] = []
    for number in range(40):
        if number in {0, 11, 12, 30}:
            game.join(np.full(2, float(min(loss, default=Fraction(0)))))
            loss += [min(loss, default=Fraction(0))] * 2
        code = rng.integers(-1, 3, len(loss)).astype(np.int32)
        code[0] = max(code[0], 0)
        if number % 3 == 0:
            code = np.maximum(code, 0)
        if any(value.denominator > 1 for value in loss):  # powers of ¼ are not rational then
            loss = [Fraction(value) for value in game.losses()]
            w = [Fraction(0.25 ** float(value - min(loss))) for value in loss]
        else:
            w = [beta ** int(value - min(loss)) for value in loss]
        shares = [sum((a for a, c in zip(w, code, strict=True) if c == kind), Fraction(0)) for kind in range(3)]
        ours = game.shares(code, 3)
        np.testing.assert_allclose(ours / ours.sum(), [float(s / sum(shares)) for s in shares], rtol=1e-12)
        right = int(rng.integers(0, 3))
        wrong = 1 - shares[right] / sum(shares)
        game.learn(code, right, float(wrong))
        loss = [value + (wrong if c < 0 else int(c != right)) for value, c in zip(loss, code.tolist(), strict=True)]
        np.testing.assert_allclose(game.losses(), [float(value) for value in loss], rtol=1e-12)


def test_majority_refuses_what_is_neither_0_nor_1() -> None:
    for at in (0, 3, 8, 15):
        A, y = majority_stream(40, 16)
        game, good = majority(0.5, 40), majority(0.5, 40)
        A[at, 37] = 2
        assert [len(each) for each in game.run(A, y)] == [at, at]
        good.run(A[:at], y[:at])
        assert np.array_equal(game.weights(), good.weights())
    game = majority(0.5, 2)
    for call in (
        lambda: game.shares(np.array([0, 3], np.int32), 3),
        lambda: game.shares(np.array([0, -2], np.int32), 3),
        lambda: game.learn(np.zeros(3, np.int32), 0, 0.0),
        lambda: game.learn(np.zeros(2, np.int32), 0, NAN),
        lambda: game.lean(np.zeros(3, np.uint8)),
        lambda: game.join(np.array([0.0, INF])),
        lambda: _core.Majority(1.0),
        lambda: _core.Majority(NAN),
    ):
        with pytest.raises(ValueError):
            call()

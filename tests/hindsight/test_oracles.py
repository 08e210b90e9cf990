"""Oracles compared with brute force and with their gaps, at every scale; and their errors."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mistakebound import oracles
from mistakebound.errors import StreamError
from mistakebound.losses import Custom, loss_named

QUARTIC = Custom(lambda f, y: (f - y) ** 4, lambda f, y: 4 * (f - y) ** 3)
CONVEX = ["square", "absolute", "percentage", "pinball:0.1", "pinball:0.8", "log"]
LINEAR = ["square", "absolute", "percentage", "pinball:0.1", "pinball:0.8"]
SCALES = [1e-12, 1e-6, 1.0, 1e6, 1e12]
NAN = math.nan


def stream(loss, rounds, experts, seed, classes=0):
    """Return forecasts with individual and common errors, in the domain of the loss."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rounds) + 0.0 if loss == "log" else rng.normal(size=rounds) + 8
    shared = rng.normal(size=(rounds, 1))
    own = rng.normal(size=(rounds, experts)) * rng.uniform(0.3, 3, experts)
    A = y[:, None] + shared + own + rng.normal(size=experts)
    if loss == "log":
        A = 1 / (1 + np.exp(-A))
    if classes and loss == "log":
        A = rng.dirichlet(np.ones(classes), (rounds, experts))
        return A, np.eye(classes)[rng.integers(0, classes, rounds)]
    if classes:
        A = A[:, :, None] + rng.normal(size=(rounds, experts, classes))
        return A, y[:, None] + rng.normal(size=(rounds, classes))
    return A, y


def lattice(experts, parts):
    """Return all weights on the simplex that are multiples of 1/parts."""
    cuts = itertools.combinations(range(parts + experts - 1), experts - 1)
    return np.array([np.diff([-1, *cut, parts + experts - 1]) - 1 for cut in cuts]) / parts


def total(A, y, w, loss):
    f = np.einsum("tn...,n->t...", A, w)
    value = loss_named(loss).vector_value if A.ndim == 3 else loss_named(loss).value
    return float(value(np.clip(f, A.min(axis=1), A.max(axis=1)), y).sum())


# Best expert.


def test_the_best_expert_by_hand():
    A = [[1, 2, NAN], [3, 1, NAN], [0, 1, 4]]
    best = oracles.best_expert(A, [1, 1, 1], "absolute")
    assert best.totals.tolist() == [3, 1, 3]
    assert best.awake.tolist() == [3, 3, 1]
    assert (best.total, best.mean, best.rounds) == (1, 1 / 3, 3)
    assert best.weights.tolist() == [0, 1, 0]
    assert "by mean loss over the rounds in which each was awake" in best.name


def test_the_best_expert_has_the_smallest_mean_not_total():
    best = oracles.best_expert([[2.0, NAN], [2.0, 4.0], [2.0, NAN]], [0, 0, 0], "absolute")
    assert best.weights.tolist() == [1, 0]  # 6 over 3 rounds beats 4 over one
    assert best.total == 6


def test_an_expert_that_never_woke_is_not_best():
    assert oracles.best_expert([[NAN, 5.0]], [0]).weights.tolist() == [0, 1]
    with pytest.raises(StreamError, match="no expert was ever awake"):
        oracles.best_expert([[NAN, NAN]], [0])


def test_the_best_expert_of_labels():
    best = oracles.best_expert([["sun", "rain"], ["rain", "rain"]], ["rain", "rain"], "zero-one")
    assert best.totals.tolist() == [1, 0]
    assert best.name == "best expert (1)"


ROWS = [{"Ann": 1.0, "Bob": 2.0}, {"Bob": 2.5, "Ann": 3.0}, {"Ann": 0.5, "Bob": 2.0}]


def test_names_are_kept():
    pandas = pytest.importorskip("pandas")
    y = [2.0, 2.0, 2.0]
    for A in (ROWS, pandas.DataFrame(ROWS), {"Ann": [1.0, 3.0, 0.5], "Bob": [2.0, 2.5, 2.0]}):
        best = oracles.best_expert(A, y)
        assert best.name == "best expert (Bob)"
        assert best.totals.tolist() == [1 + 1 + 1.5**2, 0.25]
        for found in (
            best,
            oracles.best_convex(A, y),
            oracles.best_convex(A, y, "absolute"),
            oracles.best_linear(A, y),
        ):
            assert found.names == ("Ann", "Bob")
        assert oracles.expert_losses(A, y, "absolute").tolist() == [[1, 0], [1, 0.5], [1.5, 0]]
    assert oracles.best_expert([[1.0, 2.0]], [2.0]).names == ()


def test_an_absent_name_is_a_sleeping_expert():
    best = oracles.best_expert([{"Ann": 1.0}, {"Bob": 2.0, "Ann": 2.0}], [2.0, 2.0])
    assert best.awake.tolist() == [2, 1]
    assert best.name.startswith("best expert (Bob), by mean loss")
    assert oracles.best_convex([{"Ann": 1.0}, {"Bob": 2.0, "Ann": 2.0}], [2.0, 2.0]).names == ("Ann", "Bob")
    classes = oracles.best_expert([{"Ann": [0.5, 0.5]}, {"Ann": [0.5, 0.5], "Bob": [1.0, 0.0]}], [[1, 0], [1, 0]])
    assert classes.name.startswith("best expert (Bob)")
    labels = [{"Ann": "sun", "Bob": "rain"}, {"Ann": "sun", "Bob": "sun"}]
    assert oracles.best_expert(labels, ["rain", "sun"], "zero-one").name == "best expert (Bob)"
    sleepy = oracles.best_expert([labels[0], {"Ann": "sun"}], ["rain", "nan"], "zero-one")  # who sleeps says no "nan"
    assert sleepy.awake.tolist() == [2, 1]
    assert sleepy.totals.tolist() == [2, 0]


def test_missing_values_of_pandas_are_sleeping_experts():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"Ann": [1.0, None], "Bob": [3, 3]}).convert_dtypes()
    best = oracles.best_expert(frame, [2.0, 2.0])
    assert best.awake.tolist() == [1, 2]
    assert best.totals.tolist() == [1, 2]
    labels = pandas.DataFrame({"Ann": ["sun", None], "Bob": ["sun", "rain"]})
    assert oracles.best_expert(labels, ["sun", "sun"], "zero-one").awake.tolist() == [1, 2]


def test_errors_contain_the_name_of_the_expert():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(StreamError, match="round 1: the forecast of expert 'Bob' is inf"):
        oracles.best_expert([{"Ann": 1, "Bob": 2}, {"Ann": 1, "Bob": float("inf")}], [1, 1])
    with pytest.raises(StreamError, match="^round 0: .*expert 'who' .*'x'"):
        oracles.best_expert(pandas.DataFrame({"low": [1.0, 2.0], "who": ["x", "y"]}), [1, 1])
    with pytest.raises(StreamError, match="same number of forecasts"):
        oracles.best_expert({"Ann": [1, 2], "Bob": [1]}, [1, 1])


# Convex combinations.


@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("loss", [*CONVEX, QUARTIC], ids=lambda loss: loss if isinstance(loss, str) else "quartic")
def test_no_lattice_point_beats_the_best_convex_combination(loss, classes):
    for seed in range(4):
        A, y = stream(loss, 12, 3, seed, classes)
        best = oracles.best_convex(A, y, loss)
        grid = [total(A, y, w, loss) for w in lattice(3, 40)]
        assert best.total <= min(grid) * (1 + 1e-12)
        assert best.total - best.gap <= min(grid)
        assert best.total == pytest.approx(total(A, y, best.weights, loss), rel=1e-12)
        assert best.mean == best.total / 12
        assert best.weights.min() >= 0
        assert best.weights.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("loss", CONVEX)
@pytest.mark.parametrize("shape", [(3, 8), (40, 1), (60, 25), (500, 12)])
def test_the_gap_is_closed(loss, shape):
    for seed in range(3):
        A, y = stream(loss, *shape, seed)
        best = oracles.best_convex(A, y, loss)
        rounding = 1e-14 * oracles.best_expert(A, y, loss).total  # matters where a combination is perfect
        assert 0 <= best.gap <= 1e-9 * best.total + rounding


def test_the_gap_of_a_custom_loss_is_small_and_true():
    A, y = stream("square", 80, 6, 0)
    best = oracles.best_convex(A, y, QUARTIC)
    assert 0 <= best.gap <= 1e-4 * best.total
    as_square = Custom(lambda f, y: (f - y) ** 2, lambda f, y: 2 * (f - y))
    own, exact = oracles.best_convex(A, y, as_square), oracles.best_convex(A, y)
    assert exact.total - exact.gap <= own.total <= exact.total + own.gap + 1e-12 * exact.total
    assert own.gap <= 1e-4 * own.total


@pytest.mark.parametrize("loss", CONVEX)
def test_the_gap_covers_the_error_of_a_bad_solver(loss, monkeypatch):
    """With bad weights from the solver, the gap covers the difference to the optimum."""
    A, y = stream(loss, 40, 4, 1)
    exact = oracles.best_convex(A, y, loss)
    poor = np.array([0.0, 0.0, 0.3, 0.7])
    combinations, solvers = oracles.combinations, oracles.combinations.solvers
    monkeypatch.setattr(combinations, "nearest_to_zero", lambda E, start=None: poor)
    monkeypatch.setattr(combinations, "maximum_likelihood", lambda P: poor)
    solve = solvers.best_on_simplex
    monkeypatch.setattr(solvers, "best_on_simplex", lambda *given: (poor, solve(*given)[1]))
    bad = oracles.best_convex(A, y, loss)
    assert bad.total > exact.total * 1.001
    assert bad.total - bad.gap <= exact.total * (1 + 1e-12)


def test_the_gap_by_hand(monkeypatch):
    """All weight on the worse of two experts: the loss is 11², and its slope 2·11 times a step of 1 is the gap."""
    monkeypatch.setattr(oracles.combinations, "nearest_to_zero", lambda E, start=None: np.array([0.0, 1.0]))
    assert oracles.best_convex([[10.0, 11.0]], [0.0]).gap == 22


@settings(max_examples=60, deadline=None)
@given(
    A=hnp.arrays(np.float64, st.tuples(st.integers(1, 7), st.integers(1, 5)), elements=st.integers(-3, 3)),
    loss=st.sampled_from(["square", "absolute", "pinball:0.3"]),
    data=st.data(),
)
def test_degenerate_advice_is_solved_too(A, loss, data):
    """Small integers: equal experts, dependent ones, perfect combinations, more experts than rounds."""
    A, y = A + 0.0, data.draw(hnp.arrays(np.float64, len(A), elements=st.integers(-3, 3)))
    best = oracles.best_convex(A, y, loss)
    size = np.abs(A - y[:, None]).max()
    worth = size**2 if loss == "square" else size
    assert best.gap <= 1e-9 * worth * len(A)
    linear = oracles.best_linear(A, y, loss)
    assert linear.gap <= 1e-9 * (1 + np.abs(y).max()) ** 2
    assert linear.total <= best.total + 1e-9 * (1 + worth)
    assert best.total <= oracles.best_expert(A, y, loss).total + 1e-9 * worth


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("loss", LINEAR)
@pytest.mark.parametrize("oracle", [oracles.best_expert, oracles.best_convex, oracles.best_linear])
def test_units_do_not_matter(oracle, loss, scale):
    A, y = stream(loss, 60, 5, 3)
    power = {"square": 2, "percentage": 0}.get(loss, 1)
    one, other = oracle(A, y, loss), oracle(A * scale, y * scale, loss)
    assert other.weights == pytest.approx(one.weights, abs=1e-9, rel=1e-7)
    assert other.total == pytest.approx(one.total * scale**power, rel=1e-9)
    assert other.gap <= 1e-9 * other.total


@pytest.mark.parametrize("loss", LINEAR)
def test_bad_experts_do_not_cost_precision(loss):
    """Errors from 1e-4 to 1e2, where every expert has a weight."""
    rng = np.random.default_rng(14)
    y = rng.normal(size=40) + 1000
    A = y[:, None] + rng.normal(size=(40, 8)) * 10 ** np.linspace(-4, 2, 8)
    best = oracles.best_convex(A, y, loss)
    assert best.gap <= 1e-9 * best.total
    assert best.total < 0.999 * oracles.best_expert(A, y, loss).total


def test_a_large_offset_costs_no_precision():
    A, y = stream("square", 60, 5, 4)
    near, far = oracles.best_convex(A, y), oracles.best_convex(A + 2.0**20, y + 2.0**20)
    assert far.weights == pytest.approx(near.weights, abs=1e-8)
    assert far.gap <= 1e-9 * far.total


@pytest.mark.parametrize("extreme", [5e-324, 1e-200, 1e-17])
def test_log_loss_at_the_edge(extreme):
    best = oracles.best_convex([[0.0, extreme], [0.5, 0.125], [1.0, 1.0]], [1, 1, 1], "log")
    assert best.weights == pytest.approx([1 / 3, 2 / 3])  # w (1/2 − 3w/8) is greatest at w = 2/3, where it is 1/6
    assert best.total == pytest.approx(math.log(6) - math.log(extreme), rel=1e-12)
    assert best.gap <= 1e-9 * best.total
    hopeless = oracles.best_convex([[0.0, 0.0], [0.5, 0.25]], [1, 1], "log")
    assert hopeless.total == math.inf
    sure = oracles.best_convex([[1.0, 1.0, 1.0]] * 3, [1, 1, 1], "log")
    assert (sure.total, sure.gap) == (0, 0)


def test_log_loss_recovers_known_mixtures():
    """Expert 0 is right in 7 of 10 rounds, and both give probabilities 0 and 1: the best weight is 0.7."""
    A = np.array([[1.0, 0.0]] * 7 + [[0.0, 1.0]] * 3)
    best = oracles.best_convex(A, np.ones(10), "log")
    assert best.weights == pytest.approx([0.7, 0.3], abs=1e-9)
    assert best.total == pytest.approx(-7 * math.log(0.7) - 3 * math.log(0.3))


def test_a_loss_that_is_not_convex_is_refused():
    with pytest.raises(ValueError, match="convex.*zero-one loss"):
        oracles.best_convex([[1.0, 0.0]], [1], "zero-one")


# Convex combinations of experts who sleep.


@pytest.mark.parametrize("classes", [0, 2])
@pytest.mark.parametrize(
    "loss", ["square", "absolute", "log", QUARTIC], ids=lambda loss: loss if isinstance(loss, str) else "quartic"
)
def test_sleepers_are_renormalised(loss, classes):
    A, y = stream(loss, 30, 3, 5, classes)
    A[np.random.default_rng(0).random(A.shape[:2]) < 0.2] = NAN
    A[:, 0] = np.where(np.isnan(A[:, 0]), 0.5, A[:, 0])
    best = oracles.best_convex(A, y, loss)
    assert "renormalised" in best.name
    assert "local" in best.name

    def renormalised(w):
        p = np.where(np.isnan(A if A.ndim == 2 else A[:, :, 0]), 0, w)
        f = np.einsum("tn...,tn->t...", np.nan_to_num(A), p / p.sum(axis=1, keepdims=True))
        f = np.clip(f, np.nanmin(A, axis=1), np.nanmax(A, axis=1))
        return float((loss_named(loss).vector_value if classes else loss_named(loss).value)(f, y).sum())

    grid = [renormalised(w) for w in lattice(3, 40) if w.min() > 0]
    assert best.total == pytest.approx(renormalised(best.weights), rel=1e-9)
    assert best.total <= min(grid) * 1.001
    assert best.gap >= best.total - min(grid)
    assert best.rounds == 30


def test_sleep_that_changes_nothing_changes_nothing():
    """An expert that sleeps in every round does not change the best combination of the others."""
    A, y = stream("square", 40, 3, 6)
    best = oracles.best_convex(np.column_stack([A, np.full(40, NAN)]), y)
    awake = oracles.best_convex(A, y)
    assert best.total == pytest.approx(awake.total, rel=1e-6)
    assert awake.total <= best.total + 1e-12
    assert 0 < best.gap <= best.total


# Linear combinations.


@pytest.mark.parametrize("loss", LINEAR)
@pytest.mark.parametrize("shape", [(30, 4), (200, 15), (5, 9), (20, 3, 2)])
def test_linear_gaps_are_closed_and_nothing_near_is_better(loss, shape):
    A, y = stream(loss, *shape[:2], 7, *shape[2:])
    best = oracles.best_linear(A, y, loss)
    assert best.gap <= 1e-9 * np.abs(y).sum() * np.abs(y).max()
    rng = np.random.default_rng(0)
    value = loss_named(loss).vector_value if A.ndim == 3 else loss_named(loss).value
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(30):
            w = best.weights + size * rng.normal(size=len(best.weights))
            assert value(np.einsum("tn...,n->t...", A, w), y).sum() >= best.total - 1e-9
    convex = oracles.best_convex(A, y, loss)
    assert best.total <= convex.total * (1 + 1e-9)


@pytest.mark.parametrize("loss", ["square", "absolute", "pinball:0.3"])
def test_experts_whose_forecasts_are_zero(loss):
    best = oracles.best_linear(np.zeros((2, 3)), [1.0, -2.0], loss)
    assert best.weights.tolist() == [0, 0, 0]
    assert best.total == loss_named(loss).value(0, [1.0, -2.0]).sum()
    assert best.gap == 0


def test_least_squares_by_hand():
    best = oracles.best_linear([[1.0], [2.0]], [1.0, 3.0])
    assert best.weights == pytest.approx([7 / 5])
    assert best.total == pytest.approx(4 / 25 + 1 / 25)
    assert best.mean == best.total / 2


def test_of_equally_good_weights_the_shortest():
    rng = np.random.default_rng(8)
    a, b, y = rng.normal(size=(3, 20))
    best = oracles.best_linear(np.column_stack([a, b, 2 * a, a - b, 0 * a]), y)
    columns = np.column_stack([a, b, 2 * a, a - b, 0 * a])
    assert best.weights == pytest.approx(np.linalg.pinv(columns) @ y, abs=1e-10)
    wide = rng.normal(size=(3, 6))
    assert oracles.best_linear(wide, y[:3]).weights == pytest.approx(np.linalg.pinv(wide) @ y[:3], abs=1e-10)


def test_an_experts_units_do_not_hide_it():
    """Forecasts that are 1e-12 times as large as those of others must not be treated as zero."""
    A, y = stream("square", 50, 3, 9)
    small = A * np.array([1.0, 1e-12, 1e12])
    one, other = oracles.best_linear(A, y), oracles.best_linear(small, y)
    assert other.total == pytest.approx(one.total, rel=1e-9)
    assert other.weights * [1.0, 1e-12, 1e12] == pytest.approx(one.weights, rel=1e-6)


def test_linear_takes_the_rounds_in_which_all_are_awake():
    A, y = stream("square", 20, 3, 10)
    A[4, 1] = A[17, 2] = NAN
    kept = np.delete(np.arange(20), [4, 17])
    best, of_kept = oracles.best_linear(A, y), oracles.best_linear(A[kept], y[kept])
    assert best.rounds == 18
    assert best.total == of_kept.total
    assert "in which all experts are awake" in best.name
    with pytest.raises(StreamError, match="all experts are awake"):
        oracles.best_linear([[1.0, NAN]], [1.0])
    with pytest.raises(ValueError, match="got log loss"):
        oracles.best_linear([[0.5]], [1], "log")


# Sequences.


def brute(losses, switches):
    """Return the smallest total over all sequences, for each number of switches."""
    rounds, n = losses.shape
    least = np.full(switches + 1, math.inf)
    for sequence in itertools.product(range(n), repeat=rounds):
        count = sum(a != b for a, b in itertools.pairwise(sequence))
        lost = sum(float(losses[t, i]) for t, i in enumerate(sequence))
        least[count:] = np.minimum(least[count:], math.inf if math.isnan(lost) else lost)
    return least


@settings(max_examples=60, deadline=None)
@given(
    losses=hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 6), st.integers(1, 3)),
        elements=st.integers(-2, 5) | st.just(NAN) | st.just(math.inf),
    ),
    switches=st.integers(0, 7),
)
def test_sequences_against_all_of_them(losses, switches):
    if np.isnan(losses).all(axis=1).any():
        return
    best = oracles.best_switching(losses, switches)
    assert best.totals.tolist() == brute(losses, switches).tolist()
    assert best.total == best.totals[-1]
    assert best.mean == best.total / len(losses)
    if best.total == math.inf:
        assert best.sequence is None
        return
    count = int((np.diff(best.sequence) != 0).sum())
    assert count <= switches
    assert losses[np.arange(len(losses)), best.sequence].sum() == best.total
    assert count == int(np.argmax(best.totals == best.total))  # no more switches than the best needs


def test_of_equally_good_moments_the_earliest():
    assert oracles.best_switching([[0, 1], [0, 0], [0, 0], [1, 0]], 1).sequence.tolist() == [0, 1, 1, 1]
    assert oracles.best_switching([[0, 0], [0, 0]], 3).sequence.tolist() == [0, 0]
    assert oracles.best_switching([[0, 1], [5, 0], [0, 0]], 2).sequence.tolist() == [0, 1, 1]  # not back again


@pytest.mark.parametrize("switches", [0, 1, 2, 5, 9, 39])
def test_the_loss_of_a_sequence_is_its_total(switches):
    losses = np.random.default_rng(15).random((40, 5))
    losses[np.random.default_rng(16).random((40, 5)) < 0.1] = NAN
    losses[:, 3] = np.nan_to_num(losses[:, 3], nan=1.0)
    best = oracles.best_switching(losses, switches)
    assert losses[np.arange(40), best.sequence].sum() == pytest.approx(best.total, rel=1e-12)
    assert int((np.diff(best.sequence) != 0).sum()) <= switches


@pytest.mark.parametrize("scale", SCALES)
def test_sequences_at_every_scale(scale):
    losses = np.random.default_rng(11).random((60, 4))
    one, other = oracles.best_switching(losses, 6), oracles.best_switching(losses * scale, 6)
    assert other.totals == pytest.approx(one.totals * scale, rel=1e-12)
    assert other.sequence.tolist() == one.sequence.tolist()


def test_no_switch_is_the_best_expert_and_enough_switches_the_least_of_each_round():
    A, y = stream("square", 50, 6, 12)
    losses = oracles.expert_losses(A, y, "square")
    best = oracles.best_switching(losses, 49)
    assert best.totals[0] == pytest.approx(oracles.best_expert(A, y).total, rel=1e-12)
    assert best.total == pytest.approx(losses.min(axis=1).sum(), rel=1e-12)
    assert np.all(np.diff(best.totals) <= 0)
    assert len(oracles.best_switching(losses, 80).totals) == 81


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        ([[1.0, 2.0], [NAN, NAN]], "round 1: every expert is asleep"),
        ([[1.0, 2.0], [1.0, -math.inf]], "round 1: expert 1: .*-inf"),
        ([1.0, 2.0], r"\(rounds, experts\), got \(2,\)"),
        ([[], []], r"\(rounds, experts\), got \(2, 0\)"),
        ([["a"]], "array of numbers.*'a'"),
    ],
)
def test_bad_losses_are_refused(losses, message):
    with pytest.raises(StreamError, match=message):
        oracles.best_switching(losses, 1)


@pytest.mark.parametrize("switches", [-1, 1.5, True, None, "2"])
def test_bad_numbers_of_switches_are_refused(switches):
    with pytest.raises(ValueError, match="switches must be an integer"):
        oracles.best_switching([[1.0]], switches)


# What all of them refuse.


@pytest.mark.parametrize("oracle", [oracles.best_expert, oracles.best_convex, oracles.best_linear])
@pytest.mark.parametrize(
    ("A", "y", "loss", "message"),
    [
        ([[1, 2], [3, math.inf]], [1, 2], "square", "round 1: expert 1's forecast is inf"),
        ([[1, 2], [3, 4]], [1, NAN], "square", "round 1: the outcome is nan"),
        ([[1, 2], [3, 4]], [1, 2, 3], "square", "(3,)"),
        ([1, 2], [1, 2], "square", "got (2,) and (2,)"),
        ([[[1, 2]], [[3, 4]]], [1, 2], "square", "got (2, 1, 2) and (2,)"),
        (np.zeros((0, 3)), [], "square", "(0, 3)"),
        (np.zeros((2, 0)), [1, 2], "square", "(2, 0)"),
        ([[1], [2]], [1, 0], "percentage", "round 1: the outcome is 0.0"),
        ([[1, 1], [1, 1e200]], [1, 0], "square", "round 1: expert 1: the loss overflows"),
        (
            [[[1, 2]], [[NAN, 4]]],
            [[1, 2], [1, 2]],
            "square",
            "round 1: expert 0: there must be a forecast",
        ),
        ([[1.0]], [1], (lambda f, y: f * NAN, lambda f, y: f), "round 0: expert 0: the loss is not a number"),
    ],
)
def test_bad_advice_is_refused(oracle, A, y, loss, message):
    with pytest.raises(StreamError) as caught:
        oracle(A, y, loss)
    assert message in str(caught.value)


def test_a_round_in_which_all_sleep_is_named():
    with pytest.raises(StreamError, match="round 1: every expert is asleep"):
        oracles.best_convex([[1.0, 2.0], [NAN, NAN]], [1, 2])


def test_inputs_are_not_changed():
    A, y = stream("square", 20, 3, 13)
    A[3, 1] = NAN
    before = A.copy(), y.copy()
    for oracle in (oracles.best_expert, oracles.best_convex, oracles.best_linear):
        oracle(A, y)
    losses = oracles.expert_losses(A, y, "square")
    kept = losses.copy()
    oracles.best_switching(losses, 2)
    assert np.array_equal(A, before[0], equal_nan=True)
    assert np.array_equal(y, before[1])
    assert np.array_equal(losses, kept, equal_nan=True)


def test_importing_needs_no_scipy():
    code = "import sys, mistakebound.hindsight.oracles; sys.exit(any(m.startswith('scipy') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_linear_combination_of_what_has_no_square() -> None:
    best = oracles.best_linear([[1e200], [2e200]], [1e200, 2e200], "absolute")
    assert best.weights == pytest.approx([1.0])
    assert best.total < 1e-12 * 3e200

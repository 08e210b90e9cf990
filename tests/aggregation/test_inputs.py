"""What learners that mix forecasts are given: bad input names the round and changes nothing."""

from __future__ import annotations

import contextlib
import copy
import math
import threading
from typing import Any

import numpy as np
import pytest
from aggregation_learners import LEARNERS, NAN, every_learner, every_mixer, state, stream

import mistakebound as mb
from mistakebound import experts

BAD: dict[str, tuple[Any, Any, str]] = {
    "empty advice": ([], 0.5, "no expert gave advice"),
    "no names": ({}, 0.5, "no expert gave advice|names"),
    "all asleep": ([NAN, None, NAN], 0.5, "asleep"),
    "too few": ([0.1, 0.2], 0.5, "3 experts.* got 2"),
    "no sequence": (0.5, 0.5, "must be a sequence"),
    "words": (["a", 0.2, 0.3], 0.5, "expert 0 must be a number, got 'a'"),
    "infinite advice": ([0.1, math.inf, 0.3], 0.5, "expert 1"),
    "NaN outcome": ([0.1, 0.2, 0.3], NAN, "outcome is nan"),
    "infinite outcome": ([0.1, 0.2, 0.3], math.inf, "outcome is inf"),
    "an outcome that is a word": ([0.1, 0.2, 0.3], "rain", "outcome must be a number, got 'rain'"),
    "an outcome that is a vector": ([0.1, 0.2, 0.3], [0.1, 0.2], "shape"),
    "vectors": ([[0.1], [0.2], [0.3]], [0.1], "shape"),
    "a loss that is not finite": ([0.1, 1e200, 0.3], 0.5, "loss of .* is inf"),
    "losses that cannot be squared": ([0.1, 1e100, 0.3], 0.5, "too large"),
    "a name": ({"Ann": 0.1}, 0.5, "names"),
}


@pytest.mark.parametrize("name", ["ml-poly", "boa, proved", "squint", "ogd", "ewa", "fixed share, fixed", "ridge"])
@pytest.mark.parametrize("kind", BAD)
def test_bad_input_names_the_round_and_changes_nothing(name: str, kind: str) -> None:
    advice, outcome, words = BAD[kind]
    learner = LEARNERS[name]()
    A, y = stream(6, 3)
    learner.run(A, y)
    before = state(learner)
    with pytest.raises(mb.StreamError, match=f"^round 6: .*({words})") as caught:
        learner.learn_one(advice, outcome)
    assert caught.value.round == 6
    assert state(learner) == before
    # in a batch the round is that of the batch, and what came before it stays learned
    single = copy.deepcopy(learner)
    single.learn_one([0.1, 0.2, 0.3], 0.4)
    with pytest.raises(mb.StreamError, match=f"^round 1: .*({words})") as caught:
        learner.run([[0.1, 0.2, 0.3], advice, [0.1, 0.2, 0.3]], [0.4, outcome, 0.4])
    assert caught.value.round == 1
    assert caught.value.ledger.rounds == 1
    assert learner.ledger_.losses.tolist() == single.ledger_.losses.tolist()
    assert learner.weights_.tolist() == single.weights_.tolist()


@every_learner
def test_a_refused_round_brings_nobody_in(name: str) -> None:
    learner = LEARNERS[name]()
    for advice, outcome in (({"Ann": 0.5, "Bob": 0.4}, NAN), ({"Ann": None}, 0.5), ({"Ann": 1e200, "Bob": 0.4}, 0.5)):
        with pytest.raises(mb.StreamError, match="^round 0: "):
            learner.learn_one(advice, outcome)
        with pytest.raises(mb.StreamError, match="^round 0: "):
            learner.run([advice], [outcome])
        assert learner.names_ == []
        assert len(learner.weights_) == 0
    learner.learn_one({"Ann": 0.5, "Bob": 0.4}, 0.1)
    before = state(learner)
    assert learner.predict_one({"Cid": 0.3}) == pytest.approx(0.3) or "ridge" in name  # who does more than mix
    for outcome in (NAN, "sun"):
        with pytest.raises(mb.StreamError, match="^round 1: "):
            learner.learn_one({"Ann": 0.5, "Cid": 0.4}, outcome)
    with pytest.raises(mb.StreamError, match="^round 0: "):
        learner.run({"Ann": [0.5], "Cid": [0.4]}, [NAN])
    with pytest.raises(mb.StreamError, match="asleep"):
        learner.ask({"Dee": None})
    assert state(learner) == before
    learner.run({"Ann": [0.5, 0.5], "Cid": [0.4, 0.4]}, [0.2, 0.3])
    assert learner.names_ == ["Ann", "Bob", "Cid"]
    with pytest.raises(mb.StreamError, match="names"):
        learner.learn_one([0.1, 0.2, 0.3], 0.5)
    with pytest.raises(mb.StreamError, match="^round 0: .*names"):
        learner.run([[0.1, 0.2, "?"]], [0.5])


def test_probabilities() -> None:
    learner = experts.ExponentiallyWeightedAverage(loss="log")
    learner.learn_one([0.2, 0.7], 1.0)
    before = state(learner)
    for advice, outcome, words in (
        ([0.2, 1.5], 1.0, "expert 1's forecast is 1.5; .* between 0 and 1"),
        ([-0.1, 0.5], 1.0, "expert 0's forecast is -0.1"),
        ([0.2, 0.5], 0.5, "the outcome is 0.5; .* must be 0 or 1"),
        ([0.2, 0.0], 1.0, "the loss of expert 1 is inf"),
        ([0.0, 0.0], 1.0, "the loss of the forecast is inf"),
    ):
        with pytest.raises(mb.StreamError, match=f"^round 1: {words}"):
            learner.learn_one(advice, outcome)
        with pytest.raises(mb.StreamError, match=f"^round 0: {words}"):
            learner.run([advice], [outcome])
    assert state(learner) == before
    with pytest.raises(mb.StreamError, match="^round 1: .*asleep"):
        learner.run([[0.5, 0.5], [NAN, NAN], [2.0, 2.0]], [1, 1, 1])


def test_certainties_do_not_round_beyond_1() -> None:
    """All say 1: so does the learner, whatever its weights."""
    rng = np.random.default_rng(0)
    for seed in range(30):
        A = np.vstack([rng.random((7, 5)), np.ones((1, 5))])
        for gradient in (True, False):
            learner = experts.BOA(loss="log", gradient=gradient, prior=1 + rng.random(5))
            ledger = learner.run(A, np.ones(8))
            assert ledger.predictions[-1] == 1, seed
            assert ledger.losses[-1] == 0


@every_mixer
def test_losses_alone(name: str) -> None:
    """The learner loses the weighted mean, whatever its loss would have been."""
    L = np.random.default_rng(5).random((20, 3))
    L[4, 1] = NAN
    whole, single, columns, rows = (LEARNERS[name]() for _ in range(4))
    lost = whole.run_losses(L)
    for row in L:
        single.learn_losses(row)
    assert single.ledger_.losses.tolist() == lost.tolist()
    assert columns.run_losses(dict(zip("abc", L.T, strict=True))).tolist() == lost.tolist()
    assert rows.run_losses(iter(L)).tolist() == lost.tolist()
    assert lost[0] == pytest.approx(L[0].mean())
    assert whole.ledger_.regrets == pytest.approx(whole.ledger_.linear_regrets)
    with pytest.raises(ValueError, match="losses.*forecasts"):
        whole.learn_one([0.1, 0.2, 0.3], 0.5)
    with pytest.raises(ValueError, match="losses.*forecasts"):
        whole.run([[0.1, 0.2, 0.3]], [0.5])
    other = LEARNERS[name]()
    with pytest.raises(mb.StreamError, match="round 0"):
        other.learn_losses([NAN, NAN])
    other.learn_one([0.1, 0.2], 0.3)  # nothing was learned from losses
    with pytest.raises(ValueError, match="forecasts.*losses"):
        other.learn_losses([0.1, 0.2])


def test_tables_that_are_no_tables() -> None:
    pandas = pytest.importorskip("pandas")
    learner = experts.MLPoly()
    frame = pandas.DataFrame({"Ann": [0.1, 0.2, "?"], "Bob": [0.2, 0.3, 0.4]})
    with pytest.raises(mb.StreamError, match=r"round 2: .*expert 'Ann' must be a number, got '\?'") as caught:
        learner.run(frame, [0.1, 0.2, 0.3])
    assert learner.names_ == ["Ann", "Bob"]
    assert caught.value.ledger.rounds == 2
    learner.run(pandas.DataFrame({"Ann": [0.1, None], "Bob": [0.2, 0.3]}).convert_dtypes(), [0.1, 0.2])  # NA sleeps
    assert learner.ledger_.expert_rounds.tolist() == [3, 4]
    with pytest.raises(mb.StreamError, match="round 0: .*must be a number"):
        learner.run({"Ann": ["?"], "Bob": [0.2]}, [0.1])
    with pytest.raises(ValueError, match="2 rounds of advice but 1"):
        learner.run([{"Ann": 0.1}, {"Bob": 0.1}], [0.3])
    with pytest.raises(ValueError, match="y must be a sequence"):
        learner.run([{"Ann": 0.1}], 0.3)
    with pytest.raises(mb.StreamError, match="same name"):
        learner.run(pandas.DataFrame([[0.1, 0.2]], columns=["Ann", "Ann"]), [0.1])
    assert experts.MLPoly().run([], []).rounds == 0
    assert experts.MLPoly().run(np.zeros((0, 3)), []).rounds == 0
    ragged = experts.MLPoly()
    with pytest.raises(mb.StreamError, match="round 1: .*2 experts.* got 3"):
        ragged.run([[0.1, 0.2], [0.1, 0.2, 0.3]], [0.1, 0.1])


def test_parameters() -> None:
    for make in (
        lambda: experts.Hedge(eta=0),
        lambda: experts.Hedge(eta=math.inf),
        lambda: experts.Hedge(eta=1, horizon=10),
        lambda: experts.Hedge(horizon=-1),
        lambda: experts.Hedge(horizon=10, loss_range=0),
        lambda: experts.FixedShare(alpha=1.0),
        lambda: experts.FixedShare(alpha=-0.1),
        lambda: experts.FixedShare(eta=-1.0),
        lambda: experts.BOA(rates="quick"),
        lambda: experts.MLProd(rates="quick"),
        lambda: experts.BOA(eta=0),
        lambda: experts.Ridge(penalty=0),
        lambda: experts.ExponentiallyWeightedAverage(eta="theorem", loss="absolute"),
        lambda: experts.ExponentiallyWeightedAverage(eta="best"),
        lambda: experts.MLPoly(loss="huber"),
    ):
        with pytest.raises(ValueError, match="."):
            make()
    # √(8 ln n/T)/S, with the doubled range
    hedge = experts.Hedge(horizon=50, loss_range=2.0)
    hedge.learn_losses([0.0, 1.0])
    rate = math.sqrt(8 * math.log(2) / 50) / 2
    assert hedge.weights_ == pytest.approx([1 / (1 + math.exp(-rate)), 1 / (1 + math.exp(rate))])


@every_mixer
def test_vectors(name: str) -> None:
    """Brier score of three classes; one at a time is the batch, and who forecasts some classes only is refused."""
    rng = np.random.default_rng(4)
    y = np.eye(3)[rng.integers(0, 3, 30)]
    A = rng.dirichlet(np.ones(3), (30, 3))
    A[:, 1] = 0.5 * y + 0.5 * A[:, 1]
    A[::5, 2] = NAN
    whole, single = LEARNERS[name](), LEARNERS[name]()
    ledger = whole.run(A, y)
    assert ledger.predictions.shape == (30, 3)
    assert ledger.predictions.sum(axis=1) == pytest.approx(np.ones(30))
    assert ledger.losses == pytest.approx(((ledger.predictions - y) ** 2).sum(axis=1))
    for row, outcome in zip(A, y, strict=True):
        said = [None if np.isnan(each).any() else each.tolist() for each in row]
        single.learn_one(said, outcome.tolist())
    assert single.ledger_.predictions.tolist() == ledger.predictions.tolist()
    assert single.weights_[1] == max(single.weights_)
    before = state(single)
    for advice, outcome, words in (
        ([[0.1, 0.2, NAN], [0.1, 0.2, 0.7], [0.1, 0.2, 0.7]], [1, 0, 0], "expert 0 must forecast all classes"),
        ([[0.1, 0.9], [0.2, 0.8], [0.5, 0.5]], [1, 0], "shape"),
        ([0.1, 0.9, 0.2], 1.0, "shape"),
        (A[0].tolist(), 1.0, "shape"),
        ([None, None, None], [1, 0, 0], "asleep"),
        ([[0.1, 0.2, 0.7], [0.1, 0.2], [0.3]], [1, 0, 0], "numbers"),
    ):
        with pytest.raises(mb.StreamError, match=f"round 30: .*{words}"):
            single.learn_one(advice, outcome)
    with pytest.raises(mb.StreamError, match="shape"):
        single.run(A, y[:, 0])
    with pytest.raises(mb.StreamError, match="round 2: .*expert 1 must forecast all classes"):
        LEARNERS[name]().run(np.where(np.arange(270).reshape(30, 3, 3) == 21, NAN, A), y)
    assert state(single) == before


def test_of_classes_one_comes_true() -> None:
    """Otherwise the log loss is not exp-concave, and its theorem false."""
    learner = mb.experts.ExponentiallyWeightedAverage(loss="log")
    with pytest.raises(mb.StreamError, match="^round 1: 2 classes"):
        learner.run(np.array([[[0.1, 0.1], [0.9, 0.9]]] * 3), np.array([[1, 0], [1, 1], [1, 1]]))
    assert learner.ledger_.rounds == 1


def test_a_gradient_that_is_nan_is_refused() -> None:
    for rule in (mb.experts.OGD, mb.experts.MLPoly):
        learner = rule(loss=(lambda f, y: (f - y) ** 2, lambda f, y: f * np.nan))
        with pytest.raises(mb.StreamError, match="round 0: the gradient of the loss is nan"):
            learner.learn_one([1.0, 2.0], 1.0)
        assert learner.ledger_.rounds == 0


def test_weights_of_ridge_are_a_copy() -> None:
    learner = mb.experts.Ridge(penalty=1.0)
    learner.run([[0.0, 1.0]] * 4, [1.0] * 4)
    before = learner.predict_one([1.0, 1.0])
    learner.weights_[:] = 50
    assert learner.predict_one([1.0, 1.0]) == before


CLASSES = np.array([[[0.5, 0.5], [0.5, 0.5]], [[1.5, 0.1], [0.9, 0.1]], [[0.5, NAN], [0.4, 0.6]]])


@pytest.mark.parametrize(
    ("make", "A", "y"),
    [
        (lambda: experts.Squint(loss="log"), np.array([[0.5, 0.5], [1.5, 0.9], [0.5, 0.4]]), np.array([1, 1, NAN])),
        (lambda: experts.MLPoly(loss="log"), CLASSES, np.array([[1, 0], [1, 0], [0, 1.0]])),
    ],
)
def test_the_first_bad_round_is_told(make: Any, A: Any, y: Any) -> None:
    learner = make()
    with pytest.raises(mb.StreamError, match="round 1: expert 0's forecast .*is 1.5") as error:
        learner.run(A, y)
    assert error.value.ledger.rounds == 1


def test_what_is_masked_sleeps() -> None:
    A = np.ma.array([[1.0, 99.0], [1.0, 99.0], [1.0, 5]], mask=[[0, 1], [0, 1], [0, 0]])
    at_once, one_by_one = experts.MLPoly(), experts.MLPoly()
    for row in A:
        one_by_one.learn_one(row, 1.0)
    assert at_once.run(A, [1.0] * 3).predictions.tolist() == [1, 1, 3] == one_by_one.ledger_.predictions.tolist()
    with pytest.raises(mb.StreamError, match="round 1"):
        at_once.run(A, np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]))


@pytest.mark.parametrize("odd", [1 + 2j, np.complex128(1 + 5j), np.datetime64("2020-01-01"), "12", 10**400])
def test_what_is_no_number_is_refused(odd: Any) -> None:
    learner = experts.MLPoly()
    for act in (
        lambda: learner.learn_one([odd, 1.0], 1.0),
        lambda: learner.learn_one([1.0, 2.0], odd),
        lambda: learner.run([[odd, 1.0]], [1.0]),
        lambda: learner.run(np.array([[odd, odd]]), [1.0]),
        lambda: learner.run([[1.0, 2.0]], [odd]),
    ):
        with pytest.raises(mb.StreamError, match="round 0"):
            act()
    assert (learner.names_, learner.ledger_.rounds) == ([], 0)


def test_a_loss_of_ones_own_that_raises_leaves_what_came_before() -> None:
    def loss(f: Any, y: Any) -> Any:
        return (f - y) ** 2 * (1 // (0 if float(y) == 3 else 1))

    for keep_weights in (False, True):
        learner = experts.AdaHedge(loss=(loss, lambda f, y: 2 * (f - y)))
        with pytest.raises(ZeroDivisionError):
            learner.run([[0.0, 1.0]] * 4, [1, 1, 3, 1], keep_weights=keep_weights)
        assert learner.ledger_.rounds == 2 == learner._play.engine.sums["rounds"][0]


def test_losses_that_were_refused_begin_nothing() -> None:
    for begin in (lambda each: each.run_losses([]), lambda each: each.learn_losses([NAN, NAN])):
        learner = experts.MLPoly()
        with contextlib.suppress(ValueError):
            begin(learner)
        learner.tell(learner.ask([0.0, 1.0]), 1.0)
        assert learner.ledger_.losses.tolist() == [0.25]


def test_threads_share_a_learner() -> None:
    rng = np.random.default_rng(0)
    A, y = rng.random((1200, 6)), rng.random(1200)
    learner = experts.MLPoly()
    threads = [threading.Thread(target=learner.run, args=(A[k::6], y[k::6])) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert learner.ledger_.rounds == 1200 == learner._play.engine.sums["rounds"][0]
    assert learner.certify().status in {"holds", "vacuous"}


def test_numbers_of_numpy_have_json() -> None:
    learner = experts.Hedge(horizon=np.int64(50))
    learner.run([[0.0, 1.0]] * 3, [1.0] * 3)
    assert '"horizon": 50' in learner.certify().to_json()

"""The repr and the error messages of learners over experts."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest
from aggregation_learners import LEARNERS, NAN, every_learner, stream

import mistakebound as mb
from mistakebound import experts


@every_learner
def test_repr_is_one_line(name: str) -> None:
    A, y = stream(300, 40)
    learner = LEARNERS[name](prior=np.ones(40))
    ledger = learner.run(A[:30], y[:30])
    for each in (learner, ledger, LEARNERS[name]().ledger_, learner.ask(A[30])):
        assert len(repr(each)) < 250
        assert "\n" not in repr(each)
        assert str(each) == repr(each)
    assert repr(learner).startswith(f"<{type(learner).__name__}(")
    assert repr(learner).endswith("): 30 rounds, 40 experts>")
    assert "prior=array" in repr(learner)


def test_repr_shows_parameters_that_were_passed() -> None:
    assert repr(experts.BOA(eta=0.1, keep_bytes=9)) == "<BOA(eta=0.1, keep_bytes=9): 0 rounds, 0 experts>"
    assert repr(experts.Hedge(loss="absolute")) == "<Hedge(loss='absolute'): 0 rounds, 0 experts>"
    assert repr(experts.WeightedMajority(eta=0.2)) == "<WeightedMajority(eta=0.2): 0 rounds, 0 experts>"
    assert repr(experts.WeightedMajority(beta=0.2)) == "<WeightedMajority(beta=0.2): 0 rounds, 0 experts>"
    drawn = experts.RandomizedWeightedMajority(seed=3)
    drawn.learn_one([1, 0], 1)
    assert repr(drawn) == "<RandomizedWeightedMajority(seed=3): 1 round, 2 experts>"
    assert repr(experts.Halving()) == "<Halving(): 0 rounds, 0 experts>"


def test_repr_of_a_ledger_of_forecasts() -> None:
    learner = experts.Hedge(eta=1.0)
    # Cid never wakes: a regret of 0 to nobody is not the largest
    said = repr(learner.run({"Ann": [0.0, 1.0], "Bob": [9.0, 9.0], "Cid": [NAN, NAN]}, [0.0, 0.0]))
    assert said.startswith("<AggregationLedger: hedge; 2 rounds, 3 experts; square loss ")
    assert "best expert: 'Ann' with 1 in 2 rounds" in said
    assert said.endswith(f"largest regret: {learner.ledger_.total_loss - 1:.6g} to 'Ann'>")
    ahead = experts.MLPoly(gradient=False)
    ahead.run([[0.0, 4.0, NAN]] * 3, [2.0] * 3)
    assert "largest regret: -12 to '0'>" in repr(ahead.ledger_)
    again = repr(learner.run({"Ann": [0.0]}, [0.0]))
    assert "; 1 round, 3 experts; square loss 0 here;" in again
    assert "best expert since the learner began: 'Ann' with 1 in 3 rounds;" in again


def test_repr_of_a_ledger_of_votes() -> None:
    votes: Any = experts.WeightedMajority()
    assert repr(votes.ledger_) == "<ExpertLedger: 0 mistakes in 0 rounds, weighted-majority; experts: 0>"
    votes.learn_one({"Ann": 1, "Bob": 0}, 0)
    assert repr(votes.ledger_).endswith("experts: 2, the best 'Bob' with 0 mistakes in 1 rounds>")


@pytest.mark.parametrize("rule", [experts.WeightedMajority, experts.RandomizedWeightedMajority, experts.Guarded])
def test_beta_and_eta_cannot_both_be_set(rule: Any) -> None:
    for beta in (0.3, 0.5, 0.8):
        with pytest.raises(ValueError, match=rf"beta and eta.*{beta}.*0.2"):
            rule(beta=beta, eta=0.2)
    assert rule(eta=0.2).beta == 0.8
    assert rule().beta == 0.5
    assert rule(0.3).beta == 0.3
    assert mb.experts.Halving().beta == 0


@pytest.mark.parametrize(
    ("advice", "outcome", "words"),
    [
        ({"Ann": 0.1, "Bob": "n/a"}, 0.5, "expert 'Bob'.*number.*'n/a'"),
        ({"Ann": 0.1, "expert 7": "expert 9"}, 0.5, "expert 'expert 7'.*number.*'expert 9'"),
        ({"Bob": 0.1, "Dee": np.inf}, 0.5, "forecast of expert 'Dee'.*inf"),
        ({"Ann": 0.1, "Bob": [0.2, 0.3]}, 0.5, "forecasts.*numbers"),
    ],
)
def test_errors_name_the_expert(advice: Any, outcome: Any, words: str) -> None:
    learner = experts.Hedge(eta=1e-9)
    learner.learn_one({"Ann": 0.1, "Bob": 0.2, "expert 1": 0.3}, 0.3)
    for play in (learner.learn_one, lambda advice, outcome: learner.run([advice], [outcome])):
        with pytest.raises(mb.StreamError, match=f"^round [01]: .*{words}"):
            play(advice, outcome)


def test_errors_name_the_column() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"low": [0.1, 0.2], "who": ["Ann", "Bob"]})
    with pytest.raises(mb.StreamError, match="^round 0: .*expert 'who'.*number.*'Ann'"):
        experts.MLPoly().run(frame, [0.1, 0.2])
    for loss in ("log", (lambda f, y: np.abs(f - y), lambda f, y: np.sign(f - y))):  # in the core, and in Python
        frame = pandas.DataFrame({"low": [0.1, 0.2], "high": [0.1, np.inf]})
        with pytest.raises(mb.StreamError, match="^round 1: .*forecast of expert 'high'.* inf") as caught:
            experts.MLPoly(loss=loss).run(frame, [1.0, 0.0])
        assert caught.value.ledger.rounds == 1
    with pytest.raises(mb.StreamError, match="^round 0: .*expert 1\\b.*forecast.* inf"):
        experts.MLPoly().run([[0.1, np.inf]], [1.0])
    parts = {"Ann": [[0.5, 0.5]], "Bob": [[0.5, NAN]]}
    with pytest.raises(mb.StreamError, match="^round 0: expert 'Bob'.* classes"):
        experts.MLPoly().run(parts, [[1.0, 0.0]])
    with pytest.raises(mb.StreamError, match="^round 0: expert 'Bob'.* classes"):
        experts.MLPoly().learn_one({name: said[0] for name, said in parts.items()}, [1.0, 0.0])
    with pytest.raises(mb.StreamError, match="^round 0: .*loss of expert 'Bob' .* 1e.200"):
        experts.MLPoly().learn_losses({"Ann": 0.1, "Bob": 1e200})
    with pytest.raises(mb.StreamError, match="^round 0: .*loss of expert 'Bob'.* inf"):
        experts.Squint(loss="log").learn_one({"Ann": 0.5, "Bob": 0.0}, 1)


def test_a_custom_loss_must_be_a_pair_of_functions() -> None:
    with pytest.raises(ValueError, match=r"a pair \(loss, gradient\)"):
        experts.MLPoly(loss=lambda f, y: (f - y) ** 2)  # type: ignore[arg-type]


# ---------------------------------------------------------------------- votes

PROBABILITIES = ".*0 or 1.* 0.9.*probability"


@pytest.mark.parametrize(
    "rule", [experts.WeightedMajority, experts.Halving, experts.RandomizedWeightedMajority, experts.Guarded]
)
@pytest.mark.parametrize("outcomes", [[1, 1], [True, False], [1.0, 0.0], np.array([0, 1])])
def test_probabilities_are_rejected_as_votes(rule: Any, outcomes: Any) -> None:
    rows = [[0, 1], [0, 0.9]]
    for A in (rows, np.array(rows), np.array(rows, np.float32), np.array(rows, object)):
        master = rule()
        with pytest.raises(mb.StreamError, match=f"^round 1: the vote of expert 1 {PROBABILITIES}"):
            master.run(A, outcomes)
        assert master.ledger_.rounds == 1
    master = rule()
    with pytest.raises(mb.StreamError, match=f"^round 0: the vote of expert 'Bob' {PROBABILITIES}"):
        master.learn_one({"Ann": 1, "Bob": 0.9}, 1)
    assert master.names_ == []
    with pytest.raises(mb.StreamError, match="^round 0: .*expert 0\\b.*0 or 1.* 0.2"):  # two values only
        rule().run(np.array([[0.2, 1.0]] * 3), [1, 1, 1])


def test_other_numbers_are_votes() -> None:
    for A, y in (
        ([[0.0, 2.0, NAN], [1.0, 1.0, 0.0]], [1, 0]),  # classes that are coded by floats
        ([[0.5, 1.0], [0.0, 0.5]], [1.0, 0.5]),  # an outcome is 0.5
        ([["0.9", "0.1"]], ["0.9"]),
        ([[0.9, 0.1]], ["rain"]),
        ([[(0.9,), None]], [(0.9,)]),
    ):
        for table in (A, np.array(A, object)) if len(A) > 1 else (A,):
            assert experts.WeightedMajority().run(table, y).rounds == len(A)
    assert experts.WeightedMajority().run(np.array([[0.5, 1.0], [1.0, 0.5]]), [1.0, 0.5]).mistakes == 0
    master = experts.WeightedMajority()
    master.learn_one([0.5, 1], 0.5)  # from now on that is an outcome
    master.learn_one([0.5, 1], 1)
    assert master.ledger_.rounds == 2


def test_a_prediction_does_not_add_experts() -> None:
    master = experts.WeightedMajority()
    assert master.predict_one({"Ann": "sun"}) == "sun"
    assert master.names_ == []
    for _ in range(3):
        master.learn_one({"Ann": "sun", "Bob": "rain"}, "sun")
    weights, ledger = master.weights_.tolist(), master.ledger_
    assert master.predict_one({"Cid": "fog"}) == "fog"
    assert master.weights_for({"Cid": "fog"}).tolist() == [0, 0, 1]
    assert master.names_ == ["Ann", "Bob"]
    assert master.weights_.tolist() == weights
    assert master.ledger_.expert_losses.tolist() == ledger.expert_losses.tolist()
    # who is new counts as it will when the outcome is told
    expected = master.weights_for({"Ann": "sun", "Cid": "fog"})
    kept = master.run([{"Ann": "sun", "Cid": "fog"}], ["fog"], keep_weights=True)
    assert kept.weights.tolist() == [expected.tolist()]
    assert master.names_ == ["Ann", "Bob", "Cid"]


def test_the_round_of_a_batch_is_named() -> None:
    master = experts.WeightedMajority()
    master.run([[1, 0]] * 5, [1] * 5)
    with pytest.raises(mb.StreamError, match="^round 1: .*asleep") as caught:
        master.run([[1, 0], [None, None]], [1, 1])
    assert caught.value.round == 1
    assert (caught.value.ledger.rounds, master.ledger_.rounds) == (1, 6)
    with pytest.raises(mb.StreamError, match="^round 6: .*asleep"):  # in its life
        master.learn_one([None, None], 1)


def test_unhashable_votes_change_nothing() -> None:
    master = experts.WeightedMajority()
    with pytest.raises(mb.StreamError, match="^round 0: "):
        master.learn_one([[1], [0]], 1)
    assert master.names_ == []


# ---------------------------------------------------------------------- docstrings


@pytest.mark.parametrize("name", [name for name in experts.__all__ if name not in ("Asked", "Comparison", "Halving")])
def test_every_parameter_is_described(name: str) -> None:
    kind = getattr(experts, name)
    told = (
        (kind.__doc__ or "")
        .partition("Parameters\n    ----------\n")[2]
        .partition("Examples\n")[0]
        .partition("Raises\n")[0]
    )
    described = {
        each.strip().lstrip("*")
        for line in told.splitlines()
        if line.startswith("    ") and not line.startswith("     ")
        for each in line.partition(" : ")[0].split(",")
    }
    takes = set(inspect.signature(kind).parameters)
    assert described - {""} == (takes - {"more"}) | ({"keep_bytes"} if "more" in takes else set())
    referred = set(re.findall(r"[Aa]s in `(\w+)`", told))
    assert not any(
        re.search(r"[Aa]s in `", getattr(experts, each).__doc__.partition("rates :")[0]) for each in referred
    )
    assert name != "MLPoly" or not referred


@pytest.mark.parametrize("kind", [experts.MLPoly, experts.WeightedMajority])
def test_the_ledger_has_what_the_docstring_of_run_names(kind: Any) -> None:
    told = kind.run.__doc__.partition("Returns\n")[2].partition("Examples\n")[0]
    ledger = kind().run([[1, 0]], [1], keep_weights=True)
    named = re.findall(r"``(\w+)``", told)
    assert len(named) > 8
    assert all(getattr(ledger, each) is not None for each in named)


def test_the_base_class_cannot_be_used_alone() -> None:
    with pytest.raises(TypeError, match="Aggregation.*MLPoly"):
        experts.Aggregation()

    class Undeclared(experts.Aggregation):
        """A subclass that is not in the registry of rules and does not define `_make`."""

    with pytest.raises(TypeError, match=r"Undeclared.*MLPoly.*_make"):
        Undeclared().predict_one([0.5, 0.7])

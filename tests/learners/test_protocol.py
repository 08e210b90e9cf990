"""One protocol: every public learner and every rule over experts does what `OnlineLearner` says, and does it alike."""

from __future__ import annotations

import copy
import importlib
import json
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound import experts, learners
from mistakebound.errors import TicketError
from mistakebound.experts.model import KINDS as EXPERTS
from mistakebound.learners.linear import KINDS as LINEAR
from mistakebound.learners.protocol import OnlineLearner
from mistakebound.play.expert_ledger import AggregationLedger

KINDS = {**LINEAR, **EXPERTS}
VOTERS = [name for name, kind in EXPERTS.items() if issubclass(kind, mb.experts.WeightedMajority)]
every_kind = pytest.mark.parametrize("name", KINDS)
FRESH = {"Winnow": {"threshold": 2.0}, "RandomizedWeightedMajority": {"seed": 4}}


def certified(learner: Any) -> Any:
    """Return the certificate, or the reason why there is none."""
    try:
        return learner.certify()
    except ValueError as error:
        if "no mistake bound is known" not in str(error):
            raise
        return str(error)


def learned(learner: Any) -> Any:
    """Return the weights of a learner; of a panel, all that it has learned."""
    if isinstance(learner, mb.Panel):
        assert not learner.several  # a label that is not valid does not convert it
        return np.concatenate([part.astype(float) for part in learner._play.engine.core.__getstate__()[2]])
    if isinstance(learner, mb.MulticlassPerceptron):
        return np.array(list(learner.weights_.values()))
    return np.array(learner.weights_)


def make(name: str) -> Any:
    return KINDS[name](**FRESH.get(name, {}))


def stream(name: str, rounds: int = 40) -> tuple[list[Any], list[Any]]:
    rng = np.random.default_rng(1)
    if name in LINEAR or name in VOTERS:
        X = rng.integers(0, 2, (rounds, 4)).astype(float)
        y = np.where(rng.random(rounds) < 0.8, X[:, 1], 1 - X[:, 1])
        rows = X.tolist() if name in LINEAR else X.astype(int).tolist()
        return rows, y.astype(int).tolist()
    y = rng.random(rounds)
    return np.clip(y[:, None] + rng.normal(0, [0.1, 0.2, 0.3], (rounds, 3)), 0, 1).tolist(), y.tolist()


def test_every_public_learner_is_here() -> None:
    public = {each for each in vars(mb).values() if isinstance(each, type) and hasattr(each, "learn_one")}
    public |= {
        getattr(mb.experts, each) for each in mb.experts.__all__ if hasattr(getattr(mb.experts, each), "learn_one")
    }
    assert {kind for kind in public if kind is not mb.experts.Aggregation} == set(KINDS.values())


@every_kind
def test_it_has_the_methods_of_the_protocol(name: str) -> None:
    assert isinstance(make(name), OnlineLearner)


def test_no_class_of_learners_and_experts_has_a_base_class_with_a_base_class() -> None:
    modules = [
        importlib.import_module(found.name)
        for room in (learners, experts)
        for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")
    ]
    classes = {
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type)
        and each.__module__.startswith((learners.__name__, experts.__name__))
        and not issubclass(each, Exception)
    }
    assert set(KINDS.values()) <= classes
    for each in classes:
        ours = [base for base in each.__mro__ if base.__module__.startswith("mistakebound.")]
        assert len([base for base in ours if not getattr(base, "_is_protocol", False)]) <= 2, ours


@every_kind
def test_learning_one_at_a_time_equals_run(name: str) -> None:
    X, y = stream(name)
    whole, single = make(name), make(name)
    ledger = whole.run(X, y)
    predictions = []
    for x, outcome in zip(X, y, strict=True):
        predictions.append(single.predict_one(x))
        assert single.predict_one(x) == predictions[-1]  # it changes nothing
        single.learn_one(x, outcome)
    assert ledger.predictions.tolist() == single.ledger_.predictions.tolist() == predictions
    assert ledger.rounds == whole.ledger_.rounds == single.ledger_.rounds == len(X)
    assert ledger.from_start
    assert whole.ledger_.loss_curve.tolist() == single.ledger_.loss_curve.tolist()


@every_kind
def test_ask_and_tell_at_once_equal_learn_one(name: str) -> None:
    X, y = stream(name)
    usual, late = make(name), make(name)
    for x, outcome in zip(X, y, strict=True):
        asked = late.ask(x)
        assert asked.number == late.ledger_.rounds
        late.tell(asked, outcome)
        usual.learn_one(x, outcome)
        no_label = name == "MulticlassPerceptron" and late.ledger_.rounds == 1  # so there was nothing to predict
        assert no_label or asked.prediction == late.ledger_.predictions[-1]
    assert late.ledger_.predictions.tolist() == usual.ledger_.predictions.tolist()
    assert np.array_equal(learned(late), learned(usual))
    assert late.ledger_.late == 0


@every_kind
def test_late_outcomes_are_compared_with_the_earlier_predictions(name: str) -> None:
    X, y = stream(name)
    learner = make(name)
    if name == "MulticlassPerceptron":  # it predicts labels that have occurred
        learner.run(X[10:12], [0, 0])
    asked = [learner.ask(x) for x in X[:10]]
    for ticket, outcome in zip(reversed(asked), reversed(y[:10]), strict=True):
        learner.tell(ticket, outcome)
    assert learner.ledger_.predictions.tolist()[-10:] == [ticket.prediction for ticket in reversed(asked)]
    assert learner.ledger_.late > 0
    with pytest.raises(TicketError) as caught:
        learner.tell(asked[0], y[0])
    assert caught.value.reason == "used"
    with pytest.raises(TicketError, match=name) as caught:
        make(name).tell(learner.ask(X[0]), y[0])
    assert (caught.value.reason, caught.value.learner) == ("unknown", name)
    found = certified(learner)
    assert isinstance(found, str) or found.status == "does not apply" or found.theorem.startswith("delayed")


@every_kind
def test_parameters(name: str) -> None:
    learner = make(name)
    again = type(learner)(**learner.get_params())
    assert again.get_params() == learner.get_params()
    assert learner.set_params(**learner.get_params()) is learner
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        learner.set_params(colour="red")


@every_kind
def test_parameters_that_are_set_before_the_first_round_count(name: str) -> None:
    X, y = stream(name)
    learner, params = make(name), make(name).get_params()
    for parameter, value in (
        ("prior", [3.0, 1.0, 1.0, 1.0][: len(X[0])]),
        ("update_margin", 0.1),
        ("eta", 0.3),
        ("p", 3.0),
    ):
        if parameter in params:
            kind = type(learner)
            with_it = {**params, parameter: value} | ({"beta": None} if name in VOTERS and parameter == "eta" else {})
            expected = kind(**with_it)
            changed = kind(**params).set_params(**with_it)
            assert changed.run(X, y).predictions.tolist() == expected.run(X, y).predictions.tolist()
            assert np.array_equal(learned(changed), learned(expected))


@every_kind
def test_a_model_file_has_the_whole_state(name: str, tmp_path: Path) -> None:
    X, y = stream(name)
    learner = make(name)
    learner.run(X[:20], y[:20])
    learner.save(tmp_path / "m.mb")
    again = mb.load(tmp_path / "m.mb")
    for each in (learner, again):
        each.run(X[20:], y[20:])
    assert type(again) is type(learner)
    assert again.get_params() == learner.get_params()
    assert again.ledger_.predictions.tolist() == learner.ledger_.predictions.tolist()
    assert np.array_equal(learned(again), learned(learner))
    assert certified(again) == certified(learner)


@every_kind
def test_the_ledger_is_json_and_comes_back(name: str) -> None:
    X, y = stream(name)
    learner = make(name)
    learner.run(X, y)
    ledger = learner.ledger_
    again = type(ledger).from_json(ledger.to_json())
    assert again.to_json() == ledger.to_json()
    assert again.predictions.tolist() == ledger.predictions.tolist()
    assert again.loss_curve.tolist() == ledger.loss_curve.tolist()
    assert len(ledger.loss_curve) == ledger.rounds
    assert (np.diff(ledger.loss_curve) >= 0).all()
    if not isinstance(ledger, AggregationLedger):  # its losses are not mistakes
        assert ledger.mistake_curve[-1] == ledger.loss_curve[-1] == ledger.mistakes > 0
        if not isinstance(certified(learner), str):
            assert mb.certify(again) == learner.certify()
    for forge in ({"rule": 7}, {"names": 3}, {"predictions": None if name in EXPERTS else "x"}, {"from_start": 1}):
        data = json.loads(ledger.to_json()) | forge
        with pytest.raises(mb.ModelError) as caught:
            type(ledger).from_json(json.dumps(data))
        assert caught.value.field is not None


@every_kind
def test_repr_and_html_table(name: str) -> None:
    learner = make(name)
    for rounds in (0, 5):
        X, y = stream(name)
        if rounds:
            learner.run(X[:rounds], y[:rounds])
        assert name in repr(learner)
        for shown in (learner._repr_html_(), learner.ledger_._repr_html_()):
            assert shown.startswith("<table><caption>")
            assert str(rounds) in shown
            assert "http" not in shown
            assert "<script" not in shown


def test_names_are_escaped_in_tables() -> None:
    mixer = mb.experts.MLPoly(prior={"<script>": 1.0, "b": 1.0})
    mixer.learn_one({"<script>": 0.0, "b": 1.0}, 0.0)
    for shown in (mixer._repr_html_(), mixer.ledger_._repr_html_()):
        assert "<script>" not in shown
        assert "&lt;script&gt;" in shown


@every_kind
def test_a_rejected_round_changes_nothing(name: str) -> None:
    X, y = stream(name)
    learner = make(name)
    learner.run(X[:10], y[:10])
    before, weights = learner.ledger_.rounds, learned(learner)
    for advice, outcome in ((X[0][:-1], y[0]), (X[0], float("nan"))):
        with pytest.raises(ValueError, match="."):
            learner.learn_one(advice, outcome)
    assert learner.ledger_.rounds == before
    assert np.array_equal(learned(learner), weights)
    twin = copy.deepcopy(learner)
    assert twin.run(X[10:], y[10:]).predictions.tolist() == learner.run(X[10:], y[10:]).predictions.tolist()

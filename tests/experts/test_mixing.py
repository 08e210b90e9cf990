"""`mb.mix` of learners over experts: losses are added, so the weights are those of one learner with all rounds."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from copy import copy, deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound.experts.mixing import WORKS
from mistakebound.play.expert_ledger import AggregationLedger, ExpertLedger

E = mb.experts
FORECASTS: dict[str, Callable[[], Any]] = {
    "hedge": lambda: E.Hedge(eta=0.7, gradient=False),
    "horizon": lambda: E.Hedge(horizon=90, loss="absolute", gradient=False),
    "theorem": lambda: E.ExponentiallyWeightedAverage(eta="theorem"),
    "log": lambda: E.ExponentiallyWeightedAverage(loss="log"),
    "prior": lambda: E.Hedge(eta=0.7, gradient=False, prior=[1, 2, 3, 4]),
    "own loss": lambda: E.Hedge(
        eta=0.7, gradient=False, loss=(lambda p, y: (p - y) ** 4, lambda p, y: 4 * (p - y) ** 3)
    ),
}


def votes(rounds: int, n: int = 4, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rounds)
    return np.where(rng.random((rounds, n)) < np.linspace(0.1, 0.5, n), 1 - y[:, None], y[:, None]), y


def forecasts(rounds: int, classes: int = 0, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    if not classes:
        return rng.uniform(0.05, 0.95, (rounds, 4)), rng.integers(0, 2, rounds).astype(float)
    return rng.dirichlet(np.ones(classes), (rounds, 4)), np.eye(classes)[rng.integers(0, classes, rounds)]


def mixed(start: Any, A: Any, y: Any, owner: Any) -> Any:
    """Return the mix of the parts, each of which learned its rounds; the part of a round is given by ``owner``."""
    parts = [copy(start) for _ in range(max(owner) + 1)]
    for place, part in enumerate(parts):
        own = np.flatnonzero(np.asarray(owner) == place)
        part.run(A[own], y[own])
    return mb.mix(start, parts)


def learned(learner: Any, A: Any, y: Any) -> Any:
    learner.run(A, y)
    return learner


# ---------------------------------------------------------------------- by hand


def test_losses_of_votes_are_added_by_name() -> None:
    start = E.WeightedMajority()
    parts = [copy(start), copy(start)]
    parts[0].learn_one({"Ann": 1, "Bob": 0, "Cid": 0}, 1)  # weights 1, 1, 1: 0 is predicted, Bob and Cid are wrong
    parts[0].learn_one({"Ann": 1, "Bob": 1, "Cid": 0}, 1)  # weights 1, 1/2, 1/2: 1 is predicted, Cid is wrong
    parts[1].learn_one({"Cid": 1, "Ann": 1, "Bob": 0}, 0)  # weights 1, 1, 1: 1 is predicted, Ann and Cid are wrong
    found = mb.mix(start, parts)
    assert found.names_ == ["Ann", "Bob", "Cid"]
    assert found.weights_ == pytest.approx([4 / 9, 4 / 9, 1 / 9], rel=1e-15)  # losses 1, 1 and 3
    ledger = found.ledger_
    assert (ledger.rounds, ledger.predictions.tolist(), ledger.mistake_rounds.tolist()) == (3, [0, 1, 1], [0, 2])
    assert (ledger.expert_mistakes.tolist(), ledger.expert_losses.tolist()) == ([1, 1, 3], [1, 1, 3])
    assert ledger.expected_mistakes == pytest.approx(2 / 3 + 1 / 4 + 2 / 3, rel=1e-15)
    assert (start.ledger_.rounds, [part.ledger_.rounds for part in parts]) == (0, [2, 1])


def test_losses_of_forecasts_are_added_by_name() -> None:
    start = E.Hedge(eta=math.log(2))
    parts = [copy(start), copy(start)]
    parts[0].learn_losses({"Ann": 0.0, "Bob": 1.0})  # the learner loses 1/2
    parts[1].learn_losses({"Bob": 1.0, "Ann": 0.0})  # and here, too
    found = mb.mix(start, parts)
    assert found.names_ == ["Ann", "Bob"]
    assert found.weights_ == pytest.approx([4 / 5, 1 / 5], rel=1e-15)  # losses 0 and 2
    ledger = found.ledger_
    assert (ledger.losses.tolist(), ledger.regrets.tolist()) == ([0.5, 0.5], [1.0, -1.0])
    assert (ledger.expert_losses.tolist(), ledger.expert_rounds.tolist()) == ([0.0, 2.0], [2.0, 2.0])


# ---------------------------------------------------------------------- equal to one learner


@pytest.mark.parametrize("make", [E.WeightedMajority, E.Halving, lambda: E.RandomizedWeightedMajority(seed=0)])
@pytest.mark.parametrize("early", [0, 2])
def test_any_dealing_of_votes_has_the_weights_of_one_learner(make: Any, early: int) -> None:
    A, y = votes(8)
    one = learned(make(), A, y)
    start = learned(make(), A[:early], y[:early]) if early else make()
    for owner in itertools.product((0, 1), repeat=8 - early):
        found = mixed(start, A[early:], y[early:], owner)
        assert found.weights_.tolist() == one.weights_.tolist()
        assert found.ledger_.expert_losses.tolist() == one.ledger_.expert_losses.tolist()
        assert found.ledger_.rounds == 8


@pytest.mark.parametrize("beta", [0.3, 0.9])
def test_many_rounds_of_votes(beta: float) -> None:
    """The losses have the same bits; so do the weights, up to rounding."""
    A, y = votes(1000, seed=1)
    one = learned(E.WeightedMajority(beta), A, y)
    found = mixed(learned(E.WeightedMajority(beta), A[:100], y[:100]), A[100:], y[100:], np.arange(900) % 7)
    assert found._play.core.losses().tolist() == one._play.core.losses().tolist()
    assert found.weights_ == pytest.approx(one.weights_, rel=1e-12)


@pytest.mark.parametrize("make", FORECASTS.values(), ids=FORECASTS)
@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("early", [0, 20])
def test_any_dealing_of_forecasts_has_the_weights_of_one_learner(make: Any, classes: int, early: int) -> None:
    A, y = forecasts(90, classes)
    one = learned(make(), A, y)
    start = learned(make(), A[:early], y[:early]) if early else make()
    for seed in range(3):
        owner = np.random.default_rng(seed).integers(0, 4, 90 - early)
        found = mixed(start, A[early:], y[early:], owner)
        assert found.weights_ == pytest.approx(one.weights_, rel=1e-12)
        ledger = found.ledger_
        assert ledger.expert_losses == pytest.approx(one.ledger_.expert_losses, rel=1e-12)
        assert ledger.regrets == pytest.approx(ledger.total_loss - ledger.expert_losses, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda **prior: E.WeightedMajority(0.7, **prior),
        lambda **prior: E.Hedge(eta=0.7, gradient=False, **prior),
    ],
    ids=["votes", "forecasts"],
)
def test_a_prior_by_name_in_any_order(make: Any) -> None:
    A, y = votes(60)
    A, y = A.astype(float), y.astype(float)
    names, prior = list("abcd"), {"a": 1.0, "c": 5.0, "d": 2.0}
    one, start = make(prior=prior), make(prior=prior)
    one.run(dict(zip(names, A.T, strict=True)), y)
    parts = [copy(start) for _ in range(3)]
    for k, part in enumerate(parts):
        order = np.roll(np.arange(4), k)
        part.run({names[place]: A[k::3, place] for place in order}, y[k::3])
    found = mb.mix(start, parts)
    assert found.names_ == names
    assert found.weights_ == pytest.approx(one.weights_, rel=1e-12)


def test_experts_that_are_known_before_the_first_round(tmp_path: Path) -> None:
    start = FORECASTS["hedge"]()
    start.ask([0.1, 0.9])
    parts = [copy(start), copy(start)]
    for part in parts:
        part.learn_one([0.1, 0.9], 0.0)
    one = learned(FORECASTS["hedge"](), [[0.1, 0.9]] * 2, [0.0] * 2)
    found = mb.mix(start, parts)
    assert found.weights_ == pytest.approx(one.weights_, rel=1e-12)
    found.save(tmp_path / "m.mb")
    assert mb.load(tmp_path / "m.mb").ledger_.predictions.tolist() == found.ledger_.predictions.tolist()


@pytest.mark.parametrize("early", [0, 20])
def test_losses_alone(early: int) -> None:
    L, _ = forecasts(90)
    one, start = E.Hedge(eta=0.7), E.Hedge(eta=0.7)
    one.run_losses(L)
    if early:
        start.run_losses(L[:early])
    parts = [copy(start) for _ in range(3)]
    for k, part in enumerate(parts):
        part.run_losses(L[early + k :: 3])
    found = mb.mix(start, parts)
    for learner in (found, one):
        assert learner.weights_ == pytest.approx(one.weights_, rel=1e-12)
        learner.run_losses(L[:5])


def test_late_outcomes_are_counted() -> None:
    for make in (E.WeightedMajority, FORECASTS["hedge"]):
        start = make()
        start.learn_one([1, 0], 1)
        parts = [copy(start), copy(start)]
        for part in parts:
            first, second = part.ask([1, 0]), part.ask([0, 1])
            part.tell(second, 1)
            part.tell(first, 1)
        ledger = mb.mix(start, parts).ledger_
        assert (ledger.rounds, ledger.late) == (5, 2)


def test_a_part_with_other_outcomes_than_0_and_1() -> None:
    parts = [voter(([1, 0], 1)), voter(([3, 2], 3))]
    found = mb.mix(voter(), parts)
    found.learn_one([0.5, 1], 1)  # refused while all outcomes are 0 and 1
    assert found.ledger_.expert_mistakes.tolist() == [1, 2]


def test_random_numbers_are_those_after_the_longest_part() -> None:
    A, y = votes(30)
    start = E.RandomizedWeightedMajority(seed=5)
    parts = [learned(copy(start), A[:10], y[:10]), learned(copy(start), A[10:], y[10:])]
    assert mb.mix(start, parts)._chooser.next_draw() == copy(parts[1])._chooser.next_draw()
    assert mb.mix(start, parts)._chooser.next_draw() != copy(parts[0])._chooser.next_draw()


def test_the_record_is_that_of_the_parts_one_after_another() -> None:
    A, y = forecasts(30)
    start = learned(FORECASTS["hedge"](), A[:10], y[:10])
    parts = [learned(copy(start), A[10:17], y[10:17]), learned(copy(start), A[17:], y[17:])]
    ledger = mb.mix(start, parts).ledger_
    expected = [*parts[0].ledger_.predictions, *parts[1].ledger_.predictions[10:]]
    assert ledger.predictions.tolist() == expected
    assert ledger.losses.tolist() == [*parts[0].ledger_.losses, *parts[1].ledger_.losses[10:]]
    assert ledger.mistakes == np.sum((ledger.predictions >= 0.5) != (y == 1))
    advice, outcomes = ledger.kept.rounds()
    assert (advice.tolist(), outcomes.tolist()) == (A.tolist(), y.tolist())


@pytest.mark.parametrize("make", [lambda: E.WeightedMajority(0.9), FORECASTS["hedge"]], ids=["votes", "forecasts"])
@pytest.mark.parametrize("early", [0, 10])
def test_a_run_of_a_mix_returns_the_ledger_of_its_rounds(make: Any, early: int) -> None:
    A, y = votes(60)
    A, y = A.astype(float), y.astype(float)
    start = make()
    for t in range(early):
        start.learn_one(A[t], y[t])
    found = mixed(start, A[early:], y[early:], np.arange(60 - early) % 3)
    before = found.ledger_
    own = found.run(A[:20], y[:20])
    after = found.ledger_
    assert own.mistake_rounds.tolist() == (after.mistake_rounds[before.mistakes :] - 60).tolist()
    assert own.predictions.tolist() == after.predictions[60:].tolist()


@pytest.mark.parametrize("make", [lambda: E.WeightedMajority(0.9), FORECASTS["hedge"]], ids=["votes", "forecasts"])
def test_mixes_can_be_mixed(make: Any) -> None:
    A, y = votes(60)
    A, y = A.astype(float), y.astype(float)
    start = make()
    parts = [learned(copy(start), A[k::4], y[k::4]) for k in range(4)]
    pairs = [mb.mix(start, parts[:2]), mb.mix(start, parts[2:])]
    assert mb.mix(start, pairs).weights_ == pytest.approx(mb.mix(start, parts).weights_, rel=1e-12)
    assert mb.mix(start, pairs).ledger_.predictions.tolist() == mb.mix(start, parts).ledger_.predictions.tolist()


def test_parts_that_learned_nothing() -> None:
    A, y = votes(20)
    start = E.WeightedMajority()
    assert mb.mix(start, [copy(start), copy(start)]).ledger_.rounds == 0
    part = learned(copy(start), A, y)
    found = mb.mix(start, [copy(start), part])
    assert found.weights_.tolist() == part.weights_.tolist()
    assert found.certify() == part.certify()  # a copy, not a mix
    found.run(A, y)
    assert part.ledger_.rounds == 20
    part.learn_one([1, None, 0, 0], 1)  # one part may have any rounds, because nothing is mixed
    assert mb.mix(start, [copy(start), part]).weights_.tolist() == part.weights_.tolist()


def test_experts_that_slept_before_the_start() -> None:
    A, y = votes(40)
    table = [[None, *row[1:]] if t < 5 else list(row) for t, row in enumerate(A.tolist())]
    one, start = E.WeightedMajority(), E.WeightedMajority()
    one.run(table, y.tolist())
    start.run(table[:10], y[:10].tolist())
    found = mixed(start, A[10:], y[10:], np.arange(30) % 3)
    assert found.weights_ == pytest.approx(one.weights_, rel=1e-12)
    assert found.ledger_.expert_losses == pytest.approx(one.ledger_.expert_losses, rel=1e-12)


# ---------------------------------------------------------------------- what is proved


def test_certificates_of_a_mix_do_not_apply() -> None:
    A, y = votes(60)
    voter = mixed(E.RandomizedWeightedMajority(seed=1), A, y, np.arange(60) % 3)
    mixer = mixed(FORECASTS["theorem"](), A.astype(float), y.astype(float), np.arange(60) % 3)
    for found in (voter, mixer):
        certificate = found.certify()
        assert (certificate.status, certificate.bound, certificate.note) == ("does not apply", math.inf, "")
        assert (
            certificate.premises[0].statement
            == "one learner learned all rounds, without shards whose states were mixed"
        )
        assert "certify each part" in str(certificate)
        found.run(A[:5].astype(float), y[:5].astype(float))
        assert found.certify().status == "does not apply"


@pytest.mark.parametrize("parts", [2, 8])
def test_mistakes_are_at_most_the_sum_of_the_bounds_of_the_parts(parts: int) -> None:
    A, y = votes(400, seed=3)
    start = E.WeightedMajority()
    learners = [learned(copy(start), A[k::parts], y[k::parts]) for k in range(parts)]
    bounds = [each.certify().bound for each in learners]
    found = mb.mix(start, learners).ledger_
    both = (parts * math.log(4) + found.expert_mistakes.min() * math.log(2)) / math.log(4 / 3)
    assert found.mistakes <= sum(bounds) <= both * (1 + 1e-12)


# ---------------------------------------------------------------------- files


@pytest.mark.parametrize(
    "make",
    [E.Halving, lambda: E.RandomizedWeightedMajority(seed=1), FORECASTS["hedge"], FORECASTS["log"]],
)
@pytest.mark.parametrize("classes", [0, 2])
def test_a_mix_is_saved_and_loaded_and_goes_on(make: Any, classes: int, tmp_path: Path) -> None:
    A, y = forecasts(60, classes) if isinstance(make(), E.Aggregation) else votes(60)
    found = mixed(make(), A, y, np.arange(60) % 3)
    found.save(tmp_path / "m.mb")
    again = mb.load(tmp_path / "m.mb")
    assert again.certify() == found.certify()
    kind = AggregationLedger if isinstance(found, E.Aggregation) else ExpertLedger
    assert kind.from_json(found.ledger_.to_json()).mixed
    for learner in (again, found):
        learner.run(A, y)
    assert again.weights_.tolist() == found.weights_.tolist()
    assert again.ledger_.predictions.tolist() == found.ledger_.predictions.tolist()
    assert deepcopy(found).certify().status == "does not apply"


def test_the_field_of_a_ledger_must_be_true_or_false() -> None:
    ledger = learned(E.WeightedMajority(), *votes(5)).ledger_
    data = json.loads(ledger.to_json())
    assert "mixed" not in data
    with pytest.raises(mb.ModelError, match="mixed must be true or false"):
        ExpertLedger.from_json(json.dumps(data | {"mixed": 1}))


def test_advice_that_was_not_kept(tmp_path: Path) -> None:
    A, y = forecasts(60)
    for most in (300, 1000):  # a part does not fit; only the parts together do not fit
        found = mixed(E.Hedge(eta=0.5, gradient=False, keep_bytes=most), A, y, np.arange(60) % 3)
        assert not found.ledger_.kept.complete
        found.save(tmp_path / "m.mb")
        assert mb.load(tmp_path / "m.mb").ledger_.rounds == 60


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("learner", "why"),
    [
        (E.AdaHedge(), "its rate adapts"),
        (E.MLPoly(), "its rate adapts"),
        (E.BOA(), "its rate adapts"),
        (E.BOA(eta=0.1, gradient=False), "or it has further state"),
        (E.FixedShare(eta=0.1, alpha=0.1, gradient=False), "or it has further state"),
        (E.Squint(), "its rate adapts"),
        (E.OGD(), "or it has further state"),
        (E.Ridge(penalty=1), "or it has further state"),
        (E.Hedge(gradient=False), "its rate adapts"),
        (E.ExponentiallyWeightedAverage(), "its rate adapts"),
        (E.Hedge(eta=0.1), "linearised at its own forecasts (gradient=True)"),
        (E.ExponentiallyWeightedAverage(eta=0.1), "linearised at its own forecasts (gradient=True)"),
        (E.Guarded(), "what it may follow depends on its own mistakes"),
    ],
    ids=repr,
)
def test_rules_whose_weights_depend_on_more_than_losses(learner: Any, why: str) -> None:
    with pytest.raises(ValueError) as error:
        mb.mix(learner, [copy(learner), copy(learner)])
    assert str(error.value).startswith(f"{type(learner).__name__} cannot be mixed: ")
    assert why in str(error.value)
    assert str(error.value).endswith(WORKS)


def voter(*rounds: Any, **options: Any) -> Any:
    found = E.WeightedMajority(**options)
    for advice, outcome in rounds:
        found.learn_one(advice, outcome)
    return found


AB, START = ({"a": 1, "b": 0}, 1), voter(({"a": 1, "b": 0}, 1))


@pytest.mark.parametrize(
    ("start", "parts", "message"),
    [
        (voter(), [], "parts must have at least one learner"),
        (
            voter(),
            [E.Halving()],
            "part 0 does not continue from start: it is a Halving, and start is a WeightedMajority",
        ),
        (voter(), [voter(AB, beta=0.25)], "it has the parameters"),
        (START, [voter()], "it has not learned anything, and start has"),
        (START, [voter(({"a": 0, "b": 1}, 0), AB)], "its first rounds are not those of start"),
        (voter(), [voter(AB), voter(({"a": 1, "c": 0}, 1))], "part 1 cannot be mixed: it has the experts 'a', 'c'"),
        (
            voter(),
            [voter(AB), voter(([1, 0], 1))],
            "it has the experts 2 without names, and those before it have 'a', 'b'",
        ),
        (START, [voter(AB, AB), voter(AB, ({"a": 1, "c": 0}, 1))], "it has the experts 'a', 'b', 'c'"),
        (voter(), [voter(AB), voter(AB, ({"a": 1}, 1))], "part 1 cannot be mixed: expert 'b' slept in a round of it"),
        (voter(prior=[1, 2]), [voter(AB, prior=[1, 2]), voter(({"b": 1, "a": 0}, 1), prior=[1, 2])], "another prior"),
    ],
)
def test_parts_that_cannot_be_mixed(start: Any, parts: Any, message: str) -> None:
    with pytest.raises(ValueError) as error:
        mb.mix(start, parts)
    assert message in str(error.value)


def test_forecasts_that_cannot_be_mixed() -> None:
    make = FORECASTS["hedge"]
    A, y = forecasts(4)
    start = learned(make(), A, y)
    other = learned(make(), A + 0.01, y)
    other.run(A, y)
    with pytest.raises(ValueError, match="first rounds are not those of start"):
        mb.mix(start, [other])
    slept = copy(start)
    slept.learn_one([0.5, None, 0.5, 0.5], 1.0)
    with pytest.raises(ValueError, match="expert 1 slept in a round of it"):
        mb.mix(start, [slept, learned(copy(start), A, y)])
    alone = make()
    alone.learn_losses([0.1, 0.2, 0.3, 0.4])
    with pytest.raises(ValueError, match="losses alone"):
        mb.mix(make(), [alone, start])
    several = learned(make(), *forecasts(4, classes=2))
    with pytest.raises(ValueError, match="first rounds are not those of start"):
        mb.mix(make(), [several, start])


def test_shares_are_not_valid_for_experts() -> None:
    with pytest.raises(ValueError, match="shares is not valid for experts, because their losses are added"):
        mb.mix(voter(), [voter(AB)], "mistakes")

"""Mixing: bounds hold on planted streams over shards and epochs, and are below the rounds; lemmas; mutants."""

from __future__ import annotations

import json
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound import bounds, streams
from mistakebound._core import Engine
from mistakebound.rules import mixing as rules_mixing
from mistakebound.theorems import THEOREMS, Witness
from mistakebound.theorems.evidence import ALONE, Evidence
from mistakebound.theorems.steps import Step, moves

if TYPE_CHECKING:
    from mistakebound.rules.mixing import Floats


@dataclass(frozen=True)
class Planted:
    """A theorem, its learner, a stream that the planted comparator separates, and the bound of one learner on it."""

    theorem: str
    make: Any
    stream: streams.Stream
    comparator: Any
    bound: float
    named: bool = False


def share(variables: tuple[int, ...], n: int) -> Any:
    u = np.zeros(n)
    u[list(variables)] = 1 / len(variables)
    return u


def cases() -> list[Planted]:
    l2 = streams.margin(20, 900, 0.3, seed=1)
    l1 = streams.margin(40, 4000, 0.45, seed=5, norm="l1")
    panel = streams.panel(15, 1, 2000, seed=2)
    only = share(panel.target, 15)
    both = streams.disjunction(64, 2, 900, seed=6)
    u4 = np.asarray(l2.target, float)
    radius4 = float((np.abs(l2.X) ** 4).sum(axis=1).max() ** 0.25)
    dual4 = float((np.abs(u4) ** (4 / 3)).sum() ** 0.75)
    return [
        Planted("mixing", mb.Perceptron, l2, l2.target, bounds.novikoff(1, 1, 0.3)),
        Planted("mixing", mb.Perceptron, l2, l2.target, bounds.novikoff(1, 1, 0.3), named=True),
        Planted(
            "mixing",
            lambda: mb.Perceptron(update_margin=0.1, bias=0.1),
            l2,
            l2.target,
            bounds.novikoff(1.01**0.5, 1, 0.3, 0.1),
        ),
        Planted("mixing-pnorm", lambda: mb.PNormPerceptron(p=4), l2, u4, bounds.pnorm(4, radius4, dual4, 0.3)),
        Planted("mixing-pnorm", lambda: mb.PNormPerceptron(p=2.5), panel, only, bounds.pnorm(2.5, 15**0.4, 1, 1)),
        Planted(
            "mixing-winnow", lambda: mb.NormalizedWinnow(eta=0.5), panel, only, bounds.winnow_fixed_rate(15, 1, 0.5)
        ),
        Planted(
            "mixing-winnow",
            lambda: mb.NormalizedWinnow(eta=0.3, update_margin=0.1),
            panel,
            only,
            bounds.winnow_fixed_rate(15, 1, 0.3, update_margin=0.1),
        ),
        Planted(
            "mixing-balanced-winnow",
            lambda: mb.BalancedWinnow(eta=0.4),
            l1,
            l1.target,
            bounds.balanced_winnow(40, 0.45, 0.4),
        ),
        Planted(
            "mixing-littlestone",
            mb.Winnow,
            both,
            list(both.target),
            bounds.mixing_littlestone(64, 2, 64.0),
        ),
        Planted(
            "mixing-littlestone",
            lambda: mb.Winnow(alpha=1.5, threshold=20.0, strict=True),
            both,
            list(both.target),
            bounds.mixing_littlestone(64, 2, 20.0, 1.5),
        ),
    ]


CASES = cases()
every_case = pytest.mark.parametrize("case", CASES, ids=[f"{case.theorem}-{k}" for k, case in enumerate(CASES)])
every_share = pytest.mark.parametrize("shares", [None, "mistakes", "drawn"])


def played(case: Planted, shares: Any, shards: int = 3, epochs: int = 3, *, alone: int = 20) -> Any:
    """Learn some rounds alone, then each epoch a third of the stream in shards of different sizes, then some alone."""
    X, y = case.stream.X, case.stream.y
    rows: Any = [{f"f{i}": float(x[i]) for i in np.flatnonzero(x)} for x in X] if case.named else X
    learner, rng, at = case.make(), np.random.default_rng(3), alone
    learner.run(rows[:alone], y[:alone])
    size = (len(y) - 2 * alone) // (epochs * shards)
    for _ in range(epochs):
        parts = []
        for k in range(shards):
            part, many = copy(learner), size - 7 + 7 * k
            part.run(rows[at : at + many], y[at : at + many])
            parts.append(part)
            at += many
        drawn = rng.dirichlet(np.ones(shards)).tolist()
        learner = mb.mix(learner, parts, drawn if shares == "drawn" else shares)
    learner.run(rows[at:], y[at:])
    return learner


def weighted(ledger: Any) -> float:
    """ΣΣ μk, counted from the record of updates; rounds outside of epochs count fully."""
    inside = [shard for epoch in ledger.mixing.epochs for shard in epoch.shards]
    return sum(each.share * each.updates for each in inside) + ledger.updates - sum(each.updates for each in inside)


def test_every_theorem_has_a_planted_stream() -> None:
    assert {case.theorem for case in CASES} == {theorem.id for theorem in THEOREMS.values() if theorem.mixed}


@every_case
@every_share
def test_the_bound_and_both_lemmas_hold_on_planted_streams(case: Planted, shares: Any) -> None:
    learner = played(case, shares)
    check(case, learner)
    found = learner.certify(theorem=case.theorem, comparator=comparator(case))
    applies = shares != "drawn" or found.status != "does not apply"
    if applies:
        assert found.status == "holds", found
        assert found.updates <= found.bound <= 3 * case.bound * (1 + 1e-9)
        assert found.bound < found.rounds
    else:
        assert [p.statement[:12] for p in found.premises if not p.holds] == ["Σ μ_i k_i ≥ "]


def comparator(case: Planted) -> Any:
    return {f"f{i}": value for i, value in enumerate(case.comparator)} if case.named else case.comparator


def check(case: Planted, learner: Any) -> None:
    """Check the bound on ΣΣ μk, the lemma at every update, and that of mixing at every mix."""
    ledger = learner.ledger_
    assert weighted(ledger) <= case.bound * (1 + 1e-9)
    evidence, theorem = Evidence.of(ledger), THEOREMS[case.theorem]
    given = comparator(case)
    if theorem.takes_variables:
        witness = Witness(variables=evidence.as_variables(given))
    else:
        witness = theorem.scaled(evidence, Witness(evidence.as_vector(given)))
    for step in evidence.steps():
        assert min(theorem.lemma(step, witness).values()) >= -1e-5 * (1 + float(step.z @ step.z))
    mixes = list(evidence.mixes())
    assert len(mixes) == len(ledger.mixing.epochs)
    for mix in mixes:
        for inequality, slack in theorem.lemma_of_mixing(mix, witness).items():
            assert slack >= -1e-5 * (1 + float(mix.z @ mix.z)), inequality


def check_end(case: Planted, learner: Any) -> None:
    """Check that the moves of the evidence, which numpy mixes, end at the weights of the learner, bit for bit."""
    after = np.zeros(0)
    for move in moves(Evidence.of(learner.ledger_)):
        after = move.z_next if isinstance(move, Step) else move.z
    z, bias_z = learner._play.engine.core.z()
    own = [*z[1:], 0.0] if case.named else [*z, *([bias_z] if learner.ledger_.rule.bias else [])]
    assert after.tolist() == own


@every_case
def test_the_moves_of_the_evidence_end_at_the_weights_of_the_learner(case: Planted) -> None:
    check_end(case, played(case, "mistakes"))


@every_case
def test_a_comparator_is_found_in_hindsight(case: Planted) -> None:
    found = played(case, None).certify()
    assert found.theorem == case.theorem
    assert found.status == "holds", found
    assert found.bound <= 3 * case.bound * (1 + 1e-9)
    again = mb.Certificate.from_json(found.to_json())
    assert again == found
    assert "ΣΣ μk = " in str(found)


@every_case
def test_a_certificate_from_json_is_the_same(case: Planted) -> None:
    ledger = played(case, "mistakes").ledger_
    again = mb.Ledger.from_json(ledger.to_json())
    found = mb.certify(again, case.theorem, comparator(case))
    assert found == mb.certify(ledger, case.theorem, comparator(case))
    assert found.status == "holds"


@every_case
def test_other_theorems_do_not_apply(case: Planted) -> None:
    learner = played(case, None)
    rule = learner.ledger_.rule.id
    for theorem in THEOREMS.values():
        if theorem.rule == rule and not theorem.mixed and theorem.in_hindsight:
            found = learner.certify(theorem=theorem.id)
            assert found.status == "does not apply"
            assert ALONE in [premise.statement for premise in found.premises if not premise.holds]
    with pytest.raises(ValueError, match="mixed from up to 3 shards, .* call certify without X and y"):
        learner.certify(X=case.stream.X, y=case.stream.y)


@every_case
def test_without_mixing_the_theorem_is_that_of_one_learner(case: Planted) -> None:
    learner = case.make()
    if case.named:
        return
    learner.run(case.stream.X, case.stream.y)
    found = learner.certify(case.theorem, case.comparator)
    assert found.status == "holds"
    assert found.bound <= case.bound * (1 + 1e-9)
    assert not learner.certify().theorem.startswith("mixing")


def test_rules_without_a_theorem_on_mixing() -> None:
    stream = streams.disjunction(16, 2, 200, seed=3)
    for make in (mb.Elimination, mb.PassiveAggressiveI):
        start = make()
        parts = [copy(start), copy(start)]
        for k, part in enumerate(parts):
            part.run(stream.X[k::2], stream.y[k::2])
        assert mb.mix(start, parts).certify().status == "does not apply"
    with pytest.raises(ValueError, match="no mistake bound is known for arow"):
        mb.mix(mb.Arow(), [_learned(mb.Arow()), _learned(mb.Arow())]).certify()


def _learned(learner: Any) -> Any:
    learner.learn_one({"a": 1.0}, -1)
    return learner


def test_late_outcomes_and_forgotten_examples() -> None:
    start = mb.Perceptron()
    parts = [copy(start), copy(start)]
    for part in parts:
        asked = part.ask({"b": 1.0})
        _learned(part)
        part.tell(asked, -1)
    found = mb.mix(start, parts).certify()
    assert found.status == "does not apply"
    assert "no outcome came late" in [premise.statement for premise in found.premises if not premise.holds]
    start = mb.Perceptron(keep_bytes=0)
    assert mb.mix(start, [_learned(copy(start)), _learned(copy(start))]).certify().status == "incomplete"


def test_a_potential_is_not_drawn() -> None:
    learner = mb.mix(mb.Perceptron(), [_learned(mb.Perceptron()), _learned(mb.Perceptron())])
    with pytest.raises(ValueError, match="not for one that was mixed"):
        learner.plot_potential([1.0, 1.0], 1.0)


def test_shares_that_hide_mistakes_are_told() -> None:
    """All mistakes are in the shard without a share: ΣΣ μk = 0 says nothing of them."""
    start = mb.Perceptron()
    parts = [copy(start), copy(start)]
    for _ in range(3):
        _learned(parts[0])
    parts[1].learn_one({"a": 1.0}, 1)
    found = mb.mix(start, parts, [0.0, 1.0]).certify()
    assert found.status == "does not apply"
    assert found.premises[-1].measured.startswith("ΣΣ μk = 0, at most B = 1; 2 shards")


# ---------------------------------------------------------------------- broken mixes


def sum_of(place: int, start: Floats, parts: Any, shares: Any) -> Any:
    return np.sum([part.rows[:, place] for part in parts], axis=0)


def first_of(place: int, start: Floats, parts: Any, shares: Any) -> Any:
    return parts[0].rows[:, place]


def twice(place: int, start: Floats, parts: Any, shares: Any) -> Any:
    return MEAN(place, start, parts, [1.1 * each for each in shares])


MEAN = rules_mixing.COLUMNS["mean"]


@pytest.mark.parametrize("broken", [sum_of, first_of, twice])
def test_a_broken_mean_is_caught_by_the_replay(broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The replay of a learner that was mixed wrongly fails, because it mixes with the stored shares."""
    case = CASES[0]
    with monkeypatch.context() as patched:
        patched.setitem(rules_mixing.COLUMNS, "mean", broken)
        learner = played(case, None, shards=8)
        assert learner.certify("mixing", case.comparator).status == "holds"  # the replay is broken, too
        with pytest.raises(AssertionError):
            check_end(case, learner)
    assert learner.certify("mixing", case.comparator).status == "does not apply"


def test_a_feature_that_a_part_has_not_met_has_the_state_of_the_start() -> None:
    start = mb.Perceptron(bias=1, classes=(-1, 1))
    start.learn_one({"a": 1.0}, -1)
    parts = [copy(start), copy(start)]
    parts[0].learn_one({"b": 2.0}, 1)
    assert mb.mix(start, parts, [0.25, 0.75]).weights_ == {"a": -1.0, "b": 0.25 * parts[0].weights_["b"]}


@pytest.mark.parametrize("change", ["share", "updates", "order"])
def test_a_forged_ledger_does_not_replay(change: str) -> None:
    case = CASES[0]
    data = json.loads(played(case, [0.98, 0.01, 0.01] if change == "order" else None).ledger_.to_json())
    shards = data["mixing"]["epochs"][0]["shards"]
    if change == "share":
        shards[0]["share"], shards[1]["share"], shards[2]["share"] = 0.9, 0.05, 0.05
    elif change == "updates":
        shards[0]["updates"] -= 1
    else:
        shards[0]["share"], shards[1]["share"] = shards[1]["share"], shards[0]["share"]
    found = mb.certify(mb.Ledger.from_json(json.dumps(data)), "mixing", case.comparator)
    assert found.status == "does not apply"


def test_other_weights_than_those_of_the_replay_are_found() -> None:
    case = CASES[0]
    learner = played(case, None)
    state = list(learner._play.engine.core.__getstate__())
    state[2] = state[2].copy()
    state[2][0] = np.nextafter(state[2][0], np.float32(9))
    learner._play.engine.core = Engine.__new__(Engine)
    learner._play.engine.core.__setstate__(tuple(state))
    found = learner.certify("mixing", case.comparator)
    assert [p.statement for p in found.premises if not p.holds] == ["the mistaken rounds replay to the same mistakes"]


def test_formulas() -> None:
    assert bounds.mixing(2, 3, 0.5, 4) == 4 * bounds.novikoff(2, 3, 0.5)
    assert bounds.mixing_pnorm(5, 2, 3, 0.5, 4, 0.1) == 4 * bounds.pnorm(5, 2, 3, 0.5, 0.1)
    assert bounds.mixing_winnow(50, 0.5, 0.4, 3) == 3 * bounds.winnow_fixed_rate(50, 0.5, 0.4)
    assert bounds.mixing_balanced_winnow(50, 0.5, 0.4, 3) == 3 * bounds.balanced_winnow(50, 0.5, 0.4)
    # α = 2, θ = n = 64: 2 + 3·r·(1 + 6), against 2 + 3·r·6 of one Winnow.
    assert bounds.mixing_littlestone(64, 2, 64.0) == 44.0
    assert bounds.littlestone(64, 2) == 38.0
    with pytest.raises(ValueError, match="threshold"):
        bounds.mixing_littlestone(64, 2, 0.5)
    with pytest.raises(ValueError, match="shards"):
        bounds.mixing(1, 1, 0.5, 0)


def test_winnow_needs_a_threshold_of_at_least_1() -> None:
    stream = streams.disjunction(8, 1, 40, seed=1)
    start = mb.Winnow(threshold=0.5)
    parts = [copy(start), copy(start)]
    for k, part in enumerate(parts):
        part.run(stream.X[k::2], stream.y[k::2])
    found = mb.mix(start, parts).certify("mixing-littlestone", list(stream.target))
    assert found.status == "does not apply"

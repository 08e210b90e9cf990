"""Certificates: every status, computed from the ledger alone; JSON; random streams."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from linear_checks import LEARNERS, OPTIONS

import mistakebound as mb
from mistakebound.certificates.certify import recheck
from mistakebound.play.ledger import Ledger
from mistakebound.rules import RULES
from mistakebound.rules.registry import DECLARATIONS
from mistakebound.theorems import THEOREMS


def separable(rounds: int = 300) -> tuple[mb.Perceptron, mb.streams.Stream]:
    stream = mb.streams.margin(8, rounds, 0.3, seed=2)
    learner = mb.Perceptron()
    learner.run(*stream)
    return learner, stream


def test_holds() -> None:
    learner, stream = separable()
    found = learner.certify("novikoff", stream.target)
    assert found.status == "holds"
    assert found.mistakes == learner.ledger_.mistakes <= found.bound < 300
    assert all(premise.holds for premise in found.premises)
    assert "novikoff" in str(found)
    assert learner.certify().bound <= found.bound * 1.001


def test_vacuous() -> None:
    learner, stream = separable(9)
    assert learner.ledger_.mistakes > 0
    assert learner.certify("novikoff", stream.target).status == "vacuous"


def test_does_not_apply() -> None:
    learner, stream = separable()
    found = learner.certify("novikoff", -np.asarray(stream.target))
    assert found.status == "does not apply"
    assert math.isinf(found.bound)
    assert [p.statement for p in found.premises if not p.holds] == ["y(u·x) ≥ γ > 0 in every mistaken round"]
    noisy = mb.Perceptron()
    noisy.run(*mb.streams.label_noise(stream, 0.2, seed=1))
    assert noisy.certify("novikoff").status == "does not apply"
    assert noisy.certify().theorem == "perceptron-agnostic"


def test_incomplete() -> None:
    learner = mb.Perceptron(keep_bytes=100)
    learner.run(*mb.streams.margin(8, 300, 0.1, seed=2))
    found = learner.certify()
    assert found.status == "incomplete"
    assert learner.ledger_.mistakes > len(learner.ledger_.kept)


def test_a_ledger_without_the_first_rounds_does_not_apply() -> None:
    learner, stream = separable()
    later = learner.run(*stream)
    assert later.from_start is False
    assert mb.certify(later, "novikoff", stream.target).status == "does not apply"


def tampered(ledger: Ledger, **changes: Any) -> Ledger:
    data = json.loads(ledger.to_json())
    for path, value in changes.items():
        *outer, last = path.split("__")
        place = data
        for key in outer:
            place = place[key]
        place[last] = value(place[last]) if callable(value) else value
    return Ledger.from_json(json.dumps(data))


def test_a_forged_ledger_is_detected() -> None:
    """A ledger whose mistakes are not mistakes of the rule does not replay; a rule that errs too often is violated."""
    learner, stream = separable()
    ledger = learner.ledger_
    assert mb.certify(tampered(ledger), "novikoff", stream.target).status == "holds"
    flipped = tampered(
        ledger,
        kept__labels=lambda labels: [-label for label in labels],
        predictions=lambda said: [1 - each for each in said],
        counts=lambda c: [c[0], c[2], c[1], c[3], c[4]],
    )
    assert mb.certify(flipped, "novikoff", stream.target).status == "does not apply"
    swapped = tampered(ledger, kept__value=lambda values: values[::-1])
    assert mb.certify(swapped, "novikoff", stream.target).status == "does not apply"
    with pytest.raises(mb.ModelError):  # what contradicts itself is not even read
        tampered(ledger, counts=lambda c: [c[0], c[1] - 1, c[2], c[3], c[4]])


@pytest.mark.parametrize(("bound", "status"), [(-0.5, "violated"), (0.0, "holds"), (0.5, "holds")])
def test_violated(monkeypatch: pytest.MonkeyPatch, bound: float, status: str) -> None:
    """More mistakes than the bound of a (wrong) theorem are a violation."""
    learner, stream = separable()
    wrong = learner.ledger_.mistakes + bound
    monkeypatch.setattr(type(THEOREMS["novikoff"]), "bound", lambda *_: wrong)
    assert learner.certify("novikoff", stream.target).status == status


@pytest.mark.parametrize(("bound", "status"), [(0.0, "violated"), (0.5, "holds")])
def test_strictly_below(monkeypatch: pytest.MonkeyPatch, bound: float, status: str) -> None:
    """Littlestone's bound is never reached, so reaching it is a violation."""
    learner = mb.Winnow()
    learner.run(*mb.streams.disjunction(16, 1, 200, seed=0))
    reached = learner.ledger_.mistakes + bound
    monkeypatch.setattr(type(THEOREMS["littlestone"]), "bound", lambda *_: reached)
    assert learner.certify("littlestone").status == status


def test_unusual_parameters_and_comparators() -> None:
    """A threshold below 1, a uniform comparator, an update margin with a panel, a dict for features by position."""
    low = mb.Winnow(threshold=0.5)
    low.run([[1, 0], [0, 1]], [0, 0])
    assert low.certify().status in ("holds", "vacuous", "does not apply")
    stream = mb.streams.panel(49, 3, 200, seed=0)
    learner = mb.NormalizedWinnow(eta=0.3)
    learner.run(*stream)
    assert learner.certify("winnow-agnostic", np.ones(49)).status in ("holds", "vacuous")
    margin = mb.Perceptron(update_margin=50.0)
    margin.run(*stream)
    assert margin.certify("perceptron-panel", stream.target).status == "does not apply"
    with pytest.raises(ValueError, match="positions"):
        margin.certify("novikoff", {"a": 1.0})


def test_json_round_trip() -> None:
    for learner in (mb.Perceptron(), mb.NormalizedWinnow(eta=math.inf), mb.BalancedWinnow(), mb.PNormPerceptron()):
        learner.run(*mb.streams.panel(9, 3, 100, seed=0))
        for found in (learner.certify(), mb.certify(mb.Ledger.from_json(learner.ledger_.to_json()))):
            assert mb.Certificate.from_json(found.to_json()) == found
            json.loads(found.to_json())
        assert mb.certify(mb.Ledger.from_json(learner.ledger_.to_json())) == learner.certify()


CERTIFIED = [rule for rule, declared in DECLARATIONS.items() if declared.has_theorem and declared.linear]


def test_certify_raises_for_a_rule_without_a_theorem() -> None:
    assert {theorem.rule for theorem in THEOREMS.values()} == {*CERTIFIED, "multiclass-perceptron"}
    for rule in set(RULES) - set(CERTIFIED):
        learner = LEARNERS[rule]()
        learner.run([[1.0, 0.0], [1.0, 1.0]], [0, 1])
        for again in ({}, {"X": [[1.0, 0.0], [1.0, 1.0]], "y": [0, 1]}):
            with pytest.raises(ValueError, match=rule):
                learner.certify(**again)
        with pytest.raises(ValueError, match="novikoff"):
            learner.certify("novikoff")


def names_of(X: Any) -> list[dict[str, float]]:
    return [{f"f{i}" if i else "(constant)": float(row[i]) for i in np.flatnonzero(row)} for row in np.asarray(X)]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("rule", CERTIFIED)
def test_recheck_gives_the_same_certificate(rule: str, noise: float, named: bool) -> None:
    """A certificate read from JSON is computed again from its theorem and its comparator alone."""
    stream = mb.streams.disjunction(12, 2, 300, seed=1)
    X, y = mb.streams.label_noise(stream, noise, seed=3) if noise else stream
    make: Any = LEARNERS[rule]
    bias = {} if rule == "elimination" else {"bias": 1.0}
    learner = make(**bias, **({"theta": 40.0} if rule == "winnow" else {}))
    learner.run(names_of(X) if named else X, y)
    found = [
        learner.certify(),
        *(learner.certify(t.id) for t in THEOREMS.values() if t.rule == rule and t.in_hindsight),
    ]
    assert learner.ledger_.mistakes
    for each in found:
        assert recheck(learner.ledger_, mb.Certificate.from_json(each.to_json())) == each
        weights = each.comparator.get("weights", {})
        assert not named or not bias or "((constant))" in weights or each.status == "does not apply" or weights == {}


def test_recheck_refuses_a_comparator_of_another_stream() -> None:
    learner, _ = separable()
    found = learner.certify()
    for name in ("8", "-1", "x", "9" * 30, "(constant)", "²"):
        forged = dataclasses.replace(found, comparator={"weights": {name: 1.0}})
        with pytest.raises(ValueError, match=re.escape(repr(name))):
            recheck(learner.ledger_, forged)
    other = recheck(learner.ledger_, dataclasses.replace(found, comparator={"weights": {"0": 1.0}}))
    assert other.status == "does not apply"


def test_a_run_without_mistakes() -> None:
    learner = mb.Perceptron()
    learner.run([[1.0], [2.0]], [1, 1])
    assert learner.certify().status == "vacuous"  # over no rounds, 0 mistakes of 0 say nothing
    assert learner.certify().bound == 0
    assert mb.Perceptron().certify().status == "vacuous"
    given = learner.certify("novikoff", [3.0])
    assert (given.status, given.bound, given.comparator) == ("vacuous", 0, {"weights": {"0": 3.0}})
    with pytest.raises(ValueError, match="comparator.*1.*2"):
        learner.certify("novikoff", [1.0, 2.0])
    winnow = mb.Winnow(threshold=2)
    winnow.run([[1, 1]], [1])
    assert winnow.certify("littlestone", [1]).comparator == {"variables": ["1"]}
    with pytest.raises(ValueError, match="comparator.*7"):
        winnow.certify("littlestone", [7])


def test_named_features() -> None:
    X, y = mb.streams.disjunction(40, 2, 500, seed=4, density=0.1)
    documents = [{f"word{i}" for i in np.flatnonzero(x)} for x in X]
    learner = mb.Winnow(threshold=4 * max(map(len, documents)))
    learner.run(documents, y)
    found = learner.certify()
    assert (found.theorem, found.status) == ("infinite-winnow", "holds")
    given = learner.certify("infinite-winnow", [f"word{i}" for i in mb.streams.disjunction(40, 2, 500, seed=4).target])
    assert given.status in ("holds", "does not apply")
    perceptron = mb.Perceptron(bias=1)
    perceptron.run((dict.fromkeys(d, 1.0) for d in documents), iter(y.tolist()))
    weights = perceptron.certify("perceptron-agnostic").comparator["weights"]
    assert set(weights) <= {f"word{i}" for i in range(40)} | {"(constant)"}
    assert perceptron.certify("novikoff", {"word0": 1.0}).status == "does not apply"


def test_certify_raises_for_arguments_that_do_not_fit() -> None:
    learner, stream = separable()
    with pytest.raises(ValueError, match="fermat"):
        learner.certify("fermat")
    with pytest.raises(ValueError, match="littlestone.*winnow.*perceptron"):
        learner.certify("littlestone")
    with pytest.raises(ValueError, match="comparator .*theorem"):
        learner.certify(comparator=stream.target)
    with pytest.raises(ValueError, match="comparator.*8"):
        learner.certify("novikoff", [1.0, 2.0])
    with pytest.raises(ValueError, match="comparator"):
        learner.certify("perceptron-panel")


def test_panels() -> None:
    stream = mb.streams.panel(15, 3, 400, seed=1)
    learner = mb.NormalizedWinnow(eta="best", margin=1 / 3)
    learner.run(*stream)
    assert learner.certify("winnow-panel", stream.target).status == "holds"
    wrong = tuple(i for i in range(15) if i not in stream.target)[:3]
    assert learner.certify("winnow-panel", wrong).status == "does not apply"
    assert learner.certify("winnow-panel", stream.target[:2]).status == "does not apply"


def test_r_of_k_thresholds() -> None:
    stream = mb.streams.threshold(24, 2, 3, 4000, seed=1)
    learner = mb.Winnow(alpha=1.25)
    learner.run(*stream)
    found = learner.certify("littlestone-separable")
    assert found.status == "holds"
    mu = np.zeros(24)
    mu[list(stream.target)] = 0.5
    given = learner.certify("littlestone-separable", mu)
    assert given.status == "holds"
    assert found.bound <= given.bound * 1.001


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_never_violated(rule: str, data: st.DataObject) -> None:
    """On any stream, no theorem is violated, also with a comparator chosen in hindsight."""
    width = data.draw(st.integers(1, 6))
    value = st.sampled_from([0.0, 1.0] if RULES[rule].binary else [0.0, 1.0, -1.0, 0.5, -2.0])
    rows = data.draw(st.lists(st.lists(value, min_size=width, max_size=width), min_size=1, max_size=25))
    labels = data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(rows), max_size=len(rows)))
    learner = LEARNERS[rule](classes=(-1, 1), **data.draw(st.sampled_from(OPTIONS[rule])))
    ledger = learner.run(np.array(rows), labels)
    for theorem in THEOREMS.values():
        if theorem.rule == rule and theorem.in_hindsight:
            found = mb.certify(ledger, theorem.id)
            assert found.status in ("holds", "vacuous", "does not apply"), str(found)
            assert found.premises[1].holds  # it replays


def test_a_very_large_p_is_certified() -> None:
    """For p = 1e300 the norm must count the largest coordinate; otherwise it is 0 and the bound divides by it."""
    stream = mb.streams.margin(n=5, rounds=50, margin=0.1, seed=0)
    learner = mb.PNormPerceptron(p=1e300)
    learner.run(stream.X, stream.y)
    assert learner.certify().status in {"holds", "vacuous", "does not apply"}

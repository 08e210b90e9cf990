"""Late outcomes: the bounds hold on planted streams and are below the rounds; lemmas at every update; mutants."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound import bounds, streams
from mistakebound.theorems import THEOREMS, Witness
from mistakebound.theorems.evidence import Evidence


@dataclass(frozen=True)
class Late:
    """A theorem, its learner, a stream that the planted comparator separates, and the largest delay of an outcome."""

    theorem: str
    make: Any
    stream: streams.Stream
    u: Any
    lag: int


def cases() -> list[Late]:
    l2 = streams.margin(20, 1500, 0.3, seed=1)
    l1 = streams.margin(40, 4000, 0.45, seed=5, norm="l1")
    panel = streams.panel(15, 1, 3000, seed=2)
    only = np.zeros(15)
    only[list(panel.target)] = 1.0
    return [
        Late("delayed", mb.Perceptron, l2, l2.target, 8),
        Late("delayed", lambda: mb.Perceptron(update_margin=0.2, bias=0.1), l2, l2.target, 5),
        Late("delayed", mb.Perceptron, panel, only, 40),
        Late("delayed-pnorm", lambda: mb.PNormPerceptron(p=4), l2, l2.target, 3),
        Late("delayed-pnorm", lambda: mb.PNormPerceptron(p=2.5, update_margin=0.1), panel, only, 4),
        Late("delayed-winnow", lambda: mb.NormalizedWinnow(eta=0.05), panel, only, 4),
        Late("delayed-winnow", lambda: mb.NormalizedWinnow(eta=0.03, update_margin=0.05), panel, only, 6),
        Late("delayed-balanced-winnow", lambda: mb.BalancedWinnow(eta=0.03), l1, l1.target, 12),
        Late("delayed-balanced-winnow", lambda: mb.BalancedWinnow(eta=0.02), panel, only, 4),
    ]


CASES = cases()
every_case = pytest.mark.parametrize("case", CASES, ids=[f"{case.theorem}-{case.lag}" for case in CASES])


def played(case: Late, learner: Any) -> Any:
    """Play the stream. Each outcome comes up to this many rounds late, out of order."""
    rng, waiting = np.random.default_rng(9), []
    for x, y in zip(case.stream.X, case.stream.y.tolist(), strict=True):
        waiting.append((learner.ask(x), y))
        while waiting and (len(waiting) > case.lag or rng.random() < 0.2):
            asked, outcome = waiting.pop(rng.integers(len(waiting)))
            learner.tell(asked, outcome)
    return learner


def check(case: Late, learner: Any) -> None:
    """Check that the certificate holds with the planted comparator, and the lemma at every update."""
    ledger = played(case, learner).ledger_
    assert ledger.late > 2
    found = learner.certify(theorem=case.theorem, comparator=case.u)
    assert found.status == "holds", found
    assert max(ledger.mistakes, ledger.updates) <= found.bound * (1 + 1e-9)
    assert found.bound < ledger.rounds
    evidence, theorem = Evidence.of(ledger), THEOREMS[case.theorem]
    witness = theorem.scaled(evidence, Witness(evidence.as_vector(case.u)))
    p = ledger.rule.parameter if ledger.rule.id == "pnorm" else 2.0
    largest = evidence.largest_value if "winnow" in case.theorem else evidence.radius(p)
    for step, delay in zip(evidence.steps(), ledger.delays, strict=True):
        if "winnow" not in case.theorem:
            assert min(theorem.lemma(step, witness).values()) >= -1e-5 * (1 + float(step.z @ step.z))
        gap = np.abs(step.z - step.z_seen) ** p
        size = float(np.abs(step.z - step.z_seen).max()) if "winnow" in case.theorem else float(gap.sum() ** (1 / p))
        assert size <= delay * largest * (1 + 1e-5)  # what the prediction had not seen
        assert served_wrongly(ledger.rule, step)


def served_wrongly(rule: Any, step: Any) -> bool:
    """Return whether the prediction that was made then was a mistake, or inside the update margin."""
    score = float(rule.weights(step.z_seen.astype(np.float32).astype(np.float64)) @ step.x)
    return bool(step.y * score <= rule.update_margin + 1e-4 * (1 + abs(score)))


def test_every_theorem_has_a_planted_stream() -> None:
    assert {case.theorem for case in CASES} == {theorem.id for theorem in THEOREMS.values() if theorem.delayed}


@every_case
def test_bound_and_lemma_hold_on_planted_streams(case: Late) -> None:
    check(case, case.make())


@every_case
def test_a_comparator_is_found_in_hindsight(case: Late) -> None:
    learner = played(case, case.make())
    found = learner.certify()
    assert found.theorem == case.theorem
    assert found.status in ("holds", "vacuous")
    assert found.mistakes <= found.bound


@every_case
def test_theorems_without_delay_do_not_apply(case: Late) -> None:
    learner = played(case, case.make())
    plain = next(t for t in THEOREMS.values() if t.rule == learner.ledger_.rule.id and not t.delayed)
    found = learner.certify(theorem=plain.id, comparator=case.u)
    assert found.status == "does not apply"
    assert [premise.statement for premise in found.premises if not premise.holds] == ["no outcome came late"]


@pytest.mark.parametrize("make", [lambda: mb.Winnow(threshold=4.0), mb.Elimination])
def test_certificates_of_rules_without_a_theorem_on_late_outcomes_do_not_apply(make: Any) -> None:
    stream, learner = streams.disjunction(16, 2, 200, seed=3), make()
    for i in range(0, 200, 4):
        asked = [learner.ask(x) for x in stream.X[i : i + 4]]
        for ticket, y in zip(asked, stream.y[i : i + 4].tolist(), strict=True):
            learner.tell(ticket, y)
    assert learner.ledger_.late > 0
    found = learner.certify()
    assert found.status == "does not apply"
    assert "no outcome came late" in [premise.statement for premise in found.premises if not premise.holds]


def test_the_bound_includes_hinge_losses() -> None:
    """With flipped labels u does not separate, and the hinge form with k√(1+2τ̄) still holds."""
    noisy = streams.label_noise(streams.margin(20, 1500, 0.4, seed=9), 0.02, seed=5)
    case = Late("delayed", mb.Perceptron, noisy, noisy.target, 3)
    learner = played(case, mb.Perceptron())
    u = np.asarray(streams.margin(20, 1500, 0.4, seed=9).target, float)
    found = learner.certify(theorem="delayed", comparator=u, margin=0.4)
    assert found.comparator["loss"] > 1
    assert learner.ledger_.mistakes <= found.bound < 1500
    evidence = Evidence.of(learner.ledger_)
    k = math.sqrt(1 + 2 * evidence.mean_delay) * evidence.radius(2) * float(np.linalg.norm(u)) / 0.4
    hinge = THEOREMS["delayed"].measure(evidence, Witness(u=u, margin=0.4)).loss
    assert found.bound == pytest.approx(((k + math.sqrt(k * k + 4 * hinge)) / 2) ** 2)


def test_formulas_by_hand() -> None:
    assert bounds.delayed(2, 3, 0.5, 0) == bounds.novikoff(2, 3, 0.5) == 144
    assert bounds.delayed(2, 3, 0.5, 1.5) == pytest.approx(4 * 144)
    assert bounds.delayed(2, 3, 0.5, 1, update_margin=0.5) == pytest.approx((4 * 3 + 1) * 36)
    assert bounds.delayed_pnorm(5, 2, 3, 0.5, 1) == pytest.approx(4 * 3 * 144)
    assert bounds.delayed_winnow(2.0, 0.5, 0.1, 0) == pytest.approx(2 / (0.05 - 0.005))
    assert bounds.delayed_winnow(2.0, 0.5, 0.1, 2, hinge=3) == pytest.approx(2.3 / (0.05 - 0.025))
    assert bounds.delayed_winnow(2.0, 0.5, 0.1, 5) == math.inf  # the delays are too long for the rate
    with pytest.raises(ValueError, match="delay"):
        bounds.delayed(1, 1, 0.5, -1)


class Flattering:
    """A mutant that counts one update too few between a prediction and its outcome."""

    def ask(self, x: Any) -> Any:
        asked = super().ask(x)  # type: ignore[misc]
        asked.held = asked.held._replace(updates=asked.held.updates + 1)
        return asked


class Forgetful:
    """A mutant that makes every prediction before the first round."""

    def ask(self, x: Any) -> Any:
        asked = super().ask(x)  # type: ignore[misc]
        asked.held = asked.held._replace(updates=0)
        return asked


@pytest.mark.parametrize("mixin", [Flattering, Forgetful])
@pytest.mark.parametrize("case", [CASES[0], CASES[3]], ids=["perceptron", "pnorm"])
def test_mutants_are_caught(case: Late, mixin: type) -> None:
    mutant = type("Mutant", (mixin, type(case.make())), {})
    learner = mutant(**case.make().get_params())
    with pytest.raises(AssertionError):
        check(case, learner)


def test_learning_from_the_current_prediction_is_caught() -> None:
    class Mutant(mb.Perceptron):
        def tell(self, asked: Any, y: Any) -> None:
            now = self._play.engine.core.score_csr  # the row as it was asked, scored with the weights of now
            out, positive = np.empty(1), np.empty(1, np.uint8)
            now(asked.held.example.indptr, asked.held.example.index, asked.held.example.value, out, positive)
            asked.held = asked.held._replace(positive=bool(positive[0]), score=float(out[0]))
            super().tell(asked, y)

    with pytest.raises(AssertionError):
        check(CASES[0], Mutant())

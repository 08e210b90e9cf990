"""Certificates of Fixed Share: exp-concave losses add nothing to the bound, and sequences of experts are checked."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound import experts
from mistakebound.aggregation import exponential
from mistakebound.aggregation.reference import Engine, Mixture
from mistakebound.bounds import regret as regret_bounds
from mistakebound.certificates.regret_certificate import RegretCertificate
from mistakebound.theorems import sequences


def turns(rounds: int = 120, n: int = 3, parts: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Each expert in turn is exact while the others guess."""
    rng = np.random.default_rng(seed)
    y = (rng.random(rounds) < 0.5).astype(float)
    A = rng.random((rounds, n))
    for k, part in enumerate(np.array_split(np.arange(rounds), parts)):
        A[part, k % n] = y[part]
    return A, y


def share(**options: Any) -> experts.FixedShare:
    return experts.FixedShare(**{"eta": 0.5, "alpha": 0.02, "gradient": False, **options})


def test_the_bound_against_one_expert_equals_the_formula() -> None:
    """The square loss in [0, 1] is exp-concave at 1/2: nothing is added."""
    learner = share(alpha=0.01)
    learner.run([[0.2, 0.5]] * 500, [1] * 500)
    found = learner.certify()
    assert found.bound == pytest.approx(mb.bounds.fixed_share(2, eta=0.5, alpha=0.01, rounds=500))
    assert any("η = 0.5" in p.statement and p.holds for p in found.premises)
    assert found.sequence is not None
    assert found.sequence.switches == 0
    assert "10 switches" in str(found)


@pytest.mark.parametrize(("options", "high"), [({}, 2.0), ({"loss": "absolute"}, 1.0), ({"gradient": True}, 1.0)])
def test_a_loss_that_is_not_exp_concave_adds_to_the_bound(options: dict[str, Any], high: float) -> None:
    """Σ min(s, ηs²/8) is added to both bounds, and no premise fails."""
    A, y = turns()
    learner = share(**options)
    ledger = learner.run(high * A, high * y)
    found = learner.certify()
    r = ledger.replay()[2]
    spread = r.max(axis=1) - r.min(axis=1)
    added = np.minimum(spread, 0.5 * spread**2 / 8).sum()
    assert added > 0.5
    assert found.status in {"holds", "vacuous"}
    assert found.bound == pytest.approx(regret_bounds.fixed_share(3, 0.5, 0.02, 120) + added)
    assert found.sequence is not None
    allowed = regret_bounds.fixed_share(3, 0.5, 0.02, 120, found.sequence.switches) + added
    assert found.sequence.bound == pytest.approx(allowed)


def test_the_sequence_is_the_best_of_all() -> None:
    """Compared with every sequence of 7 rounds and 3 experts."""
    A, y = turns(7, seed=3)
    learner = share()
    ledger = learner.run(A, y)
    losses = (A - y[:, None]) ** 2
    least = dict.fromkeys(range(7), math.inf)
    for path in itertools.product(range(3), repeat=7):
        switches = sum(a != b for a, b in itertools.pairwise(path))
        least[switches] = min(least[switches], losses[np.arange(7), path].sum())
    found = learner.certify().sequence
    assert found is not None
    assert found.most == 6
    assert found.regret == pytest.approx(ledger.total_loss - least[found.switches])
    assert found.bound == pytest.approx(regret_bounds.fixed_share(3, 0.5, 0.02, 7, found.switches))
    # that with the largest part of its bound, of those that switch
    parts = {
        k: (ledger.total_loss - min(least[s] for s in range(k + 1))) / regret_bounds.fixed_share(3, 0.5, 0.02, 7, k)
        for k in range(1, 7)
    }
    assert found.regret / found.bound == pytest.approx(max(parts.values()))


def test_a_sequence_with_switches_is_in_the_certificate() -> None:
    learner = share()
    ledger = learner.run(*turns())
    found = learner.certify()
    assert found.status == "holds"
    assert found.sequence == sequences.SequenceCheck(
        2, pytest.approx(ledger.total_loss), pytest.approx(regret_bounds.fixed_share(3, 0.5, 0.02, 120, 2)), 10
    )
    assert re.search("✓ .*2 switches: ", str(found))
    assert RegretCertificate.from_json(found.to_json()) == found


def test_a_prior_is_that_of_the_first_expert() -> None:
    A, y = turns()
    learner = share(prior=[1, 2, 7])
    learner.run(A, y)
    found = learner.certify().sequence
    assert found is not None
    assert found.switches == 2  # it begins with expert 0
    start = math.log(10) - math.log(3)
    assert found.bound == pytest.approx(regret_bounds.fixed_share(3, 0.5, 0.02, 120, 2) + start / 0.5)


@pytest.mark.parametrize("prior", [[90, 1, 1], [1, 90, 1], [1, 1, 90]])
def test_with_a_prior_no_sequence_is_nearer_to_its_bound(prior: list[float]) -> None:
    """Compared with all sequences with as many switches, each with the prior of its first expert."""
    A, y = turns(6, seed=5)
    learner = share(prior=prior)
    ledger = learner.run(A, y)
    losses = (A - y[:, None]) ** 2
    found = learner.certify().sequence
    assert found is not None
    room = [
        regret_bounds.fixed_share(3, 0.5, 0.02, 6, found.switches, prior[path[0]] / 92)
        - (ledger.total_loss - losses[np.arange(6), path].sum())
        for path in itertools.product(range(3), repeat=6)
        if sum(a != b for a, b in itertools.pairwise(path)) == found.switches
    ]
    assert found.bound - found.regret == pytest.approx(min(room))


class Stubborn(exponential.FixedShare):
    """A mutant that does not share."""

    def learn(self, r: Any, h: float) -> None:
        alpha, self.alpha = self.alpha, 0.0
        super().learn(r, h)
        self.alpha = alpha


def test_a_rule_that_does_not_share_violates_only_the_bound_on_sequences() -> None:
    """Its bound against one expert holds."""

    class Broken(experts.FixedShare):
        def _make(self, prior: Any) -> Engine:
            return Engine(Mixture(Stubborn(prior, 0.5, 0.02), self._loss, gradient=False), self._loss, prior)

    A, y = turns(600, parts=2)
    learner = Broken(eta=0.5, alpha=0.02, gradient=False)
    learner.run(A, y)
    found = learner.certify()
    assert found.regret < found.bound
    assert found.status == "violated"
    assert found.sequence is not None
    assert found.sequence.regret > found.sequence.bound
    assert re.search("✗ .*1 switch: ", str(found))


def test_a_note_says_that_a_large_stream_was_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    A, y = turns()
    learner = share()
    learner.run(A, y)
    monkeypatch.setattr(sequences, "STEPS", 120 * 3 * 4)
    few = learner.certify().sequence
    assert few is not None
    assert few.most == 4
    monkeypatch.setattr(sequences, "STEPS", 120 * 3 - 1)
    found = learner.certify()
    assert (found.status, found.sequence) == ("holds", None)
    assert all(size in str(found) for size in ("120 rounds", "3 experts", "359"))
    assert RegretCertificate.from_json(found.to_json()) == found


def test_without_a_share_no_sequences_are_checked() -> None:
    learner = share(alpha=0.0)
    learner.run(*turns(20))
    found = learner.certify()
    assert found.sequence is None
    assert "α = 0" in found.note
    assert found.bound == pytest.approx(2 * math.log(3))


@pytest.mark.parametrize("seed", range(5))
def test_a_large_share_sleep_and_newcomers(seed: int) -> None:
    """No bound is violated, and no sequence uses an expert before it has come."""
    rng = np.random.default_rng(seed)
    A, y = turns(80, 4, 8, seed)
    learner = share(alpha=rng.choice([0.001, 0.1, 0.95]), prior={"a": 9, "c": 1})
    for t, row in enumerate(A):
        said = dict(zip("abcd", row, strict=True))
        if t < 40:
            del said["d"], said["c"]
        learner.learn_one({who: value for who, value in said.items() if who == "a" or rng.random() < 0.7}, y[t])
    found = learner.certify()
    assert found.status in {"holds", "vacuous"}
    assert found.sequence is not None
    assert found.sequence.regret <= found.sequence.bound


def test_a_prior_in_the_formula() -> None:
    assert regret_bounds.fixed_share(4, 1, 0.5, 3, 1, prior=0.25) == pytest.approx(
        regret_bounds.fixed_share(4, 1, 0.5, 3, 1)
    )
    assert regret_bounds.fixed_share(4, 2, 0.5, 3, prior=1) == pytest.approx(math.log(2))
    for prior in (0, 1.1, math.nan):
        with pytest.raises(ValueError, match=f"prior .*{prior}"):
            regret_bounds.fixed_share(4, 1, 0.5, 3, 1, prior)

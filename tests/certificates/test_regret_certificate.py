"""Regret certificates: every status, on streams made for it, recomputed without trusting the learner."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound import experts, oracles
from mistakebound.aggregation import exponential, polynomial
from mistakebound.aggregation.reference import Engine, Mixture
from mistakebound.certificates.regret_certificate import RegretCertificate, certify_regret
from mistakebound.losses import Custom

PROVED: dict[str, tuple[Any, str]] = {
    "ml-poly": (experts.MLPoly, "ml-poly"),
    "adahedge": (experts.AdaHedge, "adahedge"),
    "squint": (experts.Squint, "squint"),
    "ogd": (experts.OGD, "ogd"),
    "boa": (lambda **more: experts.BOA(rates="proved", **more), "boa-adaptive"),
    "boa, fixed": (lambda **more: experts.BOA(eta=0.2, **more), "boa"),
    "ml-prod": (lambda **more: experts.MLProd(rates="proved", **more), "ml-prod"),
    "hedge": (experts.Hedge, "hedge"),
    "hedge, fixed": (lambda **more: experts.Hedge(eta=0.3, **more), "hedge"),
    "hedge, horizon": (lambda **more: experts.Hedge(horizon=300, **more), "hedge"),
    "ewa": (lambda **more: experts.ExponentiallyWeightedAverage(eta=0.3, **more), "hedge"),
    "fixed share": (lambda **more: experts.FixedShare(eta=0.5, alpha=0.01, **more), "fixed-share"),
}
every_proved = pytest.mark.parametrize("name", PROVED)


def stream(rounds: int = 200, n: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random outcomes; expert 2 is right in 60 % of the rounds."""
    rng = np.random.default_rng(seed)
    A = (rng.random((rounds, n)) < 0.5).astype(float)
    return A, np.where(rng.random(rounds) < 0.6, A[:, 2], 1 - A[:, 2])


@every_proved
def test_holds(name: str) -> None:
    """The bound is above the regret and below the largest possible regret."""
    make, theorem = PROVED[name]
    learner = make(loss="absolute")
    A, y = stream()
    ledger = learner.run(A, y)
    found = learner.certify()
    assert found.status == "holds"
    assert found.theorem == theorem
    assert found.rounds == 200
    assert found.experts == 5
    assert found.gradient
    assert found.regret == pytest.approx(ledger.linear_regrets.max())
    assert found.against == str(int(np.argmax(ledger.linear_regrets)))
    assert found.regret <= found.bound < 200
    assert found.total_loss == pytest.approx(ledger.total_loss)
    assert all(premise.holds for premise in found.premises)
    assert str(found).startswith(f"✓ {theorem}: linear regret ")
    assert RegretCertificate.from_json(found.to_json()) == found
    best = oracles.best_convex(A, y, "absolute")
    assert ledger.total_loss - best.total <= found.regret + best.gap + 1e-9


@every_proved
def test_a_ledger_is_certified(name: str) -> None:
    make, _ = PROVED[name]
    learner = make(loss="absolute")
    A, y = stream()
    ledger = learner.run({f"e{k}": A[:, k] for k in range(5)}, y)
    assert certify_regret(ledger) == learner.certify()
    assert certify_regret(ledger).against.startswith("e")
    more = learner.run({f"e{k}": A[:, k] for k in range(5)}, y)
    found = certify_regret(more)  # of a second run alone nothing can be said
    assert found.status == "incomplete"
    assert learner.certify().rounds == 400


def test_exp_concave() -> None:
    """2 ln n for the square loss in [0, 1], ln n for the log loss, and no bound outside that range."""
    A, y = stream()
    square = experts.ExponentiallyWeightedAverage(eta="theorem")
    square.run(A, y)
    found = square.certify()
    assert found.theorem == "exponentially-weighted-average"
    assert found.status == "holds"
    assert found.bound == pytest.approx(2 * math.log(5))
    log = experts.ExponentiallyWeightedAverage(loss="log")
    log.run(0.1 + 0.8 * A, y)
    assert log.certify().bound == pytest.approx(math.log(5))
    assert log.certify().status == "holds"
    wide = experts.ExponentiallyWeightedAverage(eta="theorem")
    wide.run(2 * A, 2 * y)
    assert wide.certify().status == "does not apply"
    assert "exp-concave" in next(p.statement for p in wide.certify().premises if not p.holds)
    narrow = experts.ExponentiallyWeightedAverage(eta=0.125, gradient=False)
    narrow.run(2 * A, 2 * y)  # 1/2 over the square of 2
    assert narrow.certify().status == "holds"
    assert narrow.certify().bound == pytest.approx(8 * math.log(5))


def test_exp_concave_with_vectors_and_with_a_custom_loss() -> None:
    """Three outputs, all wrong by 1: e^{−η·3} is concave up to η = 1/6 only."""
    A = np.zeros((4, 2, 3))
    A[:, 1] = 1.0
    y = np.ones((4, 3))
    learner = experts.ExponentiallyWeightedAverage(eta=0.2, gradient=False)
    learner.run(A, y)
    assert learner.certify().status == "does not apply"
    learner = experts.ExponentiallyWeightedAverage(eta=1 / 6, gradient=False)
    learner.run(A, y)
    assert learner.certify().status != "does not apply"
    own = Custom(lambda f, y: (f - y) ** 2, lambda f, y: 2 * (f - y), exp_concave=0.5)
    for scale, applies in ((1.0, True), (1.5, False)):
        learner = experts.ExponentiallyWeightedAverage(eta="theorem", loss=own)
        learner.run(scale * stream()[0], stream()[1])
        assert (learner.certify().status != "does not apply") == applies
    nothing = experts.ExponentiallyWeightedAverage(eta=0.5, loss="absolute", gradient=False)
    nothing.run(*stream())
    assert nothing.certify().status == "does not apply"


@pytest.mark.parametrize(
    ("make", "failed"),
    [
        (lambda: experts.BOA(loss="absolute"), "theorem"),
        (lambda: experts.MLProd(loss="absolute"), "theorem"),
        (lambda: experts.MLEwa(loss="absolute"), "theorem"),
        (lambda: experts.Ridge(), "theorem"),
        (lambda: experts.ExponentiallyWeightedAverage(loss="absolute"), "theorem"),
        (lambda: experts.FixedShare(loss="absolute"), "theorem"),
        (lambda: experts.FixedShare(eta=0.5, loss="absolute"), "theorem"),
        (lambda: experts.BOA(eta=0.6, loss="absolute"), "η|r| ≤ 1/2"),
        (lambda: experts.MLPoly(loss="zero-one"), "convex"),
        (lambda: experts.AdaHedge(loss=Custom(np.minimum, np.minimum, convex=False)), "convex"),
    ],
)
def test_does_not_apply(make: Any, failed: str) -> None:
    learner = make()
    learner.run(*stream(15))
    found = learner.certify()
    assert found.status == "does not apply"
    assert found.bound == math.inf
    (premise,) = [p for p in found.premises if not p.holds]
    assert failed in premise.statement
    assert found.regret == pytest.approx(learner.ledger_.linear_regrets.max())
    assert RegretCertificate.from_json(found.to_json()) == found
    assert json.loads(found.to_json())["bound"] is None
    assert str(found).startswith("– ")


@every_proved
def test_late_outcomes(name: str) -> None:
    make, _ = PROVED[name]
    learner = make(loss="absolute")
    A, y = stream(20)
    asked = [learner.ask(row) for row in A]
    for each, outcome in zip(asked, y, strict=True):
        learner.tell(each, outcome)
    found = learner.certify()
    assert found.status == "does not apply"
    (premise,) = [p for p in found.premises if not p.holds]
    assert "late" in premise.statement
    assert not any("replay" in p.statement for p in found.premises)  # of rounds in another order it says nothing
    assert found.regret == pytest.approx(learner.ledger_.linear_regrets.max())


def test_before_the_first_round() -> None:
    found = experts.MLPoly().certify()
    assert found.status == "does not apply"
    assert RegretCertificate.from_json(found.to_json()) == found


def test_the_text_of_a_certificate_without_regret_or_bound() -> None:
    """It shows neither nan nor inf nor a missing name."""
    dropped = experts.MLPoly(keep_bytes=1)
    dropped.run(*stream(15))
    no_theorem = experts.MLEwa(loss="absolute")
    no_theorem.run(*stream(15))
    played = experts.MLPoly()
    played.run(*stream(15))
    later = certify_regret(played.run(*stream(10)))
    regret = f"{no_theorem.certify().regret:.6g} to {no_theorem.certify().against}"
    told = {
        "– ml-poly: .*: does not apply": experts.MLPoly().certify(),
        "– ml-poly: .*: incomplete": dropped.certify(),
        f"– ml-ewa: linear regret {re.escape(regret)}, .*: does not apply": no_theorem.certify(),
    }
    for head, found in told.items():
        assert re.fullmatch(head, str(found).splitlines()[0])
    assert [p.holds for p in dropped.certify().premises] == [True, False]
    assert [p.holds for p in later.premises] == [False, True]
    assert "first round" in str(later)
    for text in map(str, (*told.values(), later, experts.WeightedMajority().certify())):
        assert " nan" not in text
        assert " inf" not in text


def test_incomplete() -> None:
    """Advice that was too large to keep, from any round on."""
    A, y = stream()
    for keep, status in ((8 * 200 * 6 - 1, "incomplete"), (8 * 200 * 6, "holds"), (0, "incomplete")):
        whole, single = (experts.MLPoly(loss="absolute", keep_bytes=keep) for _ in range(2))
        whole.run(A, y)
        for row, outcome in zip(A, y, strict=True):
            single.learn_one(row, outcome)
        for learner in (whole, single):
            found = learner.certify()
            assert found.status == status
            assert RegretCertificate.from_json(found.to_json()) == found
            json.loads(found.to_json(), parse_constant=pytest.fail)  # no NaN, no Infinity
    assert math.isnan(RegretCertificate.from_json(experts_incomplete().to_json()).regret)


def experts_incomplete() -> RegretCertificate:
    learner = experts.MLPoly(keep_bytes=1)
    learner.run([[0.0, 1.0]], [1.0])
    return learner.certify()


def test_vacuous() -> None:
    """In one round the regret is at most the spread, 1, and the bound ln 2/η + η/8 is not smaller."""
    for allowed, status in ((0.8, "holds"), (1.0, "vacuous")):
        learner = experts.Hedge(eta=math.log(2) / allowed, loss="absolute")
        learner.run([[0.0, 1.0]], [1.0])
        found = learner.certify()
        assert found.bound == pytest.approx(allowed + math.log(2) / allowed / 8)
        assert found.status == status
    assert str(found).startswith("· ")
    everybody_agrees = experts.MLPoly()
    everybody_agrees.run([[0.3, 0.3]] * 5, [1.0] * 5)
    assert everybody_agrees.certify().status in {"vacuous", "holds"}


class Contrary(polynomial.MLPoly):
    """A mutant that follows the worst expert."""

    def weights(self) -> Any:
        behind = np.maximum(-self.R, 0.0)
        return behind / behind.max() if behind.max() > 0 else np.ones(self.n)


class Modest(exponential.AdaHedge):
    """A mutant that claims a tenth of its bound."""

    def bound(self) -> Any:
        return super().bound() / 10


@pytest.mark.parametrize("rule", [Contrary, Modest])
def test_violated(rule: Any) -> None:
    """With a broken rule, the premises hold and the bound is violated."""

    class Broken(experts.MLPoly):
        def _make(self, prior: Any) -> Engine:
            return Engine(Mixture(rule(prior), self._loss, gradient=True), self._loss, prior)

    learner = Broken(loss="absolute")
    A, y = stream()
    learner.run(A, y)
    found = learner.certify()
    assert found.status == "violated"
    assert str(found).startswith("✗ ")
    assert RegretCertificate.from_json(found.to_json()) == found


def test_forged_losses_are_detected() -> None:
    """A certificate is computed from advice and outcomes, so other losses do not replay."""
    learner = experts.MLPoly(loss="absolute")
    ledger = learner.run(*stream(50))
    assert certify_regret(ledger).status in {"holds", "vacuous"}
    lied = replace(ledger, losses=ledger.losses * 0.99)
    found = certify_regret(lied)
    assert found.status == "does not apply"
    assert not found.premises[0].holds
    # sums that a learner made up are not even looked at
    made_up = replace(ledger, sums={name: values * 0 for name, values in ledger.sums.items()})
    assert certify_regret(made_up) == certify_regret(ledger)


@pytest.mark.parametrize("gradient", [True, False])
def test_a_replay_computes_each_loss_once(gradient: bool) -> None:
    """One derivative per round; values of forecast and experts once for the sums and once for the regrets."""
    asked = {"value": 0, "slope": 0}

    def value(f: Any, y: Any) -> Any:
        asked["value"] += 1
        return (f - y) ** 2

    def slope(f: Any, y: Any) -> Any:
        asked["slope"] += 1
        return 2 * (f - y)

    learner = experts.MLPoly(loss=Custom(value, slope), gradient=gradient)
    learner.run(*stream(30))
    asked.update(value=0, slope=0)
    assert learner.certify().status in {"holds", "vacuous"}
    assert asked == {"value": 60 if gradient else 120, "slope": 30}


def test_every_expert_is_checked() -> None:
    """Each expert has its own bound, so checking the largest regret is not enough."""

    class Unfair(exponential.Exponential):
        def bound(self) -> Any:
            second = int(np.argsort(self.R)[-2])
            return np.where(np.arange(self.n) == second, self.R - 1, 1e9)

    class Broken(experts.Hedge):
        def _make(self, prior: Any) -> Engine:
            return Engine(Mixture(Unfair(prior, 0.1), self._loss, gradient=True), self._loss, prior)

    learner = Broken(loss="absolute")
    learner.run(*stream())
    assert learner.certify().status == "violated"


def test_sleep_joins_and_priors_are_certified() -> None:
    rng = np.random.default_rng(1)
    A, y = stream(200)
    for name, (make, _) in PROVED.items():
        learner = make(loss="absolute", prior={"a": 1, "b": 2, "c": 3, "e": 9})
        for t, row in enumerate(A):
            said = {who: value for who, value in zip("abcde", row, strict=True) if rng.random() < 0.8}
            said = {who: value for who, value in said.items() if who < "d" or t > 30} or {"a": row[0]}
            learner.learn_one(said, y[t])
        found = learner.certify()
        assert found.status in {"holds", "vacuous"}, name
        assert learner.ledger_.replay()[1] == learner.ledger_.losses.tolist(), name  # to the last bit: ties are ties
        if name in {"adahedge", "hedge", "squint", "hedge, fixed"}:
            assert found.status == "holds", name


def test_public_names() -> None:
    assert isinstance(experts.MLPoly().certify(), RegretCertificate)
    assert mb.experts.MLPoly is experts.MLPoly


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("theorem", 1),
        ("rule", []),
        ("rule", {"id": 3}),
        ("rule", {"id": "hedge", "eta": [1]}),
        ("gradient", 1),
        ("rounds", -1),
        ("rounds", 10**400),
        ("experts", 1.5),
        ("total_loss", None),
        ("regret", "0"),
        ("bound", 10**400),
        ("status", "true"),
        ("premises", {}),
        ("premises", [{"statement": "x"}]),
        ("premises", [{"statement": "x", "holds": 1, "measured": ""}]),
        ("sequence", {"switches": 1}),
        ("sequence", []),
        ("note", None),
        ("more", 1),
    ],
)
def test_a_forged_certificate_is_refused(field: str, value: Any) -> None:
    learner = experts.Hedge()
    learner.run(*stream())
    data = json.loads(learner.certify().to_json())
    with pytest.raises(mb.ModelError) as caught:
        RegretCertificate.from_json(json.dumps({**data, field: value}))
    assert (caught.value.field or "").startswith(field if field != "more" else "")
    del data["rounds"]
    with pytest.raises(mb.ModelError, match="rounds"):
        RegretCertificate.from_json(json.dumps(data))


def test_large_numbers_have_commas_and_parameters_are_words() -> None:
    mixer = experts.FixedShare()
    mixer.run(1e5 * np.eye(3)[np.arange(12) % 3], np.full(12, 5e4))
    shown = str(mixer.certify())
    assert re.search(r"linear regret [\d,]*,\d{3},\d{3} to ", shown), shown
    assert "(eta calibrated, alpha calibrated)" in shown


def test_the_certificate_as_a_sentence() -> None:
    mixer = experts.Hedge(eta=0.5)
    mixer.run_losses([[0.0, 1.0], [0.0, 1.0]])
    found = mixer.certify()
    assert found.meaning() == f"hedge, 2 rounds: linear regret {found.regret:.6g} to 0, bound {found.bound:.6g}"

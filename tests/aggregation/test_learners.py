"""The public rules that mix forecasts: names, sleep, joining, late outcomes, priors, copies."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from aggregation_learners import LEARNERS, NAN, every_learner, stream

import mistakebound as mb
from mistakebound import experts
from mistakebound.losses import Custom


@every_learner
def test_one_at_a_time_is_the_batch(name: str) -> None:
    A, y = stream()
    whole, parts, single, table = (LEARNERS[name]() for _ in range(4))
    ledger = whole.run(A, y)
    parts.run(A[:17], y[:17])
    parts.run(A[17:], y[17:])
    said = []
    for row, outcome in zip(A, y, strict=True):
        said.append(single.predict_one(row))
        single.learn_one(row, outcome)
    table.run((row.tolist() for row in A), iter(y))  # a generator of lists
    for other in (parts, single, table):
        assert other.ledger_.predictions.tolist() == ledger.predictions.tolist()
        assert other.ledger_.losses.tolist() == ledger.losses.tolist()
        assert other.ledger_.linear_regrets.tolist() == ledger.linear_regrets.tolist()
        assert other.weights_.tolist() == whole.weights_.tolist()
    assert said == ledger.predictions.tolist()


@every_learner
def test_names_are_columns(name: str) -> None:
    """Dicts, a dict of columns, a DataFrame, in any order: the same experts."""
    pandas = pytest.importorskip("pandas")
    A, y = stream()
    names = ["Ann", "Bob", "Cid", "Dee"]
    frame = pandas.DataFrame(A, columns=names)
    learners = [LEARNERS[name]() for _ in range(6)]
    plain = learners[0].run(A, y)
    learners[1].run(frame, pandas.Series(y))
    learners[2].run({each: frame[each] for each in names}, y)
    learners[3].run([dict(zip(names, row, strict=True)) for row in A], y)
    for (_, row), outcome in zip(frame.iterrows(), y, strict=True):
        learners[4].learn_one(row, outcome)  # a Series
    learners[5].run(frame[:10], y[:10])
    learners[5].run(frame[:20][10:][names[::-1]], y[10:20])  # in another order
    for row, outcome in zip(A[20:], y[20:], strict=True):
        awake = {each: value for each, value in zip(names, row, strict=True) if value == value}  # noqa: PLR0124
        learners[5].learn_one(awake, outcome)  # who is absent sleeps
    for learner in learners[1:]:
        assert learner.names_ == names
        assert learner.ledger_.predictions.tolist() == plain.predictions.tolist()
        assert learner.weights_.tolist() == learners[0].weights_.tolist()


@every_learner
def test_experts_join_and_leave(name: str) -> None:
    """A newcomer has slept; one that leaves sleeps. Who never comes changes nothing that was said before."""
    A, y = stream()
    A = np.nan_to_num(A, nan=0.4)
    learner, without = LEARNERS[name](), LEARNERS[name]()
    for t in range(24):
        said = {"Ann": A[t, 0], "Bob": A[t, 1]} | ({"Cid": y[t]} if t >= 15 else {})
        if t >= 20:
            del said["Ann"]
        learner.learn_one(said, y[t])
        if t < 15:
            without.learn_one([A[t, 0], A[t, 1]], y[t])
    assert learner.names_ == ["Ann", "Bob", "Cid"]
    assert learner.ledger_.expert_rounds.tolist() == [20, 24, 9]
    assert learner.ledger_.predictions[:15].tolist() == without.ledger_.predictions.tolist()
    assert learner.ledger_.expert_losses[2] == 0
    assert len(learner.weights_) == 3
    found = learner.certify()
    assert found.status in {"holds", "vacuous", "does not apply"}
    assert next(p for p in found.premises if "replay" in p.statement).holds
    proved = {"ml-poly", "adahedge", "squint", "ogd", "boa, proved", "boa, fixed", "ml-prod, proved"}
    proved |= {"hedge", "hedge, fixed", "hedge, horizon", "ewa, theorem", "ewa, fixed", "fixed share, fixed"}
    assert (found.status != "does not apply") == (name in proved)


@every_learner
def test_late_outcomes(name: str) -> None:
    """Ask and tell at once is learn_one; later, others may have joined, and a certificate says that it was late."""
    A, y = stream()
    A = np.nan_to_num(A, nan=0.4)
    at_once, plain, late = LEARNERS[name](), LEARNERS[name](), LEARNERS[name]()
    for row, outcome in zip(A, y, strict=True):
        asked = at_once.ask(row)
        assert asked.prediction == plain.predict_one(row)
        at_once.tell(asked, outcome)
        plain.learn_one(row, outcome)
    assert at_once.ledger_.losses.tolist() == plain.ledger_.losses.tolist()
    assert at_once.ledger_.late == 0
    first = [late.ask({"Ann": row[0], "Bob": row[1]}) for row in A[:10]]
    second = [late.ask({"Ann": row[0], "Bob": row[1], "Cid": row[2]}) for row in A[10:20]]
    for asked, outcome in zip(second, y[10:20], strict=True):
        late.tell(asked, outcome)
    for asked, outcome in zip(first, y[:10], strict=True):
        late.tell(asked, outcome)
    assert late.ledger_.late == 19
    assert late.ledger_.expert_rounds.tolist() == [20, 20, 10]
    losses = [
        (asked.prediction - outcome) ** 2
        for asked, outcome in zip([*second, *first], [*y[10:20], *y[:10]], strict=True)
    ]
    assert late.ledger_.losses == pytest.approx(losses)  # of what was said then
    assert late.certify().status == "does not apply"
    assert np.isfinite(late.weights_).all()


@every_learner
def test_a_prior_is_where_it_begins(name: str) -> None:
    by_place, by_name = LEARNERS[name](prior=[3, 1, 4]), LEARNERS[name](prior={"Bob": 1, "Ann": 3, "Cid": 4})
    assert by_place.predict_one([1.0, 2.0, 4.0]) == pytest.approx((3 + 2 + 16) / 8)
    assert by_name.predict_one({"Ann": 1.0, "Bob": 2.0, "Cid": 4.0}) == pytest.approx((3 + 2 + 16) / 8)
    assert by_name.predict_one({"Ann": 1.0, "Bob": 2.0}) == pytest.approx(5 / 4)
    # whom the prior does not name has the mean of the others
    assert by_name.predict_one({"Ann": 1.0, "Dee": 2.0}) == pytest.approx((3 + 8 / 3 * 2) / (3 + 8 / 3))
    with pytest.raises(mb.StreamError, match="3 experts.*prior.* got 2"):
        by_place.learn_one([1.0, 2.0], 1.0)
    with pytest.raises(mb.StreamError, match="the prior has names"):
        by_name.learn_one([1.0, 2.0, 3.0], 1.0)
    with pytest.raises(mb.StreamError, match="3 experts.*prior.* got 2"):
        by_place.learn_one({"Ann": 1.0, "Bob": 2.0}, 1.0)
    assert by_place.names_ == by_name.names_ == []
    for prior in ([], [1, 0], [1, -1], [1, NAN], {"Ann": math.inf}):
        with pytest.raises(ValueError, match="a positive number for each expert"):
            LEARNERS[name](prior=prior)


@every_learner
@pytest.mark.parametrize("way", [copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner))])
def test_copies_are_whole(name: str, way: Any) -> None:
    A, y = stream()
    names = ["Ann", "Bob", "Cid", "Dee"]
    learner = LEARNERS[name]()
    learner.run(dict(zip(names[:3], A[:12, :3].T, strict=True)) | {"Ann": np.full(12, 0.5)}, y[:12])
    other = way(learner)
    kept = other.weights_.tolist()
    rest = dict(zip(names, A[12:].T, strict=True)) | {"Ann": np.full(12, 0.5)}
    ledger = learner.run(rest, y[12:])  # with a newcomer
    assert other.weights_.tolist() == kept
    assert other.run(rest, y[12:]).predictions.tolist() == ledger.predictions.tolist()
    assert other.certify() == learner.certify()


def test_vectors_by_name() -> None:
    learner = experts.MLPoly()
    learner.run({"Ann": np.zeros((4, 2)), "Bob": np.ones((4, 2))}, np.ones((4, 2)))
    assert learner.names_ == ["Ann", "Bob"]
    assert learner.ledger_.predictions.tolist() == [[0.5, 0.5], [1, 1], [1, 1], [1, 1]]
    learner.learn_one({"Cid": [0.0, 1.0]}, [1.0, 1.0])
    assert learner.ledger_.predictions[-1].tolist() == [0, 1]


def test_a_rate_that_is_given_is_used() -> None:
    """FixedShare(eta=…) tries shares only; so at α = 10⁻² it begins as the fixed one does."""
    A, y = stream()
    learner, fixed = experts.FixedShare(eta=0.5), experts.FixedShare(eta=0.5, alpha=0.01)
    learner.run(A, y)
    fixed.run(A, y)
    grid: Any = learner._play.engine.forecaster
    assert grid.values == [0.5]
    assert grid.rows == grid.outcomes == []  # nothing to take anybody through
    for alpha, member in zip([1e-4, 1e-3, 1e-2, 1e-1], grid.members[0], strict=True):
        alone = experts.FixedShare(eta=0.5, alpha=alpha)
        assert alone.run(A, y).total_loss == pytest.approx(float(grid.totals[0, grid.members[0].index(member)]))
        assert member.weights() == pytest.approx(alone.weights_)
    assert grid.members[0][2].weights() == pytest.approx(fixed.weights_)
    assert learner.ledger_.parameters == {"eta": 0.5, "alpha": "calibrated"}
    assert len(experts.FixedShare(alpha=0.5).parameters()) == 2


def test_calibrated_follows_the_best_of_its_grid() -> None:
    """Every member is the rule at its rate over the whole past, newcomers to the grid among them."""
    A, y = stream(60)
    learner = experts.ExponentiallyWeightedAverage()
    known: list[float] = []
    for row, outcome in zip(A, y, strict=True):
        learner.learn_one(row, outcome)
        grid: Any = learner._play.engine.forecaster
        totals = dict(zip(grid.values, grid.totals[:, 0].tolist(), strict=True))
        followed = grid.values[grid.best[0]] if grid.values else None
        assert followed == min(known or grid.values[grid.best[0] :][:1], key=totals.__getitem__, default=None)
        known = list(grid.values)  # newcomers are followed from the next round on
    ledger = learner.ledger_
    assert len(grid.values) > 4
    assert grid.values == sorted(grid.values)
    assert grid.best[0] not in {0, len(grid.values) - 1} or len(grid.values) >= grid.most
    assert len(grid.rows) == len(grid.outcomes) == 60  # all rounds are kept
    totals = []
    for eta, (member,) in zip(grid.values, grid.members, strict=True):
        fixed = experts.ExponentiallyWeightedAverage(eta=eta)
        totals.append(fixed.run(A, y).total_loss)
        assert member.weights() == pytest.approx(fixed.weights_)
    assert grid.totals[:, 0] == pytest.approx(totals)
    assert int(np.argmin(totals)) == grid.best[0]
    best = experts.ExponentiallyWeightedAverage(eta=grid.values[grid.best[0]])
    best.run(A, y)
    assert learner.predict_one([0.1, 0.5, 0.9, 0.2]) == best.predict_one([0.1, 0.5, 0.9, 0.2])
    assert ledger.total_loss <= 1.2 * min(totals) + 0.1
    scaled = experts.ExponentiallyWeightedAverage()
    assert scaled.run(A * 1e9, y * 1e9).predictions == pytest.approx(ledger.predictions * 1e9, rel=1e-6)


def test_a_grid_ends_where_its_members_are_much_the_same() -> None:
    """Whoever led last is wrong next, so the slower the better: but not for ever."""
    learner = experts.ExponentiallyWeightedAverage()
    learner.run([[2.0, 0.0], [0.0, 2.0]] * 50, [0.0] * 100)
    grid: Any = learner._play.engine.forecaster
    slowest, next_one = grid.totals[:2, 0]
    assert grid.best[0] == 0
    assert 6 < len(grid.values) < 30
    assert 0 < next_one - slowest < 1e-6 * slowest


def test_a_member_that_cannot_go_on_is_out() -> None:
    """Its forecast alone has an infinite loss; the others go on."""
    hole = [NAN]
    loss = (lambda f, y: np.where(np.abs(f - hole[0]) < 1e-9, np.inf, (f - y) ** 2), lambda f, y: 2 * (f - y))
    learner = experts.ExponentiallyWeightedAverage(loss=loss)
    learner.run([[0.5, 0.1], [0.9, 0.2]] * 6, [1.0] * 12)
    grid: Any = learner._play.engine.forecaster
    row = np.array([0.3, 0.8])
    hole[0] = float(grid.members[0][0].serve(row).forecast)
    assert abs(learner.predict_one(row) - hole[0]) > 1e-9
    learner.learn_one(row, 1.0)
    grid = learner._play.engine.forecaster
    others = [value for value, total in zip(grid.values, grid.totals[:, 0], strict=True) if np.isfinite(total)]
    assert len(others) == len(grid.values) - 1
    learner.learn_one([0.1, 0.2], 1.0)
    assert grid.values[grid.best[0]] in others
    assert learner.ledger_.rounds == 14


def test_ridge_finds_weights_of_either_sign() -> None:
    """y = 2a − b, which no mean can say."""
    rng = np.random.default_rng(6)
    A = rng.normal(size=(200, 2)) * 1e6
    y = 2 * A[:, 0] - A[:, 1]
    learner = experts.Ridge()
    ledger = learner.run(A, y)
    assert learner.weights_ == pytest.approx([2, -1], rel=1e-2)
    assert ledger.losses[100:].mean() < 1e-4 * np.mean(y**2)


def test_loss_of_ones_own() -> None:
    quartic = (lambda f, y: (f - y) ** 4, lambda f, y: 4 * (f - y) ** 3)
    A, y = stream()
    learner = experts.AdaHedge(loss=quartic)
    ledger = learner.run(A, y)
    assert ledger.losses == pytest.approx((ledger.predictions - y) ** 4)
    assert learner.certify().status in {"holds", "vacuous"}
    not_convex = experts.AdaHedge(loss=Custom(np.minimum, np.minimum, convex=False))
    assert not not_convex.uses_gradient
    broken = experts.AdaHedge(loss=(lambda f, y: f[0], lambda f, y: f))
    with pytest.raises(IndexError):  # what the function says itself
        broken.learn_one({"Ann": 0.1, "Bob": 0.2}, 0.3)
    assert broken.names_ == []
    lost = experts.AdaHedge(loss=(lambda f, y: f - y + NAN, lambda f, y: f))
    with pytest.raises(mb.StreamError, match="round 0: the loss of the forecast is nan"):
        lost.learn_one([0.1, 0.2], 0.3)


def test_ledger() -> None:
    learner = experts.Hedge(eta=math.log(2), loss="absolute", gradient=False)
    learner.learn_one({"Ann": 0.0, "Bob": 1.0}, 0.0)
    ledger = learner.run([{"Ann": 0.0, "Bob": 2.0}, {"Bob": 3.0}], [0.0, 0.0])
    assert ledger.rounds == 2
    assert not ledger.from_start
    assert ledger.predictions.tolist() == pytest.approx([2 / 3, 3])
    assert ledger.total_loss == pytest.approx(11 / 3)
    whole = learner.ledger_
    assert whole.rounds == 3
    assert whole.expert_losses.tolist() == [0, 6]
    assert whole.expert_rounds.tolist() == [2, 3]
    assert whole.regrets.tolist() == pytest.approx([1 / 2 + 2 / 3, 1 / 2 + 2 / 3 + 3 - 6])
    assert whole.best_expert == "Ann"
    assert whole.mean_loss == pytest.approx((1 / 2 + 2 / 3 + 3) / 3)
    assert math.isnan(experts.Hedge().ledger_.mean_loss)

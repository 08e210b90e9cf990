"""Weights of rows in the Panel: the core against the specification, and what must not depend on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from panel_streams import STREAMS, logits_seen, matrix

import mistakebound as mb
from mistakebound.models.model_file import fingerprint
from mistakebound.panel.reference import ReferencePanel
from mistakebound.rules.panel_members import MEMBERS

if TYPE_CHECKING:
    from collections.abc import Sequence

TOLERANCE = 1e-4
NOT_SMOOTH = {
    "repeated_rows": ("arow", "adagrad-hinge"),
    "xor": ("arow", "adagrad-hinge"),
    "sparse_counts": ("coin-betting-pairs", "adagrad-pairs", "coin-betting-triples", "adagrad-triples"),
}
"""Members that small errors may change much: see test_core_parity."""
UNIT = [0.5, 1.0, 0.0, 0.125, 1.0]


def rows_of(n: int = 400, seed: int = 0, classes: int = 2) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) * (rng.random((n, 5)) < 0.7)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n) > 0).astype(int)
    return X, (y if classes == 2 else rng.integers(0, classes, n)), rng.choice([0.0, 0.25, 1.0, 1.0, 2.0, 7.5], n)


def states(*panels: mb.Panel) -> list[str]:
    """Return a hash of each panel, apart from whether weights were passed."""
    for panel in panels:
        assert panel._play is not None
        panel._play.weighted = True
    return [fingerprint(panel) for panel in panels]


def values(panel: mb.Panel, *members: str) -> list[float]:
    """Return mistakes and log loss of members."""
    return [each.log_loss for each in panel.standings.members if each.name in members]


@pytest.mark.parametrize("weights", [UNIT, [2.0, 1.0, 3.0]], ids=["up to 1", "whole"])
@pytest.mark.parametrize("name", ["binary", "sparse_counts", "xor"])
def test_the_core_equals_the_reference(name: str, weights: Sequence[float]) -> None:
    rows, labels = STREAMS[name]()
    rows, labels = rows[:150], labels[:150]
    members = [each for each in MEMBERS if each not in NOT_SMOOTH.get(name, ())]
    X, panel, reference, before = matrix(rows), mb.Panel(members, classes=(-1, 1)), ReferencePanel(members), None
    for t, (own, y) in enumerate(zip(rows, labels, strict=True)):
        weight = weights[t % len(weights)]
        said = reference.round(own, y, weight=weight)
        panel.run(X[t], [y], sample_weight=[weight])
        assert logits_seen(before, panel.standings, y) == pytest.approx(said.logits, abs=TOLERANCE), t
        before = panel.standings


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("classes", [2, 3])
def test_weights_of_one_change_no_bit(threads: int, classes: int) -> None:
    X, y, _ = rows_of(3000 if threads == 2 else 400, classes=classes)
    plain, weighted = mb.Panel(threads=threads).fit(X, y), mb.Panel(threads=threads).fit(X, y, np.ones(len(y)))
    assert len({*states(plain, weighted)}) == 1


@pytest.mark.parametrize("classes", [2, 3])
def test_one_at_a_time_equals_a_batch(classes: int) -> None:
    X, y, w = rows_of(classes=classes)
    labels = tuple(range(classes))
    batch, single = mb.Panel(classes=labels), mb.Panel(classes=labels)
    batch.run(X, y, sample_weight=w)
    for x, label, weight in zip(X, y, w, strict=True):
        single.learn_one(x, label, weight)
    assert len({*states(batch, single)}) == 1


def test_threads_do_not_matter() -> None:
    X, y, w = rows_of(5000)
    one, two = mb.Panel(threads=1).fit(X, y, w), mb.Panel(threads=2).fit(X, y, w)
    assert one.predict_proba(X).tolist() == two.predict_proba(X).tolist()
    assert one.members() == two.members()


@pytest.mark.parametrize("classes", [2, 3])
def test_named_equals_positional(classes: int) -> None:
    X, y, w = rows_of(200, classes=classes)
    named = [{str(j): v for j, v in enumerate(row) if v} for row in X]
    members = MEMBERS[:11]  # the others hash names or positions
    by_name, by_position = mb.Panel(members, classes=range(classes)), mb.Panel(members, classes=range(classes))
    assert by_name.run(named, y, sample_weight=w).mistakes == by_position.run(X, y, sample_weight=w).mistakes
    assert values(by_name, *members) == pytest.approx(values(by_position, *members), rel=1e-5)


def test_a_weight_of_two_is_a_row_twice_for_counts() -> None:
    """Naive Bayes and the decision list count: their state is then the same, and so is what they predict next."""
    X, y, _ = rows_of(300)
    X = np.sign(X)  # a row given twice must not change the scale of a feature
    probe, members = np.sign(rows_of(50, seed=1)[0]), ("naive-bayes",)
    for member in ("naive-bayes", "decision-list"):
        members = (member,)
        double, twice = mb.Panel(members, classes=(0, 1)), mb.Panel(members, classes=(0, 1))
        double.run(X, y, sample_weight=np.full(300, 2.0))
        twice.run(np.repeat(X, 2, axis=0), np.repeat(y, 2))
        records = [
            panel._current_play().engine.core.__getstate__()[2][1].view(np.int32).reshape(-1, 24)[:, 1:3]
            for panel in (double, twice)
        ]
        assert records[0].tolist() == records[1].tolist() != [[0, 0]] * len(records[0])
        for x in probe:  # all of the score that does not come from the mixers
            for panel in (double, twice):
                panel.run(x[None], [1])
        assert values(double, member)[0] > 0


@pytest.mark.parametrize("rule", [mb.NaiveBayes, mb.DecisionList])
def test_a_weight_of_two_is_a_row_twice_for_counting_rules(rule: Any) -> None:
    X, y, _ = rows_of(300)
    double, twice = rule().fit(X, y, np.full(300, 2.0)), rule().fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert double.decision_function(X).tolist() == twice.decision_function(X).tolist()


def test_a_weight_of_zero_is_predicted_and_counted_but_not_learned() -> None:
    X, y, _ = rows_of(300)
    w = np.arange(300) % 3 != 0
    some, none = mb.Panel(classes=(0, 1)), mb.Panel(classes=(0, 1))
    some.run(X, y, sample_weight=w.astype(float))
    none.run(X, y, sample_weight=np.zeros(300))
    assert some.ledger_.rounds == none.ledger_.rounds == some.standings.rounds == 300
    features, records = none._current_play().engine.core.__getstate__()[2][:2]
    fresh = mb.Panel(classes=(0, 1))._new_engine(5).core.__getstate__()[2][1]
    assert len(features) == 0
    assert records.tolist() == fresh.tolist()
    only = mb.Panel(classes=(0, 1)).fit(X[w], y[w])
    get = [panel._current_play().engine.core.__getstate__()[2][:4] for panel in (some, only)]
    assert all(np.array_equal(a, b) for a, b in zip(*get, strict=True))


def test_the_guard_and_the_mixture_have_no_weights() -> None:
    """Log loss and mistakes count every round once, whatever the weights."""
    X, y, w = rows_of(400)
    panel = mb.Panel(classes=(0, 1))
    losses = 0.0
    for x, label, weight in zip(X, y, w, strict=True):
        losses -= float(np.log(panel.predict_proba_one(x)[label]))
        panel.learn_one(x, label, weight)
    assert panel.standings.overrides == 0
    assert panel.standings.log_loss == pytest.approx(losses, rel=1e-9)
    assert panel.ledger_.measures is not None
    assert panel.ledger_.measures.total_log_loss == pytest.approx(losses, rel=1e-9)
    assert panel.certify("guarded-weighted-majority").status == "holds"
    assert panel.certify("bayes-mixture").status in ("holds", "vacuous")


def test_huge_weights_stay_finite() -> None:
    X, y, _ = rows_of(600)
    for classes in (2, 3):
        labels = y if classes == 2 else np.arange(600) % 3
        panel = mb.Panel(classes=range(classes)).fit(X, labels, np.full(600, 1e9))
        assert np.isfinite(panel.predict_proba(X)).all()
        assert all(np.isfinite(member.log_loss) for member in panel.members())


@pytest.mark.parametrize("bad", [-1.0, -1e-300, np.nan, np.inf, 1.0000001e9])
@pytest.mark.parametrize("classes", [2, 3])
def test_bad_weights_name_their_round(bad: float, classes: int) -> None:
    X, y, w = rows_of(60, classes=classes)
    good = mb.Panel(classes=range(classes)).fit(X[:40], y[:40], w[:40])
    w[40] = bad
    panel = mb.Panel(classes=range(classes))
    with pytest.raises(mb.StreamError, match="the weight must be a number from 0 to 1e9") as error:
        panel.run(X, y, sample_weight=w)
    assert error.value.round == 40
    assert len({*states(good, panel)}) == 1  # the rounds before it were learned, and nothing of the bad one
    for example in (X[0], {"a": 1.0}):
        fresh = mb.Panel(classes=range(classes))
        with pytest.raises(mb.StreamError, match="from 0 to 1e9"):
            fresh.learn_one(example, 1, bad)
        assert not fresh.has_learned


def test_a_third_label_keeps_the_weights() -> None:
    X, y, w = rows_of(300)
    y = y.copy()
    y[200:] = np.arange(100) % 3
    batch, single = mb.Panel(classes=(0, 1)), mb.Panel(classes=(0, 1))
    batch.run(X, y, sample_weight=w)
    for x, label, weight in zip(X, y, w, strict=True):
        single.learn_one(x, label, weight)
    assert batch.several
    assert len({*states(batch, single)}) == 1
    assert sum(batch.ledger_.measures.counts) == 300


def test_late_outcomes_have_weights() -> None:
    X, y, w = rows_of(200)
    late, prompt = mb.Panel(classes=(0, 1)), mb.Panel(classes=(0, 1))
    for x, label, weight in zip(X, y, w, strict=True):
        late.tell(late.ask(x), label, weight)
        prompt.learn_one(x, label, weight)
    assert late.members() == prompt.members()


def test_members_from_outside_take_no_weights() -> None:
    X, y, w = rows_of(20)
    panel = mb.Panel(["arow", mb.Perceptron()])
    with pytest.raises(ValueError, match="members from outside takes no weights: Perceptron"):
        panel.run(X, y, sample_weight=w)
    with pytest.raises(ValueError, match="class_weight is not valid with members from outside"):
        mb.Panel(["arow", mb.Perceptron()], class_weight={1: 2.0}).run(X, y)

"""Members from outside: objects with predict_one and learn_one, how they enter the mixture, and what faults do."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from panel_streams import STREAMS, logits_seen, matrix, named, state_of

import mistakebound as mb
from mistakebound import bounds
from mistakebound.panel.reference import ReferencePanel
from mistakebound.rules.panel_members import MEMBERS

if TYPE_CHECKING:
    from pathlib import Path


class Counting:
    """Predicts the label that was more frequent, and keeps what it has seen."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, bool]] = []

    def predict_one(self, x: Any) -> bool | None:
        return None if not self.seen else 2 * sum(y for _, y in self.seen) >= len(self.seen)

    def learn_one(self, x: Any, y: Any) -> None:
        assert y is True or y is False
        self.seen.append((x, y))


class Fixed(Counting):
    """Always gives this score."""

    def __init__(self, score: float) -> None:
        super().__init__()
        self.score = score

    def score_one(self, x: Any) -> float:
        return self.score


class Likely(Counting):
    """Always gives this probability."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def predict_proba_one(self, x: Any) -> dict[bool, float]:
        return {True: self.p, False: 1 - self.p}


ROWS, LABELS = STREAMS["binary"]()
ROWS, LABELS = ROWS[:60], LABELS[:60]


@pytest.mark.parametrize(
    ("member", "logit"),
    [
        (Fixed(2.5), 2.5),
        (Fixed(-100.0), -8.0),
        (Fixed(math.inf), 8.0),
        (Likely(0.8), math.log(4)),
        (Likely(0.0), -8.0),
        (Likely(1.0), 8.0),
    ],
)
def test_what_a_member_says_as_a_logit(member: Any, logit: float) -> None:
    panel = mb.Panel([member], classes=(-1, 1))
    panel.learn_one({"a": 1}, 1)
    assert logits_seen(None, panel.standings, 1)[0] == pytest.approx(logit, abs=1e-9)


def test_labels_count_as_one_and_no_label_as_zero() -> None:
    panel = mb.Panel([Counting()], classes=("no", "yes"))
    panel.learn_one({"a": 1}, "no")
    assert logits_seen(None, panel.standings, -1)[0] == pytest.approx(0, abs=1e-9)
    before = panel.standings
    panel.learn_one({"a": 1}, "no")
    assert logits_seen(before, panel.standings, -1)[0] == pytest.approx(-1, abs=1e-9)


def test_priors_and_number_of_experts() -> None:
    """All sixteen members and two from outside: k = 18, priors .01/18, N = 21; v⁰ = .02."""
    panel = mb.Panel([*MEMBERS, Fixed(1.0), Fixed(-1.0)], classes=(-1, 1))
    panel.learn_one({"a": 1}, -1)
    standings = panel.standings
    assert len(standings.voters) == 21
    assert [standings.prior(each) for each in standings.voters] == [0.01 / 18] * 18 + [0.47, 0.47, 0.05]
    # All own members and mixers gave ½ but those two: the shares are the priors times the probabilities of the label.
    total = 0.01 / 18 * (16 * 0.5 + 1) + 0.99 * 0.5
    assert standings.members[0].share == pytest.approx(0.01 / 18 * 0.5 / total)
    assert standings.members[17].share == pytest.approx(0.01 / 18 / (1 + math.exp(-1)) / total)
    found = panel.certify("guarded-weighted-majority")
    assert found.bound == pytest.approx(bounds.guarded_weighted_majority(21, 0))


@pytest.mark.parametrize("own", [(), ("arow", "naive-bayes"), MEMBERS])
def test_the_core_with_members_from_outside_equals_the_reference(own: tuple[str, ...]) -> None:
    """First weights, variances and priors of all of them."""
    scores = (0.7, -2.0, 9.0)
    panel = mb.Panel([*own, *map(Fixed, scores)], classes=(-1, 1))
    reference, before = ReferencePanel(own, len(scores)), None
    X = matrix(ROWS)
    for t, (row, y) in enumerate(zip(ROWS, LABELS, strict=True)):
        said = reference.round(row, y, scores)
        panel.run(X[t], [y])
        assert logits_seen(before, panel.standings, y) == pytest.approx(said.logits, abs=1e-4), t
        before = panel.standings


def test_learners_of_ours_can_join() -> None:
    others = [mb.Perceptron(), mb.Arow(classes=("no", "yes")), mb.Panel("lean"), mb.NaiveBayes()]
    panel = mb.Panel(["coin-betting", *others], classes=("no", "yes"))
    labels = ["yes" if y > 0 else "no" for y in LABELS]
    ledger = panel.run(named(ROWS), labels)
    names = [each.name for each in panel.members()]
    assert names == ["coin-betting", "Perceptron", "Arow", "Panel", "NaiveBayes"]
    perceptron = mb.Perceptron()
    alone = perceptron.run(named(ROWS), [y > 0 for y in LABELS])
    assert abs(panel.standings.members[1].mistakes - alone.mistakes) <= 1  # before the first label it gives no score
    assert set(ledger.predictions.tolist()) <= {"no", "yes"}
    assert panel.certify().status in {"holds", "vacuous"}


def test_members_are_copied_and_named_apart() -> None:
    mine = Counting()
    panel = mb.Panel([mine, mine, Fixed(1.0)], classes=(-1, 1))
    panel.run(named(ROWS), LABELS)
    assert mine.seen == []
    assert [each.name for each in panel.members()] == ["Counting", "Counting-2", "Fixed"]
    assert [len(member.seen) for _, member in panel._play.engine.joined] == [len(ROWS)] * 3
    panel.fit(matrix(ROWS), LABELS)  # starts again with new copies
    assert [len(member.seen) for _, member in panel._play.engine.joined] == [len(ROWS)] * 3


def test_what_members_see(tmp_path: Path) -> None:
    path = tmp_path / "a.vw"
    path.write_text("1 | a:2 b\n-1 | b\n")
    panel = mb.Panel([Counting()], classes=(-1, 1))
    panel.run(mb.Source(path))
    assert panel._play.engine.joined[0][1].seen == [({"a": 2.0, "b": 1.0}, True), ({"b": 1.0}, False)]
    panel.fit(matrix([[(0, 2.0), (3, 1.0)], [(1, 1.0)]]), [1, -1])
    assert panel._play.engine.joined[0][1].seen == [({"0": 2.0, "3": 1.0}, True), ({"1": 1.0}, False)]
    panel.fit(np.array([[2.0, 0.0], [0.0, 1.0]]), [1, -1])
    assert [(x.tolist(), y) for x, y in panel._play.engine.joined[0][1].seen] == [
        ([2.0, 0.0], True),
        ([0.0, 1.0], False),
    ]


def test_one_at_a_time_equals_a_batch_and_predicting_changes_nothing() -> None:
    X = matrix(ROWS)
    batch, single = (mb.Panel(["arow", Counting(), Fixed(0.3)], classes=(-1, 1)) for _ in range(2))
    batch.run(X, LABELS)
    for t, y in enumerate(LABELS):
        before = state_of(single) if t else None
        predicted = single.predict(X[t])[0] if t else 1
        assert before is None or state_of(single) == before
        single.learn_one(X[t], y)
        assert single.ledger_.predictions[-1] == predicted
    assert state_of(batch) == state_of(single)


class Failing(Counting):
    """Raises, or returns what is no score, while ``bad`` is set."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where
        self.bad = False

    def score_one(self, x: Any) -> float:
        if self.bad and self.where == "score":
            message = "no idea"
            raise KeyError(message)
        return math.nan if self.bad and self.where == "nan" else 0.5

    def learn_one(self, x: Any, y: Any) -> None:
        if self.bad and self.where == "learn":
            message = "too much"
            raise RuntimeError(message)
        super().learn_one(x, y)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("score", "the member Failing could not predict this example: KeyError"),
        ("nan", "the member Failing could not predict this example: ValueError: its score must be a number"),
        ("learn", "the member Failing could not learn this example: RuntimeError: too much"),
    ],
)
@pytest.mark.parametrize("form", ["named", "position", "file", "late"])
def test_a_member_that_fails_leaves_the_panel_as_it_was(where: str, message: str, form: str, tmp_path: Path) -> None:
    panel = mb.Panel(["coin-betting", Failing(where)], classes=(-1, 1))
    X: Any = matrix(ROWS) if form == "position" else named(ROWS)
    panel.run(X[:30], LABELS[:30])
    member = panel._play.engine.joined[0][1]
    asked = panel.ask(X[30]) if form == "late" else None
    before, member.bad = state_of(panel), True
    path = tmp_path / "a.vw"
    path.write_text("1 | a b\n")
    if asked is not None:
        fail = partial(panel.tell, asked, LABELS[30])
    else:
        fail = partial(panel.run, mb.Source(path)) if form == "file" else partial(panel.learn_one, X[30], LABELS[30])
    with pytest.raises(ValueError, match=message):
        fail()
    assert state_of(panel) == before
    assert len(member.seen) == 30
    member.bad = False
    if asked is not None:
        panel.tell(asked, LABELS[30])
    else:
        panel.learn_one(X[30], LABELS[30])
    straight = mb.Panel(["coin-betting", Failing(where)], classes=(-1, 1))
    straight.run(X[:31], LABELS[:31])
    assert panel.standings == straight.standings


def test_members_do_not_see_rows_that_cannot_be_learned() -> None:
    panel = mb.Panel([Counting()], classes=(-1, 1))
    with pytest.raises(ValueError, match="feature 1"):
        panel.run(np.array([[1.0, 2.0], [1.0, math.nan], [1.0, 1.0]]), [1, -1, 1])
    assert len(panel._play.engine.joined[0][1].seen) == 1
    panel = mb.Panel([Counting()], classes=(-1, 1))
    panel.learn_one({"a": 1.0}, 1)
    with pytest.raises(ValueError, match="'a'"):
        panel.learn_one({"a": 1e31}, 1)
    assert len(panel._play.engine.joined[0][1].seen) == 1


@pytest.mark.parametrize(
    "members", [[], ["no such"], [Counting], [3], "some", ["arow", "arow"], [Counting() for _ in range(49)]]
)
def test_members_that_are_refused(members: Any) -> None:
    with pytest.raises(ValueError, match="members"):
        mb.Panel(members, classes=(-1, 1)).learn_one({"a": 1}, 1)


def test_forty_eight_members_may_join() -> None:
    panel = mb.Panel([*MEMBERS, *(Fixed(0.1 * k - 2) for k in range(48))], classes=(-1, 1))
    panel.run(named(ROWS), LABELS)
    assert len(panel.standings.voters) == 67
    assert math.isfinite(panel.standings.log_loss)

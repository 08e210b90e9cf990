"""A panel of two labels that goes on with several classes: probabilities, counts and theorems carry over.

Scores of linear members carry over as they are, so their log odds agree within the errors of float32: by at most 1e-5
on these streams. Members that count labels do it a little differently with several classes: the share of a label has
another start, which changes the log odds of naive Bayes and of the decision list by less than 2, and the label sequence
backs off to shorter contexts, so that it may be much surer.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from panel_class_streams import Heard, learn, width_of
from panel_games import check_guard
from panel_streams import STREAMS, logits_seen, matrix

import mistakebound as mb
from mistakebound import bounds
from mistakebound.panel.class_members import LINEAR
from mistakebound.play.class_engine import ClassEngine
from mistakebound.rules.panel_members import LEAN, MEMBERS

if TYPE_CHECKING:
    from panel_streams import Rows

LARGEST = 8.0
"""With two labels the log odds of a member are kept within ±8."""
SHORT = {name: make for name, make in STREAMS.items() if name != "one_label"}


def binary_panel(rows: Rows, labels: list[int], roster: str = "all") -> mb.Panel:
    panel = mb.Panel(roster, classes=(-1, 1))
    panel.run(matrix(rows, width_of(rows)), labels)
    return panel


def converted(panel: mb.Panel, positive: int = 1) -> ClassEngine:
    return ClassEngine.converted(panel._play.engine, 1 - positive, positive)


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("roster", ["all", "lean"])
@pytest.mark.parametrize("name", SHORT)
def test_members_say_the_same_before_and_after(name: str, roster: str, positive: int) -> None:
    rows, labels = SHORT[name]()
    names = MEMBERS if roster == "all" else LEAN
    half = min(len(rows) // 2, 60)
    panel = binary_panel(rows[:half], labels[:half], roster)
    if width_of(rows) > width_of(rows[:half]):
        rows = [[(j, x) for j, x in row if j < width_of(rows[:half])] for row in rows]
    engine, before = converted(panel, positive), panel.standings
    for t in range(half, half + 12):
        heard = Heard(converted(panel, positive), rows[t])
        panel.run(matrix(rows[t : t + 1], engine.core.slots()), labels[t : t + 1])
        logits, before = logits_seen(before, panel.standings, labels[t]), panel.standings
        found = heard.experts[:, positive] - heard.experts[:, 1 - positive]
        for k, member in enumerate(names):
            if abs(logits[k]) >= LARGEST - 1e-3:
                continue
            if member in {"naive-bayes", "decision-list"}:
                assert abs(found[k] - logits[k]) < 2, member
            elif member in LINEAR:
                assert found[k] == pytest.approx(logits[k], abs=1e-5, rel=1e-5), member


@pytest.mark.parametrize("name", SHORT)
def test_counts_carry_over(name: str) -> None:
    rows, labels = SHORT[name]()
    panel = binary_panel(rows, labels)
    engine, ledger = converted(panel), panel.ledger_
    record = engine.core.class_record()
    assert (record["rounds"], record["mistakes"], record["first_seen"]) == (len(rows), ledger.mistakes, 0)
    assert record["log_loss"] == pytest.approx(ledger.measures.total_log_loss)
    assert engine.class_count == 2
    before, after = panel.standings, engine.standings
    assert (after.rounds, after.mistakes, after.overrides) == (before.rounds, before.mistakes, before.overrides)
    assert after.log_loss == pytest.approx(before.log_loss)
    assert after.members[-1].name == "class-prior"
    for one, other in zip(before.voters, [each for each in after.voters if each.name != "class-prior"], strict=True):
        assert one.mistakes == other.mistakes
        assert other.weight == pytest.approx(one.weight, rel=0.08, abs=2e-3)  # shares change by up to 1/17
        assert other.log_loss == pytest.approx(one.log_loss + math.log1p(0.01 / 17), abs=1e-9)
    prior = next(each for each in after.voters if each.name == "class-prior")
    assert prior.mistakes == before.mistakes
    truth, predicted, counts = record["confusion"]
    pairs = dict(zip(zip(truth.tolist(), predicted.tolist(), strict=True), counts.tolist(), strict=True))
    assert sum(pairs.values()) == len(rows)
    assert sum(count for (y, p), count in pairs.items() if y != p) == ledger.mistakes


streams = st.builds(
    lambda seed, before, after, width: (np.random.default_rng(seed), before, after, width),
    st.integers(0, 2**32 - 1),
    st.integers(0, 40),
    st.integers(1, 25),
    st.integers(1, 6),
)


def rows_and_labels(stream: Any) -> tuple[Rows, list[int], list[int]]:
    """Return rows, their labels ±1 before the third label, and the classes after it, of which some are new."""
    rng, before, after, width = stream
    rows: Rows = [
        [(j, float(np.float32(rng.normal() * 10.0 ** rng.integers(-3, 4)))) for j in range(width) if rng.random() < 0.6]
        for _ in range(before + after)
    ]
    labels, classes = rng.choice([-1, 1], before).tolist(), [2]
    for _ in range(after - 1):
        classes.append(int(rng.integers(max(classes) + (2 if rng.random() < 0.2 else 1))))
    return rows, labels, classes


@settings(max_examples=40, deadline=None)
@given(streams)
def test_the_theorems_hold_through_a_conversion(stream: Any) -> None:
    rows, labels, classes = rows_and_labels(stream)
    labels = [1, -1, *labels]
    rows = [[(0, 1.0)], [(0, -1.0)], *rows]
    width, before = width_of([*rows, [(5, 1.0)]]), len(labels)
    panel = mb.Panel(classes=(-1, 1))
    panel.run(matrix(rows[:before], width), labels)
    engine, wrong = converted(panel), panel.ledger_.mistakes
    for t, (x, y) in enumerate(zip(rows[before:], classes, strict=True)):
        predicted, logs = learn(engine, [x], [y])
        assert np.isfinite(logs[0])
        wrong += int(predicted[0] != y)
        standings, record = engine.standings, engine.core.class_record()
        assert record["mistakes"] == wrong == standings.mistakes + record["first_seen"] == standings.all_mistakes
        assert record["rounds"] == before + t + 1 == standings.rounds + record["first_seen"]
        assert record["first_seen"] == engine.class_count - 2
        mistakes = [each.mistakes for each in standings.voters]
        check_guard(mistakes, standings.mistakes)
        assert wrong <= bounds.guarded_plurality(len(mistakes), min(mistakes), record["first_seen"])
        for each in standings.voters:
            assert standings.log_loss <= each.log_loss - math.log(standings.prior(each)) + 1e-9


def test_a_panel_that_saw_nothing_or_one_label_is_converted() -> None:
    for labels in ([], [1], [1] * 10, [-1] * 10):
        panel = mb.Panel(classes=(-1, 1))
        for y in labels:
            panel.run([[1.0, 2.0]], [y])
        if not labels:
            continue
        engine = converted(panel)
        heard = Heard(engine, [(0, 1.0)])
        assert heard.probabilities.sum() == pytest.approx(1.0)
        predicted, _ = learn(engine, [[(0, 1.0), (1, 2.0)]], [2])
        assert predicted[0] in {0, 1}
        assert engine.class_count == 3


def test_the_classes_of_the_two_labels_must_be_the_first_two() -> None:
    panel = mb.Panel(classes=(-1, 1))
    panel.run([[1.0], [2.0]], [1, -1])
    for wrong in ((0, 0), (1, 1), (0, 2), (-1, 1), (2, -1)):
        with pytest.raises(ValueError, match="must be 0 and 1"):
            panel._play.engine.core.convert_to_classes(*wrong)
    engine = converted(panel)
    with pytest.raises(ValueError, match="not a panel of two classes"):
        engine.core.convert_to_classes(0, 1)

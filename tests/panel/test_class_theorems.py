"""The theorems on the Panel with several classes in every round, and a trace worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from class_games import GAMES, check_against_a_liar, check_game, check_trace, combiner
from panel_class_streams import CLASS_STREAMS, learn, new_engine, width_of
from panel_games import check_guard

from mistakebound import bounds
from mistakebound.panel.class_mixers import NewLabel


def test_a_trace_worked_by_hand() -> None:
    check_trace()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("game", GAMES)
def test_all_theorems_hold_in_every_round(game: str, seed: int) -> None:
    watch = check_game(combiner, GAMES[game](seed))
    if game == "quiet and loud":
        assert watch.overrides > 0
        assert watch.panel.guard.wrong[0] == 0
        assert watch.panel.guard.mistakes <= math.log(7) / math.log(4 / 3)


def test_advice_that_always_lies_comes_close_to_the_bound() -> None:
    watch = check_against_a_liar()
    bound = bounds.guarded_plurality(20, min(watch.panel.guard.wrong), 50)
    assert min(watch.panel.guard.wrong) == 0
    assert bound - 2 <= watch.mistakes <= bound


def test_ties_go_to_the_earlier_class() -> None:
    panel = combiner(2)
    for y in (0, 1, 2):
        panel.learn(panel.predict(np.zeros((2, y)) - math.log(max(y, 1))), y)
    verdict = panel.predict(np.full((2, 3), -math.log(3)))
    assert verdict.experts.argmax(axis=1).tolist() == [0] * 5
    assert verdict.prediction == 0
    assert panel.guard.predict([-2, -2, -1, -1, 0], 0) == 0  # 5·(1 + 2/5)/2 is below 5·3/4
    panel.guard.mistakes = 9  # now only the plurality is followed: two votes for each of two classes
    assert panel.guard.predict([-2, -2, -1, -1, 0], 0) == -1


@pytest.mark.parametrize("labels", [[0] * 50, list(range(50)), [0, 1, 2, 0, 1, 2] * 8, [*range(20), *[3] * 30]])
def test_the_chance_of_a_new_label_is_a_mixture(labels: list[int]) -> None:
    fresh, losses, own = NewLabel(), np.zeros(2), 0.0
    for t, y in enumerate(labels):
        if t:
            is_new = y not in fresh.counts
            losses -= np.log(fresh.chances if is_new else 1 - fresh.chances)
            own -= math.log(fresh.chance if is_new else 1 - fresh.chance)
        assert 0 < fresh.chance <= 1
        fresh.learn(y)
        assert own <= losses.min() + math.log(2) + 1e-12
    assert own >= losses.min()  # a mixture is between the two


@pytest.mark.parametrize("roster", [("arow",), None])
@pytest.mark.parametrize("name", CLASS_STREAMS)
def test_the_bounds_of_the_core_in_every_round(name: str, roster: tuple[str, ...] | None) -> None:
    rows, labels = CLASS_STREAMS[name]()
    engine = new_engine(width_of(rows)) if roster is None else new_engine(width_of(rows), roster)
    wrong, log_loss = 0, 0.0
    for t, (x, y) in enumerate(zip(rows, labels, strict=True)):
        predicted, logs = learn(engine, [x], [y])
        wrong += int(predicted[0] != y)
        log_loss -= float(logs[0])
        standings, record = engine.standings, engine.core.class_record()
        mistakes = [each.mistakes for each in standings.voters]
        check_guard(mistakes, standings.mistakes)
        assert wrong == record["mistakes"] == standings.mistakes + record["first_seen"] == standings.all_mistakes
        assert record["rounds"] == t + 1 == standings.rounds + record["first_seen"]
        assert record["log_loss"] == pytest.approx(log_loss, abs=1e-9)
        assert wrong <= bounds.guarded_plurality(len(mistakes), min(mistakes), record["first_seen"])
        for each in standings.voters:
            assert standings.log_loss <= each.log_loss - math.log(standings.prior(each)) + 1e-9

"""The theorems on the Panel in every round: of its guard, of its mixture, and of its mixer by gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest
from panel_games import (
    GAMES,
    TRACE,
    check_against_a_liar,
    check_game,
    check_guard,
    check_trace,
    example,
    scripted,
    trace,
)
from panel_streams import STREAMS, logits_seen, matrix

import mistakebound as mb
from mistakebound.panel.reference import ReferencePanel

THEOREMS = ("guarded-weighted-majority", "bayes-mixture")


def test_a_trace_worked_by_hand() -> None:
    check_trace()


def test_the_same_trace_in_the_core() -> None:
    panel, before = scripted(2), None
    for (scores, y), (logits, logit) in zip(TRACE, trace(), strict=True):
        assert panel.score_one(example(list(scores))) == pytest.approx(logit, abs=1e-9)
        panel.learn_one(example(list(scores)), y)
        assert logits_seen(before, panel.standings, y) == pytest.approx(logits, abs=1e-9)
        before = panel.standings


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("game", GAMES)
def test_all_theorems_hold_in_every_round(game: str, seed: int) -> None:
    check_game(ReferencePanel, GAMES[game](seed))


@pytest.mark.parametrize("game", GAMES)
def test_the_same_games_in_the_core(game: str) -> None:
    """The core makes the same predictions, and both bounds hold after every round."""
    panel, reference = scripted(4), ReferencePanel((), 4)
    for scores, y in GAMES[game](0):
        said = reference.round([], y, scores)
        predicted = panel.predict_one(example(scores))
        panel.learn_one(example(scores), y)
        standings = panel.standings
        assert (predicted == 1) == said.positive
        assert [each.mistakes for each in standings.voters] == reference.guard.wrong
        assert standings.mistakes == reference.guard.mistakes
        check_guard([each.mistakes for each in standings.voters], standings.mistakes)
        assert standings.log_loss <= standings.loss_bound + 1e-9
        assert {panel.certify(theorem).status for theorem in THEOREMS} <= {"holds", "vacuous"}
    if game == "quiet and loud":
        assert standings.overrides > 0
        assert standings.members[0].mistakes == 0
        assert standings.mistakes <= math.log(7) / math.log(4 / 3)
        assert panel.certify("guarded-weighted-majority").status == "holds"


def test_an_overridden_prediction_has_probability_one_half() -> None:
    panel, seen = scripted(4), 0
    for scores, y in GAMES["quiet and loud"](1):
        x, before = example(scores), panel.standings.overrides if panel.has_learned else 0
        label, score = panel.predict_one(x), panel.score_one(x)
        chance = panel.predict_proba([x])[0, 1] if panel.has_learned else 0.5
        panel.learn_one(x, y)
        if panel.standings.overrides > before:
            seen += 1
            assert chance == pytest.approx(0.5, abs=1e-8)
            assert label == (1 if scores[0] > 0 else -1)
            assert abs(score) <= 1e-9
            assert (chance >= 0.5) == (score >= 0) == (label == 1)
    assert seen > 10


def test_advice_that_always_lies_comes_close_to_the_bound() -> None:
    panel = check_against_a_liar()
    assert min(panel.guard.wrong) == 0
    assert 0.7 * math.log(16) / math.log(4 / 3) <= panel.guard.mistakes <= math.log(16) / math.log(4 / 3)


@pytest.mark.parametrize("members", [1, 3, 5])
def test_an_opponent_that_sees_the_prediction(members: int) -> None:
    """Of random scores it plays those that leave the most weight, and nine times in ten the other label."""
    panel, rng = scripted(members), np.random.default_rng(members)
    wrong = np.zeros(members)
    for _ in range(120):
        moves = []
        for _ in range(6):
            scores = rng.choice([-8.0, -1.0, -1e-6, 1e-6, 1.0, 8.0], members)
            predicted = panel.predict_one(example(scores.tolist()))
            y = -predicted if rng.random() < 0.9 else predicted
            after = wrong + ((scores >= 0) != (y > 0))
            moves.append((float(np.sum(0.5**after)) * (4 / 3) ** (predicted != y), len(moves), scores, y, after))
        _, _, scores, y, wrong = max(moves, key=lambda move: move[:2])
        panel.learn_one(example(scores.tolist()), y)
        check_guard([each.mistakes for each in panel.standings.voters], panel.standings.mistakes)
        assert panel.standings.log_loss <= panel.standings.loss_bound + 1e-9


def test_a_tie_of_the_guard_is_not_followed() -> None:
    """One member, four voters: two of them err less than rounding errors decide would break the bound."""
    panel = ReferencePanel((), 1)
    assert panel.guard.predict([1, 1, -1, -1], -1) == 1  # 4·(1 − ½·½) is 4·(3/4) exactly: the vote, which is positive
    assert panel.guard.predict([1, -1, -1, -1], -1) == -1
    literal = ReferencePanel((), 1, literal=True)
    assert literal.guard.predict([1, 1, -1, -1], -1) == -1


@pytest.mark.parametrize("name", STREAMS)
def test_certificates_on_streams(name: str) -> None:
    rows, y = STREAMS[name]()
    panel = mb.Panel(classes=(-1, 1))
    panel.run(matrix(rows), y)
    found = {theorem: panel.certify(theorem) for theorem in THEOREMS}
    for theorem, each in found.items():
        assert each.theorem == theorem
        assert each.status == ("holds" if each.bound < len(y) - 3 * math.sqrt(len(y)) else "vacuous")  # random labels
        assert each.mistakes <= each.bound
    assert panel.certify().bound == min(each.bound for each in found.values())
    assert panel.certify(X=matrix(rows), y=y).bound == panel.certify().bound


def test_certificates_that_do_not_apply() -> None:
    panel = mb.Panel(classes=(-1, 1))
    panel.run([[1.0, 0.0], [0.0, 1.0]] * 50, [1, -1] * 50)
    with pytest.raises(ValueError, match="there is no theorem 'novikoff'"):
        panel.certify("novikoff")
    with pytest.raises(ValueError, match="must be the stream that this learner learned from"):
        panel.certify(X=[[1.0, 0.0], [0.0, 1.0]] * 50, y=[-1, 1] * 50)
    asked = panel.ask([1.0, 0.0]), panel.ask([0.0, 1.0])
    panel.tell(asked[0], 1)
    panel.tell(asked[1], -1)
    late = panel.certify()
    assert (late.status, late.bound) == ("does not apply", math.inf)

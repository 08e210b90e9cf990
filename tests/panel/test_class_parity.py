"""The core with several classes against the reference: scores, log probabilities and predictions of every round.

Members keep float32, so each number is off by some 6e-8 of it, and errors add up. On these streams scores differ by at
most 4e-6 (of themselves if they are above 1), log probabilities of members by 2.4e-5 and of the panel by 1.2e-6; the
tolerances are 2e-5, 1e-4 and 1e-5. AROW and the hinge rule are not smooth: if rows are repeated, margins are 1 up to
rounding, which decides whether they learn. They do not play there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from panel_class_streams import CLASS_STREAMS, Heard, learn, new_engine, width_of
from panel_streams import named, token

from mistakebound.panel.class_reference import ClassReferencePanel
from mistakebound.rules.panel_members import LEAN, MEMBERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound.play.class_engine import ClassEngine

SCORES, LOGS, CHANCES = 2e-5, 1e-4, 1e-5
NOT_SMOOTH = {"cyclic": ("arow", "adagrad-hinge")}
ROSTERS = {"all": MEMBERS, "lean": LEAN, "one": ("arow",), "three": ("naive-bayes", "coin-betting", "label-history")}


def check_said(heard: Heard, said: Any, plays: Any) -> None:
    """Compare all that the core and the reference said of a row."""
    verdict = said.verdict
    if said.scores.size:
        scores = said.scores[plays]
        assert (np.abs(heard.scores[plays] - scores) <= SCORES * np.maximum(1, np.abs(scores))).all()
        assert (np.abs(heard.experts - verdict.experts) <= LOGS).all()
    assert (np.abs(np.log(heard.probabilities) - np.log(verdict.probabilities)) <= CHANCES).all()
    assert heard.probabilities[-1] == pytest.approx(verdict.fresh, abs=1e-12)
    assert heard.prediction == verdict.prediction or np.ptp(np.sort(verdict.mixture)[-2:]) < CHANCES


def compare(engine: ClassEngine, rows: Sequence[Any], own_rows: Any, labels: Sequence[int], roster: Any) -> None:
    """Play both, and compare what each of them said in each round."""
    reference, overrides = ClassReferencePanel(roster), 0
    seen: set[int] = set()
    for row, own, label in zip(rows, own_rows, labels, strict=True):
        heard = Heard(engine, row)
        said = reference.round(own, label)
        check_said(heard, said, reference.plays)
        overrides += said.verdict.overridden and label in seen
        seen.add(label)
        if isinstance(row, dict):
            assert engine.core.learn_named_class(row, label) == heard.prediction
        else:
            predicted, log = learn(engine, [row], [label])
            assert predicted[0] == heard.prediction
            assert log[0] == pytest.approx(np.log(heard.probabilities[label]), abs=1e-12)
    record = engine.core.class_record()
    assert (record["first_seen"], record["overrides"]) == (len(seen), overrides)


@pytest.mark.parametrize("name", CLASS_STREAMS)
def test_the_core_equals_the_reference(name: str) -> None:
    rows, labels = CLASS_STREAMS[name]()
    members = [each for each in MEMBERS if each not in NOT_SMOOTH.get(name, ())]
    compare(new_engine(width_of(rows), members), rows, rows, labels, members)


@pytest.mark.parametrize("roster", ROSTERS)
def test_all_rosters(roster: str) -> None:
    rows, labels = CLASS_STREAMS["late_labels"]()
    rows, labels = rows[:270], labels[:270]
    members = ROSTERS[roster]
    compare(new_engine(width_of(rows), members), rows, rows, labels, members)


def test_features_with_names() -> None:
    rows, labels = CLASS_STREAMS["three_classes"]()
    tokens = [[(token(f"f{j}"), x) for j, x in row] for row in rows]
    compare(new_engine(None), named(rows), tokens, labels, MEMBERS)


def test_the_tolerance_sees_another_hash_of_names() -> None:
    rows, labels = CLASS_STREAMS["three_classes"]()
    with pytest.raises(AssertionError):
        compare(new_engine(None), named(rows), rows, labels, MEMBERS)

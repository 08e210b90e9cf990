"""The core in float32 against the Panel in plain Python: logits of all members and mixers, and predictions, per round.

The members keep float32, so each number is off by some 6e-8 of it, and errors add up over the rounds; the mixers take
them over with weights below 1. Measured on these streams the logits differ by at most 2e-4; where members are not
smooth (a token at the edge of two parts of its values, an update that happens or not) two states could differ by more,
so streams with numbers of many sizes are checked by the share of rounds that agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from panel_streams import STREAMS, logits_seen, matrix, named, token

import mistakebound as mb
from mistakebound.panel.reference import ReferencePanel
from mistakebound.rules.panel import LEAN, MEMBERS

if TYPE_CHECKING:
    from collections.abc import Sequence

TOLERANCE = 2e-3
ROSTERS: dict[str, Any] = {
    "all": "all",
    "lean": "lean",
    "one": ["arow"],
    "two": ["naive-bayes", "adagrad-hinge"],
    "thirteen": list(MEMBERS[:13]),
    "backwards": list(MEMBERS[::-1]),
}


def members_of(roster: Any) -> Sequence[str]:
    return {"all": MEMBERS, "lean": LEAN}[roster] if isinstance(roster, str) else roster


def compare(panel: mb.Panel, rows: Sequence[Any], reference: ReferencePanel, own_rows: Any, labels: list[int]) -> None:
    """Play both, and compare what each of them said in each round."""
    before = None
    for t, (x, own, y) in enumerate(zip(rows, own_rows, labels, strict=True)):
        said = reference.round(own, y)
        score = panel.score_one(x) if isinstance(x, dict) else float(panel.decision_function(x)[0]) if t else 0.0
        predicted = panel.run([x] if isinstance(x, dict) else x, [y]).predictions[0]
        after = panel.standings
        assert logits_seen(before, after, y) == pytest.approx(said.logits, abs=TOLERANCE), t
        assert max(score, 0) == pytest.approx(max(said.logit, 0), abs=TOLERANCE) or not said.positive, t
        if abs(said.logit) > TOLERANCE:
            assert (predicted == 1) == said.positive, t
            assert score == pytest.approx(said.logit, abs=TOLERANCE), t
        before = after
    assert [each.mistakes for each in panel.standings.voters] == reference.guard.wrong
    assert panel.standings.mistakes == reference.guard.mistakes
    assert panel.standings.overrides == 0  # so that scores are those of the mixture


@pytest.mark.parametrize("name", STREAMS)
def test_the_core_equals_the_reference(name: str) -> None:
    rows, labels = STREAMS[name]()
    panel = mb.Panel(classes=(-1, 1))
    X = matrix(rows)
    compare(panel, [X[t] for t in range(len(rows))], ReferencePanel(), rows, labels)


@pytest.mark.parametrize("roster", ROSTERS)
def test_all_rosters(roster: str) -> None:
    rows, labels = STREAMS["binary"]()
    rows, labels = rows[:120], labels[:120]
    X, members = matrix(rows), ROSTERS[roster]
    reference = ReferencePanel(members_of(members))
    panel = mb.Panel(members, classes=(-1, 1))
    compare(panel, [X[t] for t in range(len(rows))], reference, rows, labels)
    assert [each.name for each in panel.standings.members] == [each for each in MEMBERS if each in members_of(members)]


def test_features_with_names() -> None:
    rows, labels = STREAMS["sparse_counts"]()
    tokens = [[(token(f"f{j}"), x) for j, x in row] for row in rows]
    compare(mb.Panel(classes=(-1, 1)), named(rows), ReferencePanel(), tokens, labels)


def test_the_tolerance_sees_another_hash_of_names() -> None:
    rows, labels = STREAMS["sparse_counts"]()
    reference = ReferencePanel()
    with pytest.raises(AssertionError):
        compare(mb.Panel(classes=(-1, 1)), named(rows), reference, rows, labels)


def test_the_width_of_the_matrix_does_not_matter() -> None:
    rows, labels = STREAMS["binary"]()
    wide, narrow = mb.Panel(), mb.Panel()
    a, b = narrow.run(matrix(rows), labels), wide.run(matrix(rows, width=5000), labels)
    assert np.array_equal(a.predictions, b.predictions)
    assert narrow.standings == wide.standings

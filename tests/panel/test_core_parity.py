"""The core in float32 against the Panel in plain Python: logits of all members and mixers, and predictions, per round.

Members keep float32, so each number is off by some 6e-8 of it, and errors add up. Where all members are smooth, logits
differ by at most 5e-6 on these streams; the tolerance is 1e-4. Some members are not smooth: AROW and the hinge rule
change their confidence in an example whose margin is 1 up to rounding, which happens if rows are repeated; a value at
the edge of two parts of the values of its feature, as with counts, has another token. They do not play there. Rows
are short, because of two pairs of a row with the same slot the core may learn only one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from panel_streams import STREAMS, logits_seen, matrix, named, token

import mistakebound as mb
from mistakebound.panel.reference import ReferencePanel
from mistakebound.rules.panel_members import LEAN, MEMBERS

if TYPE_CHECKING:
    from collections.abc import Sequence

TOLERANCE = 1e-4
NOT_SMOOTH = {
    "repeated_rows": ("arow", "adagrad-hinge"),
    "xor": ("arow", "adagrad-hinge"),
    "sparse_counts": ("coin-betting-pairs", "adagrad-pairs", "coin-betting-triples", "adagrad-triples"),
}
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
    """Play both, and compare what each of them said in each round. Logits near 0 may differ in their sign."""
    before, near = None, np.zeros(len(reference.guard.wrong), int)
    for t, (x, own, y) in enumerate(zip(rows, own_rows, labels, strict=True)):
        said = reference.round(own, y)
        score = float(panel.decision_function([x] if isinstance(x, dict) else x)[0]) if t else 0.0
        predicted = panel.run([x] if isinstance(x, dict) else x, [y]).predictions[0]
        after = panel.standings
        assert logits_seen(before, after, y) == pytest.approx(said.logits, abs=TOLERANCE), t
        assert score == pytest.approx(said.logit, abs=TOLERANCE), t
        assert (predicted == 1) == said.positive or abs(said.logit) <= TOLERANCE, t
        near += np.abs(said.logits) <= TOLERANCE
        before = after
    wrong = [each.mistakes for each in panel.standings.voters]
    assert (np.abs(np.subtract(wrong, reference.guard.wrong)) <= near).all()
    assert panel.standings.overrides == 0  # so that scores are those of the mixture


@pytest.mark.parametrize("name", STREAMS)
def test_the_core_equals_the_reference(name: str) -> None:
    rows, labels = STREAMS[name]()
    members = [each for each in MEMBERS if each not in NOT_SMOOTH.get(name, ())]
    X = matrix(rows)
    compare(mb.Panel(members, classes=(-1, 1)), [X[t] for t in range(len(rows))], ReferencePanel(members), rows, labels)


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
    rows, labels = STREAMS["sparse_real"]()
    tokens = [[(token(f"f{j}"), x) for j, x in row] for row in rows]
    compare(mb.Panel(classes=(-1, 1)), named(rows), ReferencePanel(), tokens, labels)


def test_the_tolerance_sees_another_hash_of_names() -> None:
    rows, labels = STREAMS["sparse_real"]()
    reference = ReferencePanel()
    with pytest.raises(AssertionError):
        compare(mb.Panel(classes=(-1, 1)), named(rows), reference, rows, labels)


def test_the_width_of_the_matrix_does_not_matter() -> None:
    rows, labels = STREAMS["binary"]()
    wide, narrow = mb.Panel(), mb.Panel()
    a, b = narrow.run(matrix(rows), labels), wide.run(matrix(rows, width=5000), labels)
    assert np.array_equal(a.predictions, b.predictions)
    assert narrow.standings == wide.standings

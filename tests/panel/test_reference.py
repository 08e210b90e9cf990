"""The Panel in plain Python: against the recipe's own numbers, and on small examples worked by hand."""

from __future__ import annotations

import importlib.util
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from files import DATA

from mistakebound.panel.interactions import slots, tokens
from mistakebound.panel.members import NAMES
from mistakebound.panel.reference import FAST_VARIANCES, FIRST_WEIGHTS, SLOW_VARIANCES, ReferencePanel
from mistakebound.panel.views import CONSTANT, Feature, Features

if TYPE_CHECKING:
    from types import ModuleType

    from mistakebound.panel.views import Example


def recipe() -> ModuleType:
    """The terse executable form of the recipe, which is kept outside this repository."""
    path = DATA.parent / "panel_spec.py"
    if not path.exists():
        pytest.skip(f"{path} does not exist: set MISTAKEBOUND_DATA to the folder beside it")
    spec = importlib.util.spec_from_file_location("panel_spec", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def streams() -> dict[str, tuple[list[Example], list[int]]]:
    """Narrow rows with triples, rows with pairs, wide rows, and numbers of many sizes."""
    rng = np.random.default_rng(3)
    made = {}
    for name, width, sizes, rounds in (
        ("triples", 20, (1, 8), 150),
        ("pairs", 60, (10, 30), 60),
        ("wide", 400, (49, 120), 40),
        ("very wide", 600, (257, 300), 6),
    ):
        rows, labels = [], []
        for _ in range(rounds):
            features = rng.choice(width, rng.integers(*sizes), replace=False)
            values = rng.choice([1.0, 1.0, 2.5, -0.5], len(features)) * (10.0 ** (features % 5))
            rows.append([(int(j), float(x)) for j, x in zip(features, values, strict=True)])
            labels.append(1 if sum(features % 2) * 2 > len(features) + rng.normal(0, 1) else -1)
        made[name] = rows, labels
    made["empty rows"] = [[], [(0, 1.0)], [], [(0, -1.0), (1, 2.0)]] * 5, [1, -1, -1, 1] * 5
    return made


@pytest.mark.parametrize("name", sorted(streams()))
def test_the_literal_panel_equals_the_recipe(name: str) -> None:
    module = recipe()
    rows, labels = streams()[name]
    if name == "empty rows":  # the recipe divides by the number of non-zeros
        rows, labels = [row for row in rows if row], [y for row, y in zip(rows, labels, strict=True) if row]
    wanted = module.run(rows, labels)
    panel = ReferencePanel(literal=True)
    for t, (x, y, (scores, logit, prediction)) in enumerate(zip(rows, labels, wanted, strict=True)):
        said = panel.round(x, y)
        assert said.scores == pytest.approx(scores, abs=1e-9), (t, NAMES)
        assert said.logit == pytest.approx(logit, abs=1e-9)
        assert said.positive == (prediction > 0)


def test_the_start_is_that_of_the_recipe() -> None:
    module = recipe()
    assert FIRST_WEIGHTS.tolist() == module.V0
    assert FAST_VARIANCES.tolist() == module.PF
    assert SLOW_VARIANCES.tolist() == module.PS
    assert ReferencePanel().mixture.weights.sum() == pytest.approx(1.0)


def test_the_first_round_by_hand() -> None:
    """Nothing is known: all scores are 0, the tie is positive, and the label −1 is a mistake."""
    panel = ReferencePanel()
    said = panel.round([(0, 2.0), (1, -4.0)], -1)
    assert said.scores == [0.0] * 16
    assert (said.logit, said.positive) == (0.0, True)
    assert (panel.guard.mistakes, panel.guard.wrong) == (1, [1] * 19)
    # Both features are at their largest: u = (1, −1), the constant 1; length √3.
    gradient = -0.5 / math.sqrt(3)
    coin = panel.members["coin-betting"]
    w, total, size, reward, largest = coin.state[0]  # type: ignore[attr-defined]
    assert (total, size, reward, largest) == pytest.approx((gradient, -gradient, 0.0, -gradient))
    assert w == pytest.approx(-0.5)  # T/(G + L) = −½, and no reward yet
    assert coin.state[1][0] == pytest.approx(0.5)  # type: ignore[attr-defined]
    assert coin.state[CONSTANT][0] == pytest.approx(-0.5)  # type: ignore[attr-defined]
    second = panel.round([(0, 1.0)], -1)
    # u = ½ (half of its largest), the constant 1: scores −½·½ − ½·1 over the length √1.25.
    assert second.scores[0] == pytest.approx(-0.75 / math.sqrt(1.25))


def test_the_scale_of_a_feature_never_shrinks() -> None:
    features = Features()
    assert features.views([(0, -4.0)]).scaled == [(0, -1.0), (CONSTANT, 1.0)]
    assert features.views([(0, 1.0)]).scaled == [(0, 0.25), (CONSTANT, 1.0)]


def test_tokens_tell_values_apart_only_if_a_feature_has_several() -> None:
    features = Features()
    once = [tokens([(7, 3.0)], features)[0].number for _ in range(4)]
    assert len(set(once)) == 1
    features = Features({0: Feature(seen=4, mean=2.0, spread=4.0)})
    parts = [Feature(seen=4, mean=2.0, spread=4.0).part(x) for x in (-9.0, 1.4, 2.0, 2.6, 99.0)]
    assert parts == [995, 998, 1000, 1001, 1004]


@pytest.mark.parametrize(("size", "pairs", "triples"), [(0, 0, 0), (1, 1, 0), (3, 6, 1), (12, 78, 220), (13, 91, 0)])
def test_the_slots_of_a_row(size: int, pairs: int, triples: int) -> None:
    features = Features()
    x = [(j, 1.0) for j in range(size)]
    found = slots(x, tokens(x, features), features)
    assert (len(found.pairs), len(found.triples)) == (pairs, triples)
    if size:
        assert sum(value * value for _, value in found.pairs) == pytest.approx(1.0)
    assert all(0 <= slot < 2**18 for slot, _ in [*found.pairs, *found.triples])


def test_wide_rows_use_frequent_features_with_several_values_only() -> None:
    features = Features()
    row = [(j, 1.0) for j in range(60)]
    for t in range(8):
        changed = [(0, float(t)), *row[1:]]
        of = tokens(changed, features)
        found = slots(changed, of, features)
        assert len(found.pairs) == (1 if t > 0 else 0)
        assert not found.triples
        features.count(changed)


def test_members_that_are_sure_of_the_label_do_not_learn_interactions() -> None:
    fast, literal = ReferencePanel(), ReferencePanel(literal=True)
    for _ in range(3000):
        fast.round([(0, 1.0), (1, 1.0)], 1)
        literal.round([(0, 1.0), (1, 1.0)], 1)
    least = math.log(0.999 / 0.001)
    stopped, went_on = (min(panel.round([(0, 1.0), (1, 1.0)], 1).scores[11:13]) for panel in (fast, literal))
    assert least < stopped < least + 0.01 < went_on

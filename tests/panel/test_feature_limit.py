"""A bound on the number of named features: what is dropped, and that it does not depend on batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound.errors import OptionError
from mistakebound.models.model_file import fingerprint
from mistakebound.play.feature_limit import EVERY


def requests(rounds: int, classes: int = 2, seed: int = 0) -> tuple[list[dict[str, float]], list[int]]:
    """Rows with two features of a few that come again, and one that occurs once."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for t in range(rounds):
        host, path = int(rng.integers(50)), int(rng.integers(9))
        rows.append({f"host{host}": 1.0, f"path{path}": float(rng.random()), f"id{t}": 1.0})
        labels.append((host + path) % classes)
    return rows, labels


def names(panel: mb.Panel) -> list[str]:
    return panel.ledger_.names


@pytest.mark.parametrize("classes", [2, 4])
def test_features_that_occur_again_stay(classes: int) -> None:
    rows, labels = requests(5 * EVERY, classes)
    panel = mb.Panel(max_features=400, classes=range(classes))
    panel.run(rows, labels)
    assert panel.several == (classes > 2)
    assert {f"host{k}" for k in range(50)} | {f"path{k}" for k in range(9)} <= {*names(panel)}
    once = [int(name[2:]) for name in names(panel) if name.startswith("id")]
    assert once == sorted(once)
    assert min(once) > 4 * EVERY  # of those that occurred once, the newest stay
    assert len(names(panel)) == 300
    assert panel.dropped_features_ == 5 * EVERY + 59 - 300
    assert panel.ledger_.mistakes < 5 * EVERY * (1 - 1 / classes) * 0.7


@pytest.mark.parametrize("classes", [2, 4])
def test_the_result_does_not_depend_on_batches(classes: int, tmp_path: Path) -> None:
    rows, labels = requests(2 * EVERY + 300, classes)
    panels = [mb.Panel(max_features=200, classes=range(classes)) for _ in range(4)]
    panels[0].run(rows, labels)
    for row, label in zip(rows, labels, strict=True):
        panels[1].learn_one(row, label)
    for begin in range(0, len(rows), 700):
        panels[2].run(rows[begin : begin + 700], labels[begin : begin + 700])
        panels[2].save(tmp_path / "m.mb")
        panels[2] = mb.load(tmp_path / "m.mb")
    for row, label in zip(rows, labels, strict=True):
        panels[3].tell(panels[3].ask(row), label)
    prints = [fingerprint(panel) for panel in panels]
    assert prints[0] == prints[1] == prints[2]
    assert names(panels[3]) == names(panels[0])


def test_a_file_equals_its_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    path = tmp_path / "a.vw"
    path.write_text("".join(f"{rng.choice([-1, 1])} | a{rng.integers(9)} id{t}\n" for t in range(3 * EVERY)))
    whole, by_line = (mb.Panel(max_features=500) for _ in range(2))
    whole.run(mb.Source(path))
    result = mb.runs.run(mb.Source(path), by_line, checkpoint=tmp_path / "m.mb", checkpoint_every=333)
    assert fingerprint(mb.load(tmp_path / "m.mb")) == fingerprint(whole) == fingerprint(by_line)
    assert result.rounds == 3 * EVERY
    assert whole.dropped_features_ > 2 * EVERY
    found = mb.runs.compare(mb.Source(path), [mb.Panel(max_features=500), mb.Arow()])
    assert [each.curve.rounds for each in found.ranked] == [3 * EVERY] * 2


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_count_for_features(classes: int) -> None:
    """Sums of weights that are not whole are compared, too."""
    rows, labels = requests(3 * EVERY, classes)
    panel = mb.Panel(max_features=400, classes=range(classes))
    panel.run(rows, labels, sample_weight=np.full(len(rows), 0.3))
    assert {f"host{k}" for k in range(50)} <= {*names(panel)}
    assert len(names(panel)) == 300


def test_without_a_need_nothing_is_dropped() -> None:
    rows, labels = requests(EVERY)
    limited, free = mb.Panel(max_features=10_000, classes=(0, 1)), mb.Panel(classes=(0, 1))
    for panel in (limited, free):
        panel.run(rows, labels)
    assert limited.dropped_features_ == free.dropped_features_ == 0
    assert limited.ledger_.to_json() == free.ledger_.to_json()


def test_features_by_position_have_no_limit() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(EVERY, 20)), rng.integers(0, 2, EVERY)
    panel = mb.Panel(max_features=3)
    panel.run(X, y)
    assert panel.dropped_features_ == 0
    assert panel.n_features_in_ == 20


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "x"])
def test_a_limit_that_is_not_valid(bad: Any) -> None:
    with pytest.raises(OptionError, match="max_features"):
        mb.Panel(max_features=bad).run([{"a": 1.0}, {"b": 1.0}], [0, 1])

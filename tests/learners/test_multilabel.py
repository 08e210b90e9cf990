"""MultilabelPanel: equal to separate panels bit for bit; labels that appear later; scikit-learn; files."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import mistakebound as mb

if TYPE_CHECKING:
    from pathlib import Path

RNG = np.random.default_rng(0)
X = (RNG.random((200, 6)) < 0.4).astype(float)
Y = np.column_stack([X[:, 0], X[:, 1] * X[:, 2], 1 - X[:, 3]]).astype(int)
LABELS = ("sport", "news", "art")
SETS = [{LABELS[k] for k in np.flatnonzero(row)} for row in Y]


def separate(rows: Any, y: Any) -> mb.Panel:
    """Return a Panel that has learned one label."""
    panel = mb.Panel("lean", classes=(False, True))
    panel.run(rows, y)
    return panel


def test_it_equals_separate_panels() -> None:
    learner = mb.MultilabelPanel("lean", classes=LABELS)
    ledger = learner.run(X, SETS)
    panels = {label: separate(X, [label in each for each in SETS]) for label in LABELS}
    wrong = np.zeros(200, bool)
    for label, panel in panels.items():
        assert learner.panels[label].ledger_.to_json() == panel.ledger_.to_json()
        assert ledger.by_label[label].mistakes == panel.ledger_.mistakes
        wrong[panel.ledger_.mistake_rounds] = True
    assert ledger.subset_mistakes == wrong.sum() > 0
    assert ledger.hamming_mistakes == sum(panel.ledger_.mistakes for panel in panels.values())
    assert ledger.first_seen == 0
    for x in X[:5]:
        assert learner.predict_one(x) == {label for label in LABELS if panels[label].predict_one(x)}
        assert learner.predict_proba_one(x) == {label: panels[label].predict_proba_one(x)[True] for label in LABELS}


def test_one_at_a_time_equals_run_and_new_labels_start_fresh_panels() -> None:
    names = [{f"f{i}" for i in np.flatnonzero(row)} for row in X]
    sets = [each - {"art"} if t < 50 else each for t, each in enumerate(SETS)]
    whole, single = mb.MultilabelPanel("lean"), mb.MultilabelPanel("lean")
    ledger = whole.run(names, sets)
    for x, labels in zip(names, sets, strict=True):
        single.learn_one(x, labels)
    assert (single.ledger_.rounds, single.ledger_.first_seen) == (ledger.rounds, ledger.first_seen) == (200, 3)
    assert single.ledger_.subset_mistakes == whole.ledger_.subset_mistakes == ledger.subset_mistakes
    assert single.ledger_.hamming_mistakes == ledger.hamming_mistakes
    first = next(t for t, each in enumerate(sets) if "art" in each)
    assert first >= 50
    alone = separate(names[first:], ["art" in each for each in sets[first:]])
    for learner in (whole, single):
        assert learner.panels["art"].ledger_.to_json() == alone.ledger_.to_json()


def test_indicator_matrices_of_scikit_learn() -> None:
    from sklearn.base import clone
    from sklearn.utils import get_tags

    learner = clone(mb.MultilabelPanel("lean"))
    assert get_tags(learner).classifier_tags.multi_label
    with pytest.raises(ValueError, match="not fitted"):
        learner.predict(X)
    learner.fit(X, Y)
    assert learner.classes_.tolist() == [0, 1, 2]
    assert learner.predict(X).shape == learner.predict_proba(X).shape == (200, 3)
    assert (learner.predict(X) == (learner.predict_proba(X) > 0.5)).all()
    assert learner.score(X, Y) > 0.8
    sparse = mb.MultilabelPanel("lean").fit(csr_matrix(X), csr_matrix(Y))
    assert (sparse.predict_proba(csr_matrix(X)) == learner.predict_proba(X)).all()
    named = mb.MultilabelPanel("lean", classes=LABELS).fit(X, Y)
    assert named.predict_one(X[0]) == {LABELS[k] for k in np.flatnonzero(learner.predict(X[:1])[0])}
    with pytest.raises(ValueError, match="2 columns"):
        learner.partial_fit(X, Y[:, :2])
    with pytest.raises(ValueError, match="matrix of 0 and 1"):
        learner.partial_fit(X, Y + 1)


def test_bad_input_stops_all_panels_at_the_same_row() -> None:
    learner = mb.MultilabelPanel("lean", classes=LABELS)
    learner.run(X[:50], SETS[:50])
    bad = X[50:100].copy()
    bad[7, 0] = np.nan
    with pytest.raises(mb.StreamError) as caught:
        learner.run(bad, SETS[50:100])
    assert caught.value.round == 7
    assert {panel.ledger_.rounds for panel in learner.panels.values()} == {learner.ledger_.rounds} == {57}
    for labels in ("sport", 3, [["a"]]):
        with pytest.raises(mb.StreamError):
            learner.learn_one(X[0], labels)
    with pytest.raises(mb.StreamError, match="Y has 2 sets"):
        learner.run(X[:3], [{"sport"}, {"news"}])
    assert learner.ledger_.rounds == 57
    fresh = mb.MultilabelPanel("lean")
    with pytest.raises(mb.StreamError):
        fresh.learn_one([np.nan], {"a"})
    assert not fresh.panels


def test_a_loaded_learner_continues_exactly(tmp_path: Path) -> None:
    whole, half = mb.MultilabelPanel("lean"), mb.MultilabelPanel("lean")
    whole.run(X, SETS)
    half.run(X[:100], SETS[:100])
    half.save(tmp_path / "m.mb")
    loaded = mb.load(tmp_path / "m.mb")
    assert repr(loaded) == repr(half)
    loaded.run(X[100:], SETS[100:])
    assert repr(loaded.ledger_) == repr(whole.ledger_)
    for label, panel in whole.panels.items():
        assert loaded.panels[label].ledger_.to_json() == panel.ledger_.to_json()


def test_a_forged_file_is_refused(tmp_path: Path) -> None:
    path, forged = tmp_path / "m.mb", tmp_path / "f.mb"
    learner = mb.MultilabelPanel("lean", classes=LABELS)
    learner.run(X, SETS)
    learner.save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    table = parts["multilabel.json"]
    changes: list[dict[str, bytes]] = [
        {"multilabel.json": b"{}"},
        {"multilabel.json": table.replace(b'"rounds": 200', b'"rounds": 20')},
        {"multilabel.json": table.replace(b'"format": 1', b'"format": 2')},
        {"multilabel.json": table.replace(b'"news"', b'"sport"')},
        {"1.mb": parts["1.mb"][:-1]},
        {"3.mb": parts["1.mb"]},
    ]
    for change in changes:
        with zipfile.ZipFile(forged, "w") as archive:
            for name, data in (parts | change).items():
                archive.writestr(name, data)
        with pytest.raises(mb.ModelError):
            mb.load(forged)
    forged.write_bytes(path.read_bytes()[:300])
    with pytest.raises(mb.ModelError):
        mb.load(forged)

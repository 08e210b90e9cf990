"""MultilabelPanel: equal to separate panels bit for bit; labels that appear later; scikit-learn; files."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import mistakebound as mb
from mistakebound.errors import MissingColumnsError

RNG = np.random.default_rng(0)
X = (RNG.random((200, 6)) < 0.4).astype(float)
Y = np.column_stack([X[:, 0], X[:, 1] * X[:, 2], 1 - X[:, 3]]).astype(int)
LABELS = ("sport", "news", "art")
FIXTURES = Path(__file__).parent.parent / "fixtures"
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


def test_a_frame_of_indicators_names_the_labels() -> None:
    pandas = pytest.importorskip("pandas")
    Y = pandas.DataFrame({name: [int(name in each) for each in SETS] for name in LABELS})
    learner = mb.MultilabelPanel("lean").fit(X, Y)
    assert learner.classes_.tolist() == [*LABELS]
    in_other_order = Y[[*reversed(LABELS)]]
    known = mb.MultilabelPanel("lean", classes=LABELS).fit(X, in_other_order)
    assert (known.predict_proba(X) == learner.predict_proba(X)).all()
    exact = learner.score(X, Y)
    assert exact == learner.score(X, in_other_order) == learner.score(X, Y.to_numpy()) == learner.score(X, SETS)
    assert learner.score(X, Y.to_numpy()[:, ::-1]) < exact
    assert learner.score(X, [{*each, "other"} for each in SETS]) == 0
    with pytest.raises(ValueError, match=r"Y has the columns \['a', .*but there are"):
        learner.partial_fit(X, Y.rename(columns={LABELS[0]: "a"}))
    with pytest.raises(ValueError, match="must have different names"):
        mb.MultilabelPanel().fit(X, Y.rename(columns={LABELS[0]: LABELS[1]}))
    assert learner.ledger_.rounds == len(X)


def test_sets_in_a_series_or_an_array_of_objects() -> None:
    pandas = pytest.importorskip("pandas")
    wanted = mb.MultilabelPanel("lean", classes=LABELS).fit(X, SETS).predict_proba(X)
    lists = pandas.Series([[*each] for each in SETS], index=range(5, 5 + len(SETS)))
    for Y in (pandas.Series(SETS), lists, lists.to_numpy()):
        found = mb.MultilabelPanel("lean", classes=LABELS).fit(X, Y)
        assert (found.predict_proba(X) == wanted).all()
        assert found.score(X, Y) == found.score(X, SETS)


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
    of_other_rows = tmp_path / "other.mb"
    separate(X[:, :5], Y[:, 0]).save(of_other_rows)
    changes: list[dict[str, bytes]] = [
        {"multilabel.json": b"{}"},
        {"multilabel.json": table.replace(b'"rounds": 200', b'"rounds": 20')},
        {"multilabel.json": table.replace(b'"format": 2', b'"format": 3')},
        {"multilabel.json": table.replace(b'"format": 2', b'"format": 1')},
        {"multilabel.json": table.replace(b'"first_missed": 0', b'"first_missed": 1')},
        {"2.mb": of_other_rows.read_bytes()},
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


def test_a_file_of_format_1_loads_and_goes_on() -> None:
    """Its panels did not share names and counts: a label that occurred later now counts the earlier rounds, too."""
    learner = mb.load(FIXTURES / "multilabel-v1.mb")
    assert repr(learner.ledger_) == "<MultilabelLedger: 7 mistaken sets, 7 mistaken labels in 40 rounds, 3 labels>"
    assert {label: panel.ledger_.rounds for label, panel in learner.panels.items()} == {
        "sport": 40,
        "news": 37,
        "art": 19,
    }
    assert learner.predict_one({"song"}) == {"art"}
    assert learner.predict_one({"goal"}) == {"sport"}
    words = ["goal", "team", "vote", "law", "song"]
    rows = [{words[t % 5], words[(t * 3 + 1) % 5]} for t in range(40)]  # those that the file has learned
    for panel in learner.panels.values():  # all have counted the same rows
        _, names, (features, records, _, _, numbers, _), *_ = panel._current_play().engine.core.__getstate__()
        counts = np.ascontiguousarray(records.reshape(-1, 24)[:-1, 1:3]).view(np.int32).sum(axis=1)
        found = dict(zip(np.array(names)[features - 1].tolist(), counts.tolist(), strict=True))
        assert found == {word: sum(word in row for row in rows) for word in words}
        assert numbers[2] == 40
    learner.learn_one({"song", "new"}, {"art"})
    assert learner.ledger_.rounds == 41


def test_data_frames_are_read_like_those_of_a_panel() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"price": RNG.integers(1, 9, 60), "city": RNG.choice(["Rome", "New York"], 60)})
    sets = [{"cheap"} if price < 4 else {"dear", city} for price, city in zip(frame.price, frame.city, strict=True)]
    classes = ("cheap", "dear", "Rome", "New York")
    learner = mb.MultilabelPanel("lean", classes=classes)
    learner.run(frame, sets)
    one = mb.MultilabelPanel("lean", classes=classes)
    for t, labels in enumerate(sets):
        one.learn_one(frame.iloc[t : t + 1] if t % 2 else frame.iloc[t], labels)
    for k, label in enumerate(classes):
        alone = mb.Panel("lean", classes=(False, True))
        alone.run(frame, [label in each for each in sets])
        for found in (learner, one):
            assert found.panels[label].ledger_.to_json() == alone.ledger_.to_json()
            assert found.predict_proba(frame)[:, k].tolist() == alone.predict_proba(frame)[:, 1].tolist()
            row = {"price": 2, "city": "Rome"}
            assert found.predict_proba_one(row)[label] == alone.predict_proba_one(row)[True]
            assert found.predict_proba_one(frame.iloc[0])[label] == alone.predict_proba_one(frame.iloc[0])[True]
    learner.learn_one({"price": 2, "city": "Rome"}, {"cheap"})
    assert learner.ledger_.rounds == 61
    with pytest.raises(ValueError, match="one row"):
        learner.learn_one(frame, {"cheap"})
    with pytest.raises(MissingColumnsError):
        learner.predict(frame[["price"]])


def test_a_label_has_a_certificate_members_and_explanations() -> None:
    learner = mb.MultilabelPanel("lean", classes=LABELS)
    learner.run(X, SETS)
    alone = separate(X, ["news" in each for each in SETS])
    assert learner.members("news") == alone.members()
    assert learner.certify("news", "bayes-mixture").to_json() == alone.certify("bayes-mixture").to_json()
    found = learner.explain_one(X[0], "news", top=2)
    assert found == replace(alone.explain_one(X[0], top=2), of="news")
    assert f"predicted {'news' if found.prediction else 'not news'}\nlogit of news" in str(found)
    for use in (learner.members, learner.certify, lambda label: learner.explain_one(X[0], label)):
        with pytest.raises(KeyError, match="there is no label 'film'"):
            use("film")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"a": 1.0}, {"a": float("nan")}], "feature 'a' is NaN"),
        ([{"a": 1.0}, {"a": 1e-40, "b": 1.0}], "feature 'a' is too small"),
        ([["a"], ["a", 3]], "feature names must be str"),
        ([{"a": 1.0}, [1.0, 2.0]], "this MultilabelPanel has features with names"),
        ([{"a": 1.0}, 3], "a named example must be a dict"),
        ([[1.0, 2.0], [1.0, "x"]], "must be numbers"),
        (np.array([[1.0, 0.0], [1e31, 0.0]]), "feature 0 is 1e\\+31"),
        (csr_matrix([[0.0, 1.0], [0.0, np.inf]]), "feature 1 is inf"),
    ],
)
def test_rows_before_a_bad_one_stay_learned_for_all_labels(rows: Any, message: str) -> None:
    learner = mb.MultilabelPanel("lean", classes=LABELS)
    with pytest.raises(mb.StreamError, match=message) as caught:
        learner.run(rows, [{"news"}, {"news", "new"}])
    assert caught.value.round == caught.value.ledger.rounds == 1
    assert {panel.ledger_.rounds for panel in learner.panels.values()} == {learner.ledger_.rounds} == {1}
    assert "new" not in learner.panels
    assert learner.ledger_.first_seen == 0
    fresh = mb.MultilabelPanel("lean", classes=LABELS)
    with pytest.raises(mb.StreamError):
        fresh.run(rows[1:] if "with names" not in message else [None], [{"news"}])
    assert fresh.ledger_.rounds == 0
    fresh.learn_one({"other": 1.0}, {"news"})  # the bad row has not decided on the kind of features
    fresh.learn_one({"other": 1.0}, {"news"})
    with pytest.raises(mb.StreamError, match="features with names"):
        fresh.run(X, SETS)
    assert fresh.ledger_.rounds == 2


def test_members_from_outside_learn_in_separate_panels() -> None:
    members = ("lean", mb.Perceptron())
    learner = mb.MultilabelPanel(members)
    learner.run(X, SETS)
    bad = X[:10].copy()
    bad[7, 0] = np.nan
    with pytest.raises(mb.StreamError) as caught:
        learner.run(bad, SETS[:10])
    assert caught.value.round == 7
    first = next(t for t, each in enumerate(SETS) if "news" in each)
    alone = mb.Panel(members, classes=(False, True))
    alone.run(X[first:], ["news" in each for each in SETS[first:]])
    alone.run(X[:7], ["news" in each for each in SETS[:7]])
    assert learner.panels["news"].ledger_.to_json() == alone.ledger_.to_json()
    assert learner.predict_proba_one(X[0])["news"] == alone.predict_proba_one(X[0])[True]
    assert learner.predict_proba(X).shape == (200, 3)

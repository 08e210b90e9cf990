"""A Panel with more than two labels: labels, predictions, ledgers, and how it starts."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from labelled_streams import LABELS, dicts, exactly, stream

import mistakebound as mb
from mistakebound.errors import TicketError


def learned(rounds: int = 200, classes: int = 4, **options: Any) -> mb.Panel:
    X, y = stream(rounds, classes)
    panel = mb.Panel(**options)
    panel.run(X, y)
    return panel


# ---------------------------------------------------------------------- labels


def test_the_labels_of_the_first_batch_decide() -> None:
    X, y = stream()
    three = mb.Panel()
    ledger = three.run(X, y)
    assert three.several
    assert three.classes_.tolist() == list(LABELS[:4])
    assert ledger.first_seen == 4
    two = mb.Panel()
    two.run(X, y == "ant")
    assert not two.several


def test_a_label_may_appear_at_any_time() -> None:
    X, y = stream(400, 5)
    panel = mb.Panel(classes=LABELS[:2])
    panel.run(X[:100], np.where(y[:100] == "ant", "ant", "bee"))
    assert not panel.several
    ledger = panel.run(X[100:], y[100:])
    assert panel.several
    assert ledger.rounds == 300
    assert set(panel.classes_) == {*y.tolist()}
    assert ledger.predictions.shape == (300,)
    assert ledger.mistakes == int((ledger.predictions != y[100:]).sum())
    assert ledger.mistake_rounds.tolist() == np.flatnonzero(ledger.predictions != y[100:]).tolist()
    assert panel.ledger_.rounds == 400


@pytest.mark.parametrize("labels", [(1, 2, 3), (1.5, 2.5, 3.5), (True, 2, "x"), ("a", "b", 3), (("a", 1), ("b", 2), 3)])
def test_labels_of_any_type(labels: tuple[Any, ...]) -> None:
    X, _ = stream(60)
    y = np.empty(60, object)
    y[:] = [labels[k % 3] for k in range(60)]
    panel = mb.Panel(classes=labels)
    panel.run(X, y)
    assert panel.classes_.tolist() == list(labels)
    found = panel.predict_one(X[0].tolist())
    assert any(found is each or found == each for each in labels)
    assert list(panel.predict_proba_one(X[0].tolist())) == list(labels)


def test_classes_are_listed_before_they_occur() -> None:
    X, y = stream(100, 4)  # "dog" occurs in the second half
    panel = mb.Panel(classes=["dog", "cat", "bee", "ant"])
    panel.run(X[:40], y[:40])
    assert panel.classes_.tolist() == ["dog", "cat", "bee", "ant"]
    found = panel.predict_proba(X[:5])
    assert (found[:, 0] == 0).all()
    assert np.allclose(found.sum(axis=1), 1)
    assert "dog" not in panel.predict(X)


@pytest.mark.parametrize("bad", [float("nan"), None, float("inf"), [1, 2], {}])
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("form", ["two", "several"])
def test_a_bad_label_changes_nothing(bad: Any, named: bool, form: str) -> None:
    X, y = stream(60)
    rows = dicts(X) if named else X.tolist()
    labels = np.where(y == "ant", "ant", "bee") if form == "two" else y
    panel = mb.Panel()
    panel.run(rows, labels)
    before, several = exactly(panel), panel.several
    with pytest.raises(ValueError, match=r"label|label"):
        panel.learn_one(rows[0], bad)
    assert panel.several == several
    assert exactly(panel) == before
    labels = np.empty(2, object)
    labels[:] = ["ant", bad]
    with pytest.raises(mb.StreamError) as caught:
        panel.run(rows[:2], labels)
    assert caught.value.round == 1
    assert caught.value.ledger.rounds == 1
    assert panel.several == several


@pytest.mark.parametrize("named", [False, True])
def test_a_bad_row_with_a_third_label_does_not_convert(named: bool) -> None:
    X, y = stream(60)
    rows = dicts(X) if named else X.tolist()
    panel = mb.Panel()
    panel.run(rows, np.where(y == "ant", "ant", "bee"))
    before = exactly(panel)
    bad = {"f0": float("nan")} if named else [float("nan")] * 8
    with pytest.raises(mb.StreamError):
        panel.learn_one(bad, "third")
    with pytest.raises(mb.StreamError):
        panel.run([bad], ["third"])
    assert not panel.several
    assert exactly(panel) == before
    panel.learn_one(rows[0], "third")
    assert panel.several


def test_linear_learners_refuse_a_third_label() -> None:
    X, y = stream(60)
    with pytest.raises(mb.StreamError, match="third label"):
        mb.Perceptron(classes=("ant", "bee")).run(X, y)
    with pytest.raises(ValueError, match="members"):
        mb.Panel(["arow", mb.NaiveBayes()], classes=LABELS[:3]).run(X, y)


# ---------------------------------------------------------------------- forms of input


def test_every_form_of_a_stream_gives_the_same_bits() -> None:
    X, y = stream()
    panels = [mb.Panel(classes=LABELS[:4]) for _ in range(6)]
    panels[0].run(X, y)
    panels[1].run(sp.csr_matrix(X), y)
    for row, label in zip(X, y, strict=True):
        panels[2].learn_one(row.tolist(), label)
    for begin in range(0, 200, 37):
        panels[3].run(X[begin : begin + 37], y[begin : begin + 37])
    panels[4].partial_fit(X, y)
    panels[5].fit(X, y)
    states = [exactly(panel) for panel in panels]
    assert all(state == states[0] for state in states[:4])
    probabilities = [panel.predict_proba(X) for panel in panels]
    assert all((found == probabilities[0]).all() for found in probabilities)


def test_named_examples_one_at_a_time_equal_a_batch() -> None:
    X, y = stream()
    one, batch = (mb.Panel(classes=LABELS[:4]) for _ in range(2))
    batch.run(dicts(X), y)
    for row, label in zip(dicts(X), y, strict=True):
        one.learn_one(row, label)
    assert exactly(one) == exactly(batch)
    assert one.predict_proba_one(dicts(X)[3]) == dict(
        zip(LABELS, batch.predict_proba(dicts(X)[3:4])[0].tolist(), strict=False)
    )


def test_a_copy_continues_with_the_same_bits() -> None:
    panel, (X, y) = learned(), stream(seed=1)
    copies = [copy.deepcopy(panel), pickle.loads(pickle.dumps(panel)), copy.copy(panel)]
    panel.run(X, y)
    for each in copies:
        each.run(X, y)
        assert exactly(each) == exactly(panel)


# ---------------------------------------------------------------------- predictions


def test_probabilities_and_the_probability_of_a_new_label() -> None:
    panel, (X, _) = learned(), stream()
    plain, new = panel.predict_proba(X), panel.predict_proba(X, new=True)
    assert plain.shape == (200, 4)
    assert new.shape == (200, 5)
    assert np.allclose(plain.sum(axis=1), 1)
    assert np.allclose(new.sum(axis=1), 1)
    assert np.allclose(new[:, :-1] / new[:, :-1].sum(axis=1, keepdims=True), plain)
    assert (new[:, -1] > 0).all()
    assert (new[:, -1] < 0.05).all()
    assert (panel.predict(X) == panel.classes_[plain.argmax(axis=1)]).all()
    one = panel.predict_proba_one(X[0].tolist(), new=True)
    assert list(one) == [*LABELS[:4], None]
    assert one[None] == new[0, -1]
    assert np.allclose(panel.predict_log_proba(X), np.log(plain))
    assert (panel.decision_function(X).argmax(axis=1) == plain.argmax(axis=1)).all()
    assert panel.score(X, panel.predict(X)) == 1.0


def test_two_labels_have_no_probability_of_a_new_one() -> None:
    panel = mb.Panel()
    panel.run([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="new=True"):
        panel.predict_proba([[1.0]], new=True)
    with pytest.raises(ValueError, match="new=True"):
        panel.predict_proba_one([1.0], new=True)


def test_predicting_changes_nothing() -> None:
    panel, (X, _) = learned(), stream(seed=5)
    before = exactly(panel)
    panel.predict(X)
    panel.predict_proba(X * 1e6, new=True)
    panel.predict_one(X[0].tolist())
    assert exactly(panel) == before


def test_an_unfitted_panel() -> None:
    panel = mb.Panel(classes=("a", "b", "c"))
    assert panel.predict_one({"x": 1}) is None
    assert panel.predict_proba_one({"x": 1}) == {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}
    assert panel.predict_proba_one({"x": 1}, new=True) == {"a": 0.0, "b": 0.0, "c": 0.0, None: 1.0}
    assert panel.ledger_.rounds == 0


# ---------------------------------------------------------------------- ledgers


def test_the_ledger_counts_what_was_predicted() -> None:
    X, y = stream()
    panel = mb.Panel()
    ledger = panel.run(X, y)
    predictions = ledger.predictions
    assert ledger.mistakes == int((predictions[1:] != y[1:]).sum()) + 1
    assert ledger.first_seen == 4
    confusion = ledger.confusion
    for k, label in enumerate(ledger.classes):
        for m, other in enumerate(ledger.classes):
            wanted = int(((y == label) & (predictions == other))[1:].sum())
            assert confusion[k, m] == wanted
    by_label = {each.label: each for each in ledger.by_class()}
    assert by_label["ant"].rounds == int((y == "ant").sum())
    assert by_label["ant"].recall == pytest.approx(confusion[0, 0] / (y == "ant").sum())
    assert ledger.label_counts() == {label: int((y == label).sum()) for label in dict.fromkeys(y.tolist())}
    assert ledger.mistake_curve[-1] == ledger.mistakes
    for name in ("false_positives", "false_negatives", "positive"):
        with pytest.raises(AttributeError, match="confusion"):
            getattr(ledger, name)


def test_the_log_loss_is_that_of_the_probabilities() -> None:
    X, y = stream(80)
    panel, loss, squares = mb.Panel(classes=LABELS[:4]), 0.0, 0.0
    seen: set[str] = set()
    for row, label in zip(X, y, strict=True):
        found = panel.predict_proba_one(row.tolist(), new=True)
        key = label if label in seen else None
        loss -= np.log(found[key])
        squares += sum((p - (each == key)) ** 2 for each, p in found.items())
        panel.learn_one(row.tolist(), label)
        seen.add(label)
    measures = panel.ledger_.measures
    assert measures.log_loss == pytest.approx(loss / 80, rel=1e-9)
    assert measures.brier == pytest.approx(squares / 80, rel=1e-9)


def test_the_ledger_of_a_run_is_that_of_its_rounds() -> None:
    X, y = stream(300)
    panel = mb.Panel(classes=LABELS[:4])
    first, second = panel.run(X[:100], y[:100]), panel.run(X[100:], y[100:])
    whole = panel.ledger_
    assert (first.confusion + second.confusion == whole.confusion).all()
    assert first.mistakes + second.mistakes == whole.mistakes
    assert first.first_seen + second.first_seen == whole.first_seen == 4
    both = np.append(first.predictions, second.predictions)
    assert (whole.predictions == both).all()


def test_a_ledger_as_json() -> None:
    for panel in (learned(), learned(keep_bytes=0), learned(classes=5)):
        text = panel.ledger_.to_json()
        back = mb.Ledger.from_json(text)
        assert back.to_json() == text
        assert back.totals == panel.ledger_.totals
        assert (back.confusion == panel.ledger_.confusion).all()
        assert back.classes == panel.ledger_.classes


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("counts", [200, 300, 4, 200]),
        ("counts", [200, 10, 11, 200]),
        ("counts", [200, 10, 4]),
        ("seen", ["ant", "ant", "bee", "cat"]),
        ("seen", ["ant", "bee"]),
        ("seen", "ant"),
        ("given", ["a"]),
        ("predictions", [0] * 200),
        ("predictions", [7] * 200),
        ("mistake_rounds", [0, 0]),
        ("measures", {}),
        ("standings", None),
        ("n", -1),
        ("from_start", 1),
        ("rule", {"id": "multiclass-panel"}),
        ("rule", {"id": "multiclass-panel", "members": 65536, "joined": 0, "update_margin": 0, "bias": 0}),
        ("rule", {"id": "multiclass-panel", "members": 65535, "joined": 1, "update_margin": 0, "bias": 0}),
        ("late", {"rounds": [500], "delays": [1]}),
    ],
)
def test_a_forged_ledger_is_refused(field: str, value: Any) -> None:
    data = json.loads(learned().ledger_.to_json())
    data[field] = value
    with pytest.raises(mb.ModelError):
        mb.Ledger.from_json(json.dumps(data))


# ---------------------------------------------------------------------- certificates


def test_the_certificate_counts_first_seen_labels() -> None:
    panel = learned(2000, 5)
    found, ledger = panel.certify(theorem="guarded-weighted-majority"), panel.ledger_
    best = min(each.mistakes for each in ledger.standings.voters)
    assert found.status == "holds"
    assert found.bound == pytest.approx(5 + mb.bounds.guarded_weighted_majority(20, best))
    assert found.mistakes == ledger.mistakes <= found.bound
    loss = panel.certify(theorem="bayes-mixture")
    assert loss.mistakes == ledger.mistakes
    assert loss.bound >= ledger.mistakes


def test_late_outcomes() -> None:
    X, y = stream(80)
    panel = mb.Panel(classes=LABELS[:4])
    waiting = [(panel.ask(row.tolist()), label) for row, label in zip(X[:20], y[:20], strict=True)]
    for asked, label in waiting:
        panel.tell(asked, label)
    ledger = panel.ledger_
    assert ledger.rounds == 20
    assert ledger.late == 19
    assert ledger.mistakes == 20  # no label was known when they were predicted
    assert panel.certify().status == "does not apply"
    with pytest.raises(TicketError):
        panel.tell(waiting[0][0], "ant")


def test_a_late_third_label_converts() -> None:
    X, y = stream(60)
    panel = mb.Panel()
    panel.run(X, np.where(y == "ant", "ant", "bee"))
    early = panel.ask(X[0].tolist())
    panel.learn_one(X[1].tolist(), "ant")
    panel.tell(early, "new")
    assert panel.several
    assert set(panel.classes_) == {"ant", "bee", "new"}
    assert panel.ledger_.rounds == 62


def test_prompt_asking_equals_learning() -> None:
    X, y = stream(60)
    asked, plain = (mb.Panel(classes=LABELS[:4]) for _ in range(2))
    for row, label in zip(X, y, strict=True):
        asked.tell(asked.ask(row.tolist()), label)
        plain.learn_one(row.tolist(), label)
    assert asked.ledger_.totals == plain.ledger_.totals
    assert (asked.predict_proba(X) == plain.predict_proba(X)).all()


# ---------------------------------------------------------------------- members


def test_members_and_leaders() -> None:
    panel = learned(600)
    names = [each.name for each in panel.members()]
    assert names[-1] == "class-prior"
    assert len(names) == 17
    assert {name for _, name in panel.leadership()} <= set(names)
    lean = learned(300, members="lean")
    assert len(lean.members()) == 13


# ---------------------------------------------------------------------- odd histories


def test_a_panel_that_learned_only_weights_of_0_can_be_saved(tmp_path: Path) -> None:
    panel = mb.Panel(classes=LABELS[:3])
    panel.learn_one({"a": 1}, "ant", 0)
    panel.save(tmp_path / "m.mb")
    loaded = mb.load(tmp_path / "m.mb")
    for each in (panel, loaded):
        each.learn_one({"a": 1}, "bee")
    assert exactly(loaded) == exactly(panel)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("keep_bytes", [0, 1, 100])
def test_a_third_label_after_all_memory_was_used(named: bool, keep_bytes: int) -> None:
    X, y = stream(60)
    rows = dicts(X) if named else X.tolist()
    panel = mb.Panel(keep_bytes=keep_bytes)
    panel.run(rows[:20], np.where(y[:20] == "ant", "ant", "bee"))
    ledger = panel.run(rows[20:], np.where(np.arange(40) % 10 == 9, "new", np.where(y[20:] == "ant", "ant", "bee")))
    assert panel.several
    assert ledger.rounds == 40
    assert panel.ledger_.rounds == 60


@pytest.mark.parametrize("label", ["ant", "bee", "cat", "dog"])
def test_a_ticket_from_before_the_first_round_after_a_conversion(label: str) -> None:
    panel = mb.Panel(classes=LABELS[:2])
    early = panel.ask({"k": 1})
    panel.learn_one({"z": 1}, "cat")
    panel.tell(early, label)
    assert panel.ledger_.rounds == 2


@pytest.mark.parametrize("classes", [None, LABELS[:2]])
def test_a_certificate_over_the_whole_stream_after_a_conversion(classes: Any) -> None:
    X, y = stream(120)
    y[:40] = np.where(y[:40] == "ant", "ant", "bee")
    panel = mb.Panel(classes=classes)
    panel.run(X[:40], y[:40])
    panel.run(X[40:], y[40:])
    assert panel.certify(X=X, y=y).mistakes == panel.ledger_.mistakes
    with pytest.raises(ValueError, match="must be the stream"):
        panel.certify(X=X[::-1], y=y)


@pytest.mark.parametrize("bad", [float("nan"), None])
def test_a_multilabel_panel_refuses_what_is_not_a_label(bad: Any) -> None:
    panel = mb.MultilabelPanel("lean", classes=("a", "b"))
    with pytest.raises(mb.StreamError):
        panel.learn_one({"q": 1}, {bad})
    assert list(panel.panels) in ([], ["a", "b"])


@pytest.mark.parametrize("option", [{"threshold": 0.3}, {"abstain": 0.1}])
def test_a_third_label_with_a_threshold_names_the_option(option: dict[str, float]) -> None:
    """In mid-stream, and if a batch has three labels from the start; the rounds before it stay learned."""
    (name,) = option
    panel = mb.Panel(classes=("a", "b"), **option)
    for learn in (lambda: panel.learn_one({"n": 1}, "c"), lambda: panel.run([{"n": 1}], ["c"])):
        panel.learn_one({"n": 1}, "a")
        before = panel.ledger_.rounds
        with pytest.raises(ValueError, match=f"'c' is a third label.*without {name}, a panel also learns more"):
            learn()
        assert panel.ledger_.rounds == before
    fresh = mb.Panel(**option)
    with pytest.raises(ValueError, match=f"{name} is only valid for two labels, and there are more; leave it out, or "):
        fresh.run([[1.0], [2.0], [3.0]], ["a", "b", "c"])
    assert not fresh.has_learned

"""The calibration of several classes: the probability of each predicted label, and whether it was right."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from files import call
from hostile import Model, sign_model
from labelled_streams import LABELS, dicts, stream, table

import mistakebound as mb
from mistakebound.models.model_file import fingerprint

if TYPE_CHECKING:
    from mistakebound.play.class_measures import ClassMeasures

OLD = Path(__file__).parents[1] / "fixtures" / "model-v6-panel-classes-named.mb"


def check(found: ClassMeasures, confidences: Any, right: Any) -> None:
    """Compare the measures with those of a list of confidences and of right predictions."""
    p, was_right = np.array(confidences), np.array(right, float)
    bins = found.calibration()
    assert sum(each.rounds for each in bins) == len(p)
    for each in bins:
        inside = (p >= each.low) & ((p < each.high) | (each.high == 1))
        assert each.rounds == inside.sum()
        assert each.mean == pytest.approx(p[inside].mean(), abs=5.1e-4)  # half of a bin of the core
        assert each.right == pytest.approx(was_right[inside].mean())
    distance = sum(each.rounds * abs(each.mean - each.right) for each in bins) / len(p)
    assert found.calibration_error == pytest.approx(distance)


def confidence(panel: mb.Panel, x: Any) -> tuple[Any, float]:
    label = panel.predict_one(x)
    return label, panel.predict_proba_one(x, new=True)[label]


@pytest.mark.parametrize("named", [False, True])
def test_the_core_measures_each_confidence_before_its_label(named: bool) -> None:
    X, y = stream(400)
    rows = dicts(X) if named else X.tolist()
    panel = mb.Panel(classes=LABELS)
    panel.learn_one(rows[0], y[0])  # there is no prediction before the first label
    found, right = [], []
    for row, label in zip(rows[1:], y[1:], strict=True):
        made, p = confidence(panel, row)
        found.append(p)
        right.append(made == label)
        panel.learn_one(row, label)
    check(panel.ledger_.measures, found, right)
    batch = mb.Panel(classes=LABELS)
    assert batch.run(rows if named else X, y).measures.calibration() == panel.ledger_.measures.calibration()
    assert sum(right) == 400 - panel.ledger_.mistakes


def test_a_late_outcome_counts_with_the_confidence_of_its_prediction() -> None:
    X, y = stream(120)
    panel = mb.Panel(classes=LABELS)
    panel.run(X[:60], y[:60])
    before = panel.ledger_.measures
    made = [confidence(panel, row) for row in X[60:90].tolist()]
    tickets = [panel.ask(row) for row in X[60:90].tolist()]
    for ticket, label in zip(tickets, y[60:90], strict=True):
        panel.tell(ticket, label)
    since = panel.ledger_.measures.since(before)
    check(since, [p for _, p in made], [label == truth for (label, _), truth in zip(made, y[60:90], strict=True)])


def test_a_third_label_keeps_the_calibration_of_the_first_two() -> None:
    """With two labels, the confidence is the probability of the label that was more likely."""
    X, y = stream(150)
    two = np.where(y == "ant", "ant", "bee")
    panel = mb.Panel(classes=("ant", "bee"))
    found, right = [], []
    for row, label in zip(X.tolist(), two, strict=True):
        made, p = max(panel.predict_proba_one(row).items(), key=lambda each: each[1])
        found.append(p)
        right.append(made == label)
        panel.learn_one(row, label)
    assert panel.standings.overrides == 0  # otherwise a prediction may be the label that is less likely
    before = panel.ledger_.measures
    panel.learn_one(X[0].tolist(), "cat")
    assert panel.several
    after = panel.ledger_.measures
    (last,) = (after.confidence - before.as_confidences()).calibration()  # the round of the new label
    check(after, [*found, last.mean], [*right, False])
    whole = mb.Panel(classes=("ant", "bee")).run(np.vstack([X, X[:1]]), [*two, "cat"])
    assert whole.measures.calibration() == after.calibration()


def test_the_ledgers_of_parts_add_up() -> None:
    X, y = stream(200)
    panel = mb.Panel(classes=LABELS)
    parts = [panel.run(X[:70], y[:70]), panel.run(X[70:], y[70:])]
    confidences = [part.measures.confidence for part in parts]
    assert [each.rounds for each in confidences] == [69, 130]
    whole = panel.ledger_.measures.confidence
    assert np.array_equal(np.sum([each.positives for each in confidences], axis=0), whole.positives)
    back = mb.Ledger.from_json(panel.ledger_.to_json()).measures
    assert back.calibration() == panel.ledger_.measures.calibration()
    assert back.calibration_error == panel.ledger_.measures.calibration_error


def test_a_model_file_keeps_the_calibration(tmp_path: Path) -> None:
    X, y = stream(200)
    panel = mb.Panel(classes=LABELS)
    panel.run(X[:100], y[:100])
    panel.save(tmp_path / "m.mb")
    loaded = mb.load(tmp_path / "m.mb")
    for each in (panel, loaded):
        each.run(X[100:], y[100:])
    assert loaded.ledger_.measures.calibration() == panel.ledger_.measures.calibration()


def test_a_file_without_calibration_can_still_be_read(tmp_path: Path) -> None:
    """Files that were written before it was measured. They have the same fingerprint as a panel that measured it."""
    old = mb.load(OLD)
    assert old.ledger_.measures.calibration() == []
    assert math.isnan(old.ledger_.measures.calibration_error)
    assert "calibration_error" not in old.ledger_.measures.to_dict()
    X, y = stream(60)
    old.run(dicts(X), y)
    assert old.ledger_.measures.confidence.rounds == 60
    old.save(tmp_path / "m.mb")
    assert mb.load(tmp_path / "m.mb").ledger_.measures.confidence.rounds == 60
    assert mb.Ledger.from_json(old.ledger_.to_json()).measures.confidence.rounds == 60

    panel = mb.Panel(classes=LABELS)
    panel.run(X, y)
    panel.save(tmp_path / "new.mb")
    model = Model((tmp_path / "new.mb").read_bytes())
    del model.metadata["life"]["confidence"]
    (tmp_path / "new.mb").write_bytes(sign_model(model))
    without = mb.load(tmp_path / "new.mb")
    assert fingerprint(without) == fingerprint(panel)
    assert without.certify(X=X, y=y).mistakes == panel.ledger_.mistakes


def forged(field: str, value: Any) -> Any:
    def change(found: dict[str, Any]) -> None:
        found[field] = value(found[field])

    return change


FORGED = {
    "more rounds": forged("rounds", lambda rounds: rounds + 2),
    "a loss that is too large": forged("loss", lambda _: 1e300),
    "other bins": forged("bins", lambda bins: [*bins[:-1], 5000]),
    "more right predictions": lambda found: found.update(negatives=found["positives"], positives=found["negatives"]),
    "not an object": forged("bins", lambda _: None),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_calibration_is_refused(name: str, tmp_path: Path) -> None:
    X, y = stream(100)
    panel = mb.Panel(classes=LABELS)
    panel.run(X, y)
    ledger = json.loads(panel.ledger_.to_json())
    FORGED[name](ledger["measures"]["confidence"])
    with pytest.raises(mb.ModelError, match="measures.confidence"):
        mb.Ledger.from_json(json.dumps(ledger))
    panel.save(tmp_path / "m.mb")
    model = Model((tmp_path / "m.mb").read_bytes())
    FORGED[name](model.metadata["life"]["confidence"])
    (tmp_path / "m.mb").write_bytes(sign_model(model))
    with pytest.raises(mb.ModelError, match="life.confidence"):
        mb.load(tmp_path / "m.mb")


def test_later_passes_are_not_measured(tmp_path: Path) -> None:
    file, saved = table(tmp_path / "kinds.csv", *stream(120)), tmp_path / "m.mb"
    source = mb.Source(file, label="kind")
    once, thrice = (mb.runs.run(source, mb.Panel(), passes=passes, checkpoint=saved).ledger for passes in (1, 3))
    assert thrice.rounds == 360
    assert thrice.measures.rounds == 120
    assert thrice.measures.log_loss == once.measures.log_loss
    assert thrice.measures.brier == once.measures.brier
    assert thrice.measures.calibration() == once.measures.calibration()
    assert mb.load(saved).ledger_.measures.rounds == 120
    assert mb.Ledger.from_json(thrice.to_json()).measures.rounds == 120
    assert mb.load(saved).certify(X=source).mistakes == thrice.mistakes


def test_the_calibration_is_shown(tmp_path: Path) -> None:
    file, page = table(tmp_path / "kinds.csv", *stream(200)), tmp_path / "r.html"
    text = call("run", file, "--label", "kind", "--report", page)
    found = json.loads(call("run", file, "--label", "kind", "--json"))["probabilities"]
    assert sum(each["rounds"] for each in found["calibration"]) == 199
    assert f"calibration error {found['calibration_error']:.4f}" in text
    shown = page.read_text()
    assert "Reliability of the probabilities" in shown
    assert f"{found['calibration_error']:.4f}" in shown
    assert "share of right predictions" in shown

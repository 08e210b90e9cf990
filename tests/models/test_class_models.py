"""A panel of several classes in a model file: exact, and checked when it is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile import Model, sign_model
from labelled_streams import LABELS, dicts, exactly, stream

import mistakebound as mb
from mistakebound.models.class_state import TENSORS
from mistakebound.models.model_file import fingerprint

INF, NAN = float("inf"), float("nan")


def learned(rounds: int = 120, *, named: bool = False, **options: Any) -> mb.Panel:
    X, y = stream(rounds)
    panel = mb.Panel(**options)
    panel.run(dicts(X) if named else X, y)
    return panel


MADE: dict[str, Any] = {
    "positions": learned,
    "names": lambda: learned(named=True),
    "lean": lambda: learned(members="lean", classes=LABELS),
    "one member": lambda: learned(members=["naive-bayes"]),
    "little memory": lambda: learned(keep_bytes=0),
    "converted": lambda: converted(),
    "not begun": lambda: mb.Panel(classes=LABELS),
}


def converted() -> mb.Panel:
    X, y = stream(120)
    panel = mb.Panel(classes=("ant", "bee"))
    for row, label in zip(X, y, strict=True):
        panel.learn_one(row.tolist(), label)
    return panel


@pytest.mark.parametrize("name", MADE)
def test_a_loaded_panel_continues_with_the_same_bits(name: str, tmp_path: Path) -> None:
    panel, path = MADE[name](), tmp_path / "m.mb"
    panel.save(path)
    loaded = mb.load(path)
    assert loaded.several
    assert fingerprint(loaded) == fingerprint(panel)
    loaded.save(tmp_path / "again.mb")
    assert (tmp_path / "again.mb").read_bytes() == path.read_bytes()
    X, y = stream(150, 5, seed=2)  # with a label that has not occurred yet
    rows = dicts(X) if name == "names" else X
    for each in (panel, loaded):
        each.run(rows, y)
    assert exactly(loaded) == exactly(panel)
    assert loaded.ledger_.to_json() == panel.ledger_.to_json()
    assert loaded.classes_.tolist() == panel.classes_.tolist()


def test_only_features_with_records_take_space(tmp_path: Path) -> None:
    panel = mb.Panel(classes=LABELS[:3])
    wide = np.zeros((30, 4000))
    wide[:, :3] = np.eye(3)[np.arange(30) % 3]
    panel.run(wide, np.array(LABELS[:3])[np.arange(30) % 3])
    panel.save(tmp_path / "m.mb")
    assert (tmp_path / "m.mb").stat().st_size < 100_000


def change(path: Path, how: Any) -> None:
    model = Model(path.read_bytes())
    how(model)
    path.write_bytes(sign_model(model))


def first(name: str, value: float) -> Any:
    """Replace the first number of a tensor."""

    def do(model: Model) -> None:
        array = model.arrays[name].copy()
        array[0] = value
        model.arrays[name] = array

    return do


def life(field: str, value: Any) -> Any:
    def do(model: Model) -> None:
        model.metadata["life"][field] = value

    return do


def labels(field: str, value: Any) -> Any:
    def do(model: Model) -> None:
        model.metadata["labels"][field] = value

    return do


FORGED = {
    "cell_values not finite": first("cell_values", NAN),
    "slot_values not finite": first("slot_values", INF),
    "context_values": first("context_values", -1.0),
    "cell_classes": first("cell_classes", 77),
    "cell_counts": first("cell_counts", 9),
    "slot_owners": first("slot_owners", 1 << 18),
    "context_owners": first("context_owners", 1 << 20),
    "numbers": first("numbers", -1.0),
    "numbers not finite": first("numbers", NAN),
    "feature_numbers": first("feature_numbers", -1.0),
    "context_sizes": first("context_sizes", -2.0),
    "confusion_rounds": first("confusion_rounds", 5),
    "confusion_labels": first("confusion_labels", 9),
    "confusion_predictions": first("confusion_predictions", -2),
    "predictions": first("predictions", 9),
    "predictions differ": first("predictions", 1),
    "mistake_rounds": first("mistake_rounds", 99),
    "features": first("features", 0),
    "width": life("width", 10**12),
    "a smaller width": life("width", 3),
    "growing": life("growing", 1),
    "more rounds": life("counts", [121, 40]),
    "other mistakes": life("counts", [120, 1]),
    "keeping": life("keeping", None),
    "log_loss": life("log_loss", -1.0),
    "log_loss not a number": life("log_loss", "x"),
    "members": life("parameters", {"members": {"list": ["arow"]}, "keep_bytes": 16}),
    "a parameter": life("parameters", {"members": "all"}),
    "late": life("late", {"rounds": [1, 0], "delays": [1, 1]}),
    "a label more": lambda model: model.metadata["labels"]["seen"].append("new"),
    "a label twice": labels("seen", ["ant", "ant", "bee", "cat"]),
    "no labels": labels("seen", []),
    "given": labels("given", ["ant"]),
    "two labels": lambda model: model.metadata.update(labels={"negative": 0, "positive": 1, "known": []}),
    "another learner": lambda model: model.metadata.update(learner="Perceptron"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_file_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.mb"
    learned().save(path)
    mb.load(path)
    change(path, FORGED[name])
    with pytest.raises(mb.ModelError):
        mb.load(path)


@pytest.mark.parametrize("name", [name for name in TENSORS if name not in ("name_offsets", "name_bytes")])
def test_a_tensor_of_another_length_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.mb"
    learned().save(path)
    change(path, lambda model: model.arrays.update({name: model.arrays[name][:-1]}))
    with pytest.raises(mb.ModelError):
        mb.load(path)


def test_the_file_is_described_by_json_and_tensors(tmp_path: Path) -> None:
    panel = learned(named=True)
    panel.save(tmp_path / "m.mb")
    model = Model((tmp_path / "m.mb").read_bytes())
    assert model.metadata["labels"] == {"given": [], "seen": panel.ledger_.seen}
    assert list(model.arrays) == list(TENSORS)
    assert json.dumps(model.metadata["life"]["counts"]) == json.dumps([120, panel.ledger_.mistakes])

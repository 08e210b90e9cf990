"""Model files of a MultilabelPanel that somebody else has made: each is refused with ModelError."""

from __future__ import annotations

import json
import random
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

import mistakebound as mb

if TYPE_CHECKING:
    from pathlib import Path

X = [{f"f{(t * 7 + k) % 11}": 1.0 for k in range(3)} for t in range(60)]
HAS = ["f1" in x for x in X]
SETS = [{"a"} if has else {"b"} for has in HAS]
TABLE = "multilabel.json"


def members(path: Path) -> dict[str, bytes]:
    """Save a model; return the members of its file."""
    learner = mb.MultilabelPanel("lean", classes=["a", "b"])
    learner.run(X, SETS)
    learner.save(path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path: Path, parts: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> None:
    """Write a zip file."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressed_members_are_refused(tmp_path: Path, compression: int) -> None:
    path = tmp_path / "m.zip"
    write(path, members(path), compression)
    with pytest.raises(mb.ModelError, match="neither compressed nor encrypted"):
        mb.load(path)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.zip"
    members(path)
    whole, rng = path.read_bytes(), random.Random(0)
    directory = whole.index(b"PK\x01\x02")
    for place in [*range(directory, len(whole)), *(rng.randrange(4, directory) for _ in range(100))]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            loaded = mb.load(path)
        except mb.ModelError:
            continue
        assert loaded.ledger_.rounds == 60  # the byte has no meaning, such as the time of a member


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.zip"
    members(path)
    data = bytearray(path.read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + flags] |= 1
    path.write_bytes(data)
    with pytest.raises(mb.ModelError, match="neither compressed nor encrypted"):
        mb.load(path)


def test_sizes_are_checked_before_anything_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.zip"
    parts = members(path)
    directory = bytearray(path.read_bytes())
    place = directory.index(b"PK\x01\x02")
    directory[place + 20 : place + 28] = b"\xfe\xff\xff\xff" * 2  # four gigabytes
    path.write_bytes(directory)
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("something was read"))
    with pytest.raises(mb.ModelError, match=r"multilabel\.json' is too large"):
        mb.load(path)
    write(path, parts | {"2.mb": b""})
    directory = bytearray(path.read_bytes())
    place = directory.rindex(b"PK\x01\x02")
    directory[place + 20 : place + 28] = len(parts["0.mb"]).to_bytes(4, "little") * 2  # overlaps the others
    path.write_bytes(directory)
    with pytest.raises(mb.ModelError, match="larger than the file"):
        mb.load(path)


@pytest.mark.parametrize(
    "change",
    [
        {"members": "none"},
        {"members": {"tuple": [1]}},
        {"members": None},
        {"threads": 7},
        {"threads": True},
        {"keep_bytes": -1},
        {"keep_bytes": 1.5},
        {"keep_bytes": True},
        {"classes": "ab"},
        {"classes": 5},
        {"classes": {"list": ["a", "a"]}},
        {"classes": {"list": [None]}},
        {"classes": {"list": [{"float": "nan"}]}},
        {"unknown": 1},
    ],
)
def test_parameters_are_checked(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "m.zip"
    parts = members(path)
    table = json.loads(parts[TABLE])
    table["parameters"].update(change)
    write(path, parts | {TABLE: json.dumps(table).encode()})
    with pytest.raises(mb.ModelError, match=f"cannot load {path}"):
        mb.load(path)


@pytest.mark.parametrize("labels", [["a", None], ["a", {"float": "nan"}], ["a", "a"], [True, 1], ["a", ["b"]]])
def test_labels_are_checked(tmp_path: Path, labels: list[Any]) -> None:
    path = tmp_path / "m.zip"
    parts = members(path)
    write(path, parts | {TABLE: json.dumps(json.loads(parts[TABLE]) | {"labels": labels}).encode()})
    with pytest.raises(mb.ModelError):
        mb.load(path)


@pytest.mark.parametrize(
    ("params", "labels"),
    [
        ({"classes": ("no", "yes")}, ("no", "yes")),
        ({"classes": (True, False)}, (False, True)),
        ({"classes": (0, 1)}, (0, 1)),
        ({"classes": ("x", "y", "z")}, ("x", "y")),
        ({"threshold": 0.9}, (False, True)),
        ({"abstain": 0.1}, (False, True)),
        ({"class_weight": {True: 5.0}}, (False, True)),
        ({"max_features": 8}, (False, True)),
        ({}, None),
    ],
)
def test_panels_are_checked(tmp_path: Path, params: dict[str, Any], labels: tuple[Any, Any] | None) -> None:
    path = tmp_path / "m.zip"
    parts = members(path)
    panel = mb.Panel(**{"members": "lean", "classes": (False, True), **params})
    if labels is not None:
        panel.run(X, [labels[has] for has in HAS])
    panel.save(tmp_path / "p.mb")
    for name, label in (("0.mb", "a"), ("1.mb", "b")):
        write(path, parts | {name: (tmp_path / "p.mb").read_bytes()})
        with pytest.raises(mb.ModelError, match=f"cannot load {path}: the panel of the label '{label}'"):
            mb.load(path)


def test_errors_name_the_file_and_the_label_but_no_other_file(tmp_path: Path) -> None:
    path = tmp_path / "m.zip"
    parts = members(path)
    write(path, parts | {"1.mb": parts["1.mb"][:-1]})
    with pytest.raises(mb.ModelError, match=f"^cannot load {path}: the panel of the label 'b': the SHA-256"):
        mb.load(path)
    learner = mb.MultilabelPanel(("lean", mb.Perceptron()), classes=["a"])
    with pytest.raises(mb.ModelError, match=f"^cannot save {path}: the members Perceptron"):
        learner.save(path)

"""A saved learner goes on as if never stopped, a file that is not sound is refused, no save leaves half a file."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from input_streams import dicts, facts, stream
from processes import wait_until

import mistakebound as mb
from mistakebound.learners.linear import KINDS
from mistakebound.models.container import DTYPES, FORMAT
from mistakebound.rules.registry import DECLARATIONS

INF, NAN = float("inf"), float("nan")
FIXTURES = Path(__file__).parent.parent / "fixtures"

# name: (learner, whether x must be 0 or 1, whether features may have names)
LEARNERS: dict[str, tuple[Callable[..., Any], bool, bool]] = {
    "perceptron": (mb.Perceptron, False, True),
    "perceptron with a margin": (lambda **k: mb.Perceptron(bias=-0.5, update_margin=0.1, **k), False, True),
    "winnow": (lambda **k: mb.Winnow(threshold=4, **k), True, True),
    "winnow, strict": (lambda **k: mb.Winnow(alpha=1.5, threshold=3.3, strict=True, bias=1, **k), True, True),
    "winnow of n": (mb.Winnow, True, False),
    "winnow, conjunction": (lambda **k: mb.Winnow(target="conjunction", **k), True, False),
    "elimination": (mb.Elimination, True, True),
    "elimination, all": (lambda **k: mb.Elimination(target="conjunction", complements=True, **k), True, False),
    "normalized": (lambda **k: mb.NormalizedWinnow(bias=0.5, **k), False, True),
    "normalized, best": (lambda **k: mb.NormalizedWinnow(eta="best", margin=0.5, update_margin=0.01, **k), False, True),
    "normalized, rescaled": (lambda **k: mb.NormalizedWinnow(eta=40, **k), False, True),
    "normalized, halving": (lambda **k: mb.NormalizedWinnow(eta=INF, **k), False, True),
    "balanced": (lambda **k: mb.BalancedWinnow(eta=0.7, bias=1, update_margin=0.1, **k), False, True),
    "balanced, rescaled": (lambda **k: mb.BalancedWinnow(eta=40, **k), False, True),
    "balanced, halving": (lambda **k: mb.BalancedWinnow(eta=INF, bias=1, **k), False, True),
    "pnorm": (lambda **k: mb.PNormPerceptron(p=3, update_margin=0.1, bias=2, **k), False, True),
    "pnorm, best": (lambda **k: mb.PNormPerceptron(p="best", **k), False, False),
    "arow": (mb.Arow, False, True),
    "arow with a bias": (lambda **k: mb.Arow(r=0.03, bias=-0.5, **k), False, True),
    "keeps little": (lambda **k: mb.Perceptron(**{**k, "keep_bytes": 300}), False, True),
    "keeps nothing": (lambda **k: mb.Perceptron(**{**k, "keep_bytes": 0}), False, True),
}
CASES = [(name, named) for name, (_, _, names) in LEARNERS.items() for named in (False, True) if names or not named]


def state(learner: Any) -> Any:
    """All that a learner knows, in a form in which NaN is NaN and −0.0 is not 0.0."""

    def exactly(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return (value.dtype.str, value.shape, value.tolist() if value.dtype == object else value.tobytes())
        if isinstance(value, (list, tuple)):
            return (type(value).__name__, [exactly(each) for each in value])
        return (type(value).__name__, repr(value))

    play = learner._play
    engine, labels = (None, learner._early_labels) if play is None else (play.engine, play.labels)
    return (
        type(learner),
        {name: exactly(value) for name, value in learner.get_params().items()},
        labels and exactly([labels.negative, labels.positive, list(labels.signs.items())]),
        engine and exactly([engine.rule, engine.width, engine.named, engine.reduction, engine.core.__getstate__()]),
        exactly(vars(learner).get("feature_names_in_")),
    )


def again(learner: Any, path: Path) -> Any:
    """The learner by way of a file; a second file is the same, byte for byte."""
    learner.save(path)
    loaded = mb.load(path)
    twin = path.with_name("twin.mb")
    loaded.save(twin)
    assert twin.read_bytes() == path.read_bytes()
    assert state(loaded) == state(learner)
    return loaded


# ---------------------------------------------------------------------- what is saved comes back


@pytest.mark.parametrize(("name", "named"), CASES)
@pytest.mark.parametrize("classes", [(0, 1), None])
def test_resuming_is_never_having_stopped(name: str, named: bool, classes: Any, tmp_path: Path) -> None:
    make, binary, _ = LEARNERS[name]
    X, y = stream(200, binary=binary)
    rows: Any = dicts(X) if named else X
    whole, half = make(classes=classes), make(classes=classes)
    whole.run(rows, y)
    half.run(rows[:90], y[:90])
    resumed = again(half, tmp_path / "m.mb")
    resumed.run(rows[90:150], y[90:150])
    resumed = again(resumed, tmp_path / "m.mb")
    for t in range(150, 200):
        resumed.learn_one(rows[t], y[t])
    assert state(resumed) == state(whole)
    if "keeps" not in name:
        assert facts(resumed) == facts(whole)
    assert [resumed.score_one(x) for x in rows[:20]] == [whole.score_one(x) for x in rows[:20]]
    assert state(half) == state(again(half, tmp_path / "m.mb"))


@pytest.mark.parametrize(("name", "named"), CASES)
def test_certificates_are_identical(name: str, named: bool, tmp_path: Path) -> None:
    learner = model(name, named)
    loaded = again(learner, tmp_path / "m.mb")
    if DECLARATIONS[learner.rule_id].has_theorem:
        assert loaded.certify().to_json() == learner.certify().to_json()
    assert loaded.ledger_.to_json() == learner.ledger_.to_json()


def test_all_learners_are_among_the_cases() -> None:
    assert {type(make()) for make, _, _ in LEARNERS.values()} == set(KINDS.values())
    public = {getattr(mb, name) for name in mb.__all__ if hasattr(getattr(mb, name), "learn_one")}
    assert public == set(KINDS.values())


@pytest.mark.parametrize("eta", [1e308, 1e-320])
@pytest.mark.parametrize("make", [mb.NormalizedWinnow, mb.BalancedWinnow])
def test_sums_that_overflowed_come_back(make: Any, eta: float, tmp_path: Path) -> None:
    """A rate beyond all measure leaves NaN and infinities in the running total."""
    rng = np.random.default_rng(0)
    learner = make(eta=eta)
    try:
        learner.run(rng.choice([-1.0, 0, 1], (40, 5)), rng.choice([-1, 1], 40))
    except mb.StreamError:
        assert not all(map(math.isfinite, learner._play.engine.core.__getstate__()[4:8]))
    again(learner, tmp_path / "m.mb")


LABELS = [(0, 1), (-1, 1), (False, True), (0.5, 1.5), ("ham", "spam"), ("", "\ud800é\1"), (0, "a"), (-INF, INF)]
LABELS += [(-(10**60), 10**60), (False, 2.5), (-0.0, 1)]


@pytest.mark.parametrize("pair", LABELS, ids=repr)
def test_labels_keep_their_type(pair: Any, tmp_path: Path) -> None:
    X, y = stream(40)
    for given in (pair, list(pair), None):
        if given is None and {type(label) for label in pair} == {int, str}:
            continue  # no order, so they must be given
        learner = mb.Perceptron(classes=given)
        learner.run(X, [pair[each] for each in y])
        loaded = again(learner, tmp_path / "m.mb")
        expected = {repr(label) for label in (learner._labels.pair if given is None else pair)}
        assert {repr(loaded.predict_one(x)) for x in X} == expected
        with pytest.raises(mb.StreamError, match="third"):
            loaded.learn_one(X[0], "another")


def test_labels_of_numpy_and_labels_half_known(tmp_path: Path) -> None:
    """One label seen, the other to come; and a learner that was only asked."""
    for label in (np.int64(3), np.float32(0.5), np.True_, 7):
        learner, twin = mb.Winnow(), mb.Winnow()
        for each in (learner, twin):
            each.learn_one([1, 0], label)
        loaded = again(learner, tmp_path / "m.mb")
        for each in (loaded, twin):
            each.learn_one([1, 1], -2)
        assert state(loaded) == state(twin)
    learner = mb.Perceptron()
    learner.predict_one({"a": 1})
    assert again(learner, tmp_path / "m.mb").ledger_.rounds == 0
    learner = mb.Elimination()
    learner.run(np.zeros((0, 3)), [])
    assert again(learner, tmp_path / "m.mb").ledger_.n == 3


@pytest.mark.parametrize("kind", KINDS.values())
def test_a_learner_that_has_not_begun(kind: Any, tmp_path: Path) -> None:
    loaded = again(kind(classes=("a", "b")), tmp_path / "m.mb")
    assert loaded._play is None
    loaded.run([[1, 0], [0, 1]], ["a", "b"])
    assert loaded.ledger_.rounds == 2


@pytest.mark.parametrize("value", [INF, -INF, NAN, -0.0, 5e-324, 1e300, 10**30, True, None, "best", 3])
def test_parameters_of_every_kind(value: Any, tmp_path: Path) -> None:
    again(mb.BalancedWinnow(eta="best", margin=value, radius=value), tmp_path / "m.mb")


def test_parameters_that_come_back_as_plain_ones(tmp_path: Path) -> None:
    """Numbers and arrays of numpy, and any collection of classes, mean the same as the plain values that are saved."""
    pandas = pytest.importorskip("pandas")
    for classes in (np.array([0, 1]), range(2), pandas.Series([0, 1]), {0: "no", 1: "yes"}.keys()):
        mb.Perceptron(classes=classes).save(tmp_path / "m.mb")
        assert repr(mb.load(tmp_path / "m.mb").classes) == "[0, 1]"
    mb.Perceptron(classes=(np.str_("a"), np.int8(1)), bias=np.float32(0.1)).save(tmp_path / "m.mb")
    loaded = mb.load(tmp_path / "m.mb")
    assert repr(loaded.classes) == "('a', 1)"
    assert repr(loaded.bias) == repr(float(np.float32(0.1)))


def test_a_life_keeps_its_rule_though_parameters_were_set_anew(tmp_path: Path) -> None:
    X, y = stream(100)
    learner = mb.NormalizedWinnow(eta=0.3, keep_bytes=2000)
    learner.run(X[:50], y[:50])
    learner.set_params(eta=0.9, bias=3, keep_bytes=10)
    loaded = again(learner, tmp_path / "m.mb")
    for each in (learner, loaded):
        each.run(X[50:], y[50:])
    assert state(loaded) == state(learner)
    for each in (learner, loaded):
        each.fit(X, y)
    assert loaded.ledger_.rule.eta == 0.9
    assert state(loaded) == state(learner)


def test_columns_of_a_frame(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = stream(50)
    # As objects: beside pyarrow, pandas would keep its strings there, which takes no half of a pair.
    frame = pandas.DataFrame(X, columns=pandas.Index([f"größe {i}\ud800" for i in range(12)], dtype=object))
    learner = mb.Perceptron().fit(frame, y)
    loaded = again(learner, tmp_path / "m.mb")
    assert loaded.n_features_in_ == 12
    assert loaded.classes_.tolist() == [0, 1]
    assert loaded.predict(frame).tolist() == learner.predict(frame).tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame[frame.columns[::-1]])


def test_names_of_every_kind(tmp_path: Path) -> None:
    learner = mb.Perceptron()
    names = ["", "\0", "a\nb", "größe", "日本", "🎲", "x" * 5000, "a=b", '"\\']
    for t, name in enumerate(names):
        learner.learn_one({name: 1, "all": t}, t % 2)
    loaded = again(learner, tmp_path / "m.mb")
    assert loaded.weights_ == learner.weights_
    assert set(names) <= {*loaded.weights_, *names[1::2]}


def test_saved_while_another_thread_learns(tmp_path: Path) -> None:
    X, y = stream(20_000)
    learner = mb.Perceptron()
    learner.run(X[:10], y[:10])
    allowed = threading.Semaphore(0)
    thread = threading.Thread(target=lambda: [learner.run(X, y) for _ in range(10) if allowed.acquire()], daemon=True)
    thread.start()

    def saved_rounds() -> int:
        learner.save(tmp_path / "m.mb")
        ledger = mb.load(tmp_path / "m.mb").ledger_
        assert len(ledger.predictions) == ledger.rounds
        return ledger.rounds

    for runs in range(1, 11):
        allowed.release()
        wait_until(lambda runs=runs: saved_rounds() == 10 + runs * len(X))  # saved while each run goes on
    thread.join()


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("model-v*.mb")), ids=lambda path: path.stem)
def test_files_of_earlier_versions(path: Path) -> None:
    found = importlib.util.spec_from_file_location("make", FIXTURES / "make.py")
    make = importlib.util.module_from_spec(found)
    found.loader.exec_module(make)
    said = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    rows, labels = said.pop("rows"), said.pop("labels")
    now = make.facts(mb.load(path), rows, labels)
    assert json.dumps(now) == json.dumps(said)


FIRST_FORMAT = {"Arow": 4}
"""Formats before which a learner did not exist."""


def test_every_format_has_its_files() -> None:
    for version in range(1, FORMAT + 1):
        learners = {json.loads(text)["learner"] for text in map(said_in, FIXTURES.glob(f"model-v{version}-*.mb"))}
        assert learners == {name for name in KINDS if FIRST_FORMAT.get(name, 1) <= version}


def test_it_is_a_safetensors_file(tmp_path: Path) -> None:
    """Whoever has the package reads the arrays without us."""
    safetensors = pytest.importorskip("safetensors")
    X, y = stream(60)
    learner = mb.BalancedWinnow(classes=(0, 1))
    learner.run(dicts(X), y)
    learner.save(tmp_path / "m.mb")
    with safetensors.safe_open(tmp_path / "m.mb", framework="np") as file:
        assert set(file.metadata()) == {"sha256", "mistakebound"}
        assert file.get_tensor("z").tobytes() == learner._play.engine.core.z()[0].tobytes()
        assert file.get_tensor("kept_value").tobytes() == learner.ledger_.kept.value.tobytes()
        names, ends = file.get_tensor("name_bytes").tobytes(), file.get_tensor("name_offsets")
        assert [names[a:b].decode() for a, b in pairwise(ends)] == learner.ledger_.names


def test_importing_does_not_load_what_saving_needs() -> None:
    code = (
        "import sys, mistakebound; print({'mistakebound.models.model_file', 'safetensors', 'json'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# ---------------------------------------------------------------------- what cannot be saved


class Mine(mb.Perceptron):
    """A learner of somebody else."""


def told(*labels: Any) -> Any:
    learner = mb.Perceptron(classes=labels)
    learner.run([[1.0], [2.0]], list(labels))
    return learner


UNSAVEABLE: list[tuple[Callable[[], Any], str]] = [
    (Mine, "Mine is not one of mistakebound's own"),
    (lambda: mb.Perceptron(classes=iter((0, 1))), "a file holds None, bool"),
    (lambda: mb.Perceptron(classes=((1, 2), (3, 4))), r"\(1, 2\) is of type tuple"),
    (lambda: mb.Perceptron(bias=1j), "1j is of type complex"),
    (lambda: mb.Perceptron(classes=(np.datetime64("2020-01-01"), 1)), "is of type date"),
    (lambda: told(None, 1), "label None is of type NoneType"),
    (lambda: told(b"a", b"b"), "b'a' is of type bytes"),
    (lambda: told(signal.SIGINT, 99), "is of type Signals"),
]


@pytest.mark.parametrize(("make", "reason"), UNSAVEABLE)
def test_what_no_file_can_hold(make: Callable[[], Any], reason: str, tmp_path: Path) -> None:
    path = tmp_path / "m.mb"
    with pytest.raises(mb.ModelError, match=f"cannot save .*m.mb: .*{reason}"):
        make().save(path)
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------- files that are not sound


def sealed(header: bytes, data: bytes) -> bytes:
    """A file with a true SHA-256, whatever else is wrong with it."""
    head = len(header).to_bytes(8, "little") + header
    at = head.index(b'"sha256":"') + 10
    digest = hashlib.sha256(head[:at] + head[at + 64 :] + data).hexdigest().encode()
    return head[:at] + digest + head[at + 64 :] + data


def said_in(path: Path) -> str:
    data = path.read_bytes()
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["mistakebound"]


class Forgery:
    """A model file taken apart, to be changed and put together again with a true SHA-256."""

    def __init__(self, data: bytes) -> None:
        end = 8 + int.from_bytes(data[:8], "little")
        self.header = json.loads(data[8:end])
        self.said = json.loads(self.header.pop("__metadata__")["mistakebound"])
        self.arrays = {}
        for name, tensor in self.header.items():
            begin, stop = tensor["data_offsets"]
            self.arrays[name] = np.frombuffer(data[end + begin : end + stop], DTYPES[tensor["dtype"]]).copy()

    def sealed(self, *, describe: bool = True) -> bytes:
        """Put together; with ``describe`` the header tells the truth of the arrays."""
        at = 0
        for name, array in self.arrays.items() if describe else ():
            self.header[name]["shape"] = [len(array)]
            self.header[name]["data_offsets"] = [at, at := at + array.nbytes]
        metadata = {"sha256": "0" * 64, "mistakebound": json.dumps(self.said)}
        text = json.dumps({"__metadata__": metadata, **self.header}, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        return sealed(text, b"".join(array.tobytes() for array in self.arrays.values()))


def model(kind: str = "perceptron", named: bool = False, rounds: int = 12) -> Any:
    make, binary, _ = LEARNERS[kind]
    X, y = stream(rounds, binary=binary)
    learner = make(classes=(0, 1))
    learner.run(dicts(X) if named else X, y)
    return learner


def bytes_of(learner: Any, path: Path) -> bytes:
    learner.save(path)
    return path.read_bytes()


def refuse(path: Path, data: bytes, reason: str = "") -> None:
    path.write_bytes(data)
    with pytest.raises(mb.ModelError, match=f"^cannot load .*{path.name}: .*{reason}"):
        mb.load(path)


def test_every_flipped_byte_and_every_cut(tmp_path: Path) -> None:
    path = tmp_path / "m.mb"
    learner = mb.Perceptron(classes=("no", "yes"))
    learner.run([{"a": 1, "é": 2}, {"a": 2}, {"b": 1}], ["no", "yes", "no"])
    whole = bytes_of(learner, path)
    assert Forgery(whole).sealed() == whole
    for at in range(len(whole)):
        refuse(path, whole[:at])
        for flip in (1 << at % 8, 255):
            refuse(path, whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :])
    refuse(path, whole + b"\0", "SHA-256")
    refuse(path, whole + whole, "SHA-256")


def test_what_is_no_model(tmp_path: Path) -> None:
    path, whole = tmp_path / "m.mb", bytes_of(model(), tmp_path / "m.mb")
    end = 8 + int.from_bytes(whole[:8], "little")
    header, data = whole[8:end], whole[end:]
    refuse(path, b"", "empty")
    refuse(path, b"\x80\x04K\x01.", "not a model")
    refuse(path, (2).to_bytes(8, "little") + b"{}", "not a model")
    refuse(path, whole[:-1], "altered or cut short")
    refuse(path, b"\xff" * 8 + whole[8:], "should have 18446744073709551615 bytes")
    refuse(path, (len(whole) - 7).to_bytes(8, "little") + whole[8:], "only .* follow")
    refuse(path, sealed(header[:-1].rstrip() + b',"z":{}}' + b" " * 8, data), "JSON|twice")
    refuse(path, sealed(header.rstrip()[:-1] + b',"z":{}}', data), "key twice")
    refuse(path, sealed(header.replace(b'\\"width\\"', b'\\"width\\": 2, \\"width\\"'), data), "key twice")
    refuse(path, sealed(header.replace(b'"shape":[', b'"shape":[' + b"[" * 100_000, 1), data), "not valid JSON")
    refuse(path, sealed(header.replace(b'\\"width\\": 12', b'\\"width\\": NaN'), data), "NaN")
    refuse(path, sealed(header.replace(b'\\"width\\": 12', b'\\"width\\": ' + b"9" * 5000), data), "not valid JSON")
    refuse(path, sealed(header.replace(b"F32", b"F\xff2"), data), "not valid JSON")
    refuse(path, sealed(header + b" ", data), "multiple of 8")
    refuse(path, sealed(header, data + b"\0"), "more in the file")
    refuse(path, sealed(header, data[:-1]), "beyond the end")
    with pytest.raises(FileNotFoundError):
        mb.load(tmp_path / "none.mb")


def change(where: str, value: Any) -> Callable[[Forgery], None]:
    """Change what the metadata say, such as "life.counts.0"."""

    def act(forgery: Forgery) -> None:
        *way, last = where.split(".")
        at: Any = forgery.said
        for step in way:
            at = at[int(step) if isinstance(at, list) else step]
        at[int(last) if isinstance(at, list) else last] = value

    return act


def swap(name: str, make: Callable[[Any], Any]) -> Callable[[Forgery], None]:
    """Exchange a tensor for another one of its type."""

    def act(forgery: Forgery) -> None:
        old = forgery.arrays[name]
        forgery.arrays[name] = np.array(make(old), old.dtype)

    return act


def put(name: str, at: int, value: Any) -> Callable[[Forgery], None]:
    return swap(name, lambda old: [*old[: at % len(old)], value, *old[at % len(old) + 1 :]])


def both(*acts: Callable[[Forgery], None]) -> Callable[[Forgery], None]:
    return lambda forgery: [act(forgery) for act in acts] and None


HOSTILE: list[tuple[str, Callable[[Forgery], Any], str]] = [
    ("", change("format", 5), r"written by a newer mistakebound \(format 5\); this one reads up to 4"),
    ("", both(change("format", 99), change("anything", 1)), "newer"),
    ("", change("format", 0), "no format"),
    ("", change("progress", [1]), "its progress, reading or tickets are not an object"),
    ("", change("format", True), "no format"),
    ("", change("format", "1"), "no format"),
    ("", lambda f: f.said.pop("format"), "no format"),
    ("", change("more", 1), "'more' is unknown"),
    ("", lambda f: f.said.pop("labels"), "labels is missing"),
    ("", change("learner", "eval"), "'eval' is none of Perceptron"),
    ("", change("learner", ["Perceptron"]), "is none of"),
    ("", change("learner", "LinearLearner"), "is none of"),
    ("", change("parameters", []), "not an object"),
    ("", change("parameters.self", 1), "self"),
    ("", change("parameters.alpha", 1), "alpha"),
    ("", change("parameters.bias", [1]), "parameters.bias .*got a list"),
    ("", change("parameters.bias", {"float": "1.5"}), "1.5"),
    ("", change("parameters.bias", {"float": "nan", "list": []}), "unknown"),
    ("", change("parameters.bias", {"tuple": 3}), "tuple should be a list"),
    ("", change("parameters.classes", {"list": [{"list": []}]}), "float is missing"),
    ("", change("columns", []), "columns"),
    ("", change("columns", "abc"), "columns"),
    ("", change("columns", ["a", 1]), "columns"),
    ("", change("labels", []), "negative"),
    ("", change("labels.negative", None), "not bool, int, float or str"),
    ("", change("labels.negative", 1.0), "two different labels"),
    ("", change("labels.negative", "b\0"), "NUL"),
    ("", change("labels.negative", {"float": "nan"}), "two different labels"),
    ("", change("labels.known", [1, 1]), "not ±1"),
    ("", change("labels.known", [0]), "not ±1"),
    ("", change("labels.known", [True]), "not ±1"),
    ("", change("labels.known", None), "not ±1"),
    ("", change("life", None), "only a life has any"),
    ("", lambda f: (f.header.clear(), f.arrays.clear()), "a life needs tensors"),
    ("", change("life", {}), "parameters is missing"),
    ("", change("life.parameters.bias", "1"), "bias must be"),
    ("", change("life.parameters.bias", 10**400), "bias must be"),
    ("", change("life.parameters.keep_bytes", -1), "keep_bytes must be"),
    ("", change("life.parameters.keep_bytes", 2**70), ""),
    ("", change("life.parameters.eta", 1), "eta"),
    ("", change("life.width", -1), "width"),
    ("", change("life.width", True), "width"),
    ("", change("life.width", 12.0), "width"),
    ("", change("life.width", 11), "number of its weights"),
    ("", change("life.width", 2**62), "number of its weights"),
    ("", change("life.width", None), "number of its weights"),
    ("", swap("z", lambda z: z[:-1]), "number of its weights"),
    ("", swap("z", lambda z: []), "number of its weights"),
    ("", put("z", 3, INF), "z is not finite"),
    ("", put("z", 3, NAN), "z is not finite"),
    ("", change("life.counts", [12, 0, 0, 0]), "five whole numbers"),
    ("", change("life.counts.0", 12.0), "five whole numbers"),
    ("", change("life.counts.0", 11), "predictions do not fit"),
    ("", change("life.counts.0", 2**63), "out of range"),
    ("", change("life.counts.1", -1), "out of range"),
    ("", change("life.counts.1", 2**64), "counts disagree"),
    ("", change("life.counts.3", 0), "counts disagree"),
    ("", change("life.counts.4", 0), "counts disagree"),
    ("", change("life.counts.4", 2**40), "counts disagree"),
    (
        "",
        lambda f: f.said["life"]["counts"].__setitem__(slice(1, 3), f.said["life"]["counts"][2:0:-1]),
        "fit the counts",
    ),
    ("", change("life.keeping", 1), "neither true nor false"),
    ("", change("life.keeping", False), "more or fewer"),
    ("keeps nothing", change("life.keeping", True), "more or fewer"),
    ("", change("life.sums", {}), "bias_z is missing"),
    ("", change("life.sums.peak", 1), "not real numbers"),
    ("", change("life.sums.peak", None), "not real numbers"),
    ("", change("life.sums.bias_z", 1e39), "not a finite float32"),
    ("", change("life.sums.bias_z", {"float": "nan"}), "not a finite float32"),
    ("", put("predictions", 0, 2), "predictions do not fit"),
    ("", swap("predictions", lambda p: p[:-1]), "predictions do not fit"),
    ("", swap("predictions", lambda p: 1 - p), "fit the counts"),
    ("", swap("mistake_rounds", lambda r: r[:-1]), "fit their number"),
    ("", swap("mistake_rounds", lambda r: r[::-1]), "out of order"),
    ("", put("mistake_rounds", -1, 12), "out of order"),
    ("", put("mistake_rounds", 0, -1), "out of order"),
    ("perceptron with a margin", swap("kept_mistaken", lambda m: 1 - m), "other mistakes"),
    ("", put("kept_mistaken", 0, 0), "other mistakes"),
    ("", put("kept_mistaken", 0, 2), "not ±1"),
    ("", put("kept_labels", 0, 0), "not ±1"),
    ("", put("kept_labels", 0, -128), "not ±1"),
    ("", swap("kept_labels", lambda a: a[:-1]), "lengths"),
    ("", swap("kept_mistaken", lambda a: a[:-1]), "lengths"),
    ("", swap("kept_indptr", lambda a: a[:-1]), "lengths"),
    ("", swap("kept_indptr", lambda a: []), "lengths"),
    ("", swap("kept_rounds", lambda a: a[:-1]), "more or fewer"),
    ("", swap("kept_rounds", lambda a: a[::-1]), "out of order"),
    ("", put("kept_rounds", -1, 12), "out of order"),
    (
        "",
        swap("kept_rounds", lambda a: [*a[:-1], 11] if a[-1] < 11 else [a[0] + 1 - 2 * (a[0] > 0), *a[1:]]),
        "other mistakes|order",
    ),
    ("", put("kept_indptr", 0, 1), "fit together"),
    ("", put("kept_indptr", 1, 10**6), "fit together"),
    ("", put("kept_indptr", -1, 1), "fit together"),
    ("", swap("kept_index", lambda a: a[:-1]), "fit together"),
    ("", swap("kept_value", lambda a: a[:-1]), "fit together"),
    ("", put("kept_index", 0, 12), "feature that it does not have"),
    ("", put("kept_index", 0, 2**32 - 1), "feature that it does not have"),
    ("", put("kept_value", 0, NAN), "value that is not finite"),
    ("", put("kept_value", 0, 2e30), "value that is too large"),
    ("", put("kept_value", 0, -1e300), "value that is too large"),
    ("winnow", put("kept_value", 0, 0.5), "neither 0 nor 1"),
    ("", swap("kept_labels", lambda a: -a), "kept.labels"),
    ("keeps little", put("kept_labels", 0, 1), "kept.labels"),
    ("", change("life.parameters.classes", {"list": [0, 1]}), "classes"),
    ("", change("life.sums.total", 1.0), "total"),
    ("", change("life.sums.factor", {"float": "nan"}), "total"),
    ("normalized", change("life.sums.total", 1e9), "total of the weights"),
    ("normalized", change("life.sums.total", {"float": "nan"}), "total of the weights"),
    ("balanced", change("life.sums.factor", 100.0), "total of the weights"),
    ("pnorm", change("life.sums.total", -1.0), "total of the weights"),
    ("pnorm", change("life.sums.total_rest", 1e300), "total of the weights"),
    ("", swap("name_offsets", lambda a: []), "cut their bytes"),
    ("", swap("name_offsets", lambda a: [1]), "cut their bytes"),
    ("", both(swap("name_offsets", lambda a: [0, 1]), swap("name_bytes", lambda a: [65])), "have no names"),
    ("named", both(change("life.width", 1), swap("z", lambda z: z[:1])), "no names"),
    ("named", put("name_offsets", 1, -5), "cut their bytes"),
    ("named", put("name_offsets", 1, 10**9), "cut their bytes"),
    ("named", put("name_offsets", -1, 1), "cut their bytes"),
    ("named", put("name_bytes", 0, 255), "not UTF-8"),
    ("named", swap("name_bytes", lambda a: [*a[2:4], *a[2:]]), "comes twice"),
    ("named", swap("name_offsets", lambda a: [0, 0, 0, *a[3:]]), "comes twice"),
    ("named", swap("z", lambda z: [*z, 0]), "number of its weights"),
    ("named", lambda f: put("kept_index", 0, len(f.arrays["z"]) - 1)(f), "feature that it does not have"),
    ("winnow, conjunction", change("life.parameters.target", "xor"), "target must be"),
    ("winnow, conjunction", change("life.parameters.complements", True), "number of its weights"),
    ("winnow, conjunction", change("life.parameters.threshold", {"float": "nan"}), "threshold must be"),
    ("winnow", change("life.parameters.alpha", 1.0), "alpha must be"),
    ("pnorm", change("life.parameters.p", {"float": "inf"}), "p must be"),
]


@pytest.mark.parametrize(("kind", "act", "reason"), HOSTILE)
def test_each_contradiction_is_refused(kind: str, act: Any, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "m.mb"
    learner = model(named=True) if kind == "named" else model(kind or "perceptron")
    whole = bytes_of(learner, path)
    forgery = Forgery(whole)
    act(forgery)
    forged = forgery.sealed()
    assert forged != whole
    refuse(path, forged, reason)


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("dtype", "F64"),
        ("dtype", "F16"),
        ("dtype", 4),
        ("shape", [-12]),
        ("shape", [2**63]),
        ("shape", [12, 1]),
        ("shape", [12.0]),
        ("shape", []),
        ("shape", 12),
        ("data_offsets", [0, 48]),
        ("data_offsets", []),
        ("data_offsets", "ab"),
        ("more", 1),
    ],
)
def test_a_header_that_lies_about_a_tensor(entry: str, value: Any, tmp_path: Path) -> None:
    forgery = Forgery(bytes_of(model(), tmp_path / "m.mb"))
    forgery.header["z"][entry] = value
    refuse(tmp_path / "m.mb", forgery.sealed(describe=False), "z|dtype")


def test_tensors_missing_added_or_out_of_order(tmp_path: Path) -> None:
    whole = bytes_of(model(), tmp_path / "m.mb")
    for act in (
        lambda header: header.pop("z"),
        lambda header: header.update(more=header["z"]),
        lambda header: header.update(z=header.pop("z")),
    ):
        forgery = Forgery(whole)
        act(forgery.header)
        refuse(tmp_path / "m.mb", forgery.sealed(describe=False), "tensors should be")


NASTY = [
    None,
    True,
    0,
    1,
    -1,
    2,
    7,
    2**31,
    2**32,
    2**63,
    -(2**63),
    2**64,
    0.0,
    -1.5,
    1e300,
    "",
    "a",
    "best",
    "inf",
    [],
    [0],
]
NASTY += [
    {},
    {"float": "inf"},
    {"float": "nan"},
    {"tuple": [1, 2]},
    {"list": []},
    "Winnow",
    "BalancedWinnow",
    12.0,
    [1, -1],
]


def leaves(at: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, Any]]:
    """Every (container, key) in what JSON gave."""
    inner = at.items() if isinstance(at, dict) else enumerate(at) if isinstance(at, list) else ()
    found = [(at, key) for key, _ in inner]
    return found + [leaf for _, value in list(inner) for leaf in leaves(value)]


def mutate(forgery: Forgery, rng: np.random.Generator) -> bool:
    """Change one thing; returns whether the header should be made to fit the arrays again."""
    what = rng.integers(6)
    if what <= 1:
        at, key = (found := leaves(forgery.said))[rng.integers(len(found))]
        at[key] = NASTY[rng.integers(len(NASTY))]
    elif what == 2:
        at, key = (found := leaves(forgery.said))[rng.integers(len(found))]
        if isinstance(at[key], (int, float)):
            at[key] += type(at[key])(rng.integers(-2, 3))
        elif isinstance(at, dict) and rng.random() < 0.3:
            del at[key]
    elif what == 3:
        at, key = (found := leaves(forgery.header))[rng.integers(len(found))]
        at[key] = NASTY[rng.integers(len(NASTY))]
        return False
    else:
        name = list(forgery.arrays)[rng.integers(len(forgery.arrays))]
        array = forgery.arrays[name]
        at = int(rng.integers(len(array) + 1))
        if what == 4:
            some = np.frombuffer(rng.bytes(array.itemsize), array.dtype)
            one = some if rng.random() < 0.3 else array[rng.integers(len(array), size=1)] if len(array) else some
            forgery.arrays[name] = np.concatenate([array[:at], one, array[at + int(rng.integers(2)) :]])
        elif len(array):
            small = array.copy()
            small[at % len(array)] = rng.integers(0, 3)
            forgery.arrays[name] = small
    return True


def use(learner: Any, *, certify: bool) -> None:
    """Whatever was accepted must serve: nothing but a ValueError may come of it."""
    named = learner._play is not None and learner._play.engine.named
    width = learner._play.engine.width if learner._play is not None and not named else 12
    rows: list[Any] = [{"f1": 1, "fresh": 1}, {"f2": 1, "other": 0}] if named else np.eye(2, width).tolist()
    labels = learner._labels.pair
    for call in (
        lambda: [learner.predict_one(x) for x in rows],
        lambda: learner.run(rows, list(labels)),
        lambda: [learner.learn_one(x, labels[1]) for x in rows],
        lambda: (learner.ledger_.predictions, learner.ledger_.mistake_curve, learner.weights_),
        lambda: learner.certify() if certify else None,
    ):
        with suppress(ValueError):
            call()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # weights beyond all measure overflow, as they would in a run
def test_forged_headers_and_tensors(tmp_path: Path) -> None:
    """Thousands of files with a true SHA-256 and something else in them: refused, or a learner that serves."""
    rng, path = np.random.default_rng(0), tmp_path / "m.mb"
    kinds = [("perceptron", True), ("winnow", False), ("balanced, halving", True), ("keeps little", False)]
    kinds += [("elimination, all", False), ("pnorm", True), ("normalized, rescaled", False)]
    files = [bytes_of(model(kind, named), path) for kind, named in kinds]
    outcomes = {"refused": 0, "accepted": 0}
    for t in range(3000):
        forgery = Forgery(files[t % len(files)])
        described = [mutate(forgery, rng) for _ in range(int(rng.integers(1, 3)))]
        try:
            path.write_bytes(forgery.sealed(describe=all(described)))
        except (AttributeError, KeyError, TypeError):
            continue  # the header is no longer one that can be made to fit
        try:
            learner = mb.load(path)
        except mb.ModelError:
            outcomes["refused"] += 1
            continue
        outcomes["accepted"] += 1
        use(learner, certify=outcomes["accepted"] % 20 == 0)
    assert outcomes["refused"] > 1500
    assert outcomes["accepted"] > 150


# ---------------------------------------------------------------------- files are whole at any moment


@pytest.mark.parametrize("broken", ["write", "fsync", "replace", "interrupted"])
def test_a_failing_save_leaves_the_old_file(broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.mb"
    old = bytes_of(model(), path)

    def fail(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt if broken == "interrupted" else OSError(28, "No space left on device")

    if broken == "write":
        real = os.fdopen
        monkeypatch.setattr(os, "fdopen", lambda *a, **k: Half(real(*a, **k)))
    else:
        monkeypatch.setattr(os, "fsync" if broken == "fsync" else "replace", fail)
    with pytest.raises(KeyboardInterrupt if broken == "interrupted" else OSError):
        model("winnow").save(path)
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == old


class Half:
    """A file on a disk that fills up after the first part."""

    def __init__(self, file: Any) -> None:
        self.file, self.parts = file, 0

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def write(self, part: bytes) -> int:
        self.parts += 1
        if self.parts > 2:
            raise OSError(28, "No space left on device")
        return self.file.write(part)


@pytest.mark.skipif(os.name == "nt", reason="folders are not synced there")
def test_the_folder_is_synced_after_the_file_took_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, order = tmp_path / "m.mb", []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(
        os, "fsync", lambda f: (order.append("folder" if stat.S_ISDIR(os.fstat(f).st_mode) else "file"), sync(f))
    )
    monkeypatch.setattr(os, "replace", lambda *a: (order.append("replace"), replace(*a)))
    model().save(path)
    assert order == ["file", "replace", "folder"]


def test_links_permissions_and_folders(tmp_path: Path) -> None:
    real, link = tmp_path / "real.mb", tmp_path / "link.mb"
    model().save(str(real))
    real.chmod(0o640)
    link.symlink_to(real)
    model("winnow").save(link)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert isinstance(mb.load(str(real)), mb.Winnow)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        model().save(tmp_path / "nowhere" / "m.mb")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        model().save(tmp_path / "folder")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["folder", "link.mb", "real.mb"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_killed_in_the_midst_of_saving(tmp_path: Path) -> None:
    """kill -9 at any moment leaves the old file or the new one, whole."""
    path, models = tmp_path / "m.mb", []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        learner = mb.Perceptron()
        learner.run(rng.standard_normal((20_000, 20)), rng.choice([-1, 1], 20_000))
        models.append(learner)
    models[0].save(path)
    whole = {bytes_of(learner, tmp_path / "whole.mb") for learner in models}
    found, unfinished = set(), 0

    def kill_once(*, while_writing: bool) -> None:
        nonlocal unfinished
        before = path.stat().st_mtime_ns
        child = os.fork()
        if child == 0:
            try:
                for t in count():
                    models[t % 2].save(path)
            finally:
                os._exit(1)
        try:
            if while_writing:
                wait_until(lambda: any(tmp_path.glob(".*")))
            else:
                wait_until(lambda: path.stat().st_mtime_ns != before)
        finally:
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
        found.add(path.read_bytes())
        for left in tmp_path.glob(".*"):
            unfinished += 1
            left.unlink()

    for turn in range(30):
        kill_once(while_writing=turn % 2 == 0)
    wait_until(lambda: unfinished or kill_once(while_writing=True))  # some are killed while they write
    assert found <= whole
    mb.load(path)

"""A saved learner continues as if never stopped, an invalid file raises an error, no save leaves half a file."""

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
    "passive-aggressive I": (lambda **k: mb.PassiveAggressiveI(c=0.3, bias=-0.5, **k), False, True),
    "passive-aggressive II": (lambda **k: mb.PassiveAggressiveII(c=3.0, **k), False, True),
    "averaged": (mb.AveragedPerceptron, False, True),
    "averaged with a bias": (lambda **k: mb.AveragedPerceptron(bias=-0.5, **k), False, True),
    "coin betting": (lambda **k: mb.CoinBetting(bias=0.5, **k), False, True),
    "implicit logistic": (lambda **k: mb.ImplicitLogistic(rate=0.5, bias=0.5, **k), False, True),
    "adagrad logistic": (lambda **k: mb.AdaGradLogistic(rate=0.5, bias=0.5, **k), False, True),
    "adagrad hinge": (lambda **k: mb.AdaGradHinge(rate=0.5, bias=0.5, **k), False, True),
    "ftrl": (lambda **k: mb.FtrlProximal(alpha=0.5, bias=0.5, **k), False, True),
    "sgd": (lambda **k: mb.LogisticSgd(rate=0.5, bias=0.5, **k), False, True),
    "exponentiated gradient": (lambda **k: mb.ExponentiatedGradient(eta=0.1, bias=0.5, **k), False, True),
    "naive bayes": (mb.NaiveBayes, False, True),
    "decision list": (mb.DecisionList, False, True),
    "panel": (mb.Panel, False, True),
    "panel, lean": (lambda **k: mb.Panel("lean", threads=1, **k), False, True),
    "panel, lean, two threads": (lambda **k: mb.Panel("lean", threads=2, **k), False, True),
    "panel of some members": (
        lambda **k: mb.Panel(("label-history", "coin-betting-pairs", "arow"), threads=2, **k),
        False,
        True,
    ),
    "panel, one thread": (lambda **k: mb.Panel(threads=1, **{**k, "keep_bytes": 300}), False, True),
    "keeps little": (lambda **k: mb.Perceptron(**{**k, "keep_bytes": 300}), False, True),
    "keeps nothing": (lambda **k: mb.Perceptron(**{**k, "keep_bytes": 0}), False, True),
}
CASES = [(name, named) for name, (_, _, names) in LEARNERS.items() for named in (False, True) if names or not named]


def state(learner: Any) -> Any:
    """The state of a learner in a form in which NaN equals NaN, and −0.0 differs from 0.0."""

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
    """Save and load a learner; saving it again gives the same bytes."""
    learner.save(path)
    loaded = mb.load(path)
    twin = path.with_name("twin.mb")
    loaded.save(twin)
    assert twin.read_bytes() == path.read_bytes()
    assert state(loaded) == state(learner)
    return loaded


# ---------------------------------------------------------------------- saving and loading


@pytest.mark.parametrize(("name", "named"), CASES)
@pytest.mark.parametrize("classes", [(0, 1), None])
def test_a_loaded_learner_continues_as_if_never_stopped(name: str, named: bool, classes: Any, tmp_path: Path) -> None:
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
    if "keeps" not in name and DECLARATIONS[whole.rule_id].linear:
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
    of_two = set(KINDS.values()) - {mb.MulticlassPerceptron}  # tests/learners/test_multiclass.py has its files
    assert {type(make()) for make, _, _ in LEARNERS.values()} == of_two
    public = {getattr(mb, name) for name in mb.__all__ if hasattr(getattr(mb, name), "learn_one")}
    assert public - {mb.MultilabelPanel} == set(KINDS.values())


@pytest.mark.parametrize("eta", [1e308, 1e-320])
@pytest.mark.parametrize("make", [mb.NormalizedWinnow, mb.BalancedWinnow])
def test_sums_that_overflowed_come_back(make: Any, eta: float, tmp_path: Path) -> None:
    """A huge rate leaves NaN and infinities in the running totals."""
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
        with pytest.raises(mb.StreamError) as caught:
            loaded.learn_one(X[0], "another")
        assert (caught.value.kind, caught.value.value) == ("third label", "another")


def test_labels_of_numpy_and_one_label_of_two(tmp_path: Path) -> None:
    """Only one label seen so far; and a learner that has only predicted."""
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
def test_a_learner_without_rounds(kind: Any, tmp_path: Path) -> None:
    loaded = again(kind(classes=("a", "b")), tmp_path / "m.mb")
    assert loaded._play is None
    loaded.run([[1, 0], [0, 1]], ["a", "b"])
    assert loaded.ledger_.rounds == 2


@pytest.mark.parametrize("value", [INF, -INF, NAN, -0.0, 5e-324, 1e300, 10**30, True, None, "best", 3])
def test_parameters_of_every_kind(value: Any, tmp_path: Path) -> None:
    again(mb.BalancedWinnow(eta="best", margin=value, radius=value), tmp_path / "m.mb")


def test_parameters_of_numpy_are_loaded_as_plain_values(tmp_path: Path) -> None:
    """Numbers and arrays of numpy, and any collection of classes, are saved as plain values."""
    pandas = pytest.importorskip("pandas")
    for classes in (np.array([0, 1]), range(2), pandas.Series([0, 1]), {0: "no", 1: "yes"}.keys()):
        mb.Perceptron(classes=classes).save(tmp_path / "m.mb")
        assert repr(mb.load(tmp_path / "m.mb").classes) == "[0, 1]"
    mb.Perceptron(classes=(np.str_("a"), np.int8(1)), bias=np.float32(0.1)).save(tmp_path / "m.mb")
    loaded = mb.load(tmp_path / "m.mb")
    assert repr(loaded.classes) == "('a', 1)"
    assert repr(loaded.bias) == repr(float(np.float32(0.1)))


def test_a_learner_keeps_its_rule_after_set_params(tmp_path: Path) -> None:
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
    # As objects: with pyarrow installed, strings of pandas cannot contain half of a surrogate pair.
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


OF_FORMAT_1 = {"perceptron", "winnow", "normalized-winnow", "balanced-winnow", "pnorm", "elimination"}
FIRST_FORMAT = {declared.learner: 4 for name, declared in DECLARATIONS.items() if name not in OF_FORMAT_1}
FIRST_FORMAT |= {"Panel": 5, "MulticlassPerceptron": 6}
FIRST_FORMAT["MulticlassPerceptron"] = 6
"""Formats before which a learner did not exist."""


def test_every_format_has_its_files() -> None:
    for version in range(1, FORMAT + 1):
        learners = {json.loads(text)["learner"] for text in map(said_in, FIXTURES.glob(f"model-v{version}-*.mb"))}
        assert learners == {name for name in KINDS if FIRST_FORMAT.get(name, 1) <= version}


def test_it_is_a_safetensors_file(tmp_path: Path) -> None:
    """The package safetensors can read the arrays."""
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


def test_importing_the_package_does_not_import_modules_for_saving() -> None:
    code = (
        "import sys, mistakebound; print({'mistakebound.models.model_file', 'safetensors', 'json'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# ---------------------------------------------------------------------- learners that cannot be saved


class Mine(mb.Perceptron):
    """A learner of another package."""


def told(*labels: Any) -> Any:
    learner = mb.Perceptron(classes=labels)
    learner.run([[1.0], [2.0]], list(labels))
    return learner


UNSAVEABLE: list[tuple[Callable[[], Any], str]] = [
    (Mine, "Mine"),
    (lambda: mb.Perceptron(classes=iter((0, 1))), "tuple_iterator"),
    (lambda: mb.Perceptron(classes=((1, 2), (3, 4))), r"\(1, 2\).*tuple"),
    (lambda: mb.Perceptron(bias=1j), "1j.*complex"),
    (lambda: mb.Perceptron(classes=(np.datetime64("2020-01-01"), 1)), r"\bdate\b"),
    (lambda: told(None, 1), "None.*NoneType"),
    (lambda: told(b"a", b"b"), "b'a'.*bytes"),
    (lambda: told(signal.SIGINT, 99), "Signals"),
]


@pytest.mark.parametrize(("make", "reason"), UNSAVEABLE)
def test_a_learner_that_a_file_cannot_store(make: Callable[[], Any], reason: str, tmp_path: Path) -> None:
    path = tmp_path / "m.mb"
    with pytest.raises(mb.ModelError, match=f"m.mb: .*{reason}"):
        make().save(path)
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------- files that are not valid


def sealed(header: bytes, data: bytes) -> bytes:
    """A file with a correct SHA-256, whatever else is wrong with it."""
    head = len(header).to_bytes(8, "little") + header
    at = head.index(b'"sha256":"') + 10
    digest = hashlib.sha256(head[:at] + head[at + 64 :] + data).hexdigest().encode()
    return head[:at] + digest + head[at + 64 :] + data


def said_in(path: Path) -> str:
    data = path.read_bytes()
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["mistakebound"]


class Forgery:
    """The parts of a model file, to be changed and joined again with a correct SHA-256."""

    def __init__(self, data: bytes) -> None:
        end = 8 + int.from_bytes(data[:8], "little")
        self.header = json.loads(data[8:end])
        self.said = json.loads(self.header.pop("__metadata__")["mistakebound"])
        self.arrays = {}
        for name, tensor in self.header.items():
            begin, stop = tensor["data_offsets"]
            self.arrays[name] = np.frombuffer(data[end + begin : end + stop], DTYPES[tensor["dtype"]]).copy()

    def sealed(self, *, describe: bool = True) -> bytes:
        """Join the parts; with ``describe``, the header is made to fit the arrays."""
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


def refuse(path: Path, data: bytes, reason: str = "") -> mb.ModelError:
    """Check that loading these bytes raises a ModelError with the path and this reason, and return the error."""
    path.write_bytes(data)
    with pytest.raises(mb.ModelError, match=f"{path.name}: .*{reason}") as caught:
        mb.load(path)
    return caught.value


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


def test_a_file_that_is_not_a_model(tmp_path: Path) -> None:
    path, whole = tmp_path / "m.mb", bytes_of(model(), tmp_path / "m.mb")
    end = 8 + int.from_bytes(whole[:8], "little")
    header, data = whole[8:end], whole[end:]
    refuse(path, b"")
    refuse(path, b"\x80\x04K\x01.", "model")
    refuse(path, (2).to_bytes(8, "little") + b"{}", "model")
    refuse(path, whole[:-1], "SHA-256")
    refuse(path, b"\xff" * 8 + whole[8:], "18446744073709551615 bytes")
    refuse(path, (len(whole) - 7).to_bytes(8, "little") + whole[8:], f"{len(whole) - 7} bytes")
    refuse(path, sealed(header[:-1].rstrip() + b',"z":{}}' + b" " * 8, data), "JSON|z")
    refuse(path, sealed(header.rstrip()[:-1] + b',"z":{}}', data), "key")
    refuse(path, sealed(header.replace(b'\\"width\\"', b'\\"width\\": 2, \\"width\\"'), data), "key")
    refuse(path, sealed(header.replace(b'"shape":[', b'"shape":[' + b"[" * 100_000, 1), data), "JSON")
    refuse(path, sealed(header.replace(b'\\"width\\": 12', b'\\"width\\": NaN'), data), "NaN")
    refuse(path, sealed(header.replace(b'\\"width\\": 12', b'\\"width\\": ' + b"9" * 5000), data), "JSON")
    refuse(path, sealed(header.replace(b"F32", b"F\xff2"), data), "JSON")
    refuse(path, sealed(header + b" ", data), "multiple of 8")
    refuse(path, sealed(header, data + b"\0"), "tensors")
    assert refuse(path, sealed(header, data[:-1])).field == "kept_mistaken"
    with pytest.raises(FileNotFoundError):
        mb.load(tmp_path / "none.mb")


def change(where: str, value: Any) -> Callable[[Forgery], None]:
    """Change one value of the metadata, such as "life.counts.0"."""

    def act(forgery: Forgery) -> None:
        *way, last = where.split(".")
        at: Any = forgery.said
        for step in way:
            at = at[int(step) if isinstance(at, list) else step]
        at[int(last) if isinstance(at, list) else last] = value

    return act


def swap(name: str, make: Callable[[Any], Any]) -> Callable[[Forgery], None]:
    """Replace a tensor by another one of the same type."""

    def act(forgery: Forgery) -> None:
        old = forgery.arrays[name]
        forgery.arrays[name] = np.array(make(old), old.dtype)

    return act


def put(name: str, at: int, value: Any) -> Callable[[Forgery], None]:
    return swap(name, lambda old: [*old[: at % len(old)], value, *old[at % len(old) + 1 :]])


def both(*acts: Callable[[Forgery], None]) -> Callable[[Forgery], None]:
    return lambda forgery: [act(forgery) for act in acts] and None


# Kind of model, change of its file, field of the error (and a word of the message, if the field has several checks).
HOSTILE: list[tuple[str, Callable[[Forgery], Any], str]] = [
    ("", change("format", FORMAT + 1), f"format: newer.* {FORMAT + 1}.* {FORMAT}"),
    ("", both(change("format", 99), change("anything", 1)), "format: newer"),
    ("", change("format", 0), "format"),
    ("", change("progress", [1]), "progress"),
    ("", change("format", True), "format"),
    ("", change("format", "1"), "format"),
    ("", lambda f: f.said.pop("format"), "format"),
    ("", change("more", 1), ": more"),
    ("", lambda f: f.said.pop("labels"), ": labels"),
    ("", change("learner", "eval"), "learner"),
    ("", change("learner", ["Perceptron"]), "learner"),
    ("", change("learner", "LinearLearner"), "learner"),
    ("", change("parameters", []), "parameters"),
    ("", change("parameters.self", 1), "parameters: self"),
    ("", change("parameters.alpha", 1), "parameters: alpha"),
    ("", change("parameters.bias", [1]), "parameters.bias"),
    ("", change("parameters.bias", {"float": "1.5"}), "parameters.bias: 1.5"),
    ("", change("parameters.bias", {"float": "nan", "list": []}), "parameters.bias: list"),
    ("", change("parameters.bias", {"tuple": 3}), "parameters.bias: tuple"),
    ("", change("parameters.classes", {"list": [{"list": []}]}), "parameters.classes.list: float"),
    ("", change("columns", []), "columns"),
    ("", change("columns", "abc"), "columns"),
    ("", change("columns", ["a", 1]), "columns"),
    ("", change("labels", []), "labels"),
    ("", change("labels.negative", None), "labels: bool"),
    ("", change("labels.negative", 1.0), "labels: different"),
    ("", change("labels.negative", "b\0"), "labels: NUL"),
    ("", change("labels.negative", {"float": "nan"}), "labels: different"),
    ("", change("labels.known", [1, 1]), "labels.known"),
    ("", change("labels.known", [0]), "labels.known"),
    ("", change("labels.known", [True]), "labels.known"),
    ("", change("labels.known", None), "labels.known"),
    ("", change("life", None), "life: tensors"),
    ("", lambda f: (f.header.clear(), f.arrays.clear()), "life: tensors"),
    ("", change("life", {}), "life: parameters"),
    ("", change("life.parameters.bias", "1"), "life.parameters: bias"),
    ("", change("life.parameters.bias", 10**400), "life.parameters: bias"),
    ("", change("life.parameters.keep_bytes", -1), "life.parameters: keep_bytes"),
    ("", change("life.parameters.keep_bytes", 2**70), "life.parameters"),
    ("", change("life.parameters.eta", 1), "life.parameters: eta"),
    ("", change("life.width", -1), "life.width"),
    ("", change("life.width", True), "life.width"),
    ("", change("life.width", 12.0), "life.width"),
    ("", change("life.width", 11), "z: number of"),
    ("", change("life.width", 2**62), "z: number of"),
    ("", change("life.width", None), "z: number of"),
    ("", swap("z", lambda z: z[:-1]), "z: number of"),
    ("", swap("z", lambda z: []), "z: number of"),
    ("", put("z", 3, INF), "z: finite"),
    ("", put("z", 3, NAN), "z: finite"),
    ("", change("life.counts", [12, 0, 0, 0]), "life.counts: five"),
    ("", change("life.counts.0", 12.0), "life.counts: five"),
    ("", change("life.counts.0", 11), "predictions: rounds"),
    ("", change("life.counts.0", 2**63), "life.counts: range"),
    ("", change("life.counts.1", -1), "life.counts: range"),
    ("", change("life.counts.1", 2**64), "life.counts: contradict"),
    ("", change("life.counts.3", 0), "life.counts: contradict"),
    ("", change("life.counts.4", 0), "life.counts: contradict"),
    ("", change("life.counts.4", 2**40), "life.counts: contradict"),
    (
        "",
        lambda f: f.said["life"]["counts"].__setitem__(slice(1, 3), f.said["life"]["counts"][2:0:-1]),
        "predictions: mistake",
    ),
    ("", change("life.keeping", 1), "life.keeping"),
    ("", change("life.keeping", False), "kept_rounds: number"),
    ("keeps nothing", change("life.keeping", True), "kept_rounds: number"),
    ("", change("life.sums", {}), "life.sums: bias_z"),
    ("", change("life.sums.peak", 1), "life.sums: real"),
    ("", change("life.sums.peak", None), "life.sums: real"),
    ("", change("life.sums.bias_z", 1e39), "life.sums: float32"),
    ("", change("life.sums.bias_z", {"float": "nan"}), "life.sums: float32"),
    ("", put("predictions", 0, 2), "predictions: rounds"),
    ("", swap("predictions", lambda p: p[:-1]), "predictions: rounds"),
    ("", swap("predictions", lambda p: 1 - p), "predictions: mistake"),
    ("", swap("mistake_rounds", lambda r: r[:-1]), "mistake_rounds: number"),
    ("", swap("mistake_rounds", lambda r: r[::-1]), "mistake_rounds: order"),
    ("", put("mistake_rounds", -1, 12), "mistake_rounds: order"),
    ("", put("mistake_rounds", 0, -1), "mistake_rounds: order"),
    ("perceptron with a margin", swap("kept_mistaken", lambda m: 1 - m), "kept_mistaken"),
    ("", put("kept_mistaken", 0, 0), "kept_mistaken"),
    ("", put("kept_mistaken", 0, 2), "kept_mistaken"),
    ("", put("kept_labels", 0, 0), "kept_labels"),
    ("", put("kept_labels", 0, -128), "kept_labels"),
    ("", swap("kept_labels", lambda a: a[:-1]), "kept"),
    ("", swap("kept_mistaken", lambda a: a[:-1]), "kept"),
    ("", swap("kept_indptr", lambda a: a[:-1]), "kept"),
    ("", swap("kept_indptr", lambda a: []), "kept"),
    ("", swap("kept_rounds", lambda a: a[:-1]), "kept_rounds: number"),
    ("", swap("kept_rounds", lambda a: a[::-1]), "kept_rounds: order"),
    ("", put("kept_rounds", -1, 12), "kept_rounds: order"),
    (
        "",
        swap("kept_rounds", lambda a: [*a[:-1], 11] if a[-1] < 11 else [a[0] + 1 - 2 * (a[0] > 0), *a[1:]]),
        "kept_mistaken",
    ),
    ("", put("kept_indptr", 0, 1), "kept_indptr"),
    ("", put("kept_indptr", 1, 10**6), "kept_indptr"),
    ("", put("kept_indptr", -1, 1), "kept_indptr"),
    ("", swap("kept_index", lambda a: a[:-1]), "kept_indptr"),
    ("", swap("kept_value", lambda a: a[:-1]), "kept_indptr"),
    ("", put("kept_index", 0, 12), "kept_index"),
    ("", put("kept_index", 0, 2**32 - 1), "kept_index"),
    ("", put("kept_value", 0, NAN), "kept_value: finite"),
    ("", put("kept_value", 0, 2e30), "kept_value: large"),
    ("", put("kept_value", 0, -1e300), "kept_value: large"),
    ("winnow", put("kept_value", 0, 0.5), "kept_value: 0 or 1"),
    ("", swap("kept_labels", lambda a: -a), "kept.labels"),
    ("keeps little", put("kept_labels", 0, 1), "kept.labels"),
    ("", change("life.parameters.classes", {"list": [0, 1]}), "life.parameters: classes"),
    ("", change("life.sums.total", 1.0), "life.sums: total"),
    ("", change("life.sums.factor", {"float": "nan"}), "life.sums: total"),
    ("normalized", change("life.sums.total", 1e9), "life: total"),
    ("normalized", change("life.sums.total", {"float": "nan"}), "life: total"),
    ("balanced", change("life.sums.factor", 100.0), "life: total"),
    ("pnorm", change("life.sums.total", -1.0), "life: total"),
    ("pnorm", change("life.sums.total_rest", 1e300), "life: total"),
    ("naive bayes", change("life.sums.scalar_0", 3.0), "life.sums: scalars"),
    ("naive bayes", change("life.sums.scalar_1", {"float": "nan"}), "life.sums: scalars"),
    ("naive bayes", both(change("life.sums.scalar_0", 13.5), change("life.sums.scalar_1", 0.5)), "life.sums: scalars"),
    ("naive bayes", both(change("life.sums.scalar_0", 14.0), change("life.sums.scalar_1", 0.0)), "life.sums: scalars"),
    ("naive bayes", lambda f: f.said["life"]["sums"].pop("scalar_1"), "life.sums: scalar_1"),
    ("naive bayes", put("z", 0, -1.0), "z: range"),
    ("naive bayes", put("z", 0, 2.0**24), "z: range"),
    ("averaged", change("life.sums.scalar_0", 12.0), "life.sums: scalars"),
    ("averaged", change("life.sums.scalar_0", 0.0), "life.sums: scalars"),
    ("averaged", change("life.sums.scalar_0", 13), "life.sums: real"),
    ("averaged", change("life.counts.4", 1), "life.counts: contradict"),
    ("averaged", change("life.counts.3", 13), "life.counts: contradict"),
    ("averaged", change("life.keeping", False), "kept_rounds: number"),
    ("averaged", swap("kept_rounds", lambda a: [0]), "kept_rounds: number"),
    ("averaged", both(swap("kept_index", lambda a: [0]), swap("kept_value", lambda a: [1.0])), "kept_indptr"),
    ("averaged", swap("z", lambda z: z[:-1]), "z: number of"),
    ("averaged with a bias", change("life.sums.bias_1", {"float": "inf"}), "life.sums: float32"),
    ("adagrad logistic", put("z", 1, 0.0), "z: range"),
    ("adagrad logistic", change("life.sums.bias_1", 0.0), "life.sums: range"),
    ("coin betting", put("z", 2, -1.0), "z: range"),
    ("coin betting", put("z", 1, 1e9), "z: range"),
    ("ftrl", put("z", 1, -1.0), "z: range"),
    ("exponentiated gradient", put("z", 1, 20.5), "z: range"),
    ("passive-aggressive I", change("life.parameters.c", 0.0), "life.parameters: c must"),
    ("", swap("name_offsets", lambda a: []), "name_offsets: divide"),
    ("", swap("name_offsets", lambda a: [1]), "name_offsets: divide"),
    ("", both(swap("name_offsets", lambda a: [0, 1]), swap("name_bytes", lambda a: [65])), "name_offsets: position"),
    ("named", both(change("life.width", 1), swap("z", lambda z: z[:1])), "name_offsets: position"),
    ("named", put("name_offsets", 1, -5), "name_offsets: divide"),
    ("named", put("name_offsets", 1, 10**9), "name_offsets: divide"),
    ("named", put("name_offsets", -1, 1), "name_offsets: divide"),
    ("named", put("name_bytes", 0, 255), "name_bytes: UTF-8"),
    ("named", swap("name_bytes", lambda a: [*a[2:4], *a[2:]]), "name_bytes: twice"),
    ("named", swap("name_offsets", lambda a: [0, 0, 0, *a[3:]]), "name_bytes: twice"),
    ("named", swap("z", lambda z: [*z, 0]), "z: number of"),
    ("named", lambda f: put("kept_index", 0, len(f.arrays["z"]) - 1)(f), "kept_index"),
    ("winnow, conjunction", change("life.parameters.target", "xor"), "life.parameters: target"),
    ("winnow, conjunction", change("life.parameters.complements", True), "z: number of"),
    ("winnow, conjunction", change("life.parameters.threshold", {"float": "nan"}), "life.parameters: threshold"),
    ("winnow", change("life.parameters.alpha", 1.0), "life.parameters: alpha"),
    ("pnorm", change("life.parameters.p", {"float": "inf"}), "life.parameters: p must"),
]


@pytest.mark.parametrize(("kind", "act", "expected"), HOSTILE)
def test_each_contradiction_in_a_file_raises_an_error(kind: str, act: Any, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "m.mb"
    learner = model(named=True) if kind == "named" else model(kind or "perceptron")
    whole = bytes_of(learner, path)
    forgery = Forgery(whole)
    act(forgery)
    forged = forgery.sealed()
    assert forged != whole
    field, _, word = expected.partition(": ")
    assert refuse(path, forged, word).field == field


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
def test_a_header_that_does_not_fit_its_tensor(entry: str, value: Any, tmp_path: Path) -> None:
    forgery = Forgery(bytes_of(model(), tmp_path / "m.mb"))
    forgery.header["z"][entry] = value
    assert refuse(tmp_path / "m.mb", forgery.sealed(describe=False)).field == "z"


def test_tensors_missing_added_or_out_of_order(tmp_path: Path) -> None:
    whole = bytes_of(model(), tmp_path / "m.mb")
    for act in (
        lambda header: header.pop("z"),
        lambda header: header.update(more=header["z"]),
        lambda header: header.update(z=header.pop("z")),
    ):
        forgery = Forgery(whole)
        act(forgery.header)
        assert refuse(tmp_path / "m.mb", forgery.sealed(describe=False)).field == "tensors"


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
    """Every (container, key) of a JSON value."""
    inner = at.items() if isinstance(at, dict) else enumerate(at) if isinstance(at, list) else ()
    found = [(at, key) for key, _ in inner]
    return found + [leaf for _, value in list(inner) for leaf in leaves(value)]


def mutate(forgery: Forgery, rng: np.random.Generator) -> bool:
    """Change one thing; return whether the header must be made to fit the arrays again."""
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
    """Use a learner that was loaded from a changed file: only a ValueError may be raised."""
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


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # huge weights overflow, as they would in a run
def test_forged_headers_and_tensors(tmp_path: Path) -> None:
    """Thousands of changed files with a correct SHA-256 raise ModelError, or give a learner that can be used."""
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


# ---------------------------------------------------------------------- a file is complete at any moment


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
def test_the_folder_is_synced_after_the_file_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_a_process_killed_while_saving(tmp_path: Path) -> None:
    """kill -9 at any moment leaves the complete old file or the complete new one."""
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

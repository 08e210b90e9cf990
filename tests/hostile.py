"""Forged ledgers, models, caches and certificates with correct checksums. Reading each must fail or do no harm.

``python tests/hostile.py --count 20000 --seed 1 [--kind model]`` makes ``--count`` files of each kind. The same seed
makes the same files. A kind consists of four functions. To add a kind, add an entry to ``KINDS``:

- ``make(rng, folder)``: return a valid object of a small run;
- ``mutate(object, rng)``: change one thing in it;
- ``sign(object)``: return the bytes of the file, with correct checksums;
- ``use(data, folder)``: read the file and use it in ``folder`` in all ways that a user may.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import struct
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import hostile_certificates
import hostile_states
import numpy as np
from caches import Packed, join, split, write_stream

import mistakebound as mb
from mistakebound.errors import InputError
from mistakebound.models.container import DTYPES
from mistakebound.play.expert_ledger import AggregationLedger, ExpertLedger
from mistakebound.play.guarded_ledger import GuardedLedger

EXPECTED = (ValueError,)  # ModelError and StreamError are ValueErrors
INF = float("inf")
LEARNERS: list[tuple[Callable[..., Any], bool, bool]] = [
    # learner, whether x must be 0 or 1, whether features may have names
    (mb.Perceptron, False, True),
    (lambda **k: mb.Perceptron(bias=-0.5, update_margin=0.1, **k), False, True),
    (lambda **k: mb.Perceptron(**{**k, "keep_bytes": 300}), False, True),
    (lambda **k: mb.Winnow(threshold=4, bias=1, **k), True, True),
    (lambda **k: mb.Winnow(target="conjunction", **k), True, False),
    (mb.Elimination, True, True),
    (lambda **k: mb.Elimination(target="conjunction", complements=True, **k), True, False),
    (lambda **k: mb.NormalizedWinnow(bias=0.5, **k), False, True),
    (lambda **k: mb.NormalizedWinnow(eta=INF, **k), False, True),
    (lambda **k: mb.BalancedWinnow(eta=0.7, update_margin=0.1, **k), False, True),
    (lambda **k: mb.BalancedWinnow(eta=INF, bias=1, **k), False, True),
    (lambda **k: mb.PNormPerceptron(p=3, bias=2, **k), False, True),
    (lambda **k: mb.Arow(bias=1, **k), False, True),
    (lambda **k: mb.PassiveAggressiveI(bias=1, **k), False, True),
    (lambda **k: mb.PassiveAggressiveII(c=0.1, **k), False, True),
    (lambda **k: mb.AveragedPerceptron(bias=1, **k), False, True),
    (lambda **k: mb.CoinBetting(bias=1, **k), False, True),
    (mb.AdaGradHinge, False, True),
    (mb.NaiveBayes, False, True),
    (lambda **k: mb.Panel(threads=1, **k), False, True),
    (lambda **k: mb.Panel("lean", threads=2, **k), False, True),
    (lambda **k: mb.Panel(["coin-betting-pairs", "label-history"], threads=1, **k), False, True),
]
PANELS = LEARNERS[-3:]
CLASS_PANELS: list[Any] = [
    (lambda **k: mb.Panel(classes=("a", "b", "c")), False, True),
    (lambda **k: mb.Panel("lean", classes=(1, 2, 3, 4), keep_bytes=40), False, True),
    (lambda **k: mb.Panel(["coin-betting-pairs", "label-history"], classes=("a", "b", 3)), False, True),
]
"""Panels of several classes."""
NASTY: list[Any] = [None, True, False, 0, 1, -1, 2, 7, 255, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63, -(2**63)]
NASTY += [2**64, 10**400, -(10**400), 0.0, -0.0, 0.5, -1.5, 1e30, 1e31, -1e300, 5e-324, 1e308, INF, -INF, float("nan")]
NASTY += ["", "a", "inf", "nan", "best", "\0", "\x1b[2J", "\ud800", "../../canary/written", "/etc/passwd", "x" * 5000]
NASTY += [[], [0], [1, -1], [[]], {}, {"float": "inf"}, {"float": "nan"}, {"float": "1"}, {"tuple": [1, 2]}]
NASTY += [{"list": []}, "Winnow", "winnow", "elimination", "balanced-winnow", "perceptron"]


@dataclass(frozen=True)
class Kind:
    """A kind of file that is forged, and how."""

    make: Callable[[random.Random, Path], Any]
    mutate: Callable[[Any, random.Random], None]
    sign: Callable[[Any], bytes]
    use: Callable[[bytes, Path], None]


def trained(rng: random.Random, among: list[Any] = LEARNERS) -> tuple[Any, Any, Any]:
    """Return a learner after a small run, and its stream."""
    make, binary, names = rng.choice(among)
    numbers = np.random.default_rng(rng.randrange(2**32))
    n, rounds = rng.choice([1, 3, 8]), rng.choice([1, 5, 20, 70])
    X = numbers.integers(0, 2, (rounds, n)).astype(float) if binary else numbers.normal(size=(rounds, n)).round(2)
    y = numbers.integers(0, 2 if among is not CLASS_PANELS else 3, rounds)
    learner = make(classes=rng.choice([(0, 1), ("no", "yes"), None]))
    rows: Any = X
    if names and rng.random() < 0.5:
        rows = [{f"f{i}": value for i, value in enumerate(row) if value} for row in X]
    pair = learner.classes or (0, 1)
    labels = [pair[each] for each in y]
    if learner.classes is None and len(set(labels)) == 1:
        labels[0] = pair[1 - y[0]]
    learner.run(rows, labels)
    if among is LEARNERS and not isinstance(learner, mb.Panel) and rng.random() < 0.3:
        parts = [copy(learner) for _ in range(rng.choice([2, 3]))]
        for k, part in enumerate(parts):
            part.run(rows[: k + 1], labels[: k + 1])
        learner = mb.mix(learner, parts, rng.choice([None, "mistakes"]))
    return learner, rows, labels


# ---------------------------------------------------------------------- JSON


def places(at: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) of a JSON value."""
    inner = list(at.items() if isinstance(at, dict) else enumerate(at) if isinstance(at, list) else ())
    return [(at, key) for key, _ in inner] + [place for _, value in inner for place in places(value)]


def mutate_json(data: Any, rng: random.Random) -> None:
    """Change a value, its type, its size or its place, or add or remove a key."""
    found = places(data)
    if not found:
        return
    shallow = [
        place for place in found if isinstance(place[0], dict)
    ]  # otherwise most places would be elements of long lists
    at, key = rng.choice(shallow if shallow and rng.random() < 0.5 else found)
    value = at[key]
    other = rng.choice(found)
    what = rng.randrange(10)
    if what <= 3:
        at[key] = deepcopy(rng.choice(NASTY))
    elif type(value) is int and abs(value) > 2**64:
        del at[key]
    elif what == 4 and type(value) in (int, float):
        at[key] = value + rng.choice([-1, 1, 0.5, -2, 10**6, 2**62])
    elif what == 5 and type(value) in (int, float):
        at[key] = rng.choice([-value, value * 1e30, float(value), bool(value), str(value)])
    elif what == 6:  # a copy, because an object that contains itself cannot be written
        at[key], other[0][other[1]] = deepcopy(other[0][other[1]]), deepcopy(value)
    elif what == 7 and isinstance(at, dict):
        del at[key]
    elif what == 8 and isinstance(at, dict):
        at[rng.choice(["more", "", key + " ", "__class__"])] = deepcopy(value)
    elif isinstance(value, list):
        mutate_list(value, rng)
    else:
        at[key] = [value]


def mutate_list(values: list[Any], rng: random.Random) -> None:
    """Truncate or reverse a list, or repeat or swap elements."""
    at = rng.randrange(len(values) + 1)
    rng.choice(
        [
            lambda: values.__delitem__(slice(at, None)),
            lambda: values.reverse(),
            lambda: values.insert(at, deepcopy(values[at % len(values)]) if values else 0),
            lambda: values.insert(at, deepcopy(rng.choice(NASTY))),
            lambda: values.extend(deepcopy(values[:50])),
            lambda: values.__delitem__(slice(at, at + 1)),
        ]
    )()


# ---------------------------------------------------------------------- ledgers


def make_ledger(rng: random.Random, _: Path, among: list[Any] = LEARNERS) -> dict[str, Any]:
    learner, _, _ = trained(rng, among)
    data: dict[str, Any] = json.loads(learner.ledger_.to_json())
    return data


def sign_ledger(data: dict[str, Any]) -> bytes:
    return json.dumps(data).encode()


def use_ledger(data: bytes, _: Path) -> None:
    ledger = mb.Ledger.from_json(data.decode())
    if ledger.complete or ledger.standings is not None:
        found = mb.certify(ledger)
        str(found), found.to_json()
    for read in (
        lambda: ledger.predictions,
        lambda: ledger.mistake_rounds,
        lambda: ledger.to_json(),
        lambda: ledger.measures.to_dict(),
    ):
        attempt(read)
    repr(ledger), ledger.names, ledger.mistakes
    assert mb.Ledger.from_json(ledger.to_json()).to_json() == ledger.to_json()


def attempt(do: Callable[[], Any]) -> None:
    """Call a function, and ignore the expected errors."""
    with suppress(*EXPECTED):
        do()


# ---------------------------------------------------------------------- models


class Model:
    """The parts of a model file."""

    def __init__(self, data: bytes) -> None:
        end = 8 + int.from_bytes(data[:8], "little")
        self.header = json.loads(data[8:end])
        self.metadata = json.loads(self.header.pop("__metadata__")["mistakebound"])
        self.fitting = True
        self.arrays = {
            name: np.frombuffer(data[end:][slice(*tensor["data_offsets"])], DTYPES[tensor["dtype"]]).copy()
            for name, tensor in self.header.items()
        }


def taken(path: Path) -> Model:
    """Return the parts of a model file, and remove it."""
    model = Model(path.read_bytes())
    path.unlink()
    return model


def make_model(rng: random.Random, folder: Path, among: list[Any] = LEARNERS) -> Model:
    from mistakebound.data.options import Reading
    from mistakebound.learners.linear import KINDS as LEARNER_KINDS
    from mistakebound.models.model_file import save

    learner, rows, labels = trained(rng, among)
    if rng.random() < 0.3:
        for asked in [learner.ask(rows[0]) for _ in range(3)]:
            learner.tell(asked, labels[0])
        learner._play.tickets = None  # their keys are random
    path = folder / "sound.mb"
    reading = {"format": "auto", "label": None, "zero_based": False, "table": {"text": ["a"]}, "columns": ["a", "b"]}
    run = {"files": ["stream.svm"], "place": {"file": 0, "byte": 0}, "predictions": "canary/written"}
    if rng.random() < 0.5 and learner._play is not None:
        learner._play.reading = Reading.from_json(reading)
    save(learner, path, LEARNER_KINDS, rng.choice([None, {"run": run, "counts": [1, 0, 0, 1]}]))
    return taken(path)


def mutate_model(model: Model, rng: random.Random) -> None:
    what = rng.random()
    if what < 0.45 or not model.arrays:
        mutate_json(model.metadata, rng)
    elif what < 0.55:
        mutate_json(model.header, rng)
        model.fitting = False
    else:
        name = rng.choice(list(model.arrays))
        model.arrays[name] = mutated_array(model.arrays[name], rng)


def mutated_array(array: Any, rng: random.Random) -> Any:
    """Replace an array by other numbers of the same type, or change its length."""
    values, real = array.tolist(), array.dtype.kind == "f"
    if rng.random() < 0.4:
        mutate_list(values, rng)
    elif values:
        place, bits = rng.randrange(len(values)), 8 * array.itemsize
        extremes = [INF, -INF, float("nan"), 1e30, 1e31, 1e39, 5e-324] if real else [2**bits - 1, 2 ** (bits - 1)]
        values[place] = rng.choice([0, 1, 2, 3, -1, values[0], values[place] + 1, values[place] - 1, *extremes])
    numbers = [each for each in values if type(each) in (int, float)]
    if real:
        floats = [float(each) for each in numbers if type(each) is float or abs(each) < 2**1000]
        with np.errstate(all="ignore"):
            return np.array(floats, np.float64).astype(array.dtype)
    whole = [int(each) % 2 ** (8 * array.itemsize) for each in numbers if abs(each) < INF]
    return np.array(whole, f"<u{array.itemsize}").view(array.dtype)


def sign_model(model: Model) -> bytes:
    at = 0
    if model.fitting:
        for name, array in model.arrays.items():
            model.header[name]["shape"] = [len(array)]
            model.header[name]["data_offsets"] = [at, at := at + array.nbytes]
    metadata = {"sha256": "0" * 64, "mistakebound": json.dumps(model.metadata)}
    text = json.dumps({"__metadata__": metadata, **model.header}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    head = len(text).to_bytes(8, "little") + text
    data = b"".join(array.tobytes() for array in model.arrays.values())
    place = head.index(b'"sha256":"') + 10
    digest = hashlib.sha256(head[:place] + head[place + 64 :] + data).hexdigest().encode()
    return head[:place] + digest + head[place + 64 :] + data


def use_model(data: bytes, folder: Path) -> None:
    path = folder / "forged.mb"
    path.write_bytes(data)
    try:
        learner = mb.load(path)
        attempt(lambda: learner.predict(mb.Source(Path(__file__).parent / "fixtures" / "two.csv")))
        engine = None if learner._play is None else learner._play.engine
        named = engine is not None and engine.named
        width = 3 if engine is None else engine.width
        X: Any = [{"f0": 1.0, "new": 0.0}, {"f1": 1.0}] if named else np.ones((2, width or 3))
        labels = (learner._labels.ordered if learner.several else list(learner._labels.pair))[:2]
        for do in (
            lambda: learner.members() if isinstance(learner, mb.Panel) else learner.weights_,
            lambda: isinstance(learner, mb.Panel) and learner.leadership(),
            lambda: None if isinstance(learner, mb.Panel) else learner.intercept_,
            lambda: learner.ledger_.to_json(),
            lambda: learner.ledger_.measures.to_dict(),
            lambda: repr(learner),
            lambda: learner.predict(X),
            lambda: learner.score_one(X[0]),
            lambda: learner.certify(),
            lambda: learner.run(X, labels),
            lambda: isinstance(learner, mb.Panel) and [learner.learn_one(X[0], labels[0]) for _ in range(40)],
            lambda: learner.tell(learner.ask(X[0]), labels[0]),
            lambda: learner.learn_one(X[0], labels[0]),
            lambda: learner.save(folder / "forged.mb"),
            lambda: mb.load(path).ledger_.to_json(),
            lambda: learner.fit(np.ones((2, 3)), labels),
        ):
            attempt(do)
    finally:
        path.unlink(missing_ok=True)


# ---------------------------------------------------------------------- models of experts


EXPERTS: list[Callable[[], Any]] = [
    mb.experts.MLPoly,
    mb.experts.AdaHedge,
    mb.experts.Squint,
    lambda: mb.experts.Hedge(horizon=30, prior={"a": 1.0, "b": 2.0}),
    lambda: mb.experts.BOA(loss="absolute", keep_bytes=300),
    mb.experts.FixedShare,
    lambda: mb.experts.Ridge(penalty=1.0),
    mb.experts.WeightedMajority,
    lambda: mb.experts.RandomizedWeightedMajority(seed=1),
    mb.experts.Halving,
    mb.experts.Guarded,
]


def advice_for(learner: Any, rng: random.Random) -> dict[str, Any]:
    """The advice of a round, for a learner that follows one."""
    return {"advice": rng.choice([True, False, None])} if isinstance(learner, mb.experts.Guarded) else {}


def make_experts(rng: random.Random, folder: Path) -> Model:
    learner, numbers = rng.choice(EXPERTS)(), np.random.default_rng(rng.randrange(2**32))
    votes = isinstance(learner, mb.experts.WeightedMajority)
    rounds = rng.choice([0, 1, 8])
    A, y = numbers.random((rounds, 3)).round(2), numbers.random(rounds).round(2)
    if votes:
        A, y = A > 0.5, y > 0.5
    for row, outcome in zip(A.tolist(), y.tolist(), strict=True):
        learner.learn_one(dict(zip("abc", row, strict=True)), outcome, **advice_for(learner, rng))
    if rng.random() < 0.5:
        learner.ask({"a": votes or 0.5, "d": votes or 0.25})
    path = folder / "experts.mb"
    learner.save(path)
    return taken(path)


def use_experts(data: bytes, folder: Path) -> None:
    path = folder / "forged.mb"
    path.write_bytes(data)
    try:
        learner = mb.load(path)
        if hasattr(learner, "predict"):  # the forged file is a model of a linear learner
            return
        outcome: Any = 1 if isinstance(learner, mb.experts.WeightedMajority) else 0.5
        row = dict.fromkeys(learner.names_, outcome) or {"a": outcome}
        for do in (
            lambda: learner.weights_,
            lambda: learner.ledger_,
            lambda: repr(learner.ledger_),
            lambda: repr(learner),
            lambda: learner.predict_one(row),
            lambda: learner.certify(),
            lambda: learner.learn_one(row, outcome),
            lambda: learner.learn_one(row, outcome, **advice_for(learner, random.Random(0))),
            lambda: type(learner.ledger_).from_json(learner.ledger_.to_json()),
            lambda: learner.run([row, {**row, "new": outcome}], [outcome, outcome]),
            lambda: learner.tell(learner.ask(row), outcome),
            lambda: learner.save(path),
            lambda: mb.load(path).predict_one(row),
        ):
            attempt(do)
    finally:
        path.unlink(missing_ok=True)


def make_expert_ledger(rng: random.Random, _: Path) -> dict[str, Any]:
    learner, numbers = rng.choice(EXPERTS)(), np.random.default_rng(rng.randrange(2**32))
    A, y = numbers.random((6, 2)).round(2), numbers.random(6).round(2)
    if isinstance(learner, mb.experts.WeightedMajority):
        A, y = A > 0.5, y > 0.5
    for row, outcome in zip(A.tolist(), y.tolist(), strict=True):
        learner.learn_one(dict(zip("ab", row, strict=True)), outcome, **advice_for(learner, rng))
    data: dict[str, Any] = json.loads(learner.ledger_.to_json())
    return data


def use_expert_ledger(data: bytes, _: Path) -> None:
    kind = GuardedLedger if b'"advice_rounds"' in data else ExpertLedger if b'"beta"' in data else AggregationLedger
    ledger: Any = kind.from_json(data.decode())
    repr(ledger), ledger._repr_html_(), ledger.loss_curve, ledger.predictions
    if kind is not AggregationLedger:
        attempt(lambda: mb.certify(ledger))
    assert kind.from_json(ledger.to_json()).to_json() == ledger.to_json()


# ---------------------------------------------------------------------- caches


TEXTS = [
    "1 1:0.5 7:-2\n-1 3:1e-3\nbad:\n1\n-1 2:1 2:1\n",
    "1 2 'tag |a x y:2 |b:0.5 z\n-1 | a_long_name_of_more_than_16_bytes\n",
    "label,a,b\n1,2,x\n0,,q\n",
    '{"label": "spam", "a": {"b": 1}}\n{"label": "ham", "c": "d\u00fc"}\n',
]
FORMATS = ["svmlight", "vw", "table", "json"]


@dataclass
class Cached:
    """Return the parts of a cache, and its source file."""

    file: Path
    format: str
    head: bytes
    records: list[tuple[tuple[int, ...], bytes]]


def source_of(file: Path, form: str) -> mb.Source:
    label = "label" if form == "table" else None
    return mb.Source(file, format=form, label=label, skip_bad=9, cache=file.with_suffix(".mbcache"))


def make_cache(rng: random.Random, folder: Path) -> Cached:
    form = rng.choice(FORMATS)
    file = folder / f"{form}.txt"
    if not file.exists():
        file.write_text(TEXTS[FORMATS.index(form)], encoding="utf-8")
        if form == "svmlight" and rng.random() < 0.5:
            write_stream(file, 30)
    list(source_of(file, form).open())
    cache = file.with_suffix(".mbcache")
    head, records = split(cache.read_bytes())
    return Cached(file, form, head, records)


def mutate_cache(cached: Cached, rng: random.Random) -> None:
    if not cached.records:
        return
    place = rng.randrange(len(cached.records))
    begin, packed = cached.records[place]
    what = rng.random()
    if what < 0.15:
        at = rng.randrange(4)
        begin = tuple(
            rng.choice([0, 1, 2, (b + 1) % 2**64, 2**31, 2**63, 2**64 - 1]) if k == at else b
            for k, b in enumerate(begin)
        )
        cached.records[place] = (begin, packed)
    elif what < 0.2:
        mutate_list(cached.records, rng)
        cached.records[:] = [each for each in cached.records if isinstance(each, tuple)]
    elif len(packed) >= 80:
        parts = Packed(packed)
        for _ in range(rng.randrange(1, 3)):
            if rng.random() < 0.4:
                name = rng.choice(list(parts.head))
                value = parts.head[name]
                parts.head[name] = rng.choice(
                    [0, 1, 2, (value + 1) % 2**64, max(value, 1) - 1, 2**31, 2**32, 2**62, 2**64 - 1]
                )
            else:
                mutate_words(parts.rest, rng)
        cached.records[place] = (begin, parts.sealed())


def mutate_words(data: bytearray, rng: random.Random) -> None:
    """Change a number of 1, 4 or 8 bytes, or the length of an array."""
    what, at = rng.randrange(6), rng.randrange(len(data) // 8 + 1) * 8
    if what == 0:
        del data[at : at + 8]
    elif what == 1:
        data[at:at] = data[:8] or bytes(8)
    elif what == 2 and at < len(data):
        data[at + rng.randrange(8)] = rng.choice([0, 1, 127, 128, 255])
    elif at < len(data):
        number = rng.choice([0, 1, 2, -1, 2**31, 2**62, -(2**63), 2**63 - 1])
        real = rng.choice([INF, float("nan"), 1e308, 1e31, -0.0])
        data[at : at + 8] = struct.pack("<q", number) if what == 3 else struct.pack("<d", real)
        if what == 5:
            data[at : at + 4] = struct.pack("<i", rng.choice([-1, 2**31 - 1, 7, 0, -(2**31)]))


def sign_cache(cached: Cached) -> bytes:
    path = os.fsencode(cached.file)
    return len(path).to_bytes(4, "little") + path + cached.format.encode().ljust(8) + join(cached.head, cached.records)


def use_cache(data: bytes, _: Path) -> None:
    size = 4 + int.from_bytes(data[:4], "little")
    file, form, cache = Path(os.fsdecode(data[4:size])), data[size : size + 8].decode().strip(), data[size + 8 :]
    path = file.with_suffix(".mbcache")
    path.write_bytes(cache)
    try:
        for make in (mb.Perceptron, mb.Winnow):
            learner = make(threshold=4) if make is mb.Winnow else make()
            for part in source_of(file, form).open():
                # Skip large indices: the learner reserves memory for all smaller ones, as it does for the text.
                if not part.chunk.named and part.chunk.width > 10**7:
                    continue
                attempt(lambda: learner.run_part(part))
                for row in range(part.rows):
                    part.where(row), part.label(row)
            attempt(lambda: learner.certify())
        if form == "svmlight":
            source_of(file, form).to_csr()
    finally:
        path.unlink()


KINDS = {
    "ledger": Kind(make_ledger, mutate_json, sign_ledger, use_ledger),
    "model": Kind(make_model, mutate_model, sign_model, use_model),
    "panel": Kind(partial(make_model, among=PANELS), mutate_model, sign_model, use_model),
    "class panel": Kind(partial(make_model, among=CLASS_PANELS), mutate_model, sign_model, use_model),
    "class ledger": Kind(partial(make_ledger, among=CLASS_PANELS), mutate_json, sign_ledger, use_ledger),
    "panel ledger": Kind(partial(make_ledger, among=PANELS), mutate_json, sign_ledger, use_ledger),
    "experts": Kind(make_experts, mutate_model, sign_model, use_experts),
    "state": Kind(hostile_states.make, mutate_model, sign_model, hostile_states.use),
    "expert ledger": Kind(make_expert_ledger, mutate_json, sign_ledger, use_expert_ledger),
    "cache": Kind(make_cache, mutate_cache, sign_cache, use_cache),
    "certificate": Kind(
        hostile_certificates.make, hostile_certificates.mutate, hostile_certificates.sign, hostile_certificates.use
    ),
}


# ---------------------------------------------------------------------- the loop


def listing(folder: Path) -> dict[str, str]:
    """Return every file below a folder, with a digest of its contents."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
    }


def forged(kind: Kind, rng: random.Random, folder: Path) -> bytes | None:
    """Return the bytes of a forged file, or None if the change cannot be written."""
    made = kind.make(rng, folder)
    for _ in range(rng.choice([1, 1, 2, 3])):
        kind.mutate(made, rng)
    try:
        return kind.sign(made)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, struct.error):
        return None


def attack(name: str, amount: int, seed: int, folder: Path) -> Counter[str]:
    """Forge and use files of a kind in an empty folder. Raise AssertionError for the first one that does harm."""
    kind, outcomes = KINDS[name], Counter[str]()
    work, canary = folder / f"work-{name}", folder / "canary"
    work.mkdir()
    canary.mkdir(exist_ok=True)
    (canary / "precious").write_bytes(b"mine")
    before, here = listing(canary), Path.cwd()
    os.chdir(work)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number in count():
                if outcomes.total() >= amount:
                    break
                data = forged(kind, random.Random(f"{name} {seed} {number}"), work)
                if data is None:
                    continue
                there = listing(work)
                outcomes[outcome(kind, data, work, f"{name}, seed {seed}, number {number}")] += 1
                assert set(listing(work)) <= set(there), f"{name}, seed {seed}, number {number} wrote a file"
    finally:
        os.chdir(here)
    assert listing(canary) == before, f"{name}, seed {seed}: a file elsewhere was written"
    assert sorted(each.name for each in folder.iterdir() if not each.name.startswith("work-")) == ["canary"]
    return outcomes


def outcome(kind: Kind, data: bytes, work: Path, which: str) -> str:
    """Use a file, and return the result."""
    try:
        kind.use(data, work)
    except Exception as error:
        if type(error) in (ValueError, mb.ModelError, mb.StreamError, InputError):
            return "refused"
        message = f"{which}: {type(error).__name__}: {error}"
        raise AssertionError(message) from error
    return "harmless"


def main() -> None:
    """Attack each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="files of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=KINDS, help="only this one")
    options = parser.parse_args()
    for name in [options.kind] if options.kind else KINDS:
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            found = attack(name, options.count, options.seed, Path(folder))
        sys.stdout.write(f"{name}: {dict(found)} in {time.perf_counter() - begun:.1f} s\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

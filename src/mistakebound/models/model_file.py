"""Save linear learners to model files, and load them: numbers and JSON. Nothing in a file is executed.

``container`` makes the file; here a learner is put into words and tensors, and what a file says is checked until the
core can rely on it. The files of one format are read for ever: see ``tests/fixtures``. Format 2 is format 1 and, if its
run left it there, ``progress``: where in its files that was; format 3 has ``reading``, too: how those files were read.
Format 4 has what late outcomes need (``late`` of a life, and ``tickets``), and files of experts.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mistakebound._core import Engine
from mistakebound._support import schema
from mistakebound._support.atomic_file import replace
from mistakebound._support.lazy import np
from mistakebound._support.schema import fields, from_json, is_list_of, need, shown, to_json
from mistakebound.data.labels import Labels, check_classes
from mistakebound.data.options import Reading
from mistakebound.errors import ModelError
from mistakebound.models.container import DTYPES, learner_in, pack, unpack
from mistakebound.play.ledger import Counts
from mistakebound.play.ledger_schema import LATE, compare, read_late
from mistakebound.play.tickets import Tickets
from mistakebound.rules.base import LARGEST
from mistakebound.rules.registry import rule_class

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mistakebound._support.arrays import AnyArray
    from mistakebound.learners.learner import Learner
    from mistakebound.play.engine import LearnerEngine

    Kind = TypeVar("Kind", bound=Learner)

TENSORS = {
    "name_offsets": "I64",
    "mistake_rounds": "I64",
    "kept_rounds": "I64",
    "kept_indptr": "I64",
    "kept_value": "F64",
    "kept_index": "U32",
    "z": "F32",
    "name_bytes": "U8",
    "predictions": "U8",
    "kept_labels": "I8",
    "kept_mistaken": "U8",
}
KEPT = ("kept_rounds", "kept_labels", "kept_mistaken", "kept_indptr", "kept_index", "kept_value")
SUMS = ("bias_z", "factor", "total", "total_rest", "peak")
LABEL_TYPES = (bool, int, float, str)


def save(
    learner: Learner,
    path: str | os.PathLike[str],
    kinds: Mapping[str, type[Learner]],
    progress: dict[str, Any] | None = None,
) -> None:
    """Write a learner to a file, whole or not at all; beside it, where its run is."""
    try:
        own = kinds.get(type(learner).__name__) is type(learner)
        need(own, f"{type(learner).__name__} is not one of mistakebound's own learners: {', '.join(kinds)}")
        said, tensors = _describe(learner)
        known = learner.known_reading()
        tickets = None if learner._play is None else learner._play.tickets
        notes = {
            "progress": progress,
            "reading": None if known is None else known.to_json(),
            "tickets": None if tickets is None else tickets.to_json(),
        }
        parts = pack({**said, **{name: note for name, note in notes.items() if note is not None}}, tensors)
    except ModelError as error:
        message = f"cannot save {os.fspath(path)}: {error}"
        raise ModelError(message) from None
    replace(Path(os.path.realpath(path)), parts)


def load(path: str | os.PathLike[str], kinds: Mapping[str, type[Kind]]) -> Kind:
    """Return the learner that a file holds, or say why it holds none."""
    return load_with_progress(path, kinds)[0]


def load_with_progress(
    path: str | os.PathLike[str], kinds: Mapping[str, type[Kind]]
) -> tuple[Kind, dict[str, Any] | None]:
    """Return the learner that a file holds, and the progress of its run if the file has it."""
    data = Path(path).read_bytes()
    try:
        said, tensors = unpack(data, TENSORS)
        notes = [said.pop(name, None) for name in ("progress", "reading", "tickets")]
        objects = all(note is None or isinstance(note, dict) for note in notes)
        need(objects, "its progress, reading or tickets are not an object")
        learner = _revive(said, tensors, kinds)
        reading = None if notes[1] is None else Reading.from_json(notes[1])
        tickets = None if notes[2] is None else Tickets.from_json(notes[2])
        if learner._play is not None:
            learner._play.reading = reading if learner.has_learned else None
            learner._play.tickets = tickets
        return learner, notes[0]
    except ModelError as error:
        name = learner_in(path)  # a learner over experts has other tensors, but that is not the reason to give
        reason = str(error) if name in kinds or not name else _other_learner(name, kinds)
        message = f"cannot load {os.fspath(path)}: {reason}"
        raise ModelError(message) from None


def _other_learner(name: Any, kinds: Mapping[str, type[Kind]]) -> str:
    return f"its learner {name!r} is none of {', '.join(kinds)}"


def fingerprint(learner: Learner) -> str:
    """SHA-256 of all that a learner is and knows: equal for two that a file could not tell apart."""
    said, tensors = _describe(learner)
    digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode())
    for tensor in tensors.values():
        digest.update(tensor.tobytes())
    return digest.hexdigest()


# ---------------------------------------------------------------------- into the file


def _describe(learner: Learner) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    play, columns = learner._play, getattr(learner, "feature_names_in_", None)
    life, tensors = (None, {}) if play is None else _describe_life(learner, play.engine)
    labels = learner._early_labels if play is None else play.labels
    said = {
        "learner": type(learner).__name__,
        "parameters": describe_parameters(learner),
        "labels": None if labels is None else _describe_labels(labels),
        "columns": None if columns is None else list(map(str, columns)),
        "life": life,
    }
    return said, tensors


def describe_parameters(learner: Learner) -> dict[str, Any]:
    """Parameters of a learner in JSON; ``construct`` makes an equal one from them."""
    return {name: encode(value) for name, value in learner.get_params().items()}


def _describe_labels(labels: Labels) -> dict[str, Any]:
    for label in labels.pair:
        kind = type(label).__name__
        need(type(label) in LABEL_TYPES, f"label {label!r} is of type {kind}; a file holds bool, int, float and str")
    negative, positive = map(encode, labels.pair)
    return {"negative": negative, "positive": positive, "known": list(labels.signs.values())}


def _describe_life(learner: Learner, life: LearnerEngine) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    settings, names, z, *sums, counts, predictions, mistake_rounds, kept, keeping, late = life.core.__getstate__()
    encoded = [name.encode() for name in names]
    arrays = {
        "name_offsets": np.cumsum([0, *map(len, encoded)], dtype=np.int64),
        "name_bytes": np.frombuffer(b"".join(encoded), np.uint8),
        "z": z,
        "predictions": predictions,
        "mistake_rounds": mistake_rounds,
        **dict(zip(KEPT, kept, strict=True)),
    }
    *_, width_now, limit, _ = settings
    _check_life(life, limit, Counts(*counts), keeping, arrays)  # what could not be read again is not written
    at_work = _at_work(life, limit)
    said = {
        "parameters": {name: encode(at_work[name]) for name in learner.get_params() if name in at_work},
        "width": width_now if life.growing else life.width,
        "growing": life.growing,
        "counts": list(counts),
        "sums": {name: encode(value) for name, value in zip(_sums(life.rule.start), sums, strict=True)},
        "keeping": keeping,
    }
    if len(late[0]):
        said["late"] = dict(zip(LATE, (each.tolist() for each in late), strict=True))
    return said, {name: arrays[name].astype(DTYPES[kind], copy=False) for name, kind in TENSORS.items()}


def _at_work(life: LearnerEngine, limit: int) -> dict[str, Any]:
    """The parameters in force; the learner's own may have been set anew since its life began."""
    return {
        **asdict(life.rule),
        "threshold": life.rule.threshold,
        "target": "conjunction" if life.reduction.conjunction else "disjunction",
        "complements": life.reduction.complements,
        "keep_bytes": limit,
    }


def encode(value: Any) -> Any:
    """A parameter or label so that its type comes back; JSON has no infinity, and does not tell a tuple from a list."""
    value = value.tolist() if hasattr(value, "tolist") else value  # numbers and arrays of numpy
    if isinstance(value, dict):
        return {"dict": [[str(name), encode_one(each)] for name, each in value.items()]}
    if isinstance(value, Collection) and not isinstance(value, str):
        return {"tuple" if isinstance(value, tuple) else "list": [encode_one(each) for each in value]}
    return encode_one(value)


def encode_one(value: Any) -> Any:
    """A single value of a parameter; ModelError for one that a file cannot hold."""
    value = value.tolist() if hasattr(value, "tolist") else value
    words = f"{value!r} is of type {type(value).__name__}; a file holds None, bool, int, float, str, and lists of them"
    need(value is None or type(value) in LABEL_TYPES, words)
    return to_json(value)


# ---------------------------------------------------------------------- out of the file


def _revive(said: dict[str, Any], tensors: dict[str, AnyArray], kinds: Mapping[str, type[Kind]]) -> Kind:
    name, parameters, labels, columns, life = fields(said, "learner", "parameters", "labels", "columns", "life")
    need(isinstance(name, str) and name in kinds, _other_learner(name, kinds))
    learner = construct(kinds[name], parameters)
    need(bool(tensors) == (life is not None), "a life needs tensors, and only a life has any")
    if labels is not None:
        learner._early_labels = _revive_labels(labels)
    if life is not None:
        engine = _revive_life(kinds[name], life, tensors)
        try:
            learner._restore(engine)
        except ValueError as error:  # classes that are not two different labels
            raise ModelError(str(error)) from None
    if columns is not None:
        need(is_list_of(str, columns) and columns, "its columns are not a list of names")
        learner.feature_names_in_ = np.array(columns, dtype=object)
    return learner


def construct(kind: type[Kind], parameters: Any) -> Kind:
    """A fresh learner; what its parameters mean is checked when its life begins."""
    need(isinstance(parameters, dict), "its parameters are not an object")
    values = {name: decode(value, f"parameters.{name}") for name, value in parameters.items()}
    try:
        return kind(**values)
    except TypeError as error:
        raise ModelError(str(error)) from None


def decode(value: Any, path: str) -> Any:
    """The value of a parameter that ``encode`` wrote."""
    if isinstance(value, dict) and set(value) in ({"tuple"}, {"list"}):
        ((kind, inside),) = value.items()
        need(isinstance(inside, list), f"{path}.{kind} should be a list, got {shown(inside)}")
        return (tuple if kind == "tuple" else list)(from_json(each, f"{path}.{kind}") for each in inside)
    if isinstance(value, dict) and set(value) == {"dict"}:
        pairs = schema.items(value["dict"], f"{path}.dict")
        named = all(isinstance(pair, list) and len(pair) == 2 and type(pair[0]) is str for pair in pairs)
        need(named, f"{path}.dict should be a list of names and values", path)
        return {name: from_json(each, f"{path}.dict") for name, each in pairs}
    return from_json(value, path)


def _revive_labels(said: Any) -> Labels:
    *pair, known = fields(said, "negative", "positive", "known")
    pair = [from_json(label, "labels") for label in pair]
    need(all(type(label) in LABEL_TYPES for label in pair), "its labels are not bool, int, float or str")
    need(is_list_of(int, known) and sorted(known) in ([], [-1], [1], [-1, 1]), "the signs of its labels are not ±1")
    try:
        labels = Labels(check_classes(pair))
    except ValueError as error:
        raise ModelError(str(error)) from None
    labels.signs = {labels.decode(sign > 0): sign for sign in known}
    return labels


def _revive_life(kind: type[Learner], said: Any, tensors: dict[str, AnyArray]) -> LearnerEngine:
    late = said.pop("late", None) if isinstance(said, dict) else None
    parameters, width, growing, counts, sums, keeping = fields(
        said, "parameters", "width", "growing", "counts", "sums", "keeping"
    )
    need(type(growing) is bool and (width is not None or not growing), "whether its width grows is not told")
    need(width is None or (type(width) is int and width >= 0), "its width is not a whole number")
    need(is_list_of(int, counts) and len(counts) == 5, "its counts are not five whole numbers")
    need(type(keeping) is bool, "whether it keeps mistakes is neither true nor false")
    start = rule_class(kind.rule_id).start
    # But for those of the constant feature, any of them may overflow.
    numbers = [from_json(number, "sums") for number in fields(sums, *_sums(start), path="sums")]
    need(all(type(number) is float for number in numbers), "its sums are not real numbers")
    of_bias = np.array([numbers[0], *numbers[len(SUMS) :]])
    finite = (np.abs(of_bias) <= np.finfo(np.float32).max).all()
    need(finite, "the sum of its constant feature is not a finite float32")
    names, z = _read_names(tensors["name_offsets"], tensors["name_bytes"]), tensors["z"]
    like = construct(kind, parameters)
    try:
        slots = len(names) + 1 if width is None else like._reduction().slots(width)
        # Before so many are made.
        need(len(z) == slots * len(start), "the number of its weights is not that of its features")
        life = like._new_engine(None, growing=True) if growing else like._new_engine(width)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ModelError(str(error)) from None
    need(life.named or not names, "features by position have no names")
    need(
        set(parameters) <= set(_at_work(life, 0)),
        "its life has a parameter (such as classes) that is not one of the rule or of keeping examples",
    )
    totals = numbers[1 : len(SUMS)]
    need(life.rule.normalised or totals == [0.0] * 4, "its totals should be 0, because its rule is not normalised")
    need(life.rule.allows(of_bias[None]), "the state of its constant feature is out of range")
    *rule, first_width, limit, grows = life.core.__getstate__()[0]
    settings = (*rule, width if growing else first_width, limit, grows)
    _check_life(life, limit, Counts(*counts), keeping, tensors)
    kept = tuple(tensors[name] for name in KEPT)
    delays = read_late(late, tensors["kept_rounds"])
    history = (tuple(counts), tensors["predictions"], tensors["mistake_rounds"], kept, keeping, delays)
    life.core = Engine.__new__(Engine)
    try:
        life.core.__setstate__((settings, names, z, *numbers, *history))
    except ValueError as error:
        raise ModelError(str(error)) from None
    return life


def _sums(start: tuple[float, ...]) -> tuple[str, ...]:
    """Names of the numbers that a rule has once; a rule that keeps S floats has S of its constant feature."""
    return (*SUMS, *(f"bias_{k}" for k in range(1, len(start))))


def _read_names(offsets: AnyArray, letters: AnyArray) -> list[str]:
    need(_cuts(offsets, len(letters)), "the offsets of its names do not cut their bytes into pieces")
    data, ends = letters.tobytes(), offsets.tolist()
    try:
        names = [data[begin:end].decode() for begin, end in pairwise(ends)]
    except UnicodeDecodeError as error:
        reason = f"a name is not UTF-8: {error}"
        raise ModelError(reason) from None
    need(len(set(names)) == len(names), "a name comes twice")
    return names


def _check_life(life: LearnerEngine, limit: int, counts: Counts, keeping: bool, has: dict[str, AnyArray]) -> None:  # noqa: FBT001
    """All that the core and the certificates rely on: arrays fit the counts and each other, indices what there is."""
    rounds, mistakes = counts.rounds, counts.false_positives + counts.false_negatives
    need(min(counts) >= 0 and rounds < 2**62, "a count is out of range")
    need(max(mistakes, counts.updates) <= counts.to_keep <= min(rounds, mistakes + counts.updates), "counts disagree")
    learned = counts.to_keep if life.rule.learns_from_positives else counts.false_positives
    need(counts.updates == learned, "counts disagree")
    need(np.isfinite(has["z"]).all(), "a sum z is not finite")
    need(life.rule.allows(has["z"].reshape(-1, len(life.rule.start))), "the state of a feature is out of range")

    predictions, mistake_rounds = has["predictions"], has["mistake_rounds"]
    need(len(predictions) == min(rounds, limit) and (predictions <= 1).all(), "its predictions do not fit its rounds")
    need(len(mistake_rounds) == min(mistakes, -(-limit // 8)), "the rounds of its mistakes do not fit their number")
    need(_rises(mistake_rounds, rounds), "the rounds of its mistakes are out of order")
    if len(predictions) == rounds and len(mistake_rounds) == mistakes:
        positive = np.count_nonzero(predictions[mistake_rounds])
        need(positive == counts.false_positives, "the predictions in its mistakes do not fit the counts")

    kept_rounds, labels, mistaken, indptr, index, value = (has[name] for name in KEPT)
    kept = len(kept_rounds)
    need(kept == counts.to_keep if keeping else kept < counts.to_keep, "it keeps more or fewer rounds than it counts")
    need(kept == len(labels) == len(mistaken) == len(indptr) - 1, "the lengths of what it keeps disagree")
    need(_rises(kept_rounds, rounds), "its kept rounds are out of order")
    need(((labels == 1) | (labels == -1)).all() and (mistaken <= 1).all(), "the labels of its kept rounds are not ±1")
    found = kept_rounds[mistaken == 1]
    common = min(len(found), len(mistake_rounds))
    need(np.array_equal(found[:common], mistake_rounds[:common]), "it keeps other mistakes than it made")
    need(len(found) == mistakes or (len(found) < mistakes and not keeping), "it keeps other mistakes than it made")
    need(len(index) == len(value) and _cuts(indptr, len(value)), "the examples that it keeps do not fit together")
    features = len(has["name_offsets"]) - 1 if life.named else len(has["z"]) // len(life.rule.start)
    need((index < features).all(), "it keeps a feature that it does not have")
    need(np.isfinite(value).all(), "it keeps a value that is not finite")
    need((np.abs(value) <= LARGEST).all(), "it keeps a value that is too large to learn from")
    need(not life.rule.binary or ((value == 0) | (value == 1)).all(), "it keeps a value that is neither 0 nor 1")
    compare(
        counts,
        life.rule,
        predictions.view(np.bool_) if len(predictions) == rounds else None,
        mistake_rounds if len(mistake_rounds) == mistakes else None,
        {"rounds": kept_rounds, "labels": labels, "mistaken": mistaken.view(np.bool_)},
        negated=(False,),
    )


def _cuts(offsets: AnyArray, total: int) -> bool:
    """Whether offsets cut 0..total into pieces that follow each other."""
    return bool(len(offsets) and offsets[0] == 0 and offsets[-1] == total and (offsets[1:] >= offsets[:-1]).all())


def _rises(rounds: AnyArray, end: int) -> bool:
    """Whether these are different rounds before the end, in order."""
    return not len(rounds) or bool(rounds[0] >= 0 and rounds[-1] < end and (rounds[1:] > rounds[:-1]).all())

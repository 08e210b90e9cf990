"""Convert what a linear learner has learned to JSON and tensors, and back.

All numbers from a file are checked before they are used: the core and the certificates rely on them. The same checks
run before a file is written.
"""

from __future__ import annotations

from dataclasses import asdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mistakebound._core import Engine
from mistakebound._support.lazy import np
from mistakebound._support.schema import fields, from_json, is_list_of, need
from mistakebound.errors import ModelError
from mistakebound.models.container import DTYPES
from mistakebound.models.parameters import construct, encode
from mistakebound.play.ledger import Counts
from mistakebound.play.ledger_schema import LATE, compare, read_late
from mistakebound.rules.base import LARGEST
from mistakebound.rules.registry import rule_class

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray
    from mistakebound.learners.learner import Learner
    from mistakebound.play.engine import LearnerEngine
    from mistakebound.rules import Rule

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
"""The tensors of a file and their types, in order."""
KEPT = ("kept_rounds", "kept_labels", "kept_mistaken", "kept_indptr", "kept_index", "kept_value")
SUMS = ("bias_z", "factor", "total", "total_rest", "peak")


def describe_state(learner: Learner, engine: LearnerEngine) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the state of a learner as a JSON object and tensors."""
    settings, names, z, *sums, counts, predictions, mistake_rounds, kept, keeping, late = engine.core.__getstate__()
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
    _check(engine, limit, Counts(*counts), keeping, arrays)  # a file that could not be read again is not written
    in_force = _parameters_in_force(engine, limit)
    described = {
        "parameters": {name: encode(in_force[name]) for name in learner.get_params() if name in in_force},
        "width": width_now if engine.growing else engine.width,
        "growing": engine.growing,
        "counts": list(counts),
        "sums": {name: encode(value) for name, value in zip(_sums(type(engine.rule)), sums, strict=True)},
        "keeping": keeping,
    }
    if len(late[0]):
        described["late"] = dict(zip(LATE, (each.tolist() for each in late), strict=True))
    return described, {name: arrays[name].astype(DTYPES[kind], copy=False) for name, kind in TENSORS.items()}


def restore_state(kind: type[Learner], described: Any, tensors: dict[str, AnyArray]) -> LearnerEngine:
    """Return the state that a file contains; raise ModelError if it is not valid."""
    late = described.pop("late", None) if isinstance(described, dict) else None
    parameters, width, growing, counts, sums, keeping = fields(
        described, "parameters", "width", "growing", "counts", "sums", "keeping", path="life"
    )
    grows = type(growing) is bool and (width is not None or not growing)
    need(grows, "life.growing must be true or false, and true only with a width", "life.growing")
    need(width is None or (type(width) is int and width >= 0), "life.width must be a whole number", "life.width")
    need(is_list_of(int, counts) and len(counts) == 5, "life.counts must be five whole numbers", "life.counts")
    need(type(keeping) is bool, "life.keeping must be true or false", "life.keeping")
    start, scalars = rule_class(kind.rule_id).start, len(rule_class(kind.rule_id).scalars)
    # All of them may be infinite or NaN after an overflow, except those of the constant feature and the scalars.
    names_of_sums = _sums(rule_class(kind.rule_id))
    numbers = [from_json(number, "life.sums") for number in fields(sums, *names_of_sums, path="life.sums")]
    need(all(type(number) is float for number in numbers), "life.sums must be real numbers", "life.sums")
    of_bias = np.array([numbers[0], *numbers[len(SUMS) : len(numbers) - scalars]])
    finite = (np.abs(of_bias) <= np.finfo(np.float32).max).all()
    need(finite, "the sum of the constant feature is not a finite float32", "life.sums")
    names, z = _read_names(tensors["name_offsets"], tensors["name_bytes"]), tensors["z"]
    like = construct(kind, parameters, "life.parameters")
    try:
        slots = len(names) + 1 if width is None else like._reduction().slots(width)
        # Checked before memory is allocated for all these features.
        need(len(z) == slots * len(start), "the number of weights does not match the number of features", "z")
        engine = like._new_engine(None, growing=True) if growing else like._new_engine(width)
    except ModelError:
        raise
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ModelError(str(error), field="life.parameters") from None
    need(engine.named or not names, "features by position cannot have names", "name_offsets")
    allowed = set(parameters) <= set(_parameters_in_force(engine, 0))
    need(allowed, "life.parameters has a parameter that does not affect learning, such as classes", "life.parameters")
    totals = numbers[1 : len(SUMS)]
    unused = engine.rule.normalised or totals == [0.0] * 4
    need(unused, "the totals in life.sums must be 0, because the rule is not normalised", "life.sums")
    need(engine.rule.allows(of_bias[None]), "the state of the constant feature is out of range", "life.sums")
    possible = engine.rule.allows_scalars(numbers[len(numbers) - scalars :], counts[0])
    need(possible, "the scalars of the rule contradict the number of rounds", "life.sums")
    *rule, first_width, limit, grows = engine.core.__getstate__()[0]
    settings = (*rule, width if growing else first_width, limit, grows)
    _check(engine, limit, Counts(*counts), keeping, tensors)
    kept = tuple(tensors[name] for name in KEPT)
    delays = read_late(late, tensors["kept_rounds"], engine.rule, counts)
    history = (tuple(counts), tensors["predictions"], tensors["mistake_rounds"], kept, keeping, delays)
    engine.core = Engine.__new__(Engine)
    try:
        engine.core.__setstate__((settings, names, z, *numbers, *history))
    except ValueError as error:
        raise ModelError(str(error), field="life") from None
    return engine


def _parameters_in_force(engine: LearnerEngine, limit: int) -> dict[str, Any]:
    """Return the parameters in use; `set_params` may have changed those of the learner since it started."""
    return {
        **asdict(engine.rule),
        "threshold": engine.rule.threshold,
        "target": "conjunction" if engine.reduction.conjunction else "disjunction",
        "complements": engine.reduction.complements,
        "keep_bytes": limit,
    }


def _sums(rule: type[Rule]) -> tuple[str, ...]:
    """Return the names of the single numbers of a state: also the floats of the constant feature, and the scalars."""
    bias = (f"bias_{k}" for k in range(1, len(rule.start)))
    return (*SUMS, *bias, *(f"scalar_{k}" for k in range(len(rule.scalars))))


def _read_names(offsets: AnyArray, letters: AnyArray) -> list[str]:
    need(_divides(offsets, len(letters)), "name_offsets do not divide name_bytes into names", "name_offsets")
    data, ends = letters.tobytes(), offsets.tolist()
    try:
        names = [data[begin:end].decode() for begin, end in pairwise(ends)]
    except UnicodeDecodeError as error:
        message = f"a feature name is not UTF-8: {error}"
        raise ModelError(message, field="name_bytes") from None
    need(len(set(names)) == len(names), "a feature name occurs twice", "name_bytes")
    return names


def _check(engine: LearnerEngine, limit: int, counts: Counts, keeping: bool, has: dict[str, AnyArray]) -> None:  # noqa: FBT001
    """Raise ModelError unless the arrays fit the counts and each other, and every index is in range."""
    rounds, mistakes = counts.rounds, counts.false_positives + counts.false_negatives
    need(min(counts) >= 0 and rounds < 2**62, "a count is out of range", "life.counts")
    if engine.rule.keeps_examples:
        possible = max(mistakes, counts.updates) <= counts.to_keep <= min(rounds, mistakes + counts.updates)
        learned = counts.to_keep if engine.rule.learns_from_positives else counts.false_positives
        possible = possible and counts.updates == learned
    else:
        possible = max(mistakes, counts.updates) <= rounds and counts.to_keep == 0
    need(possible, "the counts contradict each other", "life.counts")
    need(np.isfinite(has["z"]).all(), "a sum z is not finite", "z")
    need(
        engine.rule.allows(has["z"].reshape(-1, len(engine.rule.start))), "the state of a feature is out of range", "z"
    )

    predictions, mistake_rounds = has["predictions"], has["mistake_rounds"]
    fit = len(predictions) == min(rounds, limit) and bool((predictions <= 1).all())
    need(fit, "the predictions do not fit the number of rounds", "predictions")
    fit = len(mistake_rounds) == min(mistakes, -(-limit // 8))
    need(fit, "the rounds of the mistakes do not fit the number of mistakes", "mistake_rounds")
    need(_rises(mistake_rounds, rounds), "the rounds of the mistakes are out of order", "mistake_rounds")
    if len(predictions) == rounds and len(mistake_rounds) == mistakes:
        positive = np.count_nonzero(predictions[mistake_rounds])
        need(positive == counts.false_positives, "the mistaken predictions do not fit the counts", "predictions")

    kept_rounds, labels, mistaken, indptr, index, value = (has[name] for name in KEPT)
    kept = len(kept_rounds)
    fit = kept == counts.to_keep if keeping else kept < counts.to_keep
    need(fit, "the number of kept rounds does not fit the counts", "kept_rounds")
    need(kept == len(labels) == len(mistaken) == len(indptr) - 1, "the lengths of the kept arrays differ", "kept")
    need(_rises(kept_rounds, rounds), "the kept rounds are out of order", "kept_rounds")
    need(((labels == 1) | (labels == -1)).all(), "the labels of the kept rounds must be ±1", "kept_labels")
    need((mistaken <= 1).all(), "kept_mistaken must be 0 or 1", "kept_mistaken")
    found = kept_rounds[mistaken == 1]
    common = min(len(found), len(mistake_rounds))
    same = np.array_equal(found[:common], mistake_rounds[:common])
    all_kept = keeping and engine.rule.keeps_examples
    complete = len(found) == mistakes or (len(found) < mistakes and not all_kept)
    need(same and complete, "the kept mistakes are not the mistakes that were made", "kept_mistaken")
    fit = len(index) == len(value) and _divides(indptr, len(value))
    need(fit, "kept_indptr does not divide kept_index and kept_value into examples", "kept_indptr")
    features = len(has["name_offsets"]) - 1 if engine.named else len(has["z"]) // len(engine.rule.start)
    need((index < features).all(), "a kept example has a feature that the learner does not have", "kept_index")
    need(np.isfinite(value).all(), "a kept value is not finite", "kept_value")
    need((np.abs(value) <= LARGEST).all(), "the value of a kept example is too large to learn from", "kept_value")
    need(not engine.rule.binary or ((value == 0) | (value == 1)).all(), "a kept value is not 0 or 1", "kept_value")
    compare(
        counts,
        engine.rule,
        predictions.view(np.bool_) if len(predictions) == rounds else None,
        mistake_rounds if len(mistake_rounds) == mistakes else None,
        {"rounds": kept_rounds, "labels": labels, "mistaken": mistaken.view(np.bool_)},
        negated=(False,),
    )


def _divides(offsets: AnyArray, total: int) -> bool:
    """Return whether offsets divide 0..total into consecutive pieces."""
    return bool(len(offsets) and offsets[0] == 0 and offsets[-1] == total and (offsets[1:] >= offsets[:-1]).all())


def _rises(rounds: AnyArray, end: int) -> bool:
    """Return whether these are different rounds below ``end``, in increasing order."""
    return not len(rounds) or bool(rounds[0] >= 0 and rounds[-1] < end and (rounds[1:] > rounds[:-1]).all())

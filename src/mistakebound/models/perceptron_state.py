"""Convert what a multiclass Perceptron has learned to JSON and tensors, and back. Every number of a file is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mistakebound._core import Engine
from mistakebound._support.lazy import np
from mistakebound._support.schema import fields, is_list_of, need, whole
from mistakebound.errors import ModelError
from mistakebound.models.class_state import CONFUSION, LIMIT, MOST_ROUNDS, WIDTH, check_record, read_shape
from mistakebound.models.names import divides, name_tensors, read_names
from mistakebound.models.parameters import construct, encode
from mistakebound.play.ledger_schema import LATE, read_late
from mistakebound.rules.base import LARGEST

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray
    from mistakebound.learners.learner import Learner
    from mistakebound.play.perceptron_engine import PerceptronEngine

TENSORS = {
    "name_offsets": "I64",
    "mistake_rounds": "I64",
    "confusion_rounds": "I64",
    "kept_rounds": "I64",
    "kept_indptr": "I64",
    "kept_value": "F64",
    "kept_index": "U32",
    "confusion_labels": "I32",
    "confusion_predictions": "I32",
    "predictions": "I32",
    "kept_labels": "I32",
    "kept_predictions": "I32",
    "weights": "F32",
    "bias_weights": "F32",
    "name_bytes": "U8",
}
"""The tensors of a file and their types, in order. ``weights`` has a number for each class, feature by feature."""
STATE = ("parameters", "width", "growing", "counts", "keeping")
KEPT = ("kept_rounds", "kept_indptr", "kept_index", "kept_value")


def describe_perceptron(engine: PerceptronEngine) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the state of a multiclass Perceptron as a JSON object and tensors."""
    settings, names, state, counts, _, mistake_rounds, kept, keeping, late, _ = engine.core.__getstate__()
    weights, bias, predictions, _, _, confusion, labels, predicted = state
    rounds, _, _, indptr, index, value = kept
    tensors = {
        **name_tensors(names),
        **dict(zip(CONFUSION, confusion, strict=True)),
        "mistake_rounds": mistake_rounds,
        "kept_rounds": rounds,
        "kept_indptr": indptr,
        "kept_value": value,
        "kept_index": index,
        "predictions": predictions,
        "kept_labels": labels,
        "kept_predictions": predicted,
        "weights": weights,
        "bias_weights": bias,
    }
    described = {
        "parameters": {"bias": encode(engine.rule.bias), "keep_bytes": encode(settings[LIMIT])},
        "width": settings[WIDTH] if engine.growing else engine.width,
        "growing": engine.growing,
        "counts": [counts[0], counts[1], counts[3]],
        "keeping": keeping,
    }
    if len(late[0]):
        described["late"] = dict(zip(LATE, (each.tolist() for each in late), strict=True))
    return described, {name: np.ascontiguousarray(tensors[name]) for name in TENSORS}


def restore_perceptron(kind: type[Learner], described: Any, has: dict[str, AnyArray], classes: int) -> PerceptronEngine:
    """Return the state that a file contains; raise ModelError if it is not valid. ``classes`` have occurred."""
    stored_late = described.pop("late", None) if isinstance(described, dict) else None
    parameters, width, growing, counts, keeping = fields(described, *STATE, path="life")
    read_shape(width, growing, keeping)
    need(is_list_of(int, counts) and len(counts) == 3, "life.counts must be three whole numbers", "life.counts")
    rounds = whole(counts[0], "life.counts", 0, MOST_ROUNDS)
    mistakes = whole(counts[1], "life.counts", 0, rounds)
    updates = whole(counts[2], "life.counts", 0, mistakes)
    names = read_names(has["name_offsets"], has["name_bytes"])
    need(width is None or not names, "features by position cannot have names", "name_offsets")
    slots = len(names) + 1 if width is None else width
    _check_weights(has, slots, classes, named=width is None)
    like: Any = construct(kind, parameters, "life.parameters")
    need(set(parameters) == {"bias", "keep_bytes"}, "life.parameters must be bias and keep_bytes", "life.parameters")
    try:
        engine: PerceptronEngine = like._new_engine(None, growing=True) if growing else like._new_engine(width)
    except (TypeError, ValueError, ArithmeticError, MemoryError) as error:
        raise ModelError(str(error), field="life.parameters") from None
    fresh = engine.core.__getstate__()
    settings = list(fresh[0])
    settings[WIDTH] = width if growing else settings[WIDTH]
    check_record(has, rounds, mistakes, classes, settings[LIMIT])
    predicted, found = has["confusion_predictions"], has["confusion_rounds"]
    all_occurred = np.isin(np.arange(classes), has["confusion_labels"]).all()
    fit = all_occurred and found[predicted < 0].sum() == mistakes - updates
    need(fit, "the confusion does not fit the counts", "confusion_rounds")
    _check_kept(has, (rounds, updates, classes), slots - 1 if engine.named else slots, keeping=keeping)
    late = read_late(stored_late, has["kept_rounds"], engine.rule, [rounds, mistakes, 0, updates, updates])
    kept = len(has["kept_rounds"])
    ones = np.ones(kept, np.int8), np.ones(kept, np.uint8)
    rows = (has["kept_rounds"], *ones, has["kept_indptr"], has["kept_index"], has["kept_value"])
    confusion = tuple(has[name] for name in CONFUSION)
    state = (
        *(has["weights"], has["bias_weights"], has["predictions"], 0.0, 0.0, confusion),
        *(has["kept_labels"], has["kept_predictions"]),
    )
    totals = (rounds, mistakes, 0, updates, updates)
    engine.core = Engine.__new__(Engine)
    try:
        parts = (totals, fresh[4], has["mistake_rounds"], rows, keeping, late, None)
        engine.core.__setstate__((tuple(settings), names, state, *parts))
    except (ValueError, MemoryError) as error:
        raise ModelError(str(error), field="life") from None
    return engine


def _check_weights(has: dict[str, AnyArray], slots: int, classes: int, *, named: bool) -> None:
    """Raise ModelError unless there is a finite weight for each feature and class. No memory is allocated before."""
    weights, bias = has["weights"], has["bias_weights"]
    need(len(bias) == classes, "there must be a weight of the constant feature for each label", "bias_weights")
    need(len(weights) == slots * classes, "the number of weights does not match features and labels", "weights")
    need(np.isfinite(weights).all() and np.isfinite(bias).all(), "a weight is not finite", "weights")
    need(not (named and weights[:classes].any()), "the feature of all unknown names was never learned", "weights")


def _check_kept(has: dict[str, AnyArray], counts: tuple[int, int, int], features: int, *, keeping: bool) -> None:
    """Raise ModelError unless the kept examples fit the counts and each other."""
    rounds, updates, classes = counts
    at, indptr, index, value = (has[name] for name in KEPT)
    labels, predicted, kept = has["kept_labels"], has["kept_predictions"], len(at)
    need(kept == updates if keeping else kept < updates, "the kept rounds do not fit the counts", "kept_rounds")
    need(kept == len(labels) == len(predicted) == len(indptr) - 1, "the lengths of the kept arrays differ", "kept")
    rising = not kept or (at[0] >= 0 and at[-1] < rounds and bool((at[1:] > at[:-1]).all()))
    need(rising, "the kept rounds are out of order", "kept_rounds")
    inside = (labels >= 0) & (labels < classes) & (predicted >= 0) & (predicted < classes) & (labels != predicted)
    need(inside.all(), "the labels and predictions of the kept rounds must be two different classes", "kept_labels")
    fit = len(index) == len(value) and divides(indptr, len(value))
    need(fit, "kept_indptr does not divide kept_index and kept_value into examples", "kept_indptr")
    need((index < features).all(), "a kept example has a feature that the learner does not have", "kept_index")
    need((np.abs(value) <= LARGEST).all(), "the value of a kept example is too large to learn from", "kept_value")
    mistakes = has["mistake_rounds"]
    among = np.isin(at[at <= mistakes[-1]] if len(mistakes) else at[:0], mistakes).all()
    need(among, "the kept rounds are not among the mistakes", "kept_rounds")

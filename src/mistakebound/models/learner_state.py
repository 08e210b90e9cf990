"""Convert what a linear learner has learned to JSON and tensors, and back.

All numbers from a file are checked before they are used: the core and the certificates rely on them. The same checks
run before a file is written.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._core import Engine
from mistakebound._support.lazy import np
from mistakebound._support.schema import fields, from_json, is_list_of, need, whole
from mistakebound.errors import ModelError
from mistakebound.models import panel_state
from mistakebound.models.container import DTYPES
from mistakebound.models.names import divides, name_tensors, read_names
from mistakebound.models.parameters import construct, encode
from mistakebound.play.engine import is_panel
from mistakebound.play.ledger import Counts
from mistakebound.play.ledger_schema import LATE, compare, read_late
from mistakebound.play.measures import Measures
from mistakebound.play.measures_json import check_labels, read_measures, write_measures
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
"""The tensors of a linear learner and their types, in order. Those of a panel are in ``panel_state``."""
KEPT = ("kept_rounds", "kept_labels", "kept_mistaken", "kept_indptr", "kept_index", "kept_value")
SUMS = ("bias_z", "factor", "total", "total_rest", "peak")


HISTORY = 7
"""Parts at the end of the core's state that all rules have: the record of the rounds."""
WIDTH, LIMIT = 7, 8
"""Places of the width and of ``keep_bytes`` in the settings of the core."""
LATE_BYTES = 16
"""Memory of a late outcome, which ``keep_bytes`` limits."""
OPTIONAL = ("late", "measures", "weighted", "dropped", "earlier")
"""Fields of the state that are absent if there is nothing to store."""


def tensors_of(rule_id: str) -> dict[str, str]:
    """Return the tensors in the file of a learner with this rule, and their types."""
    return panel_state.TENSORS if rule_id == "panel" else TENSORS


def describe_state(learner: Learner, engine: LearnerEngine) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the state of a learner as a JSON object and tensors."""
    settings, names, *parts = engine.core.__getstate__()
    state, *sums = parts[:-HISTORY]
    counts, predictions, mistake_rounds, kept, keeping, late, measured = parts[-HISTORY:]
    measures = None if measured is None else Measures(*measured)
    slots: int = len(names) + 1 if engine.named else settings[WIDTH]
    arrays = {
        **name_tensors(names),
        "predictions": predictions,
        "mistake_rounds": mistake_rounds,
        **(panel_state.to_tensors(state, slots) if is_panel(engine.rule) else {"z": state}),
        **dict(zip(KEPT, kept, strict=True)),
    }
    weighted = learner._play is not None and learner._play.weighted
    earlier = panel_state.earlier_rounds(state, counts[0]) if is_panel(engine.rule) and not weighted else 0
    history = History(Counts(*counts), keeping, late, measures, settings[LIMIT], slots, weighted, earlier)
    _check(engine, history, arrays)  # a file that could not be read again is not written
    in_force = _parameters_in_force(engine, settings[LIMIT])
    described = {
        "parameters": {name: encode(in_force[name]) for name in learner.get_params() if name in in_force},
        "width": settings[WIDTH] if engine.growing else engine.width,
        "growing": engine.growing,
        "counts": list(counts),
        "sums": {name: encode(value) for name, value in zip(_sums(type(engine.rule)), sums, strict=True)},
        "keeping": keeping,
    }
    if len(late[0]):
        described["late"] = dict(zip(LATE, (each.tolist() for each in late), strict=True))
    if weighted:
        described["weighted"] = True
    if measures is not None:
        described["measures"] = write_measures(measures)
    if engine.dropped:
        described["dropped"] = engine.dropped
    if earlier:
        described["earlier"] = earlier
    types = tensors_of(engine.rule.id)
    return described, {name: arrays[name].astype(DTYPES[kind], copy=False) for name, kind in types.items()}


def restore_state(kind: type[Learner], described: Any, tensors: dict[str, AnyArray]) -> LearnerEngine:
    """Return the state that a file contains; raise ModelError if it is not valid."""
    late, measured, weighted, dropped, earlier = (
        described.pop(name, None) if isinstance(described, dict) else None for name in OPTIONAL
    )
    need(weighted is None or weighted is True, "life.weighted must be true, or absent", "life.weighted")
    need(not weighted or rule_class(kind.rule_id).takes_weights, "the rule takes no weights", "life.weighted")
    need(
        earlier is None or (kind.rule_id == "panel" and not weighted),
        "only a panel without weights can have counted earlier rounds",
        "life.earlier",
    )
    parameters, width, growing, counts, sums, keeping = fields(
        described, "parameters", "width", "growing", "counts", "sums", "keeping", path="life"
    )
    grows = type(growing) is bool and (width is not None or not growing)
    need(grows, "life.growing must be true or false, and true only with a width", "life.growing")
    need(width is None or (type(width) is int and width >= 0), "life.width must be a whole number", "life.width")
    need(is_list_of(int, counts) and len(counts) == 5, "life.counts must be five whole numbers", "life.counts")
    need(type(keeping) is bool, "life.keeping must be true or false", "life.keeping")
    expected = tensors_of(kind.rule_id)
    need(list(tensors) == list(expected), f"the tensors must be {', '.join(expected)}", "tensors")
    names = read_names(tensors["name_offsets"], tensors["name_bytes"])
    like = construct(kind, parameters, "life.parameters")
    try:
        slots = len(names) + 1 if width is None else like._reduction().slots(width)
        # Checked before memory is allocated for all these features.
        if kind.rule_id == "panel":
            panel_state.check_features(tensors, slots, named=width is None)
        else:
            weights = slots * len(rule_class(kind.rule_id).start)
            need(len(tensors["z"]) == weights, "the number of weights does not match the number of features", "z")
        engine = like._new_engine(None, growing=True) if growing else like._new_engine(width)
    except ModelError:
        raise
    except (TypeError, ValueError, ArithmeticError, MemoryError) as error:
        raise ModelError(str(error), field="life.parameters") from None
    need(engine.named or not names, "features by position cannot have names", "name_offsets")
    allowed = set(parameters) <= set(_parameters_in_force(engine, 0))
    need(allowed, "life.parameters has a parameter that does not affect learning, such as classes", "life.parameters")
    engine.dropped = read_dropped(dropped, named=engine.named)
    fresh = engine.core.__getstate__()
    settings = list(fresh[0])
    settings[WIDTH] = width if growing else settings[WIDTH]
    tensors = dict(zip(KEPT, fresh[-4], strict=True)) | tensors  # a panel keeps no examples
    history = History(
        Counts(*counts),
        keeping,
        read_late(late, tensors["kept_rounds"], engine.rule, counts),
        read_measures(measured, engine.rule, counts[0], "life.measures"),
        settings[LIMIT],
        slots,
        bool(weighted),
        0 if earlier is None else whole(earlier, "life.earlier", 1, 2**53),
    )
    numbers = _read_sums(engine.rule, sums, counts[0], weighted=bool(weighted))
    _check(engine, history, tensors)
    state = panel_state.from_tensors(tensors, slots) if is_panel(engine.rule) else tensors["z"]
    engine.core = Engine.__new__(Engine)
    try:
        engine.core.__setstate__((tuple(settings), names, state, *numbers, *history.parts(tensors)))
    except (ValueError, MemoryError) as error:
        raise ModelError(str(error), field="life") from None
    return engine


def read_dropped(value: Any, *, named: bool) -> int:
    """Return the number of dropped features; raise ModelError if it is not valid."""
    found = 0 if value is None else whole(value, "life.dropped", 1)
    need(named or not found, "life.dropped must be absent for features by position", "life.dropped")
    return found


class History(NamedTuple):
    """The record of the rounds, without its arrays."""

    counts: Counts
    keeping: bool
    late: tuple[AnyArray, AnyArray]
    measures: Measures | None
    limit: int
    """``keep_bytes``"""
    slots: int
    """Number of features that the rule sees."""
    weighted: bool = False
    """Whether a round may have had another weight than 1."""
    earlier: int = 0
    """Of the panel of a label: rounds of other labels before its first round, which it has counted."""

    def parts(self, has: dict[str, AnyArray]) -> tuple[Any, ...]:
        """Return the parts that end the state of the core, with these arrays."""
        kept, measured = tuple(has[name] for name in KEPT), measures_for_core(self.measures)
        return self.counts.totals, has["predictions"], has["mistake_rounds"], kept, self.keeping, self.late, measured


def measures_for_core(measures: Measures | None) -> tuple[Any, ...] | None:
    """Return measures in the form of the state of the core."""
    if measures is None:
        return None
    bins = (np.array(each, np.int64) for each in (measures.negatives, measures.positives))
    return measures.rounds, measures.squares, *measures.parts, *bins


def _read_sums(rule: Rule, sums: Any, rounds: int, *, weighted: bool) -> list[float]:
    """Return the single numbers of a linear rule, after checking them; a panel has none here."""
    numbers = [from_json(number, "life.sums") for number in fields(sums, *_sums(type(rule)), path="life.sums")]
    if is_panel(rule):
        return numbers
    # All of them may be infinite or NaN after an overflow, except those of the constant feature and the scalars.
    need(all(type(number) is float for number in numbers), "life.sums must be real numbers", "life.sums")
    first_scalar = len(numbers) - len(rule.scalars)
    of_bias = np.array([numbers[0], *numbers[len(SUMS) : first_scalar]])
    finite = (np.abs(of_bias) <= np.finfo(np.float32).max).all()
    need(finite, "the sum of the constant feature is not a finite float32", "life.sums")
    unused = rule.normalised or numbers[1 : len(SUMS)] == [0.0] * 4
    need(unused, "the totals in life.sums must be 0, because the rule is not normalised", "life.sums")
    need(rule.allows(of_bias[None]), "the state of the constant feature is out of range", "life.sums")
    scalars = numbers[first_scalar:]
    possible = rule.allows_weighted_scalars(scalars) if weighted else rule.allows_scalars(scalars, rounds)
    need(possible, "the scalars of the rule contradict the number of rounds", "life.sums")
    return numbers


def _parameters_in_force(engine: LearnerEngine, limit: int) -> dict[str, Any]:
    """Return the parameters in use; `set_params` may have changed those of the learner since it started."""
    return {
        **asdict(engine.rule),
        "threshold": engine.rule.threshold,
        "target": "conjunction" if engine.reduction.conjunction else "disjunction",
        "complements": engine.reduction.complements,
        "keep_bytes": limit,
    } | (panel_state.parameters_in_force(engine.rule) if is_panel(engine.rule) else {})


def _sums(rule: type[Rule]) -> tuple[str, ...]:
    """Return the names of the single numbers of a state: also the floats of the constant feature, and the scalars."""
    if rule.id == "panel":
        return ()
    bias = (f"bias_{k}" for k in range(1, len(rule.start)))
    return (*SUMS, *bias, *(f"scalar_{k}" for k in range(len(rule.scalars))))


def _check(engine: LearnerEngine, history: History, has: dict[str, AnyArray]) -> None:
    """Raise ModelError unless the arrays fit the counts and each other, and every index is in range."""
    counts, keeping, _, measures, limit, slots, *_ = history
    rounds, mistakes = counts.rounds, counts.false_positives + counts.false_negatives
    need(min(counts.totals) >= 0 and rounds < 2**62, "a count is out of range", "life.counts")
    if engine.rule.keeps_examples:
        possible = max(mistakes, counts.updates) <= counts.to_keep <= min(rounds, mistakes + counts.updates)
        learned = counts.to_keep if engine.rule.learns_from_positives else counts.false_positives
        possible = possible and counts.updates == learned
    else:
        possible = max(mistakes, counts.updates) <= rounds and counts.to_keep == 0
        possible = possible and (counts.updates == rounds or not is_panel(engine.rule))
    need(possible, "the counts contradict each other", "life.counts")

    predictions, mistake_rounds = has["predictions"], has["mistake_rounds"]
    fit = len(predictions) == min(rounds, limit) and bool((predictions <= 1).all())
    need(fit, "the predictions do not fit the number of rounds", "predictions")
    fit = len(mistake_rounds) == min(mistakes, -(-limit // 8))
    need(fit, "the rounds of the mistakes do not fit the number of mistakes", "mistake_rounds")
    need(_rises(mistake_rounds, rounds), "the rounds of the mistakes are out of order", "mistake_rounds")
    if len(predictions) == rounds and len(mistake_rounds) == mistakes:
        wrong = np.count_nonzero(predictions[mistake_rounds])
        need(wrong == counts.false_positives, "the mistaken predictions do not fit the counts", "predictions")

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
    fit = len(index) == len(value) and divides(indptr, len(value))
    need(fit, "kept_indptr does not divide kept_index and kept_value into examples", "kept_indptr")
    features = slots - 1 if engine.named else slots
    need((index < features).all(), "a kept example has a feature that the learner does not have", "kept_index")
    need(np.isfinite(value).all(), "a kept value is not finite", "kept_value")
    need((np.abs(value) <= LARGEST).all(), "the value of a kept example is too large to learn from", "kept_value")
    need(not engine.rule.binary or ((value == 0) | (value == 1)).all(), "a kept value is not 0 or 1", "kept_value")
    positive = predictions.view(np.bool_) if len(predictions) == rounds else None
    compare(
        counts.totals,
        engine.rule,
        positive,
        mistake_rounds if len(mistake_rounds) == mistakes else None,
        {"rounds": kept_rounds, "labels": labels, "mistaken": mistaken.view(np.bool_)},
        negated=(False,),
    )
    check_labels(measures, counts.totals, positive)
    _check_learned(engine, history, positive, has)


def _check_learned(
    engine: LearnerEngine, history: History, positive: AnyArray | None, has: dict[str, AnyArray]
) -> None:
    """Raise ModelError unless a learner can reach what it has learned of the features."""
    rule, counts = engine.rule, history.counts
    if not is_panel(rule):
        need(np.isfinite(has["z"]).all(), "a sum z is not finite", "z")
        need(rule.allows(has["z"].reshape(-1, len(rule.start))), "the state of a feature is out of range", "z")
        return
    late, measures = len(history.late[0]), history.measures
    labels = None
    if positive is not None:
        labels = int(np.count_nonzero(positive)) - counts.false_positives + counts.false_negatives
    elif measures is not None and measures.rounds == counts.rounds:
        labels = sum(measures.positives)
    all_late = late == 0 or late * LATE_BYTES < history.limit  # the first one is always kept
    known = late if all_late and rule.threshold == 0 else None  # otherwise the guard does not make the predictions
    panel_state.check(
        rule,
        counts,
        known,
        labels,
        has,
        history.slots,
        named=engine.named,
        weighted=history.weighted,
        earlier=history.earlier,
    )


def _rises(rounds: AnyArray, end: int) -> bool:
    """Return whether these are different rounds below ``end``, in increasing order."""
    return not len(rounds) or bool(rounds[0] >= 0 and rounds[-1] < end and (rounds[1:] > rounds[:-1]).all())

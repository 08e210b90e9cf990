"""Convert what a panel of several classes has learned to JSON and tensors, and back.

The core checks the records of features, slots and contexts when it restores them (``core/panel/classes/check.hpp``).
This module checks the counts of the rounds, and that they fit each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mistakebound._core import Engine
from mistakebound._support.lazy import np
from mistakebound._support.schema import fields, is_list_of, need, number, whole
from mistakebound.errors import ModelError
from mistakebound.models.learner_state import measures_for_core, read_dropped
from mistakebound.models.names import name_tensors, read_names
from mistakebound.models.parameters import construct, encode
from mistakebound.play.class_engine import empty_engine
from mistakebound.play.class_measures import check_confidence
from mistakebound.play.ledger_schema import LATE, read_late
from mistakebound.play.measures import Measures
from mistakebound.play.measures_json import read_measures, write_measures
from mistakebound.rules.panel_members import mask_of

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray
    from mistakebound.learners.learner import Learner
    from mistakebound.play.class_engine import ClassEngine

PAIRS = tuple(
    f"{owner}_{part}" for owner in ("cell", "slot", "context") for part in ("owners", "counts", "classes", "values")
)
"""Records of pairs of an owner and a class: owners, the number of classes of each, these classes, the numbers."""
NUMBERS = ("feature_numbers", "context_sizes", "numbers", "leads")
CONFUSION = ("confusion_labels", "confusion_predictions", "confusion_rounds")
TENSORS = {
    "name_offsets": "I64",
    "mistake_rounds": "I64",
    "confusion_rounds": "I64",
    **dict.fromkeys(NUMBERS, "F64"),
    **{name: "U32" for name in PAIRS[1:] if name.endswith(("owners", "counts"))},
    **{name: "I32" for name in PAIRS if name.endswith("classes")},
    **dict.fromkeys(CONFUSION[:2], "I32"),
    "predictions": "I32",
    **{name: "F32" for name in PAIRS if name.endswith("values")},
    "features": "U8",
    "name_bytes": "U8",
}
"""The tensors of a file and their types, in order. ``features`` has a bit for each feature: whether it has records."""
CONFIDENCE = "confidence"
"""Measures of the probabilities of the predictions. A fingerprint leaves them out, because older files lack them."""
OPTIONAL = ("late", "dropped", "measured", CONFIDENCE)
"""Fields of the state that are absent if there is nothing to store; ``measured`` is absent if all rounds were."""
LIFE = ("parameters", "width", "growing", "counts", "keeping", "log_loss", "brier")
WIDTH, LIMIT = 7, 8
"""Places of the width and of ``keep_bytes`` in the settings of the core."""
CONSTANT, BEFORE = 0, 2
"""The owner that is the constant, and the owner that is feature 0."""
MOST_ROUNDS = 2**53


def describe_classes(engine: ClassEngine) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the state of a panel of several classes as a JSON object and tensors."""
    settings, names, state, counts, _, mistake_rounds, _, keeping, late, confidence = engine.core.__getstate__()
    *arrays, predictions, log_loss, brier, confusion, measured = state
    slots = len(names) + 1 if engine.named else settings[WIDTH]
    has = dict(zip((*PAIRS, *NUMBERS), arrays, strict=True))
    owners, bits = has.pop("cell_owners"), np.zeros(slots, np.bool_)
    bits[owners[owners != CONSTANT] - BEFORE] = True
    tensors = {
        **has,
        **name_tensors(names),
        **dict(zip(CONFUSION, confusion, strict=True)),
        "features": np.packbits(bits, bitorder="little"),
        "mistake_rounds": mistake_rounds,
        "predictions": predictions,
    }
    described = {
        "parameters": {"members": encode(list(engine.rule.chosen)), "keep_bytes": encode(settings[LIMIT])},
        "width": settings[WIDTH] if engine.growing else engine.width,
        "growing": engine.growing,
        "counts": [counts[0], counts[1]],
        "keeping": keeping,
        "log_loss": log_loss,
        "brier": brier,
    }
    if len(late[0]):
        described["late"] = dict(zip(LATE, (each.tolist() for each in late), strict=True))
    if engine.dropped:
        described["dropped"] = engine.dropped
    if measured != counts[0]:
        described["measured"] = measured
    if confidence is not None:
        described[CONFIDENCE] = write_measures(Measures(*confidence))
    return described, {name: np.ascontiguousarray(tensors[name]) for name in TENSORS}


def restore_classes(kind: type[Learner], described: Any, tensors: dict[str, AnyArray], classes: int) -> ClassEngine:
    """Return the state that a file contains; raise ModelError if it is not valid. ``classes`` have occurred."""
    stored_late, dropped, stored_measured, stored_confidence = (
        described.pop(name, None) if isinstance(described, dict) else None for name in OPTIONAL
    )
    parameters, width, growing, counts, keeping, log_loss, brier = fields(described, *LIFE, path="life")
    read_shape(width, growing, keeping)
    need(is_list_of(int, counts) and len(counts) == 2, "life.counts must be two whole numbers", "life.counts")
    rounds = whole(counts[0], "life.counts", 0, MOST_ROUNDS)
    mistakes = whole(counts[1], "life.counts", 0, rounds)
    names = read_names(tensors["name_offsets"], tensors["name_bytes"])
    need(width is None or not names, "features by position cannot have names", "name_offsets")
    slots = len(names) + 1 if width is None else width
    owners = _owners(tensors["features"], slots, len(tensors["cell_counts"]), named=width is None)
    need(rounds > 0 or not len(owners), "features have records, but no round was learned", "features")
    engine = _empty(kind, parameters, width, growing=growing)
    engine.dropped = read_dropped(dropped, named=engine.named)
    limit: int = engine.core.__getstate__()[0][LIMIT]
    check_record(tensors, rounds, mistakes, classes, limit)
    _check_leads(tensors["leads"], len(engine.member_names), rounds)
    losses = number(log_loss, "life.log_loss", 0.0), number(brier, "life.brier", 0.0)
    late = read_late(stored_late, np.zeros(0, np.int64), engine.rule, [rounds, mistakes, 0, rounds, 0])
    measured = rounds if stored_measured is None else whole(stored_measured, "life.measured", 0, rounds)
    confidence = read_measures(stored_confidence, engine.rule, rounds, f"life.{CONFIDENCE}")
    has = tensors | {"cell_owners": owners}
    confusion = tuple(has[name] for name in CONFUSION)
    state = (*(has[name] for name in (*PAIRS, *NUMBERS)), has["predictions"], *losses, confusion, measured)
    fresh = engine.core.__getstate__()
    settings = list(fresh[0])
    settings[WIDTH] = width if growing else settings[WIDTH]
    totals, measures = (rounds, mistakes, 0, rounds, 0), measures_for_core(confidence)
    history = (totals, fresh[4], has["mistake_rounds"], fresh[6], keeping, late, measures)
    engine.core = Engine.__new__(Engine)
    try:
        engine.core.__setstate__((tuple(settings), names, state, *history))
    except (ValueError, MemoryError) as error:
        raise ModelError(str(error), field="life") from None
    need(engine.class_count == classes, "the state does not have a class for each label", "labels")
    _check_totals(engine, rounds, mistakes, len(late[0]))
    counts_now = engine.class_counts
    converted = counts_now.first_seen < classes
    check_confidence(counts_now.measures, mistakes, f"life.{CONFIDENCE}", all_known=not converted)
    return engine


def read_shape(width: Any, growing: Any, keeping: Any) -> None:
    """Raise ModelError unless these are a width or None, whether it grows, and whether rounds are still kept."""
    grows = type(growing) is bool and (width is not None or not growing)
    need(grows, "life.growing must be true or false, and true only with a width", "life.growing")
    need(width is None or (type(width) is int and width >= 0), "life.width must be a whole number", "life.width")
    need(type(keeping) is bool, "life.keeping must be true or false", "life.keeping")


def _empty(kind: type[Learner], parameters: Any, width: int | None, *, growing: bool) -> ClassEngine:
    """Return an engine that has not learned, with the parameters of the file."""
    like: Any = construct(kind, parameters, "life.parameters")
    allowed = set(parameters) == {"members", "keep_bytes"}
    need(allowed, "life.parameters must be members and keep_bytes", "life.parameters")
    try:
        own, others = like._split()
        need(not others, "several classes cannot have members from outside", "life.parameters")
        return empty_engine(mask_of(own), 0 if growing else width, like._keep_bytes(), growing=growing)
    except ModelError:
        raise
    except (TypeError, ValueError, ArithmeticError, MemoryError) as error:
        raise ModelError(str(error), field="life.parameters") from None


def _owners(bits: AnyArray, slots: int, count: int, *, named: bool) -> AnyArray:
    """Return the owners of records, in increasing order: the constant, and the features that have a bit.

    ``count`` is their number. The constant has no records as long as all weights were 0.
    """
    need(len(bits) == -(-slots // 8), "features must have a bit for each feature", "features")
    found = np.flatnonzero(np.unpackbits(bits, bitorder="little"))
    need(not len(found) or found[-1] < slots, "features has a bit without a feature", "features")
    need(not (named and len(found) and found[0] == 0), "the feature of all unknown names was never learned", "features")
    need(count in (len(found), len(found) + 1), "cell_counts must have a number for each owner", "cell_counts")
    return np.append([CONSTANT] * (count - len(found)), found + BEFORE).astype(np.uint32)


def check_record(has: dict[str, AnyArray], rounds: int, mistakes: int, classes: int, limit: int) -> None:
    """Raise ModelError unless predictions, mistakes and confusion fit each other."""
    truth, predicted, counts = (has[name].astype(np.int64) for name in CONFUSION)
    same_length = len(truth) == len(predicted) == len(counts)
    need(same_length, "the arrays of the confusion must have the same length", "confusion_rounds")
    inside = (truth >= 0) & (truth < classes) & (predicted >= -1) & (predicted < classes) & (counts > 0)
    need(inside.all() and (counts <= rounds).all(), "the confusion is out of range", "confusion_rounds")
    keys = truth * (classes + 1) + predicted
    need((keys[1:] > keys[:-1]).all(), "the pairs of the confusion must be in increasing order", "confusion_labels")
    fit = counts.sum() == rounds and counts[truth != predicted].sum() == mistakes
    need(fit, "the confusion does not fit the counts", "confusion_rounds")
    # Of the two labels that a panel of two labels was given, one may not have occurred.
    need(np.isin(np.arange(2, classes), truth).all(), "each label must have occurred", "confusion_labels")
    predictions, at = has["predictions"], has["mistake_rounds"]
    kept = len(predictions) == min(rounds, limit // 4) and ((predictions >= -1) & (predictions < classes)).all()
    need(kept, "the predictions do not fit the number of rounds", "predictions")
    if len(predictions) == rounds:
        expected = np.zeros(classes + 1, np.int64)
        np.add.at(expected, predicted + 1, counts)
        same = np.array_equal(np.bincount(predictions + 1, minlength=classes + 1), expected)
        need(same, "the predictions do not fit the confusion", "predictions")
    need(len(at) == min(mistakes, -(-limit // 8)), "mistake_rounds must have all mistakes", "mistake_rounds")
    rising = not len(at) or (at[0] >= 0 and at[-1] < rounds and bool((at[1:] > at[:-1]).all()))
    need(rising, "the rounds of the mistakes are out of order", "mistake_rounds")


def _check_leads(leads: AnyArray, members: int, rounds: int) -> None:
    """Raise ModelError unless ``leads`` has increasing rounds, each with the number of a member."""
    need(len(leads) % 2 == 0, "leads must have a round and a member for each leader", "leads")
    at, who = leads[::2], leads[1::2]
    fit = ((leads >= 0) & (leads == np.floor(leads))).all() and (at <= rounds).all() and (at[1:] > at[:-1]).all()
    need(fit and (who < members).all(), "leads must have increasing rounds and members that play", "leads")


def _check_totals(engine: ClassEngine, rounds: int, mistakes: int, late: int) -> None:
    """Raise ModelError unless the totals of the combiner are those of the rounds."""
    standings = engine.standings
    need(standings.all_rounds == rounds, "the totals of the panel do not fit the number of rounds", "numbers")
    fit = abs(standings.all_mistakes - mistakes) <= late
    need(fit, "the mistakes of the panel are not those that were counted", "numbers")

"""Ledgers of experts as JSON, and back with every field checked by its type, its range and against the others.

The weights of each round (``keep_weights``) are not written: the model file of a learner gives them again.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NoReturn

from mistakebound._support import schema
from mistakebound._support.lazy import np
from mistakebound._support.schema import need
from mistakebound.aggregation.reference import SUMS
from mistakebound.data.labels import label_array
from mistakebound.errors import ModelError
from mistakebound.losses import loss_named

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray
    from mistakebound.play.expert_ledger import AggregationLedger, ExpertLedger

LABEL_TYPES = (bool, int, float, str)
VOTES = (
    *("rule", "beta", "rounds", "labels", "predictions", "mistake_rounds", "expert_mistakes", "expected_mistakes"),
    *("expert_losses", "expert_rounds", "prior", "names", "from_start", "late"),
)
MIXTURE = (
    *("rule", "parameters", "loss", "gradient", "names", "prior", "shape", "predictions", "losses", "sums"),
    *("from_start", "late", "kept"),
)
KEPT = ("advice", "outcomes", "priors")
EXPERT_RULES = ("weighted-majority", "halving", "randomized-weighted-majority")


def votes_to_json(ledger: ExpertLedger) -> str:
    """A ledger of votes as JSON text; ModelError for outcomes that JSON does not have."""
    labels: dict[Any, int] = {}
    codes = [labels.setdefault((type(each), each), len(labels)) for each in ledger.predictions.tolist()]
    for kind, label in labels:
        need(kind in LABEL_TYPES, f"outcome {label!r} is of type {kind.__name__}, which JSON does not have")
    said = {name: getattr(ledger, name) for name in VOTES if name not in ("labels", "predictions")}
    said = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in said.items()}
    said |= {
        "labels": [schema.to_json(label) for _, label in labels],
        "predictions": codes,
        "names": list(ledger.names),
    }
    return json.dumps({name: said[name] for name in VOTES}, allow_nan=False)


def read_votes(text: Any) -> dict[str, Any]:
    """The fields of a ledger of votes; ModelError, with the name of the field, if one is not valid."""
    data = schema.parse(text, "the ledger")
    said = dict(zip(VOTES, schema.fields(data, *VOTES), strict=True))
    rounds = schema.whole(said["rounds"], "rounds")
    names = schema.texts(said["names"], "names", distinct=True)
    n = len(names)
    labels = [schema.from_json(label, "labels") for label in schema.items(said.pop("labels"), "labels")]
    need(all(type(label) in LABEL_TYPES for label in labels), "labels should be bool, int, float or str", "labels")
    codes = schema.wholes(said["predictions"], "predictions", 0, len(labels) - 1, rounds)
    wrong = schema.rising(said["mistake_rounds"], "mistake_rounds", rounds - 1)
    mistakes = _whole_array(said, "expert_mistakes", rounds, n)
    awake = _whole_array(said, "expert_rounds", rounds, n)
    need((mistakes <= awake).all(), "expert_mistakes should be at most expert_rounds", "expert_mistakes")
    losses = np.array(schema.numbers(said["expert_losses"], "expert_losses", -1e-6, schema.LARGEST_FLOAT, n), float)
    need((losses >= mistakes - 1e-6).all(), "expert_losses should be at least expert_mistakes", "expert_losses")
    return {
        "rule": schema.text(said["rule"], "rule", EXPERT_RULES),
        "beta": schema.number(said["beta"], "beta", 0.0, math.nextafter(1.0, 0.0)),
        "rounds": rounds,
        "predictions": label_array(labels)[np.array(codes, np.intp)] if rounds else np.zeros(0),
        "mistake_rounds": np.array(wrong, np.int64),
        "expert_mistakes": mistakes,
        "expected_mistakes": schema.number(said["expected_mistakes"], "expected_mistakes", -1e-6),
        "expert_losses": losses,
        "expert_rounds": awake,
        "prior": _prior(said["prior"], n),
        "names": tuple(names),
        "from_start": schema.flag(said["from_start"], "from_start"),
        "late": schema.whole(said["late"], "late"),
    }


def mixture_to_json(ledger: AggregationLedger) -> str:
    """A ledger of mixed forecasts as JSON text; ModelError for a loss that is a pair of functions."""
    try:
        named = loss_named(ledger.loss.id) == ledger.loss
    except ValueError:
        named = False
    need(named, "a loss that is a pair of functions has no JSON", "loss")
    kept, arrays = ledger.kept.export()
    said = {name: getattr(ledger, name) for name in MIXTURE if name not in ("shape", "kept", "loss", "sums")}
    said |= {
        "loss": ledger.loss.id,
        "names": list(ledger.names),
        "prior": ledger.prior.tolist(),
        "shape": list(ledger.predictions.shape[1:]),
        "predictions": ledger.predictions.ravel().tolist(),
        "losses": ledger.losses.tolist(),
        "sums": {name: ledger.sums[name].tolist() for name in SUMS} if ledger.sums else None,
        "kept": kept | {name: _holes(arrays[name]) for name in KEPT},
    }
    return json.dumps({name: said[name] for name in MIXTURE}, allow_nan=False)


def read_mixture(text: Any, keep: Any) -> dict[str, Any]:
    """The fields of a ledger of mixed forecasts; ``keep`` makes what holds the advice."""
    data = schema.parse(text, "the ledger")
    said = dict(zip(MIXTURE, schema.fields(data, *MIXTURE), strict=True))
    names = schema.texts(said["names"], "names", distinct=True)
    losses = np.array(schema.numbers(said["losses"], "losses", -schema.LARGEST_FLOAT, schema.LARGEST_FLOAT), float)
    shape = tuple(schema.wholes(said["shape"], "shape", 1, 2**31))
    need(len(shape) <= 1, "shape should have one number at most", "shape")
    size = len(losses) * math.prod(shape)
    flat = schema.numbers(said["predictions"], "predictions", -schema.LARGEST_FLOAT, schema.LARGEST_FLOAT, size)
    parameters = said["parameters"]
    plain = isinstance(parameters, dict) and all(_is_plain(each) for each in parameters.values())
    need(plain, "parameters should be an object of numbers and texts", "parameters")
    sums = {}
    if said["sums"] is not None:
        values = schema.fields(said["sums"], *SUMS, path="sums")
        limits = (-schema.LARGEST_FLOAT, schema.LARGEST_FLOAT, len(names))
        sums = {
            name: np.array(schema.numbers(each, f"sums.{name}", *limits), float)
            for name, each in zip(SUMS, values, strict=True)
        }
    try:
        loss = loss_named(schema.text(said["loss"], "loss"))
    except ValueError as error:
        raise ModelError(str(error), field="loss") from None
    return {
        "rule": schema.text(said["rule"], "rule"),
        "parameters": parameters,
        "loss": loss,
        "gradient": schema.flag(said["gradient"], "gradient"),
        "names": tuple(names),
        "prior": _prior(said["prior"], len(names)),
        "predictions": np.array(flat, float).reshape(len(losses), *shape),
        "losses": losses,
        "sums": sums,
        "from_start": schema.flag(said["from_start"], "from_start"),
        "late": schema.whole(said["late"], "late"),
        "kept": _read_kept(said["kept"], keep, shape),
    }


def no_engine(_: Any) -> NoReturn:
    """Stands for the rule of a ledger that was read from JSON, which does not hold one."""
    message = "a ledger that was read from JSON cannot be replayed: certify the learner, or the model file of it"
    raise ValueError(message)


def _read_kept(value: Any, keep: Any, shape: tuple[int, ...]) -> Any:
    need(isinstance(value, dict), "kept should be an object", "kept")
    found = dict(value)
    arrays = {}
    for name in KEPT:
        need(name in found, f"kept.{name} is missing", f"kept.{name}")
        listed = schema.items(found.pop(name), f"kept.{name}")
        largest = schema.LARGEST_FLOAT
        sound = all(each is None or (type(each) in (int, float) and abs(each) <= largest) for each in listed)
        need(sound, f"kept.{name} should be numbers, or null for who sleeps", f"kept.{name}")
        arrays[name] = np.array([math.nan if each is None else each for each in listed], float)
    complete, size = found.get("complete"), found.get("bytes")
    limit = size if complete is True else size - 1 if type(size) is int and size > 0 else 0
    made = keep(limit if type(limit) is int else 0)
    made.restore(found, arrays, shape)
    return made


def _is_plain(value: Any) -> bool:
    return type(value) is str or (type(value) in (int, float) and abs(value) <= schema.LARGEST_FLOAT)


def _holes(array: AnyArray) -> list[float | None]:
    return [None if math.isnan(each) else each for each in array.ravel().tolist()]


def _whole_array(said: dict[str, Any], name: str, high: int, length: int) -> AnyArray:
    return np.array(schema.wholes(said[name], name, 0, high, length), np.int64)


def _prior(value: Any, length: int) -> AnyArray:
    found = np.array(schema.numbers(value, "prior", 0.0, 1.0, length), float)
    need((found > 0).all(), "prior should be positive", "prior")
    return found

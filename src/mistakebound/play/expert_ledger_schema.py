"""Ledgers of experts as JSON, and back; each field is checked for its type, its range and against the other fields.

The weights of each round (``keep_weights``) are not written.
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
    from collections.abc import Sequence

    from mistakebound._support.arrays import AnyArray
    from mistakebound.play.expert_ledger import AggregationLedger, ExpertLedger
    from mistakebound.play.guarded_ledger import GuardedLedger

LABEL_TYPES = (bool, int, float, str)
VOTES = (
    *("rule", "beta", "rounds", "labels", "predictions", "mistake_rounds", "expert_mistakes", "expected_mistakes"),
    *("expert_losses", "expert_rounds", "prior", "names", "from_start", "late"),
)
ADVICE = ("override_rounds", "advice_rounds", "advice_mistakes")
"""Fields that only the ledger of a guard has."""
MIXTURE = (
    *("rule", "parameters", "loss", "gradient", "names", "prior", "shape", "predictions", "losses", "sums"),
    *("from_start", "late", "kept"),
)
KEPT = ("advice", "outcomes", "priors")
EXPERT_RULES = ("weighted-majority", "halving", "randomized-weighted-majority")
GUARDED_RULES = ("guarded-weighted-majority",)


def votes_to_json(ledger: ExpertLedger) -> str:
    """Return a ledger of votes as JSON text; raise ModelError for outcomes of a type that JSON does not have."""
    return json.dumps(_votes_as_object(ledger), allow_nan=False)


def guarded_to_json(ledger: GuardedLedger) -> str:
    """Return the ledger of a guard as JSON text; raise ModelError as `votes_to_json` does."""
    advice = {name: getattr(ledger, name) for name in ADVICE}
    advice["override_rounds"] = ledger.override_rounds.tolist()
    return json.dumps(_votes_as_object(ledger) | advice, allow_nan=False)


def _votes_as_object(ledger: ExpertLedger) -> dict[str, Any]:
    labels: dict[Any, int] = {}
    codes = [labels.setdefault((type(each), each), len(labels)) for each in ledger.predictions.tolist()]
    for kind, label in labels:
        need(kind in LABEL_TYPES, f"outcomes must be bool, int, float or str, got {label!r} of type {kind.__name__}")
    fields = {name: getattr(ledger, name) for name in VOTES if name not in ("labels", "predictions")}
    fields = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in fields.items()}
    fields |= {
        "labels": [schema.to_json(label) for _, label in labels],
        "predictions": codes,
        "names": list(ledger.names),
    }
    return {name: fields[name] for name in VOTES} | _mixed(ledger)


def read_votes(text: Any) -> dict[str, Any]:
    """Return the fields of a ledger of votes; raise ModelError with the ``field`` that is not valid."""
    data, mixed = _without_mixed(schema.parse(text, "the ledger"))
    return _checked_votes(dict(zip(VOTES, schema.fields(data, *VOTES), strict=True)), EXPERT_RULES) | mixed


def read_guarded(text: Any) -> dict[str, Any]:
    """Return the fields of the ledger of a guard; raise ModelError with the ``field`` that is not valid."""
    names = (*VOTES, *ADVICE)
    fields = dict(zip(names, schema.fields(schema.parse(text, "the ledger"), *names), strict=True))
    found = _checked_votes(fields, GUARDED_RULES)
    need(found["beta"] > 0, "beta must be above 0", "beta")
    overrides = schema.rising(fields["override_rounds"], "override_rounds", found["rounds"] - 1)
    counts = {name: fields[name] for name in ADVICE[1:]}
    advised, mistakes = advice_counts(counts, found["rounds"], found["mistake_rounds"], overrides)
    rounds = np.array(overrides, np.int64)
    return found | {"override_rounds": rounds, "advice_rounds": advised, "advice_mistakes": mistakes}


def advice_counts(counts: dict[str, Any], rounds: int, wrong: AnyArray, overrides: Sequence[int]) -> tuple[int, int]:
    """Return the number of rounds with advice, and of its mistakes: the two values of ``counts``, by their fields.

    Raise ModelError unless they are possible for these rounds, in which the learner was wrong or overrode the advice.
    """
    (path, advised), (other_path, mistakes) = counts.items()
    schema.whole(advised, path, len(overrides), rounds)
    schema.whole(mistakes, other_path, 0, advised)
    followed = len(set(wrong.tolist()) - set(overrides))  # mistakes of the advice, or in rounds without one
    possible = followed - (rounds - advised) <= mistakes <= followed + len(overrides)
    need(possible, f"{other_path} does not agree with the mistakes and the overridden rounds", other_path)
    return advised, mistakes


def _checked_votes(fields: dict[str, Any], rules: tuple[str, ...]) -> dict[str, Any]:
    rounds = schema.whole(fields["rounds"], "rounds")
    names = schema.texts(fields["names"], "names", distinct=True)
    n = len(names)
    labels = [schema.from_json(label, "labels") for label in schema.items(fields.pop("labels"), "labels")]
    need(all(type(label) in LABEL_TYPES for label in labels), "labels must be bool, int, float or str", "labels")
    codes = schema.wholes(fields["predictions"], "predictions", 0, len(labels) - 1, rounds)
    wrong = schema.rising(fields["mistake_rounds"], "mistake_rounds", rounds - 1)
    mistakes = _whole_array(fields, "expert_mistakes", rounds, n)
    awake = _whole_array(fields, "expert_rounds", rounds, n)
    need((mistakes <= awake).all(), "expert_mistakes must be at most expert_rounds", "expert_mistakes")
    losses = np.array(schema.numbers(fields["expert_losses"], "expert_losses", -1e-6, schema.LARGEST_FLOAT, n), float)
    need((losses >= mistakes - 1e-6).all(), "expert_losses must be at least expert_mistakes", "expert_losses")
    return {
        "rule": schema.text(fields["rule"], "rule", rules),
        "beta": schema.number(fields["beta"], "beta", 0.0, math.nextafter(1.0, 0.0)),
        "rounds": rounds,
        "predictions": label_array(labels)[np.array(codes, np.intp)] if rounds else np.zeros(0),
        "mistake_rounds": np.array(wrong, np.int64),
        "expert_mistakes": mistakes,
        "expected_mistakes": schema.number(fields["expected_mistakes"], "expected_mistakes", -1e-6),
        "expert_losses": losses,
        "expert_rounds": awake,
        "prior": _prior(fields["prior"], n),
        "names": tuple(names),
        "from_start": schema.flag(fields["from_start"], "from_start"),
        "late": schema.whole(fields["late"], "late"),
    }


def mixture_to_json(ledger: AggregationLedger) -> str:
    """Return a ledger of mixed forecasts as JSON text; raise ModelError for a loss that is a pair of functions."""
    try:
        named = loss_named(ledger.loss.id) == ledger.loss
    except ValueError:
        named = False
    need(named, "a loss that is a pair of functions cannot be written as JSON", "loss")
    kept, arrays = ledger.kept.export()
    fields = {name: getattr(ledger, name) for name in MIXTURE if name not in ("shape", "kept", "loss", "sums")}
    fields |= {
        "loss": ledger.loss.id,
        "names": list(ledger.names),
        "prior": ledger.prior.tolist(),
        "shape": list(ledger.predictions.shape[1:]),
        "predictions": ledger.predictions.ravel().tolist(),
        "losses": ledger.losses.tolist(),
        "sums": {name: ledger.sums[name].tolist() for name in SUMS} if ledger.sums else None,
        "kept": kept | {name: _null_for_nan(arrays[name]) for name in KEPT},
    }
    return json.dumps({name: fields[name] for name in MIXTURE} | _mixed(ledger), allow_nan=False)


def read_mixture(text: Any, keep: Any) -> dict[str, Any]:
    """Return the fields of a ledger of mixed forecasts; ``keep`` is the class that holds the advice."""
    data, mixed = _without_mixed(schema.parse(text, "the ledger"))
    fields = dict(zip(MIXTURE, schema.fields(data, *MIXTURE), strict=True))
    names = schema.texts(fields["names"], "names", distinct=True)
    losses = np.array(schema.numbers(fields["losses"], "losses", -schema.LARGEST_FLOAT, schema.LARGEST_FLOAT), float)
    shape = tuple(schema.wholes(fields["shape"], "shape", 1, 2**31))
    need(len(shape) <= 1, "shape must have at most one number", "shape")
    size = len(losses) * math.prod(shape)
    flat = schema.numbers(fields["predictions"], "predictions", -schema.LARGEST_FLOAT, schema.LARGEST_FLOAT, size)
    parameters = fields["parameters"]
    plain = isinstance(parameters, dict) and all(_is_plain(each) for each in parameters.values())
    need(plain, "parameters must be an object of numbers and strings", "parameters")
    sums = {}
    if fields["sums"] is not None:
        values = schema.fields(fields["sums"], *SUMS, path="sums")
        limits = (-schema.LARGEST_FLOAT, schema.LARGEST_FLOAT, len(names))
        sums = {
            name: np.array(schema.numbers(each, f"sums.{name}", *limits), float)
            for name, each in zip(SUMS, values, strict=True)
        }
    try:
        loss = loss_named(schema.text(fields["loss"], "loss"))
    except ValueError as error:
        raise ModelError(str(error), field="loss") from None
    return {
        "rule": schema.text(fields["rule"], "rule"),
        "parameters": parameters,
        "loss": loss,
        "gradient": schema.flag(fields["gradient"], "gradient"),
        "names": tuple(names),
        "prior": _prior(fields["prior"], len(names)),
        "predictions": np.array(flat, float).reshape(len(losses), *shape),
        "losses": losses,
        "sums": sums,
        "from_start": schema.flag(fields["from_start"], "from_start"),
        "late": schema.whole(fields["late"], "late"),
        "kept": _read_kept(fields["kept"], keep, shape),
        **mixed,
    }


def _mixed(ledger: ExpertLedger | AggregationLedger) -> dict[str, bool]:
    """Return the field that only the ledger of a mixed learner has."""
    return {"mixed": True} if ledger.mixed else {}


def _without_mixed(data: Any) -> tuple[Any, dict[str, bool]]:
    if not isinstance(data, dict):
        return data, {}
    found = {"mixed": schema.flag(data["mixed"], "mixed")} if "mixed" in data else {}
    return {name: value for name, value in data.items() if name != "mixed"}, found


def no_engine(_: Any) -> NoReturn:
    """Raise ValueError: a ledger that was read from JSON does not contain the rule."""
    message = "a ledger that was read from JSON cannot be replayed: certify the learner or its model file"
    raise ValueError(message)


def _read_kept(value: Any, keep: Any, shape: tuple[int, ...]) -> Any:
    need(isinstance(value, dict), "kept must be an object", "kept")
    found = dict(value)
    arrays = {}
    for name in KEPT:
        need(name in found, f"kept.{name} is missing", f"kept.{name}")
        listed = schema.items(found.pop(name), f"kept.{name}")
        largest = schema.LARGEST_FLOAT
        sound = all(each is None or (type(each) in (int, float) and abs(each) <= largest) for each in listed)
        need(sound, f"kept.{name} must have numbers, or null for a sleeping expert", f"kept.{name}")
        arrays[name] = np.array([math.nan if each is None else each for each in listed], float)
    complete, size = found.get("complete"), found.get("bytes")
    limit = size if complete is True else size - 1 if type(size) is int and size > 0 else 0
    advice = keep(limit if type(limit) is int else 0)
    advice.restore(found, arrays, shape)
    return advice


def _is_plain(value: Any) -> bool:
    return type(value) is str or (type(value) in (int, float) and abs(value) <= schema.LARGEST_FLOAT)


def _null_for_nan(array: AnyArray) -> list[float | None]:
    return [None if math.isnan(each) else each for each in array.ravel().tolist()]


def _whole_array(fields: dict[str, Any], name: str, high: int, length: int) -> AnyArray:
    return np.array(schema.wholes(fields[name], name, 0, high, length), np.int64)


def _prior(value: Any, length: int) -> AnyArray:
    found = np.array(schema.numbers(value, "prior", 0.0, 1.0, length), float)
    need((found > 0).all(), "prior must be positive", "prior")
    return found

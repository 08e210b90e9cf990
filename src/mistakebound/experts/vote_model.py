"""The state of a learner that follows votes as the fields and arrays of a model file, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound._support import schema
from mistakebound._support.schema import LABEL_TYPES, need
from mistakebound.data.labels import label_array
from mistakebound.errors import ModelError
from mistakebound.experts.guarded_play import GuardedPlay
from mistakebound.experts.model_fields import constructed, encoded_parameters, required, restore_roster, without_mixed
from mistakebound.experts.votes import joined_labels
from mistakebound.models.container import DTYPES
from mistakebound.models.parameters import decode, encode
from mistakebound.play.expert_ledger_schema import advice_counts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mistakebound._support.arrays import AnyArray
    from mistakebound.experts.vote_play import VotePlay
    from mistakebound.experts.votes import Draws

COUNTED = {"mistakes": "I64", "awake": "I64", "charged": "F64"}
"""Counts of each expert, and their types in a file."""
CORE = {"loss": "F64", "base": "F64", "in_block": "U8", "since": "U8"}
"""Arrays of the core, and their types in a file."""
ADVICE = ("advised", "advice_mistakes")
"""Counts of the advice that a guard has."""


def votes_to_file(play: VotePlay) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the fields and the arrays of a play."""
    predictions = joined_labels(play.predictions)
    labels: dict[Any, int] = {}
    codes = [labels.setdefault((type(each), each), len(labels)) for each in predictions.tolist()]
    for kind, label in labels:
        need(
            kind in LABEL_TYPES,
            f"outcomes must be bool, int, float or str, got {label!r} of type {kind.__name__}",
        )
    state = play.core.state()
    fields = {
        "parameters": encoded_parameters(play.built_with),
        "names": play.roster.names,
        "experts": play.roster.n,
        "labels": [encode(label) for _, label in labels],
        "rounds": play.rounds,
        "late": play.late,
        "expected": play.expected,
        "bits": play.bits,
        **({"mixed": True} if play.mixed else {}),
        "core": {"phase": state["phase"], **{name: schema.to_json(state[name]) for name in ("total", "fresh")}},
    }
    if isinstance(play, GuardedPlay):
        fields["advice"] = {name: getattr(play, name) for name in ADVICE}
    arrays = {
        "wrong": np.concatenate([np.zeros(0, np.int64), *play.wrong]),
        "predictions": np.array(codes, np.uint32),
        **{name: getattr(play, name).astype(DTYPES[kind]) for name, kind in COUNTED.items()},
        **{f"core.{name}": state[name].astype(DTYPES[kind]) for name, kind in CORE.items()},
    }
    if isinstance(play, GuardedPlay):
        arrays["overrides"] = np.concatenate([np.zeros(0, np.int64), *play.overrides])
    return fields, arrays


def draws_to_file(draws: Any) -> dict[str, Any]:
    """Return the fields of a random generator."""
    state = draws.random.bit_generator.state
    numbers = {name: f"{state['state'][name]:x}" for name in ("state", "inc")}
    return {**numbers, "spare": [state["has_uint32"], state["uinteger"]], "held": draws.held}


def restored_votes(kind: Any, fields: Any, arrays: Mapping[str, AnyArray], learner: Any) -> VotePlay:
    """Return the play of a learner of this class, from the fields and arrays of a file."""
    field_names = ("parameters", "names", "experts", "labels", "rounds", "late", "expected", "bits", "core")
    is_guarded = issubclass(kind.play_class, GuardedPlay)
    fields, mixed = without_mixed(fields)
    found = schema.fields(fields, *field_names, *(("advice",) if is_guarded else ()), path="play")
    parameters, names, experts, labels, rounds, late, expected, bits, core, *advice = found
    built_with = constructed(kind, parameters, "play.parameters")
    play: VotePlay = kind.play_class(built_with, learner._chooser)  # noqa: SLF001
    kinds = {"wrong": "I64", "predictions": "U32", **COUNTED, **{f"core.{name}": kind for name, kind in CORE.items()}}
    if is_guarded:
        kinds["overrides"] = "I64"
    expected_arrays = required(arrays, *kinds)
    need(set(arrays) == set(expected_arrays), f"the tensors must be {', '.join(expected_arrays)}")
    for name, kind_of in kinds.items():
        need(arrays[name].dtype.str == DTYPES[kind_of], f"{name} must have the dtype {kind_of}", name)
    play.rounds = schema.whole(rounds, "play.rounds")
    play.late = schema.whole(late, "play.late", 0, play.rounds)
    play.expected = schema.number(expected, "play.expected", 0.0)
    play.bits = schema.flag(bits, "play.bits")
    play.mixed = mixed
    restore_roster(play.roster, names, experts)
    n = play.roster.n
    for name in (*COUNTED, *(f"core.{each}" for each in CORE)):
        need(
            arrays[name].size == n,
            f"{name} must have {n} numbers, got {arrays[name].size}",
            name,
        )
        need(np.isfinite(arrays[name]).all(), f"{name} must have finite numbers", name)
    for name in COUNTED:
        need((arrays[name] >= 0).all(), f"{name} must not have a negative number", name)
        setattr(play, name, arrays[name].copy())
    need(
        (play.mistakes <= play.awake).all() and (play.awake <= play.rounds).all(),
        "mistakes must be at most awake, and awake at most rounds",
        "awake",
    )
    _restore_predictions(play, labels, arrays)
    _restore_core(play, core, arrays)
    if isinstance(play, GuardedPlay):
        _restore_advice(play, advice[0], arrays["overrides"])
    return play


def _restore_predictions(play: VotePlay, labels: Any, arrays: Mapping[str, AnyArray]) -> None:
    values = [decode(label, "play.labels") for label in schema.items(labels, "play.labels")]
    need(
        all(type(value) in LABEL_TYPES for value in values),
        "play.labels must be bool, int, float or str",
        "play.labels",
    )
    codes, wrong = arrays["predictions"], arrays["wrong"]
    need(
        codes.size == play.rounds and (codes < len(values)).all(),
        "each round must have the code of a label",
        "predictions",
    )
    _need_rounds(wrong, play.rounds, "wrong")
    if play.rounds:
        play.predictions = [label_array(values)[codes.astype(np.intp)]]
        play.wrong = [wrong.copy()]


def _restore_advice(play: GuardedPlay, advice: Any, overrides: AnyArray) -> None:
    _need_rounds(overrides, play.rounds, "overrides")
    values = schema.fields(advice, *ADVICE, path="play.advice")
    counts = {f"play.advice.{name}": value for name, value in zip(ADVICE, values, strict=True)}
    wrong = np.concatenate([np.zeros(0, np.int64), *play.wrong])
    play.mistaken = wrong.size
    play.advised, play.advice_mistakes = advice_counts(counts, play.rounds, wrong, overrides.tolist())
    if play.rounds:
        play.overrides = [overrides.copy()]


def _need_rounds(found: AnyArray, rounds: int, name: str) -> None:
    rising = found.size == 0 or bool(found[0] >= 0 and found[-1] < rounds and (np.diff(found) > 0).all())
    need(rising, f"{name} must have distinct rounds in order", name)


def _restore_core(play: VotePlay, core: Any, arrays: Mapping[str, AnyArray]) -> None:
    phase, total, fresh = schema.fields(core, "phase", "total", "fresh", path="play.core")
    sums = {name: schema.from_json(each, f"play.core.{name}") for name, each in (("total", total), ("fresh", fresh))}
    need(all(type(each) is float for each in sums.values()), "play.core.total and play.core.fresh must be numbers")
    state = {"beta": play.beta, "phase": schema.whole(phase, "play.core.phase", 0, 2**31), **sums}
    engine = play.built_with.engine(play.beta)
    try:
        engine.restore(state | {name: arrays[f"core.{name}"].copy() for name in CORE})
    except ValueError as error:
        raise ModelError(str(error), field="play.core") from None
    play.core = engine


def restore_draws(draws: Draws, fields: Any) -> None:
    """Set the state of a random generator from the fields of a file."""
    state, inc, spare, held = schema.fields(fields, "state", "inc", "spare", "held", path="draws")
    found = {}
    for name, text in (("state", state), ("inc", inc)):
        schema.text(text, f"draws.{name}")
        digits = 0 < len(text) <= 32 and set(text) <= set("0123456789abcdef")
        need(digits, f"draws.{name} must have 1 to 32 hexadecimal digits, got {schema.shown(text)}", f"draws.{name}")
        found[name] = int(text, 16)
    need(found["inc"] % 2 == 1, f"draws.inc must be odd, got {inc}", "draws.inc")
    has, value = schema.wholes(spare, "draws.spare", 0, 2**32 - 1, 2)
    need(has <= 1, f"draws.spare must begin with 0 or 1, got {has}", "draws.spare")
    draws.random.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": found,
        "has_uint32": has,
        "uinteger": value,
    }
    draws.held = None if held is None else schema.number(held, "draws.held", 0.0, 1.0)

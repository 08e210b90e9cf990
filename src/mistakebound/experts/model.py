"""Save a learner over experts to a model file, and load it: numbers and JSON, never pickle; equal to the last bit.

The file says the class, its parameters as they are now and as they were when the play began, and the play: who the
experts are, the state of the rule, what was predicted, and the advice that is kept for certificates.
"""

from __future__ import annotations

import os
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound import experts
from mistakebound._support import schema
from mistakebound._support.atomic_file import replace
from mistakebound._support.schema import LABEL_TYPES, need
from mistakebound.aggregation.registry import EXPERT_RULES
from mistakebound.data.labels import label_array
from mistakebound.errors import ModelError
from mistakebound.experts.aggregation import Aggregation
from mistakebound.experts.calibrated import Ridge
from mistakebound.experts.majority import RandomizedWeightedMajority, WeightedMajority
from mistakebound.experts.mixture_play import MixturePlay
from mistakebound.experts.vote_play import VotePlay
from mistakebound.experts.votes import Draws, together
from mistakebound.losses import Custom, Loss, loss_named
from mistakebound.models import engine_state
from mistakebound.models.container import DTYPES, pack, unpack
from mistakebound.models.parameters import decode, encode
from mistakebound.play.tickets import Tickets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mistakebound._support.arrays import AnyArray
    from mistakebound.aggregation.registry import Parameter
    from mistakebound.experts.advice import Roster

KINDS: dict[str, type[Aggregation | WeightedMajority]] = {
    each.learner: getattr(experts, each.learner) for each in EXPERT_RULES
}
"""What a file may name: no other class is ever looked up."""
COUNTED = {"mistakes": "I64", "awake": "I64", "charged": "F64"}
CORE = {"loss": "F64", "base": "F64", "in_block": "U8", "since": "U8"}


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= schema.LARGEST_FLOAT


def _is_prior(value: Any) -> bool:
    listed = value.values() if isinstance(value, dict) else value
    return value is None or (isinstance(value, (list, tuple, dict)) and all(map(_is_number, listed)))


SHARED: dict[str, Callable[[Any], bool]] = {
    "loss": lambda value: type(value) is str,
    "gradient": lambda value: value is None or type(value) is bool,
    "prior": _is_prior,
    "keep_bytes": lambda value: type(value) in (int, float) and value >= 0,
    "seed": lambda value: value is None or (type(value) is int and 0 <= value < schema.MOST),
}
"""What a parameter in a file may be, of those that many rules share."""
OWN: dict[str, list[Parameter]] = {
    name: [each.parameters[name] for each in EXPERT_RULES if name in each.parameters]
    for rule in EXPERT_RULES
    for name in rule.parameters
}
"""Parameters of single rules, as the registry has them; the constructor says whether a value is in range."""


def _is_possible(name: str, value: Any) -> bool:
    return any(each.has_valid_type(value) for each in OWN[name]) if name in OWN else SHARED[name](value)


def save(learner: Aggregation | WeightedMajority, path: str | os.PathLike[str]) -> None:
    """Write a learner to a file, whole or not at all; ModelError for what a file cannot hold."""
    try:
        own = KINDS.get(type(learner).__name__) is type(learner)
        need(own, f"{type(learner).__name__} is not one of mistakebound's own rules: {', '.join(KINDS)}")
        with learner._lock:  # noqa: SLF001 - a model is all that a learner is
            said, arrays = _describe(learner)
        revived(said, arrays)  # what could not be read again is not written
        by_width = dict(sorted(arrays.items(), key=lambda each: -each[1].itemsize))
        parts = pack(said, by_width)
    except ModelError as error:
        message = f"cannot save {os.fspath(path)}: {error}"
        raise ModelError(message, field=error.field) from None
    replace(Path(os.path.realpath(path)), parts)


def load(path: str | os.PathLike[str]) -> Aggregation | WeightedMajority:
    """Return the learner that a file holds; ModelError if it holds none."""
    data = Path(path).read_bytes()
    try:
        learner: Aggregation | WeightedMajority = revived(*unpack(data, None))
    except ModelError as error:
        message = f"cannot load {os.fspath(path)}: {error}"
        raise ModelError(message, field=error.field) from None
    return learner


# ---------------------------------------------------------------------- into the file


def _describe(learner: Any) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    play = learner._play  # noqa: SLF001
    described: tuple[Any, dict[str, AnyArray]] = (None, {})
    if play is not None:
        described = _describe_mixture(play) if isinstance(play, MixturePlay) else _describe_votes(play)
    said = {
        "learner": type(learner).__name__,
        "parameters": _parameters(learner),
        "tickets": None if learner._tickets is None else learner._tickets.to_json(),  # noqa: SLF001
        "draws": _describe_draws(learner._chooser) if isinstance(learner, RandomizedWeightedMajority) else None,  # noqa: SLF001
        "play": described[0],
    }
    return said, {name: np.ascontiguousarray(each).ravel() for name, each in described[1].items()}


def _parameters(learner: Any) -> dict[str, Any]:
    found = learner.get_params()
    if ("loss" in found and isinstance(found["loss"], Loss)) or isinstance(found.get("loss"), (tuple, list)):
        loss = loss_named(found["loss"])
        need(not isinstance(loss, Custom), "a loss that is a pair of functions cannot be written to a file")
        found["loss"] = loss.id
    return {name: encode(value) for name, value in found.items()}


def _describe_mixture(play: MixturePlay) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    need(play.engine is not None, "the play has not begun")
    numbers, arrays = engine_state.export(play.engine)  # type: ignore[arg-type]
    kept, advice = play.kept.export()
    said = {
        "parameters": _parameters(play.built_with),
        "losses_alone": play.loss.id == "given",
        "names": play.roster.names,
        "experts": play.roster.n,
        "shape": None if play.shape is None else list(play.shape),
        "late": play.late,
        "kept": kept,
        "engine": numbers,
    }
    own = {"forecasts": np.array(play.forecasts), "losses": np.array(play.losses), "first_prior": play.first_prior}
    own |= {f"kept.{name}": each for name, each in advice.items()}
    return said, own | {f"engine.{name}": np.asarray(each, np.float64) for name, each in arrays.items()}


def _describe_votes(play: VotePlay) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    predictions = together(play.predictions)
    labels: dict[Any, int] = {}
    codes = [labels.setdefault((type(each), each), len(labels)) for each in predictions.tolist()]
    for kind, label in labels:
        need(
            kind in LABEL_TYPES, f"outcome {label!r} is of type {kind.__name__}; a file holds bool, int, float and str"
        )
    state = play.core.state()
    said = {
        "parameters": _parameters(play.built_with),
        "names": play.roster.names,
        "experts": play.roster.n,
        "labels": [encode(label) for _, label in labels],
        "rounds": play.rounds,
        "late": play.late,
        "expected": play.expected,
        "bits": play.bits,
        "core": {"phase": state["phase"], **{name: schema.to_json(state[name]) for name in ("total", "fresh")}},
    }
    arrays = {
        "wrong": np.concatenate([np.zeros(0, np.int64), *play.wrong]),
        "predictions": np.array(codes, np.uint32),
        **{name: getattr(play, name).astype(DTYPES[kind]) for name, kind in COUNTED.items()},
        **{f"core.{name}": state[name].astype(DTYPES[kind]) for name, kind in CORE.items()},
    }
    return said, arrays


def _describe_draws(draws: Any) -> dict[str, Any]:
    state = draws.random.bit_generator.state
    numbers = {name: f"{state['state'][name]:x}" for name in ("state", "inc")}
    return {**numbers, "spare": [state["has_uint32"], state["uinteger"]], "held": draws.held}


# ---------------------------------------------------------------------- out of the file


def revived(said: dict[str, Any], arrays: Mapping[str, AnyArray]) -> Any:
    """The learner that a file describes; ModelError with the field that is wrong."""
    name, parameters, tickets, draws, play = schema.fields(said, "learner", "parameters", "tickets", "draws", "play")
    kind = KINDS[schema.text(name, "learner", KINDS)]
    learner: Any = _constructed(kind, parameters, "parameters")
    learner._tickets = Tickets.from_json(tickets)  # noqa: SLF001
    need((draws is not None) == (kind is RandomizedWeightedMajority), "draws belong to a randomized rule", "draws")
    if draws is not None:
        _revive_draws(learner._chooser, draws)  # noqa: SLF001
    need(play is not None or not arrays, "there are tensors, but no play", "play")
    if play is not None:
        learner._play = (  # noqa: SLF001
            _revived_mixture(kind, play, arrays)
            if issubclass(kind, Aggregation)
            else _revived_votes(kind, play, arrays, learner)
        )
    return learner


def _constructed(kind: Any, parameters: Any, path: str) -> Any:
    need(isinstance(parameters, dict), f"{path} should be an object", path)
    values = {name: decode(value, f"{path}.{name}") for name, value in parameters.items()}
    for each, value in values.items():
        need(each in SHARED or each in OWN, f"{path} has no {each}", path)
        need(
            _is_possible(each, value),
            f"{path}.{each} is {schema.shown(value)}, which is not possible",
            f"{path}.{each}",
        )
    try:
        return kind(**values)
    except (TypeError, ValueError, ArithmeticError) as error:
        message = f"{path}: {error}"
        raise ModelError(message, field=path) from None


def _revive_roster(roster: Roster, names: Any, experts: Any) -> None:
    n = schema.whole(experts, "play.experts", 1, 2**31)
    if names is not None:
        schema.texts(names, "play.names", distinct=True)
        need(len(names) == n, "play.names should have a name for each of play.experts", "play.names")
    try:
        roster.positional(n) if names is None else roster.columns(names)
    except ValueError as error:
        raise ModelError(str(error), field="play.names") from None
    roster.settle(n, names)


def _revived_mixture(kind: Any, said: Any, arrays: Mapping[str, AnyArray]) -> MixturePlay:
    names_of = ("parameters", "losses_alone", "names", "experts", "shape", "late", "kept", "engine")
    parameters, alone, names, experts, shape, late, kept, engine = schema.fields(said, *names_of, path="play")
    built_with = _constructed(kind, parameters, "play.parameters")
    if schema.flag(alone, "play.losses_alone"):
        built_with._loss = loss_named("given")  # noqa: SLF001
    play = MixturePlay(built_with)
    need(all(each.dtype == np.float64 for each in arrays.values()), "its tensors should be F64")
    own = {name: arrays[name] for name in _expected(arrays, "forecasts", "losses", "first_prior")}
    if shape is not None:
        play.shape = tuple(schema.wholes(shape, "play.shape", 1, 2**31))
        need(len(play.shape) <= 1, "play.shape should have one number at most", "play.shape")
    classes = int(np.prod(play.shape or ()))
    losses, forecasts = own["losses"], own["forecasts"]
    need(np.isfinite(losses).all() and np.isfinite(forecasts).all(), "losses and forecasts should be finite", "losses")
    need(forecasts.size == losses.size * classes, "there should be a forecast for each loss", "forecasts")
    need(bool(losses.size) == (shape is not None), "play.shape contradicts losses", "play.shape")
    play.losses, play.forecasts = array("d", losses.tobytes()), array("d", forecasts.tobytes())
    play.late = schema.whole(late, "play.late", 0, losses.size)
    prefix = {name.removeprefix("kept."): each for name, each in arrays.items() if name.startswith("kept.")}
    need(set(prefix) == {"advice", "outcomes", "priors"}, "its kept advice is not whole", "play.kept")
    play.kept.restore(kept, prefix, play.shape or ())
    need(play.kept.count == losses.size, "play.kept.count should be the number of losses", "play.kept.count")
    _revive_roster(play.roster, names, experts)
    n = play.roster.n
    width = max((len(prior) for prior in play.kept.joins.values()), default=0)
    need(width <= n, "play.kept.widths has more experts than there are", "play.kept.widths")
    state = {name.removeprefix("engine."): each for name, each in arrays.items() if name.startswith("engine.")}
    need(any(each.size >= n for each in state.values()), "the engine should have a number for each expert", "engine")
    first = play.first_prior = own["first_prior"].copy()
    positive = 0 < first.size <= n and np.isfinite(first).all() and (first > 0).all()
    need(positive, "first_prior should have a positive number for each of the first experts", "first_prior")
    if kind is Ridge:
        _refuse_wide_ridge(state, n, fixed=built_with.penalty is not None)
    try:
        play.engine = play.new_engine(vectors="numbers" not in state)  # the core alone keeps such an array
        if n > first.size:
            play.engine.join(play.roster.prior())
    except (ValueError, ArithmeticError) as error:
        raise ModelError(str(error), field="play.engine") from None
    engine_state.restore(play.engine, engine, state, play.shape or ())
    return play


def _refuse_wide_ridge(state: Mapping[str, AnyArray], n: int, *, fixed: bool) -> None:
    """A ridge regression has n × n numbers: the file must have them before so many are made."""
    members = 1 if fixed else state["values"].size if "values" in state else 0
    matrix = state.get("inverse" if fixed else "member.inverse", np.zeros(0))
    need(matrix.size == members * n * n, "the engine should have a number for each two experts", "engine.inverse")


def _revived_votes(kind: Any, said: Any, arrays: Mapping[str, AnyArray], learner: Any) -> VotePlay:
    names_of = ("parameters", "names", "experts", "labels", "rounds", "late", "expected", "bits", "core")
    parameters, names, experts, labels, rounds, late, expected, bits, core = schema.fields(said, *names_of, path="play")
    built_with = _constructed(kind, parameters, "play.parameters")
    play = VotePlay(built_with, learner._chooser)  # noqa: SLF001
    expected_arrays = _expected(arrays, "wrong", "predictions", *COUNTED, *(f"core.{name}" for name in CORE))
    need(set(arrays) == set(expected_arrays), "its tensors are not those of votes")
    kinds = {"wrong": "I64", "predictions": "U32", **COUNTED, **{f"core.{name}": kind for name, kind in CORE.items()}}
    for name, kind_of in kinds.items():
        need(arrays[name].dtype.str == DTYPES[kind_of], f"{name} should have the dtype {kind_of}", name)
    play.rounds = schema.whole(rounds, "play.rounds")
    play.late = schema.whole(late, "play.late", 0, play.rounds)
    play.expected = schema.number(expected, "play.expected", 0.0)
    play.bits = schema.flag(bits, "play.bits")
    _revive_roster(play.roster, names, experts)
    n = play.roster.n
    for name in (*COUNTED, *(f"core.{each}" for each in CORE)):
        need(arrays[name].size == n, f"{name} should have a number for each of the {n} experts", name)
        need(np.isfinite(arrays[name]).all(), f"{name} has a number that is not finite", name)
    for name in COUNTED:
        need((arrays[name] >= 0).all(), f"{name} has a number below 0", name)
        setattr(play, name, arrays[name].copy())
    need(
        (play.mistakes <= play.awake).all() and (play.awake <= play.rounds).all(), "mistakes ≤ awake ≤ rounds", "awake"
    )
    _revive_predictions(play, labels, arrays)
    _revive_core(play, core, arrays)
    return play


def _revive_predictions(play: VotePlay, labels: Any, arrays: Mapping[str, AnyArray]) -> None:
    values = [decode(label, "play.labels") for label in schema.items(labels, "play.labels")]
    need(
        all(type(value) in LABEL_TYPES for value in values),
        "play.labels are not bool, int, float or str",
        "play.labels",
    )
    codes, wrong = arrays["predictions"], arrays["wrong"]
    need(codes.size == play.rounds and (codes < len(values)).all(), "predictions do not fit play.labels", "predictions")
    rising = wrong.size == 0 or bool(wrong[0] >= 0 and wrong[-1] < play.rounds and (np.diff(wrong) > 0).all())
    need(rising, "wrong should be rounds in order", "wrong")
    if play.rounds:
        play.predictions = [label_array(values)[codes.astype(np.intp)]]
        play.wrong = [wrong.copy()]


def _revive_core(play: VotePlay, core: Any, arrays: Mapping[str, AnyArray]) -> None:
    phase, total, fresh = schema.fields(core, "phase", "total", "fresh", path="play.core")
    sums = {name: schema.from_json(each, f"play.core.{name}") for name, each in (("total", total), ("fresh", fresh))}
    need(all(type(each) is float for each in sums.values()), "play.core.total and play.core.fresh are not numbers")
    state = {"beta": play.beta, "phase": schema.whole(phase, "play.core.phase", 0, 2**31), **sums}
    made = play.built_with.engine(play.beta)
    try:
        made.restore(state | {name: arrays[f"core.{name}"].copy() for name in CORE})
    except ValueError as error:
        raise ModelError(str(error), field="play.core") from None
    play.core = made


def _revive_draws(draws: Draws, said: Any) -> None:
    state, inc, spare, held = schema.fields(said, "state", "inc", "spare", "held", path="draws")
    found = {}
    for name, text in (("state", state), ("inc", inc)):
        schema.text(text, f"draws.{name}")
        digits = 0 < len(text) <= 32 and set(text) <= set("0123456789abcdef")
        need(digits, f"draws.{name} should have up to 32 hexadecimal digits", f"draws.{name}")
        found[name] = int(text, 16)
    need(found["inc"] % 2 == 1, "draws.inc should be odd", "draws.inc")
    has, value = schema.wholes(spare, "draws.spare", 0, 2**32 - 1, 2)
    need(has <= 1, "draws.spare should begin with 0 or 1", "draws.spare")
    draws.random.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": found,
        "has_uint32": has,
        "uinteger": value,
    }
    draws.held = None if held is None else schema.number(held, "draws.held", 0.0, 1.0)


def _expected(arrays: Mapping[str, AnyArray], *names: str) -> tuple[str, ...]:
    for name in names:
        need(name in arrays, f"the tensor {name} is missing", name)
    return names

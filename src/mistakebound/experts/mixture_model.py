"""The state of a learner that mixes forecasts as the fields and arrays of a model file, and back."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound._support import schema
from mistakebound._support.schema import need
from mistakebound.errors import ModelError
from mistakebound.experts.calibrated import Ridge
from mistakebound.experts.mixture_play import MixturePlay
from mistakebound.experts.model_fields import constructed, encoded_parameters, required, restore_roster, without_mixed
from mistakebound.losses import loss_named
from mistakebound.models import engine_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mistakebound._support.arrays import AnyArray


def mixture_to_file(play: MixturePlay) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the fields and the arrays of a play."""
    need(play.engine is not None, "the learner has no engine yet")
    numbers, arrays = engine_state.export(play.engine)  # type: ignore[arg-type]
    kept, advice = play.kept.export()
    fields = {
        "parameters": encoded_parameters(play.built_with),
        "losses_alone": play.loss.id == "given",
        "names": play.roster.names,
        "experts": play.roster.n,
        "shape": None if play.shape is None else list(play.shape),
        "late": play.late,
        **({"mixed": True} if play.mixed else {}),
        "kept": kept,
        "engine": numbers,
    }
    play_arrays = {
        "forecasts": np.array(play.forecasts),
        "losses": np.array(play.losses),
        "first_prior": play.first_prior,
    }
    play_arrays |= {f"kept.{name}": each for name, each in advice.items()}
    return fields, play_arrays | {f"engine.{name}": np.asarray(each, np.float64) for name, each in arrays.items()}


def restored_mixture(kind: Any, fields: Any, arrays: Mapping[str, AnyArray]) -> MixturePlay:
    """Return the play of a learner of this class, from the fields and arrays of a file."""
    field_names = ("parameters", "losses_alone", "names", "experts", "shape", "late", "kept", "engine")
    fields, mixed = without_mixed(fields)
    parameters, alone, names, experts, shape, late, kept, engine = schema.fields(fields, *field_names, path="play")
    built_with = constructed(kind, parameters, "play.parameters")
    if schema.flag(alone, "play.losses_alone"):
        built_with._loss = loss_named("given")  # noqa: SLF001
    play = MixturePlay(built_with)
    need(all(each.dtype == np.float64 for each in arrays.values()), "all tensors must have the dtype F64")
    play_arrays = {name: arrays[name] for name in required(arrays, "forecasts", "losses", "first_prior")}
    if shape is not None:
        play.shape = tuple(schema.wholes(shape, "play.shape", 1, 2**31))
        need(len(play.shape) <= 1, "play.shape must have at most one number", "play.shape")
    classes = int(np.prod(play.shape or ()))
    losses, forecasts = play_arrays["losses"], play_arrays["forecasts"]
    need(np.isfinite(losses).all() and np.isfinite(forecasts).all(), "losses and forecasts must be finite", "losses")
    need(forecasts.size == losses.size * classes, "there must be a forecast for each loss", "forecasts")
    need(bool(losses.size) == (shape is not None), "play.shape must be null if there are no losses", "play.shape")
    play.losses, play.forecasts = array("d", losses.tobytes()), array("d", forecasts.tobytes())
    play.late, play.mixed = schema.whole(late, "play.late", 0, losses.size), mixed
    advice = {name.removeprefix("kept."): each for name, each in arrays.items() if name.startswith("kept.")}
    need(set(advice) == {"advice", "outcomes", "priors"}, "kept advice, outcomes and priors are required", "play.kept")
    play.kept.restore(kept, advice, play.shape or ())
    need(play.kept.count == losses.size, "play.kept.count must be the number of losses", "play.kept.count")
    restore_roster(play.roster, names, experts)
    n = play.roster.n
    width = max((len(prior) for prior in play.kept.joins.values()), default=0)
    need(width <= n, f"play.kept.widths must be at most {n}, the number of experts", "play.kept.widths")
    state = {name.removeprefix("engine."): each for name, each in arrays.items() if name.startswith("engine.")}
    need(
        any(each.size >= n for each in state.values()),
        f"the engine must have a number for each of the {n} experts",
        "engine",
    )
    first = play.first_prior = play_arrays["first_prior"].copy()
    positive = 0 < first.size <= n and np.isfinite(first).all() and (first > 0).all()
    sums = positive and abs(float(first.sum()) - 1) < 1e-6
    need(sums, "first_prior must have a positive number for each of the first experts, with the sum 1", "first_prior")
    if kind is Ridge:
        _check_ridge(state, n, fixed=built_with.penalty is not None)
    try:
        play.engine = play.new_engine(vectors="numbers" not in state)  # only the compiled engine has this array
        if n > first.size:
            play.engine.join(play.roster.prior())
    except (ValueError, ArithmeticError) as error:
        raise ModelError(str(error), field="play.engine") from None
    engine_state.restore(play.engine, engine, state, play.shape or ())
    return play


def _check_ridge(state: Mapping[str, AnyArray], n: int, *, fixed: bool) -> None:
    """Raise ModelError unless the file has the n × n numbers of a ridge regression, before memory is allocated."""
    members = 1 if fixed else state["values"].size if "values" in state else 0
    matrix = state.get("inverse" if fixed else "member.inverse", np.zeros(0))
    need(
        matrix.size == members * n * n,
        f"engine.inverse must have {members * n * n} numbers for {n} experts, got {matrix.size}",
        "engine.inverse",
    )

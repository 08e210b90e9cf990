"""Convert the state of an engine over experts to numbers and arrays, and back into a new engine.

The content of a file is checked against the new engine: it must have the same names and shapes, whole numbers where the
engine has whole numbers, and finite numbers except for rates. So a file names no class, and none is looked up.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound._core import Mixture as CoreMixture
from mistakebound._support import schema
from mistakebound._support.schema import need
from mistakebound.aggregation.reference import SUMS, Engine, Mixture
from mistakebound.errors import ModelError
from mistakebound.play.calibrated_engine import Calibrated
from mistakebound.play.expert_engine import CompiledEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mistakebound._support.arrays import AnyArray, FloatArray

    Arrays = dict[str, FloatArray]
    AnyEngine = Engine | CompiledEngine

COUNTS: dict[str, Callable[..., Any]] = {"played": schema.whole, "since": schema.whole, "stale": schema.flag}
"""Fields of the core's state that are not arrays, with their checks."""
FIXED = ("eta", "alpha", "penalty")
"""Parameters that a rule with a fixed rate stores in addition to its state."""
INFINITE = ("numbers", "totals", "z")
"""Arrays that may contain infinity: a rate that is not set yet, the loss of a removed member, a weight of 0."""


def export(engine: AnyEngine) -> tuple[dict[str, Any], Arrays]:
    """Return the state of an engine: numbers for JSON, and arrays by name."""
    if isinstance(engine, CompiledEngine):
        state = engine.core.state()
        arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray) and name != "prior"}
        return {name: state[name] for name in COUNTS}, arrays
    numbers, arrays = _export_forecaster(engine.forecaster)
    return numbers, arrays | {f"sums.{name}": engine.sums[name] for name in SUMS}


def restore(engine: AnyEngine, numbers: Any, arrays: Mapping[str, AnyArray], shape: tuple[int, ...]) -> None:
    """Set the state of a new engine with the same parameters and experts; raise ModelError if it does not fit.

    ``shape`` is the shape of a forecast: (), or the number of classes.
    """
    if isinstance(engine, CompiledEngine):
        state = engine.core.state()
        expected = {name: value for name, value in state.items() if isinstance(value, np.ndarray) and name != "prior"}
        found_counts = zip(COUNTS.items(), schema.fields(numbers, *COUNTS, path="engine"), strict=True)
        counts = {name: check(value, f"engine.{name}") for (name, check), value in found_counts}
        found = {name: _array(arrays, name, value) for name, value in expected.items()}
        same_rate = (found["numbers"][:2] == state["numbers"][:2]).all() or _has_own_rate(state)
        need(same_rate, "engine.numbers has another rate than the parameters", "engine.numbers")
        need(np.isfinite(found["numbers"][2:]).all(), "engine.numbers has an infinite sum", "engine.numbers")
        core = CoreMixture.__new__(CoreMixture)
        try:
            core.__setstate__(state | found | counts)
        except ValueError as error:
            raise ModelError(str(error), field="engine") from None
        engine.core = core
        return
    _restore_forecaster(engine.forecaster, numbers, arrays, shape)
    engine.sums = {name: _array(arrays, f"sums.{name}", engine.sums[name]) for name in SUMS}


def _has_own_rate(state: Mapping[str, Any]) -> bool:
    """Return whether the rule sets its own rate; the rate is then infinite at first."""
    return bool(np.isinf(state["numbers"][0]))


# ---------------------------------------------------------------------- engines in Python


def _export_forecaster(forecaster: Any) -> tuple[dict[str, Any], Arrays]:
    if isinstance(forecaster, Calibrated):
        return _export_grid(forecaster)
    held = vars(forecaster.rule if isinstance(forecaster, Mixture) else forecaster)
    numbers = {name: _plain(value) for name, value in held.items() if _is_number(value)}
    return numbers, {name: value for name, value in held.items() if isinstance(value, np.ndarray)}


def _restore_forecaster(forecaster: Any, numbers: Any, arrays: Mapping[str, AnyArray], shape: tuple[int, ...]) -> None:
    if isinstance(forecaster, Calibrated):
        _restore_grid(forecaster, numbers, arrays, shape)
        return
    owner = forecaster.rule if isinstance(forecaster, Mixture) else forecaster
    held = dict(vars(owner))
    names = [name for name, value in held.items() if _is_number(value)]
    fixed = getattr(owner, "fixed_rate", True)
    for name, value in zip(names, schema.fields(numbers, *names, path="engine"), strict=True):
        path, fresh = f"engine.{name}", held[name]
        if type(fresh) is int and name not in FIXED:
            setattr(owner, name, schema.whole(value, path))
            continue
        found = schema.from_json(value, path)
        fits = type(found) is float or (type(found) is int and abs(found) <= schema.LARGEST_FLOAT)
        need(fits and not math.isnan(found), f"{path} must be a number", path)
        need(not (fixed and name in FIXED) or found == fresh, f"{path} must be {fresh}, like the parameter", path)
        setattr(owner, name, found)
    for name, value in held.items():
        if isinstance(value, np.ndarray):
            setattr(owner, name, _array(arrays, name, value))


# ---------------------------------------------------------------------- grids of rates


def _export_grid(grid: Calibrated) -> tuple[dict[str, Any], Arrays]:
    states = [export(member) for row in grid.members for member in row]
    numbers = {"best": list(grid.best), "members": [numbers for numbers, _ in states]}
    past = {"rows": np.array(grid.rows), "outcomes": np.array(grid.outcomes, float)}
    arrays = {"values": np.array(grid.values), "totals": grid.totals, **past}
    if states:
        arrays |= {f"member.{name}": np.stack([each[name] for _, each in states]) for name in states[0][1]}
    return numbers, arrays


def _restore_grid(grid: Calibrated, numbers: Any, arrays: Mapping[str, AnyArray], shape: tuple[int, ...]) -> None:
    best, members = schema.fields(numbers, "best", "members", path="engine")
    values = _array(arrays, "values", None)
    rows, size = len(values), len(values) * len(grid.others)
    need(rows <= grid.most + 2 * grid.step, "engine.values has too many rates", "engine.values")
    need(
        (values > 0).all() and (np.diff(values) > 0).all(),
        "engine.values must be positive and increasing",
        "engine.values",
    )
    schema.items(members, "engine.members", size)
    totals = _array(arrays, "totals", np.empty((rows, len(grid.others))))
    places = schema.wholes(best, "engine.best", 0, max(rows, len(grid.others)) - 1, 2)
    inside = places[1] < len(grid.others) and places[0] < max(rows, 1)
    need(inside, "engine.best is not one of the members", "engine.best")
    past, outcomes = _array(arrays, "rows", None, holes=True), _array(arrays, "outcomes", None)
    classes = math.prod(shape)
    count = outcomes.size // classes
    sizes = outcomes.size == count * classes and past.size == outcomes.size * len(grid.prior)
    need(sizes, "engine.rows and engine.outcomes must have the same number of rounds", "engine.rows")
    of_members = {name.removeprefix("member."): each for name, each in arrays.items() if name.startswith("member.")}
    wide = of_members.get("regrets", of_members.get("sums.rounds", np.zeros(0)))
    need(wide.size == size * len(grid.prior), "engine.members must have a number for each expert", "engine.members")
    grid._add_values(values.tolist(), 0, 1 + len(shape))  # noqa: SLF001 - new members; their state is set next
    for k, (member, numbers_of_member) in enumerate(
        zip([each for row in grid.members for each in row], members, strict=True)
    ):
        restore(
            member, numbers_of_member, {name: _part(each, k, size, name) for name, each in of_members.items()}, shape
        )
    grid.totals, grid.best = totals, (places[0], places[1])
    grid.rows = list(past.reshape(count, len(grid.prior), *shape))
    grid.outcomes = list(outcomes.reshape(count, *shape))


def _part(stacked: AnyArray, k: int, size: int, name: str) -> AnyArray:
    need(stacked.size % size == 0, f"engine.member.{name} must have the same length for each member", f"engine.{name}")
    part: AnyArray = stacked.reshape(size, -1)[k]
    return part


# ---------------------------------------------------------------------- single values


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    return schema.to_json(value.item() if isinstance(value, np.generic) else value)


def _array(arrays: Mapping[str, AnyArray], name: str, like: AnyArray | None, *, holes: bool = False) -> FloatArray:
    """Return an array of the file in the shape of ``like``. It must be finite; ``holes`` allows NaN."""
    path = f"engine.{name}"
    need(name in arrays, f"{path} is missing", path)
    found = np.asarray(arrays[name], np.float64).ravel()
    valid = ~np.isnan(found) if name in INFINITE else np.isfinite(found) | (holes & np.isnan(found))
    need(valid.all(), f"{path} has a number that is not finite", path)
    if like is None:
        return found.copy()
    need(found.size == like.size, f"{path} must have {like.size} numbers, got {found.size}", path)
    return found.reshape(like.shape).copy()

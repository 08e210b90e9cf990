"""The fields that all models of experts share: parameters of learners, and names of experts.

A value from a file is checked before a learner is constructed with it. ModelError names the field that is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mistakebound._support import schema
from mistakebound._support.schema import need
from mistakebound.aggregation.registry import EXPERT_RULES
from mistakebound.errors import ModelError
from mistakebound.losses import Custom, Loss, loss_named
from mistakebound.models.parameters import decode, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mistakebound._support.arrays import AnyArray
    from mistakebound.aggregation.registry import Parameter
    from mistakebound.experts.advice import Roster


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
"""Checks of the parameters that many rules share."""
PARTICULAR: dict[str, list[Parameter]] = {
    name: [each.parameters[name] for each in EXPERT_RULES if name in each.parameters]
    for rule in EXPERT_RULES
    for name in rule.parameters
}
"""Parameters of particular rules, from the registry; the constructor checks whether a value is in range."""


def _is_possible(name: str, value: Any) -> bool:
    return any(each.has_valid_type(value) for each in PARTICULAR[name]) if name in PARTICULAR else SHARED[name](value)


def encoded_parameters(learner: Any) -> dict[str, Any]:
    """Return the parameters of a learner, encoded for JSON; a custom loss raises ModelError."""
    found = learner.get_params()
    if ("loss" in found and isinstance(found["loss"], Loss)) or isinstance(found.get("loss"), (tuple, list)):
        loss = loss_named(found["loss"])
        need(not isinstance(loss, Custom), "a loss that is a pair of functions cannot be written to a file")
        found["loss"] = loss.id
    return {name: encode(value) for name, value in found.items()}


def constructed(kind: Any, parameters: Any, path: str) -> Any:
    """Return a learner of this class with the parameters of a file; ``path`` is their field."""
    need(isinstance(parameters, dict), f"{path} must be an object, got {schema.shown(parameters)}", path)
    values = {name: decode(value, f"{path}.{name}") for name, value in parameters.items()}
    for each, value in values.items():
        need(each in SHARED or each in PARTICULAR, f"{path} has an unknown parameter {each}", path)
        need(
            _is_possible(each, value),
            f"{path}.{each} is not valid: got {schema.shown(value)}",
            f"{path}.{each}",
        )
    try:
        return kind(**values)
    except (TypeError, ValueError, ArithmeticError) as error:
        message = f"{path}: {error}"
        raise ModelError(message, field=path) from None


def restore_roster(roster: Roster, names: Any, experts: Any) -> None:
    """Add the experts of a file to an empty roster."""
    n = schema.whole(experts, "play.experts", 1, 2**31)
    if names is not None:
        schema.texts(names, "play.names", distinct=True)
        need(len(names) == n, f"play.names must have {n} names, got {len(names)}", "play.names")
    try:
        roster.check_width(n) if names is None else roster.columns(names)
    except ValueError as error:
        raise ModelError(str(error), field="play.names") from None
    roster.admit(n, names)


def without_mixed(fields: Any) -> tuple[Any, bool]:
    """Return the fields of a play without ``mixed``, and its value: only a play that was mixed from parts has it."""
    if not isinstance(fields, dict):
        return fields, False
    rest = {name: value for name, value in fields.items() if name != "mixed"}
    return rest, schema.flag(fields.get("mixed", False), "play.mixed")


def required(arrays: Mapping[str, AnyArray], *names: str) -> tuple[str, ...]:
    """Return these names; raise ModelError if an array is missing."""
    for name in names:
        need(name in arrays, f"the tensor {name} is missing", name)
    return names

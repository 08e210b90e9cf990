"""Convert the parameters of a learner to JSON, and back."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, TypeVar

from mistakebound._support import schema
from mistakebound._support.schema import LABEL_TYPES, from_json, need, shown, to_json
from mistakebound.errors import ModelError

if TYPE_CHECKING:
    from mistakebound.learners.learner import Learner

    Kind = TypeVar("Kind", bound=Learner)


def describe_parameters(learner: Learner) -> dict[str, Any]:
    """Return the parameters of a learner for JSON; ``construct`` makes an equal learner from them."""
    return {name: encode(value) for name, value in learner.plain_params().items()}


def need_no_objects(learner: Learner) -> None:
    """Raise ModelError if a learner has members from outside, which a file cannot store."""
    names = learner.objects()
    message = (
        f"the members {', '.join(names)} are objects from outside, which a file cannot store; use pickle.dump, "
        "or a Panel with names of members only"
    )
    need(not names, message, "parameters.members")


def construct(kind: type[Kind], parameters: Any, path: str = "parameters") -> Kind:
    """Return a new learner of this class. The ranges of its parameters are checked when it starts to learn."""
    need(isinstance(parameters, dict), f"{path} must be an object, got {shown(parameters)}", path)
    values = {name: decode(value, f"{path}.{name}") for name, value in parameters.items()}
    try:
        return kind(**values)
    except TypeError as error:
        raise ModelError(str(error), field=path) from None


def encode(value: Any) -> Any:
    """Return a parameter or label for JSON with its type: JSON has neither infinity nor tuples."""
    value = value.tolist() if hasattr(value, "tolist") else value  # numbers and arrays of numpy
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {"dict": [[str(name), encode_one(each)] for name, each in value.items()]}
    if isinstance(value, dict):
        return {"pairs": [[encode_one(key), encode_one(each)] for key, each in value.items()]}
    if isinstance(value, Collection) and not isinstance(value, str):
        return {"tuple" if isinstance(value, tuple) else "list": [encode_one(each) for each in value]}
    return encode_one(value)


def encode_one(value: Any) -> Any:
    """Return a single value for JSON; raise ModelError if a file cannot store its type."""
    value = value.tolist() if hasattr(value, "tolist") else value
    kinds = "None, bool, int, float, str, and lists of them"
    message = f"{value!r} is of type {type(value).__name__}; a model file can store {kinds}"
    need(value is None or type(value) in LABEL_TYPES, message)
    return to_json(value)


def decode(value: Any, path: str) -> Any:
    """Return the parameter that ``encode`` wrote."""
    if isinstance(value, dict) and set(value) in ({"tuple"}, {"list"}):
        ((kind, inside),) = value.items()
        need(isinstance(inside, list), f"{path}.{kind} must be a list, got {shown(inside)}", path)
        return (tuple if kind == "tuple" else list)(from_json(each, f"{path}.{kind}") for each in inside)
    if isinstance(value, dict) and set(value) == {"dict"}:
        pairs = schema.items(value["dict"], f"{path}.dict")
        named = all(isinstance(pair, list) and len(pair) == 2 and type(pair[0]) is str for pair in pairs)
        need(named, f"{path}.dict must be a list of names and values", path)
        return {name: from_json(each, f"{path}.dict") for name, each in pairs}
    if isinstance(value, dict) and set(value) == {"pairs"}:
        pairs = schema.items(value["pairs"], f"{path}.pairs")
        of_two = all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
        need(of_two, f"{path}.pairs must be a list of pairs", path)
        return {from_json(key, f"{path}.pairs"): from_json(each, f"{path}.pairs") for key, each in pairs}
    return from_json(value, path)

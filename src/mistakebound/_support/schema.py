"""Check the content of a file before it is used: known keys, types and ranges.

Each function takes a value and the path of its field (such as ``kept.index``), and returns the value if it is valid.
Otherwise it raises ``ModelError`` with the field, what was expected there, and what was found.
"""

from __future__ import annotations

import json
import math
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from mistakebound.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    Value = TypeVar("Value")

MOST = 2**62
"""Upper limit of every count and position in a file: sums of them fit in 64 bits."""
MOST_LISTED = 5
"""Unknown fields that an error lists at most."""
LARGEST_FLOAT = 1.7976931348623157e308
LABEL_TYPES = (bool, int, float, str)


def need(valid: Any, message: str, field: str | None = None) -> None:
    """Raise ModelError with this message unless ``valid`` is true."""
    if not valid:
        raise ModelError(message, field=field)


def refuse(path: str, expected: str, found: Any) -> NoReturn:
    """Raise ModelError for one field."""
    message = f"{path} must be {expected}, got {shown(found)}"
    raise ModelError(message, field=path)


def shown(value: Any) -> str:
    """Return a value for a message: only its beginning, if it is long.

    >>> shown([1, "a"]), shown(10**400), len(shown("x" * 1000))
    ("[1, 'a']", 'a number of 1329 bits', 60)
    """
    if type(value) is int and abs(value) >= 2**128:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, (list, dict)) and len(value) > 10:
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    try:
        text = ascii(value)
    except (ValueError, RecursionError):  # an integer of too many digits inside, or brackets nested too deep
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


# ---------------------------------------------------------------------- JSON


def parse(text: Any, what: str = "its header") -> dict[str, Any]:
    """Return the object that a JSON text contains. Repeated keys, NaN and Infinity are not valid."""
    need(isinstance(text, bytes | str), f"{what} must be text")
    try:
        parsed = json.loads(
            text,
            object_pairs_hook=partial(_without_repeated_keys, what),
            parse_constant=partial(_refuse_constant, what),
        )
    except ModelError:
        raise
    except (ValueError, RecursionError) as error:  # RecursionError: brackets nested too deep
        reason = f"{what} is not valid JSON: {'it is not UTF-8' if isinstance(error, UnicodeDecodeError) else error}"
        raise ModelError(reason) from None
    need(isinstance(parsed, dict), f"{what} is not a JSON object")
    found: dict[str, Any] = parsed
    return found


def _without_repeated_keys(what: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    need(len(found) == len(pairs), f"{what} has the same key twice")
    return found


def _refuse_constant(what: str, name: str) -> None:
    need(False, f"{what} has {name}, which JSON does not allow")


# ---------------------------------------------------------------------- objects


def fields(value: Any, *names: str, path: str = "") -> list[Any]:
    """Return the values of a JSON object that must have these fields and no others."""
    expected = f"{path or 'the file'} must be an object with the fields {', '.join(names)}"
    need(isinstance(value, dict), f"{expected}, got {shown(value)}", field=path)
    wrong = [f"{name} is missing" for name in names if name not in value]
    wrong += [f"{shown(key)} is unknown" for key in value if key not in names][:MOST_LISTED]
    need(not wrong, f"{expected}: {', '.join(wrong)}", field=path)
    return [value[name] for name in names]


# ---------------------------------------------------------------------- single values


def whole(value: Any, path: str, low: int = 0, high: int = MOST - 1) -> int:
    """Return the value if it is a whole number from ``low`` to ``high``."""
    if type(value) is not int or not low <= value <= high:
        refuse(path, f"a whole number from {low} to {high}", value)
    return value


def number(value: Any, path: str, low: float = -LARGEST_FLOAT, high: float = LARGEST_FLOAT) -> float:
    """Return the value as a float if it is a finite number from ``low`` to ``high``."""
    if type(value) not in (int, float) or not low <= value <= high:  # comparisons with NaN are false
        refuse(path, f"a number from {low:g} to {high:g}", value)
    return float(value)


def flag(value: Any, path: str) -> bool:
    """Return the value if it is true or false."""
    if type(value) is not bool:
        refuse(path, "true or false", value)
    return value


def text(value: Any, path: str, among: Collection[str] | None = None) -> str:
    """Return the value if it is a string; with ``among``, if it is one of these strings."""
    if type(value) is not str or (among is not None and value not in among):
        refuse(path, "a string" if among is None else f"one of {', '.join(among)}", value)
    return value


def sha256(value: Any, path: str) -> str:
    """Return the value if it is a string of 64 hexadecimal digits."""
    if type(value) is not str or len(value) != 64 or not set(value) <= set("0123456789abcdef"):
        refuse(path, "a SHA-256 of 64 hexadecimal digits", value)
    return value


def optional(check: Callable[..., Value], value: Any, path: str, *more: Any) -> Value | None:
    """Return None for null, otherwise the result of ``check``."""
    return None if value is None else check(value, path, *more)


# ---------------------------------------------------------------------- lists


def is_list_of(kind: type, values: Any) -> bool:
    """Whether this is a list with elements of exactly this type (True is not an int here)."""
    return isinstance(values, list) and all(type(value) is kind for value in values)


def items(value: Any, path: str, length: int | None = None) -> list[Any]:
    """Return the value if it is a list; with ``length``, if it has that many elements."""
    if not isinstance(value, list) or length not in (None, len(value)):
        refuse(path, "a list" if length is None else f"a list of length {length}", value)
    return value


def wholes(value: Any, path: str, low: int, high: int, length: int | None = None) -> list[int]:
    """Return the value if it is a list of whole numbers from ``low`` to ``high``."""
    for position, each in enumerate(items(value, path, length)):
        if type(each) is not int or not low <= each <= high:
            whole(each, f"{path}[{position}]", low, high)
    found: list[int] = value
    return found


def rising(value: Any, path: str, high: int, length: int | None = None) -> list[int]:
    """Return the value if it is a list of whole numbers from 0 to ``high`` in increasing order, without repeats."""
    found = wholes(value, path, 0, high, length)
    if any(a >= b for a, b in pairwise(found)):
        refuse(path, "a list of increasing numbers", value)
    return found


def numbers(value: Any, path: str, low: float, high: float, length: int | None = None) -> list[float]:
    """Return the value if it is a list of finite numbers from ``low`` to ``high``."""
    for position, each in enumerate(items(value, path, length)):
        if type(each) not in (float, int) or not low <= each <= high:
            number(each, f"{path}[{position}]", low, high)
    found: list[float] = value
    return found


def flags(value: Any, path: str, length: int | None = None) -> list[bool]:
    """Return the value if it is a list whose elements are true or false."""
    for position, each in enumerate(items(value, path, length)):
        flag(each, f"{path}[{position}]")
    found: list[bool] = value
    return found


def texts(value: Any, path: str, *, distinct: bool = False) -> list[str]:
    """Return the value if it is a list of strings; with ``distinct``, if no string is repeated."""
    for position, each in enumerate(items(value, path)):
        text(each, f"{path}[{position}]")
    if distinct and len(set(value)) != len(value):
        refuse(path, "a list of different strings", value)
    found: list[str] = value
    return found


# ---------------------------------------------------------------------- numbers that JSON cannot hold


def to_json(value: Any) -> Any:
    """Return a number for JSON: ``{"float": "inf"}`` and the like for numbers that JSON does not have.

    >>> to_json(math.inf), to_json(1.5), from_json({"float": "-inf"}, "bias")
    ({'float': 'inf'}, 1.5, -inf)
    """
    return {"float": repr(value)} if type(value) is float and not math.isfinite(value) else value


def from_json(value: Any, path: str = "it") -> Any:
    """Return the number that ``to_json`` wrote. Strings, true, false and null do not change; lists are not valid."""
    if isinstance(value, dict):
        (word,) = fields(value, "float", path=path)
        need(word in ("inf", "-inf", "nan"), f'{path}.float must be "inf", "-inf" or "nan", got {shown(word)}', path)
        return float(word)
    need(not isinstance(value, list), f"{path} must be a number, a string, true, false or null, got a list", path)
    return value

"""The reader of JSON lines, and the keys of their objects for messages."""

from __future__ import annotations

import json
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any

from mistakebound._core import Reader
from mistakebound.data.formats import BYTE_ORDER_MARK
from mistakebound.errors import MOST_LISTED, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mistakebound.data.options import Settings
    from mistakebound.data.reader import Notes

FIRST_LINES = 1000
"""Lines that are searched for keys."""
KNOWN = frozenset({"ignore", "text", "words", "letters", "bins", "auto", "weight"})
"""Options of a table that are also valid for JSON lines."""


def json_reader(start: bytes, settings: Settings, notes: Notes) -> tuple[Reader, None, str]:
    """Return the reader of JSON lines, None instead of a layout, and the key of the label."""
    given, how = settings.given.table, settings.how
    for name in given.keys() - KNOWN:
        message = f"{name} is only valid for tables; this file is JSON lines"
        raise InputError(message, kind="format", value=name)
    if wanted := [name for role in ("text", "ignore") for name in given.get(role, ())]:
        for remark in missing_keys(start, wanted):
            notes.remark("key not seen", remark)
    label = "" if settings.all_columns else how.label or "label"
    options = {name: value for name, value in settings.without_weight(how.table).items() if name in KNOWN}
    return Reader.json(label, **options, zeros=settings.all_columns), None, label


def keys_of(line: bytes) -> list[str]:
    """Return the dotted keys of an object; none if the line is not an object.

    >>> keys_of(b'{"a": {"b": 1, "c": [2, "x"]}, "d": null}')
    ['a', 'a.b', 'a.c', 'a.c.0', 'd']
    """
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):  # the parser will report it
        return []
    return list(keys_below(value, "")) if isinstance(value, dict) else []


def is_object(start: bytes, *, whole: bool) -> bool:
    """Return whether the first line that is not empty begins with an object; with ``whole``, whether all of it is one.

    >>> is_object(b'{"a": 1}', whole=True), is_object(b"{x},1", whole=True), is_object(b"{x},1", whole=False)
    (True, False, True)
    """
    lines = (line.strip() for line in BytesIO(start.removeprefix(BYTE_ORDER_MARK)))
    line = next((line for line in lines if line), b"")
    if not line.startswith(b"{") or not whole:
        return line.startswith(b"{")
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def keys_below(value: Any, path: str) -> Iterator[str]:
    """Yield all keys below a path, at any depth. Strings of an array have no key of their own."""
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = ((number, each) for number, each in enumerate(value) if not isinstance(each, str))
    for key, each in items:
        full = f"{path}.{key}" if path else str(key)
        yield full
        yield from keys_below(each, full)


def missing_keys(start: bytes, wanted: Iterable[str]) -> list[str]:
    """Return a remark for each key that none of the first lines has."""
    lines = [line for line in islice(BytesIO(start), FIRST_LINES) if line.strip()]
    seen = dict.fromkeys(key for line in lines for key in keys_of(line))
    which = "the first line has no" if len(lines) == 1 else f"none of the first {len(lines):,} lines has a"
    return [f"{which} key {key!r}; there are: {listed(seen)}" for key in wanted if key not in seen]


def listed(keys: Iterable[str]) -> str:
    """Return keys for a message, at most 20.

    >>> listed("abc")
    'a, b, c'
    """
    names = list(keys)
    return ", ".join(names[:MOST_LISTED]) + (", ..." if len(names) > MOST_LISTED else "")

"""What may be told of files to be read: numbers in reach, and text that a file in UTF-8 can have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ANY = 2**62
"""No number in reach is larger."""
RANGES = {"words": (0, 1000), "letters": (0, 1000), "bins": (0, 1024), "skip_bad": (0, ANY), "threads": (1, 256)}


def fault_of(options: Mapping[str, Any]) -> str:
    r"""What is wrong with options of a source or of its table; nothing if all is well.

    >>> fault_of({"threads": 0}), fault_of({"label": "kind", "words": 2})
    ('threads must be a whole number from 1 to 256, got 0', '')
    >>> fault_of({"ignore": ["a", "b\udcff"]})
    "ignore is not UTF-8: 'b\\udcff'"
    """
    for name, value in options.items():
        if name in RANGES:
            lowest, highest = RANGES[name]
            if not (hasattr(value, "__index__") and lowest <= value <= highest):
                reach = f"of at least {lowest}" if highest == ANY else f"from {lowest} to {highest}"
                return f"{name} must be a whole number {reach}, got {value!r}"
        for text in texts_in(value):
            if any("\ud800" <= letter <= "\udfff" for letter in text):
                return f"{name} is not UTF-8: {text!r}"
    return ""


def fault_of_table(table: Mapping[str, Any]) -> str:
    """What is wrong with what was told of a table's columns; nothing if all is well. Numbers are left to ``fault_of``.

    >>> fault_of_table({"text": ["subject"], "bins": 4, "interact": [("a", "b")]})
    ''
    >>> fault_of_table({"text": "subject"})
    "text must be a list of columns, such as ['subject']; got 'subject'"
    >>> fault_of_table({"texts": []})[:31]
    "a table has no option 'texts'; "
    """
    for name, value in table.items():
        if name not in TABLE:
            return f"a table has no option {name!r}; there are: {', '.join(TABLE)}"
        wanted, is_right = TABLE[name]
        if not is_right(value):
            return f"{name} must be {wanted}; got {value!r}"
    return ""


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value)


def _is_list_of_pairs(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(_is_list_of_texts(pair) and len(pair) == 2 for pair in value)


def _is_number(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


COLUMNS = ("a list of columns, such as ['subject']", _is_list_of_texts)
NUMBER = ("a whole number", _is_number)
TABLE: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "text": COLUMNS,
    "words": NUMBER,
    "letters": NUMBER,
    "bins": NUMBER,
    "categorical": COLUMNS,
    "ignore": COLUMNS,
    "interact": ("a list of pairs of columns, such as [('hour', 'day')]", _is_list_of_pairs),
    "separator": (
        "one character of ASCII",
        lambda value: isinstance(value, str) and len(value) == 1 and value.isascii(),
    ),
    "header": ("True or False", lambda value: isinstance(value, bool)),
}
"""What may be told of a table: in words, and whether something is that."""


def texts_in(value: Any) -> Iterator[str]:
    """A text, or those of a list, or of a list of pairs."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from texts_in(each)

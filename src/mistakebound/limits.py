"""What may be told of files to be read: numbers in reach, and text that a file in UTF-8 can have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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


def texts_in(value: Any) -> Iterator[str]:
    """A text, or those of a list, or of a list of pairs."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from texts_in(each)

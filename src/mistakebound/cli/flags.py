"""Options as they are written on the command line, in messages of the layers below."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from mistakebound.errors import IGNORED

if TYPE_CHECKING:
    from mistakebound.errors import Option

FLAGS = {
    "classes": "say --classes NEGATIVE,POSITIVE",
    "label": "--label NAME or NUMBER",
    "labels": "say --labels FILE",
    "positive": "--positive LABEL",
    "zero_based": "say --zero-based",
}


def as_flag(option: Option) -> str:
    """An option of a message as a shell takes it.

    >>> from mistakebound.errors import Option
    >>> as_flag(Option("header", "header=True", True)), as_flag(Option("skip_bad", "skip_bad=3", 3))
    ('--header', '--skip-bad 3')
    >>> as_flag(Option("ignore", "", ["a b", "c"])), as_flag(Option("classes", "pass classes="))
    ("--ignore 'a b' --ignore c", 'say --classes NEGATIVE,POSITIVE')
    """
    flag = f"--{option.name.replace('_', '-')}"
    if option.name in FLAGS:
        return FLAGS[option.name]
    if isinstance(option.value, list):
        more = " ..." if len(option.value) > IGNORED else ""
        return " ".join(f"{flag} {quote(name)}" for name in option.value[:IGNORED]) + more
    return flag if option.value is None or option.value is True else f"{flag} {option.value}"

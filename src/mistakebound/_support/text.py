"""Format text for output: escape control characters, write numbers with their nouns, make small HTML tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

JOINERS = "\u200c\u200d"
"""Formatting that letters of some languages, and emoji, are written with."""


def escaped(text: object) -> str:
    r"""Text in one line, with control characters as escapes; letters, spaces and backslashes stay as they are.

    Escaped are control characters (newline, tab and those from U+0080 to U+009F among them), those that set the
    direction of text or are not seen at all, separators of lines and paragraphs, and halves of surrogate pairs.
    Escaping twice changes nothing more. Call it for every name, label or message that a person will read, whether the
    output is a terminal, a file or a pipe.

    >>> escaped("size\x1b[31m"), escaped("größe €"), escaped("a\nb\u202e"), escaped(3)
    ('size\\x1b[31m', 'größe €', 'a\\nb\\u202e', '3')
    """
    words = str(text)
    if words.isprintable():
        return words
    return "".join(c if _is_harmless(c) else c.encode("unicode_escape").decode("ascii") for c in words)


def _is_harmless(letter: str) -> bool:
    if letter.isprintable() or letter in JOINERS:
        return True
    from unicodedata import category  # noqa: PLC0415 - seldom needed

    return category(letter) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


def many(count: int, thing: str) -> str:
    """A number of things.

    >>> many(1, "round"), many(2000, "round")
    ('1 round', '2,000 rounds')
    """
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def size(count: int) -> str:
    """A number of bytes.

    >>> size(12), size(3_456), size(7_800_000)
    ('12 bytes', '3.5 kB', '7.8 MB')
    """
    for unit, letters in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.1f} {letters}"
    return many(count, "byte")


def share(part: int, whole: int) -> str:
    """Percent, with as many digits as small rates need.

    >>> share(1, 3), share(7, 100_000), share(0, 0)
    ('33.33 %', '0.007 %', '0 %')
    """
    percent = 100 * part / max(whole, 1)
    return f"{percent:.2f} %" if percent >= 1 else f"{percent:.3g} %"


def html_table(title: str, rows: Mapping[str, object]) -> str:
    """A small table in HTML, for notebooks: everything in it is escaped, and nothing is loaded.

    >>> html_table("Ledger", {"<b>": 1})
    '<table><caption>Ledger</caption><tr><th>&lt;b&gt;</th><td>1</td></tr></table>'
    """
    from html import escape  # noqa: PLC0415 - only notebooks need it

    body = ""
    for name, value in rows.items():
        body += f"<tr><th>{escape(escaped(name))}</th><td>{escape(escaped(value))}</td></tr>"
    return f"<table><caption>{escape(escaped(title))}</caption>{body}</table>"

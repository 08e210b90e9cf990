"""Text from files and of file names as it may be shown: what could steer a terminal or reorder a line is escaped."""

from __future__ import annotations

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

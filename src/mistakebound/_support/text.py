"""Format text for output: escape control characters, write numbers with their nouns, write small HTML tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mistakebound.errors import closest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

JOINERS = "\u200c\u200d"
"""Invisible characters that join letters of some languages, and emoji. They are not escaped."""


def escaped(text: object) -> str:
    r"""Return text in one line, with control characters as escapes. Letters, spaces and backslashes do not change.

    These are escaped: control characters (also newline, tab, and U+0080 to U+009F), characters that are invisible or
    set the direction of text, separators of lines and paragraphs, and halves of surrogate pairs. Escaping twice has no
    further effect. Call it for every name, label or message that a person will read, whether the output is a terminal,
    a file or a pipe.

    >>> escaped("size\x1b[31m"), escaped("größe €"), escaped("a\nb\u202e"), escaped(3)
    ('size\\x1b[31m', 'größe €', 'a\\nb\\u202e', '3')
    """
    plain = str(text)
    if plain.isprintable():
        return plain
    return "".join(c if _is_harmless(c) else c.encode("unicode_escape").decode("ascii") for c in plain)


def _is_harmless(character: str) -> bool:
    if character.isprintable() or character in JOINERS:
        return True
    from unicodedata import category  # noqa: PLC0415 - seldom needed

    return category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """Return the end of a message about an unknown word: the most similar known word, or nothing.

    >>> did_you_mean("clik", ["day", "click"]), did_you_mean("x", ["day", "click"])
    ("; did you mean 'click'?", '')
    """
    near = closest(word, known)
    return f"; did you mean {near!r}?" if near else ""


def many(count: int, thing: str, ending: str = "s") -> str:
    """Return a number with its noun.

    >>> many(1, "round"), many(2000, "round"), many(2, "switch", "es")
    ('1 round', '2,000 rounds', '2 switches')
    """
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}{ending}"


def shortest(value: float) -> str:
    """Return the shortest text that reads back as the same number; whole numbers without a point.

    >>> shortest(12.8), shortest(17.0), shortest(1e16), shortest(1e300)
    ('12.8', '17', '10000000000000000', '1e+300')
    """
    return f"{value:.0f}" if abs(value) < 1e17 and value % 1 == 0 else repr(float(value))


def grouped(value: float, digits: int = 6) -> str:
    """Return a number with so many digits, or all of its integer part, and commas between thousands.

    >>> grouped(1044.6703, 5), grouped(475301370.2), grouped(-0.123456789), grouped(2e16)
    ('1,044.7', '475,301,370', '-0.123457', '2e+16')
    """
    return f"{value:,.0f}" if 10**digits <= abs(value) < 1e15 else f"{value:,.{digits}g}"


def size(count: int) -> str:
    """Return a number of bytes with its unit.

    >>> size(12), size(3_456), size(7_800_000)
    ('12 bytes', '3.5 kB', '7.8 MB')
    """
    for unit, letters in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.1f} {letters}"
    return many(count, "byte")


def share(part: int, whole: int) -> str:
    """Return a part of a whole in percent, with more digits if it is small.

    >>> share(1, 3), share(7, 100_000), share(0, 0)
    ('33.33 %', '0.007 %', '0 %')
    """
    return percent(part / max(whole, 1))


def percent(ratio: float) -> str:
    """Return a ratio in percent, with more digits if it is small.

    >>> percent(0.148), percent(0.0034), percent(0.00007)
    ('14.80 %', '0.34 %', '0.007 %')
    """
    found = 100 * ratio
    return f"{found:.2f} %" if found >= 1 else f"{found:.3g} %"


def html_table(title: str, rows: Mapping[str, object]) -> str:
    """Return a small HTML table for notebooks. All text is escaped, and nothing is loaded from elsewhere.

    >>> html_table("Ledger", {"<b>": 1})
    '<table><caption>Ledger</caption><tr><th>&lt;b&gt;</th><td>1</td></tr></table>'
    """
    from html import escape  # noqa: PLC0415 - only notebooks need it

    body = ""
    for name, value in rows.items():
        body += f"<tr><th>{escape(escaped(name))}</th><td>{escape(escaped(value))}</td></tr>"
    return f"<table><caption>{escape(escaped(title))}</caption>{body}</table>"

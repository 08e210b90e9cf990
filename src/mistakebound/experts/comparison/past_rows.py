"""Rows that were learned earlier: join them with new rows, and find rows that are learned already."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mistakebound._support.text import many
from mistakebound.data.columns import Frame, Places
from mistakebound.data.tables import is_number
from mistakebound.errors import OptionError, setting
from mistakebound.experts.comparison.roles import date_in, seconds_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mistakebound.errors import Option
    from mistakebound.experts.comparison.advice import Advice

REFUSE, SKIP, LEARN = "refuse", "skip", "learn"
OVERLAPS = (REFUSE, SKIP, LEARN)
"""What to do with rows that were learned already."""


def used_rows(stream: Advice) -> Frame:
    """Return the rows with an outcome, with the columns that are used."""
    frame = stream.frame
    advised = [stream.advice_name] if stream.advice_name else []
    names = [*stream.ids, *stream.columns, *advised, stream.outcome]
    return part_of(frame, 0, stream.rounds, list(dict.fromkeys(names)))


def part_of(frame: Frame, begin: int, end: int, names: Sequence[str]) -> Frame:
    """Return some rows and columns of a frame, with the same lines of files."""
    places = []
    for each in frame.places:
        first, last = max(begin, each.first), min(end, each.first + len(each.lines))
        if first < last:
            lines = each.lines[first - each.first : last - each.first]
            places.append(Places(first - begin, each.file, each.in_rows, lines))
    numbers = {name: frame.numbers[name][begin:end] for name in names if name in frame.numbers}
    words = {name: frame.words[name][begin:end] for name in names if name in frame.words}
    for name in [name for name, texts in words.items() if all(not text or is_number(text) for text in texts)]:
        texts = words.pop(name)  # the word that makes it a column of text is in another row
        numbers[name] = np.array([float(text) if text else np.nan for text in texts])
    return Frame(
        list(names),
        numbers,
        words,
        end - begin,
        list(frame.skipped),
        places,
    )


def with_empty_columns(frame: Frame, names: Sequence[str]) -> Frame:
    """Return the frame with more columns, whose fields are empty."""
    empty = {name: np.full(frame.rows, np.nan) for name in names}
    return replace(frame, names=[*frame.names, *names], numbers={**frame.numbers, **empty})


def joined(past: Frame, new: Frame, ignored: Collection[str] = ()) -> Frame:
    """Return the rows of both frames, with the columns of the first.

    The fields of a column that the second frame lacks, or that is ignored there, are empty.
    """
    numbers, words = {}, {}
    for name in past.names:
        known = new.has(name) and name not in ignored
        column = None if known and name in new.words else new.numbers[name] if known else np.full(new.rows, np.nan)
        if name in past.numbers and column is not None:
            numbers[name] = np.concatenate([past.numbers[name], column])
        else:
            words[name] = [*past.texts(name), *(new.texts(name) if known else [""] * new.rows)]
    places = [Places(past.rows + each.first, each.file, each.in_rows, each.lines) for each in new.places]
    return Frame(list(past.names), numbers, words, past.rows + new.rows, list(new.skipped), [*past.places, *places])


def date_notes(past: Frame, frame: Frame, ids: Sequence[str]) -> list[tuple[str]]:
    """Return a note for each id that held dates in ``past``, and does not in the rows that follow in ``frame``."""
    notes = []
    for name in ids:
        texts = frame.texts(name)
        if not past.rows or seconds_of(texts[: past.rows]) is None or seconds_of(texts) is not None:
            continue
        for row in range(past.rows, frame.rows):
            now, before = date_in(texts[row]), date_in(texts[row - 1])
            if now is None or (before is not None and now < before):
                why = (
                    "is not a date such as 2026-11-18"
                    if now is None
                    else f"is earlier than {texts[row - 1]!r} before it"
                )
                start = f"{frame.where(row)}: column {name!r}: {texts[row]!r} {why}"
                notes.append((f"{start}; charts show rounds instead of these dates",))
                break
    return notes


def new_rows(
    past: Frame, frame: Frame, ids: Sequence[str], last: int, overlap: str
) -> tuple[Frame, list[tuple[str | Option, ...]]]:
    """Return the rows of a frame that were not learned yet, and notes about the others.

    A row was learned already if its ids are those of a learned row, provided that the ids of the learned rows all
    differ. Without such ids, the first rows of the frame were learned already if they are all the learned rows, or if
    they are the ``last`` ones, which were learned most recently; none is recognised if ``last`` is 0.
    """
    if overlap not in OVERLAPS:
        message = f" must be one of {', '.join(OVERLAPS)}, got {overlap!r}"
        raise OptionError(setting("overlap"), message, kind="no such option", value=overlap)
    keys = rows_of(past, ids)
    if ids and len({*keys}) == len(keys) and all(map(frame.has, ids)):
        known = dict(zip(keys, rows_of(past, past.names), strict=True))
        here = rows_of(frame, ids)
        places = [row for row, key in enumerate(here) if key in known]
        now = rows_of(frame, past.names)
        changed = sum(now[row] != known[here[row]] for row in places)
    else:
        known = {}
        old, now = rows_of(past, past.names), rows_of(frame, past.names)
        known_beginnings = (past.rows, last) if last else ()
        count = next((n for n in known_beginnings if 0 < n <= len(now) and old[-n:] == now[:n]), 0)
        places, changed = list(range(count)), 0
    if not places or overlap == LEARN:
        return frame, []
    if overlap == REFUSE:
        more = f" (and {len(places) - 1:,} more)" if len(places) > 1 else ""
        first = places[0]
        message = f"this row{more} was learned already: set "
        again = " to learn them again"
        if changed and now[first] != known[here[first]]:
            named = ", ".join(f"{name} {cell}" for name, cell in zip(ids, here[first], strict=True))
            message = f"a row with {named} was learned already, with other values{more}: set "
            again = " to learn them, too"
        remedy = (setting("overlap", SKIP), " to skip such rows, or ", setting("overlap", LEARN), again)
        raise frame.error_at(first, message, *remedy, kind="learned already")
    revised = f"; {many(changed, 'row')} of them differ now from what was learned" if changed else ""
    note = f"skipped, because they were learned already: {many(len(places), 'row')}{revised}"
    return without_rows(frame, places), [(note,)]


def rows_of(frame: Frame, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the cells of these columns as text, for each row; a column that the frame lacks is empty."""
    columns = [frame.texts(name) if frame.has(name) else [""] * frame.rows for name in names]
    return list(zip(*columns, strict=True)) if columns else [()] * frame.rows


def without_rows(frame: Frame, rows: Sequence[int]) -> Frame:
    """Return the frame without these rows, which do not count as bad lines."""
    fewer = frame.without(list(rows), "", frame.rows + len(frame.skipped))
    fewer.skipped = list(frame.skipped)
    return fewer

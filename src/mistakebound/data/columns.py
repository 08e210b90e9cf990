"""Read whole tables as columns of numbers or text: from files, with the readers of streams, or from memory."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound._support.text import did_you_mean, shortest
from mistakebound.data.remarks import BadLine
from mistakebound.data.source import Source
from mistakebound.data.tables import is_number
from mistakebound.errors import Option, StreamError, location, setting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mistakebound._support.arrays import FloatArray, IntArray
    from mistakebound.data.parts import Part
    from mistakebound.data.reader import StreamReader
    from mistakebound.errors import MessagePart

DECIMAL_COMMA = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?")

MOST_NAMES = 50
"""Columns that an error lists."""


@dataclass
class Frame:
    """The columns of a table, with the file and line of each row.

    Attributes
    ----------
    names : list of str
        Names of all columns, in the order of the files, including columns that were not read.
    numbers : dict
        Columns of numbers as float64 arrays, by name. NaN is an empty field.
    words : dict
        All other columns as lists of str, by name. "" is an empty field; a number among words is formatted again.
    rows : int
        Number of rows.
    skipped : list of BadLine
        The bad lines that were skipped.
    """

    names: list[str] = field(default_factory=list)
    numbers: dict[str, FloatArray] = field(default_factory=dict)
    words: dict[str, list[str]] = field(default_factory=dict)
    rows: int = 0
    skipped: list[BadLine] = field(default_factory=list)
    places: list[Places] = field(default_factory=list, repr=False)
    _known: frozenset[str] = field(default=frozenset(), init=False, repr=False, compare=False)

    def where(self, row: int) -> str:
        """Return the file and line of a row, as text; ``row`` counts from 0."""
        file, line, _, in_rows = self.place(row)
        return location(file, line, in_rows=in_rows).removesuffix(": ")

    def place(self, row: int) -> tuple[str, int, None, bool]:
        """Return file, line, None for the column, and whether the line is a row of a columnar file, as in `BadLine`."""
        here = self.places[bisect_right(self.places, row, key=lambda each: each.first) - 1]
        return here.file, int(here.lines[row - here.first]), None, here.in_rows

    def error_at(self, row: int, *words: MessagePart, **fields: Any) -> StreamError:
        """Return a StreamError about a row, with its file and line."""
        file, line, _, in_rows = self.place(row)
        return StreamError(*words, file=file, line=line, in_rows=in_rows, **fields)

    def name(self, column: str) -> str:
        """Return the name of a column that is given by its name or by its number, which counts from 1."""
        return column if self.has(column) else named(column, self.names)

    def has(self, column: str) -> bool:
        """Whether a column has this name."""
        if len(self._known) != len(self.names):  # names are unique and never removed
            self._known = frozenset(self.names)
        return column in self._known

    def column(self, name: str, *remedy: str | Option) -> FloatArray:
        """Return a column of numbers; if it contains a word, raise StreamError with the first line that has one.

        ``remedy`` is added to the message.
        """
        name = self.name(name)
        if name in self.words:
            row, word = next((row, word) for row, word in enumerate(self.words[name]) if not is_number(word))
            message = f"column {name!r}: {word!r} is not a number"
            raise self.error_at(row, message, *remedy, kind="word", feature=name, value=word)
        return self.numbers[name]

    def texts(self, name: str) -> list[str]:
        """Return a column as text, "" where a field is empty."""
        words = self.words.get(name)
        if words is not None:
            return words
        return ["" if value != value else shortest(value) for value in self.numbers[name].tolist()]  # noqa: PLR0124 - NaN

    def without(self, rows: list[int], why: str, most: int) -> Frame:
        """Return the frame without these bad rows, which are added to ``skipped``.

        Raises StreamError if more than ``most`` lines would be skipped altogether.
        """
        needed = len(self.skipped) + len(rows)
        if needed > most:
            remedy = ("; remove the row, or set ", setting("skip_bad", needed), " to skip it")
            raise self.error_at(rows[0], why, *remedy, kind="bad row")
        kept = np.ones(self.rows, bool)
        kept[rows] = False
        places, first = [], 0
        for each in self.places:
            here = kept[each.first : each.first + len(each.lines)]
            places.append(Places(first, each.file, each.in_rows, each.lines[here]))
            first += int(here.sum())
        return Frame(
            self.names,
            {name: values[kept] for name, values in self.numbers.items()},
            {
                name: [word for word, stays in zip(words, kept, strict=True) if stays]
                for name, words in self.words.items()
            },
            first,
            [*self.skipped, *(BadLine((why,), *self.place(row)) for row in rows)],
            places,
        )

    def refuse_decimal_commas(self, names: Iterable[str], *otherwise: str | Option) -> None:
        """Raise StreamError for a column of numbers with decimal commas, which would otherwise be read as text.

        ``otherwise`` is added to the message: what to do instead of writing the numbers with a point.
        """
        for name in names:
            words = self.words.get(name, [])
            with_comma = [row for row, word in enumerate(words) if DECIMAL_COMMA.fullmatch(word)]
            if with_comma and len(with_comma) + sum(map(is_number, words)) == len(words):
                word = words[with_comma[0]]
                message = (
                    f"column {name!r}: {word!r} has a decimal comma, but numbers must have a decimal point: write "
                    f"{word.replace(',', '.')} (if commas do not separate columns, use sed 's/,/./g'), or "
                )
                raise self.error_at(with_comma[0], message, *otherwise, kind="decimal comma", feature=name, value=word)


@dataclass(frozen=True)
class Places:
    """File and lines of consecutive rows of a `Frame`; ``first`` is the number of the first of them."""

    first: int
    file: str
    in_rows: bool
    lines: IntArray


def named(column: str, names: Sequence[str]) -> str:
    """Return the name of a column that is given by its name or by its number, which counts from 1.

    >>> named("2", ["Alice", "Bob"]), named("Alice", ["Alice", "Bob"])
    ('Bob', 'Alice')
    """
    if column in names:
        return column
    if column.isdigit() and 1 <= int(column) <= len(names):
        return names[int(column) - 1]
    more = f", … ({len(names) - MOST_NAMES} more)" if len(names) > MOST_NAMES else ""
    listed = f"{', '.join(names[:MOST_NAMES])}{more}"
    message = f"there is no column {column!r}; the columns are: {listed}{did_you_mean(column, names)}"
    raise StreamError(message, kind="unknown column", feature=column)


def read_columns(
    files: str | PathLike[str] | Iterable[str | PathLike[str]],
    wanted: Iterable[str] | None = None,
    **reading: Any,
) -> Frame:
    r"""Read the columns of tables (CSV, TSV), JSON lines, Parquet or Arrow files. The format is detected.

    Parameters
    ----------
    files : path or iterable of paths
        Read one after another, compressed or not; ``-`` is standard input.
    wanted : iterable of str, optional
        Names of columns, or their numbers from 1. The default is all columns.
    **reading
        Options of ``Source``: ``format``, ``table`` (``separator``, ``header``, ``ignore``), ``skip_bad``, ``threads``.

    Raises
    ------
    StreamError
        If a line is bad; with its file, line and column.
    ValueError
        If a column does not exist, or if a file has no columns.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mistakebound.data.columns import read_columns
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "forecasts.csv"
    >>> _ = file.write_text("day,Alice,rain\nMon,0.5,0\nTue,,1\n")
    >>> frame = read_columns(file)
    >>> frame.words, {name: values.tolist() for name, values in frame.numbers.items()}
    ({'day': ['Mon', 'Tue']}, {'Alice': [0.5, nan], 'rain': [0.0, 1.0]})
    """
    reader = Source(files, **reading).open(all_columns=True)
    report = reader.report
    frame, cells = Frame(), _Cells()
    for part in reader:
        cells.add(part, list(report.columns), frame.rows)
        frame.places.append(Places(frame.rows, part.file, part.in_rows, row_lines(part)))
        frame.rows += part.rows
        if part.error:
            raise part.error.at_round(None)
    frame.names = cells.names
    frame.skipped = [*report.skipped]
    for name in frame.names if wanted is None else [frame.name(each) for each in wanted]:
        if name in cells.words:
            frame.words[name] = cells.as_words(name, frame.rows)
        else:
            frame.numbers[name] = cells.as_numbers(name, frame.rows)
    return frame


def frames_of(reader: StreamReader) -> Iterator[Frame]:
    """Yield the rows of each part of a reader as a frame, with all columns of the part.

    The reader must have been opened with ``all_columns``. A bad line raises its error after the rows before it.
    """
    for part in reader:
        cells = _Cells()
        cells.add(part, list(reader.report.columns), 0)
        numbers = {name: cells.as_numbers(name, part.rows) for name in cells.names if name not in cells.words}
        words = {name: cells.as_words(name, part.rows) for name in cells.words}
        places = [Places(0, part.file, part.in_rows, row_lines(part))]
        yield Frame(cells.names, numbers, words, part.rows, [*reader.report.skipped], places)
        if part.error:
            raise part.error.at_round(None)


def row_lines(part: Part) -> IntArray:
    """Return the line of every row, as `Part.line` does for one row."""
    if not part.in_rows:
        return np.asarray(part.begin.line + part.chunk.row_lines[: part.rows])
    rows = np.arange(part.rows)
    bad_lines_before = np.searchsorted([bad[0] for bad in part.chunk.bad], rows, side="right")
    return np.asarray(part.begin.line + rows + bad_lines_before + 1)


def columns_with(
    table: Any, outcome: str, *, separator: str | None = None, header: bool | None = None, skip_bad: int = 0
) -> Frame:
    """Return the columns of files, or of a table in memory. The column ``outcome`` must be one of them.

    If all columns hold text, a header cannot be detected. The first line is then read as a header if it contains
    ``outcome``.

    Parameters
    ----------
    table : path, sequence of paths, DataFrame or dict of columns
        The table to read.
    outcome : str
        The name of a column, or its number, which counts from 1.
    separator, header, skip_bad
        Options of `Source` for reading files.
    """
    if hasattr(table, "columns") or isinstance(table, Mapping):
        from mistakebound.data.columns_in_memory import columns_in_memory  # noqa: PLC0415 - it imports this module

        return columns_in_memory(table)
    files = paths_of(table)
    options = {name: value for name, value in (("separator", separator), ("header", header)) if value is not None}
    frame = read_columns(files, skip_bad=skip_bad, table=options)
    if not frame.rows:
        message = f"{', '.join(map(str, files))}: there are no rows"
        raise StreamError(message, kind="no rows")
    unnamed = frame.names == [f"c{number}" for number in range(1, len(frame.names) + 1)]
    if header is not None or outcome in frame.names or outcome.isdigit() or not unnamed:
        return frame
    if "-" not in files:
        headed = read_columns(files, skip_bad=skip_bad, table={**options, "header": True})
        if outcome in headed.names:
            return headed
    message = f"there is no column {outcome!r}, because no header was detected; if the first line is a header, set "
    raise StreamError(message, setting("header", True), kind="unknown column", feature=outcome)


def paths_of(table: Any) -> list[str | PathLike[str]]:
    """Return the paths of a table's files; raise TypeError if ``table`` is neither a path nor several.

    >>> paths_of("a.csv"), paths_of(("a.csv", "b.csv"))
    (['a.csv'], ['a.csv', 'b.csv'])
    """
    paths = [table] if isinstance(table, (str, PathLike)) else list(table) if isinstance(table, Iterable) else []
    if paths and all(isinstance(each, (str, PathLike)) for each in paths):
        return paths
    expected = "a path, a list of paths, a DataFrame or a dict of columns"
    message = f"a table must be {expected}, got {type(table).__name__}"
    raise TypeError(message)


class _Cells:
    """The cells read so far, by column: numbers as pairs of arrays (rows, values), words by row."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.words: dict[str, dict[int, str]] = {}
        self._pieces: dict[str, list[tuple[IntArray, FloatArray]]] = {}

    def add(self, part: Part, columns: list[str], first: int) -> None:
        """Add the rows of a part; feature ``name`` is a number of that column, ``name=word`` a word of it."""
        known = frozenset(columns)
        self._add_columns(columns)
        ends = part.chunk.indptr[: part.rows + 1]
        rows = np.repeat(np.arange(first, first + part.rows), np.diff(ends))
        features, places = part.chunk.different_names()
        places, values = places[: ends[-1]], part.chunk.value[: ends[-1]]
        surely_numbers = {*places[values != 1].tolist()} if not columns else set()
        split = [column_and_word(each.decode(), known, n in surely_numbers) for n, each in enumerate(features)]
        self._add_columns([name for name, _ in split])
        is_word = np.array([word is not None for _, word in split], bool)[places]
        for place, row in zip(places[is_word].tolist(), rows[is_word].tolist(), strict=True):
            name, word = split[place]
            self.words.setdefault(name, {})[row] = word or ""
        # Cells are sorted by column once: searching all cells for each column would be quadratic in a wide table.
        order = np.argsort(places, kind="stable")
        begins = np.searchsorted(places[order], np.arange(len(split) + 1))
        for place in [number for number, (_, word) in enumerate(split) if word is None]:
            cells = order[begins[place] : begins[place + 1]]
            self._pieces[split[place][0]].append((rows[cells], values[cells]))

    def _add_columns(self, names: list[str]) -> None:
        for name in names:
            if name not in self._pieces:
                self._pieces[name] = []
                self.names.append(name)

    def as_numbers(self, name: str, rows: int) -> FloatArray:
        """Return the column as numbers, NaN where there is none."""
        column = np.full(rows, np.nan)
        for places, values in self._pieces[name]:
            column[places] = values
        return column

    def as_words(self, name: str, rows: int) -> list[str]:
        """Return the column as text, "" where a field is empty."""
        column = ["" if np.isnan(value) else shortest(value) for value in self.as_numbers(name, rows).tolist()]
        for row, word in self.words[name].items():
            column[row] = word
        return column


def column_and_word(feature: str, columns: frozenset[str], surely_number: bool) -> tuple[str, str | None]:  # noqa: FBT001
    """Return column and word of a feature ``column=word``, or the column and None if its value is a number.

    The keys of JSON lines are not known in advance, so a key must not contain "=".

    >>> [column_and_word(feature, frozenset({"day", "rain"}), False) for feature in ("day=Mon", "rain")]
    [('day', 'Mon'), ('rain', None)]
    """
    if "=" not in feature:
        return feature, None
    ways: list[tuple[str, str | None]] = [(feature, None)] if feature in columns else []
    ways += [
        (feature[:at], feature[at + 1 :])
        for at, letter in enumerate(feature)
        if letter == "=" and (feature[:at] in columns or not columns)
    ]
    if not columns:
        ways = [] if surely_number else ways[:1]
    if len(ways) != 1:
        message = f"{feature!r} could be a column, or a column and a word: rename the columns whose names contain '='"
        raise ValueError(message)
    return ways[0]

"""Read whole tables as columns of numbers or text: from files, with the readers of streams, or from memory."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.data.remarks import BadLine
from mistakebound.data.source import Source
from mistakebound.data.tables import is_number
from mistakebound.errors import Option, StreamError, location, setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray, IntArray
    from mistakebound.data.parts import Part
    from mistakebound.errors import MessagePart

DECIMAL_COMMA = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?")

MOST_NAMES = 50
"""Columns that an error lists."""


@dataclass
class Frame:
    """Columns of the same length, and where each row stands in its file.

    Attributes
    ----------
    names : list of str
        Of all columns, in their order in the files, whether they were wanted or not.
    numbers : dict
        Of each column of numbers, float64: NaN where a field was empty.
    words : dict
        Of each other column, a list of str: "" where a field was empty. A number among words is written anew.
    rows : int
        How many there are.
    skipped : list of BadLine
        The bad lines that were left out.
    """

    names: list[str] = field(default_factory=list)
    numbers: dict[str, FloatArray] = field(default_factory=dict)
    words: dict[str, list[str]] = field(default_factory=dict)
    rows: int = 0
    skipped: list[BadLine] = field(default_factory=list)
    places: list[Places] = field(default_factory=list, repr=False)
    _known: frozenset[str] = field(default=frozenset(), init=False, repr=False, compare=False)

    def where(self, row: int) -> str:
        """File and line of a row, which counts from 0."""
        file, line, _, in_rows = self.place(row)
        return location(file, line, in_rows=in_rows).removesuffix(": ")

    def place(self, row: int) -> tuple[str, int, None, bool]:
        """File, line, no column, and whether lines are rows of a file of columns: the place of a bad line."""
        here = self.places[bisect_right(self.places, row, key=lambda each: each.first) - 1]
        return here.file, int(here.lines[row - here.first]), None, here.in_rows

    def error_at(self, row: int, *words: MessagePart, **fields: Any) -> StreamError:
        """What is wrong with a row, with its file and line."""
        file, line, _, in_rows = self.place(row)
        return StreamError(*words, file=file, line=line, in_rows=in_rows, **fields)

    def name(self, column: str) -> str:
        """The name of the column that is meant: by its name, or else by its number, which counts from 1."""
        return column if self.has(column) else named(column, self.names)

    def has(self, column: str) -> bool:
        """Whether a column has this name."""
        if len(self._known) != len(self.names):  # names are unique and only ever added
            self._known = frozenset(self.names)
        return column in self._known

    def column(self, name: str, *remedy: str | Option) -> FloatArray:
        """A column that must be one of numbers; if it is not, the error names the first line that has a word.

        ``remedy`` is what the error advises.
        """
        name = self.name(name)
        if name in self.words:
            row, word = next((row, word) for row, word in enumerate(self.words[name]) if not is_number(word))
            message = f"column {name!r}: {word!r} is no number"
            raise self.error_at(row, message, *remedy, kind="word", feature=name, value=word)
        return self.numbers[name]

    def texts(self, name: str) -> list[str]:
        """A column as words, "" where a field was empty."""
        words = self.words.get(name)
        if words is not None:
            return words
        return ["" if value != value else f"{value:.17g}" for value in self.numbers[name].tolist()]  # noqa: PLR0124 - NaN

    def without(self, rows: list[int], why: str, most: int) -> Frame:
        """The same without bad rows, which are listed as skipped; ``most`` may be, and any more are refused."""
        needed = len(self.skipped) + len(rows)
        if needed > most:
            remedy = ("; leave the row out, or ", setting("skip_bad", needed), " does so")
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
        """Refuse a column that is one of numbers but for commas: read as words, it would be another game in silence."""
        for name in names:
            words = self.words.get(name, [])
            with_comma = [row for row, word in enumerate(words) if DECIMAL_COMMA.fullmatch(word)]
            if with_comma and len(with_comma) + sum(map(is_number, words)) == len(words):
                word = words[with_comma[0]]
                told = (
                    f"column {name!r}: {word!r} has a decimal comma, and numbers are read with a point: write "
                    f"{word.replace(',', '.')} (if no comma separates columns, sed 's/,/./g' does it), or "
                )
                raise self.error_at(with_comma[0], told, *otherwise, kind="decimal comma", feature=name, value=word)


@dataclass(frozen=True)
class Places:
    """Where the rows from ``first`` on stand."""

    first: int
    file: str
    in_rows: bool
    lines: IntArray


def named(column: str, names: Sequence[str]) -> str:
    """The name of the column that is meant: by its name, or else by its number, which counts from 1.

    >>> named("2", ["Alice", "Bob"]), named("Alice", ["Alice", "Bob"])
    ('Bob', 'Alice')
    """
    if column in names:
        return column
    if column.isdigit() and 1 <= int(column) <= len(names):
        return names[int(column) - 1]
    more = f", … ({len(names) - MOST_NAMES} more)" if len(names) > MOST_NAMES else ""
    message = f"there is no column {column!r}; the columns are: {', '.join(names[:MOST_NAMES])}{more}"
    raise StreamError(message, kind="unknown column", feature=column)


def read_columns(
    files: str | PathLike[str] | Iterable[str | PathLike[str]],
    wanted: Iterable[str] | None = None,
    **reading: Any,
) -> Frame:
    r"""Read tables (CSV, TSV), JSON lines, Parquet or Arrow, plain or packed, told by their content, as columns.

    Parameters
    ----------
    files : path or iterable of paths
        Read one after another; ``-`` is standard input.
    wanted : iterable of str, optional
        Names, or numbers from 1; without it, all columns.
    **reading
        What ``Source`` takes: ``format``, ``table`` (``separator``, ``header``, ``ignore``), ``skip_bad``, ``threads``.

    Raises
    ------
    StreamError
        For a bad line, which it names by file, line and column.
    ValueError
        For a column that is not there, and for a file without columns.

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


def row_lines(part: Part) -> IntArray:
    """Return `Part.line` of every row at once."""
    if not part.in_rows:
        return np.asarray(part.begin.line + part.chunk.row_lines[: part.rows])
    rows = np.arange(part.rows)
    bad_lines_before = np.searchsorted([bad[0] for bad in part.chunk.bad], rows, side="right")
    return np.asarray(part.begin.line + rows + bad_lines_before + 1)


def columns_with(
    table: Any, outcome: str, *, separator: str | None = None, header: bool | None = None, skip_bad: int = 0
) -> Frame:
    """Columns of files or of a table in memory, among which must be one.

    A table of words alone does not show that its first line has names. If the outcome is among them, it has.

    Parameters
    ----------
    table : path, sequence of paths, DataFrame or dict of columns
        What to read.
    outcome : str
        The name of a column, or its number, which counts from 1.
    separator, header, skip_bad
        How files are read: as for `Source`.
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
    told = f"{outcome!r} is no column, as far as is seen; if the first line has the names of columns, say "
    raise StreamError(told, setting("header", True), kind="unknown column", feature=outcome)


def paths_of(table: Any) -> list[str | PathLike[str]]:
    """The files of a table that is not in memory; TypeError if it is neither a path nor several.

    >>> paths_of("a.csv"), paths_of(("a.csv", "b.csv"))
    (['a.csv'], ['a.csv', 'b.csv'])
    """
    paths = [table] if isinstance(table, (str, PathLike)) else list(table) if isinstance(table, Iterable) else []
    if paths and all(isinstance(each, (str, PathLike)) for each in paths):
        return paths
    what = "a path, a list of paths, a DataFrame or a dict of columns"
    message = f"a table is {what}, got {type(table).__name__}"
    raise TypeError(message)


class _Cells:
    """What was read so far of each column: numbers in pieces with their rows, and words by row."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.words: dict[str, dict[int, str]] = {}
        self._pieces: dict[str, list[tuple[IntArray, FloatArray]]] = {}

    def add(self, part: Part, columns: list[str], first: int) -> None:
        """Sort the features of some rows into columns: ``name`` is a number, ``name=word`` a word."""
        known = frozenset(columns)
        self._meet(columns)
        ends = part.chunk.indptr[: part.rows + 1]
        rows = np.repeat(np.arange(first, first + part.rows), np.diff(ends))
        features, places = part.chunk.different_names()
        places, values = places[: ends[-1]], part.chunk.value[: ends[-1]]
        surely_numbers = {*places[values != 1].tolist()} if not columns else set()
        meant = [parted(each.decode(), known, number in surely_numbers) for number, each in enumerate(features)]
        self._meet([name for name, _ in meant])
        is_word = np.array([word is not None for _, word in meant], bool)[places]
        for place, row in zip(places[is_word].tolist(), rows[is_word].tolist(), strict=True):
            name, word = meant[place]
            self.words.setdefault(name, {})[row] = word or ""
        # Cells by column in one sort: a search of all cells for each column would be quadratic in a wide table.
        order = np.argsort(places, kind="stable")
        begins = np.searchsorted(places[order], np.arange(len(meant) + 1))
        for place in [number for number, (_, word) in enumerate(meant) if word is None]:
            cells = order[begins[place] : begins[place + 1]]
            self._pieces[meant[place][0]].append((rows[cells], values[cells]))

    def _meet(self, names: list[str]) -> None:
        for name in names:
            if name not in self._pieces:
                self._pieces[name] = []
                self.names.append(name)

    def as_numbers(self, name: str, rows: int) -> FloatArray:
        """The column with NaN where no number stands."""
        column = np.full(rows, np.nan)
        for places, values in self._pieces[name]:
            column[places] = values
        return column

    def as_words(self, name: str, rows: int) -> list[str]:
        """The column with "" where nothing stands."""
        column = ["" if np.isnan(value) else f"{value:.17g}" for value in self.as_numbers(name, rows).tolist()]
        for row, word in self.words[name].items():
            column[row] = word
        return column


def parted(feature: str, columns: frozenset[str], surely_number: bool) -> tuple[str, str | None]:  # noqa: FBT001
    """Column and word of a feature ``column=word``; of one that is a number, its name and None.

    The keys of JSON lines are not known ahead, so a key must not have a = in it.

    >>> [parted(feature, frozenset({"day", "rain"}), False) for feature in ("day=Mon", "rain")]
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
        message = f"{feature!r} may be a column or a word of one: call the columns so that no name has a = in it"
        raise ValueError(message)
    return ways[0]

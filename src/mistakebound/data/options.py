"""Options of reading: which values are valid, which ones a model stores, and which ones are in use."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mistakebound.data.labels import plain_label
from mistakebound.errors import OptionConflictError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

LINE_FORMATS = {"svmlight": "svmlight", "vw": "VW text"}
"""Formats of lines without columns, and their names in messages. The core's ``Reader`` needs only the name."""
TEXT_FORMATS = ("auto", *LINE_FORMATS, "table", "json")
"""Valid values of ``format``; auto detects the format from the first lines."""
FORMATS = (*TEXT_FORMATS, "columnar")
"""Formats that a model stores: columnar is Parquet and Arrow; auto if an old model has not stored the format."""
DEFAULTS: dict[str, Any] = {
    "text": [],
    "categorical": [],
    "interact": [],
    "words": 1,
    "letters": 0,
    "bins": 0,
    "auto": False,
    "weight": None,
}
"""Table options that determine what is learned: later files must have the same. The others describe one file. If a
model does not store one of them, it was trained with this value. New learners use ``auto``."""


@dataclass(frozen=True)
class Reading:
    """Options of ``Source`` that a model stores, and the columns of its files (by name if they have names).

    Parameters
    ----------
    format : str
        One of FORMATS.
    label : str or None
        Column or key of the label; None if the labels came from elsewhere.
    zero_based : bool
        Whether svmlight indices count from 0.
    table : dict
        The option ``table`` of ``Source``.
    columns : list of str
        All columns of the tables; ``c1``, ``c2``, ... for tables without a header.
    positive : str or None
        The label that is learned against all others.
    """

    format: str = "auto"
    label: str | None = None
    zero_based: bool = False
    table: dict[str, Any] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    positive: str | None = None

    @property
    def changes_examples(self) -> bool:
        """Whether other options could give other examples of the same files."""
        return self.has_columns or self.zero_based or self.positive is not None

    @property
    def has_columns(self) -> bool:
        """Whether the files have columns or keys; svmlight and VW text have none."""
        if self.format in LINE_FORMATS:
            return False
        return bool(self.table or self.columns or self.label is not None or self.format != "auto")

    @property
    def has_header(self) -> bool:
        """Whether its text tables have a header."""
        return bool(self.table.get("header", not numbered_names(self.columns)))

    def to_json(self) -> dict[str, Any]:
        """Return the options as a JSON object for a model file."""
        stored = asdict(self)
        if self.positive is None:
            del stored["positive"]  # so that earlier versions can read the file
        return stored

    @classmethod
    def from_json(cls, stored: Any) -> Reading:
        """Return the options that ``to_json`` wrote; raise ModelError if they are not valid."""
        from mistakebound._support.schema import fields, is_list_of, need  # noqa: PLC0415 - only model files need it

        message = "the field 'reading' is not valid"
        # Columns are missing in early files of format 3.
        stored = {"columns": [], "positive": None, **stored} if isinstance(stored, dict) else stored
        names = ("format", "label", "zero_based", "table", "columns", "positive")
        form, label, zero_based, table, columns, positive = fields(stored, *names)
        need(form in FORMATS and type(zero_based) is bool, message, "reading")
        need((label is None or type(label) is str) and isinstance(table, dict), message, "reading")
        need(is_list_of(str, columns), message, "reading")
        options = {**table, "label": label, "columns": columns}
        need(not (fault_of_table(table) or fault_of(options) or fault_of_positive(positive)), message, "reading")
        pairs = {"interact": [tuple(pair) for pair in table["interact"]]} if "interact" in table else {}
        return cls(form, label, zero_based, {**table, **pairs}, columns, positive)


def numbered_names(columns: list[str]) -> bool:
    """Return whether the columns are numbered, because their tables have no header."""
    return bool(columns) and columns == [f"c{number}" for number in range(1, len(columns) + 1)]


class Settings:
    """The options in use for one stream, set when it is opened. An option that contradicts the model raises an error.

    Parameters
    ----------
    given : Reading
        Options that were passed for these files.
    known : Reading or None
        The options that a model stores.
    label_optional : bool
        Whether a label may be missing.
    all_columns : bool
        Whether every column becomes a feature, zeros included, and none is the label.
    is_frame : bool
        Whether it is a DataFrame, which is read in the format of the model's files.
    labels_in_files : bool
        Whether the files contain the labels.
    warn : bool
        Whether a header that is read as an example causes a UserWarning, in addition to a remark.
    weights_needed : bool
        Whether the weights of the rows are read; otherwise their column is ignored.
    """

    def __init__(
        self,
        given: Reading,
        known: Reading | None = None,
        *,
        label_optional: bool = False,
        all_columns: bool = False,
        is_frame: bool = False,
        labels_in_files: bool = True,
        warn: bool = True,
        weights_needed: bool = True,
    ) -> None:
        self.given, self.known = given, known
        self.label_optional, self.all_columns, self.labels_in_files = label_optional, all_columns, labels_in_files
        self.is_frame, self.warn, self.weights_needed = is_frame, warn, weights_needed
        how = inherited(given, known)
        auto = not all_columns and how.table.get("auto", not self.inherits_columns)
        self.how = replace(how, table={**how.table, "auto": auto})
        """The options in use: those passed and, for the rest, those inherited from a model."""

    def without_weight(self, table: dict[str, Any]) -> dict[str, Any]:
        """Return table options in which the column of the weights is ignored, if they are not needed."""
        if self.weights_needed or "weight" not in table:
            return table
        rest = {name: value for name, value in table.items() if name != "weight"}
        return {**rest, "ignore": [*rest.get("ignore", ()), table["weight"]]}

    @property
    def inherits_columns(self) -> bool:
        """Whether columns are read like those of the model's files."""
        return self.known is not None and self.known.has_columns

    def kept(
        self, kind: str, label_key: str, layout: dict[str, Any], columns: list[str], before: Reading | None
    ) -> Reading:
        """Return the options that a model stores after learning from a file of this format.

        Columns of earlier files that this file ignores stay in the list.
        """
        before = before or self.known or Reading()
        if self.is_frame:
            kind = "table" if self.how.format == "auto" and kind == "columnar" else self.how.format
        settled = before.has_columns and before.format != "auto"
        now = replace(
            by_name(replace(self.how, label=label_key if kind == "json" else self.how.label), columns),
            format=before.format if settled else kind,  # the format of the first file stays
        )
        table = {} if kind in LINE_FORMATS else {**now.table, **layout}
        if "ignore" in table:
            learned = {*before.columns}.difference(before.table.get("ignore", ()))
            table["ignore"] = [name for name in table["ignore"] if name not in learned]
        return replace(now, table=table, columns=list(dict.fromkeys([*before.columns, *columns])))


def by_name(given: Reading, columns: list[str]) -> Reading:
    """Return the options with names of columns instead of numbers, because later tables may lack some columns.

    >>> by_name(Reading(label="2", table={"text": ["1"]}), ["subject", "kind"])
    Reading(format='auto', label='kind', zero_based=False, table={'text': ['subject']}, columns=[], positive=None)
    """

    def name(column: str) -> str:
        index = int(column) - 1 if column.isascii() and column.isdigit() and column not in columns else -1
        return columns[index] if 0 <= index < len(columns) and not numbered_names(columns) else column

    table = dict(given.table)
    for role in {"text", "categorical", "ignore"} & table.keys():
        table[role] = [name(column) for column in table[role]]
    if "interact" in table:
        table["interact"] = [tuple(name(each) for each in pair) for pair in table["interact"]]
    if "weight" in table:
        table["weight"] = name(table["weight"])
    return replace(given, label=given.label and name(given.label), table=table)


def inherited(given: Reading, known: Reading | None) -> Reading:
    """Return the options for later files: those that were passed, otherwise those of the model.

    Format, separator, header and the base of indices describe a file, and may differ. More columns may be ignored than
    the model ignores. Any other difference would give other features, and raises OptionConflictError.
    """
    if known is None:
        return given
    zero_based = given.zero_based or known.zero_based
    require_same("positive", given.positive, known.positive, given.positive)
    positive = known.positive if given.positive is None else given.positive
    if not known.has_columns:
        return replace(given, zero_based=zero_based, positive=positive)
    named = by_name(given, known.columns)
    require_same("label", named.label, known.label, given.label)
    for option, default in DEFAULTS.items():
        before = known.table.get(option, default)
        require_same(option, named.table.get(option), before, given.table.get(option))
    wanted, role = columns_with_roles(known), "weight"
    weight = named.table.get(role)
    left_out = named.table.get("ignore", [])
    before = known.table.get("ignore", [])
    if wanted.intersection(left_out):
        require_same("ignore", left_out, before, given.table["ignore"])
    if weight in known.columns and weight not in before and known.table.get(role) is None:
        raise OptionConflictError(role, given.table[role], None)  # the model learned it as a feature
    ignore = dict.fromkeys([*(column for column in before if column != weight), *left_out])
    table = {name: value for name, value in {**known.table, **named.table}.items() if name != "ignore"}
    return Reading(
        known.format if given.format == "auto" else given.format,
        known.label if named.label is None else named.label,
        zero_based,
        {**table, **({"ignore": list(ignore)} if ignore else {})},
        known.columns,
        positive,
    )


def columns_with_roles(known: Reading) -> set[str]:
    """Return the columns that later files must have, because an option names them; all others may be ignored."""
    table = known.table
    pairs = [column for pair in table.get("interact", ()) for column in pair]
    named = {*table.get("text", ()), *table.get("categorical", ()), *pairs, known.label, table.get("weight")}
    return {column for column in named if column is not None}


def require_same(option: str, now: Any, before: Any, given: Any) -> None:
    """Raise OptionConflictError if an option has another value than before; ``given`` is the value that was passed."""
    if now is not None and before is not None and _plain(now) != _plain(before):
        raise OptionConflictError(option, given, before)


def _plain(value: Any) -> Any:
    """Return the value of an option for a comparison that ignores the order of columns."""
    if not isinstance(value, (list, tuple)):
        return value
    return sorted(each if isinstance(each, str) else tuple(each) for each in value)


ANY = 2**62
"""Stands for no upper limit."""
RANGES = {"words": (0, 1000), "letters": (0, 1000), "bins": (0, 1024), "skip_bad": (0, ANY), "threads": (1, 256)}


def fault_of(options: Mapping[str, Any]) -> str:
    r"""Return what is wrong with options of a source or its table; empty if they are valid.

    >>> fault_of({"threads": 0}), fault_of({"label": "kind", "words": 2})
    ('threads must be a whole number from 1 to 256, got 0', '')
    >>> fault_of({"ignore": ["a", "b\udcff"]})
    "ignore is not UTF-8: 'b\\udcff'"
    """
    for name, value in options.items():
        if name in RANGES:
            lowest, highest = RANGES[name]
            if not (hasattr(value, "__index__") and lowest <= value <= highest):
                limits = f"of at least {lowest}" if highest == ANY else f"from {lowest} to {highest}"
                return f"{name} must be a whole number {limits}, got {value!r}"
        for text in texts_in(value):
            if any("\ud800" <= letter <= "\udfff" for letter in text):
                return f"{name} is not UTF-8: {text!r}"
    return ""


def fault_of_positive(positive: Any) -> str:
    """Return what is wrong with the option ``positive``; empty if it is valid.

    >>> fault_of_positive(1)
    'positive must be a label as text, as it is written in the files, got 1'
    """
    if positive is None:
        return ""
    if fault := fault_of({"positive": positive}):
        return fault
    label = plain_label(positive.encode()) if isinstance(positive, str) else None
    if label is None or label != label:  # noqa: PLR0124 - NaN
        return f"positive must be a label as text, as it is written in the files, got {positive!r}"
    return ""


def fault_of_table(table: Mapping[str, Any]) -> str:
    """Return what is wrong with the options of a table; empty if they are valid. ``fault_of`` checks the numbers.

    >>> fault_of_table({"text": ["subject"], "bins": 4, "interact": [("a", "b")]})
    ''
    >>> fault_of_table({"text": "subject"})
    "text must be a list of columns, such as ['subject'], got 'subject'"
    >>> fault_of_table({"texts": []})[:32]
    "there is no table option 'texts'"
    """
    for name, value in table.items():
        if name not in TABLE:
            return f"there is no table option {name!r}; the options are: {', '.join(TABLE)}"
        wanted, is_right = TABLE[name]
        if not is_right(value):
            return f"{name} must be {wanted}, got {value!r}"
    return ""


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value)


def _is_list_of_pairs(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(_is_list_of_texts(pair) and len(pair) == 2 for pair in value)


def _is_number(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


COLUMNS = ("a list of columns, such as ['subject']", _is_list_of_texts)
NUMBER = ("a whole number", _is_number)
TRUTH = ("True or False", lambda value: isinstance(value, bool))
TABLE: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "text": COLUMNS,
    "words": NUMBER,
    "letters": NUMBER,
    "bins": NUMBER,
    "categorical": COLUMNS,
    "ignore": COLUMNS,
    "interact": ("a list of pairs of columns, such as [('hour', 'day')]", _is_list_of_pairs),
    "separator": (
        "one ASCII character",
        lambda value: isinstance(value, str) and len(value) == 1 and value.isascii(),
    ),
    "header": TRUTH,
    "auto": TRUTH,
    "weight": ("a column", lambda value: isinstance(value, str) and value != ""),
}
"""The options of a table, with their valid values in words and a function that checks them."""


def texts_in(value: Any) -> Iterator[str]:
    """Yield a text, or the texts in a list or in a list of pairs."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from texts_in(each)

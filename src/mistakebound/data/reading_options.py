"""How the files of a model were read, so that later files are read in the same way."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from mistakebound.data.option_checks import fault_of, fault_of_table
from mistakebound.data.table_header import line_of, numbered_names
from mistakebound.errors import MissingColumnsError, OptionConflictError

FORMATS = ("auto", "svmlight", "vw", "table", "json", "columnar")
"""What the files were; columnar is Parquet and Arrow, auto is what an older model does not say."""
DEFAULTS: dict[str, Any] = {"text": [], "categorical": [], "interact": [], "words": 1, "letters": 0, "bins": 0}
"""Options of a table that make its features: later files cannot have others. The rest describes one file."""


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
        As ``Source`` has it.
    columns : list of str
        All columns of its tables; ``c1``, ``c2``, ... of tables without a header.
    """

    format: str = "auto"
    label: str | None = None
    zero_based: bool = False
    table: dict[str, Any] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)

    @property
    def has_columns(self) -> bool:
        """Whether the files have columns or keys; svmlight and VW text have none."""
        told = self.table or self.columns or self.label is not None or self.format not in ("auto", "svmlight", "vw")
        return bool(told) and self.format not in ("svmlight", "vw")

    @property
    def has_header(self) -> bool:
        """Whether its tables of text begin with the names of their columns."""
        return bool(self.table.get("header", not numbered_names(self.columns)))

    def to_json(self) -> dict[str, Any]:
        """As a model file has it."""
        return asdict(self)

    @classmethod
    def from_json(cls, said: Any) -> Reading:
        """What a model file says of reading, if it is what ``to_json`` would have written; ModelError otherwise."""
        from mistakebound._support.schema import fields, is_list_of, need  # noqa: PLC0415 - only model files need it

        wrong = "its field 'reading' is not valid"
        said = {"columns": [], **said} if isinstance(said, dict) else said  # the first files of format 3 do not have it
        form, label, zero_based, table, columns = fields(said, "format", "label", "zero_based", "table", "columns")
        need(form in FORMATS and type(zero_based) is bool, wrong)
        need((label is None or type(label) is str) and isinstance(table, dict), wrong)
        need(is_list_of(str, columns), wrong)
        need(not (fault_of_table(table) or fault_of({**table, "label": label, "columns": columns})), wrong)
        pairs = {"interact": [tuple(pair) for pair in table["interact"]]} if "interact" in table else {}
        return cls(form, label, zero_based, {**table, **pairs}, columns)


def by_name(given: Reading, columns: list[str]) -> Reading:
    """The same with columns called by name that are called by number: a later table may lack some.

    >>> by_name(Reading(label="2", table={"text": ["1"]}), ["subject", "kind"])
    Reading(format='auto', label='kind', zero_based=False, table={'text': ['subject']}, columns=[])
    """

    def name(column: str) -> str:
        place = int(column) - 1 if column.isascii() and column.isdigit() and column not in columns else -1
        return columns[place] if 0 <= place < len(columns) and not numbered_names(columns) else column

    table = dict(given.table)
    for role in {"text", "categorical", "ignore"} & table.keys():
        table[role] = [name(column) for column in table[role]]
    if "interact" in table:
        table["interact"] = [tuple(name(each) for each in pair) for pair in table["interact"]]
    return replace(given, label=given.label and name(given.label), table=table)


def inherited(given: Reading, known: Reading | None) -> Reading:
    """Options of later files: what is given for them, and for the rest what is known from the model's own files.

    Format, separator, header and the base of indices describe a file, and may be given anew. Columns may be ignored
    beside those that the model ignores. Whatever else would make other features than the model has is refused.
    """
    if known is None:
        return given
    zero_based = given.zero_based or known.zero_based
    if not known.has_columns:
        return replace(given, zero_based=zero_based)
    own = by_name(given, known.columns)
    require_same("label", own.label, known.label, given.label)
    for option, default in DEFAULTS.items():
        before = known.table.get(option, default)
        require_same(option, own.table.get(option), before, given.table.get(option))
    wanted = {*known.table.get("text", ()), *known.table.get("categorical", ()), known.label}
    wanted.update(column for pair in known.table.get("interact", ()) for column in pair)
    left_out = own.table.get("ignore", [])
    before = known.table.get("ignore", [])
    if wanted.intersection(left_out):
        require_same("ignore", left_out, before, given.table["ignore"])
    ignore = [*before, *left_out]
    return Reading(
        known.format if given.format == "auto" else given.format,
        known.label if own.label is None else own.label,
        zero_based,
        {**known.table, **own.table, **({"ignore": list(dict.fromkeys(ignore))} if ignore else {})},
        known.columns,
    )


def require_same(option: str, now: Any, before: Any, given: Any) -> None:
    """Refuse an option that is passed now and was another before; ``given`` is how it was passed."""
    if now is not None and before is not None and _plain(now) != _plain(before):
        raise OptionConflictError(option, given, before)


def _plain(value: Any) -> Any:
    """A value of an option for comparison: the order of columns does not matter."""
    if not isinstance(value, (list, tuple)):
        return value
    return sorted(each if isinstance(each, str) else tuple(each) for each in value)


def declared(how: Reading, names: list[str], *, label_may_be_missing: bool) -> dict[str, Any]:
    """Roles of the columns of a table that has these, for a model with those of ``how``.

    The label is left out if it may be missing and is, and so are columns to be ignored that are not there.

    Raises
    ------
    MissingColumnsError
        For columns that the model learned from, or a label that is needed.
    ValueError
        For a table without a header that has too many columns: nobody knows which of them is which.
    """
    there = {*names, *map(str, range(1, len(names) + 1))} if numbered_names(names) else {*names}
    ignore = [name for name in how.table.get("ignore", ()) if name in there]
    label = how.label if how.label in there else ""
    if numbered_names(how.columns) and len(names) > len(how.columns):
        message = (
            f"the table has {len(names)} columns, but the model was trained on tables of {len(how.columns)} columns "
            "without a header, so columns cannot be matched by name"
        )
        raise ValueError(message)
    missing = [name for name in required(how) if name not in there]
    if how.label is not None and not label and not label_may_be_missing:
        missing.append(how.label)
    if missing:
        raise missing_columns(how, missing, names, label_is_read=not label_may_be_missing)
    return {**how.table, "label": label or "", **({"ignore": ignore} if "ignore" in how.table else {})}


def missing_columns(how: Reading, missing: list[str], names: list[str], *, label_is_read: bool) -> MissingColumnsError:
    """The error for a table with the columns ``names``, of which some are missing for a model with those of ``how``."""
    error = MissingColumnsError(missing, names)
    error.label, error.label_is_read = how.label, label_is_read
    if numbered_names(how.columns) and numbered_names(names):
        error.counted = len(how.columns)
        label = place(how.label or "", how.columns)
        number = how.columns.index(label) + 1 if label in how.columns else 0
        # Where the label was the last column, the columns before it keep their numbers without it.
        error.label_number = number if number <= len(names) or how.label in missing else 0
    return error


def first_line(how: Reading, cells: list[str], separator: str) -> str:
    """The header that a model with the columns of ``how`` expects above these cells, if they hold none of its names.

    >>> how = Reading(label="kind", columns=["text", "kind"])
    >>> first_line(how, ["win", "spam"], ","), first_line(how, ["win"], ","), first_line(how, ["text"], ",")
    ('text,kind', 'text', '')
    """
    names = how.columns
    if not names or numbered_names(names) or not {*names}.isdisjoint(cells):
        return ""
    if len(cells) == len(names) - 1:
        names = [name for name in names if name != how.label]
    return line_of(names, separator)


def required(how: Reading) -> list[str]:
    """The columns that a table must have for a model with those of ``how``: all that it learned from."""
    pairs = [column for pair in how.table.get("interact", ()) for column in pair]
    roles = [*how.table.get("text", ()), *how.table.get("categorical", ()), *pairs]
    without = {place(each, how.columns) for each in (how.label, *how.table.get("ignore", ())) if each is not None}
    wanted = dict.fromkeys([*how.columns, *(place(each, how.columns) for each in roles)])
    return [name for name in wanted if name not in without]


def place(column: str, columns: list[str]) -> str:
    """The name of a column that may be called by number, in tables without a header.

    >>> place("2", ["c1", "c2"]), place("kind", ["kind"])
    ('c2', 'kind')
    """
    return f"c{int(column)}" if column.isdigit() and column not in columns and numbered_names(columns) else column


def learned_from(how: Reading, columns: list[str], known: Reading | None) -> Reading:
    """Return what a model stores after it learned from files that were read with ``how`` and have these columns.

    A column that it learned from before, and that was left out of these files, is not forgotten.
    """
    now = by_name(how, columns)
    table, before = dict(now.table), known or Reading()
    if "ignore" in table:
        learned = {*before.columns}.difference(before.table.get("ignore", ()))
        table["ignore"] = [name for name in table["ignore"] if name not in learned]
    return replace(now, table=table, columns=list(dict.fromkeys([*before.columns, *columns])))

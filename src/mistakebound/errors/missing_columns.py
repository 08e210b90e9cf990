"""The error for a table that lacks columns of the model, and its message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mistakebound.errors.input_errors import InputError
from mistakebound.errors.message import Option, closest

if TYPE_CHECKING:
    from mistakebound.errors.message import MessagePart

MOST_LISTED = 20
"""Names that a message lists at most."""
MOST_IGNORED = 3
"""Columns that a message shows in the option that ignores them."""
LONGEST_HEADER = 200
"""Characters of a header that a message shows at most."""


class MissingColumnsError(InputError):
    """A table lacks columns that the model learned from.

    Attributes
    ----------
    missing, columns : list of str
        The columns that are missing, and the columns of the table.
    file : str
        The table; empty if it is not known yet.
    needed : set of str
        Columns of the model that cannot be ignored: those of the label and of the weights, and those with a role.
    known : set of str
        All columns of the model. A similar name among them is not a misspelled one.
    in_frame : bool
        Whether the table is a DataFrame.
    counted : int
        The number of columns of the model's tables, if neither they nor this table has a header; 0 otherwise.
    label_number : int
        The number of the label column, if no table has a header and this column is missing; 0 otherwise.
    label_is_read : bool
        Whether labels are read from that column.
    first_line : str
        The header that the model expects, if line 1 of the table contains none of its names; empty otherwise.
    """

    needed: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    in_frame: bool = False
    counted: int = 0
    label_number: int = 0
    label_is_read: bool = True
    first_line: str = ""

    def __init__(self, missing: list[str], columns: list[str], file: str = "") -> None:
        super().__init__(kind="missing columns", file=file)
        self.args = (missing, columns, file)
        self.missing, self.columns = missing, columns

    @property
    def ignorable(self) -> list[str]:
        """The missing columns that can be ignored."""
        return [name for name in self.missing if name not in self.needed]

    @property
    def message_parts(self) -> tuple[MessagePart, ...]:
        """The message, with the option that ignores the missing columns."""
        if self.counted:
            return (self._missing_numbers(), *(() if self.label_number else self._remedy()))
        if self.first_line:
            header = self.first_line[:LONGEST_HEADER] + ("..." if len(self.first_line) > LONGEST_HEADER else "")
            hint = "; line 1 does not look like a header: if the table has none, add the model's header as line 1: "
            return (self._missing_names(), hint + header)
        return (self._missing_names(), *self._remedy())

    def _remedy(self) -> tuple[MessagePart, ...]:
        if self.in_frame:
            them = "this column" if len(self.missing) == 1 else "these columns"
            return (f"; add {them} to the DataFrame, with None for missing cells, or pass its rows as dicts",)
        if not self.ignorable:
            return ()
        names = ", ".join(f'"{name}"' for name in self.ignorable[:MOST_IGNORED])
        more = ", ..." if len(self.ignorable) > MOST_IGNORED else ""
        option = Option("ignore", f'mb.Source(..., table={{"ignore": [{names}{more}]}})', self.ignorable)
        return ("; to go on without ", "it" if len(self.ignorable) == 1 else "them", ", pass ", option)

    def _missing_numbers(self) -> str:
        here = len(self.columns)
        size = f"the table has {here} column{'' if here == 1 else 's'} and no header, the model's tables had "
        if not self.label_number:
            numbers = ", ".join(name.removeprefix("c") for name in self.missing[:MOST_LISTED])
            more = ", ..." if len(self.missing) > MOST_LISTED else ""
            return f"{size}{self.counted}; there is no column number {numbers}{more}"
        content = "" if self.label_is_read else " (its content is not used)"
        return f"{size}{self.counted}; the label column, number {self.label_number}, must be there{content}"

    def _missing_names(self) -> str:
        names, others = [], [name for name in self.columns if name not in self.known]
        for name in self.missing[:MOST_LISTED]:
            near = closest(name, others)
            names.append(f"{name!r} (did you mean {near!r}?)" if near else repr(name))
        more = ", ..." if len(self.missing) > MOST_LISTED else ""
        there = ", ".join(self.columns[:MOST_LISTED]) + (", ..." if len(self.columns) > MOST_LISTED else "")
        return f"the table lacks columns that the model learned from: {', '.join(names)}{more}; it has: {there}"

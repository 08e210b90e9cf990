"""Read Arrow tables and record batches in memory like the Parquet files that they could be written to."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from mistakebound.data.arrow import Columns
from mistakebound.data.blocks import Text
from mistakebound.data.reader import StreamReader
from mistakebound.data.source import Source
from mistakebound.data.tables import roles_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mistakebound.data.options import Reading, Settings

NAME = "batches"
"""The file name in messages."""


class BatchSource:
    """Arrow record batches as a stream of examples, read like a Parquet file with the same columns.

    Parameters
    ----------
    schema : pyarrow.Schema
        The columns.
    batches : iterable of pyarrow.RecordBatch
        The rows. An iterator can be read once.
    label : str, optional
        The column of the labels.
    table : dict, optional
        The option ``table`` of ``Source``.

    Examples
    --------
    >>> import mistakebound as mb, pyarrow as pa
    >>> from mistakebound.data.batches import BatchSource
    >>> table = pa.table({"word": ["win", "tea"] * 10, "kind": ["spam", "ham"] * 10})
    >>> panel = mb.Panel()
    >>> panel.run(BatchSource(table.schema, table.to_batches(), label="kind")).rounds
    20
    """

    def __init__(
        self, schema: Any, batches: Iterable[Any], *, label: str | None = None, table: dict[str, Any] | None = None
    ) -> None:
        self.schema, self.batches = schema, batches
        self._source = Source([NAME], label=label, table=table)

    @property
    def rows(self) -> None:
        """None: the labels are in the batches."""
        return

    @property
    def total(self) -> None:
        """None: the size in bytes is not known."""
        return

    def open(
        self,
        known: Reading | None = None,
        *,
        labels_needed: bool = True,
        label_may_be_missing: bool = False,
        warn: bool = True,
    ) -> StreamReader:
        """Return a reader of the batches; the options are those of ``Source.open``."""
        settings = self._source.settings(
            known, labels_needed=labels_needed, label_may_be_missing=label_may_be_missing, warn=warn
        )
        return BatchReader(self, self._source, settings)


class BatchReader(StreamReader):
    """One reading of record batches."""

    def __init__(self, batches: BatchSource, source: Source, settings: Settings) -> None:
        super().__init__(source, settings)
        self._from = batches

    def _texts(self, file: str) -> Iterator[Text]:
        schema, batches = self._from.schema, self._from.batches
        columns = Columns(file, lambda: (schema, None, iter(batches)), partial(roles_of, self.settings))
        yield Text(columns.blocks(), columns=columns)

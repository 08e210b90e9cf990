"""`Source`: files as one stream of examples, with the options of reading them."""

from __future__ import annotations

import os
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, runtime_checkable

from mistakebound.data.blocks import total_size
from mistakebound.data.options import TEXT_FORMATS, Reading, Settings, fault_of, fault_of_table
from mistakebound.data.parts import START, Place
from mistakebound.data.reader import StreamReader
from mistakebound.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mistakebound._support.arrays import AnyArray
    from mistakebound.data.reader import ReadReport


@runtime_checkable
class Stream(Protocol):
    """A stream of examples that is read in parts: a ``Source``, or a DataFrame that is read like one."""

    @property
    def rows(self) -> int | None:
        """Number of rows, or None if it is not known before reading."""

    @property
    def total(self) -> int | None:
        """Bytes of all files together, or None if that is not known before reading."""

    def open(
        self,
        known: Reading | None = None,
        *,
        labels_needed: bool = True,
        label_may_be_missing: bool = False,
        warn: bool = True,
    ) -> StreamReader:
        """Begin to read; the options are those of ``Source.open``."""


def not_a_source(found: object) -> TypeError:
    """The error to raise for what was passed where files are expected.

    >>> print(not_a_source("a.svm"))
    the files must be a Source, got str: pass mb.Source('a.svm')
    """
    remedy = "mb.Source(path); learner.run takes arrays and frames"
    if isinstance(found, (str, os.PathLike)):
        remedy = f"mb.Source({os.fspath(found)!r})"
    return TypeError(f"the files must be a Source, got {type(found).__name__}: pass {remedy}")


class Source:
    r"""One or several files as one stream of examples, with the options of reading them. It cannot be changed.

    ``open`` reads the files; ``run`` of a learner calls it.

    Parameters
    ----------
    files : path or iterable of paths
        ``-`` is standard input. Compressed files (.gz, .zst), Parquet and Arrow (files, streams, Feather) are detected
        by their content, not by their name.
    format : {"auto", "svmlight", "vw", "table", "json"}
        A table is CSV, TSV, or separated by semicolons or spaces; json is one object a line. "auto" looks at the
        beginning of the first file.
    label : str, optional
        Column (name, or number from 1) or dotted JSON key of the label. The default for JSON is "label".
    labels : path, optional
        A separate file with the labels, one per line.
    positive : str, optional
        The positive label; all others become one negative label, "not" followed by it.
    table : dict, optional
        More about tables (those of Parquet and Arrow, too) and JSON: ``ignore`` and ``text`` (lists of columns),
        ``words`` and ``letters`` (n-grams of a text), ``bins`` (numbers as categories, so many between two powers of
        two: a million is not a million times one); of tables alone ``categorical`` columns, ``interact`` (pairs of
        columns), ``separator`` and ``header``.
    zero_based : bool
        Whether svmlight indices count from 0 instead of 1.
    skip_bad : int
        How many bad lines are skipped before one raises. The report lists them.
    threads : int
        With 2 or more, that many blocks are parsed ahead while another one is learned; the result is the same.
    follow : bool
        Wait for more at the end of the last file, which is being written, until ``StreamReader.stop`` is called. The
        lines are learned as they come, with the result of a file that was there from the beginning.
    cache : path, optional
        Read the files from this binary cache, which is made if it is not there, or is of other files or options.

    Examples
    --------
    >>> import mistakebound as mb, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "stream.svm"
    >>> _ = file.write_text("+1 1:1 3:0.5\n-1 2:1\n")
    >>> ledger = mb.Perceptron().run(mb.Source(file))
    >>> ledger.mistakes, ledger.reading.bytes
    (1, 20)
    """

    files: tuple[str, ...]
    format: str
    label: str | None
    labels: str | os.PathLike[str] | None
    positive: str | None
    table: dict[str, Any]
    zero_based: bool
    skip_bad: int
    threads: int
    follow: bool
    cache: str | os.PathLike[str] | None

    def __init__(
        self,
        files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        format: str = "auto",  # noqa: A002 - the natural word
        label: str | None = None,
        labels: str | os.PathLike[str] | None = None,
        positive: str | None = None,
        table: dict[str, Any] | None = None,
        zero_based: bool = False,
        skip_bad: int = 0,
        threads: int = 2,
        follow: bool = False,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        table = dict(table or {})
        options = {"label": label, "positive": positive, "skip_bad": skip_bad, "threads": threads, **table}
        if fault := fault_of_table(table) or fault_of(options):
            raise ValueError(fault)
        if format not in TEXT_FORMATS:
            message = f"unknown format {format}: {', '.join(TEXT_FORMATS)}"
            raise OptionError(message, kind="format", value=format)
        names = [files] if isinstance(files, (str, os.PathLike)) else files
        vars(self).update(  # frozen from here on
            files=tuple(os.fspath(file) for file in names),
            format=format,
            label=label,
            labels=labels,
            positive=positive,
            table=deepcopy(table),  # its lists are the caller's, who may change them
            zero_based=zero_based,
            skip_bad=skip_bad,
            threads=threads,
            follow=follow,
            cache=cache,
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        message = f"a Source cannot be changed: make another one with {name}={value!r}, as by but({name}={value!r})"
        raise AttributeError(message)

    def __delattr__(self, name: str) -> NoReturn:
        message = f"a Source cannot be changed: {name} stays"
        raise AttributeError(message)

    def __repr__(self) -> str:
        default = Source(())
        options = {name: value for name, value in vars(self).items() if value != getattr(default, name)}
        return f"Source({', '.join(f'{name}={value!r}' for name, value in options.items())})"

    def but(self, **options: Any) -> Source:
        """A copy with some options changed.

        >>> Source("a.svm", skip_bad=3, follow=True).but(follow=False)
        Source(files=('a.svm',), skip_bad=3)
        """
        return Source(**{**vars(self), **options})

    @property
    def rows(self) -> int | None:
        """Number of rows, or None if it is not known before reading."""
        return None

    @property
    def total(self) -> int | None:
        """Bytes of all files together, or None if that is not known before reading."""
        return None if self.follow else total_size(self.files)

    def settings(
        self,
        known: Reading | None = None,
        *,
        labels_needed: bool = True,
        label_may_be_missing: bool = False,
        all_columns: bool = False,
        warn: bool = True,
        is_frame: bool = False,
    ) -> Settings:
        """The options in use for these files; the arguments are those of ``open``."""
        needed = labels_needed or self.label is not None  # an option that names the label column needs that column
        return Settings(
            Reading(self.format, self.label, self.zero_based, self.table),
            known,
            label_optional=label_may_be_missing or self.labels is not None or not needed,
            all_columns=all_columns,
            is_frame=is_frame,
            own_labels=self.labels is None,
            warn=warn,
        )

    def open(
        self,
        known: Reading | None = None,
        *,
        start: Place = START,
        before: ReadReport | None = None,
        labels_needed: bool = True,
        label_may_be_missing: bool = False,
        keep_text: bool = False,
        all_columns: bool = False,
        warn: bool = True,
    ) -> StreamReader:
        r"""Begin to read the files: iterate over what is returned for ``Part``s; its ``report`` is a ``ReadReport``.

        Parameters
        ----------
        known : Reading, optional
            The options that a model stores, used where no option was passed.
        start : Place
            Where to begin: the ``begin`` of an earlier ``Part``.
        before : ReadReport, optional
            The report on what was read before ``start``: the new report begins with its skipped lines and remarks.
        labels_needed : bool
            False for prediction: then labels may be missing, unless ``label`` was passed.
        label_may_be_missing : bool
            Whether to read also a table that has no column of labels, and svmlight without labels.
        all_columns : bool
            Whether every field of a table or of JSON lines becomes a feature, zeros included, and none is the label.
            Files without columns are refused.
        keep_text : bool
            Whether parts keep the text that they were parsed from. Then a cache is not read.
        warn : bool
            Whether a header that is read as an example raises a UserWarning.

        Raises
        ------
        OptionConflictError
            If an option was passed that contradicts the model's.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "mail.csv"
        >>> _ = file.write_text("subject,kind\nwin money,spam\nlunch\n")
        >>> reader = Source(file, label="kind", table={"text": ["subject"]}, skip_bad=1).open()
        >>> [part.rows for part in reader]
        [1]
        >>> reader.report.columns, reader.report.bytes
        (('subject', 'kind'), 34)
        >>> [(line.line, str(line).removeprefix(str(file))) for line in reader.report.skipped]
        [(3, ':3:6: 1 fields, but 2 columns')]
        """
        settings = self.settings(
            known,
            labels_needed=labels_needed,
            label_may_be_missing=label_may_be_missing,
            all_columns=all_columns,
            warn=warn,
        )
        return StreamReader(self, settings, start, keep_text=keep_text, before=before)

    def to_csr(self) -> tuple[Any, AnyArray]:
        """Read the whole stream: a scipy CSR matrix of float64, and the labels. Features must not have names.

        Repeated indices are kept, and mean the sum; explicit zeros are kept.
        """
        from mistakebound.data.csr import matrix_of  # noqa: PLC0415 - it needs numpy

        return matrix_of(self.open(), self.total)

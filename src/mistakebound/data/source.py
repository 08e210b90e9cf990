"""`Source`: files as one stream of examples, with the options for reading them."""

from __future__ import annotations

import os
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, runtime_checkable

from mistakebound.data.blocks import total_size
from mistakebound.data.options import TEXT_FORMATS, Reading, Settings, fault_of, fault_of_positive, fault_of_table
from mistakebound.data.parts import START, Place
from mistakebound.data.reader import StreamReader
from mistakebound.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mistakebound._support.arrays import AnyArray
    from mistakebound.data.reader import ReadReport


@runtime_checkable
class Stream(Protocol):
    """A stream of examples that is read in parts: a ``Source`` or a DataFrame."""

    @property
    def rows(self) -> int | None:
        """The number of rows; None if it is not known before reading."""

    @property
    def total(self) -> int | None:
        """The size of all files in bytes; None if it is not known before reading."""

    def open(
        self,
        known: Reading | None = None,
        *,
        labels_needed: bool = True,
        label_may_be_missing: bool = False,
        warn: bool = True,
    ) -> StreamReader:
        """Return a reader; the options are those of ``Source.open``."""


def not_a_source(found: object) -> TypeError:
    """Return the error for an argument that is not a Source.

    >>> print(not_a_source("a.svm"))
    the files must be a Source, got str: pass mb.Source('a.svm')
    """
    remedy = "mb.Source(path); learner.run takes arrays and frames"
    if isinstance(found, (str, os.PathLike)):
        remedy = f"mb.Source({os.fspath(found)!r})"
    return TypeError(f"the files must be a Source, got {type(found).__name__}: pass {remedy}")


class Source:
    r"""One or several files as one stream of examples, with the options for reading them. It cannot be changed.

    ``open`` reads the files; ``run`` of a learner calls it.

    Parameters
    ----------
    files : path or iterable of paths
        ``-`` is standard input. Compressed files (.gz, .zst), Parquet and Arrow (files, streams, Feather) are detected
        by their content, not by their name.
    format : {"auto", "svmlight", "vw", "table", "json"}
        A table is CSV, TSV, or separated by semicolons or spaces; json has one object per line. "auto" detects the
        format from the beginning of the first file.
    label : str, optional
        Column (name, or number from 1) or dotted JSON key of the label. The default for JSON is "label".
    labels : path, optional
        A separate file with the labels, one per line.
    weight : str, optional
        Column (name, or number from 1) or dotted JSON key of the weight of each row: a number from 0 to 1e9. VW text
        has weights of its own. See docs/learners.md, "Weights".
    positive : str, optional
        The positive label, as it is written in the files. All other labels become one negative label: "not" followed by
        the positive one. A learner keeps it for later files.
    table : dict, optional
        More options for tables (also Parquet and Arrow) and JSON: ``ignore`` and ``text`` (lists of columns), ``words``
        and ``letters`` (n-grams of a text), ``bins`` (numbers become categories, with this many bins between two powers
        of two), ``auto`` (False: numbers are not scaled, and any other cell is one category). For tables only:
        ``categorical`` (list of columns), ``interact`` (pairs of columns), ``separator`` and ``header``.
    zero_based : bool
        Whether svmlight indices count from 0 instead of 1.
    skip_bad : int
        How many bad lines are skipped before one raises an error. The report lists them.
    threads : int
        The number of threads that parse. With 2 or more, blocks are parsed ahead; the result is the same.
    follow : bool
        Whether to wait for more lines at the end of the last file, until ``StreamReader.stop`` is called. The result is
        the same as for a file that was complete from the beginning.
    cache : path, optional
        A binary cache of the parsed files. It is written if it does not exist, or has other files or options.

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
        weight: str | None = None,
        positive: str | None = None,
        table: dict[str, Any] | None = None,
        zero_based: bool = False,
        skip_bad: int = 0,
        threads: int = 2,
        follow: bool = False,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        if hasattr(files, "columns"):  # iterating over a DataFrame yields the names of its columns
            message = f"files must be paths, got {type(files).__name__}: pass it to a learner, learner.run(frame, y)"
            raise TypeError(message)
        table = dict(table or {}) | ({} if weight is None else {"weight": weight})
        options = {"label": label, "skip_bad": skip_bad, "threads": threads, **table}
        if fault := fault_of_table(table) or fault_of(options) or fault_of_positive(positive):
            raise ValueError(fault)
        if format not in TEXT_FORMATS:
            message = f"format must be one of {', '.join(TEXT_FORMATS)}, got {format}"
            raise OptionError(message, kind="format", value=format)
        names = [files] if isinstance(files, (str, os.PathLike)) else files
        vars(self).update(  # not by assignment, which raises
            files=tuple(os.fspath(file) for file in names),
            format=format,
            label=label,
            labels=labels,
            positive=positive,
            table=deepcopy(table),  # the caller may change its lists later
            zero_based=zero_based,
            skip_bad=skip_bad,
            threads=threads,
            follow=follow,
            cache=cache,
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        message = f"a Source cannot be changed; make a copy with source.but({name}={value!r})"
        raise AttributeError(message)

    def __delattr__(self, name: str) -> NoReturn:
        message = f"a Source cannot be changed: {name} cannot be deleted"
        raise AttributeError(message)

    def __repr__(self) -> str:
        default = Source(())
        options = {name: value for name, value in vars(self).items() if value != getattr(default, name)}
        return f"Source({', '.join(f'{name}={value!r}' for name, value in options.items())})"

    def but(self, **options: Any) -> Source:
        """Return a copy with other values of some options.

        >>> Source("a.svm", skip_bad=3, follow=True).but(follow=False)
        Source(files=('a.svm',), skip_bad=3)
        """
        return Source(**{**vars(self), **options})

    @property
    def weight(self) -> str | None:
        """The column or key of the weights, which is stored among the options of tables."""
        return self.table.get("weight")

    @property
    def rows(self) -> int | None:
        """The number of rows; None if it is not known before reading."""
        return None

    @property
    def total(self) -> int | None:
        """The size of all files in bytes; None if it is not known before reading."""
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
        """Return the options in use for these files; the arguments are those of ``open``."""
        needed = labels_needed or self.label is not None  # an option that names the label column needs that column
        return Settings(
            Reading(self.format, self.label, self.zero_based, self.table, positive=self.positive),
            known,
            label_optional=label_may_be_missing or self.labels is not None or not needed,
            all_columns=all_columns,
            is_frame=is_frame,
            labels_in_files=self.labels is None,
            warn=warn,
            weights_needed=labels_needed,
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
        r"""Return a reader of the files: iterate over it for ``Part``s; its ``report`` is a ``ReadReport``.

        Parameters
        ----------
        known : Reading, optional
            The options that a model stores, used where no option was passed.
        start : Place
            Where to begin: the ``begin`` of an earlier ``Part``.
        before : ReadReport, optional
            The report on the stream before ``start``: the new report begins with its skipped lines and remarks.
        labels_needed : bool
            False for prediction: labels may then be missing, unless ``label`` was passed.
        label_may_be_missing : bool
            Whether a table without the label column, and svmlight without labels, can be read.
        all_columns : bool
            Whether every field of a table or of JSON lines becomes a feature, zeros included, and none is the label.
            Files without columns raise an error.
        keep_text : bool
            Whether parts keep the text that they were parsed from. A cache is then not read.
        warn : bool
            Whether a header that is read as an example causes a UserWarning.

        Raises
        ------
        OptionConflictError
            If an option was passed with another value than the model's.

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
        """Return the whole stream as a scipy CSR matrix of float64, and the labels. Features must not have names.

        Repeated indices are kept, and mean the sum of their values. Explicit zeros are kept.
        """
        from mistakebound.data.csr import matrix_of  # noqa: PLC0415 - it needs numpy

        return matrix_of(self.open(), self.total)

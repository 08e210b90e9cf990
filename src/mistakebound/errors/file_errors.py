"""Errors about whole files: models, ledgers and certificates that are not valid, and disks that are full."""

from __future__ import annotations

import copyreg
import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class ModelError(ValueError):
    """A file is not a valid model, ledger or certificate, or a learner cannot be saved.

    The message has the file and the reason.

    Attributes
    ----------
    field : str or None
        Path of the field that is not valid, such as ``kept.index``; None if the reason is not in one field.
    """

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to copy and unpickle this error: without ``__init__``, whose parameters differ in subclasses."""
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class CertificateError(ModelError):
    """A file is not a portable certificate.

    Attributes
    ----------
    path : str
        The file.
    """

    def __init__(self, message: str, *, path: str, field: str | None = None) -> None:
        super().__init__(message, field=field)
        self.path = path


class ResumeError(ModelError):
    """A run cannot be resumed from a model file.

    Attributes
    ----------
    path : str
        The model file; empty if it is not known yet.
    reason : str
        What is wrong, without the file.
    option : str or None
        The option that has another value than in the run that wrote the file; None if the reason is not an option.
    before, now : object
        The value of that option in the earlier run and in this one.
    """

    def __init__(
        self, reason: str, *, path: str = "", option: str | None = None, before: Any = None, now: Any = None
    ) -> None:
        super().__init__(f"cannot resume from {path}: {reason}" if path else reason)
        self.path, self.reason = path, reason
        self.option, self.before, self.now = option, before, now


@contextmanager
def add_file_name(path: str) -> Iterator[None]:
    """Add the file name to an OSError about a full disk: the system does not report it."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            error.filename = path
        raise

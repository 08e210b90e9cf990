"""Write a file completely or not at all: write a temporary file in the same folder, then rename it."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from glob import escape
from typing import TYPE_CHECKING, BinaryIO

from mistakebound.errors import add_file_name

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

UNFINISHED = ".unfinished.mb"
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
"""Flags that create a new file; they fail if the name exists, also as a link."""


class Replacement:
    """A temporary file beside ``path`` that replaces ``path`` when it is complete.

    Until then the old file at ``path`` does not change. If ``path`` is a link, the link is replaced, not its target.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unfinished = path.parent / f".{path.name[:100]}.{os.getpid()}.{os.urandom(8).hex()}{UNFINISHED}"
        self.file: BinaryIO = os.fdopen(os.open(self.unfinished, NEW, 0o666), "wb")

    def take_place(self) -> None:
        """Replace ``path`` by this file. Raise FileNotFoundError if this file was removed in the meantime."""
        self.file.close()
        os.replace(self.unfinished, self.path)

    def discard(self) -> None:
        """Remove the temporary file."""
        self.unfinished.unlink(missing_ok=True)
        with suppress(OSError):  # closing writes the rest, which fails on a full disk
            self.file.close()


def replace(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file that replaces the old one, survives a power cut, and keeps the permissions of the old one."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path.parent))
    if path.exists() and not path.is_file():
        raise FileExistsError(
            errno.EEXIST, "it is not a regular file and cannot be replaced; choose another name", str(path)
        )
    new = Replacement(path)
    try:
        with add_file_name(str(path)):
            for part in parts:
                new.file.write(part)
            new.file.flush()
            with suppress(FileNotFoundError):
                os.chmod(new.unfinished, stat.S_IMODE(path.stat().st_mode))
            os.fsync(new.file.fileno())
            new.take_place()
    except BaseException:
        new.discard()
        raise
    _sync_folder(path.parent)


def sweep(path: Path) -> None:
    """Remove temporary files of this path that killed processes left behind."""
    for left in path.parent.glob(f"{escape(f'.{path.name[:100]}.')}*{UNFINISHED}"):
        process = left.name.removesuffix(UNFINISHED).split(".")[-2]
        if process.isdecimal() and not _is_running(int(process)):
            left.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    if os.name == "nt":
        return True  # on Windows, os.kill with signal 0 would end the process
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it runs as another user
    return True


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a power cut. Systems that do not support this are ignored."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)

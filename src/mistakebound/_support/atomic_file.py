"""Write a file completely or not at all: to a temporary file in the same folder that then replaces the old one."""

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
"""Create a file: what is there already is neither opened nor, if it is a link, followed."""


class Replacement:
    """A file that is being written beside ``path``, and takes its place when it is whole.

    What lies at ``path`` is left as it is until then. A link there is replaced itself; what it points to is not
    touched.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unfinished = path.parent / f".{path.name[:100]}.{os.getpid()}.{os.urandom(8).hex()}{UNFINISHED}"
        self.file: BinaryIO = os.fdopen(os.open(self.unfinished, NEW, 0o666), "wb")

    def take_place(self) -> None:
        """Be the file at ``path``. FileNotFoundError if somebody has removed this one meanwhile."""
        self.file.close()
        os.replace(self.unfinished, self.path)

    def discard(self) -> None:
        """Leave nothing behind."""
        self.unfinished.unlink(missing_ok=True)
        with suppress(OSError):  # the disk may be full for what is not written yet
            self.file.close()


def replace(path: Path, parts: Iterable[bytes]) -> None:
    """Replace a file by another one that lasts through a power cut, and that the same users may read."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to save in", str(path.parent))
    if path.exists() and not path.is_file():
        raise FileExistsError(
            errno.EEXIST, "it is not a regular file, so it is not replaced; choose another name", str(path)
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
    """Remove what processes that were killed left beside a file when they were about to replace it."""
    for left in path.parent.glob(f"{escape(f'.{path.name[:100]}.')}*{UNFINISHED}"):
        process = left.name.removesuffix(UNFINISHED).split(".")[-2]
        if process.isdecimal() and not _lives(int(process)):
            left.unlink(missing_ok=True)


def _lives(process: int) -> bool:
    if os.name == "nt":
        return True  # there, signal 0 would end it
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it is somebody else's
    return True


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut. Some systems and file systems cannot, and need no telling."""
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

"""Compute the SHA-256 of files, or of their first bytes."""

from __future__ import annotations

from collections import deque
from itertools import chain
from typing import Any

from mistakebound.data.blocks import opened


def sha256() -> Any:
    """Return a new SHA-256 object."""
    from hashlib import sha256 as made  # noqa: PLC0415 - importing it takes a while, and few runs need it

    return made()


def hashes(file: str, *ends: int) -> list[Any]:
    """Return the SHA-256 of the unpacked text of a file, or of its first bytes up to each of ``ends``.

    ``ends`` must rise; those beyond the end of the text are left out. A file of columns is hashed as it is.
    """
    sha, at, found, pending = sha256(), 0, [], deque(ends)
    with opened(file) as text:
        for block, _ in chain([(b"", False)], text.blocks):
            done = 0
            while pending and pending[0] <= at + len(block):
                end = pending.popleft() - at
                sha.update(bytes(block[done:end]))
                done = end
                found.append(sha.copy())
            if ends and not pending:
                return found
            sha.update(bytes(block[done:]))
            at += len(block)
    return found if ends else [sha]

"""Compute the SHA-256 of files, or of their first bytes."""

from __future__ import annotations

from collections import deque
from itertools import chain
from typing import Any

from mistakebound.data.blocks import opened


def sha256() -> Any:
    """A SHA-256 of nothing yet."""
    from hashlib import sha256 as made  # noqa: PLC0415 - importing it takes a while, and most runs do without

    return made()


def hashes(file: str, *ends: int) -> list[Any]:
    """SHA-256 of a file's text: of all of it, or of its first bytes, for as many ends (rising) as it has.

    That is what it holds unpacked; of columns it is the file itself.
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

"""Blocks of text turned into chunks by a reader, in their order."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from mistakebound._support.threads import in_order
from mistakebound.data import blocks as texts
from mistakebound.data.follow import Dry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mistakebound._core import Chunk, Reader

    Block = tuple[Any, bool]
    """Some text, and whether it is the last."""


LONGEST = 64 << 20
"""A record of a table that is longer has surely lost a closing quote."""


def parsed_one_by_one(reader: Reader, blocks: Iterable[Block], most_bad: int, *, first: bool) -> Iterator[Chunk]:
    """Chunks of blocks whose last record may end in the next one; in the first one, a header may come."""
    rest = b""
    for block, last in chain(blocks, [(b"", True)]):
        text = rest + bytes(block)
        if last and not len(text):
            break
        chunk = reader.parse(text, last, most_bad, first)
        rest, first = bytes(text[chunk.consumed :]) if len(chunk.bad) <= most_bad else b"", False
        if len(rest) > LONGEST:
            message = f"a record of more than {LONGEST >> 20} MB: is a closing quote missing?"
            raise ValueError(message)
        yield chunk


def parsed(
    reader: Reader, blocks: Iterable[Block], most_bad: int, threads: int, *, keep_text: bool = False
) -> Iterator[Chunk]:
    """Chunks in the order of the blocks. Parsing does not hold Python's lock."""

    def parse(block: Block) -> Chunk:
        text, last = block
        if isinstance(text, texts.Stretch):
            return text.parsed_by(reader, most_bad, last=last, keep_text=keep_text)
        return reader.parse(text, last, most_bad)

    return in_order(parse, blocks, threads, lambda block: isinstance(block[0], Dry))

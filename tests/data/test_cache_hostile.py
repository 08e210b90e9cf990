"""A cache that somebody forged, or that others write at the same time: refused or right, and no other file is lost."""

from __future__ import annotations

import multiprocessing
import os
import stat
import struct
import threading
from pathlib import Path
from typing import Any

import pytest
from caches import Packed, checksum, chunk_of, join, learned, split, write_stream

import mistakebound as mb
from mistakebound._core import Chunk
from mistakebound.errors import InputError

FULL = 2**64 - 1


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    """A stream in svmlight of some blocks."""
    return write_stream(tmp_path / "stream.svm")


def word(at: str, place: int, value: float) -> Any:
    """Change a number of 8 bytes in an array."""

    def act(packed: Packed) -> None:
        struct.pack_into("<d" if isinstance(value, float) else "<q", packed.rest, packed.at[at] + 8 * place, value)

    return act


def head(name: str, value: int) -> Any:
    return lambda packed: packed.head.__setitem__(name, value)


def last_words(size: int, data: bytes) -> Any:
    """Change the last bytes: the indices of svmlight, the names of VW."""
    return lambda packed: packed.rest.__setitem__(
        slice(len(packed.rest) - size, len(packed.rest) - size + len(data)), data
    )


def same_labels(packed: Packed) -> None:
    """The second label is the first one again."""
    at = packed.at["labels"]
    packed.rest[at + 16 : at + 32] = packed.rest[at : at + 16]


FORGED: list[tuple[str, Any]] = [
    ("svmlight", head("named", 2)),
    ("svmlight", head("weighted", 2)),
    ("svmlight", head("consumed", FULL)),
    ("svmlight", head("lines", FULL)),
    ("svmlight", head("lines", 1)),
    ("svmlight", head("width", 3)),
    ("svmlight", head("width", 2**31 + 1)),
    ("svmlight", word("line", 0, 0)),
    ("svmlight", word("line", 0, -5)),
    ("svmlight", word("line", 1, 2**62)),
    ("svmlight", word("line", 0, 3)),
    ("svmlight", word("value", 0, float("nan"))),
    ("svmlight", word("value", 1, float("-inf"))),
    ("svmlight", lambda packed: packed.rest.__setitem__(packed.at["ids"], 2)),
    ("svmlight", lambda packed: packed.rest.__setitem__(packed.at["ids"], 200)),
    ("svmlight", last_words(24, struct.pack("<i", -1))),
    ("svmlight", last_words(24, struct.pack("<i", 2**31 - 1))),
    ("svmlight", same_labels),
    ("vw", last_words(8, b"\xff")),
    ("vw", word("value", 0, 0.0)),
    ("vw", word("weight", 0, -1.0)),
    ("vw", word("weight", 1, float("nan"))),
    ("vw", word("weight", 1, 1.1e9)),
    ("vw", word("weight", 0, 1.0)),
    ("vw", head("weighted", 0)),
    ("vw", lambda packed: packed.rest.__setitem__(slice(-56, -55), b"\xbf")),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "act"), FORGED)
def test_a_forged_chunk_is_refused(kind: str, act: Any, tmp_path: Path) -> None:
    whole = chunk_of(kind, tmp_path).pack()
    packed = Packed(whole)
    assert packed.sealed() == whole
    act(packed)
    assert packed.sealed() != whole
    with pytest.raises(ValueError, match="cache"):
        Chunk.unpack(packed.sealed())


def test_forged_bad_lines_are_refused(tmp_path: Path) -> None:
    """Their rows and lines are those of the chunk, in order."""
    path = tmp_path / "text"
    path.write_text("1 1:x\n1 1:1\n-1 1:y\n")
    (part,) = mb.Source(path, format="svmlight", skip_bad=2).open()
    whole = part.chunk.pack()
    assert [(row, line) for row, line, *_ in part.chunk.bad] == [(0, 1), (1, 3)]
    at = whole.index(struct.pack("<3q", 0, 1, part.chunk.bad[0][2]))
    for place, value in ((0, -1), (0, 2), (1, 0), (1, 9), (2, -1), (3, -1), (3, 99)):
        payload = bytearray(whole[8:])
        struct.pack_into("<q", payload, at - 8 + 8 * place, value)
        with pytest.raises(ValueError, match="cache"):
            Chunk.unpack(checksum(payload).to_bytes(8, "little") + bytes(payload))


@pytest.mark.parametrize(
    "begin",
    [
        lambda _, begin: (7, *begin[1:]),
        lambda _, begin: (FULL, *begin[1:]),
        lambda k, begin: (1 if k == 0 else begin[0], *begin[1:]),
        lambda _, begin: (begin[0], begin[1] + 1, *begin[2:]),
        lambda _, begin: (begin[0], FULL, *begin[2:]),
        lambda _, begin: (*begin[:2], begin[2] + 1, begin[3]),
        lambda _, begin: (*begin[:3], 2),
        lambda k, begin: (*begin[:3], k % 2),
    ],
)
def test_a_forged_beginning_is_refused(
    begin: Any, stream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mistakebound.data.blocks.BLOCK", 500)
    cache = tmp_path / "cache"
    plain = learned(stream, stream, cache=cache)
    made = cache.read_bytes()
    head, records = split(made)
    assert join(head, records) == made
    last = len(records) - 1
    forged = [(at if k == last else begin(k, at), packed) for k, (at, packed) in enumerate(records)]
    cache.write_bytes(join(head, forged))
    with pytest.raises(InputError) as caught:
        learned(stream, stream, cache=cache)
    assert (caught.value.kind, caught.value.file) == ("damaged cache", str(cache))
    cache.write_bytes(made)
    assert learned(stream, stream, cache=cache) == plain


# ---------------------------------------------------------------------- one path, many runs


def test_threads_that_share_a_cache_all_succeed(stream: Path, tmp_path: Path) -> None:
    cache, plain = tmp_path / "cache", learned(stream)
    start, found = threading.Barrier(8), []

    def run() -> None:
        start.wait()
        found.append(learned(stream, cache=cache))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [plain] * 8
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "stream.svm"]


def _run_alone(stream: str, cache: str, start: Any) -> tuple[Any, ...]:
    start.wait()
    return learned(Path(stream), cache=cache)


def test_processes_that_share_a_cache_all_succeed(stream: Path, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, context.Pool(4) as pool:
        start = manager.Barrier(4)
        cache = str(tmp_path / "cache")
        found = pool.starmap(_run_alone, [(str(stream), cache, start)] * 4, chunksize=1)
    assert found == [learned(stream)] * 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "stream.svm"]


def test_a_run_whose_unfinished_cache_is_gone_succeeds(stream: Path, tmp_path: Path) -> None:
    """Somebody has swept the folder."""
    source = mb.Source(stream, cache=tmp_path / "cache")
    learner = mb.BalancedWinnow(update_margin=0.01)
    parts = learner.run_parts(source)
    first = next(parts)
    for path in tmp_path.glob(".cache.*"):
        path.unlink()
    assert first.rounds + sum(part.rounds for part in parts) == 300


# ---------------------------------------------------------------------- other files at its path


def test_the_name_of_an_unfinished_cache_cannot_be_foreseen(stream: Path, tmp_path: Path) -> None:
    """Nor is a link followed that lies at the name it once had."""
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine")
    (tmp_path / f".cache.{os.getpid()}.cache.unfinished.mb").symlink_to(precious)
    names = []
    for _ in range(2):
        parts = mb.Perceptron().run_parts(mb.Source(stream, cache=tmp_path / "cache"))
        next(parts)
        names.append({path.name for path in tmp_path.glob(".cache.*") if not path.is_symlink()})
        parts.close()
    assert len(names[0]) == len(names[1]) == 1
    assert names[0] != names[1]
    assert precious.read_bytes() == b"mine"


@pytest.mark.parametrize("content", [b"rubbish", b"1 1:1\n", b"mistakebound", bytes(100)])
def test_a_file_that_is_not_a_cache_is_not_replaced(content: bytes, stream: Path, tmp_path: Path) -> None:
    cache = tmp_path / "notes.txt"
    cache.write_bytes(content)
    with pytest.raises(ValueError, match=r"notes\.txt") as caught:
        learned(stream, cache=cache)
    assert caught.value.kind == "not a cache"
    assert cache.read_bytes() == content
    assert len(list(tmp_path.iterdir())) == 2


def test_an_empty_file_has_nothing_to_lose(stream: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    assert learned(stream, cache=tmp_path / "cache") == learned(stream)
    assert (tmp_path / "cache").read_bytes().startswith(b"mistakebound cache")


def test_a_folder_or_a_pipe_is_not_replaced_by_a_cache(stream: Path, tmp_path: Path) -> None:
    """Nobody waits for somebody to write to the pipe."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        with pytest.raises(ValueError, match=name) as caught:
            learned(stream, cache=tmp_path / name)
        assert caught.value.kind == "not a cache"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_link_at_the_path_is_replaced_and_not_followed(stream: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for target in ("old", "absent"):
        cache.unlink(missing_ok=True)
        learned(stream, zero_based=True, cache=tmp_path / "old")
        before = (tmp_path / "old").read_bytes()
        cache.symlink_to(tmp_path / target)
        assert learned(stream, cache=cache) == learned(stream)
        assert not cache.is_symlink()
        assert (tmp_path / "old").read_bytes() == before
        assert not (tmp_path / "absent").exists()


def test_a_link_to_something_else_is_left_alone(stream: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine")
    (tmp_path / "cache").symlink_to(precious)
    with pytest.raises(ValueError, match="cache") as caught:
        learned(stream, cache=tmp_path / "cache")
    assert caught.value.kind == "not a cache"
    assert precious.read_bytes() == b"mine"

"""Files: each format against its description and a trusted reader, any cutting into blocks, and broken lines."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import os
import pickle
import random
import re
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mistakebound as mb
from mistakebound._core import Chunk, Reader
from mistakebound.data import blocks as texts
from mistakebound.data.parts import START, Place
from mistakebound.errors import InputError


def rows_of(text: str | bytes, format_: str, *, zero_based: bool = False, most_bad: int = 0) -> list[tuple[Any, ...]]:
    """(label, {feature: value}) of each row; a repeated feature is listed with the sum."""
    data = text.encode() if isinstance(text, str) else text
    chunk = Reader(format_, zero_based).parse(data, True, most_bad)
    rows = []
    for row in range(len(chunk)):
        x: dict[Any, float] = {}
        for at in range(chunk.indptr[row], chunk.indptr[row + 1]):
            feature = chunk.name(at).decode() if chunk.named else int(chunk.index[at])
            x[feature] = x.get(feature, 0) + float(chunk.value[at])
        rows.append((chunk.labels[chunk.label_ids[row]].decode(), x))
    return rows


def bad_of(text: str, format_: str) -> tuple[int, int, str]:
    """(line, column, what is wrong) of the first bad line."""
    ((_, line, column, _, what, _, _),) = Reader(format_).parse(text.encode(), True).bad
    return line, column, what.decode()


# ---------------------------------------------------------------- svmlight


def test_svmlight_by_hand() -> None:
    """Labels as written, qid and comments left out, empty lines no rows, indices from 1."""
    text = "+1 1:0.5 3:-2 # a comment 5:1\n\n# only a comment\n-1 qid:7 2:1e-3\r\n0\t4:.5\n7.5"
    assert rows_of(text, "svmlight") == [("+1", {0: 0.5, 2: -2.0}), ("-1", {1: 1e-3}), ("0", {3: 0.5}), ("7.5", {})]
    assert rows_of("1 0:2 5:3", "svmlight", zero_based=True) == [("1", {0: 2.0, 5: 3.0})]
    assert rows_of("1 3:1 2:1 3:2", "svmlight") == [("1", {2: 3.0, 1: 1.0})]


@pytest.mark.parametrize(
    ("text", "line", "column", "name"),
    [
        ("1 1:1\nspam 1:1", 2, 1, "'spam'"),
        ("1 0:1", 1, 3, "index 0"),
        ("1 2147483648:1", 1, 3, "2147483648"),
        ("1 99999999999999999999:1", 1, 3, "index:value"),
        ("1 -1:1", 1, 3, "index:value"),
        ("1 1:x", 1, 5, "'1:x'"),
        ("1 1:", 1, 5, "'1:'"),
        ("1 1:1.5.2", 1, 5, "'1:1.5.2'"),
        ("1 1:nan", 1, 5, "finite"),
        ("1 1:1e999", 1, 5, "finite"),
        ("nan 1:1", 1, 1, "finite"),
        ("1 1", 1, 3, "index:value"),
        ("1 1: 2", 1, 5, "'1:'"),
        ("1 qid:x 1:1", 1, 3, "qid"),
        ("1 1:1 |f", 1, 7, "index:value"),
    ],
)
def test_errors_of_bad_svmlight_lines_have_line_and_column(text: str, line: int, column: int, name: str) -> None:
    found = bad_of(text, "svmlight")
    assert found[:2] == (line, column)
    assert name in found[2]


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(lambda v: f"{v:.6g}"),
    st.integers(-(10**20), 10**20).map(str),
    st.from_regex(r"-?[0-9]{1,20}(\.[0-9]{0,25})?([eE][-+]?[0-9]{1,3})?", fullmatch=True),
    st.sampled_from(
        [
            "+1",
            "+1.5",
            "-0",
            "0.0000",
            "1e-400",
            "0." + "0" * 400 + "1",
            "-1e-999",
            "0.5e999",
            "1" + "0" * 400 + "e-390",
            "1.e3",
            ".5",
            "5.",
        ]
    ),
)


@given(st.lists(numbers, min_size=1, max_size=8), st.integers(0, 40))
def test_numbers_are_exact(texts: list[str], padding: int) -> None:
    """Every number is what Python's float makes of it, near the end of the text and far from it."""
    line = "1 " + " ".join(f"{i + 1}:{text}" for i, text in enumerate(texts)) + "\n" + "#" * padding
    wanted = [float(text) for text in texts]
    chunk = Reader("svmlight").parse(line.encode(), True)
    if not np.isfinite(wanted).all():
        assert chunk.bad
        return
    assert chunk.value.tobytes() == np.array(wanted).tobytes()


def svmlight_text(rng: random.Random, rows: int) -> str:
    """A valid file with all that the format allows, as scikit-learn's reader understands it too."""
    lines = []
    for _ in range(rows):
        indices = sorted(rng.sample(range(1, 200), rng.randrange(0, 12)))
        make = rng.choice(
            [lambda: f"{rng.random():.6g}", lambda: repr(rng.gauss(0, 1e5)), lambda: str(rng.randrange(9))]
        )
        pairs = (" " * rng.randrange(1, 3)).join(f"{i}:{make()}" for i in indices)
        comment = rng.choice(["", "", " # a comment", "#x"])
        lines.append(f"{rng.choice(['1', '-1', '+1', '1.0'])} {rng.choice(['', 'qid:3 '])}{pairs}{comment}")
        if rng.random() < 0.1:
            lines.append(rng.choice(["", "# nothing", "   "]))
    return rng.choice(["\n", "\r\n"]).join(lines) + rng.choice(["", "\n"])


@pytest.mark.parametrize("seed", range(20))
def test_svmlight_as_scikit_learn_reads_it(seed: int) -> None:
    """The same matrix, bit for bit, and the same labels."""
    datasets = pytest.importorskip("sklearn.datasets")
    text = svmlight_text(random.Random(seed), 60)
    X, y = datasets.load_svmlight_file(io.BytesIO(text.encode()), n_features=200, zero_based=False)
    chunk = Reader("svmlight").parse(text.encode(), True)
    assert chunk.bad == []
    assert chunk.indptr.tolist() == X.indptr.tolist()
    assert chunk.index.tolist() == X.indices.tolist()
    assert chunk.value.tobytes() == X.data.tobytes()
    assert [float(chunk.labels[i]) for i in chunk.label_ids] == y.tolist()


# ---------------------------------------------------------------- VW text


def test_vw_by_hand() -> None:
    """Labels, importance, base, tags, namespaces with weights, values, and bare names."""
    text = (
        "1 | price:.23 sqft:.25 age:.05 2006\n"
        "-1 2 'second_house | price:.18 sqft:.15\n"
        "0 1 0.5 'third|h:2 price:.5 roof|g:0.5 x |\n"
        "1 tag| a\n"
        "\n"
        "| unlabelled\n"
        "1 |ns a:0 b"
    )
    assert rows_of(text, "vw") == [
        ("1", {"price": 0.23, "sqft": 0.25, "age": 0.05, "2006": 1.0}),
        ("-1", {"price": 0.18, "sqft": 0.15}),
        ("0", {"h^price": 1.0, "h^roof": 2.0, "g^x": 0.5}),
        ("1", {"a": 1.0}),
        ("", {"unlabelled": 1.0}),
        ("1", {"ns^b": 1.0}),
    ]
    chunk = Reader("vw").parse(text.encode(), True)
    assert [chunk.tag(row) for row in range(6)] == [b"", b"second_house", b"third", b"tag", b"", b""]
    assert [chunk.importance(row) for row in range(6)] == [1, 2, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("text", "column", "name"),
    [
        ("spam | a", 1, "'spam'"),
        ("1 x | a", 3, "importance"),
        ("1 -2 | a", 3, "'-2'"),
        ("1 2 3 4 | a", 7, "bar"),
        ("1 2 3", 6, "bar"),
        ("1 | a:x", 7, "'a'"),
        ("1 | a:inf", 7, "finite"),
        ("1 | :3", 5, "name"),
        ("1 |n:x a", 6, "namespace"),
        ("1 | a:1:2", 8, "space"),
        ("1 |n:1e300 a:1e300", 12, "finite"),
        ("1 'tag more | a", 8, "tag"),
    ],
)
def test_errors_of_bad_vw_lines_have_line_and_column(text: str, column: int, name: str) -> None:
    found = bad_of("1 | fine\n" + text, "vw")
    assert found[:2] == (2, column)
    assert name in found[2]


@pytest.mark.parametrize(
    "piece",
    [
        b"\xff",
        b"\xc3",
        b"\xbc",
        b"\xc0\xaf",
        b"\xe0\x80\xaf",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xe2\x82",
        b"\xf0\x9f\x98",
    ],
)
def test_vw_that_is_not_utf8(piece: bytes, tmp_path: Path) -> None:
    """Wherever it stands in a line, the line is a bad one; what is UTF-8 beside it is good, at the edges of it, too."""
    words = b" ".join(b"w%d" % at for at in range(1200))  # longer than a window of the quick way
    good = "1 | ä € 😀 \u0080 \u07ff \u0800 \ud7ff \ue000 \uffff \U00010000 \U0010ffff end".encode()
    lines = []
    for at in (0, 4, 300, 3000, 4090, 4093, 5000, len(words) - 1):
        spoilt = b"1 | " + words[:at] + piece + words[at:]
        lines += [good, spoilt, b"1 | " + words, b"-1 |n" + piece + b" a b", b"1 '" + piece + b"| c", good]
    path = tmp_path / "names.vw"
    path.write_bytes(b"\n".join([*lines, words]))  # the last one has no bar, but is far from the others
    with pytest.raises(mb.StreamError, match="UTF-8") as caught:
        mb.Perceptron(classes=(-1, 1)).run(mb.Source(path))
    assert (caught.value.file, caught.value.line, caught.value.column) == (str(path), 2, 5)
    source, learner = mb.Source(path, skip_bad=3 * 8 + 1), mb.Perceptron(classes=(-1, 1))
    ledger = learner.run(source)
    assert ledger.rounds == 3 * 8
    skipped = ledger.reading.skipped
    assert ["UTF-8" in str(line) for line in skipped] == [True] * 24 + [False]
    assert [(line.line, line.column) for line in skipped[:6]] == [(2, 5), (4, 6), (5, 4), (8, 9), (10, 6), (11, 4)]
    learner.save(tmp_path / "m.mb")
    assert mb.load(tmp_path / "m.mb").predict_one({"😀": 1.0}) == 1


# ---------------------------------------------------------------- files


@pytest.fixture(params=["svmlight", "vw"])
def stream_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file of 300 rows that can be learned to some degree."""
    rng = np.random.default_rng(0)
    path = tmp_path / "stream"
    bar = "| " if request.param == "vw" else ""
    lines = []
    for _ in range(300):
        x = sorted(rng.choice(50, 6, replace=False) + 1)
        pairs = " ".join(f"{i}:{v:.3g}" for i, v in zip(x, rng.random(6), strict=True))
        lines.append(f"{1 if x[0] < 6 else -1} {bar}{pairs}")
    path.write_text("\n".join(lines) + "\n")
    return path


def outcome(source: mb.Source) -> tuple[Any, ...]:
    """All that learning from a source leaves behind."""
    learner = mb.BalancedWinnow(update_margin=0.01)
    ledger = learner.run(source)
    weights = learner.weights_
    found = weights if isinstance(weights, dict) else weights.tolist()
    return ledger.predictions.tolist(), ledger.mistakes, ledger.n, found


def test_blocks_threads_and_packing_do_not_matter(stream_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread or several, any size of block, packed, cut into two files, or by standard input: the same result."""
    whole = outcome(mb.Source(stream_file))
    data = stream_file.read_bytes()
    packed, first, second = (stream_file.with_name(name) for name in ("packed", "first", "second"))
    packed.write_bytes(gzip.compress(data))
    at = data.index(b"\n", 4000) + 1
    first.write_bytes(data[:at])
    second.write_bytes(data[at:-1])  # a last line without a newline is a line
    for block in (1, 50, 1000, 1 << 20):
        monkeypatch.setattr(texts, "BLOCK", block)
        for threads in (1, 2, 3):
            assert outcome(mb.Source(stream_file, threads=threads)) == whole
        assert outcome(mb.Source(packed)) == whole
        assert outcome(mb.Source([first, second])) == whole
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert outcome(mb.Source("-")) == whole


@pytest.mark.parametrize("block", [1, 10, 64, 5000, 1 << 20])
def test_blocks_of_a_plain_file_are_its_lines(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each ends with the last newline within its size, or with the first one after it; together they are the file."""
    monkeypatch.setattr(texts, "BLOCK", block)
    path = tmp_path / "a"
    long = b"a" * 4096 + b"\n" + b"b" * 2047 + b"\n" + b"c" * 9000 + b"\nd\n"
    for text in (
        long,
        long + b"e" * 7000,
        b"a",
        b"\n",
        b"a\nbb\n" * 20,
        b"x" * 100 + b"\ny\n" + b"z" * 30,
        b"\n\n" + b"a" * 64 + b"\n" * 70,
    ):
        path.write_bytes(text)
        with texts.opened(str(path)) as opened:
            blocks = [(bytes(each), last) for each, last in opened.blocks]
        assert b"".join(each for each, _ in blocks) == text
        assert [last for _, last in blocks] == [False] * (len(blocks) - 1) + [True]
        at = 0
        for each, last in blocks:
            end = text.rfind(b"\n", at, at + block) + 1 or text.find(b"\n", at + block) + 1 or len(text)
            assert at + len(each) == (len(text) if last and at + block >= len(text) else end)
            at += len(each)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_file_that_is_cut_short_while_it_is_read(
    threads: int, stream_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mapped into memory, it would end the process. What was read before is learned."""
    monkeypatch.setattr(texts, "BLOCK", 200)
    parts = iter(mb.Source(stream_file, threads=threads).open())
    assert next(parts).rows > 0
    os.truncate(stream_file, 300)
    with pytest.raises(InputError) as caught:
        list(parts)
    assert caught.value.file == str(stream_file)
    reader = Reader("svmlight")
    with stream_file.open("rb") as raw, pytest.raises(ValueError, match="file"):
        reader.read(raw.fileno(), 299, 2, False)
    with pytest.raises(OSError) as bad:
        reader.read(-1, 0, 2, False)
    assert bad.value.errno == errno.EBADF


def contents(chunk: Chunk) -> tuple[Any, ...]:
    """All that a chunk holds, but for its text."""
    rows = range(len(chunk))
    names = [chunk.name(k) for k in range(len(chunk.value))] if chunk.named else chunk.index.tolist()
    remarks = [(chunk.importance(row), chunk.tag(row), chunk.line(row)) for row in rows]
    labels = (chunk.labels, chunk.label_ids, chunk.other_labels)
    sizes = (chunk.indptr.tolist(), chunk.value.tolist(), chunk.width, chunk.consumed, chunk.lines)
    return names, remarks, labels, sizes, chunk.weighted, chunk.bad


@pytest.mark.parametrize("most_bad", [0, 2, 100])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("kind", ["svmlight", "vw", "json"])
def test_a_file_read_in_pieces_is_its_text(kind: str, last: bool, most_bad: int, tmp_path: Path) -> None:
    """Pieces of 128 KB end anywhere; lines may be longer than several of them, or bad, and nothing may differ."""
    draw = random.Random(5)
    reader = Reader.json(label="y") if kind == "json" else Reader(kind)

    def line(size: int) -> str:
        label = draw.choice([1, -1, draw.randrange(400)])
        pairs = [(k, draw.choice([1, round(draw.random(), 3), 2])) for k in range(1, size + 1)]
        if kind == "json":
            return json.dumps({"y": label, **{f"name_{k}": value for k, value in pairs}})
        if kind == "svmlight":
            return f"{label} " + " ".join(f"{k}:{value}" for k, value in pairs)
        start = draw.choice([f"{label} ", f"{label} 2.5 ", f"{label} 'tag{size} ", f"{label} 1 'tag{size} "])
        return f"{start}|{draw.choice(['', 'space'])} " + " ".join(f"a_rather_long_name_{k}:{v}" for k, v in pairs)

    sizes = [draw.choice([0, 3, 40, 400]) for _ in range(900)]
    for at, size in ((100, 30_000), (200, 90_000), (500, 20_000)):  # the second is longer than a megabyte
        sizes[at] = size
    lines = [line(size) for size in sizes]
    for at in (150, 450, 700):
        lines[at] = "bad " + lines[at]
    text = "\n".join(lines).encode()
    path = tmp_path / "file"
    path.write_bytes(b"something else\n" + text)
    whole = reader.parse(text, last, most_bad)
    assert len(whole) > 100
    assert len(whole.bad) == min(most_bad + 1, 3)
    with path.open("rb") as raw:
        for keep_text in (False, True):
            read = reader.read(raw.fileno(), 15, len(text), last, most_bad, keep_text)
            assert contents(read) == contents(whole)
            if keep_text or kind == "json":
                assert read.text == text
            else:
                with pytest.raises(ValueError, match="text"):
                    _ = read.text


def test_virtual_files_of_the_system() -> None:
    """A file of /proc says that it is empty, and has text all the same."""
    path = Path("/proc/self/status")
    if not path.exists():
        pytest.skip("no /proc here")
    with texts.opened(str(path)) as opened:
        assert b"".join(bytes(each) for each, _ in opened.blocks).startswith(b"Name:")


@pytest.mark.parametrize("block", [300, 1 << 20])
@pytest.mark.parametrize("values", [(1,), (1, 1, 2.5, -0.125)])
def test_words_short_and_long_with_values_or_without(
    values: tuple[float, ...], block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names that are their own keys and names that are not, values that are written and that are not: as from dicts."""
    monkeypatch.setattr(texts, "BLOCK", block)
    draw = random.Random(4)
    names = [f"w{k}" if k % 3 else f"a_rather_long_name_{k}" for k in range(60)]
    rows = [{name: draw.choice(values) for name in draw.sample(names, draw.randrange(12))} for _ in range(300)]
    y = [draw.choice((-1, 1)) for _ in rows]
    path = tmp_path / "a.vw"
    with path.open("w") as out:
        for x, label in zip(rows, y, strict=True):
            words = (f"{k}:{v}" if v != 1 or draw.random() < 0.3 else k for k, v in x.items())
            out.write(f"{label} | {' '.join(words)}\n")
    for make in (mb.Perceptron, lambda: mb.BalancedWinnow(update_margin=0.01)):
        learner = make()
        ledger = learner.run(rows, y)
        for options in ({}, {"threads": 1}, {"cache": tmp_path / "c"}, {"cache": tmp_path / "c"}):
            twin = make()
            assert twin.run(mb.Source(path, format="vw", **options)).predictions.tolist() == ledger.predictions.tolist()
            assert twin.weights_ == learner.weights_


def test_a_copy_goes_on_as_the_original(stream_file: Path) -> None:
    """BUG: a learner whose features by position had grown came out of pickle with the width that it began with."""
    for make in (mb.Perceptron, mb.BalancedWinnow, lambda: mb.Winnow(threshold=9.0)):
        learner = make()
        text = stream_file.read_text().replace("|", " |") if make in (mb.Perceptron, mb.BalancedWinnow) else ""
        text = text or "1 1:1 3:1\n0 2:1\n1 7:1\n"
        stream_file.write_text(text)
        learner.run(mb.Source(stream_file))
        twin = pickle.loads(pickle.dumps(learner))
        with stream_file.open("a") as file:
            file.write("1 | a 900:2\n" if "|" in text else "1 900:1\n")
        assert (
            learner.run(mb.Source(stream_file)).predictions.tolist()
            == twin.run(mb.Source(stream_file)).predictions.tolist()
        )
        assert learner.ledger_.n == twin.ledger_.n
        assert np.array_equal(
            list(np.asarray(learner.weights_, object).ravel()), list(np.asarray(twin.weights_, object).ravel())
        )


def test_zst(stream_file: Path) -> None:
    """A .zst file is told by its content; it may have several frames, and some that are to be skipped."""
    zstandard = pytest.importorskip("zstandard")
    packed, text = stream_file.with_name("packed"), stream_file.read_bytes()
    skipped = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    frames = [zstandard.compress(part) for part in (text[:1000], b"", text[1000:1001], text[1001:])]
    for whole in (zstandard.compress(text), b"".join(frames), frames[0] + skipped + b"".join(frames[1:]) + skipped):
        packed.write_bytes(whole)
        assert outcome(mb.Source(packed)) == outcome(mb.Source(stream_file))


@pytest.mark.parametrize("kind", ["gz", "zst"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_packed_file_that_is_cut_short(kind: str, threads: int, tmp_path: Path) -> None:
    """Wherever it ends too early: an error with its name, and every whole line that it still holds is learned."""
    zstandard = pytest.importorskip("zstandard")
    compress = gzip.compress if kind == "gz" else zstandard.compress
    draw = random.Random(3)
    lines = [f"{draw.choice('01')} {draw.randrange(1, 9)}:{draw.random():.9f}" for _ in range(30_000)]
    text = "\n".join(lines).encode()
    packed = [compress(text[:400_000]), compress(text[400_000:])]
    path = tmp_path / "packed"
    first, both = len(packed[0]), sum(map(len, packed))
    for size in (5, first // 2, first - 1, first + 9, both - 20_000, both - 9, both - 1, both):
        path.write_bytes(b"".join(packed)[:size])
        held = 0
        for part in (packed[0][:size], packed[1][: max(0, size - first)]):
            unpack = zlib.decompressobj(31) if kind == "gz" else zstandard.ZstdDecompressor().decompressobj()
            held += unpack.decompress(part).count(b"\n")
        learner = mb.Perceptron()
        if size == both:
            assert learner.run(mb.Source(path, threads=threads)).rounds == len(lines)
        else:
            with pytest.raises(InputError) as caught:
                learner.run(mb.Source(path, threads=threads))
            assert (caught.value.kind, caught.value.file) == ("packed file", str(path))
            assert learner.ledger_.rounds == held, size


@pytest.mark.parametrize(
    ("table", "names"),
    [
        ({"texts": ["a"]}, ["'texts'", "text, words"]),
        ({"text": "a"}, ["text", "'a'"]),
        ({"ignore": [1]}, ["ignore", "[1]"]),
        ({"interact": [("a", "b", "c")]}, ["interact", "('a', 'b', 'c')"]),
        ({"interact": ["ab"]}, ["interact", "'ab'"]),
        ({"bins": True}, ["bins", "True"]),
        ({"header": 1}, ["header", "1"]),
        ({"separator": None}, ["separator", "None"]),
        ({"separator": ";;"}, ["separator", "';;'"]),
        ({"separator": "é"}, ["separator", "'é'"]),
    ],
)
def test_table_options_are_checked_when_a_source_is_made(table: dict[str, Any], names: list[str]) -> None:
    with pytest.raises(ValueError, match=".*".join(map(re.escape, names))):
        mb.Source("any", table=table)


def test_a_file_is_its_matrix(tmp_path: Path) -> None:
    """Learning from a file is learning from the matrix that it holds."""
    rng = np.random.default_rng(1)
    X = np.round(rng.standard_normal((200, 9)), 3) * (rng.random((200, 9)) < 0.5)
    y = np.where(X[:, 0] - X[:, 1] >= 0, 1, -1)
    X[0, 8] = 1
    path = tmp_path / "m.svm"
    path.write_text(
        "\n".join(
            f"{t} " + " ".join(f"{i + 1}:{v!r}" for i, v in enumerate(x.tolist())) for x, t in zip(X, y, strict=True)
        )
    )
    mine, theirs = mb.Perceptron(), mb.Perceptron()
    ledger, expected = mine.run(mb.Source(path)), theirs.run(X, y)
    assert ledger.predictions.tolist() == expected.predictions.tolist()
    assert np.asarray(mine.weights_).tolist() == np.asarray(theirs.weights_).tolist()
    assert mine.certify().to_json() == theirs.certify().to_json()


def test_bad_lines_stop_or_are_listed(stream_file: Path) -> None:
    """The rounds before a bad line stay learned; with skip_bad it is left out and listed; nothing is repaired."""
    lines = stream_file.read_text().splitlines()
    good = outcome(mb.Source(stream_file))
    broken = [*lines[:100], "broken", *lines[100:200], "1 | a:b:c" if "|" in lines[0] else "1 a:b", *lines[200:]]
    path = stream_file.with_name("broken")
    path.write_text("\n".join(broken))
    learner = mb.Perceptron()
    with pytest.raises(mb.StreamError, match="label") as caught:
        learner.run(mb.Source(path))
    assert (caught.value.file, caught.value.line, caught.value.column) == (str(path), 101, 1)
    assert caught.value.round == caught.value.ledger.rounds == learner.ledger_.rounds == 100
    source = mb.Source(path, skip_bad=2)
    assert outcome(source) == good
    assert [line.line for line in mb.Perceptron().run(source).reading.skipped] == [101, 202]
    learner = mb.Perceptron()
    with pytest.raises(mb.StreamError) as caught:
        learner.run(mb.Source(path, skip_bad=1))
    assert (caught.value.kind, caught.value.line) == ("bad line", 202)
    assert learner.ledger_.rounds == 200


def test_tables_and_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same examples as CSV, as TSV, as JSON and as dicts; blocks that cut a quoted field in two change nothing."""
    rng = np.random.default_rng(2)
    colours, rows = ["red", "blue, dark", 'green "deep"', "two\nlines"], []
    for _ in range(120):
        colour, size = colours[rng.integers(4)], int(rng.integers(1, 9))
        rows.append({"colour": colour, "size": size, "label": "yes" if colour == "red" or size > 6 else "no"})
    learner = mb.Perceptron(classes=("no", "yes"))
    learner.run([{"colour": row["colour"], "size": row["size"]} for row in rows], [row["label"] for row in rows])
    csv_file, json_file = tmp_path / "a", tmp_path / "b"
    with csv_file.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["colour", "size", "label"])
        writer.writeheader()
        writer.writerows(rows)
    json_file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for block in (1, 37, 1 << 20):
        monkeypatch.setattr(texts, "BLOCK", block)
        for file, label in ((csv_file, "label"), (csv_file, "3"), (json_file, None)):
            source = mb.Source(file, label=label, table={"auto": False})
            twin = mb.Perceptron(classes=None if block > 1000 else ("no", "yes"))
            assert twin.run(source).mistakes == learner.ledger_.mistakes
            assert twin.weights_ == learner.weights_
    bad = csv_file.read_text() + '"red",1\n'
    csv_file.write_text(bad)
    line = bad.count("\n")
    with pytest.raises(mb.StreamError, match=r"\b2 .*\b3 ") as caught:
        mb.Perceptron().run(mb.Source(csv_file, label="label"))
    assert (caught.value.file, caught.value.line, caught.value.column) == (str(csv_file), line, 8)


def test_labels_of_files(tmp_path: Path) -> None:
    """Numbers are compared as numbers; a third label and a missing one stop at their line."""
    path = tmp_path / "labels"
    path.write_text("1 1:1\n1.0 1:1\n+1 1:1\n0 2:1\n")
    learner = mb.Perceptron()
    assert learner.run(mb.Source(path)).rounds == 4
    assert learner.predict_one([1.0, 0.0]) == 1
    for text, kind, line in (("1 1:1\n2 1:1\n3 1:1\n", "third label", 3), ("1 | a\n| a\n", "no label", 2)):
        path.write_text(text)
        with pytest.raises(mb.StreamError) as caught:
            mb.Perceptron().run(mb.Source(path))
        assert (caught.value.kind, caught.value.file, caught.value.line) == (kind, str(path), line)


def test_labels_of_their_own_and_one_against_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels from another file, however both are cut; one label against all others."""
    path, labels = tmp_path / "x", tmp_path / "y"
    path.write_text("1.5 2\n3 4.5\n0 1\n")
    labels.write_text("a\nb\nc\n")
    options: dict[str, Any] = {"labels": labels, "positive": "b"}
    for block in (1, 1 << 20):
        monkeypatch.setattr(texts, "BLOCK", block)
        learner = mb.Perceptron(classes=("not b", "b"))
        ledger = learner.run(mb.Source(path, **options))
        assert ledger.rounds == 3
        told = [
            p if right else {"b": "not b", "not b": "b"}[p]
            for p, right in zip(ledger.predictions.tolist(), ~np.isin(range(3), ledger.mistake_rounds), strict=True)
        ]
        assert told == ["not b", "b", "not b"]
    labels.write_text("a\nb\n")
    learner = mb.Perceptron(classes=("a", "b"))
    with pytest.raises(mb.StreamError) as caught:
        learner.run(mb.Source(path, labels=labels))
    assert (caught.value.kind, caught.value.file) == ("labels", str(labels))
    assert learner.ledger_.rounds == 2
    labels.write_text("a\nb\na\nb")
    learner = mb.Perceptron(classes=("a", "b"))
    with pytest.raises(InputError) as more:
        learner.run(mb.Source(path, labels=labels))
    assert (more.value.kind, more.value.file) == ("labels", str(labels))
    assert learner.ledger_.rounds == 3


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block", [1, 100, 1 << 20])
@pytest.mark.parametrize("kind", ["table", "vw"])
def test_a_bad_line_uses_up_its_label(
    kind: str, block: int, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The label file has a line for every example: what is left out of one stream is left out of both."""
    monkeypatch.setattr(texts, "BLOCK", block)
    path, labels, bad = tmp_path / "x", tmp_path / "y", {0, 30, 50, 51, 99}
    if kind == "table":
        lines = ["oops" if at in bad else f"{at + 0.5},1" for at in range(100)]
        path.write_text("x,one\n\n" + "\n".join(lines))
    else:
        path.write_text("".join(f"| x:{'oops' if at in bad else at + 0.5}\n" for at in range(100)))
    labels.write_text("".join(f"{at}\n" for at in range(100)))
    options: dict[str, Any] = {"labels": labels, "threads": threads, "cache": tmp_path / "cache"}
    if kind == "table":
        options["table"] = {"auto": False}
    source = mb.Source(path, format=kind, skip_bad=5, **options)

    def examples(start: Place = START) -> list[tuple[Any, float]]:
        found = []
        for part in source.open(start=start):
            first = part.chunk.indptr[:-1]
            found += [(part.label(row), part.chunk.value[first[row]]) for row in range(part.rows)]
        return found

    good = [(at, at + 0.5) for at in range(100) if at not in bad]
    places = [part.begin for part in source.open()]
    for _ in range(2):  # the second time from the cache
        assert examples() == good
    for place in places:
        assert examples(place) == good[place.rows :]
    labels.write_text("".join(f"{at}\n" for at in range(98)))
    error = next(part.error for part in source.open() if part.error)
    assert (error.kind, error.file) == ("labels", str(labels))
    labels.write_text("".join(f"{at}\n" for at in range(101)))
    with pytest.raises(InputError) as caught:
        examples()
    assert (caught.value.kind, caught.value.file) == ("labels", str(labels))
    labels.write_text("".join(f"{at}\n" for at in range(100)))
    source = mb.Source(path, format=kind, skip_bad=3, **options)
    until = next(part for part in source.open() if part.error)
    assert (until.error.file, until.error.line) == (str(path), 54 if kind == "table" else 52)
    assert until.begin.rows + until.rows == 48
    assert until.rows == 0 or until.label(until.rows - 1) == 49


@pytest.mark.parametrize("block", [50, 1 << 20])
def test_more_labels_than_a_byte_can_number(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix has them all, also from a cache and from a file of their own; one against all others can be learned."""
    monkeypatch.setattr(texts, "BLOCK", block)
    wanted = [number * 0.5 for number in [*range(400), 7, 300, 390, 0]]
    path, labels = tmp_path / "a.svm", tmp_path / "y"
    path.write_text("".join(f"{y} 1:{y}\n" for y in wanted))
    labels.write_text("".join(f"{y}\n" for y in wanted))
    for options in ({}, {"cache": tmp_path / "c"}, {"cache": tmp_path / "c"}, {"labels": labels}):
        source = mb.Source(path, **options)  # type: ignore[arg-type]
        X, y = source.to_csr()
        assert y.tolist() == wanted
        assert y.dtype == np.float64
        assert X.sum() == sum(wanted)
        told = [part.label(row) for part in source.open() for row in range(part.rows)]
        assert told == wanted
    for positive in (150.0, 3.5, 0.0):
        learner = mb.Perceptron(classes=(f"not {positive}", positive))
        ledger = learner.run(mb.Source(path, positive=str(positive)))
        assert ledger.positive_predictions - ledger.false_positives + ledger.false_negatives == 2
        assert ledger.rounds == len(wanted)
    with pytest.raises(mb.StreamError) as caught:
        mb.Perceptron().run(mb.Source(path))
    found = caught.value
    assert (found.kind, found.value, found.file, found.line) == ("third label", 1.0, str(path), 3)


def test_binary_rules_name_line_and_feature(tmp_path: Path) -> None:
    """What a rule does not allow stops at its line."""
    path = tmp_path / "x"
    path.write_text("1 | a b\n0 | c:2\n")
    with pytest.raises(mb.StreamError, match="0 or 1") as caught:
        mb.Winnow(threshold=4.0).run(mb.Source(path))
    assert (caught.value.file, caught.value.line, caught.value.feature, caught.value.value) == (str(path), 2, "c", 2.0)
    path.write_text("1 1:1\n0 2:0.5\n")
    with pytest.raises(mb.StreamError, match=r"\b2\b.*\b0 or 1") as caught:
        mb.Winnow(threshold=4.0).run(mb.Source(path))
    assert (caught.value.file, caught.value.line, caught.value.value) == (str(path), 2, 0.5)


def test_files_that_cannot_be_read_as_streams(tmp_path: Path) -> None:
    """Unknown formats and missing files raise an error; an empty file is an empty stream."""
    path = tmp_path / "what"
    path.write_text("hello, world\n")
    with pytest.raises(ValueError, match="label=NAME") as caught:
        mb.Perceptron().run(mb.Source(path))
    assert (caught.value.kind, caught.value.option) == ("no label", "label")
    with pytest.raises(ValueError, match="format.*wav"):
        mb.Perceptron().run(mb.Source(path, format="wav"))
    path.write_text("1 1:1\n")
    with pytest.raises(ValueError, match=r"label.*tables.*JSON"):
        mb.Perceptron().run(mb.Source(path, label="x"))
    with pytest.raises(FileNotFoundError):
        mb.Perceptron().run(mb.Source(tmp_path / "absent"))
    path.write_text("")
    assert mb.Perceptron().run(mb.Source(path)).rounds == 0


# ---------------------------------------------------------------- anything at all


def mangled(seeds: list[bytes], count: int) -> Iterator[bytes]:
    """Valid text with bytes changed, doubled, cut out and put in."""
    rng = random.Random(0)
    pieces = [
        b":",
        b"|",
        b" ",
        b"\n",
        b"\r",
        b"#",
        b"-",
        b"+",
        b".",
        b"e",
        b"nan",
        b"inf",
        b"\0",
        b"\xff",
        b"'",
        b"9" * 30,
    ]
    for _ in range(count):
        text = bytearray(rng.choice(seeds))
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(text) + 1)
            kind = rng.randrange(4)
            if kind == 0:
                text[at:at] = rng.choice(pieces)
            elif kind == 1:
                del text[at : at + rng.randrange(5)]
            elif kind == 2 and at < len(text):
                text[at] = rng.randrange(256)
            else:
                text[at:at] = text[max(0, at - 8) : at]
        yield bytes(text)


@pytest.mark.parametrize("format_", ["svmlight", "vw"])
def test_fuzz(format_: str) -> None:
    """Whatever the bytes are: no crash, a consistent chunk, and every line is a row, bad, or empty."""
    bar = b"| " if format_ == "vw" else b""
    seeds = [
        b"1 " + bar + b"1:0.5 2:1e-3 77:12345678.875\n-1 " + bar + b"3:1\n",
        b"+1 2 'tag|ns:2 a:1 b c|d e:0.1\n" if bar else b"1 qid:3 1:1 # c\n\n-1 2:.5",
    ]
    reader = Reader(format_)
    for text in mangled(seeds, 20_000):
        chunk = reader.parse(text, True, 1000)
        assert chunk.consumed == len(text)
        assert len(chunk) + len(chunk.bad) <= chunk.lines == text.count(b"\n") + (not text.endswith(b"\n"))
        assert len(chunk.indptr) == len(chunk) + 1
        assert chunk.indptr[-1] == len(chunk.value)
        assert np.isfinite(chunk.value).all()
        assert all(1 <= line <= chunk.lines for _, line, *_ in chunk.bad)


@pytest.mark.parametrize("sizes", [[0] * 50 + [200] * 50, [200] * 50 + [0] * 50, [0, 300, 1] * 40, [0], [1]])
@pytest.mark.parametrize("kind", ["plain", "gz", "pipe", "cached"])
def test_a_matrix_grows_beyond_its_expected_size(
    sizes: list[int], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long rows after short ones, short after long; of a pipe nobody knows how much comes."""
    monkeypatch.setattr(texts, "BLOCK", 200)
    rng = np.random.default_rng(0)
    rows = [np.sort(rng.choice(1000, size, replace=False)) for size in sizes]
    values = [rng.integers(1, 9, size) / 4 for size in sizes]
    pairs = [" ".join(f"{i + 1}:{v}" for i, v in zip(x, v, strict=True)) for x, v in zip(rows, values, strict=True)]
    text = "".join(f"{number % 2} {each}\n" for number, each in enumerate(pairs)).encode()
    path = tmp_path / "file"
    if kind == "pipe":
        os.mkfifo(path)
        writer = threading.Thread(target=path.write_bytes, args=(text,))
        writer.start()
    else:
        path.write_bytes(text if kind == "plain" else gzip.compress(text))
    if kind == "cached":
        mb.Source(path, format="svmlight", cache=tmp_path / "cache").to_csr()
    X, y = mb.Source(path, format="svmlight", cache=tmp_path / "cache" if kind == "cached" else None).to_csr()
    if kind == "pipe":
        writer.join()
    assert X.indptr.tolist() == [0, *np.cumsum(sizes).tolist()]
    assert X.indices.tolist() == np.concatenate(rows).tolist()
    assert X.data.tolist() == np.concatenate(values).tolist()
    assert y.tolist() == [number % 2 for number in range(len(sizes))]
    assert X.data.base is None or len(X.data.base) == X.nnz  # no more memory than it takes


def test_a_source_keeps_its_own_lists() -> None:
    """What the caller does with the options that were passed changes nothing."""
    ignored = ["a"]
    source = mb.Source("a.csv", table={"ignore": ignored})
    ignored.append("b")
    assert source.table == {"ignore": ["a"]}


def test_a_frame_is_not_a_file() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match=r"files must be paths, got DataFrame: .*learner\.run\(frame, y\)"):
        mb.Source(pandas.DataFrame({"a.csv": [1]}), label="a")

"""The binary cache: the same stream, bit for bit, or a clear refusal."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from caches import TEXTS, checksum, chunk_of, learned, write_stream
from click.testing import CliRunner

import mistakebound as mb
from mistakebound._core import Chunk
from mistakebound.cli import main
from mistakebound.errors import InputError


def same(a: Chunk, b: Chunk) -> bool:
    def told(chunk: Chunk) -> list[object]:
        names = [chunk.name(k) for k in range(len(chunk.value))] if chunk.named else chunk.index.tolist()
        rows = [chunk.line(r) for r in range(len(chunk))]
        return [names, rows, chunk.indptr.tolist(), chunk.value.tolist(), chunk.labels, chunk.label_ids, chunk.bad,
                chunk.lines, chunk.width, chunk.consumed, chunk.weighted]  # fmt: skip

    return told(a) == told(b)


@pytest.mark.parametrize("kind", TEXTS)
def test_a_packed_chunk_comes_back(kind: str, tmp_path: Path) -> None:
    chunk = chunk_of(kind, tmp_path)
    packed = chunk.pack()
    assert int.from_bytes(packed[:8], "little") == checksum(packed[8:])
    assert same(Chunk.unpack(packed), chunk)


@pytest.mark.parametrize("kind", TEXTS)
def test_damage_is_refused(kind: str, tmp_path: Path) -> None:
    """Any flipped bit and any other length; and what somebody sealed again does no harm."""
    packed = chunk_of(kind, tmp_path).pack()
    rng = random.Random(5)
    for at in range(len(packed)):
        hurt = bytearray(packed)
        hurt[at] ^= 1 << rng.randrange(8)
        with pytest.raises(ValueError, match="cache"):
            Chunk.unpack(bytes(hurt))
        with pytest.raises(ValueError, match="cache"):
            Chunk.unpack(packed[:at])
    for _ in range(3000):
        hurt = bytearray(packed[8:])
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(hurt) // 8) * 8 if rng.random() < 0.7 else rng.randrange(len(hurt))
            hurt[at : at + 1] = bytes([rng.choice([0, 1, 2, 127, 255])])
        cut = rng.randrange(0, len(hurt) + 1, 8) if rng.random() < 0.2 else len(hurt)
        payload = bytes(hurt[:cut])
        try:
            chunk = Chunk.unpack(checksum(payload).to_bytes(8, "little") + payload)
        except ValueError:
            continue
        if not chunk.named and len(chunk.index) and abs(chunk.index).max() > 10**6:
            continue  # true or not, it would need much memory
        learner = mb.Perceptron(classes=(-1, 1))
        play = learner._start_with_chunk(chunk)
        signs = bytes(rng.choice([1, 255]) for _ in range(len(chunk)))
        play.engine.core.play_chunk(chunk, signs)
        assert np.isfinite(play.engine.weights()).all()


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    """A stream in svmlight of some blocks."""
    return write_stream(tmp_path / "stream.svm")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("block", [500, 1 << 20])
def test_a_run_from_the_cache_is_the_same(
    stream: Path, tmp_path: Path, threads: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mistakebound.data.blocks.BLOCK", block)
    cache = tmp_path / "cache"
    plain = learned(stream, stream, threads=threads)
    assert learned(stream, stream, threads=threads, cache=cache) == plain  # makes it
    before = cache.stat().st_mtime_ns
    monkeypatch.setattr("mistakebound.data.reader.StreamReader._parsed_chunks", None)  # nothing is parsed any more
    assert learned(stream, stream, threads=threads, cache=cache) == plain
    assert cache.stat().st_mtime_ns == before
    assert [path.name for path in tmp_path.iterdir() if "unfinished" in path.name] == []


def test_half_from_the_text_and_half_from_the_cache(stream: Path, tmp_path: Path) -> None:
    """A learner that was saved goes on from the cache as it would from the text."""
    cache = tmp_path / "cache"
    whole = mb.BalancedWinnow()
    whole.run(mb.Source([stream, stream]))
    half = mb.BalancedWinnow()
    half.run(mb.Source(stream, cache=cache))
    half.save(tmp_path / "m.mb")
    rest = mb.load(tmp_path / "m.mb")
    rest.run(mb.Source(stream, cache=cache))
    rest.save(tmp_path / "rest.mb")
    whole.save(tmp_path / "whole.mb")
    assert (tmp_path / "rest.mb").read_bytes() == (tmp_path / "whole.mb").read_bytes()


def test_bad_lines_are_reported_again_from_the_cache(stream: Path, tmp_path: Path) -> None:
    stream.write_text("1 1:x\n" + stream.read_text() + "1 1:1\n1 0:1\n")
    how = {"format": "svmlight"}
    plain = learned(stream, skip_bad=2, **how)
    assert len(plain[3]) == 2
    assert learned(stream, skip_bad=2, cache=tmp_path / "c", **how) == plain
    assert learned(stream, skip_bad=2, cache=tmp_path / "c", **how) == plain
    with pytest.raises(ValueError, match=r"stream.svm:303:3: .*\b0\b"):
        learned(stream, skip_bad=1, cache=tmp_path / "c", **how)


def test_a_cache_of_other_files_or_options_is_written_again(stream: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = learned(stream, cache=cache)
    stream.write_text("-1 3:1\n" + stream.read_text())
    assert learned(stream, cache=cache) == learned(stream) != first
    assert learned(stream, cache=cache, zero_based=True) == learned(stream, zero_based=True)
    made = cache.read_bytes()
    at = made.index(b"stream.svm")
    for place in range(at, len(made), 7):  # names, places and sums of the records, as well as what is in them
        hurt = bytearray(made)
        hurt[place] ^= 64
        cache.write_bytes(hurt)
        try:
            assert learned(stream, cache=cache, zero_based=True) == learned(stream, zero_based=True)  # made anew
        except InputError as error:
            assert (error.kind, error.file) == ("damaged cache", str(cache))  # noqa: PT017 - or it is read
    for cut in (1, 8, 40, 100):
        cache.write_bytes(made[:-cut])
        with pytest.raises(InputError) as caught:
            learned(stream, cache=cache, zero_based=True)
        assert (caught.value.kind, caught.value.file) == ("damaged cache", str(cache))


def test_what_a_dead_process_left_is_swept(stream: Path, tmp_path: Path) -> None:
    (tmp_path / f".cache.{10**30}.cache.unfinished.mb").write_bytes(b"half")
    learned(stream, cache=tmp_path / "cache")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "stream.svm"]


def test_nothing_is_left_of_a_run_that_broke_off(stream: Path, tmp_path: Path) -> None:
    stream.write_text(stream.read_text() + "broken\n")
    with pytest.raises(ValueError, match="broken"):
        learned(stream, cache=tmp_path / "cache")
    assert [path.name for path in tmp_path.iterdir()] == ["stream.svm"]


def test_files_that_cannot_be_cached_raise_an_error(stream: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        learned(tmp_path, cache=tmp_path / "c")
    assert (caught.value.kind, caught.value.file) == ("cache", str(tmp_path))
    with pytest.raises(ValueError, match="followed.*cached"):
        list(mb.Source(stream, follow=True, cache=tmp_path / "c").open())


def test_checkpoints_and_certificates_beside_a_cache(stream: Path, tmp_path: Path) -> None:
    """They need the text itself in the first pass; the others come from the cache, and all is the same."""
    results = []
    for more in ([], ["--cache"], ["--cache"]):
        certificate = tmp_path / f"c{len(results)}.json"
        command = ["run", str(stream), "--passes", "2", "--json", "--certificate", str(certificate), *more]
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0, result.output
        results.append(certificate.read_text())
    assert Path(f"{stream}.mbcache").exists()
    assert results[0] == results[1] == results[2]


def test_a_file_as_a_matrix(stream: Path) -> None:
    load = pytest.importorskip("sklearn.datasets").load_svmlight_file
    X, y = mb.Source(stream).to_csr()
    theirs, labels = load(str(stream))
    assert np.array_equal(X.indices, theirs.indices)
    assert np.array_equal(X.indptr, theirs.indptr)
    assert np.array_equal(X.data, theirs.data)
    assert np.array_equal(y, labels)
    assert X.shape == theirs.shape


def test_a_cache_that_fits_is_not_made_again(stream: Path) -> None:
    """Not even by a run that needs the text itself."""
    run = ["run", str(stream), "--cache", "--json"]
    assert CliRunner().invoke(main, run).exit_code == 0
    made = Path(f"{stream}.mbcache").stat().st_ino
    assert CliRunner().invoke(main, [*run, "--certificate", str(stream.parent / "c.json")]).exit_code == 0
    assert Path(f"{stream}.mbcache").stat().st_ino == made

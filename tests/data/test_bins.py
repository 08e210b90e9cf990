"""Numbers as categories, by the bin that they lie in."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mistakebound as mb
from mistakebound._core import parse_json_lines, parse_table


def features(number: str, bins: int) -> list[str]:
    """What a table makes of one number."""
    rows, bad, _ = parse_table(f"{number}\n".encode(), header=False, bins=bins)
    assert not bad
    (row,) = rows
    assert set(row[1].values()) == {1.0}
    return list(row[1])


def test_by_hand() -> None:
    """The end nearer to zero belongs to a bin; zero has one of its own."""
    assert features("200", 1) == ["c1=128..256"]
    assert features("128", 1) == ["c1=128..256"]
    assert features("255.999", 1) == ["c1=128..256"]
    assert features("256", 1) == ["c1=256..512"]
    assert features("200", 4) == ["c1=192..224"]
    assert features("1", 2) == ["c1=1..1.5"]
    assert features("1.5", 2) == ["c1=1.5..2"]
    assert features("0.3", 1) == ["c1=0.25..0.5"]
    assert features("-0.3", 1) == ["c1=-0.5..-0.25"]
    assert features("-128", 1) == ["c1=-256..-128"]
    assert features("0", 1) == features("-0.0", 4) == ["c1=0"]


# Next to zero there are no numbers left to be the ends.
@given(
    st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False), st.sampled_from([2**k for k in range(11)])
)
def test_a_number_lies_in_its_bin_alone(number: float, bins: int) -> None:
    """The ends are neighbours of the form 2^k(1 + i/bins), exactly, and have the number between them."""
    (name,) = features(repr(number), bins)
    text = name.removeprefix("c1=")
    if number == 0:
        assert text == "0"
        return
    near, far = (abs(float(end)) for end in (text.split("..") if number > 0 else reversed(text.split(".."))))
    assert near <= abs(number) < far
    assert all(end.startswith("-") == (number < 0) for end in text.split(".."))
    if 1e-300 < abs(number) < 1e300:
        power = Fraction(2) ** (math.frexp(near)[1] - 1)
        place = (Fraction(near) / power - 1) * bins
        assert place.denominator == 1
        assert 0 <= place < bins
        assert Fraction(far) == power * (1 + (place + 1) / bins)


def test_json_and_other_fields() -> None:
    """Of JSON also nested numbers; what is no number, or was declared, or is missing, is as it was."""
    line = b'{"label": 7, "a": {"b": 3}, "t": true, "s": "3", "n": null, "l": [5, "x"], "skip": 9}\n'
    rows, bad = parse_json_lines(line, label="label", ignore=["skip"], bins=1)
    assert not bad
    assert rows == [("7", {"a.b=2..4": 1.0, "t": 1.0, "s=3": 1.0, "l.0=4..8": 1.0, "l=x": 1.0}, 1)]
    rows, bad, _ = parse_table(
        b"y,a,b,c,d\n5,6,7,?,word\n", label="y", categorical=["b"], bins=2, interact=[("a", "d")]
    )
    assert rows == [("5", {"a=6..8": 1.0, "b=7": 1.0, "d=word": 1.0, "a=6..8*d=word": 1.0}, 2)]
    ((line, column, what),) = parse_table(b"a\ninf\n", bins=1)[1]
    assert (line, column) == (2, 1)
    assert "'inf'" in what


@pytest.mark.parametrize("bins", [-1, 3, 12, 2048])
def test_bins_are_powers_of_two(bins: int) -> None:
    with pytest.raises(ValueError, match=f"^bins .*1024.* {bins}"):
        parse_table(b"a\n1\n", bins=bins)


def test_a_source_with_bins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same however the file is cut and by how many threads; Winnow can take it; other formats refuse."""
    table, lines = tmp_path / "x.csv", tmp_path / "x.json"
    rows = [(k * k % 97 - 48, 10.0 ** (k % 9 - 4), k % 2) for k in range(500)]
    table.write_text("a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows))
    lines.write_text("".join(json.dumps({"a": a, "b": b, "label": y}) + "\n" for a, b, y in rows))
    found = []
    for block, threads in ((1 << 20, 1), (300, 2), (64, 3)):
        monkeypatch.setattr("mistakebound.data.blocks.BLOCK", block)
        for path, label in ((table, "y"), (lines, None)):
            learner = mb.Winnow(threshold=8.0, alpha=1.5)
            learner.run(mb.Source(path, label=label, table={"bins": 2}, threads=threads))
            found.append((learner.ledger_.mistakes, learner.weights_))
    assert all(each == found[0] for each in found)
    assert "b=96..128" in found[0][1]
    (tmp_path / "x.svm").write_text("1 1:5\n")
    with pytest.raises(ValueError, match="bins.*tables.*JSON"):
        mb.Perceptron().run(mb.Source(tmp_path / "x.svm", table={"bins": 2}))


def test_sizes_that_no_weight_could_fit(tmp_path: Path) -> None:
    """What is between 100 and 1000 is positive: too much for one weight, easy for bins."""
    path = tmp_path / "x.csv"
    numbers = [7.0**k for k in range(-3, 8)]
    path.write_text("v,y\n" + "".join(f"{v},{int(30 < v < 1000)}\n" for v in numbers * 30))
    raw = mb.Perceptron().run(mb.Source(path, label="y")).mistakes
    binned = mb.Perceptron().run(mb.Source(path, label="y", table={"bins": 1})).mistakes
    assert binned <= len(numbers) < 30 < raw

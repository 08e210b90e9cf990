"""The fields of a bad line: reason, feature and value, from the parsers of the core."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import mistakebound as mb
from mistakebound.data.cache import KIND

CASES: list[tuple[str, bytes, dict[str, Any], tuple[str, str | None, str | None]]] = [
    ("svmlight", b"1 7:x 8:1\n", {}, ("value", "7", "x")),
    ("svmlight", b"1 7:1e999\n", {}, ("value", "7", "1e999")),
    ("svmlight", b"spam 1:1\n", {}, ("label", None, "spam")),
    ("svmlight", b"inf 1:1\n", {}, ("label", None, "inf")),
    ("svmlight", b"2:1 3:1\n", {}, ("no label", None, "2:1")),
    ("svmlight", b"1 0:1\n", {}, ("zero index", "0", None)),
    ("svmlight", b"1 99999999999:1\n", {}, ("index", "99999999999", None)),
    ("svmlight", b"1 cat\n", {}, ("syntax", None, "cat")),
    ("vw", b"1 |a b:x| c\n", {}, ("value", "a^b", "x")),
    ("vw", b"1 | b:inf c\n", {}, ("value", "b", "inf")),
    ("vw", b"1 | \xff\n", {}, ("not utf8", None, None)),
    ("vw", b"spam | b\n", {}, ("label", None, "spam")),
    ("vw", b"1 b\n", {}, ("syntax", None, "b")),
    ("table", b"y,size\n1,inf\n0,2\n", {"label": "y"}, ("value", "size", "inf")),
    ("table", b"y,size\n1,\xff\n0,2\n", {"label": "y"}, ("not utf8", "size", None)),
    ("table", b"y,size\n1\n0,2\n", {"label": "y"}, ("fields", None, None)),
    ("json", b'{"label": 1, "a": {"b": 1e999}}\n', {}, ("value", "a.b", "1e999")),
    ("json", b'{"label": 1, "a": 1, "a": 2}\n', {}, ("repeated", "a", None)),
    ("json", b'{"label": [1]}\n', {}, ("label", None, None)),
    ("json", b'{"label": "\xff"}\n', {}, ("not utf8", None, None)),
]


@pytest.mark.parametrize(("form", "text", "options", "wanted"), CASES)
def test_a_bad_line_has_its_reason_feature_and_value(
    form: str, text: bytes, options: dict[str, Any], wanted: tuple[str, str | None, str | None], tmp_path: Path
) -> None:
    """In the list of skipped lines, in the error if none may be skipped, and again from a cache."""
    path, cache = tmp_path / "x", tmp_path / "cache"
    path.write_bytes(text)
    for _ in range(2):
        reader = mb.Source(path, format=form, skip_bad=1, cache=cache, **options).open()
        list(reader)
        (bad,) = reader.report.skipped
        assert (bad.reason, bad.feature, bad.value) == wanted
    (part,) = mb.Source(path, format=form, **options).open()
    assert part.error is not None
    assert (part.error.kind, part.error.feature, part.error.value) == ("bad line", *wanted[1:])
    again = pickle.loads(pickle.dumps(part.error))
    assert (again.feature, again.value) == wanted[1:]


@pytest.mark.parametrize(
    ("text", "option"),
    [("2:1 3:1\n", "labels"), ("1 0:1\n", "zero_based"), ("1 labels\n", None), ("1 1:zero_based\n", None)],
)
def test_advice_depends_on_the_reason_and_not_on_words_of_the_line(
    text: str, option: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "x.svm"
    path.write_text(text)
    with pytest.raises(mb.StreamError) as caught:
        mb.Perceptron(classes=(-1, 1)).run(mb.Source(path, format="svmlight"))
    assert caught.value.option == option


def test_a_cache_of_the_version_without_reasons_is_written_again(tmp_path: Path) -> None:
    path, cache = tmp_path / "x.svm", tmp_path / "cache"
    path.write_text("1 1:x\n1 1:1\n-1 2:1\n")
    source = mb.Source(path, format="svmlight", skip_bad=1, cache=cache)
    plain = mb.Perceptron().run(source).to_json()
    made = cache.read_bytes()
    cache.write_bytes(made.replace(KIND + b"4\n", KIND + b"3\n", 1))
    assert mb.Perceptron().run(source).to_json() == plain
    assert cache.read_bytes() == made

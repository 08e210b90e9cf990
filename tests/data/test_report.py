"""A Source is frozen; what was read is in the report of its reader, whose records have fields."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest

import mistakebound as mb
from mistakebound.data.frame import FrameSource
from mistakebound.data.reader import ReadReport, StreamReader
from mistakebound.data.remarks import BadLine
from mistakebound.data.source import Stream

OPTIONS = ("files", "format", "label", "labels", "positive", "table", "zero_based", "skip_bad", "threads", "follow")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two good lines, and a bad one between them."""
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n-1 2:x\n-1 2:1\n")
    return path


@pytest.mark.parametrize("name", [*OPTIONS, "cache", "skipped", "anything"])
def test_a_source_is_frozen(name: str, file: Path) -> None:
    """Setting or deleting an attribute raises, whether or not there is one of that name."""
    source = mb.Source(file, skip_bad=1)
    before = deepcopy(vars(source))
    with pytest.raises(AttributeError, match=name):
        setattr(source, name, 7)
    with pytest.raises(AttributeError, match=name):
        delattr(source, name)
    assert mb.Perceptron().run(source).rounds == 2
    assert vars(source) == before


def test_a_table_that_is_changed_later_does_not_change_a_source(file: Path) -> None:
    table = {"text": ["a"]}
    source = mb.Source(file, table=table)
    table["bins"] = 4
    assert source.table == {"text": ["a"]}


def test_another_source_has_all_other_options(file: Path) -> None:
    source = mb.Source(file, skip_bad=1, threads=3, follow=True, table={"bins": 4})
    assert vars(source.but(follow=False)) == {**vars(source), "follow": False}
    assert repr(mb.Source("a.svm", skip_bad=2)) == "Source(files=('a.svm',), skip_bad=2)"


def test_streams() -> None:
    """A Source and a DataFrame that is read as one are streams; arrays and paths are not."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"open": [1], "rows": [2], "total": [3]})
    assert isinstance(mb.Source("a.svm"), Stream)
    assert isinstance(FrameSource(frame), Stream)
    learner = mb.Perceptron()
    assert learner.stream_of(frame) is None  # its columns are no methods of a stream
    assert learner.stream_of([[1.0]]) is None


@pytest.mark.parametrize("threads", [1, 2])
def test_the_report(file: Path, threads: int) -> None:
    reader = mb.Source(file, skip_bad=1, threads=threads).open()
    assert (reader.report.bytes, reader.report.options, reader.report.skipped) == (0, None, ())
    (part,) = reader
    report = reader.report
    assert (report.bytes, report.done, report.columns, report.remarks) == (file.stat().st_size, 20, (), ())
    (line,) = report.skipped
    assert (line.file, line.line, line.column, line.in_rows) == (str(file), 2, 6, False)
    assert str(line) == f"{file}:2:6: " + "".join(map(str, line.words))
    assert report.options is part.reading
    assert report.options.format == "svmlight"
    for name in ("skipped", "remarks", "columns", "bytes", "done", "options"):
        with pytest.raises(AttributeError):
            setattr(report, name, None)
    with pytest.raises(RuntimeError, match="reader"):
        iter(reader)


def test_the_ledger_of_files_has_the_report(file: Path, tmp_path: Path) -> None:
    ledger = mb.Perceptron().run(mb.Source(file, skip_bad=1))
    assert isinstance(ledger.reading, ReadReport)
    assert [line.line for line in ledger.reading.skipped] == [2]
    assert mb.Perceptron().run([[1.0]], [1]).reading is None
    table = tmp_path / "t.csv"
    table.write_text("x,y\n1,a\n2,b\n")
    assert mb.Perceptron().run(mb.Source(table, label="y")).reading.columns == ("x", "y")


def test_remarks_have_a_kind(tmp_path: Path) -> None:
    one, empty = tmp_path / "1.vw", tmp_path / "2.vw"
    one.write_text("1 2.0 | a\n-1 | b\n")
    empty.write_text("")
    remarks = mb.Perceptron().run(mb.Source([one, empty])).reading.remarks
    assert [(each.kind, each.file) for each in remarks] == [("weights ignored", ""), ("no examples", str(empty))]
    assert str(remarks[1]).startswith(f"{empty}: ")


def test_reading_on_from_a_place_goes_on_with_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bad lines before the place count, and are listed if the earlier report is there."""
    monkeypatch.setattr("mistakebound.data.blocks.BLOCK", 8)
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\nbad\n-1 2:1\nbad\n-1 3:1\n")
    source = mb.Source(path, skip_bad=2)
    first = source.open()
    places = [part.begin for part in first]
    last = places[-1]
    assert last.skipped == 2
    second = source.open(start=last, before=first.report)
    assert sum(part.rows for part in second) == 1
    assert second.report.skipped == first.report.skipped
    alone = source.open(start=last)
    assert [part.begin for part in alone] == [last]
    assert alone.report.skipped == ()
    words = ReadReport.from_texts([str(line) for line in first.report.skipped], ["a remark"])
    assert [*map(str, words.skipped)] == [*map(str, first.report.skipped)]
    assert str(words.remarks[0]) == "a remark"


def test_a_reader_can_be_learned_from(file: Path) -> None:
    reader = mb.Source(file, skip_bad=1).open()
    assert isinstance(reader, StreamReader)
    assert mb.Perceptron().run(reader).rounds == 2


def test_bad_lines_after_the_last_round_are_not_listed(tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\nbad\n-1 2:1\n7 1:1\nbad\n")
    with pytest.raises(mb.StreamError) as caught:
        mb.Perceptron().run(mb.Source(path, skip_bad=3))
    assert [line.line for line in caught.value.ledger.reading.skipped] == [2]


def test_a_bad_line_as_an_error() -> None:
    error = BadLine(("no number",), "a.svm", 3, 7).error()
    assert (error.kind, error.file, error.line, error.column, str(error)) == (
        *("bad line", "a.svm", 3, 7),
        "a.svm:3:7: no number",
    )

"""Store the position of a run in its model file, and restore it if files and options are the same."""

from __future__ import annotations

import inspect
import json
import os
from typing import TYPE_CHECKING, Any

from mistakebound._support.schema import fields, is_list_of, need
from mistakebound.certificates.portable import TEXT_OPTIONS
from mistakebound.data.parts import START, Place
from mistakebound.data.reader import ReadReport
from mistakebound.data.source import Source
from mistakebound.errors import ResumeError
from mistakebound.models.parameters import describe_parameters
from mistakebound.runs.file_hash import hashes
from mistakebound.runs.progress import FileRead, size_of

if TYPE_CHECKING:
    from mistakebound.learners.learner import Learner
    from mistakebound.runs.progress import Position

FIELDS = ("files", "passes", "reading", "labels", "texts", "pass", "place", "rows", "skipped", "remarks", "replaced")
FILE_FIELDS = ("size", "bytes", "whole", "columns", "sha256")

FREE = ("files", "skip_bad", "threads", "cache")
"""Options that may differ between two readings of the same stream."""


def described(position: Position) -> dict[str, Any]:
    """Return a position as a JSON object."""
    number, place, rows = position.at
    source, report = position.source, position.report
    return {
        "files": list(source.files),
        "passes": position.passes,
        "reading": reading_of(source),
        "labels": position.labels_digest,
        "texts": files_read(position),
        "pass": number,
        "place": place._asdict(),
        "rows": rows,
        "skipped": [] if report is None else [str(line) for line in report.skipped],
        "remarks": [] if report is None else [str(remark) for remark in report.remarks],
        "replaced": position.replaced,
    }


def files_read(position: Position) -> list[dict[str, Any]]:
    """Return what was read of each file so far, as JSON objects."""
    return [
        {**{name: getattr(read, name) for name in FILE_FIELDS[:-1]}, "sha256": read.digest(file)}
        for file, read in zip(position.source.files, position.files_read, strict=False)
    ]


def reading_of(source: Source) -> dict[str, Any]:
    """Return the options of a source that decide which examples it gives, as a JSON object."""
    names = [name for name in inspect.signature(Source).parameters if name not in FREE]
    read: dict[str, Any] = json.loads(json.dumps({name: getattr(source, name) for name in names}, default=os.fspath))
    return read


def text_options(source: Source) -> dict[str, Any]:
    """Return the options that decide how text is parsed. A certificate stores only these."""
    read = reading_of(source)
    return {name: read[name] for name in TEXT_OPTIONS}


def restore(position: Position, stored: Any) -> None:
    """Set the position to where an earlier run stopped. Raise ModelError if its files or options differ from these."""
    files, passes, reading, labels, texts, number, place, rows, skipped, remarks, replaced = fields(stored, *FIELDS)
    source = position.source
    need(files == list(source.files), f"its run read {listed(files)}, and this run reads {listed(list(source.files))}")
    same_option("passes", passes, position.passes)
    now = reading_of(source)
    need(isinstance(reading, dict) and set(reading) == set(now), "the reading options that it stores are not valid")
    before, wanted = as_options(reading), as_options(now)
    for name in {**wanted, **before}:
        same_option(name, before.get(name), wanted.get(name))
    where = fields(place, *START._asdict())
    numbers = [number, rows, *where]
    need(is_list_of(int, numbers) and min(numbers) >= 0 and number <= passes, "its position is not valid")
    start = Place(*where)
    need(start.file < len(files), "its position is not valid: it is after the last file")
    need(is_list_of(str, skipped) and len(skipped) >= start.skipped, "its skipped lines are not valid")
    if len(skipped) > source.skip_bad:
        reason = f"its run has skipped {len(skipped)} bad lines, more than skip_bad={source.skip_bad}"
        raise ResumeError(reason, option="skip_bad", before=len(skipped), now=source.skip_bad)
    need(source.labels is None or labels is not None, f"{source.labels} cannot be read a second time")
    need(labels == position.labels_digest, f"{source.labels} has changed")
    need(is_list_of(str, remarks) and type(replaced) is bool, "its remarks are not valid")
    first_pass = number == 0
    counts = (start.file, start.file + 1) if first_pass else (len(files),)  # the current file may have no entry yet
    need(isinstance(texts, list) and len(texts) in counts, "its record of what was read is not valid")
    ends = [start.byte if first_pass and index == start.file else 0 for index in range(len(texts))]
    growing = [source.follow and index == len(files) - 1 for index in range(len(texts))]
    read = [_read_before(*each) for each in zip(files, texts, ends, growing, strict=False)]
    position.restore((number, start, rows), read, ReadReport.from_texts(skipped, remarks), replaced=replaced)


def same_option(name: str, before: Any, now: Any) -> None:
    """Raise ResumeError if the value of an option has changed."""
    if before != now:
        reason = f"its run had {name}={before!r}, and this run has {name}={now!r}"
        raise ResumeError(reason, option=name, before=before, now=now)


def as_options(reading: dict[str, Any]) -> dict[str, Any]:
    """Return reading options by name, with the options of tables among them."""
    options = dict(reading)
    table = options.pop("table")
    need(isinstance(table, dict), "the reading options that it stores are not valid")
    return {**options, **table}


def _read_before(file: str, stored: Any, byte: int, growing: bool) -> FileRead:  # noqa: FBT001 - one of a tuple
    """Return what was read of a file, up to where reading continues. Raise ModelError if the file has changed."""
    size, length, whole, columns, digest = fields(stored, *FILE_FIELDS)
    need(
        type(length) is int and type(whole) is bool and type(columns) is bool,
        "its record of what was read is not valid",
    )
    if columns:
        byte = length  # a file of columns counts as read completely
    need(length >= byte >= 0, "its record of what was read is not valid")
    need(size is not None, f"{file} cannot be read a second time; load the model to learn other examples")
    now = size_of(file)
    need(
        size == now or (growing and now is not None),
        f"{file} has changed: it had {size} bytes, and now it {'is not a file' if now is None else f'has {now}'}",
    )
    found = hashes(file, byte, length, length + 1)
    same = len(found) in ((2,) if whole else (2, 3)) and found[1].hexdigest() == digest
    need(same, f"{file} has changed: the bytes that were read have another SHA-256 now")
    return FileRead(size, length if whole else byte, whole=whole, columns=columns, sha=found[1 if whole else 0])


def same_learner(wanted: Learner, found: Learner) -> None:
    """Raise ResumeError if the stored learner differs from the one that was passed."""
    before, now = type(found).__name__, type(wanted).__name__
    if type(wanted) is not type(found):
        reason = f"its learner is {before}, not {now}"
        raise ResumeError(reason, option="learner", before=before, now=now)
    stored, old, new = describe_parameters(found), found.get_params(), wanted.get_params()
    for name, value in describe_parameters(wanted).items():
        if name not in FREE and stored[name] != value:  # encoded, because arrays cannot be compared
            reason = f"its run had {name}={old[name]!r}, and this run has {name}={new[name]!r}"
            raise ResumeError(reason, option=name, before=old[name], now=new[name])


def listed(names: Any) -> str:
    """Return names for a sentence, separated by commas."""
    return ", ".join(map(str, names)) if isinstance(names, list) else repr(names)

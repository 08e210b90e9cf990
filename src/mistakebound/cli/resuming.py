"""Where a run is, in words that its model file holds; and back, after a look at whether everything is as it was."""

from __future__ import annotations

import inspect
import json
import os
from typing import TYPE_CHECKING, Any

from mistakebound._support.schema import fields, is_list_of, need
from mistakebound.cli.journey import Text, hashes, size_of
from mistakebound.cli.reading import option
from mistakebound.data.parts import START, Place
from mistakebound.data.report import ReadReport
from mistakebound.data.source import Source
from mistakebound.models.model_file import describe_parameters

if TYPE_CHECKING:
    from mistakebound.cli.journey import Journey
    from mistakebound.learners.linear import LinearLearner

SAID = ("files", "passes", "reading", "labels", "texts", "pass", "place", "rows", "skipped", "remarks", "replaced")
SAID_OF_TEXT = ("size", "bytes", "whole", "columns", "sha256")


UNTOLD = ("files", "skip_bad", "threads", "cache")
"""What may differ between two readings of the same stream."""


def said_of(journey: Journey) -> dict[str, Any]:
    """What it takes to go on from here, in JSON."""
    number, place, rows = journey.at
    source = journey.source
    return {
        "files": list(source.files),
        "passes": journey.passes,
        "reading": reading_of(source),
        "labels": journey.labels_digest,
        "texts": said_of_texts(journey),
        "pass": number,
        "place": place._asdict(),
        "rows": rows,
        "skipped": journey.skipped,
        "remarks": journey.remarks,
        "replaced": journey.replaced,
    }


def said_of_texts(journey: Journey) -> list[dict[str, Any]]:
    """What was read of each file so far."""
    return [
        {**{name: getattr(text, name) for name in SAID_OF_TEXT[:-1]}, "sha256": text.digest(file)}
        for file, text in zip(journey.source.files, journey.texts, strict=False)
    ]


def reading_of(source: Source) -> dict[str, Any]:
    """How the lines of a source are read, in JSON. What is UNTOLD changes none."""
    names = [name for name in inspect.signature(Source).parameters if name not in UNTOLD]
    read: dict[str, Any] = json.loads(json.dumps({name: getattr(source, name) for name in names}, default=os.fspath))
    return read


TEXT_OPTIONS = ("format", "label", "positive", "table", "zero_based")
"""How text is parsed, and nothing else: all that a certificate may say of reading."""


def text_options(source: Source) -> dict[str, Any]:
    """How the text of a source is parsed, in JSON."""
    read = reading_of(source)
    return {name: read[name] for name in TEXT_OPTIONS}


def take_up(journey: Journey, said: Any) -> None:
    """Go on where another run stopped; ModelError if that was another one, or its files have changed."""
    files, passes, reading, labels, texts, number, place, rows, skipped, remarks, replaced = fields(said, *SAID)
    source = journey.source
    need(files == list(source.files), f"its files were {listed(files)}, not {listed(list(source.files))}")
    need(passes == journey.passes, f"it had --passes {passes}, not {journey.passes}")
    now = reading_of(source)
    need(isinstance(reading, dict) and set(reading) == set(now), "how it read its files is not told")
    was, wanted = as_options(reading), as_options(now)
    for name in {**wanted, **was}:
        had, has = was.get(name), wanted.get(name)
        need(had == has, f"its run had {option(name, had)}, this one has {option(name, has)}")
    where = fields(place, *START._asdict())
    numbers = [number, rows, *where]
    need(is_list_of(int, numbers) and min(numbers) >= 0 and number <= passes, "its place is not told in numbers")
    start = Place(*where)
    need(start.file < len(files), "its place is in no file")
    need(is_list_of(str, skipped) and len(skipped) >= start.skipped, "the lines that it skipped are not told")
    need(len(skipped) <= source.skip_bad, f"it skipped {len(skipped)} bad lines already: --skip-bad is too low")
    need(source.labels is None or labels is not None, f"{source.labels} cannot be read a second time")
    need(labels == journey.labels_digest, f"{source.labels} has changed")
    need(is_list_of(str, remarks) and type(replaced) is bool, "what was to be said of its files is not told")
    first_pass = number == 0
    read = (start.file, start.file + 1) if first_pass else (len(files),)  # how many files: the present one may be new
    need(isinstance(texts, list) and len(texts) in read, "what it read is not told")
    ends = [start.byte if first_pass and index == start.file else 0 for index in range(len(texts))]
    growing = [source.follow and index == len(files) - 1 for index in range(len(texts))]
    journey.texts = [_again(*each) for each in zip(files, texts, ends, growing, strict=False)]
    journey.report = ReadReport.of_words(skipped, remarks)
    journey.at, journey.replaced = (number, start, rows), replaced


def as_options(reading: dict[str, Any]) -> dict[str, Any]:
    """How files are read, by the names of options; what is said of tables is among them."""
    told = dict(reading)
    table = told.pop("table")
    need(isinstance(table, dict), "how it read its files is not told")
    return {**told, **table}


def _again(file: str, said: Any, byte: int, growing: bool) -> Text:  # noqa: FBT001 - one of a row
    """What was read of a file, if it is still there; of one that is not finished, up to where reading goes on."""
    size, length, whole, columns, digest = fields(said, *SAID_OF_TEXT)
    need(type(length) is int and type(whole) is bool and type(columns) is bool, "what it read is not told")
    if columns:
        byte = length  # where reading goes on is no byte of the file, all of which was told
    need(length >= byte >= 0, "what it read is not told")
    need(size is not None, f"{file} cannot be read a second time; --load goes on with the model on other examples")
    now = size_of(file)
    need(
        size == now or (growing and now is not None),
        f"{file} has changed: it had {size} bytes, and has {'none' if now is None else now}",
    )
    found = hashes(file, byte, length, length + 1)
    same = len(found) in ((2,) if whole else (2, 3)) and found[1].hexdigest() == digest
    need(same, f"{file} has changed: what was read of it has another SHA-256 now")
    return Text(size, length if whole else byte, whole, columns, found[1 if whole else 0])


def same_learner(wanted: LinearLearner, found: LinearLearner) -> None:
    """Refuse to go on with another learner than the one that was asked for."""
    need(type(wanted) is type(found), f"its learner is {type(found).__name__}, not {type(wanted).__name__}")
    has = describe_parameters(found)
    for name, value in describe_parameters(wanted).items():
        need(has[name] == value, f"its {name} is {has[name]!r}, not {value!r}")


def listed(names: Any) -> str:
    """Names, for a sentence."""
    return ", ".join(map(str, names)) if isinstance(names, list) else repr(names)

"""Portable certificates: JSON documents from which, with the files, the certificate can be computed again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mistakebound._support import schema
from mistakebound._support.atomic_file import replace
from mistakebound._support.schema import fields, need, parse
from mistakebound.certificates.certificate import Certificate

if TYPE_CHECKING:
    from collections.abc import Collection
    from os import PathLike

FORMAT = 2
FIELDS = (
    *("format", "learner", "parameters", "reading", "skip_bad", "passes", "stream", "labels", "ended"),
    *("skipped", "counts", "model", "certificate", "seal"),
)
COUNTS = ("rounds", "mistakes", "false_positives", "false_negatives", "updates")
CLASS_COUNTS = ("rounds", "mistakes", "first_seen", "updates")
"""The counts of two labels, and those of several classes."""
MOST_PASSES = 10_000
"""The largest number of passes in a certificate, because a replay repeats all of them."""
FILE_FIELDS = ("file", "bytes", "sha256", "whole")
TEXT_OPTIONS = ("format", "label", "positive", "table", "zero_based")
"""The options of reading that a certificate may contain: those that decide how text is parsed."""


def document(certificate: Certificate, **about: Any) -> dict[str, Any]:
    """Return a sealed document: the certificate with the facts about its run, which are the other ``FIELDS``."""
    stream = [{name: each[name] for name in FILE_FIELDS} for each in about["stream"]]
    all_fields = {"format": FORMAT, **about, "stream": stream, "certificate": json.loads(certificate.to_json())}
    ordered = {name: all_fields[name] for name in FIELDS if name != "seal"}
    return {**ordered, "seal": seal(ordered)}


def seal(document: dict[str, Any]) -> str:
    """Return the SHA-256 of all fields except the seal. It detects accidental changes; the replay detects forgery."""
    sealed = {name: value for name, value in document.items() if name != "seal"}
    return hashlib.sha256(json.dumps(sealed, sort_keys=True).encode()).hexdigest()


def write(document: dict[str, Any], path: str | PathLike[str]) -> None:
    """Write a document. The file is replaced only when all of it was written."""
    replace(Path(path).resolve(), [json.dumps(document, indent=2, allow_nan=False).encode(), b"\n"])


def read(path: str | PathLike[str], learners: Collection[str]) -> dict[str, Any]:
    """Read a document and check the form of every field. Raise ModelError, with the field, if one is not valid.

    Parameters
    ----------
    path : path
        The document.
    learners : collection of str
        The names that are valid for ``learner``.
    """
    found = parse(Path(path).read_bytes(), "the certificate")
    known = type(found.get("format")) is int and found["format"] == FORMAT
    plain = "this is the output of Certificate.to_json(), which does not name its files; " if "theorem" in found else ""
    need(known, f"{plain}verify needs a portable certificate of format {FORMAT}, which a run writes")
    fields(found, *FIELDS)
    schema.text(found["learner"], "learner", learners)
    need(isinstance(found["parameters"], dict), "parameters must be an object", field="parameters")
    _check_reading(found["reading"])
    ended = schema.flag(found["ended"], "ended")
    schema.whole(found["skip_bad"], "skip_bad")
    if ended:
        schema.whole(found["skipped"], "skipped")
    need(ended or found["skipped"] is None, "skipped must be null for a run that did not end", field="skipped")
    schema.optional(schema.sha256, found["labels"], "labels")
    for name in ("model", "seal"):
        schema.sha256(found[name], name)
    for place, text in enumerate(schema.items(found["stream"], "stream")):
        file, length, digest, whole = fields(text, *FILE_FIELDS, path=f"stream[{place}]")
        schema.text(file, "file")
        schema.whole(length, "bytes")
        schema.sha256(digest, "sha256")
        schema.flag(whole, "whole")
    counted = found["counts"]
    several = isinstance(counted, dict) and "first_seen" in counted
    names = CLASS_COUNTS if several else COUNTS
    fields(counted, *names, path="counts")
    for name in names:
        schema.whole(found["counts"][name], f"counts.{name}")
    schema.whole(found["passes"], "passes", 1, min(MOST_PASSES, max(1, found["counts"]["rounds"])))
    hindsight = Certificate.from_object(found["certificate"]).hindsight
    need(hindsight, "hindsight must be true: a run chooses its comparator afterwards", field="hindsight")
    return found


def _check_reading(reading: Any) -> None:
    """Check the options of parsing text. No other option is allowed: the user alone chooses which files are read."""
    fields(reading, *TEXT_OPTIONS, path="reading")
    schema.text(reading["format"], "reading.format")
    for name in ("label", "positive"):
        schema.optional(schema.text, reading[name], f"reading.{name}")
    need(isinstance(reading["table"], dict), "reading.table must be an object", field="reading.table")
    schema.flag(reading["zero_based"], "reading.zero_based")

"""A certificate that travels: with it goes what it takes to derive it again from the stream."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mistakebound._support import schema
from mistakebound._support.atomic_file import replace
from mistakebound._support.schema import fields, need, parse
from mistakebound.certificates.certificate import Certificate
from mistakebound.cli.resuming import TEXT_OPTIONS, said_of_texts, text_options
from mistakebound.learners.linear import KINDS
from mistakebound.models.model_file import describe_parameters, fingerprint

if TYPE_CHECKING:
    from mistakebound.cli.journey import Journey
    from mistakebound.learners.linear import LinearLearner

FORMAT = 2
SAID = (
    *("format", "learner", "parameters", "reading", "skip_bad", "passes", "stream", "labels", "ended"),
    *("skipped", "counts", "model", "certificate", "seal"),
)
COUNTS = ("rounds", "mistakes", "false_positives", "false_negatives", "updates")
MOST_PASSES = 10_000
"""So many passes may be claimed: a replay takes as many."""
TEXT = ("file", "bytes", "sha256", "whole")


def document(model: LinearLearner, certificate: Certificate, journey: Journey) -> dict[str, Any]:
    """Everything about a run that can be checked later."""
    source, ledger = journey.source, model.ledger_
    texts = zip(source.files, said_of_texts(journey), strict=False)
    said = {
        "format": FORMAT,
        "learner": type(model).__name__,
        "parameters": describe_parameters(model),
        "reading": text_options(source),
        "skip_bad": source.skip_bad,
        "passes": journey.passes,
        "stream": [{"file": file, **{name: text[name] for name in TEXT[1:]}} for file, text in texts],
        "labels": journey.labels_digest,
        "ended": journey.ended,
        "skipped": len(journey.skipped) if journey.ended else None,
        "counts": {name: getattr(ledger, name) for name in COUNTS},
        "model": fingerprint(model),
        "certificate": json.loads(certificate.to_json()),
    }
    return {**said, "seal": seal(said)}


def seal(said: dict[str, Any]) -> str:
    """SHA-256 over all that is said, but for the seal itself. It tells a slip; a forger is found out by the replay."""
    told = {name: value for name, value in said.items() if name != "seal"}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def write(said: dict[str, Any], path: str) -> None:
    """Write a document, whole or not at all."""
    replace(Path(path).resolve(), [json.dumps(said, indent=2, allow_nan=False).encode(), b"\n"])


def read(path: str) -> dict[str, Any]:
    """Read a document and check every field of it; ModelError says which one is wrong. The replay checks its truth."""
    said = parse(Path(path).read_bytes(), "the certificate")
    known = type(said.get("format")) is int and said["format"] == FORMAT
    what = "this is what Certificate.to_json() writes, which names no files" if "theorem" in said else "it is not one"
    need(known, f"{what}; verify needs a certificate of format {FORMAT}, from 'mistakebound run --certificate'")
    fields(said, *SAID)
    schema.text(said["learner"], "learner", KINDS)
    need(isinstance(said["parameters"], dict), "parameters should be an object", field="parameters")
    _check_reading(said["reading"])
    ended = schema.flag(said["ended"], "ended")
    schema.whole(said["skip_bad"], "skip_bad")
    if ended:
        schema.whole(said["skipped"], "skipped")
    need(ended or said["skipped"] is None, "skipped should be null for a run that did not end", field="skipped")
    schema.optional(schema.sha256, said["labels"], "labels")
    for name in ("model", "seal"):
        schema.sha256(said[name], name)
    for place, text in enumerate(schema.items(said["stream"], "stream")):
        file, length, digest, whole = fields(text, *TEXT, path=f"stream[{place}]")
        schema.text(file, "file")
        schema.whole(length, "bytes")
        schema.sha256(digest, "sha256")
        schema.flag(whole, "whole")
    fields(said["counts"], *COUNTS, path="counts")
    for name in COUNTS:
        schema.whole(said["counts"][name], f"counts.{name}")
    schema.whole(said["passes"], "passes", 1, min(MOST_PASSES, max(1, said["counts"]["rounds"])))
    hindsight = Certificate.from_object(said["certificate"]).hindsight
    need(hindsight, "hindsight should be true: a run chooses its comparator afterwards", field="hindsight")
    return said


def _check_reading(reading: Any) -> None:
    """How text is parsed: no key beyond that, so that no file is named but by the user."""
    fields(reading, *TEXT_OPTIONS, path="reading")
    schema.text(reading["format"], "reading.format")
    for name in ("label", "positive"):
        schema.optional(schema.text, reading[name], f"reading.{name}")
    need(isinstance(reading["table"], dict), "reading.table should be an object", field="reading.table")
    schema.flag(reading["zero_based"], "reading.zero_based")

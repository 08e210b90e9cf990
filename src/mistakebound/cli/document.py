"""A certificate that travels: with it goes what it takes to derive it again from the stream."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mistakebound.certificate import Certificate
from mistakebound.cli.resuming import TEXT_OPTIONS, said_of_texts, text_options
from mistakebound.container import fields, is_count, need, parse, replace
from mistakebound.learners import KINDS
from mistakebound.store import describe_parameters, fingerprint

if TYPE_CHECKING:
    from mistakebound.cli.journey import Journey
    from mistakebound.learners import LinearLearner

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
        "skipped": len(source.skipped) if journey.ended else None,
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
    need(known, f"it is not a certificate of format {FORMAT}: make it anew with 'mistakebound run --certificate'")
    fields(said, *SAID)
    need(isinstance(said["learner"], str) and said["learner"] in KINDS, f"learner: none of {', '.join(KINDS)}")
    need(isinstance(said["parameters"], dict), "parameters: not an object")
    _check_reading(said["reading"])
    need(type(said["ended"]) is bool, "ended: neither true nor false")
    for name in ("skip_bad", "passes", "skipped") if said["ended"] else ("skip_bad", "passes"):
        need(is_count(said[name]), f"{name}: not a count")
    need(said["ended"] or said["skipped"] is None, "skipped: must be null for a run that did not end")
    need(said["labels"] is None or is_digest(said["labels"]), "labels: not a SHA-256")
    need(is_digest(said["model"]) and is_digest(said["seal"]), "model, seal: not a SHA-256")
    need(isinstance(said["stream"], list), "stream: not a list")
    for text in said["stream"]:
        file, length, digest, whole = fields(text, *TEXT)
        sound = isinstance(file, str) and is_count(length) and is_digest(digest) and type(whole) is bool
        need(sound, "stream: a field has the wrong type")
    need(all(map(is_count, fields(said["counts"], *COUNTS))), "counts: not whole numbers")
    rounds = said["counts"]["rounds"]
    need(1 <= said["passes"] <= min(MOST_PASSES, max(1, rounds)), f"passes: not from 1 to {MOST_PASSES:,} and rounds")
    need(Certificate.from_object(said["certificate"]).hindsight, "hindsight: a run chooses its comparator afterwards")
    return said


def _check_reading(reading: Any) -> None:
    """How text is parsed: no key beyond that, so that no file is named but by the user."""
    fields(reading, *TEXT_OPTIONS)
    for name in ("label", "positive"):
        need(reading[name] is None or isinstance(reading[name], str), f"reading: {name} is not a text")
    need(isinstance(reading["format"], str), "reading: format is not a text")
    need(isinstance(reading["table"], dict), "reading: table is not an object")
    need(type(reading["zero_based"]) is bool, "reading: zero_based is neither true nor false")


def is_digest(value: Any) -> bool:
    """Whether this is a SHA-256 in hexadecimal digits."""
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")

"""A certificate that travels: with it goes what it takes to derive it again from the stream."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mistakebound.cli.resuming import reading_of, said_of_texts
from mistakebound.container import fields, is_count, is_list_of, is_number, need, parse, replace
from mistakebound.learners import KINDS
from mistakebound.store import describe_parameters, fingerprint

if TYPE_CHECKING:
    from mistakebound.certificate import Certificate
    from mistakebound.cli.journey import Journey
    from mistakebound.learners import LinearLearner

FORMAT = 1
SAID = (
    *("format", "learner", "parameters", "reading", "skip_bad", "passes", "stream", "labels", "ended"),
    *("skipped", "counts", "model", "certificate", "seal"),
)
COUNTS = ("rounds", "mistakes", "false_positives", "false_negatives", "updates")
CERTIFICATE = ("theorem", "rule", *COUNTS[:2], "updates", "bound", "status", "premises", "comparator")
TEXT = ("file", "bytes", "sha256", "whole")


def document(model: LinearLearner, certificate: Certificate, journey: Journey) -> dict[str, Any]:
    """Everything about a run that can be checked later."""
    source, ledger = journey.source, model.ledger_
    reading = reading_of(source)
    for name in ("labels", "follow"):  # where they lay does not matter, nor whether the file grew meanwhile
        reading.pop(name)
    texts = zip(source.files, said_of_texts(journey), strict=False)
    said = {
        "format": FORMAT,
        "learner": type(model).__name__,
        "parameters": describe_parameters(model),
        "reading": reading,
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
    replace(Path(path).resolve(), [json.dumps(said, ensure_ascii=False, indent=2, allow_nan=False).encode(), b"\n"])


def read(path: str) -> dict[str, Any]:
    """Read a document, as far as that everything is there and of the right kind; ModelError says what is not."""
    said = parse(Path(path).read_bytes(), "the certificate")
    need(said.get("format") == FORMAT and type(said["format"]) is int, f"it is no certificate of format {FORMAT}")
    fields(said, *SAID)
    need(isinstance(said["learner"], str) and said["learner"] in KINDS, f"its learner is none of {', '.join(KINDS)}")
    for name in ("parameters", "reading"):
        need(isinstance(said[name], dict), f"its {name} is not an object")
    need(type(said["ended"]) is bool, "whether its run ended is not told")
    for name in ("skip_bad", "passes", "skipped") if said["ended"] else ("skip_bad", "passes"):
        need(is_count(said[name]), f"its {name} is not a count")
    need(said["ended"] or said["skipped"] is None, "its skipped lines are told though it did not end")
    need(said["labels"] is None or isinstance(said["labels"], str), "the SHA-256 of its labels is no text")
    need(isinstance(said["model"], str) and isinstance(said["seal"], str), "its model and its seal are no texts")
    need(isinstance(said["stream"], list), "its stream is not a list")
    for text in said["stream"]:
        file, length, digest, whole = fields(text, *TEXT)
        sound = isinstance(file, str) and is_count(length) and isinstance(digest, str) and type(whole) is bool
        need(sound, "what it tells of a file is not sound")
    need(all(map(is_count, fields(said["counts"], *COUNTS))), "its counts are not whole numbers")
    _look_at_certificate(said["certificate"])
    return said


def _look_at_certificate(said: Any) -> None:
    theorem, rule, *counts, bound, status, premises, comparator = fields(said, *CERTIFICATE)
    need(isinstance(theorem, str) and isinstance(status, str), "its theorem and its status are no texts")
    need(isinstance(rule, dict), "its rule is not an object")
    need(all(map(is_count, counts)), "its counts are not whole numbers")
    need(bound is None or is_number(bound), "its bound is not a number")
    need(isinstance(premises, list), "its premises are not a list")
    for premise in premises:
        statement, holds, measured = fields(premise, "statement", "holds", "measured")
        sound = isinstance(statement, str) and type(holds) is bool and isinstance(measured, str)
        need(sound, "a premise is not sound")
    known = {"weights", "variables", "margin"}
    need(isinstance(comparator, dict) and set(comparator) <= known, "its comparator is not sound")
    weights = comparator.get("weights", {})
    need(isinstance(weights, dict) and all(map(is_number, weights.values())), "the weights of its comparator are not")
    need(is_list_of(str, comparator.get("variables", [])), "the variables of its comparator are no names")
    need(is_number(comparator.get("margin", 0)), "the margin of its comparator is not a number")

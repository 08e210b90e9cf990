"""Replay the stream of a portable certificate, and check every value in the certificate."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mistakebound.certificates import portable
from mistakebound.certificates.certificate import Certificate
from mistakebound.data.blocks import opened
from mistakebound.data.source import Source
from mistakebound.errors import CertificateError, ModelError, Option, OptionError
from mistakebound.learners.linear import KINDS, load
from mistakebound.models.model_file import fingerprint
from mistakebound.models.parameters import construct
from mistakebound.rules.registry import rule_class
from mistakebound.runs.file_hash import hashes
from mistakebound.runs.progress import size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from os import PathLike

    from mistakebound.learners.learner import Learner
    from mistakebound.play.ledger import Ledger

    AnyPath = str | PathLike[str]

REFUSED = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError)
"""Errors of invalid parameters, options or comparators, because a certificate may contain anything."""


@dataclass(frozen=True)
class Check:
    """One value of a certificate, compared with the value that was found.

    Attributes
    ----------
    what : str
        The name of the value.
    expected, found : object
        The value in the certificate, and the value from the files and the replay.
    agrees : bool
        Whether they are equal. Floats are compared up to rounding.
    words : str
        The result in one line.
    """

    what: str
    expected: Any
    found: Any
    agrees: bool
    words: str


@dataclass(frozen=True, repr=False)
class Verification:
    """All checks of a certificate.

    Attributes
    ----------
    checks : tuple of Check
        The checks in their order.
    certificate : Certificate
        The certificate that was checked.
    other_model : bool
        Whether the model file that was passed differs from the model that the replay learns.
    complete : Certificate or None
        A complete certificate, if the one that was checked is incomplete because the run did not keep all examples.
    """

    checks: tuple[Check, ...]
    certificate: Certificate
    other_model: bool
    complete: Certificate | None

    def __repr__(self) -> str:
        wrong = ", ".join(each.what for each in self.checks if not each.agrees)
        return f"<Verification: {len(self.checks)} checks, {f'these differ: {wrong}' if wrong else 'all agree'}>"

    @property
    def differ(self) -> int:
        """Number of checks that do not agree."""
        return sum(not each.agrees for each in self.checks)

    @property
    def agrees(self) -> bool:
        """Whether all checks agree."""
        return self.differ == 0


def verify(
    certificate: AnyPath,
    files: AnyPath | Sequence[AnyPath] | Source,
    labels: AnyPath | None = None,
    model: AnyPath | None = None,
    *,
    threads: int = 2,
    on_check: Callable[[Check], None] | None = None,
) -> Verification:
    r"""Learn the files again with a fresh learner, and compare the result with a portable certificate.

    Parameters
    ----------
    certificate : path
        The file that ``run(..., certificate=path)`` wrote.
    files : path, sequence of paths or Source
        The same files in the same order; - is standard input. Of a Source, only its files and ``labels`` are used: the
        other options are in the certificate.
    labels : path
        The file of labels, if there was one.
    model : path
        A model file to compare with the model that the replay learns.
    threads : int
        Number of threads that parse ahead.
    on_check : callable
        Called with each check as soon as it is made.

    Examples
    --------
    >>> import mistakebound as mb, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> source = mb.Source(folder / "a.svm")
    >>> _ = (folder / "a.svm").write_text("1 1:1\n-1 2:1\n" * 10)
    >>> _ = mb.runs.run(source, mb.Perceptron(), certificate=folder / "c.json")
    >>> mb.runs.verify(folder / "c.json", source).agrees
    True
    >>> _ = (folder / "a.svm").write_text("1 1:1\n-1 2:2\n" * 10)
    >>> found = mb.runs.verify(folder / "c.json", source)
    >>> found.agrees, next(check.words for check in found.checks if not check.agrees)
    (False, 'the SHA-256 of its 130 bytes differs')
    """
    if isinstance(files, Source):
        labels = files.labels if labels is None else labels
        files = files.files
    names = [files] if isinstance(files, str | os.PathLike) else files
    try:
        document = portable.read(certificate, KINDS)
    except ModelError as error:
        path = os.fspath(certificate)
        message = f"{path} cannot be verified: {error}"
        raise CertificateError(message, path=path, field=error.field) from None
    with ExitStack() as stack:
        readable = [stack.enter_context(readable_twice(os.fspath(file))) for file in names]
        label_file = None if labels is None else stack.enter_context(readable_twice(os.fspath(labels)))
        checker = Checker(document, readable, label_file, threads, on_check)
        checker.check([os.fspath(name) for name in names], None if model is None else os.fspath(model))
    found = Certificate.from_object(document["certificate"])
    return Verification(tuple(checker.checks), found, checker.other_model, checker.complete)


@contextmanager
def readable_twice(file: str) -> Iterator[str]:
    """Yield the path of a file that can be read twice. Standard input and pipes are copied to one."""
    if size_of(file) is not None:
        yield file
        return
    with tempfile.NamedTemporaryFile() as copy, ExitStack() as closing:
        pipe = sys.stdin.buffer if file == "-" else closing.enter_context(open(file, "rb"))
        shutil.copyfileobj(pipe, copy)
        copy.flush()
        yield copy.name


@contextmanager
def beginning(file: str, size: int) -> Iterator[str]:
    """Yield the path of a copy of the first bytes of a file's text. The certificate does not cover the rest."""
    with tempfile.NamedTemporaryFile() as copy, opened(file) as text:
        for block, _ in text.blocks:
            copy.write(bytes(block[:size]))
            size -= min(size, len(block))
            if not size:
                break
        copy.flush()
        yield copy.name


def same(expected: Any, found: Any) -> bool:
    """Return whether two JSON values are equal. Floats are compared up to rounding."""
    if type(expected) is float and type(found) is float:
        return math.isclose(expected, found, rel_tol=1e-9)
    return json.dumps(expected, sort_keys=True) == json.dumps(found, sort_keys=True)


def brief(value: Any) -> str:
    """Return a JSON value in one short line."""
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value
    return text if len(text) <= 70 else f"{text[:67]}..."


class Checker:
    """Checks one portable certificate."""

    def __init__(
        self,
        document: dict[str, Any],
        files: list[str],
        labels: str | None,
        threads: int,
        on_check: Callable[[Check], None] | None,
    ) -> None:
        self.document, self.files, self.labels, self.threads, self.on_check = document, files, labels, threads, on_check
        self.checks: list[Check] = []
        self.other_model = False
        self.complete: Certificate | None = None

    def compare(self, what: str, expected: Any, found: Any) -> None:
        """Check that two JSON values are equal."""
        agrees = same(expected, found)
        words = brief(expected) if agrees else f"certificate {brief(expected)}, found {brief(found)}"
        self.add(Check(what, expected, found, agrees, words))

    def add(self, check: Check) -> None:
        """Add a check, and call ``on_check`` with it."""
        self.checks.append(check)
        if self.on_check is not None:
            self.on_check(check)

    def check(self, names: list[str], model: str | None) -> None:
        """Make all checks. ``names`` are the files as the caller named them."""
        document = self.document
        sealed = portable.seal(document)
        intact = document["seal"] == sealed
        words = "unchanged since it was written" if intact else "changed since it was written"
        self.add(Check("seal", document["seal"], sealed, intact, words))
        self.check_files(names)
        try:
            learner, stream, skipped = self.replay()
            ledger = learner.ledger_
        except REFUSED as error:
            self.add(Check("replay", None, str(error), False, f"it failed: {error}"))
            return
        for name in {**document["counts"], **ledger.totals}:
            self.compare(name.replace("_", " "), document["counts"].get(name), ledger.totals.get(name))
        if document["ended"]:
            self.compare("skipped lines", document["skipped"], skipped)
        learned = fingerprint(learner)
        self.compare("model", document["model"], learned)
        if model is not None:
            given = fingerprint(load(model))
            self.other_model = given != learned
            words = "not the model that the replay learned" if self.other_model else "the model that the replay learned"
            self.add(Check(model, learned, given, not self.other_model, words))
        if self.check_certificate(ledger, stream) == "incomplete":
            self.complete = learner.certify(X=self.source(self.files))

    def check_files(self, names: list[str]) -> None:
        """Check the number, the sizes and the SHA-256 of the files."""
        stream, given = self.document["stream"], len(self.files)
        wanted = len(stream)
        short = given < wanted or (self.document["ended"] and given > wanted)
        self.add(
            Check("files", wanted, given, not short, f"certificate {wanted}, given {given}" if short else str(given))
        )
        for name, file, read in zip(names, self.files, stream, strict=False):
            found = hashes(file, read["bytes"], read["bytes"] + 1)
            length = f"{read['bytes']:,} bytes"
            wrong = ""
            if not found:
                wrong = f"it is shorter than {length}"
            elif read["whole"] and len(found) > 1:
                wrong = f"it is longer than {length}"
            elif found[0].hexdigest() != read["sha256"]:
                wrong = f"the SHA-256 of its {length} differs"
            given_name, stored_name = Path(name).name or "stream", Path(read["file"]).name
            words = wrong or f"{length}, SHA-256 {read['sha256'][:16]}..."
            named = "" if given_name == stored_name else f" ({stored_name} in the certificate)"
            digest = found[0].hexdigest() if found else None
            self.add(Check(given_name, read["sha256"], digest, not wrong, words + named))
        self.check_labels(self.document["labels"])

    def check_labels(self, expected: str | None) -> None:
        """Check the file of labels, if there was one."""
        if expected is None and self.labels is None:
            return
        if expected is None or self.labels is None:
            had = "no file of labels" if expected is None else "a file of labels"
            reason = f" {'must not' if expected is None else 'must'} be set, because the run had {had}"
            raise OptionError(Option("labels", "labels"), reason)
        self.compare("labels", expected, hashes(self.labels)[0].hexdigest())

    def source(self, files: list[str]) -> Source:
        """Return the files with the reading options of the certificate."""
        stored = self.document
        return Source(files, labels=self.labels, skip_bad=stored["skip_bad"], threads=self.threads, **stored["reading"])

    def replay(self) -> tuple[Learner, Ledger, int]:
        """Learn the stream with a fresh learner. Return it, the ledger of all examples, and the skipped lines."""
        from mistakebound.learners.replay import record, recorded, replay_files  # noqa: PLC0415

        stored = self.document
        learner = construct(KINDS[stored["learner"]], stored["parameters"])
        if stored["certificate"]["scope"] == "whole stream" and rule_class(learner.rule_id).keeps_examples:
            record(learner)
        with ExitStack() as copies:
            files = self.files
            if not stored["ended"]:
                pairs = zip(files, stored["stream"], strict=False)
                files = [copies.enter_context(beginning(file, read["bytes"])) for file, read in pairs]
            source = self.source(files)
            # One round more than the certificate has shows that the stream is longer.
            rounds = stored["counts"]["rounds"] + stored["ended"]
            report = replay_files(learner, source.open, rounds, passes=stored["passes"])
        return learner, recorded(learner), len(report.skipped) if report else 0

    def check_certificate(self, ledger: Ledger, stream: Ledger) -> str:
        """Check the theorem with its comparator on the rounds of the replay. Return the status that was found."""
        import numpy as np  # noqa: PLC0415 - not needed for a file that is rejected

        from mistakebound.certificates.certify import recheck  # noqa: PLC0415
        from mistakebound.theorems.evidence import WHOLE_STREAM, Evidence  # noqa: PLC0415

        stored = self.document["certificate"]
        expected = Certificate.from_object(stored)
        try:
            of_stream = stream if expected.scope == WHOLE_STREAM else None
            # A rule that keeps no examples has counted all that its theorems need.
            evidence = Evidence.of(ledger, of_stream) if ledger.rule.keeps_examples else ledger
            with np.errstate(all="ignore"):  # the weights of a forged comparator may overflow
                checked = recheck(evidence, expected)
            found = json.loads(checked.to_json())
        except REFUSED as error:
            self.add(Check("certificate", None, str(error), False, str(error)))
            return ""
        for name, value in found.items():
            empty = value in ("", None) and stored[name] == value
            if name not in ("premises", "comparator") and not empty:
                self.compare(name if name in ("theorem", "bound", "status") else f"its {name}", stored[name], value)
        for name in {**stored["comparator"], **found["comparator"]}:
            self.compare(f"comparator: {name}", stored["comparator"].get(name), found["comparator"].get(name))
        self.compare("premises", len(stored["premises"]), len(found["premises"]))
        for claimed, premise in zip(stored["premises"], found["premises"], strict=False):
            words = in_words(premise)
            agrees = claimed == premise
            self.add(
                Check(
                    "premise",
                    claimed,
                    premise,
                    agrees,
                    words if agrees else f"certificate {in_words(claimed)}, found {words}",
                )
            )
        return checked.status


def in_words(premise: dict[str, Any]) -> str:
    """Return a premise in one line."""
    measured = f" ({premise['measured']})" if premise["measured"] else ""
    return f"{'✓' if premise['holds'] else '✗'} {premise['statement']}{measured}"

"""Several learners on the same stream, in one reading of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mistakebound._support.signals import uninterrupted
from mistakebound.data.first_labels import both_labels_first
from mistakebound.errors import StreamError
from mistakebound.learners.linear import KINDS
from mistakebound.rules.registry import DECLARATIONS, Declaration
from mistakebound.runs.curve import Curve
from mistakebound.runs.runner import certified
from mistakebound.runs.tally import running_bound

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mistakebound.certificates.certificate import Certificate
    from mistakebound.data.parts import Part
    from mistakebound.data.source import Source
    from mistakebound.learners.linear import LinearLearner

VARIANTS: tuple[tuple[Declaration, dict[str, float]], ...] = tuple(
    (declared, {**declared.defaults, **parameters})
    for declared in DECLARATIONS.values()
    for parameters in declared.variants
)
"""What is compared by default."""


class Contender:
    """One learner at work, until something comes that it cannot take."""

    def __init__(self, learner: LinearLearner) -> None:
        self.learner = learner
        self.curve = Curve()
        self.seconds, self.positives = 0.0, 0
        self.error: ValueError | None = None
        """Why it cannot take this stream."""
        self.certificate: Certificate | None = None

    @property
    def bound(self) -> float | None:
        """What a theorem allows: by the certificate, or as far as it is known without a search."""
        if self.certificate is not None:
            return self.certificate.bound if self.certificate.status in ("holds", "vacuous") else None
        ledger, known = self.learner.ledger_, running_bound(self.learner, None)
        return None if known is None else known(ledger, ledger.false_negatives)

    @property
    def majority(self) -> tuple[Any, int]:
        """The more frequent label, and how many mistakes it would be to predict it always."""
        negative, positive = self.learner.ledger_.classes
        negatives = self.curve.rounds - self.positives
        return (positive if self.positives >= negatives else negative), min(self.positives, negatives)

    def learn(self, part: Part) -> None:
        """Predict, then learn, the rows of a part."""
        if self.error is not None:
            return
        start = time.perf_counter()
        try:
            ledger, wrong = self.learner.run_part(part)
            self.curve.add(ledger)
            self.positives += ledger.said_positive - ledger.false_positives + ledger.false_negatives
            if wrong:
                self.error = StreamError(wrong)
        except ValueError as error:
            self.error = error
        self.seconds += time.perf_counter() - start


@dataclass(frozen=True)
class Comparison:
    """What each learner did.

    Attributes
    ----------
    ranked : tuple of Contender
        Those that could take the whole stream, fewest mistakes first.
    refused : tuple of Contender
        The others, each with its error.
    seconds : float
        For reading and learning.
    bytes : int
        Read.
    skipped, remarks : tuple of str
        Bad lines that were skipped, and what should be known of the files and the certificates.
    stopped : Exception, KeyboardInterrupt or None
        What ended the comparison before the end of the files.
    """

    ranked: tuple[Contender, ...]
    refused: tuple[Contender, ...]
    seconds: float
    bytes: int
    skipped: tuple[str, ...]
    remarks: tuple[str, ...]
    stopped: ValueError | KeyboardInterrupt | None


def compare(
    source: Source,
    learners: Sequence[LinearLearner] | None = None,
    *,
    classes: Sequence[Any] | None = None,
    certify: bool = False,
) -> Comparison:
    """Let several learners predict and learn the same examples, which are read once, and rank them by mistakes.

    Parameters
    ----------
    source : Source
        The files.
    learners : sequence of LinearLearner
        Fresh learners. By default one of each kind and more, with Winnow's threshold set to four times the most
        features of the first hundred examples.
    classes : sequence of two labels
        (negative, positive) of the default learners; otherwise the greater label is the positive one.
    certify : bool
        Whether to certify each learner.
    """
    start = time.perf_counter()
    contenders = [] if learners is None else [Contender(each) for each in learners]

    def begin(part: Part) -> None:
        contenders.extend(Contender(each) for each in default_learners(part, classes, keep=certify))

    stopped = learn_all(source, contenders, begin if learners is None else None, settled=classes is not None)
    seconds = time.perf_counter() - start
    taken = [each for each in contenders if each.error is None]
    ranked = sorted(taken, key=lambda each: each.curve.mistakes)
    remarks = dict.fromkeys(source.remarks)
    with_theorem = [each for each in ranked if DECLARATIONS[each.learner.rule_id].has_theorem]
    for each in with_theorem if certify else ():
        each.certificate, reason = certified(each.learner, source)
        if reason:
            remarks[reason] = None
    refused = tuple(each for each in contenders if each.error is not None)
    return Comparison(tuple(ranked), refused, seconds, source.bytes, tuple(source.skipped), tuple(remarks), stopped)


def default_learners(part: Part, classes: Sequence[Any] | None, *, keep: bool) -> list[LinearLearner]:
    """The ``VARIANTS``; their mistaken examples are kept if they are to be certified."""
    made = []
    for declared, parameters in VARIANTS:
        own = {"threshold": threshold(part)} if "threshold" in declared.options else {}
        kept = {} if keep else {"keep_bytes": 0}
        make: Any = KINDS[declared.learner]
        made.append(make(classes=classes, **parameters, **own, **kept))
    return made


def learn_all(
    source: Source, contenders: list[Contender], begin: Callable[[Part], None] | None, *, settled: bool
) -> ValueError | KeyboardInterrupt | None:
    """Read the source once, for all; return what ended it before its end, if anything did.

    ``begin`` is called with the first part that has rows, to make the contenders. ``settled``: the labels are known.
    """
    try:
        for part in source.parts() if settled else both_labels_first(source.parts()):
            if begin is not None and part.rows and not contenders:
                begin(part)
            with uninterrupted:  # all have seen the same rounds, also after Ctrl-C
                for each in contenders:
                    each.learn(part._replace(error=""))
            if part.error:
                return StreamError(part.error)
            errors = [each.error for each in contenders]
            if errors and all(errors):  # then the stream is to blame
                return errors[0]
    except (KeyboardInterrupt, ValueError) as reason:
        return reason
    return None


def threshold(part: Part) -> float:
    """Winnow's threshold for a vocabulary that grows: 4σ, with at most σ features active at once."""
    ends = part.chunk.indptr[:101].tolist()
    return 4.0 * max(1.0, *(float(end - begin) for begin, end in pairwise([0, *ends])))

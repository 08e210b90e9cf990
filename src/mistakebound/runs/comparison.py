"""Run several learners on the same stream, which is read once, and rank them by mistakes."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from mistakebound._support.signals import uninterrupted
from mistakebound._support.text import many
from mistakebound.data.remarks import Remark
from mistakebound.data.source import Source, not_a_source
from mistakebound.errors import as_stream_error
from mistakebound.learners.learner import Learner
from mistakebound.learners.linear import KINDS, not_a_learner
from mistakebound.learners.panel import Panel
from mistakebound.learners.stream_loop import steps
from mistakebound.learners.streams import check_positive
from mistakebound.rules.registry import DECLARATIONS, Declaration
from mistakebound.runs.curve import Curve
from mistakebound.runs.rule_words import in_words
from mistakebound.runs.runner import certified

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from mistakebound._support.arrays import AnyArray, FloatArray
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.data.parts import Part
    from mistakebound.data.reader import ReadReport
    from mistakebound.data.remarks import BadLine
    from mistakebound.errors import InputError
    from mistakebound.play.class_ledger import ClassLedger

VARIANTS: tuple[tuple[Declaration, dict[str, float]], ...] = tuple(
    (declared, {**declared.defaults, **parameters})
    for declared in DECLARATIONS.values()
    for parameters in declared.variants
)
"""Rules and parameters that are compared by default."""


MOST_DRAWN = 12
"""Learners in a picture at most; its legend has no room for more."""
WEIGHTS_OF_SOME = "the weights of the lines are only used by learners that take weights"


class Contender:
    """One learner of a comparison. It learns until the first row that it cannot learn.

    Attributes
    ----------
    learner : Learner
        The learner. Its counts are in ``learner.ledger_``.
    curve : Curve
        Mistakes against rounds.
    seconds : float
        Time for learning, without reading.
    positives : int
        Examples with the positive label.
    error : InputError or None
        Why the learner cannot learn this stream.
    certificate : Certificate or None
        The certificate, if ``certify`` was set.
    """

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self.curve = Curve()
        self.seconds, self.positives = 0.0, 0
        self.error: InputError | None = None
        self.certificate: Certificate | None = None

    def __repr__(self) -> str:
        counts = f"{many(self.curve.mistakes, 'mistake')} in {many(self.curve.rounds, 'round')}"
        return f"<Contender: {counts}; {self.learner!r}{'' if self.error is None else f'; {self.error}'}>"

    @property
    def name(self) -> str:
        """The rule with its parameters."""
        return in_words(self.learner.ledger_.rule)

    @property
    def bound(self) -> float | None:
        """The bound of the certificate, or a bound that needs no search for a comparator; None if there is neither."""
        if self.certificate is not None:
            return self.certificate.bound if self.certificate.status in ("holds", "vacuous") else None
        ledger, known = self.learner.ledger_, self.learner.known_bound(None)
        return (
            None
            if known is None or ledger.mixing is not None
            else known(ledger, 0 if ledger.several else ledger.false_negatives)
        )

    @property
    def majority(self) -> tuple[Any, int]:
        """The more frequent label, and the number of mistakes of predicting it in every round."""
        ledger = self.learner.ledger_
        if ledger.several:
            label, count = cast("ClassLedger", ledger).most_frequent()
            return label, self.curve.rounds - count
        negative, positive = ledger.classes
        negatives = self.curve.rounds - self.positives
        return (positive if self.positives >= negatives else negative), min(self.positives, negatives)

    @property
    def worse_than_majority(self) -> bool:
        """Whether predicting the more frequent label in every round makes fewer mistakes."""
        return self.curve.mistakes > self.majority[1]

    def learn(self, part: Part, first: int, last: int, y: AnyArray | None) -> None:
        """Predict, then learn, rows of a part."""
        if self.error is not None:
            return
        start = time.perf_counter()
        try:
            while self.error is None and first < last:  # a learner may learn fewer rows at once
                ledger, self.error = self.learner.run_part(part._replace(error=None), first, last, y)
                first += ledger.rounds
                self.curve.add(ledger)
                if not ledger.several:
                    self.positives += ledger.positive_labels
        except ValueError as error:
            self.error = as_stream_error(error, None)
        self.seconds += time.perf_counter() - start


class Rows(NamedTuple):
    """The number of rows that were learned in one step."""

    rounds: int


class Contenders:
    """All learners of a comparison. Each row is read once and learned by all of them.

    Parameters
    ----------
    learners : sequence of Learner or None
        The learners; None for the ``VARIANTS``, which are made from the first rows.
    classes : sequence of two labels or None
        The labels of the variants.
    keep : bool
        Whether the variants keep their mistaken examples, which a certificate needs.
    """

    def __init__(self, learners: Sequence[Learner] | None, classes: Sequence[Any] | None, *, keep: bool) -> None:
        self.each = [] if learners is None else [Contender(each) for each in learners]
        self.classes, self.keep, self.by_default = classes, keep, learners is None
        self.weighted = self.signed = self.only_signs = False
        """Whether a row had a weight, whether a value was negative, and whether all values were ±1."""

    @property
    def labels_settled(self) -> bool:
        """Whether both labels are known."""
        return self.classes is not None

    def run_part(
        self,
        part: Part,
        first: int = 0,
        last: int | None = None,
        y: AnyArray | None = None,
        *,
        scores: bool = False,  # noqa: ARG002 - a comparison writes none
        weights: FloatArray | None = None,  # noqa: ARG002 - they are in the files
    ) -> tuple[Rows, InputError | None]:
        """Learn rows of a part with all learners. Return their number, and the error of the next row, or None."""
        if part.rows and not self.each:
            self.each = [Contender(each) for each in default_learners(part, self.classes, keep=self.keep)]
            self.only_signs = True
        if self.by_default:
            self._look(part)
        rows = part.rows if last is None else min(last, part.rows)
        self.weighted = self.weighted or part.chunk.weighted
        for each in self.each:
            each.learn(part, first, rows, y)
        error = part.error
        if error is None and self.each and all(each.error or self.is_alone(each) for each in self.each):
            error = self.each[0].error  # the fault is in the stream
        return Rows(rows - first), error

    def _look(self, part: Part) -> None:
        values = part.chunk.value
        self.signed = self.signed or bool((values < 0).any())
        self.only_signs = self.only_signs and bool((abs(values) == 1).all())

    def is_alone(self, contender: Contender, most: int = 1) -> bool:
        """Return whether this is a default multiclass Perceptron that saw at most so many labels."""
        if not self.by_default or contender.learner.rule_id != "multiclass-perceptron":
            return False
        return len(cast("ClassLedger", contender.learner.ledger_).seen) <= most

    def left_out(self, contender: Contender) -> bool:
        """Return whether a default learner does not suit this stream, so that it is not ranked.

        This is the multiclass Perceptron, unless there are more than two labels. It is also normalized Winnow, whose
        weights cannot be negative. It suits values that are votes, 1 and −1, and is left out if it is worse than
        always predicting the more frequent label.
        """
        if self.is_alone(contender, most=2):
            return True
        if not self.by_default or contender.learner.rule_id != "normalized-winnow":
            return False
        votes = self.signed and self.only_signs
        return not votes or contender.worse_than_majority


@dataclass(frozen=True, repr=False)
class Comparison:
    """The result of a comparison.

    Attributes
    ----------
    ranked : tuple of Contender
        The learners that learned the whole stream, fewest mistakes first.
    refused : tuple of Contender
        The learners that could not learn it, each with its error.
    left_out : tuple of Contender
        Default learners that do not suit this stream: the multiclass Perceptron, unless there are more than two labels;
        normalized Winnow, unless the values are votes (1 and −1) and it
        is not worse than always predicting the more frequent label.
    seconds : float
        Time spent on reading and learning.
    bytes : int
        Bytes of text read.
    skipped, remarks : tuple
        Bad lines that were skipped, and notes on the files and the certificates.
    stopped : Exception, KeyboardInterrupt or None
        The error that ended the comparison before the end of the files.
    source : Source
        The files.
    report : ReadReport
        The report on reading them.
    """

    ranked: tuple[Contender, ...]
    refused: tuple[Contender, ...]
    left_out: tuple[Contender, ...]
    seconds: float
    bytes: int
    skipped: tuple[BadLine, ...]
    remarks: tuple[Remark, ...]
    stopped: ValueError | KeyboardInterrupt | None
    source: Source
    report: ReadReport

    def __repr__(self) -> str:
        best = f"fewest mistakes: {self.ranked[0]!r}" if self.ranked else "no learner could learn the whole stream"
        end = "" if self.stopped is None else f"; stopped: {self.stopped or type(self.stopped).__name__}"
        return f"<Comparison: {len(self.ranked)} ranked, {len(self.refused)} refused; {best}{end}>"

    def plot(self, most: int = MOST_DRAWN, *, dark: bool = False) -> Any:
        """Draw the mistakes of the best learners against rounds; return a matplotlib figure."""
        from mistakebound.viz.plot import curves  # noqa: PLC0415 - it needs matplotlib

        return curves({each.name: each.curve.to_now() for each in self.ranked[:most]}, dark=dark)

    def write_report(self, path: str | PathLike[str], *, stopped: str | None = None, command: str = "") -> None:
        """Write an HTML page about the comparison, which loads nothing.

        Parameters
        ----------
        path : path
            The HTML file.
        stopped : str, optional
            The text for the error that ended the comparison early; by default its ``str``.
        command : str, optional
            The command that makes the page again.
        """
        from mistakebound.runs.comparison_report import write_report  # noqa: PLC0415 - seldom needed

        write_report(self, path, stopped=stopped, command=command)


def compare(
    source: Source,
    learners: Sequence[Learner] | None = None,
    *,
    classes: Sequence[Any] | None = None,
    certify: bool = False,
) -> Comparison:
    r"""Run several learners on the same examples, which are read once, and rank them by mistakes.

    Parameters
    ----------
    source : Source
        The files.
    learners : sequence of Learner
        Fresh learners. By default the variants of each rule in the registry; Winnow's threshold is then four times
        the largest number of features of the first hundred examples.
    classes : sequence of two labels
        (negative, positive) for the default learners. By default, the greater label is positive.
    certify : bool
        Whether to certify each learner.

    Examples
    --------
    >>> import mistakebound as mb, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.svm"
    >>> _ = file.write_text("1 1:1 3:0.5\n-1 2:1\n" * 10)
    >>> found = mb.runs.compare(mb.Source(file), [mb.Perceptron(), mb.Arow(), mb.Winnow(threshold=2)])
    >>> [(each.learner, each.learner.ledger_.mistakes) for each in found.ranked]
    [(Perceptron(), 1), (Arow(), 1)]
    >>> [each.error.feature for each in found.refused]
    ['3']
    """
    if not isinstance(source, Source):
        raise not_a_source(source)
    for learner in learners or ():
        if not isinstance(learner, Learner):
            raise not_a_learner(learner)
    for learner in learners or [Panel(classes=classes)]:
        check_positive(learner, source.positive)
    start = time.perf_counter()
    contenders = Contenders(learners, classes, keep=certify)
    reader, stopped = source.open(warn=False), None
    reader.weights_used = True
    try:
        with nullcontext() if uninterrupted.is_listening else uninterrupted.listening():
            for _ in steps(contenders, reader, guard=uninterrupted):  # Ctrl-C waits, so that all learn the same rounds
                pass
    except (KeyboardInterrupt, ValueError) as reason:
        stopped = reason
    seconds = time.perf_counter() - start
    learned = [each for each in contenders.each if each.error is None]
    left_out = tuple(each for each in learned if contenders.left_out(each))
    ranked = sorted((each for each in learned if each not in left_out), key=lambda each: each.curve.mistakes)
    report = reader.report
    remarks = dict.fromkeys(report.remarks)
    if contenders.weighted and not all(each.learner.takes_weights for each in contenders.each):
        remarks[Remark("weights", (WEIGHTS_OF_SOME,))] = None
    with_theorem = [each for each in ranked if DECLARATIONS[each.learner.rule_id].has_theorem]
    for each in with_theorem if certify else ():
        each.certificate, why = certified(each.learner, source)
        if why:
            remarks[Remark("certificate", (why,))] = None
    refused = tuple(each for each in contenders.each if each.error is not None)
    return Comparison(
        ranked=tuple(ranked),
        refused=refused,
        left_out=left_out,
        seconds=seconds,
        bytes=report.bytes,
        skipped=report.skipped,
        remarks=tuple(remarks),
        stopped=stopped,
        source=source,
        report=report,
    )


def default_learners(part: Part, classes: Sequence[Any] | None, *, keep: bool) -> list[Learner]:
    """Return the ``VARIANTS`` as learners. ``keep`` is whether they keep their mistaken examples for a certificate."""
    made = []
    for declared, parameters in VARIANTS:
        derived = {"threshold": threshold(part)} if "threshold" in declared.options else {}
        kept = {} if keep else {"keep_bytes": 0}
        make: Any = KINDS[declared.learner]
        made.append(make(classes=classes, **parameters, **derived, **kept))
    return made


def threshold(part: Part) -> float:
    """Return 4σ as the threshold of Winnow, where σ is the largest number of features of the first 100 examples."""
    ends = part.chunk.indptr[:101].tolist()
    return 4.0 * max(1.0, *(float(end - begin) for begin, end in pairwise([0, *ends])))

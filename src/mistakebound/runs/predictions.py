"""Write predictions as lines of text: those of a run, made before learning, and those of a model for new files."""

from __future__ import annotations

import os
from contextlib import contextmanager
from csv import writer
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mistakebound._support.lazy import np
from mistakebound._support.text import escaped
from mistakebound.data.source import Source, not_a_source
from mistakebound.errors import Option, OptionError, add_file_name
from mistakebound.learners.learner import Learner
from mistakebound.learners.linear import not_a_learner
from mistakebound.learners.sklearn import more_likely
from mistakebound.learners.sklearn import probabilities as probabilities_of_scores
from mistakebound.rules.panel_members import EVEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from os import PathLike
    from typing import IO

    from mistakebound._support.arrays import AnyArray, FloatArray
    from mistakebound.data.reader import ReadReport
    from mistakebound.data.remarks import Remark
    from mistakebound.learners.multilabel import MultilabelPanel
    from mistakebound.learners.prediction import PredictedPart
    from mistakebound.play.ledger import Ledger


def label_lines(labels: Iterable[Any]) -> Iterator[str]:
    r"""Yield labels as lines of a file. Control characters, such as a newline, are escaped.

    >>> list(label_lines(["spam", 1, "a\nb"]))
    ['spam', '1', 'a\\nb']
    """
    known: dict[Any, str] = {}  # usually there are only two labels
    for label in labels:
        if label not in known:
            known[label] = "" if label is None else escaped(label)  # None: there is no prediction
        yield known[label]


def number_lines(numbers: FloatArray) -> Iterator[str]:
    """Yield numbers as text, with six digits."""
    return (f"{number:.6g}" for number in numbers.tolist())


def confidence_lines(labels: AnyArray, probabilities: FloatArray) -> Iterator[str]:
    """Yield the probability of each predicted label; empty before the first label, when there is no prediction."""
    pairs = zip(labels.tolist(), probabilities.tolist(), strict=True)
    return ("" if label is None else f"{p:.6g}" for label, p in pairs)


def in_tabs(*columns: Iterable[str]) -> Iterator[str]:
    """Yield a line for each row, with a tab between its cells."""
    return ("\t".join(row) + "\n" for row in zip(*columns, strict=True))


class PredictionsFile:
    """A file or an open stream that the predictions of a run are written to, part by part."""

    def __init__(self, file: IO[str], *, named: bool) -> None:
        self.file, self.named = file, named

    def write(self, part: Ledger) -> None:
        """Write the predictions of a part."""
        if part.several:
            self._write_classes(part)
            return
        rule, scores = part.rule, np.zeros(part.rounds) if part.scores is None else part.scores
        with add_file_name(getattr(self.file, "name", "predictions")):
            labels = part.predictions.astype(object)
            labels[rule.abstains(scores)] = None
            columns = [label_lines(labels.tolist()), number_lines(scores)]
            if rule.log_odds:
                found = probabilities_of_scores(scores, more_likely(rule, scores, part.positive))
                columns.insert(1, number_lines(found[:, 1]))
            self.file.writelines(in_tabs(*columns))
            self.file.flush()

    def _write_classes(self, part: Ledger) -> None:
        """Write the predicted label of each round, and its probability."""
        confidences = np.full(part.rounds, np.nan) if part.scores is None else part.scores
        with add_file_name(getattr(self.file, "name", "predictions")):
            labels = part.predictions
            self.file.writelines(in_tabs(label_lines(labels.tolist()), confidence_lines(labels, confidences)))
            self.file.flush()

    def flushed(self) -> int | None:
        """Write all to the disk and return the length of the file; None for a stream, which cannot be resumed."""
        self.file.flush()
        if not self.named:
            return None
        try:
            os.fsync(self.file.fileno())
            return os.fstat(self.file.fileno()).st_size
        except OSError:  # a device or a named pipe
            return None


@contextmanager
def predictions_file(to: str | PathLike[str] | IO[str], at: int = 0) -> Iterator[PredictionsFile]:
    """Open a file for predictions. With ``at`` above 0, keep its first ``at`` bytes and continue after them."""
    if not isinstance(to, str | os.PathLike):
        yield PredictionsFile(to, named=False)
    elif at:
        with open(to, "r+", encoding="utf-8") as file:
            if os.fstat(file.fileno()).st_size < at:
                message = f"cannot resume: {os.fspath(to)} must have at least {at} bytes"
                raise ValueError(message)
            file.seek(at)
            file.truncate()
            yield PredictionsFile(file, named=True)
    else:
        new = open(to, "w", encoding="utf-8")  # noqa: SIM115 - it is closed below
        try:
            yield PredictionsFile(new, named=True)
        finally:
            with add_file_name(os.fspath(to)), new:  # closing writes the rest, which may fail
                pass


@dataclass(frozen=True)
class Predicted:
    """How many examples were predicted, and how many of them have no feature name that the model has learned."""

    rounds: int
    unknown: int
    remarks: tuple[Remark, ...]
    """Remarks on the files."""


def columns_of(learner: Learner, part: PredictedPart, *, scores: bool, probabilities: bool) -> list[Iterable[str]]:
    """Return the columns that ``predict`` writes for a part; ``header`` has their names."""
    columns: list[Iterable[str]] = [label_lines(part.labels.tolist())]
    found = part.probabilities
    if probabilities and found is not None:
        columns += [number_lines(found[:, k]) for k in range(found.shape[1])]
    elif scores and found is not None and not learner.several:
        columns.append(number_lines(found[:, 1]))
    if scores and learner.several and not probabilities:
        columns.append(confidence_lines(part.labels, part.scores))
    elif scores and not learner.several:
        columns.append(number_lines(part.scores))
    return columns


def header(learner: Learner, *, scores: bool, probabilities: bool) -> list[str]:
    """Return the names of the columns that ``predict`` writes."""
    ledger = learner.ledger_
    has_probabilities, several = ledger.rule.log_odds, learner.several
    shown = ledger.classes if probabilities else ledger.classes[1:] if scores and not several else ()
    names = ["prediction", *(f"p({escaped(label)})" for label in shown if has_probabilities)]
    if scores and several and not probabilities:
        return [*names, "probability" if has_probabilities else "score"]
    return [*names, "score"] if scores and not several else names


def predict(
    source: Source,
    learner: Learner,
    to: str | PathLike[str] | IO[str],
    *,
    scores: bool = False,
    probabilities: bool = False,
    csv: bool = False,
) -> Predicted:
    r"""Write the predicted label of each example of a source, one per line, without learning.

    Parameters
    ----------
    source : Source
        The files. They need no labels, and are read with the options of the files that the learner learned from.
    learner : Learner
        It is not changed.
    to : path or text stream
        Write the lines here. Control characters in labels are escaped.
    scores : bool
        Whether to write, after each label, the probability of the positive label, if the learner has probabilities,
        and the score, separated by tabs. With several classes, it is the probability of the predicted label.
    probabilities : bool
        Whether to write, after each label, the probability of every label, in the order of ``classes_``: the rows of
        ``predict_proba``.
    csv : bool
        Whether to write CSV, with a header line, instead of tabs.

    Examples
    --------
    >>> import mistakebound as mb, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "mail.csv").write_text("subject,kind\nwin money,spam\nlunch,ham\n")
    >>> source = mb.Source(folder / "mail.csv", label="kind", table={"text": ["subject"]})
    >>> learner = mb.runs.run(source, mb.Perceptron()).learner
    >>> _ = (folder / "new.csv").write_text("subject\nlunch with money\nlunch\n")
    >>> mb.runs.predict(mb.Source(folder / "new.csv"), learner, folder / "out.txt", scores=True)
    Predicted(rounds=2, unknown=0, remarks=())
    >>> (folder / "out.txt").read_text().split()
    ['ham', '-1', 'ham', '-1']
    >>> panel = mb.runs.run(source, mb.Panel()).learner
    >>> _ = mb.runs.predict(mb.Source(folder / "new.csv"), panel, folder / "out.csv", probabilities=True, csv=True)
    >>> (folder / "out.csv").read_text().splitlines()[0]
    'prediction,p(ham),p(spam)'
    """
    if not isinstance(source, Source):
        raise not_a_source(source)
    if not isinstance(learner, Learner):
        raise not_a_learner(learner)
    rule = learner.ledger_.rule
    if probabilities and not rule.log_odds:
        reason = f" is not valid: {rule.id} predicts no probabilities"
        raise OptionError(Option("probabilities", "probabilities"), reason)
    reader = learner.open_stream(source, labels_needed=False, warn=False)
    parts = (
        (len(part.labels), part.unknown, columns_of(learner, part, scores=scores, probabilities=probabilities))
        for part in learner.predicted_parts(reader)
    )
    rows = ((rounds, unknown, zip(*columns, strict=True)) for rounds, unknown, columns in parts)
    names = header(learner, scores=scores, probabilities=probabilities)
    return _write(to, names, rows, reader.report, csv=csv)


def predict_sets(
    source: Source,
    learner: MultilabelPanel,
    to: str | PathLike[str] | IO[str],
    *,
    scores: bool = False,
    probabilities: bool = False,
    csv: bool = False,
) -> Predicted:
    """Write the predicted labels of each example of a source, one line for each: labels are separated by commas.

    The parameters are those of ``predict``. With ``scores``, each label of the learner with its probability follows. In
    CSV, and with ``probabilities``, the probabilities have a column each.
    """
    names = list(label_lines(learner.panels))
    reader = learner.reading_panel.open_stream(source, labels_needed=False, warn=False)

    def cells(chances: list[float]) -> list[str]:
        found = [",".join(name for name, p in zip(names, chances, strict=True) if p > EVEN)]
        if probabilities or (scores and csv):
            found += [f"{p:.6g}" for p in chances]
        elif scores:
            found += [f"{name}:{p:.6g}" for name, p in zip(names, chances, strict=True)]
        return found

    rows = (
        (len(chances), unknown, map(cells, chances.tolist()))
        for chances, unknown in learner.probabilities_of_parts(reader)
    )
    columns = ["prediction", *(f"p({name})" for name in names if scores or probabilities)]
    return _write(to, columns, rows, reader.report, csv=csv)


def _write(
    to: str | PathLike[str] | IO[str],
    names: Sequence[str],
    parts: Iterable[tuple[int, int, Iterable[Sequence[str]]]],
    report: ReadReport,
    *,
    csv: bool,
) -> Predicted:
    """Write the rows of each part, given as (rounds, rounds without a known feature, rows); CSV begins with names."""
    rounds = unknown = 0
    with predictions_file(to) as out:
        table = writer(out.file, lineterminator="\n")
        if csv:
            table.writerow(names)
        for here, unknown_here, rows in parts:
            rounds += here
            unknown += unknown_here
            if csv:
                table.writerows(rows)
            else:
                out.file.writelines("\t".join(row) + "\n" for row in rows)
            out.file.flush()
    return Predicted(rounds, unknown, report.remarks)

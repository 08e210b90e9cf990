"""Write predictions as lines of text: those of a run, made before learning, and those of a model for new files."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mistakebound._support.lazy import np
from mistakebound._support.text import escaped
from mistakebound.data.source import Source, not_a_source
from mistakebound.errors import add_file_name
from mistakebound.learners.learner import Learner
from mistakebound.learners.linear import not_a_learner
from mistakebound.learners.sklearn import more_likely, probabilities
from mistakebound.rules.panel_members import EVEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike
    from typing import IO

    from mistakebound._support.arrays import AnyArray, BoolArray, FloatArray
    from mistakebound.data.remarks import Remark
    from mistakebound.learners.multilabel import MultilabelPanel
    from mistakebound.play.ledger import Ledger
    from mistakebound.rules import Rule


def label_lines(labels: Iterable[Any]) -> Iterator[str]:
    r"""Yield labels as lines of a file. Control characters, such as a newline, are escaped.

    >>> list(label_lines(["spam", 1, "a\nb"]))
    ['spam', '1', 'a\\nb']
    """
    known: dict[Any, str] = {}  # usually there are only two labels
    for label in labels:
        if label not in known:
            known[label] = "" if label is None else escaped(label)  # None: the learner abstains
        yield known[label]


def lines(labels: AnyArray, scores: FloatArray, positive: BoolArray, rule: Rule) -> Iterator[str]:
    """Yield a line for each prediction: label, probability of the positive label if the rule has it, and score."""
    columns = [label_lines(labels.tolist())]
    if rule.log_odds:
        likely = more_likely(rule, scores, positive)
        columns.append(f"{p:.6g}" for p in probabilities(scores, likely)[:, 1].tolist())
    columns.append(f"{score:.6g}" for score in scores.tolist())
    return ("\t".join(line) + "\n" for line in zip(*columns, strict=True))


def class_lines(labels: AnyArray, probabilities: FloatArray) -> Iterator[str]:
    """Yield a line for each prediction of one of several classes: label and a probability."""
    shown = (f"{p:.6g}" for p in probabilities.tolist())
    return (f"{label}\t{p}\n" for label, p in zip(label_lines(labels.tolist()), shown, strict=True))


class PredictionsFile:
    """A file or an open stream that the predictions of a run are written to, part by part."""

    def __init__(self, file: IO[str], *, named: bool) -> None:
        self.file, self.named = file, named

    def write(self, part: Ledger) -> None:
        """Write the predictions of a part."""
        if part.several:
            self._write_classes(part)
            return
        scores = np.zeros(part.rounds) if part.scores is None else part.scores
        with add_file_name(getattr(self.file, "name", "predictions")):
            labels = part.predictions.astype(object)
            labels[part.rule.abstains(scores)] = None
            self.file.writelines(lines(labels, scores, part.positive, part.rule))
            self.file.flush()

    def _write_classes(self, part: Ledger) -> None:
        """Write the predicted label of each round, and its probability."""
        confidences = np.full(part.rounds, np.nan) if part.scores is None else part.scores
        with add_file_name(getattr(self.file, "name", "predictions")):
            self.file.writelines(class_lines(part.predictions, confidences))
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


def predict(source: Source, learner: Learner, to: str | PathLike[str] | IO[str], *, scores: bool = False) -> Predicted:
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
    """
    if not isinstance(source, Source):
        raise not_a_source(source)
    if not isinstance(learner, Learner):
        raise not_a_learner(learner)
    rounds = unknown = 0
    reader = learner.open_stream(source, labels_needed=False, warn=False)
    with predictions_file(to) as out:
        for numbers, labels, unknown_here in learner.score_reader(reader):
            rounds += len(numbers)
            unknown += unknown_here
            if scores and learner.several:
                out.file.writelines(class_lines(labels, numbers))
            elif scores:
                rule = learner.ledger_.rule
                positive = labels == learner.ledger_.classes[1]
                positive = np.where(rule.abstains(numbers), numbers >= rule.threshold, positive)
                out.file.writelines(lines(labels, numbers, positive, rule))
            else:
                out.file.writelines(f"{label}\n" for label in label_lines(labels.tolist()))
            out.file.flush()
    return Predicted(rounds, unknown, reader.report.remarks)


def predict_sets(
    source: Source, learner: MultilabelPanel, to: str | PathLike[str] | IO[str], *, scores: bool = False
) -> Predicted:
    """Write the predicted labels of each example of a source, one line for each: labels are separated by commas.

    The parameters are those of ``predict``. With ``scores``, each label of the learner with its probability follows.
    """
    rounds = unknown = 0
    names = list(label_lines(learner.panels))
    reader = learner.reading_panel.open_stream(source, labels_needed=False, warn=False)
    with predictions_file(to) as out:
        for chances, unknown_here in learner.probabilities_of_parts(reader):
            rounds += len(chances)
            unknown += unknown_here
            for row in chances.tolist():
                found = [",".join(name for name, p in zip(names, row, strict=True) if p > EVEN)]
                if scores:
                    found += [f"{name}:{p:.6g}" for name, p in zip(names, row, strict=True)]
                out.file.write("\t".join(found) + "\n")
            out.file.flush()
    return Predicted(rounds, unknown, reader.report.remarks)

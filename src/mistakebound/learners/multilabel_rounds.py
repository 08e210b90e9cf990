"""The rounds of a `MultilabelPanel`: the views of each row are computed once, for the panels of all labels.

A panel has numbers that do not depend on its label: the largest value, the mean and the deviation of each feature, and
how often it occurred. The panels share them. A label that occurs for the first time in round t starts with them: its
panel counts the earlier rounds as rounds without the label, and its members have learned nothing yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._core import Chunk, Engine
from mistakebound._support.lazy import np
from mistakebound.errors import as_stream_error
from mistakebound.learners.linear_play import LOCK
from mistakebound.learners.multilabel_batches import NAME, batches, batches_of_examples
from mistakebound.learners.sklearn import known_rows, named_examples
from mistakebound.play.engine import NO_ROUNDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mistakebound._support.arrays import BoolArray, FloatArray
    from mistakebound.data.parts import Part
    from mistakebound.errors import InputError
    from mistakebound.learners.linear_play import LinearPlay
    from mistakebound.learners.multilabel_batches import Batch, Examples
    from mistakebound.learners.panel import Panel
    from mistakebound.play.engine import LearnerEngine
    from mistakebound.play.ledger import Ledger

LEAST_FOR_TWO = 512
"""Rows times labels: below, starting a second thread takes longer than it saves."""


class Targets(NamedTuple):
    """The labels of some rounds."""

    labels: list[Any]
    has: BoolArray
    """Whether each round has each label: a row for each label."""
    starts: dict[Any, int]
    """The first round of each label that was not known before."""

    def first_round(self, label: Any) -> int:
        """Return the round from which on a label is learned."""
        return self.starts.get(label, 0)


class SharedPlay:
    """Reads rows for the panels of several labels, which learn them in the core.

    Parameters
    ----------
    panels : sequence of Panel
        The panels that have started.
    width : int or None
        Number of features by position; None for features with names.
    """

    def __init__(self, panels: Sequence[Panel], width: int | None) -> None:
        self.core = Engine("panel", 0.0, 0.0, False, 0.0, 0.0, width is None, width or 0, 0, shared=True)
        self._added: list[Engine] = []
        # The first one has counted all rounds since the first label, and the others take over its counts.
        for panel in sorted(panels, key=lambda each: -each._current_play().engine.counts.rounds):
            self.add(panel._current_play().engine.core)

    def add(self, core: Engine) -> None:
        """Let a panel learn the rows that follow. Earlier rows count as rows without its label."""
        if not any(core is each for each in self._added):
            self.core.add_label(core, not self._added)
            self._added.append(core)


class SharedRounds:
    """The rounds of one call of ``MultilabelPanel.run``.

    Attributes
    ----------
    learned : int
        Number of rounds that were learned.
    positive : array
        The predictions of these rounds: a row for each label.
    panels : dict
        The panel of each label, also of new ones.
    """

    def __init__(self, learner: Any, targets: Targets) -> None:
        self.learner, self.targets = learner, targets
        self.learned = 0
        self.ends: dict[Any, int] = {}
        """The round at which a label stopped, if it is not ``learned``."""
        self.positive: BoolArray = np.zeros(targets.has.shape, np.bool_)
        known = learner.panels
        self.panels: dict[Any, Panel] = {label: known.get(label) or learner.new_panel() for label in targets.labels}
        self._plays_before = {label: panel._play for label, panel in self.panels.items()}
        self._counts_before = {
            label: panel.counts_now() if panel._play else NO_ROUNDS for label, panel in self.panels.items()
        }
        self._signs = np.where(targets.has, 1, -1).astype(np.int8)

    def run(self, X: Any) -> InputError | None:
        """Learn the rows of X; return the error of the first row that was not learned, or None."""
        reader = next(iter(self.panels.values()), None) or self.learner.new_panel()
        try:
            for batch in batches(reader, X):
                if (error := self._run_batch(batch)) is not None:
                    return error
        except ValueError as error:  # of the input; what was learned before stays learned
            return as_stream_error(error, None)
        return None

    def _run_batch(self, batch: Batch) -> InputError | None:
        """Learn a batch. It is divided where a new label occurs."""
        offset, begin = self.learned, 0
        starts = [self.targets.first_round(label) - offset for label in self.targets.labels]
        while begin < batch.size:
            end = min([start for start in starts if start > begin], default=batch.size)
            rows = slice(begin, min(end, batch.size))
            active = [k for k, start in enumerate(starts) if start <= begin]
            if active and (error := self._run_labels(batch, rows, active, offset)) is not None:
                return error
            self.learned = offset + rows.stop
            begin = rows.stop
        return batch.broken

    def _run_labels(self, batch: Batch, rows: slice, active: list[int], offset: int) -> InputError | None:
        labels = [self.targets.labels[k] for k in active]
        plays = self._start(labels, batch)
        columns = slice(offset + rows.start, offset + rows.stop)
        signs = np.ascontiguousarray(self._signs[active, columns])
        out = np.empty(signs.shape, np.uint8)
        threads = self.learner.thread_count if out.size >= LEAST_FOR_TWO and len(active) > 1 else 1
        cores = [play.engine.core for play in plays]
        count, fault = batch.play(self.learner.shared.core, cores, rows, signs, out, threads > 1)
        self.positive[active, columns.start : columns.start + count] = out[:, :count]
        self.learned = columns.start + count
        if count:
            for play in plays:
                play.reading = batch.reading or play.reading
        return None if fault is None else batch.error_at(rows.start + count, fault, plays[0])

    def _start(self, labels: list[Any], batch: Batch) -> list[LinearPlay]:
        """Return the plays of labels. Those that have not started yet start."""
        with LOCK:
            plays = []
            for label in labels:
                play = self.panels[label]._start(batch.width) if self.panels[label]._play is None else None
                play = play or self.panels[label]._current_play()
                play.require(batch.width, NAME)
                plays.append(play)
            shared = self.learner.shared
            if shared is None:
                begun = [panel for panel in self.panels.values() if panel._play is not None]
                shared = self.learner.shared = SharedPlay(begun, batch.width)
            for play in plays:
                shared.add(play.engine.core)
        return plays

    def finish(self) -> dict[Any, Ledger]:
        """Return the ledger of each label that was learned. Panels that learned nothing go back to their start."""
        ledgers = {}
        for k, (label, panel) in enumerate(self.panels.items()):
            start, end = self.targets.first_round(label), self.ends.get(label, self.learned)
            if start < end:
                play = panel._current_play()
                made = self.positive[k, start:end]
                ledgers[label] = play.engine.ledger(play.labels.pair, self._counts_before[label], positive=made)
            else:
                panel._forget(self._plays_before[label])
        if not any(panel._play is not None for panel in self.panels.values()):
            self.learner.shared = None
        return ledgers

    def mistaken(self) -> BoolArray:
        """Return in which rounds the set of labels was not predicted: all rounds in which a new label occurs, too."""
        wrong = np.zeros(self.learned, np.bool_)
        for k, label in enumerate(self.targets.labels):
            start = self.targets.first_round(label)
            wrong[start:] |= self.positive[k, start : self.learned] != self.targets.has[k, start : self.learned]
        wrong[[start for start in self.targets.starts.values() if start < self.learned]] = True
        return wrong


class SeparateRounds(SharedRounds):
    """The same for panels with members from outside, which the core cannot play: each panel reads the rows itself."""

    def run(self, X: Any) -> InputError | None:
        """Learn the rows of X; return the error of the first row that was not learned, or None."""
        failed: InputError | None = None
        self.learned = self.targets.has.shape[1]
        for k, label in enumerate(self.targets.labels):
            start = self.targets.first_round(label)
            if start >= self.learned:
                continue
            rows, truth = X[start : self.learned], self.targets.has[k, start : self.learned]
            try:
                ledger = learn_alone(self.panels[label], rows, truth.tolist())
            except ValueError as error:
                # Every panel stops at a row that cannot be read. Where a member fails, only the panels after this one
                # stop there, too: those before it have learned more rows, which do not count as rounds of all labels.
                failed = as_stream_error(error, None)
                ledger = self.panels[label].ledger_
            rounds = self.panels[label].counts_now().rounds - self._counts_before[label].rounds
            wrong = ledger.mistake_rounds - (
                ledger.rounds - rounds
            )  # after an error, the ledger has earlier rounds, too
            made = truth[:rounds].copy()
            made[wrong[wrong >= 0]] ^= True
            self.positive[k, start : start + rounds] = made
            self.learned = self.ends[label] = start + rounds
        return failed


def learn_alone(panel: Panel, X: Any, y: list[bool]) -> Ledger:
    """Let a panel learn rows by itself."""
    panel.learns_alone = True
    try:
        return panel.run(X, y)
    finally:
        panel.learns_alone = False


def learn_known(learner: Any, x: Any, labels: set[Any]) -> bool | None:
    """Learn one named example at once, if all of its labels are known; return whether a prediction was wrong.

    Returns None, and changes nothing, if it cannot be learned in this way: then ``SharedRounds`` learns it, or raises
    the error.
    """
    shared, panels = learner.shared, learner.panels
    if shared is None or type(x) not in (dict, set) or not labels <= panels.keys():
        return None
    plays = [panel._play for panel in panels.values()]
    if any(play is None or play.named_core is None for play in plays):
        return None
    chunk = Chunk.of_examples()
    try:
        chunk.add_example(x)
    except ValueError:
        return None
    chunk.end_examples()
    signs = np.array([[1 if label in labels else -1] for label in panels], np.int8)
    out = np.empty(signs.shape, np.uint8)
    cores = [play.named_core for play in plays]
    _, fault = shared.core.play_chunk_labels(cores, chunk, 0, signs, out, False)
    return None if fault else bool(((signs > 0) != out).any())


def scores(panels: Sequence[Panel], X: Any) -> tuple[FloatArray, BoolArray]:
    """Return the scores of examples, and whether predictions are positive, without learning: a row for each panel."""
    first = panels[0]
    engines = [panel._current_play().engine for panel in panels]
    if (stream := first.stream_of(X)) is not None:
        reader = first.open_stream(stream, labels_needed=False)
        return joined([found for found, _ in scores_of_parts(panels, reader)], len(panels))
    if not engines[0].named:
        rows = known_rows(first, X)
        return stacked([engine.scores(rows) for engine in engines])
    found: list[tuple[FloatArray, BoolArray]] = []
    for batch in batches_of_examples(first, named_examples(first, X)):
        found.append(stacked([score_examples(engine, batch) for engine in engines]))
        if batch.broken:
            raise batch.broken.at_round(sum(made.shape[1] for made, _ in found))
    return joined(found, len(panels))


def scores_of_parts(
    panels: Sequence[Panel], parts: Iterable[Part]
) -> Iterator[tuple[tuple[FloatArray, BoolArray], int]]:
    """Yield what ``scores`` returns, for each part of files, and how many of its examples have unknown names only.

    Raises the error of a bad row after the rows before it.
    """
    rounds = 0
    for part in parts:
        engines = [panel._start_with_chunk(part.chunk).engine for panel in panels]
        found = [engine.score_part(part) for engine in engines]
        made, _, fault = found[0]
        unknown = engines[0].core.unknown_rows(part.chunk, len(made)) if engines[0].named else 0
        yield stacked([(each, positive) for each, positive, _ in found]), unknown
        rounds += len(made)
        if error := part.error_at(len(made), fault.error()) if fault else part.error:
            raise error.at_round(rounds)


def stacked(found: list[tuple[FloatArray, BoolArray]]) -> tuple[FloatArray, BoolArray]:
    """Return the scores and predictions of all panels as two matrices."""
    return np.array([made for made, _ in found]), np.array([positive for _, positive in found])


def joined(found: list[tuple[FloatArray, BoolArray]], panels: int) -> tuple[FloatArray, BoolArray]:
    """Return the scores and predictions of all parts side by side."""
    none = (np.zeros((panels, 0)), np.zeros((panels, 0), np.bool_))
    return tuple(np.concatenate(each, axis=1) for each in zip(none, *found, strict=True))  # type: ignore[return-value]


def score_examples(engine: LearnerEngine, batch: Examples) -> tuple[FloatArray, BoolArray]:
    """Return the scores and predictions of named examples; raise StreamError for an example that is not valid."""
    out, positive = np.empty(batch.size), np.empty(batch.size, np.uint8)
    row, fault = engine.core.score_chunk(batch.chunk, out, positive)
    if fault is not None:
        engine.score_named(batch.examples[row])  # raises, with the name of the feature
    return out, positive.view(np.bool_)

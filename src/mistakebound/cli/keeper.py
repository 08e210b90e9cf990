"""Keeps a run: its model on disk now and then, with all that it takes to go on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mistakebound._support.escaping import escaped
from mistakebound.errors import ModelError
from mistakebound.learners.linear import KINDS

if TYPE_CHECKING:
    from mistakebound.cli.journey import Journey
    from mistakebound.cli.output import Table
    from mistakebound.learners.linear import LinearLearner


@dataclass
class Keeper:
    """What ``--save``, ``--checkpoint-every`` and ``--resume`` ask for."""

    journey: Journey
    table: Table
    path: str | None
    every: int | None = None
    """Examples between two checkpoints."""
    resumable: bool = False
    """Whether a run that has ended says so in its model, so that taking it up again finds nothing left to do."""
    since: int = 0
    """Examples since the last checkpoint."""

    def left(self) -> int | None:
        """How many examples may be learned before the next checkpoint."""
        return None if self.every is None else self.every - self.since

    def learned(self, model: LinearLearner, rounds: int, predictions: Any) -> None:
        """Write a checkpoint when it is time."""
        self.since += rounds
        if self.every is not None and self.since >= self.every:
            self.save(model, predictions)
            self.since = 0

    def save(self, model: LinearLearner, predictions: Any) -> None:
        """Write the model, and where its run is unless that has simply ended."""
        if self.path is None:
            return
        from mistakebound.models.model_file import save  # noqa: PLC0415 - here and below, what most runs start without

        written = None if predictions is None else flushed(predictions)
        done = self.journey.ended and not self.resumable
        save(model, self.path, KINDS, None if done else self._progress(written))

    def would_replace(self) -> bool:
        """Whether another run's model would be lost by saving this one, which cannot be taken up again as it is."""
        return self.path is not None and not self.resumable and os.path.exists(self.path)

    def _progress(self, written: int | None) -> dict[str, Any]:
        from mistakebound.cli.resuming import said_of  # noqa: PLC0415

        table = self.table
        counts = [table.rounds, table.false_positives, table.false_negatives, table.positives]
        return {"run": said_of(self.journey), "counts": counts, "shown": list(table.last), "predictions": written}

    def resume(self, fresh: LinearLearner, predictions: str | None) -> tuple[LinearLearner, int]:
        """The model to go on with, and where its predictions go on; the fresh one if there is no checkpoint yet."""
        if self.path is None or not os.path.exists(self.path):
            click.echo(f"{escaped(self.path)} is not there yet: beginning at the start", err=True)
            return fresh, 0
        from pathlib import Path  # noqa: PLC0415

        from mistakebound._support.atomic_file import sweep  # noqa: PLC0415
        from mistakebound.models.model_file import load_with_progress  # noqa: PLC0415

        sweep(Path(os.path.realpath(self.path)))
        model, progress = load_with_progress(self.path, KINDS)
        try:
            return model, self._take_up(fresh, model, progress, predictions)
        except ModelError as error:
            message = f"cannot resume from {self.path}: {error}"
            raise ModelError(message) from None

    def _take_up(self, fresh: LinearLearner, model: LinearLearner, progress: Any, predictions: str | None) -> int:
        from mistakebound._support.schema import fields, is_list_of, need  # noqa: PLC0415
        from mistakebound.cli.resuming import same_learner, take_up  # noqa: PLC0415

        need(progress is not None, "its run has ended; --load learns more on top of it")
        run, counts, shown, written = fields(progress, "run", "counts", "shown", "predictions")
        for which, length in ((counts, 4), (shown, 2)):
            need(is_list_of(int, which) and len(which) == length and min(which) >= 0, "its counts are not told")
        need(counts[0] <= model.ledger_.rounds, "it counts more rounds than its learner had")
        need(written is None or (type(written) is int and written >= 0), "its predictions are not told")
        with_or_without = "without" if written is None else "with"
        need(
            (written is None) == (predictions is None),
            f"its run was {with_or_without} --predictions to a file, so this one must be, too",
        )
        same_learner(fresh, model)
        take_up(self.journey, run)
        self.table.go_on(model.ledger_, counts, (shown[0], shown[1]))
        click.echo(f"resuming after {counts[0]:,} examples", err=True)
        return written or 0


def flushed(file: Any) -> int | None:
    """How long a file is, once all of it is on the disk; None for standard output, which cannot be taken up again."""
    file.flush()
    try:
        os.fsync(file.fileno())
        return os.fstat(file.fileno()).st_size
    except (OSError, ValueError):  # a pipe, or no file at all
        return None

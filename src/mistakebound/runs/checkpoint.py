"""Write the model file of a run, at its end and at checkpoints, and read it to resume the run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mistakebound.errors import ModelError, ResumeError
from mistakebound.learners.linear import KINDS

if TYPE_CHECKING:
    from mistakebound.learners.learner import Learner
    from mistakebound.runs.progress import Position, Tally


@dataclass
class Checkpoint:
    """Writes the model of a run, and reads it back to resume."""

    path: str
    position: Position
    tally: Tally
    every: int | None = None
    """Examples between two checkpoints; None for one file at the end."""
    resumable: bool = False
    """Whether the file of a run that has ended holds its position, so that resuming it finds nothing left to do."""
    since: int = 0
    """Examples since the last checkpoint."""

    def left(self) -> int | None:
        """How many examples may be learned before the next checkpoint; None if there is none."""
        return None if self.every is None else self.every - self.since

    def learned(self, model: Learner, rounds: int, predictions: Any) -> None:
        """Write a checkpoint when it is due."""
        self.since += rounds
        if self.every is not None and self.since >= self.every:
            self.save(model, predictions)
            self.since = 0

    def save(self, model: Learner, predictions: Any) -> None:
        """Write the model; with the position of its run, unless that has simply ended."""
        from mistakebound.models.model_file import save  # noqa: PLC0415 - here and below, what most runs start without

        written = None if predictions is None else predictions.flushed()
        done = self.position.ended and not self.resumable
        save(model, self.path, KINDS, None if done else self._progress(written))

    def would_replace(self) -> bool:
        """Whether another run's model would be lost by saving this one, which cannot be resumed as it is."""
        return not self.resumable and os.path.exists(self.path)

    def _progress(self, written: int | None) -> dict[str, Any]:
        from mistakebound.runs.resume import described  # noqa: PLC0415

        tally = self.tally
        counts = [tally.rounds, tally.false_positives, tally.false_negatives, tally.positives]
        return {"run": described(self.position), "counts": counts, "shown": list(tally.last), "predictions": written}

    def resume(self, fresh: Learner, *, predictions: bool) -> tuple[Learner, int] | None:
        """The model to go on with, and the byte at which its predictions go on; None if there is no checkpoint yet."""
        if not os.path.exists(self.path):
            return None
        from pathlib import Path  # noqa: PLC0415

        from mistakebound._support.atomic_file import sweep  # noqa: PLC0415
        from mistakebound.models.model_file import load_with_progress  # noqa: PLC0415

        sweep(Path(os.path.realpath(self.path)))
        model, progress = load_with_progress(self.path, KINDS)
        try:
            return model, self._restore(fresh, model, progress, predictions=predictions)
        except ResumeError as error:
            raise ResumeError(
                error.reason, path=self.path, option=error.option, before=error.before, now=error.now
            ) from None
        except ModelError as error:
            raise ResumeError(str(error), path=self.path) from None

    def _restore(self, fresh: Learner, model: Learner, progress: Any, *, predictions: bool) -> int:
        from mistakebound._support.schema import fields, is_list_of, need  # noqa: PLC0415
        from mistakebound.runs.resume import restore, same_learner  # noqa: PLC0415

        need(progress is not None, "its run has ended; load the model to learn more on top of it")
        run, counts, shown, written = fields(progress, "run", "counts", "shown", "predictions")
        for which, length in ((counts, 4), (shown, 2)):
            need(is_list_of(int, which) and len(which) == length and min(which) >= 0, "its counts are not valid")
        need(counts[0] <= model.ledger_.rounds, "it counts more rounds than its learner had")
        need(written is None or (type(written) is int and written >= 0), "its predictions are not valid")
        if (written is not None) != predictions:
            with_or_without = "without" if written is None else "with"
            reason = f"its run was {with_or_without} predictions to a file, so this one must be, too"
            raise ResumeError(reason, option="predictions", before=written is not None, now=predictions)
        same_learner(fresh, model)
        restore(self.position, run)
        self.tally.resume(model.ledger_, counts, (shown[0], shown[1]))
        return written or 0

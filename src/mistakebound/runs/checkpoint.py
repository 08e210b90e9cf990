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
    """Writes the model file of a run, and reads it to resume the run."""

    path: str
    position: Position
    tally: Tally
    every: int | None = None
    """Number of examples between two checkpoints; None to write the file at the end only."""
    resumable: bool = False
    """Whether the file stores the position also if the run has ended. Resuming then finds nothing left to learn."""
    since: int = 0
    """Examples since the last checkpoint."""

    def left(self) -> int | None:
        """Return how many examples may be learned before the next checkpoint; None for any number."""
        return None if self.every is None else self.every - self.since

    def learned(self, model: Learner, rounds: int, predictions: Any) -> None:
        """Count learned rounds, and write a checkpoint when it is due."""
        self.since += rounds
        if self.every is not None and self.since >= self.every:
            self.save(model, predictions)
            self.since = 0

    def save(self, model: Learner, predictions: Any) -> None:
        """Write the model, with the position of its run if the run can be resumed."""
        from mistakebound.models.model_file import save  # noqa: PLC0415 - here and below, what most runs start without

        written = None if predictions is None else predictions.flushed()
        done = self.position.ended and not self.resumable
        save(model, self.path, KINDS, None if done else self._progress(written))

    def would_replace(self) -> bool:
        """Return whether saving would replace a model file that does not belong to this run."""
        return not self.resumable and os.path.exists(self.path)

    def _progress(self, written: int | None) -> dict[str, Any]:
        from mistakebound.runs.resume import described  # noqa: PLC0415

        tally = self.tally
        kinds = (tally.false_positives, tally.false_negatives) if tally.labels is None else (tally.mistakes, 0)
        counts = [tally.rounds, *kinds, tally.positives]
        return {"run": described(self.position), "counts": counts, "shown": list(tally.last), "predictions": written}

    def resume(self, fresh: Learner, *, predictions: bool) -> tuple[Learner, int] | None:
        """Return the model of the checkpoint and the byte where its predictions continue; None if there is no file."""
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

        need(progress is not None, "its run has ended; load the model to learn more examples")
        run, counts, shown, written = fields(progress, "run", "counts", "shown", "predictions")
        for which, length in ((counts, 4), (shown, 2)):
            valid = is_list_of(int, which) and len(which) == length and min(which) >= 0
            need(valid, "the counts that it stores are not valid")
        need(counts[0] <= model.ledger_.rounds, "it stores more rounds than its learner has learned")
        need(written is None or (type(written) is int and written >= 0), "its predictions are not valid")
        if (written is not None) != predictions:
            wrote = "did not write" if written is None else "wrote"
            reason = f"its run {wrote} predictions to a file, and this run must do the same"
            raise ResumeError(reason, option="predictions", before=written is not None, now=predictions)
        same_learner(fresh, model)
        restore(self.position, run)
        self.tally.resume(model.ledger_, counts, (shown[0], shown[1]))
        return written or 0

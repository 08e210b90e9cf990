"""The model file of a stream: a learner, and the last batch that it has learned."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._support.schema import fields, refuse, whole
from mistakebound.errors import ModelError
from mistakebound.learners.linear import KINDS
from mistakebound.models.model_file import load_with_progress, save
from mistakebound.runs.resume import same_learner
from mistakebound.spark.shards import from_bytes

if TYPE_CHECKING:
    from mistakebound.learners.learner import Learner

QUERY, BATCH = "query", "batch"
"""The id of the query and the number of its last batch, in the progress of a model file."""


class Stored(NamedTuple):
    """What the model file has."""

    learner: Learner
    query: str
    """The id of the query that was learned last; empty if there was none."""
    batch: int
    """The number of its last batch; −1 if there was none."""
    version: tuple[int, int, int] | None
    """What changes if the file is replaced; None if there is no file."""


def read(path: str, start: bytes, *, same: bool) -> Stored:
    """Return what the file has; without a file, the learner in ``start``.

    Raise ModelError if the file is not valid, or if it must have the ``same`` learner as ``start`` and does not.
    """
    version = version_of(path)
    if version is None:
        return Stored(from_bytes(start), "", -1, None)
    learner, progress = load_with_progress(path, KINDS)
    try:
        if same:
            same_learner(from_bytes(start), learner)
        query, batch = ("", -1) if progress is None else position_in(progress)
    except ModelError as error:
        message = f"cannot load {path}: {error}"
        raise ModelError(message, field=error.field) from None
    return Stored(learner, query, batch, version)


def position_in(progress: dict[str, Any]) -> tuple[str, int]:
    """Return the id of the query and the number of the batch in the progress of a model file."""
    if "run" in progress:
        message = "it stores the position of a run over files, not of a query: load it, and save the learner without it"
        raise ModelError(message, field="progress")
    query, batch = fields(progress, QUERY, BATCH, path="progress")
    if type(query) is not str or not query:
        refuse("progress.query", "the id of a query", query)
    return query, whole(batch, "progress.batch")


def write(path: str, learner: Learner, query: str, batch: int) -> Stored:
    """Write a learner that has learned this batch; return what the file has now."""
    save(learner, path, KINDS, {QUERY: query, BATCH: batch})
    return Stored(learner, query, batch, version_of(path))


def version_of(path: str) -> tuple[int, int, int] | None:
    """Return what changes if a file is replaced; None if there is no file."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size

"""The certificate of a run: over the whole stream, in a second pass over its files, or on the mistaken rounds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mistakebound.cli.journey import size_of

if TYPE_CHECKING:
    import mistakebound as mb
    from mistakebound.learners.linear import LinearLearner


def certified(model: LinearLearner, source: mb.Source, *, loaded: bool = False) -> tuple[mb.Certificate, str]:
    """The certificate, and if it covers the mistaken rounds only, why.

    Parameters
    ----------
    model : LinearLearner
        It has learned from the source.
    source : Source
        As it was read; its files are read again.
    loaded : bool
        Whether the learner had learned something else before.
    """
    saved = "the run continued a saved model, whose earlier examples are not available"
    reason = saved if loaded else _cannot_be_read(source)
    if not reason:
        try:
            return model.certify(X=source), ""
        except (OSError, ValueError) as error:
            reason = f"the second pass failed ({error})"
    return model.certify(), f"the certificate covers the mistaken rounds only: {reason}"


def _cannot_be_read(source: mb.Source) -> str:
    """Which file cannot be read a second time, if any."""
    files = [*source.files, *([] if source.labels is None else [os.fspath(source.labels)])]
    once = next((file for file in files if size_of(file) is None), None)
    return "" if once is None else f"{'standard input' if once == '-' else once} cannot be read a second time"

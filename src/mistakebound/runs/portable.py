"""Write the portable certificate of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mistakebound.certificates import portable
from mistakebound.models.model_file import fingerprint
from mistakebound.models.parameters import describe_parameters, need_no_objects
from mistakebound.runs.resume import files_read, text_options

if TYPE_CHECKING:
    from os import PathLike

    from mistakebound.certificates.certificate import Certificate
    from mistakebound.learners.learner import Learner
    from mistakebound.runs.progress import Position


def write(model: Learner, certificate: Certificate, position: Position, path: str | PathLike[str]) -> None:
    """Write a certificate with all that ``verify`` needs besides the files."""
    need_no_objects(model)
    source, report, ledger = position.source, position.report, model.ledger_
    stream = zip(source.files, files_read(position), strict=False)
    document = portable.document(
        certificate,
        learner=type(model).__name__,
        parameters=describe_parameters(model),
        reading=text_options(source),
        skip_bad=source.skip_bad,
        passes=position.passes,
        stream=[{"file": file, **read} for file, read in stream],
        labels=position.labels_digest,
        ended=position.ended,
        skipped=len(report.skipped) if position.ended and report is not None else None,
        counts=ledger.totals,
        model=fingerprint(model),
    )
    portable.write(document, path)

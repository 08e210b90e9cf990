"""Write a ledger as JSON, and read it back."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from mistakebound._support.lazy import np
from mistakebound._support.schema import parse, to_json
from mistakebound.play.ledger import Counts
from mistakebound.play.ledger_schema import KEPT, LATE, check
from mistakebound.play.measures_json import write_measures
from mistakebound.play.mixing import write_mixing
from mistakebound.play.record import Kept, StoredRecord
from mistakebound.play.standings_json import write_standings

MULTICLASS = ("multiclass-panel", "multiclass-perceptron")
"""The rules whose ledgers ``class_ledger_json`` reads."""

if TYPE_CHECKING:
    from mistakebound.play.ledger import Ledger


def write(ledger: Ledger) -> str:
    """Return a ledger as JSON text."""
    kept, record = ledger.kept, ledger.record
    positive, mistakes = record.predictions(), record.mistake_rounds()
    late = dict(zip(LATE, (each.tolist() for each in record.late()), strict=True))
    measures, standings = ledger.counts.measures, ledger.standings
    optional = {
        "late": late if late["rounds"] else None,
        "measures": None if measures is None else write_measures(measures),
        "standings": None if standings is None else write_standings(standings),
        "mixing": None if ledger.mixing is None else write_mixing(ledger.mixing),
    }
    return json.dumps(
        {
            "counts": ledger.counts.totals,
            "rule": {"id": ledger.rule.id, **{k: _finite(v) for k, v in asdict(ledger.rule).items()}},
            "n": ledger.n,
            "classes": list(map(to_json, ledger.classes)),
            "from_start": ledger.from_start,
            "named": ledger.named,
            "names": ledger.names,
            "predictions": None if positive is None else positive.astype(int).tolist(),
            "mistake_rounds": None if mistakes is None else mistakes.tolist(),
            "kept": {k: np.asarray(v).astype(KEPT[k]).tolist() for k, v in vars(kept).items()},
        }
        | {name: value for name, value in optional.items() if value is not None}
    )


def read(text: str, kind: type[Ledger]) -> Ledger:
    """Return the ledger of this class that ``write`` wrote; raise ModelError if the text is not a valid ledger."""
    data = parse(text, "the ledger")
    rule = data.get("rule")
    if isinstance(rule, dict) and rule.get("id") in MULTICLASS:
        from mistakebound.play.class_ledger_json import read as read_classes  # noqa: PLC0415 - few have several classes

        return read_classes(data)
    fields = check(data)
    return kind(
        Counts.of_core((*fields.counts, None))._replace(measures=fields.measures),
        rule=fields.rule,
        n=fields.n,
        classes=fields.classes,
        from_start=fields.from_start,
        named=fields.named,
        record=StoredRecord(fields.predictions, fields.mistake_rounds, Kept(**fields.kept), fields.late, fields.names),
        standings=fields.standings,
        mixing=fields.mixing,
    )


def _finite(value: object) -> object:
    """Write infinity as text, because JSON has no number for it."""
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value

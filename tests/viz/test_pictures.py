"""Pictures and pages from arrays and plain records."""

from __future__ import annotations

from pathlib import Path

import pytest

import mistakebound as mb
from mistakebound.viz.report import CertificateText, page

FACTS = {
    "files": ["a.svm"],
    "stopped": "",
    "skipped": [],
    "remarks": [],
    "learner": "Perceptron()",
    "classes": (0, 1),
    "rounds": 20,
    "mistakes": 3,
    "false_positives": 1,
    "false_negatives": 2,
    "majority": 1,
    "majority_mistakes": 9,
    "seconds": 0.5,
    "bytes": 1000,
}


def test_ledger_plot(tmp_path: Path) -> None:
    """The steps are the mistakes of the ledger; a finite bound has a line of its own."""
    X, y = mb.streams.panel(n=16, k=3, rounds=200, seed=0)
    learner = mb.Perceptron()
    ledger = learner.run(X, y)
    (axes,) = ledger.plot(learner.certify()).axes
    steps, bound = axes.lines
    assert steps.get_xdata().tolist() == [1, *(ledger.mistake_rounds + 1).tolist(), 200]
    assert steps.get_ydata()[-1] == ledger.mistakes
    assert set(bound.get_ydata()) == {learner.certify().bound}
    (axes,) = ledger.plot().axes
    assert len(axes.lines) == 1
    ledger.plot().savefig(tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_page_takes_plain_records() -> None:
    """Text from files is escaped; without a certificate there is no section for it."""
    facts = FACTS | {"files": ["<b>"], "skipped": ["a.svm:3: <i>"]}
    text = page(facts, [(0, 0), (10, 2), (20, 3)], [("x<y", 0.25)], version="1")
    assert "3 mistakes in 20 rounds" in text
    assert "&lt;b&gt;" in text
    assert "<i>" not in text
    assert "x&lt;y" in text
    assert "Certificate" not in text
    known = CertificateText("holds", "whole stream", "novikoff allows 5 mistakes", ["✓ a premise"], 5.0)
    text = page(facts, [(0, 0), (10, 2), (20, 3)], [], known)
    assert "novikoff allows 5 mistakes" in text
    assert "✓ a premise" in text
    assert "bound of the certificate" in text


@pytest.mark.parametrize("rounds", [0, 1])
def test_page_of_almost_nothing(rounds: int) -> None:
    facts = FACTS | {"rounds": rounds, "mistakes": 0, "majority_mistakes": 0}
    assert "0 mistakes" in page(facts, [(0, 0)] if not rounds else [(0, 0), (1, 0)], [])

"""Probabilities of learners: scorers and displays of scikit-learn use them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mistakebound as mb

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'mistakebound[sklearn]'")

from sklearn.ensemble import StackingClassifier  # noqa: E402
from sklearn.metrics import get_scorer  # noqa: E402
from sklearn.model_selection import cross_val_score  # noqa: E402


@pytest.mark.parametrize("make", [mb.Panel, mb.CoinBetting])
@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score", "roc_auc"])
def test_scorers_that_need_probabilities(make: Any, scoring: str) -> None:
    X, y = mb.streams.margin(n=6, rounds=300, margin=0.1, seed=0)
    scores = cross_val_score(make(), X, y, scoring=scoring, cv=3)
    assert np.isfinite(scores).all()
    assert np.isfinite(get_scorer(scoring)(make().fit(X, y), X, y))


def test_stacking() -> None:
    X, y = mb.streams.margin(n=6, rounds=200, margin=0.1, seed=0)
    stacked = StackingClassifier([("panel", mb.Panel()), ("perceptron", mb.Perceptron())], cv=3).fit(X, y)
    assert stacked.score(X, y) > 0.8


def test_late_outcomes_are_noticed_without_memory_for_them() -> None:
    """A theorem must not be applied to late outcomes, even if ``keep_bytes`` is 0."""
    panel = mb.Panel(classes=(0, 1), keep_bytes=0)
    tickets = [panel.ask([1.0]) for _ in range(60)]
    for ticket in tickets:
        panel.tell(ticket, 0)
    assert panel.ledger_.late > 0
    assert {panel.certify(theorem).status for theorem in ("guarded-weighted-majority", "bayes-mixture")} == {
        "does not apply"
    }
    assert mb.Ledger.from_json(panel.ledger_.to_json()).mistakes == panel.ledger_.mistakes

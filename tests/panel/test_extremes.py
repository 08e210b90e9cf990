"""Finite input never gives a probability, score, loss or weight that is not finite."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from panel_streams import STREAMS, Stream, labels_of, matrix, rows_of
from scipy.sparse import csr_matrix

import mistakebound as mb


def check(panel: mb.Panel, X: Any) -> None:
    """All numbers of a panel are finite, and probabilities are probabilities."""
    standings = panel.standings
    assert np.isfinite([number for each in standings.voters for number in each[1:]]).all()
    assert math.isfinite(standings.log_loss)
    assert sum(each.share for each in standings.voters) == pytest.approx(1.0)
    decisions, chances = panel.decision_function(X), panel.predict_proba(X)
    assert np.isfinite(decisions).all()
    assert ((chances > 0) & (chances < 1)).all()
    assert math.isfinite(panel.ledger_.measures.log_loss)
    state = panel._play.engine.core.__getstate__()
    for part in arrays(state):
        assert not np.isnan(part).any()
        assert np.isinf(part).sum() <= (
            part.dtype == np.float64
        )  # the place without weight has infinitely many mistakes


def arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, (tuple, list)):
        return [array for each in value for array in arrays(each)]
    return [value] if isinstance(value, np.ndarray) and value.dtype.kind == "f" else []


def all_sizes() -> Stream:
    rng = np.random.default_rng(0)
    rows = rows_of(rng, (0, 60), 80, 600, lambda size: rng.choice([-1, 1], size) * 10.0 ** rng.integers(-29, 30, size))
    return rows, labels_of(rng, [[(j, math.copysign(1, x)) for j, x in row] for row in rows])


def tiny_and_huge() -> Stream:
    """The smallest and the largest value that can be learned, in turn, in the same feature."""
    smallest, largest = float(np.nextafter(np.float32(1e-30), np.float32(1))), float(np.float32(9.99e29))
    return [[(0, smallest if t % 2 else largest), (1, -largest)] for t in range(400)], [1, -1, -1, 1] * 100


def one_outlier() -> Stream:
    rows, labels = STREAMS["dense_real"]()
    rows[100] = [(j, 9e29) for j, _ in rows[100]]
    return rows * 3, labels * 3


def wrong_forever() -> Stream:
    """Labels that change as soon as they are learned."""
    return [[(0, 1.0), (1, 1e-20)]] * 900, [1] * 300 + [-1] * 300 + [1, -1] * 150


EXTREMES = {**STREAMS, **{make.__name__: make for make in (all_sizes, tiny_and_huge, one_outlier, wrong_forever)}}


@pytest.mark.parametrize("roster", ["all", "lean"])
@pytest.mark.parametrize("name", EXTREMES)
def test_everything_stays_finite(name: str, roster: str) -> None:
    rows, y = EXTREMES[name]()
    X = matrix(rows)
    panel = mb.Panel(roster, classes=(-1, 1))
    for first in range(0, len(rows), 50):
        panel.run(X[first : first + 50], y[first : first + 50])
        check(panel, X)
    for theorem in ("guarded-weighted-majority", "bayes-mixture"):
        assert panel.certify(theorem).status in {"holds", "vacuous"}


@pytest.mark.parametrize("labels", [[1], [-1], [1, -1]])
def test_a_million_equal_rows(labels: list[int]) -> None:
    rounds = 1_000_000
    X = csr_matrix(
        (np.ones(2 * rounds, np.float32), np.tile(np.array([0, 3], np.int32), rounds), np.arange(0, 2 * rounds + 1, 2)),
        shape=(rounds, 4),
    )
    panel = mb.Panel(classes=(-1, 1))
    ledger = panel.run(X, np.tile(labels, rounds // len(labels)))
    check(panel, X[:1])
    assert ledger.mistakes < 20  # the label history learns labels that alternate
    assert panel.standings.rounds == rounds


def test_a_million_rows_without_features() -> None:
    panel = mb.Panel(classes=(-1, 1))
    ledger = panel.run(csr_matrix((1_000_000, 3), dtype=np.float32), np.tile([1, 1, -1, -1], 250_000))
    check(panel, csr_matrix((1, 3)))
    assert ledger.mistakes < 20


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e31, 1e-31])
def test_what_cannot_be_learned_is_an_error_that_changes_nothing(value: float) -> None:
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    panel, straight = mb.Panel(classes=(-1, 1)), mb.Panel(classes=(-1, 1))
    panel.run(X, [1, -1, 1])
    with pytest.raises(ValueError, match="feature 1"):
        panel.run(np.array([[2.0, value]]), [1])
    with pytest.raises(ValueError, match="feature 1"):
        panel.predict(np.array([[2.0, value]]))
    straight.run(X, [1, -1, 1])
    assert panel.standings == straight.standings
    assert panel.predict_proba(X).tolist() == straight.predict_proba(X).tolist()

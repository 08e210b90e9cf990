"""All ways to predict one example agree: with a threshold, with abstention, and as a dict after a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import mistakebound as mb

if TYPE_CHECKING:
    from pathlib import Path


def stream(rounds: int = 400) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rounds, 4))
    return X, (X[:, 0] + rng.normal(size=rounds) > 0).astype(int)


@pytest.mark.parametrize("options", [{"threshold": 0.2}, {"threshold": 0.8}, {"abstain": 0.2}, {}])
@pytest.mark.parametrize("named", [False, True])
def test_an_explanation_predicts_what_the_panel_predicts(options: dict[str, float], named: bool) -> None:
    X, y = stream()
    rows = [{f"f{k}": float(value) for k, value in enumerate(row)} for row in X] if named else X.tolist()
    panel = mb.Panel(classes=(0, 1), **options)
    panel.run(rows, y)
    predicted = [panel.predict_one(row) for row in rows[:60]]
    assert predicted == [None if each is None else int(each) for each in panel.predict(rows[:60])]
    for label in (None, 0, 1):
        found = [panel.explain_one(row, label=label) for row in rows[:60]]
        assert [each.prediction for each in found] == predicted
    if options:
        plain = mb.Panel(classes=(0, 1))
        plain.run(rows, y)
        assert [plain.predict_one(row) for row in rows[:60]] != predicted


@pytest.mark.parametrize(("labels", "options"), [(2, {}), (2, {"threshold": 0.3}), (3, {})])
def test_a_dict_after_a_table_is_read_like_a_row(labels: int, options: dict[str, float]) -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    size, city = rng.lognormal(9, 3, 300).round(2), rng.choice(["New York", "Rome", "Bonn"], 300)
    frame = pd.DataFrame({"size": size, "city": city, "since": "2024-03-05"})
    y = ((size > 8000).astype(int) + (city == "Rome") * (labels - 2)) % labels
    panels = [mb.Panel(classes=range(labels), **options) for _ in range(2)]
    for panel in panels:
        panel.run(frame[:200], y[:200])
    for row, label in zip(frame[200:].to_dict("records"), y[200:], strict=True):
        panels[0].learn_one(row, label)
    panels[1].run(frame[200:], y[200:])
    dicts = frame.to_dict("records")[:50]
    assert panels[0].ledger_.mistakes == panels[1].ledger_.mistakes
    for panel in panels:
        assert [panel.predict_one(row) for row in dicts] == panel.predict(frame[:50]).tolist()
        found = [list(panel.predict_proba_one(row).values()) for row in dicts]
        assert np.allclose(found, panel.predict_proba(frame[:50]))


@pytest.mark.parametrize("make", [lambda: mb.Panel(abstain=0.2), mb.NaiveBayes, lambda: mb.Panel(threshold=0.3)])
def test_the_ledger_of_dicts_has_measures_like_that_of_arrays_and_files(make: Any, tmp_path: Path) -> None:
    """Also after rounds that were learned before: the measures are those of the rounds of this call."""
    X, y = stream()
    dicts = [{str(k): value for k, value in enumerate(row)} for row in X.tolist()]
    file = tmp_path / "a.svm"
    learners = by_array, by_dict, by_file = [make() for _ in range(3)]
    for part in (slice(0, 250), slice(250, 400)):
        lines = [
            f"{label} " + " ".join(f"{k + 1}:{value}" for k, value in enumerate(row))
            for row, label in zip(X.tolist()[part], y[part], strict=True)
        ]
        file.write_text("\n".join(lines) + "\n")
        ledgers = [by_array.run(X[part], y[part]), by_dict.run(dicts[part], y[part]), by_file.run(mb.Source(file))]
        for ledger in ledgers:
            counted = ledger.measures.confusion(0.5)
            assert sum(counted[1:5]) == ledger.rounds
            assert ledger.measures.log_loss == pytest.approx(ledgers[0].measures.log_loss, rel=0.01)
            assert (ledger.answers is None) == (ledgers[0].answers is None)
            if ledger.answers is not None:
                assert ledger.answers.answered + ledger.answers.abstentions == ledger.rounds
    assert len({learner.ledger_.rounds for learner in learners}) == 1

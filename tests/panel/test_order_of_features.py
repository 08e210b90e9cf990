"""The order of the features of an example does not matter to a panel, except for rounding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from files import call

import mistakebound as mb


def rows(count: int, seed: int = 0) -> tuple[list[dict[str, float]], list[int]]:
    """Return examples of six numbers; the label depends on products of them."""
    values = np.random.default_rng(seed).normal(size=(count, 6)).round(2)
    labels = (values[:, 0] * values[:, 1] > 0).astype(int)
    return [dict(zip("abcdef", row, strict=True)) for row in values.tolist()], labels.tolist()


def test_dicts_in_another_order_have_the_same_probabilities() -> None:
    examples, y = rows(600)
    panel = mb.Panel(classes=(0, 1))
    panel.run(examples, y)
    backwards = [dict(reversed(x.items())) for x in examples]
    assert panel.predict_proba(backwards) == pytest.approx(panel.predict_proba(examples), abs=1e-5)
    alone = mb.Panel(members=["coin-betting-pairs", "adagrad-triples"], classes=(0, 1))
    alone.run(examples, y)
    assert alone.predict_proba(backwards) == pytest.approx(alone.predict_proba(examples), abs=1e-5)
    assert alone.score(examples[300:], y[300:]) > 0.7  # the pairs were learned


def test_a_table_may_have_its_columns_in_another_order(tmp_path: Path) -> None:
    examples, y = rows(400)
    for name, columns in (("a.csv", "abcdef"), ("b.csv", "fedcba")):
        lines = [",".join([*(str(x[c]) for c in columns), str(label)]) for x, label in zip(examples, y, strict=True)]
        (tmp_path / name).write_text("\n".join([",".join([*columns, "y"]), *lines]) + "\n")
    call("run", tmp_path / "a.csv", "--label", "y", "--save", tmp_path / "m.mb")
    same, other = (call("predict", tmp_path / "m.mb", tmp_path / name).split() for name in ("a.csv", "b.csv"))
    assert same == other

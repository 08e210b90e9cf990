"""The Panel in plain Python, without the changes that make it fast, on real data sets: round by round as the recipe.

``benchmarks/check_panel_fidelity.py`` does the same for all twelve sets and more rounds, which takes minutes.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from files import data

ROUNDS = 500
QUICK = ("rcv1_small", "sms_spam", "mushroom", "house_votes_84", "elec2", "monks1", "monks2", "monks3")


def script() -> Any:
    path = Path(__file__).parents[2] / "benchmarks" / "check_panel_fidelity.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", QUICK)
def test_scores_logits_and_predictions_of_the_recipe(name: str) -> None:
    path, check = data("../panel_spec.py"), script()
    rows, labels = check.load(name, ROUNDS, path.parent / "data")
    worst, at = check.largest_difference(check.module(path), rows, labels)
    assert worst <= check.TOLERANCE, at


def test_the_changes_that_make_it_fast_are_seen() -> None:
    path, check = data("../panel_spec.py"), script()
    rows, labels = check.load("monks1", ROUNDS, path.parent / "data")
    assert check.largest_difference(check.module(path), rows, labels, check.ReferencePanel)[0] > 0.01

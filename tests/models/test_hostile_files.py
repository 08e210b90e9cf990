"""Some changed ledgers, models, caches and certificates; ``python tests/hostile.py`` makes more of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile import KINDS, attack

COUNTS = {
    "ledger": 200,
    "model": 80,
    "panel": 120,
    "panel ledger": 120,
    "class panel": 60,
    "class ledger": 80,
    "state": 60,
    "cache": 50,
    "certificate": 120,
}


@pytest.mark.parametrize(("name", "count"), COUNTS.items())
def test_forged_files_are_refused_or_harmless(name: str, count: int, tmp_path: Path) -> None:
    found = attack(name, count, 0, tmp_path)
    assert found.total() == count
    assert min(found["refused"], found["harmless"]) > 0


def test_every_kind_is_tried() -> None:
    assert {"ledger", "model", "experts", "cache", "certificate"} <= set(KINDS)

"""Tables with very many columns. A cost that is quadratic in the columns would take minutes at this size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from mistakebound._core import parse_table
from mistakebound.data.columns import read_columns
from mistakebound.data.tables import separator_of
from mistakebound.experts.comparison.advice import ColumnChoice, advice_of
from mistakebound.experts.comparison.class_columns import distinct, grouped
from mistakebound.hindsight.oracles import best_linear

if TYPE_CHECKING:
    from pathlib import Path

WIDE = 200_000
NAMES = [f"column{number}" for number in range(WIDE)]


def wide_table(last: str) -> bytes:
    return f"{','.join(NAMES)}\n{','.join(['1'] * (WIDE - 1))},{last}\n".encode()


def test_a_header_of_many_columns() -> None:
    ignored = NAMES[: WIDE // 2]
    rows, bads, columns = parse_table(wide_table("2"), label=NAMES[-1], ignore=ignored)
    assert not bads
    assert columns == NAMES
    ((label, features, line),) = rows
    assert (label, len(features), line) == ("2", WIDE // 2 - 1, 2)


def test_two_of_many_columns_have_one_name() -> None:
    with pytest.raises(ValueError, match="'column7'"):
        parse_table(f"{','.join(NAMES)},column7\n".encode())


def test_a_header_with_many_columns_is_detected() -> None:
    assert separator_of(wide_table("2"), ";", NAMES) == ","


def test_many_columns_are_read_and_found_by_name(tmp_path: Path) -> None:
    file = tmp_path / "wide.csv"
    file.write_bytes(wide_table("2"))
    frame = read_columns(file, NAMES, table={"header": True})
    assert frame.names == NAMES
    assert frame.column(NAMES[-1]).tolist() == [2.0]
    assert frame.name(str(WIDE)) == NAMES[-1]
    with pytest.raises(ValueError, match="'colum'") as error:
        frame.name("colum")
    assert error.value.kind == "unknown column"
    assert len(str(error.value)) < 1000
    ignored = ColumnChoice(ignore=(",".join(NAMES[: WIDE // 2]),))
    advice = advice_of(frame, NAMES[-1], ignored)
    assert advice.names == NAMES[WIDE // 2 : -1]
    chosen = advice_of(frame, NAMES[-1], ColumnChoice(experts=NAMES[:-1]))
    assert np.array_equal(chosen.forecasts, np.ones((1, WIDE - 1)))


def test_names_and_classes_of_many_columns() -> None:
    assert distinct(NAMES) == NAMES
    with pytest.raises(ValueError, match="'column3'") as error:
        distinct([*NAMES, "column3"])
    assert error.value.kind == "named twice"
    whole, partly = grouped([f"{name}_{each}" for name in NAMES for each in "ab"] + ["only_a"], ["a", "b"])
    assert list(whole) == NAMES
    assert partly == ["only_a"]


def test_the_best_linear_combination_of_far_more_experts_than_rounds() -> None:
    """The cost must not be cubic in the number of experts."""
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(3, 20_000)) * 10.0 ** rng.integers(-3, 4, 20_000), rng.normal(size=3)
    best = best_linear(rows, y)
    assert best.weights == pytest.approx(np.linalg.pinv(rows) @ y, rel=1e-6, abs=1e-12)
    assert best.total < 1e-20

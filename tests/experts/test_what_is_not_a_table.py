"""Something that is not a table is passed: the error names what to pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mistakebound as mb


@pytest.mark.parametrize("table", [np.eye(2), mb.Source("a.csv"), [[0.5, 0.7]], [], 3])
def test_something_that_is_not_a_table_is_rejected(table: Any) -> None:
    wanted = rf"path.*DataFrame.*dict.* {type(table).__name__}$"
    with pytest.raises(TypeError, match=wanted):
        mb.experts.compare(table, "load")
    with pytest.raises(TypeError, match=wanted):
        mb.forecasters.compare(table, outcome="rain")


def test_a_file_of_forecasters_needs_the_column_of_outcomes() -> None:
    for y in (None, "rain", [1, 0]):
        with pytest.raises(TypeError, match=r"outcome.*rain\.csv"):
            mb.forecasters.compare("rain.csv", y)
    with pytest.raises(TypeError, match=r"header.*outcome"):
        mb.forecasters.compare([[0.5], [0.7]], [1, 0], header=True)

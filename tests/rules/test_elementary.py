"""e^x, ln x and the logistic function in plain Python: accurate, and with the bits of the core's vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mistakebound import _core
from mistakebound.rules.logistic import exp, ln, sigmoid

NUMBERS = np.concatenate(
    [
        10.0 ** np.random.default_rng(0).uniform(-300, 300, 2000),
        np.random.default_rng(1).uniform(0.5, 2.0, 2000),
        [
            1.0,
            math.sqrt(2.0),
            math.sqrt(0.5),
            np.nextafter(math.sqrt(2.0), 2),
            2.2250738585072014e-308,
            1.7e308,
            2.0,
            0.5,
        ],
    ]
)


def test_ln() -> None:
    found = [ln(float(x)) for x in NUMBERS]
    assert found == pytest.approx(np.log(NUMBERS), rel=4e-16, abs=4e-16)
    assert ln(1.0) == 0.0
    assert found == _core.elementwise("log", NUMBERS, "plain").tolist()


def test_exp() -> None:
    x = np.random.default_rng(0).uniform(-700, 700, 4000)
    x = x[np.abs(x) > 1 / 32]  # vectors use another formula for smaller exponents
    found = [exp(float(each)) for each in x]
    assert found == pytest.approx(np.exp(x), rel=4e-16)
    assert found == _core.elementwise("exp", x, "plain").tolist()


def test_the_logistic_function() -> None:
    x = np.random.default_rng(0).uniform(-49, 49, 2000)
    assert [sigmoid(float(each)) for each in x] == pytest.approx(1 / (1 + np.exp(-x)), rel=4e-16)
    assert [sigmoid(each) + sigmoid(-each) for each in (0.0, 1.0, 30.0)] == [1.0] * 3
    assert sigmoid(1e300) == 1.0
    assert sigmoid(-1e300) == sigmoid(-50.0) > 0

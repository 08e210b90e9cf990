"""For losses of any size, core and specification agree or both reject the round, and no weight is NaN."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from expert_streams import CASES, both, same, uneven

import mistakebound as mb
from mistakebound import _core
from mistakebound.aggregation import reference
from mistakebound.errors import StreamError

SCALES = [
    10.0**e for e in (-300, -160, -151, -150, -149, -140, -136, -130, -80, -75, -70, 70, 74, 76, 80, 149, 151, 300)
]
EXPERTS = [
    mb.experts.MLPoly,
    mb.experts.MLEwa,
    mb.experts.AdaHedge,
    mb.experts.Squint,
    mb.experts.OGD,
    mb.experts.Hedge,
    lambda **more: mb.experts.Hedge(eta=0.5, **more),
    mb.experts.BOA,
    lambda **more: mb.experts.BOA(rates="proved", **more),
    mb.experts.MLProd,
    lambda **more: mb.experts.FixedShare(eta=0.5, alpha=0.1, **more),
    mb.experts.ExponentiallyWeightedAverage,
]


def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.random((30, 5)) + 0.1, rng.random(30) + 0.1


def check_equal(core: Any, spec: Any, ours: Any, theirs: Any, scale: float) -> None:
    (said, fault), (expected, why) = ours, theirs
    assert (fault is None) == (why is None), (fault, why)
    if fault is not None:
        assert fault.round == why.round == len(said) == len(expected)
        assert "expert" in str(fault)
        assert "expert" in str(why)
    np.testing.assert_allclose(np.array(said) / scale, np.array(expected) / scale, rtol=1e-6, atol=1e-9)
    for weights in (core.weights(), spec.weights()):
        assert np.isfinite(weights).all()
    np.testing.assert_allclose(core.weights(), spec.weights(), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("rule_parameters", CASES, ids=str)
@pytest.mark.parametrize("loss", ["given", "square", "absolute", "pinball:0.2", "percentage"])
def test_core_and_specification_agree_at_every_scale(rule_parameters: Any, loss: str) -> None:
    A, y = rows()
    for scale in SCALES:
        for gradient in (True, False):
            core, spec = both(*rule_parameters, "square" if loss == "given" else loss, uneven(5), gradient=gradient)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                if loss == "given":
                    ours, theirs = core.run_losses(A * scale), spec.run_losses(A * scale)
                else:
                    ours, theirs = core.run(A * scale, y * scale)[::2], spec.run(A * scale, y * scale)[::2]
            check_equal(core, spec, ours, theirs, scale)


@pytest.mark.parametrize("make", EXPERTS)
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-100, 1e-80, 1e80, 1e100, 1e160])
@pytest.mark.parametrize("loss", ["square", "absolute"])
def test_a_learner_mixes_or_raises(make: Any, scale: float, loss: str) -> None:
    """A rejected round is named with its expert, and changes nothing."""
    A, y = rows()
    learner, untouched = make(loss=loss), make(loss=loss)
    for each in (learner, untouched):
        each.run(A[:10], y[:10])
    try:
        learner.run(A[10:] * scale, y[10:] * scale)
    except StreamError as error:
        assert error.round == 0  # noqa: PT017
        assert "expert" in str(error)  # noqa: PT017
        assert learner.weights_.tolist() == untouched.weights_.tolist()
        assert learner.ledger_.rounds == 10
        assert learner.run(A[10:], y[10:]).predictions.tolist() == untouched.run(A[10:], y[10:]).predictions.tolist()
    assert np.isfinite(learner.weights_).all()


@pytest.mark.parametrize("make", EXPERTS)
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-140, 1e-130, 1e149, 1e151])
def test_losses_alone(make: Any, scale: float) -> None:
    A, _ = rows()
    learner = make()
    try:
        assert np.isfinite(learner.run_losses(A * scale)).all()
    except StreamError as error:
        assert error.round == 0  # noqa: PT017
        assert "expert" in str(error)  # noqa: PT017
        assert not 1e-130 <= scale <= 1e149
        assert learner.ledger_.rounds == 0
    else:
        assert np.isfinite(learner.weights_).all()
        assert learner.certify().status != "violated"


@pytest.mark.parametrize("make", EXPERTS)
def test_losses_of_zero(make: Any) -> None:
    learner = make()
    learner.run(np.zeros((5, 3)), np.zeros(5))
    assert learner.weights_ == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("rule_parameters", CASES, ids=str)
def test_tiny_probabilities_are_accepted(rule_parameters: Any) -> None:
    """The log loss has a unit, so very small losses are accepted."""
    A = np.array([[1e-200, 1e-300, 3e-180], [0.2, 0.4, 0.6]] * 3)
    core, spec = both(*rule_parameters, "log", uneven(3), gradient=True)
    ours, theirs = core.run(A, np.zeros(6)), spec.run(A, np.zeros(6))
    assert ours[2] is theirs[2] is None
    np.testing.assert_allclose(core.weights(), spec.weights(), rtol=1e-6, atol=1e-9)


def test_the_limits_are_those_of_the_core() -> None:
    assert (reference.LARGEST, reference.LEAST, reference.LEAST_LOSS) == (1e150, 1e-150, 1e-135)
    assert _core.loss_limits() == (reference.LARGEST, reference.LEAST, reference.LEAST_LOSS)


def test_a_rejected_round_leaves_the_core_unchanged() -> None:
    A, y = rows()
    for scale in (1e-160, 1e160):
        core, good = (both("ml-poly", {}, "absolute", uneven(5), gradient=False)[0] for _ in range(2))
        for each in (core, good):
            each.run(A[:5], y[:5])
            each.serve(A[5])
        assert core.run(A[5:] * scale, y[5:] * scale)[2].round == 0
        core.serve(A[5])
        assert same(core, good)

"""Traces of each rule, computed by hand: predictions and state, round by round, including ties.

A trace has the rule's parameters, rounds (x, y), the predictions (+ or -) and z at the end (the constant feature last).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from mistakebound.rules.reference import float32


@dataclass(frozen=True)
class Trace:
    """One stream with its results, computed by hand."""

    rule: str
    rounds: list[tuple[tuple[float, ...], int]]
    predictions: str
    z: tuple[float, ...]
    parameters: dict[str, Any] = field(default_factory=dict)
    scores: dict[tuple[float, ...], float] = field(default_factory=dict)
    """Normalised scores of some examples at the end."""
    more: list[tuple[float, ...]] = field(default_factory=list)
    """The other floats of each feature at the end, if the rule keeps more than z."""


LN2 = math.log(2)  # e^{z ln 2} = 2^z, so weights are powers of two
LN3, LN5 = math.log(3), math.log(5)
BIG = 2.0**20  # the square of a gradient of this size makes AdaGrad's first sum 1e-8 vanish
AHEAD = 64.0  # a score of 50 or more: the gradient of logistic loss is 0 in float32, or 1 on a mistake


def root(reach: float) -> float:
    """Return the h with h = 1/(1 + e^(reach·h)), by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle < 1 / (1 + math.exp(reach * middle)) else (low, middle)
    return low


H1, H2 = root(0.5), root(math.sqrt(0.5))
"""Implicit steps with x = 2·BIG and the rate 1/(8·BIG): with G = BIG², rate·D = rate·x²/√G = ½; with two
such features and G = 2·BIG², √½."""

TRACES = [
    # scores: 0 (tie, predicts +), -1, 0 (tie), 2, -1, 0 (tie)
    Trace(
        "perceptron",
        [((1, 0), -1), ((1, 1), 1), ((1, 0), 1), ((0, 2), -1), ((1, 1), -1), ((3, 0), 1)],
        "+-++-+",
        (0, -1),
        scores={(5, 2): -2},
    ),
    # the constant feature: scores 0, 2 - 1 = 1, and 2 - 2 = 0 (tie)
    Trace("perceptron", [((2,), -1), ((-1,), -1), ((-2,), 1)], "+++", (-1, -2), {"bias": 1}),
    # update margin 1: 0 <= 1 update, 1 <= 1 update, 2 > 1 none, 0.5 <= 1 update; all predicted right
    Trace("perceptron", [((1,), 1), ((1,), 1), ((1,), 1), ((-0.25,), -1)], "+++-", (2.25,), {"update_margin": 1}),
    # theta = 4: sums 2, 4 (tie: 1), 4 (tie), 2, 1, 2, 4 (tie), 5, 2.5
    Trace(
        "winnow",
        [
            ((1, 1, 0, 0), 1),
            ((1, 1, 0, 0), 0),
            ((1, 1, 1, 1), 1),
            ((0, 0, 1, 1), 0),
            ((0, 0, 1, 0), 1),
            ((0, 0, 1, 0), 1),
            ((0, 0, 1, 0), 1),
            ((1, 0, 1, 0), 0),
            ((1, 0, 1, 0), 0),
        ],
        "-++---++-",
        (-1, 0, 1, 0),
        {"theta": 4.0},
        scores={(1, 1, 1, 1): 4.5},
    ),
    # strict: a sum of exactly 4 predicts 0, so the second round is right
    Trace(
        "winnow",
        [((1, 1, 0, 0), 1), ((1, 1, 0, 0), 0), ((1, 1, 1, 1), 1), ((1, 0, 1, 1), 1)],
        "--+-",
        (2, 1, 1, 1),
        {"theta": 4.0, "strict": True},
    ),
    # alpha = 3, theta = 9: sums 2, 6, 10, 9 (tie) and the demotion divides by 3
    Trace(
        "winnow",
        [((1, 1), 1), ((1, 1), 1), ((0, 1), 0), ((0, 1), 1)],
        "--+-",
        (2, 2),
        {"alpha": 3.0, "theta": 9.0},
    ),
    # weights 2^z: sums 1, -1, 2, 0 (tie), 0 (tie)
    Trace(
        "normalized-winnow",
        [((1, 1, -1), -1), ((1, 1, -1), -1), ((1, -1, 1), -1), ((0, 1, -1), 1), ((0, 1, -1), -1)],
        "+-+++",
        (-2, -1, 1),
        {"eta": LN2},
        scores={(1, 0, 0): 1 / 11, (1, 1, 1): 1.0},
    ),
    # update margin 1/2 on normalised weights: 1/2 <= 1/2 update, then 2/3 > 1/2
    Trace("normalized-winnow", [((1, 0), 1), ((1, 0), 1)], "++", (1, 0), {"eta": LN2, "update_margin": 0.5}),
    # eta = infinity: the leaders are all four; {2,3}; {3}; then z = (-1,-1,1,1) and {2,3} tie again
    Trace(
        "normalized-winnow",
        [
            ((1, 1, -1, -1), -1),
            ((1, 1, 1, -1), -1),
            ((1, 1, 1, -1), -1),
            ((-1, -1, -1, 1), -1),
            ((1, 1, 1, -1), 1),
        ],
        "++-++",
        (-1, -1, 1, 1),
        {"eta": math.inf},
        scores={(1, 1, 1, 0): 0.5},
    ),
    # sinh(z ln 2) is 0.75 at 1, 1.875 at 2: scores 0 (tie), 0 (tie), -0.75, 0 (tie)
    Trace(
        "balanced-winnow",
        [((1, -1), -1), ((1, 1), 1), ((2, 1), 1), ((-5, 2), -1)],
        "++-+",
        (6, 0),
        {"eta": LN2},
    ),
    # cosh(z ln 2) is 1.25 at 1: with z = (-1, 1) the normaliser is 2.5
    Trace("balanced-winnow", [((1, -1), -1)], "+", (-1, 1), {"eta": LN2}, scores={(1, 0): -0.3, (0, 1): 0.3}),
    # update margin 0.3: score 0 <= 0.3 update, then 0.75/(1.25 + 1) = 1/3 > 0.3
    Trace("balanced-winnow", [((1, 0), 1), ((1, 0), 1)], "++", (1, 0), {"eta": LN2, "update_margin": 0.3}),
    # the same, but 0.375/2.25 = 1/6 <= 0.3: the normaliser decides
    Trace("balanced-winnow", [((1, 0), 1), ((0.5, 0), 1)], "++", (1.5, 0), {"eta": LN2, "update_margin": 0.3}),
    # eta = infinity: z = (-1, 1) both lead; z = (1, 2): the second alone
    Trace(
        "balanced-winnow",
        [((1, -1), -1), ((2, 1), 1), ((5, -1), 1)],
        "+--",
        (6, 1),
        {"eta": math.inf},
        scores={(1, 1): 1.0},
    ),
    # p = 3, weights sign(z) z^2: scores 0 (tie), -4 + 4 = 0 (tie), -25 + 20 = -5 twice
    Trace(
        "pnorm",
        [((1, 2), -1), ((4, -1), -1), ((1, -20), -1), ((1, -20), 1)],
        "++--",
        (-4, -21),
        {"p": 3.0},
    ),
    Trace("pnorm", [((1, 2), -1)], "+", (-1, -2), {"p": 3.0}, scores={(1, 0): -1 / 9 ** (1 / 3)}),
    # update margin 1/2 on the normalised link: z = 2 gives weight 4/2 = 2, and 2*0.2 = 0.4 <= 1/2
    Trace("pnorm", [((2, 0), 1), ((0.25, 0), 1)], "++", (2.25, 0), {"p": 3.0, "update_margin": 0.5}),
    # removes 0 and 1; then right; right; a mistake on a positive changes nothing; removes 2; right
    Trace(
        "elimination",
        [
            ((1, 1, 0, 0), 0),
            ((1, 1, 0, 0), 0),
            ((0, 1, 1, 0), 1),
            ((1, 0, 0, 0), 1),
            ((0, 0, 1, 0), 0),
            ((0, 0, 0, 1), 1),
        ],
        "+-+-++",
        (-1, -1, -1, 0),
    ),
    # r = 1, scores 0 (tie), 0 (tie: right, but updated), 0 (tie), -3 (beyond the margin) and 1 (at the margin):
    # the last two cause no update. v = 1 in the others, hence beta = 1/2; variances 1, 1/2, 3/8.
    Trace(
        "arow",
        [((1, 0), -1), ((0, 1), 1), ((1, 1), -1), ((4, 0), -1), ((0, 4), 1)],
        "+++-+",
        (-0.75, 0.25),
        scores={(2, 2): -1.0},
        more=[(0.375,), (0.375,)],
    ),
    # r = 2 and the constant feature: scores 0 (tie), v = 2, beta = 1/4; then 5/4 - 1/4 = 1, at the margin
    Trace("arow", [((1,), -1), ((-5,), 1)], "++", (-0.25, -0.25), {"r": 2.0, "bias": 1.0}, more=[(0.75,), (0.75,)]),
    # r = 4: v = 4, beta = 1/8, w = 1/4, variance 1/2; then score -1 for a positive: loss 2, v = 8 + 4, beta = 1/16
    Trace("arow", [((2, 0), 1), ((-4, 2), 1)], "+-", (0, 0.25), {"r": 4.0}, more=[(0.25,), (0.75,)]),
    # c = 1: losses 1, 0, 1.5 (step limited to c), 1, 1 (tie: right, but updated) and 0; norms² 4, 4, 1, 4, 8 and 16
    Trace(
        "passive-aggressive-i",
        [((2, 0), 1), ((2, 0), 1), ((1, 0), -1), ((0, 2), -1), ((2, -2), 1), ((4, 0), -1)],
        "+++++-",
        (-0.25, -0.75),
        scores={(2, 2): -2.0},
    ),
    # c = 1/4 limits the first step; an example without features is a mistake that changes nothing; 5/4 - 1/4 = 1
    Trace("passive-aggressive-i", [((1,), -1), ((-5,), 1)], "++", (-0.25, -0.25), {"c": 0.25, "bias": 1.0}),
    Trace("passive-aggressive-i", [((0,), -1), ((2,), -1)], "++", (-0.5,)),
    # c = 1/2, so 1/(2c) = 1: losses 1, 1/2 (right, but updated), 1 (tie), 1 (tie: 2·3/4 = 3·1/2), norms² 1, 1, 1, 13
    Trace(
        "passive-aggressive-ii",
        [((1, 0), -1), ((1, 0), -1), ((0, 1), 1), ((2, 3), -1)],
        "+-++",
        (float32(-0.75 - 2 / 14), float32(0.5 - 3 / 14)),
        {"c": 0.5},
        scores={(14, 14): -14 * 0.25 - 5.0},
    ),
    # c = 1: 1/(2c) = 1/2: the first step is 1/(1.5 + 0.5) with the constant feature, whose value² is 1/2
    Trace("passive-aggressive-ii", [((1,), 1)], "+", (0.5, float32(0.5**1.5)), {"bias": 0.5**0.5}),
    # The mean and w disagree in round 4 (a mistake without an update) and in round 5 (an update without a mistake):
    # w before each round 0, -1, -1, 0, 0, -2; a 0, -1, -1, 2, 2, -8; mean 0 (tie), -1/2, -2/3, -1/2, -2/5, (0, tie)
    Trace(
        "averaged-perceptron",
        [((1, 0), -1), ((1, 0), -1), ((1, 0), 1), ((1, 0), 1), ((2, 0), -1), ((0, 1), 1)],
        "+----+",
        (-2, 0),
        scores={(7, 1): -6.0},
        more=[(-8,), (0,)],
    ),
    # the constant feature: means 0 (tie); 1 - 1/2; 1 - 1 (tie: right), while w gives 1 - 2, a mistake of its own
    Trace(
        "averaged-perceptron",
        [((2,), -1), ((-1,), -1), ((-1,), 1)],
        "+++",
        (-2, -1),
        {"bias": 1.0},
        scores={(4,): -4 * 1.25 - 1.0},
        more=[(-3,), (0,)],
    ),
    # rate 1/2: gradients of size 1/2 at scores 0 (ties), then a right answer far ahead (no change) and a mistake (1)
    Trace(
        "logistic-sgd",
        [((4, 0), -1), ((0, 4), 1), ((2, 2), -1), ((1, 3), 1), ((AHEAD, 0), -1), ((AHEAD, 0), 1)],
        "++++--",
        (30.75, 1.25),
        {"rate": 0.5},
        scores={(1, 1): 32.0},
    ),
    Trace("logistic-sgd", [((2,), -1)], "+", (-0.25, -0.0625), {"rate": 0.25, "bias": 0.5}),
    # alpha 1/2, beta 0.3: gradients -2, 2, then (tie) -1/2 for both, then a right answer far ahead, and a mistake
    Trace(
        "ftrl-proximal",
        [((4, 0), -1), ((0, 4), 1), ((1, 1), -1), ((2 * AHEAD, 0), -1), ((2 * AHEAD, 0), 1)],
        "+++--",
        (
            float32(float32(float32(-1 / 2.3) - 0.25 / (0.3 + math.sqrt(4.25))) + AHEAD / (0.3 + math.sqrt(16388.25))),
            float32(float32(1 / 2.3) - 0.25 / (0.3 + math.sqrt(4.25))),
        ),
        {"alpha": 0.5},
        more=[(16388.25,), (4.25,)],
    ),
    # eta 2: exponents -4, 4, then (tie) -1 for both; right and far ahead: no change; mistakes: +8, -128 (limited: -20)
    Trace(
        "exponentiated-gradient",
        [((4, 0), -1), ((0, 4), 1), ((1, 1), -1), ((AHEAD, 0), -1), ((4, 0), 1), ((AHEAD, 0), -1)],
        "+++--+",
        (-20, 3),
        {"eta": 2.0},
        scores={(0, 1): 0.5 * math.sinh(3)},
    ),
    # bets of 1/2 of the wealth 1; round 3 (tie) rewards feature 0 with 1/4, and feature 1 loses a bet without a reward;
    # round 4 is right and far ahead: only the largest gradient grows, to half of x; round 5 costs all of the reward
    Trace(
        "coin-betting",
        [((2, 0), -1), ((0, 2), 1), ((1, 1), -1), ((256, 0), -1)],
        "+++-",
        (float32(-1.5 / 129.5 * (1 + 0.25 / 128)), float32(0.2)),
        scores={(0, 10): 2.0},
        more=[(-1.5, 1.5, 0.25, 128), (0.5, 1.5, 0, 1)],
    ),
    Trace(
        "coin-betting",
        [((2, 0), -1), ((0, 2), 1), ((1, 1), -1), ((256, 0), -1), ((BIG / 64, 0), 1)],
        "+++--",
        (float32(16382.5 / 32769.5), float32(0.2)),
        more=[(16382.5, 16385.5, 0, 16384), (0.5, 1.5, 0, 1)],
    ),
    # rate 2: steps of 2 in rounds 1 and 2, then (tie) 2/√2, because G has doubled; the last is right and far ahead
    Trace(
        "adagrad-logistic",
        [((BIG * 2, 0), -1), ((0, BIG * 2), 1), ((BIG * 2, BIG * 2), -1), ((BIG, 0), -1)],
        "+++-",
        (float32(-2 - math.sqrt(2)), float32(2 - math.sqrt(2))),
        {"rate": 2.0},
        more=[(BIG * BIG * 2,), (BIG * BIG * 2,)],
    ),
    # rate r: steps of 2rh, h = H1, in rounds 1 and 2, then (tie) of √2·rh, h = H2; the last is right and far ahead
    Trace(
        "implicit-logistic",
        [((BIG * 2, 0), -1), ((0, BIG * 2), 1), ((BIG * 2, BIG * 2), -1), ((BIG * 1024, 0), -1)],
        "+++-",
        (
            float32(float32(-2 * H1 / (8 * BIG)) - math.sqrt(2) * H2 / (8 * BIG)),
            float32(float32(2 * H1 / (8 * BIG)) - math.sqrt(2) * H2 / (8 * BIG)),
        ),
        {"rate": 1 / (8 * BIG)},
        more=[(BIG * BIG * 2,), (BIG * BIG * 2,)],
    ),
    # losses 1, 0 (at the margin), 1, 1 (tie): steps that move the score to 1, exactly
    Trace(
        "adagrad-hinge",
        [((BIG, 0), -1), ((BIG, 0), -1), ((0, BIG), 1), ((BIG, BIG), -1)],
        "+-++",
        (-1.5 / BIG, 0.5 / BIG),
        scores={(BIG, BIG): -1.0},
        more=[(BIG * BIG * 2,), (BIG * BIG * 2,)],
    ),
    # rate 1/4 limits both steps: 1/4 and, with G = 2, 1/4 of 1/√2; the second prediction is right, with loss 3/4
    Trace(
        "adagrad-hinge",
        [((1,), -1), ((1,), -1)],
        "+-",
        (float32(-0.25 - 0.25 / math.sqrt(2)),),
        {"rate": 0.25},
        more=[(2,)],
    ),
    # prior 0 (tie); ln(1/2), a mistake; 0 (tie); then π = 2/5: prior ln(2/3), evidence ln(3/8) and ln(7/2): a mistake
    Trace(
        "naive-bayes",
        [((1, 0, 0), -1), ((0, 1, 0), 1), ((0, 0, 1), -1), ((2, -1, 0), 1)],
        "+-+-",
        (1, 2, 0),
        scores={(1, 0, 0): 0.0, (0, -3, 0): 3 * LN5, (1, 1, 2): LN5 - 2 * LN3, (0, 0, 0): 0.0},
        more=[(1,), (0,), (1,)],
    ),
    # 48 features count as 24: π = 2/3, the evidence of each is ln 5 - ln 2
    Trace(
        "naive-bayes",
        [((1,) * 48, 1)],
        "+",
        (1,) * 48,
        scores={(1,) * 48: LN2 + 24 * (LN5 - LN2), (1,) * 24 + (0,) * 24: LN2 + 24 * (LN5 - LN2), (0,) * 48: LN2},
    ),
    # the same counts; the stronger evidence ln(7/2) decides the last round, which is right
    Trace(
        "decision-list",
        [((1, 0, 0), -1), ((0, 1, 0), 1), ((0, 0, 1), -1), ((2, -1, 0), 1)],
        "+-++",
        (1, 2, 0),
        scores={(1, 9, 0): LN5, (5, 0, 1): -LN3, (0, 1, 1): (LN5**5 - LN3**5) / (LN5**4 + LN3**4), (1, 0, 0): 0.0},
        more=[(1,), (0,), (1,)],
    ),
]

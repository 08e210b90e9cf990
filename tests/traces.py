"""Traces of each rule, computed by hand: predictions and state, round by round, including ties.

A trace has the rule's parameters, rounds (x, y), the predictions (+ or -) and z at the end (the constant feature last).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any


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
]

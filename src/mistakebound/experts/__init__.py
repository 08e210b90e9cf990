"""Prediction with expert advice: mistake-bound rules for labels, and rules that mix forecasts.

>>> import mistakebound as mb
>>> mixer = mb.experts.MLPoly(loss="absolute")
>>> mixer.learn_one({"Alice": 20.0, "Bob": 25.0}, 21.0)
>>> mixer.predict_one({"Alice": 18.0, "Bob": 22.0, "Carol": 19.0})
18.0
"""

from __future__ import annotations

from mistakebound.experts.aggregation import Aggregation
from mistakebound.experts.calibrated import ExponentiallyWeightedAverage, FixedShare, Ridge
from mistakebound.experts.guarded import Guarded
from mistakebound.experts.majority import Halving, RandomizedWeightedMajority, WeightedMajority
from mistakebound.experts.mixtures import (
    BOA,
    OGD,
    AdaHedge,
    Hedge,
    MLEwa,
    MLPoly,
    MLProd,
    Squint,
)
from mistakebound.play.tickets import Asked

from mistakebound.experts.comparison import Comparison, compare  # isort: skip - it imports the learners from here

__all__ = [
    "BOA",
    "OGD",
    "AdaHedge",
    "Aggregation",
    "Asked",
    "Comparison",
    "ExponentiallyWeightedAverage",
    "FixedShare",
    "Guarded",
    "Halving",
    "Hedge",
    "MLEwa",
    "MLPoly",
    "MLProd",
    "RandomizedWeightedMajority",
    "Ridge",
    "Squint",
    "WeightedMajority",
    "compare",
]

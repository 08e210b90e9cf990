"""Compare forecasters: their scores, and a confidence sequence for the difference of each pair.

>>> import mistakebound as mb
>>> report = mb.forecasters.compare({"Alice": [0.7, 0.2], "Bob": [0.8, 0.4]}, [1, 0])
>>> list(report.scores)
['Alice', 'Bob']
"""

from mistakebound.forecasters.calibration import Decomposition, Reliability, brier, decompose, log_score, reliability
from mistakebound.forecasters.comparison import compare
from mistakebound.forecasters.confidence_sequence import ConfidenceSequence
from mistakebound.forecasters.pairwise import PairwiseStanding
from mistakebound.forecasters.verdict import Forecaster, Pair, Report

__all__ = [
    "ConfidenceSequence",
    "Decomposition",
    "Forecaster",
    "Pair",
    "PairwiseStanding",
    "Reliability",
    "Report",
    "brier",
    "compare",
    "decompose",
    "log_score",
    "reliability",
]

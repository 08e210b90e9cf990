"""Linear learners that count how often each feature occurred with each label: `NaiveBayes` and `DecisionList`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from mistakebound.learners.learner import KEEP_BYTES, Learner

if TYPE_CHECKING:
    from collections.abc import Sequence


class NaiveBayes(Learner):
    """Naive Bayes: the log odds of the label, plus the evidence of each feature that occurs, times its size.

    It suits words and categories. It ignores the sign of a value, and the evidence of an example with more than 24
    features counts as that of 24 features. ``weights_`` is the evidence, and ``intercept_`` the log odds of the label.
    Its score is the log odds of the positive label. No mistake bound is known for it, and ``certify`` raises
    ValueError: see docs/theory.md, "Naive Bayes".

    Parameters
    ----------
    classes, keep_bytes
        As for ``CoinBetting``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> learner = mb.NaiveBayes(classes=("ham", "spam"))
    >>> ledger = learner.run([{"prize"}, {"lunch"}, {"prize", "today"}, {"lunch", "today"}] * 5, ["spam", "ham"] * 10)
    >>> ledger.mistakes, learner.predict_one({"prize"}), learner.predict_one({"lunch"})
    (2, 'spam', 'ham')
    """

    rule_id: ClassVar[str] = "naive-bayes"
    _poor_score: ClassVar[bool] = True  # on dense numbers, where every feature occurs with every label

    def __init__(self, *, classes: Sequence[Any] | None = None, keep_bytes: int = KEEP_BYTES) -> None:
        self.classes = classes
        self.keep_bytes = keep_bytes


class DecisionList(Learner):
    """A soft decision list: it follows the features with the strongest evidence, and ignores their values.

    It suits words and categories, if a few of them decide. ``weights_`` is the evidence of each feature, and
    ``intercept_`` the log odds of the label. Its score is the log odds of the positive label. No mistake bound is known
    for it, and ``certify`` raises ValueError: see docs/theory.md, "The soft decision list".

    Parameters
    ----------
    classes, keep_bytes
        As for ``CoinBetting``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> learner = mb.DecisionList(classes=("ham", "spam"))
    >>> ledger = learner.run([{"prize"}, {"lunch"}, {"prize", "today"}, {"lunch", "today"}] * 5, ["spam", "ham"] * 10)
    >>> ledger.mistakes, learner.predict_one({"prize", "today"})
    (1, 'spam')
    """

    rule_id: ClassVar[str] = "decision-list"
    _poor_score: ClassVar[bool] = True  # on dense numbers, where every feature occurs with every label

    def __init__(self, *, classes: Sequence[Any] | None = None, keep_bytes: int = KEEP_BYTES) -> None:
        self.classes = classes
        self.keep_bytes = keep_bytes

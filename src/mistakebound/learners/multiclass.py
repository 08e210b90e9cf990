"""`MulticlassPerceptron`: the Perceptron for any number of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from mistakebound.data.class_labels import ClassLabels
from mistakebound.learners.learner import KEEP_BYTES, Learner
from mistakebound.learners.linear_play import LOCK
from mistakebound.play.engine import LearnerEngine, Reduction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.learners.class_play import ClassPlay
    from mistakebound.learners.linear_play import LinearPlay


class MulticlassPerceptron(Learner):
    """The multiclass Perceptron: a weight vector w for each class. The class with the largest w·x is predicted.

    On a mistake, x is added to the weights of the label and subtracted from those of the prediction. If scores are
    equal, the class that was seen first is predicted. A label may occur at any time. After its first round, the learner
    makes at most ``2(R‖U‖/γ)²`` mistakes if some U separates the classes with margin γ, and ‖x‖₂ ≤ R: see
    docs/theory.md, "The multiclass Perceptron".

    Parameters
    ----------
    bias : float
        Value of a constant feature of every example: 0 for none, or 1e-30 to 1e30 in absolute value.
    classes : sequence, optional
        Labels in the order of ``classes_``. Other labels may occur, too. By default, labels are sorted.
    keep_bytes : int
        Memory for the examples of mistakes, which certificates need.

    Examples
    --------
    >>> import mistakebound as mb
    >>> learner = mb.MulticlassPerceptron()
    >>> ledger = learner.run([[1, 0], [0, 1], [1, 1], [1, 0]], ["a", "b", "c", "a"])
    >>> ledger.mistakes, ledger.predictions.tolist()
    (4, [None, 'a', 'b', 'c'])
    >>> {label: w.tolist() for label, w in learner.weights_.items()}
    {'a': [1.0, -1.0], 'b': [-1.0, 0.0], 'c': [0.0, 1.0]}
    """

    rule_id: ClassVar[str] = "multiclass-perceptron"
    takes_several: ClassVar[bool] = True

    def __init__(
        self, *, bias: float = 0.0, classes: Sequence[Any] | None = None, keep_bytes: int = KEEP_BYTES
    ) -> None:
        self.bias = bias
        self.classes = classes
        self.keep_bytes = keep_bytes

    # ------------------------------------------------------------------ results

    def score_one(self, x: Any) -> dict[Any, float]:  # type: ignore[override]  # each class has a score
        """Return w·x of one example for each label, without learning.

        Examples
        --------
        >>> import mistakebound as mb
        >>> learner = mb.MulticlassPerceptron()
        >>> learner.learn_one({"goal": 1}, "sport")
        >>> learner.learn_one({"vote": 1}, "news")
        >>> learner.score_one({"vote": 1, "goal": 1})
        {'news': 1.0, 'sport': -1.0}
        """
        from mistakebound.learners.class_rounds import probabilities_of_one  # noqa: PLC0415 - it imports ``streams``

        play, scores, _ = probabilities_of_one(self, x)
        return {label: float(scores[k]) if k >= 0 else 0.0 for label, k in self._columns(play)}

    @property
    def weights_(self) -> dict[Any, Any]:
        """The weights of each label: an array, or {name: weight} for named features (without the constant feature)."""
        play = cast("ClassPlay", self._current_play())
        weights, names = self._rows(), play.engine.core.names() if play.engine.named else None
        features = weights.shape[1] - bool(play.engine.rule.bias)
        return {
            label: weights[k][:features]
            if names is None
            else dict(zip(names, weights[k][1:features].tolist(), strict=True))
            for label, k in self._columns(play)
            if k >= 0
        }

    @property
    def intercept_(self) -> dict[Any, float]:  # type: ignore[override]
        """The score of an example without features, for each label; 0 without ``bias``."""
        play = cast("ClassPlay", self._current_play())
        weights, bias = self._rows(), float(play.engine.rule.bias)
        return {label: float(weights[k][-1]) * bias if bias else 0.0 for label, k in self._columns(play) if k >= 0}

    def _rows(self) -> FloatArray:
        engine: Any = self._current_play().engine
        found: FloatArray = engine.class_weights()
        return found

    @staticmethod
    def _columns(play: ClassPlay) -> list[tuple[Any, int]]:
        """Return the labels in the order of ``classes_``, and their class ids; −1 if a label has not occurred."""
        return list(zip(play.labels.ordered, play.labels.columns.tolist(), strict=True))

    def certify(  # type: ignore[override]  # there is no agnostic theorem, which has another margin
        self, theorem: str | None = None, comparator: Any = None, *, X: Any = None, y: Any = None
    ) -> Certificate:
        """Compare the mistakes with the bound of the theorem, and check its premises.

        With X and y, a second pass over the stream checks the premises on all rounds. Otherwise they are checked on the
        rounds with a mistake only. See docs/theory.md, "Certificates".

        Parameters
        ----------
        theorem : str, optional
            ``"multiclass-perceptron"``, which is the only one.
        comparator : dict or array, optional
            U: ``{label: weights}``, where weights are an array or {name: weight}; or an array with a row for each
            label, in the order of their first rounds. By default, a search finds one with a large margin.
        X, y : optional
            The stream that this learner learned from, in the same order; X may be a Source.

        Examples
        --------
        >>> import mistakebound as mb
        >>> stream = mb.streams.classes(n=20, k=4, rounds=2000, margin=0.2, seed=0)
        >>> learner = mb.MulticlassPerceptron()
        >>> ledger = learner.run(stream.X, stream.y)
        >>> certificate = learner.certify(X=stream.X, y=stream.y)
        >>> certificate.status, certificate.scope
        ('holds', 'whole stream')
        """
        return super().certify(theorem, comparator, X=X, y=y)

    # ------------------------------------------------------------------ classes

    @property
    def several(self) -> bool:
        """True: labels have class ids, also if there are only two of them."""
        return True

    @property
    def _labels(self) -> Any:
        if self._play is None and self._early_labels is None:
            early: Any = ClassLabels(self.classes)
            self._early_labels = early
        return super()._labels

    def counts_now(self) -> Any:
        """Return the counts so far, for the ledger of the rounds that follow."""
        engine: Any = self._current_play().engine
        return engine.class_counts

    def settle_several(self, classes: list[Any]) -> bool:
        """Set the labels before the first round. Raise ValueError if the learner has other labels already."""
        known = self._labels.ordered
        if not known and self._play is None:
            early: Any = ClassLabels(classes)
            self._early_labels = early
        elif {*classes} != {*known}:
            message = f"classes must be the learner's labels {known}, got {classes!r}"
            raise ValueError(message)
        return True

    # ------------------------------------------------------------------ starting

    def _new_engine(self, width: int | None, *, growing: bool = False) -> Any:
        made: Any = self._engine_type
        if made is LearnerEngine:
            from mistakebound.play.perceptron_engine import PerceptronEngine  # noqa: PLC0415 - see ``_made``

            made = PerceptronEngine
        rule = self._make_rule(width)
        return made(rule, 0 if growing else width, self._keep_bytes(), Reduction(), growing=growing)

    def _made(self, engine: Any) -> LinearPlay:
        """Return a play with this engine."""
        from mistakebound.learners.class_play import ClassPlay  # noqa: PLC0415 - importing the package stays fast

        return ClassPlay(engine, self._labels)

    def _current_play(self) -> LinearPlay:
        return self._play or self._made(self._new_engine(0))

    def _begin(self, width: int | None, *, growing: bool = False) -> LinearPlay:
        play = self._made(self._new_engine(width, growing=growing))
        with LOCK:
            self._play = self._play or play
            return self._play

    def _restore(self, engine: Any) -> LinearPlay:
        self._play = self._made(engine)
        return self._play

"""The methods and checks that scikit-learn requires of an estimator. They do not import scikit-learn until needed."""

from __future__ import annotations

import warnings
from numbers import Number
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeVar

from mistakebound._support.lazy import np
from mistakebound.data.labels import as_labels, check_classes, label_array, negative_and_positive
from mistakebound.errors import CellError
from mistakebound.learners.prediction import answers_all, predicted_labels, score_one
from mistakebound.learners.rounds import run_rows, run_stream
from mistakebound.learners.streams import weights_of_stream
from mistakebound.learners.weights import weights_of_rows
from mistakebound.play.inputs import Named, frame_names, is_frame, is_named, read_matrix, read_rows
from mistakebound.rules.registry import rule_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mistakebound._support.arrays import AnyArray, BoolArray, FloatArray
    from mistakebound.learners.learner import Learner
    from mistakebound.play.inputs import Positional
    from mistakebound.rules import Rule

    L = TypeVar("L", bound=Learner)


def fit(learner: L, X: Any, y: Any, sample_weight: Any = None) -> L:
    """Forget everything, then learn the rows of X in one pass; ``sample_weight`` is that of ``run``."""
    learner.check_alone()
    names = frame_names(X)
    rows = matrix_rows(X)
    y = targets(y, learner)
    check_lengths(rows, y)
    weights = weights_of_rows(learner, sample_weight, len(rows))
    if weights is not None and not weights.any():
        message = "sample_weight must have at least one weight that is not zero"
        raise ValueError(message)
    learner._play = learner._early_labels = None
    if names is not None:
        learner.feature_names_in_ = names
    elif hasattr(learner, "feature_names_in_"):
        del learner.feature_names_in_
    run_rows(learner, rows, y, weights)
    return learner


def partial_fit(
    learner: L, X: Any, y: Any = None, classes: Sequence[Any] | None = None, sample_weight: Any = None
) -> L:
    """Learn a batch after all that was learned before.

    ``classes`` are all labels, for a first batch that may lack some. A Source has its own labels and weights.
    A DataFrame is read like an array, unless the learner learned from files with columns: then it is read like them.
    ``sample_weight`` is that of ``run``.
    """
    if (stream := learner.stream_of(X)) is not None:
        weights = weights_of_stream(learner, stream, sample_weight)
        settle_classes(learner, classes)
        run_stream(learner, stream, y, weights)
        return learner
    if learner._play is None:
        names = frame_names(X)
        rows = matrix_rows(X)
        y = targets(y, learner)
        if names is not None:
            learner.feature_names_in_ = names
    else:
        rows = known_rows(learner, X)
    weights = weights_of_rows(learner, sample_weight, len(rows))
    settle_classes(learner, classes)
    run_rows(learner, rows, y, weights)
    return learner


def settle_classes(learner: Learner, classes: Sequence[Any] | None) -> None:
    """Set both labels; raise ValueError if the learner has other labels already."""
    if classes is None:
        return
    if learner.settle_several(list(classes)):
        return
    labels = learner._labels
    pair = check_classes(list(classes))
    if not labels.settled:
        labels.settle_both(*negative_and_positive(*pair))
    elif set(pair) != set(labels.pair):
        message = f"classes must be the learner's two labels {labels.pair}, got {list(classes)!r}"
        raise ValueError(message)


def known_rows(learner: Learner, X: Any) -> Positional:
    """Return X as rows for a learner that has started: with the same features, in the same order."""
    names, known = frame_names(X), getattr(learner, "feature_names_in_", None)
    if names is not None and known is not None and list(names) != list(known):
        message = f"The feature names should match those that were passed during fit: {list(known)}, got {list(names)}"
        raise ValueError(message)
    rows = matrix_rows(X, ENCODE)
    if learner._play is not None:
        learner._play.require(rows.width, type(learner).__name__)
    return rows


def score_many(learner: Learner, X: Any) -> tuple[FloatArray, BoolArray]:
    """Return the score of each example, and whether its prediction is positive."""
    check_fitted(learner, "predict")
    if (stream := learner.stream_of(X)) is not None:
        parts = list(learner.score_parts(stream))
        labels = np.concatenate([labels for _, labels in parts]) if parts else np.zeros(0)
        scores = np.concatenate([scores for scores, _ in parts]) if parts else np.zeros(0)
        if answers_all(learner):
            return scores, np.asarray(labels == learner._labels.positive, np.bool_)
        return scores, np.asarray(scores >= learner._current_play().engine.rule.threshold)
    if not learner._current_play().engine.named:
        rows = known_rows(learner, X)
        return learner._start(rows.width).engine.scores(rows)
    pairs = [score_one(learner, x) for x in named_examples(learner, X)]
    return np.array([score for score, _ in pairs], np.float64), np.array([p for _, p in pairs], np.bool_)


def named_examples(learner: Learner, X: Any) -> Iterable[Any]:
    """Return the examples of X, which must have named features."""
    rows = read_rows(X)
    if isinstance(rows, Named):
        return rows.examples
    learner._start(rows.width)  # raises, because these are features by position
    return ()


def predict(learner: Learner, X: Any) -> AnyArray:
    """Return the predicted labels of many examples, without learning; None where a Panel abstains.

    Parameters
    ----------
    X : array, scipy sparse matrix, DataFrame, iterable of dicts, sets or lists of names, or Source
        One example per row. Arrays and sparse matrices are for learners whose features have positions; dicts, sets
        and lists of names are for learners whose features have names.
        A dict has features by name, such as ``{"subject=win": 1}``; for a learner that learned from tables, the values
        of a dict are read like cells, such as ``{"price": 95, "city": "New York"}``. Columns with a role of their own,
        such as ``text``, are not: pass a DataFrame. A learner that learned from tables reads a DataFrame like them.
        For a file, pass ``mb.Source("new.csv")``; its labels are not needed and not read.

    Raises
    ------
    MissingColumnsError
        If a Source or a DataFrame lacks a column that the learner learned from. ``table={"ignore": [...]}`` of
        Source allows that. The column of labels may be missing; in a table without a header, only if it was the
        last one.
    """
    if learner.several:
        from mistakebound.learners.class_rounds import probabilities_of_many  # noqa: PLC0415 - few have several classes

        play, _, ids = probabilities_of_many(learner, X)
        return play.labels.decode_all(ids)
    return predicted_labels(learner, *score_many(learner, X))


def decision_function(learner: Learner, X: Any) -> FloatArray:
    """Return score minus threshold: above 0 where the positive label is predicted, and at most 0 elsewhere.

    For a score exactly at the threshold that predicts the positive label, it is 2.2e-308, the smallest normal number.
    With several classes it has a column for each label, in the order of classes_: the logarithm of its probability, or
    its score if the learner has no probabilities.
    """
    if learner.several and rule_class(learner.rule_id).log_odds:
        return predict_log_proba(learner, X)
    if learner.several:
        from mistakebound.learners.class_rounds import decisions  # noqa: PLC0415 - few have several classes

        return decisions(learner, X)
    (scores, positive), engine = score_many(learner, X), learner._current_play().engine
    # The rule of a conjunction learns its negation.
    above = engine.rule.threshold - scores if engine.reduction.conjunction else scores - engine.rule.threshold
    return np.asarray(np.where(positive & (above == 0), np.finfo(float).tiny, above))


def predict_proba(learner: Learner, X: Any, *, new: bool = False) -> FloatArray:
    """Return the probability of each label for many examples, without learning: a row each, in the order of classes_.

    X is that of ``predict``. The label with the largest probability is the one that ``predict`` returns. With several
    classes, the probabilities are those given that the label has occurred before; with ``new=True``, one more column
    has the probability of a label that has not occurred yet, and each row adds up to 1.

    Examples
    --------
    >>> import mistakebound as mb
    >>> panel = mb.Panel().fit([[1, 0], [0, 1]] * 50, [0, 1] * 50)
    >>> panel.predict_proba([[1, 0]]).round(1).tolist()
    [[1.0, 0.0]]
    """
    if learner.several:
        from mistakebound.learners.class_rounds import in_order, probabilities_of_many  # noqa: PLC0415 - few have them

        play, found, _ = probabilities_of_many(learner, X)
        return in_order(play, found, new=new)
    refuse_new(new)
    return probabilities_of(learner, *score_many(learner, X))


def refuse_new(new: bool) -> None:  # noqa: FBT001
    """Raise ValueError if the probability of a new label is requested from a learner of two labels."""
    if new:
        message = "new=True needs more than two classes: set classes, or learn a third label"
        raise ValueError(message)


def predict_log_proba(learner: Learner, X: Any) -> FloatArray:
    """Return the logarithms of ``predict_proba``; no small probability is rounded to 0 first."""
    if learner.several:
        with np.errstate(divide="ignore"):  # a label of ``classes`` that has not occurred has the probability 0
            return np.asarray(np.log(predict_proba(learner, X)))
    scores = score_many(learner, X)[0]
    return -np.logaddexp(0.0, np.stack([scores, -scores], axis=1))


def probabilities_of(learner: Learner, scores: FloatArray, positive: BoolArray) -> FloatArray:
    """Return ``probabilities``; with a threshold other than ½, the predicted label need not be the more likely one."""
    return probabilities(scores, more_likely(learner._current_play().engine.rule, scores, positive))


def more_likely(rule: Rule, scores: FloatArray, positive: BoolArray) -> BoolArray:
    """Return whether the positive label is the more likely one; at the threshold ½, it is if it is predicted."""
    return positive if rule.threshold == 0 else np.asarray(scores >= 0)


def probabilities(scores: FloatArray, positive: BoolArray) -> FloatArray:
    """Return the probabilities of the negative and the positive label that belong to log odds.

    Where they would be equal, the predicted label has the larger one.

    >>> probabilities(np.array([0.0, 0.0]), np.array([True, False])).argmax(axis=1).tolist()
    [1, 0]
    """
    p = 1 / (1 + np.exp(-np.clip(scores, -700, 700)))
    p = np.where(positive, np.maximum(p, np.nextafter(0.5, 1)), np.minimum(p, np.nextafter(0.5, 0)))
    against = np.where(np.abs(scores) < 1, 1 - p, 1 / (1 + np.exp(np.clip(scores, -700, 700))))
    return np.stack([against, p], axis=1)


def fit_without_weights(learner: L, X: Any, y: Any) -> L:
    """Forget everything, then learn the rows of X in one pass."""
    return fit(learner, X, y)


def partial_fit_without_weights(learner: L, X: Any, y: Any = None, classes: Sequence[Any] | None = None) -> L:
    """Learn a batch after all that was learned before.

    ``classes`` are both labels, for a first batch that may have only one of them. A Source has its own labels. A
    DataFrame is read like an array, unless the learner learned from files with columns: then it is read like them.
    """
    return partial_fit(learner, X, y, classes)


class Requests(dict[str, Any]):
    """Whether each method requests ``sample_weight``, for scikit-learn's metadata routing."""

    def __sklearn_clone__(self) -> Requests:
        """Return a copy: ``sklearn.clone`` calls it."""
        return Requests(self)


def get_metadata_routing(learner: Learner) -> Any:
    """Return which methods request ``sample_weight``, for scikit-learn."""
    from sklearn.utils.metadata_routing import MetadataRequest  # noqa: PLC0415 - only scikit-learn asks

    request = MetadataRequest(owner=learner)
    wanted: dict[str, Any] = vars(learner).get("_metadata_request", {})
    for method in ("fit", "partial_fit", "score"):
        getattr(request, method).add_request(param="sample_weight", alias=wanted.get(method))
    return request


def set_fit_request(learner: L, *, sample_weight: bool | str | None) -> L:
    """Set whether scikit-learn passes ``sample_weight`` to ``fit``: True, False, None, or another name for it."""
    return store_request(learner, "fit", sample_weight)


def set_partial_fit_request(learner: L, *, sample_weight: bool | str | None) -> L:
    """Set whether scikit-learn passes ``sample_weight`` to ``partial_fit``."""
    return store_request(learner, "partial_fit", sample_weight)


def set_score_request(learner: L, *, sample_weight: bool | str | None) -> L:
    """Set whether scikit-learn passes ``sample_weight`` to ``score``."""
    return store_request(learner, "score", sample_weight)


def store_request(learner: L, method: str, sample_weight: bool | str | None) -> L:  # noqa: FBT001
    """Store a request. ``sklearn.clone`` copies the attribute."""
    vars(learner)["_metadata_request"] = Requests({**vars(learner).get("_metadata_request", {}), method: sample_weight})
    return learner


class ByWeights:
    """A descriptor: one method for learners that take weights, and another one or none for the others."""

    def __init__(self, method: Callable[..., Any], otherwise: Callable[..., Any] | None = None) -> None:
        self.method, self.otherwise = method, otherwise
        self.__doc__ = method.__doc__

    def __get__(self, learner: Learner | None, kind: type[Learner]) -> Any:
        takes = hasattr(kind, "rule_id") and rule_class(kind.rule_id).takes_weights
        method = self.method if takes else self.otherwise
        if method is None:
            message = f"{kind.__name__} takes no weights"
            raise AttributeError(message)
        return method if learner is None else MethodType(method, learner)


class WithProbabilities:
    """A method that only learners with probabilities have; for others the attribute does not exist."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, learner: Learner | None, kind: type[Learner]) -> Any:
        if not rule_class(kind.rule_id).log_odds:
            message = f"{kind.__name__} has no probabilities: its scores are margins"
            raise AttributeError(message)
        return self.method if learner is None else MethodType(self.method, learner)


def score(learner: Learner, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the fraction of the rows of X that are predicted correctly, by weight if there are weights."""
    predicted, truth = predict(learner, X), as_labels(y)
    if len(predicted) != len(truth):
        message = f"X has {len(predicted)} rows but y has {len(truth)} labels"
        raise ValueError(message)
    return float(np.average(predicted == truth, weights=sample_weight))


def classes(learner: Learner) -> AnyArray:
    """The labels: (negative, positive), or all labels of several classes, in the order of their columns."""
    check_fitted(learner, "classes_")
    labels: Any = learner._labels
    return label_array(labels.ordered if learner.several else labels.pair)


def n_features_in(learner: Learner) -> int:
    """Number of columns of the arrays that the learner accepts. Raises AttributeError if features have names."""
    check_fitted(learner, "n_features_in_")
    width = learner._current_play().engine.width
    if width is None:
        message = "n_features_in_ is only valid for positional features; these have names"
        raise AttributeError(message)
    return width


def check_fitted(learner: Learner, wanted: str) -> None:
    """Raise scikit-learn's error, or AttributeError for an attribute, unless the learner has learned something."""
    if not learner.has_learned:
        name = type(learner).__name__
        message = f"This {name} instance is not fitted yet: call fit, partial_fit, run or learn_one first"
        raise not_fitted(wanted)(message)


def tags(*, poor_score: bool, binary_inputs: bool, several: bool) -> Any:
    """Return scikit-learn's tags of a classifier for dense and sparse input."""
    from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags  # noqa: PLC0415 - only scikit-learn asks

    return Tags(
        estimator_type="classifier",
        target_tags=TargetTags(required=True),
        classifier_tags=ClassifierTags(multi_class=several, poor_score=poor_score),
        input_tags=InputTags(sparse=True, categorical=binary_inputs),
    )


RUN_OR_ENCODE = "call learner.run(X, y), which reads texts, dates and missing cells, or encode them as numbers"
ENCODE = "encode them as numbers in the same way as for fit"


def matrix_rows(X: Any, remedy: str = RUN_OR_ENCODE) -> Positional:
    """Return the rows of an array or a sparse matrix; raise ValueError if it has no rows or no columns.

    ``remedy`` is what to do about texts in a DataFrame, and about dicts.
    """
    if isinstance(X, (list, tuple)) and X and is_named(X[0]) and not isinstance(X[0], (list, tuple)):
        message = f"X must be an array of numbers or a DataFrame, got a list of {type(X[0]).__name__}s: {remedy}"
        raise ValueError(message)
    try:
        rows = read_matrix(X)
    except ValueError:
        if (found := first_without_numbers(X)) is None:
            raise
        message = f"column {found[0]!r} of the DataFrame has {found[1]!r}, which is not a number: {remedy}"
        raise CellError(message, feature=found[0], value=found[1]) from None
    if len(rows) == 0 or rows.width == 0:
        what = "sample(s)" if len(rows) == 0 else "feature(s)"
        message = f"Found array with 0 {what} (shape=({len(rows)}, {rows.width})) while a minimum of 1 is required."
        raise ValueError(message)
    return rows


def first_without_numbers(X: Any) -> tuple[str, Any] | None:
    """Return the first column of a DataFrame that has something else than numbers, and its first such cell."""
    if not is_frame(X):
        return None
    cells = np.asarray(X)
    for place, name in enumerate(X.columns):
        for cell in cells[:, place].tolist() if cells.dtype.kind == "O" else cells[:1, place]:
            if not isinstance(cell, Number):
                return str(name), cell
    return None


def check_lengths(rows: Positional, y: AnyArray) -> None:
    """Raise ValueError unless there is one label for each row."""
    if len(rows) != len(y):
        message = f"X has {len(rows)} rows but y has {len(y)} labels: inconsistent numbers of samples"
        raise ValueError(message)


def targets(y: Any, learner: Learner) -> AnyArray:
    """Return y as labels, or raise ValueError with a message that scikit-learn's tests accept."""
    if y is None:
        message = f"requires y to be passed, but the target y is None: {type(learner).__name__} learns from labels"
        raise ValueError(message)
    column: AnyArray = np.asarray(y) if hasattr(y, "__array__") or isinstance(y, (list, tuple)) else np.zeros(0)
    if column.ndim == 2 and column.shape[1] == 1:
        message = "A column-vector y was passed when a 1d array was expected. Use y.ravel() to change its shape"
        warnings.warn(message, _conversion_warning(), stacklevel=3)
        y = column.ravel()
    labels: AnyArray = as_labels(y)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        message = "Input y contains NaN or infinity"
        raise ValueError(message)
    distinct = np.unique(labels) if labels.dtype.kind != "O" else _distinct(labels)
    if len(distinct) > 2:
        if labels.dtype.kind == "f" and (distinct != np.trunc(distinct)).any():
            message = "Unknown label type: continuous. y must have classes as labels, got real numbers"
            raise ValueError(message)
        if learner.takes_several:
            return labels
        message = (
            "Only binary classification is supported. The type of the target is multiclass: "
            f"{len(distinct)} labels, such as {distinct[:3].tolist()}"
        )
        raise ValueError(message)
    return labels


def _distinct(labels: AnyArray) -> AnyArray:
    try:
        return label_array(dict.fromkeys(labels.tolist()))
    except TypeError:
        message = "Unknown label type: some labels are not hashable"
        raise ValueError(message) from None


def not_fitted(wanted: str) -> type[Exception]:
    """Return an AttributeError for an attribute; otherwise NotFittedError of scikit-learn, or ours if it is missing."""
    if wanted.endswith("_"):
        return AttributeError
    try:
        from sklearn.exceptions import NotFittedError  # noqa: PLC0415
    except ImportError:
        return NotFittedYetError
    error: type[Exception] = NotFittedError
    return error


def _conversion_warning() -> type[Warning]:
    try:
        from sklearn.exceptions import DataConversionWarning  # noqa: PLC0415
    except ImportError:
        return UserWarning
    warning: type[Warning] = DataConversionWarning
    return warning


class NotFittedYetError(ValueError, AttributeError):
    """Prediction before any learning, if scikit-learn is not installed."""

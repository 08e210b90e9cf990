"""The verbs and manners of scikit-learn, without inheriting from it or importing it before it is needed."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar

from mistakebound._support.lazy import np
from mistakebound._support.text import html_table
from mistakebound.data.labels import Labels, as_labels, check_classes, in_order, label_array
from mistakebound.learners import parameters
from mistakebound.learners.learner import Learner
from mistakebound.play.inputs import Named, frame_names, read_matrix, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from typing_extensions import Self

    from mistakebound._support.arrays import AnyArray, BoolArray, FloatArray
    from mistakebound.play.inputs import Positional


class Estimator(Learner):
    """fit, partial_fit, predict, decision_function, score and parameters, as scikit-learn expects them."""

    feature_names_in_: AnyArray
    _poor_score: ClassVar[bool] = False
    _binary_inputs: ClassVar[bool] = False

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, then make one pass over the rows of X."""
        names = frame_names(X)
        rows = self._read_rows(X)
        y = self._read_targets(y)
        self._check_lengths(rows, y)
        self._reset()
        if names is not None:
            self.feature_names_in_ = names
        self._run_rows(rows, y)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Sequence[Any] | None = None) -> Self:
        """Go on learning from a batch; ``classes`` names both labels when the first batch may show only one.

        A Source has its own labels. A DataFrame has names for columns, unless the learner learned from files with
        columns: then it is read as those.
        """
        if (stream := self.stream_of(X)) is not None:
            if classes is not None:
                self._take_classes(classes)
            self.run(stream, y)
            return self
        if self._life is None:
            names = frame_names(X)
            rows = self._read_rows(X)
            y = self._read_targets(y)
            if names is not None:
                self.feature_names_in_ = names
        else:
            rows = self._read_known_rows(X)
        if classes is not None:
            self._take_classes(classes)
        self._run_rows(rows, y)
        return self

    def predict(self, X: Any) -> AnyArray:
        """Predicted labels of many examples, without learning.

        Parameters
        ----------
        X : array, scipy sparse matrix, DataFrame, iterable of dicts, sets or lists of names, or Source
            One example a row. Arrays and sparse matrices are for learners whose features have positions; dicts, sets
            and lists of names are for learners whose features have names.
            A dict holds features by name, such as ``{"subject=win": 1}``. It is not a row of a table: pass a DataFrame
            for rows of a table. A learner that learned from files with columns reads the DataFrame as it read those.
            Pass ``mb.Source("new.csv")`` for a file; labels in it are not needed and not read.

        Raises
        ------
        MissingColumnsError
            If a Source or a DataFrame lacks a column that the learner learned from. ``table={"ignore": [...]}`` of
            Source does without it. The column of labels may be missing, but in a table without a header only if it
            was the last one.
        """
        positive = self._score_many(X)[1]
        return self._the_labels().decode_all(positive)

    def decision_function(self, X: Any) -> FloatArray:
        """Score less threshold: above 0 where the positive label is predicted, below 0 where the negative one is."""
        scores = self._score_many(X)[0] - self._begun().rule.threshold
        return -scores if self._begun().reduction.conjunction else scores

    def score(self, X: Any, y: Any) -> float:
        """Share of the rows of X that are predicted right."""
        predicted, truth = self.predict(X), as_labels(y)
        if len(predicted) != len(truth):
            message = f"X has {len(predicted)} rows but y has {len(truth)} labels"
            raise ValueError(message)
        return float(np.mean(predicted == truth))

    @property
    def classes_(self) -> AnyArray:
        """(negative, positive) label."""
        self._check_fitted("classes_")
        return label_array(self._the_labels().pair)

    @property
    def n_features_in_(self) -> int:
        """Width of the arrays that the learner takes; features with names have none."""
        self._check_fitted("n_features_in_")
        width = self._begun().width
        if width is None:
            message = "n_features_in_ is for positional features; these have names"
            raise AttributeError(message)
        return width

    # ------------------------------------------------------------------ parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002 - scikit-learn's signature
        """Return the constructor's parameters."""
        return parameters.get_params(self)

    def set_params(self, **params: Any) -> Self:
        """Change parameters. They count from the next ``fit`` on: a life that has begun keeps its rule."""
        return parameters.set_params(self, params)

    def __repr__(self) -> str:
        said = (f"{name}={value!r}" for name, value in parameters.changed_params(self).items())
        return f"{type(self).__name__}({', '.join(said)})"

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        ledger = self.ledger_
        rows = {**parameters.changed_params(self), "mistakes": ledger.mistakes, "rounds": ledger.rounds}
        return html_table(type(self).__name__, rows)

    # ------------------------------------------------------------------ what scikit-learn asks

    def __sklearn_tags__(self) -> Any:
        """Binary classifier for dense and sparse input."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags  # noqa: PLC0415 - only scikit-learn asks

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_class=False, poor_score=self._poor_score),
            input_tags=InputTags(sparse=True, categorical=self._binary_inputs),
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Whether at least one round was learned from."""
        return self._life is not None and self._life.counts.rounds > 0

    # ------------------------------------------------------------------ inside

    def _reset(self) -> None:
        self._life = self._tickets = None
        self._labels = Labels(self.default_labels, self.classes)
        self._reading = None
        vars(self).pop("feature_names_in_", None)

    def _score_many(self, X: Any) -> tuple[FloatArray, BoolArray]:
        self._check_fitted("predict")
        if (stream := self.stream_of(X)) is not None:
            parts = list(self.score_parts(stream))
            labels = np.concatenate([labels for _, labels in parts]) if parts else np.zeros(0)
            scores = np.concatenate([scores for scores, _ in parts]) if parts else np.zeros(0)
            return scores, np.asarray(labels == self._the_labels().positive, np.bool_)
        if not self._begun().named:
            rows = self._read_known_rows(X)
            return self._start(rows.width).scores(rows)
        pairs = [self._score_one(x) for x in self._named_examples(X)]
        return np.array([s for s, _ in pairs], np.float64), np.array([p for _, p in pairs], np.bool_)

    def _take_classes(self, classes: Sequence[Any]) -> None:
        """Settle the labels by ``partial_fit``'s classes, which must not contradict what is settled already."""
        known = self._the_labels()
        given = check_classes(list(classes))
        if known.settled:
            if set(given) != set(known.pair):
                message = f"classes {list(classes)!r} are not the learner's two labels {known.pair}"
                raise ValueError(message)
            return
        known.settle_both(*in_order(*given))

    @staticmethod
    def _check_lengths(rows: Positional, y: AnyArray) -> None:
        if len(rows) != len(y):
            message = f"X has {len(rows)} rows but y has {len(y)} labels: inconsistent numbers of samples"
            raise ValueError(message)

    def _check_fitted(self, wanted: str) -> None:
        if not self.__sklearn_is_fitted__():
            message = (
                f"This {type(self).__name__} instance is not fitted yet: call fit, partial_fit, run or learn_one first"
            )
            raise _not_fitted(wanted)(message)

    def _read_rows(self, X: Any) -> Positional:
        rows = read_matrix(X)
        if len(rows) == 0 or rows.width == 0:
            what = "sample(s)" if len(rows) == 0 else "feature(s)"
            message = f"Found array with 0 {what} (shape=({len(rows)}, {rows.width})) while a minimum of 1 is required."
            raise ValueError(message)
        return rows

    def _read_known_rows(self, X: Any) -> Positional:
        """Rows for a learner that knows its features: the same ones, in the same order."""
        names, known = frame_names(X), getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and list(names) != list(known):
            message = (
                f"The feature names should match those that were passed during fit: {list(known)}, got {list(names)}"
            )
            raise ValueError(message)
        rows = self._read_rows(X)
        if self._life is not None:
            self._life.require(rows.width, type(self).__name__)
        return rows

    def _read_targets(self, y: Any) -> AnyArray:
        if y is None:
            message = f"requires y to be passed, but the target y is None: {type(self).__name__} learns from labels"
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
        distinct = np.unique(labels) if labels.dtype.kind != "O" else self._distinct(labels)
        if len(distinct) > 2:
            if labels.dtype.kind == "f" and (distinct != np.trunc(distinct)).any():
                message = "Unknown label type: continuous. A classifier needs two classes; these are real numbers"
                raise ValueError(message)
            message = (
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{len(distinct)} labels, such as {distinct[:3].tolist()}"
            )
            raise ValueError(message)
        return labels

    @staticmethod
    def _distinct(labels: AnyArray) -> AnyArray:
        try:
            return label_array(dict.fromkeys(labels.tolist()))
        except TypeError:
            message = "Unknown label type: some labels are not hashable"
            raise ValueError(message) from None

    def _named_examples(self, X: Any) -> Iterable[Any]:
        rows = read_rows(X)
        if isinstance(rows, Named):
            return rows.examples
        self._begun().require(rows.width, type(self).__name__)
        return ()


def _not_fitted(wanted: str) -> type[Exception]:
    """scikit-learn's NotFittedError if it is installed (it is a ValueError and an AttributeError); ours otherwise."""
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
    """Batch prediction before any learning, where scikit-learn is not installed."""

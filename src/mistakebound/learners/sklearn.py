"""What scikit-learn requires of an estimator, without inheriting from it; it is imported only when it is needed."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from mistakebound._support.lazy import np
from mistakebound.data.labels import as_labels, label_array
from mistakebound.play.inputs import read_matrix

if TYPE_CHECKING:
    from mistakebound._support.arrays import AnyArray
    from mistakebound.play.inputs import Positional


def tags(*, poor_score: bool, binary_inputs: bool) -> Any:
    """Tags of a binary classifier for dense and sparse input."""
    from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags  # noqa: PLC0415 - only scikit-learn asks

    return Tags(
        estimator_type="classifier",
        target_tags=TargetTags(required=True),
        classifier_tags=ClassifierTags(multi_class=False, poor_score=poor_score),
        input_tags=InputTags(sparse=True, categorical=binary_inputs),
    )


def matrix_rows(X: Any) -> Positional:
    """Rows of an array or a sparse matrix, of which there must be some."""
    rows = read_matrix(X)
    if len(rows) == 0 or rows.width == 0:
        what = "sample(s)" if len(rows) == 0 else "feature(s)"
        message = f"Found array with 0 {what} (shape=({len(rows)}, {rows.width})) while a minimum of 1 is required."
        raise ValueError(message)
    return rows


def check_lengths(rows: Positional, y: AnyArray) -> None:
    """ValueError unless there is a label for each row."""
    if len(rows) != len(y):
        message = f"X has {len(rows)} rows but y has {len(y)} labels: inconsistent numbers of samples"
        raise ValueError(message)


def targets(y: Any, learner: str) -> AnyArray:
    """Labels of two classes, or ValueError in the words that scikit-learn expects."""
    if y is None:
        message = f"requires y to be passed, but the target y is None: {learner} learns from labels"
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
            message = "Unknown label type: continuous. A classifier needs two classes; these are real numbers"
            raise ValueError(message)
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

"""Check weights of examples, combine them with weights of labels, and reject them for learners that take none."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

from mistakebound._support.lazy import np
from mistakebound.data.labels import plain
from mistakebound.errors import OptionError, StreamError, setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import AnyArray, FloatArray
    from mistakebound.learners.learner import Learner

LARGEST = 1e9
"""The largest weight; the core checks the weights of examples."""
NO_WEIGHTS = "; AdaGradLogistic and Panel, for example, take weights"


def refuse_weights(learner: Learner) -> None:
    """Raise ValueError if a learner takes no weights."""
    if learner.takes_weights:
        return
    name, objects = type(learner).__name__, learner.objects()
    if objects:
        message = f"a {name} with members from outside takes no weights: {', '.join(objects)} could not use them"
    else:
        message = f"{name} takes no weights: its theorem counts every mistake once{NO_WEIGHTS}"
    raise ValueError(message)


def weights_of_rows(learner: Learner, sample_weight: Any, rows: int | None = None) -> FloatArray | None:
    """Return the weights of so many rows as float64; None if there are none.

    Raises ValueError if the learner takes no weights, or if they are not one number per row. The core finds the first
    one that is negative, too large or not finite.
    """
    if sample_weight is None:
        return None
    refuse_weights(learner)
    if (found := numbers_of(sample_weight)) is None:
        message = "sample_weight must be an array of real numbers, and none of them may be masked"
        raise ValueError(message)
    if found.ndim != 1:
        message = f"sample_weight must be 1D: one weight per row, got an array of shape {found.shape}"
        raise ValueError(message)
    if rows is not None and len(found) != rows:
        message = f"X has {rows} rounds but sample_weight has {len(found)} weights: inconsistent numbers of samples"
        raise ValueError(message)
    return np.ascontiguousarray(found)


def numbers_of(weights: Any) -> FloatArray | None:
    """Return weights as float64, and NaN for None, which the core rejects with its round; None if they are not numbers.

    NumPy would convert texts and dates to numbers, and ignore a mask and imaginary parts.
    """
    try:
        given: AnyArray = np.asarray(weights)
    except ValueError:  # rows of different lengths
        return None
    masked = np.ma.isMaskedArray(weights) and np.ma.is_masked(weights)
    objects = given.ravel().tolist() if given.dtype.kind == "O" else ()
    if masked or given.dtype.kind not in "fiubO" or not all(each is None or isinstance(each, Real) for each in objects):
        return None
    found: FloatArray = given.astype(np.float64)
    return found


def weight_of_round(learner: Learner, weight: Any) -> FloatArray | None:
    """Return the weight of one round as an array; None if it is 1. Raise ValueError if it is not a number."""
    if isinstance(weight, Real) and weight == 1:
        return None
    if weight is None or (found := numbers_of(weight)) is None or found.ndim:
        message = f"weight must be a number from 0 to 1e9, got {weight!r}"
        raise ValueError(message)
    return weights_of_rows(learner, found.reshape(1), 1)


def weight_at(weights: FloatArray | None, row: int) -> float:
    """Return the weight of a row of named examples; raise StreamError if there are fewer weights than examples."""
    if weights is None:
        return 1.0
    if row >= len(weights):
        message = "there are fewer weights than examples"
        raise StreamError(message, kind="weights")
    return float(weights[row])


def check_class_weight(class_weight: Any) -> dict[Any, float] | None:
    """Return the weights of labels; raise OptionError unless they are numbers from 0 to 1e9, by label.

    >>> check_class_weight({"spam": 5})
    {'spam': 5.0}
    """
    if class_weight is None:
        return None
    if not isinstance(class_weight, Mapping):
        reason = " must be a dict from labels to weights"
        if isinstance(class_weight, str):
            reason += "; a stream does not know in advance how often each label occurs, so it cannot be balanced"
        raise OptionError(setting("class_weight"), f"{reason}, got {class_weight!r}")
    for label, weight in class_weight.items():
        if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 <= float(weight) <= LARGEST:
            reason = f" must have weights from 0 to 1e9, got {weight!r} for {label!r}"
            raise OptionError(setting("class_weight"), reason)
    return {plain(label): float(weight) for label, weight in class_weight.items()}


def weighted(
    weights: FloatArray | None, class_weight: Mapping[Any, float] | None, labels: Sequence[Any], places: AnyArray
) -> FloatArray | None:
    """Return the weights of rows times those of their labels.

    ``labels`` are the different labels, and ``places`` the position of the label of each row among them; −1 for a row
    without a label, whose weight does not matter.
    """
    if class_weight is None:
        return weights
    of_labels = np.array([class_weight.get(label, 1.0) for label in labels] + [1.0])
    of_rows: FloatArray = of_labels[places]
    return of_rows if weights is None else of_rows * weights

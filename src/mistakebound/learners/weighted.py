"""`WeightedLearner`: the base class of the learners that take weights, with scikit-learn's methods for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mistakebound.learners import sklearn
from mistakebound.learners.learner import Learner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

ROUTED = ("fit", "partial_fit", "score")
"""The methods with the argument ``sample_weight``."""


class Requests(dict[str, Any]):
    """Whether each method requests ``sample_weight``."""

    def __sklearn_clone__(self) -> Requests:
        """Return a copy: ``sklearn.clone`` calls it."""
        return Requests(self)


class WeightedLearner(Learner):
    """Base class of the learners that take weights. Their rules have ``takes_weights``."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn the rows of X in one pass; ``sample_weight`` is that of ``run``."""
        return sklearn.fit(self, X, y, sample_weight)

    def partial_fit(
        self, X: Any, y: Any = None, classes: Sequence[Any] | None = None, sample_weight: Any = None
    ) -> Self:
        """Learn a batch after all that was learned before.

        ``classes`` are all labels, for a first batch that may not have all of them. A Source has its own labels and
        weights. A DataFrame is read like an array, unless the learner learned from files with columns: then it is read
        like them. ``sample_weight`` is that of ``run``.
        """
        return sklearn.partial_fit(self, X, y, classes, sample_weight)

    # ------------------------------------------------------------------ metadata routing of scikit-learn

    def get_metadata_routing(self) -> Any:
        """Return which methods request ``sample_weight``, for scikit-learn."""
        from sklearn.utils.metadata_routing import MetadataRequest  # noqa: PLC0415 - only scikit-learn asks

        request = MetadataRequest(owner=self)
        wanted: dict[str, Any] = vars(self).get("_metadata_request", {})
        for method in ROUTED:
            getattr(request, method).add_request(param="sample_weight", alias=wanted.get(method))
        return request

    def set_fit_request(self, *, sample_weight: bool | str | None) -> Self:
        """Set whether scikit-learn passes ``sample_weight`` to ``fit``: True, False, None, or another name for it."""
        return self._request("fit", sample_weight)

    def set_partial_fit_request(self, *, sample_weight: bool | str | None) -> Self:
        """Set whether scikit-learn passes ``sample_weight`` to ``partial_fit``."""
        return self._request("partial_fit", sample_weight)

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Set whether scikit-learn passes ``sample_weight`` to ``score``."""
        return self._request("score", sample_weight)

    def _request(self, method: str, sample_weight: bool | str | None) -> Self:  # noqa: FBT001
        """Store a request. ``sklearn.clone`` copies the attribute."""
        vars(self)["_metadata_request"] = Requests({**vars(self).get("_metadata_request", {}), method: sample_weight})
        return self

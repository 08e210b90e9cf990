"""`MultilabelPanel`: examples with any number of labels, learned by one Panel for each label."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mistakebound._support.lazy import np
from mistakebound.data.class_labels import ClassLabels
from mistakebound.data.labels import label_array, plain
from mistakebound.errors import StreamError
from mistakebound.learners.learner import KEEP_BYTES
from mistakebound.learners.panel import Panel
from mistakebound.learners.parameters import get_params, in_a_line, set_params
from mistakebound.learners.sklearn import not_fitted, tags

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Container, Sequence

    from typing_extensions import Self

    from mistakebound._support.arrays import AnyArray, FloatArray, IntArray
    from mistakebound.play.ledger import Ledger


@dataclass(frozen=True)
class MultilabelLedger:
    """The record of some rounds: totals, and the ledger of each label."""

    rounds: int
    subset_mistakes: int
    """Rounds in which the set of labels was not predicted exactly."""
    first_seen: int
    """Labels that occurred for the first time. They could not be predicted, and count as mistakes."""
    by_label: dict[Any, Ledger]
    """The ledger of each label, from the first round of the label on."""

    @property
    def hamming_mistakes(self) -> int:
        """Labels that were wrongly predicted or wrongly left out, over all rounds."""
        return sum(ledger.mistakes for ledger in self.by_label.values()) + self.first_seen

    def __repr__(self) -> str:
        counts = f"{self.subset_mistakes} mistaken sets, {self.hamming_mistakes} mistaken labels"
        return f"<MultilabelLedger: {counts} in {self.rounds} rounds, {len(self.by_label)} labels>"


class MultilabelPanel:
    """A Panel for each label, over the same examples. Each predicts whether an example has its label.

    A label that occurs for the first time starts a fresh panel in that round. Its panel has not seen the earlier
    examples, which did not have the label. Pass ``classes`` so that all panels learn from the first round on.

    Parameters
    ----------
    members, threads, keep_bytes
        As for ``Panel``, for each of the panels.
    classes : sequence, optional
        The labels, in the order of the columns of an indicator matrix. Other labels may occur in sets of labels.

    Examples
    --------
    >>> import mistakebound as mb
    >>> topics = mb.MultilabelPanel(members="lean")
    >>> for _ in range(20):
    ...     topics.learn_one({"goal", "team"}, {"sport"})
    ...     topics.learn_one({"vote", "team"}, {"news", "politics"})
    >>> sorted(topics.predict_one({"vote"}))
    ['news', 'politics']
    >>> topics.predict_proba_one({"goal"})["sport"] > 0.5
    True
    """

    def __init__(
        self,
        members: Any = "all",
        *,
        threads: int | None = None,
        classes: Sequence[Any] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.members = members
        self.threads = threads
        self.classes = classes
        self.keep_bytes = keep_bytes

    # State, not parameters. Class attributes, because scikit-learn requires that __init__ sets parameters only.
    _panels: dict[Any, Panel] | None = None
    _totals: tuple[int, int, int] = (0, 0, 0)
    """Rounds, first rounds of labels, and rounds in which the set of labels was wrong."""

    @property
    def panels(self) -> dict[Any, Panel]:
        """The panel of each label. Its own labels are False and True."""
        if self._panels is None:
            self._panels = {plain(label): self._panel() for label in self.classes or ()}
        return self._panels

    def _panel(self) -> Panel:
        return Panel(self.members, threads=self.threads, classes=(False, True), keep_bytes=self.keep_bytes)

    # ------------------------------------------------------------------ learn

    def learn_one(self, x: Any, labels: Iterable[Any]) -> None:
        """Predict the labels of x, then learn them."""
        self.run([x] if not hasattr(x, "shape") else x.reshape(1, -1), [labels])

    def run(self, X: Any, Y: Any) -> MultilabelLedger:
        """Predict, then learn, each example of a stream in its order; return the ledger of these rounds.

        Parameters
        ----------
        X : array, scipy sparse matrix, or list of dicts, sets or lists of names
            One example per round.
        Y : array, sparse matrix, or iterable of sets
            The labels of each example: a set, or a row of 0 and 1 with a column for each label.
        """
        X = X if hasattr(X, "shape") else list(X)
        sets = self._sets(Y)
        count = X.shape[0] if hasattr(X, "shape") else len(X)
        if count != len(sets):
            message = f"X has {count} rows but Y has {len(sets)} sets of labels"
            raise StreamError(message)
        first: dict[Any, int] = dict.fromkeys(self.panels, 0)
        new = first_rounds(sets, self.panels)
        first |= new
        ledgers: dict[Any, Ledger] = {}
        failed: StreamError | None = None
        learned = count
        wrong = np.zeros(count, np.bool_)
        for label, start in first.items():
            if start >= learned:
                continue
            panel = self.panels.get(label) or self._panel()
            try:
                ledger = panel.run(X[start:], [label in each for each in sets[start:]])
            except StreamError as error:  # every panel stops at the same row
                ledger = error.ledger or panel.ledger_
                learned = start + ledger.rounds
                failed = failed or error.at_round(learned)
            if ledger.rounds:
                self.panels[label] = panel
                ledgers[label] = ledger
                wrong[ledger.mistake_rounds + start] = True
        seen = [start for label, start in new.items() if label in ledgers]
        wrong[seen] = True
        subset = int(wrong[:learned].sum())
        self._totals = (self._totals[0] + learned, self._totals[1] + len(seen), self._totals[2] + subset)
        if failed is not None:
            raise failed
        return MultilabelLedger(learned, subset, len(seen), ledgers)

    def _sets(self, Y: Any) -> list[set[Any]]:
        """Return the labels of each example as sets."""
        Y = Y.toarray() if hasattr(Y, "toarray") else Y
        is_matrix = hasattr(Y, "ndim") or (isinstance(Y, (list, tuple)) and len(Y) > 0 and _is_row(Y[0]))
        if is_matrix:
            return self._of_indicators(np.asarray(Y))
        found: list[set[Any]] = []
        for t, labels in enumerate(Y):
            if isinstance(labels, (str, bytes, dict)) or not isinstance(labels, Iterable):
                message = f"labels must be a set or a list of labels, got {labels!r}"
                raise StreamError(message).at_round(t)
            try:
                found.append({plain(label) for label in labels})
            except TypeError:
                message = f"a label is not hashable in {labels!r}; use numbers or strings"
                raise StreamError(message).at_round(t) from None
        return found

    def _of_indicators(self, Y: AnyArray) -> list[set[Any]]:
        if Y.ndim != 2 or not np.isin(Y, (0, 1)).all():
            message = f"Y must be a matrix of 0 and 1 with a column for each label, got an array of shape {Y.shape}"
            raise ValueError(message)
        if not self.panels:
            self._panels = {k: self._panel() for k in range(Y.shape[1])}
        labels = list(self.panels)
        if len(labels) != Y.shape[1]:
            message = f"Y has {Y.shape[1]} columns, but there are {len(labels)} labels: {labels}"
            raise ValueError(message)
        return [{labels[k] for k in np.flatnonzero(row).tolist()} for row in Y]

    # ------------------------------------------------------------------ predict

    def predict_one(self, x: Any) -> set[Any]:
        """Return the predicted labels of one example, without learning."""
        return {label for label, panel in self.panels.items() if panel.has_learned and panel.predict_one(x)}

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return for each label the probability that an example has it, without learning."""
        return {label: panel.predict_proba_one(x)[True] for label, panel in self.panels.items()}

    @property
    def ledger_(self) -> MultilabelLedger:
        """The ledger of all rounds."""
        rounds, first_seen, subset = self._totals
        return MultilabelLedger(rounds, subset, first_seen, {k: each.ledger_ for k, each in self.panels.items()})

    # ------------------------------------------------------------------ scikit-learn

    def fit(self, X: Any, Y: Any) -> Self:
        """Forget everything, then learn the rows of X in one pass."""
        self._panels, self._totals = None, (0, 0, 0)
        return self.partial_fit(X, Y)

    def partial_fit(self, X: Any, Y: Any) -> Self:
        """Learn a batch after all that was learned before."""
        self.run(np.asarray(X) if isinstance(X, list) and X and isinstance(X[0], list) else X, Y)
        return self

    def predict(self, X: Any) -> IntArray:
        """Return a matrix of 0 and 1: a row for each example, a column for each label of ``classes_``."""
        return self._columns(lambda panel: panel.predict(X)).astype(np.int64)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each label (column) for each example (row), without learning."""
        return self._columns(lambda panel: panel.predict_proba(X)[:, 1])

    def score(self, X: Any, Y: Any) -> float:
        """Return the fraction of the examples whose set of labels is predicted exactly."""
        return float(np.mean((self.predict(X) == np.asarray(Y)).all(axis=1)))

    def _columns(self, of: Callable[[Panel], AnyArray]) -> FloatArray:
        if not any(panel.has_learned for panel in self.panels.values()):
            message = "This MultilabelPanel instance is not fitted yet: call fit, partial_fit, run or learn_one first"
            raise not_fitted("predict")(message)
        return np.column_stack([np.asarray(of(panel), np.float64) for panel in self.panels.values()])

    @property
    def classes_(self) -> AnyArray:
        """The labels, in the order of the columns."""
        return label_array(list(self.panels))

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002 - scikit-learn's signature
        """Return the constructor's parameters."""
        return get_params(self)

    plain_params = get_params

    def set_params(self, **params: Any) -> Self:
        """Set parameters. They take effect at the next ``fit``, and for panels of new labels."""
        return set_params(self, params)

    def __repr__(self) -> str:
        return f"MultilabelPanel({in_a_line(get_params(self))})"

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: a classifier of several labels."""
        found = tags(poor_score=False, binary_inputs=False, several=False)
        found.classifier_tags.multi_label = True
        return found

    def __sklearn_is_fitted__(self) -> bool:
        """Whether at least one round was learned."""
        return self._totals[0] > 0

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a zip file with the model file of each panel, which ``mistakebound.load`` reads."""
        from mistakebound.learners.multilabel_file import save  # noqa: PLC0415 - it imports this module

        save(self, path)


def _is_row(row: Any) -> bool:
    """Return whether something is a row of numbers 0 and 1, rather than a set of labels."""
    return hasattr(row, "ndim")


def first_rounds(sets: Sequence[Iterable[Any]], known: Container[Any]) -> dict[Any, int]:
    """Return the first round of each label that is not known; raise StreamError for NaN, None and the like."""
    found: dict[Any, int] = {}
    valid = ClassLabels()
    for t, labels in enumerate(sets):
        for label in labels:
            if label in known or label in found:
                continue
            try:
                valid.id_of(label)
            except StreamError as error:
                raise error.at_round(t) from None
            found[label] = t
    return found

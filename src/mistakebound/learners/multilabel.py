"""`MultilabelPanel`: examples with any number of labels, learned by one Panel for each label."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from mistakebound._support.lazy import np
from mistakebound._support.locks import Lock, guarded
from mistakebound.data.labels import label_array, plain
from mistakebound.errors import StreamError
from mistakebound.learners.learner import KEEP_BYTES
from mistakebound.learners.multilabel_labels import check_label, check_label_list, columns_of, is_ambiguous
from mistakebound.learners.multilabel_rounds import (
    SeparateRounds,
    SharedRounds,
    Targets,
    learn_known,
    scores,
    scores_of_parts,
)
from mistakebound.learners.panel import Panel
from mistakebound.learners.panel_members import Members
from mistakebound.learners.parameters import get_params, in_a_line, set_params
from mistakebound.learners.sklearn import not_fitted, probabilities, tags
from mistakebound.play.inputs import is_frame
from mistakebound.rules.panel_members import EVEN

if TYPE_CHECKING:
    import os
    from collections.abc import Container, Iterator, Sequence

    from typing_extensions import Self

    from mistakebound._support.arrays import AnyArray, BoolArray, FloatArray, IntArray
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.data.parts import Part
    from mistakebound.learners.explanation import Explanation
    from mistakebound.learners.multilabel_rounds import SharedPlay
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
    first_missed: int = 0
    """How many of the first rounds of labels are mistakes in the ledgers of these labels, too."""

    @property
    def hamming_mistakes(self) -> int:
        """Labels that were wrongly predicted or wrongly left out, over all rounds."""
        return sum(ledger.mistakes for ledger in self.by_label.values()) + self.first_seen - self.first_missed

    def __repr__(self) -> str:
        counts = f"{self.subset_mistakes} mistaken sets, {self.hamming_mistakes} mistaken labels"
        return f"<MultilabelLedger: {counts} in {self.rounds} rounds, {len(self.by_label)} labels>"


class Totals(NamedTuple):
    """What is counted over all rounds."""

    rounds: int = 0
    first_seen: int = 0
    """Labels that occurred for the first time."""
    subset_mistakes: int = 0
    """Rounds in which the set of labels was wrong."""
    first_missed: int = 0
    """First rounds of labels that are mistakes in the ledgers of these labels."""


class MultilabelPanel:
    """A Panel for each label, over the same examples. Each predicts whether an example has its label.

    Each example is read once. What does not depend on labels is computed once for all panels: the scale of each
    feature, how often it occurred, and the interactions of features. Each panel predicts as if it learned alone.

    A label that occurs for the first time starts a panel in that round. This panel counts the earlier examples, since
    the first label, as examples without the label. Its members have not learned from them. Pass ``classes`` so that all
    panels learn from the first round on.

    Parameters
    ----------
    members, threads, keep_bytes
        As for ``Panel``, for each of the panels.
    classes : sequence, optional
        The labels, in the order of the columns of an indicator matrix. Other labels may occur in sets of labels.
        Labels are numbers and texts.

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

    # The lock is not in the dict: scikit-learn requires that __init__ sets parameters only there.
    __slots__ = ("__dict__", "__weakref__", "_lock")

    _lock: Lock

    def __init__(
        self,
        members: Any = "all",
        *,
        threads: int | None = None,
        classes: Sequence[Any] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self._lock = Lock()
        self.members = members
        self.threads = threads
        self.classes = classes
        self.keep_bytes = keep_bytes

    members = Members(lambda learner, label: learner.panel_of(label).members())

    # State, not parameters. Class attributes, because scikit-learn requires that __init__ sets parameters only.
    _panels: dict[Any, Panel] | None = None
    _totals = Totals()
    _learned_with: dict[str, Any] | None = None
    """The parameters at the first round, which all panels have: ``set_params`` may have set others."""
    shared: SharedPlay | None = None
    """Reads rows for all panels. It is made at the next round if it is None."""

    @property
    def panels(self) -> dict[Any, Panel]:
        """The panel of each label. Its own labels are False and True. It predicts alone, but learns with the others."""
        with self._lock:
            if self._panels is None:
                classes = () if self.classes is None else check_label_list(self.classes)
                self._panels = {label: self.new_panel() for label in classes}
            return self._panels

    def new_panel(self) -> Panel:
        """Return the panel of a label that has not occurred."""
        params = {**self.plain_params(), "classes": (False, True)}
        panel = Panel(params.pop("members"), **params)
        panel.learns_alone = False
        return panel

    def check_params(self) -> None:
        """Raise ValueError if a parameter is not valid."""
        _ = self.panels, self.new_panel().ledger_

    def continue_with(self, panels: dict[Any, Panel], totals: Totals) -> None:
        """Set the panels and counts of a model file."""
        self._panels, self._totals = panels, totals
        self._learned_with = get_params(self) if totals.rounds else None
        self._keep_together()

    def _keep_together(self) -> None:
        """Let no panel learn alone: not those of a copy or a file either."""
        for panel in (self._panels or {}).values():
            panel.learns_alone = False

    def panel_of(self, label: Any) -> Panel:
        """Return the panel of a label; raise KeyError if the label has not occurred."""
        if plain(label) not in self.panels:
            message = f"there is no label {label!r}; the labels are {list(self.panels)}"
            raise KeyError(message)
        return self.panels[plain(label)]

    @property
    def reading_panel(self) -> Panel:
        """The panel that decides how tables are read: all panels have learned from the same ones."""
        return next(iter(self.panels.values()), None) or self.new_panel()

    @property
    def thread_count(self) -> int:
        """How many threads learn."""
        return self.new_panel().thread_count

    # ------------------------------------------------------------------ learn

    @guarded
    def learn_one(self, x: Any, labels: Iterable[Any]) -> None:
        """Predict the labels of x, then learn them."""
        (found,) = label_sets([labels])
        mistaken = learn_known(self, x, found)
        if mistaken is None:
            self._run(one_row(x), self._of_sets([found]))
        else:
            self._totals = added(self._totals, Totals(1, 0, int(mistaken)))

    @guarded
    def run(self, X: Any, Y: Any) -> MultilabelLedger:
        """Predict, then learn, each example of a stream in its order; return the ledger of these rounds.

        Parameters
        ----------
        X : array, scipy sparse matrix, DataFrame, or list of dicts, sets or lists of names
            One example per round. A DataFrame is read like a table in a file.
        Y : array, sparse matrix, DataFrame, or iterable of sets
            The labels of each example: a set, or a row of 0 and 1 with a column for each label. The columns of a
            DataFrame have the names of the labels. Lists of labels are read like sets. Lists that look like the rows
            of a matrix, such as ``[0, 1, 1]``, are not valid here.
        """
        if is_ambiguous(Y, len(self.panels)):
            message = (
                "Y has lists of 0 and 1: for a column for each label, pass np.asarray(Y), otherwise sets of labels"
            )
            raise StreamError(message)
        return self._run(X, self._targets(Y))

    def _targets(self, Y: Any) -> Targets:
        if is_frame(Y):
            return self._of_indicators(Y.to_numpy(), list(Y.columns))
        Y = Y.toarray() if hasattr(Y, "toarray") else Y
        if getattr(Y, "ndim", 0) == 1 and Y.dtype.kind == "O":  # also a Series
            return self._of_sets(label_sets(Y))
        is_matrix = hasattr(Y, "ndim") or (isinstance(Y, (list, tuple)) and len(Y) > 0 and _is_row(Y[0]))
        return self._of_indicators(np.asarray(Y)) if is_matrix else self._of_sets(label_sets(Y))

    def _run(self, X: Any, targets: Targets) -> MultilabelLedger:
        X = X if hasattr(X, "shape") else list(X)
        count, labelled = X.shape[0] if hasattr(X, "shape") else len(X), targets.has.shape[1]
        if count != labelled:
            message = f"X has {count} rows but Y has {labelled} sets of labels"
            raise StreamError(message)
        if self._learned_with is None:
            self.check_params()
        rounds = (SeparateRounds if self.new_panel().objects() else SharedRounds)(self, targets)
        failed = None
        try:
            failed = rounds.run(X)
        finally:
            ledger = self._count(rounds)
        if failed is not None:
            raise failed.at_round(rounds.learned, cast("Ledger", ledger))
        return ledger

    def _of_sets(self, sets: list[set[Any]]) -> Targets:
        starts = first_rounds(sets, self.panels)
        labels = [*self.panels, *starts]
        places = {label: k for k, label in enumerate(labels)}
        has = np.zeros((len(labels), len(sets)), np.bool_)
        for t, each in enumerate(sets):
            for label in each:
                has[places[label], t] = True
        return Targets(labels, has, starts)

    def _count(self, rounds: SharedRounds) -> MultilabelLedger:
        """Add rounds that were learned to the totals; return their ledger."""
        ledgers = rounds.finish()
        self.panels.update({label: rounds.panels[label] for label in ledgers})
        seen = [label for label in rounds.targets.starts if label in ledgers]
        missed = sum(not ledgers[label].positive[0] for label in seen)
        new = Totals(rounds.learned, len(seen), int(rounds.mistaken().sum()), missed)
        self._totals = added(self._totals, new)
        if self._learned_with is None and new.rounds:
            self._learned_with = get_params(self)
        return MultilabelLedger(new.rounds, new.subset_mistakes, new.first_seen, ledgers, missed)

    def _of_indicators(self, Y: AnyArray, names: list[Any] | None = None) -> Targets:
        if Y.ndim != 2 or not np.isin(Y, (0, 1)).all():
            message = f"Y must be a matrix of 0 and 1 with a column for each label, got an array of shape {Y.shape}"
            raise ValueError(message)
        numbers = list(range(Y.shape[1]))
        found = numbers if names is None else [plain(name) for name in names]
        if len({*found}) < len(found):
            message = f"the columns of Y must have different names, got {found}"
            raise ValueError(message)
        if not self.panels:
            first_rounds([found], ())  # they must be labels
        labels = list(self.panels) or found
        if len(labels) != len(found) or (found != numbers and {*found} != {*labels}):
            columns = f"{len(found)} columns" if found == numbers else f"the columns {found}"
            message = f"Y has {columns}, but there are {len(labels)} labels: {labels}"
            raise ValueError(message)
        order = numbers if found == numbers else [found.index(label) for label in labels]
        return Targets(labels, np.ascontiguousarray(Y.T[order] != 0), {})

    # ------------------------------------------------------------------ predict

    @guarded
    def predict_one(self, x: Any) -> set[Any]:
        """Return the predicted labels of one example, without learning."""
        return {label for label, p in self.predict_proba_one(x).items() if p > EVEN and self.panels[label].has_learned}

    @guarded
    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return for each label the probability that an example has it, without learning."""
        if not self.panels or not self.__sklearn_is_fitted__() or not self._reads_together():
            return {label: panel.predict_proba_one(x)[True] for label, panel in self.panels.items()}
        return dict(zip(self.panels, self._probabilities(one_row(x))[0].tolist(), strict=True))

    @guarded
    def explain_one(self, x: Any, label: Any, *, top: int | None = None) -> Explanation:
        """Return what each feature of an example adds to the logit of a label: see ``Panel.explain_one``.

        Examples
        --------
        >>> import mistakebound as mb
        >>> topics = mb.MultilabelPanel(classes=("sport", "news"))
        >>> ledger = topics.run([{"goal"}, {"vote"}] * 20, [{"sport"}, {"news"}] * 20)
        >>> topics.explain_one({"goal"}, "sport").terms[0].name
        'goal'
        """
        return replace(self.panel_of(label).explain_one(x, top=top), of=plain(label))

    # ------------------------------------------------------------------ results

    @property
    def ledger_(self) -> MultilabelLedger:
        """The ledger of all rounds."""
        with self._lock:
            rounds, first_seen, subset, missed = self._totals
            by_label = {label: panel.ledger_ for label, panel in self.panels.items()}
        return MultilabelLedger(rounds, subset, first_seen, by_label, missed)

    @guarded
    def certify(self, label: Any, theorem: str | None = None) -> Certificate:
        """Compare the mistakes of a label, from its first round on, with the bound of a theorem: see ``Panel.certify``.

        Examples
        --------
        >>> import mistakebound as mb
        >>> topics = mb.MultilabelPanel(classes=("sport", "news"))
        >>> ledger = topics.run([{"goal"}, {"vote"}] * 20, [{"sport"}, {"news"}] * 20)
        >>> topics.certify("sport").status
        'holds'
        """
        return self.panel_of(label).certify(theorem)

    # ------------------------------------------------------------------ scikit-learn

    def fit(self, X: Any, Y: Any) -> Self:
        """Forget everything, then learn the rows of X in one pass. A list of lists of 0 and 1 is a matrix here."""
        with self._lock:
            before = self._panels, self._totals, self._learned_with, self.shared
            self._panels, self._totals, self._learned_with, self.shared = None, Totals(), None, None
            try:
                return self.partial_fit(X, Y)
            except ValueError:
                if not self._totals.rounds:  # nothing was learned, so nothing is forgotten
                    self._panels, self._totals, self._learned_with, self.shared = before
                raise

    def partial_fit(self, X: Any, Y: Any) -> Self:
        """Learn a batch after all that was learned before. A list of lists of 0 and 1 is a matrix here."""
        Y = np.asarray(Y) if columns_of(Y) > 1 or is_ambiguous(Y, len(self.panels)) else Y
        self.run(np.asarray(X) if isinstance(X, list) and X and isinstance(X[0], list) else X, Y)
        return self

    def predict(self, X: Any) -> IntArray:
        """Return a matrix of 0 and 1: a row for each example, a column for each label of ``classes_``.

        X is that of ``Panel.predict``, such as a DataFrame, if the learner learned from one.
        """
        return (self.predict_proba(X) > EVEN).astype(np.int64)

    @guarded
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each label (column) for each example (row), without learning."""
        self._check_fitted()
        if not self._reads_together():
            return np.column_stack([panel.predict_proba(X)[:, 1] for panel in self.panels.values()])
        return self._probabilities(X)

    def probabilities_of_parts(self, parts: Iterable[Part]) -> Iterator[tuple[FloatArray, int]]:
        """Yield the probabilities of each part of files, and how many of its examples have unknown names only."""
        self._check_fitted()
        for found, unknown in scores_of_parts(list(self.panels.values()), parts):
            yield self._probabilities_of(*found), unknown

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__() or not self.panels:
            message = "This MultilabelPanel instance is not fitted yet: call fit, partial_fit, run or learn_one first"
            raise not_fitted("predict")(message)

    def _reads_together(self) -> bool:
        """Whether the core can predict for all panels: not with members from outside, nor before the first label."""
        return all(panel.has_learned and not panel.objects() for panel in self.panels.values())

    def _probabilities(self, X: Any) -> FloatArray:
        return self._probabilities_of(*scores(list(self.panels.values()), X))

    @staticmethod
    def _probabilities_of(made: FloatArray, positive: BoolArray) -> FloatArray:
        """Return the probabilities that belong to scores: a row for each example."""
        return probabilities(made.ravel(), positive.ravel())[:, 1].reshape(made.shape).T

    def score(self, X: Any, Y: Any) -> float:
        """Return the fraction of the examples whose set of labels is predicted exactly."""
        predicted, has = self.predict(X).T != 0, self._targets(Y).has
        known = len(self.panels)  # other labels cannot be predicted
        return float(np.mean((predicted == has[:known]).all(axis=0) & ~has[known:].any(axis=0)))

    @property
    def classes_(self) -> AnyArray:
        """The labels, in the order of the columns."""
        return label_array(list(self.panels))

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002 - scikit-learn's signature
        """Return the constructor's parameters."""
        return get_params(self)

    def plain_params(self) -> dict[str, Any]:
        """Return the parameters of the panels: those at the first round."""
        return self._learned_with or get_params(self)

    def set_params(self, **params: Any) -> Self:
        """Set parameters. After the first round, they take effect at the next ``fit``, which also checks them."""
        with self._lock:
            set_params(self, params)
            if not self._totals.rounds:
                self._panels = None
            return self

    def __repr__(self) -> str:
        return f"MultilabelPanel({in_a_line(get_params(self))})"

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: a classifier of several labels."""
        found = tags(poor_score=False, binary_inputs=False, several=False)
        found.classifier_tags.multi_label = True
        return found

    def __sklearn_is_fitted__(self) -> bool:
        """Whether at least one round was learned."""
        return self._totals.rounds > 0

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a copy. A copy reads rows for its own panels."""
        with self._lock:  # the panels are copied here, because other threads may learn before they are written
            return deepcopy({name: value for name, value in vars(self).items() if name != "shared"})

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the state of a copy."""
        self._lock = Lock()
        vars(self).update(state)
        self._keep_together()

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        """Return a copy that learns by itself."""
        other = type(self).__new__(type(self))
        other.__setstate__(self.__getstate__())
        return other

    def __copy__(self) -> Self:
        """Return a deep copy, because both learners go on learning."""
        return deepcopy(self)

    # ------------------------------------------------------------------ files

    @guarded
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a zip file with the model file of each panel, which ``mistakebound.load`` reads."""
        from mistakebound.learners.multilabel_file import save  # noqa: PLC0415 - it imports this module

        save(self, path)


def label_sets(Y: Iterable[Any]) -> list[set[Any]]:
    """Return the labels of each example as sets; raise StreamError if they are not sets of labels."""
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


def one_row(x: Any) -> Any:
    """Return one example as the only row of a stream."""
    if is_frame(x):
        if len(x) != 1:
            message = f"one example must be one row, got a DataFrame of {len(x)}; use run or predict instead"
            raise ValueError(message)
        return x
    if hasattr(x, "to_frame"):
        return x.to_frame().T
    return x.reshape(1, -1) if hasattr(x, "shape") else [x]


def added(before: Totals, more: Totals) -> Totals:
    """Return the sums of all counts."""
    return Totals(*(a + b for a, b in zip(before, more, strict=True)))


def _is_row(row: Any) -> bool:
    """Return whether something is a row of numbers 0 and 1, rather than a set of labels."""
    return hasattr(row, "ndim")


def first_rounds(sets: Sequence[Iterable[Any]], known: Container[Any]) -> dict[Any, int]:
    """Return the first round of each label that is not known; raise StreamError for NaN, None and the like."""
    found: dict[Any, int] = {}
    for t, labels in enumerate(sets):
        for label in labels:
            if label in known or label in found:
                continue
            try:
                check_label(label)
            except StreamError as error:
                raise error.at_round(t) from None
            found[label] = t
    return found

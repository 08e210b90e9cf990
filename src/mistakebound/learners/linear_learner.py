"""Base class of the public linear learners: `Learner` with certificates, model files and scikit-learn's methods."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from mistakebound._support.lazy import np
from mistakebound._support.text import html_table
from mistakebound.data.labels import Labels, as_labels, check_classes, in_order, label_array, plain
from mistakebound.errors import Option, OptionError
from mistakebound.learners.learner import Learner
from mistakebound.learners.parameters import changed_params, get_params, set_params
from mistakebound.learners.sklearn import check_lengths, matrix_rows, not_fitted, tags, targets
from mistakebound.play.inputs import Named, frame_names, read_rows
from mistakebound.rules.registry import rule_class

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from typing_extensions import Self

    from mistakebound._support.arrays import AnyArray, BoolArray, FloatArray
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.play.inputs import Positional
    from mistakebound.play.ledger import Ledger
    from mistakebound.rules.base import Range, Rule


class LinearLearner(Learner):
    """Base of the public linear learners.

    A subclass names its rule and has the rule's parameters, which are checked by the rule's own ranges.
    """

    feature_names_in_: AnyArray
    _poor_score: ClassVar[bool] = False
    _binary_inputs: ClassVar[bool] = False

    # ------------------------------------------------------------------ the rule

    def _make_rule(self, n: int | None) -> Rule:
        kind = rule_class(self.rule_id)
        own = self._own_parameters(kind.ranges, n)
        shared = {name: getattr(self, name) for name in kind.ranges if name not in own and hasattr(self, name)}
        checked: dict[str, Any] = {name: number_of(name, value, kind.ranges[name]) for name, value in shared.items()}
        return kind(**own, **checked)

    def _own_parameters(self, ranges: Mapping[str, Range], n: int | None) -> dict[str, Any]:  # noqa: ARG002
        """Parameters of the rule that differ from the learner's own, for n features (None: features have names)."""
        return {}

    def known_bound(self, relevant: int | None) -> Callable[[Ledger, int], float | None] | None:
        """The bound that needs no comparator found in hindsight, so that it is known during a stream; None if none.

        It is a function of a ledger and of the positives missed so far. ``relevant`` is the number of features of
        which the label is an OR, if the caller knows it; OptionError if no theorem of this learner uses it.
        """
        if relevant is not None:
            reason = " is for winnow without a bias: no other theorem speaks of an OR of so many features"
            raise OptionError(Option("relevant", "relevant"), reason)
        return None

    # ------------------------------------------------------------------ certificates and files

    def certify(
        self,
        theorem: str | None = None,
        comparator: Any = None,
        margin: float | None = None,
        *,
        X: Any = None,
        y: Any = None,
    ) -> Certificate:
        """Compare the mistakes with the bound of a theorem, and check its premises.

        With X and y the premises are checked on the whole stream, in a second pass over it; otherwise on the rounds
        with a mistake only. Without theorem and comparator, those that give the smallest bound are searched for.

        Parameters
        ----------
        theorem : str, optional
            An id that ``mistakebound bound`` lists, such as ``"novikoff"``.
        comparator : array, dict or sequence of variables, optional
            The witness u, or the variables of a disjunction; found in hindsight if not given.
        margin : float, optional
            The γ at which an agnostic theorem measures hinge losses.
        X, y : optional
            The stream that this learner learned from, in the same order; X may be a Source. After several passes each
            example counts once per pass. ValueError if a replay gives other predictions, mistakes or weights; a
            change that alters none of these is not noticed (``run --certificate`` compares files byte by byte). A
            stream of more than some 350 million non-zeros is *incomplete*.

        Examples
        --------
        >>> import mistakebound as mb
        >>> stream = mb.streams.margin(n=20, rounds=2000, margin=0.3, seed=0)
        >>> learner = mb.Perceptron()
        >>> ledger = learner.run(stream.X, stream.y)
        >>> certificate = learner.certify(X=stream.X, y=stream.y)
        >>> certificate.status, certificate.scope
        ('holds', 'whole stream')
        """
        from mistakebound.certificates.certify import certify  # noqa: PLC0415 - it needs scipy, which import must not

        if X is None and y is None:
            return certify(self.ledger_, theorem=theorem, comparator=comparator, margin=margin)
        from mistakebound.learners.replay import whole_stream  # noqa: PLC0415

        return certify(whole_stream(self, X, y), theorem=theorem, comparator=comparator, margin=margin)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to a file (by custom ``.mb``), which ``mistakebound.load`` reads.

        The file holds the whole state, kept mistakes included: a loaded learner continues exactly where this one
        stopped. An existing file is replaced only when the new one is complete.

        Examples
        --------
        >>> import tempfile, pathlib, mistakebound as mb
        >>> learner = mb.Perceptron(classes=("ham", "spam"))
        >>> learner.learn_one({"lunch": 1}, "ham")
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "m.mb"
        >>> learner.save(path)
        >>> mb.load(path).predict_one({"lunch": 1})
        'ham'
        """
        from mistakebound.learners.linear import KINDS  # noqa: PLC0415 - that module is made of this one
        from mistakebound.models.model_file import save  # noqa: PLC0415 - import needs no json and no hashes

        save(self, path, KINDS)

    # ------------------------------------------------------------------ scikit-learn

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, then make one pass over the rows of X."""
        names = frame_names(X)
        rows = matrix_rows(X)
        y = targets(y, type(self).__name__)
        check_lengths(rows, y)
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
            rows = matrix_rows(X)
            y = targets(y, type(self).__name__)
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

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002 - scikit-learn's signature
        """Return the constructor's parameters."""
        return get_params(self)

    def set_params(self, **params: Any) -> Self:
        """Set parameters. They take effect at the next ``fit``: a learner that has started keeps its rule."""
        return set_params(self, params)

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        ledger = self.ledger_
        rows = {**changed_params(self), "mistakes": ledger.mistakes, "rounds": ledger.rounds}
        return html_table(type(self).__name__, rows)

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in changed_params(self).items())
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_tags__(self) -> Any:
        """Binary classifier for dense and sparse input."""
        return tags(poor_score=self._poor_score, binary_inputs=self._binary_inputs)

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

    def _check_fitted(self, wanted: str) -> None:
        if not self.__sklearn_is_fitted__():
            message = (
                f"This {type(self).__name__} instance is not fitted yet: call fit, partial_fit, run or learn_one first"
            )
            raise not_fitted(wanted)(message)

    def _read_known_rows(self, X: Any) -> Positional:
        """Rows for a learner that knows its features: the same ones, in the same order."""
        names, known = frame_names(X), getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and list(names) != list(known):
            message = (
                f"The feature names should match those that were passed during fit: {list(known)}, got {list(names)}"
            )
            raise ValueError(message)
        rows = matrix_rows(X)
        if self._life is not None:
            self._life.require(rows.width, type(self).__name__)
        return rows

    def _named_examples(self, X: Any) -> Iterable[Any]:
        rows = read_rows(X)
        if isinstance(rows, Named):
            return rows.examples
        self._begun().require(rows.width, type(self).__name__)
        return ()


def number_of(name: str, value: Any, allowed: Range) -> float:
    """Return a parameter as a float; ValueError, with the allowed range, if it is out of range."""
    number = value if type(value) in (bool, int, float) else plain(value)
    with suppress(OverflowError):  # a whole number that no float can be
        if isinstance(number, (bool, int, float)) and allowed.includes(float(number)):
            return float(number)
    message = f"{name} must be {allowed.words}, got {value!r}"
    raise ValueError(message)


def not_a_learner(found: object) -> TypeError:
    """The error to raise for what was passed in place of a linear learner.

    >>> class Forest: ...
    >>> print(not_a_learner(Forest))
    the learner must be a linear learner such as mb.Perceptron(), got the class Forest
    """
    what = f"the class {found.__name__}" if isinstance(found, type) else type(found).__name__
    return TypeError(f"the learner must be a linear learner such as mb.Perceptron(), got {what}")

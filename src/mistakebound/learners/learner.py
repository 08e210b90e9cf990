"""`Learner`: the base class of the linear learners, with all of their public methods."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from typing import TYPE_CHECKING, Any, ClassVar

from mistakebound._support.text import html_table
from mistakebound.data.labels import Labels, plain
from mistakebound.errors import Option, OptionError, setting
from mistakebound.learners import prediction, rounds, sklearn, streams
from mistakebound.learners.linear_play import LOCK, LinearPlay
from mistakebound.learners.parameters import changed_params, get_params, set_params
from mistakebound.play.engine import NO_ROUNDS, LearnerEngine, Reduction
from mistakebound.rules.registry import rule_class

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from typing_extensions import Self

    from mistakebound._core import Chunk
    from mistakebound._support.arrays import AnyArray, FloatArray
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.data.options import Reading
    from mistakebound.data.parts import Part
    from mistakebound.data.reader import StreamReader
    from mistakebound.data.source import Stream
    from mistakebound.errors import InputError
    from mistakebound.learners.explain import FeatureWeight
    from mistakebound.learners.explanation import Explanation
    from mistakebound.play.ledger import Ledger
    from mistakebound.rules.base import Range, Rule

KEEP_BYTES = 16 * 2**20


class Learner:
    """Base class of the linear learners. A subclass has the id of its rule and the rule's parameters.

    The first input decides whether features have names or positions. Prediction never changes the weights; learning
    predicts first. Some methods are defined as functions in the modules ``prediction``, ``rounds``, ``explain``,
    ``streams`` and ``sklearn``.
    """

    rule_id: ClassVar[str]
    """Id of the rule in ``rules.registry``."""
    default_labels: ClassVar[tuple[int, int]] = (-1, 1)
    classes: Sequence[Any] | None
    keep_bytes: int
    feature_names_in_: AnyArray
    _poor_score: ClassVar[bool] = False
    _binary_inputs: ClassVar[bool] = False
    takes_several: ClassVar[bool] = False
    """Whether the learner can have more than two labels."""

    # State, not parameters. Class attributes, because scikit-learn requires that __init__ sets parameters only.
    _play: LinearPlay | None = None
    """The state; None before the first input."""
    _engine_type: type[LearnerEngine] = LearnerEngine
    _early_labels: Labels | None = None
    """The labels, as far as they are known, before the first input."""
    _last_stream: tuple[Stream, Reading | None] | None = None
    """The last stream that was learned, and the reading options known before it: a second pass needs both."""

    learns_alone: bool = True
    """Whether it may learn by itself: not if it is one of the panels of a MultilabelPanel."""

    def check_alone(self) -> None:
        """Raise ValueError if this is a panel that learns with those of other labels only. Its copy learns alone."""
        if not self.learns_alone:
            message = (
                "this panel learns with the panels of other labels: use the MultilabelPanel, or a copy of this panel"
            )
            raise ValueError(message)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a copy, which learns alone."""
        return {name: value for name, value in vars(self).items() if name != "learns_alone"}

    # ------------------------------------------------------------------ the rule

    def _make_rule(self, n: int | None) -> Rule:
        """Return the rule with its parameters; n is the number of features, None if features have names."""
        kind = rule_class(self.rule_id)
        parameters = self._own_parameters(kind.ranges, n)
        for name, allowed in kind.ranges.items():
            if name not in parameters and hasattr(self, name):
                value = getattr(self, name)
                if allowed.other and isinstance(value, str) and value == allowed.other:
                    value = self._best_parameter(n)
                parameters[name] = number_of(name, value, allowed)
        return kind(**parameters)

    def _own_parameters(self, ranges: Mapping[str, Range], n: int | None) -> dict[str, Any]:  # noqa: ARG002
        """Return the rule's parameters that are not attributes of the learner, for n features (None: with names)."""
        return {}

    def _best_parameter(self, n: int | None) -> float:
        """Return the value for a parameter that is set to "best"."""
        raise NotImplementedError

    def _reduction(self) -> Reduction:
        """Return how the target is turned into a disjunction; most learners do not do that."""
        return Reduction()

    def known_bound(self, relevant: int | None) -> Callable[[Ledger, int], float | None] | None:
        """Return a bound that is known during a stream, because it needs no comparator; None if there is none.

        The bound is a function of a ledger and of the number of missed positives so far. ``relevant`` is the number of
        features in the OR that gives the label, if it is known. Raises OptionError if no theorem of this learner uses
        it.
        """
        if relevant is not None:
            reason = " is only valid for winnow without a bias: no other theorem is about an OR of so many features"
            raise OptionError(Option("relevant", "relevant"), reason)
        return None

    def known_theorem(self) -> str:
        """Return the id of the theorem of ``known_bound``; empty if there is none."""
        return ""

    # ------------------------------------------------------------------ one example

    def predict_one(self, x: Any) -> Any:
        """Return the predicted label of one example, without learning."""
        play = self._play
        try:
            # Fast path for a learner with named features, as in learn_one.
            if type(x) is dict:
                return play.labels.decode(play.named_core.score_named(x)[1])  # type: ignore[union-attr]
        except (AttributeError, TypeError, ValueError):
            pass
        return prediction.predict_one(self, x)

    def score_one(self, x: Any) -> float:
        """Return w·x of one example, with normalised weights. The prediction compares it with the rule's threshold."""
        return prediction.score_one(self, x)[0]

    def learn_one(self, x: Any, y: Any, weight: float = 1.0) -> None:
        """Predict the label of x, count a mistake if it is not y, and learn.

        The weight multiplies what is learned, for learners that take weights.
        """
        play = self._play
        try:
            # Fast path for a learner with named features. On any error, the general path below raises it.
            if type(x) is dict and weight == 1:
                play.named_core.learn_named(x, play.labels.signs[y])  # type: ignore[union-attr]
                return
        except (AttributeError, KeyError, TypeError, ValueError):
            pass
        rounds.learn_one(self, x, y, weight)

    ask = rounds.ask
    tell = rounds.tell
    predict_proba_one = sklearn.WithProbabilities(prediction.predict_proba_one)

    def explain_one(self, x: Any, *, top: int | None = None, label: Any = None) -> Explanation:
        """Return what each feature adds to the score of one example. The score of a panel is a logit.

        Parameters
        ----------
        x
            One example, as for ``predict_one``.
        top : int, optional
            Only the largest terms, and one more for the sum of the others. By default, all terms.
        label : optional
            Of a panel or a multiclass Perceptron: the label whose logit or score is explained. By default, the positive
            label; of several classes, the predicted one.
        """
        from mistakebound.learners.explain import explain_one  # noqa: PLC0415 - learning does not need it

        return explain_one(self, x, top=top, label=label)

    # ------------------------------------------------------------------ a stream

    run = rounds.run
    run_parts = rounds.run_parts
    score_parts = prediction.score_parts
    predicted_parts = prediction.predicted_parts
    open_stream = streams.open_stream

    def run_part(
        self,
        part: Part,
        first: int = 0,
        last: int | None = None,
        y: AnyArray | None = None,
        *,
        scores: bool = False,
        weights: FloatArray | None = None,
    ) -> tuple[Ledger, InputError | None]:
        """Predict, then learn, rows of a part of a stream.

        Parameters
        ----------
        part : Part
            The part.
        first, last : int
            The first row, and the row after the last; by default, all rows.
        y : array, optional
            The labels of the rows of the part, if they are not in the file.
        scores : bool
            Whether the ledger shall have the score of each row.
        weights : array, optional
            The weights of the rows of the part, if they are not in the file.

        Returns
        -------
        ledger, error
            The ledger of the rows that were learned, and the error of the row after them, or None.
        """
        return self._start_with_chunk(part.chunk).run_part(part, first, last, y, scores=scores, weights=weights)

    def measure(self, *, on: bool) -> None:
        """Set whether the next rounds count in the measures of probabilities. Later passes over a stream do not."""
        if self._play is not None:
            self._play.engine.core.measure(on)

    def rest(self) -> None:
        """End a run over a stream: measure again, and end threads that waited for more."""
        self.measure(on=True)
        if self._play is not None:
            self._play.engine.core.rest()

    def stream_of(self, X: Any, *, new: bool = False) -> Stream | StreamReader | None:
        """Return X as a stream, if it is one, or is a DataFrame and the learner learned from tables.

        With ``new``, a learner that has not learned anything reads a DataFrame like a table, too.
        """
        return streams.as_stream(X, reads_columns=self._reads_columns() or (new and not self.has_learned))

    def known_reading(self) -> Reading | None:
        """Return how the learner's files were read, once something was learned from them."""
        return None if self._play is None else self._play.reading

    def reading_for(self, stream: Stream) -> Reading | None:
        """Return how to read a stream: like the learner's files; a later pass over the last stream, like its first."""
        known, last = self.known_reading(), self._last_stream
        return known if known is None or last is None or last[0] is not stream else last[1]

    def _reads_columns(self) -> bool:
        """Whether the learner learned from files with columns, so that it reads a DataFrame like these files."""
        known = self.known_reading()
        return known is not None and known.has_columns and self._current_play().engine.named

    # ------------------------------------------------------------------ results

    @property
    def takes_weights(self) -> bool:
        """Whether examples may have weights."""
        return rule_class(self.rule_id).takes_weights

    @property
    def has_learned(self) -> bool:
        """Whether at least one round was learned."""
        return self._play is not None and self._play.has_learned

    def settle_several(self, classes: list[Any]) -> bool:  # noqa: ARG002
        """Set the labels before the first round, if there are more than two; return whether there are."""
        return False

    @property
    def several(self) -> bool:
        """Whether there are more than two labels, so that labels have class ids. Only a Panel can have them."""
        return False

    def counts_now(self) -> Any:
        """Return the counts so far, for the ledger of the rounds that follow."""
        return NO_ROUNDS if self._play is None else self._play.engine.measured_counts

    def expect_labels(self, y: Any) -> None:
        """Prepare for the labels of the first batch. Only a Panel uses them: they decide on its form."""

    def add_class(self, error: Exception) -> LinearPlay | None:  # noqa: ARG002
        """Return a play that can learn the label that ``error`` is about; None if there is none."""
        return None

    @property
    def labels_settled(self) -> bool:
        """Whether both labels are known."""
        return self._labels.settled

    @property
    def ledger_(self) -> Ledger:
        """The ledger of all rounds of this learner."""
        return self._current_play().ledger()

    @property
    def weights_(self) -> FloatArray | dict[str, float]:
        """Normalised weights: an array, or {name: weight} for named features (without the constant feature)."""
        return self._current_play().weights()

    @property
    def intercept_(self) -> float:
        """The score of an example without features: the weight of the constant feature times ``bias``, or the prior."""
        return self._current_play().intercept()

    def feature_weights(self, *, top: int | None = None, label: Any = None) -> list[FeatureWeight]:
        """Return the features with the largest absolute weights, the largest first.

        Parameters
        ----------
        top : int, optional
            How many features; by default, all of them.
        label : optional
            Of a panel or a multiclass Perceptron: the label whose weights they are. By default, the positive label; of
            several classes, it is needed.
        """
        from mistakebound.learners.explain import feature_weights  # noqa: PLC0415 - learning does not need it

        return feature_weights(self, top=top, label=label)

    def plot_potential(self, comparator: Any, margin: float, *, dark: bool = False) -> Any:
        """Draw what the proof of the bound follows, after each mistake, and the line of its lemma; return a figure.

        For a Perceptron these are ‖z‖² and u·z, for a NormalizedWinnow the relative entropy RE(u‖w).

        Parameters
        ----------
        comparator : sequence
            A vector u with a weight for each feature.
        margin : float
            The margin γ that the lemma uses: the least y(u·x), if u separates the labels.
        dark : bool
            Whether to draw on a dark page.
        """
        from mistakebound.theorems.potential import potentials_of  # noqa: PLC0415 - few draw it
        from mistakebound.viz.plot import potential  # noqa: PLC0415

        found = potentials_of(self.ledger_, comparator, margin)
        lines = {f"{name}, line of the lemma": each.line for name, each in found.items()}
        return potential({name: each.values for name, each in found.items()}, lines, dark=dark)

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

        With X and y, a second pass over the stream checks the premises on all rounds. Otherwise they are checked on the
        rounds with a mistake only. By default, the theorem and the comparator with the smallest bound are searched.
        See docs/theory.md, "Certificates".

        Parameters
        ----------
        theorem : str, optional
            An id that ``mistakebound bound`` lists, such as ``"novikoff"``.
        comparator : array, dict or sequence of variables, optional
            The vector u, or the variables of a disjunction; by default, found in hindsight.
        margin : float, optional
            The γ at which an agnostic theorem measures hinge losses.
        X, y : optional
            The stream that this learner learned from, in the same order; X may be a Source. Each example counts once
            per pass. A replay that gives other predictions, mistakes or weights raises ValueError. Other differences
            are not detected; for a byte-by-byte comparison, use a portable certificate. The status is *incomplete*
            for a stream of more than about 350 million non-zeros.

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
        """Write the learner to a file, usually ``*.mb``, which ``mistakebound.load`` reads.

        The file has the whole state, with the kept examples: a loaded learner continues exactly where this one stopped.
        An existing file is replaced only when the new one is complete.

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
        from mistakebound.learners.linear import KINDS  # noqa: PLC0415 - it imports this module
        from mistakebound.models.model_file import save  # noqa: PLC0415 - it needs json and hashes

        save(self, path, KINDS)

    # ------------------------------------------------------------------ scikit-learn

    fit = sklearn.ByWeights(sklearn.fit, sklearn.fit_without_weights)
    partial_fit = sklearn.ByWeights(sklearn.partial_fit, sklearn.partial_fit_without_weights)
    get_metadata_routing = sklearn.ByWeights(sklearn.get_metadata_routing)
    set_fit_request = sklearn.ByWeights(sklearn.set_fit_request)
    set_partial_fit_request = sklearn.ByWeights(sklearn.set_partial_fit_request)
    set_score_request = sklearn.ByWeights(sklearn.set_score_request)
    predict = sklearn.predict
    decision_function = sklearn.decision_function
    predict_proba = sklearn.WithProbabilities(sklearn.predict_proba)
    predict_log_proba = sklearn.WithProbabilities(sklearn.predict_log_proba)
    score = sklearn.score
    classes_ = property(sklearn.classes)
    n_features_in_ = property(sklearn.n_features_in)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002 - scikit-learn's signature
        """Return the constructor's parameters."""
        return get_params(self)

    def objects(self) -> list[str]:
        """Return the names of members from outside, which a model file cannot store."""
        return []

    def plain_params(self) -> dict[str, Any]:
        """Return the constructor's parameters; members from outside are replaced by the names of their classes."""
        return self.get_params()

    def set_params(self, **params: Any) -> Self:
        """Set parameters. They take effect at the next ``fit``: a learner that has started keeps its rule."""
        return set_params(self, params)

    def _repr_html_(self) -> str:
        """Return an HTML table for notebooks."""
        ledger = self.ledger_
        rows = {**changed_params(self), "mistakes": ledger.mistakes, "rounds": ledger.rounds}
        return html_table(type(self).__name__, rows)

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in changed_params(self).items())
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: a binary classifier for dense and sparse input."""
        return sklearn.tags(poor_score=self._poor_score, binary_inputs=self._binary_inputs, several=self.takes_several)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether at least one round was learned."""
        return self.has_learned

    def __copy__(self) -> Self:
        """Return a deep copy, because both learners go on learning."""
        return deepcopy(self)

    # ------------------------------------------------------------------ starting

    @property
    def _labels(self) -> Labels:
        """The two labels, as far as they are known."""
        if self._play is not None:
            return self._play.labels
        if self._early_labels is None:
            self._early_labels = Labels(self.default_labels, self.classes)
        return self._early_labels

    def _current_play(self) -> LinearPlay:
        """Return the play; before the first input, an empty play that is not stored."""
        return self._play or LinearPlay(LearnerEngine(self._make_rule(0), 0, 0, Reduction()), self._labels)

    def _start(self, width: int | None) -> LinearPlay:
        """Start with features by name (width None) or by position; if it has started, check that they are the same."""
        play = self._play or self._begin(width)
        play.require(width, type(self).__name__)
        return play

    def _start_with_chunk(self, chunk: Chunk) -> LinearPlay:
        """Start with a part of a file. The number of features by position is not known then: it grows."""
        play = self._play or self._begin(None, growing=not chunk.named)
        play.require(None if chunk.named else play.engine.width or 0, type(self).__name__)
        return play

    def _new_engine(self, width: int | None, *, growing: bool = False) -> LearnerEngine:
        keep_bytes = self._keep_bytes()
        reduction = self._reduction()
        if width is None and reduction != Reduction():
            message = "complements and conjunctions need to know all variables: use positional features"
            raise ValueError(message)
        rule = self._make_rule(None if width is None else reduction.slots(width))
        return self._engine_type(rule, 0 if growing else width, keep_bytes, reduction, growing=growing)

    def _keep_bytes(self) -> int:
        if not isinstance(self.keep_bytes, int) or not 0 <= self.keep_bytes < 2**63:
            message = f"keep_bytes must be a whole number of at least 0 (and below 2**63), got {self.keep_bytes!r}"
            raise ValueError(message)
        return self.keep_bytes

    def _begin(self, width: int | None, *, growing: bool = False) -> LinearPlay:
        """Begin a play. Two threads that begin at the same time get the same play."""
        labels = self._labels
        play = LinearPlay(self._new_engine(width, growing=growing), labels)
        with LOCK:
            self._play = self._play or play
            return self._play

    def _restore(self, engine: LearnerEngine) -> LinearPlay:
        """Set the play to one with the engine of a model file."""
        self._play = LinearPlay(engine, self._labels)
        return self._play

    def _forget(self, before: LinearPlay | None) -> None:
        """Go back to ``before`` after a bad first round, unless another thread has learned or asked meanwhile."""
        with LOCK:
            if self._play is None or self._play.is_unused:
                self._play = before


def number_of(name: str, value: Any, allowed: Range) -> float:
    """Return a parameter as a float; raise OptionError, with the allowed range, if it is out of range."""
    number = value if type(value) in (bool, int, float) else plain(value)
    with suppress(OverflowError):  # an integer that is too large for a float
        if isinstance(number, (bool, int, float)) and allowed.includes(float(number)):
            return float(number)
    raise OptionError(setting(name), f" must be {allowed.words}, got {value!r}")

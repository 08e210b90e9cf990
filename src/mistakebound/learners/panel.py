"""`Panel`: a mixture of sixteen learners under a guard. It has nothing to tune."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, cast

from mistakebound._support.lazy import np
from mistakebound.data.class_labels import ClassLabels
from mistakebound.data.labels import plain_label
from mistakebound.errors import InputError, OptionError, setting
from mistakebound.learners.learner import KEEP_BYTES, Learner
from mistakebound.learners.linear_play import LOCK, LinearPlay
from mistakebound.learners.panel_members import (
    Members,
    class_name,
    fresh,
    joined_to,
    members,
    named_apart,
    split_members,
)
from mistakebound.learners.panel_options import (
    check_abstain,
    check_cut,
    check_feature_limit,
    check_threads,
    distinct_labels,
    more_than_two,
    only_two_labels,
    processors,
    refuse_decisions,
)
from mistakebound.learners.weights import check_class_weight
from mistakebound.play.engine import LearnerEngine
from mistakebound.rules.panel_members import mask_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mistakebound._core import Chunk
    from mistakebound._support.arrays import AnyArray, FloatArray
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.data.parts import Part
    from mistakebound.play.class_engine import ClassEngine
    from mistakebound.play.ledger import Ledger
    from mistakebound.play.standings import Standings
    from mistakebound.rules.base import Range

NO_WEIGHTS = (
    "the score of a panel is not a sum of weights: panel.feature_weights() returns what each feature adds to the "
    "logit, panel.explain_one(x) what adds to one prediction, and panel.members() the weights of the members"
)


class Panel(Learner):
    """The learner to begin with: a mixture of sixteen learners under a guard. It has nothing to tune.

    In each round, sixteen members predict log odds, and three mixers combine them. The prediction follows the mixture
    as long as a guarded Weighted Majority allows it. So the Panel makes at most ``2.41(m + lg 19)`` mistakes, where m
    is the number of mistakes of its best member or mixer, and lg is the binary logarithm. This needs no premise: see
    docs/theory.md, "The Panel".

    Parameters
    ----------
    members : "all", "lean", or a sequence
        ``"lean"`` leaves out four members: it is faster, takes less memory, and is almost as accurate. A sequence may
        contain names of members (``panel.members()`` lists them), ``"all"`` or ``"lean"``, and members from outside:
        learners, or any objects with ``predict_one(x)`` and ``learn_one(x, y)``. These are copied, and learn the labels
        True and False.
    class_weight : dict, optional
        The weights of labels, from 0 to 1e9, such as ``{"spam": 5}``; 1 for the others. They multiply the weights of
        the examples. See docs/learners.md, "Weights".
    threshold : float, optional
        With two labels, predict the positive one if its probability is at least this number, between 0 and 1. By
        default, the guard decides, and its bound holds. With a threshold, that bound does not apply.
    abstain : float, optional
        With two labels, predict None if the probability is less than this far from the threshold, or from ½. It must be
        a multiple of 0.001. ``ledger.answers`` counts abstentions, and mistakes in the other rounds.
    threads : int, optional
        1 or 2; the result does not depend on it. The default is 2 if there are at least two processors, or at least
        three for text files, because one of them parses the text. With members from outside it is always 1.
    max_features : int, optional
        Limit on the number of named features, for endless streams. By default, there is no limit. It is applied after
        every 1,024th round: if there are more features, they are dropped until three quarters of the limit are left,
        the least frequent ones first, and among equally frequent ones the oldest. ``dropped_features_`` counts them.
    classes : sequence, optional
        The labels: (negative, positive), or more than two. By default, those of the first batch. Of two labels, the
        greater one is positive. Other labels may occur at any time. A third label
        converts a panel of two labels.
    keep_bytes : int
        Memory for the predictions and for the rounds of the mistakes.

    Examples
    --------
    >>> import mistakebound as mb
    >>> stream = mb.streams.disjunction(n=100, r=3, rounds=2000, seed=0)
    >>> panel = mb.Panel()
    >>> ledger = panel.run(stream.X, stream.y)
    >>> ledger.mistakes < 60, ledger.measures.auc > 0.99
    (True, True)
    >>> panel.certify().status
    'holds'
    >>> spam = mb.Panel(classes=("ham", "spam"))
    >>> spam.learn_one({"win": 1, "money": 1}, "spam")
    >>> spam.predict_one({"money": 1})
    'spam'
    """

    rule_id: ClassVar[str] = "panel"
    takes_several: ClassVar[bool] = True

    def __init__(
        self,
        members: str | Sequence[Any] = "all",
        *,
        class_weight: Mapping[Any, float] | None = None,
        threshold: float | None = None,
        abstain: float | None = None,
        threads: int | None = None,
        max_features: int | None = None,
        classes: Sequence[Any] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.members = members
        self.class_weight = class_weight
        self.threshold = threshold
        self.abstain = abstain
        self.threads = threads
        self.max_features = max_features
        self.classes = classes
        self.keep_bytes = keep_bytes

    members = Members(members)

    # ------------------------------------------------------------------ results of the members

    @property
    def standings(self) -> Standings:
        """Mistakes, log loss and weights of all members and mixers so far."""
        return cast("Standings", self._current_play().engine.standings)

    def leadership(self) -> list[tuple[int, str]]:
        """Return each change of the leader, the member with the least log loss so far: the round, and its name.

        The leader is determined every 32 rounds. Of more than 4,096 changes, only some are kept.
        """
        engine = self._current_play().engine
        names, leads = engine.member_names, engine.core.leadership()
        return [(int(round_), names[int(member)]) for round_, member in leads]

    def plot_leadership(self, *, dark: bool = False) -> Any:
        """Draw which member had the least log loss so far in each round; return a matplotlib figure.

        ``figure.savefig("leaders.png")`` saves it.
        """
        from mistakebound.viz.plot import leadership  # noqa: PLC0415 - it needs matplotlib

        changes = self.leadership()
        if not changes:
            message = "there is no leader yet: the first one is known after 32 rounds"
            raise ValueError(message)
        return leadership(changes, self.standings.rounds, dark=dark)

    @property
    def weights_(self) -> Any:
        """A panel has none: AttributeError is raised."""
        raise AttributeError(NO_WEIGHTS)

    @property
    def intercept_(self) -> float:
        """A panel has none: AttributeError is raised."""
        raise AttributeError(NO_WEIGHTS)

    def certify(  # type: ignore[override]
        self, theorem: str | None = None, *, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> Certificate:
        """Compare the mistakes with the bound of a theorem. No premise is needed, and no second pass.

        The theorems do not apply to a panel that was mixed (``mb.mix``).

        Parameters
        ----------
        theorem : str, optional
            ``"guarded-weighted-majority"`` (the mistakes of the best member or mixer) or ``"bayes-mixture"`` (the least
            log loss). By default, the one with the smaller bound.
        X, y, sample_weight : optional
            The stream that this panel learned from. A new panel learns it again, and ValueError is raised if its result
            differs.

        Examples
        --------
        >>> import mistakebound as mb
        >>> panel = mb.Panel()
        >>> ledger = panel.run([[1, 0], [0, 1]] * 200, [1, -1] * 200)
        >>> certificate = panel.certify(theorem="guarded-weighted-majority")
        >>> certificate.mistakes, round(certificate.bound, 1), certificate.status
        (1, 12.6, 'holds')
        """
        from mistakebound.certificates.panel_certificate import certify_panel  # noqa: PLC0415 - few need it

        if X is not None or y is not None:
            from mistakebound.learners.replay import check_again  # noqa: PLC0415

            check_again(self, X, y, sample_weight)
        return certify_panel(self.ledger_, theorem)

    def known_bound(self, relevant: int | None) -> Callable[[Ledger, int], float | None] | None:
        """Return a function that returns the smaller bound of the two theorems; None if the panel was mixed."""
        super().known_bound(relevant)  # raises for a number of relevant features
        return lambda ledger, _: (
            None if ledger.standings is None else min(ledger.standings.bounds.values(), default=None)
        )

    def known_theorem(self) -> str:
        """Return the id of the theorem with the smaller bound; empty before the first round."""
        standings = self.ledger_.standings
        return "" if standings is None else min(standings.bounds, key=standings.bounds.__getitem__)

    @property
    def dropped_features_(self) -> int:
        """Number of features that were dropped, because there were more than ``max_features``."""
        return self._current_play().engine.dropped

    # ------------------------------------------------------------------ files

    def objects(self) -> list[str]:
        """Return the names of the members from outside."""
        play, wanted = self._play, vars(self)["members"]
        if play is not None and (joined := joined_to(play.engine)):
            return [name for name, _ in joined]
        listed = wanted if isinstance(wanted, Collection) and not isinstance(wanted, str) else ()
        return [name for name, _ in named_apart([each for each in listed if not isinstance(each, str)])]

    def plain_params(self) -> dict[str, Any]:
        """Return the parameters; members from outside are replaced by the names of their classes."""
        params = self.get_params()
        if isinstance(params["members"], Collection) and not isinstance(params["members"], str):
            listed = [each if isinstance(each, str) else class_name(each) for each in params["members"]]
            params["members"] = tuple(listed) if isinstance(params["members"], tuple) else listed
        return params

    # ------------------------------------------------------------------ several classes

    @property
    def takes_weights(self) -> bool:
        """Whether examples may have weights: not if there are members from outside."""
        return not self.objects()

    @property
    def several(self) -> bool:
        """Whether there are more than two labels."""
        return isinstance(self._labels, ClassLabels)

    @property
    def _labels(self) -> Any:
        """The labels, as far as they are known."""
        if self._play is None and self._early_labels is None and more_than_two(self.classes):
            early: Any = ClassLabels(self.classes)
            self._early_labels = early
        return super()._labels

    def counts_now(self) -> Any:
        """Return the counts so far, for the ledger of the rounds that follow."""
        if self._play is None or not self.several:
            return super().counts_now()
        engine: Any = self._play.engine
        return engine.class_counts

    def expect_labels(self, y: Any) -> None:
        """Prepare for the labels of the first batch: more than two of them make a panel of several classes."""
        unknown = self._play is None and self.classes is None and not self._labels.settled
        if unknown and len(distinct_labels(y, self._labels.seen_before)) > 2 and not self._split()[1]:
            early: Any = ClassLabels()
            self._early_labels = early

    def settle_several(self, classes: list[Any]) -> bool:
        """Set the labels before the first round, if there are more than two; return whether there are."""
        if self.several:
            if {*classes} != {*self._labels.ordered}:
                message = f"classes must be the learner's labels {self._labels.ordered}, got {classes!r}"
                raise ValueError(message)
            return True
        if not more_than_two(classes) or self._play is not None:
            return False
        early: Any = ClassLabels(classes)
        self._early_labels = early
        return True

    def add_class(self, error: Exception) -> LinearPlay | None:
        """Convert a panel of two labels, if the error is a third label; return its new play, otherwise None."""
        play = self._play
        if not isinstance(error, InputError) or error.kind != "third label" or play is None:
            return None
        rule: Any = play.engine.rule
        if self.several or joined_to(play.engine):
            return None
        if rule.threshold != 0 or rule.band is not None:
            error.args = (*error.args, *only_two_labels("threshold" if rule.threshold != 0 else "abstain"))
            return None
        from mistakebound.learners.class_play import converted  # noqa: PLC0415 - few have several classes

        with LOCK:
            self._play = converted(play)
        return self._play

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
        """Predict, then learn, rows of a part of a stream: see ``Learner.run_part``."""
        if self._play is None:
            self.expect_labels(np.array(list(map(plain_label, part.labels)), object) if y is None else y)
        play = self._start_with_chunk(part.chunk)
        if play.engine.max_features is not None:
            from mistakebound.play.feature_limit import rounds_left  # noqa: PLC0415 - few learners have a limit

            end = part.rows if last is None else min(last, part.rows)
            last = min(end, first + rounds_left(play.engine))
        ledger, wrong = play.run_part(part, first, last, y, scores=scores, weights=weights)
        if wrong is not None and not self.several and wrong.kind == "third label":
            from mistakebound.learners.class_rounds import with_third_label  # noqa: PLC0415 - few have several classes

            begin, done = first + ledger.rounds, ledger
            ledger, wrong = with_third_label(
                self,
                done,
                wrong,
                lambda play: play.run_part(part, begin, last, y, scores=scores, weights=weights, done=done),
            )
        self._current_play().limit_features()
        return ledger, wrong

    # ------------------------------------------------------------------ starting

    def _begin(self, width: int | None, *, growing: bool = False) -> LinearPlay:
        labels, class_weight = self._labels, check_class_weight(self.class_weight)
        own, others = self._split()
        if others and class_weight is not None:
            raise OptionError(
                setting("class_weight"), " is not valid with members from outside, which could not use it"
            )
        if not isinstance(labels, ClassLabels):
            play = super()._begin(width, growing=growing)
            play.use_class_weight(class_weight)
            return play
        refuse_decisions(self)
        if others:
            raise OptionError(setting("members"), " from outside are only valid for two labels")
        _ = self.thread_count  # raises for a value that is not valid
        from mistakebound.learners.class_play import new_play  # noqa: PLC0415 - few have several classes

        play = new_play(mask_of(own), 0 if growing else width, self._keep_bytes(), labels, growing=growing)
        play.engine.max_features = check_feature_limit(self.max_features, named=width is None)
        play.use_class_weight(class_weight)
        with LOCK:
            self._play = self._play or play
            return self._play

    def _forget(self, before: LinearPlay | None) -> None:
        super()._forget(before)
        if self._play is None and self.classes is None:
            self._early_labels = None

    def _own_parameters(self, ranges: Mapping[str, Range], n: int | None) -> dict[str, Any]:  # noqa: ARG002
        own, others = self._split()
        cut = check_cut(self.threshold)
        return {
            "members": mask_of(own),
            "joined": len(others),
            "cut": cut,
            "abstain": check_abstain(self.abstain, cut),
        }

    def _split(self) -> tuple[tuple[str, ...], list[tuple[str, Any]]]:
        """Return the names of the members that are the Panel's own, and the others with their names."""
        return split_members(vars(self)["members"])

    def _new_engine(self, width: int | None, *, growing: bool = False) -> LearnerEngine:
        others = self._split()[1]
        threads = self.thread_count
        self._engine_type = LearnerEngine
        if others:
            from mistakebound.play.joined_engine import JoinedEngine  # noqa: PLC0415 - few panels have such members

            self._engine_type = JoinedEngine
        engine: Any = super()._new_engine(width, growing=growing)
        if others:
            engine.joined = [(name, fresh(member)) for name, member in others]
        engine.core.use_threads(1 if others else threads)
        engine.max_features = check_feature_limit(self.max_features, named=width is None)
        made: LearnerEngine = engine
        return made

    def _current_play(self) -> LinearPlay:
        """Return the play; before the first input, an empty play that is not stored."""
        if self._play is not None:
            return self._play
        labels = self._labels
        if isinstance(labels, ClassLabels):
            from mistakebound.learners.class_play import new_play  # noqa: PLC0415 - few have several classes

            return new_play(mask_of(self._split()[0]), 0, 0, labels)
        return LinearPlay(self._new_engine(0), labels)

    def _restore(self, engine: LearnerEngine) -> LinearPlay:
        with suppress(OptionError):  # set_params may have set a value that only the next fit checks
            engine.max_features = check_feature_limit(self.max_features, named=engine.named)
        if self.several:
            from mistakebound.learners.class_play import ClassPlay  # noqa: PLC0415 - few have several classes

            self._play = ClassPlay(cast("ClassEngine", engine), self._labels)
        else:
            with suppress(OptionError):  # set_params may have set a value that only the next fit checks
                engine.core.use_threads(self.thread_count)
            super()._restore(engine)
        play = self._current_play()
        with suppress(OptionError):
            play.use_class_weight(check_class_weight(self.class_weight))
        return play

    def _start_with_chunk(self, chunk: Chunk) -> LinearPlay:
        is_new = self._play is None
        play = super()._start_with_chunk(chunk)
        if is_new and not self.several and self.threads is None and processors() <= 2 and chunk.is_parsed:
            play.engine.core.use_threads(1)  # the other processor parses the text
        return play

    @property
    def thread_count(self) -> int:
        """How many threads learn."""
        return check_threads(self.threads)

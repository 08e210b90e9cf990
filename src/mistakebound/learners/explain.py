"""Explain predictions: what each feature adds to the score of an example, and the weights of features."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from mistakebound._support.lazy import np
from mistakebound.data.labels import plain
from mistakebound.errors import Option, OptionError
from mistakebound.learners.explanation import Explanation
from mistakebound.learners.linear_terms import Features, first_index
from mistakebound.learners.prediction import start_with
from mistakebound.learners.sklearn import probabilities
from mistakebound.learners.streams import row_as_stream
from mistakebound.play.class_engine import ClassEngine
from mistakebound.play.inputs import as_example
from mistakebound.play.joined_engine import example_of_part
from mistakebound.play.parts import parts_of
from mistakebound.rules.panel import PanelRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound._support.arrays import FloatArray
    from mistakebound.data.parts import Part
    from mistakebound.data.source import Source
    from mistakebound.learners.learner import Learner
    from mistakebound.learners.linear_play import LinearPlay
    from mistakebound.play.faults import RowFault
    from mistakebound.play.parts import Parts


LABEL = Option("class", "label", True)
"""The label whose logit is explained; on the command line, the option is --class."""


class FeatureWeight(NamedTuple):
    """The weight of a feature."""

    name: str
    weight: float


def explain_one(learner: Learner, x: Any, *, top: int | None = None, label: Any = None) -> Explanation:
    """Return the score of one example as a sum: what each feature adds to it. Nothing is learned.

    The terms of a linear learner are those of its features. A panel also has terms of pairs and triples of features, of
    a constant, and of the previous labels; their sum is its logit. See docs/theory.md, "What adds to a prediction".

    The parameters are those of ``Learner.explain_one``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> spam = mb.Panel(classes=("ham", "spam"))
    >>> for _ in range(20):
    ...     spam.learn_one({"win": 1, "money": 1}, "spam")
    ...     spam.learn_one({"lunch": 1, "money": 1}, "ham")
    >>> found = spam.explain_one({"win": 1, "money": 1})
    >>> found.prediction, found.of, found.terms[0].name
    ('spam', 'spam', 'win')
    >>> abs(sum(term.adds for term in found.terms) - found.logit) < 1e-9
    True
    """
    before = learner._play
    try:
        if (row := row_as_stream(learner, x)) is not None:
            [found] = explanations(learner, row, label=label)
            return replace(found, file=None, line=None, label=None).largest(top)
        play, example = start_with(learner, as_example(x))
        return replace(of_example(learner, play, example, label), scaled=scales_numbers(learner)).largest(top)
    finally:
        if before is None:
            learner._forget(before)


def of_example(learner: Learner, play: LinearPlay, example: Any, label: Any) -> Explanation:
    """Return the explanation of an example in the form that the engine takes."""
    if isinstance(play.engine.rule, PanelRule):
        parts = parts_of(play.engine, example)
        return of_panel(play, parts, names_of(parts, first_index(learner)), label)
    if isinstance(play.engine, ClassEngine):
        scores, predicted = play.engine.probabilities_of_one(example)
        number, _ = label_of(play, label, predicted)
        terms = Features(learner, class_id=number).of_example(example)
        return of_class(play, scores, predicted, terms, label)
    score, positive = play.score_one(example)
    refuse_label(label)
    terms = Features(learner).of_example(example)
    return of_linear(play, score, positive, terms)


def scales_numbers(learner: Learner) -> bool:
    """Return whether the numbers of the learner's tables are scaled."""
    known = learner.known_reading()
    return known is not None and bool(known.table.get("auto")) and learner._reads_columns()


def feature_weights(learner: Learner, *, top: int | None = None, label: Any = None) -> list[FeatureWeight]:
    """Return the features with the largest absolute weights, the largest first.

    The weight of a feature of a linear learner is what a value of 1 adds to the score. The weight of a feature of a
    panel is what it adds to the logit of an example that has only this feature, with its largest absolute value so far.
    Pairs and triples have no weights, because they have no names before they occur in an example.

    The parameters are those of ``Learner.feature_weights``.

    Examples
    --------
    >>> import mistakebound as mb
    >>> spam = mb.Panel(classes=("ham", "spam"))
    >>> for _ in range(20):
    ...     spam.learn_one({"win": 1, "money": 1}, "spam")
    ...     spam.learn_one({"lunch": 1, "money": 1}, "ham")
    >>> sorted(name for name, weight in spam.feature_weights(top=2))
    ['lunch', 'win']
    """
    return weights_and_constant(learner, top=top, label=label)[0]


def weights_and_constant(
    learner: Learner, *, top: int | None = None, label: Any = None, zero_based: bool = False
) -> tuple[list[FeatureWeight], float | None]:
    """Return the largest weights, and what the constant adds, if there is one; ``zero_based`` as in `first_index`."""
    play = learner._current_play()
    engine, constant = play.engine, None
    several = isinstance(engine, ClassEngine)
    if several and label is None:
        raise OptionError(LABEL, f" is needed, because each label has weights of its own: {listed(play)}")
    if isinstance(engine.rule, PanelRule):
        from mistakebound.learners.panel_terms import panel_weights  # noqa: PLC0415 - it needs numpy

        found = panel_weights(engine, label_of(play, label, 1)[0])
        first = first_index(learner, zero_based=zero_based)
        names = found.names if engine.named else [str(k + first) for k in range(len(found.weights))]
        pairs, constant = list(zip(names, found.weights.tolist(), strict=True)), found.constant
    else:
        if not several:
            refuse_label(label)
        class_id = label_of(play, label, -1)[0] if several else None
        features = Features(learner, zero_based=zero_based, class_id=class_id)
        pairs = features.named_weights()
        constant = None if features.constant is None else features.constant.adds
    order = np.argsort([-abs(weight) for _, weight in pairs], kind="stable")[:top]
    return [FeatureWeight(*pairs[place]) for place in order.tolist()], constant


def explained_labels(learner: Learner) -> list[Any]:
    """Return the labels that have weights of their own: those of several classes; otherwise None (the positive one)."""
    play = learner._current_play()
    labels: Any = play.labels
    return labels.seen if isinstance(play.engine, ClassEngine) else [None]


def explanations(
    learner: Learner, X: Source | Any, line: int | None = None, *, label: Any = None
) -> Iterator[Explanation]:
    r"""Yield an explanation of each prediction, without learning; with ``line``, only of the example in that line.

    X is a Source, or a DataFrame if the learner learned from files with columns. ``label`` is that of ``explain_one``.

    Examples
    --------
    >>> import mistakebound as mb, pathlib, tempfile
    >>> from mistakebound.learners.explain import explanations
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "stream.svm"
    >>> _ = file.write_text("-1 1:1 3:0.5\n")
    >>> learner = mb.Perceptron()
    >>> ledger = learner.run(mb.Source(file))
    >>> [found] = explanations(learner, mb.Source(file))
    >>> found.score, [(term.name, term.adds) for term in found.terms]
    (-1.25, [('1', -1.0), ('3', -0.25)])
    """
    stream = learner.stream_of(X)
    if stream is None:
        message = f"X must be a Source, or a DataFrame if the learner learned from tables, got {type(X).__name__}"
        raise TypeError(message)
    scaled = scales_numbers(learner)
    features_of = cache(lambda class_id: Features(learner, class_id=class_id))
    for part in learner.open_stream(stream, labels_needed=False):
        play = learner._start_with_chunk(part.chunk)
        scores, predicted, good, fault = scored(play, part)
        for row in range(good):
            found_in = part.line(row)
            if line not in (None, found_in):
                continue
            if isinstance(play.engine.rule, PanelRule):
                found = of_panel_row(play, part, row, label)
            elif isinstance(play.engine, ClassEngine):
                number, _ = label_of(play, label, int(predicted[row]))
                terms = features_of(number).of_part(part, row)
                found = of_class(play, scores[row], int(predicted[row]), terms, label)
            else:
                refuse_label(label)
                terms = features_of(None).of_part(part, row)
                found = of_linear(play, float(scores[row]), bool(predicted[row]), terms)
            where = {"file": part.file, "line": found_in, "label": part.label(row)}
            yield replace(found, **where, scaled=scaled)
        if error := part.error_at(good, fault.error()) if fault else part.error:
            raise error.at_round(None)


def scored(play: LinearPlay, part: Part) -> tuple[Any, Any, int, RowFault | None]:
    """Return scores and predictions of a part, how many of its rows are good, and the fault of the next row."""
    if isinstance(play.engine, ClassEngine):
        found, ids, fault = play.engine.probabilities_of_part(part)
        return found, ids, len(ids), fault
    scores, positive, fault = play.engine.score_part(part)
    return scores, positive, len(scores), fault


def of_panel_row(play: LinearPlay, part: Part, row: int, label: Any) -> Explanation:
    """Return the explanation of a panel for a row of a file."""
    engine = play.engine
    x = example_of_part(part, row) if engine.named else engine.csr(part, 1, row)
    parts = parts_of(engine, x)
    return of_panel(play, parts, names_of(parts, part.first), label)


def names_of(parts: Parts, first: int) -> list[str]:
    """Return the names of the features of an example; those by position count from ``first``."""
    return [each if isinstance(each, str) else str(int(each) + first) for each in parts.features]


def of_panel(play: LinearPlay, parts: Parts, names: list[str], label: Any) -> Explanation:
    """Return the explanation of a panel for an example with these parts."""
    from mistakebound.learners.panel_terms import panel_logit  # noqa: PLC0415 - it needs numpy

    several = isinstance(play.engine, ClassEngine)
    number, of = label_of(play, label, parts.prediction if several else 1)
    found = panel_logit(play.engine, parts, names, number)
    labels: Any = play.labels
    threshold = 0.0
    if several:
        prediction = labels.decode(parts.prediction)
    else:
        side = 1 if number else -1  # the logit is that of the positive or of the negative label
        prediction = decision(play, side * found.logit, parts.prediction == 1)
        threshold = side * play.engine.rule.threshold
    return Explanation(
        prediction,
        found.logit,
        found.terms,
        of,
        threshold,
        probability=found.probability,
        members=found.members,
        classes=parts.classes if several else 2,
    )


def decision(play: LinearPlay, score: float, guarded: bool) -> Any:  # noqa: FBT001
    """Return what a panel of two labels predicts: ``guarded``, or by its threshold; None if it abstains."""
    rule = cast("PanelRule", play.engine.rule)
    if rule.abstains(np.array([score]))[0]:
        return None
    return play.labels.decode(score >= rule.threshold if rule.threshold != 0 else guarded)


def of_linear(play: LinearPlay, score: float, positive: bool, terms: list[Any]) -> Explanation:  # noqa: FBT001
    """Return the explanation of a linear learner with these terms."""
    rule, labels = play.engine.rule, play.labels
    probability = None
    if rule.log_odds:
        probability = float(probabilities(np.array([score]), np.array([positive]))[0, 1])
    return Explanation(labels.decode(positive), score, terms, labels.positive, rule.threshold, probability)


def of_class(play: LinearPlay, scores: FloatArray, predicted: int, terms: list[Any], label: Any) -> Explanation:
    """Return the explanation of a learner with a weight vector for each class; ``scores`` are those of the classes."""
    number, of = label_of(play, label, predicted)
    score = float(scores[number]) if number >= 0 else 0.0
    labels: Any = play.labels
    return Explanation(labels.decode(predicted), score, terms, of, None, classes=len(labels.ids))


def label_of(play: LinearPlay, label: Any, default: int) -> tuple[int, Any]:
    """Return the number of a label (0 or 1 for two labels) and the label; by default, those of a given number."""
    labels: Any = play.labels
    if label is None:
        return default, labels.decode(default if isinstance(play.engine, ClassEngine) else bool(default))
    label = plain(label)
    known = labels.ids if isinstance(play.engine, ClassEngine) else {labels.negative: 0, labels.positive: 1}
    if label not in known:
        raise OptionError(LABEL, f" must be one of the labels {listed(play)}, got {label!r}")
    return known[label], label


def listed(play: LinearPlay) -> str:
    """Return the labels of a learner, separated by commas."""
    labels: Any = play.labels
    known = labels.ids if isinstance(play.engine, ClassEngine) else labels.pair
    return ", ".join(repr(label) for label in known)


def refuse_label(label: Any) -> None:
    """Raise OptionError for a label that is set for a linear learner of two labels."""
    if label is not None:
        raise OptionError(LABEL, " is only valid for a panel and for a multiclass Perceptron")

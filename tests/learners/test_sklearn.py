"""scikit-learn's own checks, all of them; and checks of our own for the 0/1 learners."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound.learners.linear import KINDS
from mistakebound.rules.registry import rule_class

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'mistakebound[sklearn]'")

from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils import get_tags  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402
from sklearn.utils.validation import has_fit_parameter  # noqa: E402

BINARY_INPUT = [mb.Winnow(), mb.Winnow(strict=True, alpha=1.5), mb.Elimination()]


NOT_A_REPETITION = (
    "a row of weight 2 is not a row given twice: the second time, an online learner has already learned it; "
    "scikit-learn's own online learners are also expected to fail"
)
NO_WEIGHTS_IN_THE_MIXTURE = (
    "a weight multiplies what members learn; the mixture has none, and its probabilities stay those of the labels "
    "as they occur: a threshold moves the predictions"
)
EXPECTED_TO_FAIL = {
    "check_sample_weight_equivalence_on_dense_data": NOT_A_REPETITION,
    "check_sample_weight_equivalence_on_sparse_data": NOT_A_REPETITION,
}


def expected_to_fail(learner: Any) -> dict[str, str]:
    if not learner.takes_weights or isinstance(learner, (mb.NaiveBayes, mb.DecisionList)):
        return {}  # those that count rows pass
    own = {"check_class_weight_classifiers": NO_WEIGHTS_IN_THE_MIXTURE} if isinstance(learner, mb.Panel) else {}
    return EXPECTED_TO_FAIL | own


@parametrize_with_checks(
    [kind() for kind in KINDS.values() if not rule_class(kind.rule_id).binary],
    expected_failed_checks=expected_to_fail,
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.__name__)
def test_decisions_are_above_0_where_the_positive_label_is_predicted(kind: Any) -> None:
    """Also for a score exactly at the threshold, which predicts the positive label."""
    learner = kind(threshold=1.0) if kind is mb.Winnow else kind()
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    learner.fit(X, [1, 0, 1, 0, 0, 1])
    for strict in ({"strict": True}, {}) if kind is mb.Winnow else ({},):
        learner.set_params(**strict).fit(X, [1, 0, 1, 0, 0, 1])
        assert np.array_equal(learner.decision_function(X) > 0, learner.predict(X) == 1)


def test_weights_are_routed() -> None:
    """A pipeline and a search pass ``sample_weight`` to the learners that request it, also after ``clone``."""
    X, y = mb.streams.margin(10, 300, 0.2, seed=0)
    w = np.linspace(0, 3, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        panel = mb.Panel().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, clone(panel)).fit(X, y, sample_weight=w)
        with pytest.raises(ValueError, match="sample_weight"):
            make_pipeline(scaler, mb.Panel()).fit(X, y, sample_weight=w)
    expected = mb.Panel().fit(StandardScaler().fit_transform(X), y, w)
    assert pipeline[-1].members() == expected.members()
    assert (
        make_pipeline(mb.Panel()).fit(X, y, panel__sample_weight=w)[-1].members() == mb.Panel().fit(X, y, w).members()
    )


def test_only_learners_that_take_weights_have_the_argument() -> None:
    for kind in KINDS.values():
        has = has_fit_parameter(kind(), "sample_weight")
        assert has == rule_class(kind.rule_id).takes_weights == hasattr(kind, "set_fit_request")


def test_tags() -> None:
    for learner in (mb.Perceptron(), mb.NormalizedWinnow(), mb.Winnow()):
        tags = get_tags(learner)
        assert tags.estimator_type == "classifier"
        assert not tags.classifier_tags.multi_class
        assert tags.input_tags.sparse
    assert get_tags(mb.NormalizedWinnow()).classifier_tags.poor_score
    assert not get_tags(mb.Perceptron()).classifier_tags.poor_score
    assert get_tags(mb.Winnow()).input_tags.categorical


@pytest.mark.parametrize("learner", BINARY_INPUT, ids=repr)
def test_checks_of_our_own_for_binary_input(learner: Any) -> None:
    X, y = mb.streams.disjunction(12, 2, 400, seed=3)
    assert repr(clone(learner)) == repr(learner)
    with pytest.raises(NotFittedError):
        learner.predict(X)
    fitted = clone(learner).fit(X, y)
    assert fitted.score(X, y) > 0.95
    assert fitted.n_features_in_ == 12
    assert fitted.classes_.tolist() == [0, 1]
    assert np.array_equal(
        fitted.predict(X), np.where(fitted.decision_function(X) >= (1e-12 if learner_strict(fitted) else 0), 1, 0)
    )
    again = clone(learner).fit(X, y)
    assert np.array_equal(again.predict(X), fitted.predict(X))  # fit forgets, then makes one pass
    assert np.array_equal(again.fit(X, y).predict(X), fitted.predict(X))
    text = clone(learner).fit(X, np.where(y == 1, "yes", "no"))
    assert np.array_equal(text.predict(X) == "yes", fitted.predict(X) == 1)
    with pytest.raises(ValueError, match="0 or 1"):
        fitted.predict(X * 2)
    with pytest.raises(ValueError, match="12 features"):
        fitted.predict(X[:, :5])
    with pytest.raises(ValueError, match="NaN"):
        clone(learner).fit(np.full((2, 3), np.nan), [0, 1])


def learner_strict(learner: Any) -> bool:
    return bool(getattr(learner, "strict", False))


def test_in_a_pipeline_and_a_search() -> None:
    X, y = mb.streams.margin(10, 300, 0.2, seed=0)
    pipeline = make_pipeline(StandardScaler(), mb.Perceptron(bias=1))
    assert cross_val_score(pipeline, X, y).mean() > 0.8
    search = GridSearchCV(mb.BalancedWinnow(), {"eta": [0.01, 0.1, 1.0]}).fit(X, y)
    assert search.best_params_["eta"] in (0.01, 0.1, 1.0)


def test_partial_fit_with_classes() -> None:
    learner = mb.Perceptron().partial_fit([[1.0]], ["b"], classes=["a", "b"])
    assert learner.classes_.tolist() == ["a", "b"]
    assert learner.predict([[1.0]]).tolist() == ["b"]


def test_set_params_takes_effect_at_the_next_fit() -> None:
    X, y = mb.streams.margin(5, 100, 0.2, seed=0, norm="l1")
    learner = mb.BalancedWinnow(eta=0.5).fit(X, y).set_params(eta=0.25)
    assert learner.ledger_.rule.parameter == 0.5
    assert learner.fit(X, y).ledger_.rule.parameter == 0.25
    with pytest.raises(ValueError, match="Invalid parameter"):
        learner.set_params(rate=1)

"""Explanations of a panel: terms add up to its logit, nothing changes, and all machines give the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from explained import check, check_parts, classes_of
from panel_games import example, quiet_and_loud, scripted
from panel_streams import STREAMS, matrix, named, state_of

import mistakebound as mb
from mistakebound.learners.explanation import CONSTANT, GUARD, UNIFORM
from mistakebound.play.inputs import read_one
from mistakebound.play.parts import parts_of
from mistakebound.rules.panel_members import MEMBERS

ROSTERS: list[Any] = ["all", "lean", ["arow"], ["coin-betting-triples"], ["label-history"]]


@pytest.mark.parametrize("members", ROSTERS, ids=str)
@pytest.mark.parametrize("stream", STREAMS)
def test_terms_add_up(stream: str, members: Any) -> None:
    """With two labels, for rows of all widths, by position and by name; the logit is that of ``score_one``."""
    rows, labels = STREAMS[stream]()
    X, panel, by_name = matrix(rows), mb.Panel(members), mb.Panel(members)
    panel.run(X, labels)
    by_name.run(named(rows), labels)
    for t in [*range(0, len(rows), 37), len(rows) - 1]:
        found = check(panel.explain_one(X[[t]]))
        assert found.logit == panel.score_one(X[[t]])
        assert found.prediction == panel.predict_one(X[[t]])
        assert {term.name: term.value for term in found.terms if len(term.features) == 1} == {
            str(j): x for j, x in rows[t]
        }
        check_parts(parts_of(panel._play.engine, read_one(X[[t]])), panel._play.engine.member_names)
        other = named(rows)[t]
        found = check(by_name.explain_one(other))
        assert found.logit == by_name.score_one(other)
        assert {term.features[0] for term in found.terms if len(term.features) == 1} == {*other}
        check_parts(parts_of(by_name._play.engine, other), by_name._play.engine.member_names)


@pytest.mark.parametrize("count", [3, 7, 23])
@pytest.mark.parametrize("stream", ["binary", "dense_real", "wide", "empty_rows", "repeated_rows"])
def test_terms_of_several_classes_add_up(stream: str, count: int) -> None:
    """For each label: the probability is that of ``predict_proba_one``. More than 16 classes are stored differently."""
    rows, labels = classes_of(stream, count)
    X, panel, by_name = matrix(rows), mb.Panel(classes=range(count)), mb.Panel("lean", classes=range(count))
    panel.run(X, labels)
    by_name.run(named(rows), labels)
    for t in [*range(0, len(rows), 61), len(rows) - 1]:
        for learner, x in ((panel, X[[t]]), (by_name, named(rows)[t])):
            found = check(learner.explain_one(x))
            assert found.of == found.prediction == learner.predict_one(x)
            chances = learner.predict_proba_one(x)
            for label in sorted({*labels})[:4]:
                of_label = check(learner.explain_one(x, label=label))
                assert of_label.of == label
                assert of_label.probability == pytest.approx(chances[label], rel=1e-12)
                assert (UNIFORM in [term.name for term in of_label.terms]) == (len({*labels}) > 2)
        check_parts(parts_of(panel._play.engine, read_one(X[[t]])), panel._play.engine.member_names)


@pytest.mark.parametrize("member", MEMBERS[:15])
def test_terms_are_in_proportion_to_the_parts_of_a_score(member: str) -> None:
    """Of a panel of one member, the logit is a multiple of its score, so each term is the same multiple of its part."""
    rows, labels = STREAMS["binary"]()
    panel, number = mb.Panel([member]), MEMBERS.index(member)
    panel.run(named(rows), labels)
    narrow = [row for row in named(rows) if 3 <= len(row) <= 12]
    for row in narrow[::20]:
        found, parts = check(panel.explain_one(row)), parts_of(panel._play.engine, row)
        by = found.score / float(parts.scores[0, 0])
        names = [*parts.features, CONSTANT]
        if number < 11:
            wanted = dict(zip(names, parts.of_places[:, number, 0].tolist(), strict=True))
        else:
            keys = [" & ".join(names[k] for k in slot if k >= 0) for slot in parts.slots.tolist()]
            amounts = parts.of_slots[:, (number - 11) % 2, 0].tolist()
            triples = (parts.slots[:, 2] >= 0).tolist()
            of_member = zip(keys, amounts, triples, strict=True)
            wanted = {key: amount for key, amount, triple in of_member if triple == (number > 12)}
        for term in found.terms:
            assert term.adds == pytest.approx(by * wanted.get(term.name, 0.0), rel=1e-4, abs=1e-5)


def test_two_classes_seen_of_three() -> None:
    """Labels that have not occurred have no logit. The first label alone has a probability of 1."""
    panel = mb.Panel(classes=("a", "b", "c"))
    nothing = panel.explain_one({"x": 1})
    assert nothing.logit == 0
    assert panel._play is None
    panel.learn_one({"x": 1}, "b")
    assert [term.name for term in panel.explain_one({"x": 1}).terms if term.adds] == [UNIFORM]
    for _ in range(5):
        panel.learn_one({"x": 1}, "b")
        panel.learn_one({"y": 1}, "a")
    assert check(panel.explain_one({"x": 1})).of == "b"
    with pytest.raises(ValueError, match="label must be one of the labels 'b', 'a', got 'c'"):
        panel.explain_one({"x": 1}, label="c")


@pytest.mark.parametrize("count", [2, 3, 23])
def test_explaining_changes_nothing(count: int) -> None:
    """All bits of the state, and of the rounds that follow, are those of a panel that was not asked."""
    rows, labels = classes_of("wide", count) if count > 2 else STREAMS["wide"]()
    X = matrix(rows)
    panel, twin = (mb.Panel(classes=range(count) if count > 2 else None, threads=1) for _ in range(2))
    for learner in (panel, twin):
        learner.run(X[:60], labels[:60])
    before = state_of(panel)
    for t in range(0, 60, 7):
        panel.explain_one(X[[t]], label=labels[0])
    panel.explain_one(X[[0]] * 3)
    panel.feature_weights(label=labels[0])
    assert state_of(panel) == before == state_of(twin)
    for learner in (panel, twin):
        learner.run(X[60:], labels[60:])
    assert state_of(panel) == state_of(twin)


@pytest.mark.parametrize("count", [2, 5])
@pytest.mark.parametrize("stream", ["dense_real", "wide", "xor"])
def test_all_levels_and_threads_give_the_same_bits(stream: str, count: int) -> None:
    rows, labels = classes_of(stream, count) if count > 2 else STREAMS[stream]()
    X, found = matrix(rows), []
    for simd, threads in ((True, 1), (False, 1), (True, 2)):
        panel = mb.Panel(threads=threads, classes=range(count) if count > 2 else None)
        panel.explain_one(X[[0]])
        play = panel._start(X.shape[1])
        play.engine.core.use_simd(simd)
        panel.run(X, labels)
        rows_of_it = [parts_of(play.engine, read_one(X[[t]])) for t in (0, 5, len(rows) - 1)]
        weights = play.engine.core.features_alone(0, X.shape[1])
        found.append([np.asarray(each).tobytes() for parts in rows_of_it for each in parts] + [weights.tobytes()])
    assert found[0] == found[1] == found[2]


def test_what_the_guard_adds() -> None:
    """Where the guard overrides the mixture, the logit is about 0: the guard takes back what the members add."""
    panel, overridden = scripted(4), 0
    for scores, y in quiet_and_loud(0):
        before = panel.standings.overrides
        found = check(panel.explain_one(example(scores)))
        panel.learn_one(example(scores), y)
        guards = [term for term in found.terms if term.name == GUARD]
        assert len(guards) == panel.standings.overrides - before
        assert {term.name for term in found.terms if term.by_member} == {
            f"(member {each.name})" for each in found.members if each.adds
        }
        if guards:
            overridden += 1
            assert abs(found.score) <= 1e-9
            assert found.prediction == (1 if found.score >= 0 else -1)
    assert overridden > 3


def test_the_guard_of_several_classes() -> None:
    """The guard of a panel that has made many mistakes, but none of whose members has, overrides most disagreement."""
    rows, labels = classes_of("sparse_real", 4)
    panel = mb.Panel(classes=range(4))
    panel.run(named(rows), labels)
    with_many_mistakes(panel)
    overridden = 0
    for row in named(rows):
        found = check(panel.explain_one(row))
        others = [check(panel.explain_one(row, label=label)) for label in {*labels}]
        guards = [term for term in found.terms if term.name == GUARD]
        overridden += len(guards)
        assert sum(each.probability or 0 for each in others) == pytest.approx(1)
        assert found.probability == max(each.probability or 0 for each in others)
        assert guards == [] or guards[0].adds > 0
    assert 0 < overridden < len(rows)


def with_many_mistakes(panel: mb.Panel) -> None:
    """Set the mistakes of a panel of four classes to 40, and those of its members and mixers to 0."""
    engine = panel._play.engine
    state = list(engine.core.__getstate__())
    parts, members = list(state[2]), len(engine.member_names)
    numbers = parts[14].copy()
    wrong = len(numbers) - 2 * 4 - 4 - 4 - (members + 3)  # of 4 classes, the new label, 4 totals; see ClassCombiner
    assert numbers[wrong + members + 3] == panel.standings.mistakes
    numbers[wrong : wrong + members + 3] = 0
    numbers[wrong + members + 3] = 40
    parts[14] = numbers
    state[2] = tuple(parts)
    core = type(engine.core).__new__(type(engine.core))
    core.__setstate__(tuple(state))
    engine.core = core


def test_the_order_of_features_does_not_matter() -> None:
    rows, labels = STREAMS["sparse_real"]()
    panel = mb.Panel()
    panel.run(named(rows), labels)
    for row in named(rows)[::30]:
        one, other = (panel.explain_one(x) for x in (row, dict(reversed(row.items()))))
        by_features = {frozenset(term.features) or term.name: term.adds for term in other.terms}
        for term in one.terms:
            assert by_features[frozenset(term.features) or term.name] == pytest.approx(term.adds, abs=1e-5)


def test_wide_rows_have_no_pairs() -> None:
    """Up to 48 features have pairs, up to 12 triples; frequent features of up to 256 have tokens of their own."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 300)) * (rng.random((60, 300)) < 0.6)
    panel = mb.Panel()
    panel.run(X, rng.integers(0, 2, 60))
    for count, orders in ((12, {1, 2, 3}), (13, {1, 2}), (48, {1, 2}), (49, {1}), (256, {1}), (257, set())):
        x = np.zeros(300)
        x[20 : 20 + count] = rng.normal(size=count)
        found = check(panel.explain_one(x))
        slots = parts_of(panel._play.engine, read_one(x)).slots
        assert {sum(place >= 0 for place in slot) for slot in slots.tolist()} == orders
        assert {term.features[0] for term in found.terms if len(term.features) == 1} == {
            str(k) for k in range(20, 20 + count)
        }


def test_wide_rows_name_the_features_that_have_tokens() -> None:
    """Of 60 features, one has several values: only it has a slot, and it adds to the members on pairs."""
    rng = np.random.default_rng(0)
    X = np.ones((200, 60))
    X[:, 37] = rng.choice([1.0, 5.0], 200)
    y = (X[:, 37] > 3).astype(int)
    for labels in (y, y + 2 * (np.arange(200) % 2)):
        panel = mb.Panel()
        panel.run(X, labels)
        found = check(panel.explain_one(X[0]))
        assert [term.name for term in found.terms if "coin-betting-pairs" in term.by_member] == ["37"]

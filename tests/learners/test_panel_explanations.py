"""Explanations of a panel: terms add up to its logit, nothing changes, and what was planted comes first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from panel_games import example, quiet_and_loud, scripted
from panel_streams import STREAMS, matrix, named, state_of

import mistakebound as mb
from mistakebound.learners.explanation import CONSTANT, GUARD, HISTORY, UNIFORM
from mistakebound.play.parts import parts_of
from mistakebound.rules.panel import LEAN, MEMBERS

if TYPE_CHECKING:
    from mistakebound.learners.explanation import Explanation
    from mistakebound.play.parts import Parts

ROSTERS: list[Any] = ["all", "lean", ["arow"], ["coin-betting-triples"], ["label-history"]]


def check(found: Explanation) -> Explanation:
    """The terms add up to the logit, those of each member to what it adds; the largest come first.

    Sums are exact to float64: relative to the sizes of the terms, because large terms may cancel.
    """
    size = math.fsum(abs(term.adds) for term in found.terms)
    assert found.logit is not None
    assert found.probability is not None
    assert math.fsum(term.adds for term in found.terms) == pytest.approx(found.logit, rel=1e-12, abs=1e-12 * size)
    assert found.probability == pytest.approx(1 / (1 + math.exp(-found.logit)), rel=1e-9, abs=1e-12)
    sizes = [abs(term.adds) for term in found.terms]
    assert sizes == sorted(sizes, reverse=True)
    others = [term.adds for term in found.terms if term.name in (GUARD, UNIFORM) and not term.features]
    assert math.fsum([*others, *(each.adds for each in found.members)]) == pytest.approx(
        found.logit, rel=1e-9, abs=1e-9 * (1 + size)
    )
    for each in found.members:
        through = math.fsum(term.by_member.get(each.name, 0.0) for term in found.terms)
        assert through == pytest.approx(each.adds, rel=1e-8, abs=1e-8 * (1 + size))
    return found


def check_parts(parts: Parts, members: tuple[str, ...]) -> None:
    """What the parts add to the score of each member is its score, up to float32 rounding: nothing is left out."""
    triples = parts.slots[:, 2] >= 0
    for i, name in enumerate(members):
        number = MEMBERS.index(name) if name in MEMBERS else len(MEMBERS)
        if number < 11:
            found = parts.of_places[:, number]
        elif number < 15:
            found = parts.of_slots[triples if number > 12 else ~triples, (number - 11) % 2]
        else:
            continue
        close = 3e-6 * (1 + np.abs(found).sum(axis=0))
        assert (np.abs(found.sum(axis=0) - parts.scores[i]) <= close).all(), name


def classes_of(stream: str, count: int) -> tuple[Any, list[int]]:
    """The rows of a stream, with labels that depend on the label and on the first feature and its value."""
    rows, labels = STREAMS[stream]()
    kinds = [int(2 * row[0][0] + 300 * abs(row[0][1])) if row else 0 for row in rows]
    return rows, [(kind + (y > 0)) % count for kind, y in zip(kinds, labels, strict=True)]


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
        check_parts(parts_of(panel._play.engine, panel_row(X[[t]])), panel._play.engine.member_names)
        other = named(rows)[t]
        found = check(by_name.explain_one(other))
        assert found.logit == by_name.score_one(other)
        assert {term.features[0] for term in found.terms if len(term.features) == 1} == {*other}
        check_parts(parts_of(by_name._play.engine, other), by_name._play.engine.member_names)


def panel_row(x: Any) -> Any:
    from mistakebound.play.inputs import read_one

    return read_one(x)


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
        check_parts(parts_of(panel._play.engine, panel_row(X[[t]])), panel._play.engine.member_names)


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
        rows_of_it = [parts_of(play.engine, panel_row(X[[t]])) for t in (0, 5, len(rows) - 1)]
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


@pytest.mark.parametrize("pair", [(0, 1), (2, 4), (1, 5)])
@pytest.mark.parametrize("seed", range(2))
def test_the_pair_of_an_exclusive_or_leads(pair: tuple[int, int], seed: int) -> None:
    """No single feature says anything, so the pair adds most, by its name, through the members on pairs."""
    X = np.random.default_rng(seed).integers(0, 2, (1500, 6))
    names = ["size", "color", "shape", "day", "age", "kind"]
    rows = [{f"{name}={bit}": 1.0 for name, bit in zip(names, row, strict=True)} for row in X.tolist()]
    panel = mb.Panel()
    panel.run(rows, X[:, pair[0]] ^ X[:, pair[1]])
    for t in range(4):
        first = check(panel.explain_one(rows[t])).terms[0]
        wanted = tuple(f"{names[k]}={X[t, k]}" for k in pair)
        assert (first.name, first.features, first.value) == (" & ".join(wanted), wanted, None)
        assert first.adds > 0 if X[t, pair[0]] ^ X[t, pair[1]] else first.adds < 0
        assert {*first.by_member} <= {"coin-betting-pairs", "adagrad-pairs"}


def test_the_triple_of_a_parity_leads() -> None:
    X = np.random.default_rng(1).integers(0, 2, (3000, 5))
    rows = [{f"{'abcde'[k]}{bit}": 1.0 for k, bit in enumerate(row)} for row in X.tolist()]
    panel = mb.Panel()
    panel.run(rows, X[:, 0] ^ X[:, 2] ^ X[:, 4])
    for t in range(4):
        assert panel.explain_one(rows[t]).terms[0].features == tuple(f"{'abcde'[k]}{X[t, k]}" for k in (0, 2, 4))


def test_the_feature_of_a_class_leads() -> None:
    """Each class has a word of its own; the largest weight of each class is that of its word."""
    rng, words = np.random.default_rng(0), ["ant", "bee", "cat", "dog"]
    labels = rng.integers(0, 4, 600)
    noise = [{f"n{k}": 1.0 for k in rng.choice(30, 5, replace=False)} for _ in labels]
    rows = [each | {words[y]: 1.0} for each, y in zip(noise, labels, strict=True)]
    panel = mb.Panel()
    panel.run(rows, [words[y] for y in labels])
    for t in range(8):
        found = panel.explain_one(rows[t])
        assert found.prediction == words[labels[t]]
        assert found.terms[0].features == (words[labels[t]],)
        assert found.terms[0].adds > 0
        other = words[(labels[t] + 1) % 4]
        assert panel.explain_one(rows[t], label=other).terms[0].adds < 0
    for word in words:
        assert panel.feature_weights(top=1, label=word)[0].name == word
    with pytest.raises(ValueError, match="label is needed for more than two labels: "):
        panel.feature_weights()


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
        slots = parts_of(panel._play.engine, panel_row(x)).slots
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


def test_unseen_features_and_empty_examples() -> None:
    """An unseen feature adds nothing by itself, but may have a slot of the table; an empty example has a constant."""
    panel = mb.Panel()
    assert [(term.name, term.adds) for term in panel.explain_one({"a": 1}).terms] == [
        ("a", 0.0),
        (CONSTANT, 0.0),
    ]
    assert panel._play is None
    for _ in range(10):
        panel.learn_one({"a": 1, "b": 2}, 1)
        panel.learn_one({"b": 1}, -1)
    found = check(panel.explain_one({"new": 3}))
    assert {term.name for term in found.terms} == {"new", CONSTANT, HISTORY}
    assert next(term for term in found.terms if term.name == "new").adds == 0
    assert {term.name for term in check(panel.explain_one({})).terms} == {CONSTANT, HISTORY}
    assert {term.name for term in check(panel.explain_one({"a", "new"})).terms} >= {"a", "new"}
    with pytest.raises(mb.StreamError, match="feature 'a' is"):
        panel.explain_one({"a": math.nan})
    with pytest.raises(mb.StreamError, match="names"):
        panel.explain_one([1.0, 2.0])


def test_positions_beyond_the_stream() -> None:
    """An array must have the columns of the first one. A pair that was never learned adds nothing, and is no term."""
    panel = mb.Panel()
    panel.run(np.eye(4)[[0, 1, 2, 3] * 20], [1, -1, 1, -1] * 20)
    with pytest.raises(mb.StreamError, match="5 features"):
        panel.explain_one(np.ones(5))
    with pytest.raises(mb.StreamError, match="feature 1 is inf"):
        panel.explain_one([0, math.inf, 0, 0])
    found = check(panel.explain_one(np.array([0, 2.0, 0, 1.0], np.float32)))
    assert {term.features for term in found.terms if term.features} == {("1",), ("3",)}


def test_odd_names_stay_apart() -> None:
    """Features with the names of other terms are terms of their own; text is escaped."""
    names = [CONSTANT, GUARD, HISTORY, "a & b", "a", "b", "", "\x1b[31m\n", "\u202e", "arow"]
    panel = mb.Panel()
    for t in range(40):
        panel.learn_one({name: 1.0 for k, name in enumerate(names) if (t >> k % 5) & 1 or k == t % 10}, t % 2)
    found = check(panel.explain_one(dict.fromkeys(names, 1.0)))
    assert sorted(term.features[0] for term in found.terms if len(term.features) == 1) == sorted(names)
    assert [term.features for term in found.terms].count(()) == 2
    assert len([term for term in found.terms if term.name == "a & b"]) == 2
    assert "\x1b" not in str(found)
    assert len(str(found).splitlines()) == len(found.terms) + 10


def test_members_that_carry_a_prediction() -> None:
    """Each has its own logit; those from outside are terms of their own, also if a class has the name of a member."""

    class arow:  # noqa: N801 - the name of a member
        def predict_one(self, x: Any) -> bool:
            return "a" in x

        def learn_one(self, x: Any, y: Any) -> None: ...

    panel = mb.Panel([*LEAN, arow()])
    for t in range(60):
        panel.learn_one({"a": 1} if t % 2 else {"b": 1}, t % 2)
    found = panel.explain_one({"a": 1})
    assert math.fsum(term.adds for term in found.terms) == pytest.approx(found.score)
    (own,) = [term for term in found.terms if term.name == "(member arow)"]
    assert own.adds > 0
    assert [each.logit for each in found.members if each.name == "arow"].count(1.0) == 1
    assert all(abs(each.logit) <= 8 for each in found.members)


def test_the_other_label() -> None:
    """All terms of the negative label are those of the positive one with the other sign."""
    rows, labels = STREAMS["binary"]()
    panel = mb.Panel()
    panel.run(named(rows), labels)
    one, other = (panel.explain_one(named(rows)[3], label=label) for label in (1, -1))
    assert check(other).logit == -one.score
    assert {term.features or term.name: -term.adds for term in one.terms} == {
        term.features or term.name: term.adds for term in other.terms
    }
    assert one.probability + other.probability == pytest.approx(1)
    assert [pair.weight for pair in panel.feature_weights(label=-1)] == [
        -pair.weight for pair in panel.feature_weights(label=1)
    ]
    with pytest.raises(ValueError, match="label must be one of the labels -1, 1, got 7"):
        panel.explain_one(named(rows)[3], label=7)
    with pytest.raises(ValueError, match="label is only valid for a panel"):
        mb.Perceptron().explain_one({"a": 1}, label=1)


def test_the_largest_terms_and_the_rest() -> None:
    rows, labels = STREAMS["binary"]()
    panel = mb.Panel()
    panel.run(named(rows), labels)
    whole, short = panel.explain_one(named(rows)[3]), panel.explain_one(named(rows)[3], top=3)
    assert short.terms[:3] == whole.terms[:3]
    assert short.terms[3].name == f"({len(whole.terms) - 3} more terms)"
    assert math.fsum(term.adds for term in short.terms) == pytest.approx(short.logit)
    assert math.fsum(short.terms[3].by_member.values()) == pytest.approx(short.terms[3].adds)
    assert panel.explain_one(named(rows)[3], top=10**6) == whole


@pytest.mark.parametrize("count", [2, 4])
def test_weights_are_those_of_features_alone(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weight of the members times the logits that the feature gives to them, with its largest value so far."""
    rows, labels = classes_of("sparse_real", count) if count > 2 else STREAMS["sparse_real"]()
    panel = mb.Panel()
    panel.run(named(rows), labels)
    label = labels[0]
    found = dict(panel.feature_weights(label=label))
    weights = {each.name: each.weight for each in panel.standings.members}
    assert {*found} == {f"f{j}" for row in rows for j, _ in row}
    for name in list(found)[::9]:
        largest = max(abs(x) for row in rows for j, x in row if f"f{j}" == name)
        parts = parts_of(panel._play.engine, {name: largest})
        total = 0.0
        for i, member in enumerate(panel._play.engine.member_names):
            number = MEMBERS.index(member) if member in MEMBERS else 99
            if number > 12:
                continue
            scores = parts.of_places[0, number] if number < 11 else parts.of_slots[0, number - 11]
            if count == 2:
                total += weights[member] * min(max(parts.factors[i] * scores[0], -8), 8) * label
            else:
                k = panel._play.labels.ids[label]
                if member in ("implicit-logistic", "arow", "adagrad-hinge", "balanced-winnow", "decision-list"):
                    logits = -np.log1p(np.exp(-np.clip(parts.factors[i] * scores, -8, 8)))
                else:
                    logits = scores * (1 if member == "naive-bayes" else 1 - 1 / count)
                total += weights[member] * np.clip(logits[k] - np.delete(logits, k).mean(), -12, 12)
        assert found[name] == pytest.approx(total, rel=1e-9, abs=1e-12)
    monkeypatch.setattr("mistakebound.learners.panel_terms.BATCH", 100)
    assert dict(panel.feature_weights(label=label)) == pytest.approx(found, rel=1e-12, abs=1e-14)


def test_weights_of_planted_features_lead() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((1500, 40)) < 0.2).astype(float)
    panel = mb.Panel()
    panel.run(X, X[:, 7].astype(int))
    first = panel.feature_weights(top=1)[0]
    assert first.name == "7"
    assert first.weight > 0
    assert len(panel.feature_weights()) == 40
    assert mb.Panel().feature_weights() == []
    with pytest.raises(AttributeError, match="feature_weights"):
        _ = panel.weights_

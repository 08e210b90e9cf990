"""Terms and weights of a panel: what was planted comes first, by its name, through the right members."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from explained import check, classes_of
from files import call, shows
from panel_streams import STREAMS, named

import mistakebound as mb
from mistakebound.learners import panel_terms
from mistakebound.learners.explain import explanations
from mistakebound.learners.explanation import CONSTANT, GUARD, HISTORY, UNIFORM
from mistakebound.play.parts import parts_of
from mistakebound.rules.panel_members import LEAN, MEMBERS

if TYPE_CHECKING:
    from pathlib import Path


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
    with pytest.raises(ValueError, match="label is needed, because each label has weights of its own: "):
        panel.feature_weights()


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


# ---------------------------------------------------------------------- files and commands


def mail(folder: Path, kinds: int = 2) -> mb.Source:
    """Write a table of mails, whose first word tells their kind."""
    lines = [
        f"{['win', 'lunch', 'tea'][t % kinds]} money {t % 5},{['spam', 'ham', 'tea'][t % kinds]}" for t in range(90)
    ]
    path = folder / f"mail{kinds}.csv"
    path.write_text("\n".join(["subject,kind", *lines]) + "\n")
    return mb.Source(path, label="kind", table={"text": ["subject"]})


@pytest.mark.parametrize(
    ("kinds", "members"),
    [(2, "all"), (3, "all"), (2, ["arow", "naive-bayes", mb.Perceptron()])],
    ids=["two", "three", "joined"],
)
def test_rows_of_files(kinds: int, members: Any, tmp_path: Path) -> None:
    """A row of a file and the same example are explained alike; bad lines are errors with their place."""
    source, panel = mail(tmp_path, kinds), mb.Panel(members)
    panel.run(source)
    found = list(explanations(panel, source))
    assert [each.line for each in found] == list(range(2, 92))
    predicted = np.concatenate([labels for _, labels in panel.score_parts(source)])
    for t, each in enumerate(found):
        check(each)
        assert (each.prediction, each.file) == (predicted[t], str(source.files[0]))
        assert each.label == ["spam", "ham", "tea"][t % kinds]
    words = {"subject=win": 1.0, "subject=money": 1.0, "subject=0": 1.0}
    assert panel.explain_one(words).terms == found[0].terms
    only = list(explanations(panel, source, 7, label="ham"))
    assert [(each.line, each.of) for each in only] == [(7, "ham")]


def test_rows_of_svmlight_have_its_numbers(tmp_path: Path) -> None:
    path = tmp_path / "x.svm"
    path.write_text("".join(f"{t % 2} {t % 2 + 1}:1 3:0.5 3:0.5 5:0\n" for t in range(60)) + "1 2:1 99:1\n")
    panel = mb.Panel()
    panel.run(mb.Source(path))
    *_, before, last = explanations(panel, mb.Source(path))
    assert {term.features: term.value for term in before.terms if len(term.features) == 1} == {
        ("2",): 1.0,
        ("3",): 1.0,
    }
    assert {term.features[0] for term in check(last).terms if len(term.features) == 1} == {"2", "99"}
    assert {name for name, _ in panel.feature_weights(top=2)} == {"1", "2"}
    assert before.logit == panel.explain_one(np.eye(99)[1] + np.eye(99)[2]).logit
    path.write_text("1 2:1\n1 2:nan\n")
    with pytest.raises(mb.StreamError, match="x.svm:2"):
        list(explanations(panel, mb.Source(path)))


def test_commands(tmp_path: Path) -> None:
    """Tables of terms and members; JSON has all members, and what each term adds through them."""
    path, model = mail(tmp_path).files[0], tmp_path / "m.mb"
    call("run", path, "--label", "kind", "--text", "subject", "--save", model)
    lines = call("explain", model, path, "--line", 2, "--top", 2).splitlines()
    (found,) = explanations(mb.load(model), mb.Source(path), 2)
    assert lines[0] == f"{path}:2: predicted spam, the label is spam"
    assert lines[1] == f"logit of spam {found.logit:.6g}, probability {found.probability:.6g}"
    assert lines[3].split() == [f"{found.terms[0].adds:.6g}", "1", "subject=win"]
    assert shows(lines[5], f"({len(found.terms) - 2} more terms)")
    assert shows(lines[7], found.members[0].name)
    assert shows(lines[-1], "(11 more members)")
    negative = call("explain", model, path, "--line", 2, "--class", "ham").splitlines()[1]
    assert negative.startswith(f"logit of ham {-found.score:.6g}")
    assert shows(call("explain", model, path, "--class", "tea", fails=2), "--class", "'ham', 'spam'", "'tea'")
    for line in call("explain", model, path, "--json", "--first", 9, "--top", 1).splitlines():
        as_json = json.loads(line)
        assert as_json["terms"][0]["adds"] + as_json["rest"] == pytest.approx(as_json["score"])
        assert math.fsum(as_json["terms"][0]["by_member"].values()) == pytest.approx(as_json["terms"][0]["adds"])
        assert len(as_json["members"]) == 16
    listed = [line.split() for line in call("weights", model, "--top", 2).splitlines()]
    assert [name for _, name in listed[1:]] == [name for name, _ in mb.load(model).feature_weights(top=2)]
    assert listed[0][1] == CONSTANT
    as_json = json.loads(call("weights", model, "--json", "--class", "ham"))
    assert as_json["weights"][0] == list(mb.load(model).feature_weights(label="ham")[0])


def test_commands_with_several_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``weights`` shows each label; ``explain`` the predicted one."""
    source, panel = mail(tmp_path, 3), mb.Panel()
    panel.run(source)
    monkeypatch.setattr("mistakebound.cli.model.load", lambda _: panel)
    listed = call("weights", source.files[0], "--top", 1)
    assert [line for line in listed.splitlines() if "logit" in line] == [
        f"logit of {k}" for k in ("spam", "ham", "tea")
    ]
    as_json = json.loads(call("weights", source.files[0], "--json"))
    assert [each["label"] for each in as_json["classes"]] == ["spam", "ham", "tea"]
    assert as_json["classes"][2]["weights"][0][0] == "subject=tea"
    shown = call("explain", source.files[0], source.files[0], "--line", 4)
    assert shows(shown, "logit of tea", UNIFORM, "subject=tea", "coin-betting")


# ---------------------------------------------------------------------- linear learners


@pytest.mark.parametrize("kind", [mb.Perceptron, mb.Arow, mb.NaiveBayes, mb.AdaGradLogistic, mb.DecisionList])
def test_linear_learners_have_the_same_calls(kind: Any) -> None:
    """Terms add up to the score, up to float32 rounding; probabilities are there if the learner has them."""
    learner = kind()
    assert learner.feature_weights() == []
    for t in range(40):
        learner.learn_one({"a": 1, "b": 2} if t % 2 else {"b": 1}, t % 2)
    for x in ({"a": 1, "b": 1, "new": 2}, {"b", "a"}, ["a", "a"], {}):
        found = learner.explain_one(x)
        assert math.fsum(term.adds for term in found.terms) == pytest.approx(learner.score_one(x), rel=1e-5, abs=1e-6)
        assert found.prediction == learner.predict_one(x)
        assert (found.logit is None) == (found.probability is None) == (not hasattr(learner, "predict_proba_one"))
    assert {pair.name: pair.weight for pair in learner.feature_weights()} == learner.weights_
    array = kind()
    array.run([[1.0, 0.0], [0.0, 1.0]] * 5, [1, 0] * 5)
    assert {term.name for term in array.explain_one([0.0, 2.0]).terms} >= {"1"}
    assert array.explain_one([2.0, 1.0], top=1).terms[1].name.endswith("more term)") or array.intercept_


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("value", [1e30, -1e30, 1e-30])
def test_features_of_the_largest_and_smallest_values_have_weights(value: float, several: bool) -> None:
    """A float32 of 1e30 is a little larger than 1e30, which is the largest value that can be learned."""
    labels = [1, 0, 2, 1] if several else [1, 0, 1, 1]
    by_name, by_position = mb.Panel(), mb.Panel()
    by_name.run([{"a": value}, {"b": 1.0}, {"a": value, "b": 2.0}, {"a": value}] * 3, labels * 3)
    by_position.run([[value, 0], [0, 1.0], [value, 2.0], [value, 0]] * 3, labels * 3)
    found = dict(by_name.feature_weights(label=1))
    assert found.keys() == {"a", "b"}
    assert all(map(math.isfinite, found.values()))
    assert len(by_position.feature_weights(label=1)) == 2


@pytest.mark.parametrize("several", [False, True])
def test_weights_are_those_of_one_round_while_features_are_dropped(
    several: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another thread may learn, drop features and add a label at any moment: here, between two reads of the core."""
    rng = np.random.default_rng(0)
    rows = [{f"f{k}": 1.0 for k in rng.choice(500, 3, replace=False)} for _ in range(1200)]
    labels = rng.integers(0, 3 if several else 2, 1200).tolist()
    panel = mb.Panel(max_features=50, classes=[0, 1, 2] if several else None)
    panel.run(rows[:1023], labels[:1023])
    before = panel.feature_weights(label=1)
    original = panel_terms.links

    def meanwhile(*arguments: Any) -> Any:
        panel.run(rows[1023:], [*labels[1023:-1], 7 if several else labels[-1]])
        return original(*arguments)

    monkeypatch.setattr(panel_terms, "links", meanwhile)
    assert panel.feature_weights(label=1) == before
    assert panel.dropped_features_ > 0

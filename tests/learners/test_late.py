"""Late outcomes of linear learners: the earlier prediction decides what is learned, and each outcome counts once."""

from __future__ import annotations

import copy
import json
import math
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from games import nonzeros
from processes import DEADLINE
from scipy.sparse import csr_matrix

import mistakebound as mb
from mistakebound.errors import TicketError
from mistakebound.learners.linear import KINDS
from mistakebound.models.model_file import fingerprint
from mistakebound.play.inputs import read_one
from mistakebound.rules.base import Round, Rule
from mistakebound.rules.reference import ReferenceGame
from mistakebound.rules.registry import DECLARATIONS

MAKERS: dict[str, Any] = {
    **dict(KINDS.items()),
    "with a margin": lambda: mb.Perceptron(update_margin=0.7, bias=0.5),
    "p-norm with a margin": lambda: mb.PNormPerceptron(p=3, update_margin=0.2),
    "winnow with a margin": lambda: mb.NormalizedWinnow(eta=0.3, update_margin=0.05),
    "conjunction": lambda: mb.Winnow(target="conjunction", complements=True),
}
MAKERS["Winnow"] = lambda: mb.Winnow(threshold=3.0)
every_learner = pytest.mark.parametrize("name", MAKERS)


def stream(rounds: int = 60, seed: int = 0, *, binary: bool = True) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = (rng.random((rounds, 6)) < 0.5).astype(float)
    if not binary:
        X *= rng.integers(1, 9, X.shape) / 4
    return X, np.where(X[:, 0] + X[:, 3] + (rng.random(rounds) < 0.2) > 0.5, 1, -1)


def forms(X: np.ndarray) -> list[Any]:
    """Each row in one of the ways that it can be passed; features by position."""
    ways = [np.array, list, lambda row: csr_matrix(row[None]), lambda row: row.astype(np.float32)]
    return [ways[i % len(ways)](row) for i, row in enumerate(X)]


# ---------------------------------------------------------------------- what a ticket does


def check_trace(make: Any) -> None:
    """Worked by hand: z is (0, 0), then (0, −1), (−1, −1), (0, 0) and (−1, 0)."""
    learner = make()
    a, b = learner.ask([1.0, 0.0]), learner.ask([0.0, 1.0])
    assert (a.prediction, b.prediction, a.number, b.number) == (1, 1, 0, 0)
    learner.tell(b, -1)
    learner.tell(a, -1)  # it had not seen what b taught
    c = learner.ask([1.0, 1.0])
    assert (c.prediction, c.number) == (-1, 2)
    learner.tell(c, 1)
    d = learner.ask([1.0, 0.0])
    learner.learn_one([1.0, 0.0], -1)
    learner.tell(d, 1)  # it was right, though it would be wrong now
    ledger = learner.ledger_
    assert ledger.predictions.tolist() == [1, 1, -1, 1, 1]
    assert ledger.mistake_rounds.tolist() == [0, 1, 2, 3]
    assert ledger.kept.rounds.tolist() == [0, 1, 2, 3]
    assert ledger.delays.tolist() == [0, 1, 0, 0]
    assert (ledger.updates, ledger.late) == (4, 1)
    assert learner.weights_.tolist() == [-1.0, 0.0]


def check_tight(make: Any, k: int = 7, m: int = 4) -> None:
    """Each of k unit vectors is predicted m times before its m outcomes: M = km is (1 + 2τ̄)(R‖u‖/γ)² exactly."""
    learner = make()
    for i in range(k):
        for asked in [learner.ask(np.eye(k)[i]) for _ in range(m)]:
            learner.tell(asked, -1)
    found = learner.certify(theorem="delayed", comparator=-np.ones(k))
    assert all(premise.holds for premise in found.premises), found.premises
    assert found.mistakes == k * m
    assert found.bound == pytest.approx(k * m, rel=1e-12)
    assert learner.certify(theorem="novikoff", comparator=-np.ones(k)).status == "does not apply"


def test_a_trace_by_hand() -> None:
    check_trace(mb.Perceptron)


def test_the_bound_of_the_perceptron_is_tight() -> None:
    check_tight(mb.Perceptron)


class CurrentPrediction(mb.Perceptron):
    """Wrong: it learns if the current prediction is wrong, in place of the earlier one."""

    def tell(self, asked: Any, y: Any) -> None:
        self.learn_one(np.array([asked.held.example.value @ (asked.held.example.index == i) for i in range(7)][:2]), y)


class Contrary(mb.Perceptron):
    """Wrong: it takes the opposite of the earlier prediction."""

    def ask(self, x: Any) -> Any:
        asked = super().ask(x)
        asked.held = asked.held._replace(positive=not asked.held.positive)
        return asked


class OneUpdateTooFew(mb.Perceptron):
    """Wrong: τ does not count the last update."""

    def ask(self, x: Any) -> Any:
        asked = super().ask(x)
        asked.held = asked.held._replace(updates=asked.held.updates + 1)
        return asked


class SinceTheBeginning(mb.Perceptron):
    """Wrong: τ counts all updates so far."""

    def ask(self, x: Any) -> Any:
        asked = super().ask(x)
        asked.held = asked.held._replace(updates=0)
        return asked


@pytest.mark.parametrize("mutant", [CurrentPrediction, Contrary, OneUpdateTooFew, SinceTheBeginning])
def test_mutants_are_caught_by_the_trace(mutant: Any) -> None:
    with pytest.raises(AssertionError):
        check_trace(mutant)


@pytest.mark.parametrize("mutant", [OneUpdateTooFew, SinceTheBeginning])
def test_delays_that_are_counted_wrongly_are_caught_by_the_bound(mutant: Any) -> None:
    with pytest.raises(AssertionError):
        check_tight(mutant)


# ---------------------------------------------------------------------- no delay


@pytest.mark.parametrize(
    ("name", "named"),
    [(name, named) for name in MAKERS for named in (False, True) if not (named and name == "conjunction")],
)
def test_without_a_delay_it_is_learn_one_bit_for_bit(name: str, named: bool) -> None:
    late, usual = MAKERS[name](), MAKERS[name]()
    X, y = stream(binary=late._binary_inputs)
    rows: list[Any] = [{f"f{i}": v for i, v in enumerate(row) if v} for row in X] if named else forms(X)
    for x, label in zip(rows, y.tolist(), strict=True):
        left = late.ask(x)  # its outcome never comes
        asked = late.ask(x)
        assert left.prediction == asked.prediction == usual.predict_one(x)
        late.tell(asked, label)
        usual.learn_one(x, label)
        assert late.ledger_.late == 0
    assert usual.ledger_.mistakes > 0
    assert fingerprint(late) == fingerprint(usual)


# ---------------------------------------------------------------------- delays


def learn(game: ReferenceGame, x: np.ndarray, y: int, score: float, *, moves: bool) -> bool:
    """Play a round with an earlier score; return whether it updates. ``moves``: whether a mistake-driven rule does."""
    now = Round(y, score, scalars=game.scalars)
    now = now._replace(gathered=game._gathered(nonzeros(x), now))
    tau = (y if moves else 0) if type(game.rule).apply is Rule.apply else game.rule.step(now)
    if tau:
        game._learn(nonzeros(x), tau, now)
    game.scalars = game.rule.count(game.scalars, y)
    return tau != 0


@pytest.mark.parametrize(
    "name", [name for name in MAKERS if name not in ("Panel", "MulticlassPerceptron")]
)  # they have tests of their own
def test_the_earlier_prediction_decides_what_is_learned(name: str) -> None:
    """Compared with copies of the learner, made at each ask, that give the earlier predictions."""
    learner, rng = MAKERS[name](), np.random.default_rng(3)
    X, y = stream(150, seed=2, binary=learner._binary_inputs)
    learner.predict_one(X[0])
    rule = learner._play.engine.rule
    margin = rule.update_margin
    game = ReferenceGame(rule, len(learner._play.engine.core.z()[0]))
    updates, waiting, expected = 0, [], []
    for x, label in zip(X, y.tolist(), strict=True):
        waiting.append((learner.ask(x), copy.deepcopy(learner), x, label, updates))
        while waiting and (rng.random() < 0.4 or len(waiting) > 8):
            asked, then, row, outcome, seen = waiting.pop(rng.integers(len(waiting)))
            prediction, score = then.predict_one(row), then.score_one(row)
            assert asked.prediction == prediction
            learner.tell(asked, outcome)
            near = margin > 0 and abs(score) <= margin
            wrong = prediction != outcome
            moves = wrong and outcome == -1 if rule.id == "elimination" else wrong or near
            sign, seen_row = outcome, learner._play.engine.reduction.rows(read_one(row)).x[0]
            sign = -sign if learner._play.engine.reduction.conjunction else sign
            moves = learn(game, seen_row, sign, score, moves=moves)
            if moves or prediction != outcome or not rule.keeps_examples:
                expected.append(updates - seen)
            updates += moves
    assert updates >= 2
    assert name == "Elimination" or any(expected)
    assert learner._play.engine.core.z()[0].tolist() == game.z
    ledger = learner.ledger_
    assert ledger.updates == updates
    assert ledger.delays.tolist() == (expected if rule.keeps_examples else [])
    assert ledger.late == np.count_nonzero(expected)


# ---------------------------------------------------------------------- tickets


def test_an_outcome_is_accepted_once_and_by_the_learner_that_predicted() -> None:
    learner, other = mb.Perceptron(), mb.Perceptron()
    asked = learner.ask({"a": 1})
    with pytest.raises(TicketError, match="Perceptron") as caught:
        other.tell(asked, 1)
    assert (caught.value.reason, caught.value.learner, caught.value.round) == ("unknown", "Perceptron", 0)
    learner.tell(asked, 1)
    with pytest.raises(TicketError) as caught:
        learner.tell(asked, 1)
    assert (caught.value.reason, caught.value.round) == ("used", 1)
    with pytest.raises(TicketError, match="{'a': 1}") as caught:
        learner.tell({"a": 1}, 1)  # type: ignore[arg-type]
    assert caught.value.reason == "not a ticket"
    assert learner.ledger_.rounds == 1


def test_a_rejected_outcome_changes_nothing_and_another_can_be_passed() -> None:
    learner = mb.Perceptron(classes=("ham", "spam"))
    learner.learn_one([1.0, 2.0], "ham")
    asked, before = learner.ask([1e31, 1.0]), fingerprint(learner)
    for outcome in ("eggs", "ham", "spam"):  # not a label; and, if it is a mistake, too large to learn from
        if outcome == asked.prediction:
            continue
        with pytest.raises(mb.StreamError) as caught:
            learner.tell(asked, outcome)
        assert caught.value.round == 1
        assert fingerprint(learner) == before
    learner.tell(asked, asked.prediction)
    assert (learner.ledger_.rounds, learner.ledger_.mistakes) == (2, 1)


def test_an_example_may_be_changed_after_it_was_asked() -> None:
    x, row = {"a": 1.0}, np.array([1.0, 0.0])
    for given, other in ((x, {"a": 1.0}), (row, np.array([1.0, 0.0]))):
        learner, usual = mb.Perceptron(), mb.Perceptron()
        asked = learner.ask(given)
        if isinstance(given, dict):
            given["b"] = 5.0
        else:
            given[1] = 5.0
        learner.tell(asked, -1)
        usual.learn_one(other, -1)
        assert fingerprint(learner) == fingerprint(usual)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each)), "saved"])
def test_a_copy_accepts_outcomes_of_earlier_predictions(copied: Any, tmp_path: Path) -> None:
    learner = mb.BalancedWinnow()
    X, y = stream(40)
    learner.run(X[:30], y[:30])
    asked = [learner.ask(x) for x in X[30:]]
    for ticket, label in zip(asked[:5], y[30:35], strict=True):
        learner.tell(ticket, label)
    if copied == "saved":
        learner.save(tmp_path / "m.mb")
        twin = mb.load(tmp_path / "m.mb")
    else:
        twin = copied(learner)
    for each in (learner, twin):
        for ticket, label in zip(asked[5:], y[35:], strict=True):
            each.tell(ticket, label)
        with pytest.raises(TicketError) as caught:
            each.tell(asked[0], 1)
        assert caught.value.reason == "used"
    assert fingerprint(learner) == fingerprint(twin)
    assert learner.ledger_.late == twin.ledger_.late > 0
    assert learner.ledger_.delays.tolist() == twin.ledger_.delays.tolist()


def test_fit_forgets_waiting_predictions() -> None:
    learner = mb.Perceptron()
    asked = learner.ask([1.0, 0.0])
    learner.fit([[1.0, 0.0], [0.0, 1.0]], [-1, 1])
    with pytest.raises(TicketError) as caught:
        learner.tell(asked, -1)
    assert caught.value.reason == "unknown"


def test_only_one_of_many_threads_can_pass_an_outcome() -> None:
    learner = mb.Perceptron()
    asked = [learner.ask([1.0, float(i)]) for i in range(50)]
    start, refused = threading.Barrier(4), []

    def tell() -> None:
        start.wait(DEADLINE)
        for each in asked:
            try:
                learner.tell(each, -1)
            except mb.StreamError as error:  # noqa: PERF203
                refused.append(error.reason)  # type: ignore[attr-defined]

    threads = [threading.Thread(target=tell) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    assert learner.ledger_.rounds == 50
    assert refused == ["used"] * 150


def test_a_row_of_a_frame_is_read_like_the_files(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    (tmp_path / "f.csv").write_text("colour,size,label\nred,2,1\nblue,1,0\nred,3,1\nblue,4,0\n")
    frame = pandas.DataFrame({"colour": ["red", "blue"], "size": [5, 6]})
    late, usual = mb.Perceptron(), mb.Perceptron()
    for learner in (late, usual):
        learner.run(mb.Source(str(tmp_path / "f.csv"), label="label"))
    for i, label in enumerate((0, 1)):
        asked = late.ask(frame.iloc[i : i + 1])
        assert asked.prediction == usual.predict_one(frame.iloc[i : i + 1])
        late.tell(asked, label)
        usual.learn_one(frame.iloc[i : i + 1].assign(label=label), label)
    assert late.ledger_.mistakes == usual.ledger_.mistakes > 0
    assert late.weights_ == usual.weights_


# ---------------------------------------------------------------------- the ledger


def late_learner(name: str = "Perceptron") -> Any:
    learner = MAKERS[name]()
    X, y = stream(80, seed=5)
    waiting = [learner.ask(x) for x in X[:4]]
    for i, (x, label) in enumerate(zip(X[4:], y, strict=False)):
        learner.tell(waiting.pop(0), label)
        waiting.append(learner.ask(x))
        del i
    return learner


@every_learner
def test_a_ledger_with_late_outcomes_comes_back_from_json(name: str) -> None:
    ledger = late_learner(name).ledger_
    assert ledger.late > 0
    again = mb.Ledger.from_json(ledger.to_json())
    assert again.delays.tolist() == ledger.delays.tolist()
    assert again.late == ledger.late
    if DECLARATIONS[ledger.rule.id].has_theorem:
        assert mb.certify(again) == mb.certify(ledger)


@pytest.mark.parametrize(
    "change",
    [
        lambda late: late["delays"].pop(),
        lambda late: late["delays"].__setitem__(0, 0),
        lambda late: late["delays"].__setitem__(0, 10**6),
        lambda late: late["rounds"].__setitem__(0, -1),
        lambda late: late["rounds"].__setitem__(-1, 10**6),
        lambda late: late["rounds"].reverse(),
        lambda late: late.update(more=1),
        lambda late: late.pop("rounds"),
    ],
)
@pytest.mark.parametrize("name", ["Perceptron", "NaiveBayes"])  # one that keeps examples, and one that does not
def test_forged_delays_are_rejected(name: str, change: Any) -> None:
    learner = late_learner(name)
    data = json.loads(learner.ledger_.to_json())
    change(data["late"])
    with pytest.raises(mb.ModelError, match="late") as caught:
        mb.Ledger.from_json(json.dumps(data))
    assert caught.value.field.startswith("late")


def test_delays_that_did_not_happen_do_not_replay() -> None:
    ledger = late_learner().ledger_
    data = json.loads(ledger.to_json())
    data["late"] = {"rounds": data["late"]["rounds"][:1], "delays": data["late"]["delays"][:1]}
    assert mb.certify(mb.Ledger.from_json(json.dumps(data))).status == "does not apply"


def test_a_second_pass_cannot_repeat_late_outcomes() -> None:
    learner = late_learner()
    X, y = stream(80, seed=5)
    with pytest.raises(ValueError, match="late"):
        learner.certify(X=X, y=y)


@pytest.mark.parametrize("other", [{"a": 1.0}, [1.0, 2.0]])
def test_a_bad_first_ask_does_not_start_a_learner(other: Any) -> None:
    """The next input then decides whether features have names."""
    learner = mb.Perceptron()
    for bad in ({"a": math.nan}, [math.nan]):
        with pytest.raises(mb.StreamError, match="NaN"):
            learner.ask(bad)
    learner.tell(learner.ask(other), -1)
    assert learner.ledger_.rounds == 1


class NoHash:
    def __hash__(self) -> int:
        message = "no hash"
        raise RuntimeError(message)


def test_a_ticket_waits_after_an_error_of_the_outcome_itself() -> None:
    learner = mb.Perceptron()
    asked = learner.ask({"a": 1.0})
    with pytest.raises(RuntimeError, match="no hash"):
        learner.tell(asked, NoHash())
    learner.tell(asked, 1)
    assert learner.ledger_.rounds == 1


def test_an_outcome_of_an_example_that_cannot_be_learned() -> None:
    """The error has the same fields as that of ``learn_one``, and the ticket still waits."""
    learner = mb.Perceptron()
    asked = learner.ask([1.0, 1e31])
    for _ in range(2):
        with pytest.raises(mb.StreamError) as late:
            learner.tell(asked, -1)
        with pytest.raises(mb.StreamError) as at_once:
            learner.learn_one([1.0, 1e31], -1)
        fields = [(each.value.kind, each.value.feature, each.value.value, each.value.round) for each in (late, at_once)]
        assert fields[0] == fields[1] == ("too_large", "1", 1e31, 0)

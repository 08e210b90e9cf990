"""Model files of learners over experts: a loaded learner continues as if never stopped, bit for bit."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aggregation_learners import LEARNERS, NAN, every_learner, every_mixer, state, stream

import mistakebound as mb
from mistakebound import experts
from mistakebound.errors import TicketError
from mistakebound.experts.model import KINDS, restored, to_file
from mistakebound.models.container import FORMAT

VOTERS: dict[str, Any] = {
    "weighted majority": experts.WeightedMajority,
    "weighted majority, eta": lambda: experts.WeightedMajority(eta=0.1),
    "weighted majority, prior": lambda: experts.WeightedMajority(prior={"a": 3.0, "b": 1.0}),
    "randomized": lambda: experts.RandomizedWeightedMajority(beta=0.7, seed=5),
    "randomized, without a seed": experts.RandomizedWeightedMajority,
    "halving": experts.Halving,
    "guarded": lambda: experts.Guarded(beta=0.6),
    "guarded, prior": lambda: experts.Guarded(prior={"a": 3.0, "b": 1.0}),
}
every_voter = pytest.mark.parametrize("name", VOTERS)


def through_a_file(learner: Any, folder: Path) -> Any:
    learner.save(folder / "m.mb")
    return mb.load(folder / "m.mb")


def same(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    assert repr(a) == repr(b)
    assert a.get_params() == b.get_params()
    assert a.names_ == b.names_
    assert a.weights_.tobytes() == b.weights_.tobytes()
    assert state(a.ledger_) == state(b.ledger_)


def go_on(learners: list[Any], rounds: Any) -> None:
    """Predict, learn, run and tell late outcomes with each learner; their predictions must be equal."""
    A, y = rounds
    asked = []
    for learner in learners:
        prediction = learner.predict_one(A[0])
        learner.learn_one(A[0], y[0])
        tickets = [learner.ask(row) for row in A[1:4]]
        learner.run(A[4:8], y[4:8])
        for ticket, outcome in zip(reversed(tickets), reversed(y[1:4]), strict=True):
            learner.tell(ticket, outcome)
        asked.append((prediction, [ticket.prediction for ticket in tickets]))
    assert repr(asked[0]) == repr(asked[1])


# ---------------------------------------------------------------------- rules that mix forecasts


@every_learner
@pytest.mark.parametrize("rounds", [0, 1, 2, 16])
def test_a_loaded_mixture_continues_as_if_never_stopped(name: str, rounds: int, tmp_path: Path) -> None:
    A, y = stream(30)
    learner = LEARNERS[name]()
    if rounds:
        learner.run(A[:rounds], y[:rounds])
    again = through_a_file(learner, tmp_path)
    same(learner, again)
    go_on([learner, again], (A[16:].tolist(), y[16:].tolist()))
    same(learner, again)
    assert learner.certify() == again.certify()


@every_mixer
def test_names_new_experts_and_a_prior(name: str, tmp_path: Path) -> None:
    learner = LEARNERS[name](prior={"Ann": 2.0, "Bob": 1.0})
    learner.run({"Ann": [0.1, 0.5, 0.4], "Bob": [0.3, NAN, 0.9]}, [0.2, 0.4, 0.6])
    learner.learn_one({"Bob": 0.3, "Cid": 0.5}, 0.6)
    again = through_a_file(learner, tmp_path)
    same(learner, again)
    for each in (learner, again):
        each.learn_one({"Ann": 0.5, "Dan": 0.1, "Bob": 0.7}, 0.3)
    same(learner, again)
    assert learner.certify() == again.certify()


@every_mixer
def test_forecasts_of_several_classes(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    A, y = rng.dirichlet([1, 1, 1], (12, 4)), np.eye(3)[rng.integers(0, 3, 12)]
    A[3, 1] = NAN
    learner = LEARNERS[name]()
    learner.run(A[:8], y[:8])
    again = through_a_file(learner, tmp_path)
    same(learner, again)
    for each in (learner, again):
        each.run(A[8:], y[8:])
    same(learner, again)


@every_learner
def test_predictions_that_wait_for_their_outcome(name: str, tmp_path: Path) -> None:
    A, y = stream(8)
    learner = LEARNERS[name]()
    early = learner.ask(A[0])  # before anything was learned
    first = through_a_file(learner, tmp_path)
    learner.run(A[1:4], y[1:4])
    first.run(A[1:4], y[1:4])
    late = learner.ask(A[4])
    again = through_a_file(learner, tmp_path)
    for each in (learner, again):
        each.tell(early, y[0])
        each.tell(late, y[4])
        with pytest.raises(TicketError) as caught:
            each.tell(early, y[0])
        assert caught.value.reason == "used"
    same(learner, again)
    first.tell(early, y[0])
    assert first.ledger_.late == 1


@pytest.mark.parametrize("loss", ["absolute", "log", "percentage", "pinball:0.2"])
def test_losses_are_kept_by_name(loss: str, tmp_path: Path) -> None:
    A, y = stream(10)
    learner = experts.BOA(loss=loss)
    learner.run(A, (y > 0.5) * 1.0 if loss == "log" else y)
    same(learner, through_a_file(learner, tmp_path))
    given = experts.Hedge(loss=mb.losses.loss_named(loss))
    assert through_a_file(given, tmp_path).loss == loss


def test_a_learner_that_was_given_losses_only(tmp_path: Path) -> None:
    learner = experts.Hedge(eta=0.5)
    learner.run_losses([[0.0, 1.0], [0.5, 0.25]])
    again = through_a_file(learner, tmp_path)
    for each in (learner, again):
        each.learn_losses([0.25, NAN])
        with pytest.raises(ValueError, match="losses.*forecasts"):
            each.learn_one([0.1, 0.2], 0.1)
    same(learner, again)


def test_parameters_that_were_changed_later_have_no_effect(tmp_path: Path) -> None:
    A, y = stream(20)
    learner = experts.Hedge(eta=0.1)
    learner.run(A[:10], y[:10])
    learner.eta = 5.0
    again = through_a_file(learner, tmp_path)
    assert again.eta == 5.0
    for each in (learner, again):
        each.run(A[10:], y[10:])
    same(learner, again)
    assert learner.certify() == again.certify()


def test_more_advice_than_is_kept(tmp_path: Path) -> None:
    A, y = stream(20)
    learner = experts.MLPoly(keep_bytes=200)
    learner.run(A, y)
    again = through_a_file(learner, tmp_path)
    assert again.certify().status == learner.certify().status == "incomplete"


# ---------------------------------------------------------------------- voters


def votes(labels: tuple[Any, ...] = (0, 1), sleepers: float = 0.0) -> tuple[list[Any], list[Any]]:
    rng = np.random.default_rng(3)
    y = [labels[i] for i in rng.integers(0, len(labels), 40)]
    rows = []
    for truth in y:
        row = [truth if rng.random() < p else labels[0] for p in (0.9, 0.6, 0.5)]
        rows.append([None if k and rng.random() < sleepers else each for k, each in enumerate(row)])
    return rows, y


@every_voter
@pytest.mark.parametrize("rounds", [0, 1, 25])
@pytest.mark.parametrize("labels", [(0, 1), (False, True), ("no", "yes"), ("a", "b", "c")])
def test_a_loaded_vote_continues_as_if_never_stopped(name: str, rounds: int, labels: Any, tmp_path: Path) -> None:
    rows, y = votes(labels, sleepers=0.2)
    if "prior" in name:
        rows = [dict(zip("abc", row, strict=True)) for row in rows]
    learner = VOTERS[name]()
    if rounds:
        learner.run(rows[:rounds], y[:rounds])
        learner.predict_one(rows[rounds])  # draws for the next round
    again = through_a_file(learner, tmp_path)
    if name == "randomized, without a seed" and not rounds:
        again._chooser = type(again._chooser)(1)
        learner._chooser = type(learner._chooser)(1)
    same(learner, again)
    go_on([learner, again], (rows[rounds:], y[rounds:]))
    same(learner, again)
    assert learner.certify() == again.certify()
    assert again.ledger_.predictions.tolist() == learner.ledger_.predictions.tolist()


def test_a_vote_that_waits_for_its_outcome(tmp_path: Path) -> None:
    learner = experts.RandomizedWeightedMajority(seed=2)
    early = learner.ask(["x", "y"])
    learner.learn_one(["x", "y"], "y")
    again = through_a_file(learner, tmp_path)
    for each in (learner, again):
        each.tell(early, "x")
    same(learner, again)
    assert again.ledger_.late == 1


# ---------------------------------------------------------------------- learners that cannot be saved


class Mine(experts.MLPoly):
    """A rule of another package."""


def told(learner: Any, *rounds: Any) -> Any:
    for advice, outcome in rounds:
        learner.learn_one(advice, outcome)
    return learner


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (Mine, "Mine"),
        (lambda: experts.MLPoly(loss=(lambda f, y: (f - y) ** 2, lambda f, y: 2 * (f - y))), "functions"),
        (lambda: told(experts.WeightedMajority(), ([(1, 2), (3, 4)], (1, 2))), "tuple"),
    ],
)
def test_a_rule_that_a_file_cannot_store(make: Any, name: str, tmp_path: Path) -> None:
    with pytest.raises(mb.ModelError, match=f"m.mb: .*{name}"):
        make().save(tmp_path / "m.mb")
    assert not (tmp_path / "m.mb").exists()


def test_every_rule_can_be_saved() -> None:
    public = {name for name in experts.__all__ if hasattr(getattr(experts, name), "learn_one")} - {"Aggregation"}
    assert set(KINDS) == public


def sample(rng: random.Random) -> Any:
    A, y = stream(rng.choice([1, 6, 12]), seed=rng.randrange(100))
    if rng.random() < 0.3:
        learner = VOTERS[rng.choice(list(VOTERS))]()
        rows, outcomes = votes(rng.choice([(0, 1), ("a", "b", "c")]), 0.1)
        learner.run([dict(zip("abc", row, strict=True)) for row in rows], outcomes)
        return learner
    learner = LEARNERS[rng.choice(list(LEARNERS))]()
    learner.run(A, y)
    learner.ask(A[0])
    return learner


def test_each_number_of_a_file_is_checked() -> None:
    """A changed array raises ModelError, or gives a usable learner: no other error, no warning, no NaN."""
    rng = random.Random(0)
    refused = 0
    for _ in range(400):
        said, arrays = to_file(sample(rng))
        arrays = {name: each.copy() for name, each in arrays.items()}
        name = rng.choice(list(arrays))
        kind = rng.randrange(4)
        if kind == 0:
            arrays[name] = arrays[name][:-1]
        elif kind == 1:
            del arrays[name]
        elif kind == 2 and arrays[name].dtype.kind == "f" and arrays[name].size:
            arrays[name][rng.randrange(arrays[name].size)] = rng.choice([np.nan, np.inf])
        else:
            arrays[name] = np.concatenate([arrays[name], arrays[name][:1] if arrays[name].size else np.zeros(1)])
        try:
            restored(said, arrays)
        except mb.ModelError:
            refused += 1
    assert refused > 300


def test_a_number_that_is_too_large_for_a_float_is_refused() -> None:
    refused = 0
    for name in LEARNERS:
        learner = LEARNERS[name]()
        learner.run(*stream(6))
        said, arrays = to_file(learner)
        for field in [field for field, value in said["play"]["engine"].items() if type(value) in (int, float)]:
            forged = {**said["play"], "engine": {**said["play"]["engine"], field: 10**400}}
            with pytest.raises(mb.ModelError):
                restored({**said, "play": forged}, arrays)
            refused += 1
    assert refused > 10


@pytest.mark.parametrize("n", [10**9, 2**31])
def test_a_small_file_does_not_allocate_much_memory(n: int) -> None:
    for name in ("ml-poly", "fixed share", "ridge", "ridge, fixed", "squint"):
        learner = LEARNERS[name]()
        learner.run(*stream(6))
        said, arrays = to_file(learner)
        said["play"]["experts"] = n
        with pytest.raises(mb.ModelError):
            restored(said, arrays)
    voter = told(experts.WeightedMajority(), ([0, 1], 1))
    said, arrays = to_file(voter)
    said["play"]["experts"] = n
    with pytest.raises(mb.ModelError):
        restored(said, arrays)


def test_loading_a_linear_learner_does_not_import_experts(tmp_path: Path) -> None:
    mb.Perceptron().save(tmp_path / "m.mb")
    path = str(tmp_path / "m.mb")
    code = f"import sys, mistakebound as mb; mb.load({path!r}); print('mistakebound.experts' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


FIXTURES = Path(__file__).parent.parent / "fixtures"


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("experts-v*.mb")), ids=lambda path: path.stem)
def test_files_of_earlier_versions(path: Path) -> None:
    found = spec_from_file_location("make_experts", FIXTURES / "make_experts.py")
    assert found is not None
    assert found.loader is not None
    make = module_from_spec(found)
    found.loader.exec_module(make)
    said = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    learner = mb.load(path)
    assert learner.ledger_.rounds == 8
    assert make.later(learner, said["learner"]) == said["later"]


def test_every_format_has_its_files() -> None:
    for version in range(4, FORMAT + 1):  # experts have files since the fourth
        assert len(list(FIXTURES.glob(f"experts-v{version}-*.mb"))) == 8

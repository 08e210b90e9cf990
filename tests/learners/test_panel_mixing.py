"""Panels of two labels that learned shards, mixed into one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from input_streams import dicts, stream
from mixed_streams import HISTORY, LIMIT, flat, learned_shards, state_of, united, with_state

import mistakebound as mb
from mistakebound.learners.mixed_numbers import Moments, moved, weights_of
from mistakebound.learners.panel_mixing import PLACE, RELIEF, mixed_panel, mixed_slots
from mistakebound.models.panel_state import RECORD, SLOT, split_numbers
from mistakebound.rules.panel_members import MEMBERS


def mixed(start: Any, parts: list[Any], shares: list[float] | None = None) -> Any:
    """The mixed panel. Of its rounds, only counts are kept."""
    first, states = state_of(start), [state_of(part) for part in parts]
    names, places, slots = united(start, parts)
    shares = shares or [1 / len(parts)] * len(parts)
    panel = mixed_panel(first[2], [state[2] for state in states], shares, places, slots)
    counts = np.array(first[3]) + sum(np.subtract(state[3], first[3]) for state in states)
    _, predictions, mistake_rounds, kept, keeping, late, _ = first[-HISTORY:]
    empty = (predictions[:0], mistake_rounds[:0])
    settings = list(first[0])
    settings[LIMIT] = 0
    state = (tuple(settings), names, panel, tuple(counts.tolist()), *empty, kept, keeping, late, None)
    return with_state(parts[0], state)


def shards_of(rounds: int, shards: int, *, named: bool = False, seed: int = 0) -> list[tuple[Any, Any]]:
    X, y = stream(rounds, seed)
    y = (X @ np.arange(-5.5, 6) + 0.2 * y > 0).astype(int)
    cut = [(X[k::shards], y[k::shards]) for k in range(shards)]
    return [(dicts(rows), labels) for rows, labels in cut] if named else cut


def started(members: Any = "all", *, named: bool = False, rounds: int = 50) -> mb.Panel:
    panel = mb.Panel(members, classes=(0, 1), threads=1, keep_bytes=1 << 20)
    panel.run(*shards_of(rounds, 1, named=named, seed=9)[0])
    return panel


def records_of(panel: Any) -> np.ndarray:
    return state_of(panel)[2][1].reshape(-1, len(RECORD))


def counts_of(panel: Any, name: str) -> np.ndarray:
    return np.ascontiguousarray(records_of(panel)[:, PLACE[name]]).view(np.int32)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("members", ["all", "lean", ["arow"], MEMBERS[3:15]])
def test_a_single_part_keeps_all_its_bits(members: Any, named: bool) -> None:
    start = started(members, named=named)
    (part,) = learned_shards(start, shards_of(70, 1, named=named))
    _, places, slots = united(start, [part])
    of_part = state_of(part)[2]
    assert flat(mixed_panel(state_of(start)[2], [of_part], [1.0], places, slots)) == flat(of_part)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("members", ["all", "lean", ["arow"]])
def test_a_mixed_panel_is_saved_loaded_and_learns_on(members: Any, named: bool, tmp_path: Path) -> None:
    panel = started(members, named=named, rounds=37)
    for epoch in range(3):
        panel = mixed(panel, learned_shards(panel, shards_of(310, 3, named=named, seed=epoch)))
    file = tmp_path / "mixed.mb"
    panel.save(file)
    loaded: Any = mb.load(file)
    X, y = shards_of(100, 1, named=named, seed=5)[0]
    assert panel.ledger_.rounds == 37 + 3 * 310
    assert flat(panel.predict_proba(X)) == flat(loaded.predict_proba(X))
    assert np.mean(panel.predict(X) != y) < 0.1
    for each in (panel, loaded):
        each.run(X, y)
    assert flat(state_of(panel)[2]) == flat(state_of(loaded)[2])
    loaded.save(file)
    assert flat(state_of(mb.load(file))[2]) == flat(state_of(loaded)[2])


def test_counts_losses_and_moments_are_those_of_all_rounds() -> None:
    start = started()
    shards = shards_of(400, 4)
    parts = learned_shards(start, shards)
    found, first = mixed(start, parts), split_numbers(state_of(start)[2][4])
    for name in ("positives", "negatives", "seen"):
        own = sum(counts_of(part, name) - counts_of(start, name) for part in parts)
        assert (counts_of(found, name) == counts_of(start, name) + own).all()
    X = np.vstack([shards_of(50, 1, seed=9)[0][0], *(rows for rows, _ in shards)]).astype(np.float32)
    for j, record in enumerate(records_of(found)[:-1]):
        values = X[:, j][X[:, j] != 0].astype(float)
        assert record[PLACE["mean"]] == pytest.approx(values.mean(), abs=1e-5)
        assert record[PLACE["spread"]] == pytest.approx(((values - values.mean()) ** 2).sum(), rel=1e-4)
        assert record[PLACE["scale"]] == np.abs(values).max()
    numbers = split_numbers(state_of(found)[2][4])
    others = [split_numbers(state_of(part)[2][4]) for part in parts]
    assert numbers.labels.tolist() == (first.labels + sum(each.labels - first.labels for each in others)).tolist()
    members = slice(0, 16)
    wrong = [each.wrong[members] for each in (first, *others)]
    assert numbers.wrong[members].tolist() == (sum(wrong[1:]) - (len(others) - 1) * wrong[0]).tolist()
    losses = [each.loss - np.log(each.product) for each in (first, *others)]
    expected = losses[0] + sum(each - losses[0] for each in losses[1:])
    assert numbers.loss[members] == pytest.approx(expected[members])
    assert numbers.totals[0] == found.ledger_.mistakes
    assert numbers.last == others[-1].last


def test_sums_of_coin_betting_are_added_and_other_weights_moved() -> None:
    start = started()
    parts = learned_shards(start, shards_of(60, 2))
    found = records_of(mixed(start, parts))
    first, others = records_of(start), [records_of(part) for part in parts]
    for name in ("coin_sum", "coin_size"):
        at = PLACE[name]
        expected = first[:, at] + sum(each[:, at] - first[:, at] for each in others)
        assert found[:, at] == pytest.approx(expected, rel=1e-5)
    own = [sum(counts_of(part, name) - counts_of(start, name) for name in ("positives", "negatives")) for part in parts]
    for name, relief in (("implicit_w", RELIEF), ("arow_w", 8), ("adagrad_w", 0)):
        at = PLACE[name]
        steps = sum((n + relief) * (each[:, at] - first[:, at]) for n, each in zip(own, others, strict=True))
        assert found[:-1, at] == pytest.approx((first[:, at] + steps / (sum(own) + relief + 1e-9))[:-1], rel=1e-4)


def test_moves_of_slots_with_few_gradients_are_added() -> None:
    place = {name: at for at, name in enumerate(SLOT)}
    start, part = np.zeros((1, len(SLOT)), np.float32), np.zeros((1, len(SLOT)), np.float32)
    part[0, [place[name] for name in ("adagrad_w", "coin_size", "coin_most", "coin_sum")]] = 1, 0.1, 0.5, 0.1
    found = mixed_slots(start, np.stack([part, part]), [0.5, 0.5], place, dict(SLOT))[0]
    assert found[place["adagrad_w"]] == pytest.approx(2 * (0.1 + 0.5) / (0.2 + 0.5))
    assert found[place["coin_w"]] == pytest.approx(0.2 * 0.5 / (0.5 * (0.2 + 0.5)))


def test_a_feature_with_one_value_keeps_one_token() -> None:
    panel = mb.Panel(classes=(0, 1), threads=1)
    rows = np.full((7, 2), 0.3)
    parts = learned_shards(panel, [(rows, [0, 1] * 3 + [0])])
    parts = learned_shards(parts[0], [(rows, [0, 1] * 3 + [0]), (rows[:5], [1, 0, 1, 0, 1])])
    found = mixed(learned_shards(panel, [(rows, [0, 1] * 3 + [0])])[0], parts)
    assert records_of(found)[:2, PLACE["mean"]].tolist() == [np.float32(0.3)] * 2
    assert records_of(found)[:2, PLACE["spread"]].tolist() == [0, 0]


def test_a_feature_of_one_part_keeps_its_weights() -> None:
    start = started(named=True)
    parts = learned_shards(start, [([{"a": 1.0}] * 5, [1, 0, 1, 1, 1]), ([{"b": 2.0}] * 9, [1, 0, 0] * 3)])
    found = mixed(start, parts)
    names = state_of(found)[1]
    for name, part in zip("ab", parts, strict=True):
        mine = records_of(found)[names.index(name)]
        its = records_of(part)[list(state_of(part)[1]).index(name)]
        assert mine == pytest.approx(its, rel=1e-6)


def test_shares_of_zero_give_no_weight_but_counts() -> None:
    start = started()
    parts = learned_shards(start, shards_of(100, 2))
    found = mixed(start, parts, [1.0, 0.0])
    weight = PLACE["implicit_w"]
    assert records_of(found)[:, weight] == pytest.approx(records_of(parts[0])[:, weight], rel=1e-5)
    own = sum(counts_of(part, "seen") - counts_of(start, "seen") for part in parts)
    assert (counts_of(found, "seen") == counts_of(start, "seen") + own).all()


def test_mixing_is_deterministic_and_changes_no_part() -> None:
    start = started(named=True)
    parts = learned_shards(start, shards_of(200, 3, named=True))
    before = flat([state_of(each) for each in (start, *parts)])
    once, again = mixed(start, parts), mixed(start, parts)
    assert flat(state_of(once)) == flat(state_of(again))
    assert flat([state_of(each) for each in (start, *parts)]) == before


def test_names_in_another_order_change_no_prediction() -> None:
    start = mb.Panel(classes=(0, 1), threads=1)
    start.run([{"a": 1.0}], [1])
    one, two = ([{"b": 1.0, "c": 2.0}], [0]), ([{"c": 1.0, "b": 1.0, "d": 3.0}], [1])
    found = mixed(start, learned_shards(start, [one, two]))
    swapped = mixed(start, learned_shards(start, [one, ([{"d": 3.0, "b": 1.0, "c": 1.0}], [1])]))
    rows = [{"b": 1.0}, {"c": -1.0, "d": 1.0}, {"a": 1.0, "d": 2.0}]
    assert found.predict_proba(rows) == pytest.approx(swapped.predict_proba(rows), rel=1e-5)


def test_many_features_are_mixed_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    start = started()
    parts = learned_shards(start, shards_of(100, 2))
    whole = flat(state_of(mixed(start, parts)))
    monkeypatch.setattr("mistakebound.learners.panel_mixing.AT_ONCE", 5)
    assert flat(state_of(mixed(start, parts))) == whole


def test_weights_of_examples_are_added(tmp_path: Path) -> None:
    start = mb.Panel(classes=(0, 1), threads=1, keep_bytes=0)
    (X, y) = shards_of(80, 1)[0]
    start.run(X, y, sample_weight=np.full(80, 0.5))
    parts = []
    for seed in (1, 2):
        part: Any = with_state(start, state_of(start))
        X, y = shards_of(80, 1, seed=seed)[0]
        part.run(X, y, sample_weight=np.full(80, 1.5))
        parts.append(part)
    found = mixed(start, parts)
    kept = records_of(found)[:-1, [PLACE["positives"], PLACE["negatives"]]]
    rows = sum((shards_of(80, 1, seed=k)[0][0] != 0).sum(0) * by for k, by in ((0, 0.5), (1, 1.5), (2, 1.5)))
    assert np.where(np.signbit(kept), -kept, np.ascontiguousarray(kept).view(np.int32)).sum(1) == pytest.approx(rows)
    found.save(tmp_path / "weighted.mb")
    mb.load(tmp_path / "weighted.mb")


def test_a_wide_slot_is_refused() -> None:
    start = started()
    parts = learned_shards(start, shards_of(20, 2))
    states = [state_of(part)[2] for part in parts]
    with pytest.raises(ValueError, match="below the number of slots"):
        mixed_panel(state_of(start)[2], states, [0.5, 0.5], [np.arange(12) + 5] * 2, 12)


# ---------------------------------------------------------------------- numbers


def test_moves_with_evidence_are_averaged_and_others_added() -> None:
    weights = weights_of(np.ones((2, 1), bool), [0.5, 0.5])
    start, parts = np.array([1.0]), np.array([[3.0], [5.0]])
    assert moved(start, parts, weights) == pytest.approx(4)
    assert moved(start, parts, weights, np.full((2, 1), 1e9), RELIEF) == pytest.approx(4)
    assert moved(start, parts, weights, np.full((2, 1), 1e-9), RELIEF) == pytest.approx(7)
    assert moved(start, parts, weights_of(np.array([[True], [False]]), [0.3, 0.7])) == pytest.approx(3)
    assert moved(start, parts, weights_of(np.zeros((2, 1), bool), [0.3, 0.7])) == pytest.approx(1)


def test_moments_of_parts_are_those_of_all_values() -> None:
    rng = np.random.default_rng(0)
    pieces = [rng.normal(size=(n, 3)) * 3 + n for n in (5, 8, 2)]

    def of(x):
        return Moments(np.full(3, float(len(x))), x.mean(0), ((x - x.mean(0)) ** 2).sum(0))

    first = of(pieces[0])
    total = first
    for piece in pieces[1:]:
        total = total.plus(of(np.vstack([pieces[0], piece])).since(first))
    for found, expected in zip(total, of(np.vstack(pieces)), strict=True):
        assert found == pytest.approx(expected)

"""Planted streams with a bound well below the number of rounds, and their comparators."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound import bounds, streams
from mistakebound.theorems import THEOREMS, Witness

if TYPE_CHECKING:
    from collections.abc import Callable

    from games import Game

    from mistakebound.rules import Rule


@dataclass(frozen=True)
class Planted:
    """A theorem, the rule's parameters, a stream for which the premises hold by construction, and the bound."""

    theorem: str
    parameters: dict[str, Any]
    stream: streams.Stream
    witness: Witness
    bound: float

    @property
    def rule(self) -> str:
        """Id of the rule."""
        return THEOREMS[self.theorem].rule

    def check(self, game: Game) -> None:
        """Check that the bound holds, and that the lemma holds at every update."""
        counted = len(game.steps) if THEOREMS[self.theorem].bounds_updates else game.mistakes
        strict = THEOREMS[self.theorem].strictly_below
        assert counted < self.bound if strict else counted <= self.bound * (1 + 1e-9), (counted, self.bound)
        for step in game.steps:
            for inequality, slack in THEOREMS[self.theorem].lemma(step, self.witness).items():
                scale = 1 + abs(float(step.z @ step.z)) + abs(float(step.x @ step.x))
                assert slack >= -1e-5 * scale, (inequality, slack)


def _unit(stream: streams.Stream) -> Witness:
    return Witness(u=np.asarray(stream.target, float), margin=stream.margin)


def _share(variables: tuple[int, ...], n: int) -> Witness:
    u = np.zeros(n)
    u[list(variables)] = 1 / len(variables)
    return Witness(u=u, margin=1 / len(variables))


def _noisy(stream: streams.Stream, rate: float, gamma: float) -> tuple[streams.Stream, Witness, float, float]:
    """Return a margin stream with flipped labels, and the hinge losses of u: (stream, witness, D, L₁)."""
    noisy = streams.label_noise(stream, rate, seed=5)
    u = np.asarray(stream.target, float)
    shortfall = np.maximum(0.0, gamma - noisy.y * (noisy.X @ u))
    return noisy, Witness(u=u, margin=gamma), float(np.linalg.norm(shortfall)), float(shortfall.sum()) / gamma


def planted() -> list[Planted]:
    """Return all planted streams. They are generated at each call, which is fast."""
    l2 = streams.margin(20, 300, 0.3, seed=1)
    panel = streams.panel(15, 3, 400, seed=2)
    experts = streams.panel(64, 3, 600, seed=3)
    perfect = streams.panel(256, 1, 300, seed=4)
    l1 = streams.margin(40, 600, 0.35, seed=5, norm="l1")
    both = streams.disjunction(64, 2, 600, seed=6)
    of3 = streams.threshold(24, 2, 3, 6000, seed=7)
    wide = streams.disjunction(200, 1, 900, seed=8, density=0.02)
    noisy, noisy_u, d, hinge = _noisy(streams.margin(20, 500, 0.4, seed=9), 0.02, 0.4)
    noisy_l1, l1_u, _, l1_hinge = _noisy(streams.margin(30, 900, 0.5, seed=10, norm="l1"), 0.02, 0.5)
    few = tuple(both.target)
    best3 = bounds.winnow_rate(1 / 3)
    sigma = int(wide.X.sum(axis=1).max())
    # of3 in Littlestone's terms: mu = 1/2 on the three, delta = 1/2
    mu = np.zeros(24)
    mu[list(of3.target)] = 0.5
    sign_u = np.asarray(l1_u.u)
    entropy = float(np.sum(np.abs(sign_u[sign_u != 0]) * np.log(np.abs(sign_u[sign_u != 0]) * 60)))
    eta = bounds.winnow_rate(0.5)
    nonnegative, nn_u, nn_entropy, nn_hinge = _noisy_panel()
    dual = float(np.linalg.norm(np.asarray(l1.target, float), 4 / 3))
    radius4 = float((np.abs(l1.X) ** 4).sum(axis=1).max() ** 0.25)
    return [
        Planted("novikoff", {}, l2, _unit(l2), bounds.novikoff(1, 1, 0.3)),
        Planted("novikoff", {"bias": 0.5}, l2, _padded(_unit(l2)), bounds.novikoff(math.sqrt(1.25), 1, 0.3)),
        Planted("novikoff", {"update_margin": 0.5}, l2, _unit(l2), bounds.novikoff(1, 1, 0.3, 0.5)),
        Planted("perceptron-panel", {}, panel, Witness(variables=panel.target), bounds.perceptron_panel(15, 3)),
        Planted(
            "perceptron-agnostic",
            {},
            noisy,
            noisy_u,
            bounds.perceptron_agnostic(1, 1, 0.4, squared_hinge=d, hinge=hinge),
        ),
        Planted("littlestone", {"theta": 64.0}, both, Witness(variables=few), bounds.littlestone(64, 2)),
        Planted(
            "littlestone",
            {"theta": 64.0, "strict": True},
            both,
            Witness(variables=few),
            bounds.littlestone(64, 2, strict=True),
        ),
        Planted(
            "littlestone",
            {"alpha": 1.5, "theta": 20.0},
            both,
            Witness(variables=few),
            bounds.littlestone(64, 2, 1.5, 20.0),
        ),
        Planted(
            "littlestone-separable",
            {"alpha": 1.25, "theta": 24.0},
            of3,
            Witness(u=mu, margin=0.5),
            bounds.littlestone_separable(24, 1.5, 0.5, 1.25, 24.0),
        ),
        Planted(
            "infinite-winnow",
            {"theta": 4.0 * sigma},
            wide,
            Witness(variables=wide.target),
            bounds.infinite_winnow(1, sigma, 4.0),
        ),
        Planted(
            "winnow-fixed-rate",
            {"eta": 0.3},
            experts,
            _share(experts.target, 64),
            bounds.winnow_fixed_rate(64, 1 / 3, 0.3, relative_entropy=math.log(64 / 3)),
        ),
        Planted(
            "winnow-fixed-rate",
            {"eta": 0.3, "update_margin": 0.05},
            experts,
            _share(experts.target, 64),
            bounds.winnow_fixed_rate(64, 1 / 3, 0.3, update_margin=0.05),
        ),
        Planted(
            "winnow-best-rate",
            {"eta": best3},
            experts,
            _share(experts.target, 64),
            bounds.winnow_best_rate(64, 1 / 3),
        ),
        Planted(
            "winnow-best-rate", {"eta": math.inf}, perfect, _share(perfect.target, 256), bounds.winnow_best_rate(256, 1)
        ),
        Planted("winnow-panel", {"eta": best3}, experts, Witness(variables=experts.target), bounds.winnow_panel(64, 3)),
        Planted(
            "winnow-agnostic",
            {"eta": best3},
            nonnegative,
            nn_u,
            bounds.winnow_agnostic(nn_entropy, nn_hinge, 1 / 3, best3),
        ),
        Planted(
            "balanced-winnow",
            {"eta": bounds.winnow_rate(0.35)},
            l1,
            _unit(l1),
            bounds.balanced_winnow(40, 0.35),
        ),
        Planted(
            "balanced-winnow",
            {"eta": eta},
            noisy_l1,
            l1_u,
            bounds.winnow_agnostic(entropy, l1_hinge * 0.5, 0.5, eta),
        ),
        Planted(
            "balanced-winnow",
            {"eta": 0.3, "update_margin": 0.02},
            l1,
            _unit(l1),
            bounds.balanced_winnow(40, 0.35, 0.3, update_margin=0.02),
        ),
        Planted("pnorm", {"p": 4.0}, l1, _unit(l1), bounds.pnorm(4.0, radius4, dual, 0.35)),
        Planted("pnorm", {"p": 4.0, "update_margin": 0.3}, l1, _unit(l1), bounds.pnorm(4.0, radius4, dual, 0.35, 0.3)),
        Planted("pnorm", {"p": 2.0}, l2, _unit(l2), bounds.pnorm(2.0, 1, 1, 0.3)),
        Planted("elimination", {}, both, Witness(variables=few), bounds.elimination(64, 2)),
        Planted("passive-aggressive-i", {}, l2, _unit(l2), bounds.passive_aggressive_i(1, 1 / 0.3)),
        Planted("passive-aggressive-i", {"c": 20.0}, l2, _unit(l2), bounds.passive_aggressive_i(1, 1 / 0.3, c=20.0)),
        Planted(
            "passive-aggressive-i", {"c": 0.2}, noisy, noisy_u, bounds.passive_aggressive_i(1, 1 / 0.4, hinge, c=0.2)
        ),
        Planted("passive-aggressive-ii", {}, l2, _unit(l2), bounds.passive_aggressive_ii(1, 1 / 0.3)),
        Planted(
            "passive-aggressive-ii",
            {"c": 0.1},
            noisy,
            noisy_u,
            bounds.passive_aggressive_ii(1, 1 / 0.4, (d / 0.4) ** 2, c=0.1),
        ),
        Planted(
            "passive-aggressive-ii",
            {"c": 5.0, "bias": 0.5},
            l2,
            _padded(_unit(l2)),
            bounds.passive_aggressive_ii(math.sqrt(1.25), 1 / 0.3, c=5.0),
        ),
    ]


def _padded(witness: Witness) -> Witness:
    return Witness(u=np.append(witness.u, 0.0), margin=witness.margin)


def _noisy_panel() -> tuple[streams.Stream, Witness, float, float]:
    clean = streams.panel(64, 3, 900, seed=11)
    noisy = streams.label_noise(clean, 0.01, seed=12)
    witness = _share(clean.target, 64)
    lost = float(np.sum(np.maximum(0.0, 1 / 3 - noisy.y * (noisy.X @ witness.u))))
    return noisy, witness, math.log(64 / 3), lost


def games_of(case: Planted, make: Callable[..., Rule]) -> Game:
    """Play a planted stream with the rule, or with a mutant of it."""
    from games import play

    return play(make(**case.parameters), case.stream.X, case.stream.y)

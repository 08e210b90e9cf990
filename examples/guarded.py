"""A neural net under guard: it is followed while it is good, and does limited harm after an attack on its input.

A partner sends records with a seal. The net has learned to rely on the seal; three simple rules do not use it. In the
second half of the stream an attacker forges the seal, and the net is wrong in most rounds. The guard only needs the
labels that the net and the rules predict, and the outcomes.
"""

from __future__ import annotations

import numpy as np

import mistakebound as mb

ROUNDS, ATTACK = 4000, 2000
RULES = {"a + b > 0": lambda x: x[:, 0] + x[:, 1] > 0, "a > 0": lambda x: x[:, 0] > 0, "b > 0": lambda x: x[:, 1] > 0}


class Net:
    """One hidden layer of 16 units, trained by gradient descent on the log loss."""

    def __init__(self, inputs: int, rng: np.random.Generator) -> None:
        self.first = rng.normal(0, 0.5, (inputs, 16))
        self.last = rng.normal(0, 0.5, 16)

    def chance(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the hidden units, and the probability of the label 1."""
        hidden = np.tanh(x @ self.first)
        return hidden, 1 / (1 + np.exp(-hidden @ self.last))

    def fit(self, x: np.ndarray, y: np.ndarray, steps: int = 3000, rate: float = 0.5) -> None:
        """Descend the gradient over all examples at once."""
        for _ in range(steps):
            hidden, p = self.chance(x)
            error = (p - y) / len(y)
            back = np.outer(error, self.last) * (1 - hidden**2)
            self.last -= rate * hidden.T @ error
            self.first -= rate * x.T @ back

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Return labels 0 and 1."""
        return (self.chance(x)[1] >= 0.5).astype(int)


def records(rounds: int, rng: np.random.Generator, forged_from: int) -> tuple[np.ndarray, np.ndarray]:
    """Return records a, b, c, d, seal, and their labels; from round ``forged_from`` on the seal has the wrong sign."""
    x = rng.normal(size=(rounds, 5))
    y = x[:, 0] + x[:, 1] + 0.2 * x[:, 2] * x[:, 3] > 0
    sign = np.where(np.arange(rounds) < forged_from, 1, -1)
    x[:, 4] = sign * (2 * y - 1) + rng.normal(0, 0.4, rounds)
    return x, y.astype(int)


def play(net: Net, forged_from: int) -> tuple[list[int], mb.Certificate, mb.experts.Guarded]:
    """Return the mistakes of net, best rule, vote and guard on one stream, the guard and its certificate."""
    x, y = records(ROUNDS, np.random.default_rng(1), forged_from)
    votes = {name: rule(x).astype(int) for name, rule in RULES.items()}
    advice = net.predict(x)
    vote = mb.experts.WeightedMajority().run(votes, y)
    guard = mb.experts.Guarded()
    ledger = guard.run(votes, y, advice=advice)
    mistakes = [ledger.advice_mistakes, int(ledger.expert_mistakes.min()), vote.mistakes, ledger.mistakes]
    return mistakes, guard.certify(), guard


def main() -> None:
    """Train the net, play a calm and an attacked stream, and print the mistakes."""
    rng = np.random.default_rng(0)
    net = Net(5, rng)
    net.fit(*records(1000, rng, forged_from=1000))
    calm, calm_certificate, _ = play(net, forged_from=ROUNDS)
    attacked, certificate, guard = play(net, forged_from=ATTACK)
    print(f"Mistakes in {ROUNDS:,} rounds:\n")
    print(f"{'':32}{'calm':>8}{f'attacked from round {ATTACK:,}':>32}")
    names = ["neural net alone (the advice)", "best simple rule", "Weighted Majority of the rules", "Guarded"]
    for name, quiet, loud in zip(names, calm, attacked, strict=True):
        print(f"{name:32}{quiet:>8,}{loud:>32,}")
    print(f"{'bound of Guarded':32}{calm_certificate.bound:>8,.0f}{certificate.bound:>32,.0f}")
    rounds = guard.ledger_.override_rounds
    print(f"\nUnder attack the guard overrode the net in {len(rounds):,} rounds, the first of them {rounds[0]:,}.\n")
    print(certificate)


if __name__ == "__main__":
    main()

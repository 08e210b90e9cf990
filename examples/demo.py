"""The main job: four learners on one stream, their mistakes and certificates, and one picture.

``make demo`` runs it. The stream has 20,000 rounds of 1,000 on/off variables; the label is an OR of five of them.
"""

from __future__ import annotations

from pathlib import Path

import mistakebound as mb
from mistakebound import plot


def main() -> None:
    """Run the learners, certify their mistakes, and draw them."""
    stream = mb.streams.disjunction(n=1000, r=5, rounds=20_000, seed=0)
    print(
        f"Stream: {len(stream)} rounds, 1000 variables; the label is an OR of the hidden variables {stream.target}.\n"
    )
    learners = {
        "Panel": mb.Panel(),
        "Winnow": mb.Winnow(),
        "Perceptron": mb.Perceptron(bias=1),
        "Elimination": mb.Elimination(),
    }
    for learner in learners.values():
        learner.run(*stream)
    certificates = {name: learner.certify(X=stream.X, y=stream.y) for name, learner in learners.items()}
    print("mistakes after\nrounds " + "".join(f"{name:>12}" for name in learners))
    for t in (1, 10, 100, 1000, 10_000, 20_000):
        print(f"{t:>6} " + "".join(f"{learner.ledger_.mistake_curve[t - 1]:>12}" for learner in learners.values()))
    print("\nCertificates, recomputed in a second pass over the whole stream:\n")
    for name, certificate in certificates.items():
        print(f"{name}\n{certificate}\n")
    found = certificates["Winnow"].comparator["variables"]
    print(f"The labels of all rounds are the OR of the variables {', '.join(found)}.")
    path = Path("demo") / "mistakes.png"
    path.parent.mkdir(exist_ok=True)
    figure = plot.mistakes({name: (learner.ledger_, certificates[name]) for name, learner in learners.items()})
    figure.savefig(path, dpi=150)
    print(f"Picture: {path}")


if __name__ == "__main__":
    main()

"""The members of the Panel with several classes that count: naive Bayes, decision list, label sequence, class prior."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound.panel.views import Example

LONG = 24.0
"""Naive Bayes divides the evidence of a longer row by its number of features, in units of this number."""
LEAST_FOURTHS = 1e-9
MASK_64 = (1 << 64) - 1


class ClassCounts:
    """How often each class occurred, and each feature with each class."""

    def __init__(self) -> None:
        self.labels: list[int] = []
        self.rounds = 0
        self.of: defaultdict[int, Counter[int]] = defaultdict(Counter)

    def share(self, k: int) -> float:
        """Return π_k = (n_k + 1/max(K, 2))/(t + 1)."""
        return (self.labels[k] + 1 / max(len(self.labels), 2)) / (self.rounds + 1)

    def prior(self) -> list[float]:
        """Return ln π_k of each class."""
        return [math.log(self.share(k)) for k in range(len(self.labels))]

    def naive_bayes(self, scaled: Example) -> list[float]:
        """Return ln π_k + Σ |u_j| ln(1 + c_jk/π_k)/max(1, m/24) of each class."""
        damping = max(1.0, len(scaled) / LONG)
        return [
            math.log(pi) + sum(abs(u) * math.log((self.of[j][k] + pi) / pi) for j, u in scaled) / damping
            for k, pi in enumerate(map(self.share, range(len(self.labels))))
        ]

    def decision_list(self, scaled: Example) -> list[float]:
        """Return logit π_k + Σr⁵/Σr⁴ of each class, r the evidence of each feature."""
        found = []
        for k in range(len(self.labels)):
            r = [self.evidence(j, k) for j, _ in scaled]
            fourths = sum(each**4 for each in r)
            found.append(self.logit(k) + (sum(each**5 for each in r) / fourths if fourths > LEAST_FOURTHS else 0.0))
        return found

    def evidence(self, j: int, k: int) -> float:
        """Return r = ln((c_jk + π_k)/(c_j − c_jk + 1 − π_k)) − logit π_k, or −ln(c_j + 1) if j never had the class."""
        pi, had, count = self.share(k), self.of[j][k], self.of[j].total()
        return math.log((had + pi) / (count - had + 1 - pi)) - self.logit(k) if had else -math.log(count + 1)

    def logit(self, k: int) -> float:
        """Return ln(π_k/(1 − π_k))."""
        pi = self.share(k)
        return math.log(pi / (1 - pi))

    def start_class(self) -> None:
        """Start to count a class."""
        self.labels.append(0)

    def learn(self, x: Example, label: int) -> None:
        """Count the label of an example, and its features with it."""
        for j, _ in x:
            self.of[j][label] += 1
        self.labels[label] += 1
        self.rounds += 1


class LabelSequence:
    """How often each label followed the last one, two and three labels; each order backs off to the one below."""

    FORGET_BEYOND = 250
    CONTEXT_BITS = 14

    def __init__(self) -> None:
        self.last = (0, 0, 0)
        """The last labels plus 1, the newest first."""
        self.counts: defaultdict[tuple[int, int], dict[int, float]] = defaultdict(dict)

    def contexts(self) -> Iterator[tuple[int, int]]:
        """Yield the hashed contexts of the last one, two and three labels."""
        one, two, three = self.last
        both = (one * 0x9E3779B97F4A7C15 + two * 0xC2B2AE3D27D4EB4F) & MASK_64
        all_three = (both + three * 0x165667B19E3779F9) & MASK_64
        yield 1, one & ((1 << self.CONTEXT_BITS) - 1)
        yield 2, both >> (64 - self.CONTEXT_BITS)
        yield 3, all_three >> (64 - self.CONTEXT_BITS)

    def scores(self, counts: ClassCounts) -> list[float]:
        """Return ln p of each class: p = (n_k + 0.4)/(t + 0.4K), then p ← (c_k + p)/(n + 1) for each context."""
        classes = len(counts.labels)
        chances = [(n + 0.4) / (counts.rounds + 0.4 * classes) for n in counts.labels]
        for context in self.contexts():
            had = self.counts[context]
            rows = sum(had.values())
            chances = [(had.get(k, 0.0) + p) / (rows + 1) for k, p in enumerate(chances)]
        return [math.log(p) for p in chances]

    def learn(self, label: int) -> None:
        """Count the label; halve counts that are large, so that old labels are forgotten."""
        for context in self.contexts():
            had = self.counts[context]
            had[label] = had.get(label, 0.0) + 1
            if sum(had.values()) > self.FORGET_BEYOND:
                self.counts[context] = {k: count / 2 for k, count in had.items()}
        self.last = (label + 1, *self.last[:2])

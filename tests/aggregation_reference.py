"""The rules over experts computed again from the formulas, with fifty decimal digits and the whole past every time.

See docs/theory.md, "Experts with losses".

It is slow, and shares no code with the package. Functions return logarithms of weights, up to a constant; −∞ means 0.
"""

from __future__ import annotations

from decimal import Decimal as D  # noqa: N817 - used very often
from decimal import getcontext
from typing import TYPE_CHECKING, Any

getcontext().prec = 50
NEVER = D("-Infinity")

if TYPE_CHECKING:
    from collections.abc import Callable

Past = list[list[D]]
"""Regrets: rounds × experts."""


def log(x: D) -> D:
    return x.ln() if x > 0 else NEVER


def total(past: Past, power: int = 1) -> list[D]:
    return [sum((r**power for r in column), D(0)) for column in zip(*past, strict=True)]


def log_n(prior: list[D]) -> D:
    return D(max(len(prior), 2)).ln()


def hedge(prior: list[D], past: Past, eta: D) -> list[D]:
    return [log(p) + eta * R for p, R in zip(prior, total(past), strict=True)]


def leaders(prior: list[D], past: Past) -> list[D]:
    R = total(past)
    return [log(p) if each == max(R) else NEVER for p, each in zip(prior, R, strict=True)]


def anytime(prior: list[D], past: Past) -> list[D]:
    widest = max(max(r) - min(r) for r in past)
    if not widest:
        return leaders(prior, past)
    return hedge(prior, past, 2 * (log_n(prior) / (len(past) + 1)).sqrt() / widest)


def mean(prior: list[D], R: list[D], eta: D) -> D:
    """``ln(Σ π e^{ηR})/η``."""
    top = max(R)
    return top + log(sum((p * (eta * (each - top)).exp() for p, each in zip(prior, R, strict=True)), D(0))) / eta


def adahedge(prior: list[D], past: Past) -> list[D]:
    if len(prior) == 1:
        return leaders(prior, past)
    delta, before = D(0), [D(0)] * len(prior)
    for r in past:
        after = [a + b for a, b in zip(before, r, strict=True)]
        if delta:
            eta = -log(min(prior)) / delta
            w = shares(hedge(prior, [before], eta))
            mix = mean(prior, before, eta) - mean(prior, after, eta)
        else:
            w = shares(leaders(prior, [before]))
            mix = max(before) - max(after)
        delta += max(D(0), -sum((a * b for a, b in zip(w, r, strict=True)), D(0)) - mix)
        before = after
    if not delta:
        return leaders(prior, past)
    return hedge(prior, past, -log(min(prior)) / delta)


def fixed_share(prior: list[D], past: Past, eta: D, alpha: D) -> list[D]:
    w = prior
    for r in past:
        v = shares([log(a) + eta * b for a, b in zip(w, r, strict=True)])
        w = [alpha / len(w) + (1 - alpha) * each for each in v]
    return [log(each) for each in w]


def ml_ewa(prior: list[D], past: Past) -> list[D]:
    found = []
    for p, R, V in zip(prior, total(past), total(past, 2), strict=True):
        found.append(log(p) + ((log_n(prior) / V).sqrt() * R if V else 0))
    return found


def ml_poly(prior: list[D], past: Past) -> list[D]:
    B = max(abs(each) for r in past for each in r)
    R = total(past)
    if max(R) <= 0:
        return [log(p) for p in prior]
    return [log(p * max(r, D(0)) / (B * B + V)) for p, r, V in zip(prior, R, total(past, 2), strict=True)]


def fixed_boa(prior: list[D], past: Past, eta: D) -> list[D]:
    return [log(p) + eta * R - eta**2 * V for p, R, V in zip(prior, total(past), total(past, 2), strict=True)]


def by_bernstein(s: D, eta: D) -> D:
    return s - eta * s * s


def by_product(s: D, eta: D) -> D:
    return log(1 + eta * s) / eta


def shrunk(past: Past) -> tuple[Past, D]:
    """Return the regrets scaled to the range before each round, and the current range."""
    found, B = [], D(0)
    for r in past:
        now = max([B, *(abs(each) for each in r)])
        B = B or now
        found.append([each * B / now if now else each for each in r])
        B = now
    return found, B


def adaptive(gain: Callable[[D, D], D]) -> Callable[..., list[D]]:
    def weights(prior: list[D], past: Past) -> list[D]:
        if not shrunk(past)[1]:
            return [log(p) for p in prior]
        ranges = [shrunk(past[: t + 1])[1] for t in range(len(past))]
        s = shrunk(past)[0]
        first = next(t for t, B in enumerate(ranges) if B)
        found = []
        for k, p in enumerate(prior):
            V, X, eta = D(0), D(0), 1 / (2 * ranges[first])
            for t in range(first, len(past)):
                X += gain(s[t][k], eta)
                V += s[t][k] ** 2
                eta = min(1 / (2 * ranges[t]), (log_n(prior) / V).sqrt()) if V else 1 / (2 * ranges[t])
            found.append(log(p) + log(eta) + eta * X)
        return found

    return weights


def observed(gain: Callable[[D, D], D]) -> Callable[..., list[D]]:
    def weights(prior: list[D], past: Past) -> list[D]:
        rates, gains = [], []
        for column in zip(*past, strict=True):
            b, V, X, eta = D(0), D(0), D(0), D(0)
            for r in column:
                b, V = max(b, abs(r)), V + r * r
                if b:
                    eta = min(1 / (2 * b), (log_n(prior) / V).sqrt())
                    X += gain(r, eta)
            rates.append(eta)
            gains.append(X)
        if not max(rates):
            return [log(p) for p in prior]
        rates = [eta or max(rates) for eta in rates]
        return [log(p) + log(eta) + eta * X for p, eta, X in zip(prior, rates, gains, strict=True)]

    return weights


def shares(logs: list[D]) -> list[D]:
    """Weights that sum to 1."""
    top = max(logs)
    w = [(each - top).exp() if each != NEVER else D(0) for each in logs]
    return [each / sum(w) for each in w]


FORMULAS: dict[str, Callable[..., list[D]]] = {
    "Exponential": hedge,
    "ExpConcave": hedge,
    "Anytime": anytime,
    "AdaHedge": adahedge,
    "FixedShare": fixed_share,
    "MLEwa": ml_ewa,
    "MLPoly": ml_poly,
    "FixedBOA": fixed_boa,
    "BOA": adaptive(by_bernstein),
    "MLProd": adaptive(by_product),
    "ObservedBOA": observed(by_bernstein),
    "ObservedMLProd": observed(by_product),
}


def log_weights(rule: str, prior: Any, past: Any, **parameters: float) -> list[D]:
    """Return the logarithm of each expert's weight after these regrets."""
    numbers = {name: D(value) for name, value in parameters.items()}
    return FORMULAS[rule]([D(float(p)) for p in prior], [[D(float(r)) for r in row] for row in past], **numbers)

"""Forged certificates with correct seals. A bound that `verify` confirms is derived again by hand.

A forger has this software. Hence, after a change of the comparator or of another part, the numbers of the certificate
are often computed again by ``recheck``, and the seal is correct. If `verify` confirms it, its bound is derived again by
formulas that are independent of the package, in exact fractions where possible.
"""

from __future__ import annotations

import json
import math
import random
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

from click.testing import CliRunner

import mistakebound as mb
from mistakebound.certificates.certify import recheck
from mistakebound.certificates.portable import seal
from mistakebound.cli import main
from mistakebound.learners.replay import whole_stream
from mistakebound.theorems.evidence import Evidence

LEARNERS = [
    ["--learner", "perceptron"],
    ["--learner", "perceptron", "--bias", "1", "--update-margin", "0.5"],
    ["--learner", "winnow", "--threshold", "6"],
    ["--learner", "elimination"],
    ["--learner", "normalized-winnow", "--eta", "0.3"],
    ["--learner", "balanced-winnow", "--eta", "0.3", "--update-margin", "0"],
    ["--learner", "balanced-winnow", "--eta", "0.2", "--bias", "1"],
    ["--learner", "pnorm", "--p", "3"],
]
FACTORS = [3e-162, 1e-200, 1e-290, 1e160, 1e290, 0.5, 2.0, -1.0, 1 + 1e-7, 0.0]


def stream(rng: random.Random) -> list[tuple[int, dict[int, float]]]:
    """Return rounds of 0/1 features. The label is an OR of two of them, sometimes flipped or random."""
    n, rounds, kind = rng.choice([4, 9, 30]), rng.choice([30, 120]), rng.random()
    rows = []
    for _ in range(rounds):
        x = {i: 1.0 for i in range(n) if rng.random() < 0.3} or {0: 1.0}
        y = rng.random() < 0.5 if kind < 0.2 else (0 in x or 1 in x) != (kind < 0.5 and rng.random() < 0.1)
        rows.append((1 if y else 0, x))
    return rows


def make(rng: random.Random, folder: Path) -> dict[str, Any]:
    """Return a correct certificate with its stream."""
    rows = stream(rng)
    path, certificate = folder / "stream.svm", folder / "c.json"
    path.write_text("".join(f"{y} {' '.join(f'{i + 1}:{v:g}' for i, v in x.items())}\n" for y, x in rows))
    passes = ["--passes", "2"] if rng.random() < 0.2 else []
    words = ["run", str(path), *rng.choice(LEARNERS), *passes, "--certificate", str(certificate), "--json"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    return {"document": json.loads(certificate.read_text()), "text": path.read_text(), "align": rng.random() < 0.7}


def mutate(made: dict[str, Any], rng: random.Random) -> None:
    """Change the comparator, or another part."""
    from hostile import mutate_json

    document = made["document"]
    certificate = document.get("certificate")
    known = certificate.get("comparator") if isinstance(certificate, dict) else None
    known = known if isinstance(known, dict) else {}
    weights, variables = known.get("weights"), known.get("variables")
    what = rng.randrange(8)
    if what == 0 and isinstance(weights, dict):
        factor = rng.choice(FACTORS)
        known["weights"] = {k: v * factor for k, v in weights.items() if type(v) is float}
        if rng.random() < 0.5 and type(known.get("margin")) is float:
            known["margin"] *= factor
    elif what == 1 and weights and isinstance(weights, dict):
        weights[rng.choice(list(weights))] = rng.choice([0.0, 1e-300, 1e300, -1.0, 1.0, 5e-324])
    elif what == 2 and isinstance(variables, list) and variables:
        known["variables"] = variables * rng.choice([2, 150]) + [str(rng.randrange(40))] * rng.randrange(2)
    elif what == 3 and "margin" in known:
        known["margin"] = rng.choice([0.0, -1.0, 1e-320, 1e-9, 0.5, 1.0, 3.0, 1e300])
    elif what == 4:
        mutate_json(document.get("reading"), rng)
    elif what == 5:
        reading = document.get("reading")
        document["reading"] = {**(reading if isinstance(reading, dict) else {}), "cache": "../canary/precious"}
    else:
        mutate_json(document, rng)


def sign(made: dict[str, Any]) -> bytes:
    """Fill in the numbers that `verify` computes from the comparator, if possible, and add the seal."""
    document = made["document"]
    if made["align"]:
        with suppress(ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError):
            align(document, made["text"])
    document["seal"] = seal(document)
    return json.dumps({"document": document, "text": made["text"]}).encode()


def align(document: dict[str, Any], text: str) -> None:
    """Compute the numbers of a certificate from its comparator, as a forger with this software could."""
    from mistakebound.learners.linear import KINDS
    from mistakebound.models.parameters import construct

    Path("align.svm").write_text(text)
    try:
        learner = construct(KINDS[document["learner"]], document["parameters"])
        for _ in range(min(document["passes"], 3)):
            learner.run(mb.Source("align.svm"))
        forged = mb.Certificate.from_object(document["certificate"])
        whole = forged.scope == "whole stream"
        evidence = whole_stream(learner, mb.Source("align.svm")) if whole else Evidence.of(learner.ledger_)
        document["certificate"] = json.loads(recheck(evidence, forged).to_json())
    finally:
        Path("align.svm").unlink()


def use(data: bytes, folder: Path) -> None:
    """Verify a certificate. If it is confirmed, derive the bound by hand."""
    found = json.loads(data)
    certificate, path = folder / "c.json", folder / "stream.svm"
    certificate.write_text(json.dumps(found["document"]))
    path.write_text(found["text"])
    done = CliRunner().invoke(main, ["verify", str(certificate), str(path)])
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert done.exit_code in (0, 1, 2), done.output
    assert "\x1b" not in done.output
    if done.exit_code:
        raise ValueError(done.output[-200:])
    by_hand(found["document"]["certificate"], found["text"])


# ---------------------------------------------------------------------- by hand


def by_hand(document: dict[str, Any], text: str) -> None:
    """Raise AssertionError if a confirmed certificate has a smaller bound than its comparator gives."""
    lines = [line.split() for line in text.splitlines()]
    rows = [
        (1 if y == "1" else -1, {int(p.split(":")[0]) - 1: Fraction(p.split(":")[1]) for p in x}) for y, *x in lines
    ]
    passes = Fraction(document["rounds"], len(rows))
    bias = Fraction(document["rule"].get("bias") or 0)
    n = document["rule"]["n"]
    if bias:
        for _, x in rows:
            x[n - 1] = bias
    if document["status"] not in ("holds", "vacuous") or document["bound"] is None:
        return
    assert document["bound"] >= max(document["mistakes"], document["updates"])
    if document["scope"] == "mistaken rounds":
        return  # only runs on a pipe have this scope; the rounds are those that the learner kept
    assert document["rounds"] == len(rows) * passes
    least = DERIVED[document["theorem"]](document, rows, passes, n)
    assert document["bound"] >= least * (1 - 1e-9), (
        document["theorem"],
        document["bound"],
        least,
        document["comparator"],
    )
    if document["status"] == "holds":
        assert document["bound"] < document["rounds"] - 3 * math.sqrt(document["rounds"])


def vector(document: dict[str, Any], n: int) -> dict[int, Fraction]:
    place = {"(constant)": n - 1}
    return {
        place.get(k, -1) if k in place else int(k): Fraction(v) for k, v in document["comparator"]["weights"].items()
    }


def dots(u: dict[int, Fraction], rows: Any) -> list[Fraction]:
    return [y * sum((u.get(i, Fraction(0)) * v for i, v in x.items()), Fraction(0)) for y, x in rows]


def in_float(value: Fraction | int) -> float:
    """Return a fraction as a float, or infinity if it is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def root(value: Fraction) -> float:
    """Return the square root of a fraction of any size."""
    if value == 0:
        return 0.0
    shift = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    small = math.sqrt(value / Fraction(4) ** shift)
    return math.ldexp(small, shift) if shift < 1000 else math.inf


def margin_of(document: dict[str, Any], margins: list[Fraction]) -> Fraction:
    """Return γ of the certificate; otherwise the first positive one of the least margin, the median margin and 1."""
    if "margin" in document["comparator"]:
        return Fraction(document["comparator"]["margin"])
    return next((m for m in (min(margins), median(margins)) if m > 0), Fraction(1))


def perceptron(document: dict[str, Any], rows: Any, passes: Fraction, n: int, *, agnostic: bool) -> float:
    u = vector(document, n)
    margins, squares = dots(u, rows), sum(v * v for v in u.values())
    radius = max(sum(v * v for v in x.values()) for _, x in rows) + 2 * Fraction(document["rule"]["update_margin"])
    gamma = margin_of(document, margins) if agnostic else min(margins)
    assert gamma > 0
    k = root(radius * squares / gamma**2)
    if not agnostic:
        return k * k
    lost = [max(Fraction(0), 1 - m / gamma) for m in margins]
    hinge, squared = in_float(passes * sum(lost)), root(passes * sum(v * v for v in lost))
    return min(((k + math.sqrt(k * k + 4 * hinge)) / 2) ** 2, (k + squared) ** 2)


def pnorm(document: dict[str, Any], rows: Any, passes: Fraction, n: int) -> float:
    u, p = vector(document, n), document["rule"]["p"]
    margins, top = dots(u, rows), max(map(abs, u.values()), default=Fraction(0))
    norm = sum(float(abs(v) / top) ** (p / (p - 1)) for v in u.values()) ** (1 - 1 / p) if top else 0.0
    radius = max(sum(float(abs(v)) ** p for v in x.values()) for _, x in rows) ** (2 / p)
    room = (p - 1) * radius + 2 * document["rule"]["update_margin"]
    forms = []
    if min(margins) > 0:
        forms.append(room * (norm * in_float(top / min(margins))) ** 2)
    gamma = Fraction(document["comparator"].get("margin", 1))
    if gamma > 0:
        k = math.sqrt(room) * norm * in_float(top / gamma)
        hinge = in_float(passes * sum(max(Fraction(0), 1 - m / gamma) for m in margins))
        forms.append(((k + math.sqrt(k * k + 4 * hinge)) / 2) ** 2)
    return min(forms)


def winnow(document: dict[str, Any], rows: Any, passes: Fraction, n: int, *, doubled: bool, agnostic: bool) -> float:
    u, eta, b = vector(document, n), document["rule"]["eta"], document["rule"]["update_margin"]
    total = sum(map(abs, u.values()))
    assert abs(total - 1) < Fraction(1, 10**9)
    assert doubled or all(v >= 0 for v in u.values())
    radius = float(max(abs(v) for _, x in rows for v in x.values()))
    margins = list(map(float, dots(u, rows)))
    gamma = document["comparator"].get("margin") if agnostic else min(margins)
    growth = math.log(math.cosh(eta * radius) + b / radius * math.sinh(eta * radius))
    if gamma is None:  # the margin of u if the rate allows it, otherwise the largest margin
        gamma = min(margins) if 0 < min(margins) <= radius and eta * min(margins) > growth else radius
    lost = sum(max(0.0, gamma - m) for m in margins) * float(passes)
    many = 2 * n if doubled else n
    entropy = sum(float(abs(v)) * math.log(float(abs(v)) * many) for v in u.values() if v)
    gain = eta * gamma - growth
    assert gain > 0
    return max(0.0, (entropy + eta * lost) / gain)


def variables(document: dict[str, Any]) -> set[int]:
    return {int(v) for v in document["comparator"]["variables"]}


def consistent(document: dict[str, Any], rows: Any) -> int:
    """Return the number of different variables, and check that their OR is the label."""
    chosen = variables(document)
    assert all(any(x.get(i) for i in chosen) == (y > 0) for y, x in rows)
    return len(chosen)


def littlestone(document: dict[str, Any], rows: Any, _: Fraction, n: int) -> float:
    r, alpha, theta = consistent(document, rows), document["rule"]["alpha"], document["rule"]["theta"]
    steps = 0
    while alpha**steps < theta:
        steps += 1
    return alpha * n / ((alpha - 1) * theta) + (1 + alpha) * r * steps


def infinite(document: dict[str, Any], rows: Any, _: Fraction, __: int) -> float:
    r, theta = consistent(document, rows), document["rule"]["theta"]
    sigma = max(len(x) for _, x in rows)
    c = theta / sigma
    assert document["rule"]["alpha"] == 2
    assert c > 2
    return (1 + (c + 1) / (c / 2 - 1)) * r * math.ceil(math.log2(theta))


def separable(document: dict[str, Any], rows: Any, _: Fraction, n: int) -> float:
    mu, delta = vector(document, n), document["comparator"]["margin"]
    alpha, theta = document["rule"]["alpha"], document["rule"]["theta"]
    for (y, _), dot in zip(rows, dots(mu, rows), strict=True):
        assert float(y * dot) >= 1 - 1e-8 if y > 0 else float(-dot) <= 1 - delta + 1e-8
    assert all(v >= 0 for v in mu.values())
    total, forms = float(sum(mu.values())), []
    if 1 < alpha < (1 / (1 - delta) if delta < 1 else math.inf):
        a = total * (1 + math.log(theta) / math.log(alpha))
        forms.append(a + (2 - delta) * (a + n / ((alpha - 1) * theta)) / (1 / alpha - 1 + delta))
    if math.isclose(alpha, 1 + delta / 2):
        forms.append(8 * n / (delta**2 * theta) + (5 / delta + 14 * math.log(theta) / delta**2) * total)
    return min(forms)


def best_rate(document: dict[str, Any], rows: Any, _: Fraction, n: int) -> float:
    radius = float(max(abs(v) for _, x in rows for v in x.values()))
    e = math.tanh(document["rule"]["eta"] * radius)
    assert min(map(float, dots(vector(document, n), rows))) >= radius * e * (1 - 1e-8)
    return math.log(n) / (((1 + e) * math.log1p(e) + (1 - e) * math.log1p(-e)) / 2)


DERIVED: dict[str, Any] = {
    "novikoff": lambda *a: perceptron(*a, agnostic=False),
    "perceptron-agnostic": lambda *a: perceptron(*a, agnostic=True),
    "pnorm": pnorm,
    "winnow-fixed-rate": lambda *a: winnow(*a, doubled=False, agnostic=False),
    "winnow-best-rate": best_rate,
    "winnow-agnostic": lambda *a: winnow(*a, doubled=False, agnostic=True),
    "balanced-winnow": lambda *a: winnow(*a, doubled=True, agnostic=True),
    "elimination": lambda document, rows, _, n: n - consistent(document, rows),
    "littlestone": littlestone,
    "infinite-winnow": infinite,
    "littlestone-separable": separable,
}

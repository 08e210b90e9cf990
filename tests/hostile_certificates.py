"""Forged certificates: what `verify` would compute is filled in, the seal is true, and every figure is checked by hand.

A forger has the software. So after a change of the comparator (or of anything else) the certificate is often brought
in line with it by ``recheck`` itself, and sealed. Whatever `verify` then confirms is derived once more, by formulas
written down here independently of the package and in exact fractions as far as they go.
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
    """Rounds of on/off features; the label is an OR of two of them, sometimes flipped, sometimes a coin."""
    n, rounds, kind = rng.choice([4, 9, 30]), rng.choice([30, 120]), rng.random()
    rows = []
    for _ in range(rounds):
        x = {i: 1.0 for i in range(n) if rng.random() < 0.3} or {0: 1.0}
        y = rng.random() < 0.5 if kind < 0.2 else (0 in x or 1 in x) != (kind < 0.5 and rng.random() < 0.1)
        rows.append((1 if y else 0, x))
    return rows


def make(rng: random.Random, folder: Path) -> dict[str, Any]:
    """A true certificate, with its stream and what made it."""
    rows = stream(rng)
    path, certificate = folder / "stream.svm", folder / "c.json"
    path.write_text("".join(f"{y} {' '.join(f'{i + 1}:{v:g}' for i, v in x.items())}\n" for y, x in rows))
    passes = ["--passes", "2"] if rng.random() < 0.2 else []
    words = ["run", str(path), *rng.choice(LEARNERS), *passes, "--certificate", str(certificate), "--json"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    return {"said": json.loads(certificate.read_text()), "text": path.read_text(), "align": rng.random() < 0.7}


def mutate(made: dict[str, Any], rng: random.Random) -> None:
    """Change the comparator, or anything."""
    from hostile import mutate_json

    said = made["said"]
    certificate = said.get("certificate")
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
        mutate_json(said.get("reading"), rng)
    elif what == 5:
        reading = said.get("reading")
        said["reading"] = {**(reading if isinstance(reading, dict) else {}), "cache": "../canary/precious"}
    else:
        mutate_json(said, rng)


def sign(made: dict[str, Any]) -> bytes:
    """Fill in what `verify` would compute from the comparator, if that can be, and seal."""
    said = made["said"]
    if made["align"]:
        with suppress(ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError):
            align(said, made["text"])
    said["seal"] = seal(said)
    return json.dumps({"said": said, "text": made["text"]}).encode()


def align(said: dict[str, Any], text: str) -> None:
    """Bring a certificate in line with its comparator, as somebody with this software could."""
    from mistakebound.learners.linear import KINDS
    from mistakebound.models.parameters import construct

    Path("align.svm").write_text(text)
    try:
        learner = construct(KINDS[said["learner"]], said["parameters"])
        for _ in range(min(said["passes"], 3)):
            learner.run(mb.Source("align.svm"))
        told = mb.Certificate.from_object(said["certificate"])
        whole = told.scope == "whole stream"
        evidence = whole_stream(learner, mb.Source("align.svm")) if whole else Evidence.of(learner.ledger_)
        said["certificate"] = json.loads(recheck(evidence, told).to_json())
    finally:
        Path("align.svm").unlink()


def use(data: bytes, folder: Path) -> None:
    """Verify; if it is confirmed, derive the bound by hand."""
    found = json.loads(data)
    certificate, path = folder / "c.json", folder / "stream.svm"
    certificate.write_text(json.dumps(found["said"]))
    path.write_text(found["text"])
    done = CliRunner().invoke(main, ["verify", str(certificate), str(path)])
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert done.exit_code in (0, 1, 2), done.output
    assert "\x1b" not in done.output
    if done.exit_code:
        raise ValueError(done.output[-200:])
    by_hand(found["said"]["certificate"], found["text"])


# ---------------------------------------------------------------------- by hand


def by_hand(said: dict[str, Any], text: str) -> None:
    """AssertionError if a confirmed certificate claims more than its comparator gives."""
    lines = [line.split() for line in text.splitlines()]
    rows = [
        (1 if y == "1" else -1, {int(p.split(":")[0]) - 1: Fraction(p.split(":")[1]) for p in x}) for y, *x in lines
    ]
    passes = Fraction(said["rounds"], len(rows))
    bias = Fraction(said["rule"].get("bias") or 0)
    n = said["rule"]["n"]
    if bias:
        for _, x in rows:
            x[n - 1] = bias
    if said["status"] not in ("holds", "vacuous") or said["bound"] is None:
        return
    assert said["bound"] >= max(said["mistakes"], said["updates"])
    if said["scope"] == "mistaken rounds":
        return  # only a pipe makes such a certificate; its rounds are those of the learner
    assert said["rounds"] == len(rows) * passes
    least = DERIVED[said["theorem"]](said, rows, passes, n)
    assert said["bound"] >= least * (1 - 1e-9), (said["theorem"], said["bound"], least, said["comparator"])
    if said["status"] == "holds":
        assert said["bound"] < said["rounds"] - 3 * math.sqrt(said["rounds"])


def vector(said: dict[str, Any], n: int) -> dict[int, Fraction]:
    place = {"(constant)": n - 1}
    return {place.get(k, -1) if k in place else int(k): Fraction(v) for k, v in said["comparator"]["weights"].items()}


def dots(u: dict[int, Fraction], rows: Any) -> list[Fraction]:
    return [y * sum((u.get(i, Fraction(0)) * v for i, v in x.items()), Fraction(0)) for y, x in rows]


def in_float(value: Fraction | int) -> float:
    """A fraction as a float; infinite if it is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def root(value: Fraction) -> float:
    """Square root of a fraction of any size."""
    if value == 0:
        return 0.0
    shift = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    small = math.sqrt(value / Fraction(4) ** shift)
    return math.ldexp(small, shift) if shift < 1000 else math.inf


def margin_of(said: dict[str, Any], margins: list[Fraction]) -> Fraction:
    """γ as it is told; otherwise the least margin, the median one or 1, the first of them that is positive."""
    if "margin" in said["comparator"]:
        return Fraction(said["comparator"]["margin"])
    return next((m for m in (min(margins), median(margins)) if m > 0), Fraction(1))


def perceptron(said: dict[str, Any], rows: Any, passes: Fraction, n: int, *, agnostic: bool) -> float:
    u = vector(said, n)
    margins, squares = dots(u, rows), sum(v * v for v in u.values())
    radius = max(sum(v * v for v in x.values()) for _, x in rows) + 2 * Fraction(said["rule"]["update_margin"])
    gamma = margin_of(said, margins) if agnostic else min(margins)
    assert gamma > 0
    k = root(radius * squares / gamma**2)
    if not agnostic:
        return k * k
    lost = [max(Fraction(0), 1 - m / gamma) for m in margins]
    hinge, squared = in_float(passes * sum(lost)), root(passes * sum(v * v for v in lost))
    return min(((k + math.sqrt(k * k + 4 * hinge)) / 2) ** 2, (k + squared) ** 2)


def pnorm(said: dict[str, Any], rows: Any, passes: Fraction, n: int) -> float:
    u, p = vector(said, n), said["rule"]["p"]
    margins, top = dots(u, rows), max(map(abs, u.values()), default=Fraction(0))
    norm = sum(float(abs(v) / top) ** (p / (p - 1)) for v in u.values()) ** (1 - 1 / p) if top else 0.0
    radius = max(sum(float(abs(v)) ** p for v in x.values()) for _, x in rows) ** (2 / p)
    room = (p - 1) * radius + 2 * said["rule"]["update_margin"]
    forms = []
    if min(margins) > 0:
        forms.append(room * (norm * in_float(top / min(margins))) ** 2)
    gamma = Fraction(said["comparator"].get("margin", 1))
    if gamma > 0:
        k = math.sqrt(room) * norm * in_float(top / gamma)
        hinge = in_float(passes * sum(max(Fraction(0), 1 - m / gamma) for m in margins))
        forms.append(((k + math.sqrt(k * k + 4 * hinge)) / 2) ** 2)
    return min(forms)


def winnow(said: dict[str, Any], rows: Any, passes: Fraction, n: int, *, doubled: bool, agnostic: bool) -> float:
    u, eta, b = vector(said, n), said["rule"]["eta"], said["rule"]["update_margin"]
    total = sum(map(abs, u.values()))
    assert abs(total - 1) < Fraction(1, 10**9)
    assert doubled or all(v >= 0 for v in u.values())
    radius = float(max(abs(v) for _, x in rows for v in x.values()))
    margins = list(map(float, dots(u, rows)))
    gamma = said["comparator"].get("margin") if agnostic else min(margins)
    growth = math.log(math.cosh(eta * radius) + b / radius * math.sinh(eta * radius))
    if gamma is None:  # u's own margin if the rate allows it, otherwise the largest
        gamma = min(margins) if 0 < min(margins) <= radius and eta * min(margins) > growth else radius
    lost = sum(max(0.0, gamma - m) for m in margins) * float(passes)
    many = 2 * n if doubled else n
    entropy = sum(float(abs(v)) * math.log(float(abs(v)) * many) for v in u.values() if v)
    gain = eta * gamma - growth
    assert gain > 0
    return max(0.0, (entropy + eta * lost) / gain)


def variables(said: dict[str, Any]) -> set[int]:
    return {int(v) for v in said["comparator"]["variables"]}


def consistent(said: dict[str, Any], rows: Any) -> int:
    """How many different variables; their OR must be the label."""
    chosen = variables(said)
    assert all(any(x.get(i) for i in chosen) == (y > 0) for y, x in rows)
    return len(chosen)


def littlestone(said: dict[str, Any], rows: Any, _: Fraction, n: int) -> float:
    r, alpha, theta = consistent(said, rows), said["rule"]["alpha"], said["rule"]["theta"]
    steps = 0
    while alpha**steps < theta:
        steps += 1
    return alpha * n / ((alpha - 1) * theta) + (1 + alpha) * r * steps


def infinite(said: dict[str, Any], rows: Any, _: Fraction, __: int) -> float:
    r, theta = consistent(said, rows), said["rule"]["theta"]
    sigma = max(len(x) for _, x in rows)
    c = theta / sigma
    assert said["rule"]["alpha"] == 2
    assert c > 2
    return (1 + (c + 1) / (c / 2 - 1)) * r * math.ceil(math.log2(theta))


def separable(said: dict[str, Any], rows: Any, _: Fraction, n: int) -> float:
    mu, delta = vector(said, n), said["comparator"]["margin"]
    alpha, theta = said["rule"]["alpha"], said["rule"]["theta"]
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


def best_rate(said: dict[str, Any], rows: Any, _: Fraction, n: int) -> float:
    radius = float(max(abs(v) for _, x in rows for v in x.values()))
    e = math.tanh(said["rule"]["eta"] * radius)
    assert min(map(float, dots(vector(said, n), rows))) >= radius * e * (1 - 1e-8)
    return math.log(n) / (((1 + e) * math.log1p(e) + (1 - e) * math.log1p(-e)) / 2)


DERIVED: dict[str, Any] = {
    "novikoff": lambda *a: perceptron(*a, agnostic=False),
    "perceptron-agnostic": lambda *a: perceptron(*a, agnostic=True),
    "pnorm": pnorm,
    "winnow-fixed-rate": lambda *a: winnow(*a, doubled=False, agnostic=False),
    "winnow-best-rate": best_rate,
    "winnow-agnostic": lambda *a: winnow(*a, doubled=False, agnostic=True),
    "balanced-winnow": lambda *a: winnow(*a, doubled=True, agnostic=True),
    "elimination": lambda said, rows, _, n: n - consistent(said, rows),
    "littlestone": littlestone,
    "infinite-winnow": infinite,
    "littlestone-separable": separable,
}

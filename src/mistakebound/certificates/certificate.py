"""`Certificate`: the result of checking a theorem on a stream, as text and as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields
from decimal import ROUND_CEILING, Context
from typing import Any

from mistakebound._support import schema
from mistakebound._support.json_numbers import finite
from mistakebound._support.text import escaped, many
from mistakebound.theorems import EXPERT_THEOREMS, PANEL_THEOREMS, THEOREMS
from mistakebound.theorems.evidence import MISTAKEN_ROUNDS, WHOLE_STREAM, Premise

HOLDS, VACUOUS, DOES_NOT_APPLY = "holds", "vacuous", "does not apply"
VIOLATED, INCOMPLETE = "violated", "incomplete"
STATUSES = (HOLDS, VACUOUS, DOES_NOT_APPLY, VIOLATED, INCOMPLETE)
ROUNDING = 1e-9
"""Relative error that float64 arithmetic may leave in a bound."""
FLOAT32 = 1e-6
"""Relative error of the number of mistakes that float32 weights may cause: only a larger excess is a bug."""


@dataclass(frozen=True)
class Certificate:
    """The result of checking a theorem on a stream.

    See docs/theory.md, "Premises and statuses".

    Attributes
    ----------
    scope : str
        The rounds on which premises were checked and losses summed: ``whole stream``, or ``mistaken rounds``. With the
        latter, the premises may fail in other rounds.
    hindsight : bool
        Whether the comparator was chosen after the stream was seen.
    status : str
        ``holds``; ``vacuous`` (the bound is valid but useless: it is not clearly below the number of rounds, or it is
        circular); ``does not apply`` (a premise fails); ``violated`` (the premises hold and the bound does not: a bug
        in mistakebound); ``incomplete`` (not all examples were kept, so the theorem cannot be checked).
    bound : float
        Upper bound on the number of updates, which include the mistakes; without an update margin the two are equal.
        For the passive-aggressive rules, upper bound on the number of mistakes. It is at least the number that was
        counted, unless the status is ``violated``.
    comparator : dict
        One fixed rule that the learner is compared with: ``{"weights": {feature: weight}}`` or ``{"variables": [...]}``
        and its ``margin``; also its own ``mistakes``, ``norm`` and ``loss`` in the same rounds.
    """

    theorem: str
    rule: dict[str, Any]
    scope: str
    hindsight: bool
    rounds: int
    mistakes: int
    updates: int
    bound: float
    status: str
    premises: tuple[Premise, ...]
    comparator: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    """Why the status is ``vacuous``; for a randomized rule, which predictions were drawn."""
    expected: float | None = None
    """For a randomized rule: the expected number of mistakes, which the bound is on."""

    def to_json(self) -> str:
        """Return JSON text that ``from_json`` reads back. An infinite bound is null."""
        data = asdict(self)
        data |= {"bound": finite(self.bound), "rule": finite(self.rule)}
        return json.dumps(data, indent=2)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read the text that ``to_json`` returned. Raise ModelError (a ValueError) if it is not valid."""
        return cls.from_object(schema.parse(text, "the certificate"))

    @classmethod
    def from_object(cls, data: Any) -> Certificate:
        """Read the JSON object of a certificate, after checking every field."""
        _check(data)
        return cls(
            **{
                **data,
                "bound": math.inf if data["bound"] is None else float(data["bound"]),
                "rule": {key: math.inf if value is None else value for key, value in data["rule"].items()},
                "premises": tuple(Premise(**premise) for premise in data["premises"]),
            }
        )

    def __str__(self) -> str:
        sign = {HOLDS: "✓", VACUOUS: "·", VIOLATED: "✗"}.get(self.status, "–")
        counted = many(self.mistakes, "mistake") if self.expected is None else f"{self.expected:.6g} expected mistakes"
        bound = "no bound" if math.isinf(self.bound) else f"bound {rounded_up(self.bound)}"
        rounds = many(self.rounds, "round")
        first = f"{sign} {self.theorem} on the {self.scope}: {counted} in {rounds}, {bound}: {self.status}"
        return "\n".join([escaped(first), *(f"    {line}" for line in self.details())])

    def details(self) -> list[str]:
        """Return lines of detail: the note, the comparator and the premises."""
        lines = [self.note] if self.note else []
        known = self.comparator
        if "mistakes" in known and not math.isinf(self.bound):
            lines.append(self._compared_with_comparator(known["mistakes"]))
        if {"norm", "loss"} <= set(known) and self.theorem in THEOREMS:
            chosen = "chosen in hindsight" if self.hindsight else "given"
            margin = f", γ = {known['margin']:.6g}" if "margin" in known else ""
            named = THEOREMS[self.theorem].norm_is
            lines.append(f"comparator {chosen}: {named} = {known['norm']:.6g}, loss = {known['loss']:,.6g}{margin}")
        lines += [
            f"{'✓' if p.holds else '✗'} {p.statement}{f'  ({p.measured})' if p.measured else ''}" for p in self.premises
        ]
        return list(map(escaped, lines))

    def meaning(self) -> str:
        """Return the result in one sentence."""
        bound = rounded_up(self.bound)
        of_updates = self.updates > self.mistakes and self._bounds_updates
        counted = "updates (mistakes included)" if of_updates else "mistakes"
        count = f"{self.updates if of_updates else self.mistakes:,}"
        if self.expected is not None:
            counted, count = "expected mistakes", f"{self.expected:,.6g}"
        if self.status in (HOLDS, VACUOUS):
            return f"{self.theorem} allows {bound} {counted}; there were {count} in {many(self.rounds, 'round')}"
        if self.status == DOES_NOT_APPLY:
            failed = next((each.statement for each in self.premises if not each.holds), "")
            return escaped(f"{self.theorem} has a premise that fails: {failed}")
        if self.status == INCOMPLETE:
            if self.scope == WHOLE_STREAM:
                return f"{self.theorem} was not checked: the examples of the stream do not fit into memory"
            return (
                f"{self.theorem} was not checked: not all mistaken examples were kept; "
                "run again from a file, which can be read a second time"
            )
        return (
            f"{self.theorem} allows {bound} {counted}; there were {count}: this is a bug in mistakebound, "
            "please report it"
        )

    @property
    def _bounds_updates(self) -> bool:
        """Whether the bound is on updates, which include the mistakes. Rules over experts learn in every round."""
        return self.theorem in THEOREMS and THEOREMS[self.theorem].bounds_updates

    def _compared_with_comparator(self, mistakes: int) -> str:
        """Return a sentence that compares the mistakes of the comparator and of the learner with the bound."""
        allowed = rounded_up(self.bound)
        first_is_free = self.theorem in THEOREMS and THEOREMS[self.theorem].first_is_free
        counted = self.updates if first_is_free else max(self.mistakes, self.updates)
        checked = self.rounds if self.scope == WHOLE_STREAM else counted
        made = self.mistakes if checked == self.rounds else min(self.mistakes, checked)
        updates = f" ({many(self.updates, 'update')})" if self.updates > self.mistakes else ""
        rest = f"; the other {many(self.rounds - checked, 'round')} were not checked" if checked < self.rounds else ""
        return (
            f"in these {many(checked, 'round')} the comparator makes {many(mistakes, 'mistake')}, this learner "
            f"{made:,}{updates}, the theorem allows {allowed}{rest}"
        )


def rounded_up(bound: float) -> str:
    """Return a bound with six digits, or as many as its integer part has. It is never rounded down.

    >>> rounded_up(44.0), rounded_up(12588.2751), rounded_up(1234567.2)
    ('44', '12,588.3', '1,234,568')
    """
    if bound >= 1e15 or 0 < bound < 1e-3:
        return f"{bound:.6g}"
    digits = max(6, len(str(int(bound))))
    exact = Context(prec=digits, rounding=ROUND_CEILING).create_decimal_from_float(bound)
    return f"{exact:,.{max(0, -int(exact.normalize().as_tuple().exponent))}f}"


def _check(data: Any) -> None:
    """Raise ModelError, with the field, if the data is not the JSON object of a certificate."""
    schema.fields(data, *(each.name for each in fields(Certificate)), path="certificate")
    schema.text(data["theorem"], "theorem", [*THEOREMS, *(t.id for t in EXPERT_THEOREMS.values()), *PANEL_THEOREMS])
    schema.need(isinstance(data["rule"], dict), "rule must be an object", field="rule")
    for name, value in data["rule"].items():
        sound = value is None or type(value) in (str, bool) or schema.number(value, f"rule.{name}") is not None
        schema.need(sound, f"rule.{name} must be a number, a string, true, false or null", field="rule")
    schema.text(data["scope"], "scope", (MISTAKEN_ROUNDS, WHOLE_STREAM))
    schema.flag(data["hindsight"], "hindsight")
    for name in ("rounds", "mistakes", "updates"):
        schema.whole(data[name], name)
    schema.optional(schema.number, data["bound"], "bound", 0.0)
    schema.text(data["status"], "status", STATUSES)
    schema.text(data["note"], "note")
    schema.optional(schema.number, data["expected"], "expected", 0.0)
    for place, premise in enumerate(schema.items(data["premises"], "premises")):
        path = f"premises[{place}]"
        statement, holds, measured = schema.fields(premise, "statement", "holds", "measured", path=path)
        schema.text(statement, f"{path}.statement")
        schema.flag(holds, f"{path}.holds")
        schema.text(measured, f"{path}.measured")
    _check_comparator(data["comparator"])


def _check_comparator(known: Any) -> None:
    allowed = ("weights", "variables", "margin", "mistakes", "norm", "loss")
    sound = isinstance(known, dict) and set(known) <= set(allowed)
    schema.need(sound, f"comparator must be an object with only the fields {', '.join(allowed)}", field="comparator")
    weights = known.get("weights", {})
    schema.need(isinstance(weights, dict), "comparator.weights must be an object", field="comparator.weights")
    schema.numbers(list(weights.values()), "comparator.weights", -schema.LARGEST_FLOAT, schema.LARGEST_FLOAT)
    schema.texts(known.get("variables", []), "comparator.variables")
    for name in ("margin", "norm", "loss"):
        schema.number(known.get(name, 0.0), f"comparator.{name}")
    schema.whole(known.get("mistakes", 0), "comparator.mistakes")


CHANCE = 3.0
"""With a comparator chosen in hindsight, a bound is useful only below T − CHANCE·√T: on random labels, a search reaches
about T − √T. See docs/theory.md, "Comparators chosen in hindsight"."""


def too_large(bound: float, rounds: int, passes: str = "", *, hindsight: bool) -> str:
    """Return why a valid bound is too large to be useful; an empty text if it is not.

    ``hindsight`` is whether the comparator was chosen after the rounds; ``passes`` follows the word rounds.
    """
    limit = rounds - (CHANCE * math.sqrt(rounds) if hindsight else 0.0)
    if bound * (1 + ROUNDING) < limit:
        return ""
    of = f"rounds{passes}"
    if bound * (1 + ROUNDING) >= rounds:
        return f"the bound is not below the number of {of}, {rounds:,}"
    if limit <= 0:
        return f"{rounds} {of} are too few for a comparator that was chosen in hindsight"
    return (
        f"with a comparator chosen in hindsight, random labels can have a bound as low as T − 3√T = {limit:,.6g} "
        f"of {rounds:,} {of}"
    )

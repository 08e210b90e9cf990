"""The closing summary of ``run``: the same facts as text, as JSON and for the HTML report."""

from __future__ import annotations

import math
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from mistakebound._support.text import escaped, many, share, size
from mistakebound.cli.output import as_flag, reason_of
from mistakebound.errors import InputError
from mistakebound.rules.registry import DECLARATIONS

if TYPE_CHECKING:
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.play.ledger import Ledger
    from mistakebound.rules import Rule
    from mistakebound.runs.runner import RunResult

OPTIONS = {"theta": "threshold"}
"""Parameters of rules that the command line calls otherwise."""
INTERRUPTED = "interrupted"
FEW, MANY = 20, 200_000
"""Of fewer features nothing can be said, and of more it would take too long."""
SKIPPING = " (--skip-bad N leaves out up to N bad lines)"
STOPPED = "by Ctrl-C or SIGTERM, before the end"
COUNTS = ("rounds", "mistakes", "false_positives", "false_negatives", "positives", "bound", "seconds")


def facts(result: RunResult) -> dict[str, Any]:
    """Everything that is known of a run, under the names that ``--json`` has for it."""
    ledger, source = result.ledger, result.source
    return (
        {name: getattr(result, name) for name in COUNTS}
        | {
            "rate": result.mistakes / max(result.rounds, 1),
            "learner": type(result.learner).__name__,
            # JSON has no infinity, and η may be infinite.
            "rule": {"id": ledger.rule.id} | {k: "inf" if v == math.inf else v for k, v in asdict(ledger.rule).items()},
            "options": options_of(ledger.rule),
            "classes": list(ledger.classes),
            "majority": result.majority,
            "majority_mistakes": result.majority_mistakes,
            "files": list(source.files),
            "bytes": result.bytes,
            "skipped": [line.text(as_flag) for line in result.skipped],
            "remarks": [remark.text(as_flag) for remark in result.remarks],
            "advice": advice(result, ledger),
            "stopped": stopped_by(result.stopped),
        }
        | ({"cache": source.cache} if source.cache and os.path.isfile(source.cache) else {})
        | ({} if result.saved is None else {"saved": result.saved})
    )


def stopped_by(reason: BaseException | None) -> str:
    """What ended a run before its end, for machines; empty if nothing did."""
    if isinstance(reason, KeyboardInterrupt):
        return INTERRUPTED
    hint = SKIPPING if isinstance(reason, InputError) and reason.kind == "bad line" else ""
    return "" if reason is None else reason_of(reason) + hint


def advice(result: RunResult, ledger: Ledger) -> list[str]:
    """What to try, of a table: how a column might be read better, by what was learned of it."""
    columns = result.columns
    if not columns or ledger.n > MANY:
        return []
    names = ledger.names
    numbers = set(columns).intersection(names)  # a category's name goes on after its column
    categories, sentences = dict.fromkeys(columns, 0), dict.fromkeys(columns, 0)
    for name in names:
        column, equals, value = name.partition("=")
        if equals and column in categories:
            categories[column] += 1
            sentences[column] += " " in value
    mixed = [column for column in columns if column in numbers and categories[column] >= FEW]
    found = [f"numbers among the words of column {column}? try --categorical {column}" for column in mixed]
    table = result.table
    if result.mistakes > result.majority_mistakes:
        once = max(FEW, ledger.updates // 2)  # then most were learned once, and will never come again
        texts = [column for column in columns if sentences[column] >= once and "text" not in table]
        found += [f"column {column} has sentences? try --text {column}" for column in texts]
        if numbers.difference(mixed) and "bins" not in table:
            found.append("numbers of very different sizes? try --bins 4")
    return found


def options_of(rule: Rule) -> str:
    """A rule as ``run`` takes it.

    >>> from mistakebound.rules import WinnowRule
    >>> options_of(WinnowRule(alpha=1.5, theta=8.0))
    '--learner winnow --alpha 1.5 --threshold 8'
    """
    needed = DECLARATIONS[rule.id].defaults  # where the default of the command line is not 0
    words = [f"--learner {rule.id}"]
    for name, value in asdict(rule).items():
        if name != "strict" and (value or name in needed):
            words.append(f"--{OPTIONS.get(name, name).replace('_', '-')} {value:.12g}")
    # What a rule is made of comes before what every rule has.
    return " ".join(sorted(words, key=lambda word: word.startswith(("--update-margin", "--bias"))))


def in_words(found: dict[str, Any]) -> str:
    """A few lines for a person."""
    rounds, seconds = found["rounds"], found["seconds"]
    negative, positive = (escaped(label) for label in found["classes"])
    guess = f"always saying {escaped(found['majority'])} ({share(found['majority_mistakes'], rounds)})"
    speed = f", {found['bytes'] / 1e6 / seconds:,.0f} MB/s" if found["bytes"] > 1e6 and seconds else ""
    headline = f"{many(found['mistakes'], 'mistake')} in {many(rounds, 'round')}"
    lines = [
        click.style(headline, bold=True) + f" ({share(found['mistakes'], rounds)}), {seconds:.2f} s{speed}",
        f"{found['false_positives']:>12,}  said {positive}, was {negative}",
        f"{found['false_negatives']:>12,}  said {negative}, was {positive}",
        f"{found['majority_mistakes']:>12,}  would be those of {guess}",
        f"learner       {found['options'].removeprefix('--learner ')}",
    ]
    lines += [f"stopped       {STOPPED}"] if found["stopped"] == INTERRUPTED else []
    lines += [f"advice        {escaped(each)}" for each in found["advice"]]
    if found["skipped"]:
        lines.append(f"skipped       {many(len(found['skipped']), 'bad line')}")
    files = [(name, found[name]) for name in ("saved", "report", "cache") if name in found]
    lines += [f"{name:13} {escaped(path)} ({size(os.path.getsize(path))})" for name, path in files]
    return "\n".join(lines)


COLOURS = {"holds": "green", "violated": "red"}


def certificate_in_words(certificate: Certificate) -> str:
    """What a certificate says, and what lies behind it."""
    verdict = click.style(certificate.status, bold=True, fg=COLOURS.get(certificate.status, "yellow"))
    details = (f"    {line}" for line in certificate.details())
    return "\n".join([f"certificate   {verdict} on the {certificate.scope}: {certificate.meaning()}", *details])

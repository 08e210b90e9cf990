"""What ``run`` says at its end: the same facts for people, for machines and for the report."""

from __future__ import annotations

import math
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from mistakebound._support.escaping import escaped
from mistakebound._support.plural import many
from mistakebound.cli.making import DEFAULTS
from mistakebound.cli.output import reason_of

if TYPE_CHECKING:
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.cli.journey import Journey
    from mistakebound.cli.output import Table
    from mistakebound.data.reader import StreamReader
    from mistakebound.learners.linear import LinearLearner
    from mistakebound.rules import Rule

OPTIONS = {"theta": "threshold"}
"""Parameters of rules that the command line calls otherwise."""
INTERRUPTED = "interrupted"
FEW, MANY = 20, 200_000
"""Of fewer features nothing can be said, and of more it would take too long."""
STOPPED = "by Ctrl-C or SIGTERM, before the end"


def facts(
    model: LinearLearner, journey: Journey, table: Table, remarks: list[str], stopped: BaseException | None
) -> dict[str, Any]:
    """Everything that is known of a run, under the names that ``--json`` has for it."""
    source = journey.source
    ledger, counted = model.ledger_, table.totals()
    negatives = counted["rounds"] - counted["positives"]
    return (
        counted
        | {
            "learner": type(model).__name__,
            # JSON has no infinity, and η may be infinite.
            "rule": {"id": ledger.rule.id} | {k: "inf" if v == math.inf else v for k, v in asdict(ledger.rule).items()},
            "options": options_of(ledger.rule),
            "classes": list(ledger.classes),
            "majority": ledger.classes[1] if counted["positives"] >= negatives else ledger.classes[0],
            "majority_mistakes": min(counted["positives"], negatives),
            "files": list(source.files),
            "bytes": journey.bytes + (journey.report.bytes if journey.report else 0),
            "skipped": journey.skipped,
            "remarks": [*journey.remarks, *remarks],
            "advice": advice(model, journey.reader, counted),
            "stopped": stopped_by(stopped),
        }
        | ({"cache": source.cache} if source.cache and os.path.isfile(source.cache) else {})
    )


def stopped_by(reason: BaseException | None) -> str:
    """What ended a run before its end, for machines; nothing if nothing did."""
    return INTERRUPTED if isinstance(reason, KeyboardInterrupt) else reason_of(reason) if reason else ""


def advice(model: LinearLearner, reader: StreamReader | None, counted: dict[str, Any]) -> list[str]:
    """What to try, of a table: how a column might be read better, by what was learned of it."""
    columns = reader.report.columns if reader else ()
    if reader is None or not columns or model.ledger_.n > MANY:
        return []
    names = model.ledger_.names
    numbers = set(columns).intersection(names)  # a category's name goes on after its column
    categories, sentences = dict.fromkeys(columns, 0), dict.fromkeys(columns, 0)
    for name in names:
        column, equals, value = name.partition("=")
        if equals and column in categories:
            categories[column] += 1
            sentences[column] += " " in value
    mixed = [column for column in columns if column in numbers and categories[column] >= FEW]
    found = [f"numbers among the words of column {column}? try --categorical {column}" for column in mixed]
    table = reader.settings.how.table
    guessing = min(counted["positives"], counted["rounds"] - counted["positives"])
    if counted["mistakes"] > guessing:
        once = max(FEW, model.ledger_.updates // 2)  # then most were learned once, and will never come again
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
    needed = DEFAULTS.get(rule.id, {})  # where the default of the command line is not 0
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
    lines = [
        click.style(headline(found), bold=True) + f" ({share(found['mistakes'], rounds)}), {seconds:.2f} s{speed}",
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


def headline(found: dict[str, Any]) -> str:
    """The most important fact."""
    return f"{many(found['mistakes'], 'mistake')} in {many(found['rounds'], 'round')}"


def size(count: int) -> str:
    """A number of bytes.

    >>> size(12), size(3_456), size(7_800_000)
    ('12 bytes', '3.5 kB', '7.8 MB')
    """
    for unit, letters in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.1f} {letters}"
    return many(count, "byte")


def share(part: int, whole: int) -> str:
    """Percent, with as many digits as small rates need.

    >>> share(1, 3), share(7, 100_000), share(0, 0)
    ('33.33 %', '0.007 %', '0 %')
    """
    percent = 100 * part / max(whole, 1)
    return f"{percent:.2f} %" if percent >= 1 else f"{percent:.3g} %"


COLOURS = {"holds": "green", "violated": "red"}


def certificate_in_words(certificate: Certificate) -> str:
    """What a certificate means, and what lies behind it."""
    verdict = click.style(certificate.status, bold=True, fg=COLOURS.get(certificate.status, "yellow"))
    details = (f"    {line}" for line in certificate.details())
    return "\n".join([f"certificate   {verdict} on the {certificate.scope}: {meaning(certificate)}", *details])


def meaning(certificate: Certificate) -> str:
    """What a certificate says, in a sentence."""
    from mistakebound.certificates.certificate import rounded_up  # noqa: PLC0415 - who has a certificate has imported it

    theorem, bound = certificate.theorem, rounded_up(certificate.bound)
    counted = "mistakes" if certificate.updates == certificate.mistakes else "updates (mistakes included)"
    count = f"{max(certificate.updates, certificate.mistakes):,}"
    if certificate.status in ("holds", "vacuous"):
        return f"{theorem} allows {bound} {counted}; there were {count} in {many(certificate.rounds, 'round')}"
    if certificate.status == "does not apply":
        failed = next((each.statement for each in certificate.premises if not each.holds), "")
        return escaped(f"{theorem} has a premise that fails: {failed}")
    if certificate.status == "incomplete":
        if certificate.scope == "whole stream":
            return f"{theorem} was not checked: the stream has more examples than fit into memory"
        return (
            f"{theorem} was not checked: not all mistaken examples were kept; "
            "run again from a file, which can be read a second time"
        )
    return f"{theorem} allows {bound} {counted}; there were {count}: this is a bug in mistakebound, please report it"

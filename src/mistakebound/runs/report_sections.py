"""Sections of the report of a run: certificate, confusion, probabilities, panel, weights, data."""

from __future__ import annotations

import os
from html import escape
from typing import TYPE_CHECKING, Any

from mistakebound._support.text import escaped, many, share, size
from mistakebound.learners.explain import explained_labels, weights_and_constant
from mistakebound.learners.explanation import CONSTANT
from mistakebound.learners.panel import Panel
from mistakebound.runs.class_section import shown
from mistakebound.runs.progress import size_of
from mistakebound.viz.mistake_charts import leadership_chart
from mistakebound.viz.page import bar_table, charts, code, facts, paragraph, section, table, text
from mistakebound.viz.probability_charts import auc_in_words, calibration_chart, roc_chart, threshold_chart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mistakebound.certificates.certificate import Certificate
    from mistakebound.play.ledger import Ledger
    from mistakebound.runs.runner import RunResult

TOP = 30
"""Number of weights that are listed."""
TOP_OF_LABEL, MOST_LABELS = 8, 8
"""With several classes: number of weights of each label, and labels whose weights are listed."""
MEANINGS = {
    "holds": "Every premise of the theorem was checked and holds, and the bound is clearly below the number of rounds.",
    "vacuous": "The bound is true, but too large to be useful on this stream.",
    "does not apply": "A premise fails, so the theorem says nothing about this stream.",
    "incomplete": "The learner did not keep all data that the theorem needs.",
    "violated": "The premises hold and the bound does not: this is a bug in mistakebound.",
}
FORMATS = {
    "table": "table",
    "json": "JSON lines",
    "columnar": "Parquet or Arrow",
    "svmlight": "svmlight",
    "vw": "VW text",
}
NO_BOUND_OF_A_MIXED_PANEL = (
    "No bound is known: this panel was mixed from panels that learned different rounds, and the theorems are about one "
    "panel that learned all rounds."
)


def certificate(found: Certificate) -> str:
    """Return the certificate in words, with its premises."""
    status = found.status.replace(" ", "-")
    verdict = f'<b class="{status}">{escape(found.status)}</b> on the {escape(found.scope)}'
    details = "".join(f"<li>{_detail(line)}</li>" for line in found.details())
    return section(
        "Certificate",
        f"<p>{verdict}: {text(found.meaning())}</p>",
        paragraph(MEANINGS.get(found.status, "")),
        f'<ul class="checks">{details}</ul>',
    )


def _detail(line: str) -> str:
    """Return a line of a certificate; the sign of a premise that holds or fails stands before it."""
    sign, _, words = line.partition(" ")
    kind = {"✓": "holds", "✗": "fails"}.get(sign)
    return f'<b class="{kind}">{sign}</b>{text(words)}' if kind else f"<b></b>{text(line)}"


def confusion(result: RunResult) -> str:
    """Return how often each of two labels was predicted, and abstentions if there were any."""
    if (
        result.positives is None
        or result.false_positives is None
        or result.false_negatives is None
        or not result.rounds
    ):
        return ""
    negative, positive = (text(label) for label in result.ledger.classes)
    missed, wrong = result.false_negatives, result.false_positives
    negatives = result.rounds - result.positives
    counts = ((negative, negatives - wrong, wrong), (positive, missed, result.positives - missed))
    lines = [
        (label, *(f"{count:,}" for count in row), share(row[1 - place], sum(row)))
        for place, (label, *row) in enumerate(counts)
    ]
    head = ("label", f"predicted {negative}", f"predicted {positive}", "wrong")
    parts = [table(head, lines, numbers_from=1)]
    if (answers := result.ledger.answers) is not None:
        predicted = f"{answers.mistakes:,} of the {many(answers.answered, 'round')} with a prediction were mistakes"
        every = many(answers.abstentions + answers.answered, "round")
        words = f"The panel abstained in {answers.abstentions:,} of {every}; {predicted} ({share(*answers[:0:-1])})."
        parts.append(paragraph(f"{words} The table also counts the predictions that were not made."))
    return section("Which mistakes", *parts)


def probabilities(ledger: Ledger, rounds: int) -> str:
    """Return charts of the probabilities, their measures, and precision and recall by threshold."""
    measures, positive = ledger.measures, escaped(ledger.classes[1])
    values = {
        "log loss": measures.log_loss,
        "Brier score": measures.brier,
        "AUC": measures.auc,
        "calibration error": measures.calibration_error,
    }
    used = getattr(ledger.rule, "cut", 0.5)
    drawn = [
        calibration_chart(measures.calibration(), positive),
        roc_chart({auc_in_words(measures.auc): measures.roc()}),
        threshold_chart(measures, used),
    ]
    lines = [
        (
            f"{each.threshold:.1f}",
            *(shown(part) for part in (each.precision, each.recall, each.error)),
            *(f"{count:,}" for count in each[1:]),
        )
        for each in (measures.confusion(k / 10) for k in range(1, 10))
    ]
    head = ("threshold", "precision", "recall", "error", "true +", "false +", "true −", "false −")
    whose = "" if measures.rounds == rounds else f" These numbers are for {many(measures.rounds, 'round')}: "
    whose += "the first pass." if measures.rounds < rounds else "all rounds of the model." if whose else ""
    key = (
        f"{positive} is predicted if its probability is at least the threshold. Each probability was predicted before "
        f"its label was read.{whose}"
    )
    single = table(
        ("measure", "value"), ((name, shown(value) or "–") for name, value in values.items()), numbers_from=1
    )
    return section("Probabilities", charts(drawn), single, "<h3>By threshold</h3>", table(head, lines), paragraph(key))


def members(panel: Mapping[str, Any], rounds: int) -> list[str]:
    """Return the members of a panel with their mistakes and weights, the leaders over time, and the bounds.

    ``panel`` has what ``run --json`` writes for a panel.
    """
    ranked = sorted(panel["members"], key=lambda each: each["log_loss"])
    lines = (
        (
            text(each["name"]),
            f"{each['log_loss']:.4f}",
            f"{each['mistakes']:,}",
            share(each["mistakes"], rounds),
            f"{round(each['weight'], 3) + 0.0:.3f}",
            "" if each["leads_since"] is None else f"round {each['leads_since']:,}",
        )
        for each in ranked
    )
    listed = table(("member", "log loss", "mistakes", "rate", "weight", "leads since"), lines, numbers_from=1)
    changes = [(each["round"], each["member"]) for each in panel["leaders"]]
    key = paragraph("The leader is the member with the least log loss so far.") if changes else ""
    drawn = charts([leadership_chart(changes, rounds, title="Leader over time")] if changes else [])
    listed_bounds = [(text(theorem), f"{bound:,.1f}") for theorem, bound in panel["bounds"].items()]
    bounds = (
        table(("theorem", "bound on the mistakes"), listed_bounds, numbers_from=1)
        if listed_bounds
        else paragraph(NO_BOUND_OF_A_MIXED_PANEL)
    )
    seen = " in the rounds of labels that had occurred before" if panel["first_seen"] else ""
    overrides = panel["overrides"]
    guard = f"did not follow the mixture in {many(overrides, 'round')}" if overrides else "always followed the mixture"
    limit = panel["log_loss_bound"]
    allowed = "" if limit is None else f"; the theorem bayes-mixture allows {limit:.4f}"
    losses = f"The log loss of the mixture is {panel['log_loss']:.4f}{seen}{allowed}. The guard {guard}."
    return [section("Members of the panel", listed, drawn, key), section("Bounds", bounds, paragraph(losses))]


def weights(result: RunResult) -> str:
    """Return the features with the largest weights; of several classes, for the most frequent labels."""
    learner = result.learner
    if not result.rounds or (result.ledger.several and not isinstance(learner, Panel)):
        return ""
    if not result.ledger.several:
        negative, positive = (escaped(label) for label in result.ledger.classes)
        key = (
            f"A feature with a positive weight makes the label {positive} more likely, and one with a negative weight "
            f"the label {negative}."
        )
        return section("Largest weights", bar_table(("feature", "weight"), largest(result, TOP)), paragraph(key))
    counts = result.labels or {}
    labels = sorted(explained_labels(learner), key=lambda label: -counts.get(label, 0))[:MOST_LABELS]
    parts = [
        f"<h3>{text(label)}</h3>" + bar_table(("feature", "weight"), largest(result, TOP_OF_LABEL, label))
        for label in labels
    ]
    return section("Largest weights of each label", *parts)


def largest(result: RunResult, top: int, label: Any = None) -> list[tuple[str, float]]:
    """Return the largest weights with readable names: a product of columns is written with ×."""
    found, constant = weights_and_constant(result.learner, top=top, label=label)
    pairs = bool(result.table.get("interact"))
    named = [(each.name.replace("*", " × ") if pairs else each.name, each.weight) for each in found]
    return [*([(CONSTANT, constant)] if constant is not None else []), *named]


def data(result: RunResult, learner: str) -> str:
    """Return facts about the files, the learner and the time."""
    ledger, report = result.ledger, result.report
    options = None if report is None else report.options
    rows = {"files": "<br>".join(file_with_size(file) for file in result.source.files)}
    if options is not None:
        rows["format"] = escape(FORMATS.get(options.format, options.format))
    rows["examples"] = f"{result.rounds:,}"
    rows["labels"] = ", ".join(f"{text(label)} {count:,}" for label, count in label_counts(result).items())
    rows["features"] = f"{ledger.n:,}"
    if result.columns:
        rows["columns"] = ", ".join(map(text, result.columns))
    rows["skipped lines"] = f"{len(result.skipped):,}"
    rows["learner"] = code(learner)
    read = f", {size(result.bytes)} of text" if result.bytes else ""
    rows["time"] = f"{result.seconds:.2f} s{read}"
    return section("Data and learner", facts(rows))


def file_with_size(file: str) -> str:
    """Return the name of a file as HTML, with its size if it is a file."""
    known = size_of(file) if os.path.exists(file) else None
    return text(file) + ("" if known is None else f" ({size(known)})")


def label_counts(result: RunResult) -> dict[Any, int]:
    """Return how often each label occurred in the run, the most frequent first."""
    if result.labels is not None:
        return dict(sorted(result.labels.items(), key=lambda each: -each[1])[:MOST_NAMED])
    if result.positives is None or not result.rounds:
        return {}
    negative, positive = result.ledger.classes
    found = {negative: result.rounds - result.positives, positive: result.positives}
    return dict(sorted(found.items(), key=lambda each: -each[1]))


MOST_NAMED = 30
"""Labels whose counts are listed at most."""

"""The HTML page of a comparison: what to send to a colleague."""

from __future__ import annotations

import platform
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound._support.text import escaped, grouped, many
from mistakebound.certificates.certificate import Certificate
from mistakebound.errors import message_text
from mistakebound.experts.comparison.charts import charts
from mistakebound.experts.comparison.past_rows import rows_of
from mistakebound.experts.comparison.records import message_of
from mistakebound.viz import page as html

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mistakebound.errors import Option
    from mistakebound.experts.comparison.compare import Comparison
    from mistakebound.experts.comparison.results import RuleResult

MOST_EXPERTS = 100
"""Experts that the table lists."""
STATUS_IN_WORDS = {
    "holds": "every premise holds, and the rule is within the bound.",
    "vacuous": "every premise holds, but no rule could exceed so large a bound, so it says little about these rounds.",
    "does not apply": "a premise fails, or no theorem about this rule is known, so there is no guarantee.",
    "violated": "the bound is exceeded. This is a bug in mistakebound; please report it.",
    "incomplete": "the advice of all rounds is not available, so nothing was checked.",
    "not derived": "it was not derived, because that takes long for so many rounds.",
}


def report(found: Comparison, written: Callable[[Option], str] = str, command: str = "") -> str:
    """Return the page; ``written`` formats the options that notes name, and ``command`` makes the page again."""
    import mistakebound as mb  # noqa: PLC0415 - it imports this module

    drawn = charts(found)
    sections = [
        html.cards(numbers(found)),
        html.section("Next forecasts", forecasts(found)),
        html.section("Over time", html.charts(drawn[:1]), html.charts(drawn[1:])),
        html.section("Rules", rule_table(found), rule_notes(found, written)),
        html.section("Experts", expert_table(found)),
        html.section("The best choices in hindsight", hindsight_table(found)),
        html.section("What is guaranteed", guarantee(found)),
        html.section("Data", facts(found, written)),
    ]
    made_by = {"mistakebound": mb.__version__, "numpy": np.__version__, "Python": platform.python_version()}
    return html.page(headline(found), lead(found), sections, made_by=made_by, command=command)


# ---------------------------------------------------------------------- words


def loss_in_words(found: Comparison, mean: float, rounds: int) -> str:
    """Return a mean loss in the unit that a person reads: mistakes, root mean square error, or the mean loss."""
    if found.of_labels:
        return f"{mean * rounds:,.0f} mistakes" if abs(mean * rounds % 1) < 1e-9 else f"{mean * rounds:,.1f} mistakes"
    return f"RMSE {short(mean**0.5)}" if found.rooted else f"mean {found.measure} {short(mean)}"


def short(value: float) -> str:
    """Return a number with five digits, and with commas if it is large."""
    return grouped(value, 5)


def headline(found: Comparison) -> str:
    """Return the result in one line."""
    best, advice = found.best, found.advice
    loss = loss_in_words(found, best.mean, advice.rounds)
    experts = many(len(advice.names), "expert")
    return f"{advice.outcome}: {experts} combined by {best.rule}, {loss} in {many(advice.rounds, 'round')}"


def lead(found: Comparison) -> str:
    """Return what the headline means, as HTML: the rule beside the best expert and the plain average."""
    best, rounds = found.best, found.advice.rounds
    leader, counted = found.hindsight[0].oracle, found.hindsight[0].counted
    rule, rival = html.text(best.rule), html.text(best.against)
    words = ["Each forecast was made before its outcome was used."]
    if leader is not None:
        awake = "" if counted.all() else f" In the {many(leader.rounds, 'round')} in which {rival} was awake,"
        own, theirs = (
            escape(loss_in_words(found, mean, leader.rounds))
            for mean in (float(best.losses[counted].mean()), leader.mean)
        )
        side = compared(float(best.losses[counted].mean()), leader.mean, found.rooted)
        words.append(f"The best expert is {rival}, which is known only afterwards.{awake}")
        words.append(f"{rule} has {own}, and {rival} has {theirs}: {rule} is {side}.")
        plain, average = "plain majority" if found.of_labels else "plain average", float(found.plain.mean())
        own, theirs = (escape(loss_in_words(found, mean, rounds)) for mean in (best.mean, average))
        side = compared(best.mean, average, found.rooted)
        words.append(
            f"In all {many(rounds, 'round')}, {rule} has {own}, and the {plain} has {theirs}: {rule} is {side}."
        )
    if best.bound is not None:
        limited = best.certificate.mistakes if isinstance(best.certificate, Certificate) else best.certificate.regret  # type: ignore[union-attr]
        kind = limited_by_theorem(best, found)
        verb = "they were" if found.of_labels else "it was"
        words.append(f"A theorem limits its {kind} to {short(best.bound)}; {verb} {short(float(limited))}.")
    return " ".join(words)


def limited_by_theorem(result: RuleResult, found: Comparison) -> str:
    """Return what the bound of a rule limits."""
    return "mistakes" if found.of_labels else "regret" if result.linear_regret is None else "linear regret"


def compared(own: float, other: float, rooted: bool) -> str:  # noqa: FBT001
    """Return by how many per cent a loss is better or worse than another."""
    if rooted:
        own, other = own**0.5, other**0.5
    if other == 0 or abs(own - other) < 5e-4 * abs(other):
        return "equally good" if own == other or other != 0 else "worse"
    change = 100 * (own - other) / abs(other)
    digits = 0 if abs(change) >= 10 else 1
    return f"{abs(change):.{digits}f} % {'better' if change < 0 else 'worse'}"


def numbers(found: Comparison) -> dict[str, str]:
    """Return the most important numbers."""
    advice, best, leader = found.advice, found.best, found.hindsight[0].oracle
    unit = "mistakes" if found.of_labels else "RMSE" if found.rooted else found.measure

    def shown(mean: float, rounds: int) -> str:
        return short(mean * rounds) if found.of_labels else short(mean**0.5 if found.rooted else mean)

    cards = {f"{unit} of {best.rule}": shown(best.mean, advice.rounds)}
    if found.some_slept:  # means of different rounds cannot be compared
        cards[f"regret to {best.against}"] = short(float(best.regrets["expert"] or 0.0))
    elif leader is not None:
        cards[f"{unit} of {best.against}"] = shown(leader.mean, leader.rounds)
    plain = "plain majority" if found.of_labels else "plain average"
    cards[f"{unit} of the {plain}"] = shown(float(found.plain.mean()), advice.rounds)
    if best.bound is not None:
        cards[f"bound on the {limited_by_theorem(best, found)}"] = short(best.bound)
    counts = {"rounds": f"{advice.rounds:,}", "experts": f"{len(advice.names):,}"}
    return {escaped(name): value for name, value in cards.items()} | counts


def guarantee(found: Comparison) -> str:
    """Return the certificate of the best rule in words, and of the best rule that has a bound."""
    best = found.best
    bounded = next((each for each in found.mixes if each.bound is not None), None)
    parts = [certified(best)]
    if bounded is not None and bounded is not best:
        parts += [html.paragraph(f"The best rule with a guarantee is {bounded.rule}:"), certified(bounded)]
    parts.append(
        "<p class='soft'>Regret is the total loss of a rule minus that of an expert. The bound holds whatever the "
        "outcomes are, if its premises hold. It does not say that the experts are good.</p>"
    )
    return "".join(parts)


def certified(result: RuleResult) -> str:
    """Return the status of a certificate in words, and its premises."""
    status, words = escape(result.status), escape(STATUS_IN_WORDS.get(result.status, ""))
    shown = f'<p>{html.text(result.rule)}: <b class="{status}">{status}</b>: {words}</p>'
    if result.certificate is None:
        return shown
    return f"{shown}<pre>{escape(escaped_lines(str(result.certificate)))}</pre>"


def escaped_lines(text: str) -> str:
    """Return text of several lines, escaped line by line."""
    return "\n".join(escaped(line) for line in text.split("\n"))


# ---------------------------------------------------------------------- tables


def forecasts(found: Comparison) -> str:
    """Return the forecasts of the rows without an outcome, by the best rule; empty if there are none."""
    advice, best = found.advice, found.best
    coming = range(advice.rounds, len(advice.forecasts))
    ids = rows_of(advice.frame, advice.ids)
    labels = advice.labels if advice.forecasts.ndim == 3 else [best.rule]
    head = [html.text(name) for name in (advice.ids or ["row"])] + [html.text(label) for label in labels]
    lines = []
    for t in coming:
        value = best.predictions[t]
        cells = value if isinstance(value, list) else [value] * len(labels)
        place = [html.text(cell) for cell in ids[t]] if advice.ids else [html.text(advice.frame.where(t))]
        lines.append([*place, *("–" if cell is None else html.text(forecast_cell(cell)) for cell in cells)])
    return html.table(head, lines, numbers_from=len(head) - len(labels)) if lines else ""


def forecast_cell(value: Any) -> str:
    """Return a forecast as text."""
    return value if isinstance(value, str) else f"{value:.6g}"


def mean_columns(found: Comparison) -> list[str]:
    """Return the heads of the columns of losses."""
    return ["mistakes", "rate"] if found.of_labels else ["mean loss", *(["RMSE"] if found.rooted else [])]


def mean_cells(found: Comparison, mean: float, rounds: float) -> list[str]:
    """Return the cells of the columns of losses."""
    if not np.isfinite(mean):
        return ["–"] * len(mean_columns(found))
    if found.of_labels:
        return [short(mean * rounds), f"{mean:.4f}"]
    return [short(mean), *([short(mean**0.5)] if found.rooted else [])]


def rule_table(found: Comparison) -> str:
    """Return the table of the rules and the plain average, smallest loss first."""
    head = ["rule", *mean_columns(found), "regret", "bound", "status", "seconds"]
    rounds = found.advice.rounds
    rows = [
        (each.mean, [html.text(each.rule), *mean_cells(found, each.mean, rounds), *regret_cells(each)])
        for each in found.mixes
    ]
    plain = "(plain majority)" if found.of_labels else "(plain average)"
    mean, regret = float(found.plain.mean()), found.plain_regret
    cells = ["–" if regret is None else short(regret), "–", "–", "–"]
    rows.append((mean, [plain, *mean_cells(found, mean, rounds), *cells]))
    return html.table(head, [cells for _, cells in sorted(rows, key=lambda row: row[0])], numbers_from=1)


def regret_cells(result: RuleResult) -> list[str]:
    """Return regret, bound, status and seconds of a rule."""
    regret, bound = result.regrets["expert"], result.bound
    shown = ["–" if value is None else short(value) for value in (regret, bound)]
    return [*shown, escape(result.status), f"{result.seconds:.2f}"]


def rule_notes(found: Comparison, written: Callable[[Option], str]) -> str:
    """Return notes below the table of rules."""
    linear = any(each.linear_regret is not None for each in found.mixes)
    about = "its mistakes" if found.of_labels else "its linear regret, which is at least its regret" if linear else "it"
    notes = [f"Regret: the loss of a rule minus that of the best expert. Bound: a theorem's bound on {about}."]
    notes += [f"Not run: {each.rule}: {message_of(each.error, written)}" for each in found.refused]
    return "".join(f"<p class='soft'>{escape(escaped(note))}</p>" for note in notes)


def expert_table(found: Comparison) -> str:
    """Return the table of the experts, the hardest to beat first."""
    best, names = found.best, found.advice.names
    order = np.argsort(-best.expert_regrets, kind="stable")[:MOST_EXPERTS]
    head = ["expert", "awake", *mean_columns(found), f"regret of {escape(best.rule)}", "weight now"]
    lines = [
        [
            html.text(names[k]),
            f"{found.expert_rounds[k]:,.0f}",
            *mean_cells(found, float(found.expert_means[k]), float(found.expert_rounds[k])),
            short(float(best.expert_regrets[k])) if np.isfinite(best.expert_regrets[k]) else "–",
            f"{best.weights[k]:.4f}",
        ]
        for k in order.tolist()
    ]
    more = len(names) - len(order)
    return html.table(head, lines, numbers_from=1) + (html.paragraph(f"{more:,} more are not shown.") if more else "")


def hindsight_table(found: Comparison) -> str:
    """Return the best choices in hindsight, with the regret of the best rule to each."""
    lines: list[Sequence[str]] = []
    for each in found.hindsight:
        if each.oracle is None:
            lines.append([html.text(each.name), *["–"] * (1 + len(mean_columns(found))), escape(each.reason)])
            continue
        regret = found.best.regrets[each.kind]
        losses = mean_cells(found, each.oracle.mean, each.oracle.rounds)
        shown = "–" if regret is None else short(regret)
        lines.append([html.text(each.name), f"{each.oracle.rounds:,}", *losses, shown])
    head = ["chosen afterwards", "rounds", *mean_columns(found), f"regret of {escape(found.best.rule)}"]
    return wrapped(html.table(head, lines, numbers_from=1))


def wrapped(table: str) -> str:
    """Return a table whose cells of text may have several lines."""
    return table.replace("<td>", '<td class="text">')


def facts(found: Comparison, written: Callable[[Option], str]) -> str:
    """Return the facts about the data."""
    advice = found.advice
    files = list(dict.fromkeys(each.file for each in advice.frame.places if each.file and len(each.lines)))
    slept = 1 - float(advice.awake.mean())
    dates = advice.dates()
    rows = {
        "files": ", ".join(files),
        "rounds": f"{advice.rounds:,} with an outcome, {len(advice.forecasts) - advice.rounds:,} without",
        "outcome": f"{advice.outcome} ({advice.kind})",
        "experts": f"{len(advice.names):,}; asleep in {slept:.1%} of all cells" if slept else f"{len(advice.names):,}",
        "ids": ", ".join(advice.ids),
    }
    if dates is not None:
        texts = advice.frame.texts(dates[0])
        rows["period"] = f"{texts[0]} to {texts[-1]}"
    rows["loss"] = found.measure
    notes = [message_text(note, written) for note in advice.notes] + [str(each) for each in advice.frame.skipped]
    listed = "".join(f"<li>{escape(escaped(note))}</li>" for note in notes)
    table = html.facts({name: html.text(value) for name, value in rows.items() if value})
    return table + (f"<ul>{listed}</ul>" if listed else "")

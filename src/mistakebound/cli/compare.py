"""``mistakebound compare``: run several learners on the same stream, which is read once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from mistakebound._support.json_numbers import json_of
from mistakebound._support.signals import exit_code
from mistakebound._support.text import escaped, many, share, size
from mistakebound.cli.help import EXIT_CODES, Manual
from mistakebound.cli.options import FILES, OutputFile, parse_classes, reading_options, refuse_to_overwrite, source_of
from mistakebound.cli.output import as_flag, command_line, note, picture_maker, reason_of, show_files
from mistakebound.cli.summary import STOPPED, options_of, stopped_by
from mistakebound.learners.panel import Panel
from mistakebound.runs import comparison

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mistakebound.runs.comparison import Comparison, Contender


@click.command(cls=Manual, epilog=EXIT_CODES, short_help="Rank all learners on the same FILE.")
@FILES
@click.option("--classes", metavar="NEGATIVE,POSITIVE", help="The two labels. By default the greater one is positive.")
@click.option("--certify", is_flag=True, help="Certify each learner, for the columns bound and status.")
@click.option(
    "--plot", type=OutputFile(dash=False), metavar="FILE.png", help="Draw the mistakes of the best 12 learners."
)
@click.option(
    "--report", type=OutputFile(dash=False), metavar="FILE.html", help="Write an HTML page about the comparison."
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of the table.")
@reading_options
def compare(
    files: tuple[str, ...],
    *,
    classes: str | None,
    certify: bool,
    plot: str | None,
    report: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    r"""Run all learners on the same lines of FILE, which is read once, and rank them by mistakes.

    \b
      rate       mistakes per round
      last half  the same in the last half of the rounds
      seconds    time for learning, without reading
      bound      the bound of a theorem, if it is known during the run or with
                 --certify; otherwise –
      status     of the certificate (--certify): holds, vacuous (the bound is too
                 large to say anything) or does not apply (a premise fails)
      learner    options of 'mistakebound run' for this learner

    Learners below the line "always predicting" make more mistakes than predicting the more frequent label every time.
    A second table ranks the members of the panel, which run inside it.

    The threshold of winnow is four times the largest number of features in the first hundred lines. A learner that
    cannot learn this stream, such as winnow if values are not 0 or 1, is listed with the reason. normalized-winnow,
    whose weights cannot be negative, is left out, unless the values are 1 and -1 and it is not below that line.

    \b
    Examples:
      mistakebound compare stream.svm
      mistakebound compare mail.csv --label kind --plot out.png
      mistakebound compare mail.csv --label kind --report page.html
    """
    refuse_to_overwrite(files, options["labels"], plot, report)
    source = source_of(files, options)
    draw = picture_maker("curves") if plot else None
    labels = None if classes is None else parse_classes(classes)
    found = comparison.compare(source, classes=labels, certify=certify)
    if not (found.ranked or found.refused or found.stopped):
        message = f"{', '.join(source.files)}: there are no examples"
        raise click.ClickException(message)
    if as_json:
        click.echo(json_of(as_object(found)))
    elif found.ranked:
        click.echo(as_text(found))
    for remark in found.remarks:
        if remark.kind == "weights":
            note(remark.text(as_flag))
    if plot and draw:
        draw({run_options(each): each.curve.to_now() for each in found.ranked[: comparison.MOST_DRAWN]}).savefig(
            plot, dpi=150
        )
    if report:
        found.write_report(report, stopped=stopped_by(found.stopped), command=command_line())
    show_files(quiet=as_json, plot=plot, report=report)
    end(found)


def end(found: Comparison) -> None:
    """Exit with the code of an interrupt or of a bad line, if one of them ended the comparison early."""
    if isinstance(found.stopped, KeyboardInterrupt):
        click.echo(f"stopped {STOPPED}", err=True)
        sys.exit(exit_code(found.stopped))
    if found.stopped:
        raise click.ClickException(stopped_by(found.stopped))


def run_options(contender: Contender) -> str:
    """Return the learner as options of ``run``."""
    return options_of(contender.learner.ledger_.rule).removeprefix("--learner ")


def as_text(found: Comparison) -> str:
    """Return the table, the learners that are not in it, and the command for the best one."""
    certified = any(each.certificate for each in found.ranked)
    status = f" {'status':>15}" if certified else ""
    lines = [f"{'mistakes':>12} {'rate':>8} {'last half':>10} {'seconds':>8} {'bound':>12}{status}  learner"]
    label, guessed = found.ranked[0].majority
    rounds = found.ranked[0].curve.rounds
    worse = [each for each in found.ranked if each.worse_than_majority]
    guess = f"{guessed:>12,} {guessed / max(rounds, 1):>8.4f} {'':>10} {'':>8} {'':>12}{status and ' ' * 16}"
    for each in found.ranked:
        if worse and each is worse[0]:
            lines.append(f"{guess}  (always predicting {escaped(label)})")
        curve = each.curve
        status = f" {each.certificate.status if each.certificate else '':>15}" if certified else ""
        lines.append(
            f"{curve.mistakes:>12,} {curve.mistakes / max(curve.rounds, 1):>8.4f} {curve.late_rate():>10.4f} "
            f"{each.seconds:>8.3f} {bound_as_text(each.bound):>12}{status}  {run_options(each)}"
        )
    if certified:
        lines += ["", "vacuous: the bound is true, but too large to say anything; does not apply: a premise fails"]
    if found.refused:
        lines += [
            "",
            "cannot learn this stream:",
            *refusals(found.refused),
        ]
    lines += members_as_text(found)
    always = f"always predicting {escaped(label)}: {many(guessed, 'mistake')} ({share(guessed, rounds)})"
    lines += ["", f"{many(rounds, 'round')}, {size(found.bytes)} read once, {found.seconds:.2f} s; {always}"]
    if worse:
        lines.append(f"warning: {many(len(worse), 'learner')} of {len(found.ranked)} made more mistakes than that")
    lines += [f"fewest mistakes: mistakebound run ... --learner {run_options(found.ranked[0])}"]
    return "\n".join(lines)


def refusals(refused: Sequence[Contender]) -> Iterator[str]:
    """Yield each reason why learners cannot learn the stream once, and below it the learners."""
    learners: dict[str, list[str]] = {}
    for each in refused:
        learners.setdefault(reason_of_refusal(each), []).append(run_options(each))
    for reason, names in learners.items():
        if len(names) == 1:
            yield f"  {names[0]}: {reason}"
        else:
            yield f"  {many(len(names), 'learner')}: {reason}"
            yield from (f"    {name}" for name in names)


def members_as_text(found: Comparison) -> list[str]:
    """Return the members of each panel, fewest mistakes first, as lines of a table."""
    lines = []
    for panel in (each.learner for each in found.ranked if isinstance(each.learner, Panel)):
        lines += ["", "members of the panel:", f"{'mistakes':>12} {'rate':>8} {'log loss':>10} {'weight':>8}  member"]
        rounds = max(panel.standings.rounds, 1)
        lines += [
            f"{each.mistakes:>12,} {each.mistakes / rounds:>8.4f} {each.log_loss:>10.4f} {each.weight:>8.3f}  "
            f"{each.name}"
            for each in sorted(panel.members(), key=lambda each: each.mistakes)
        ]
    return lines


def reason_of_refusal(contender: Contender) -> str:
    """Return the reason why a learner cannot learn the stream."""
    return "" if contender.error is None else reason_of(contender.error)


def bound_as_text(bound: float | None) -> str:
    """Return a bound for the table, rounded up."""
    if bound is None:
        return "–"
    from mistakebound.certificates.certificate import rounded_up  # noqa: PLC0415 - it needs numpy

    return rounded_up(bound)


def as_object(found: Comparison) -> dict[str, Any]:
    """Return the comparison for JSON."""
    label, mistakes = found.ranked[0].majority if found.ranked else (None, 0)
    return {
        "rounds": found.ranked[0].curve.rounds if found.ranked else 0,
        "bytes": found.bytes,
        "seconds": found.seconds,
        "majority": label,
        "majority_mistakes": mistakes,
        "learners": [
            {
                "options": f"--learner {run_options(each)}",
                "mistakes": each.curve.mistakes,
                "rate": each.curve.mistakes / max(each.curve.rounds, 1),
                "late_rate": each.curve.late_rate(),
                "seconds": each.seconds,
                "bound": each.bound,
                "status": None if each.certificate is None else each.certificate.status,
                "worse_than_majority": each.worse_than_majority,
            }
            | (
                {"members": [row._asdict() for row in panel.members()]}
                if isinstance(panel := each.learner, Panel)
                else {}
            )
            for each in found.ranked
        ],
        "not_counted": [
            {"options": f"--learner {run_options(each)}", "reason": reason_of_refusal(each)} for each in found.refused
        ],
        "left_out": [f"--learner {run_options(each)}" for each in found.left_out],
        "skipped": [line.text(as_flag) for line in found.skipped],
        "stopped": stopped_by(found.stopped),
    }

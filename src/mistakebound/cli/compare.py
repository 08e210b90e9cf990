"""``mistakebound compare``: every learner on the same stream, in one reading of it."""

from __future__ import annotations

import sys
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from mistakebound._support.escaping import escaped
from mistakebound._support.plural import many
from mistakebound._support.signals import exit_code, uninterrupted
from mistakebound.cli.curve import Curve
from mistakebound.cli.making import make
from mistakebound.cli.manual import EXIT_CODES, Manual
from mistakebound.cli.output import OutputFile, json_of, picture_maker, reason_of, told
from mistakebound.cli.reading import FILES, reading, source_of
from mistakebound.cli.running import running_bound
from mistakebound.cli.summary import STOPPED, options_of, share, size, stopped_by
from mistakebound.errors import as_stream_error
from mistakebound.learners.stream_loop import steps

if TYPE_CHECKING:
    import mistakebound as mb
    from mistakebound._support.arrays import AnyArray
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.data.parts import Part
    from mistakebound.data.report import ReadReport
    from mistakebound.errors import InputError

VARIANTS: tuple[tuple[str, dict[str, float]], ...] = (
    ("perceptron", {}),
    ("perceptron", {"bias": 1}),
    ("balanced-winnow", {}),
    ("balanced-winnow", {"bias": 1}),
    ("balanced-winnow", {"eta": 0.02}),
    ("balanced-winnow", {"eta": 0.5}),
    ("balanced-winnow", {"update_margin": 0}),
    ("pnorm", {"p": 4}),
    ("pnorm", {"p": 10}),
    ("normalized-winnow", {"eta": 0.1}),
    ("winnow", {"alpha": 2}),
    ("winnow", {"alpha": 1.2}),
    ("elimination", {}),
)


@click.command(cls=Manual, epilog=EXIT_CODES, short_help="Rank all learners on the same FILE.")
@FILES
@click.option("--classes", metavar="NEGATIVE,POSITIVE", help="The two labels; otherwise the greater one is positive.")
@click.option("--certify", is_flag=True, help="Find a comparator in hindsight for each, for the column of bounds.")
@click.option("--plot", type=OutputFile(), metavar="FILE.png", help="Draw mistakes against rounds; needs matplotlib.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of the table.")
@reading
def compare(
    files: tuple[str, ...], *, classes: str | None, certify: bool, plot: str | None, as_json: bool, **options: Any
) -> None:
    r"""Let every learner predict and learn the same lines of FILE, which is read once, and rank them by mistakes.

    \b
      rate       mistakes per round
      last half  the same in the last half of the rounds
      seconds    for learning, without reading
      bound      what a theorem allows, where that is known at once or with --certify; otherwise –
      status     of the certificate (--certify): holds, vacuous (true, but it says nothing),
                 does not apply (a premise of the theorem fails)
      learner    what `mistakebound run` takes to do the same

    Winnow's threshold is four times the most features of the first hundred lines. Learners that cannot take this
    stream, such as Winnow where values are not 0 or 1, are listed with the reason.

    \b
    Examples:
      mistakebound compare stream.svm
      mistakebound compare mail.csv --label kind --text subject --plot mistakes.png
    """
    source = source_of(files, options)
    if source.positive is not None:
        classes = classes or f"not {source.positive},{source.positive}"
    with told():
        draw = picture_maker("curves") if plot else None
        start = time.perf_counter()
        all_contenders = Contenders(classes, keep=certify)
        report, stopped = play(source, all_contenders)
        contenders = all_contenders.each
        seconds = time.perf_counter() - start
        ranked = sorted((each for each in contenders if not each.reason), key=lambda each: each.curve.mistakes)
        if certify:
            certify_each(ranked, source)
        if not contenders and not stopped:
            message = f"{', '.join(source.files)}: there are no examples"
            raise click.ClickException(message)
        if as_json:
            click.echo(json_of(as_object(ranked, contenders, report, seconds, stopped)))
        elif ranked:
            click.echo(in_words(ranked, contenders, report, seconds))
        if plot and draw:
            draw({each.name: each.curve.to_now() for each in ranked}).savefig(plot, dpi=150)
    if isinstance(stopped, KeyboardInterrupt):
        click.echo(f"stopped {STOPPED}", err=True)
        sys.exit(exit_code(stopped))
    if stopped:
        raise click.ClickException(reason_of(stopped))


def certify_each(contenders: list[Contender], source: mb.Source) -> None:
    """Certify each learner."""
    from mistakebound.cli.second_pass import certified  # noqa: PLC0415 - most runs do without

    for each in contenders:
        each.certificate, _ = certified(each.learner, source)


class Contender:
    """One learner at work, until something comes that it cannot take."""

    def __init__(self, learner: str, parameters: dict[str, Any], *, keep: bool) -> None:
        self.learner = make(learner, parameters, keep=keep)
        self.curve = Curve()
        self.seconds, self.positives = 0.0, 0
        self.error: InputError | None = None
        self.certificate: Certificate | None = None

    @property
    def name(self) -> str:
        """The learner as ``run`` takes it."""
        return options_of(self.learner.ledger_.rule).removeprefix("--learner ")

    @property
    def reason(self) -> str:
        """What it could not take."""
        return "" if self.error is None else reason_of(self.error)

    @property
    def bound(self) -> float | None:
        """What a theorem allows, as far as it is known without searching for a comparator."""
        if self.certificate is not None:
            return self.certificate.bound if self.certificate.status in ("holds", "vacuous") else None
        ledger = self.learner.ledger_
        return running_bound(self.learner, None, loaded=False)(ledger, ledger.false_negatives)

    def learn(self, part: Part, first: int, last: int, y: AnyArray | None) -> None:
        """Predict, then learn, rows of a part."""
        if self.error:
            return
        start = time.perf_counter()
        try:
            ledger, self.error = self.learner.run_part(part._replace(error=None), first, last, y)
            self.curve.add(ledger)
            self.positives += ledger.said_positive - ledger.false_positives + ledger.false_negatives
        except ValueError as error:
            self.error = as_stream_error(error, None)
        self.seconds += time.perf_counter() - start


class Rows(NamedTuple):
    """How many rows all have seen."""

    rounds: int


class Contenders:
    """All learners on one reading, as one: each goes on until something comes that it cannot take."""

    def __init__(self, classes: str | None, *, keep: bool) -> None:
        self.classes, self.keep = classes, keep
        self.each: list[Contender] = []

    @property
    def labels_settled(self) -> bool:
        """Whether both labels are known."""
        return self.classes is not None

    def run_part(
        self, part: Part, first: int = 0, last: int | None = None, y: AnyArray | None = None
    ) -> tuple[Rows, InputError | None]:
        """Let all learn the rows of a part; return how many, and what is wrong with the stream."""
        if part.rows and not self.each:
            for learner, parameters in VARIANTS:
                own = {"threshold": threshold(part)} if learner == "winnow" else {}
                self.each.append(Contender(learner, {"classes": self.classes, **parameters, **own}, keep=self.keep))
        rows = part.rows if last is None else min(last, part.rows)
        for each in self.each:
            each.learn(part, first, rows, y)
        error = part.error
        if error is None and self.each and all(each.error for each in self.each):  # then it is the stream's fault
            error = self.each[0].error
        return Rows(rows - first), error


def play(source: mb.Source, contenders: Contenders) -> tuple[ReadReport, BaseException | None]:
    """Read the source once, for all; return what was read, and what ended it before its end, if anything did."""
    reader = source.open(warn=False)
    try:
        for _ in steps(contenders, reader, guard=uninterrupted):  # all have seen the same rounds, also after Ctrl-C
            pass
    except (KeyboardInterrupt, ValueError) as reason:
        return reader.report, reason
    return reader.report, None


def threshold(part: Part) -> float:
    """Winnow's threshold for a vocabulary that grows: 4σ, with at most σ features active at once."""
    ends = part.chunk.indptr[:101].tolist()
    return 4.0 * max(1.0, *(float(end - begin) for begin, end in pairwise([0, *ends])))


# ---------------------------------------------------------------------- what is shown


def in_words(ranked: list[Contender], contenders: list[Contender], report: ReadReport, seconds: float) -> str:
    """The table, those that are not in it, and what to do next."""
    certified = any(each.certificate for each in ranked)
    status = f" {'status':>15}" if certified else ""
    lines = [f"{'mistakes':>12} {'rate':>8} {'last half':>10} {'seconds':>8} {'bound':>12}{status}  learner"]
    for each in ranked:
        curve = each.curve
        status = f" {each.certificate.status if each.certificate else '':>15}" if certified else ""
        lines.append(
            f"{curve.mistakes:>12,} {curve.mistakes / max(curve.rounds, 1):>8.4f} {curve.late_rate():>10.4f} "
            f"{each.seconds:>8.3f} {in_digits(each.bound):>12}{status}  {each.name}"
        )
    if certified:
        lines += ["", "vacuous: the bound is true, but it says nothing; does not apply: a premise of the theorem fails"]
    refused = [each for each in contenders if each.reason]
    if refused:
        lines += ["", "not for this stream:", *(f"  {each.name}: {escaped(each.reason)}" for each in refused)]
    best = ranked[0]
    label, mistakes = majority(best)
    rounds = best.curve.rounds
    guess = f"always saying {escaped(label)}: {many(mistakes, 'mistake')} ({share(mistakes, rounds)})"
    lines += ["", f"{many(rounds, 'round')}, {size(report.bytes)} read once, {seconds:.2f} s; {guess}"]
    lines += [f"fewest mistakes: mistakebound run ... --learner {best.name}"]
    return "\n".join(lines)


def in_digits(bound: float | None) -> str:
    """A bound for the table, rounded up."""
    if bound is None:
        return "–"
    from mistakebound.certificates.certificate import rounded_up  # noqa: PLC0415 - it needs numpy

    return rounded_up(bound)


def as_object(
    ranked: list[Contender],
    contenders: list[Contender],
    report: ReadReport,
    seconds: float,
    stopped: BaseException | None,
) -> dict[str, Any]:
    """The same for machines."""
    label, mistakes = majority(ranked[0]) if ranked else (None, 0)
    return {
        "rounds": ranked[0].curve.rounds if ranked else 0,
        "bytes": report.bytes,
        "seconds": seconds,
        "majority": label,
        "majority_mistakes": mistakes,
        "learners": [
            {
                "options": f"--learner {each.name}",
                "mistakes": each.curve.mistakes,
                "rate": each.curve.mistakes / max(each.curve.rounds, 1),
                "late_rate": each.curve.late_rate(),
                "seconds": each.seconds,
                "bound": each.bound,
                "status": None if each.certificate is None else each.certificate.status,
            }
            for each in ranked
        ],
        "not_counted": [
            {"options": f"--learner {each.name}", "reason": each.reason} for each in contenders if each.reason
        ],
        "skipped": [str(line) for line in report.skipped],
        "stopped": stopped_by(stopped),
    }


def majority(contender: Contender) -> tuple[Any, int]:
    """The commoner label, and how many mistakes it would be to say it always."""
    negative, positive = contender.learner.ledger_.classes
    negatives = contender.curve.rounds - contender.positives
    return (positive if contender.positives >= negatives else negative), min(contender.positives, negatives)

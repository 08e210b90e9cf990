"""An experiment of the lab: a claim, a setting, and a function that measures it by a seed."""

from __future__ import annotations

import inspect
import json
import math
import time
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._support.json_numbers import finite
from mistakebound._support.text import did_you_mean, many
from mistakebound.errors import InputError
from mistakebound.lab.sizes import checked, range_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mistakebound.certificates.certificate import Certificate
    from mistakebound.certificates.regret_certificate import RegretCertificate
    from mistakebound.lab.sizes import Size, Together
    from mistakebound.viz.chart import Chart


class Check(NamedTuple):
    """A statement that the experiment could refute: whether it holds, and what was measured."""

    statement: str
    holds: bool
    measured: str = ""


class Table(NamedTuple):
    """Rows of numbers and texts under the names of their columns."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Findings:
    """What the function of an experiment returns.

    ``conclusion`` is a sentence or two with the measured numbers: what a reader should remember.
    """

    conclusion: str
    checks: Sequence[Check]
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()


@dataclass(frozen=True)
class Result:
    """The result of an experiment: its claim and setting, the sizes and the seed, and what was found."""

    name: str
    title: str
    claim: str
    setting: str
    theorems: tuple[str, ...]
    sizes: Mapping[str, Any]
    """All parameters, the seed included."""
    conclusion: str
    checks: tuple[Check, ...]
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...] = field(repr=False)
    seconds: float = field(compare=False)

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)

    @property
    def command(self) -> str:
        """The command that repeats the experiment."""
        options = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in self.sizes.items())
        return f"mistakebound lab {self.name} {options}".rstrip()

    def figure(self, *, dark: bool = False) -> Any:
        """Return the charts as one matplotlib figure, which ``figure.savefig("x.png")`` saves."""
        from mistakebound.viz.figure import draw  # noqa: PLC0415 - it needs matplotlib

        return draw(self.charts, dark=dark)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the charts as lists, dicts, texts and numbers."""
        data = {name: getattr(self, name) for name in ("name", "title", "claim", "setting", "theorems", "conclusion")}
        data |= {"sizes": dict(self.sizes), "holds": self.holds, "seconds": self.seconds}
        data["checks"] = [check._asdict() for check in self.checks]
        data["tables"] = [{**table._asdict(), "rows": [list(row) for row in table.rows]} for table in self.tables]
        return data

    def to_json(self) -> str:
        """Return everything but the charts as JSON."""
        return json.dumps(finite(self.to_dict()), indent=2)


@dataclass(frozen=True)
class Experiment:
    """A claim and the function that measures it. Its parameters are sizes and a seed, all with defaults."""

    name: str
    title: str
    claim: str
    setting: str
    theorems: tuple[str, ...]
    function: Callable[..., Findings] = field(repr=False)
    quick: Mapping[str, Any] = field(default_factory=dict)
    """Sizes at which the experiment takes well below a second; empty if the default ones do."""
    sizes: Mapping[str, Size] = field(default_factory=dict)
    """The ranges of its sizes."""
    together: Sequence[Together] = ()
    """What the sizes must satisfy together."""

    @property
    def defaults(self) -> dict[str, Any]:
        """The parameters with their defaults."""
        return {name: each.default for name, each in inspect.signature(self.function).parameters.items()}

    @property
    def ranges(self) -> dict[str, Size]:
        """The range of each parameter."""
        return {name: range_of(name, self.sizes) for name in self.defaults}

    @property
    def summary(self) -> str:
        """The first sentence of the claim."""
        return self.claim.split(". ")[0].rstrip(".") + "."

    def to_dict(self) -> dict[str, Any]:
        """Return what is known before the experiment is run."""
        names = ("name", "title", "claim", "setting", "theorems")
        data = {name: getattr(self, name) for name in names} | {"sizes": self.defaults, "quick": dict(self.quick)}
        data["ranges"] = {name: [each.least, each.most] for name, each in self.ranges.items()}
        return data | {"together": [each.statement for each in self.together]}

    def run(self, **sizes: Any) -> Result:
        """Measure the claim, with other sizes than the default ones if they are passed."""
        defaults = self.defaults
        for name in sizes:
            if name not in defaults:
                known = f"its sizes are {', '.join(defaults)}"
                message = f"{self.name} has no size {name!r}{did_you_mean(name, list(defaults))}; {known}"
                raise InputError(message)
        used = checked(defaults, sizes, self.sizes, self.together)
        start = time.perf_counter()
        found = self.function(**used)
        seconds = time.perf_counter() - start
        return Result(
            *(self.name, self.title, self.claim, self.setting, self.theorems, used, found.conclusion),
            *(tuple(found.checks), tuple(found.tables), tuple(found.charts), seconds),
        )


def experiment(
    name: str,
    *,
    title: str,
    claim: str,
    setting: str,
    theorems: Sequence[str] = (),
    quick: Mapping[str, Any] | None = None,
    sizes: Mapping[str, Size] | None = None,
    together: Sequence[Together] = (),
) -> Callable[[Callable[..., Findings]], Experiment]:
    """Make an experiment of a function whose parameters are sizes and a seed.

    ``sizes`` are the ranges of the sizes, and ``together`` conditions on several of them. Without a range, a size is at
    most ten million.
    """

    def made(function: Callable[..., Findings]) -> Experiment:
        own = dict(quick or {}), dict(sizes or {}), tuple(together)
        return Experiment(name, title, claim, setting, tuple(theorems), function, *own)

    return made


def certified(who: str, *certificates: Certificate | RegretCertificate) -> Check:
    """Return the check that certificates of one theorem hold; of several, it reports the one nearest to its bound."""
    theorem = f"{who}: the theorem {certificates[0].theorem}"
    failed = [each for each in certificates if each.status != "holds"]
    if failed:
        return Check(theorem, False, f"{failed[0].status}: {failed[0].meaning()}")
    from mistakebound.certificates.certificate import Certificate  # noqa: PLC0415 - "lab" without a name needs none

    counting = [each for each in certificates if isinstance(each, Certificate)]
    if len(counting) < len(certificates):
        return Check(theorem, True, certificates[0].meaning())
    nearest = max(counting, key=lambda each: _counted(each) / max(each.bound, 1e-9))
    counted = many(nearest.mistakes, "mistake")
    if nearest.expected is not None:
        counted = f"{cell(nearest.expected)} expected mistakes"
    words = f"{counted} in {many(nearest.rounds, 'round')}, bound {cell(nearest.bound)}"
    several = f"{len(certificates)} certificates hold; nearest to its bound: " if len(certificates) > 1 else ""
    return Check(theorem, True, several + words)


def _counted(certificate: Certificate) -> float:
    """Return the mistakes that the theorem is about."""
    return certificate.mistakes if certificate.expected is None else certificate.expected


def doublings(least: int, most: int, factor: int = 2) -> list[int]:
    """Return ascending sizes up to ``most``, each at least ``factor`` times the one before, from about ``least``.

    >>> doublings(16, 100), doublings(16, 16), doublings(3, 100, 4)
    ([25, 50, 100], [16], [6, 25, 100])
    """
    found = [most]
    while found[-1] // factor >= least:
        found.append(found[-1] // factor)
    return found[::-1]


def has_words(table: Table, place: int) -> bool:
    """Return whether a column of a table has words; a dash or no text, for a missing number, is not a word.

    >>> table = Table("Bounds", ("who", "bound"), [("we", 2.5), ("they", "–"), ("you", "")])
    >>> has_words(table, 0), has_words(table, 1)
    (True, False)
    """
    return any(isinstance(row[place], str) and row[place] not in ("", cell(None)) for row in table.rows)


def cell(value: Any) -> str:
    """Return the text of a cell of a table.

    >>> [cell(value) for value in (20_000, 0.12345, 1234.5, float("inf"), None, "holds")]
    ['20,000', '0.1235', '1,234.5', '∞', '–', 'holds']
    """
    if value is None or isinstance(value, str):
        return value or "–"
    if isinstance(value, bool) or not isinstance(value, Real):
        return str(value)
    number = float(value)
    if not math.isfinite(number):
        return "–" if math.isnan(number) else "∞" if number > 0 else "−∞"
    if math.isclose(number, round(number), rel_tol=1e-12) and abs(number) < 1e15:
        return f"{number:,.0f}"
    return f"{number:,.1f}" if abs(number) >= 1000 else f"{number:.4g}"

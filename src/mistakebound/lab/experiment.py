"""An experiment of the lab: a claim, a setting, and a function that measures it by a seed."""

from __future__ import annotations

import inspect
import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._support.json_numbers import finite
from mistakebound._support.text import did_you_mean
from mistakebound.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mistakebound.certificates.certificate import Certificate
    from mistakebound.certificates.regret_certificate import RegretCertificate
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

    def to_json(self) -> str:
        """Return everything but the charts as JSON."""
        data = {name: getattr(self, name) for name in ("name", "title", "claim", "setting", "theorems", "conclusion")}
        data |= {"sizes": dict(self.sizes), "holds": self.holds, "seconds": self.seconds}
        data["checks"] = [check._asdict() for check in self.checks]
        data["tables"] = [{**table._asdict(), "rows": [list(row) for row in table.rows]} for table in self.tables]
        return json.dumps(finite(data), indent=2)


@dataclass(frozen=True)
class Experiment:
    """A claim and the function that measures it. Its parameters are sizes and a seed, all with defaults."""

    name: str
    title: str
    claim: str
    setting: str
    theorems: tuple[str, ...]
    function: Callable[..., Findings] = field(repr=False)

    @property
    def defaults(self) -> dict[str, Any]:
        """The parameters with their defaults."""
        return {name: each.default for name, each in inspect.signature(self.function).parameters.items()}

    def run(self, **sizes: Any) -> Result:
        """Measure the claim, with other sizes than the default ones if they are passed."""
        defaults = self.defaults
        for name, value in sizes.items():
            if name not in defaults:
                known = f"its sizes are {', '.join(defaults)}"
                message = f"{self.name} has no size {name!r}{did_you_mean(name, list(defaults))}; {known}"
                raise InputError(message)
            if isinstance(defaults[name], int) and (isinstance(value, bool) or value != int(value)):
                message = f"{name} must be a whole number, got {value!r}"
                raise InputError(message)
        used = {name: type(default)(sizes.get(name, default)) for name, default in defaults.items()}
        start = time.perf_counter()
        found = self.function(**used)
        seconds = time.perf_counter() - start
        return Result(
            *(self.name, self.title, self.claim, self.setting, self.theorems, used, found.conclusion),
            *(tuple(found.checks), tuple(found.tables), tuple(found.charts), seconds),
        )


def experiment(
    name: str, *, title: str, claim: str, setting: str, theorems: Sequence[str] = ()
) -> Callable[[Callable[..., Findings]], Experiment]:
    """Make an experiment of a function whose parameters are sizes and a seed."""

    def made(function: Callable[..., Findings]) -> Experiment:
        return Experiment(name, title, claim, setting, tuple(theorems), function)

    return made


def certified(who: str, certificate: Certificate | RegretCertificate) -> Check:
    """Return the check that a certificate holds; one that is vacuous does not, and the check says so."""
    holds = certificate.status == "holds"
    status = "" if holds else f"{certificate.status}: "
    return Check(f"{who}: the theorem {certificate.theorem}", holds, f"{status}{certificate.meaning()}")

"""Rules over experts and losses by the names that the command line has for them."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click

import mistakebound as mb

if TYPE_CHECKING:
    from mistakebound.cli.advice import Advice
    from mistakebound.losses import Loss

MIXING = {
    "ml-poly": "MLPoly",
    "ml-prod": "MLProd",
    "ml-ewa": "MLEwa",
    "boa": "BOA",
    "adahedge": "AdaHedge",
    "hedge": "Hedge",
    "squint": "Squint",
    "ogd": "OGD",
    "ridge": "Ridge",
    "exponentially-weighted-average": "ExponentiallyWeightedAverage",
    "fixed-share": "FixedShare",
}
FOLLOWING = {
    "weighted-majority": "WeightedMajority",
    "randomized-weighted-majority": "RandomizedWeightedMajority",
    "halving": "Halving",
}
ALIASES = {"ewa": "exponentially-weighted-average"}
LOSS_NAMES = ("square", "absolute", "percentage", "pinball:TAU", "log")


class Rules(click.Choice):  # type: ignore[type-arg]  # older versions of click have no argument there
    """Names between commas, each of which must be one of the choices."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """All of them."""
        convert = super().convert
        return [convert(each.strip(), param, ctx) for each in value.split(",")] if isinstance(value, str) else value


def in_one_row(_: click.Context, __: click.Parameter, value: tuple[list[str], ...]) -> tuple[str, ...]:
    """What was given in several options, and between commas."""
    return tuple(each for some in value for each in some)


def loss_of(_: click.Context, __: click.Parameter, value: str | None) -> Loss | None:
    """A loss by its name; refuse what is no loss of numbers."""
    if value is None:
        return None
    from mistakebound.losses import loss_named  # noqa: PLC0415 - "--help" needs none of it

    if value.partition(":")[0] not in {each.partition(":")[0] for each in LOSS_NAMES}:
        message = f"no loss {value!r}; there are {', '.join(LOSS_NAMES)}"
        raise click.BadParameter(message)
    try:
        return loss_named(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def losses_like(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Losses for the Tab key."""
    return [each.removesuffix("TAU") for each in LOSS_NAMES if each.startswith(incomplete)]


def rate_of(_: click.Context, __: click.Parameter, value: str | None) -> float | str | None:
    """A number, or "theorem"."""
    try:
        return value if value in (None, "theorem") else float(value)
    except ValueError:
        message = f"{value!r} is neither a number nor 'theorem'"
        raise click.BadParameter(message) from None


def rules_for(advice: Advice, rules: tuple[str, ...], loss: Loss | None) -> list[str]:
    """The rules that are meant: of one kind, for mistakes and losses cannot be compared."""
    from mistakebound.cli.advice import LABELS  # noqa: PLC0415

    labels = advice.kind == LABELS or (advice.only_zeros_and_ones and loss is None)
    if not rules:
        return ["weighted-majority" if labels else "ml-poly"]
    named = list(dict.fromkeys(ALIASES.get(rule, rule) for rule in rules if rule != "all"))
    if "all" in rules:
        follows = any(rule in FOLLOWING for rule in named) or (labels and not named)
        named = list(FOLLOWING if follows else MIXING)
    kinds = [next((rule for rule in named if rule in kind), None) for kind in (MIXING, FOLLOWING)]
    if all(kinds):
        message = f"{kinds[0]} has losses and {kinds[1]} counts mistakes, which cannot be compared: ask for one of them"
        raise click.UsageError(message)
    if advice.kind == LABELS and kinds[0]:
        message = f"{kinds[0]} mixes numbers, and {advice.outcome!r} holds words: --rule weighted-majority follows them"
        raise click.UsageError(message)
    return named


def refuse_loss(rule: str, loss: Loss | None) -> None:
    """Refuse a loss where mistakes are counted."""
    if loss is not None:
        message = f"{rule} counts mistakes: leave out --loss, or choose a rule that mixes numbers, such as ml-poly"
        raise click.UsageError(message)


def kind_of(rule: str) -> Any:
    """The class of a rule."""
    return getattr(mb.experts, {**MIXING, **FOLLOWING}[rule])


def refuse_parameters(rules: list[str], parameters: dict[str, Any]) -> None:
    """Refuse what none of the rules takes."""
    takes = {name for rule in rules for name in inspect.signature(kind_of(rule)).parameters}
    for name, value in parameters.items():
        if value is not None and name not in takes | {"loss"}:
            option = "--no-gradient" if name == "gradient" else f"--{name}"
            message = f"{option} is not a parameter of {' or '.join(rules)}"
            raise click.UsageError(message)


def refuse_misfits(rule: str, advice: Advice, loss: Loss, parameters: dict[str, Any]) -> None:
    """Refuse a rule that cannot take this advice or this loss."""
    if rule == "ridge" and (loss.id != "square" or advice.known.ndim == 3):
        message = "ridge is for the square loss of numbers; another rule, such as ml-poly, takes any"
        raise click.UsageError(message)
    if parameters.get("eta") == "theorem" and rule not in ALIASES.values():
        message = f"{rule} has no rate 'theorem': give a number; exponentially-weighted-average has one"
        raise click.UsageError(message)

"""The command line. Each command lives in a module of its own, which is imported when it is called."""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = {
    "run": "run",
    "predict": "model",
    "weights": "model",
    "verify": "verify",
    "bound": "about",
    "version": "about",
}
"""Commands, in the order of the help, and the modules that have them."""


class Commands(click.Group):
    """A group whose commands are imported when they are needed: starting quickly is part of being quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own signature
        """Names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return the command, or None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = getattr(import_module(f"mistakebound.cli.{COMMANDS[cmd_name]}"), cmd_name)
        return found


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Online learning that proves how few mistakes it makes.

    \b
    Examples:
      mistakebound run stream.svm                      learn, and show the mistakes
      mistakebound run train.vw.gz --save model.mb     ... and keep the model
      mistakebound predict model.mb new.svm            a prediction a line
      mistakebound weights model.mb                    the features that matter most
      mistakebound verify cert.json train.vw.gz        replay, and check a certificate
      mistakebound bound littlestone --n 100 --r 2     what a theorem allows
    """  # noqa: D301 - click reads the character \b

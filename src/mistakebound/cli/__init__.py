"""The command line. Each command lives in a module of its own, which is imported when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

COMMANDS = {
    "run": "run",
    "compare": "compare",
    "predict": "model",
    "weights": "model",
    "explain": "explain",
    "bound": "about",
    "bench": "bench",
    "version": "about",
}
"""Commands, in the order of the help, and the modules that have them."""


class Commands(click.Group):
    """A group whose commands are imported when they are needed: starting quickly is part of being quick."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        keep_lines(self)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own signature
        """Names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return the command, or None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = getattr(import_module(f"mistakebound.cli.{COMMANDS[cmd_name]}"), cmd_name)
        keep_lines(found)
        return found


def keep_lines(command: click.Command) -> None:
    r"""Let the help keep the lines of a paragraph that begins with \b, which click wants as one character."""
    command.help = (command.help or "").replace("\\b\n", "\b\n")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    r"""Online learning that proves how few mistakes it makes.

    \b
    From a table to a model and its predictions (new.csv may lack the label; then leave --label out):
      mistakebound run old.csv --label kind --save model.mb
      mistakebound predict model.mb new.csv --label kind

    \b
    More examples:
      mistakebound run stream.svm                      learn, and show the mistakes
      mistakebound run mail.csv --label kind --text subject --report mail.html
      mistakebound compare stream.svm                  every learner on the same stream
      mistakebound predict model.mb new.svm            a prediction a line
      mistakebound weights model.mb                    the features that matter most
      mistakebound explain model.mb new.svm            why each prediction was made
      mistakebound bound littlestone --n 100 --r 2     what a theorem allows
      mistakebound bench                               how fast it is here, beside others

    FILE is svmlight, VW text, a table (CSV, TSV, ...) or JSON lines, told by its content; plain, .gz, .zst, or - for
    standard input. `mistakebound COMMAND --help` says more of each command.
    """

"""The command line. Each command has its own module, which is imported when the command is called."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

from mistakebound._support.signals import exit_code, interrupt_cause, uninterrupted
from mistakebound.cli.help import EXIT_CODES, UNREAD, kept_as_written
from mistakebound.cli.output import raise_rendered

COMMANDS = {
    "run": "run",
    "compare": "compare",
    "experts": "experts",
    "forecasters": "forecasters",
    "predict": "model",
    "weights": "model",
    "explain": "model",
    "verify": "verify",
    "bound": "bound",
    "bench": "bench",
    "version": "installation",
    "completion": "installation",
}
"""Commands, in the order of the help, and the modules that have them."""


class Commands(click.Group):
    """A group whose commands are imported when they are needed: starting quickly is part of being quick."""

    def invoke(self, ctx: click.Context) -> object:
        """Call the command; Ctrl-C ends it as it ends any other program, and so does a reader (head) that has gone."""
        if sys.stdout is None:
            ctx.fail("standard output is closed, so nothing could be told: > /dev/null throws it away")
        try:
            uninterrupted.listen()
            return super().invoke(ctx)
        except KeyboardInterrupt as stopped:
            ctx.exit(exit_code(stopped))
        except BrokenPipeError:  # the reader, such as head, has seen enough: that is no error
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # where what is left may go
            ctx.exit(UNREAD)
        except Exception as error:  # noqa: BLE001 - what is not known is raised again
            if (interrupt := interrupt_cause(error)) is not None:
                ctx.exit(exit_code(interrupt))
            raise_rendered(error)

    def make_context(self, *words: Any, **more: Any) -> click.Context:
        """Read the options of the whole program; what is wrong with them is escaped, too."""
        try:
            return super().make_context(*words, **more)
        except click.ClickException as error:
            raise_rendered(error)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the text, with examples and tables line by line."""
        self.help = kept_as_written(self.help)
        super().format_help_text(ctx, formatter)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own signature
        """Names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return the command, or None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = getattr(import_module(f"mistakebound.cli.{COMMANDS[cmd_name]}"), cmd_name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is meant; of one that there is not, say which may have been meant."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches  # noqa: PLC0415 - seldom needed

            near = get_close_matches(args[0], COMMANDS, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(COMMANDS)}"
            ctx.fail(f"no such command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)


def tell_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's own
    """Do what "mistakebound version" does."""
    if wanted:
        from mistakebound.cli.installation import version  # noqa: PLC0415 - seldom needed

        context.invoke(version)
        context.exit()


@click.group(cls=Commands, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=tell_version, hidden=True)
def main() -> None:
    r"""Online learning that proves how few mistakes it makes.

    Examples come one at a time: predict, be told the truth, learn. A run shows how many predictions were wrong, and a
    theorem says how many could have been.

    \b
    From a CSV file to a model and its predictions:
      mistakebound run mail.csv --label kind --text subject --save model.mb
      mistakebound predict model.mb new.csv

    Here "kind" is the column to be predicted and "subject" a column of words. All other columns are features by
    themselves: numbers as they are (of very different sizes, better with --bins 4), anything else as categories. The
    model remembers all this; new.csv may have the column "kind" or not. Write "> FILE" to keep the predictions.

    \b
    More examples:
      mistakebound run stream.svm                        learn, and show the mistakes
      mistakebound run train.vw.gz --save model.mb       ... and keep the model
      mistakebound run stream.svm --report page.html     ... and all about it on a page
      mistakebound compare stream.svm                    every learner on the same stream
      mistakebound experts load.csv --outcome Load       mix forecasts, a column an expert
      mistakebound forecasters rain.csv --outcome rain   who is best, and is it clear yet?
      mistakebound predict model.mb new.svm              a prediction a line
      mistakebound weights model.mb                      the features that matter most
      mistakebound explain model.mb new.svm              why each prediction was made
      mistakebound run train.vw.gz --certificate c.json  learn, for others to check
      mistakebound verify c.json train.vw.gz             replay, and check it
      mistakebound bound littlestone --n 100 --r 2       what a theorem allows
      mistakebound bench                                 how fast it is here, beside others
      mistakebound completion bash                       for the Tab key

    \b
    Files are told apart by their content, not by their name:
      tables         CSV, TSV, columns separated by ; or spaces; with a header or not
      JSON lines     an object a line; what is nested is named a.b
      svmlight       label index:value ...
      VW text        label |namespace name:value ...
      Parquet, Arrow files, streams and Feather (needs pyarrow)

    Text may be packed (.gz, .zst). A single - is standard input: lines are learned as they come.

    "mistakebound COMMAND --help" tells all about a command.
    """

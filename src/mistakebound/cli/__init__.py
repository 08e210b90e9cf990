"""The command line. Each command has its own module, which is imported when the command is called."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

from mistakebound._support.signals import exit_code, interrupt_cause, uninterrupted
from mistakebound.cli.help import PIPE_CLOSED, RUN_EXIT_CODES, with_line_marks
from mistakebound.cli.output import WORDS, raise_rendered
from mistakebound.errors import closest

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
    "lab": "lab",
    "bench": "bench",
    "version": "installation",
    "completion": "installation",
}
"""The module of each command, in the order of the help."""


class Commands(click.Group):
    """A group of commands. Each command is imported when it is called, because imports take most of a short run."""

    def invoke(self, ctx: click.Context) -> object:
        """Call the command, and turn exceptions into messages and exit codes.

        Ctrl-C ends the command. So does a closed pipe: the program that read the output, such as head, has ended.
        """
        if sys.stdout is None:
            ctx.fail("standard output is closed: redirect it, for example with > /dev/null")
        try:
            uninterrupted.listen()
            return super().invoke(ctx)
        except KeyboardInterrupt as stopped:
            ctx.exit(exit_code(stopped))
        except BrokenPipeError:  # the reader, such as head, has ended: that is not an error
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the rest of the output
            ctx.exit(PIPE_CLOSED)
        except Exception as error:  # noqa: BLE001 - an unknown exception is raised again
            if (interrupt := interrupt_cause(error)) is not None:
                ctx.exit(exit_code(interrupt))
            raise_rendered(error)

    def make_context(self, *words: Any, **more: Any) -> click.Context:
        """Parse the options of the whole program; errors about them are escaped, too."""
        try:
            return super().make_context(*words, **more)
        except click.ClickException as error:
            raise_rendered(error)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options of the whole program; without arguments, show the help."""
        ctx.meta[WORDS] = list(args)
        return super().parse_args(ctx, args or ["--help"])

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the text; examples and tables keep their lines."""
        self.help = with_line_marks(self.help)
        super().format_help_text(ctx, formatter)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return the command; None if there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = getattr(import_module(f"mistakebound.cli.{COMMANDS[cmd_name]}"), cmd_name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name. An unknown name is an error that suggests a similar one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = closest(args[0], COMMANDS)
            hint = f"did you mean {near!r}?" if near else f"the commands are {', '.join(COMMANDS)}"
            ctx.fail(f"there is no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)


def show_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's signature
    """Handle ``--version``: do the same as ``mistakebound version``."""
    if wanted:
        from mistakebound.cli.installation import version  # noqa: PLC0415 - seldom needed

        context.invoke(version)
        context.exit()


@click.group(cls=Commands, epilog=RUN_EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=show_version, hidden=True)
def main() -> None:
    r"""Online learning that proves how few mistakes it makes.

    Each example is predicted first; then its label is read and learned. A run counts the wrong predictions, and a
    theorem limits how many there can be.

    \b
    From a CSV file to a model and its predictions:
      mistakebound run mail.csv --label kind --save model.mb
      mistakebound predict model.mb new.csv
      mistakebound predict model.mb new.csv --probabilities --csv
      mistakebound explain model.mb new.csv

    Here "kind" is the column to predict. Every other column becomes features: numbers of any size, categories, true and
    false, dates, missing cells and short texts need no option. The model stores the options, so "predict" needs none.
    In new.csv the column "kind" may be missing. Write "> FILE" after the command to keep the predictions. There may be
    any number of labels. "run --report page.html" shows how well calibrated the probabilities are, and which labels are
    confused. "run --positive LABEL --threshold P" learns one label against all others, and predicts it if
    its probability is at least P.

    \b
    More examples:
      mistakebound run stream.svm                        learn, count mistakes
      mistakebound run train.vw.gz --save model.mb       also save the model
      mistakebound run stream.svm --report page.html     also write a report
      mistakebound compare stream.svm                    rank all learners
      mistakebound experts load.csv --outcome Load       combine forecasts
      mistakebound forecasters rain.csv --outcome rain   rank forecasters
      mistakebound predict model.mb new.svm              one prediction per line
      mistakebound run train.vw.gz --learner arow --save arow.mb
      mistakebound weights arow.mb                       show the largest weights
      mistakebound explain arow.mb new.svm               show why
      mistakebound run train.vw.gz --certificate c.json  also write a certificate
      mistakebound verify c.json train.vw.gz             check the certificate
      mistakebound bound littlestone --n 100 --r 2       compute a bound
      mistakebound lab disjunctions                      check a theorem
      mistakebound bench                                 measure the speed
      mistakebound completion bash                       complete with Tab

    \b
    The format of a file is detected by its content, not by its name:
      tables          CSV, TSV, columns separated by ; or spaces
      JSON lines      one object per line; a nested key is named a.b
      svmlight        label index:value ...
      VW text         label |namespace name:value ...
      Parquet, Arrow  files, streams and Feather (needs pyarrow)

    Text may be compressed (.gz, .zst). A single - is standard input, whose lines are learned as they come.

    "mistakebound COMMAND --help" explains a command.
    """

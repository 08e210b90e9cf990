"""``mistakebound completion``: what a shell needs to complete commands, options and files."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from mistakebound.cli.manual import Manual

PROGRAM, VARIABLE = "mistakebound", "_MISTAKEBOUND_COMPLETE"


@click.command(cls=Manual, short_help="Complete commands with the Tab key.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    r"""Write the script that makes a shell complete commands, options and files with the Tab key.

    \b
    Try it in this shell:
      source <(mistakebound completion bash)
    \b
    Keep it:
      echo 'source <(mistakebound completion bash)' >> ~/.bashrc
      echo 'source <(mistakebound completion zsh)' >> ~/.zshrc
      mistakebound completion fish > ~/.config/fish/completions/mistakebound.fish
    """
    from mistakebound.cli import main  # noqa: PLC0415 - which imports this module

    kind = get_completion_class(shell)
    if kind is None:  # pragma: no cover - click knows all three
        raise click.UsageError(shell)
    script = kind(main, {}, PROGRAM, VARIABLE)
    click.echo(script.source_template % script.source_vars())

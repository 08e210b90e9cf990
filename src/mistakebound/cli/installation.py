"""``mistakebound version``, and ``mistakebound completion`` for shells."""

from __future__ import annotations

import sys

import click
from click.shell_completion import get_completion_class

import mistakebound as mb
from mistakebound.cli.help import Manual

PROGRAM, VARIABLE = "mistakebound", "_MISTAKEBOUND_COMPLETE"


@click.command(cls=Manual, short_help="Complete commands with the Tab key.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    r"""Write a script for a shell, which then completes commands, options and files with the Tab key.

    \b
    For the current shell:
      source <(mistakebound completion bash)

    \b
    For every new shell:
      echo 'source <(mistakebound completion bash)' >> ~/.bashrc
      echo 'source <(mistakebound completion zsh)' >> ~/.zshrc
      mistakebound completion fish > ~/.config/fish/completions/mistakebound.fish
    """
    from mistakebound.cli import main  # noqa: PLC0415 - it imports this module

    kind = get_completion_class(shell)
    if kind is None:  # pragma: no cover - click knows all three
        raise click.UsageError(shell)
    script = kind(main, {}, PROGRAM, VARIABLE)
    click.echo(script.source_template % script.source_vars())


@click.command(cls=Manual, short_help="Show the version.")
def version() -> None:
    """Show the versions of mistakebound and Python, and whether the core uses AVX2."""
    from mistakebound._core import has_avx2  # noqa: PLC0415

    click.echo(
        f"mistakebound {mb.__version__} (Python {sys.version.split()[0]}, {'AVX2' if has_avx2() else 'portable'})"
    )

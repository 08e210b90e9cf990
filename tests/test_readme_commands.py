"""The README's commands work as they stand, typed into an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif(os.name == "nt", reason="the README's shell is a Unix one")
def test_what_can_be_typed_as_it_stands_works(tmp_path: Path) -> None:
    """From a table to a model, predictions and why; each line of the block must succeed."""
    (block,) = (text for text in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if text.startswith("cat > mail.csv"))
    script = f'set -eu\nmistakebound() {{ "{sys.executable}" -m mistakebound "$@"; }}\n{block}'
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"mail.csv", "mail.mb", "mail.html", "new.csv"}
    for said in ("1 mistake in 12 rounds", "new.csv:2: predicted ham", "subject=lunch", "winnow --alpha 2", "44.0"):
        assert said in done.stdout, said


@pytest.mark.skipif(os.name == "nt", reason="the README's shell is a Unix one")
def test_the_experts_of_the_readme_can_be_typed(tmp_path: Path) -> None:
    (block,) = (text for text in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if text.startswith("cat > load.csv"))
    script = f'set -eu\nmistakebound() {{ "{sys.executable}" -m mistakebound "$@"; }}\n{block}'
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for said in ("3 rounds of load, 3 experts, square loss", "holds", "load.csv:5: ", "adahedge", "not experts: day"):
        assert said in done.stdout, said


def test_every_command_is_in_the_readme() -> None:
    from mistakebound.cli import COMMANDS

    for name in COMMANDS:
        assert f"mistakebound {name} " in README or f"`mistakebound {name}`" in README or name == "version", name


def test_help_keeps_its_lines(tmp_path: Path) -> None:
    """Examples stand one a line, in the help of all and of each command; every command is listed in a few words."""
    from click.testing import CliRunner

    from mistakebound.cli import COMMANDS, main

    told = CliRunner().invoke(main, ["--help"]).output
    assert "    mistakebound run mail.csv --label kind --text subject --save model.mb\n" in told
    for name in COMMANDS:
        assert re.search(rf"^  {name} +[A-Z][^.]+\.$", told, re.MULTILINE), name
        assert "\\b" not in CliRunner().invoke(main, [name, "--help"]).output
    assert "    mistakebound compare stream.svm\n" in CliRunner().invoke(main, ["compare", "--help"]).output

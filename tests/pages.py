"""The README and the pages in docs/: their code blocks, and how to run them.

A page is read from top to bottom in one empty folder. A block ```` ```sh ````, ```` ```bash ```` or ```` ```python ````
must succeed. A block ```` ```text ```` that directly follows one of them shows its output: its lines occur in the
output in this order, and ``...`` stands for any text. A comment before a block changes this:

- ``<!-- not run: REASON -->``: the block is not run; its commands and options must exist.
- ``<!-- run until Ctrl-C -->``: the block never ends by itself; it is stopped by Ctrl-C after its first rounds.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import click
from processes import DEADLINE, lines_of, running, wait_until

from mistakebound.cli import COMMANDS, main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN = ("sh", "bash", "python")
UNTIL_CTRL_C = "run until Ctrl-C"


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str
    remark: str
    """The comment before it, or nothing."""
    follows: bool
    """Whether only blank lines stand between it and the block before it."""


def blocks_of(page: str) -> list[Block]:
    """All fenced blocks of a page, in order."""
    found, end = [], 0
    for match in re.finditer(r"(?:<!-- (.*?) -->\n)?^```(\w*)\n(.*?)^```\n", page, re.DOTALL | re.MULTILINE):
        follows = bool(found) and not page[end : match.start()].strip()
        found.append(Block(match[2], match[3], match[1] or "", follows))
        end = match.end()
    return found


def run_page(page: Path, folder: Path) -> list[str]:
    """Run the blocks of a page in a folder; return the output of each. AssertionError shows the block that fails."""
    outputs: list[str] = []
    environment = with_commands(folder.parent / "bin")
    for block in blocks_of(page.read_text(encoding="utf-8")):
        if block.remark.startswith("not run: "):
            check_commands(block.text)
        elif block.remark == UNTIL_CTRL_C:
            outputs.append(until_ctrl_c(block, folder, environment))
        elif block.language in RUN:
            outputs.append(run_block(block, folder, environment))
        elif block.language == "text":
            if block.follows:
                assert shows(outputs[-1], block.text), f"expected\n{block.text}\ngot\n{outputs[-1]}"
        else:
            assert block.language == "", f"a block is {block.language!r}, which is not run: say so, or write text"
    return outputs


def with_commands(folder: Path) -> dict[str, str]:
    """The environment of the blocks: ``mistakebound`` and ``python`` are those that run the tests."""
    folder.mkdir()
    for name, words in (("mistakebound", "-m mistakebound"), ("python", "")):
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (folder / name).chmod(0o755)
    path = os.pathsep.join([str(folder), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "MPLBACKEND": "agg", "COLUMNS": "80"}


def command_of(block: Block) -> tuple[str, ...]:
    """The program that runs a block."""
    return (sys.executable, "-W", "error", "-c") if block.language == "python" else (block.language, "-euc")


def run_block(block: Block, folder: Path, environment: dict[str, str]) -> str:
    """Run a block, and return what it writes to standard output and standard error."""
    done = subprocess.run(
        [*command_of(block), block.text],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=DEADLINE,
    )
    assert done.returncode == 0, f"exit code {done.returncode} of\n{block.text}\n{done.stdout}"
    return done.stdout


def until_ctrl_c(block: Block, folder: Path, environment: dict[str, str]) -> str:
    """Run a block of one command, and press Ctrl-C after the header and two lines of its table."""
    output = folder / "output"
    words = f"exec {block.text.strip()} > {output.name}"
    with running(words, program=("sh", "-euc"), cwd=folder, env=environment) as process:
        wait_until(lambda: lines_of(output) >= 3, process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, errors
    text = output.read_text(encoding="utf-8")
    output.unlink()
    return text


def shows(output: str, expected: str) -> bool:
    """Whether the lines occur in the output, in order; other lines may stand between them."""
    lines = iter(output.splitlines())
    for wanted in expected.splitlines():
        if wanted == "...":
            continue
        pattern = ".*".join(re.escape(part) for part in wanted.rstrip().split("..."))
        if not any(re.fullmatch(pattern, line.rstrip()) for line in lines):
            return False
    return True


# ---------------------------------------------------------------- commands that are not run


def check_commands(text: str) -> None:
    """Check that each line of a block calls something that exists, with options that exist."""
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["mistakebound"]:
            check_options(words[1], words[2:])
        elif words[:1] == ["make"]:
            targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
            assert words[1] in targets, line
        elif words[:2] == ["pip", "install"]:
            check_package(words[-1])
        elif words[:1] == ["python"]:
            source = (ROOT / words[1]).read_text(encoding="utf-8")
            for option in words[2:]:
                assert not option.startswith("--") or f'"{option}"' in source, line
        elif words and words[:2] != ["git", "clone"]:
            message = f"nothing checks this line of a block that is not run: {line}"
            raise AssertionError(message)


def check_options(command: str, words: list[str]) -> None:
    """Check that a command has all options among the words."""
    known = options_of(command)
    for word in words:
        assert not word.startswith("--") or word in known, f"mistakebound {command} has no option {word}"


def check_package(package: str) -> None:
    """Check that what is installed is this project, with extras that it has."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = re.fullmatch(r"\.(?:\[([\w,]+)\])?", package)
    assert extras, package
    for name in (extras[1] or "").split(","):
        assert not name or re.search(rf"^{name} = \[", project, re.MULTILINE), name


def options_of(command: str) -> set[str]:
    """All options of a command of ``mistakebound``, as they are typed."""
    found: Any = main.get_command(click.Context(main), command)
    assert found is not None, f"there is no command {command}"
    return {name for each in found.params for name in (*each.opts, *each.secondary_opts) if name.startswith("-")}


def all_options() -> set[str]:
    """The options of all commands."""
    return {"--help", "-h"}.union(*(options_of(name) for name in COMMANDS))

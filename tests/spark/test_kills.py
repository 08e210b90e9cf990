"""Processes that are killed change nothing in what is learned: a few kills by the programs in benchmarks/."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from pages import ROOT

KILLED = {
    "kill_stream.py": ["--rows", "200", "--longest-wait", "0", "--only-killed"],
    "kill_executors.py": ["--rows", "40000", "--longest-wait", "0", "--speculation", "on"],
}


@pytest.mark.parametrize("program", KILLED)
def test_three_kills_change_nothing(program: str) -> None:
    command = [sys.executable, ROOT / "benchmarks" / program, "--kills", "3", *KILLED[program]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(r"^\| (\d+) \| .* \|$", done.stdout, re.MULTILINE)
    if program == "kill_stream.py":
        assert rows == ["1", "2", "3"]
        assert done.stdout.count("| yes |") == 4
    else:
        assert sum(map(int, rows)) == 3
        assert "NO" not in done.stdout

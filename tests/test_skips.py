"""The last line of a test run reports the skipped tests and their reasons."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest

@pytest.mark.parametrize("name", ["a", "b"])
def test_data(name):
    pytest.skip("no data")

@pytest.mark.skipif(True, reason="no signals")
def test_signals():
    pass

def test_passes():
    pass
"""


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize(
    ("chosen", "line"), [("test", "skipped: 3 (2: no data; 1: no signals)"), ("test_passes", "skipped: none")]
)
def test_the_last_line_says_what_was_skipped(chosen: str, line: str, workers: str, tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "-k", chosen, "-n", workers]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == line

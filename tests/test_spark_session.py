"""The tests of Spark are skipped with one reason where Spark cannot run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import spark_session

OUTPUTS = {
    'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6)': 17,
    'Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21-ea" 2023-09-19': 21,
    'java version "1.8.0_292"': 8,
    "Error: could not open `/usr/lib/jvm.cfg'": None,
    "": None,
}


@pytest.mark.parametrize("output", OUTPUTS)
def test_the_version_of_java_is_read(output: str) -> None:
    assert spark_session.java_version(output) == OUTPUTS[output]


def install_java(folder: Path, *lines: str) -> None:
    """Write a program in place of Java."""
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    java.chmod(0o755)


def last_line(*words: str, **variables: str) -> str:
    """Return the last line of a run of the tests of Spark."""
    tests = Path(__file__).parent
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests / "spark"), *words]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    done = subprocess.run(command, cwd=tests.parent, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, pytest.ExitCode.NO_TESTS_COLLECTED), done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.skipif(os.name == "nt", reason="the program in place of Java is a script of a Unix shell")
@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_last_line_says_why_spark_cannot_run(tmp_path: Path, workers: str) -> None:
    pytest.importorskip("pyspark")
    found = last_line("-n", workers, JAVA_HOME=str(tmp_path / "nowhere"))
    assert re.fullmatch(r"skipped: (\d+) \(\1: there is no Java 17 or later for Spark\)", found), found


@pytest.mark.skipif(os.name == "nt", reason="the program in place of Java is a script of a Unix shell")
@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["echo 'java version \"1.8.0_292\"' >&2"], "Spark needs Java 17 or later; {java} is Java 8"),
        (["exit 1"], "Spark needs Java 17 or later; {java} is Java of an unknown version"),
        (
            ['case "$1" in --add-modules*) exit 1;; esac', "echo 'openjdk version \"21.0.2\"' >&2"],
            "Spark needs Java with the module jdk.incubator.vector, which {java} lacks",
        ),
    ],
)
def test_java_that_spark_cannot_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], reason: str
) -> None:
    pytest.importorskip("pyspark")
    install_java(tmp_path, *lines)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert spark_session.missing.__wrapped__() == reason.format(java=tmp_path / "bin" / "java")

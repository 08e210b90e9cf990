"""A Spark session for the tests, on two threads of this machine, and the reason if there can be none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

OLDEST_JAVA = 17
VECTORS = "jdk.incubator.vector"
"""A module of Java that Spark asks for when it starts."""
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
"""Options of Java for programs that run for seconds."""


@cache
def missing() -> str | None:
    """Return why Spark cannot run here; None if it can."""
    if find_spec("pyspark") is None:
        return "pyspark is not installed"
    java = java_command()
    if java is None:
        return f"there is no Java {OLDEST_JAVA} or later for Spark"
    version = java_version(java_says(java, "-version"))
    if version is None or version < OLDEST_JAVA:
        return f"Spark needs Java {OLDEST_JAVA} or later; {java} is Java {version or 'of an unknown version'}"
    if java_version(java_says(java, f"--add-modules={VECTORS}", "-version")) is None:
        return f"Spark needs Java with the module {VECTORS}, which {java} lacks"
    return None


def java_command() -> str | None:
    """Return the Java that Spark starts: that of JAVA_HOME, otherwise the first one on the path."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")


def java_says(*command: str) -> str:
    """Return the output of Java; empty if it failed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr + done.stdout if done.returncode == 0 else ""


def java_version(output: str) -> int | None:
    """Return the major version in what ``java -version`` writes: of 1.8.0 it is 8."""
    found = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(found[1]) if found else None


def start(master: str = "local[2]", settings: Mapping[str, str] | None = None) -> Any:
    """Start a session without logs and web pages."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    chosen = {
        "spark.driver.extraJavaOptions": QUICK,
        "spark.driver.memory": "1g",
        "spark.log.level": "OFF",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **(settings or {}),
    }
    return SparkSession.builder.master(master).config(map=chosen).getOrCreate()


def stop(session: Any) -> None:
    """Stop a session, and wait until its Java process has ended."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()  # this ends the process
    gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = None

"""Options out of range raise an error: of the command, of `Source` and in a model file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from files import call

import mistakebound as mb
from mistakebound.data.options import Reading
from mistakebound.errors import ModelError

ODD = "k\udcff"
"""As Python has an argument that is not UTF-8."""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    path.write_text("x,k\n1,0\n2,1\n")
    return path


@pytest.mark.parametrize("command", ["run", "compare"])
@pytest.mark.parametrize(
    ("option", "value"),
    [
        *[("words", value) for value in (3_000_000_000, 1001, -1, 2**70)],
        *[("letters", value) for value in (2**31, -1)],
        *[("bins", value) for value in (2**31, -1)],
        *[("skip-bad", value) for value in (-1, 2**64)],
        *[("threads", value) for value in (100_000, 257, 0, -3)],
        *[(name, ODD) for name in ("label", "positive", "separator", "text", "categorical", "ignore")],
        ("interact", f"x,{ODD}"),
    ],
)
def test_the_command_names_an_option_out_of_range(command: str, option: str, value: Any, table: Path) -> None:
    output = call(command, table, "--label", "k", f"--{option}", value, fails=2)
    assert option in output.replace("_", "-")


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"threads": 0}, r"threads.*\b0"),
        ({"threads": 1.5}, "threads.*1.5"),
        ({"skip_bad": -1}, "skip_bad.*-1"),
        ({"label": ODD}, "label.*UTF-8"),
        ({"table": {"words": 2**31}}, f"words.*{2**31}"),
        ({"table": {"interact": [("x", ODD)]}}, "interact.*UTF-8"),
    ],
)
def test_a_source_with_options_out_of_range_raises_an_error(options: dict[str, Any], names: str, table: Path) -> None:
    """It is raised before a file is opened."""
    with pytest.raises(ValueError, match=names):
        mb.Source(table.with_name("nowhere"), **options)


@pytest.mark.parametrize(
    "said", [{"words": 2**31}, {"letters": -1}, {"bins": 2**40}, {"separator": ODD}, {"text": [ODD]}]
)
def test_model_files_with_options_out_of_range(said: dict[str, Any]) -> None:
    """A model file may say anything; one that we have written says nothing of this kind."""
    reading: dict[str, Any] = {"format": "table", "label": "k", "zero_based": False, "table": {}}
    assert Reading.from_json(reading).label == "k"
    for wrong in ({**reading, "table": said}, {**reading, "label": ODD}):
        with pytest.raises(ModelError, match="reading"):
            Reading.from_json(wrong)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on memory")
@pytest.mark.parametrize("command", ["run", "compare"])
def test_one_index_that_takes_all_memory(command: str, tmp_path: Path) -> None:
    """The largest index of svmlight takes gigabytes: if there is too little memory, the error names the line."""
    path = tmp_path / "wide.svm"
    path.write_text("1 1:1\n-1 2:1\n\n1 1:1 2147483646:1\n-1 3:1\n")
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30));"
        "from mistakebound.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", limited, command, path], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert all(name in done.stderr for name in (f"{path}:4: ", "memory", "2147483646"))

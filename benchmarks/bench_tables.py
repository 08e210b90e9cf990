"""Measure the errors of the Panel on tables in their raw files, read with no option but the label.

    python benchmarks/bench_tables.py [--data FOLDER] [--sets sms_spam,elec2]

FOLDER is as in bench_bounds.py. Each file is read as it was published, except that the parts of ppattach are unpacked
and joined in the order training, devset, test. "command" is what the script runs, without `mistakebound run`. "plain"
is the error with the option --plain, which reads numbers as they are, and any other cell as one category. The time is
that of reading and learning, in one run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from outside_data import add_data_option

import mistakebound as mb
from mistakebound.data.json_keys import listed

if TYPE_CHECKING:
    from collections.abc import Mapping


class Table(NamedTuple):
    """A file of the data folder, and the options that say where its labels are."""

    file: str
    options: Mapping[str, str] = MappingProxyType({})


TABLES = {
    "a9a": Table("a9a/a9a.gz"),
    "elec2": Table("elec2/elec2_data.dat.gz", {"labels": "elec2/elec2_label.dat.gz"}),
    "house_votes_84": Table("house_votes_84/house-votes-84.data", {"label": "1"}),
    "kdd99_10pct": Table("kdd99_10pct/kddcup.data_10_percent.gz", {"label": "42", "positive": "normal."}),
    "mushroom": Table("mushroom/agaricus-lepiota.data.gz", {"label": "1"}),
    "ppattach": Table("ppattach/ppattach.zip", {"label": "6"}),
    "sms_spam": Table("sms_spam/SMSSpamCollection.gz", {"label": "1"}),
}


def unpacked(archive: Path, folder: Path) -> Path:
    """Return a file with the three parts of ppattach, one after another."""
    path = folder / "ppattach.txt"
    with zipfile.ZipFile(archive) as parts:
        path.write_bytes(b"".join(parts.read(f"ppattach/{part}") for part in ("training", "devset", "test")))
    return path


def source_of(name: str, data: Path, folder: Path, **more: Any) -> mb.Source:
    table = TABLES[name]
    path = data / table.file
    files = {key: data / value for key, value in table.options.items() if key == "labels"}
    return mb.Source(unpacked(path, folder) if path.suffix == ".zip" else path, **{**table.options, **files}, **more)


def command(name: str) -> str:
    table = TABLES[name]
    file = "ppattach.txt" if table.file.endswith(".zip") else Path(table.file).name
    return " ".join([file, *(f"--{key} {Path(value).name}" for key, value in table.options.items())])


def chosen(parser: argparse.ArgumentParser, names: str) -> list[str]:
    wanted = names.split(",")
    for name in wanted:
        if name not in TABLES:
            parser.error(f"there is no set {name!r}; the sets are {listed(TABLES)}")
    return wanted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(TABLES), help="names with commas between them")
    add_data_option(parser)
    options = parser.parse_args()
    names = chosen(parser, options.sets)
    if not options.data.is_dir():
        sys.exit(f"{options.data} does not exist: pass the data folder with --data, or set MISTAKEBOUND_DATA")
    print(f"{'':14} {'rounds':>8} {'mistakes':>8} {'error':>8} {'plain':>8} {'log loss':>8} {'seconds':>8}  command")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            if not (options.data / TABLES[name].file).is_file():
                print(f"{name:14} skipped: {options.data / TABLES[name].file} does not exist")
                continue
            source = source_of(name, options.data, Path(folder))
            start = time.perf_counter()
            ledger = mb.Panel().run(source)
            seconds = time.perf_counter() - start
            plain = "–"
            if name != "a9a":  # svmlight has no cells
                without = mb.Panel().run(source.but(table={"auto": False}))
                plain = f"{without.mistakes / without.rounds:.5f}"
            print(
                f"{name:14} {ledger.rounds:>8,} {ledger.mistakes:>8,} {ledger.mistakes / ledger.rounds:>8.5f} ", end=""
            )
            print(f"{plain:>8} {ledger.measures.log_loss:>8.4f} {seconds:>8.1f}  {command(name)}", flush=True)


if __name__ == "__main__":
    main()

"""Kill a streaming query again and again, and check that every row is learned and predicted exactly once.

    python benchmarks/kill_stream.py [--kills 20] [--seed 0] [--rows 2000]

Files of rows are learned by a query with ``mistakebound.spark.StreamingClassifier``, a batch for each file. Its
processes (Python and Java) are ended with SIGKILL at a random moment: after one or two batches, when a file of the
next batch appears (see MOMENTS), and after a random wait. Then the query is started again with the same checkpoint.
Model and predictions must equal those of the same query that was never stopped, and of a learner without Spark.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import mistakebound as mb
from mistakebound.learners.linear import KINDS
from mistakebound.models.model_file import fingerprint, load_with_progress

FEATURES = 20
SCHEMA = "features array<double>, label long, t long"
MOMENTS = {
    "its batch is saved": "m.mb",
    "Spark has planned the next batch": "checkpoint/offsets/{next}",
    "rows with predictions are being written": "predictions/*/batch={next:012d}/_temporary",
    "rows with predictions are written": "predictions/*/batch={next:012d}/_SUCCESS",
    "the model file is being written": ".m.mb.*",
    "Spark has noted the end of the next batch": "checkpoint/commits/{next}",
}
"""Files of a query that appear while it learns, by what they mean."""


def write_files(folder: Path, files: int, rows: int, seed: int) -> None:
    """Write Parquet files that are read one after another."""
    folder.mkdir()
    rng = np.random.default_rng(seed)
    target = rng.normal(size=FEATURES)
    for number in range(files):
        X = rng.normal(size=(rows, FEATURES))
        y = (X @ target + rng.normal(size=rows) > 0).astype(int)
        table = pa.table({"features": list(X), "label": y, "t": np.arange(rows) + number * rows})
        file = folder / f"{number:05d}.parquet"
        pq.write_table(table, file)
        os.utime(file, (number + 1, number + 1))


def new_learner() -> mb.Panel:
    return mb.Panel(classes=(0, 1))


def learn(files: Path, folder: Path) -> None:
    """Run the query until all files are learned."""
    from spark_local import QUICK, session

    from mistakebound.spark import StreamingClassifier

    spark = session("local[2]", {"spark.driver.extraJavaOptions": QUICK})
    learner = StreamingClassifier(folder / "m.mb", new_learner(), orderCol="t", predictions=folder / "predictions")
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(files))
    writer = rows.writeStream.foreachBatch(learner).option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()


def start(files: Path, folder: Path) -> subprocess.Popen[bytes]:
    """Start the query in a process group of its own, which Java joins."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, __file__, "--learn", str(files), str(folder)]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


class Watched:
    """A query in a folder that is being watched."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self.process, self.folder, self.model = process, folder, folder / "m.mb"
        self._seen: tuple[int, int] = (-1, -1)

    def last_batch(self) -> int:
        """Return the last batch in the model file; −1 without a file. The file is read only if it has changed."""
        version = self.model.stat().st_ino if self.model.exists() else -1
        if version != self._seen[0]:
            progress = load_with_progress(self.model, KINDS)[1]
            self._seen = version, -1 if progress is None else progress["batch"]
        return self._seen[1]

    def waits(self) -> bool:
        """Return whether the query still runs, after a short pause."""
        time.sleep(0.001)
        return self.process.poll() is None

    def kill(self, batches: int, pattern: str, wait: float) -> bool:
        """Kill the query when it has learned so many batches, and then a file appears; return whether it still ran.

        If the file is not seen, because it exists for a short time only, the query is killed two batches later.
        """
        goal = self.last_batch() + batches
        while self.last_batch() < goal and self.waits():
            pass
        wanted = pattern.format(next=goal + 1)
        while not any(self.folder.glob(wanted)) and self.last_batch() < goal + 2 and self.waits():
            pass
        time.sleep(wait)
        if self.process.poll() is not None:
            return False
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        return True


def finished(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait until a query has learned all files."""
    if process.wait():
        sys.exit(f"the query failed:\n{(folder / 'log').read_text()}")


def predicted(folder: Path) -> list[tuple[int, int]]:
    """Return the numbers and predictions of the rows in the folder of predictions, in the order of the numbers."""
    found = [
        pq.read_table(file, columns=["t", "prediction"], partitioning=None)
        for file in (folder / "predictions").glob("query=*/batch=*/*.parquet")
    ]
    return sorted((row["t"], int(row["prediction"])) for table in found for row in table.to_pylist())


def learned_alone(files: Path) -> tuple[str, int, list[tuple[int, int]]]:
    """Return the fingerprint, rounds and predictions of a learner that learns the files without Spark."""
    learner, numbered = new_learner(), []
    for file in sorted(files.iterdir()):
        table = pq.read_table(file).to_pydict()
        ledger = learner.run(table["features"], table["label"])
        numbered += zip(table["t"], ledger.predictions.tolist(), strict=True)
    return fingerprint(learner), learner.ledger_.rounds, numbered


def learned_in(folder: Path) -> tuple[str, int, list[tuple[int, int]]]:
    """Return the same of a query."""
    learner = mb.load(folder / "m.mb")
    return fingerprint(learner), learner.ledger_.rounds, predicted(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=2000, help="rows of each file")
    parser.add_argument("--longest-wait", type=float, default=0.2, help="seconds between a moment and its kill")
    parser.add_argument("--only-killed", action="store_true", help="without the query that is never stopped")
    parser.add_argument("--learn", nargs=2, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.learn:
        learn(*options.learn)
        return
    with tempfile.TemporaryDirectory() as temporary:
        files, killed, undisturbed = (Path(temporary) / name for name in ("files", "killed", "undisturbed"))
        write_files(files, 3 * options.kills + 4, options.rows, options.seed)
        if not options.only_killed:
            finished(start(files, undisturbed), undisturbed)
        kill_all(files, killed, options.kills, options.longest_wait, random.Random(options.seed))
        same = [learned_alone(files), *([] if options.only_killed else [learned_in(undisturbed)])]
        report(learned_in(killed), same)


def kill_all(files: Path, folder: Path, kills: int, longest_wait: float, rng: random.Random) -> None:
    """Kill the query so many times, then let it end."""
    print("| kill | moment | last batch in the model file |\n|---|---|---|", flush=True)
    for kill in range(1, kills + 1):
        what = rng.choice(list(MOMENTS))
        watched = Watched(start(files, folder), folder)
        if not watched.kill(rng.randint(1, 2), MOMENTS[what], rng.uniform(0, longest_wait)):
            sys.exit(f"the query ended before it was killed:\n{(folder / 'log').read_text()}")
        print(f"| {kill} | {what} | {watched.last_batch()} |", flush=True)
    finished(start(files, folder), folder)


def report(found: tuple[str, int, list[Any]], expected: list[tuple[str, int, list[Any]]]) -> None:
    """Compare what the killed query has learned with what others have; end with an error if it differs."""
    rows = len(expected[0][2])
    checks = {
        "the model is the same": all(found[0] == each[0] for each in expected),
        f"{rows:,} rows are learned, each once": found[1] == rows,
        "each row is predicted once": [row for row, _ in found[2]] == list(range(rows)),
        "its prediction is the same": all(found[2] == each[2] for each in expected),
    }
    print("\n| check | |\n|---|---|")
    for check, holds in checks.items():
        print(f"| {check} | {'yes' if holds else 'NO'} |")
    print(f"\nfingerprint: {found[0]}")
    if not all(checks.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()

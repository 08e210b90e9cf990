"""Kill executors again and again while a learner is fitted on Spark, and check that the result stays the same.

    python benchmarks/kill_executors.py [--kills 100] [--seed 0] [--rows 200000] [--learner Panel] [--speculation half]

A Spark cluster with two executors, processes of this machine, fits ``mistakebound.spark.OnlineClassifier`` on four
shards in three epochs. While tasks are active, an executor is ended with SIGKILL after a random wait; Spark starts a
new one, and repeats the tasks that were lost. With ``half``, half of the kills are made while Spark speculates: a slow
task runs a second time beside itself. Each fit must give the model of the fit that was not disturbed.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from spark_local import QUICK, session

from mistakebound.learners.linear import KINDS
from mistakebound.models.model_file import fingerprint
from mistakebound.spark import OnlineClassifier

if TYPE_CHECKING:
    from collections.abc import Callable

FEATURES = 20
BACKEND = "CoarseGrainedExecutorBackend"
"""The class of an executor, in its command line."""
SETTINGS = {
    "spark.deploy.maxExecutorRetries": "-1",  # by default, a cluster gives up after ten executors
    "spark.task.maxFailures": "100000",
    "spark.stage.maxConsecutiveAttempts": "100000",
    "spark.executor.extraJavaOptions": QUICK,
    "spark.driver.extraJavaOptions": QUICK,
}
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.25",
    "spark.speculation.minTaskRuntime": "0",
}


def write_rows(path: Path, rows: int, seed: int) -> None:
    """Write rows with labels of a linear rule with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, FEATURES))
    y = X @ rng.normal(size=FEATURES) + rng.normal(size=rows) > 0
    features = pa.FixedSizeListArray.from_arrays(X.ravel(), FEATURES).cast(pa.list_(pa.float64()))
    pq.write_table(pa.table({"features": features, "label": y.astype(int), "t": np.arange(rows)}), path)


def spark_home(folder: Path) -> Path:
    """Return a copy of the home of Spark, made of links, in which a cluster may write the logs of its executors."""
    folder.mkdir()
    for name in ("bin", "jars"):
        (folder / name).symlink_to(Path(pyspark.__file__).parent / name)
    return folder


class Cluster:
    """A cluster of two executors on this machine, which learns the rows of a file."""

    def __init__(self, rows: Path, learner: str, *, speculation: bool) -> None:
        settings = {**SETTINGS, **(SPECULATION if speculation else {})}
        self.spark = session("local-cluster[2,1,1024]", settings)
        self.rows, self.learner = self.spark.read.parquet(str(rows)), KINDS[learner]()
        self.speculation = "yes" if speculation else "no"

    def fit(self) -> str:
        """Return the fingerprint of the learner that is fitted."""
        estimator = OnlineClassifier(learner=self.learner, orderCol="t", shards=4, epochs=3)
        return fingerprint(estimator.fit(self.rows).learner)

    def executors(self) -> list[int]:
        """Return the processes of the executors. They are children of the driver."""
        driver = self.spark.sparkContext._jvm.java.lang.ProcessHandle.current()  # noqa: SLF001
        return sorted(
            child.pid() for child in driver.children().toArray() if BACKEND in child.info().commandLine().orElse("")
        )

    def is_active(self) -> bool:
        """Return whether both executors run, and a task is active."""
        tracker = self.spark.sparkContext.statusTracker()
        stages = filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds()))
        return any(stage.numActiveTasks for stage in stages) and len(self.executors()) == 2

    def lost_tasks(self) -> int:
        """Return how many tasks of this cluster have failed, in the last attempt of each stage."""
        tracker = self.spark.sparkContext.statusTracker()
        jobs = filter(None, map(tracker.getJobInfo, tracker.getJobIdsForGroup()))
        numbers = {stage for job in jobs for stage in job.stageIds}
        return sum(stage.numFailedTasks for stage in filter(None, map(tracker.getStageInfo, numbers)))


class Fit(NamedTuple):
    """One fit while executors were killed."""

    fingerprint: str
    kills: int
    lost_tasks: int


def disturbed_fit(cluster: Cluster, kills: int, longest_wait: float, rng: random.Random) -> Fit:
    """Fit while at most this many executors are killed."""
    before, done, found = cluster.lost_tasks(), 0, Later(cluster.fit)
    while done < kills and found.waits():
        if not cluster.is_active():
            continue
        time.sleep(rng.uniform(0, longest_wait))
        if executors := cluster.executors():
            os.kill(rng.choice(executors), signal.SIGKILL)
            done += 1
    return Fit(found.result(), done, cluster.lost_tasks() - before)


class Later:
    """The result of a function that runs in a thread."""

    def __init__(self, function: Callable[[], str]) -> None:
        self._found: list[Any] = []
        self._thread = threading.Thread(target=self._run, args=[function])
        self._thread.start()

    def _run(self, function: Callable[[], str]) -> None:
        try:
            self._found.append(function())
        except Exception as error:  # noqa: BLE001 - it is raised in the thread that waits
            self._found.append(error)

    def waits(self) -> bool:
        """Return whether the function still runs, after a short pause."""
        self._thread.join(0.01)
        return self._thread.is_alive()

    def result(self) -> str:
        """Wait for the result."""
        self._thread.join()
        (found,) = self._found
        if isinstance(found, Exception):
            raise found
        return str(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--kills-of-a-fit", type=int, default=5, help="at most")
    parser.add_argument("--learner", choices=KINDS, default="Panel")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--longest-wait", type=float, default=1.0, help="seconds between an active task and a kill")
    parser.add_argument("--speculation", choices=["off", "on", "half"], default="half")
    options = parser.parse_args()
    rng, expected, same, total = random.Random(options.seed), "", True, 0
    half = options.kills // 2
    goals = {"off": [(False, options.kills)], "on": [(True, options.kills)]}
    with tempfile.TemporaryDirectory() as temporary:
        rows = Path(temporary) / "rows.parquet"
        write_rows(rows, options.rows, options.seed)
        os.environ["SPARK_HOME"] = str(spark_home(Path(temporary) / "spark"))
        for speculation, goal in goals.get(options.speculation, [(False, half), (True, options.kills)]):
            cluster = Cluster(rows, options.learner, speculation=speculation)
            if not expected:
                expected = cluster.fit()
                print(
                    f"undisturbed: {expected}\n\n| kills | tasks lost | speculation | same model |\n|---|---|---|---|"
                )
            while total < goal:
                most = min(options.kills_of_a_fit, goal - total)
                fit = disturbed_fit(cluster, most, options.longest_wait, rng)
                total += fit.kills
                same = same and fit.fingerprint == expected
                answer = "yes" if fit.fingerprint == expected else "NO"
                print(f"| {fit.kills} | {fit.lost_tasks} | {cluster.speculation} | {answer} |", flush=True)
            cluster.spark.stop()
    print(f"\n{total} executors killed")
    if not same:
        sys.exit(1)


if __name__ == "__main__":
    main()

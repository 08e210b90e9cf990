"""Measure the memory of ``mistakebound run --follow`` on an endless stream with ever new names of features.

    python benchmarks/bench_endless.py [--rows 864000] [--max-features 50000]

A process follows a file to which another one appends lines of JSON: a day of traffic with ten requests a second, by
default. Each line has a new name (an id that occurs once), one of 2,000 hosts and one of 40 paths. The table shows the
resident memory of the process after each tenth of the rows, as soon as it has learned them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def resident(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def line(rng: random.Random, row: int) -> str:
    """Return a request as JSON: slow requests depend on host and path."""
    host, path = rng.randrange(2000), rng.randrange(40)
    slow = (host % 7 == 0) != (path % 5 == 0) if rng.random() < 0.95 else rng.random() < 0.5
    return json.dumps({"label": int(slow), "host": f"h{host}", "path": f"/p{path}", "id": f"request-{row}"}) + "\n"


def lines_of(path: Path) -> int:
    """Return how many lines a growing file has."""
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=864_000)
    parser.add_argument("--max-features", type=int, default=50_000)
    options = parser.parse_args()
    rng, part = random.Random(0), max(options.rows // 10, 1)
    with tempfile.TemporaryDirectory() as folder:
        stream, written = Path(folder) / "requests.jsonl", Path(folder) / "predictions.tsv"
        stream.write_text("".join(line(rng, row) for row in range(part)))
        command = [sys.executable, "-m", "mistakebound", "run", str(stream), "--follow", "--json"]
        command += ["--max-features", str(options.max_features), "--predictions", str(written)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as follower:
            print("| rows | resident memory, MB |\n|---|---|")
            for done in range(part, options.rows + 1, part):
                while not written.exists() or lines_of(written) < done:
                    time.sleep(0.05)
                    if follower.poll() is not None:
                        sys.exit("the process ended early")
                print(f"| {done:,} | {resident(follower.pid):,.0f} |", flush=True)
                if done + part <= options.rows:
                    with stream.open("a") as file:
                        file.writelines(line(rng, row) for row in range(done, done + part))
            follower.send_signal(signal.SIGINT)
            found = json.loads(follower.communicate()[0])
    dropped = found["panel"]["dropped_features"]
    print(f"\n{found['mistakes']:,} mistakes in {found['rounds']:,} rounds, {dropped:,} features dropped")


if __name__ == "__main__":
    main()

"""Memory traces beside the truth: what the software source samples, and every load that Valgrind sees.

    cargo build --release -p godwit-cli
    pip install -r bench/requirements.txt
    python bench/trace_truth.py        # needs valgrind

Five queries run under `valgrind --tool=lackey --trace-mem=yes`: the share of each object's loads, beside those of the software
source at one in 1, 100 and 1,000 loads. With one thread: with several, one run of a query differs from the next.
"""

import argparse
import bisect
import csv
import json
import os
import re
import subprocess
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "target/release/godwit"

# Loads, and instructions that load, change and store.
LOAD = re.compile(rb"^ [LM] ([0-9a-f]+),", re.MULTILINE)
IDLE_SECONDS = 1.0
ANSWER_SECONDS = 900

# Tables of ordinary columns: integers that are packed, a text with a dictionary.
SETUP = """
CREATE TABLE item AS
    SELECT i AS id, i * 7919 % {keys} AS key, i % 3000 AS price, 'name ' || (i * 31 % 2000) AS name
    FROM range({rows}) AS r(i);
CREATE TABLE customer AS SELECT i AS key, i % 7 AS region FROM range({keys}) AS r(i);
CHECKPOINT;
"""
ROWS = 60_000
KEYS = 5_000

# Few rows come out, as the shell would load more for them than the queries for all others.
QUERIES = {
    "scan": "SELECT sum(price) FROM item WHERE key < 4000",
    "group by": "SELECT max(total) FROM (SELECT key, sum(price) AS total, count(*) FROM item GROUP BY key)",
    "join": "SELECT sum(price) FROM item JOIN customer USING (key) WHERE region < 4",
    "sort": "SELECT max(place) FROM (SELECT row_number() OVER (ORDER BY price, id) AS place FROM item)",
    "dictionary decoding": "SELECT max(name || id) FROM item",
}
WARM_RUNS = 3
# Samples tell when loads were made. Each takes hundreds of instructions, which are seen, too.
MARKS_THRESHOLD = 20
# Settings that leave one way to run each query.
SETTINGS = "SET threads = 1; SET adaptive_compression = 'off'; SET join_filters = false;"


class Shell:
    """The shell under lackey, statement by statement. Its trace comes through a pipe."""

    def __init__(self, program: Path, folder: Path, database: Path):
        self.pipe = folder / "loads"
        os.mkfifo(self.pipe)
        self.blocks: list[bytes] = []
        self.keeps = False
        self.last_seen = time.monotonic()
        threading.Thread(target=self.read, daemon=True).start()
        command = ["valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-file={self.pipe}", program, database]
        command += ["--format", "csv", "--threads", "1", "--memory-limit", "1GB"]
        # Valgrind counts each byte of the instruction that glibc copies large pieces with as a load.
        environment = os.environ | {"GLIBC_TUNABLES": "glibc.cpu.x86_rep_movsb_threshold=1073741824"}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
        )

    def read(self) -> None:
        with open(self.pipe, "rb", buffering=0) as pipe:
            while block := pipe.read(1 << 16):
                self.last_seen = time.monotonic()
                if self.keeps:
                    self.blocks.append(block)

    def loads(self) -> np.ndarray:
        """The addresses that were loaded from in the statements that were kept, in order."""
        found = LOAD.findall(b"".join(self.blocks))
        return np.fromiter((int(address, 16) for address in found), dtype=np.uint64, count=len(found))

    def run(self, script: str, keeps: bool = False) -> None:
        """Runs statements, and returns when the process has nothing more to do."""
        self.wait_until_idle()
        self.keeps = keeps
        mark = f"done-{time.monotonic_ns()}"
        self.process.stdin.write(f"{script}\nSELECT '{mark}';\n")
        self.process.stdin.flush()
        deadline = time.monotonic() + ANSWER_SECONDS
        for line in self.process.stdout:
            if "error" in line:
                raise SystemExit(f"{script}\n{line}")
            if line.strip() == mark:
                break
            if time.monotonic() > deadline:
                raise SystemExit(f"no answer to {script}")
        self.wait_until_idle()
        self.keeps = False

    def wait_until_idle(self) -> None:
        while time.monotonic() - self.last_seen < IDLE_SECONDS:
            time.sleep(0.1)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait(ANSWER_SECONDS)


def footer(path: Path) -> dict:
    """What a trace says of its objects."""
    content = path.read_bytes()
    start = content.index(b'{"version":1,"source":')
    return json.JSONDecoder().raw_decode(content[start:].decode("utf-8", "replace"))[0]


def name_of(known: dict) -> str:
    """Objects as they are compared: columns and structures, not single segments."""
    if known["kind"] == "segment":
        return known["path"].rpartition(".")[0]
    return known["path"].rpartition(".")[2] if known["query"] is not None else known["path"]


def true_shares(trace: dict, samples: list[dict], loads: np.ndarray, by_address: bool) -> dict[str, float]:
    """The share of each object in the loads of the memory that objects have."""
    totals: Counter[str] = Counter()
    if not by_address:
        places, moments = marks_of(samples, loads)
        times = np.interp(np.arange(len(loads)), places, moments)
    order = np.argsort(loads, kind="stable")
    ordered = loads[order]
    for known in trace["objects"]:
        for memory in known["ranges"]:
            first, end = np.searchsorted(ordered, [memory["address"], memory["address"] + memory["bytes"]])
            if by_address:
                totals[name_of(known)] += int(end - first)
                continue
            # Other things may have been there before, and will be later.
            then = times[order[first:end]]
            until = np.inf if memory["until"] is None else memory["until"]
            # Between two marks, only the order of loads is known: an object may be as old as the mark before.
            before = bisect.bisect_right(moments, memory["from"])
            since = moments[before - 1] if before > 0 else 0
            totals[name_of(known)] += int(((since <= then) & (then < until)).sum())
    whole = sum(totals.values())
    return {name: count / whole for name, count in totals.items()}


def marks_of(samples: list[dict], loads: np.ndarray) -> tuple[list[int], list[int]]:
    """Places among the loads, and when they were made by the trace's clock: addresses that were loaded from once tell it."""
    addresses, positions, counts = np.unique(loads, return_index=True, return_counts=True)
    sampled, indices, repeats = np.unique(
        np.array([sample["address"] for sample in samples], dtype=np.uint64), return_index=True, return_counts=True
    )
    once = sampled[repeats == 1]
    indices = indices[repeats == 1]
    at = np.searchsorted(addresses, once).clip(max=len(addresses) - 1)
    known = (addresses[at] == once) & (counts[at] == 1)
    marks = sorted(zip((samples[i]["time"] for i in indices[known]), positions[at[known]]))
    # Kernels tell of loads after the fact, and now and then of one that wasn't made: most marks that agree are right.
    marks = [marks[i] for i in longest_increasing([position for _, position in marks])]
    if not marks:
        raise SystemExit("no sampled address was loaded from once: more rows would tell when loads were made")
    return [position for _, position in marks], [moment for moment, _ in marks]


def longest_increasing(values: list[int]) -> list[int]:
    """Where the longest subsequence lies whose values increase."""
    ends: list[int] = []
    lasts: list[int] = []
    before = [-1] * len(values)
    for i, value in enumerate(values):
        length = bisect.bisect_left(lasts, value)
        before[i] = ends[length - 1] if length > 0 else -1
        lasts[length:length + 1] = [value]
        ends[length:length + 1] = [i]
    found = []
    i = ends[-1] if ends else -1
    while i >= 0:
        found.append(i)
        i = before[i]
    return found[::-1]


def samples_of(program: Path, trace: Path) -> list[dict]:
    sql = f"SELECT CAST(time AS VARCHAR) AS time, CAST(address AS VARCHAR) AS address, object FROM '{trace}' ORDER BY time"
    rows = subprocess.run([program, "--format", "csv", "-c", sql], capture_output=True, text=True, check=True)
    return [{name: int(value) for name, value in row.items()} for row in csv.DictReader(rows.stdout.splitlines())]


def sampled_shares(program: Path, trace: Path) -> dict[str, float]:
    objects = {known["id"]: name_of(known) for known in footer(trace)["objects"]}
    totals = Counter(objects[sample["object"]] for sample in samples_of(program, trace))
    whole = sum(totals.values())
    return {name: count / whole for name, count in totals.items()}


def truth(options: argparse.Namespace) -> None:
    print("| query | object | all loads | 1 in 1 | 1 in 100 | 1 in 1,000 |\n|---|---|---:|---:|---:|---:|")
    worst: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database = folder / "truth.godwit"
        script = SETUP.format(rows=options.rows, keys=KEYS)
        subprocess.run([options.godwit, database], input=script, text=True, check=True, capture_output=True)
        for query in options.queries:
            shell = Shell(options.godwit, Path(tempfile.mkdtemp(dir=folder)), database)
            path = folder / "trace.parquet"
            traced = {}
            # Blocks and dictionaries are read, bounds of windows gathered, and pages mapped before anything counts.
            shell.run(f"{SETTINGS}\n" + f"{QUERIES[query]};" * WARM_RUNS)
            shell.run(f"SET trace_threshold = {MARKS_THRESHOLD}; SET trace = '{path}';")
            shell.run(f"{QUERIES[query]};", keeps=True)
            shell.run("RESET trace;")
            true = true_shares(footer(path), samples_of(options.godwit, path), shell.loads(), options.by_address)
            shell.close()
            for threshold in (1, 100, 1_000):
                script = f"{SETTINGS} SET trace_threshold = {threshold};" + f"{QUERIES[query]};" * WARM_RUNS
                script += f"SET trace = '{path}';"
                # As often as it takes to have samples enough to tell a percentage point.
                script += f"{QUERIES[query]};" * max(threshold // 20, 1) + "RESET trace;"
                command = [options.godwit, database, "--threads", "1", "--memory-limit", "1GB", "--format", "csv"]
                subprocess.run(command, input=script, text=True, check=True, capture_output=True)
                traced[threshold] = sampled_shares(options.godwit, path)
            for name in sorted(set(true) | set(traced[1]), key=lambda name: -true.get(name, 0.0)):
                shares = [true.get(name, 0.0), *(traced[n].get(name, 0.0) for n in (1, 100, 1_000))]
                if max(shares) >= 0.005:
                    cells = " | ".join(f"{share:.1%}" for share in shares)
                    print(f"| {query} | {name} | {cells} |", flush=True)
                for threshold, share, other in ((1, shares[1], shares[0]), (100, shares[2], shares[1]), (1_000, shares[3], shares[1])):
                    worst[threshold] = max(worst.get(threshold, 0.0), abs(share - other))
    print(f"\nLargest difference, in percentage points: 1 in 1 from all loads {100 * worst[1]:.1f}, "
          f"1 in 100 from 1 in 1 {100 * worst[100]:.1f}, 1 in 1,000 from 1 in 1 {100 * worst[1_000]:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--godwit", type=Path, default=PROGRAM, help="the shell")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of the larger table")
    parser.add_argument("--queries", nargs="+", choices=list(QUERIES), default=list(QUERIES), help="which queries")
    parser.add_argument("--by-address", action="store_true", help="count all loads of an object's addresses, whenever they were "
                        "made: for queries in which too few addresses are read once to tell when")
    options = parser.parse_args()
    truth(options)


if __name__ == "__main__":
    main()

"""Measures how long planning takes, and how many point queries run in a second, DuckDB's in the same run.

    cargo build --release -p godwit --example planning
    python bench/planning.py

Planning is from text to pipelines, as EXPLAIN shows them. The bars are what a client that asks for one row wants.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from options import DATA, SHELL
from suites import tpcds, tpch
from suites.base import Options

PROGRAM = Path(__file__).parent.parent / "target/release/examples/planning"
# Most microseconds that planning may take: the median of a suite, or one statement.
BARS = {"tpch": 500, "tpcds": 2_000, "join of 17": 10_000, "point query": 50, "prepared point query": 10}
# Prepared point queries in a second, at least.
RATE = 20_000
# Point queries by text, as a multiple of DuckDB's, at least.
SPEEDUP = 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=PROGRAM, help="the example `planning`")
    parser.add_argument("--folder", type=Path, help="where the file of the point queries goes [the system's folder for temporary files]")
    parser.add_argument("--rows", type=int, default=10_000_000, help="of the table of the point queries")
    parser.add_argument("--seconds", type=int, default=3, help="of point queries")
    parser.add_argument("--runs", type=int, default=50, help="of each plan")
    parser.add_argument("--smoke", action="store_true", help="as little data as shows that everything works")
    parser.add_argument("--data", type=Path, default=DATA, help="where data sets are kept")
    parser.add_argument("--godwit", type=Path, default=SHELL, help="the shell, which makes TPC-H")
    arguments = parser.parse_args()
    options = Options(scale=None, data=arguments.data, godwit=arguments.godwit, smoke=arguments.smoke)
    missed = 0
    for name, suite in {"tpch": tpch.suite(options), "tpcds": tpcds.suite(options)}.items():
        times = plan_times(arguments, suite)
        missed += judge(name, statistics.median(times.values()))
        slowest = max(times, key=times.__getitem__)
        print(f"{'':22}slowest: {slowest} with {times[slowest]:.0f} µs")
    missed += sum(judge(name, value) for name, value in measured(arguments, "join", arguments.runs).items())
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        found = measured(arguments, "points", Path(folder) / "x.godwit", arguments.rows, arguments.seconds)
        rates = {name: found.pop(name) for name in list(found) if " run" in name}
        reference = duckdb_rates(Path(folder) / "x.duckdb", arguments.rows, arguments.seconds)
    missed += sum(judge(name, value) for name, value in found.items())
    for name, rate in rates.items():
        wanted = RATE if "prepared" in name else SPEEDUP * reference[name]
        missed += rate < wanted
        print(f"{name:36}{rate:8.0f} per second ({wanted:.0f} wanted), duckdb {reference[name]:.0f}")
    return 1 if missed else 0


def plan_times(arguments: argparse.Namespace, suite) -> dict[str, float]:
    """Microseconds by query."""
    folder = next(iter(suite.tables.values())).parent
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write("\n".join(text.strip().rstrip(";") + ";" for text in suite.queries.values()))
        script.flush()
        times = measured(arguments, "queries", folder, script.name, arguments.runs)
    if len(times) != len(suite.queries):
        raise SystemExit(f"{suite.name}: {len(suite.queries)} queries, {len(times)} statements")
    return dict(zip(suite.queries, times.values()))


def measured(arguments: argparse.Namespace, *words) -> dict[str, float]:
    """What the program says: numbers by name."""
    command = [str(word) for word in (arguments.program, *words)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    pairs = (line.rsplit(": ", 1) for line in lines)
    return {name: float(value.split()[0]) for name, value in pairs}


def judge(name: str, micros: float) -> bool:
    """Prints a time beside its bar; true if it is missed."""
    print(f"{name:22}{micros:10.1f} µs ({BARS[name]} wanted)")
    return micros > BARS[name]


def duckdb_rates(file: Path, rows: int, seconds: float) -> dict[str, float]:
    """DuckDB's point queries in a second, by the names of ours."""
    database = duckdb.connect(str(file))
    columns = "(id BIGINT PRIMARY KEY, a INTEGER, b VARCHAR, c DOUBLE)"
    database.execute(f"CREATE TABLE t {columns}")
    database.execute(f"INSERT INTO t SELECT i, i % 1000, 'text ' || (i % 1000), i + 0.5 FROM range({rows}) r(i)")
    database.execute(f"CREATE TABLE scattered {columns}")
    database.execute("INSERT INTO scattered SELECT * FROM t ORDER BY hash(id)")
    database.execute("CHECKPOINT")
    database.execute("PREPARE point AS SELECT * FROM t WHERE id = $1")
    queries = {
        "prepared point queries run": "EXECUTE point({})",
        "point queries run": "SELECT * FROM t WHERE id = {}",
        "point queries run, rows in no order": "SELECT * FROM scattered WHERE id = {}",
    }
    return {name: duckdb_rate(database, query, rows, seconds) for name, query in queries.items()}


def duckdb_rate(database: duckdb.DuckDBPyConnection, query: str, rows: int, seconds: float) -> float:
    keys = random.Random(1)
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        for _ in range(100):
            assert len(database.execute(query.format(keys.randrange(rows))).fetchall()) == 1
        count += 100
    return count / (time.perf_counter() - begin)


if __name__ == "__main__":
    sys.exit(main())

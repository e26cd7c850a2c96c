"""Measures CSV, JSON, and what COPY writes: TPC-H's lineitem, Godwit and DuckDB in turns, each in new processes.

    python bench/text_files.py --scale 1
    python bench/text_files.py --scale 1 --tasks csv-count,to-csv

From CSV, CSV in gzip and JSON lines: the number of rows, two columns with a filter on a third, and a load into a table
of a new file, its checkpoint included. From Parquet: COPY to Parquet (Snappy and Zstandard), CSV and JSON; what was
written is read by DuckDB and compared, and so are the files' sizes. The clock is next to the engine's call, as for
`run.py`. Writes a table to the terminal, and JSON and a plot to bench/results.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import duckdb

from engines import EngineProcess, Limits
from engines.base import Row, unfinished
from fingerprint import fingerprint
from measure import Measurement, Measurements, as_json, check_results, line, ratios, summary
from options import add_common, circumstances, parse_size
from plot import plot
from suites import SUITES, Options

ENGINES = ["godwit", "duckdb"]
REFERENCE = "duckdb"

# What is read: the ending of the file, and how DuckDB makes it.
SOURCES = {"csv": "FORMAT csv, HEADER", "csv.gz": "FORMAT csv, HEADER, COMPRESSION gzip", "jsonl": "FORMAT json"}
# What is written: by the task's name the ending of the file, and the options.
TARGETS = {
    "to-parquet-snappy": ("parquet", "FORMAT parquet, COMPRESSION snappy"),
    "to-parquet-zstd": ("parquet", "FORMAT parquet, COMPRESSION zstd"),
    "to-csv": ("csv", "FORMAT csv, HEADER"),
    "to-json": ("json", "FORMAT json"),
}
# How many times DuckDB's speed is wanted at least, and of a Parquet file's size at most.
SPEED_WANTED = {"csv": 1.2, "csv.gz": 1.2, "jsonl": 1.0}
SPEED_OF_COPY_WANTED = 1.0
SIZE_WANTED = 1.05

FILTER = """SELECT count(*), sum(l_quantity), sum(l_extendedprice) FROM '{file}'
    WHERE l_shipdate BETWEEN DATE '1994-01-01' AND DATE '1994-12-31'"""
CHECK = """SELECT count(*), sum(l_orderkey), sum(l_extendedprice), sum(l_tax), min(l_shipdate), max(l_receiptdate),
    count(DISTINCT l_shipmode), sum(length(l_comment)) FROM {source}"""
COLUMNS = """l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber INTEGER, l_quantity DECIMAL(15,2),
    l_extendedprice DECIMAL(15,2), l_discount DECIMAL(15,2), l_tax DECIMAL(15,2), l_returnflag VARCHAR,
    l_linestatus VARCHAR, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct VARCHAR,
    l_shipmode VARCHAR, l_comment VARCHAR"""


@dataclass(frozen=True)
class Task:
    """What runs in a new process. `{folder}` is one for what is written."""

    # Before the clock, and on it.
    before: list[str]
    timed: list[str]
    # Read afterwards by the engine itself, or by DuckDB from a file of the folder; `None`: the timed statement's rows.
    check: str | None
    written: str | None
    speed_wanted: float


def main() -> int:
    arguments = parse_arguments()
    suite = SUITES["tpch"](Options(arguments.scale, arguments.data, arguments.godwit, arguments.smoke))
    lineitem = suite.tables["lineitem"]
    tasks = tasks_on(make_sources(lineitem), lineitem)
    tasks = {name: task for name, task in tasks.items() if selected(name, arguments)}
    measurements: Measurements = {}
    sizes: dict[str, dict[str, int]] = {}
    for name, task in tasks.items():
        measurements[name] = {engine: Measurement() for engine in ENGINES}
        sizes[name] = {}
        for turn in range(1 if arguments.smoke else arguments.runs):
            for engine in ENGINES:
                if not measurements[name][engine].error:
                    run(task, engine, arguments, measurements[name][engine], sizes[name], first=turn == 0)
            if turn == 0:
                check_results(measurements[name], REFERENCE)
        print(line(f"{name:>18}", measurements[name]) + shown_sizes(sizes[name]), flush=True)
    report(suite.name, arguments, tasks, measurements, sizes)
    return 0 if arguments.smoke or all(reached(task, name, measurements, sizes) for name, task in tasks.items()) else 1


def tasks_on(sources: dict[str, Path], lineitem: Path) -> dict[str, Task]:
    tasks = {}
    for ending, file in sources.items():
        wanted = SPEED_WANTED[ending]
        tasks[f"{ending}-count"] = Task([], [f"SELECT count(*) FROM '{file}'"], None, None, wanted)
        tasks[f"{ending}-filter"] = Task([], [FILTER.format(file=file)], None, None, wanted)
        tasks[f"{ending}-load"] = Task(
            ["ATTACH '{folder}/new.db' AS new", f"CREATE TABLE new.lineitem ({COLUMNS})"],
            [f"COPY new.lineitem FROM '{file}'", "CHECKPOINT new"],
            CHECK.format(source="new.lineitem"),
            None,
            wanted,
        )
    for name, (ending, options) in TARGETS.items():
        copy = f"COPY (SELECT * FROM '{lineitem}') TO '{{folder}}/new.{ending}' ({options})"
        tasks[name] = Task([], [copy], CHECK, f"new.{ending}", SPEED_OF_COPY_WANTED)
    return tasks


def make_sources(lineitem: Path) -> dict[str, Path]:
    """The files that are read, beside the Parquet file; made by DuckDB if they aren't there."""
    sources = {ending: lineitem.with_suffix(f".{ending}") for ending in SOURCES}
    for ending, file in sources.items():
        if not file.exists():
            print(f"making {file}", flush=True)
            with unfinished(file) as path:
                duckdb.connect().execute(f"COPY (SELECT * FROM '{lineitem}') TO '{path}' ({SOURCES[ending]})")
    return sources


def run(
    task: Task, engine: str, arguments: argparse.Namespace, of: Measurement, sizes: dict[str, int], first: bool
) -> None:
    """Runs a task in a new process; what it gives is looked at the first time."""
    with tempfile.TemporaryDirectory(prefix="godwit-bench-", dir=arguments.folder) as folder:
        limits = Limits(arguments.threads, arguments.memory_limit, arguments.godwit, Path(folder) / "scratch")
        process = EngineProcess(engine, limits, {}, arguments.timeout)
        seconds = 0.0
        rows: list[Row] = []
        in_engine = [task.check] if first and task.check and not task.written else []
        for statement in [*task.before, *task.timed, *in_engine]:
            outcome = process.run(statement.replace("{folder}", folder), with_rows=first)
            of.peak_bytes = max(of.peak_bytes, outcome.peak_bytes)
            if outcome.error:
                of.error = outcome.error
                break
            seconds += (outcome.seconds or 0.0) if statement in task.timed else 0.0
            rows = outcome.rows or []
        process.stop()
        if of.error:
            return
        of.seconds.append(seconds)
        if task.written:
            file = Path(folder) / task.written
            sizes[engine] = file.stat().st_size
            if first and task.check:
                rows = duckdb.connect().execute(task.check.format(source=f"'{file}'")).fetchall()
        if first:
            of.result = fingerprint(rows)


def shown_sizes(sizes: dict[str, int]) -> str:
    return "".join(f"  {engine} {size / 1e6:.1f} MB" for engine, size in sizes.items())


def reached(task: Task, name: str, measurements: Measurements, sizes: dict[str, dict[str, int]]) -> bool:
    """True if a task is as fast as wanted, and a Parquet file as small."""
    ratio = ratios({name: measurements[name]}, "godwit", REFERENCE).get(name)
    is_fast = ratio is not None and 1 / ratio >= task.speed_wanted
    of = sizes[name]
    is_small = "parquet" not in name or of["godwit"] <= SIZE_WANTED * of[REFERENCE]
    return is_fast and is_small


def report(
    suite: str,
    arguments: argparse.Namespace,
    tasks: dict[str, Task],
    measurements: Measurements,
    sizes: dict[str, dict[str, int]],
) -> None:
    print(f"\n{summary(measurements, ENGINES, REFERENCE)}\n")
    print(f"{'task':<20}{'godwit s':>10}{'duckdb s':>10}{'speed':>8}{'wanted':>8}{'size':>8}")
    against = ratios(measurements, "godwit", REFERENCE)
    for name, task in tasks.items():
        ours, theirs = (measurements[name][engine].median for engine in ENGINES)
        size = f"{sizes[name]['godwit'] / sizes[name][REFERENCE]:8.3f}" if len(sizes[name]) == len(ENGINES) else ""
        if name in against:
            print(f"{name:<20}{ours:>10.2f}{theirs:>10.2f}{1 / against[name]:>8.2f}{task.speed_wanted:>8.1f}{size}")
    print("speed: DuckDB's time divided by Godwit's; size: of the file, as a part of DuckDB's")
    arguments.output.mkdir(parents=True, exist_ok=True)
    file = arguments.output / f"text-files-{suite}.json"
    content = {"suite": suite, **circumstances(arguments), "tasks": as_json(measurements), "file_bytes": sizes}
    file.write_text(json.dumps(content, indent=1) + "\n")
    title = f"CSV, JSON and COPY of lineitem, {suite}, {arguments.threads} threads, new processes"
    plot(measurements, ENGINES, REFERENCE, title, [], file.with_suffix(".png"))
    print(f"wrote {file} and a plot")


def selected(name: str, arguments: argparse.Namespace) -> bool:
    return not arguments.tasks or name in arguments.tasks


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common(parser)
    parser.add_argument("--memory-limit", type=parse_size, default=parse_size("2GB"), help="for both [2GB]")
    parser.add_argument("--folder", type=Path, help="where files are written [the system's folder for temporary files]")
    parser.add_argument("--runs", type=int, default=5, help="processes per task and engine [5]")
    parser.add_argument("--tasks", type=lambda text: text.split(","), help="some of them, such as csv-count,to-csv")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

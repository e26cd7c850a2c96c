"""Measures the first run of each query, and the second, in processes that have read nothing before.

    python bench/first_run.py tpch --scale 1
    python bench/first_run.py tpch --scale 1 --dropped --engines godwit-native,duckdb-native --reference duckdb-native

Engines take turns: a process is started, its tables are made known, and the query runs twice. The clock is next to the
engine's call, as for `run.py`. With `--dropped`, the files' pages are dropped from the system's cache before each first
run, and what an engine then has the disk read is shown, with the time that the disk alone would take for it.
Writes tables for both runs to the terminal, and JSON and plots to bench/results.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from disk import drop_page_cache, throughput
from engines import ENGINES, EngineProcess, Limits
from measure import Measurement, Measurements, Turns, as_json, check_results, line, summary, take_turn
from options import add_common, circumstances, list_of, parse_size
from plot import plot
from suites import SUITES, Options, Suite

# Of a first and a second run, for reports.
RUNS = ("first", "second")
# Nothing is waited for but the number of turns.
NO_LIMIT_SECONDS = float("inf")


def main() -> int:
    arguments = parse_arguments()
    suite = SUITES[arguments.suite](Options(arguments.scale, arguments.data, arguments.godwit, arguments.smoke))
    suite = suite.only(arguments.queries)
    measured, versions = measure(suite, arguments)
    name = f"first-run-{suite.name}-{'-'.join(arguments.engines)}{'-dropped' * arguments.dropped}"
    cache = "dropped" if arguments.dropped else "warm"
    arguments.output.mkdir(parents=True, exist_ok=True)
    for run, measurements in measured.items():
        print(f"\n{run} run, page cache {cache}\n{summary(measurements, arguments.engines, arguments.reference)}")
        title = f"{suite.title}, {run} run in a new process, page cache {cache}, {arguments.threads} threads"
        plot(measurements, arguments.engines, arguments.reference, title, [], arguments.output / f"{name}-{run}.png")
    disk_rate = throughput(own_files(suite.tables.values()), arguments.threads) if arguments.dropped else None
    if disk_rate:
        print("\n" + disk_shares(measured["first"], arguments.engines, disk_rate))
    report = {
        "suite": suite.name,
        **circumstances(arguments),
        "page_cache": cache,
        "disk_bytes_per_second": disk_rate,
        "runs": arguments.runs,
        "versions": versions,
        **{run: as_json(measurements) for run, measurements in measured.items()},
    }
    file = arguments.output / f"{name}.json"
    file.write_text(json.dumps(report, indent=1) + "\n")
    print(f"\nwrote {file}, and a plot of each run")
    return 0 if not any(m.error for of_query in measured["first"].values() for m in of_query.values()) else 1


def measure(suite: Suite, arguments: argparse.Namespace) -> tuple[dict[str, Measurements], dict[str, str]]:
    """By run, by query, by engine; and the engines' versions."""
    turns = Turns(1 if arguments.smoke else arguments.runs, NO_LIMIT_SECONDS, warm_up=False)
    measured: dict[str, Measurements] = {run: {} for run in RUNS}
    versions: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="godwit-bench-") as scratch:
        for query in suite.queries:
            first, second = ({engine: Measurement() for engine in arguments.engines} for _ in RUNS)
            measured["first"][query], measured["second"][query] = first, second
            for turn in range(turns.runs):
                for engine in arguments.engines:
                    if first[engine].error:
                        continue
                    limits = Limits(
                        arguments.threads, arguments.memory_limit, arguments.godwit, Path(scratch) / engine
                    )
                    process = EngineProcess(engine, limits, suite.tables, arguments.timeout)
                    versions[engine] = process.version
                    if arguments.dropped:
                        drop_page_cache(own_files(suite.tables.values()))
                    take_turn(first[engine], process, suite, query, first=turn == 0, counted=True)
                    if not first[engine].error:
                        take_turn(second[engine], process, suite, query, first=False, counted=True)
                    process.stop()
                if turn == 0:
                    check_results(first, arguments.reference)
            print(line(f"{query:>4}", first), line("| second", second), flush=True)
    return measured, versions


def own_files(tables: Iterable[Path]) -> list[Path]:
    """All files beside the tables: those of engines with a format of their own, too."""
    folders = {table.parent for table in tables}
    return [file for folder in folders for file in folder.iterdir() if file.is_file()]


def disk_shares(first_runs: Measurements, engines: list[str], disk_rate: float) -> str:
    """Per engine: how much of the time of all first runs the disk alone would take for what was read."""
    lines = [f"the disk: {disk_rate / 1e6:,.0f} MB/s in large reads"]
    for engine in engines:
        done = [of_query[engine] for of_query in first_runs.values() if of_query[engine].median]
        read, seconds = sum(m.disk_bytes for m in done), sum(m.median for m in done)
        if seconds:
            share = read / disk_rate / seconds
            lines.append(f"{engine:<18}read {read / 1e9:.2f} GB of it: {share:.0%} of {seconds:.2f} s")
    return "\n".join(lines)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES)
    add_common(parser)
    parser.add_argument("--memory-limit", type=parse_size, help="for every engine that has one, such as 2GB")
    parser.add_argument("--runs", type=int, default=5, help="processes per query and engine [5]")
    parser.add_argument("--dropped", action="store_true", help="drop the files from the page cache before first runs")
    engines = list_of(ENGINES, "engine")
    parser.add_argument("--engines", type=engines, default=["godwit", "duckdb"], help=f"of {','.join(ENGINES)}")
    parser.add_argument("--reference", choices=ENGINES, default="duckdb", help="what ratios are to [duckdb]")
    parser.add_argument("--queries", type=lambda text: text.split(","), help="some of the queries, such as Q1,Q18")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

"""Measures Godwit and its peers on the same files, with the same threads, in one run.

    python bench/run.py tpch --scale 1 --threads 2

Writes a table to the terminal, and JSON and a plot to bench/results.
"""

import argparse
import json
import os
import platform
import re
import sys
import tempfile
import time
from pathlib import Path

from engines import ENGINES, EngineProcess, Limits
from measure import as_json, measure, summary
from options import RESULTS, SHELL, parse_size
from plot import plot
from suites import SUITES, Suite


def main() -> int:
    arguments = parse_arguments()
    suite = SUITES[arguments.suite](arguments.scale, arguments.data, arguments.godwit)
    if arguments.queries:
        chosen = {name: sql for name, sql in suite.queries.items() if name in arguments.queries}
        suite = Suite(suite.name, suite.tables, chosen)
    with tempfile.TemporaryDirectory(prefix="godwit-bench-") as scratch:
        engines = []
        try:
            for name in arguments.engines:
                limits = Limits(arguments.threads, arguments.memory_limit, arguments.godwit, Path(scratch) / name)
                engines.append(EngineProcess(name, limits, suite.tables, arguments.timeout))
            print(", ".join(f"{engine.name} {engine.version}" for engine in engines), flush=True)
            measurements = measure(suite, engines, arguments.runs, arguments.reference)
            versions = {engine.name: engine.version for engine in engines}
        finally:
            for engine in engines:
                engine.stop()

    print("\n" + summary(measurements, arguments.engines, arguments.reference))
    name = f"{suite.name}-sf{arguments.scale:g}-{arguments.threads}threads"
    title = f"TPC-H from Parquet, scale factor {arguments.scale:g}, {arguments.threads} threads"
    if arguments.memory_limit:
        name += f"-{arguments.memory_limit // 10**6}MB"
        title += f", memory limit {arguments.memory_limit / 10**9:g} GB"
    report = {
        "suite": suite.name,
        "scale": arguments.scale,
        "threads": arguments.threads,
        "memory_limit_bytes": arguments.memory_limit,
        "runs": arguments.runs,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": {"cores": os.cpu_count(), "processor": processor(), "system": platform.release()},
        "versions": versions,
        "queries": as_json(measurements),
    }
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / f"{name}.json").write_text(json.dumps(report, indent=1) + "\n")
    plot(measurements, arguments.engines, arguments.reference, title, arguments.output / f"{name}.png")
    print(f"\nwrote {arguments.output / name}.json and .png")
    complete = all(not of_query["godwit"].error for of_query in measurements.values() if "godwit" in of_query)
    return 0 if complete else 1


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--scale", type=float, default=1, help="scale factor: gigabytes of raw data [1]")
    parser.add_argument("--data", type=Path, help="folder of the Parquet files [the folder of `godwit demo`]")
    parser.add_argument("--threads", type=int, default=2, help="for every engine [2]")
    parser.add_argument("--memory-limit", type=parse_size, help="for every engine that has one, such as 2GB")
    parser.add_argument("--runs", type=int, default=5, help="counted runs per query [5]")
    parser.add_argument("--engines", type=parse_engines, default=list(ENGINES), help=f"[{','.join(ENGINES)}]")
    parser.add_argument("--reference", choices=ENGINES, default="duckdb", help="what ratios are to [duckdb]")
    parser.add_argument("--queries", type=lambda text: text.split(","), help="some of the queries, such as Q1,Q18")
    parser.add_argument("--timeout", type=float, default=300, help="seconds that one run of a query may take [300]")
    parser.add_argument("--godwit", type=Path, default=SHELL, help="the shell to measure")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for JSON and plot")
    return parser.parse_args()


def parse_engines(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in ENGINES]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no engine {unknown[0]}; there are {', '.join(ENGINES)}")
    return names


def processor() -> str:
    """The processor's name as Linux tells it."""
    try:
        names = re.findall(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    except OSError:
        names = []
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    sys.exit(main())

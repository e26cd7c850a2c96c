"""Measures Godwit and its peers on the same files, with the same threads, in one run.

    python bench/run.py tpch --scale 1 --threads 2
    python bench/run.py all --smoke

Writes a table to the terminal, and JSON and a plot to bench/results.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from engines import ENGINES, EngineError, EngineProcess, Limits
from measure import Measurements, Turns, as_json, measure, summary
from options import SMALLEST_MEMORY_LIMIT, add_common, circumstances, list_of, parse_size
from plot import plot
from suites import ALL, SUITES, Options, Suite


def main() -> int:
    arguments = parse_arguments()
    names = ALL if arguments.suite == "all" else [arguments.suite]
    return 0 if all([run(name, arguments) for name in names]) else 1


def run(name: str, arguments: argparse.Namespace) -> bool:
    """Measures a suite; whether Godwit has run all of it."""
    suite = SUITES[name](Options(arguments.scale, arguments.data, arguments.godwit, arguments.smoke))
    suite = suite.only(arguments.queries)
    limit = arguments.memory_limit or (
        parse_size(SMALLEST_MEMORY_LIMIT) if arguments.smoke else suite.memory_limit_bytes
    )
    turns = Turns(1 if arguments.smoke else arguments.runs, arguments.seconds, warm_up=not arguments.cold)
    wanted = arguments.engines or suite.engines
    measurements, versions = measure_engines(suite, wanted, limit, turns, arguments)

    engines = list(versions)
    print("\n" + summary(measurements, engines, arguments.reference))
    report_name, title = f"{suite.name}-{arguments.threads}threads", f"{suite.title}, {arguments.threads} threads"
    if limit:
        report_name += f"-{limit // 10**6}MB"
        title += f", memory limit {limit / 10**9:g} GB"
    report = {
        "suite": suite.name,
        **circumstances(arguments),
        "memory_limit_bytes": limit,
        "runs": turns.runs,
        "warm_up": turns.warm_up,
        "versions": versions,
        "queries": as_json(measurements),
    }
    arguments.output.mkdir(parents=True, exist_ok=True)
    file = arguments.output / f"{report_name}.json"
    file.write_text(json.dumps(report, indent=1) + "\n")
    plot(measurements, engines, arguments.reference, title, suite.panels, file.with_suffix(".png"))
    print(f"\nwrote {file} and .png")
    ours = [engine for engine in wanted if engine.startswith("godwit")]
    return all(
        engine in of_query and not of_query[engine].error for of_query in measurements.values() for engine in ours
    )


def measure_engines(
    suite: Suite, wanted: list[str], limit: int | None, turns: Turns, arguments: argparse.Namespace
) -> tuple[Measurements, dict[str, str]]:
    """Measurements, and the versions of the engines that could be started."""
    with tempfile.TemporaryDirectory(prefix="godwit-bench-") as scratch:
        engines = []
        try:
            for name in wanted:
                limits = Limits(arguments.threads, limit, arguments.godwit, Path(scratch) / name)
                try:
                    engines.append(EngineProcess(name, limits, suite.tables, arguments.timeout))
                except EngineError as error:
                    print(error, file=sys.stderr)
            versions = {engine.name: engine.version for engine in engines}
            print(
                f"\n{suite.name}: " + ", ".join(f"{name} {version}" for name, version in versions.items()), flush=True
            )
            return measure(suite, engines, turns, arguments.reference), versions
        finally:
            for engine in engines:
                engine.stop()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=[*SUITES, "all"])
    add_common(parser)
    parser.add_argument(
        "--memory-limit", type=parse_size, help="for every engine that has one, such as 2GB [the suite's]"
    )
    parser.add_argument("--runs", type=int, default=5, help="counted runs per query [5]")
    parser.add_argument("--cold", action="store_true", help="count the first turn: queries too long for a warm-up")
    parser.add_argument(
        "--seconds", type=float, default=60, help="time per query and engine that makes runs fewer [60]"
    )
    parser.add_argument("--engines", type=list_of(ENGINES, "engine"), help=f"of {','.join(ENGINES)} [the suite's]")
    parser.add_argument("--reference", choices=ENGINES, default="duckdb", help="what ratios are to [duckdb]")
    parser.add_argument("--queries", type=lambda text: text.split(","), help="some of the queries, such as Q1,Q18")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

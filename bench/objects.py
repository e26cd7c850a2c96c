"""Measures queries over files on a web server that takes 20 ms for each request, as an object store does.

    pip install duckdb==1.5.5 duckdb-extension-httpfs==1.5.5 pyarrow numpy
    python bench/objects.py

TPC-H's files are served by `object_server.py`, which is started here. Engines take turns: a process is started and runs a
query once, whose tables are URLs; the clock is next to the engine's call, as for `run.py`, and begins before anything is
known of the files. Besides times, it tells the requests and bytes of each query, and what the server itself took. The
DuckDB of the other benchmarks may be another than the one that there is an `httpfs` for; what is installed is measured.
Writes a table to the terminal, and JSON to bench/results.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engines import EngineProcess, Limits
from measure import Measurement, check_results
from options import add_common, circumstances
from suites import SUITES, Options
from suites.tpch import TABLES

ENGINES = ("godwit", "duckdb-httpfs")


def main() -> int:
    arguments = parse_arguments()
    suite = SUITES["tpch"](Options(arguments.scale, arguments.data, arguments.godwit, arguments.smoke))
    suite = suite.only(arguments.queries)
    with serving(next(iter(suite.tables.values())).parent, arguments.delay) as url:
        queries = {name: with_urls(sql, url) for name, sql in suite.queries.items()}
        measured, counted, versions = measure(queries, url, arguments)
    print_summary(measured, counted)
    report = {
        "suite": f"objects-{suite.name}",
        **circumstances(arguments),
        "delay_seconds": arguments.delay,
        "runs": arguments.runs,
        "versions": versions,
        "queries": {
            query: {
                engine: {"seconds": m.seconds, "error": m.error, "counters": counted[query][engine]}
                for engine, m in of_query.items()
            }
            for query, of_query in measured.items()
        },
    }
    arguments.output.mkdir(parents=True, exist_ok=True)
    file = arguments.output / f"objects-{suite.name}.json"
    file.write_text(json.dumps(report, indent=1) + "\n")
    print(f"\nwrote {file}")
    return 0 if not any(m.error for of_query in measured.values() for m in of_query.values()) else 1


@contextmanager
def serving(folder: Path, delay_seconds: float) -> Iterator[str]:
    """The URL of a server for a folder."""
    program = Path(__file__).parent / "object_server.py"
    command = [sys.executable, program, folder, "--delay", str(delay_seconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        yield server.stdout.readline().strip()
        server.stdin.close()


def with_urls(sql: str, url: str) -> str:
    """The query over URLs in the place of names of tables."""
    names = "|".join(TABLES)
    alias = r"(?P<alias>\s+(?:as\s+)?(?!where\b|on\b|inner\b|left\b|join\b|group\b|order\b)[a-z]\w*)?"

    def place(match: re.Match[str]) -> str:
        return f"{match['before']}'{url}/{match['name']}.parquet'{match['alias'] or ' AS ' + match['name']}"

    # Names stand behind FROM, JOIN, or a comma behind another; so one goes after the other.
    first = re.compile(rf"(?P<before>\b(?:from|join)\s+)(?P<name>{names})\b{alias}", re.IGNORECASE)
    further = re.compile(rf"(?P<before>\.parquet'[^,()']*,\s*)(?P<name>{names})\b{alias}", re.IGNORECASE)
    sql = first.sub(place, sql)
    while True:
        replaced = further.sub(place, sql)
        if replaced == sql:
            return sql
        sql = replaced


def measure(queries: dict[str, str], url: str, arguments: argparse.Namespace) -> tuple[dict, dict, dict[str, str]]:
    """By query, by engine: times; counters of the server, of the last turn; and the engines' versions."""
    measured: dict[str, dict[str, Measurement]] = {}
    counted: dict[str, dict[str, dict]] = {}
    versions: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="godwit-bench-") as scratch:
        for query, sql in queries.items():
            measured[query] = {engine: Measurement() for engine in ENGINES}
            counted[query] = {engine: {} for engine in ENGINES}
            for turn in range(1 if arguments.smoke else arguments.runs):
                for engine in ENGINES:
                    limits = Limits(arguments.threads, None, arguments.godwit, Path(scratch) / engine)
                    process = EngineProcess(engine, limits, {}, arguments.timeout)
                    versions[engine] = process.version
                    take_counters(url)
                    outcome = process.run(sql, with_rows=turn == 0)
                    counted[query][engine] = take_counters(url)
                    process.stop()
                    note(measured[query][engine], outcome, with_rows=turn == 0)
                if turn == 0:
                    check_results(measured[query], "duckdb-httpfs")
            print(line(query, measured[query], counted[query]), flush=True)
    return measured, counted, versions


def note(measurement: Measurement, outcome, with_rows: bool) -> None:
    from fingerprint import fingerprint

    if outcome.error:
        measurement.error = outcome.error
        return
    measurement.seconds.append(outcome.seconds)
    if with_rows:
        measurement.result = fingerprint(outcome.rows)


def take_counters(url: str) -> dict:
    with urllib.request.urlopen(f"{url}/-/counters") as answer:
        return json.load(answer)


def line(query: str, of_query: dict[str, Measurement], counters: dict[str, dict]) -> str:
    cells = []
    for engine, m in of_query.items():
        c = counters[engine]
        seconds = f"{m.median:7.3f} s" if m.median else "      -  "
        cells.append(
            f"{engine} {seconds} {c['requests']:5} requests {c['body_bytes'] / 1e6:7.1f} MB, at once {c['in_flight_max']:3},"
            f" server {c['cpu_seconds']:5.2f} s"
        )
    errors = "".join(f"\n      {name}: {m.error}" for name, m in of_query.items() if m.error)
    return f"{query:>4}  " + " | ".join(cells) + errors


def print_summary(measured: dict[str, dict[str, Measurement]], counted: dict[str, dict[str, dict]]) -> None:
    totals = {}
    for engine in ENGINES:
        medians = [of_query[engine].median for of_query in measured.values() if of_query[engine].median]
        requests = sum(of_query[engine]["requests"] for of_query in counted.values())
        body_bytes = sum(of_query[engine]["body_bytes"] for of_query in counted.values())
        totals[engine] = sum(medians)
        print(f"{engine:<14} {sum(medians):8.3f} s  {requests} requests  {body_bytes / 1e6:.0f} MB  {len(medians)} queries")
    pairs = [(m["godwit"].median, m["duckdb-httpfs"].median) for m in measured.values()]
    ratios = [ours / theirs for ours, theirs in pairs if ours and theirs]
    if ratios:
        print(
            f"total {totals['godwit'] / totals['duckdb-httpfs']:.2f} of DuckDB's,"
            f" geometric mean {statistics.geometric_mean(ratios):.2f}, worst {max(ratios):.2f}"
        )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common(parser)
    parser.add_argument("--delay", type=float, default=0.02, help="seconds that the server takes for a request [0.02]")
    parser.add_argument("--runs", type=int, default=3, help="processes per query and engine [3]")
    parser.add_argument("--queries", type=lambda text: text.split(","), help="some of the queries, such as Q1,Q18")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

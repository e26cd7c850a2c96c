"""The queries of a suite under all compaction strategies.

    python bench/strategies.py job-like
    python bench/strategies.py tpch --engine godwit-native

Strategies take turns in one process. A query has a join bottleneck, as the compaction paper defines it (section 7.2), if
one of its joins takes a tenth of the time at least, and makes 50 chunks or more of each chunk that it gets, on average,
where nothing is compacted. Writes a table to the terminal, and JSON and a plot to bench/results.
"""

import argparse
import json
import re
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compaction import COLORS, STRATEGIES, run
from engines import EngineProcess, Limits
from fingerprint import fingerprint, same
from measure import geometric_mean
from options import add_common, circumstances, list_of
from plot import panel_axes, save, tidy
from suites import SUITES, Options, Suite

# What `smart` is compared with.
REFERENCE = "binary"

# The paper's definition of a bottleneck.
BOTTLENECK_TIME_SHARE = 0.1
BOTTLENECK_CHUNKS = 50

# An operator in EXPLAIN ANALYZE. One chunk isn't mentioned.
CHUNKS = r"\d+ rows(?: in (\d+) chunks of \d+)?"
OPERATOR = re.compile(r"─ (\w+) .*?(?:; |\[)" + CHUNKS + r"(?:; from " + CHUNKS + r")?.*?; ([\d.]+) ms")


@dataclass
class Query:
    """Medians by strategy."""

    seconds: dict[str, float]
    has_bottleneck: bool

    def ratio(self, strategy: str = "smart") -> float:
        return self.seconds[strategy] / self.seconds[REFERENCE]


def main() -> int:
    arguments = parse_arguments()
    suite = SUITES[arguments.suite](Options(arguments.scale, arguments.data, arguments.godwit, arguments.smoke))
    suite = suite.only(arguments.queries)
    with tempfile.TemporaryDirectory(prefix="godwit-bench-") as scratch:
        limits = Limits(arguments.threads, None, arguments.godwit, Path(scratch))
        engine = EngineProcess(arguments.engine, limits, suite.tables, arguments.timeout)
        queries = {name: measured(engine, name, suite, arguments) for name in suite.queries}
        engine.stop()
    figures = summary(queries, arguments.strategies)
    print("\n" + "\n".join(f"{name}: {value}" for name, value in figures.items()))
    arguments.output.mkdir(parents=True, exist_ok=True)
    file = arguments.output / f"strategies-{suite.name}-{arguments.engine}-{arguments.threads}threads.json"
    by_query = {name: {"seconds": query.seconds, "has_bottleneck": query.has_bottleneck} for name, query in queries.items()}
    report = {**circumstances(arguments), "runs": arguments.runs, "summary": figures, "queries": by_query}
    file.write_text(json.dumps(report, indent=1) + "\n")
    source = "Godwit's own file" if arguments.engine == "godwit-native" else "Parquet"
    draw(queries, arguments.strategies, f"{suite.title}, from {source}, {arguments.threads} threads", file.with_suffix(".png"))
    print(f"wrote {file} and .png")
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES)
    add_common(parser)
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each strategy [5]")
    parser.add_argument("--engine", choices=["godwit", "godwit-native"], default="godwit", help="Parquet or its own file [Parquet]")
    parser.add_argument("--queries", type=lambda text: text.split(","), help="some of the suite's")
    known = dict.fromkeys(STRATEGIES)
    parser.add_argument(
        "--strategies", type=list_of(known, "strategy"), default=STRATEGIES, help="some of " + ",".join(STRATEGIES)
    )
    arguments = parser.parse_args()
    arguments.runs = 1 if arguments.smoke else arguments.runs
    if not {"smart", REFERENCE} <= set(arguments.strategies):
        parser.error(f"strategies without smart and {REFERENCE} can't be compared")
    return arguments


def measured(engine: EngineProcess, name: str, suite: Suite, arguments: argparse.Namespace) -> Query:
    sql = suite.queries[name].rstrip().rstrip(";")
    times: dict[str, list[float]] = {strategy: [] for strategy in arguments.strategies}
    expected = None
    # The first turn is a warm-up. Turns go forth and back: who follows whom isn't always the same.
    for turn in range(arguments.runs + (not arguments.smoke)):
        for strategy in arguments.strategies[:: -1 if turn % 2 else 1]:
            run(engine, f"SET compaction = '{strategy}'")
            seconds, rows = run(engine, sql)
            found = fingerprint(rows)
            expected = expected or found
            if not same(found, expected):
                raise SystemExit(f"{name}: {strategy} gives another result than {arguments.strategies[0]}")
            if turn or arguments.smoke:
                times[strategy].append(seconds)
    query = Query({strategy: statistics.median(one) for strategy, one in times.items()}, has_bottleneck(engine, sql))
    print(
        f"{name:>6} " + "  ".join(f"{strategy} {time:.4f}" for strategy, time in query.seconds.items()),
        f" {query.ratio():.2f}" + (" bottleneck" if query.has_bottleneck else ""),
        flush=True,
    )
    return query


def has_bottleneck(engine: EngineProcess, sql: str) -> bool:
    run(engine, "SET compaction = 'none'")
    _, plan = run(engine, f"EXPLAIN ANALYZE {sql}")
    operators = [found for row in plan if (found := OPERATOR.search(row[0]))]
    total = sum(float(operator[4]) for operator in operators)

    def is_bottleneck(operator: re.Match) -> bool:
        chunks = int(operator[2] or 1) / int(operator[3] or 1)
        return float(operator[4]) >= BOTTLENECK_TIME_SHARE * total and chunks >= BOTTLENECK_CHUNKS

    return any(operator[1] == "HashJoin" and is_bottleneck(operator) for operator in operators)


def summary(queries: dict[str, Query], strategies: list[str]) -> dict[str, Any]:
    totals = {s: sum(query.seconds[s] for query in queries.values()) for s in strategies}
    bottlenecks = [name for name, query in queries.items() if query.has_bottleneck]
    gains = [1 / queries[name].ratio() for name in bottlenecks]
    behind = {name: query.seconds["smart"] / min(query.seconds.values()) for name, query in queries.items()}
    worst = max(behind, key=behind.get)
    return {
        "seconds in total": {strategy: round(total, 3) for strategy, total in totals.items()},
        f"relative to {REFERENCE}": {s: round(total / totals[REFERENCE], 3) for s, total in totals.items()},
        "queries with a join bottleneck": " ".join(bottlenecks) or "none",
        f"smart there, times as fast as {REFERENCE} (geometric mean)": round(geometric_mean(gains), 2) if gains else None,
        "smart furthest behind the best": f"{worst}, {behind[worst]:.2f} times as long",
    }


def draw(queries: dict[str, Query], strategies: list[str], title: str, file: Path) -> None:
    sheet, (left, right) = panel_axes(2)
    sheet.suptitle(title)
    totals = [sum(query.seconds[strategy] for query in queries.values()) for strategy in strategies]
    left.bar(strategies, totals, color=[COLORS[strategy] for strategy in strategies])
    left.tick_params(axis="x", rotation=45)
    left.set(ylabel="seconds in total (medians)")
    ordered = sorted(queries.values(), key=Query.ratio)
    for label, has_bottleneck in [("with a join bottleneck", True), ("others", False)]:
        places = [place for place, query in enumerate(ordered) if query.has_bottleneck == has_bottleneck]
        color = COLORS["smart"] if has_bottleneck else COLORS["none"]
        right.bar(places, [ordered[place].ratio() for place in places], color=color, label=label)
    right.axhline(1, color=COLORS[REFERENCE], linewidth=1.5)
    right.set(xlabel="queries", ylabel=f"time of smart / time of {REFERENCE}", xticks=[])
    right.legend(fontsize="small", frameon=False)
    for axes in (left, right):
        tidy(axes)
    save(sheet, file)


if __name__ == "__main__":
    sys.exit(main())

"""Measures time against memory: from more than a query needs down to a small part of it.

    python bench/cliff.py

Runs the queries of suite `cliff`. What a query needs is Godwit's peak resident size without a limit; all engines get
the same parts of it as their limit. Each run has a process of its own, so that a crash is that run's failure, and
engines take turns. Writes a table to the terminal, and JSON and a plot to bench/results. Fails if Godwit can't run something,
passes a limit by more than 32 MiB, or takes more than twice as long with half of the memory.
"""

import argparse
import json
import math
import re
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from matplotlib.ticker import LogLocator

from engines import ENGINES, EngineError, EngineProcess, Limits
from engines.process import Outcome
from memory import MIB, SLACK_BYTES
from options import SMALLEST_MEMORY_LIMIT, add_common, circumstances, list_of, parse_size
from plot import line, panel_axes, save, tidy
from suites import SUITES, Options, Suite

PERCENTAGES = [200, 100, 50, 25, 12, 6]
# How much longer half of the memory may take.
HALVING_FACTOR_MAX = 2.0
GODWIT = "godwit"


@dataclass
class Point:
    """An engine's runs of a query under a limit."""

    query: str
    engine: str
    percent: int
    limit_bytes: int
    seconds: list[float] = field(default_factory=list)
    peak_bytes: int = 0
    error: str | None = None

    @property
    def median(self) -> float | None:
        return statistics.median(self.seconds) if self.seconds and not self.error else None

    @property
    def over_limit(self) -> bool:
        return self.peak_bytes > self.limit_bytes + SLACK_BYTES


def main() -> int:
    arguments = parse_arguments()
    suite = SUITES["cliff"](Options(arguments.scale, arguments.data, arguments.godwit, arguments.smoke))
    suite = suite.only(arguments.queries)
    engines = arguments.engines or suite.engines
    needs, points = {}, []
    for query in suite.queries:
        outcome = run_once(suite, query, GODWIT, None, arguments)
        if outcome.error:
            print(f"{query} fails without a limit: {outcome.error}", file=sys.stderr)
            return 1
        needs[query] = outcome.peak_bytes
        print(f"\n{query} needs {outcome.peak_bytes / MIB:.0f} MiB", flush=True)
        for percent, limit in budgets(outcome.peak_bytes):
            of_limit = [Point(query, engine, percent, limit) for engine in engines]
            measure(suite, of_limit, arguments)
            points += of_limit
    report = {**circumstances(arguments), "needs_bytes": needs, "points": [asdict(point) for point in points]}
    arguments.output.mkdir(parents=True, exist_ok=True)
    file = arguments.output / f"{suite.name}-{arguments.threads}threads.json"
    file.write_text(json.dumps(report, indent=1) + "\n")
    plot(points, needs, engines, f"Time against memory, {arguments.threads} threads", file.with_suffix(".png"))
    complaints = list(judge([point for point in points if point.engine == GODWIT], strict_time=not arguments.smoke))
    print("\n" + "\n".join(failures(points, engines) + complaints))
    print(f"\nwrote {file} and .png")
    return 1 if complaints else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common(parser)
    parser.add_argument("--runs", type=int, default=3, help="runs per point [3]")
    parser.add_argument(
        "--seconds", type=float, default=60, help="time per point and engine that makes runs fewer [60]"
    )
    parser.add_argument("--engines", type=list_of(ENGINES, "engine"), help=f"of {','.join(ENGINES)} [the suite's]")
    parser.add_argument("--queries", type=lambda text: text.split(","), help="some of grouping,join,sort,window")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.runs = 1
    return arguments


def budgets(need_bytes: int) -> Iterator[tuple[int, int]]:
    """Percentages of a need and what they are in bytes; those below the smallest limit give way to it."""
    smallest = parse_size(SMALLEST_MEMORY_LIMIT)
    for percent in PERCENTAGES:
        limit = need_bytes * percent // 100
        if limit < smallest:
            print(f"  {percent} % is below the smallest limit, {SMALLEST_MEMORY_LIMIT}", flush=True)
            yield round(100 * smallest / need_bytes), smallest
            return
        yield percent, limit


def measure(suite: Suite, of_limit: list[Point], arguments: argparse.Namespace) -> None:
    """Engines take turns under one limit."""
    for _ in range(arguments.runs):
        for point in of_limit:
            if point.error or sum(point.seconds) > arguments.seconds:
                continue
            outcome = run_once(suite, point.query, point.engine, point.limit_bytes, arguments)
            point.peak_bytes = max(point.peak_bytes, outcome.peak_bytes)
            point.error = outcome.error
            if not outcome.error:
                point.seconds.append(outcome.seconds)
    for point in of_limit:
        verdict = f"{point.median:8.2f} s" if point.median else "  failed  "
        remark = point.error.splitlines()[0][:120] if point.error else "over the limit" if point.over_limit else ""
        head = f"  {point.percent:>3} % {point.limit_bytes / MIB:>7.0f} MiB"
        print(f"{head}  {point.engine:<12}{verdict}  peak {point.peak_bytes / MIB:>6.0f} MiB  {remark}", flush=True)


def run_once(suite: Suite, query: str, name: str, limit: int | None, arguments: argparse.Namespace) -> Outcome:
    """Runs a query in a new process with the tables that it names."""
    sql = suite.queries[query]
    tables = {table: file for table, file in suite.tables.items() if re.search(rf"\b{table}\b", sql)}
    with tempfile.TemporaryDirectory(prefix="godwit-bench-") as scratch:
        limits = Limits(arguments.threads, limit, arguments.godwit, Path(scratch) / name)
        try:
            engine = EngineProcess(name, limits, tables, arguments.timeout)
        except EngineError as error:
            return Outcome(error=str(error))
        try:
            outcome = engine.run(sql, with_rows=True)
        finally:
            engine.stop()
    if not outcome.error and len(outcome.rows) != 1:
        outcome.error = f"{len(outcome.rows)} rows instead of 1"
    return outcome


def judge(points: list[Point], strict_time: bool) -> Iterator[str]:
    """What is wrong with Godwit's points."""
    for before, point in zip([None, *points], points, strict=False):
        place = f"{point.query} at {point.percent} %"
        if point.error:
            yield f"godwit failed: {place}: {point.error}"
        if point.over_limit:
            yield f"godwit had {point.peak_bytes / MIB:.0f} MiB in use: {place}, {point.limit_bytes / MIB:.0f} MiB"
        if before and before.query == point.query and before.median and point.median:
            factor = point.median / before.median
            if strict_time and factor > max(HALVING_FACTOR_MAX, before.limit_bytes / point.limit_bytes):
                yield f"godwit took {factor:.1f} times as long as at {before.percent} %: {place}"


def failures(points: list[Point], engines: list[str]) -> list[str]:
    """A line for each engine."""
    of_engines = {engine: [point for point in points if point.engine == engine] for engine in engines}
    return [
        f"{engine}: {sum(point.error is not None for point in own)} of {len(own)} failed, "
        f"{sum(point.over_limit for point in own)} over the limit by more than {SLACK_BYTES // MIB} MiB"
        for engine, own in of_engines.items()
    ]


def plot(points: list[Point], needs: dict[str, int], engines: list[str], title: str, file: Path) -> None:
    """Time against memory, a panel per query."""
    figure, all_axes = panel_axes(len(needs))
    figure.suptitle(title)
    for axes, (query, need) in zip(all_axes, needs.items(), strict=True):
        for engine in engines:
            own = [point for point in points if (point.query, point.engine) == (query, engine)]
            times = [(point.percent, point.median or math.nan) for point in own]
            line(axes, engine, times, [point.percent for point in own if point.error], "failed")
        label = f"memory limit, % of need ({need / 10**9:.1f} GB)"
        axes.set(title=query, xlabel=label, ylabel="seconds (median)", xscale="log", yscale="log")
        axes.set_xticks(PERCENTAGES, map(str, PERCENTAGES))
        axes.minorticks_off()
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.invert_xaxis()
        tidy(axes)
    handles, labels = zip(*(pair for axes in all_axes for pair in zip(*axes.get_legend_handles_labels(), strict=True)))
    unique = dict(zip(labels, handles, strict=True))
    figure.legend(unique.values(), unique.keys(), loc="outside lower center", ncols=6, fontsize="small", frameon=False)
    save(figure, file)


if __name__ == "__main__":
    sys.exit(main())

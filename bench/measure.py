"""Measures engines side by side.

Query by query, the engines take turns: A B C, A B C, ... A machine that slows down for a while slows all of them. The
first turn is a warm-up: it fills file caches and opens files. Queries that take long get fewer turns, see `Turns`.
"""

import math
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from engines import EngineProcess
from fingerprint import Fingerprint, fingerprint, same
from suites import Suite


@dataclass
class Measurement:
    """One query in one engine."""

    seconds: list[float] = field(default_factory=list)
    result: Fingerprint | None = None
    # The most memory that was seen in use.
    peak_bytes: int = 0
    # The most that a run had the disk read.
    disk_bytes: int = 0
    # Why there are no times, or why they don't count.
    error: str | None = None

    @property
    def median(self) -> float | None:
        return statistics.median(self.seconds) if self.seconds and not self.error else None


@dataclass(frozen=True)
class Turns:
    """How often queries run."""

    # Counted turns.
    runs: int
    # No further turn is begun when the slowest engine has spent this many seconds on a query, but at least one turn is
    # counted.
    seconds: float
    # The first turn isn't counted.
    warm_up: bool

    def enough(self, of_query: dict[str, Measurement]) -> bool:
        done = [m.seconds for m in of_query.values() if not m.error]
        counted = min(map(len, done), default=self.runs)
        return counted >= self.runs or (counted >= 1 and max(map(sum, done)) > self.seconds)


# By query, then by engine.
Measurements = dict[str, dict[str, Measurement]]


def measure(suite: Suite, engines: list[EngineProcess], turns: Turns, reference: str) -> Measurements:
    """Runs all queries in all engines; checks results against those of the engine `reference`."""
    measurements: Measurements = {}
    width = max(map(len, suite.queries), default=0)
    for query in suite.queries:
        of_query = measurements[query] = {engine.name: Measurement() for engine in engines}
        first = True
        while first or not turns.enough(of_query):
            for engine in engines:
                if not of_query[engine.name].error:
                    take_turn(of_query[engine.name], engine, suite, query, first, counted=not (first and turns.warm_up))
            if first:
                check_results(of_query, reference)
            first = False
        print(line(f"{query:>{width}}", of_query), flush=True)
    return measurements


def take_turn(
    measurement: Measurement, engine: EngineProcess, suite: Suite, query: str, first: bool, counted: bool
) -> None:
    """Runs a query; its rows are looked at the first time."""
    outcome = engine.run(suite.queries[query], with_rows=first)
    measurement.peak_bytes = max(measurement.peak_bytes, outcome.peak_bytes)
    measurement.disk_bytes = max(measurement.disk_bytes, outcome.disk_bytes)
    if outcome.error:
        measurement.error = ("not supported: " if outcome.unsupported else "") + outcome.error
        return
    if first:
        measurement.result = [len(outcome.rows)] if suite.any_row else fingerprint(outcome.rows)
    if counted:
        measurement.seconds.append(outcome.seconds)


def check_results(of_query: dict[str, Measurement], reference: str) -> None:
    expected = of_query[reference].result if reference in of_query else None
    for measurement in of_query.values():
        if expected and measurement.result and not same(expected, measurement.result):
            measurement.error = f"another result: {measurement.result}, {reference} has {expected}"


def line(query: str, of_query: dict[str, Measurement]) -> str:
    cells = (f"{name} {m.median:8.4f}" if m.median else f"{name} {'-':>8}" for name, m in of_query.items())
    errors = "".join(f"\n      {name}: {m.error}" for name, m in of_query.items() if m.error)
    return f"{query}  " + "  ".join(cells) + errors


def ratios(measurements: Measurements, engine: str, reference: str) -> dict[str, float]:
    """By query: how many times as long as the reference an engine took. Without queries that either couldn't run."""
    pairs = {query: (m[engine].median, m[reference].median) for query, m in measurements.items()}
    return {query: ours / theirs for query, (ours, theirs) in pairs.items() if ours and theirs}


def geometric_mean(values: Iterable[float]) -> float:
    logarithms = [math.log(value) for value in values]
    return math.exp(statistics.fmean(logarithms)) if logarithms else math.nan


def summary(measurements: Measurements, engines: list[str], reference: str) -> str:
    """A table: per engine what it took and how it stands against the reference."""
    lines = [f"{'engine':<18}{'done':>5}{'failed':>8}{'sum s':>10}{'geomean s':>11}{'ratio':>8}{'worst':>8}"]
    for engine in engines:
        medians = [m[engine].median for m in measurements.values() if m[engine].median]
        failed = len(measurements) - len(medians)
        text = f"{engine:<18}{len(medians):>5}{failed:>8}{sum(medians):>10.3f}{geometric_mean(medians):>11.4f}"
        against = ratios(measurements, engine, reference) if reference in engines else {}
        if against:
            worst = max(against, key=against.__getitem__)
            text += f"{geometric_mean(against.values()):>8.2f}{against[worst]:>8.2f} ({worst})"
        lines.append(text)
    lines.append(f"ratio: geometric mean of the times divided by those of {reference}, over queries that both ran")
    return "\n".join(lines)


def as_json(measurements: Measurements) -> dict[str, Any]:
    return {
        query: {engine: asdict(m) | {"median_seconds": m.median} for engine, m in of_query.items()}
        for query, of_query in measurements.items()
    }

"""Runs queries that need much memory all at once under one small limit, and one after the other.

    cargo build --release -p godwit --example concurrent
    python bench/concurrency.py --memory-limit 256MB

Runs suite `concurrency`, each query on a connection of its own, in Godwit and in DuckDB; the modes and engines take
turns, each run is a process of its own. Writes a table to the terminal, and JSON and a plot to bench/results. Fails if
in Godwit a query fails or answers differently, all at once take more than 1.3 times as long as in turn, or the resident
size passes the limit by more than 32 MiB.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from memory import MIB, SLACK_BYTES, watch
from options import ROOT, SMALLEST_MEMORY_LIMIT, add_common, circumstances, parse_size
from plot import COLORS, save, tidy
from resident import SAMPLES_PER_SECOND
from suites import SUITES, Options, Suite

PROGRAM = ROOT / "target/release/examples/concurrent"
MODES = ["in-turn", "at-once"]
# How much longer all at once may take than one after the other.
FACTOR_MAX = 1.3


@dataclass
class Run:
    """One process."""

    seconds: float
    peak_bytes: int
    sampled_bytes: list[int]
    # By query.
    seconds_of_queries: dict[str, float]
    rows: dict[str, str]
    errors: dict[str, str]


# By engine, then by mode.
Runs = dict[str, dict[str, list[Run]]]


def main() -> int:
    arguments = parse_arguments()
    suite = SUITES["concurrency"](Options(arguments.scale, arguments.data, arguments.godwit, arguments.smoke))
    default = parse_size(SMALLEST_MEMORY_LIMIT) if arguments.smoke else suite.memory_limit_bytes
    limit = arguments.memory_limit or default
    programs = {
        "godwit": [arguments.program],
        "duckdb": [sys.executable, Path(__file__).with_name("concurrent_duckdb.py")],
    }
    runs: Runs = {engine: {mode: [] for mode in MODES} for engine in programs}
    print(f"{suite.name}: {len(suite.queries)} queries, limit {limit / MIB:.0f} MiB\n")
    for _ in range(arguments.runs):
        for mode in MODES:
            for engine, program in programs.items():
                words = [*program, mode, f"{limit}B", str(arguments.threads)]
                run = run_once(words, suite, arguments.timeout)
                runs[engine][mode].append(run)
                remark = f"{len(run.errors)} of {len(suite.queries)} failed"
                print(
                    f"{engine:<8}{mode}{run.seconds:>9.2f} s  peak {run.peak_bytes / MIB:>5.0f} MiB  {remark}",
                    flush=True,
                )

    report = {
        **circumstances(arguments),
        "memory_limit_bytes": limit,
        "runs": {engine: {mode: list(map(asdict, of)) for mode, of in modes.items()} for engine, modes in runs.items()},
    }
    arguments.output.mkdir(parents=True, exist_ok=True)
    file = arguments.output / f"{suite.name}-{arguments.threads}threads-{limit // 10**6}MB.json"
    file.write_text(json.dumps(report, indent=1) + "\n")
    plot(
        runs,
        limit,
        f"{suite.title}, {arguments.threads} threads, memory limit {limit / 10**9:g} GB",
        file.with_suffix(".png"),
    )
    complaints = list(judge(runs, limit, strict_time=not arguments.smoke))
    print("\n".join(["", *summary(runs), *complaints, "", f"wrote {file} and .png"]))
    return 1 if complaints else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common(parser)
    parser.add_argument("--memory-limit", type=parse_size, help="[256MB]")
    parser.add_argument("--runs", type=int, default=3, help="runs per mode [3]")
    parser.add_argument("--program", type=Path, default=PROGRAM, help="the example `concurrent`")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.runs = 1
    return arguments


def run_once(command: list[Any], suite: Suite, timeout_seconds: float) -> Run:
    views = [f"CREATE VIEW {name} AS SELECT * FROM '{file}'" for name, file in suite.tables.items()]
    process = watch(command, timeout_seconds * len(suite.queries), "\n".join([*views, *suite.queries.values()]) + "\n")
    run = Run(process.seconds, process.peak_bytes, process.sampled_bytes, {}, {}, {})
    lines = process.output.splitlines()
    if process.error or len(lines) != len(suite.queries) + 1:
        run.errors = {query: process.error or "no answer" for query in suite.queries}
        return run
    for query, line in zip(suite.queries, lines, strict=False):
        seconds, kind, text = line.split("\t")
        run.seconds_of_queries[query] = float(seconds)
        (run.rows if kind == "rows" else run.errors)[query] = text
    run.seconds = float(lines[-1])
    return run


def complete_seconds(runs: list[Run]) -> float | None:
    """The median over runs without a failure."""
    return statistics.median(run.seconds for run in runs) if runs and not any(run.errors for run in runs) else None


def summary(runs: Runs) -> Iterator[str]:
    for engine, modes in runs.items():
        in_turn, at_once = (complete_seconds(modes[mode]) for mode in MODES)
        failed = ", ".join(f"{max(len(run.errors) for run in modes[mode])} failed {mode}" for mode in MODES)
        factor = f"{at_once / in_turn:.2f} times as long at once as in turn, " if in_turn and at_once else ""
        yield f"{engine}: {factor}{failed}"


def judge(runs: Runs, limit: int, strict_time: bool) -> Iterator[str]:
    """What is wrong with Godwit's runs."""
    modes = runs["godwit"]
    answers: dict[str, str] = {}
    for mode, run in ((name, run) for name in MODES for run in modes[name]):
        yield from (f"godwit failed {mode}: {query}: {error}" for query, error in run.errors.items())
        for query, rows in run.rows.items():
            if answers.setdefault(query, rows) != rows:
                yield f"godwit answered {mode} otherwise than before: {query}: {rows} instead of {answers[query]}"
        if run.peak_bytes > limit + SLACK_BYTES:
            yield f"godwit had {run.peak_bytes / MIB:.0f} MiB in use {mode}, {limit / MIB:.0f} MiB are the limit"
    in_turn, at_once = (complete_seconds(modes[mode]) for mode in MODES)
    if strict_time and in_turn and at_once and at_once > FACTOR_MAX * in_turn:
        yield f"godwit took {at_once / in_turn:.2f} times as long at once as in turn, {FACTOR_MAX} are allowed"


def plot(runs: Runs, limit: int, title: str, file: Path) -> None:
    """Times of the modes, and resident size over time."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), width_ratios=(1, 2), layout="constrained")
    figure.suptitle(title)
    for position, (engine, modes) in enumerate(runs.items()):
        for place, mode in enumerate(MODES):
            seconds = statistics.median(run.seconds for run in modes[mode])
            failed = max(len(run.errors) for run in modes[mode])
            x = place + (position - 0.5) * 0.4
            left.bar(x, seconds, 0.38, color=COLORS[engine], label=engine if place == 0 else None)
            if failed:
                left.text(x, seconds, f"{failed} failed", ha="center", va="bottom", fontsize="small")
        samples = modes["at-once"][0].sampled_bytes
        times = [index / SAMPLES_PER_SECOND for index in range(len(samples))]
        right.plot(times, [size / MIB for size in samples], color=COLORS[engine], label=f"{engine}, at once")
    right.axhline((limit + SLACK_BYTES) / MIB, color="black", linewidth=1, linestyle="--", label="limit + 32 MiB")
    left.set(ylabel="seconds (median)")
    left.set_xticks(range(len(MODES)), MODES)
    right.set(xlabel="seconds", ylabel="resident MiB", ylim=(0, None))
    for axes in (left, right):
        tidy(axes)
        axes.legend(frameon=False, fontsize="small")
    save(figure, file)


if __name__ == "__main__":
    sys.exit(main())

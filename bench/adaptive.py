"""Measures adaptive compression: the figures of Windheuser et al., "Adaptive Compression For Databases", 2024.

    cargo build --release -p godwit --example adaptive
    cargo build --release -p godwit-encoding --example lookups
    python bench/adaptive.py
    python bench/adaptive.py --parts zipf,phases

Parts:

    lookups   figure 2: point lookups in packed against flat vectors, by size
    scan      figure 4: sum of ascending 64-bit numbers, flat, compact and frozen, in memory
    short     figure 5: the same with a buffer in which only the compact form has room, from a file that isn't cached
    zipf      figure 6: point queries by a Zipf distribution, all flat, all compact, adaptive
    phases    figure 7: three phases with different hot ranges, rate and memory over time
    grid      auto beside pairs of α and period, over figures 6 and 7
    tpch      auto beside fixed settings: TPC-H from the database's own file in little memory

Writes what it measures to the terminal, and JSON and a plot of each figure to bench/results.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from disk import drop_page_cache
from engines.godwit_native import native_file
from measure import geometric_mean
from options import ROOT, add_common, circumstances, list_of
from suites.base import Options
from suites.tpch import suite as tpch_suite
from suites.tpch import tables as tpch_tables

EXAMPLES = ROOT / "target/release/examples"
FORMS = ["hot", "compact", "frozen"]
MODES = ["hot", "compact", "on", "auto"]
SKEWS = [0, 0.5, 1, 1.5, 2, 2.5]
# Pairs of α and period beside auto, and the skews of figure 6 under them.
PAIRS = [f"{alpha}@{period}" for alpha in (0.5, 0.9, 0.97) for period in ("500ms", "2s")]
PAIRED_SKEWS = [0.5, 1.5]
# What a pair may take of auto's memory to count as no more.
SAME_MEMORY = 1.05
# Limits of memory for TPC-H, and the fixed settings beside auto: α and period.
LIMITS_MIB = [1024, 2048, 4096]
SETTINGS = {
    "off": "SET adaptive_compression = 'off'",
    "auto": "SET adaptive_compression = 'auto'",
    **{
        f"α {alpha}, {period}": f"SET adaptive_compression = 'on'; SET compaction_threshold = {alpha}; "
        f"SET adaptation_period = '{period}'"
        for alpha in (0.5, 0.9)
        for period in ("1s", "10s")
    },
}
COLORS = {"hot": "#4c72b0", "compact": "#55a868", "on": "#c44e52", "auto": "#8172b3", "frozen": "#8c8c8c"}
Row = dict[str, Any]


def main() -> int:
    arguments = parse_arguments()
    arguments.output.mkdir(parents=True, exist_ok=True)
    report: dict[str, Any] = circumstances(arguments)
    for part in arguments.parts:
        print(f"\n{part}", flush=True)
        rows = PARTS[part](arguments)
        report[part] = rows
    file = arguments.output / f"adaptive-{'-'.join(arguments.parts)}.json"
    file.write_text(json.dumps(report, indent=1) + "\n")
    print(f"\nwrote {file}, and a plot of each figure")
    return 0


def measured(program: Path, *words: object) -> Iterator[Row]:
    """The objects that an example writes."""
    command = [str(program), *(str(word) for word in words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or []:
            yield json.loads(line)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed")


def in_turns(arguments: argparse.Namespace, modes: list[str], *words: object) -> list[Row]:
    """What the example measures under each mode. Modes take turns: the machine's speed changes over minutes."""
    return [
        {**row, "run": run}
        for run in range(1 if arguments.smoke else arguments.runs)
        for mode in modes
        for row in measured(arguments.examples / "adaptive", *words, mode)
    ]


def lookups(arguments: argparse.Namespace) -> list[Row]:
    rows = list(measured(arguments.examples / "lookups"))
    for row in rows:
        print(f"{row['size']:>12,} {row['flat_nanos']:8.2f} ns {row['packed_nanos']:8.2f} ns", flush=True)
    figure, (times, sizes) = plt.subplots(1, 2, figsize=(10, 4))
    x = [row["size"] for row in rows]
    for form in ("flat", "packed"):
        times.plot(x, [row[f"{form}_nanos"] for row in rows], label=form)
        sizes.plot(x, [row[f"{form}_bytes"] for row in rows], label=form)
    times.plot(x, [row["packed_nanos"] / row["flat_nanos"] for row in rows], ":", label="ratio of times")
    for axes, what in ((times, "nanoseconds for a lookup"), (sizes, "bytes")):
        axes.set(xscale="log", yscale="log", xlabel="64-bit integers", ylabel=what)
        axes.legend()
    save(figure, arguments, "figure-2-lookups")
    return rows


def scan(arguments: argparse.Namespace) -> list[Row]:
    rows = list(measured(arguments.examples / "adaptive", "scan", 10**6 if arguments.smoke else arguments.rows, arguments.runs))
    flat = next(row for row in rows if row["form"] == "flat")
    for row in rows:
        seconds = statistics.median(row["seconds"])
        ratio = seconds / statistics.median(flat["seconds"])
        memory = {"flat": row["hot"], "compact": row["compact"], "frozen": row["frozen"]}[row["form"]]
        print(f"{row['form']:10}{seconds * 1e3:9.1f} ms ({ratio:.2f} of flat) {memory / 2**20:9.1f} MiB ({memory / flat['hot']:.3f})")
    figure, (times, sizes) = plt.subplots(1, 2, figsize=(8, 4))
    names = [row["form"] for row in rows]
    times.bar(names, [statistics.median(row["seconds"]) * 1e3 for row in rows])
    times.set(ylabel="milliseconds for the sum")
    sizes.bar(names, [sum(row[form] for form in FORMS) / 2**20 for row in rows])
    sizes.set(ylabel="MiB in memory")
    save(figure, arguments, "figure-4-scan")
    return rows


def short(arguments: argparse.Namespace) -> list[Row]:
    count, limit_mib = (10**7, 128) if arguments.smoke else (arguments.rows, 512)
    rows = []
    with tempfile.TemporaryDirectory(dir=arguments.data) as folder:
        for form, encoding in (("flat", "plain"), ("compact", "auto")):
            file = Path(folder) / f"{form}.godwit"
            make = [f"SET force_encoding = '{encoding}'", f"CREATE TABLE t AS SELECT i AS id FROM range({count}) r(i)", "CHECKPOINT"]
            words = [word for statement in make for word in ("-c", statement)]
            subprocess.run([arguments.godwit, file, *words], check=True, stdout=subprocess.DEVNULL)
            runs = []
            for _ in range(arguments.runs):
                drop_page_cache([file])
                sql = "SELECT sum(id) FROM t"
                (row,) = measured(arguments.examples / "adaptive", "run", file, limit_mib, sql, 1)
                # A buffer that has room for all of it was filled before.
                (second,) = measured(arguments.examples / "adaptive", "run", file, limit_mib, sql, 2)
                runs.append((row["seconds"][0], second["seconds"][1]))
            first, again = (statistics.median(times) for times in zip(*runs))
            rows.append({"form": form, "bytes": file.stat().st_size, "dropped": first, "again": again})
            print(f"{form:10} page cache dropped {first:7.3f} s, again {again:7.3f} s, {file.stat().st_size / 2**20:9.1f} MiB")
    figure, axes = plt.subplots(figsize=(5, 4))
    axes.bar([row["form"] for row in rows], [row["dropped"] for row in rows])
    axes.set(ylabel="seconds for the sum, page cache dropped", title=f"buffer of {limit_mib} MiB")
    save(figure, arguments, "figure-5-short")
    return rows


def memory_of(row: Row) -> int:
    return sum(row[form] for form in FORMS)


def zipf(arguments: argparse.Namespace) -> list[Row]:
    count, seconds = (10**6, 1) if arguments.smoke else (10**7, arguments.seconds)
    rows = []
    for skew in SKEWS[-1:] if arguments.smoke else SKEWS:
        measurements = in_turns(arguments, MODES, "zipf", count, skew, seconds)
        for mode in MODES:
            runs = [row for row in measurements if row["mode"] == mode]
            rate = statistics.median(run["rate"] for run in runs)
            rows.append({**runs[-1], "rate": rate, "memory": memory_of(runs[-1])})
        hot = next(row for row in rows if row["skew"] == skew and row["mode"] == "hot")
        for row in (row for row in rows if row["skew"] == skew):
            rate, flat = row["rate"] / hot["rate"], row["memory"] / hot["hot"]
            print(f"k = {skew:<4} {row['mode']:8} {row['rate']:9.0f}/s ({rate:.3f} of hot), {row['memory'] / 2**20:7.1f} MiB ({flat:.3f} of flat)", flush=True)
    figure, (rates, sizes) = plt.subplots(1, 2, figsize=(10, 4))
    for mode in MODES:
        own = [row for row in rows if row["mode"] == mode]
        rates.plot([row["skew"] for row in own], [row["rate"] for row in own], "o-", label=mode, color=COLORS[mode])
        sizes.plot([row["skew"] for row in own], [row["memory"] / 2**20 for row in own], "o-", label=mode, color=COLORS[mode])
    for axes, what in ((rates, "point queries in a second"), (sizes, "MiB in memory")):
        axes.set(xlabel="skew k", ylabel=what, ylim=(0, None))
        axes.legend()
    save(figure, arguments, "figure-6-zipf")
    return rows


def phases(arguments: argparse.Namespace) -> list[Row]:
    rows = phases_of(arguments, MODES)
    whole = {mode: [row for row in rows if row["mode"] == mode and row["run"] == 0] for mode in MODES}
    flat = max(row["hot"] for row in whole["hot"])
    for mode in MODES:
        per_run = [mean_rate(rows, mode, run) / mean_rate(rows, "hot", run) for run in range(runs_of(rows))]
        memory = statistics.mean(memory_of(row) for row in rows if row["mode"] == mode)
        print(f"{mode:8} {statistics.median(per_run):.3f} of hot's rate ({', '.join(f'{rate:.3f}' for rate in per_run)}), "
              f"{memory / 2**20:.1f} MiB on average ({memory / flat:.3f} of flat)", flush=True)
    figure, (rates, sizes) = plt.subplots(2, 1, figsize=(9, 6), sharex=True)
    for mode, own in whole.items():
        rates.plot([row["at"] for row in own], [row["rate"] for row in own], label=mode, color=COLORS[mode])
        sizes.plot([row["at"] for row in own], [memory_of(row) / 2**20 for row in own], color=COLORS[mode])
    rates.set(ylabel="point queries in a second", ylim=(0, None))
    rates.legend()
    sizes.set(xlabel="seconds", ylabel="MiB in memory", ylim=(0, None))
    save(figure, arguments, "figure-7-phases")
    return rows


def phases_of(arguments: argparse.Namespace, modes: list[str]) -> list[Row]:
    """Rate and memory over time under each mode."""
    count, seconds = (10**6, 2) if arguments.smoke else (53 * 10**6, 10)
    return in_turns(arguments, modes, "phases", count, seconds)


def runs_of(rows: list[Row]) -> int:
    return 1 + max(row["run"] for row in rows)


def mean_rate(rows: list[Row], mode: str, run: int) -> float:
    return statistics.mean(row["rate"] for row in rows if row["mode"] == mode and row["run"] == run)


def grid(arguments: argparse.Namespace) -> list[Row]:
    """Rates and memory of each pair, as shares of auto's. A pair is better if it is faster in no more memory."""
    rows = []
    modes = ["auto", *(PAIRS[:1] if arguments.smoke else PAIRS)]
    count, seconds = (10**6, 1) if arguments.smoke else (10**7, arguments.seconds)
    for skew in PAIRED_SKEWS:
        measurements = in_turns(arguments, modes, "zipf", count, skew, seconds)
        rows += beside_auto(f"Zipf, k = {skew}", measurements, modes)
    rows += beside_auto("phases", phases_of(arguments, modes), modes)
    better = max((row["rate"] for row in rows if row["mode"] != "auto" and row["memory"] <= SAME_MEMORY), default=0)
    print(f"the best pair in no more memory has {better:.3f} of auto's rate")
    return rows


def beside_auto(workload: str, measurements: list[Row], modes: list[str]) -> list[Row]:
    rows = []
    runs = range(runs_of(measurements))
    memory = {mode: statistics.mean(memory_of(row) for row in measurements if row["mode"] == mode) for mode in modes}
    for mode in modes:
        rate = statistics.median(mean_rate(measurements, mode, run) / mean_rate(measurements, "auto", run) for run in runs)
        rows.append({"workload": workload, "mode": mode, "rate": rate, "memory": memory[mode] / memory["auto"]})
        print(f"{workload:14} {mode:10} {rate:.3f} of auto's rate in {rows[-1]['memory']:.2f} of its memory ({memory[mode] / 2**20:.1f} MiB)", flush=True)
    return rows


def tpch(arguments: argparse.Namespace) -> list[Row]:
    options = Options(arguments.scale or 10, arguments.data, arguments.godwit, arguments.smoke)
    suite = tpch_suite(options)
    file = native_file(arguments.godwit, tpch_tables(0.01 if arguments.smoke else options.scale, options))
    rows: list[Row] = []
    for limit in LIMITS_MIB[:1] if arguments.smoke else LIMITS_MIB:
        for name, settings in SETTINGS.items():
            times = shell_times(arguments.godwit, file, limit, settings, list(suite.queries.values()), 1 + arguments.rounds)
            # The first round fills the buffer.
            # The shell shows milliseconds.
            per_query = [max(statistics.median(rounds[1:]), 1e-3) for rounds in times]
            row = {"limit_mib": limit, "settings": name, "sum": sum(per_query), "geomean": geometric_mean(per_query), "queries": per_query}
            rows.append(row)
            print(f"{limit:6} MiB  {name:14} {row['sum']:8.3f} s, geometric mean {row['geomean']:.4f} s", flush=True)
    figure, axes = plt.subplots(figsize=(9, 4))
    width = 0.8 / len(SETTINGS)
    limits = sorted({row["limit_mib"] for row in rows})
    for at, name in enumerate(SETTINGS):
        own = [row["sum"] for row in rows if row["settings"] == name]
        axes.bar([index + at * width for index in range(len(limits))], own, width, label=name)
    axes.set(xticks=[index + 0.4 for index in range(len(limits))], xticklabels=[f"{limit} MiB" for limit in limits])
    axes.set(ylabel="seconds for the 22 queries")
    axes.legend()
    save(figure, arguments, "adaptive-tpch")
    return rows


def shell_times(shell: Path, file: Path, limit_mib: int, settings: str, queries: list[str], rounds: int) -> list[list[float]]:
    """Seconds of each query in each round, in one process."""
    script = ["\n".join(f"{statement};" for statement in settings.split("; ")), ".timer on"]
    script += [query.strip().rstrip(";") + ";" for _ in range(rounds) for query in queries]
    command = [shell, file, "--read-only", "--format", "csv", "--memory-limit", f"{limit_mib}MiB"]
    done = subprocess.run(command, input="\n".join(script), capture_output=True, text=True, check=True)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("Run Time")]
    seconds = [float(line.split("real ")[1].split()[0]) for line in lines]
    if len(seconds) != rounds * len(queries):
        raise SystemExit(f"{len(seconds)} times of {rounds * len(queries)} queries:\n{done.stderr[-2000:]}")
    return [seconds[at :: len(queries)] for at in range(len(queries))]


def save(figure: Any, arguments: argparse.Namespace, name: str) -> None:
    figure.tight_layout()
    figure.savefig(arguments.output / f"{name}.png", dpi=120)
    plt.close(figure)


PARTS: dict[str, Callable[[argparse.Namespace], list[Row]]] = {
    "lookups": lookups,
    "scan": scan,
    "short": short,
    "zipf": zipf,
    "phases": phases,
    "grid": grid,
    "tpch": tpch,
}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common(parser)
    parser.add_argument("--examples", type=Path, default=EXAMPLES, help="folder with the examples `adaptive` and `lookups`")
    parser.add_argument("--parts", type=list_of(PARTS, "part"), default=list(PARTS), help=f"of {','.join(PARTS)} [all]")
    parser.add_argument("--rows", type=int, default=200_000_000, help="of the scans [200000000]")
    parser.add_argument("--seconds", type=int, default=4, help="of each Zipf measurement [4]")
    parser.add_argument("--runs", type=int, default=3, help="of scans, Zipf measurements and phases [3]")
    parser.add_argument("--rounds", type=int, default=3, help="of TPC-H's queries, behind one that fills the buffer [3]")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

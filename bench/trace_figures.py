"""Table 3.1 and figures 3.4 to 3.10 of Stefan Noll's thesis "Resource-Efficient Data Processing", chapter 3, from Godwit's own traces.

    cargo build --release -p godwit-cli
    pip install -r bench/requirements.txt
    python bench/trace_figures.py

Over TPC-H with the skew of JCC-H (suites/jcch.py) in a database of its own tables. What each figure has to show is computed from
the trace, and printed beside what it is compared with; the plots go to bench/results.

    table     table 3.1: what a trace costs, and how large it is, by threshold
    3.4       phases of a sort: the column, its entries, the rows that are fetched in order
    3.5       a dictionary's accesses by entry: the hottest ones with their values
    3.6       bytes by how often they are read, beside the time that a workload takes in less memory
    3.7       accesses of lineitem's columns by row: five populous orders, two of which filters ask for more often
    3.8-3.10  accessed volume when tables are laid out by year, or by populous order
"""

import argparse
import csv
import os
import re
import statistics
import subprocess
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from options import add_common, list_of
from suites import jcch
from suites.base import Options
from trace_truth import footer

FIGURES = {"table": None, "3.4": None, "3.5": None, "3.6": None, "3.7": None, "3.8": None}
# The thesis's thresholds: many samples for patterns over time, few for totals.
PATTERNS_THRESHOLD = 200
TOTALS_THRESHOLD = 1_000
# Table 3.1, and the thesis's slowdowns.
THRESHOLDS = {200: 2.30, 400: 1.67, 600: 1.45, 800: 1.34, 1_000: 1.27, 2_000: 1.13, 4_000: 1.05}
HOT_PRICES = 20
MEMORY_LIMITS_MIB = [100, 110, 120, 130, 140, 160, 180, 200, 225, 250, 275, 300, 350, 400, 500, 700]
# Of figure 3.6: one form for all segments. And under a limit of less than 256 MiB the shell gives freed memory back at once, which
# takes time that has nothing to do with the working set: here it does so under any limit.
ONE_FORM = "SET adaptive_compression = 'off'"
GIVE_BACK_AT_ONCE = {"MIMALLOC_PURGE_DELAY": "0"}
# What the pool keeps for operators besides tables: a limit below is refused.
PLENTY = "4GB"
# Where the slowdown counts as felt.
FELT = 1.1
COLORS = {"segment": "#4c72b0", "dictionary": "#dd9f2e", "row page": "#c44e52", "hash table": "#64a58c", "sort": "#8172b3"}


def workload() -> list[str]:
    return [sql.strip().rstrip(";") for _, sql in jcch.workload()]


class Laboratory:
    """A database with the suite's tables, and its traces."""

    def __init__(self, options: argparse.Namespace):
        self.godwit, self.threads, self.output = options.godwit, options.threads, options.output
        self.output.mkdir(parents=True, exist_ok=True)
        scale = options.scale or (0.01 if options.smoke else 1)
        self.files = jcch.tables(scale, Options(scale=scale, data=options.data, godwit=options.godwit, smoke=options.smoke))
        folder = options.data / f"trace-figures-sf{scale:g}"
        folder.mkdir(parents=True, exist_ok=True)
        self.database = folder / "tables.godwit"
        if not self.database.exists():
            self.load({})

    def load(self, orders: dict[str, str]) -> None:
        """Makes the tables, their rows in an order of their own if they have one, else as in the files."""
        made = [
            f"CREATE TABLE {name} AS SELECT * FROM '{path}'" + (f" ORDER BY {orders[name]}" if name in orders else "")
            for name, path in self.files.items()
        ]
        # Two workers would take turns with row groups.
        self.run(["SET threads = 1", *made, "CHECKPOINT"])

    def run(
        self, statements: list[str], memory_limit: str = PLENTY, timed_from: int | None = None, environment: dict[str, str] = {}
    ) -> float:
        """Runs statements in a fresh process; the seconds that those from `timed_from` on took."""
        script = [f"{statement};" for statement in statements]
        if timed_from is not None:
            script.insert(timed_from, ".timer on")
        command = [self.godwit, self.database, "--threads", str(self.threads), "--format", "csv", "--memory-limit", memory_limit]
        environment = {**os.environ, **environment}
        ended = subprocess.run(command, input="\n".join(script), text=True, capture_output=True, env=environment)
        if ended.returncode != 0:
            raise SystemExit(ended.stderr)
        return sum(float(found) for found in re.findall(r"^Run Time: real ([0-9.]+)", ended.stderr, re.MULTILINE))

    def trace(self, name: str, queries: list[str], threshold: int, before: list[str] = []) -> Path:
        """Traces queries that have run once before."""
        path = self.output / f"{name}.parquet"
        begin = [f"SET trace_threshold = {threshold}", f"SET trace = '{path}'"]
        self.run(before + queries + begin + queries + ["RESET trace"])
        return path

    def ask(self, sql: str) -> list[dict[str, str]]:
        command = [self.godwit, self.database, "--format", "csv", "-c", sql]
        answer = subprocess.run(command, text=True, capture_output=True, check=True)
        return list(csv.DictReader(answer.stdout.splitlines()))

    def draw(self, name: str, figure: plt.Figure) -> None:
        figure.tight_layout()
        figure.savefig(self.output / f"{name}.png", dpi=130)
        plt.close(figure)


def overhead(laboratory: Laboratory, runs: int) -> None:
    queries = workload()
    trace = laboratory.output / "trace-overhead.parquet"
    times: dict[int | None, list[float]] = defaultdict(list)
    sizes: dict[int, int] = {}
    for _ in range(runs):
        # In turns, so that all meet the same noise.
        for threshold in [None, *THRESHOLDS]:
            begin = [] if threshold is None else [f"SET trace_threshold = {threshold}", f"SET trace = '{trace}'"]
            end = [] if threshold is None else ["RESET trace"]
            times[threshold].append(laboratory.run(queries + begin + queries + end, timed_from=len(queries + begin)))
            if threshold is not None:
                sizes[threshold] = trace.stat().st_size
    print(f"\nTable 3.1: {len(queries)} queries, {statistics.median(times[None]):.2f} s without a trace, median of {runs}\n"
          "| threshold | slowdown | the thesis's | MB |\n|---:|---:|---:|---:|")
    for threshold, told in THRESHOLDS.items():
        ratio = statistics.median(traced / base for traced, base in zip(times[threshold], times[None], strict=True))
        print(f"| {threshold:,} | {ratio:.3f} | {told:.2f} | {sizes[threshold] / 1e6:.1f} |")


def sort_phases(laboratory: Laboratory) -> None:
    trace = laboratory.trace("trace-sort", [jcch.LISTINGS["sort"]], PATTERNS_THRESHOLD, ["SET threads = 1"])
    samples = laboratory.ask(f"SELECT time, \"offset\", kind, object FROM godwit_trace('{trace}') ORDER BY time")
    # Objects one above the other, in the order in which they are first read, as far apart as they are large.
    bytes_of = {o["object"]: int(o["bytes"]) for o in laboratory.ask(f"SELECT object, bytes FROM godwit_trace_objects('{trace}')")}
    bases: dict[str, int] = {}
    for sample in samples:
        bases.setdefault(sample["object"], sum(bytes_of[name] for name in bases))
    figure, axes = plt.subplots(figsize=(9, 5))
    print("\nFigure 3.4: phases of the sort\n| read | samples | first half of them by |\n|---|---:|---:|")
    start = int(samples[0]["time"])
    for kind, color in COLORS.items():
        of_kind = [sample for sample in samples if sample["kind"] == kind]
        if not of_kind:
            continue
        times = [(int(sample["time"]) - start) / 1e6 for sample in of_kind]
        heights = [(bases[sample["object"]] + int(sample["offset"])) / 2**20 for sample in of_kind]
        axes.scatter(times, heights, s=1, color=color, label=kind)
        print(f"| {kind} | {len(of_kind):,} | {statistics.median(times):.1f} ms |")
    axes.set(xlabel="time [ms]", ylabel="memory, by object [MiB]", title="3.4  phases of a sort")
    axes.legend(markerscale=6)
    laboratory.draw("trace-3.4", figure)


def hot_entries(laboratory: Laboratory) -> None:
    # Numbers are packed, not coded, in Godwit's tables: prices as texts have a dictionary, as all columns of SAP HANA do.
    laboratory.run([
        "CREATE OR REPLACE TABLE price AS SELECT CAST(l_extendedprice AS VARCHAR) AS price, l_linenumber AS line FROM lineitem",
        "CHECKPOINT",
    ])
    trace = laboratory.trace("trace-decode", ["SELECT max(price || line) FROM price"], PATTERNS_THRESHOLD)
    objects = laboratory.ask(f"SELECT object, kind, samples FROM godwit_trace_objects('{trace}') WHERE samples > 0 ORDER BY kind")
    (dictionary,) = {known["object"] for known in objects if known["kind"] == "dictionary"}
    skew = laboratory.ask(f"SELECT entry, value, accesses, share FROM godwit_trace_skew('{trace}', '{dictionary}')")
    frequent = laboratory.ask(f"SELECT price, count(*) AS lines FROM price GROUP BY price ORDER BY lines DESC LIMIT {HOT_PRICES}")
    hottest, found = skew[:HOT_PRICES], {row["price"] for row in frequent}
    print(f"\nFigure 3.5: the {HOT_PRICES} hottest entries of {dictionary} have "
          f"{sum(float(entry['share']) for entry in hottest):.1%} of its accesses, the next one {float(skew[HOT_PRICES]['share']):.3%}; "
          f"{sum(entry['value'] in found for entry in hottest)} of them are the most frequent prices. "
          f"Entry {hottest[0]['entry']}, value {hottest[0]['value']}, has most: {int(hottest[0]['accesses']):,} "
          f"(most lines: {frequent[0]['price']}, {int(frequent[0]['lines']):,}).")
    figure, axes = plt.subplots(figsize=(9, 4))
    axes.scatter([int(e["entry"]) for e in skew], [int(e["accesses"]) for e in skew], s=3, color=COLORS["dictionary"])
    axes.set(xlabel="entry of the dictionary", ylabel="accesses", yscale="log", title="3.5  accesses of l_extendedprice's dictionary")
    axes.annotate(hottest[0]["value"], (int(hottest[0]["entry"]), int(hottest[0]["accesses"])))
    laboratory.draw("trace-3.5", figure)


def working_set(laboratory: Laboratory, runs: int) -> None:
    whole = workload()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
    print("\nFigure 3.6: memory that a workload wants\n"
          "| workload | queries | tables' hot bytes | structures at once | predicted | measured | off |\n|---|---:|---:|---:|---:|---:|---:|")
    for label, queries, color in [
        ("all", whole, "#c44e52"),
        ("without orders", [sql for sql in whole if "orders" not in sql], "#4c72b0"),
    ]:
        trace = laboratory.trace(f"trace-workload-{label.split()[0]}", queries, TOTALS_THRESHOLD, [ONE_FORM])
        curve = laboratory.ask(f"SELECT total_bytes, accesses_per_page FROM godwit_trace_working_set_curve('{trace}') WHERE scope = 'tables'")
        points = laboratory.ask(f"SELECT point, bytes FROM godwit_trace_working_set('{trace}') WHERE scope = 'tables'")
        (hot,) = [int(point["bytes"]) for point in points if point["point"] == "99 %"]
        # Query by query: the description of a long trace has the ranges of its first queries only.
        structures = max(bytes_at_once(laboratory.trace("trace-query", [sql], TOTALS_THRESHOLD)) for sql in sorted(set(queries)))
        predicted = hot + structures
        limits = [f"{limit}MiB" for limit in MEMORY_LIMITS_MIB]
        times: dict[str, list[float]] = defaultdict(list)
        for _ in range(runs):
            for limit in [*limits, PLENTY]:
                statements = [ONE_FORM, *queries, *queries]
                times[limit].append(laboratory.run(statements, limit, 1 + len(queries), GIVE_BACK_AT_ONCE))
        least = statistics.median(times[PLENTY])
        slowdown = [statistics.median(times[limit]) / least for limit in limits]
        measured = crossing(MEMORY_LIMITS_MIB, slowdown) * 2**20
        left.plot([int(p["total_bytes"]) / 2**20 for p in curve], [float(p["accesses_per_page"]) for p in curve], color=color, label=label)
        left.axvline(hot / 2**20, color=color, linestyle=":")
        right.plot(MEMORY_LIMITS_MIB, slowdown, "o-", color=color, label=label)
        right.axvline(predicted / 2**20, color=color, linestyle=":")
        cells = [f"{size / 2**20:.0f} MiB" for size in (hot, structures, predicted, measured)]
        print(f"| {label} | {len(queries)} | {' | '.join(cells)} | {predicted / measured - 1:+.0%} |")
        print(f"  slowdown: {', '.join(f'{limit} MiB {ratio:.2f}' for limit, ratio in zip(MEMORY_LIMITS_MIB, slowdown))}")
    left.set(xlabel="bytes of tables, hottest first [MiB]", ylabel="accesses of a page of 4 KiB", yscale="log", title="3.6a")
    right.set(xlabel="memory limit [MiB] (dotted: predicted)", ylabel="slowdown", title="3.6b")
    left.legend()
    laboratory.draw("trace-3.6", figure)


def crossing(limits: list[int], slowdown: list[float]) -> float:
    """The limit at which the slowdown falls to `FELT`: below it at the next limit, and at the one after that."""
    for at in range(len(limits) - 2):
        if slowdown[at] > FELT >= max(slowdown[at + 1], slowdown[at + 2]):
            share = (slowdown[at] - FELT) / (slowdown[at] - slowdown[at + 1])
            return limits[at] + share * (limits[at + 1] - limits[at])
    return float(limits[0] if slowdown[0] <= FELT else limits[-1])


def bytes_at_once(trace: Path) -> int:
    """Bytes of queries' structures that exist at the same time, at most."""
    changes: list[tuple[int, int]] = []
    described = footer(trace)
    for known in described["objects"]:
        if known["query"] is not None:
            for memory in known["ranges"]:
                until = described["duration_nanos"] if memory["until"] is None else memory["until"]
                changes += [(memory["from"], memory["bytes"]), (until, -memory["bytes"])]
    sizes = np.cumsum([size for _, size in sorted(changes)])
    return int(sizes.max(initial=0))


def skewed_rows(laboratory: Laboratory) -> Path:
    columns = ["l_orderkey", "l_quantity", "l_partkey", "l_shipdate", "l_shipmode", "l_suppkey"]
    trace = laboratory.trace("trace-skew", workload(), TOTALS_THRESHOLD)
    buckets = 400
    populous = laboratory.ask("""
        SELECT l_orderkey, first, last, year(o_orderdate) AS year
        FROM (
            SELECT l_orderkey, min(row_number) AS first, max(row_number) AS last
            FROM (SELECT row_number() OVER () - 1 AS row_number, l_orderkey FROM lineitem)
            GROUP BY l_orderkey QUALIFY row_number() OVER (ORDER BY count(*) DESC) <= 5
        ) JOIN orders ON o_orderkey = l_orderkey ORDER BY year""")
    (size,) = laboratory.ask("SELECT count(*) AS rows FROM lineitem")
    rows = int(size["rows"])
    figure, axes = plt.subplots(len(columns), 1, figsize=(9, 9), sharex=True)
    print("\nFigure 3.7: share of a column's accesses in rows of the five populous orders, which have "
          f"{sum(int(o['last']) - int(o['first']) + 1 for o in populous) / rows:.1%} of the rows\n"
          f"| column | {' | '.join(o['year'] for o in populous)} | all |\n|---|{'---:|' * 6}")
    for column, axis in zip(columns, axes):
        counts = [0] * buckets
        shares = [0.0] * len(populous)
        samples = laboratory.ask(f"""
            SELECT row_number * {buckets} // {rows} AS bucket, count(*) AS samples FROM godwit_trace_rows('{trace}')
            WHERE "column" = '{column}' AND ends_with("table", 'lineitem') GROUP BY bucket""")
        for sample in samples:
            counts[min(int(sample["bucket"]), buckets - 1)] = int(sample["samples"])
        whole = sum(counts)
        for i, order in enumerate(populous):
            (inside,) = laboratory.ask(f"""
                SELECT count(*) AS samples FROM godwit_trace_rows('{trace}') WHERE "column" = '{column}'
                AND ends_with("table", 'lineitem') AND row_number BETWEEN {order['first']} AND {order['last']}""")
            shares[i] = int(inside["samples"]) / max(whole, 1)
        print(f"| {column} | {' | '.join(f'{share:.1%}' for share in shares)} | {sum(shares):.1%} |")
        axis.bar(range(buckets), [count * TOTALS_THRESHOLD for count in counts], width=1.0, color=COLORS["segment"])
        axis.set_ylabel(column, fontsize=8)
    axes[0].set_title("3.7  accesses by row of lineitem")
    laboratory.draw("trace-3.7", figure)
    return trace


def partitioning(laboratory: Laboratory, before: Path) -> None:
    queries = workload()
    populous = ", ".join(
        order["l_orderkey"] for order in laboratory.ask("SELECT l_orderkey FROM lineitem GROUP BY ALL ORDER BY count(*) DESC LIMIT 5")
    )
    layouts = {
        "by year": {"lineitem": "year(l_shipdate), l_orderkey", "orders": "year(o_orderdate), o_orderkey"},
        "by populous order": {"lineitem": f"CASE WHEN l_orderkey IN ({populous}) THEN l_orderkey ELSE 0 END, l_orderkey", "orders": "o_orderkey"},
    }
    volumes = {"as loaded": volume_of(laboratory, before)}
    plain = laboratory.database
    for name, orders in layouts.items():
        laboratory.database = plain.with_name(f"{name.replace(' ', '-')}.godwit")
        if not laboratory.database.exists():
            laboratory.load(orders)
        trace = laboratory.trace(f"trace-{name.replace(' ', '-')}", queries, TOTALS_THRESHOLD)
        volumes[name] = volume_of(laboratory, trace)
    laboratory.database = plain
    thesis = {"by year": ("-72 %", "-5 %", "-93 %"), "by populous order": ("-19 %", "-15 %", "0 %")}
    columns = ["l_shipdate", "l_orderkey", "o_orderdate"]
    print(f"\nFigures 3.8 to 3.10: accessed volume by layout (the thesis's)\n| layout | {' | '.join(columns)} |\n|---|---:|---:|---:|")
    for name, told in thesis.items():
        cells = [f"{volumes[name][c] / volumes['as loaded'][c] - 1:+.0%} ({t})" for c, t in zip(columns, told)]
        print(f"| {name} | {' | '.join(cells)} |")
    figure, axes = plt.subplots(figsize=(7, 4))
    for i, (name, volume) in enumerate(volumes.items()):
        axes.bar([x + 0.27 * i for x in range(3)], [volume[c] / 1e9 for c in columns], width=0.25, label=name)
    axes.set_xticks([x + 0.27 for x in range(3)], columns)
    axes.set(ylabel="accessed volume [GB]", title="3.8 to 3.10  what partitioning saves")
    axes.legend()
    laboratory.draw("trace-3.8", figure)


def volume_of(laboratory: Laboratory, trace: Path) -> dict[str, float]:
    """Bytes of each column that were read: accesses times the bytes that one reads at once."""
    rows = laboratory.ask(f"SELECT \"column\", sum(accesses) AS accesses FROM godwit_trace_columns('{trace}') WHERE kind = 'segment' GROUP BY ALL")
    return defaultdict(float, {row["column"]: float(row["accesses"]) * 32 for row in rows})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common(parser)
    parser.add_argument("--figures", type=list_of(FIGURES, "figure"), default=list(FIGURES), help="which, with commas between them")
    parser.add_argument("--runs", type=int, default=3, help="how often times are measured [3]")
    options = parser.parse_args()
    laboratory = Laboratory(options)
    if "table" in options.figures:
        overhead(laboratory, 1 if options.smoke else options.runs)
    if "3.4" in options.figures:
        sort_phases(laboratory)
    if "3.5" in options.figures:
        hot_entries(laboratory)
    if "3.6" in options.figures:
        working_set(laboratory, 1 if options.smoke else options.runs)
    if "3.7" in options.figures or "3.8" in options.figures:
        trace = skewed_rows(laboratory)
        if "3.8" in options.figures:
            partitioning(laboratory, trace)


if __name__ == "__main__":
    main()

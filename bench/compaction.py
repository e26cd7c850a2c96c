"""Repeats the figures of "Data Chunk Compaction in Vectorized Execution" on Godwit.

    cargo build --release -p godwit-exec --example selection_vectors
    python bench/compaction.py

A relation R is joined with k relations S. Each key of S has r rows, and every r-th row of R has a match: a join leaves as
many rows as there were, in chunks a r-th as large (the chunk-reducing factor). All strategies of `SET compaction` run in
turn in one process. Join filters are off: a scan that drops rows without a match would leave nothing to reduce. As in the
paper, the relations are in memory, and times are without what building the hash tables takes.

    5   simulation of the paper's cost model (needs no engine)
    10  time over the chunk-reducing factor, 2 to 4 joins
    11  time over the width of R's rows
    12  thresholds that were learned, of three joins; the last one's is 0 as nothing follows it
    13  time of a filter's predicate and of its selections, over the number of columns (the example's own measurement)
    14  time over the load factor of the hash tables
    15  time over the size of chunks
    16  a filter of some selectivity, then joins; times relative to `smart`
    full  chunks that stay full, over the number of joins: what looking for small ones costs
    overhead  the same in instructions, which no other load disturbs (only if asked for: needs valgrind, takes minutes)

Relations have a tenth of the paper's rows, but for figure 12 (4 GB of files). Writes tables to the terminal, and JSON and a plot for each figure to
bench/results.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib.ticker import LogLocator

import compaction_model
from engines import EngineProcess, Limits, loads
from options import ROOT, add_common, circumstances, list_of
from plot import panel_axes, save, tidy

STRATEGIES = ["none", "full", "binary", "dynamic", "learning", "logical", "smart"]
COLORS = dict(zip(STRATEGIES, ["#999999", "#dd9f2e", "#4c72b0", "#8172b3", "#64a58c", "#a04000", "#c44e52"], strict=True))
FIGURES = ["5", "10", "11", "12", "13", "14", "15", "16", "full"]
SELECTION_VECTORS = ROOT / "target/release/examples/selection_vectors"

# Rows of R and of each S, and the most joins; a tenth of the paper's.
R_ROWS, S_ROWS, JOINS_MAX = 2_000_000, 200_000, 4
PAPER_SCALE = 10
SMOKE_FRACTION = 0.01
# A strategy is close to the fastest one if it takes at most this multiple of its time.
CLOSE = 1.15
# Standard error of a median, relative to that of a mean, where values are distributed normally.
MEDIAN_ERROR = 1.25
# Times that the tables are built to see how long it takes.
BUILDS = 5
# Of the rows, where every instruction is simulated.
OVERHEAD_FRACTION = 0.1
# Rows of S that fill 0.88 of a table, by the settings that make it so full and half, a quarter, … as full.
LOADED_S_ROWS = int(0.88 * 2**17)
LOAD_FACTORS = [0.9, 0.45, 0.225, 0.1125, 0.0563]
# Values of R's column to filter by.
FILTER_VALUES = 1000


@dataclass
class Point:
    """A query at a place of a plot."""

    panel: str
    x: float
    sql: str
    settings: tuple[str, ...] = ()


def main() -> int:
    arguments = parse_arguments()
    for figure in arguments.figures:
        print(f"\nfigure {figure}", flush=True)
        panels = panels_of(figure, arguments)
        report = {**circumstances(arguments), "figure": figure, "panels": panels}
        arguments.output.mkdir(parents=True, exist_ok=True)
        file = arguments.output / f"compaction-figure{figure}.json"
        file.write_text(json.dumps(report, indent=1) + "\n")
        draw(figure, panels, file.with_suffix(".png"))
        print(f"wrote {file} and .png")
    return 0


def panels_of(figure: str, arguments: argparse.Namespace) -> dict[str, dict[str, dict[float, float]]]:
    match figure:
        case "5":
            return compaction_model.figure()
        case "overhead":
            return instructions(arguments)
        case "13":
            return selection_vectors(arguments.selection_vectors)
        case _:
            return measured(figure, arguments)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common(parser)
    parser.add_argument("--runs", type=int, default=3, help="counted runs of each strategy at each point [3]")
    parser.add_argument(
        "--close-runs", type=int, default=0, help="further runs of smart and of what is close to the fastest [0]"
    )
    parser.add_argument("--figures", type=lambda text: text.split(","), default=FIGURES, help="some of " + ",".join(FIGURES))
    parser.add_argument(
        "--strategies",
        type=list_of(dict.fromkeys(STRATEGIES), "strategy"),
        default=STRATEGIES,
        help="some of " + ",".join(STRATEGIES) + "; smart has to be among them",
    )
    parser.add_argument(
        "--selection-vectors", type=Path, default=SELECTION_VECTORS, help="the example `selection_vectors`"
    )
    # The paper's experiments have one thread.
    parser.set_defaults(threads=1)
    arguments = parser.parse_args()
    references = {"smart", *(RELATIVE_TO[figure] for figure in arguments.figures if figure in RELATIVE_TO)}
    if missing := references - set(arguments.strategies):
        parser.error(f"the others are compared with {' and '.join(sorted(missing))}")
    arguments.scale = SMOKE_FRACTION if arguments.smoke else arguments.scale or 1.0
    arguments.runs, arguments.close_runs = (1, 0) if arguments.smoke else (arguments.runs, arguments.close_runs)
    return arguments


# Figures of times relative to a strategy's.
RELATIVE_TO = {"16": "smart", "full": "none", "overhead": "none"}


def measured(figure: str, arguments: argparse.Namespace) -> dict[str, dict[str, dict[float, float]]]:
    """Medians by panel, strategy and x; figure 12 has numbers of selections instead."""
    relations = Relations(arguments.data / f"compaction-{arguments.scale:g}", arguments.scale)
    points = list(POINTS[figure](relations))
    panels: dict[str, dict[str, dict[float, float]]] = {}
    behind: dict[str, tuple[float, float]] = {}
    strategies: list[str] = arguments.strategies
    with tempfile.TemporaryDirectory(prefix="godwit-bench-") as scratch:
        limits = Limits(arguments.threads, None, arguments.godwit, Path(scratch))
        engine = EngineProcess("godwit", limits, {}, arguments.timeout)
        for statement in loads(relations.files):
            run(engine, statement)
        run(engine, "SET join_filters = false")
        run(engine, "SET join_order = 'written'")
        for point in points:
            for setting in point.settings:
                run(engine, f"SET {setting}")
            if figure == "12":
                panels[point.panel] = selections(engine, point, arguments.runs)
                continue
            built = statistics.median(building(engine, point.sql) for _ in range(BUILDS))
            turns = Turns(engine, point.sql, built)
            if not arguments.smoke:
                turns.warm_up(strategies)
            turns.take(arguments.runs, strategies)
            fastest = min(turns.median(strategy) for strategy in strategies)
            close = [s for s in strategies if s == "smart" or turns.median(s) <= CLOSE * fastest]
            turns.take(arguments.close_runs, close)
            medians = {strategy: turns.median(strategy) for strategy in strategies}
            print(f"  {point.panel:>10} {point.x:>6g}  " + "  ".join(f"{s} {t:.3f}" for s, t in medians.items()), flush=True)
            for strategy in strategies:
                behind[f"{point.panel}, {point.x:g}: {strategy}"] = turns.smart_behind(strategy)
            for strategy, median in medians.items():
                relative = median / medians[reference] if (reference := RELATIVE_TO.get(figure)) else median
                panels.setdefault(point.panel, {}).setdefault(strategy, {})[point.x] = relative
        engine.stop()
    if behind:
        where, (ratio, error) = max(behind.items(), key=lambda item: item[1])
        print(f"  smart is at most {ratio - 1:.1%} ± {error:.1%} behind another ({where})", flush=True)
    return panels


@dataclass
class Turns:
    """Times of a query under strategies that take turns."""

    engine: EngineProcess
    sql: str
    # Seconds that building the tables takes: times are without them.
    built: float
    seconds: list[dict[str, float]] = field(default_factory=list)
    rows: list | None = None

    def warm_up(self, strategies: list[str]) -> None:
        for strategy in strategies:
            self.run(strategy)

    def take(self, turns: int, strategies: list[str]) -> None:
        for _ in range(turns):
            # Each begins once: what a run leaves behind (memory, the processor's clock) is not always the same one's.
            first = len(self.seconds) % len(strategies)
            self.seconds.append({s: self.run(s) - self.built for s in strategies[first:] + strategies[:first]})

    def run(self, strategy: str) -> float:
        run(self.engine, f"SET compaction = '{strategy}'")
        seconds, rows = run(self.engine, self.sql)
        if self.rows not in (None, rows):
            raise SystemExit(f"{strategy} gives {rows} instead of {self.rows}: {self.sql}")
        self.rows = rows
        return seconds

    def median(self, strategy: str) -> float:
        return statistics.median(turn[strategy] for turn in self.seconds if strategy in turn)

    def smart_behind(self, strategy: str) -> tuple[float, float]:
        """How many times as long as `strategy` the default takes: the median of the turns' ratios, and its standard error."""
        # Of the same turn: a machine that is slow for a while is so for both.
        ratios = [turn["smart"] / turn[strategy] for turn in self.seconds if strategy in turn]
        deviation = statistics.stdev(ratios) if len(ratios) > 1 else 0.0
        return statistics.median(ratios), MEDIAN_ERROR * deviation / len(ratios) ** 0.5


def run(engine: EngineProcess, sql: str) -> tuple[float, list]:
    outcome = engine.run(sql, with_rows=True)
    if outcome.error:
        raise SystemExit(f"{outcome.error}: {sql}")
    return outcome.seconds, outcome.rows


def building(engine: EngineProcess, sql: str) -> float:
    """Seconds until the tables of all joins are there. All begin with the query, so it is the longest that counts."""
    _, rows = run(engine, f"EXPLAIN ANALYZE {sql}")
    return max(float(ms) for row in rows for ms in re.findall(r"built in: (\d+\.\d+) ms", row[0])) / 1e3


def selections(engine: EngineProcess, point: Point, runs: int) -> dict[str, dict[float, float]]:
    """How often each compactor's learner selected each threshold: by operator, from the first to the last."""
    run(engine, "SET compaction = 'learning'")
    by_operator: dict[str, dict[float, float]] = {}
    for _ in range(runs):
        _, rows = run(engine, f"EXPLAIN ANALYZE {point.sql}")
        notes = [re.search(r"thresholds tried: (.*) \(", row[0]) for row in rows]
        # The plan shows the last operator first.
        for number, note in enumerate(reversed([note for note in notes if note]), 1):
            counts = by_operator.setdefault(f"compactor {number}", {})
            for threshold, count in (pair.split(": ") for pair in note[1].split(", ")):
                counts[float(threshold)] = counts.get(float(threshold), 0) + int(count)
    for name, one in by_operator.items():
        print(f"  {point.panel} {name}: " + ", ".join(f"{t:g}: {n}" for t, n in one.items()), flush=True)
    return by_operator


def selection_vectors(program: Path) -> dict[str, dict[str, dict[float, float]]]:
    """Nanoseconds of a filter's parts for a chunk whose columns share a selection, or have one each."""
    output = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    print(output, flush=True)
    panels: dict[str, dict[str, dict[float, float]]] = {}
    for line in output.splitlines()[1:]:
        columns, form, *times = line.split(",")
        title = "one selection for all columns" if form == "shared" else "a selection for each column"
        for part, time in zip(["predicate", "selections"], times, strict=True):
            panels.setdefault(title, {}).setdefault(part, {})[float(columns)] = float(time)
    return panels


def instructions(arguments: argparse.Namespace) -> dict[str, dict[str, dict[float, float]]]:
    """Instructions of a query whose chunks stay full, relative to those without compaction."""
    scale = arguments.scale * OVERHEAD_FRACTION
    relations = Relations(arguments.data / f"compaction-{scale:g}", scale)

    def executed(strategy: str, sql: str, times: int) -> int:
        settings = ["SET join_filters = false", f"SET compaction = '{strategy}'"]
        script = ";\n".join([*loads(relations.files), *settings, *[sql] * times, ""])
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(arguments.godwit)]
        done = subprocess.run([*command, "--threads", "1"], input=script, capture_output=True, text=True, check=True)
        return int(re.search(r"Collected : (\d+)", done.stderr)[1])

    panels: dict[str, dict[str, dict[float, float]]] = {}
    for point in list(figure_full(relations)):
        # Less what starting, loading and the first run take.
        counts = {s: executed(s, point.sql, 4) - executed(s, point.sql, 1) for s in arguments.strategies}
        relative = {strategy: count / counts["none"] for strategy, count in counts.items()}
        print(f"  {point.x:g} joins  " + "  ".join(f"{s} {ratio:.4f}" for s, ratio in relative.items()), flush=True)
        for strategy, ratio in relative.items():
            panels.setdefault(point.panel, {}).setdefault(strategy, {})[point.x] = ratio
    return panels


def figure_10(relations: "Relations") -> Iterator[Point]:
    for joins in (2, 3, 4):
        for factor in (2, 4, 8, 16, 32):
            yield Point(f"{joins} joins", factor, relations.query(joins, factor))


def figure_11(relations: "Relations") -> Iterator[Point]:
    for row_bytes in (40, 100, 200, 400, 600, 1000):
        yield Point("4 joins, factor 8", row_bytes, relations.query(4, 8, row_bytes, fraction=0.25))


def figure_12(relations: "Relations") -> Iterator[Point]:
    # With the paper's rows: a tenth is over before the learner has settled.
    scale = relations.scale * PAPER_SCALE
    larger = Relations(relations.folder, scale, relations.files, int(S_ROWS * scale))
    yield Point("S2 of 16 bytes", 0, larger.query(3, 8, 40))
    # Numbers, as a long string would not be copied.
    yield Point("S2 of 1000 bytes", 0, larger.query(3, 8, 40, numbers={2: 123}))


def figure_14(relations: "Relations") -> Iterator[Point]:
    # Sparse keys, which no array is made for, each once: all rows of a search but one are collisions.
    s_rows = int(LOADED_S_ROWS * relations.scale)
    loaded = Relations(relations.folder, relations.scale, relations.files, s_rows, key_step=1_000_003)
    for factor in LOAD_FACTORS:
        settings = (f"join_load_factor = {factor}",)
        yield Point("4 joins", factor * 0.88 / 0.9, loaded.query(4, 1, wide=dict.fromkeys(range(1, 5), 92)), settings)


def figure_15(relations: "Relations") -> Iterator[Point]:
    for rows in (64, 128, 256, 512, 1024, 2048):
        yield Point("3 joins, factor 8", rows, relations.query(3, 8, 40), (f"chunk_rows = {rows}",))


def figure_16(relations: "Relations") -> Iterator[Point]:
    for percent in (1, 5, 10, 20, 40, 60, 80, 100):
        condition = f"r.filter < {FILTER_VALUES * percent // 100}"
        yield Point("filter, 3 joins, factor 5", percent, relations.query(3, 5, 40, wide={1: 492}, condition=condition))


def figure_full(relations: "Relations") -> Iterator[Point]:
    for joins in (1, 2, 3, 4):
        # Each row has one match in every join.
        yield Point("factor 1", joins, relations.query(joins, 1))


POINTS = {
    "10": figure_10,
    "11": figure_11,
    "12": figure_12,
    "14": figure_14,
    "15": figure_15,
    "16": figure_16,
    "full": figure_full,
}


@dataclass
class Relations:
    """The relations that queries asked for."""

    folder: Path
    scale: float
    # By table, made when they are needed first.
    files: dict[str, Path] = field(default_factory=dict)
    # Of S; the usual ones if they aren't given.
    rows_of_s: int | None = None
    # Difference of neighbouring keys.
    key_step: int = 1

    def query(
        self,
        joins: int,
        factor: int,
        row_bytes: int = 100,
        wide: dict[int, int] | None = None,
        numbers: dict[int, int] | None = None,
        condition: str = "true",
        fraction: float = 1.0,
    ) -> str:
        """R joined with some S, all columns used. R's rows have this many bytes. Those of S have a key and a string of 8 bytes,
        or as many as are in `wide`, and as many other columns as are in `numbers`."""
        (wide, numbers), joined_tables = (wide or {}, numbers or {}), range(1, joins + 1)
        r = self.r(int(R_ROWS * self.scale * fraction), row_bytes - 8 * JOINS_MAX)
        s = [self.s(number, factor, wide.get(number, 8), numbers.get(number, 0)) for number in joined_tables]
        columns = [f"s{number}.misc" for number in joined_tables]
        columns += [f"s{table}.n{number}" for table, count in numbers.items() for number in range(1, count + 1)]
        carried = ", ".join(f"max({column})" for column in columns)
        joined = " ".join(f"JOIN {table} s{number} ON r.id{number} = s{number}.id" for number, table in enumerate(s, 1))
        return f"SELECT count(*), max(r.str), {carried} FROM {r} r {joined} WHERE {condition}"

    @property
    def s_rows(self) -> int:
        return self.rows_of_s or int(S_ROWS * self.scale)

    @property
    def keys(self) -> str:
        """What of a table's name tells its keys."""
        return f"_{self.s_rows}keys{self.key_step}" if self.rows_of_s else ""

    def r(self, rows: int, str_bytes: int) -> str:
        def columns(rng: np.random.Generator) -> dict[str, pa.Array]:
            ids = {f"id{number}": pa.array(rng.integers(0, self.s_rows, rows) * self.key_step) for number in range(1, JOINS_MAX + 1)}
            filters = {"filter": pa.array(rng.integers(0, FILTER_VALUES, rows))}
            return ids | filters | {"str": strings(rng, rows, str_bytes)}

        return self.make(f"r_{rows}rows_str{str_bytes}{self.keys}", columns)

    def s(self, number: int, factor: int, misc_bytes: int, numbers: int) -> str:
        def columns(rng: np.random.Generator) -> dict[str, pa.Array]:
            ids = rng.permutation(self.s_rows) // factor * self.key_step
            any_number = np.iinfo(np.int64)
            more = {f"n{n}": rng.integers(any_number.min, any_number.max, self.s_rows) for n in range(1, numbers + 1)}
            return {"id": pa.array(ids), "misc": strings(rng, self.s_rows, misc_bytes)} | more

        more = f"_numbers{numbers}" if numbers else ""
        return self.make(f"s{number}_factor{factor}_misc{misc_bytes}{more}{self.keys}", columns)

    def make(self, table: str, columns: Callable[[np.random.Generator], dict]) -> str:
        file = self.files[table] = self.folder / f"{table}.parquet"
        if not file.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            rng = np.random.default_rng(list(table.encode()))
            pq.write_table(pa.table(columns(rng)), file.with_suffix(".new"), compression="none", use_dictionary=False)
            file.with_suffix(".new").rename(file)
        return table


def strings(rng: np.random.Generator, rows: int, length: int) -> pa.Array:
    """Random printable characters, which nothing compresses: the paper's relations aren't compressed, either."""
    letters = rng.integers(ord("!"), ord("~") + 1, rows * length, np.uint8)
    offsets = np.arange(0, (rows + 1) * length, length, dtype=np.int64)
    return pa.LargeStringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(letters)).cast(pa.string())


def draw(figure: str, panels: dict[str, dict[str, dict[float, float]]], file: Path) -> None:
    labels = {
        "5": ("chunk-reducing factor", "cost in the model"),
        "10": ("chunk-reducing factor", "seconds (median)"),
        "11": ("bytes of a row of R", "seconds (median)"),
        "12": ("threshold, rows", "times selected"),
        "13": ("columns", "nanoseconds of a chunk (fastest)"),
        "14": ("rows per entry of the hash tables", "seconds (median)"),
        "15": ("rows of a chunk", "seconds (median)"),
        "16": ("% of rows that pass the filter", "time / time of smart"),
        "full": ("joins", "time / time of none"),
        "overhead": ("joins", "instructions / those of none"),
    }
    sheet, all_axes = panel_axes(len(panels))
    of_paper = "chunks that stay full" if figure in ("full", "overhead") else f"as in the paper's figure {figure}"
    sheet.suptitle(f"Compaction, {of_paper}")
    for axes, (title, lines) in zip(all_axes, panels.items(), strict=True):
        for number, (name, values) in enumerate(lines.items()):
            x, y = zip(*sorted((float(x), y) for x, y in values.items()), strict=True)
            axes.plot(x, y, marker="o", markersize=4, label=name, color=COLORS.get(name, f"C{number}"))
        axes.set(title=title, xlabel=labels[figure][0], ylabel=labels[figure][1])
        if figure in ("5", "10", "14", "15"):
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter("{x:g}")
            # Without compaction it takes many times as long.
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
            axes.yaxis.set_minor_formatter("{x:g}")
        else:
            axes.set_ylim(0, None)
        tidy(axes)
    all_axes[0].legend(fontsize="small", frameon=False)
    save(sheet, file)


if __name__ == "__main__":
    sys.exit(main())

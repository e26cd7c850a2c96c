"""Measures scans: megabytes of each column of TPC-H in a second, first run in a new process, beside what limits them.

    python bench/scan.py --scale 1

Each query counts the rows in which one column is above its median, so that every value is decoded, none is copied, and
no statistic knows the answer. Megabytes are those of the values decompressed, as the file's footer has them. The limits
are measured here, on the same bytes and threads: `memcpy`, Google's Snappy on the plain values in pages of a megabyte,
and, with `--dropped`, reading the file's bytes of the column from the disk.

Writes a table to the terminal, and JSON and a plot to bench/results.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
import matplotlib
import numpy
import pyarrow
import pyarrow.parquet

from disk import drop_page_cache, reading_seconds
from engines import EngineProcess, Limits
from measure import Measurement, check_results, geometric_mean, take_turn
from options import add_common, circumstances, list_of
from plot import COLORS
from suites import Options, Suite
from suites.tpch import tables

matplotlib.use("Agg")
import matplotlib.pyplot as plt

TABLES = ["lineitem", "orders", "partsupp"]
ENGINES = ["godwit", "duckdb"]
PAGE_BYTES = 1 << 20
# Number of measurements of each limit; the best counts.
LIMIT_RUNS = 3


@dataclass
class Column:
    """What was measured of a column."""

    # Bytes of its pages, decompressed, and as they are in the file.
    decompressed_bytes: int
    stored_bytes: int
    # Megabytes of decompressed pages in a second, by engine.
    engines: dict[str, float]
    # The same of what limits them.
    limits: dict[str, float]


def main() -> int:
    arguments = parse_arguments()
    options = Options(arguments.scale, arguments.data, arguments.godwit, arguments.smoke)
    files = {table: tables(0.01 if arguments.smoke else arguments.scale or 1, options)[table] for table in TABLES}
    measured: dict[str, Column] = {}
    for table, file in files.items():
        footer = pyarrow.parquet.ParquetFile(file)
        for name in footer.schema_arrow.names:
            column = measured[name] = measure(table, name, file, arguments)
            cells = {**column.engines, **column.limits}
            print(f"{name:16}", "  ".join(f"{key} {rate:7.0f}" for key, rate in cells.items()), "MB/s", flush=True)
    if len(arguments.engines) == 2:
        first, second = arguments.engines
        ratios = [column.engines[first] / column.engines[second] for column in measured.values()]
        print(f"\n{first} / {second}: geometric mean {geometric_mean(ratios):.2f}, least {min(ratios):.2f}")
    name = "scan" + "-dropped" * arguments.dropped
    arguments.output.mkdir(parents=True, exist_ok=True)
    report = {**circumstances(arguments), "columns": {name: asdict(column) for name, column in measured.items()}}
    (arguments.output / f"{name}.json").write_text(json.dumps(report, indent=1) + "\n")
    plot(measured, arguments, arguments.output / f"{name}.png")
    print(f"wrote {arguments.output / name}.json and .png")
    return 0


def measure(table: str, name: str, file: Path, arguments: argparse.Namespace) -> Column:
    metadata = pyarrow.parquet.ParquetFile(file).metadata
    index = metadata.schema.to_arrow_schema().names.index(name)
    groups = [metadata.row_group(group).column(index) for group in range(metadata.num_row_groups)]
    decompressed = sum(group.total_uncompressed_size for group in groups)
    ranges = [(start_of(group), group.total_compressed_size) for group in groups]
    seconds = run_engines(table, name, file, arguments)
    limits = {"memcpy": copying(decompressed, arguments.threads), "snappy": snappy(file, name, arguments.threads)}
    if arguments.dropped:
        # In the same unit: what the disk would allow if nothing else took time.
        reading = reading_seconds(file, ranges, arguments.threads)
        limits["disk"] = decompressed / reading / 1e6
    engines = {engine: decompressed / of_engine / 1e6 for engine, of_engine in seconds.items()}
    return Column(decompressed, sum(size for _, size in ranges), engines, limits)


def start_of(chunk: pyarrow.parquet.ColumnChunkMetaData) -> int:
    return chunk.dictionary_page_offset or chunk.data_page_offset


def run_engines(table: str, name: str, file: Path, arguments: argparse.Namespace) -> dict[str, float]:
    """Median seconds by engine, each run in a new process."""
    median = f"SELECT quantile_disc({name}, 0.5)::VARCHAR, typeof(any_value({name})) FROM '{file}'"
    [(value, type_name)] = duckdb.sql(median).fetchall()
    sql = f"SELECT count(*) FROM {table} WHERE {name} > CAST('{value}' AS {type_name})"
    suite = Suite(name, name, {table: file}, {name: sql}, arguments.engines)
    measured = {engine: Measurement() for engine in arguments.engines}
    with tempfile.TemporaryDirectory(prefix="godwit-bench-") as scratch:
        for turn in range(1 if arguments.smoke else arguments.runs):
            for engine in arguments.engines:
                limits = Limits(arguments.threads, None, arguments.godwit, Path(scratch) / engine)
                process = EngineProcess(engine, limits, suite.tables, arguments.timeout)
                if arguments.dropped:
                    drop_page_cache([file])
                take_turn(measured[engine], process, suite, name, first=turn == 0, counted=True)
                process.stop()
            if turn == 0:
                check_results(measured, arguments.engines[-1])
    if errors := [f"{engine}: {m.error}" for engine, m in measured.items() if m.error]:
        raise SystemExit("\n".join(errors))
    return {engine: statistics.median(m.seconds) for engine, m in measured.items()}


def best(threads: int, pieces: list[object], work: Callable[[object], object]) -> float:
    """Seconds for all pieces on all threads: the best of some runs."""
    seconds = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(LIMIT_RUNS):
            start = time.perf_counter()
            list(pool.map(work, pieces))
            seconds.append(time.perf_counter() - start)
    return min(seconds)


def copying(size: int, threads: int) -> float:
    """Megabytes in a second that are copied from memory into pages that are used again."""
    source = numpy.ones(max(size, PAGE_BYTES), dtype=numpy.uint8)
    target = {piece: numpy.empty(PAGE_BYTES, dtype=numpy.uint8) for piece in range(threads)}
    starts = list(range(0, len(source) - PAGE_BYTES + 1, PAGE_BYTES))

    def copy(start: int) -> None:
        numpy.copyto(target[start // PAGE_BYTES % threads], source[start : start + PAGE_BYTES])

    seconds = best(threads, starts, copy)
    return len(starts) * PAGE_BYTES / seconds / 1e6


def snappy(file: Path, name: str, threads: int) -> float:
    """Megabytes of plain values in a second that Snappy alone decompresses."""
    codec = pyarrow.Codec("snappy")
    chunks = pyarrow.parquet.read_table(file, columns=[name]).column(0).chunks
    values = b"".join(bytes(buffer) for chunk in chunks for buffer in chunk.buffers()[1:] if buffer)
    pages = [values[start : start + PAGE_BYTES] for start in range(0, len(values), PAGE_BYTES)]
    packed = [(codec.compress(page, asbytes=True), len(page)) for page in pages]
    return len(values) / best(threads, packed, lambda page: codec.decompress(page[0], page[1], asbytes=True)) / 1e6


def plot(measured: dict[str, Column], arguments: argparse.Namespace, file: Path) -> None:
    figure, axes = plt.subplots(figsize=(14, 6), layout="constrained")
    cache = "dropped" if arguments.dropped else "warm"
    figure.suptitle(f"Scan of one column of TPC-H, new process, page cache {cache}, {arguments.threads} threads")
    width = 0.8 / len(arguments.engines)
    for position, engine in enumerate(arguments.engines):
        places = [number + position * width for number in range(len(measured))]
        rates = [column.engines[engine] for column in measured.values()]
        axes.bar(places, rates, width, align="edge", color=COLORS[engine], label=engine)
    marks = {"memcpy": "^", "snappy": "_", "disk": "x"}
    for limit in next(iter(measured.values())).limits:
        places = [number + 0.4 for number in range(len(measured))]
        rates = [column.limits[limit] for column in measured.values()]
        axes.plot(places, rates, marks[limit], color="black", label=f"{limit} alone")
    axes.set(yscale="log", ylabel="MB of decompressed pages in a second")
    axes.set_xticks([number + 0.4 for number in range(len(measured))], list(measured), rotation=60, ha="right")
    axes.legend()
    figure.savefig(file, dpi=120)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common(parser)
    parser.add_argument("--runs", type=int, default=3, help="processes per column and engine [3]")
    parser.add_argument("--dropped", action="store_true", help="drop the files from the page cache before each run")
    engines = list_of(dict.fromkeys(ENGINES), "engine")
    parser.add_argument("--engines", type=engines, default=ENGINES, help=f"of {','.join(ENGINES)}")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

"""Measures encodings: bytes of each column of TPC-H and TPC-DS in own files, and the speed of each scheme.

    python bench/encodings.py

A column's bytes are, in Godwit, the bodies of its parts and its dictionary (`godwit_segments()`, `godwit_dictionaries()`); in
DuckDB what `pragma_storage_info` lists, NULLs included: a segment reaches to the next one in its block, the last one of a
block to the block's end, and blocks of long strings count whole; in Parquet with zstd, as pyarrow writes it, the compressed
pages. A file's bytes are those on the disk, which DuckDB's are for each table. Speeds are what `cargo run --release -p
godwit-encoding --example encoding_speed` prints, on one thread.

Writes tables in Markdown to the terminal, as they are in docs/encodings.md, and JSON to bench/results.
"""

import argparse
import csv
import io
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet

from engines import duckdb_native, godwit_native
from options import ROOT, add_common, circumstances, list_of
from suites import SUITES, Options

SYSTEMS = ["godwit", "duckdb", "parquet"]
# Columns in the tables for people: those with the largest differences of bytes between Godwit and DuckDB.
SHOWN_COLUMNS = 12
EXAMPLE = ["cargo", "run", "--release", "--quiet", "-p", "godwit-encoding", "--example", "encoding_speed"]

# Bytes by column, which is a table's name, a dot and its own.
Sizes = dict[str, int]


@dataclass
class SuiteSizes:
    """What was measured of a suite's tables."""

    # By column: the names of the schemes of its parts.
    schemes: dict[str, str] = field(default_factory=dict)
    columns: dict[str, Sizes] = field(default_factory=dict)
    file_bytes: dict[str, int] = field(default_factory=dict)


def main() -> int:
    arguments = parse_arguments()
    measured = {}
    for name in arguments.suites:
        suite = SUITES[name](Options(arguments.scale, arguments.data, arguments.godwit, arguments.smoke))
        measured[suite.name] = measure(suite.tables, arguments.godwit)
        print(f"\n{suite.name}\n\n{markdown(measured[suite.name])}", flush=True)
    speeds = [] if arguments.no_speed else measure_speeds()
    if speeds:
        print(f"\n{speed_markdown(speeds)}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    sizes = {name: asdict(suite) for name, suite in measured.items()}
    report = {**circumstances(arguments), "duckdb": duckdb.__version__, "suites": sizes, "schemes": speeds}
    file = arguments.output / "encodings.json"
    file.write_text(json.dumps(report, indent=1) + "\n")
    print(f"\nwrote {file}")
    return 0


def measure(tables: dict[str, Path], program: Path) -> SuiteSizes:
    suite = SuiteSizes()
    file = godwit_native.native_file(program, tables)
    suite.file_bytes["godwit"] = file.stat().st_size
    suite.columns["godwit"], suite.schemes = of_godwit(program, file)
    suite.columns["duckdb"] = {}
    suite.columns["parquet"] = {}
    for table, parquet in tables.items():
        native = duckdb_native.native_file(parquet)
        suite.file_bytes["duckdb"] = suite.file_bytes.get("duckdb", 0) + native.stat().st_size
        suite.columns["duckdb"].update(of_duckdb(table, native))
        sizes, written = of_parquet(table, parquet)
        suite.columns["parquet"].update(sizes)
        suite.file_bytes["parquet"] = suite.file_bytes.get("parquet", 0) + written
    return suite


def of_godwit(program: Path, file: Path) -> tuple[Sizes, dict[str, str]]:
    """Bytes and schemes by column."""
    sizes: Sizes = defaultdict(int)
    schemes: dict[str, dict[str, None]] = defaultdict(dict)
    for row in rows_of(program, file, "godwit_segments"):
        column = f"{row['table']}.{row['column']}"
        sizes[column] += int(row["bytes"])
        schemes[column].update(dict.fromkeys(row["encoding"].split("; ")))
    for row in rows_of(program, file, "godwit_dictionaries"):
        sizes[f"{row['table']}.{row['column']}"] += int(row["bytes"])
    return dict(sizes), {column: "; ".join(names) for column, names in schemes.items()}


def rows_of(program: Path, file: Path, function: str) -> list[dict[str, str]]:
    command = [program, file, "--read-only", "-c", ".mode csv", "-c", f"SELECT * FROM {function}()"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return list(csv.DictReader(io.StringIO(output)))


def of_duckdb(table: str, file: Path) -> Sizes:
    with duckdb.connect(file, read_only=True) as connection:
        info = "SELECT column_name, block_id, block_offset, additional_block_ids FROM pragma_storage_info('content')"
        segments = connection.execute(info).fetchall()
        [(block_bytes,)] = connection.execute("SELECT block_size FROM pragma_database_size()").fetchall()
    sizes: Sizes = {f"{table}.{column}": 0 for column, *_ in segments}
    in_block: dict[int, dict[int, str]] = defaultdict(dict)
    for column, block, offset, additional in segments:
        # Constant segments have no block.
        if block is not None and block >= 0:
            in_block[block][offset] = column
        sizes[f"{table}.{column}"] += block_bytes * len(additional or [])
    for segments_of_block in in_block.values():
        offsets = sorted(segments_of_block)
        for begin, end in zip(offsets, [*offsets[1:], block_bytes]):
            sizes[f"{table}.{segments_of_block[begin]}"] += end - begin
    return sizes


def of_parquet(table: str, parquet: Path) -> tuple[Sizes, int]:
    """Bytes by column, and of the whole file."""
    with tempfile.TemporaryDirectory(prefix="godwit-bench-") as folder:
        file = Path(folder) / "zstd.parquet"
        pyarrow.parquet.write_table(pyarrow.parquet.read_table(parquet), file, compression="zstd")
        metadata = pyarrow.parquet.ParquetFile(file).metadata
        sizes: Sizes = defaultdict(int)
        for group in range(metadata.num_row_groups):
            for index in range(metadata.num_columns):
                chunk = metadata.row_group(group).column(index)
                sizes[f"{table}.{chunk.path_in_schema}"] += chunk.total_compressed_size
        return dict(sizes), file.stat().st_size


def measure_speeds() -> list[dict[str, Any]]:
    output = subprocess.run(EXAMPLE, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    # JSON has no word for what wasn't measured.
    return [json.loads(line.replace(": NaN", ": null")) for line in output.splitlines()]


def markdown(suite: SuiteSizes) -> str:
    """Totals, and the columns where most differs."""
    sizes = suite.columns
    columns = [column for column in sizes["godwit"] if all(column in sizes[system] for system in SYSTEMS)]

    def line(name: str, values: list[int], scheme: str) -> str:
        return f"| {name} | {' | '.join(f'{value / 1e6:.2f}' for value in values)} | {scheme} |"

    def difference(column: str) -> int:
        return abs(sizes["godwit"][column] - sizes["duckdb"][column])

    lines = ["| MB | Godwit | DuckDB | Parquet, zstd | scheme |", "|---|---|---|---|---|"]
    lines.append(line("files", [suite.file_bytes[system] for system in SYSTEMS], ""))
    lines.append(line("all columns", [sum(sizes[system][column] for column in columns) for system in SYSTEMS], ""))
    for column in sorted(columns, key=difference, reverse=True)[:SHOWN_COLUMNS]:
        lines.append(line(f"`{column}`", [sizes[system][column] for system in SYSTEMS], suite.schemes[column]))
    return "\n".join(lines)


def speed_markdown(speeds: list[dict[str, Any]]) -> str:
    names = ["bytes_per_row", "decode_gb_per_s", "decode_ns_per_row", "take_few_ns_per_row", "take_many_ns_per_row"]
    header = "| data | scheme | bytes per row | decoded GB/s | ns per row | taken 1 in 200: ns | taken 1 in 10: ns |"
    lines = [header, "|---|---|---|---|---|---|---|"]
    for speed in speeds:
        cells = [speed["data"], speed["scheme"], *(f"{speed[name]:.3g}" for name in names)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common(parser)
    suites = list_of({"tpch": None, "tpcds": None}, "suite with tables")
    parser.add_argument("--suites", type=suites, default=["tpch", "tpcds"], help="of tpch,tpcds")
    parser.add_argument("--no-speed", action="store_true", help="sizes only, which needs no cargo")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

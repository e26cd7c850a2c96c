"""Runs the 22 TPC-H queries in Godwit and in DuckDB on the same Parquet files and compares the rows.

Godwit runs them from the files, and from tables of a database file that it loads them into: with the encodings that it
chooses, and with each one forced.

    python compare_tpch.py GODWIT FOLDER

GODWIT is the shell's program, FOLDER holds the eight tables (`godwit demo --scale 0.1 --directory FOLDER` makes them).
The last line says how many comparisons passed and failed; the exit status is 1 if any failed.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from godwit_shell import Godwit, GodwitError
from rows import difference, is_limited, order_columns

QUERIES = Path(__file__).parent.parent / "tpch"

# How Godwit is run. Its smallest limit for 2 threads is 96 MiB: there, intermediates of many queries go to disk.
CONFIGURATIONS = [
    ["--threads", "1"],
    ["--threads", "2"],
    ["--threads", "4"],
    ["--threads", "2", "--memory-limit", "512MB"],
    ["--threads", "2", "--memory-limit", "96MiB"],
]

# Ways in which small chunks are put together, besides the default; each gives the same rows.
COMPACTIONS = ["none", "full", "binary", "dynamic", "learning", "logical"]

# Encodings of the columns in a database file; a column whose type doesn't have one gets another.
ENCODINGS = ["plain", "packed", "run_length", "symbols", "dictionary"]
# For tables in a database file, with the encodings that Godwit chooses.
TABLE_CONFIGURATIONS = [["--threads", "1"], ["--threads", "2"], ["--threads", "2", "--memory-limit", "96MiB"]]


@dataclass
class Run:
    """The queries, once."""

    label: str
    database: Path
    options: list[str]
    setup: list[str] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("godwit", type=Path, help="the shell's program")
    parser.add_argument("folder", type=Path, help="folder with the tables as Parquet files")
    arguments = parser.parse_args()

    queries = {path.stem: path.read_text() for path in sorted(QUERIES.glob("q*.sql"))}
    oracle = duckdb_over(arguments.folder)
    expected = {}
    for name, sql in queries.items():
        cursor = oracle.execute(sql)
        expected[name] = ([column[0] for column in cursor.description], cursor.fetchall())

    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for run in runs(arguments.godwit, arguments.folder, Path(scratch)):
            godwit = Godwit(arguments.godwit, run.database, run.options, run.setup)
            complaints = {name: compare(godwit, sql, *expected[name]) for name, sql in queries.items()}
            failures = {name: complaint for name, complaint in complaints.items() if complaint}
            passed += len(queries) - len(failures)
            failed += len(failures)
            print(f"{run.label}: {len(queries) - len(failures)} of {len(queries)} queries give DuckDB's rows")
            for name, complaint in failures.items():
                print(f"  {name}: {complaint}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def runs(program: Path, folder: Path, scratch: Path) -> Iterator[Run]:
    """All runs. The database file of one is gone with the next."""
    for options in CONFIGURATIONS:
        yield Run(" ".join(options), folder, options)
    for compaction in COMPACTIONS:
        setup = f"SET compaction = '{compaction}'"
        yield Run(setup, folder, ["--threads", "2"], [setup])
    for encoding in ["auto", *ENCODINGS]:
        database = load(program, folder, scratch / f"{encoding}.godwit", encoding)
        for options in TABLE_CONFIGURATIONS if encoding == "auto" else TABLE_CONFIGURATIONS[1:2]:
            yield Run(f"tables, encodings {encoding}, {' '.join(options)}", database, [*options, "--read-only"])
        database.unlink()


def load(program: Path, folder: Path, database: Path, encoding: str) -> Path:
    """A database file with a table for each Parquet file of a folder, which `godwit check` finds sound."""
    loads = [f"CREATE TABLE {file.stem} AS SELECT * FROM '{file}'" for file in sorted(folder.glob("*.parquet"))]
    statements = [f"SET force_encoding = '{encoding}'", *loads]
    command = [program, database, *(f"--command={statement}" for statement in statements)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([program, "check", database], check=True, stdout=subprocess.DEVNULL)
    return database


def compare(godwit: Godwit, sql: str, names: list[str], rows: list[tuple]) -> str | None:
    """What is wrong with Godwit's result, or None."""
    try:
        actual_names, actual_rows = godwit.query(sql)
    except GodwitError as error:
        return str(error)
    if actual_rows and actual_names != names:
        return f"columns {names} expected, got {actual_names}"
    return difference(rows, actual_rows, order_columns(sql, names), is_limited(sql))


def duckdb_over(folder: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB with a view over each Parquet file of a folder."""
    connection = duckdb.connect()
    for file in sorted(folder.glob("*.parquet")):
        connection.execute(f"CREATE VIEW {file.stem} AS SELECT * FROM '{file}'")
    return connection


if __name__ == "__main__":
    sys.exit(main())

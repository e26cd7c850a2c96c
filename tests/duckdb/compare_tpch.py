"""Runs the 22 TPC-H queries in Godwit and in DuckDB on the same Parquet files and compares the rows.

    python compare_tpch.py GODWIT FOLDER

GODWIT is the shell's program, FOLDER holds the eight tables (`godwit demo --scale 0.1 --directory FOLDER` makes them).
The last line says how many comparisons passed and failed; the exit status is 1 if any failed.
"""

import argparse
import sys
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
    compacted = [(["--threads", "2"], [f"SET compaction = '{compaction}'"]) for compaction in COMPACTIONS]
    for options, setup in [(options, []) for options in CONFIGURATIONS] + compacted:
        godwit = Godwit(arguments.godwit, arguments.folder, options, setup)
        failures = {}
        for name, sql in queries.items():
            complaint = compare(godwit, sql, *expected[name])
            if complaint:
                failures[name] = complaint
        passed += len(queries) - len(failures)
        failed += len(failures)
        print(f"{' '.join(options + setup)}: {len(queries) - len(failures)} of {len(queries)} queries give DuckDB's rows")
        for name, complaint in failures.items():
            print(f"  {name}: {complaint}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


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

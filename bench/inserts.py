"""Inserts rows in durable transactions, in Godwit and in DuckDB in turns, each in a new file.

    cargo build --release -p godwit --example inserts
    python bench/inserts.py

Rates are medians. The bars: single rows at least twice DuckDB's rate, batches at least its rate.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import duckdb

PROGRAM = Path(__file__).parent.parent / "target/release/examples/inserts"
# Rows in a transaction, and how many times DuckDB's rate is wanted.
BATCHES = {1: 2.0, 1000: 1.0}
CONNECTIONS = [1, 2]
# As in the program: a prime, whose multiples visit all keys.
STEP = 7919


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=PROGRAM, help="the example `inserts`")
    parser.add_argument("--folder", type=Path, help="where the files go [the system's folder for temporary files]")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=2, help="of each run")
    parser.add_argument("--table-rows", type=int, default=0, help="insert into a table of this many rows with a primary key")
    arguments = parser.parse_args()
    missed = 0
    for rows, wanted in BATCHES.items():
        for connections in CONNECTIONS:
            rates: dict[str, list[float]] = {"godwit": [], "duckdb": []}
            for _ in range(arguments.runs):
                with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
                    words = [arguments.program, Path(folder) / "x.godwit", connections, rows, arguments.seconds]
                    words += [arguments.table_rows] if arguments.table_rows else []
                    run = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True)
                    transactions, seconds = run.stdout.split()
                    rates["godwit"].append(int(transactions) / float(seconds))
                    rates["duckdb"].append(duckdb_rate(Path(folder) / "x.duckdb", connections, rows, arguments.seconds, arguments.table_rows))
            godwit, reference = (statistics.median(rates[engine]) for engine in ("godwit", "duckdb"))
            missed += godwit < wanted * reference
            print(
                f"{rows:5} rows, {connections} connections: godwit {godwit:8.0f}/s, duckdb {reference:8.0f}/s, "
                f"{godwit / reference:5.2f} times ({wanted:g} wanted)"
            )
    return 1 if missed else 0


def duckdb_rate(file: Path, connections: int, rows: int, seconds: float, table_rows: int) -> float:
    """Transactions per second."""
    database = duckdb.connect(str(file))
    key = "PRIMARY KEY" if table_rows else ""
    database.execute(f"CREATE TABLE t (a BIGINT {key}, b VARCHAR, c DOUBLE)")
    if table_rows:
        database.execute(
            f"INSERT INTO t SELECT i * {STEP} % {table_rows} * 2, 'text ' || i % 1000, i + 0.5 FROM range({table_rows}) r(i)"
        )
        database.execute("CHECKPOINT")
    begin = time.perf_counter()
    counts = [0] * connections

    def insert(number: int) -> None:
        cursor = database.cursor()
        while time.perf_counter() < begin + seconds:
            first = number * (table_rows // connections) if table_rows else number << 32
            start = first + counts[number] * rows
            numbers = range(start, start + rows)
            keys = [row * STEP % table_rows * 2 + 1 for row in numbers] if table_rows else numbers
            values = ", ".join(f"({key}, 'text {row % 1000}', {row}.5)" for key, row in zip(keys, numbers))
            cursor.execute(f"INSERT INTO t VALUES {values}")
            counts[number] += 1

    threads = [threading.Thread(target=insert, args=(number,)) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - begin)


if __name__ == "__main__":
    sys.exit(main())

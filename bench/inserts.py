"""Inserts rows in durable transactions, in Godwit and in DuckDB in turns, each in a new file.

    cargo build --release -p godwit --example inserts
    python bench/inserts.py

Rates are medians. The bars are design page 04's: single rows at least twice DuckDB's rate, batches at least its rate.
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=PROGRAM, help="the example `inserts`")
    parser.add_argument("--folder", type=Path, help="where the files go [the system's folder for temporary files]")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=2, help="of each run")
    arguments = parser.parse_args()
    missed = 0
    for rows, wanted in BATCHES.items():
        for connections in CONNECTIONS:
            rates: dict[str, list[float]] = {"godwit": [], "duckdb": []}
            for _ in range(arguments.runs):
                with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
                    words = [arguments.program, Path(folder) / "x.godwit", connections, rows, arguments.seconds]
                    run = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True)
                    transactions, seconds = run.stdout.split()
                    rates["godwit"].append(int(transactions) / float(seconds))
                    rates["duckdb"].append(duckdb_rate(Path(folder) / "x.duckdb", connections, rows, arguments.seconds))
            godwit, reference = (statistics.median(rates[engine]) for engine in ("godwit", "duckdb"))
            missed += godwit < wanted * reference
            print(
                f"{rows:5} rows, {connections} connections: godwit {godwit:8.0f}/s, duckdb {reference:8.0f}/s, "
                f"{godwit / reference:5.2f} times ({wanted:g} wanted)"
            )
    return 1 if missed else 0


def duckdb_rate(file: Path, connections: int, rows: int, seconds: float) -> float:
    """Transactions per second."""
    database = duckdb.connect(str(file))
    database.execute("CREATE TABLE t (a BIGINT, b VARCHAR, c DOUBLE)")
    begin = time.perf_counter()
    counts = [0] * connections

    def insert(number: int) -> None:
        cursor = database.cursor()
        while time.perf_counter() < begin + seconds:
            start = (number << 32) + counts[number] * rows
            values = ", ".join(f"({row}, 'text {row % 1000}', {row}.5)" for row in range(start, start + rows))
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

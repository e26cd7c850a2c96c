"""Loads TPC-H from Parquet into a database file, in Godwit and in DuckDB in turns, each into a new file.

    python bench/loading.py --scale 10 --memory-limit 1GB

Times end when everything is in the file and the file is closed. The bars: no slower than DuckDB, and a
file that is no larger.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from engines import loads
from options import SMALLEST_MEMORY_LIMIT, add_common, parse_size
from suites import SUITES, Options


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common(parser)
    parser.add_argument("--memory-limit", default="1GB", help="for both [1GB]")
    parser.add_argument("--folder", type=Path, help="where the databases go [the system's folder for temporary files]")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    limit_bytes = max(parse_size(arguments.memory_limit), parse_size(SMALLEST_MEMORY_LIMIT))
    tables = SUITES["tpch"](Options(arguments.scale, arguments.data, arguments.godwit, arguments.smoke)).tables
    seconds: dict[str, list[float]] = {"godwit": [], "duckdb": []}
    file_bytes: dict[str, int] = {}

    def measure(engine: str, load: Callable[[Path], None]) -> None:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            begin = time.perf_counter()
            load(Path(folder) / f"x.{engine}")
            seconds[engine].append(time.perf_counter() - begin)
            file_bytes[engine] = sum(file.stat().st_size for file in Path(folder).iterdir() if file.is_file())

    for _ in range(1 if arguments.smoke else arguments.runs):
        measure("godwit", lambda file: load_godwit(arguments, tables, limit_bytes, file))
        measure("duckdb", lambda file: load_duckdb(arguments, tables, limit_bytes, file))
        last = "  ".join(f"{engine} {times[-1]:.1f} s" for engine, times in seconds.items())
        print(f"{last}  {file_bytes['godwit'] / 1e6:.0f} and {file_bytes['duckdb'] / 1e6:.0f} MB", flush=True)
    ratio = statistics.median(seconds["godwit"]) / statistics.median(seconds["duckdb"])
    size = file_bytes["godwit"] / file_bytes["duckdb"]
    print(f"time: {ratio:.2f} of DuckDB's (1 wanted), file: {size:.2f} of its size (1 wanted)")
    return 0 if arguments.smoke or max(ratio, size) <= 1 else 1


def load_godwit(arguments: argparse.Namespace, tables: dict[str, Path], limit_bytes: int, file: Path) -> None:
    script = [f"SET memory_limit = '{limit_bytes}B'", *loads(tables), "CHECKPOINT"]
    words = [word for statement in script for word in ("-c", statement)]
    command = [arguments.godwit, file, "--threads", str(arguments.threads), *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def load_duckdb(arguments: argparse.Namespace, tables: dict[str, Path], limit_bytes: int, file: Path) -> None:
    with duckdb.connect(str(file)) as connection:
        connection.execute(f"SET threads = {arguments.threads}")
        connection.execute(f"SET memory_limit = '{limit_bytes}B'")
        for statement in [*loads(tables), "CHECKPOINT"]:
            connection.execute(statement)


if __name__ == "__main__":
    sys.exit(main())

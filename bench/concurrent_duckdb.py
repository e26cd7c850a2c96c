"""What crates/godwit/examples/concurrent.rs does, with DuckDB: the same arguments, input and output."""

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import duckdb


def main() -> None:
    mode, limit, threads = sys.argv[1:]
    statements = sys.stdin.read().splitlines()
    queries = [sql for sql in statements if not sql.startswith("CREATE")]
    with tempfile.TemporaryDirectory() as scratch:
        config = {"threads": int(threads), "memory_limit": limit, "temp_directory": scratch}
        connection = duckdb.connect(config=config)
        for sql in statements:
            if sql.startswith("CREATE"):
                connection.execute(sql)
        started = time.perf_counter()
        with ThreadPoolExecutor(len(queries) if mode == "at-once" else 1) as pool:
            answers = list(pool.map(lambda sql: answer(connection.cursor(), sql), queries))
        print("\n".join([*answers, f"{time.perf_counter() - started:.3f}"]))


def answer(cursor: duckdb.DuckDBPyConnection, sql: str) -> str:
    started = time.perf_counter()
    try:
        rows = cursor.execute(sql).fetchall()
        kind, text = "rows", " | ".join(", ".join(map(str, row)) for row in rows)
    except duckdb.Error as error:
        kind, text = "error", " ".join(str(error).split())
    return f"{time.perf_counter() - started:.3f}\t{kind}\t{text}"


if __name__ == "__main__":
    main()

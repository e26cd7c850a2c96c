"""DuckDB with tables in its own format: a file beside each Parquet file, made on first use, which isn't timed."""

from pathlib import Path

import duckdb

from engines.base import loads, unfinished
from engines.duckdb import DuckDB


class DuckDBNative(DuckDB):
    def attach(self, tables: dict[str, Path]) -> None:
        for name, file in tables.items():
            self.connection.execute(f"ATTACH '{native_file(file)}' AS file_of_{name} (READ_ONLY)")
            self.connection.execute(f"CREATE VIEW {name} AS SELECT * FROM file_of_{name}.content")


def native_file(parquet: Path) -> Path:
    """A database with one table, `content`."""
    file = parquet.with_suffix(".duckdb")
    if not file.exists():
        with unfinished(file) as path, duckdb.connect(path) as connection:
            [load] = loads({"content": parquet})
            connection.execute(load)
    return file

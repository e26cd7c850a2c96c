"""DuckDB in this process; results as Arrow tables."""

from pathlib import Path
from typing import Any

import duckdb

from engines.base import Engine, Limits, Row


class DuckDB(Engine):
    def __init__(self, limits: Limits) -> None:
        config: dict[str, Any] = {"threads": limits.threads, "temp_directory": str(limits.scratch)}
        if limits.memory_limit_bytes:
            config["memory_limit"] = f"{limits.memory_limit_bytes}B"
        self.connection = duckdb.connect(config=config)
        self.connection.execute("SET enable_progress_bar = false")

    def version(self) -> str:
        return duckdb.__version__

    def attach(self, tables: dict[str, Path]) -> None:
        for name, file in tables.items():
            self.connection.execute(f"CREATE VIEW {name} AS SELECT * FROM '{file}'")

    def run(self, sql: str) -> Any:
        return self.connection.sql(sql).to_arrow_table()

    def rows(self, result: Any) -> list[Row]:
        return [tuple(row.values()) for row in result.to_pylist()]

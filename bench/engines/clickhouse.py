"""ClickHouse in this process, as the package chdb has it; results as Arrow tables."""

from pathlib import Path
from typing import Any

from chdb import session

from engines.base import Engine, Limits, Row


class ClickHouse(Engine):
    def __init__(self, limits: Limits) -> None:
        self.session = session.Session(str(limits.scratch / "clickhouse"))
        self.session.query(f"SET max_threads = {limits.threads}")
        if limits.memory_limit_bytes:
            # Grouping and sorting spill at half of it by default.
            self.session.query(f"SET max_memory_usage = {limits.memory_limit_bytes}")
        self.session.query("CREATE DATABASE bench")
        self.session.query("USE bench")

    def version(self) -> str:
        return str(self.session.query("SELECT version()")).strip().strip('"')

    def attach(self, tables: dict[str, Path]) -> None:
        for name, file in tables.items():
            self.session.query(f"CREATE VIEW {name} AS SELECT * FROM file('{file}', Parquet)")

    def run(self, sql: str) -> Any:
        return self.session.query(sql.rstrip().rstrip(";"), "ArrowTable")

    def rows(self, result: Any) -> list[Row]:
        return [tuple(row.values()) for row in result.to_pylist()]

    def close(self) -> None:
        self.session.close()

"""Polars in this process, through its SQL; queries that its SQL doesn't know are left out."""

import os
from pathlib import Path
from typing import Any

from engines.base import Engine, Limits, Row, Unsupported


class Polars(Engine):
    def __init__(self, limits: Limits) -> None:
        # Read when the module is loaded. Polars has no memory limit.
        os.environ["POLARS_MAX_THREADS"] = str(limits.threads)
        os.environ["POLARS_TEMP_DIR"] = str(limits.scratch)
        import polars

        self.module = polars
        self.context = polars.SQLContext()

    def version(self) -> str:
        return self.module.__version__

    def attach(self, tables: dict[str, Path]) -> None:
        for name, file in tables.items():
            self.context.register(name, self.module.scan_parquet(file))

    def run(self, sql: str) -> Any:
        errors = self.module.exceptions
        # What others call `any_value`.
        sql = sql.replace("any_value(", "first(")
        try:
            return self.context.execute(sql).collect(engine="streaming")
        except (errors.SQLInterfaceError, errors.SQLSyntaxError, errors.ColumnNotFoundError) as error:
            raise Unsupported(str(error).splitlines()[0]) from None

    def rows(self, result: Any) -> list[Row]:
        return result.rows()

"""HyPer as Tableau ships it: a server process on this machine."""

from pathlib import Path
from typing import Any

import tableauhyperapi as api

from engines.base import Engine, Limits, Row


class HyPer(Engine):
    def __init__(self, limits: Limits) -> None:
        parameters = {
            "hard_concurrent_query_thread_limit": str(limits.threads),
            "soft_concurrent_query_thread_limit": str(limits.threads),
            "log_config": "",
        }
        if limits.memory_limit_bytes:
            parameters["memory_limit"] = f"{limits.memory_limit_bytes // 1024}k"
        self.server = api.HyperProcess(api.Telemetry.DO_NOT_SEND_USAGE_DATA_TO_TABLEAU, parameters=parameters)
        self.connection = api.Connection(self.server.endpoint)

    def version(self) -> str:
        return api.__version__

    def attach(self, tables: dict[str, Path]) -> None:
        for name, file in tables.items():
            self.connection.execute_command(
                f"CREATE TEMPORARY EXTERNAL TABLE {name} FOR '{file}' WITH (FORMAT => 'parquet')"
            )

    def run(self, sql: str) -> Any:
        return self.connection.execute_list_query(sql)

    def rows(self, result: Any) -> list[Row]:
        return [tuple(self._plain(value) for value in row) for row in result]

    def close(self) -> None:
        self.connection.close()
        self.server.close()

    @staticmethod
    def _plain(value: Any) -> Any:
        return value.to_date() if isinstance(value, api.Date) else value

"""DataFusion in this process; results as Arrow record batches."""

import os
from pathlib import Path
from typing import Any

from engines.base import Engine, Limits, Row


class DataFusion(Engine):
    def __init__(self, limits: Limits) -> None:
        # Read when the runtime starts, which is at the first query.
        os.environ["TOKIO_WORKER_THREADS"] = str(limits.threads)
        import datafusion

        self.module = datafusion
        runtime = datafusion.RuntimeEnvBuilder().with_temp_file_path(str(limits.scratch))
        if limits.memory_limit_bytes:
            runtime = runtime.with_fair_spill_pool(limits.memory_limit_bytes)
        config = datafusion.SessionConfig().with_target_partitions(limits.threads)
        self.context = datafusion.SessionContext(config, runtime)

    def version(self) -> str:
        return self.module.__version__

    def attach(self, tables: dict[str, Path]) -> None:
        for name, file in tables.items():
            self.context.register_parquet(name, str(file))

    def run(self, sql: str) -> Any:
        return self.context.sql(sql.rstrip().rstrip(";")).collect()

    def rows(self, result: Any) -> list[Row]:
        return [tuple(row.values()) for batch in result for row in batch.to_pylist()]

"""HyPer with tables in its own format: one file beside the Parquet files, made on first use, which isn't timed."""

from pathlib import Path

import tableauhyperapi as api

from engines.base import unfinished
from engines.hyper import HyPer


class HyPerNative(HyPer):
    def attach(self, tables: dict[str, Path]) -> None:
        file = self.native_file(tables)
        self.connection.close()
        self.connection = api.Connection(self.server.endpoint, file)

    def native_file(self, tables: dict[str, Path]) -> Path:
        """A database with these tables."""
        folder = next(iter(tables.values())).parent
        file = folder / f"{'-'.join(sorted(tables))[:100]}.hyper"
        if not file.exists():
            with unfinished(file) as path:
                with api.Connection(self.server.endpoint, path, api.CreateMode.CREATE) as connection:
                    for name, parquet in tables.items():
                        content = f"SELECT * FROM external('{parquet}', FORMAT => 'parquet')"
                        connection.execute_command(f"CREATE TABLE {name} AS ({content})")
        return file

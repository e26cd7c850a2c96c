"""DuckDB with its extension for files on web servers, from the package `duckdb-extension-httpfs`."""

import importlib.util
from pathlib import Path

from engines.base import Limits
from engines.duckdb import DuckDB


class DuckDBHttpfs(DuckDB):
    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        package = Path(importlib.util.find_spec("duckdb_extension_httpfs").origin).parent
        (extension,) = package.glob("extensions/*/httpfs.duckdb_extension")
        self.connection.execute(f"LOAD '{extension}'")

"""The engines that are measured. Each lives in a process of its own, see `engines.process`."""

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

from engines.base import Engine, Limits, Unsupported, loads
from engines.process import EngineError, EngineProcess

__all__ = ["ENGINES", "Engine", "EngineError", "EngineProcess", "Limits", "Unsupported", "loads"]


def _godwit(*settings: str) -> Callable[[Limits], Engine]:
    def start(limits: Limits) -> Engine:
        from engines.godwit import Godwit

        return Godwit(limits, settings)

    return start


def _godwit_other(limits: Limits) -> Engine:
    other = os.environ.get("GODWIT_OTHER")
    if not other:
        raise EngineError("godwit-other is the shell that GODWIT_OTHER names, which is not set")
    return _godwit()(dataclasses.replace(limits, godwit=Path(other)))


def _godwit_native(limits: Limits) -> Engine:
    from engines.godwit_native import GodwitNative

    return GodwitNative(limits)


def _duckdb(limits: Limits) -> Engine:
    from engines.duckdb import DuckDB

    return DuckDB(limits)


def _duckdb_native(limits: Limits) -> Engine:
    from engines.duckdb_native import DuckDBNative

    return DuckDBNative(limits)


def _duckdb_httpfs(limits: Limits) -> Engine:
    from engines.duckdb_httpfs import DuckDBHttpfs

    return DuckDBHttpfs(limits)


def _datafusion(limits: Limits) -> Engine:
    from engines.datafusion import DataFusion

    return DataFusion(limits)


def _polars(limits: Limits) -> Engine:
    from engines.polars import Polars

    return Polars(limits)


def _hyper(limits: Limits) -> Engine:
    from engines.hyper import HyPer

    return HyPer(limits)


def _hyper_native(limits: Limits) -> Engine:
    from engines.hyper_native import HyPerNative

    return HyPerNative(limits)


def _clickhouse(limits: Limits) -> Engine:
    from engines.clickhouse import ClickHouse

    return ClickHouse(limits)


# Imported when asked for, so that no engine's threads and allocator are in another one's process, and so that one can
# measure without having all of them installed.
ENGINES: dict[str, Callable[[Limits], Engine]] = {
    "godwit": _godwit(),
    # Another build of the shell, which the environment variable GODWIT_OTHER names.
    "godwit-other": _godwit_other,
    "godwit-native": _godwit_native,
    # The policies by which operators of a pipeline share memory; the default is weighted.
    "godwit-unweighted": _godwit("memory_policy = 'unweighted'"),
    "godwit-equality": _godwit("memory_policy = 'equality'"),
    "godwit-equity": _godwit("memory_policy = 'equity'"),
    "duckdb": _duckdb,
    "duckdb-native": _duckdb_native,
    "duckdb-httpfs": _duckdb_httpfs,
    "datafusion": _datafusion,
    "polars": _polars,
    "hyper": _hyper,
    "hyper-native": _hyper_native,
    "clickhouse": _clickhouse,
}

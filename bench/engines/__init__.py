"""The engines that are measured. Each lives in a process of its own, see `engines.process`."""

from collections.abc import Callable

from engines.base import Engine, Limits, Unsupported
from engines.process import EngineProcess

__all__ = ["ENGINES", "Engine", "EngineProcess", "Limits", "Unsupported"]


def _godwit(limits: Limits) -> Engine:
    from engines.godwit import Godwit

    return Godwit(limits)


def _duckdb(limits: Limits) -> Engine:
    from engines.duckdb import DuckDB

    return DuckDB(limits)


def _datafusion(limits: Limits) -> Engine:
    from engines.datafusion import DataFusion

    return DataFusion(limits)


def _polars(limits: Limits) -> Engine:
    from engines.polars import Polars

    return Polars(limits)


def _hyper(limits: Limits) -> Engine:
    from engines.hyper import HyPer

    return HyPer(limits)


# Imported when asked for, so that no engine's threads and allocator are in another one's process, and so that one can
# measure without having all of them installed.
ENGINES: dict[str, Callable[[Limits], Engine]] = {
    "godwit": _godwit,
    "duckdb": _duckdb,
    "datafusion": _datafusion,
    "polars": _polars,
    "hyper": _hyper,
}

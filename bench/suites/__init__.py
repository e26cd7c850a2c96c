"""The suites: tables and queries to measure."""

from collections.abc import Callable

from suites import aggregation, cliff, concurrency, join, pipeline, tpch
from suites.base import Options, Panel, Suite

SUITES: dict[str, Callable[[Options], Suite]] = {
    "tpch": tpch.suite,
    "aggregation": aggregation.suite,
    "join": join.suite,
    "pipeline": pipeline.suite,
    "cliff": cliff.suite,
    "concurrency": concurrency.suite,
}

__all__ = ["SUITES", "Options", "Panel", "Suite"]

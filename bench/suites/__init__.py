"""The suites: tables and queries to measure."""

from collections.abc import Callable

from suites import (
    aggregation,
    approximate,
    cliff,
    concurrency,
    functions,
    heavy,
    jcch,
    job_like,
    join,
    pipeline,
    skew,
    tpcds,
    tpch,
)
from suites.base import Options, Panel, Suite

SUITES: dict[str, Callable[[Options], Suite]] = {
    "tpch": tpch.suite,
    "aggregation": aggregation.suite,
    "join": join.suite,
    "pipeline": pipeline.suite,
    "job-like": job_like.suite,
    "cliff": cliff.suite,
    "concurrency": concurrency.suite,
    "skew": skew.suite,
    "jcch": jcch.suite,
    "functions": functions.suite,
    "approximate": approximate.suite,
    "heavy": heavy.suite,
    "tpcds": tpcds.suite,
}

# What `all` stands for: suites that are about time, and whose data is made here.
ALL = [name for name in SUITES if name not in ("heavy", "tpcds")]

__all__ = ["ALL", "SUITES", "Options", "Panel", "Suite"]

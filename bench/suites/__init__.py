"""The suites: tables and queries to measure."""

from suites import tpch
from suites.base import Suite

SUITES = {"tpch": tpch.suite}

__all__ = ["SUITES", "Suite"]

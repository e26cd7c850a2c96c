"""A short description of a result, to notice engines that don't compute the same.

It doesn't depend on the order of rows, and hardly on how an engine rounds: numeric columns are added up, others hashed.
The exact comparison with DuckDB is `tests/duckdb/compare_tpch.py`.
"""

import hashlib
import math
from decimal import Decimal
from typing import Any

Row = tuple[Any, ...]
Fingerprint = list[int | float | str]

# An average of decimals has 6 digits after the point in some engines.
TOLERANCE = 1e-4


def fingerprint(rows: list[Row]) -> Fingerprint:
    """The number of rows, then a value per column."""
    return [len(rows), *(_column(list(column)) for column in zip(*rows, strict=True))]


def same(left: Fingerprint, right: Fingerprint) -> bool:
    return len(left) == len(right) and all(map(_same_value, left, right))


def _column(values: list[Any]) -> float | str:
    present = [value for value in values if value is not None]
    if all(isinstance(value, int | float | Decimal) for value in present):
        return math.fsum(map(float, present))
    return hashlib.md5("\n".join(sorted(map(str, present))).encode()).hexdigest()


def _same_value(left: float | str, right: float | str) -> bool:
    if isinstance(left, str) or isinstance(right, str):
        return left == right
    return math.isclose(left, right, rel_tol=TOLERANCE)

"""Compares the rows of two engines as exactly as SQL allows.

Integers, decimals, texts and dates have to be equal. Floating-point numbers may differ in the last digits, as the order
of additions isn't defined. Rows follow ORDER BY; rows that it doesn't tell apart may come in any order, and when LIMIT
cuts through such rows, any of them may be there.
"""

import datetime
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import groupby
from typing import Any

Row = tuple[Any, ...]

FLOAT_TOLERANCE = 1e-9
# Below this, the rest of a cancellation is as good as zero.
ZERO_TOLERANCE = 1e-12


def difference(expected: list[Row], actual: list[Row], order: Sequence[int], limited: bool) -> str | None:
    """What differs first, or None. `order`: the columns of ORDER BY; `limited`: LIMIT may have cut rows off."""
    if len(expected) != len(actual):
        return f"{len(expected)} rows expected, got {len(actual)}"
    if expected and len(expected[0]) != len(actual[0]):
        return f"{len(expected[0])} columns expected, got {len(actual[0])}"
    expected, actual = [normal_row(row) for row in expected], [normal_row(row) for row in actual]
    # By what was expected: a client may return 1.25 as a decimal or as a float.
    inexact = {column for row in expected for column, value in enumerate(row) if isinstance(value, float)}
    start = 0
    for _, peers in groupby(expected, key=lambda row: [row[column] for column in order]):
        end = start + len(list(peers))
        cut = limited and end == len(expected) and bool(order)
        columns = order if cut else range(len(expected[start]))
        sides = [sorted(rows[start:end], key=lambda row: sort_key(row, inexact)) for rows in (expected, actual)]
        for left, right in zip(*sides, strict=True):
            if not all(equal(left[column], right[column]) for column in columns):
                return f"rows {start + 1} to {end}: expected {show(left)}, got {show(right)}"
        start = end
    return None


def normal_row(row: Row) -> Row:
    return tuple(normal(value) for value in row)


def normal(value: Any) -> Any:
    """One Python value for what the engines' clients return as different types."""
    match value:
        case datetime.datetime():
            return value.isoformat()
        case datetime.date() | datetime.time():
            return value.isoformat()
        case float() if not math.isfinite(value):
            # JSON has no numbers for these: the shell writes their text.
            return "NaN" if math.isnan(value) else str(value)
    return value


def equal(left: Any, right: Any) -> bool:
    if left is None or right is None or isinstance(left, str) or isinstance(right, str):
        return left == right
    if isinstance(left, float) or isinstance(right, float):
        return math.isclose(left, right, rel_tol=FLOAT_TOLERANCE, abs_tol=ZERO_TOLERANCE)
    return left == right


def sort_key(row: Row, inexact: set[int]) -> list[tuple[Any, ...]]:
    """Puts equal rows of two engines side by side: exact columns decide first, the others last and roughly."""
    exact = [exact_key(value) for column, value in enumerate(row) if column not in inexact]
    return exact + [(value is not None, float(f"{value or 0:.6g}")) for column, value in enumerate(row) if column in inexact]


def exact_key(value: Any) -> tuple[Any, ...]:
    match value:
        case None:
            return (0,)
        case int() | Decimal():
            return (1, Decimal(value))
    return (2, str(value))


def show(row: Row) -> str:
    return "(" + ", ".join("NULL" if value is None else str(value) for value in row) + ")"


def order_columns(sql: str, names: list[str]) -> list[int]:
    """The columns of the last ORDER BY, which has to name columns of the result or their numbers."""
    clauses = re.findall(r"ORDER\s+BY\s+([^()]*?)(?:LIMIT\s+\d+\s*)?;?\s*$", sql, re.IGNORECASE)
    if not clauses:
        return []
    terms = [term.split()[0] for term in clauses[-1].split(",")]
    return [int(term) - 1 if term.isdigit() else names.index(term.split(".")[-1]) for term in terms]


def is_limited(sql: str) -> bool:
    return re.search(r"LIMIT\s+\d+\s*;?\s*$", sql, re.IGNORECASE) is not None

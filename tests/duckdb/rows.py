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
# An average or quotient of decimals is a decimal in one engine and a float in the other. The decimal may then be off by
# its last digit, if it has at least this many after the point.
ROUNDED_DIGITS_MIN = 4


def difference(expected: list[Row], actual: list[Row], order: Sequence[int], limited: bool) -> str | None:
    """What differs first, or None. `order`: the columns of ORDER BY; `limited`: LIMIT may have cut rows off."""
    if len(expected) != len(actual):
        return f"{len(expected)} rows expected, got {len(actual)}"
    expected, actual = [normal_row(row) for row in expected], [normal_row(row) for row in actual]
    start = 0
    for _, peers in groupby(expected, key=lambda row: [row[column] for column in order]):
        end = start + len(list(peers))
        cut = limited and end == len(expected) and bool(order)
        columns = order if cut else range(len(expected[start]))
        pairs = zip(sorted(expected[start:end], key=sort_key), sorted(actual[start:end], key=sort_key), strict=True)
        for left, right in pairs:
            if len(left) != len(right) or not all(equal(left[column], right[column]) for column in columns):
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
            return None if math.isnan(value) else str(value)
    return value


def equal(left: Any, right: Any) -> bool:
    if left is None or right is None or isinstance(left, str) or isinstance(right, str):
        return left == right
    if isinstance(left, float) or isinstance(right, float):
        return math.isclose(left, right, rel_tol=FLOAT_TOLERANCE, abs_tol=max(last_digit(left), last_digit(right)))
    return left == right


def last_digit(value: Any) -> float:
    """What the last digit of a rounded decimal stands for, 0 for other values."""
    digits = -value.as_tuple().exponent if isinstance(value, Decimal) else 0
    return 10.0**-digits if digits >= ROUNDED_DIGITS_MIN else 1e-12


def sort_key(row: Row) -> list[tuple[Any, ...]]:
    """Puts equal rows of two engines side by side: exact values decide first, floats last and roughly."""
    exact = [(value is None, str(value)) for value in row if not is_inexact(value)]
    return [*exact, *((False, float(f"{value:.6g}")) for value in row if is_inexact(value))]


def is_inexact(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, Decimal) and value.as_tuple().exponent <= -ROUNDED_DIGITS_MIN)


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

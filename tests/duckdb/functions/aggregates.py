"""Aggregate and window functions over no rows, one row, NULLs, duplicates; with DISTINCT, FILTER, ORDER BY; in groups,
without, and in windows.

Each type has a table: `g` is a group (1: different values, 2: NULLs only, 3: one row, 4: duplicates and NULLs), `k` orders
the rows, `x` is a value of the type.
"""

import itertools
import random
import re
from dataclasses import dataclass

from godwit_shell import GodwitError

from .engines import Answer, DuckDBEngine, same
from .values import quoted

VALUES = {
    "INTEGER": ["1", "2", "-3", "2147483647", "7"],
    "BIGINT": quoted(["1", "9223372036854775807", "-9223372036854775808", "5", "5"], "BIGINT"),
    "UTINYINT": quoted(["1", "255", "0", "7", "128"], "UTINYINT"),
    "DOUBLE": quoted(["1.5", "-2.5", "0", "1e15", "3"], "DOUBLE"),
    "FLOATS": quoted(["nan", "inf", "-inf", "-0.0", "1"], "DOUBLE"),
    "DECIMAL(9,2)": quoted(["1.25", "-1.25", "9999999.99", "0", "2.5"], "DECIMAL(9,2)"),
    "VARCHAR": ["'a'", "''", "'é'", "'B'", "'longer than what lies inline'"],
    "DATE": quoted(["2024-02-29", "1970-01-01", "0001-01-01", "9999-12-31", "2000-01-01"], "DATE"),
    "TIMESTAMP": quoted(["2024-02-29 12:00:00", "1970-01-01", "1969-12-31 23:59:59.5", "2000-01-01", "2001-01-01"], "TIMESTAMP"),
    "INTERVAL": quoted(["1 day", "1 month", "-3 hours", "1 year", "2 days"], "INTERVAL"),
    "BOOLEAN": ["TRUE", "FALSE", "TRUE", "TRUE", "FALSE"],
}
NUMBERS = ["INTEGER", "BIGINT", "UTINYINT", "DOUBLE", "FLOATS", "DECIMAL(9,2)"]
INTEGERS = ["INTEGER", "BIGINT", "UTINYINT"]
ALL = list(VALUES)


def table(type_name: str) -> str:
    return "t_" + type_name.split("(")[0].lower()


def definition(type_name: str) -> str:
    a, b, c, d, e = VALUES[type_name]
    values = [(1, a), (1, b), (1, c), (1, d), (1, e), (2, "NULL"), (2, "NULL"), (3, b), (4, a), (4, "NULL"), (4, a), (4, c), (4, c), (4, a)]
    rows = ", ".join(f"({group}, {k}, {value})" for k, (group, value) in enumerate(values, 1))
    return f"CREATE TABLE {table(type_name)} AS SELECT * FROM (VALUES {rows}) AS v(g, k, x)"


SETUP = [definition(type_name) for type_name in VALUES]

# Calls of aggregates without the order of their rows, and the types of `x` that they are asked for.
PLAIN = {
    "count": (["count(*)", "count(x)"], ALL),
    "sum": (["sum(x)"], ALL),
    "avg": (["avg(x)"], ALL),
    "min": (["min(x)"], ALL),
    "max": (["max(x)"], ALL),
    "median": (["median(x)"], ALL),
    "quantile_cont": (["quantile_cont(x, 0.25)", "quantile_cont(x, [0, 0.3, 1])", "quantile_cont(x, 1.5)"], NUMBERS + ["DATE", "TIMESTAMP", "VARCHAR"]),
    "quantile_disc": (["quantile_disc(x, 0.25)", "quantile_disc(x, [0, 0.5, 1])"], ALL),
    "approx_count_distinct": (["approx_count_distinct(x)"], ALL),
    "histogram": (["histogram(x)"], ALL),
    "entropy": (["entropy(x)"], ALL),
    "bool_and": (["bool_and(x)", "every(x)"], ["BOOLEAN", "INTEGER"]),
    "bool_or": (["bool_or(x)"], ["BOOLEAN"]),
    "percentile_cont": (["percentile_cont(0.5) WITHIN GROUP (ORDER BY x)"], NUMBERS),
    "percentile_disc": (["percentile_disc(0.5) WITHIN GROUP (ORDER BY x)"], ALL),
    "mode": (["mode() WITHIN GROUP (ORDER BY x)"], ALL),
} | {
    name: ([f"{name}(x)"], NUMBERS + ["VARCHAR"])
    for name in "product fsum favg stddev_samp stddev_pop var_samp var_pop sem skewness kurtosis kurtosis_pop mad".split()
} | {
    name: ([f"{name}(x)"], INTEGERS + ["DOUBLE", "BOOLEAN"]) for name in "bit_and bit_or bit_xor".split()
} | {
    name: ([f"{name}(x, k)", f"{name}(k, x)"], NUMBERS)
    for name in "corr covar_samp covar_pop regr_count regr_avgx regr_avgy regr_sxx regr_syy regr_sxy regr_slope regr_intercept regr_r2".split()
}
# Calls that depend on the order of rows.
ORDERED = {
    "first": (["first(x ORDER BY k)"], ALL),
    "last": (["last(x ORDER BY k DESC)"], ALL),
    "any_value": (["any_value(x ORDER BY k)"], ALL),
    "array_agg": (["array_agg(x ORDER BY k)", "array_agg(x ORDER BY x DESC NULLS LAST, k)", "list(DISTINCT x ORDER BY x)"], ALL),
    "string_agg": (["string_agg(x::VARCHAR, '-' ORDER BY k)", "string_agg(x::VARCHAR ORDER BY k DESC)"], ["VARCHAR", "INTEGER"]),
    "arg_min": (["arg_min(k, x ORDER BY k)", "arg_min(x, k)", "arg_min(x, k, 2)"], ALL),
    "arg_max": (["arg_max(k, x ORDER BY k)", "arg_max(x, k)", "arg_max(x, k, 3)"], ALL),
    "min": (["min(x, 2)", "min(x, 100)"], ALL),
    "max": (["max(x, 2)", "max(x, 0)"], ALL),
}
WINDOWS = {
    "row_number": ["row_number()"],
    "rank": ["rank()"],
    "dense_rank": ["dense_rank()"],
    "percent_rank": ["percent_rank()"],
    "cume_dist": ["cume_dist()"],
    "ntile": ["ntile(1)", "ntile(3)", "ntile(100)", "ntile(0)", "ntile(NULL)"],
    "lag": ["lag(x)", "lag(x, 2)", "lag(x, 0)", "lag(x, -1)", "lag(x, NULL)", "lag(x, 1, x)", "lag(x, 9223372036854775807)"],
    "lead": ["lead(x)", "lead(x, 2)", "lead(x, -1)", "lead(x, 1, x)", "lead(x, -9223372036854775807)"],
    "first_value": ["first_value(x)"],
    "last_value": ["last_value(x)"],
    "nth_value": ["nth_value(x, 1)", "nth_value(x, 3)", "nth_value(x, 0)", "nth_value(x, NULL)", "nth_value(x, -1)"],
    "sum": ["sum(x)"],
    "count": ["count(x)", "count(DISTINCT x)"],
    "max": ["max(x)"],
    "avg": ["avg(x)"],
    "median": ["median(x)"],
    "array_agg": ["array_agg(x)"],
}
OVER = ["PARTITION BY g ORDER BY k", "ORDER BY k DESC", "PARTITION BY g ORDER BY k ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", "PARTITION BY k % 1 ORDER BY g, k"]
CONDITIONS = ["FALSE", "g = 2", "g = 3", "TRUE"]


@dataclass(frozen=True)
class Query:
    """A query of three columns: what orders the rows, the text of a value, and its type."""

    name: str
    sql: str


def queries(rng: random.Random, most: int) -> list[Query]:
    """About `most` queries for each function."""
    made = []
    for name, (calls, types) in itertools.chain(PLAIN.items(), ORDERED.items()):
        ordered = name in ORDERED and calls is ORDERED[name][0]
        of_name = [query(name, call, type_name, form) for call in calls for type_name in types for form in forms(call, ordered)]
        made += rng.sample(of_name, min(len(of_name), most * 2))
    for name, calls in WINDOWS.items():
        of_name = [window(name, call, type_name, over) for call in calls for type_name in ALL for over in OVER]
        made += rng.sample(of_name, min(len(of_name), most))
    return [Query(name, sql) for name, sql in dict.fromkeys((query.name, query.sql) for query in made)]


def forms(call: str, ordered: bool) -> list[tuple[str, str, str]]:
    """Calls with their conditions and groups."""
    found = [(call, condition, "") for condition in CONDITIONS]
    found += [(call, "TRUE", "GROUP BY g"), (f"{call} FILTER (WHERE k > 3)", "TRUE", "GROUP BY g"), (f"{call} FILTER (WHERE FALSE)", "TRUE", "")]
    if not ordered and "(x" in call and "WITHIN" not in call:
        found += [(call.replace("(x", "(DISTINCT x"), "TRUE", group) for group in ("", "GROUP BY g")]
    return found


def query(name: str, call: str, type_name: str, form: tuple[str, str, str]) -> Query:
    call, condition, group = form
    key = "g" if group else "0"
    return Query(name, f"SELECT {key} AS o, CAST({call} AS VARCHAR) AS v, typeof({call}) AS t FROM {table(type_name)} WHERE {condition} {group} ORDER BY 1")


def window(name: str, call: str, type_name: str, over: str) -> Query:
    call = f"{call} OVER ({over})"
    return Query(name, f"SELECT k AS o, CAST({call} AS VARCHAR) AS v, typeof({call}) AS t FROM {table(type_name)} ORDER BY 1")


def expected(queries: list[Query]) -> list[list[tuple] | Exception]:
    """DuckDB's rows, or why there are none."""
    connection = DuckDBEngine().connection
    for statement in SETUP:
        connection.execute(statement)

    def rows(sql: str) -> list[tuple] | Exception:
        try:
            return connection.execute(sql.replace("every(", "bool_and(")).fetchall()
        except Exception as error:  # Not only `duckdb.Error`: an internal error may become any.
            return error

    return [rows(query.sql) for query in queries]


def difference(query: Query, rows: list[tuple] | GodwitError, expected: list[tuple] | Exception) -> str | None:
    if isinstance(rows, Exception) and isinstance(expected, Exception):
        return None
    if isinstance(rows, Exception) or isinstance(expected, Exception):
        return f"Godwit: {told(rows)[:200]}; expected: {told(expected)[:200]}"
    if len(rows) != len(expected):
        return f"{len(rows)} rows; expected: {len(expected)}"
    for (left, *actual), (right, *wanted) in zip(rows, expected, strict=True):
        if left != right or not same(Answer(*actual), Answer(*wanted)):
            return f"row {left}: {Answer(*actual)}; expected: {Answer(*wanted)}"
    return None


def told(rows: list[tuple] | Exception) -> str:
    """Rows, or the error without the script's name."""
    if not isinstance(rows, Exception):
        return str(rows)
    message = re.sub(r"^\S*\.sql: (error: )?", "", str(rows))
    return f"error: {message.splitlines()[0]}"

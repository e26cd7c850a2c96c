"""Aggregates that may be approximate: numbers of distinct values and quantiles of TPC-H's largest table.

Engines estimate in different ways, so results are compared by their number of rows.
"""

from suites import tpch
from suites.base import Options, Suite

# What is aggregated, by name; a name with `by` is grouped.
QUERIES = {
    "distinct keys": "SELECT approx_count_distinct(l_orderkey) FROM lineitem",
    "distinct texts": "SELECT approx_count_distinct(l_comment) FROM lineitem",
    "distinct keys by flag": """
        SELECT l_returnflag, approx_count_distinct(l_partkey), approx_count_distinct(l_suppkey)
        FROM lineitem GROUP BY l_returnflag""",
    "distinct keys by day": "SELECT l_shipdate, approx_count_distinct(l_suppkey) FROM lineitem GROUP BY l_shipdate",
    "distinct keys by supplier": "SELECT l_suppkey, approx_count_distinct(l_partkey) FROM lineitem GROUP BY l_suppkey",
    "median of prices": "SELECT approx_quantile(l_extendedprice, 0.5) FROM lineitem",
    "median of days": "SELECT approx_quantile(l_shipdate, 0.5) FROM lineitem",
    "quartiles by mode": """
        SELECT l_shipmode, approx_quantile(l_extendedprice, [0.25, 0.5, 0.75]) FROM lineitem GROUP BY l_shipmode""",
    "summary of orders": "SELECT * FROM (SUMMARIZE orders)",
}


def suite(options: Options) -> Suite:
    """The scale is TPC-H's scale factor."""
    scale = tpch.SMOKE_SCALE if options.smoke else options.scale or tpch.SCALE
    return Suite(
        name=f"approximate-sf{scale:g}",
        title=f"approximate aggregates, TPC-H, scale factor {scale:g}",
        tables=tpch.tables(scale, options),
        queries=QUERIES,
        engines=["godwit", "duckdb"],
        any_row=True,
    )

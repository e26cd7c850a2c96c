"""Four operators that need much memory: a grouping, a join, a sort, a window.

`cliff.py` measures them from more memory than they need down to a small part of it. At scale 1 each needs between 1.5
and 4 GB, so that 6 % of it is still more than any engine's smallest limit.
"""

from suites import aggregation, join, tpch
from suites.base import Options, Suite

# TPC-H scale factors; the sort carries all columns, the others few.
SCALE_FACTOR = 10
SORT_SCALE_FACTOR = 2
JOIN_SCALE = 1 / 10
SMOKE = 1 / 5000
# Thirteen is a group per row.
GROUPING = 13
# All columns; the first ones don't tell rows apart, so that order is decided late.
SORT_ORDER = "l_shipmode, l_shipinstruct, l_comment, l_orderkey, l_linenumber"
# Not in the order of the file. `max` consumes the result and keeps the carried column in it.
WINDOW = """SELECT l_orderkey, l_linenumber, l_comment,
    row_number() OVER (PARTITION BY l_suppkey ORDER BY l_shipdate, l_orderkey, l_linenumber) AS place FROM lineitem"""


def suite(options: Options) -> Suite:
    """The scale multiplies the amount of data."""
    scale = SMOKE if options.smoke else options.scale or 1
    lineitem = tpch.tables(SCALE_FACTOR * scale, options)["lineitem"]
    sorted_lineitem = tpch.tables(SORT_SCALE_FACTOR * scale, options)["lineitem"]
    groups = aggregation.count_groups(lineitem)[GROUPING - 1]
    rows = aggregation.count_groups(sorted_lineitem)[-1]
    relations = join.default_inner(JOIN_SCALE * scale), join.default_outer(JOIN_SCALE * scale)
    default_join = join.Join("join", *relations)
    grouping = aggregation.grouping(GROUPING, wide=False, aggregate="")
    sort = f"SELECT * FROM lineitem_to_sort ORDER BY {SORT_ORDER}"
    return Suite(
        name=f"cliff-{scale:g}",
        title=f"four operators, scale {scale:g}",
        tables={
            "lineitem": lineitem,
            "lineitem_to_sort": sorted_lineitem,
            **join.tables(set(relations), JOIN_SCALE * scale, options),
        },
        queries={
            "grouping": f"{grouping} LIMIT 1 OFFSET {groups - 1}",
            "join": default_join.sql("any_value"),
            # Near the end, where nobody can get it by keeping the first rows only.
            "sort": f"{sort} LIMIT 1 OFFSET {rows - 1}",
            "window": f"SELECT max(place) AS place, max(l_comment) AS comment, count(*) AS n FROM ({WINDOW}) AS w",
        },
        engines=["godwit", "duckdb", "hyper", "polars", "datafusion", "clickhouse"],
        any_row=True,
        checks={"grouping": grouping, "join": default_join.sql(""), "sort": sort, "window": WINDOW},
    )

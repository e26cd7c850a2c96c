"""EXISTS and NOT EXISTS over keys of which few have most rows.

TPC-H's tables, but five orders hold a quarter of all lines. Query 21 compares lines of an order with each other: pair by
pair, that is the square of the number of lines. The other queries have one such comparison each.
"""

from pathlib import Path

from suites import tpch
from suites.base import Options, Suite, parquet_of

HOT_ORDERS = 5
TABLES = ["nation", "supplier", "orders"]
# Few lines look for partners among all.
FEW = "SELECT count(*) AS n FROM lineitem AS few WHERE few.l_suppkey % 50 = 1 AND"
OTHERS = "(SELECT * FROM lineitem AS other WHERE other.l_orderkey = few.l_orderkey AND"
QUERIES = {
    "another supplier": f"{FEW} EXISTS {OTHERS} other.l_suppkey <> few.l_suppkey)",
    "no other supplier": f"{FEW} NOT EXISTS {OTHERS} other.l_suppkey <> few.l_suppkey)",
    "later": f"{FEW} EXISTS {OTHERS} other.l_shipdate > few.l_shipdate)",
    "none later": f"{FEW} NOT EXISTS {OTHERS} other.l_shipdate > few.l_shipdate)",
    "cheaper": f"{FEW} EXISTS {OTHERS} other.l_extendedprice < few.l_extendedprice)",
}


def suite(options: Options) -> Suite:
    """The scale is TPC-H's scale factor."""
    scale = tpch.SMOKE_SCALE if options.smoke else options.scale or tpch.SCALE
    files = tpch.tables(scale, options)
    queries = {"Q21": (tpch.QUERIES / "q21.sql").read_text(), **QUERIES}
    return Suite(
        name=f"skew-sf{scale:g}",
        title=f"EXISTS over skewed keys, scale factor {scale:g}",
        tables={**{table: files[table] for table in TABLES}, "lineitem": skewed_lineitem(files)},
        queries=queries,
        engines=["godwit", "duckdb"],
        checks=queries,
    )


def skewed_lineitem(files: dict[str, Path]) -> Path:
    """A quarter of the lines belong to the first orders that are finished; made if it isn't there."""
    query = f"""
        WITH hot AS (
            SELECT list(o_orderkey ORDER BY o_orderkey)[:{HOT_ORDERS}] AS orders
            FROM '{files["orders"]}' WHERE o_orderstatus = 'F'
        )
        SELECT lineitem.* REPLACE (CASE
            WHEN (l_partkey + l_suppkey) % 4 = 0 THEN orders[l_partkey % {HOT_ORDERS} + 1] ELSE l_orderkey
        END AS l_orderkey)
        FROM '{files["lineitem"]}' AS lineitem, hot"""
    return parquet_of(query, files["lineitem"].with_name("lineitem-skewed.parquet"))

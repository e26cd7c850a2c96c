"""TPC-H with the skew of JCC-H: few orders, parts and prices that most is about, and years that queries ask for more often.

After Boncz, Anatiotis and Kläbe, "JCC-H: Adding Join Crossing Correlations with Skew to TPC-H" (TPCTC 2017), as far as
chapter 3 of Stefan Noll's thesis "Resource-Efficient Data Processing" uses it:

    populous orders   one order of each year from 1993 to 1997; together they have a quarter of all lines. A line that is
                      moved to one keeps its distance to the order's date, so that each has its own dates, too
    frequent prices   the lines moved to an order are of four parts in one quantity each, from one supplier: twenty prices
    filter skew       `workload`: random queries, of which four in five are about 1993 or 1994

Everything else is TPC-H's, and consistent with it: numbers of lines, states and totals of orders are made anew, and every
order keeps at least one line. What JCC-H has beyond that (populous customers, parameters other than years) isn't made. The
data depends on the seed alone, not on who makes it.
"""

import random
import re
from pathlib import Path

from suites import tpch
from suites.base import Options, Suite, parquet_of

SEED = 2017
POPULOUS_YEARS = range(1993, 1998)
ORDERS = len(POPULOUS_YEARS)
PARTS_EACH = 4
# The day at which dbgen looks at states.
TODAY = "DATE '1995-06-17'"
# Years that queries are about, and how often.
YEAR_WEIGHTS = {1993: 4, 1994: 4, 1995: 1, 1996: 1, 1997: 1}
# It compares each line of an order with each other: that is the square of a populous order's lines.
LEFT_OUT = "Q21"
# Their dates are parameters; the others' are fixed, or they have none.
YEAR_OF_QUERY = {"Q3": 1995, "Q4": 1993, "Q5": 1994, "Q6": 1994, "Q10": 1993, "Q12": 1994, "Q14": 1995, "Q15": 1996, "Q20": 1994}
# The thesis's listings 3.1 and 3.2.
LISTINGS = {
    "sort": "SELECT o_totalprice, o_orderdate, o_shippriority FROM orders WHERE o_orderstatus = 'O' ORDER BY o_totalprice",
    "decode": "SELECT avg(l_extendedprice) AS average FROM lineitem",
}


def suite(options: Options) -> Suite:
    """The scale is TPC-H's scale factor."""
    scale = tpch.SMOKE_SCALE if options.smoke else options.scale or tpch.SCALE
    queries = {name: sql for name, sql in tpch_queries().items() if name != LEFT_OUT}
    queries |= {f"{name} in 1993": in_year(name, 1993) for name in YEAR_OF_QUERY} | LISTINGS
    # Prices that are equal may be in any order.
    checks = queries | {"sort": LISTINGS["sort"] + ", o_orderdate, o_shippriority"}
    return Suite(
        name=f"jcch-sf{scale:g}",
        title=f"TPC-H with the skew of JCC-H, scale factor {scale:g}",
        tables=tables(scale, options),
        queries=queries,
        engines=["godwit", "duckdb"],
        checks=checks,
    )


def tables(scale: float, options: Options, seed: int = SEED) -> dict[str, Path]:
    """The eight files; those that are skewed are made if they aren't there."""
    files = tpch.tables(scale, options)
    folder = options.data / f"jcch-sf{scale:g}-seed{seed}"
    lineitem = parquet_of(skewed_lineitem(files, seed), folder / "lineitem.parquet")
    orders = parquet_of(skewed_orders(files, lineitem), folder / "orders.parquet")
    return files | {"orders": orders, "lineitem": lineitem}


def workload(seed: int = SEED, queries: int = 200) -> list[tuple[str, str]]:
    """Random queries with their names, query 21 left out; 1993 and 1994 are asked for most."""
    chance = random.Random(seed)
    names = [name for name in tpch_queries() if name != LEFT_OUT]
    drawn = []
    for _ in range(queries):
        name = chance.choice(names)
        (year,) = chance.choices(list(YEAR_WEIGHTS), weights=list(YEAR_WEIGHTS.values()))
        drawn.append((f"{name} in {year}", in_year(name, year)) if name in YEAR_OF_QUERY else (name, tpch_queries()[name]))
    return drawn


def in_year(name: str, year: int) -> str:
    """A query of TPC-H whose dates are of another year."""
    return re.sub(rf"date '{YEAR_OF_QUERY[name]}-", f"date '{year}-", tpch_queries()[name])


def tpch_queries() -> dict[str, str]:
    return {f"Q{int(path.stem[1:])}": path.read_text() for path in sorted(tpch.QUERIES.glob("q*.sql"))}


def drawn(seed: int, stream: int, *keys: str) -> str:
    """SQL of a whole number from 0 to 2³¹ - 2 that the keys determine, as if at random; each stream has its own."""
    modulus = 2**31 - 1
    number = str(seed * 1_000 + stream)
    for key in keys:
        number = f"(({number} + {key}) * 48271 % {modulus} * 16807 % {modulus})"
    return f"({number} * 69621 % {modulus})"


def skewed_lineitem(files: dict[str, Path], seed: int) -> str:
    """A third of the lines that aren't their order's first are moved: a quarter of all."""
    line = ["l_orderkey", "l_linenumber"]
    return f"""
        WITH populous AS (
            SELECT year(o_orderdate) - {POPULOUS_YEARS[0]} AS place, o_orderkey, o_orderdate
            FROM '{files["orders"]}' WHERE year(o_orderdate) BETWEEN {POPULOUS_YEARS[0]} AND {POPULOUS_YEARS[-1]}
            QUALIFY row_number() OVER (PARTITION BY year(o_orderdate) ORDER BY {drawn(seed, 1, "o_orderkey")}, o_orderkey) = 1
        ), priced AS (
            SELECT ps_partkey, ps_suppkey, p_retailprice, {drawn(seed, 2, "ps_partkey", "ps_suppkey")} AS drawn,
                1 + {drawn(seed, 3, "ps_partkey", "ps_suppkey")} % 50 AS quantity
            FROM '{files["partsupp"]}' JOIN '{files["part"]}' ON p_partkey = ps_partkey
            QUALIFY row_number() OVER (PARTITION BY p_retailprice * quantity ORDER BY drawn, ps_partkey, ps_suppkey) = 1
        ), popular AS (
            SELECT row_number() OVER (ORDER BY drawn, ps_partkey, ps_suppkey) - 1 AS place, *
            FROM priced QUALIFY place < {ORDERS * PARTS_EACH}
        ), marked AS (
            SELECT
                lineitem.*, l_orderkey AS old_orderkey, l_linenumber AS old_linenumber,
                l_linenumber > 1 AND {drawn(seed, 4, *line)} % 3 = 0 AS is_moved,
                {drawn(seed, 5, *line)} % {ORDERS} AS order_place, {drawn(seed, 6, *line)} % {PARTS_EACH} AS part_place
            FROM '{files["lineitem"]}' AS lineitem
        ), moved AS (
            SELECT marked.* REPLACE (
                populous.o_orderkey AS l_orderkey, ps_partkey AS l_partkey, ps_suppkey AS l_suppkey,
                CAST(quantity AS DECIMAL(15, 2)) AS l_quantity,
                CAST(p_retailprice * quantity AS DECIMAL(15, 2)) AS l_extendedprice,
                l_shipdate + CAST(populous.o_orderdate - orders.o_orderdate AS INTEGER) AS l_shipdate,
                l_commitdate + CAST(populous.o_orderdate - orders.o_orderdate AS INTEGER) AS l_commitdate,
                l_receiptdate + CAST(populous.o_orderdate - orders.o_orderdate AS INTEGER) AS l_receiptdate
            )
            FROM marked JOIN '{files["orders"]}' AS orders ON orders.o_orderkey = old_orderkey
            JOIN populous ON populous.place = order_place
            JOIN popular ON popular.place = order_place * {PARTS_EACH} + part_place
            WHERE is_moved
        ), every AS (
            FROM marked WHERE NOT is_moved UNION ALL BY NAME FROM moved
        )
        SELECT every.* EXCLUDE (old_orderkey, old_linenumber, is_moved, order_place, part_place) REPLACE (
            CAST(row_number() OVER (PARTITION BY l_orderkey ORDER BY old_orderkey, old_linenumber) AS INTEGER) AS l_linenumber,
            CASE WHEN l_receiptdate > {TODAY} THEN 'N' WHEN {drawn(seed, 7, "old_orderkey", "old_linenumber")} % 2 = 0 THEN 'R' ELSE 'A' END AS l_returnflag,
            CASE WHEN l_shipdate > {TODAY} THEN 'O' ELSE 'F' END AS l_linestatus
        )
        FROM every ORDER BY l_orderkey, l_linenumber"""


def skewed_orders(files: dict[str, Path], lineitem: Path) -> str:
    """States and totals as the lines have them."""
    # As dbgen computes it: cents, cut off after each factor.
    discounted = "CAST(l_extendedprice * 100 AS BIGINT) * CAST(100 - l_discount * 100 AS BIGINT) // 100"
    cents = f"{discounted} * CAST(100 + l_tax * 100 AS BIGINT) // 100"
    return f"""
        WITH lines AS (
            SELECT l_orderkey, sum({cents}) AS cents, min(l_linestatus) AS first, max(l_linestatus) AS last
            FROM '{lineitem}' GROUP BY l_orderkey
        )
        SELECT orders.* REPLACE (
            CASE WHEN first = last THEN first ELSE 'P' END AS o_orderstatus,
            CAST(CAST(cents AS DECIMAL(20, 2)) / 100 AS DECIMAL(15, 2)) AS o_totalprice
        )
        FROM '{files["orders"]}' AS orders JOIN lines ON l_orderkey = o_orderkey ORDER BY o_orderkey"""

"""Eight queries that need much memory, each with one determinate row: groupings, joins, sorts, distinct counts.

`concurrency.py` runs them all at once under one small limit; `run.py` measures them one by one.
"""

from suites import aggregation, tpch
from suites.base import Options, Suite

SCALE = 1
SMOKE_SCALE = 0.002
MEMORY_LIMIT_BYTES = 256_000_000
# A group per row; half a group per row, with strings.
GROUPINGS = [13, 11, 9]


def suite(options: Options) -> Suite:
    """The scale is TPC-H's scale factor."""
    scale = SMOKE_SCALE if options.smoke else options.scale or SCALE
    files = tpch.tables(scale, options)
    middle = aggregation.count_groups(files["lineitem"])[-1] // 2
    queries = {f"grouping {number}": grouping(number) for number in GROUPINGS}
    queries |= {
        "distinct": "SELECT count(DISTINCT l_comment) AS n, max(l_comment) AS last FROM lineitem",
        "join orders": """SELECT count(*) AS n, max(o_comment) AS last, max(l_comment) AS other_last
            FROM lineitem JOIN orders ON l_orderkey = o_orderkey""",
        "join lineitem": """SELECT count(*) AS n, max(a.l_comment) AS last, max(b.l_shipdate) AS last_day
            FROM lineitem AS a JOIN lineitem AS b ON a.l_orderkey = b.l_orderkey AND a.l_linenumber = b.l_linenumber""",
        "sort": f"""SELECT l_comment, l_orderkey, l_linenumber FROM lineitem
            ORDER BY l_comment, l_orderkey, l_linenumber LIMIT 1 OFFSET {middle}""",
        "wide sort": f"""SELECT * FROM lineitem ORDER BY l_partkey, l_orderkey, l_linenumber LIMIT 1 OFFSET {middle}""",
    }
    # On one line each, as `concurrency.py` hands them on.
    queries = {name: " ".join(sql.split()) for name, sql in queries.items()}
    return Suite(
        name=f"concurrency-sf{scale:g}",
        title=f"queries that need much memory, scale factor {scale:g}",
        tables={name: files[name] for name in ("lineitem", "orders")},
        queries=queries,
        engines=["godwit", "duckdb"],
        memory_limit_bytes=MEMORY_LIMIT_BYTES,
        checks=queries,
    )


def grouping(number: int) -> str:
    keys = ", ".join(f"l_{key}" for key in aggregation.GROUPINGS[number - 1].split())
    groups = f"SELECT {keys}, count(*) AS n, max(l_comment) AS last FROM lineitem GROUP BY {keys}"
    return f"SELECT count(*) AS n_groups, sum(n) AS n_rows, max(last) AS last FROM ({groups}) AS g"

"""Thirteen groupings of TPC-H's lineitem, from 4 groups to a group per row.

The benchmark of "Robust External Hash Aggregation in the Solid State Age" (Kuiper, Boncz, Mühleisen, ICDE 2024), table
I. *Thin* selects the keys only, *wide* all other columns as well, as `any_value`. `LIMIT 1 OFFSET groups - 1` makes an
engine compute all groups and send one. Which one is up to the engine, so only the number of rows can be compared. The
numbers of groups are counted once and kept beside the data.
"""

import json
from pathlib import Path

from suites import tpch
from suites.base import Options, Suite

COLUMNS = (
    "orderkey partkey suppkey linenumber quantity extendedprice discount tax returnflag linestatus shipdate commitdate "
    "receiptdate shipinstruct shipmode comment"
).split()
GROUPINGS = [
    "returnflag linestatus",
    "partkey",
    "partkey returnflag linestatus",
    "suppkey partkey",
    "orderkey",
    "orderkey returnflag linestatus",
    "suppkey partkey returnflag linestatus",
    "suppkey partkey shipinstruct",
    "suppkey partkey shipmode",
    "suppkey partkey shipinstruct shipmode",
    "orderkey partkey",
    "orderkey suppkey",
    "suppkey partkey orderkey",
]
SCALE = 10
SMOKE_SCALE = 0.002
MEMORY_LIMIT_BYTES = 2_500_000_000


def suite(options: Options) -> Suite:
    """The scale is TPC-H's scale factor."""
    scale = SMOKE_SCALE if options.smoke else options.scale or SCALE
    file = tpch.tables(scale, options)["lineitem"]
    queries, checks = {}, {}
    for kind, wide in (("thin", False), ("wide", True)):
        for number, groups in enumerate(count_groups(file), 1):
            name = f"{number} {kind}"
            queries[name] = f"{grouping(number, wide, 'any_value')} LIMIT 1 OFFSET {groups - 1}"
            # The largest value isn't any value, but takes the same way.
            checks[name] = grouping(number, wide, "max")
    return Suite(
        name=f"aggregation-sf{scale:g}",
        title=f"groupings of lineitem, scale factor {scale:g}",
        tables={"lineitem": file},
        queries=queries,
        engines=["godwit", "duckdb", "duckdb-native"],
        memory_limit_bytes=MEMORY_LIMIT_BYTES,
        any_row=True,
        checks=checks,
    )


def grouping(number: int, wide: bool, aggregate: str) -> str:
    """A query for all groups."""
    keys = [f"l_{key}" for key in GROUPINGS[number - 1].split()]
    others = [column for column in (f"l_{column}" for column in COLUMNS) if column not in keys]
    selected = keys + [f"{aggregate}({column}) AS {column}_of_group" for column in others if wide]
    return f"SELECT {', '.join(selected)} FROM lineitem GROUP BY {', '.join(keys)}"


def count_groups(file: Path) -> list[int]:
    """How many groups the groupings of a lineitem file have."""
    counts = file.with_name("lineitem-groups.json")
    if not counts.exists():
        # Only here: the driver's process shouldn't have an engine loaded while it measures others.
        import duckdb

        print(f"counting the groups of {file}", flush=True)
        numbers = range(1, len(GROUPINGS) + 1)
        text = [f"SELECT count(*) FROM ({grouping(number, False, '')})" for number in numbers]
        with duckdb.connect() as connection:
            connection.execute(f"CREATE VIEW lineitem AS SELECT * FROM '{file}'")
            groups = [connection.execute(sql).fetchone()[0] for sql in text]
        counts.write_text(json.dumps(groups) + "\n")
    return json.loads(counts.read_text())

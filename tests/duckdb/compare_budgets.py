"""Runs the queries of the benchmark suites under memory budgets from unlimited to the floor and compares the rows.

    python compare_budgets.py GODWIT DATA [--suites join,cliff]

GODWIT is the shell's program, DATA a folder for the files, which are made if they aren't there. The data is the suites'
smallest; eviction is forced at every unpin, so that it goes to disk nevertheless. Every query has to give DuckDB's rows
under every budget, and those that keep rows have to have written pages. The last line says how many comparisons passed
and failed; the exit status is 1 if any failed.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb

from godwit_shell import Godwit, GodwitError, rows_of
from rows import difference, is_limited, order_columns

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "bench"))
from suites import ALL, SUITES, Options, Suite

# Where a query's pages are looked for, and where it certainly writes some.
FORCED = ["--force-spill", "--memory-limit", "96MiB"]
# How Godwit is run. 96 MiB is the smallest limit for 2 threads.
BUDGETS = [[], ["--force-spill"], ["--force-spill", "--memory-limit", "256MiB"], FORCED, ["--memory-limit", "96MiB"]]
# Queries that keep no rows, or so few that nobody lets go of them: four groups, and sorts of a single run. Sorting in
# several runs is for the operator's own tests.
MAY_WRITE_NOTHING = re.compile(r"tpch, .*|aggregation, 1 (thin|wide)|\w+, (wide )?sort")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("godwit", type=Path, help="the shell's program")
    parser.add_argument("data", type=Path, help="folder for the data")
    parser.add_argument(
        "--suites", type=lambda text: text.split(","), default=ALL, help=f"[{','.join(ALL)}]"
    )
    arguments = parser.parse_args()

    passed = failed = 0
    for name in arguments.suites:
        suite = SUITES[name](Options(None, arguments.data, arguments.godwit, smoke=True))
        for query, complaint in compare(name, suite, arguments.godwit):
            passed += complaint is None
            failed += complaint is not None
            if complaint:
                print(f"{name}, {query}: {complaint}", flush=True)
        print(f"{name}: {len(suite.checks)} queries under {len(BUDGETS)} budgets", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def compare(name: str, suite: Suite, program: Path) -> Iterator[tuple[str, str | None]]:
    """Queries, each with its budgets and a look at what it writes, and what is wrong or None."""
    views = [f"CREATE VIEW {table} AS SELECT * FROM '{file}'" for table, file in suite.tables.items()]
    oracle = duckdb.connect()
    for view in views:
        oracle.execute(view)
    for query, sql in suite.checks.items():
        cursor = oracle.execute(sql)
        names, expected = [column[0] for column in cursor.description], cursor.fetchall()
        order = order_columns(sql, names)
        right: list[list[str]] = []
        for budget in BUDGETS:
            godwit = Godwit(program, options=["--threads", "2", *budget], setup=views)
            complaint = compare_rows(godwit, sql, expected, order, right)
            yield query, f"{' '.join(budget) or 'unlimited'}: {complaint}" if complaint else None
        if not MAY_WRITE_NOTHING.fullmatch(f"{name}, {query}"):
            yield query, find_spilled_pages(Godwit(program, options=["--threads", "2", *FORCED], setup=views), sql)


def compare_rows(
    godwit: Godwit, sql: str, expected: list[tuple], order: list[int], right: list[list[str]]
) -> str | None:
    """What is wrong with Godwit's rows. `right` are lines that were right before: reading them again takes longest."""
    try:
        lines = godwit.lines(sql)
    except GodwitError as error:
        return str(error)
    canonical = lines if order else sorted(lines)
    if canonical in right:
        return None
    complaint = difference(expected, rows_of(lines)[1], order, is_limited(sql))
    if not complaint:
        right.append(canonical)
    return complaint


def find_spilled_pages(godwit: Godwit, sql: str) -> str | None:
    try:
        plan = godwit.output(f"EXPLAIN ANALYZE {sql}", "csv")
    except GodwitError as error:
        return str(error)
    # Where statistics tell that there are no rows, nothing is read, and nothing can be written.
    return None if "spilled" in plan or "Scan" not in plan else f"nothing was written:\n{plan}"


if __name__ == "__main__":
    sys.exit(main())

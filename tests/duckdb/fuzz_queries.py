"""Random queries over random tables, in Godwit and in DuckDB.

    python fuzz_queries.py GODWIT [--seconds 600] [--seed 1] [--queries N]

Each round makes three tables (files, own tables, own tables with changes that aren't checkpointed), and asks both engines
the same queries; Godwit runs with a random number of threads, memory limit and settings. Rows have to be equal, and what
DuckDB answers Godwit has to answer. Besides, Godwit is compared with itself: a predicate, its negation and its NULLs make
the whole, and a view has the rows of its text.

A failure prints the seed of its round and the query; `--seed S --rounds 1 --keep FOLDER` runs that round again and leaves
its tables and its script.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb

from compare_tpch import duckdb_over
from fuzz.expressions import Scope
from fuzz.grammar import QueryMaker, table_source
from fuzz.worlds import TABLES, definition, settings, write_parquet
from godwit_shell import Godwit, GodwitError, Row
from rows import difference
from verify_corpus import SETTINGS

QUERIES_PER_ROUND = 100
METAMORPHIC_PER_ROUND = 10
# DuckDB plans some of the subqueries as products of all rows: what takes longer is left out.
DUCKDB_SECONDS_MAX = 5
# What depends on the order in which rows and operands are looked at may fail in one engine only.
ORDER_DEPENDENT = ("out of range", "Out of Range", "Overflow", "overflow", "Conversion Error", "Could not", "too large")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("godwit", type=Path, help="the shell's program")
    parser.add_argument("--seconds", type=float, default=600, help="no round starts after this time [600]")
    parser.add_argument("--rounds", type=int, default=10**9, help="the most rounds")
    parser.add_argument("--queries", type=int, default=10**9, help="no round starts after so many queries")
    parser.add_argument("--seed", type=int, default=1, help="of the first round; each round adds one [1]")
    parser.add_argument("--keep", type=Path, help="folder for the tables of the last round")
    arguments = parser.parse_args()

    started = time.monotonic()
    outcomes = Counter()
    for seed in range(arguments.seed, arguments.seed + arguments.rounds):
        if time.monotonic() - started > arguments.seconds or outcomes.total() >= arguments.queries:
            break
        with tempfile.TemporaryDirectory(prefix="godwit-fuzz-") as temporary:
            folder = arguments.keep or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            for sql, outcome, complaint in Round(seed, arguments.godwit, folder).run():
                outcomes[outcome] += 1
                if outcome == "failed":
                    print(f"seed {seed}: {complaint}\n{sql}\n", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))
    return 1 if outcomes["failed"] else 0


class Round:
    """A world of tables, and what is asked of it."""

    def __init__(self, seed: int, program: Path, folder: Path) -> None:
        self.rng = random.Random(seed)
        self.folder = folder
        self.setup = []
        for table in TABLES:
            write_parquet(self.rng, table, folder / f"{table}.parquet")
            self.setup += definition(self.rng, table, folder / f"{table}.parquet")
        self.setup += settings(self.rng)
        self.oracle = oracle_over(folder)
        options = ["--threads", str(self.rng.choice([1, 2, 4])), "--memory-limit", self.rng.choice(["128MiB", "1GB"])]
        self.godwit = Godwit(program, ":memory:", options)
        self.maker = QueryMaker(self.rng)

    def run(self) -> Iterator[tuple[str, str, str | None]]:
        """Queries, their outcomes ("passed", "failed", "left out"), and what is wrong with Godwit's answers."""
        queries = [self.maker.query() for _ in range(QUERIES_PER_ROUND)]
        answered = [(sql, self.expected(sql)) for sql in queries]
        for (sql, expected), actual in zip(answered, self.actual([sql for sql, _ in answered]), strict=True):
            yield sql, *judged(sql, expected, actual)
        pairs = [self.maker_pair() for _ in range(METAMORPHIC_PER_ROUND)]
        rows = self.actual([sql for pair in pairs for sql in pair])
        for (sql, other), left, right in zip(pairs, rows[::2], rows[1::2], strict=True):
            yield f"{sql}\n{other}", *judged(sql, left, right)

    def maker_pair(self) -> tuple[str, str]:
        """Two queries of the same rows."""
        if self.rng.random() < 0.5:
            table = self.rng.choice(TABLES)
            scope = Scope([table_source(table)])
            condition = self.maker.condition(scope)
            parts = [f"SELECT id FROM {table} WHERE {part}" for part in (condition, f"NOT {condition}", f"{condition} IS NULL")]
            return f"SELECT id FROM {table}", " UNION ALL ".join(parts)
        body, _ = self.rng.choice([self.maker.grouped, self.maker.select, self.maker.windowed])()
        return f"SELECT count(*), min(c0), max(c0) FROM ({body}) AS x", f"WITH x AS NOT MATERIALIZED ({body}) SELECT count(*), min(c0), max(c0) FROM x"

    def expected(self, sql: str) -> list[Row] | Exception:
        """DuckDB's rows, or why there are none."""
        timer = threading.Timer(DUCKDB_SECONDS_MAX, self.oracle.interrupt)
        timer.start()
        try:
            return self.oracle.execute(sql).fetchall()
        except Exception as error:  # Not only `duckdb.Error`: an internal error may become any.
            if "INTERNAL" in str(error) or "FATAL" in str(error):
                self.oracle = oracle_over(self.folder)
            return error
        finally:
            timer.cancel()

    def actual(self, queries: list[str]) -> list[list[Row] | GodwitError]:
        """Godwit's rows for each query, in as few processes as errors allow."""
        outcomes: list[list[Row] | GodwitError] = []
        while len(outcomes) < len(queries):
            script = self.folder / "queries.sql"
            outcomes += self.godwit.answers(self.setup, queries[len(outcomes) :], script)
        return outcomes


def oracle_over(folder: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB over the tables of a world, with PostgreSQL's ways."""
    connection = duckdb_over(folder)
    for setting in SETTINGS:
        connection.execute(setting)
    return connection


def judged(sql: str, expected: list[Row] | Exception, actual: list[Row] | Exception) -> tuple[str, str | None]:
    if isinstance(expected, Exception):
        return "left out", None
    if isinstance(actual, Exception):
        if any(word in str(actual) for word in ORDER_DEPENDENT):
            return "left out", None
        return "failed", f"Godwit fails: {actual}"
    columns = len(expected[0]) if expected else 0
    ordered = range(columns) if " ORDER BY 1" in sql else []
    complaint = difference(expected, actual, ordered, limited=False)
    return ("failed", complaint) if complaint else ("passed", None)


if __name__ == "__main__":
    sys.exit(main())

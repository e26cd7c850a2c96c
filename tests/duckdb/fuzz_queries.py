"""Random queries over random tables, in Godwit and in DuckDB.

    python fuzz_queries.py GODWIT [--seconds 60] [--seed 1]

Each round makes tables with NULLs, extremes, skewed and wide values, and asks both engines the same queries; Godwit runs
with a random number of threads and memory limit. Rows have to be equal, and what is an error in one has to be an error
in the other. A failure prints the seed of its round and the query; `--seed S --rounds 1` runs that round again, and
`--keep FOLDER` keeps its tables.
"""

import argparse
import datetime
import random
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from compare_tpch import duckdb_over
from godwit_shell import Godwit, GodwitError
from rows import difference
from verify_corpus import SETTINGS

QUERIES_PER_ROUND = 25
ROWS_MAX = 6_000
TABLES = ["t", "u"]
LONG_WORD = "a text of more than twelve bytes"
WORDS = ["", "a", "b", "short", "twelve bytes", LONG_WORD, LONG_WORD + ", ü", "%", "_x"]
EPOCH = datetime.date(1970, 1, 1)

# Column types. Sums of the floats are exact in every order: multiples of 0.25 of modest size.
TYPES = {
    "k": pa.int32(),
    "j": pa.int64(),
    "big": pa.int64(),
    "d": pa.decimal128(12, 2),
    "f": pa.float64(),
    "s": pa.string(),
    "day": pa.date32(),
    "flag": pa.bool_(),
}
NUMBERS = ["k", "j", "d", "f"]


def value(rng: random.Random, column: str, skew: bool):
    """A value of a column; with `skew`, most are the same."""
    spread = 3 if skew and rng.random() < 0.8 else rng.choice([10, 500])
    match column:
        case "k" | "j":
            return rng.randint(-spread, spread)
        case "big":
            return rng.choice([-(2**63), 2**63 - 1, 0, rng.randint(-(2**40), 2**40)])
        case "d":
            return Decimal(rng.randint(-spread * 100, spread * 100)).scaleb(-2)
        case "f":
            return rng.choice([-0.0, rng.randint(-spread * 4, spread * 4) / 4])
        case "s":
            return rng.choice(WORDS) if skew else rng.choice(WORDS) + str(rng.randint(0, spread))
        case "day":
            return EPOCH + datetime.timedelta(days=rng.randint(-spread, 9000 + spread))
        case "flag":
            return rng.random() < 0.7


def write_table(rng: random.Random, file: Path) -> None:
    rows = rng.choice([0, 1, 2, 50, rng.randint(1, ROWS_MAX), ROWS_MAX])
    columns = {}
    for name, data_type in TYPES.items():
        skew = rng.random() < 0.5
        nulls = rng.choice([0, 0, 0.1, 0.5, 1])
        values = [None if rng.random() < nulls else value(rng, name, skew) for _ in range(rows)]
        columns[name] = pa.array(values, data_type)
    use_dictionary = rng.random() < 0.7
    group_rows = rng.choice([100, 1000, 5000])
    pq.write_table(pa.table(columns), file, row_group_size=group_rows, use_dictionary=use_dictionary)


class QueryMaker:
    """Makes SQL that has one right answer: rows up to their order, all operations defined."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def query(self) -> str:
        makers = [self.rows, self.groups, self.groups, self.join, self.join, self.exists, self.set_operation]
        return self.rng.choice(makers)()

    def rows(self) -> str:
        items = [self.scalar("t") for _ in range(self.rng.randint(1, 4))]
        distinct = self.rng.choice(["", "", "DISTINCT "])
        return f"SELECT {distinct}{self.named(items)} FROM t WHERE {self.condition('t')}{self.limit(len(items))}"

    def groups(self) -> str:
        joins = [(self.joined(kind), TABLES) for kind in ("JOIN", "LEFT JOIN")]
        source, tables = self.rng.choice([("t", ["t"]), *joins])
        table = self.rng.choice(tables)
        keys = [self.scalar(table) for _ in range(self.rng.randint(0, 2))]
        aggregates = [self.aggregate(self.rng.choice(tables)) for _ in range(self.rng.randint(1, 4))]
        sql = f"SELECT {self.named(keys + aggregates)} FROM {source} WHERE {self.condition(table)}"
        if keys:
            sql += " GROUP BY " + ", ".join(str(number + 1) for number in range(len(keys)))
        if self.rng.random() < 0.2:
            sql += " HAVING count(*) > 1"
        return sql + self.limit(len(keys) + len(aggregates))

    def join(self) -> str:
        kind = self.rng.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        items = [self.rng.choice(TABLES) + "." + self.rng.choice(list(TYPES)) for _ in range(4)]
        where = f" WHERE {self.condition('t')}" if self.rng.random() < 0.5 else ""
        # The rows of a join may be very many: count them, and look at the first.
        inner = f"SELECT {self.named(items)} FROM {self.joined(kind)}{where}"
        if self.rng.random() < 0.5:
            return f"SELECT count(*) AS n, count(c0) AS a, min(c1) AS b, max(c2) AS c, max(c3) AS d FROM ({inner}) AS x"
        return inner + f" ORDER BY {', '.join(str(n + 1) for n in range(4))} LIMIT {self.rng.choice([1, 100, 3000])}"

    def exists(self) -> str:
        key = self.rng.choice(["k", "j", "s", "day"])
        negation = self.rng.choice(["", "NOT "])
        more = f" AND {self.condition('u')}" if self.rng.random() < 0.6 else ""
        residual = " AND u.d < t.d" if self.rng.random() < 0.3 else ""
        filters = [
            f"{negation}EXISTS (SELECT 1 FROM u WHERE u.{key} = t.{key}{more}{residual})",
            f"t.{key} {negation}IN (SELECT u.{key} FROM u WHERE true{more})",
            f"t.d > (SELECT avg(u.d) FROM u WHERE u.{key} = t.{key}{more})",
            f"t.k < (SELECT max(u.k) FROM u WHERE true{more})",
            f"(SELECT count(*) FROM u WHERE u.{key} = t.{key}{more}) < 2",
        ]
        return f"SELECT t.k AS c0, t.s AS c1, t.big AS c2 FROM t WHERE {self.rng.choice(filters)}{self.limit(3)}"

    def set_operation(self) -> str:
        columns = self.rng.sample(list(TYPES), 2)
        operation = self.rng.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT"])
        sides = [f"SELECT {', '.join(columns)} FROM {table} WHERE {self.condition(table)}" for table in TABLES]
        return f"{sides[0]} {operation} {sides[1]}"

    def joined(self, kind: str) -> str:
        keys = self.rng.sample(["k", "j", "big", "s", "day", "d"], self.rng.choice([1, 1, 2]))
        conditions = [f"t.{key} = u.{key}" for key in keys]
        if self.rng.random() < 0.4:
            conditions.append(self.rng.choice(["t.d < u.d", "t.k <> u.j", "t.flag", "u.s <> 'a'", "t.f + u.f > 0"]))
        return f"t {kind} u ON {' AND '.join(conditions)}"

    def scalar(self, table: str) -> str:
        column = self.rng.choice(list(TYPES))
        expressions = [
            f"{table}.{column}",
            f"{table}.k + {table}.j",
            f"{table}.k % 7",
            f"{table}.d * {table}.k",
            f"-{table}.f",
            f"coalesce({table}.k, 0)",
            f"CASE WHEN {self.condition(table)} THEN {table}.s ELSE 'other' END",
            f"CASE WHEN {table}.k > 0 THEN {table}.j END",
            f"substring({table}.s, 1, 3)",
            f"length({table}.s)",
            f"upper({table}.s)",
            f"extract(year FROM {table}.day)",
            f"{table}.k IS NULL",
        ]
        return self.rng.choice(expressions)

    def aggregate(self, table: str) -> str:
        number, column = self.rng.choice(NUMBERS), self.rng.choice(list(TYPES))
        distinct = self.rng.choice(["", "", "DISTINCT "])
        call = self.rng.choice(
            [
                "count(*)",
                f"count({distinct}{table}.{column})",
                f"sum({distinct}{table}.{number})",
                f"avg({table}.{number})",
                f"min({table}.{column})",
                f"max({table}.{column})",
                f"sum({table}.k * 2 + 1)",
            ]
        )
        return call + (f" FILTER (WHERE {self.condition(table)})" if self.rng.random() < 0.2 else "")

    def condition(self, table: str, depth: int = 0) -> str:
        if depth < 2 and self.rng.random() < 0.4:
            left, right = self.condition(table, depth + 1), self.condition(table, depth + 1)
            return self.rng.choice([f"({left} AND {right})", f"({left} OR {right})", f"NOT ({left})"])
        comparison = self.rng.choice(["=", "<>", "<", "<=", ">", ">="])
        number = self.rng.randint(-12, 12)
        conditions = [
            f"{table}.k {comparison} {number}",
            f"{table}.k {comparison} {table}.j",
            f"{table}.d {comparison} {number}.50",
            f"{table}.d BETWEEN {number} AND {number + 5}",
            f"{table}.f {comparison} {number}.25",
            f"{table}.big {comparison} {self.rng.choice([0, 2**63 - 1, number])}",
            f"{table}.s {comparison} '{self.rng.choice(WORDS)}'",
            f"{table}.s LIKE '{self.rng.choice(['%a%', 'a%', '%1', '_', '%text%bytes%', 'short_'])}'",
            f"{table}.s IN ('a', 'b1', 'short', 'twelve bytes')",
            f"{table}.k IN ({number}, {number + 1}, 3)",
            f"{table}.k NOT IN ({number}, 2)",
            f"{table}.day {comparison} date '1980-01-01'",
            f"{table}.flag",
            f"{table}.{self.rng.choice(list(TYPES))} IS NOT NULL",
            "true",
        ]
        return self.rng.choice(conditions)

    def named(self, items: list[str]) -> str:
        return ", ".join(f"{item} AS c{number}" for number, item in enumerate(items))

    def limit(self, columns: int) -> str:
        """Sometimes an order by all columns, which leaves no choice, and then sometimes a limit."""
        if self.rng.random() < 0.5:
            return ""
        direction = self.rng.choice(["", " DESC", " NULLS FIRST", " DESC NULLS LAST"])
        order = " ORDER BY " + ", ".join(f"{number + 1}{direction}" for number in range(columns))
        return order + self.rng.choice(["", " LIMIT 10", " LIMIT 100 OFFSET 5"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("godwit", type=Path, help="the shell's program")
    parser.add_argument("--seconds", type=float, default=60, help="no round starts after this time [60]")
    parser.add_argument("--rounds", type=int, default=10**9, help="the most rounds")
    parser.add_argument("--seed", type=int, default=1, help="of the first round; each round adds one [1]")
    parser.add_argument("--keep", type=Path, help="folder for the tables of the last round")
    arguments = parser.parse_args()

    started = time.monotonic()
    passed = failed = 0
    for seed in range(arguments.seed, arguments.seed + arguments.rounds):
        if time.monotonic() - started > arguments.seconds:
            break
        with tempfile.TemporaryDirectory(prefix="godwit-fuzz-") as temporary:
            folder = arguments.keep or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            for sql, complaint in run_round(random.Random(seed), arguments.godwit, folder):
                passed += complaint is None
                failed += complaint is not None
                if complaint:
                    print(f"seed {seed}: {complaint}\n{sql}\n", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def run_round(rng: random.Random, program: Path, folder: Path):
    """Queries and what is wrong with Godwit's answers."""
    for table in TABLES:
        write_table(rng, folder / f"{table}.parquet")
    oracle = duckdb_over(folder)
    for setting in SETTINGS:
        oracle.execute(setting)
    options = ["--threads", str(rng.choice([1, 2, 4])), "--memory-limit", rng.choice(["128MiB", "1GB"])]
    godwit = Godwit(program, folder, options)
    maker = QueryMaker(rng)
    for _ in range(QUERIES_PER_ROUND):
        sql = maker.query()
        yield sql, compare(godwit, oracle, sql)


def compare(godwit: Godwit, oracle: duckdb.DuckDBPyConnection, sql: str) -> str | None:
    try:
        expected = oracle.execute(sql).fetchall()
    except duckdb.Error as error:
        expected = error
    try:
        _, actual = godwit.query(sql)
    except GodwitError as error:
        return None if isinstance(expected, duckdb.Error) else f"Godwit fails: {error}"
    if isinstance(expected, duckdb.Error):
        return f"DuckDB fails: {expected}"
    ordered = " ORDER BY " in sql
    return difference(expected, actual, range(len(expected[0])) if ordered and expected else [], limited=False)


if __name__ == "__main__":
    sys.exit(main())

"""Tables with NULLs, extremes, skewed and wide values, in the three places where Godwit keeps rows."""

import datetime
import random
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

TABLES = ["t", "u", "v"]
# Most rows of the three: joins of all three stay small.
ROWS_MAX = {"t": 6_000, "u": 6_000, "v": 60}
LONG_WORD = "a text of more than twelve bytes"
WORDS = ["", "a", "b", "short", "twelve bytes", LONG_WORD, LONG_WORD + ", ü", "%", "_x"]
EPOCH = datetime.date(1970, 1, 1)

# Columns by name: the type that the grammar knows, and the type in files. Each row has its own `id`. Sums of the floats
# are exact in every order: multiples of 0.25 of modest size.
COLUMNS = {
    "id": ("int", pa.int32()),
    "k": ("int", pa.int32()),
    "j": ("int", pa.int64()),
    "y": ("int", pa.int8()),
    "big": ("big", pa.int64()),
    "n": ("decimal", pa.decimal128(12, 2)),
    "f": ("float", pa.float64()),
    "s": ("text", pa.string()),
    "w": ("text", pa.string()),
    "day": ("date", pa.date32()),
    "at": ("timestamp", pa.timestamp("us")),
    "flag": ("bool", pa.bool_()),
}


def value(rng: random.Random, column: str, skew: bool, row: int):
    """A value of a column; with `skew`, most are the same."""
    spread = 3 if skew and rng.random() < 0.8 else rng.choice([10, 100])
    match column:
        case "id":
            return row
        case "k" | "j" | "y":
            return rng.randint(-spread, spread)
        case "big":
            return rng.choice([-(2**63), 2**63 - 1, 0, rng.randint(-(2**40), 2**40)])
        case "n":
            return Decimal(rng.randint(-spread * 100, spread * 100)).scaleb(-2)
        case "f":
            return rng.choice([-0.0, rng.randint(-spread * 4, spread * 4) / 4])
        case "s":
            return rng.choice(WORDS) if skew else rng.choice(WORDS) + str(rng.randint(0, spread))
        case "w":
            return rng.choice(WORDS)
        case "day":
            return EPOCH + datetime.timedelta(days=rng.randint(-spread, 9000 + spread))
        case "at":
            return datetime.datetime(2001, 9, 9) + datetime.timedelta(
                days=rng.randint(-spread, spread), microseconds=rng.choice([0, 0, 10 * rng.randint(0, 8_639_999_999) + 1])
            )
        case "flag":
            return rng.random() < 0.7


def write_parquet(rng: random.Random, name: str, file: Path) -> None:
    """A table as a Parquet file with row groups, dictionaries and NULLs as chance will have them."""
    most = ROWS_MAX[name]
    rows = min(most, rng.choice([rng.randint(0, 1), 5, 50, rng.randint(1, most), most]))
    columns = {}
    for column, (_, data_type) in COLUMNS.items():
        skew = rng.random() < 0.5
        nulls = 0 if column == "id" else rng.choice([0, 0, 0, 0.1, 0.1, 0.1, 0.5, 0.5, 1])
        values = [None if rng.random() < nulls else value(rng, column, skew, row) for row in range(rows)]
        columns[column] = pa.array(values, data_type)
    table = pa.table(columns)
    pq.write_table(table, file, row_group_size=rng.choice([100, 1000, 5000]), use_dictionary=rng.random() < 0.7)


def definition(rng: random.Random, name: str, file: Path) -> list[str]:
    """Statements that make the table in Godwit: a view of the file, an own table, or one that has rows in its delta."""
    source = f"'{file}'"
    match rng.choice(["view", "checkpointed", "mixed"]):
        case "view":
            return [f"CREATE VIEW {name} AS SELECT * FROM {source}"]
        case "checkpointed":
            return [f"CREATE TABLE {name} AS SELECT * FROM {source}", "CHECKPOINT"]
        case _:
            half = rng.choice(["id % 2 = 0", "id < 100", "FALSE"])
            return [
                f"CREATE TABLE {name} AS SELECT * FROM {source} WHERE {half}",
                "CHECKPOINT",
                # These rows are stored and deleted: they may not be seen again.
                f"INSERT INTO {name} SELECT * FROM {source} WHERE {half}",
                f"DELETE FROM {name} WHERE {half}",
                f"INSERT INTO {name} SELECT * FROM {source}",
            ]


def settings(rng: random.Random) -> list[str]:
    """Settings that may change how a query runs and never its rows."""
    choices = {
        "chunk_rows": ["2048", "2048", "64", "1000"],
        "compaction": ["'smart'", "'smart'", "'none'", "'full'", "'binary'", "'dynamic'", "'learning'", "'logical'"],
        "compressed_materialization": ["true", "true", "false"],
        "join_filters": ["true", "true", "false"],
        "join_order": ["'cost'", "'cost'", "'written'"],
        "force_encoding": ["'auto'", "'auto'", "'plain'", "'packed'", "'run_length'", "'symbols'", "'dictionary'"],
        "eviction_policy": ["'persistent_first'", "'temporary_first'", "'mixed'"],
    }
    return [f"SET {name} = {rng.choice(values)}" for name, values in choices.items()]

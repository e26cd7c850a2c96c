"""Checks the expected results of the corpus `tests/sql` against DuckDB.

    python verify_corpus.py DATA [FILE...]

DATA is a folder with the files that the tests read. The tests write it:

    GODWIT_CORPUS_DATA=DATA cargo test --release -p godwit --test corpus one_worker

Records marked `skipif duckdb` are left out: there the two differ on purpose, and a comment says why. With --complete,
DuckDB's rows are filled in where a query has none yet (no `----`), so that a new test needs only its SQL.
"""

import argparse
import datetime
import math
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from slt import Record, records

CORPUS = Path(__file__).parent.parent / "sql"

# Where DuckDB has a switch for PostgreSQL's ways, which are ours.
SETTINGS = [
    "SET integer_division = true",
    "SET default_null_order = 'nulls_last_on_asc_first_on_desc'",
    "SET TimeZone = 'UTC'",
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder that stands for $data")
    parser.add_argument("files", type=Path, nargs="*", help="files of the corpus [all]")
    parser.add_argument("--complete", action="store_true", help="fill in results that are missing")
    arguments = parser.parse_args()

    passed = skipped = failed = 0
    for file in arguments.files or sorted(CORPUS.rglob("*.slt")):
        connection = duckdb.connect()
        for setting in SETTINGS:
            connection.execute(setting)
        blocks = []
        for record in records(file):
            if isinstance(record, list):
                blocks.append(record)
                continue
            blocks.append(record.lines)
            if not record.runs_in("duckdb"):
                skipped += 1
                continue
            complaint = check(connection, record, arguments)
            if complaint:
                failed += 1
                print(f"{file.name}:{record.line}: {complaint}\n{record.sql}\n")
            else:
                passed += 1
        if arguments.complete:
            file.write_text("\n\n".join("\n".join(lines) for lines in blocks) + "\n")
    print(f"{passed} passed, {skipped} skipped, {failed} failed")
    return 1 if failed else 0


def check(connection: duckdb.DuckDBPyConnection, record: Record, arguments: argparse.Namespace) -> str | None:
    """What is wrong with a record, or None; completes it if it says nothing."""
    try:
        cursor = connection.execute(record.sql.replace("$data", str(arguments.data)))
        rows = [[text(value) for value in row] for row in cursor.fetchall()]
        types = "".join(letter(str(column[1])) for column in cursor.description or [])
    except duckdb.Error as error:
        return None if record.fails else str(error)
    if record.fails:
        return "an error is expected"
    if record.kind == "statement":
        return None
    if record.sorted:
        rows.sort()
    lines = [" ".join(" ".join(row).split()) for row in rows]
    if record.expected is None and arguments.complete:
        complete(record, types, lines)
        return None
    expected = [" ".join(line.split()) for line in record.expected or []]
    if lines != expected:
        return "\n".join(["DuckDB has", *lines, "the corpus has", *expected])
    return None


def complete(record: Record, types: str, lines: list[str]) -> None:
    head = next(index for index, line in enumerate(record.lines) if line.startswith("query"))
    mode = " rowsort" if record.sorted else ""
    record.lines[head] = f"query {types}{mode}"
    record.lines += ["----", *lines]


def letter(type_name: str) -> str:
    """The class of a type as the corpus has it: integer, other number, all else."""
    if "INT" in type_name and not type_name.endswith("]"):
        return "I"
    if type_name in ("FLOAT", "DOUBLE", "NUMBER") or type_name.startswith("DECIMAL"):
        return "R"
    return "?" if type_name == '"NULL"' else "T"


def text(value: Any) -> str:
    """A value as the corpus writes it; `session.rs` does the same for Godwit."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case float():
            return float_text(value)
        case Decimal():
            return f"{value:f}"
        case datetime.datetime():
            return value.isoformat(sep=" ")
        case bytes():
            return value.hex()
        case list():
            return "[" + ", ".join(map(text, value)) + "]"
    return str(value) or "(empty)"


def float_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value) or value == 0 or 1e-4 <= abs(value) < 1e15:
        trimmed = f"{value:.6f}".rstrip("0")
        return trimmed + "0" if trimmed.endswith(".") else trimmed
    mantissa, exponent = f"{value:.6e}".split("e")
    return f"{mantissa}e{int(exponent)}"


if __name__ == "__main__":
    sys.exit(main())

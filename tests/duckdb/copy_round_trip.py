"""Has Godwit write random tables as files, and compares what DuckDB and pyarrow read from them; and has it read what
pyarrow writes as Arrow files.

    python copy_round_trip.py GODWIT [--tables 20] [--seed 1]

It also reads UUIDs and intervals that DuckDB writes as Parquet, and imports what DuckDB exports.

The tables hold NULLs, empty and long texts, quotes, line breaks, extreme numbers and dates. CSV and JSON are read by
DuckDB with the types of the table; times are left out of them, because text has no zone and no type.
"""

import argparse
import itertools
import random
import subprocess
import tempfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

COLUMNS = {
    "i": ("BIGINT", lambda r: r.choice([0, 1, -1, 2**63 - 1, -(2**63) + 1, r.randrange(-1000, 1000)])),
    "n": ("INTEGER", lambda r: r.randrange(-(2**31), 2**31)),
    "d": ("DECIMAL(15,2)", lambda r: f"{r.randrange(-10**12, 10**12)}.{r.randrange(100):02}"),
    "f": ("DOUBLE", lambda r: r.choice([0.5, -1.25, 1e300, 1e-300, r.random()])),
    "s": ("VARCHAR", lambda r: text(r)),
    "b": ("BOOLEAN", lambda r: r.random() < 0.5),
    "t": ("DATE", lambda r: f"{r.randrange(1900, 2100)}-{r.randrange(1, 13):02}-{r.randrange(1, 29):02}"),
}

PARQUET = ["", "(COMPRESSION zstd, ROW_GROUP_SIZE 1000)", "(COMPRESSION lz4)", "(COMPRESSION gzip)", "(COMPRESSION none)"]
CSV = ["(FORMAT csv)", "(FORMAT csv, HEADER false, DELIMITER ';', NULL 'nil')", "(FORMAT csv, QUOTE '''', COMPRESSION gzip)"]
ARROW = [f"(FORMAT {name}, COMPRESSION {codec})" for name in ["arrow", "arrows"] for codec in ["none", "lz4", "zstd"]]
JSON = ["(FORMAT json)", "(FORMAT json, ARRAY true)"]


def text(r: random.Random) -> str:
    pieces = ["", "a", "plain text", 'with "quotes"', "comma, semicolon; pipe|", "line\nbreak", "it's", "ünï çode", "x" * 300]
    return "".join(r.choices(pieces, k=r.randrange(3)))


def table(r: random.Random, rows: int) -> pa.Table:
    names = r.sample(list(COLUMNS), r.randrange(1, len(COLUMNS) + 1))
    connection = duckdb.connect()
    arrays = []
    for name in names:
        kind, value = COLUMNS[name]
        values = [None if r.random() < 0.1 else value(r) for _ in range(rows)]
        plain = pa.table({"v": pa.array(values)}) if any(v is not None for v in values) else pa.table({"v": pa.nulls(rows)})
        connection.register("plain", plain)
        arrays.append(connection.execute(f"SELECT CAST(v AS {kind}) AS {name} FROM plain").to_arrow_table()[name])
    return pa.table(arrays, names=names)


def copy(godwit: Path, source: Path, target: Path, options: str) -> None:
    sql = f"COPY (FROM '{source}') TO '{target}' {options}"
    subprocess.run([godwit, "--threads", "2", "-c", sql], check=True, capture_output=True)


def differences(expected: Path, found: str) -> int:
    pairs = itertools.permutations([f"SELECT * FROM '{expected}'", f"SELECT * FROM {found}"])
    return sum(duckdb.sql(f"SELECT count(*) FROM ({a} EXCEPT ALL {b})").fetchall()[0][0] for a, b in pairs)


def arrow_table(path: Path, options: str) -> pa.Table:
    with (ipc.open_stream if "arrows" in options else ipc.open_file)(path) as reader:
        found = reader.read_all()
    found.validate(full=True)
    return found


def write_arrow(rows: pa.Table, path: Path, options: str, batch_rows: int) -> None:
    codec = next((codec for codec in ["lz4", "zstd"] if codec in options), None)
    new = ipc.new_stream if "arrows" in options else ipc.new_file
    with new(path, rows.schema, options=ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_table(rows, max_chunksize=batch_rows)


def arrow_differences(godwit: Path, rows: pa.Table, expected: Path, options: str, batch_rows: int) -> int:
    """What pyarrow finds in the file that Godwit makes of one by pyarrow, texts as a dictionary and as views included."""
    source, target = expected.with_name("source.arrow"), expected.with_name("target.arrow")
    as_views = pa.schema([field.with_type(pa.string_view()) if pa.types.is_string(field.type) else field for field in rows.schema])
    coded = [column.dictionary_encode() if pa.types.is_string(column.type) else column for column in rows.columns]
    wrong = 0
    for variant in [rows, rows.cast(as_views), pa.table(coded, names=rows.column_names)]:
        write_arrow(variant, source, options, batch_rows)
        sql = f"COPY (FROM read_arrow('{source}')) TO '{target}' {options}"
        subprocess.run([godwit, "--threads", "2", "-c", sql], check=True, capture_output=True)
        duckdb.register("found", arrow_table(target, options))
        wrong += differences(expected, "found")
    return wrong


def readers(target: Path, options: str, columns: str) -> str:
    if "csv" in options:
        header = "false" if "HEADER false" in options else "true"
        delimiter = ";" if ";" in options else ","
        null = "nil" if "nil" in options else ""
        quote = "''" if "QUOTE" in options else '"'
        arguments = f"header={header}, delim='{delimiter}', nullstr='{null}', quote='{quote}', escape='{quote}'"
        compression = "gzip" if "gzip" in options else "none"
        return (
            f"read_csv('{target}', {arguments}, columns={columns}, compression='{compression}', "
            "auto_detect=false, allow_quoted_nulls=false)"
        )
    if "json" in options:
        return f"read_json('{target}', columns={columns})"
    return f"read_parquet('{target}')"


MADE_BY_DUCKDB = """CREATE TABLE made AS SELECT i, ('550e8400-e29b-41d4-a716-' || lpad(i::VARCHAR, 12, '0'))::UUID AS u,
    CASE WHEN i % 4 <> 0 THEN ('550e8400-e29b-41d4-a716-44665544000' || i % 7)::UUID END AS few,
    CASE WHEN i % 5 <> 0 THEN to_months(i) + to_days(i) + to_milliseconds(i) END AS v,
    CASE i % 3 WHEN 0 THEN '' WHEN 1 THEN 'NULL' END AS s FROM range(5000) r(i)"""
SHOWN = "SELECT i, u::VARCHAR, few::VARCHAR, datepart('month', v), datepart('year', v), datepart('day', v), epoch_ms(v - to_months(i::INTEGER)), coalesce(s, 'nothing') FROM"
ONE = "WHERE u = '550e8400-e29b-41d4-a716-000000000077' OR few = '550e8400-e29b-41d4-a716-446655440003'"
LONG = "WHERE v > INTERVAL '100 years' AND v < INTERVAL '200 years'"


def shown_by_godwit(godwit: Path, sql: str) -> list[str]:
    found = subprocess.run([godwit, "--format", "csv", "-c", sql], check=True, capture_output=True, text=True)
    return found.stdout.splitlines()[1:]


def files_of_duckdb(godwit: Path, folder: Path) -> int:
    """How many files and exports of DuckDB's Godwit reads otherwise than DuckDB does."""
    connection = duckdb.connect()
    connection.execute(MADE_BY_DUCKDB)

    def expected(condition: str) -> list[str]:
        rows = connection.execute(f"{SHOWN} made {condition} ORDER BY i").fetchall()
        return [",".join("" if value is None else str(value) for value in row) for row in rows]

    wrong = 0
    for version in ["v1", "v2"]:
        path = folder / f"made-{version}.parquet"
        connection.execute(f"COPY made TO '{path}' (PARQUET_VERSION {version}, ROW_GROUP_SIZE 2048)")
        wrong += any(shown_by_godwit(godwit, f"{SHOWN} '{path}' {c} ORDER BY i") != expected(c) for c in ["", ONE, LONG])
    for kind in ["parquet", "csv"]:
        connection.execute(f"EXPORT DATABASE '{folder / kind}' (FORMAT {kind})")
        wrong += shown_by_godwit(godwit, f"IMPORT DATABASE '{folder / kind}'; {SHOWN} made ORDER BY i") != expected("")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("godwit", type=Path)
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    r = random.Random(arguments.seed)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        if wrong := files_of_duckdb(arguments.godwit, Path(folder)):
            failed += wrong
            print(f"{wrong} files of DuckDB's are read otherwise")
        source, target = Path(folder, "source.parquet"), Path(folder, "target.file")
        for number in range(arguments.tables):
            rows = table(r, r.choice([0, 1, 10, 5000]))
            pq.write_table(rows, source)
            columns = "{" + ", ".join(f"'{name}': '{COLUMNS[name][0]}'" for name in rows.column_names) + "}"
            for options in [*(f"{o[:1]}FORMAT parquet{', ' * bool(o)}{o[1:]}" if o else "(FORMAT parquet)" for o in PARQUET), *CSV, *JSON, *ARROW]:
                copy(arguments.godwit, source, target, options)
                if "arrow" in options:
                    duckdb.register("found", arrow_table(target, options))
                    wrong = differences(source, "found")
                    wrong += arrow_differences(arguments.godwit, rows, source, options, r.choice([1000, 3000]))
                else:
                    wrong = differences(source, readers(target, options, columns))
                if "parquet" in options:
                    found = pq.read_table(target)
                    wrong += found.num_rows != rows.num_rows or found.column_names != rows.column_names
                if wrong:
                    failed += 1
                    print(f"table {number} {options}: {wrong} rows differ: {columns}")
    print(f"{arguments.tables} tables, {failed} files differ")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())

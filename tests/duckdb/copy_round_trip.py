"""Has Godwit write random tables as files, and compares what DuckDB and pyarrow read from them; and has it read what
pyarrow writes as Arrow files.

    python copy_round_trip.py GODWIT [--tables 20] [--seed 1]

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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("godwit", type=Path)
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    r = random.Random(arguments.seed)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
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

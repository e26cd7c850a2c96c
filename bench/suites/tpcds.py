"""TPC-DS: 24 tables, 99 queries.

Tables and queries come from DuckDB's extension `tpcds`, which DuckDB downloads when it is first used; so this suite isn't
one of `all`. They are kept beside each other: a folder with both may also be put there by hand.
"""

import subprocess
import sys
from pathlib import Path

from suites.base import Options, Suite

SCALE = 1
SMOKE_SCALE = 0.01

# In a process of its own, so that what the generator takes isn't counted for those who measure.
GENERATE = """
import duckdb, pathlib, sys
folder, scale = pathlib.Path(sys.argv[1]), float(sys.argv[2])
connection = duckdb.connect()
connection.execute("INSTALL tpcds")
connection.execute("LOAD tpcds")
connection.execute(f"CALL dsdgen(sf = {scale})")
for (table,) in connection.execute("SHOW TABLES").fetchall():
    connection.execute(f"COPY {table} TO '{folder / table}.parquet' (FORMAT parquet)")
for number, query in connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall():
    (folder / "queries" / f"q{number:02}.sql").write_text(query)
"""


def suite(options: Options) -> Suite:
    """The scale is TPC-DS's scale factor: gigabytes of raw data."""
    scale = SMOKE_SCALE if options.smoke else options.scale or SCALE
    folder = options.data / f"tpcds-sf{scale:g}"
    if not (folder / "queries" / "q99.sql").exists():
        print(f"making TPC-DS at scale factor {scale:g} in {folder}", flush=True)
        (folder / "queries").mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-c", GENERATE, folder, f"{scale:g}"], check=True)
    queries = {f"Q{int(path.stem[1:])}": path.read_text() for path in sorted((folder / "queries").glob("q*.sql"))}
    return Suite(
        name=f"tpcds-sf{scale:g}",
        title=f"TPC-DS from Parquet, scale factor {scale:g}",
        tables={path.stem: path for path in sorted(folder.glob("*.parquet"))},
        queries=queries,
        engines=["godwit", "duckdb"],
        checks=queries,
    )

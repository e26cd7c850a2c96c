"""TPC-H: eight tables, 22 queries."""

import subprocess
from pathlib import Path

from suites.base import Options, Suite

QUERIES = Path(__file__).parent.parent.parent / "tests" / "tpch"
TABLES = ["region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem"]
SCALE = 1
SMOKE_SCALE = 0.01


def suite(options: Options) -> Suite:
    """The scale is TPC-H's scale factor: gigabytes of raw data."""
    scale = SMOKE_SCALE if options.smoke else options.scale or SCALE
    queries = {f"Q{int(path.stem[1:])}": path.read_text() for path in sorted(QUERIES.glob("q*.sql"))}
    return Suite(
        name=f"tpch-sf{scale:g}",
        title=f"TPC-H from Parquet, scale factor {scale:g}",
        tables=tables(scale, options),
        queries=queries,
        engines=["godwit", "duckdb", "datafusion", "polars", "hyper"],
        checks=queries,
    )


def tables(scale: float, options: Options) -> dict[str, Path]:
    """The eight files at a scale factor; `godwit demo` makes them if they aren't there, and keeps them there, too."""
    folder = options.data / f"tpch-sf{scale:g}"
    files = {table: folder / f"{table}.parquet" for table in TABLES}
    if not all(file.exists() for file in files.values()):
        print(f"making TPC-H at scale factor {scale:g} in {folder}", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        command = [options.godwit, "demo", "--scale", f"{scale:g}", "--directory", folder]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return files

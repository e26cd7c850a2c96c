"""TPC-H: eight tables, 22 queries."""

import os
import subprocess
from pathlib import Path

from suites.base import Suite

QUERIES = Path(__file__).parent.parent.parent / "tests" / "tpch"
TABLES = ["region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem"]


def suite(scale: float, folder: Path | None, godwit: Path) -> Suite:
    """The suite at a scale factor; `godwit demo` makes the files if they aren't in the folder."""
    folder = folder or default_folder(scale)
    tables = {table: folder / f"{table}.parquet" for table in TABLES}
    if not all(file.exists() for file in tables.values()):
        print(f"making TPC-H at scale factor {scale:g} in {folder}")
        command = [godwit, "demo", "--scale", f"{scale:g}", "--directory", folder]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    queries = {f"Q{int(path.stem[1:])}": path.read_text() for path in sorted(QUERIES.glob("q*.sql"))}
    return Suite("tpch", tables, queries)


def default_folder(scale: float) -> Path:
    """Where `godwit demo` keeps the files, too."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "godwit" / f"tpch-sf{scale:g}"

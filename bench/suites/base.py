"""What a suite consists of."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from engines.base import unfinished


def parquet_of(query: str, file: Path, options: str = "") -> Path:
    """A Parquet file of the rows of a query, which DuckDB writes if the file isn't there."""
    if not file.exists():
        # Only here: the driver's process shouldn't have an engine loaded while it measures others.
        import duckdb

        print(f"making {file}", flush=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        with unfinished(file) as path, duckdb.connect() as connection:
            connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet{options})")
    return file


@dataclass(frozen=True)
class Options:
    """What a suite is made from."""

    # What a scale counts is the suite's; None for the suite's default.
    scale: float | None
    # Where files are kept between runs, a folder per generator and scale.
    data: Path
    # The shell, which generates TPC-H.
    godwit: Path
    # As little data as shows that everything works.
    smoke: bool = False


@dataclass(frozen=True)
class Panel:
    """A plot of queries that differ in one parameter."""

    title: str
    # What the parameter is, with its unit.
    label: str
    # Its values, and the queries that have them.
    points: list[tuple[float, str]]


@dataclass(frozen=True)
class Suite:
    """Tables as Parquet files, and queries by name, in the order in which they run."""

    name: str
    # What is measured, for a plot's title.
    title: str
    tables: dict[str, Path]
    queries: dict[str, str]
    engines: list[str]
    # Unless the command line has another one.
    memory_limit_bytes: int | None = None
    # The queries may answer with any one of many rows: results are compared by their number of rows.
    any_row: bool = False
    # The same work with an answer that is determined, for comparisons row by row.
    checks: dict[str, str] = field(default_factory=dict)
    # Plots over parameters; without any, a bar per query.
    panels: list[Panel] = field(default_factory=list)

    def only(self, names: list[str] | None) -> "Suite":
        """The suite with some of its queries, by name or by the first word of it; with all of them if none is named."""
        if not names:
            return self
        chosen = {name: [query for query in self.queries if name in (query, query.split()[0])] for name in names}
        if unknown := [name for name, queries in chosen.items() if not queries]:
            raise SystemExit(f"{self.name} has no query {', '.join(unknown)}; it has {', '.join(self.queries)}")
        return replace(self, queries={query: self.queries[query] for queries in chosen.values() for query in queries})

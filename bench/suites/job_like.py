"""Joins of 4 to 17 relations over the schema of the Join Order Benchmark, on data that is made up in its likeness.

What the data is like stands on top of the package `job_like`. The queries are this project's own, written for it:
stars around popular titles, chains through links and people, groupings on top, and joins that expand before they are
filtered. The number in a query's name is that of its relations.
"""

from pathlib import Path

import job_like
from suites.base import Options, Suite

QUERIES = Path(job_like.__file__).parent / "queries"
SCALE = 1
SMOKE_SCALE = 0.003


def suite(options: Options) -> Suite:
    """At scale 1 tables have a quarter of the rows of the original's."""
    scale = SMOKE_SCALE if options.smoke else options.scale or SCALE
    queries = {path.stem: path.read_text() for path in sorted(QUERIES.glob("*.sql"))}
    return Suite(
        name=f"job-like-{scale:g}",
        title=f"joins of 4 to 17 tables of movies, {scale:g} × 1/4 of the original's rows",
        tables=job_like.make(scale, options.data / f"job-like-{scale:g}"),
        queries=queries,
        engines=["godwit", "duckdb"],
        checks=queries,
    )

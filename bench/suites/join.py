"""Joins of two relations, one parameter changed at a time.

The six experiments of "Saving Private Hash Join" (Kuiper, Groß, Boncz, Mühleisen, VLDB 2025), figure 3: cardinality and
width of the inner and the outer relation, skew of the inner and of the outer keys, number of distinct keys. The
paper's 200 million inner and 500 million outer rows are scaled by 1/40, and so is its memory. `any_value` of all
columns leaves one row, and nothing that an optimizer could leave out.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from relations import Relation, make, set_names
from suites.base import Options, Panel, Suite

SCALE = 1 / 40
SMOKE_SCALE = SCALE / 1000
MEMORY_LIMIT_BYTES = 600_000_000
# Rows, in millions at scale 1.
INNER_MILLIONS = 200
OUTER_MILLIONS = 500
OUTER_ALPHA = 0.5
WIDTH_MAX = 4


@dataclass(frozen=True)
class Join:
    """A query. The widths are those that it selects; relations may be wider."""

    name: str
    inner: Relation
    outer: Relation
    inner_width: int = 1
    outer_width: int = 1

    def sql(self, aggregate: str) -> str:
        columns = [f"i.{column}" for column in set_names(self.inner_width)]
        columns += ["o.key1", *(f"o.{column}" for column in set_names(self.outer_width))]
        selected = (f"{aggregate}({column}) AS c{number}" for number, column in enumerate(columns))
        inner, outer = table_name(self.inner), table_name(self.outer)
        return f"SELECT {', '.join(selected)} FROM {outer} AS o JOIN {inner} AS i ON o.key1 = i.key1"


def suite(options: Options) -> Suite:
    """The scale is against the paper's cardinalities."""
    scale = SMOKE_SCALE if options.smoke else options.scale or SCALE
    experiments = joins(scale)
    queries = {join.name: join for points in experiments.values() for _, join in points}
    relations = {relation for join in queries.values() for relation in (join.inner, join.outer)}
    return Suite(
        name=f"join-{scale_name(scale)}",
        title=f"joins of two relations, {scale:g} of the paper's cardinalities",
        tables=tables(relations, scale, options),
        queries={name: join.sql("any_value") for name, join in queries.items()},
        engines=["godwit", "duckdb"],
        memory_limit_bytes=MEMORY_LIMIT_BYTES,
        any_row=True,
        checks={name: join.sql("") for name, join in queries.items()},
        panels=[
            Panel(*heading.split(": "), [(x, join.name) for x, join in points])
            for heading, points in experiments.items()
        ],
    )


def joins(scale: float) -> dict[str, list[tuple[float, Join]]]:
    """The experiments: title and label of the parameter, then its values and queries."""
    inner, outer = default_inner(scale), default_outer(scale)
    default = Join("default", inner, outer)
    wide_inner, wide_outer = replace(inner, width=WIDTH_MAX), replace(outer, width=WIDTH_MAX)
    even_outer = replace(outer, alpha=0)

    def with_inner_rows(millions: int) -> Join:
        rows = scaled(millions, scale)
        relations = replace(inner, rows=rows, keys=rows), replace(outer, keys=rows)
        return Join(f"inner {millions}M", *relations) if relations != (inner, outer) else default

    def with_keys(millions: int) -> Join:
        keys = scaled(millions, scale)
        return Join(f"keys {millions}M", replace(inner, keys=keys), replace(outer, keys=keys))

    def with_outer_rows(millions: int) -> Join:
        return Join(f"outer {millions}M", inner, replace(outer, rows=scaled(millions, scale)))

    def with_inner_alpha(alpha: float) -> Join:
        return Join(f"inner alpha {alpha:g}", replace(inner, alpha=alpha), even_outer)

    def with_outer_alpha(alpha: float) -> Join:
        return Join(f"outer alpha {alpha:g}", inner, replace(outer, alpha=alpha)) if alpha != OUTER_ALPHA else default

    def with_inner_width(width: int) -> Join:
        return Join(f"inner width {width}", wide_inner, outer, inner_width=width) if width != 1 else default

    def with_outer_width(width: int) -> Join:
        return Join(f"outer width {width}", inner, wide_outer, outer_width=width) if width != 1 else default

    unit = f"million rows × {scale:g}"
    widths, alphas = range(WIDTH_MAX + 1), (0, 0.25, 0.5, 0.75, 1)
    return {
        f"inner cardinality: {unit}": [(x, with_inner_rows(x)) for x in (100, 200, 300, 400, 500)],
        "inner width: sets of columns": [(x, with_inner_width(x)) for x in widths],
        f"outer cardinality: {unit}": [(x, with_outer_rows(x)) for x in (200, 400, 600, 800, 1000)],
        "outer width: sets of columns": [(x, with_outer_width(x)) for x in widths],
        "inner skew: alpha": [(x, with_inner_alpha(x)) for x in alphas],
        "outer skew: alpha": [(x, with_outer_alpha(x)) for x in alphas],
        f"distinct keys: million × {scale:g}": [*((x, with_keys(x)) for x in (40, 80, 120, 160)), (200, default)],
    }


def default_inner(scale: float) -> Relation:
    rows = scaled(INNER_MILLIONS, scale)
    return Relation("inner", rows, keys=rows)


def default_outer(scale: float) -> Relation:
    return Relation("outer", scaled(OUTER_MILLIONS, scale), keys=scaled(INNER_MILLIONS, scale), alpha=OUTER_ALPHA)


def scaled(millions: float, scale: float) -> int:
    return round(millions * 1e6 * scale)


def scale_name(scale: float) -> str:
    """Part of a file name."""
    return f"1of{1 / scale:g}"


def tables(relations: set[Relation], scale: float, options: Options) -> dict[str, Path]:
    """Files of relations by their tables' names."""
    folder = options.data / f"relations-{scale_name(scale)}"
    ordered = sorted(relations, key=lambda relation: relation.file_name)
    return {table_name(relation): make(relation, folder) for relation in ordered}


def table_name(relation: Relation) -> str:
    return relation.file_name.removesuffix(".parquet").replace("-", "_").replace(".", "p")

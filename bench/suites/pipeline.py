"""Several joins probed in one pipeline, under the policies by which they share memory.

The nine scenarios of "Saving Private Hash Join", figure 4. A scenario is named after the rows of its inner relations,
in tens of millions, in the order in which they are probed: s30/10 probes 300 million rows, then 100 million; all have
400 million in sum. The scale is that of suite `join`. Left joins keep all outer rows, so that a join's work doesn't
depend on the joins before it. Each join has a key column of its own.
"""

from relations import Relation, set_names
from suites.base import Options, Suite
from suites.join import (
    MEMORY_LIMIT_BYTES,
    SCALE,
    SMOKE_SCALE,
    default_outer,
    scale_name,
    scaled,
    table_name,
    tables,
)

SCENARIOS = ["40", "20/20", "10/10/10/10", "30/10", "30/5/5", "30/5/2.5/2.5", "20/10/10", "20/10/5/5", "20/5/5/5/5"]
JOINS_MAX = 5


def suite(options: Options) -> Suite:
    """The scale is against the paper's cardinalities."""
    scale = SMOKE_SCALE if options.smoke else options.scale or SCALE
    base = default_outer(scale)
    outer = Relation("outer", base.rows, base.keys, base.alpha, key_columns=JOINS_MAX)
    scenarios = {f"s{scenario}": inner_relations(scenario, scale) for scenario in SCENARIOS}
    relations = {relation for inner in scenarios.values() for relation in inner}
    return Suite(
        name=f"pipeline-{scale_name(scale)}",
        title=f"pipelines of left joins, {scale:g} of the paper's cardinalities",
        tables=tables(relations | {outer}, scale, options),
        queries={name: sql(outer, inner, "any_value") for name, inner in scenarios.items()},
        engines=["godwit", "godwit-unweighted", "godwit-equality", "godwit-equity", "duckdb"],
        memory_limit_bytes=MEMORY_LIMIT_BYTES,
        any_row=True,
        checks={name: sql(outer, inner, "") for name, inner in scenarios.items()},
    )


def inner_relations(scenario: str, scale: float) -> list[Relation]:
    """Relations of one size are different ones, named by letters."""
    sizes = [scaled(10 * float(tens), scale) for tens in scenario.split("/")]
    letters = (chr(ord("a") + sizes[:place].count(rows)) for place, rows in enumerate(sizes))
    return [Relation(f"inner_{letter}", rows, keys=rows) for letter, rows in zip(letters, sizes, strict=True)]


def sql(outer: Relation, inner: list[Relation], aggregate: str) -> str:
    columns = [f"{alias}.{column}" for alias in ("o", *aliases(inner)) for column in set_names(1)]
    selected = ", ".join(f"{aggregate}({column}) AS c{number}" for number, column in enumerate(columns))
    joins = (
        f"LEFT JOIN {table_name(relation)} AS {alias} ON o.key{number} = {alias}.key1"
        for number, (relation, alias) in enumerate(zip(inner, aliases(inner), strict=True), 1)
    )
    return f"SELECT {selected} FROM {table_name(outer)} AS o {' '.join(joins)}"


def aliases(inner: list[Relation]) -> list[str]:
    return [f"i{number}" for number in range(1, len(inner) + 1)]

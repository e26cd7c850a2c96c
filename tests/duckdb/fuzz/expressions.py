"""Random expressions by type, all of whose operations are defined for the values that come by."""

import random
from dataclasses import dataclass, field

from .worlds import WORDS

TYPES = ["int", "int", "decimal", "float", "text", "text", "date", "timestamp", "bool"]
# Types that any two values of can be compared.
COMPARISONS = ["=", "<>", "<", "<=", ">", ">="]
DEPTH_MAX = 3


@dataclass
class Source:
    """A relation in FROM: its name, and its columns with their types."""

    name: str
    columns: dict[str, str]
    # The column that no two rows have the same value of, if there is one.
    key: str | None = None


@dataclass
class Scope:
    """What an expression may name; `outer` is the scope of the query around it."""

    sources: list[Source] = field(default_factory=list)
    outer: "Scope | None" = None

    def columns(self, kind: str) -> list[str]:
        return [f"{source.name}.{name}" for source in self.sources for name, type_ in source.columns.items() if type_ == kind]


class Expressions:
    """Makes expressions; subqueries come from whoever inherits."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def one_of(self, *choices):
        chosen = self.rng.choice(choices)
        return chosen() if callable(chosen) else chosen

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def column(self, scope: Scope, kind: str) -> str | None:
        """A column of a type; now and then one of an outer query."""
        if scope.outer is not None and self.chance(0.2):
            return self.column(scope.outer, kind)
        columns = scope.columns(kind)
        return self.rng.choice(columns) if columns else None

    def expression(self, scope: Scope, kind: str, depth: int = 0) -> str:
        if depth >= DEPTH_MAX or self.chance(0.45):
            return self.leaf(scope, kind)
        if self.chance(0.2):
            return self.any_type(scope, kind, depth + 1)
        return getattr(self, f"{kind}_expression")(scope, depth + 1)

    def leaf(self, scope: Scope, kind: str) -> str:
        column = self.column(scope, kind)
        return column if column is not None and self.chance(0.8) else self.literal(kind)

    def literal(self, kind: str) -> str:
        number = self.rng.randint(-12, 12)
        match kind:
            case "int" if self.chance(0.05):
                return "CAST(NULL AS INTEGER)"
            case "int":
                return str(number) if number >= 0 else f"({number})"
            case "big":
                return self.rng.choice(["0", "9223372036854775807", "1099511627776"])
            case "decimal":
                return f"CAST({number}.{self.rng.choice(['00', '50', '25'])} AS DECIMAL(12, 2))"
            case "float":
                return f"CAST({number}.{self.rng.choice(['0', '25', '5'])} AS DOUBLE)"
            case "text" if self.chance(0.05):
                return "CAST(NULL AS VARCHAR)"
            case "text":
                return "'" + self.rng.choice(WORDS) + "'"
            case "date":
                return f"DATE '19{self.rng.randint(70, 95)}-0{self.rng.randint(1, 9)}-1{self.rng.randint(0, 9)}'"
            case "timestamp":
                return f"TIMESTAMP '2001-09-{self.rng.randint(10, 28)} 0{self.rng.randint(0, 9)}:46:40'"
            case "bool":
                return self.rng.choice(["TRUE", "FALSE", "CAST(NULL AS BOOLEAN)"])
        raise AssertionError(kind)

    def any_type(self, scope: Scope, kind: str, depth: int) -> str:
        """A form that there is for every type."""

        def part() -> str:
            return self.expression(scope, kind, depth)

        return self.one_of(
            lambda: f"coalesce({part()}, {part()})",
            lambda: f"nullif({part()}, {part()})",
            lambda: f"greatest({part()}, {part()})",
            lambda: f"least({part()}, {part()}, {part()})",
            lambda: f"CASE WHEN {self.condition(scope, depth)} THEN {part()} ELSE {part()} END",
            lambda: f"CASE WHEN {self.condition(scope, depth)} THEN {part()} END",
            lambda: f"CASE {part()} WHEN {part()} THEN {part()} ELSE {part()} END",
            lambda: self.scalar_subquery(scope, kind, depth),
        )

    def int_expression(self, scope: Scope, depth: int) -> str:
        def part(kind: str = "int") -> str:
            return self.expression(scope, kind, depth)

        return self.one_of(
            # Of the width of a BIGINT: what is small stays far from its ends.
            lambda: f"(CAST({part()} AS BIGINT) + {part()})",
            lambda: f"(CAST({part()} AS BIGINT) - {part()})",
            lambda: f"(CAST({self.leaf(scope, 'int')} AS BIGINT) * {self.leaf(scope, 'int')})",
            lambda: f"({part()} % {self.rng.randint(2, 9)})",
            lambda: f"({part()} // {self.rng.randint(2, 9)})",
            lambda: f"(- CAST({part()} AS BIGINT))",
            lambda: f"abs(CAST({part()} AS BIGINT))",
            lambda: f"CAST(sign({part()}) AS INTEGER)",
            lambda: f"length({part('text')})",
            lambda: f"strpos({part('text')}, {self.literal('text')})",
            lambda: f"CAST({part('bool')} AS INTEGER)",
            lambda: f"CAST({self.leaf(scope, 'decimal')} AS INTEGER)",
            lambda: f"extract({self.rng.choice(['year', 'month', 'day', 'dow', 'doy', 'quarter'])} FROM {part('date')})",
            lambda: f"extract({self.rng.choice(['hour', 'minute', 'year', 'week'])} FROM {part('timestamp')})",
            lambda: f"({part('date')} - {part('date')})",
            lambda: f"(CAST({self.leaf(scope, 'int')} AS INTEGER) & {self.rng.randint(0, 15)})",
        )

    def big_expression(self, scope: Scope, _depth: int) -> str:
        return self.leaf(scope, "big")

    def decimal_expression(self, scope: Scope, depth: int) -> str:
        def part() -> str:
            return self.expression(scope, "decimal", depth)

        return self.one_of(
            lambda: f"({part()} + {part()})",
            lambda: f"({part()} - {part()})",
            lambda: f"CAST({self.leaf(scope, 'int')} AS DECIMAL(12, 2))",
            lambda: f"(- {part()})",
            lambda: f"abs({part()})",
            lambda: f"CAST({self.leaf(scope, 'decimal')} AS DECIMAL(12, 1))",
        )

    def float_expression(self, scope: Scope, depth: int) -> str:
        def part() -> str:
            return self.expression(scope, "float", depth)

        return self.one_of(
            lambda: f"({part()} + {part()})",
            lambda: f"({part()} - {part()})",
            lambda: f"({part()} * 0.5)",
            lambda: f"CAST({self.expression(scope, 'int', depth)} AS DOUBLE)",
            lambda: f"CAST({self.leaf(scope, 'decimal')} AS DOUBLE)",
            lambda: f"abs({part()})",
            lambda: f"floor({part()})",
        )

    def text_expression(self, scope: Scope, depth: int) -> str:
        def part() -> str:
            return self.expression(scope, "text", depth)

        return self.one_of(
            lambda: f"({part()} || {part()})",
            lambda: f"concat({part()}, {part()})",
            lambda: f"upper({part()})",
            lambda: f"lower({part()})",
            lambda: f"substring({part()}, {self.rng.randint(1, 4)}, {self.rng.randint(0, 5)})",
            lambda: f"left({part()}, {self.rng.randint(0, 4)})",
            lambda: f"right({part()}, {self.rng.randint(0, 4)})",
            lambda: f"replace({part()}, 'a', 'ab')",
            lambda: f"reverse({part()})",
            lambda: f"trim({part()})",
            lambda: f"lpad({part()}, 5, '*')",
            lambda: f"CAST({self.expression(scope, 'int', depth)} AS VARCHAR)",
            lambda: f"CAST({self.leaf(scope, 'date')} AS VARCHAR)",
            lambda: f"CAST({self.leaf(scope, 'decimal')} AS VARCHAR)",
            lambda: f"CAST({self.leaf(scope, 'timestamp')} AS VARCHAR)",
        )

    def date_expression(self, scope: Scope, depth: int) -> str:
        return self.one_of(
            lambda: f"({self.expression(scope, 'date', depth)} + CAST({self.leaf(scope, 'int')} AS INTEGER))",
            lambda: f"CAST({self.expression(scope, 'timestamp', depth)} AS DATE)",
        )

    def timestamp_expression(self, scope: Scope, depth: int) -> str:
        unit = self.rng.choice(["month", "day", "hour"])
        return self.one_of(
            lambda: f"CAST({self.expression(scope, 'date', depth)} AS TIMESTAMP)",
            lambda: f"date_trunc('{unit}', {self.expression(scope, 'timestamp', depth)})",
            lambda: f"({self.expression(scope, 'timestamp', depth)} + INTERVAL '{self.rng.randint(1, 40)} {unit}')",
            lambda: f"({self.leaf(scope, 'date')} - INTERVAL '{self.rng.randint(1, 40)} {unit}')",
        )

    def bool_expression(self, scope: Scope, depth: int) -> str:
        return self.condition(scope, depth)

    def condition(self, scope: Scope, depth: int = 0) -> str:
        if depth < DEPTH_MAX and self.chance(0.35):
            left, right = self.condition(scope, depth + 1), self.condition(scope, depth + 1)
            return self.one_of(f"({left} AND {right})", f"({left} OR {right})", f"(NOT {left})")
        kind = self.rng.choice(TYPES)

        def part() -> str:
            return self.expression(scope, kind, max(depth, DEPTH_MAX - 1))

        negation = self.rng.choice(["", "", "NOT "])
        comparison = self.rng.choice(COMPARISONS)
        text = self.leaf(scope, "text")
        pattern = self.rng.choice(["%a%", "a%", "%1", "_", "%text%bytes%", "short_", "", "%"])
        return self.one_of(
            lambda: f"({part()} {comparison} {part()})",
            lambda: f"({part()} {comparison} {self.literal(kind)})",
            lambda: f"({part()} {comparison} {self.literal(kind)})",
            lambda: f"({part()} IS {negation}DISTINCT FROM {part()})",
            lambda: f"({part()} {negation}BETWEEN {self.literal(kind)} AND {part()})",
            lambda: f"({part()} {negation}IN ({part()}, {self.literal(kind)}, {self.literal(kind)}))",
            lambda: f"({part()} IS {negation}NULL)",
            lambda: f"({self.leaf(scope, 'big')} {comparison} {self.literal('big')})",
            lambda: f"({text} {negation}LIKE '{pattern}')",
            lambda: f"({text} {negation}ILIKE '{pattern.upper()}')",
            lambda: f"({self.leaf(scope, 'bool')} IS {negation}{self.rng.choice(['TRUE', 'FALSE'])})",
            lambda: self.leaf(scope, "bool"),
            # DuckDB compares rows as structs, whose NULLs are equal.
            lambda: f"(({self.rng.randint(0, 3)}, coalesce({self.leaf(scope, 'int')}, 0)) {comparison} (1, {self.rng.randint(0, 5)}))",
            lambda: self.subquery_condition(scope, kind, depth, negation, comparison),
        )

    def scalar_subquery(self, scope: Scope, kind: str, depth: int) -> str:
        raise NotImplementedError

    def subquery_condition(self, scope: Scope, kind: str, depth: int, negation: str, comparison: str) -> str:
        raise NotImplementedError

"""Random queries: joins, subqueries, groups, windows, set operations, common table expressions.

What a query means has to leave no choice: rows up to their order, windows over orders that end in a key, limits behind an
order by all columns, text put together in an order.
"""

from .expressions import COMPARISONS, DEPTH_MAX, TYPES, Expressions, Scope, Source
from .worlds import COLUMNS, TABLES

# Of subqueries within each other, everywhere in a query.
NESTING_MAX = 2


def table_source(name: str) -> Source:
    """A table of a world under a name."""
    return Source(name, {column: kind for column, (kind, _) in COLUMNS.items()}, "id")


class QueryMaker(Expressions):
    """Makes queries over the tables of a world."""

    names = 0
    nesting = 0

    def name(self) -> str:
        self.names += 1
        return f"r{self.names}"

    def query(self) -> str:
        """A whole query; the order of its rows is given by all its columns or not at all."""
        self.names = self.nesting = 0
        body, columns = self.one_of(
            self.select, self.select, self.select, self.select, self.grouped, self.grouped, self.windowed, self.set_operation,
            self.with_query, self.distinct_on, self.recursive, self.asof,
        )
        # The rows of a join may be very many: count them, and look at the first.
        if self.chance(0.3) and columns:
            last = len(columns) - 1
            return f"SELECT count(*) AS n, count(c0) AS a, min(c{last}) AS b, max(c0) AS c FROM ({body}) AS x"
        return body + self.order_and_limit(len(columns))

    def order_and_limit(self, columns: int) -> str:
        directions = ["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]
        order = ", ".join(f"{number + 1}{self.rng.choice(directions)}" for number in range(columns))
        return f" ORDER BY {order}" + self.rng.choice([" LIMIT 500"] * 3 + [" LIMIT 10", " LIMIT 100 OFFSET 5", f" LIMIT {self.rng.randint(0, 3)}"])

    # FROM

    def source(self, scope: Scope, lateral: bool) -> tuple[str, Source]:
        """A relation; one that is lateral may name the columns of those before it."""
        name = self.name()
        if self.nesting >= NESTING_MAX or self.chance(0.75):
            table = self.rng.choice(TABLES)
            return f"{table} AS {name}", table_source(name)
        self.nesting += 1
        outer = scope if lateral else scope.outer
        body, columns = self.one_of(
            lambda: self.select(outer, small=True),
            lambda: self.grouped(outer),
            lambda: self.values(),
            lambda: self.set_operation(),
        )
        self.nesting -= 1
        word = "LATERAL " if lateral and outer is scope else ""
        listed = ", ".join(f"c{number}" for number in range(len(columns)))
        return f"{word}({body}) AS {name}({listed})", Source(name, {f"c{n}": kind for n, kind in enumerate(columns)})

    def values(self) -> tuple[str, list[str]]:
        kinds = [self.rng.choice(TYPES) for _ in range(self.rng.randint(1, 3))]
        rows = [f"({', '.join(self.literal(kind) for kind in kinds)})" for _ in range(self.rng.randint(1, 4))]
        return "VALUES " + ", ".join(rows), kinds

    def from_clause(self, scope: Scope, most: int) -> str:
        """Fills the scope. Each relation after the first is joined by an equality nearly always, or is small."""
        text, first = self.source(scope, lateral=False)
        scope.sources.append(first)
        for _ in range(self.rng.choice([0, 0, 1, 1, 2]) if most > 1 else 0):
            lateral = self.chance(0.15)
            joined, source = self.source(scope, lateral)
            kind = self.rng.choice(["JOIN", "JOIN", "LEFT JOIN"] if lateral else ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
            before = Scope(list(scope.sources), scope.outer)
            scope.sources.append(source)
            equality = self.equality(before, source)
            if equality is None:
                text += f" {kind.replace('RIGHT', 'LEFT').replace('FULL', 'LEFT')} (SELECT * FROM {joined} LIMIT 0) AS {source.name} ON TRUE"
                continue
            condition = equality
            if self.chance(0.35):
                condition += f" AND {self.condition(Scope(scope.sources), DEPTH_MAX - 1)}"
            text += f" {kind} {joined} ON {condition}"
        return text

    def equality(self, scope: Scope, source: Source) -> str | None:
        """A condition that few pairs of rows meet."""
        own = Scope([source])
        kinds = [kind for kind in ("int", "text", "date", "decimal", "timestamp") if own.columns(kind) and scope.columns(kind)]
        if not kinds:
            return None
        pairs = []
        for _ in range(self.rng.choice([1, 1, 2])):
            kind = self.rng.choice(kinds)
            operator = self.rng.choice(["=", "=", "=", "IS NOT DISTINCT FROM"])
            pairs.append(f"{self.rng.choice(scope.columns(kind))} {operator} {self.rng.choice(own.columns(kind))}")
        return " AND ".join(pairs)

    # SELECT

    def select(self, outer: Scope | None = None, small: bool = False) -> tuple[str, list[str]]:
        scope = Scope(outer=outer)
        relations = self.from_clause(scope, 1 if small else 3)
        kinds = [self.rng.choice(TYPES) for _ in range(self.rng.randint(1, 4))]
        items = self.named([self.expression(scope, kind) for kind in kinds])
        distinct = self.rng.choice(["", "", "", "DISTINCT "])
        where = f" WHERE {self.condition(scope)}" if self.chance(0.7) else ""
        return f"SELECT {distinct}{items} FROM {relations}{where}", kinds

    def grouped(self, outer: Scope | None = None) -> tuple[str, list[str]]:
        scope = Scope(outer=outer)
        relations = self.from_clause(scope, 2)
        kinds = [self.rng.choice(TYPES) for _ in range(self.rng.randint(0, 3))]
        keys = [self.leaf(scope, kind) if self.chance(0.6) else self.expression(scope, kind) for kind in kinds]
        aggregates = [self.aggregate(scope) for _ in range(self.rng.randint(1, 3))]
        where = f" WHERE {self.condition(scope)}" if self.chance(0.5) else ""
        sql = f"SELECT {self.named(keys + [text for text, _ in aggregates])} FROM {relations}{where}"
        if kinds:
            positions = ", ".join(str(number + 1) for number in range(len(keys)))
            columns = all("." in key and key.replace(".", "").isalnum() for key in keys) and len(set(keys)) == len(keys)
            # DuckDB takes keys of nothing but outer columns for none.
            forms = [positions] if outer else [positions, "ALL"]
            if columns:
                listed = ", ".join(keys)
                forms += [listed, f"ROLLUP ({listed})", f"CUBE ({listed})", f"GROUPING SETS (({listed}), ({keys[0]}), ())"]
            sql += f" GROUP BY {self.rng.choice(forms)}"
        if self.chance(0.25):
            greatest = f"max({self.leaf(scope, 'int')}) > 0"
            sql += f" HAVING {self.one_of('count(*) > 1', 'count(*) % 2 = 0', 'FALSE', greatest)}"
        return sql, kinds + [kind for _, kind in aggregates]

    def aggregate(self, scope: Scope) -> tuple[str, str]:
        """A call, and the type of its value. One of nothing but outer columns would belong to the outer query."""
        scope = Scope(scope.sources)
        kind = self.rng.choice(TYPES)
        value = self.expression(scope, kind, DEPTH_MAX - 1)
        number_kind = self.rng.choice(["int", "decimal", "float"])
        number = self.expression(scope, number_kind, DEPTH_MAX - 1)
        distinct = self.rng.choice(["", "", "DISTINCT "])
        text = self.leaf(scope, "text")
        call, result = self.one_of(
            ("count(*)", "int"),
            (f"count({distinct}{value})", "int"),
            (f"sum({distinct}{number})", number_kind),
            (f"avg({number})", "float"),
            (f"min({value})", kind),
            (f"max({value})", kind),
            (f"bool_and({self.condition(scope, DEPTH_MAX)})", "bool"),
            (f"bool_or({self.condition(scope, DEPTH_MAX)})", "bool"),
            (f"left(string_agg({distinct}{text}, ',' ORDER BY {text}), 40)", "text"),
            (f"median(CAST({number} AS DOUBLE))", "float"),
            # DuckDB counts NULL if there are no rows.
            (f"coalesce(count_if({self.condition(scope, DEPTH_MAX)}), 0)", "int"),
        )
        if self.chance(0.2) and not call.startswith(("left", "coalesce")):
            call += f" FILTER (WHERE {self.condition(scope, DEPTH_MAX - 1)})"
        return call, result

    def windowed(self) -> tuple[str, list[str]]:
        scope = Scope()
        relations = self.from_clause(scope, 2)
        kinds, items = [], []
        for _ in range(self.rng.randint(1, 3)):
            text, kind = self.window_call(scope)
            items.append(text)
            kinds.append(kind)
        for _ in range(self.rng.randint(0, 2)):
            kind = self.rng.choice(TYPES)
            kinds.append(kind)
            items.append(self.leaf(scope, kind))
        where = f" WHERE {self.condition(scope)}" if self.chance(0.4) else ""
        qualify = ""
        if self.chance(0.3):
            qualify = f" QUALIFY {self.rng.choice(['rank', 'dense_rank'])}() OVER ({self.window(scope, '')}) <= {self.rng.randint(1, 4)}"
        return f"SELECT {self.named(items)} FROM {relations}{where}{qualify}", kinds

    def window(self, scope: Scope, frame: str) -> str:
        partition = f"PARTITION BY {self.leaf(scope, self.rng.choice(TYPES))} " if self.chance(0.7) else ""
        order = f"ORDER BY {self.leaf(scope, self.rng.choice(TYPES))}{self.rng.choice(['', ' DESC', ' NULLS FIRST'])}"
        return f"{partition}{order}{frame}"

    def window_call(self, scope: Scope) -> tuple[str, str]:
        """What is the same for peers, or an order that ends in the keys of all relations."""
        kind = self.rng.choice(TYPES)
        value = self.leaf(scope, kind)
        keys = [f"{source.name}.{source.key}" for source in scope.sources if source.key]
        if len(keys) < len(scope.sources) or self.chance(0.4):
            call, result = self.one_of(
                ("rank()", "int"), ("dense_rank()", "int"), ("count(*)", "int"), ("cume_dist()", "float"), (f"min({value})", kind),
                (f"max({value})", kind), (f"sum({self.leaf(scope, 'int')})", "int"), (f"count({value})", "int"),
            )
            return f"{call} OVER ({self.window(scope, '')})", result
        total = ", " + ", ".join(keys)
        bounds = ["UNBOUNDED PRECEDING", f"{self.rng.randint(0, 3)} PRECEDING", "CURRENT ROW"]
        ends = ["CURRENT ROW", f"{self.rng.randint(0, 3)} FOLLOWING", "UNBOUNDED FOLLOWING"]
        frame = f" ROWS BETWEEN {self.rng.choice(bounds)} AND {self.rng.choice(ends)}"
        call, result, framed = self.one_of(
            ("row_number()", "int", False), (f"ntile({self.rng.randint(1, 5)})", "int", False), (f"lag({value})", kind, False),
            (f"lead({value}, {self.rng.randint(0, 3)})", kind, False), (f"first_value({value})", kind, True),
            (f"last_value({value})", kind, True), (f"nth_value({value}, 2)", kind, True),
            (f"sum({self.leaf(scope, 'int')})", "int", True), (f"min({value})", kind, True), (f"avg({self.leaf(scope, 'float')})", "float", True),
        )
        return f"{call} OVER ({self.window(scope, total + (frame if framed else ''))})", result

    def set_operation(self) -> tuple[str, list[str]]:
        kinds = [self.rng.choice(TYPES) for _ in range(self.rng.randint(1, 3))]

        def side() -> str:
            scope = Scope()
            relations = self.from_clause(scope, 1)
            items = self.named([self.expression(scope, kind, 1) for kind in kinds])
            return f"(SELECT {items} FROM {relations} WHERE {self.condition(scope)})"

        operations = ["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"]
        sql = f"{side()} {self.rng.choice(operations)} {side()}"
        if self.chance(0.3):
            sql = f"({sql}) {self.rng.choice(operations)} {side()}"
        return sql, kinds

    def with_query(self) -> tuple[str, list[str]]:
        """A common table expression that is used twice."""
        body, kinds = self.one_of(self.grouped, self.select, self.windowed)
        materialized = self.rng.choice(["", "", "MATERIALIZED ", "NOT MATERIALIZED "])
        listed = ", ".join(f"c{number}" for number in range(len(kinds)))
        # Joined by all columns, so that few rows meet; means that are computed twice may differ in their last digits.
        exact = [number for number, kind in enumerate(kinds) if kind != "float"]
        if not exact:
            return body, kinds
        condition = " AND ".join(f"a.c{number} IS NOT DISTINCT FROM b.c{number}" for number in exact)
        scope = Scope([Source("a", {f"c{number}": kind for number, kind in enumerate(kinds)})])
        items = self.named([f"a.c{number}" for number in range(len(kinds))])
        use = f"SELECT DISTINCT {items} FROM q AS a {self.rng.choice(['JOIN', 'LEFT JOIN'])} q AS b ON {condition} WHERE {self.condition(scope)}"
        return f"WITH q({listed}) AS {materialized}({body}) {use}", kinds

    def distinct_on(self) -> tuple[str, list[str]]:
        table = self.rng.choice(TABLES)
        scope = Scope([table_source(table)])
        kinds = [self.rng.choice(TYPES) for _ in range(2)]
        keys = [self.leaf(scope, kind) for kind in kinds]
        inner = f"SELECT DISTINCT ON ({keys[0]}) {self.named([*keys, f'{table}.id'])} FROM {table} WHERE {self.condition(scope)}"
        return f"SELECT * FROM ({inner} ORDER BY {keys[0]}, {keys[1]}, {table}.id) AS x", [*kinds, "int"]

    def recursive(self) -> tuple[str, list[str]]:
        union = self.rng.choice(["UNION", "UNION ALL"])
        scope = Scope([table_source("v")])
        step = self.one_of(
            f"SELECT c0 + 1, c1 FROM q WHERE c0 < {self.rng.randint(1, 20)}",
            f"SELECT c0 + 1, v.k FROM q JOIN v ON v.id = q.c0 WHERE {self.condition(scope, DEPTH_MAX - 1)}",
        )
        return f"WITH RECURSIVE q(c0, c1) AS (SELECT 0, 1 {union} {step}) SELECT c0, c1 FROM q", ["int", "int"]

    def asof(self) -> tuple[str, list[str]]:
        key = self.rng.choice(["k", "w", "day", "y"])
        comparison = self.rng.choice([">=", ">", "<=", "<"])
        kind = self.rng.choice(["ASOF JOIN", "ASOF LEFT JOIN"])
        return f"SELECT t.id AS c0, u.id AS c1 FROM t {kind} u ON t.{key} = u.{key} AND t.id {comparison} u.id", ["int", "int"]

    # Subqueries in expressions

    def scalar_subquery(self, scope: Scope, kind: str, depth: int) -> str:
        if self.nesting >= NESTING_MAX:
            return self.leaf(scope, kind)
        self.nesting += 1
        inner = Scope(outer=scope)
        relations = self.from_clause(inner, 1)
        value = self.leaf(inner, kind)
        where = self.correlation(inner)
        self.nesting -= 1
        key = inner.sources[0].key
        if key and self.chance(0.3):
            return f"(SELECT {value} FROM {relations}{where} ORDER BY {inner.sources[0].name}.{key} LIMIT 1)"
        call = self.rng.choice(["min", "max"])
        value = self.leaf(Scope(inner.sources), kind)
        return f"(SELECT {call}({value}) FROM {relations}{where})"

    def correlation(self, inner: Scope) -> str:
        """A condition; an equality with the outer query mostly."""
        conditions = []
        if inner.outer is not None and self.chance(0.7):
            equality = self.equality(inner.outer, inner.sources[0]) if inner.outer.sources else None
            conditions += [equality] if equality else []
        if self.chance(0.5):
            conditions.append(self.condition(inner, DEPTH_MAX - 1))
        return " WHERE " + " AND ".join(conditions) if conditions else ""

    def subquery_condition(self, scope: Scope, kind: str, depth: int, negation: str, comparison: str) -> str:
        if self.nesting >= NESTING_MAX:
            return self.leaf(scope, "bool")
        self.nesting += 1
        inner = Scope(outer=scope)
        relations = self.from_clause(inner, 1)
        value, other = self.leaf(inner, kind), self.leaf(inner, "int")
        where = self.correlation(inner)
        self.nesting -= 1
        operand = self.leaf(scope, kind)
        return self.one_of(
            f"({negation}EXISTS (SELECT 1 FROM {relations}{where}))",
            f"({operand} {negation}IN (SELECT {value} FROM {relations}{where}))",
            f"({operand} {self.rng.choice(COMPARISONS)} ANY (SELECT {value} FROM {relations}{where}))",
            f"({operand} {comparison} ALL (SELECT {value} FROM {relations}{where}))",
            f"(({operand}, {self.leaf(scope, 'int')}) {negation}IN (SELECT {value}, {other} FROM {relations}{where}))",
            f"((SELECT count(*) FROM {relations}{where}) {comparison} {self.rng.randint(0, 3)})",
        )

    def named(self, items: list[str]) -> str:
        return ", ".join(f"{item} AS c{number}" for number, item in enumerate(items))

//! End-to-end tests of queries: parsed, bound, and evaluated by the reference evaluator without any optimization. The
//! reference evaluator defines what a plan means.

use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_plan::{FunctionRegistry, Relation};
use godwit_reference::{MemoryTable, TestFunctions};
use godwit_types::{SqlType, Value, format_value};

use crate::{Binder, Environment, Named, TableArgument, View};

/// Some tables under the names `t`, `s1.t` and so on.
pub(crate) struct World {
    tables: Vec<(Vec<&'static str>, Arc<dyn Relation>)>,
    views: Vec<(&'static str, &'static str)>,
    functions: TestFunctions,
}

fn integers(name: &str, columns: &[&str], rows: &[&[Option<i128>]]) -> Arc<dyn Relation> {
    let columns: Vec<(&str, SqlType)> = columns.iter().map(|&column| (column, SqlType::Integer)).collect();
    let value = |value: &Option<i128>| value.map_or(Value::Null, Value::Integer);
    let rows = rows.iter().map(|row| row.iter().map(value).collect()).collect();
    Arc::new(MemoryTable::new(name, &columns, rows))
}

const N: Option<i128> = None;

impl World {
    pub(crate) fn new() -> Arc<Self> {
        let s = Some;
        let n: &[&[Option<i128>]] = &[&[s(1)], &[s(2)], &[s(3)], &[N]];
        Arc::new(Self {
            tables: vec![
                (
                    vec!["memory", "main", "t"],
                    integers("t", &["a", "b"], &[&[s(1), s(10)], &[s(2), s(20)], &[s(3), s(30)]]),
                ),
                (vec!["memory", "s1", "t"], integers("t", &["a", "b"], &[&[s(2), s(200)], &[s(7), s(700)]])),
                (vec!["memory", "main", "n"], integers("n", &["i"], n)),
                (vec!["memory", "main", "k"], integers("k", &["k", "x"], &[&[s(1), s(1)], &[s(2), s(5)]])),
                (vec!["memory", "main", "l"], integers("l", &["k", "y"], &[&[s(1), s(1)], &[s(4), s(7)]])),
                (vec!["memory", "main", "g"], integers("g", &["g", "v"], &[&[s(1), s(5)], &[s(1), s(6)], &[s(2), N]])),
            ],
            views: vec![("v0", "SELECT a, b FROM t"), ("circle", "SELECT * FROM circle")],
            functions: TestFunctions,
        })
    }
}

/// The environment of a [`World`].
pub(crate) struct Names(pub Arc<World>);

impl Environment for Names {
    fn named(&self, parts: &[&str]) -> Result<Option<Named>> {
        let ends = |name: &[&str]| name.iter().rev().zip(parts.iter().rev()).all(|(a, b)| a.eq_ignore_ascii_case(b));
        let found = self.0.tables.iter().find(|(name, _)| ends(name));
        if let Some((name, relation)) = found {
            let full = name.iter().map(|part| (*part).to_owned()).collect();
            return Ok(Some(Named::Relation(relation.clone(), full)));
        }
        let chained = |name: &str| {
            let level: usize = name.strip_prefix("v")?.parse().ok()?;
            let below = level.checked_sub(1)?;
            Some(format!("SELECT x.a, y.b FROM v{below} x JOIN v{below} y USING (a)"))
        };
        let [name] = parts else { return Ok(None) };
        let view = self.0.views.iter().find(|(known, _)| known == name).map(|(_, sql)| (*sql).to_owned());
        let Some(sql) = view.or_else(|| chained(name)) else { return Ok(None) };
        Ok(Some(Named::View(Arc::new(View {
            name: (*name).to_owned(),
            query: Arc::new(godwit_syntax::parse_query(&sql)?),
            columns: Vec::new(),
            environment: Arc::new(Names(self.0.clone())),
        }))))
    }

    fn table_function(&self, name: &str, arguments: &[TableArgument]) -> Option<Result<Arc<dyn Relation>>> {
        let [TableArgument { value: Value::Integer(end), .. }] = arguments else { return None };
        let rows = (0..*end).map(|value| vec![Value::Integer(value)]).collect();
        (name == "range").then(|| Ok(Arc::new(MemoryTable::new("range", &[("range", SqlType::BigInt)], rows)) as _))
    }

    fn functions(&self) -> &dyn FunctionRegistry {
        &self.0.functions
    }

    fn unknown_table(&self, name: &str) -> Error {
        Error::user(format!("no table named {name}"))
    }

    fn table_function_names(&self) -> Vec<String> {
        vec!["range".to_owned()]
    }
}

/// Returns the rows of a query, as text; sorted unless the query has an order.
pub(crate) fn answer(sql: &str) -> String {
    let bound = || {
        let query = godwit_syntax::parse_query(sql)?;
        let mut binder = Binder::new(Arc::new(Names(World::new())));
        binder.query(&query)?;
        godwit_reference::validate(&binder.plan)?;
        let rows = godwit_reference::evaluate(&binder.plan, &[])?;
        let types: Vec<SqlType> =
            binder.plan.output.iter().map(|column| binder.plan.column(column.column).ty.clone()).collect();
        let shown = |(value, ty): (&Value, &SqlType)| match value {
            Value::Null => "NULL".to_owned(),
            value => format_value(value, ty),
        };
        let row = |row: &Vec<Value>| row.iter().zip(&types).map(shown).collect::<Vec<_>>().join(" ");
        let mut rows: Vec<String> = rows.iter().map(row).collect();
        if query.order_by.is_none() {
            rows.sort();
        }
        Ok::<_, Error>(rows.join(", "))
    };
    bound().unwrap_or_else(|error| error.locate(sql).to_string())
}

/// Each query with its rows.
#[test]
fn queries_mean_what_they_say() {
    let cases = [
        ("SELECT 1, 1", "1 1"),
        ("SELECT * FROM (SELECT 1, 1)", "1 1"),
        ("SELECT * FROM (SELECT a, a FROM t) WHERE a IS NULL", ""),
        ("FROM t", "1 10, 2 20, 3 30"),
        ("SELECT t.*, * FROM n t WHERE i = 1", "1 1"),
        ("SELECT a + 1 AS c, c * 2 FROM t ORDER BY c DESC LIMIT 2", "4 8, 3 6"),
        ("SELECT a AS c FROM t WHERE c > 1", "2, 3"),
        // Comparisons with ANY and ALL over the same table.
        ("SELECT a FROM t WHERE b > ALL (SELECT b FROM t WHERE a = 1)", "2, 3"),
        ("SELECT i FROM n WHERE i = ANY (SELECT i FROM n)", "1, 2, 3"),
        ("SELECT a FROM t WHERE b >= ALL (SELECT b FROM t)", "3"),
        ("SELECT i, i IN (SELECT i FROM n) FROM n", "1 true, 2 true, 3 true, NULL NULL"),
        ("SELECT 1 = ANY (SELECT 1), 1 <> ALL (SELECT i FROM n)", "true false"),
        // Tables with the same name in different schemas.
        ("SELECT main.t.b, s1.t.b FROM t, s1.t WHERE main.t.a = s1.t.a", "20 200"),
        ("SELECT * FROM t JOIN s1.t USING (a)", "2 20 200"),
        ("SELECT false IS NOT DISTINCT FROM false AND false", "false"),
        // Correlation below the NULL side of an outer join.
        (
            "SELECT i, EXISTS (SELECT 1 FROM (VALUES (1),(2)) u(x) LEFT JOIN (SELECT * FROM n j WHERE j.i = n.i) s \
             ON u.x = s.i) FROM n",
            "1 true, 2 true, 3 true, NULL true",
        ),
        (
            "SELECT i, (SELECT count(*) FROM (SELECT 1) u LEFT JOIN (SELECT * FROM n j WHERE j.i = n.i) s ON true) FROM n",
            "1 1, 2 1, 3 1, NULL 1",
        ),
        // Filters that are FALSE above aggregates.
        ("SELECT count(*) FROM t HAVING count(*) = 1 AND count(*) = 2", ""),
        ("SELECT t.a, u.c FROM t LEFT JOIN (SELECT count(*) c FROM t) u ON FALSE", "1 NULL, 2 NULL, 3 NULL"),
        ("SELECT * FROM (SELECT g, count(*) c FROM g GROUP BY ROLLUP (g)) u", "1 2, 2 1, NULL 3"),
        // USING in outer joins.
        ("SELECT x FROM k LEFT JOIN l USING (k) WHERE l.k IS NULL UNION ALL SELECT 8", "5, 8"),
        ("SELECT l.k FROM k LEFT JOIN l USING (k) UNION ALL SELECT 8", "1, 8, NULL"),
        ("SELECT k.x FROM k LEFT JOIN l USING (k) ORDER BY l.k DESC NULLS LAST, k.x LIMIT 1", "1"),
        ("SELECT k.x, l.y FROM k FULL JOIN l USING (k) WHERE EXISTS (SELECT 1 FROM l c WHERE c.k = k.k)", "1 1"),
        ("SELECT k, l.* FROM k FULL JOIN l USING (k)", "1 1 1, 2 NULL NULL, 4 4 7"),
        ("SELECT count(*) FROM k a JOIN k b USING (k) JOIN k c USING (k) JOIN k d USING (k)", "2"),
        ("SELECT k FROM k NATURAL JOIN l", "1"),
        // Merged columns come first; each side keeps its own.
        ("SELECT * FROM (VALUES (1, 2)) p(x, k) JOIN (VALUES (3, 2)) q(y, k) USING (k)", "2 1 3"),
        (
            "SELECT * FROM (VALUES (1, 2)) p(x, k) JOIN (VALUES (3, 2)) q(y, k) USING (k) \
             JOIN (VALUES (4, 3, 2)) r(z, y, k) USING (k, y)",
            "2 3 1 4",
        ),
        (
            "SELECT * FROM (VALUES (1, 2)) p(x, k) JOIN (VALUES (3, 2)) q(y, k) USING (k) \
             JOIN (VALUES (4, 3, 2)) r(z, y, k) USING (y)",
            "3 2 1 4 2",
        ),
        ("SELECT * FROM (VALUES (1, 2, 3)) p(x, b, a) NATURAL JOIN (VALUES (3, 2, 5)) q(a, b, y)", "2 3 1 5"),
        (
            "SELECT p.*, q.*, * FROM k p FULL JOIN l q USING (k)",
            "1 1 1 1 1 1 1, 2 5 NULL NULL 2 5 NULL, NULL NULL 4 7 4 NULL 7",
        ),
        ("SELECT * FROM k p RIGHT JOIN l q USING (k) LEFT JOIN l r USING (k, y)", "1 1 1, 4 7 NULL"),
        ("SELECT * FROM (SELECT a AS x, a AS y FROM t) p JOIN (SELECT 2 AS x) q USING (x)", "2 2"),
        (
            "SELECT i FROM k p LEFT JOIN n ON p.x = n.i + 4 FULL JOIN (SELECT i FROM n WHERE i = 2) m USING (i)",
            "1, 2, NULL",
        ),
        // Equal projections on top of each other.
        ("SELECT x FROM (SELECT x*2 AS x FROM (SELECT x*2 AS x FROM (SELECT 1 AS x)))", "4"),
        // Names.
        ("SELECT o.d FROM (VALUES (1)) o(d) WHERE EXISTS (SELECT 1 FROM (VALUES (1,2)) p(a, o) WHERE p.a = o.d)", "1"),
        ("SELECT * FROM (SELECT 42, 41 AS x) v(a)", "42 41"),
        ("SELECT sum(a), sum(a::INT) FROM (VALUES (1)) t(a)", "1 1"),
        ("SELECT a FROM t UNION SELECT a FROM s1.t ORDER BY t.a", "1, 2, 3, 7"),
        ("SELECT x, (SELECT sum(y) FROM (VALUES (1), (2)) s(y) WHERE y <= x) FROM (VALUES (1), (2)) t(x)", "1 1, 2 3"),
        // Grouping.
        ("SELECT g, sum(v) FROM g GROUP BY 1", "1 11, 2 NULL"),
        ("SELECT g + 1 AS h, count(v) FROM g GROUP BY h", "2 2, 3 0"),
        ("SELECT g, count(*) FROM g GROUP BY ALL", "1 2, 2 1"),
        ("SELECT g, grouping(g), count(*) FROM g GROUP BY CUBE (g)", "1 0 2, 2 0 1, NULL 1 3"),
        (
            "SELECT g, v, count(*) FROM g GROUP BY GROUPING SETS ((g), (v), ())",
            "1 NULL 2, 2 NULL 1, NULL 5 1, NULL 6 1, NULL NULL 1, NULL NULL 3",
        ),
        ("SELECT count(*) FROM g GROUP BY ()", "3"),
        ("SELECT g FROM g GROUP BY g HAVING max(v) > 5", "1"),
        ("SELECT g, (SELECT max(a) FROM t WHERE a <= g.g) FROM g GROUP BY g", "1 1, 2 2"),
        // An item of SELECT is bound once, so that its subquery is the key's.
        ("SELECT (SELECT max(a) FROM t) AS m, count(*) FROM g GROUP BY m", "3 3"),
        ("SELECT (SELECT max(a) FROM t WHERE a <= g) AS m, count(*) FROM g GROUP BY 1 ORDER BY m DESC", "2 1, 1 2"),
        ("SELECT (SELECT max(a) FROM t) + g, count(*) FROM g GROUP BY (SELECT max(a) FROM t) + g", "4 2, 5 1"),
        ("SELECT (SELECT max(a) FROM t WHERE a <= g) AS m FROM g GROUP BY ALL HAVING m > 1", "2"),
        ("SELECT EXISTS (SELECT 1 FROM t WHERE a = v - 4) AS e, count(*) FROM g WHERE e GROUP BY e", "true 2"),
        ("SELECT (SELECT max(b) FROM t WHERE a = g) AS m, v FROM g QUALIFY m = 10 ORDER BY m, v", "10 5, 10 6"),
        ("SELECT (SELECT max(a) FROM t) AS m, g FROM g GROUP BY ROLLUP (m, g)", "3 1, 3 2, 3 NULL, NULL NULL"),
        // An aggregate belongs to the innermost query of which it uses a column.
        ("SELECT (SELECT max(g.v)) FROM g", "6"),
        ("SELECT g, (SELECT a FROM t WHERE a = count(g.v)) FROM g GROUP BY g", "1 2, 2 NULL"),
        ("SELECT g FROM g GROUP BY g HAVING EXISTS (SELECT 1 FROM t WHERE b < sum(g.v))", "1"),
        ("SELECT sum(v), (SELECT sum(v) + (SELECT min(g.v))) FROM g", "11 16"),
        ("SELECT (SELECT max(t.a + g.v) FROM t) FROM g WHERE v = 5", "8"),
        ("SELECT (SELECT sum(a) FROM t WHERE a < max(g.v)) FROM g", "6"),
        ("SELECT g FROM g ORDER BY (SELECT max(g.v))", "must be in GROUP BY"),
        ("SELECT v FROM g WHERE EXISTS (SELECT 1 FROM t WHERE a = max(g.v))", "WHERE"),
        ("SELECT sum((SELECT max(g.v))) FROM g", "the arguments of an aggregate"),
        ("SELECT x FROM g, LATERAL (SELECT max(g.v) AS x) u", "the aggregate max can't stand in FROM"),
        // Windows.
        (
            "SELECT x, count(*) OVER (w ORDER BY x) FROM (VALUES (1,1),(2,1),(3,2),(4,2)) t(x,y) WINDOW w AS (PARTITION BY y) ORDER BY x",
            "1 1, 2 2, 3 1, 4 2",
        ),
        ("SELECT v FROM g QUALIFY row_number() OVER (PARTITION BY g ORDER BY v) = 1", "5, NULL"),
        ("SELECT g, sum(count(*)) OVER () FROM g GROUP BY g", "1 3, 2 3"),
        // DISTINCT.
        ("SELECT DISTINCT g FROM g ORDER BY g DESC", "2, 1"),
        ("SELECT DISTINCT ON (g) g, v FROM g ORDER BY g, v DESC", "1 6, 2 NULL"),
        ("SELECT DISTINCT g FROM g ORDER BY v", "ORDER BY can use only"),
        // Set operations.
        ("SELECT 1 UNION ALL SELECT 1 EXCEPT SELECT 2", "1"),
        ("SELECT i FROM n INTERSECT SELECT a FROM t", "1, 2, 3"),
        ("SELECT 'x' UNION ALL SELECT NULL", "NULL, x"),
        ("SELECT 1 AS a, 2 AS b UNION ALL BY NAME SELECT 3 AS b", "1 2, NULL 3"),
        // WITH.
        ("WITH c AS (SELECT a FROM t) SELECT x.a, y.a FROM c x JOIN c y ON x.a = y.a + 1", "2 1, 3 2"),
        ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 4) SELECT sum(n) FROM r", "10"),
        ("WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n % 3 + 1 FROM r) SELECT n FROM r", "1, 2, 3"),
        ("SELECT (WITH c AS (SELECT a + 1 AS x) SELECT x FROM c) FROM t", "2, 3, 4"),
        // LATERAL and functions in FROM.
        ("SELECT a, x FROM t, LATERAL (SELECT t.a + 1 AS x) WHERE a < 3", "1 2, 2 3"),
        ("SELECT a, x FROM t LEFT JOIN LATERAL (SELECT t.a AS x FROM g WHERE t.a = 2) ON TRUE WHERE a < 2", "1 NULL"),
        ("SELECT a, x FROM t, LATERAL (SELECT t.a AS x UNION SELECT t.a) WHERE a < 3", "1 1, 2 2"),
        ("SELECT a, x FROM t, LATERAL (VALUES (t.a)) u(x) WHERE a < 3", "1 1, 2 2"),
        ("SELECT t.a, u.a FROM t, LATERAL (SELECT DISTINCT t.* FROM g) u WHERE t.a < 3", "1 1, 2 2"),
        ("SELECT t.a, u.a FROM t, LATERAL (SELECT t.a FROM g GROUP BY t.a) u WHERE t.a < 3", "1 1, 2 2"),
        ("SELECT a, x FROM t, unnest([a, b]) u(x) WHERE a = 1", "1 1, 1 10"),
        ("SELECT x, o FROM unnest([7, 8]) WITH ORDINALITY u(x, o)", "7 1, 8 2"),
        ("SELECT unnest([1, 2]), a FROM t WHERE a = 3", "1 3, 2 3"),
        ("SELECT count(*) FROM range(5)", "5"),
        // Values as tables.
        ("SELECT * FROM upper('a')", "A"),
        ("SELECT upper FROM upper('a')", "A"),
        ("SELECT u, u.u FROM upper('a') AS u", "A A"),
        ("SELECT x, t, t.x, t.* FROM upper('a') AS t(x)", "A A A A"),
        ("SELECT u || 'b', ordinality FROM upper('a') WITH ORDINALITY AS u", "Ab 1"),
        ("SELECT a, x FROM t, greatest(a, 2) AS u(x)", "1 2, 2 2, 3 3"),
        ("SELECT a, g FROM t LEFT JOIN greatest(t.a, 2) AS g ON g = a", "1 NULL, 2 2, 3 3"),
        ("SELECT * FROM coalesce(NULL, 7), abs(-1) AS a", "7 1"),
        ("SELECT * FROM sum(1)", "the aggregate sum can't stand in FROM"),
        ("SELECT * FROM row_number()", "needs OVER"),
        ("SELECT * FROM uper('a')", "no table function named uper"),
        ("SELECT * FROM upper(1)", "no function upper takes (INTEGER)"),
        ("SELECT * FROM upper('a') AS u(x, y)", "u has 1 columns, 2 names are given"),
        // UNNEST in the SELECT list.
        ("SELECT unnest({'x': 1, 'y': 'z'}), a FROM t WHERE a = 3", "1 z 3"),
        ("SELECT unnest([{'x': 1}, {'x': 2}])", "{'x': 1}, {'x': 2}"),
        ("SELECT unnest([{'x': 1}, {'x': 2}], recursive := true)", "1, 2"),
        ("SELECT unnest([[1, 2], [3]], recursive := true), a FROM t WHERE a = 3", "1 3, 2 3, 3 3"),
        ("SELECT unnest([[[1, 2]], [[3]]], max_depth := 2)", "[1, 2], [3]"),
        ("SELECT unnest({'x': [1, 2], 'y': {'z': 3}}, recursive := true)", "1 3, 2 3"),
        ("SELECT unnest(unnest([[1], [2]]))", "1, 2"),
        ("SELECT unnest({'x': 1}) + 1", "2"),
        ("SELECT unnest({'x': 1, 'y': 2}) + 1", "several columns"),
        ("SELECT unnest(1)", "unnest takes a list or a struct, this is INTEGER"),
        ("SELECT unnest([1], depth := 2)", "no option depth"),
        ("SELECT (SELECT max(x) FROM (SELECT a AS x)) FROM t", "1, 2, 3"),
        // Wildcards.
        ("SELECT * EXCLUDE (a) FROM t WHERE a = 1", "10"),
        ("SELECT * REPLACE (b + 1 AS b) FROM t WHERE a = 1", "1 11"),
        ("SELECT max(COLUMNS(*)) FROM t", "3 30"),
        ("SELECT COLUMNS('^b') FROM t WHERE a = 2", "20"),
        ("SELECT * LIKE 'b%' FROM t WHERE a = 2", "20"),
        ("SELECT * NOT ILIKE '_%B' FROM t WHERE COLUMNS(*) > 2", "3 30"),
        ("SELECT greatest(*COLUMNS(*)) FROM t WHERE (a, b) = (SELECT 2, 20)", "20"),
        // PIVOT and UNPIVOT.
        ("PIVOT g ON g IN (1, 2) USING sum(v)", "11 NULL"),
        ("UNPIVOT k ON k, x INTO NAME n VALUE w", "k 1, k 2, x 1, x 5"),
        ("FROM (DESCRIBE k)", "k INTEGER YES NULL NULL NULL, x INTEGER YES NULL NULL NULL"),
        // Views.
        ("SELECT count(*) FROM v40", "3"),
        ("SELECT * FROM circle", "circle uses itself"),
        // Limits.
        ("SELECT a FROM t ORDER BY a LIMIT (SELECT 2) OFFSET 1", "2, 3"),
        ("SELECT a FROM t ORDER BY a DESC FETCH FIRST 1 ROW WITH TIES", "3"),
        ("SELECT a FROM t LIMIT -1", "LIMIT is negative"),
        ("SELECT * FROM a_table", "no table named a_table (line 1, column 15)"),
        ("SELECT t.b FROM t, s1.t", "memory.main.t and in memory.s1.t"),
        ("SELECT a, count(*) FROM t", "must be in GROUP BY"),
        ("SELECT a FROM t WHERE sum(b) > 1", "WHERE"),
    ];
    let mut wrong = Vec::new();
    for (sql, expected) in cases {
        let got = answer(sql);
        let is_right =
            if got.contains("error") { got.contains(expected) && !expected.is_empty() } else { got == expected };
        if !is_right {
            wrong.push(format!("{sql}\n    expected {expected}\n    got      {got}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn a_view_that_is_used_twice_on_forty_levels_is_a_small_plan() {
    let query = godwit_syntax::parse_query("SELECT * FROM v40").unwrap();
    let mut binder = Binder::new(Arc::new(Names(World::new())));
    binder.query(&query).unwrap();
    assert!(binder.plan.node_count() < 500, "{} nodes", binder.plan.node_count());
    assert_eq!(binder.plan.shared_plans().len(), 41);
}

//! Rows produced by data-modifying statements, by the reference evaluator.

use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_plan::Relation;
use godwit_reference::MemoryTable;
use godwit_syntax::ast::{Expr, Statement};
use godwit_types::{SqlType, Value, format_value};

use super::{BoundWrite, Generation, TargetColumn, TargetKey, WriteTarget};
use crate::Binder;
use crate::tests::{Names, World};

/// Returns the table `w (k INTEGER, v INTEGER DEFAULT 7, s VARCHAR)` with key `k` and rows (1, 10, x), (2, 20, y).
fn target(generates: bool, checks: &[&str]) -> WriteTarget {
    let integer = |value: i128| Value::Integer(value);
    let row = |k, v, s: &str, id| vec![integer(k), integer(v), Value::text(s), integer(id)];
    let columns =
        [("k", SqlType::Integer), ("v", SqlType::Integer), ("s", SqlType::Varchar), ("row id", SqlType::BigInt)];
    let table = MemoryTable::new("w", &columns, vec![row(1, 10, "x", 100), row(2, 20, "y", 101)]);
    let relation: Arc<dyn Relation> = Arc::new(table.with_nullable_columns().with_hidden_column(3));
    let column = |(name, ty): &(&str, SqlType)| TargetColumn {
        name: (*name).to_owned(),
        ty: ty.clone(),
        default: None,
        generated: None,
    };
    let mut columns: Vec<TargetColumn> = columns[..3].iter().map(column).collect();
    columns[1].default = Some(parsed("7"));
    if generates {
        columns[1].generated = Some(Generation::Stored(parsed("k * 100")));
    }
    WriteTarget {
        name: ["memory", "main", "w"].map(str::to_owned).into(),
        label: "w".to_owned(),
        relation,
        columns,
        keys: vec![TargetKey { name: "w_pkey".to_owned(), columns: vec![0] }],
        checks: checks.iter().map(|check| ("positive".to_owned(), parsed(check))).collect(),
    }
}

fn parsed(expr: &str) -> Expr {
    godwit_syntax::parse_expression(expr).expect("the expressions of these tests are right")
}

/// Returns the rows of a statement, sorted, or its error.
fn rows_of(sql: &str, target: &WriteTarget) -> String {
    let bound = || {
        let statement = godwit_syntax::parse_script(sql)?.remove(0).statement;
        let mut binder = Binder::new(Arc::new(Names(World::new())));
        bind(&mut binder, &statement, target)?;
        let rows = godwit_reference::evaluate(&binder.plan, &[])?;
        let types = binder.plan.output.iter().map(|column| binder.plan.column(column.column).ty.clone());
        let types: Vec<SqlType> = types.collect();
        let shown = |(value, ty): (&Value, &SqlType)| match value {
            Value::Null => "NULL".to_owned(),
            value => format_value(value, ty),
        };
        let row = |row: &Vec<Value>| row.iter().zip(&types).map(shown).collect::<Vec<_>>().join(" ");
        let mut rows: Vec<String> = rows.iter().map(row).collect();
        rows.sort();
        Ok::<_, Error>(rows.join(", "))
    };
    bound().unwrap_or_else(|error| error.locate(sql).to_string())
}

fn bind(binder: &mut Binder, statement: &Statement, target: &WriteTarget) -> Result<BoundWrite> {
    match statement {
        Statement::Insert(insert) => binder.insert(insert, target),
        Statement::Update(update) => binder.update(update, target),
        Statement::Delete(delete) => binder.delete(delete, target),
        Statement::Merge(merge) => binder.merge_into(merge, target),
        Statement::Truncate(_) => binder.truncate(target),
        other => panic!("{other:?} changes no rows"),
    }
}

fn check(cases: &[(&str, &str)], target: &WriteTarget) {
    for (sql, expected) in cases {
        let found = rows_of(sql, target);
        assert!(found == *expected || expected.len() > 12 && found.contains(expected), "{sql}\n{found}\n{expected}");
    }
}

#[test]
fn inserted_rows_have_all_columns() {
    let cases = [
        ("INSERT INTO w VALUES (1, 2, 'a'), (NULL, DEFAULT, 5)", "1 2 a, NULL 7 5"),
        ("INSERT INTO w (s, k) VALUES ('a', '12')", "12 7 a"),
        ("INSERT INTO w DEFAULT VALUES", "NULL 7 NULL"),
        ("INSERT INTO w SELECT a, b, 'q' FROM t WHERE a < 3", "1 10 q, 2 20 q"),
        ("INSERT INTO w (k, s) SELECT '4', NULL", "4 7 NULL"),
        ("INSERT INTO w BY NAME SELECT b AS s, a AS k FROM t WHERE a = 1", "1 7 10"),
        ("WITH c AS (SELECT 9 AS x) INSERT INTO w (k) SELECT x FROM c", "9 7 NULL"),
        ("INSERT INTO w (k) VALUES (1.6), ((SELECT max(a) FROM t))", "2 7 NULL, 3 7 NULL"),
        ("INSERT INTO w AS x VALUES (5, 6, 'r') RETURNING k + v AS sum, x.s, *", "5 6 r 11 r 5 6 r"),
        ("INSERT INTO w VALUES (1, 2)", "1 2 NULL"),
        ("INSERT INTO w SELECT a FROM t WHERE a = 1", "1 7 NULL"),
        ("INSERT INTO w VALUES (1, 2, 'a', 4)", "w gets 3 columns, the rows have 4"),
        ("INSERT INTO w (k, K) VALUES (1, 2)", "column k is named twice"),
        ("INSERT INTO w (k, q) VALUES (1, 2)", "w has no column q"),
        ("INSERT INTO w (k) VALUES ('a')", "'a' is not an INTEGER (line 1, column 27)"),
        ("INSERT INTO w (k) VALUES (DATE '2020-01-01')", "there is no cast from DATE to INTEGER"),
        ("INSERT INTO w (k) VALUES (true)", "column k: BOOLEAN doesn't become INTEGER by itself"),
        ("INSERT INTO w (k) VALUES (1), (2, 3)", "the first row of VALUES has 1 values, this one 2"),
    ];
    check(&cases, &target(false, &[]));
}

#[test]
fn conflicts_leave_out_or_update() {
    let cases = [
        ("INSERT INTO w VALUES (1, 1, 'n'), (3, 3, 'n') ON CONFLICT DO NOTHING", "3 3 n"),
        (
            "INSERT OR IGNORE INTO w VALUES (3, 1, 'a'), (3, 3, 'b'), (NULL, 1, 'c'), (NULL, 2, 'd')",
            "3 1 a, NULL 1 c, NULL 2 d",
        ),
        (
            "INSERT INTO w VALUES (1, 1, 'n'), (3, 3, 'n') ON CONFLICT (k) DO UPDATE SET v = v + excluded.v",
            "100 1 11 x, NULL 3 3 n",
        ),
        (
            "INSERT INTO w VALUES (1, 1, 'n'), (2, 3, 'n') ON CONFLICT ON CONSTRAINT w_pkey DO UPDATE SET s = excluded.s WHERE w.k = 2",
            "101 2 20 n",
        ),
        ("INSERT OR REPLACE INTO w (k, s) VALUES (1, 'n'), (5, 'm')", "100 1 10 n, NULL 5 7 m"),
        (
            "INSERT INTO w VALUES (1, 1, 'n'), (3, 3, 'n') ON CONFLICT (k) DO UPDATE SET v = excluded.v RETURNING old.v, new.v",
            "100 1 1 x 10 1, NULL 3 3 n NULL 3",
        ),
        (
            "INSERT INTO w SELECT 2, 11, 'z' ON CONFLICT (k) DO UPDATE SET (v, s) = (excluded.v, 'new') RETURNING w.v",
            "101 2 11 new 11",
        ),
        ("INSERT INTO w VALUES (1, 1, 'n') ON CONFLICT (v) DO NOTHING", "w has no key of v"),
    ];
    check(&cases, &target(false, &[]));
}

#[test]
fn updates_name_columns_of_any_table_in_from() {
    let cases = [
        ("UPDATE w SET v = v + 1 WHERE k = 2", "101 2 21 y"),
        ("UPDATE w SET k = v, v = k", "100 10 1 x, 101 20 2 y"),
        ("UPDATE w SET v = s1.t.b FROM s1.t WHERE w.k = s1.t.a", "101 2 200 y"),
        ("UPDATE w SET v = u.b FROM s1.t u, t WHERE w.k = u.a AND t.a = w.k RETURNING w.v, t.b", "101 2 200 y 200 20"),
        ("UPDATE w AS x SET (v, s) = (DEFAULT, 'q') WHERE x.k = 1", "100 1 7 q"),
        ("UPDATE w SET (v, s) = (SELECT b, a FROM t WHERE t.a = w.k + 1)", "100 1 20 2, 101 2 30 3"),
        ("WITH c AS (SELECT 2 AS k) UPDATE w SET v = 0 FROM c WHERE c.k = w.k", "101 2 0 y"),
        ("UPDATE w SET v = v + 1 WHERE k = 1 RETURNING old.v, new.v, w.v", "100 1 11 x 10 11 11"),
        ("UPDATE w SET v = old.b FROM s1.t old WHERE w.k = old.a RETURNING old.b, new.v", "101 2 200 y 200 200"),
        ("UPDATE w SET v = 1, v = 2", "column v is assigned twice"),
        ("UPDATE w SET w.v = 1", "SET names columns of the table that is changed"),
        ("UPDATE w SET v = sum(k)", "the aggregate sum can't stand in SET"),
        ("UPDATE w SET (v, s) = (1, 2, 3)", "2 columns are set to 3 values"),
    ];
    check(&cases[..], &target(false, &[]));
}

#[test]
fn deletions_are_row_ids() {
    let cases = [
        ("DELETE FROM w", "100, 101"),
        ("DELETE FROM w WHERE v >= ALL (SELECT v FROM (VALUES (10), (20)) x(v))", "101"),
        ("DELETE FROM w USING s1.t WHERE w.k = s1.t.a RETURNING s, t.b", "101 y 200"),
        ("DELETE FROM w AS x WHERE k = 1 RETURNING old.s, x.s", "100 x x"),
        ("DELETE FROM w RETURNING new.s", "no table named new in FROM"),
        ("TRUNCATE w", "100, 101"),
    ];
    check(&cases, &target(false, &[]));
}

#[test]
fn merges_take_the_first_clause_that_holds() {
    let source = "MERGE INTO w USING s1.t ON w.k = t.a";
    let cases = [
        ("WHEN MATCHED THEN UPDATE SET v = t.b", "101 false 2 200 y"),
        ("WHEN MATCHED AND t.b > 500 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 0", "101 false 2 0 y"),
        (
            "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (t.a, t.b, DEFAULT)",
            "101 true 2 20 y, NULL false 7 700 NULL",
        ),
        ("WHEN NOT MATCHED BY SOURCE THEN DELETE", "100 true 1 10 x"),
        (
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s = 'gone' WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN INSERT (k) VALUES (a)",
            "100 false 1 10 gone, NULL false 7 7 NULL",
        ),
        ("WHEN MATCHED THEN DO NOTHING", ""),
        (
            "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (k) VALUES (a) RETURNING merge_action, w.k, t.b, old.v",
            "101 true 2 20 y DELETE 2 200 20, NULL false 7 7 NULL INSERT 7 700 NULL",
        ),
        ("WHEN MATCHED THEN UPDATE SET v = 1 RETURNING merge_action(), *", "101 false 2 1 y UPDATE 2 200 2 1 y"),
        ("WHEN MATCHED THEN ERROR 'no row for ' || b", "no row for 200"),
        ("WHEN MATCHED AND b = 0 THEN ERROR WHEN MATCHED THEN DELETE", "101 true 2 20 y"),
        ("WHEN NOT MATCHED THEN INSERT VALUES (t.a, w.v, 's')", "no table named w in FROM"),
        ("WHEN NOT MATCHED THEN DELETE", "rows that aren't in the table can only be inserted"),
        ("WHEN MATCHED THEN INSERT VALUES (1, 2, 3)", "rows that are in the table can't be inserted"),
    ];
    let cases: Vec<(String, &str)> = cases.iter().map(|(sql, rows)| (format!("{source} {sql}"), *rows)).collect();
    let cases: Vec<(&str, &str)> = cases.iter().map(|(sql, rows)| (sql.as_str(), *rows)).collect();
    check(&cases, &target(false, &[]));
    let others = [
        (
            "MERGE INTO w USING (SELECT 2 AS k, 5 AS v, 'z' AS s) n USING (k) WHEN MATCHED THEN UPDATE SET *",
            "101 false 2 5 z",
        ),
        ("MERGE INTO w USING (SELECT 3 AS k, 's' AS s) n USING (k) WHEN NOT MATCHED THEN INSERT *", "NULL false 3 7 s"),
        (
            "MERGE INTO w USING (SELECT 3, 4, 'p') n(a, b, c) ON k = a WHEN NOT MATCHED THEN INSERT BY POSITION",
            "NULL false 3 4 p",
        ),
    ];
    check(&others, &target(false, &[]));
}

#[test]
fn checks_and_generated_columns_follow_the_new_rows() {
    let cases = [
        ("INSERT INTO w VALUES (1, 'a'), (NULL, 'b')", "1 100 a true, NULL NULL b true"),
        ("INSERT INTO w (k, v) VALUES (-3, DEFAULT)", "-3 -300 NULL false"),
        ("UPDATE w SET k = 4 WHERE k = 1 RETURNING v", "100 4 400 x true 400"),
        ("INSERT INTO w (k, v) VALUES (1, 2)", "column v of w is generated"),
        ("UPDATE w SET v = 2", "column v of w is generated"),
        (
            "INSERT INTO w VALUES (9, 'n'), (2, 'm') ON CONFLICT (k) DO UPDATE SET k = 5",
            "101 5 500 y true, NULL 9 900 n true",
        ),
    ];
    check(&cases, &target(true, &["k > 0"]));
}

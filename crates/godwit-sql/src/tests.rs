//! Statements and errors as users see them.

use std::sync::Arc;
use std::time::Instant;

use arrow_schema::DataType;
use godwit_catalog::ObjectName;
use godwit_common::{Error, ErrorKind, Position};
use godwit_plan::{Node, Plan};
use godwit_types::SqlType;

use crate::test_tables::{tpch_planner, tpch_query};
use crate::{
    Definition, ExplainOptions, Planner, QueryStatement, SessionStatement, Statement, TransactionStep, WriteStatement,
};

fn plan(planner: &Planner, sql: &str) -> Result<Statement, Error> {
    let parsed = planner.parse(sql)?;
    assert_eq!(parsed.len(), 1, "{sql}");
    planner.plan(&parsed[0])
}

fn query(sql: &str) -> Arc<Plan> {
    tpch_planner().plan_query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn names(plan: &Plan) -> Vec<String> {
    plan.output.iter().map(|column| column.name.clone()).collect()
}

/// Returns the names of a query's columns.
fn columns(sql: &str) -> Vec<String> {
    match plan(&tpch_planner(), sql) {
        Ok(Statement::Query(QueryStatement::Rows { plan })) => names(&plan),
        other => panic!("{sql}: {other:?}"),
    }
}

fn error(sql: &str) -> Error {
    let planner = tpch_planner();
    match planner.parse(sql).and_then(|parsed| planner.plan(&parsed[0]).map(|_| ())) {
        Ok(()) => panic!("no error: {}", &sql[..sql.len().min(200)]),
        Err(error) => {
            let text = error.to_string();
            for leak in ["DataFusion", "Schema error", "Error during planning", "bug in", "backtrace", "sqlparser"] {
                assert!(!text.contains(leak), "{sql}: {text}");
            }
            error
        }
    }
}

#[test]
fn all_tpch_queries_are_planned_without_correlation() {
    for number in 1..=22 {
        let plan = query(&tpch_query(number));
        let root = plan.root.expect("a planned query has a root");
        assert!(plan.free_columns(root).is_empty(), "Q{number}");
        let text = plan.display();
        assert!(!text.contains("dependent"), "Q{number}: {text}");
    }
}

#[test]
fn planning_is_fast() {
    let planner = tpch_planner();
    let text: Vec<String> = (1..=22).map(tpch_query).collect();
    for sql in &text {
        planner.plan_query(sql).unwrap();
    }
    let started = Instant::now();
    for sql in &text {
        planner.plan_query(sql).unwrap();
    }
    let per_query_ms = started.elapsed().as_secs_f64() * 1e3 / text.len() as f64;
    let started = Instant::now();
    for _ in 0..20 {
        planner.plan_query("SELECT sum(l_quantity) FROM lineitem WHERE l_shipdate < date '1995-01-01'").unwrap();
    }
    let simple_ms = started.elapsed().as_secs_f64() * 1e3 / 20.0;
    println!("TPC-H {per_query_ms:.2} ms per query, a simple query {simple_ms:.2} ms");
    assert!(cfg!(debug_assertions) || per_query_ms < 50.0, "{per_query_ms} ms per TPC-H query");
}

#[test]
fn filters_and_columns_move_into_the_scan() {
    let plan = query("SELECT l_orderkey FROM lineitem WHERE l_quantity > 3 AND l_shipmode = 'AIR'");
    let root = plan.root.expect("a planned query has a root");
    let Node::Scan(scan) = plan.node(root) else { panic!("{}", plan.display()) };
    assert_eq!((scan.filters.len(), scan.relation.name()), (2, "lineitem"));
    assert_eq!(plan.output.len(), 1);
}

#[test]
fn duckdb_syntax_works() {
    assert_eq!(columns("FROM region"), ["r_regionkey", "r_name", "r_comment"]);
    assert_eq!(columns("FROM region SELECT r_name"), ["r_name"]);
    assert_eq!(columns("WITH a AS (FROM region WHERE r_regionkey = 1) FROM a WHERE r_name > 'A' LIMIT 1").len(), 3);
    assert_eq!(columns("FROM region WHERE r_regionkey IN (FROM nation SELECT n_regionkey) ORDER BY r_name").len(), 3);
    assert_eq!(columns("SELECT extract(year FROM o_orderdate) AS y FROM orders"), ["y"]);
    assert_eq!(columns("SELECT * EXCLUDE (r_comment) FROM region"), ["r_regionkey", "r_name"]);
    assert_eq!(columns("SELECT * REPLACE (upper(r_name) AS r_name) FROM region")[1], "r_name");
    assert_eq!(
        columns("SELECT n_regionkey, count(*) AS n FROM nation GROUP BY ALL ORDER BY ALL"),
        ["n_regionkey", "n"]
    );
    assert_eq!(columns("SELECT n_name FROM nation QUALIFY row_number() OVER (ORDER BY n_name) < 3"), ["n_name"]);
    assert_eq!(columns("SELECT count(*) AS n FROM 'orders.parquet'"), ["n"]);
    assert_eq!(columns("SELECT count(*) AS n FROM read_parquet('orders.parquet') AS o WHERE o.o_orderkey > 3"), ["n"]);
    assert_eq!(columns("FROM 'orders.parquet' SELECT o_custkey"), ["o_custkey"]);
    assert_eq!(columns("VALUES (1, 'a'), (2, 'b')").len(), 2);
    assert_eq!(columns("FROM range(10)"), ["range"]);
    assert_eq!(columns("SELECT 0.1 + 0.2 AS d"), ["d"]);
    let sum = query("SELECT 0.1 + 0.2 AS d");
    assert!(matches!(sum.column(sum.output[0].column).ty, SqlType::Decimal { .. }));
}

#[test]
fn other_statements_are_recognized() {
    let planner = tpch_planner();
    let plan = |sql| plan(&planner, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    for (sql, analyze, json) in [
        ("EXPLAIN SELECT 1", false, false),
        ("EXPLAIN (SELECT 1)", false, false),
        ("explain analyze from region", true, false),
        ("explain (format json) from region", false, true),
        ("EXPLAIN (ANALYZE, FORMAT json) (SELECT 1)", true, true),
        ("EXPLAIN (FORMAT text, ANALYZE) SELECT 1", true, false),
    ] {
        let expected = ExplainOptions { analyze, json };
        assert!(
            matches!(plan(sql), Statement::Query(QueryStatement::Explain { options, .. }) if options == expected),
            "{sql}"
        );
    }
    let session = |sql| match plan(sql) {
        Statement::Session(session) => session,
        other => panic!("{sql}: {other:?}"),
    };
    let set = |sql| match session(sql) {
        SessionStatement::Set { name, value } => format!("{name}={value}"),
        other => panic!("{sql}: {other:?}"),
    };
    assert_eq!(set("SET memory_limit = '2GB'"), "memory_limit=2GB");
    assert_eq!(set("SET threads TO 4"), "threads=4");
    assert_eq!(set("SET SESSION x = -1.5"), "x=-1.5");
    assert!(matches!(session("RESET threads"), SessionStatement::Reset { name: Some(name) } if name == "threads"));
    assert!(matches!(session("RESET ALL"), SessionStatement::Reset { name: None }));
    assert!(matches!(session("SHOW threads"), SessionStatement::Show { name: Some(_) }));
    assert!(matches!(session("SHOW ALL"), SessionStatement::Show { name: None }));
    assert!(matches!(session("CHECKPOINT"), SessionStatement::Checkpoint));
    for sql in ["SHOW TABLES", "DESCRIBE region", "DESCRIBE SELECT 1", "SUMMARIZE region", "DESC 'orders.parquet'"] {
        assert!(matches!(plan(sql), Statement::Query(QueryStatement::Rows { .. })), "{sql}");
    }
    let step = |sql| match plan(sql) {
        Statement::Transaction(step) => step,
        other => panic!("{sql}: {other:?}"),
    };
    assert_eq!(step("ROLLBACK TO SAVEPOINT a"), TransactionStep::RollbackTo("a".to_owned()));
    assert_eq!(step("START TRANSACTION"), TransactionStep::Begin { is_read_only: false });
    assert_eq!(step("BEGIN ISOLATION LEVEL READ COMMITTED, READ ONLY"), TransactionStep::Begin { is_read_only: true });
}

#[test]
fn writes_have_a_column_for_each_of_the_table() {
    let planner = tpch_planner();
    let columns = |sql: &str| match plan(&planner, sql) {
        Ok(Statement::Write(WriteStatement::Planned(write))) => names(&write.rows),
        other => panic!("{sql}: {other:?}"),
    };
    let insert = columns("INSERT INTO region (r_name, r_regionkey) SELECT 1.5, n_nationkey FROM nation");
    assert_eq!(insert, ["r_regionkey", "r_name", "r_comment"]);
    assert_eq!(columns("DELETE FROM region USING nation WHERE r_regionkey = n_regionkey").len(), 1);
    let update = columns("UPDATE region SET r_name = 'x' RETURNING r_regionkey * 2");
    assert_eq!(update.len(), 5, "a row id, three columns, RETURNING");
}

#[test]
fn definitions_are_recognized() {
    let planner = tpch_planner();
    let definition = |sql| match plan(&planner, sql) {
        Ok(Statement::Definition(definition)) => definition,
        other => panic!("{sql}: {other:?}"),
    };
    let create = definition("CREATE OR REPLACE TABLE T (a INT NOT NULL, b VARCHAR)");
    assert!(matches!(create, Definition::CreateTable { name, schema, or_replace: true, rows: None, .. }
            if name.name == "t" && !schema.field(0).is_nullable() && *schema.field(1).data_type() == DataType::Utf8View));
    let named = |names: &[ObjectName]| names.iter().map(|name| name.name.clone()).collect::<Vec<_>>();
    let drop = definition("DROP TABLE a, B");
    assert!(matches!(drop, Definition::DropTable { names } if named(&names) == ["a", "b"]));
    assert!(matches!(definition("DROP VIEW IF EXISTS a, B"), Definition::DropView { names } if names.is_empty()));
}

#[test]
fn scripts_are_split_with_their_ranges() {
    let sql = "SELECT 1; -- a; comment\n\n  SELECT ';' AS ü;;\nFROM region";
    let parsed = tpch_planner().parse(sql).unwrap();
    let texts: Vec<&str> = parsed.iter().map(|statement| statement.text()).collect();
    assert_eq!(texts, ["SELECT 1", "SELECT ';' AS ü", "FROM region"]);
    assert_eq!(&sql[parsed[2].range()], "FROM region");
    assert!(tpch_planner().parse(" -- nothing\n;").unwrap().is_empty());
}

#[test]
fn views_are_bound_anew() {
    let planner = tpch_planner();
    let catalog = planner.namespace().catalog("tpch").unwrap();
    let create = |sql: &str| match plan(&planner, sql) {
        Ok(Statement::Definition(Definition::CreateView { view, or_replace, .. })) => {
            catalog.create_view(view, or_replace)
        }
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error),
    };
    create("CREATE VIEW asia(a, b) AS SELECT r_regionkey, r_name FROM region WHERE r_name = 'ASIA'").unwrap();
    create("CREATE VIEW files AS FROM 'orders.parquet'").unwrap();
    planner.plan_query("SELECT a, b FROM asia, files WHERE a = o_orderkey").unwrap();
    assert!(create("CREATE VIEW asia AS SELECT 1").unwrap_err().message().contains("exists already"));
    assert!(create("CREATE VIEW region AS SELECT 1").unwrap_err().message().contains("is a table"));
    create("CREATE OR REPLACE VIEW asia AS SELECT 1 AS one").unwrap();
    assert_eq!(names(&planner.plan_query("FROM asia").unwrap()), ["one"]);
    // A replacement must not make a view use itself, not even through another view.
    create("CREATE OR REPLACE VIEW files AS FROM asia").unwrap();
    for query in ["FROM asia", "FROM files", "SELECT (SELECT count(*) FROM files)"] {
        let error = create(&format!("CREATE OR REPLACE VIEW asia AS {query}")).unwrap_err();
        assert!(error.message().contains("uses itself"), "{error}");
    }
    assert_eq!(names(&planner.plan_query("FROM files").unwrap()), ["one"]);
    catalog.drop_view("asia").unwrap();
    let error = catalog.drop_view("fils").unwrap_err();
    assert_eq!(error.hint(), Some("did you mean files?"));
}

#[test]
fn syntax_errors_name_the_place() {
    let found = error("SELECT 1 +\n  FROM region");
    assert_eq!((found.kind(), found.position().map(|place| place.line)), (ErrorKind::User, Some(2)), "{found}");
    let found = error("SELECT r_name FROM region WHERE");
    assert!(found.position().is_some(), "{found}");
    let found = error("SELEC 1");
    assert_eq!(found.position(), Some(Position { line: 1, column: 1 }), "{found}");
    let found = error("SELECT 'open");
    assert!(found.position().is_some(), "{found}");
    let found = error("SELECT 1; SELECT 2 3");
    assert_eq!(found.position(), Some(Position { line: 1, column: 20 }), "{found}");
    let found = error("SET threads");
    assert!(found.message().contains("expected = or TO"), "{found}");
}

#[test]
fn unknown_names_are_placed_and_corrected() {
    let found = error("SELECT r_nam FROM region");
    assert_eq!(found.message(), "no column named r_nam");
    assert_eq!((found.position(), found.hint()), (Some(Position { line: 1, column: 8 }), Some("did you mean r_name?")));

    let found = error("SELECT *\nFROM linitem");
    assert_eq!(found.message(), "no table or view named linitem");
    assert_eq!(
        (found.position(), found.hint()),
        (Some(Position { line: 2, column: 6 }), Some("did you mean lineitem?"))
    );

    let found = error("SELECT r_name,\n  uper(r_name) FROM region");
    assert_eq!(found.message(), "no function named uper");
    assert_eq!((found.position(), found.hint()), (Some(Position { line: 2, column: 3 }), Some("did you mean upper?")));

    let found = error("SELECT n.r_name FROM region r");
    assert_eq!(found.message(), "no table named n in FROM");
    assert_eq!(found.position(), Some(Position { line: 1, column: 8 }), "{found}");

    let found = error("SELECT n_name FROM nation a, nation b");
    assert_eq!((found.message(), found.hint()), ("column n_name is in a and in b", Some("qualify it: a.n_name")));
    assert_eq!(found.position(), Some(Position { line: 1, column: 8 }), "{found}");

    let found = error("FROM 'missing.parquet'");
    assert!(found.message().contains("no file matches 'missing.parquet'"), "{found}");
    assert_eq!(error("FROM red_parquet('x')").hint(), Some("did you mean read_parquet?"));
}

#[test]
fn other_mistakes_are_told_in_plain_words() {
    assert_eq!(error("CREATE TABLE t (a INT GENERATED ALWAYS AS (1))").kind(), ErrorKind::User);
    assert_eq!(error("INSERT INTO region VALUES (1, 'a', 'b') ON CONFLICT DO NOTHING").kind(), ErrorKind::User);
    assert_eq!(error("CREATE TABLE t AS SELECT 1 AS a, 2 AS A").kind(), ErrorKind::User);
    assert_eq!(error("INSERT INTO region VALUES (1, 'a', 'b', 2)").kind(), ErrorKind::User);
    assert_eq!(error("INSERT INTO regoin VALUES (1)").hint(), Some("did you mean region?"));
    assert_eq!(error("DELETE FROM region ORDER BY 1").kind(), ErrorKind::User);
    assert!(error("DELETE FROM nation").message().contains("is a file"));
    assert_eq!(error("SELECT sum(r_name) FROM region").kind(), ErrorKind::User);
    assert_eq!(error("SELECT r_name, count(*) FROM region").kind(), ErrorKind::User);
    assert_eq!(error("SELECT r_name + 1 FROM region WHERE r_name").kind(), ErrorKind::User);
}

#[test]
fn deep_statements_are_planned_or_refused() {
    let planner = tpch_planner();
    let chain = |terms: usize| {
        let terms: Vec<String> = (0..terms).map(|at| format!("r_regionkey + {at} > n_nationkey")).collect();
        format!("SELECT count(*) FROM region, nation WHERE {}", terms.join(" OR "))
    };
    planner.plan_query(&chain(5_000)).unwrap();
    let parentheses = format!("SELECT {}1{}", "(".repeat(10_000), ")".repeat(10_000));
    assert_eq!(error(&parentheses).kind(), ErrorKind::User);
    let parentheses = format!("SELECT {}1{}", "(".repeat(1_000), ")".repeat(1_000));
    assert_eq!(error(&parentheses).message(), "the statement is nested deeper than 1000 levels");
    let list: Vec<String> = (0..20_000).map(|at| at.to_string()).collect();
    planner.plan_query(&format!("FROM region WHERE r_regionkey IN ({})", list.join(", "))).unwrap();
}

#[test]
fn columns_are_named_as_written() {
    let aggregates = "SELECT count(*), avg(l_quantity), sum(l_tax) AS tax, 1 / 2 FROM lineitem ORDER BY count(*)";
    assert_eq!(columns(aggregates), ["count(*)", "avg(l_quantity)", "tax", "1 / 2"]);
    assert_eq!(columns("SELECT 1, 1"), ["1", "1"]);
    assert_eq!(columns("SELECT R_NAME, region.r_name, r_name FROM region"), ["r_name", "r_name", "r_name"]);
    assert_eq!(columns("SELECT 1 AS x, 2 AS x UNION ALL SELECT 3, 3"), ["x", "x"]);
    assert_eq!(columns("(SELECT 1 + 1) UNION SELECT 2 LIMIT 1"), ["1 + 1"]);
    assert_eq!(
        columns("SELECT 1 + 1, *, upper(r_name), r_name FROM region ORDER BY r_name"),
        ["1 + 1", "r_regionkey", "r_name", "r_comment", "upper(r_name)", "r_name"]
    );
    assert_eq!(columns("SELECT DISTINCT r_regionkey + 1 FROM region ORDER BY r_regionkey + 1")[0], "r_regionkey + 1");
    assert_eq!(columns("DESCRIBE region"), ["column_name", "column_type", "null", "key", "default", "extra"]);
    assert_eq!(columns("SHOW TABLES"), ["name"]);
    assert_eq!(columns("SUMMARIZE region")[..3], ["column_name", "column_type", "min"]);
}

#[test]
fn ungrouped_columns_are_named() {
    let found = error("SELECT r_name, count(*) FROM region");
    assert_eq!(found.message(), "column r_name must be in GROUP BY or inside of an aggregate");
    assert_eq!(found.position(), Some(Position { line: 1, column: 8 }));
}

#[test]
fn calls_of_other_dialects_are_understood() {
    assert_eq!(
        columns("SELECT year(o_orderdate), strpos('a', 'b'), instr('a', 'b') FROM orders")[0],
        "year(o_orderdate)"
    );
    assert_eq!(
        columns("SELECT if(r_regionkey > 1, 'a', 'b'), count_if(r_regionkey > 1) FROM region GROUP BY ALL").len(),
        2
    );
    assert_eq!(columns("SELECT approx_count_distinct(r_name) FROM region"), ["approx_count_distinct(r_name)"]);
}

//! Deep statements end in a tree or in a clear error, and never overflow a stack: tests run on two megabytes.

use godwit_syntax::{DEPTH_MAX, parse_script, with_stack};

use crate::shape;

/// Parses, copies, prints and drops; true if there is a tree.
fn survives(sql: &str) -> bool {
    match parse_script(sql) {
        Ok(parsed) => {
            assert!(parsed[0].depth <= DEPTH_MAX);
            let again = with_stack(parsed[0].depth, || {
                let printed = parsed[0].statement.to_string();
                let copy = parsed[0].clone();
                assert_eq!(copy.statement.to_string(), printed);
                Ok(parse_script(&printed).map(|again| assert_eq!(again[0].statement.to_string(), printed)))
            });
            // Printed parentheses may add a level.
            if let Err(error) = again.expect("there is a stack") {
                assert!(parsed[0].depth > DEPTH_MAX / 2 && error.code().as_str() == "54001", "{error}");
            }
            true
        }
        Err(error) => {
            assert_eq!(error.code().as_str(), "54001", "{}", error.locate(sql));
            assert!(error.span().is_some());
            false
        }
    }
}

type Nest = (&'static str, fn(usize) -> String);

const NESTS: &[Nest] = &[
    ("parentheses", |n| format!("SELECT {}1{}", "(".repeat(n), ")".repeat(n))),
    ("subqueries", |n| format!("SELECT {}1{}", "(SELECT ".repeat(n), ")".repeat(n))),
    ("query parentheses", |n| format!("{}SELECT 1{}", "(".repeat(n), ")".repeat(n))),
    ("set operations in parentheses", |n| format!("{}SELECT 1{}", "(SELECT 1 UNION ".repeat(n), ")".repeat(n))),
    ("tables", |n| format!("SELECT * FROM {}t{}", "(".repeat(n), ")".repeat(n))),
    ("subqueries of tables", |n| format!("{}t{}", "SELECT * FROM (".repeat(n) + "SELECT * FROM ", ")".repeat(n))),
    ("calls", |n| format!("SELECT {}1{}", "f(".repeat(n), ")".repeat(n))),
    ("lists", |n| format!("SELECT {}1{}", "[".repeat(n), "]".repeat(n))),
    ("structs", |n| format!("SELECT {}1{}", "{a: ".repeat(n), "}".repeat(n))),
    ("NOT", |n| format!("SELECT {}a", "NOT ".repeat(n))),
    ("minus", |n| format!("SELECT {}a", "- ".repeat(n))),
    ("CASE", |n| format!("SELECT {}1{}", "CASE WHEN ".repeat(n), " THEN 1 END".repeat(n))),
    ("CAST", |n| format!("SELECT {}1{}", "CAST(".repeat(n), " AS INT)".repeat(n))),
    ("casts", |n| format!("SELECT 1{}", "::INT".repeat(n))),
    ("slices", |n| format!("SELECT [1]{}", "[1:1]".repeat(n))),
    ("fields", |n| format!("SELECT (a){}", ".b".repeat(n))),
    ("methods", |n| format!("SELECT (a){}", ".b()".repeat(n))),
    ("array types", |n| format!("SELECT NULL::INT{}", "[]".repeat(n))),
    ("struct types", |n| format!("SELECT NULL::{}INT{}", "STRUCT(a ".repeat(n), ")".repeat(n))),
    ("sums", |n| format!("SELECT 1{}", " + 1".repeat(n))),
    ("concatenations", |n| format!("SELECT a{}", " || a".repeat(n))),
    ("IS NULL", |n| format!("SELECT a{}", " IS NULL".repeat(n))),
    ("COLLATE", |n| format!("SELECT a{}", " COLLATE c".repeat(n))),
    ("GROUPING SETS", |n| format!("SELECT 1 GROUP BY {}a{}", "GROUPING SETS (".repeat(n), ")".repeat(n))),
    ("EXPLAIN", |n| format!("{}SELECT 1", "EXPLAIN ".repeat(n))),
    ("PREPARE", |n| format!("{}SELECT 1", "PREPARE p AS ".repeat(n))),
    ("PIVOT", |n| format!("SELECT * FROM t{}", " PIVOT (sum(a) FOR b IN (1))".repeat(n))),
    ("joins to the right", |n| format!("SELECT * FROM a{}{}", " JOIN a".repeat(n), " ON true".repeat(n))),
    ("nested CTEs", |n| format!("{}SELECT 1{}", "WITH c AS (".repeat(n), ") SELECT 1".repeat(n))),
    ("lambdas", |n| format!("SELECT {}x{}", "f(x -> ".repeat(n), ")".repeat(n))),
    ("quantifiers", |n| format!("SELECT {}x{}", "a = ANY (".repeat(n), ")".repeat(n))),
    ("intervals", |n| format!("SELECT {}1{}", "INTERVAL (".repeat(n), ") DAY".repeat(n))),
    ("broken parentheses", |n| format!("SELECT {}1", "(".repeat(n))),
    ("windows", |n| format!("SELECT {}1{}", "sum(1) OVER (ORDER BY ".repeat(n), ")".repeat(n))),
    ("ascending chains in parentheses", |n| format!("SELECT {}1{}", "(".repeat(n), " + 1)".repeat(n))),
];

#[test]
fn nesting_ends_in_a_tree_or_a_clear_error() {
    for (name, nest) in NESTS {
        for depth in [10, 100, 200] {
            if *name != "broken parentheses" {
                assert!(survives(&nest(depth)), "{name}, {depth} levels");
            }
        }
        for depth in [DEPTH_MAX / 3, DEPTH_MAX / 2 - 10, DEPTH_MAX - 10, DEPTH_MAX, 10_000, 20_000] {
            if *name == "broken parentheses" && depth < DEPTH_MAX {
                continue;
            }
            let survived = survives(&nest(depth));
            assert!(!survived || depth <= DEPTH_MAX, "{name}, {depth} levels");
        }
    }
}

#[test]
fn long_chains_are_lists() {
    let n = 10_000;
    for sql in [
        format!("SELECT a{}", " AND a".repeat(n)),
        format!("SELECT a{}", " OR a = 1".repeat(n)),
        format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(n)),
        format!("SELECT 1{}", " INTERSECT SELECT 1 EXCEPT SELECT 2".repeat(n)),
        format!("SELECT * FROM t{}", " CROSS JOIN t".repeat(n)),
        format!("SELECT * FROM t{}", " JOIN t USING (a)".repeat(n)),
        format!("SELECT * FROM t{}", ", t".repeat(n)),
        format!("WITH c AS (SELECT 1){} SELECT 1", ", c AS (SELECT 1)".repeat(n)),
        format!("SELECT a IN (1{})", ", 1".repeat(n)),
        format!("SELECT CASE{} END", " WHEN a THEN b".repeat(n)),
    ] {
        assert!(survives(&sql), "{}", &sql[..40]);
        let parsed = parse_script(&sql).expect("it survives");
        assert!(parsed[0].depth < 20, "{} has {} levels", &sql[..40], parsed[0].depth);
    }
}

#[test]
fn chains_of_one_connective_are_flat_whatever_is_between() {
    let flat = parse_script("SELECT a AND b AND c OR d AND e OR f").expect("it is right");
    let nested = parse_script("SELECT (a AND b AND c) OR (d AND e) OR f").expect("it is right");
    assert_eq!(shape(&flat[0].statement), shape(&nested[0].statement));
    let left = parse_script("SELECT (a AND b) AND c").expect("it is right");
    assert_ne!(shape(&left[0].statement), shape(&parse_script("SELECT a AND b AND c").expect("right")[0].statement));
}

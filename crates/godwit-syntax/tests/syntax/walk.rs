//! Walks over trees reach every expression once.

use godwit_syntax::ast::{ExprKind, Query};
use godwit_syntax::{Child, parse_query};

fn columns_of(child: Child<'_>, found: &mut Vec<String>) {
    match child {
        Child::Expr(expr) => {
            if let ExprKind::Column(_) = expr.kind {
                found.push(expr.to_string());
            }
            expr.for_each_child(&mut |child| columns_of(child, found));
        }
        Child::Query(query) => query.for_each_child(&mut |child| columns_of(child, found)),
        Child::Write(_) => found.push("write".to_owned()),
        Child::File(path) => found.push(path.to_owned()),
    }
}

#[test]
fn every_column_is_found_once() {
    let sql = "
        WITH c AS (SELECT c1), w AS (DELETE FROM t RETURNING d)
        SELECT DISTINCT ON (c2) c3 + f(c4, x -> c5 ORDER BY c6) FILTER (WHERE c7) OVER (PARTITION BY c8 ORDER BY c9
            ROWS c10 PRECEDING), CASE c11 WHEN c12 THEN c13 ELSE c14 END, [c15, c16[c17], c18[c19:c20]], {a: c21},
            MAP {c22: c23}, [c24 FOR x IN c25 IF c26], c27 BETWEEN c28 AND c29, c30 IN (c31, c32), c33 IN (SELECT c34),
            c35 LIKE c36 ESCAPE c37, c38 = ANY (SELECT c39), (c40, c41), * REPLACE (c42 AS z), CAST(c43 AS INT)
        FROM g(c44), (SELECT c45) JOIN (p CROSS JOIN LATERAL (SELECT c46)) ON c47 AND c48
        WHERE EXISTS (VALUES (c49)) GROUP BY c50, ROLLUP (c51, (c52, c53)), GROUPING SETS ((), (c54, c55))
        HAVING NOT c56 WINDOW w AS (ORDER BY c57) QUALIFY c58 IS NULL
        UNION SELECT c59 FROM t PIVOT (sum(c60) FOR c61 IN (c62) GROUP BY c63)
        ORDER BY c64 LIMIT c65 OFFSET c66";
    let query: Query = parse_query(sql).unwrap_or_else(|error| panic!("{}", error.locate(sql)));
    let mut found = Vec::new();
    columns_of(Child::Query(&query), &mut found);
    let mut expected: Vec<String> = (1..=66).map(|number| format!("c{number}")).collect();
    expected.push("write".to_owned());
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

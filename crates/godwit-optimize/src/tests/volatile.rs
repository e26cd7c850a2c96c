//! Volatile values in whole queries: each is computed as often as it occurs in the text, however often its value is
//! used.

use crate::OptimizerSettings;
use crate::test_queries::Planner;

#[test]
fn a_volatile_value_is_computed_once() {
    let cases = [
        "SELECT count(*) FROM nation WHERE (random() * 10)::INTEGER BETWEEN 6 AND 5",
        "SELECT CASE (random() * 2)::INTEGER WHEN 0 THEN 'a' WHEN 1 THEN 'b' END AS c FROM nation",
        "SELECT nullif((random() * 2)::INTEGER, 1) AS n FROM nation",
        "SELECT random() AS r, count(*) FROM nation GROUP BY r ORDER BY r",
        "SELECT r, r + 1 FROM (SELECT random() AS r FROM nation) AS q WHERE r > 0.5 ORDER BY r",
        "WITH r AS MATERIALIZED (SELECT random() AS x) SELECT (SELECT x FROM r) = (SELECT x FROM r)",
        "WITH r AS (SELECT random() AS x) SELECT a.x, b.x FROM r AS a, r AS b",
    ];
    let planner = Planner::new();
    for sql in cases {
        let (plan, _) = planner.timed(sql, &OptimizerSettings::default()).unwrap();
        let shown = plan.display();
        assert_eq!(shown.matches("random()").count(), 1, "{sql}\n{shown}");
    }
}

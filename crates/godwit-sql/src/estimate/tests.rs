use super::Estimates;
use crate::test_tables::tpch_planner;

/// The estimated rows of a query.
fn rows(sql: &str) -> f64 {
    Estimates::new().of(&tpch_planner().plan_query(sql).unwrap()).rows
}

fn assert_near(sql: &str, truth: f64) {
    let estimate = rows(sql);
    assert!(estimate > truth / 1.5 && estimate < truth * 1.5, "{sql}: {estimate} rows estimated, {truth} true");
}

#[test]
fn filters_on_one_column_cut_its_interval() {
    assert_near("FROM lineitem WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1995-01-01'", 867_000.0);
    assert_near("FROM lineitem WHERE l_quantity < 24", 2_817_000.0);
    assert_near("FROM part WHERE p_size IN (1, 2, 3)", 12_000.0);
    assert_near("FROM part WHERE p_size BETWEEN 1 AND 50", 200_000.0);
    assert_near("FROM customer WHERE c_mktsegment = 'BUILDING'", 30_000.0);
    assert_near("FROM part WHERE p_brand <> 'Brand#45'", 192_000.0);
    assert_eq!(rows("FROM part WHERE p_size = 51").round(), 1.0);
    assert_eq!(rows("FROM part WHERE p_partkey = 5").round(), 1.0);
}

#[test]
fn disjunctions_narrow_what_both_sides_narrow() {
    assert_near("FROM nation WHERE n_name = 'FRANCE' OR n_name = 'GERMANY'", 2.0);
    // Both names are among two already, so half of the four combinations pass.
    let pairs = "FROM nation a, nation b WHERE a.n_name IN ('X', 'Y') AND b.n_name IN ('X', 'Y')
        AND (a.n_name = 'X' AND b.n_name = 'Y' OR a.n_name = 'Y' AND b.n_name = 'X')";
    assert_near(pairs, 2.0);
}

#[test]
fn joins_of_keys_keep_the_rows_of_the_referring_table() {
    assert_near("FROM lineitem, orders WHERE l_orderkey = o_orderkey", 6_000_000.0);
    assert_near("FROM lineitem, partsupp WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey", 6_000_000.0);
    assert_near("FROM lineitem, part WHERE l_partkey = p_partkey AND p_brand = 'Brand#12'", 240_000.0);
    assert_near(
        "FROM supplier, nation, region WHERE s_nationkey = n_nationkey AND n_regionkey = r_regionkey
        AND r_name = 'ASIA'",
        2_000.0,
    );
}

#[test]
fn semi_and_anti_joins_share_the_rows() {
    assert_near("FROM partsupp WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_brand = 'Brand#12')", 32_000.0);
    assert_near(
        "FROM orders WHERE o_orderdate < date '1992-02-01' AND EXISTS (FROM lineitem WHERE l_orderkey = o_orderkey)",
        19_000.0,
    );
    let all = rows("FROM customer");
    assert!(rows("FROM customer WHERE NOT EXISTS (FROM orders WHERE o_custkey = c_custkey)") < all);
}

#[test]
fn groups_are_bounded_by_domains_and_rows() {
    assert_near("SELECT l_suppkey, count(*) FROM lineitem GROUP BY l_suppkey", 10_000.0);
    assert_near("SELECT DISTINCT extract(year FROM o_orderdate) FROM orders", 8.0);
    assert_eq!(rows("SELECT count(*) FROM lineitem"), 1.0);
    assert!(rows("SELECT l_orderkey, l_comment, count(*) FROM lineitem GROUP BY ALL") <= 6_001_215.0);
    assert_eq!(rows("FROM orders LIMIT 7"), 7.0);
    assert_eq!(rows("FROM orders ORDER BY o_totalprice LIMIT 7"), 7.0);
    assert_eq!(rows("SELECT 1 UNION ALL SELECT 2"), 2.0);
}

#[test]
fn every_node_has_an_estimate_per_column() {
    use datafusion_common::tree_node::TreeNodeRecursion;
    let planner = tpch_planner();
    for number in 1..=22 {
        let plan = planner.plan_query(&crate::test_tables::tpch_query(number)).unwrap();
        let estimates = Estimates::new();
        plan.apply_with_subqueries(|node| {
            let estimate = estimates.of(node);
            assert_eq!(estimate.columns.len(), node.schema().fields().len(), "Q{number}: {}", node.display());
            assert!(estimate.rows.is_finite() && estimate.rows >= 0.0, "Q{number}: {}", node.display());
            assert!(estimate.columns.iter().all(|column| column.domain >= 1.0 && column.average_bytes > 0.0));
            Ok(TreeNodeRecursion::Continue)
        })
        .unwrap();
    }
}

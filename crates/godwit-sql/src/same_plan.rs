//! Do two plans give the same rows?

use std::sync::Arc;

use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_expr::{Expr, LogicalPlan};

use crate::{TableDefinition, table_of};

/// True if two plans are written the same, read the same version of each table, and have no function that differs from
/// call to call.
pub fn gives_same_rows(a: &LogicalPlan, b: &LogicalPlan) -> bool {
    // Plans don't compare the tables behind their scans.
    a == b && is_repeatable(a) && tables_of(a) == tables_of(b)
}

/// The addresses of the tables that a plan reads, in the order in which it names them; its subqueries' as well.
fn tables_of(plan: &LogicalPlan) -> Vec<*const TableDefinition> {
    let mut tables = Vec::new();
    let walked = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            tables.push(table_of(&scan.source).map_or(std::ptr::null(), |table| Arc::as_ptr(&table)));
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.expect("nothing fails on the way");
    tables
}

/// Does a plan give the same rows each time?
fn is_repeatable(plan: &LogicalPlan) -> bool {
    let mut is_repeatable = true;
    let walked = plan.apply_with_subqueries(|node| {
        is_repeatable &= !node.expressions().iter().any(Expr::is_volatile);
        Ok(if is_repeatable { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    });
    walked.expect("nothing fails on the way");
    is_repeatable
}

//! Subplans that a query has several times are computed once: a common table expression used twice, the same view in a
//! subquery.
//!
//! Only what aggregates, removes duplicates or computes windows is kept: that costs more than reading rows back, and what
//! scans and joins yield is often cut down by the filters of the joins above, which a shared result can't know.
//!
//! Two subplans are the same if they are written the same after optimization, read the same version of each table, and have
//! no function that differs from call to call. A subplan inside one that is shared anyway isn't shared by itself.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_expr::{Expr, LogicalPlan};
use godwit_common::Result;
use godwit_sql::{TableDefinition, table_of};
use godwit_vector::RowType;

use super::compress::{Compressed, CompressedColumns};
use super::stream::{Branch, Stream};
use super::{Needs, PhysicalPlanner, planning_error};
use crate::explain::ExplainNode;
use crate::shared_rows::SharedRows;

/// The subplans that occur more than once.
#[derive(Default)]
pub(super) struct SharedPlans {
    /// By hash of the plan: few have the same.
    plans: HashMap<u64, Vec<SharedPlan>>,
    /// Those that are planned.
    numbered: usize,
}

struct SharedPlan {
    plan: LogicalPlan,
    occurrences: usize,
    /// Once it is planned.
    result: Option<SharedResult>,
}

/// The rows of a subplan.
#[derive(Clone)]
struct SharedResult {
    rows: Arc<SharedRows>,
    /// The pipelines that compute them.
    pipelines: Vec<usize>,
    /// The node's columns that are there, all of them, as they are kept.
    stored: RowType,
    compressed: CompressedColumns,
}

impl SharedPlans {
    /// Looks for subplans that occur more than once in a plan, its subqueries included.
    pub(super) fn of(plan: &LogicalPlan) -> Result<Self> {
        let mut found = Self::default();
        found.count(plan)?;
        for plans in found.plans.values_mut() {
            plans.retain(|shared| shared.occurrences > 1);
        }
        Ok(found)
    }

    fn count(&mut self, plan: &LogicalPlan) -> Result<()> {
        plan.apply_with_subqueries(|node| {
            if !is_worth_keeping(node) {
                return Ok(TreeNodeRecursion::Continue);
            }
            let same = self.plans.entry(hash_of(node)).or_default();
            let known = same.iter_mut().find(|known| is_same(&known.plan, node));
            Ok(match known {
                Some(known) => {
                    known.occurrences += 1;
                    TreeNodeRecursion::Jump
                }
                None => {
                    same.push(SharedPlan { plan: node.clone(), occurrences: 1, result: None });
                    TreeNodeRecursion::Continue
                }
            })
        })
        .map_err(planning_error)?;
        Ok(())
    }

    fn get(&mut self, plan: &LogicalPlan) -> Option<&mut SharedPlan> {
        if !is_worth_keeping(plan) {
            return None;
        }
        self.plans.get_mut(&hash_of(plan))?.iter_mut().find(|shared| is_same(&shared.plan, plan))
    }
}

impl PhysicalPlanner<'_> {
    /// The rows of a subplan that occurs several times; `None` if it occurs just once.
    pub(super) fn plan_shared(&mut self, plan: &LogicalPlan, needs: &Needs) -> Result<Option<Stream>> {
        let Some(shared) = self.shared.get(plan) else { return Ok(None) };
        let (result, below) = match &shared.result {
            Some(result) => (result.clone(), None),
            None => {
                let (result, below) = self.compute_shared(plan)?;
                let shared = self.shared.get(plan).expect("it was there a moment ago");
                shared.result = Some(result.clone());
                (result, Some(below))
            }
        };
        let origin: Vec<usize> = needs.columns.iter().copied().collect();
        let source = result.rows.reader(origin.clone());
        let mut explain = ExplainNode::leaf(source.metrics().clone());
        explain.children.extend(below);
        let row_type = origin.iter().map(|&column| result.stored[column].clone()).collect();
        let branch = Branch::new(source, result.pipelines);
        let mut stream = Stream::new(plan.schema(), origin.clone(), row_type, branch, explain)?;
        let compressed: Vec<Option<Compressed>> =
            origin.iter().map(|&column| result.compressed[column].clone()).collect();
        self.decompress_stream(&mut stream, &compressed);
        Ok(Some(stream))
    }

    fn compute_shared(&mut self, plan: &LogicalPlan) -> Result<(SharedResult, ExplainNode)> {
        let mut stream = self.plan_alone(plan, Needs::everything(plan))?;
        stream.explain.estimated_rows.get_or_insert_with(|| self.estimates.of(plan).rows);
        assert!(stream.origin.iter().copied().eq(0..plan.schema().fields().len()), "every column was asked for");
        let bytes = self.bytes_of(plan, &stream.origin, f64::INFINITY);
        let compressed = self.compressions_of(plan, &stream, self.is_worth_compressing(bytes))?;
        if compressed.iter().any(Option::is_some) {
            self.compress_stream(&mut stream, &compressed, Vec::new());
        }
        let columns: Vec<_> = stream.row_type.iter().map(|column| column.physical).collect();
        self.shared.numbered += 1;
        let rows = SharedRows::new(&columns, self.query, format!("SharedRows {}", self.shared.numbered))?;
        let stored = stream.row_type.clone();
        let (pipelines, below) = self.close(stream, rows.sink());
        Ok((SharedResult { rows, pipelines, stored, compressed }, below))
    }
}

fn is_worth_keeping(node: &LogicalPlan) -> bool {
    matches!(node, LogicalPlan::Aggregate(_) | LogicalPlan::Distinct(_) | LogicalPlan::Window(_))
        && !node.schema().fields().is_empty()
}

fn hash_of(plan: &LogicalPlan) -> u64 {
    let mut hasher = DefaultHasher::new();
    plan.hash(&mut hasher);
    hasher.finish()
}

/// Do two plans give the same rows?
fn is_same(a: &LogicalPlan, b: &LogicalPlan) -> bool {
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

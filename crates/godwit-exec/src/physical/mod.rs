//! The physical planner: turns a plan into pipelines.
//!
//! The plan is walked from the root. Each node returns a [`Stream`]: open pipelines that deliver its rows. The parent
//! adds a transform to them, or closes them with a sink and starts new ones from there.
//!
//! ```text
//! Plan ─▶ lower/: nodes without an operator are replaced by others
//!
//!          needs: columns, join filters                       Aggregate.source ─▶ …          (new branch)
//! parent ─────────────────────────────▶ node   answers with   Scan ─▶ Filter ─▶ Join.probe ─▶ …
//!                                                             Join.rest ─▶ …                 (runs after the probe)
//! ```
//!
//! Passed down ([`Needs`]): the columns that the parent uses, so that joins and aggregates never copy a dead column,
//! and the filters that joins above will make from their build keys, on their way to the scan that can use them.

mod aggregate;
mod aggregate_call;
mod compress;
mod invariant;
mod join;
mod join_conditions;
mod limit;
mod lower;
mod pipelines;
mod recursive;
mod rows;
mod sample;
mod scan;
mod set_operation;
mod shared;
mod sort;
mod stored;
mod stream;
mod subquery;
#[cfg(test)]
mod tests;
mod unnest;
mod values;
mod window;
mod window_call;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use godwit_common::{Error, Result};
use godwit_expression::{Expression, PlanContext};
use godwit_optimize::Estimates;
use godwit_pipeline::{KeyFilter, QueryContext, Sink};
use godwit_plan::{ColumnId, ColumnSet, Expr, ExprKind, Node, NodeId, Plan};

use crate::explain::ExplainNode;
use pipelines::{Branch, JoinTable, Pipelines};
use recursive::Round;
use shared::{Kept, SharedResult};
use stream::Stream;

pub use pipelines::PhysicalPlan;

/// Plans a query whose result, the columns of [`Plan::output`], goes to `sink`. The plan must be unnested. `context`
/// has the values of its parameters.
pub fn plan_query(
    plan: &Plan,
    query: &Arc<QueryContext>,
    context: PlanContext,
    sink: Arc<dyn Sink>,
) -> Result<PhysicalPlan> {
    let plan = &*lower::lower(plan);
    let root = plan.root.ok_or_else(|| Error::internal("a plan without a root"))?;
    let mut planner = PhysicalPlanner {
        plan,
        query,
        estimates: Estimates::new(plan, None),
        context: context.with_work(query.clone()).with_names(plan.column_names()),
        pipelines: Pipelines::default(),
        shared: HashMap::new(),
        subqueries: HashMap::new(),
        rounds: Vec::new(),
        invariant: Arc::default(),
    };
    let columns: Vec<ColumnId> = plan.output.iter().map(|output| output.column).collect();
    let mut stream = planner.plan_node(root, Needs::columns(columns.iter().copied().collect()))?;
    let result = stream.positions_of(&columns)?.into_iter().map(|at| stream.column(at)).collect();
    stream.project(columns, result);
    let (_, explain) = planner.close(stream, sink);
    Ok(PhysicalPlan { pipelines: planner.pipelines.finish(), explain })
}

/// State while planning one query.
struct PhysicalPlanner<'a> {
    plan: &'a Plan,
    query: &'a Arc<QueryContext>,
    estimates: Estimates,
    context: PlanContext,
    pipelines: Pipelines,
    /// Subplans that are computed once, as far as they are planned.
    shared: HashMap<Kept, SharedResult>,
    /// The pipelines that compute a scalar subquery, by its number.
    subqueries: HashMap<usize, Vec<usize>>,
    /// The recursions whose steps enclose the current node, innermost last.
    rounds: Vec<Round>,
    /// Subplans whose rows are kept across the rounds of the innermost recursion.
    invariant: Arc<HashSet<Kept>>,
}

/// What a parent needs from a node's rows.
struct Needs {
    /// Columns of the node that are used. Others may be missing from the stream.
    columns: ColumnSet,
    /// Filters by which rows may be dropped.
    filters: Vec<WantedFilter>,
    /// This many rows are enough: the first ones of a sort, any ones of other nodes; `None`: all are needed.
    rows_enough: Option<u64>,
    /// Columns with numbers above which rows aren't needed.
    largest_wanted: Vec<(ColumnId, u64)>,
}

/// A join's filter that is being pushed down to the scan below its probe side.
#[derive(Clone)]
struct WantedFilter {
    /// Column of the node.
    column: ColumnId,
    /// The key of the filter, over a chunk with only that column, if it isn't the column itself.
    key: Option<Expression>,
    slot: Arc<OnceLock<Arc<KeyFilter>>>,
    /// The pipeline that fills the slot, unless it is already filled.
    filled_by: Option<usize>,
}

impl Needs {
    fn columns(columns: ColumnSet) -> Self {
        Self::new(columns, Vec::new())
    }

    fn new(columns: ColumnSet, filters: Vec<WantedFilter>) -> Self {
        Self { columns, filters, rows_enough: None, largest_wanted: Vec::new() }
    }

    /// The filters on columns that `column_below` maps to a column of the child.
    fn filters_below(&self, column_below: impl Fn(ColumnId) -> Option<ColumnId>) -> Vec<WantedFilter> {
        self.filters
            .iter()
            .filter_map(|filter| Some(WantedFilter { column: column_below(filter.column)?, ..filter.clone() }))
            .collect()
    }

    /// The filters on columns of a set, which a child passes on.
    fn filters_on(&self, columns: &ColumnSet) -> Vec<WantedFilter> {
        self.filters_below(|column| columns.contains(column).then_some(column))
    }
}

impl PhysicalPlanner<'_> {
    fn plan_node(&mut self, id: NodeId, needs: Needs) -> Result<Stream> {
        match self.invariant.contains(&Kept::Node(id)) {
            true => self.plan_kept(id, &needs),
            false => self.plan_anew(id, needs),
        }
    }

    fn plan_anew(&mut self, id: NodeId, needs: Needs) -> Result<Stream> {
        let plan = self.plan;
        let mut stream = match plan.node(id) {
            Node::Values(values) => self.plan_values(values, &needs)?,
            Node::Scan(scan) => self.plan_scan(scan, needs)?,
            Node::Project(project) => self.plan_project(project, needs)?,
            Node::Filter { input, conditions } => self.plan_filter(*input, conditions, needs)?,
            Node::Join(join) => self.plan_join(join, needs)?,
            Node::Aggregate(aggregate) => self.plan_aggregate(id, aggregate, needs)?,
            Node::Window(window) => self.plan_window(window, needs)?,
            Node::Sort { input, keys } => self.plan_sort(*input, keys, needs)?,
            Node::Limit(limit) => self.plan_limit(limit, needs)?,
            Node::SetOperation(operation) => self.plan_union(operation, needs)?,
            Node::Unnest(unnest) => self.plan_unnest(unnest, needs)?,
            Node::Use(shared) => self.plan_use(shared, &needs)?,
            Node::Recursive(recursive) => self.plan_recursive(recursive, &needs)?,
            Node::WorkingRows { of, columns } => self.plan_working_rows(*of, columns, &needs)?,
            Node::Sample(sample) => self.plan_sample(sample, needs)?,
        };
        let rows = self.estimates.rows(plan, id);
        stream.explain.estimated_rows.get_or_insert(rows);
        Ok(stream)
    }

    /// Ends a stream in `sink`; returns the indices of its pipelines.
    fn close(&mut self, stream: Stream, sink: Arc<dyn Sink>) -> (Vec<usize>, ExplainNode) {
        let indices = self.pipelines.reserve(stream.branches.len());
        let explain = self.close_as(&indices, stream, &sink);
        (indices, explain)
    }

    /// Ends a stream, one reserved index per branch.
    fn close_as(&mut self, indices: &[usize], stream: Stream, sink: &Arc<dyn Sink>) -> ExplainNode {
        self.pipelines.close(indices, stream.branches, sink, self.query.settings.compaction);
        stream.explain
    }

    /// Compiles an expression over the rows of `stream`, whose pipelines will wait for its subqueries.
    fn compile(&mut self, expr: &Expr, stream: &mut Stream) -> Result<Expression> {
        let compiled = Expression::compile(expr, stream.layout(), &self.context)?;
        self.run_subqueries_before(stream)?;
        Ok(compiled)
    }

    fn compile_all<'e>(
        &mut self,
        exprs: impl IntoIterator<Item = &'e Expr>,
        stream: &mut Stream,
    ) -> Result<Vec<Expression>> {
        exprs.into_iter().map(|expr| self.compile(expr, stream)).collect()
    }

    /// Expressions as `EXPLAIN` shows them.
    fn show<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>, separator: &str) -> String {
        exprs.into_iter().map(|expr| self.show_one(expr)).collect::<Vec<_>>().join(separator)
    }

    /// An expression without enclosing parentheses where they aren't needed.
    fn show_one(&self, expr: &Expr) -> String {
        let text = self.plan.explain_expr(expr);
        let is_operation = matches!(
            expr.kind,
            ExprKind::Compare(..)
                | ExprKind::Arithmetic(..)
                | ExprKind::Not(_)
                | ExprKind::IsNull(_)
                | ExprKind::InList(..)
                | ExprKind::Match { .. }
        );
        let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).filter(|_| is_operation);
        inner.map(str::to_owned).unwrap_or(text)
    }

    /// Sort keys as `EXPLAIN` shows them.
    fn show_keys(&self, keys: &[godwit_plan::SortKey]) -> String {
        let key = |key: &godwit_plan::SortKey| {
            let direction = if key.descending { "DESC" } else { "ASC" };
            let nulls = if key.nulls_first { "FIRST" } else { "LAST" };
            format!("{} {direction} NULLS {nulls}", self.show_one(&key.expr))
        };
        keys.iter().map(key).collect::<Vec<_>>().join(", ")
    }
}

/// The columns that expressions use.
fn columns_of<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> ColumnSet {
    let mut columns = ColumnSet::new();
    exprs.into_iter().for_each(|expr| columns.union_with(&expr.columns()));
    columns
}

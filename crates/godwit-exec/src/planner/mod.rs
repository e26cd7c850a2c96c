//! From a logical plan to pipelines.
//!
//! The plan is walked from the root. Each node answers with a [`Stream`]: open pipelines that deliver its rows, to which
//! the parent adds a transform, or which it closes with a sink to start new ones from.
//!
//! ```text
//!          needs: columns, join filters                       Aggregate.source ─▶ …          (new branch)
//! parent ─────────────────────────────▶ node   answers with   Scan ─▶ Filter ─▶ Join.probe ─▶ …
//!                                                             Join.rest ─▶ …                 (runs after the probe)
//! ```
//!
//! What travels down ([`Needs`]): which columns the parent uses, so that joins and aggregates never copy a dead one, and
//! the filters that joins above will make of their build keys, on their way to the scan that can use them.

mod aggregate;
mod compress;
mod join;
mod memory_order;
mod scan;
mod shared;
mod simple;
mod stream;
mod subquery;
mod unnest;
mod window;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use datafusion_common::DFSchema;
use datafusion_expr::{Expr, LogicalPlan};
use godwit_common::{Error, Result};
use godwit_expression::{CompileContext, Expression};
use godwit_sql::{Estimates, Repeat};

use crate::QueryContext;
use crate::compaction::insert_compactors;
use crate::explain::ExplainNode;
use crate::key_filter::KeyFilter;
use crate::operators::NothingSink;
use crate::pipeline::{Pipeline, Sink, Source};
use memory_order::JoinTable;
use shared::SharedPlans;
pub(crate) use simple::common_physical;
use stream::Stream;

/// Pipelines in dependency order, and the tree that `EXPLAIN` shows.
pub struct PhysicalPlan {
    /// What the scheduler runs.
    pub pipelines: Vec<Pipeline>,
    /// The operators as a tree.
    pub explain: ExplainNode,
}

impl PhysicalPlan {
    /// The least memory in which the plan is expected to finish: what the pipeline that takes most pins where memory is
    /// short. Pipelines run one after the other then, and what they leave for each other can be evicted. A quarter is added
    /// for what is held for moments, between two pages.
    pub fn pinned_bytes(&self, workers: usize) -> u64 {
        self.pipelines.iter().map(|pipeline| pipeline.pinned_bytes(workers)).max().map_or(0, |most| most + most / 4)
    }
}

/// Plans a query whose rows end in `sink`.
pub fn plan_query(
    plan: &LogicalPlan,
    query: &Arc<QueryContext>,
    estimates: &Estimates,
    sink: Arc<dyn Sink>,
) -> Result<PhysicalPlan> {
    let mut planner = PhysicalPlanner {
        query,
        estimates,
        context: CompileContext::default(),
        pipelines: Vec::new(),
        tables: Vec::new(),
        probed_together: Vec::new(),
        shared: SharedPlans::of(plan)?,
        subqueries: HashMap::new(),
    };
    let stream = planner.plan(plan, Needs::everything(plan))?;
    let (_, explain) = planner.close(stream, sink);
    planner.order_tables();
    let pipelines =
        planner.pipelines.into_iter().map(|slot| slot.expect("every reserved pipeline is closed")).collect();
    Ok(PhysicalPlan { pipelines, explain })
}

/// State of planning one query.
struct PhysicalPlanner<'a> {
    query: &'a Arc<QueryContext>,
    estimates: &'a Estimates,
    context: CompileContext,
    /// By index; `None` where an index is reserved for a pipeline that is still open.
    pipelines: Vec<Option<Pipeline>>,
    /// The tables of all hash joins.
    tables: Vec<JoinTable>,
    /// For each closed pipeline that probes several tables: which.
    probed_together: Vec<Vec<usize>>,
    /// What is computed once though the plan has it several times.
    shared: SharedPlans,
    /// The pipelines that compute a scalar subquery, by its number.
    subqueries: HashMap<usize, Vec<usize>>,
}

/// What a parent wants of a node's rows.
struct Needs {
    /// Columns of the node's schema that are used. Others may be missing from the stream.
    columns: BTreeSet<usize>,
    /// Filters that rows may be dropped by.
    filters: Vec<WantedFilter>,
    /// So many rows are enough, whichever they are; `None`: all are wanted.
    rows_enough: Option<u64>,
}

/// A join's filter on its way to the scan below its probe side.
#[derive(Clone)]
struct WantedFilter {
    /// Column of the node's schema.
    column: usize,
    /// What the filter is about, over a chunk of the column alone, if not the column's values.
    key: Option<Expression>,
    slot: Arc<OnceLock<Arc<KeyFilter>>>,
    /// The pipeline that fills the slot, unless it is filled already.
    filled_by: Option<usize>,
}

impl Needs {
    fn everything(plan: &LogicalPlan) -> Self {
        Self::columns((0..plan.schema().fields().len()).collect())
    }

    fn columns(columns: BTreeSet<usize>) -> Self {
        Self::new(columns, Vec::new())
    }

    fn new(columns: BTreeSet<usize>, filters: Vec<WantedFilter>) -> Self {
        Self { columns, filters, rows_enough: None }
    }

    /// The filters on columns for which `column_below` knows the column of the child.
    fn filters_below(&self, column_below: impl Fn(usize) -> Option<usize>) -> Vec<WantedFilter> {
        self.filters
            .iter()
            .filter_map(|filter| Some(WantedFilter { column: column_below(filter.column)?, ..filter.clone() }))
            .collect()
    }
}

impl PhysicalPlanner<'_> {
    fn plan(&mut self, plan: &LogicalPlan, needs: Needs) -> Result<Stream> {
        let mut stream = match self.plan_shared(plan, &needs)? {
            Some(stream) => stream,
            None => self.plan_alone(plan, needs)?,
        };
        stream.explain.estimated_rows.get_or_insert_with(|| self.estimates.of(plan).rows);
        Ok(stream)
    }

    /// Plans a node whatever other parts of the plan are like it.
    fn plan_alone(&mut self, plan: &LogicalPlan, needs: Needs) -> Result<Stream> {
        match plan {
            LogicalPlan::TableScan(scan) => self.plan_scan(scan, needs),
            LogicalPlan::Projection(projection) => self.plan_projection(projection, needs),
            LogicalPlan::Filter(filter) => self.plan_filter(filter, needs),
            LogicalPlan::Join(join) => self.plan_join(join, needs),
            LogicalPlan::Aggregate(aggregate) => self.plan_aggregate(aggregate, needs),
            LogicalPlan::Distinct(distinct) => self.plan_distinct(distinct, needs),
            LogicalPlan::Sort(sort) => self.plan_sort(sort, needs),
            LogicalPlan::Limit(limit) => self.plan_limit(limit, needs),
            LogicalPlan::Window(window) => self.plan_window(window, needs),
            LogicalPlan::Union(union) => self.plan_union(union, needs),
            LogicalPlan::SubqueryAlias(alias) => self.plan_renamed(&alias.input, &alias.schema, needs),
            LogicalPlan::Subquery(subquery) => self.plan(&subquery.subquery, needs),
            LogicalPlan::Unnest(unnest) => self.plan_unnest(unnest, needs),
            LogicalPlan::Values(values) => self.plan_values(values),
            LogicalPlan::EmptyRelation(empty) => self.plan_empty(empty),
            LogicalPlan::Extension(extension) => match Repeat::of(extension) {
                Some(repeat) => self.plan_repeat(repeat, needs),
                None => Err(unsupported_node(plan)),
            },
            other => Err(unsupported_node(other)),
        }
    }

    /// Indices for pipelines that others may already wait for, to be closed with [`Self::close_as`].
    fn reserve(&mut self, count: usize) -> Vec<usize> {
        let first = self.pipelines.len();
        self.pipelines.resize_with(first + count, || None);
        (first..first + count).collect()
    }

    /// Ends a stream in `sink`; returns the indices of its pipelines.
    fn close(&mut self, stream: Stream, sink: Arc<dyn Sink>) -> (Vec<usize>, ExplainNode) {
        let indices = self.reserve(stream.branches.len());
        let explain = self.close_as(&indices, stream, sink);
        (indices, explain)
    }

    /// Ends a stream, one reserved index per branch.
    fn close_as(&mut self, indices: &[usize], stream: Stream, sink: Arc<dyn Sink>) -> ExplainNode {
        assert_eq!(indices.len(), stream.branches.len());
        for (&index, branch) in indices.iter().zip(stream.branches) {
            if branch.tables.len() > 1 {
                self.probed_together.push(branch.tables);
            }
            let follows = branch.follows.iter().map(|&earlier| indices[earlier]);
            let compaction = self.query.settings.compaction;
            self.pipelines[index] = Some(Pipeline {
                depends_on: branch.depends_on.into_iter().chain(follows).collect(),
                transforms: insert_compactors(&branch.source, branch.transforms, compaction),
                source: branch.source,
                sink: sink.clone(),
            });
        }
        stream.explain
    }

    /// A pipeline of work that yields no rows, such as building a table.
    fn close_alone(&mut self, index: usize, source: Arc<dyn Source>, depends_on: Vec<usize>) {
        let sink = NothingSink::new("Nothing");
        self.pipelines[index] = Some(Pipeline { source, transforms: Vec::new(), sink, depends_on });
    }

    /// Compiles an expression over the rows of `stream`, whose pipelines will wait for its subqueries.
    fn compile(&mut self, expr: &Expr, stream: &mut Stream) -> Result<Expression> {
        let compiled = Expression::compile(expr, &stream.schema, &stream.row_type, &self.context)?;
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
}

/// Columns of `schema` that an expression refers to.
fn columns_of(expr: &Expr, schema: &DFSchema) -> Result<BTreeSet<usize>> {
    expr.column_refs().into_iter().map(|column| schema.index_of_column(column).map_err(planning_error)).collect()
}

fn columns_of_all<'e>(exprs: impl IntoIterator<Item = &'e Expr>, schema: &DFSchema) -> Result<BTreeSet<usize>> {
    let mut columns = BTreeSet::new();
    for expr in exprs {
        columns.extend(columns_of(expr, schema)?);
    }
    Ok(columns)
}

/// The column that an expression passes on unchanged, if it does.
fn passed_column(expr: &Expr, schema: &DFSchema) -> Option<usize> {
    match expr {
        Expr::Alias(alias) => passed_column(&alias.expr, schema),
        Expr::Column(column) => schema.maybe_index_of_column(column),
        _ => None,
    }
}

/// Errors of the planner crates at this stage are bugs: the statement was already checked.
fn planning_error(error: datafusion_common::DataFusionError) -> Error {
    Error::internal(format!("planning: {}", error.strip_backtrace()))
}

fn unsupported_node(plan: &LogicalPlan) -> Error {
    let what = match plan {
        LogicalPlan::RecursiveQuery(_) => "recursive common table expressions".to_owned(),
        LogicalPlan::Copy(_) => "COPY".to_owned(),
        LogicalPlan::Dml(_) => "INSERT, UPDATE and DELETE".to_owned(),
        LogicalPlan::Ddl(_) => "this CREATE or DROP statement".to_owned(),
        other => other.display().to_string(),
    };
    Error::unsupported(what)
}

//! Recursive common table expressions.
//!
//! The rows of all rounds have the natural types of their columns: what a round's values are proven to be says nothing of the
//! next one's. The step is planned when a round runs, over the rows that are known then. What is the same in all rounds
//! (invariant.rs) is computed by the first.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion_common::ScalarValue;
use godwit_common::Result;
use godwit_expression::{Expression, PlanContext, column_type};
use godwit_optimize::Estimates;
use godwit_plan::{ColumnId, Expr, ExprKind, NodeId, Plan, Recursive};
use godwit_vector::RowType;
use parking_lot::Mutex;

use super::invariant::invariants;
use super::lower::key_of;
use super::shared::{Kept, SharedResult};
use super::stored::{CompressedColumns, as_stored, nested_columns};
use super::stream::Stream;
use super::{Branch, Needs, PhysicalPlanner, Pipelines};
use crate::QueryContext;
use crate::explain::ExplainNode;
use crate::pipeline::Pipeline;
use crate::recursion::{NewRows, RecursionSource, SeenRows, query_of_rounds};
use crate::shared_rows::SharedRows;

/// The rows of a recursion's last round.
#[derive(Clone)]
pub(super) struct Round {
    /// Names the recursion.
    of: ColumnId,
    rows: Arc<SharedRows>,
    kept: Arc<KeptColumns>,
}

/// How rounds keep their rows.
struct KeptColumns {
    types: RowType,
    /// Lists, structs and maps are bytes.
    compressed: CompressedColumns,
    /// The rows of earlier rounds, if equal ones are dropped.
    seen: Option<Arc<SeenRows>>,
}

impl PhysicalPlanner<'_> {
    pub(super) fn plan_recursive(&mut self, recursive: &Recursive, needs: &Needs) -> Result<Stream> {
        let types = recursive.columns.iter().map(|&column| column_type(&self.plan.column(column).ty, true));
        let types: RowType = types.collect::<Result<_>>()?;
        let compressed = nested_columns(&types);
        let seen = if recursive.all { None } else { Some(SeenRows::new(&self.query.memory)?) };
        let kept = Arc::new(KeptColumns { types, compressed, seen });
        let (base, first) = self.round(&recursive.base, &kept)?;
        let (done, below) = self.close(base, first.sink());

        let query = query_of_rounds(self.query);
        let step = Step {
            plan: Arc::new(self.plan.clone()),
            step: recursive.step.clone(),
            of: recursive.working,
            kept: kept.clone(),
            query: query.clone(),
            rounds: self.rounds.clone(),
            invariant: Arc::new(invariants(self.plan, recursive.step.0)),
            results: Mutex::default(),
        };
        let context = self.context.again();
        // What the step is can be shown, and told to be unsupported, before there is a round.
        let mut shown = step.plan(&first, &context)?.explain;
        shown.role = Some("step");
        let plan_round = move |rows: &Arc<SharedRows>| {
            let round = step.plan(rows, &context)?;
            step.keep(round.results);
            Ok((round.pipelines, round.rows))
        };
        let wanted: Vec<usize> =
            (0..recursive.columns.len()).filter(|&at| needs.columns.contains(recursive.columns[at])).collect();
        let source = RecursionSource::new(first, wanted.clone(), Arc::new(plan_round), query);
        let mut explain = ExplainNode::leaf(crate::pipeline::Source::metrics(&*source).clone()).above(below);
        explain.children.push(shown);
        let columns = wanted.iter().map(|&at| recursive.columns[at]).collect();
        Ok(self.kept_rows(columns, &wanted, &kept, Branch::new(source, done), explain))
    }

    pub(super) fn plan_working_rows(&mut self, of: ColumnId, columns: &[ColumnId], needs: &Needs) -> Result<Stream> {
        let round = self.rounds.iter().rev().find(|round| round.of == of).cloned();
        let round = round.expect("the rows of a recursion are read in its step");
        let wanted: Vec<usize> = (0..columns.len()).filter(|&at| needs.columns.contains(columns[at])).collect();
        let source = round.rows.reader(wanted.clone());
        let explain = ExplainNode::leaf(source.metrics().clone());
        let columns = wanted.iter().map(|&at| columns[at]).collect();
        Ok(self.kept_rows(columns, &wanted, &round.kept, Branch::new(source, []), explain))
    }

    /// The columns `wanted` of rows that rounds keep, as they are elsewhere.
    fn kept_rows(
        &self,
        columns: Vec<ColumnId>,
        wanted: &[usize],
        kept: &KeptColumns,
        branch: Branch,
        explain: ExplainNode,
    ) -> Stream {
        let stored = wanted.iter().map(|&at| match &kept.compressed[at] {
            Some(compressed) => {
                let column = Expression::column(at, kept.types[at].clone());
                compressed.compression.compress(&column).output().clone()
            }
            None => kept.types[at].clone(),
        });
        let mut stream = Stream::new(columns, stored.collect(), branch, explain);
        let compressed = wanted.iter().map(|&at| kept.compressed[at].clone()).collect();
        self.decompress_stream(&mut stream, &compressed);
        stream
    }

    /// The rows of a round, and where they go.
    fn round(
        &mut self,
        (node, columns): &(NodeId, Vec<ColumnId>),
        kept: &KeptColumns,
    ) -> Result<(Stream, Arc<SharedRows>)> {
        let mut stream = self.plan_node(*node, Needs::columns(columns.iter().copied().collect()))?;
        let values = stream
            .positions_of(columns)?
            .into_iter()
            .zip(&kept.types)
            .map(|(at, ty)| stream.column(at).with_physical(ty.physical));
        let values = values.collect();
        stream.project(columns.clone(), values);
        let new_rows = match &kept.seen {
            Some(seen) => Some(NewRows::new(self.equality_keys(columns, &mut stream)?, seen.clone())?),
            None => None,
        };
        let constant = match columns.is_empty() {
            // Rows have a column at least.
            true => vec![Expression::literal(&ScalarValue::Boolean(Some(true)))?],
            false => Vec::new(),
        };
        if let Some(new_rows) = new_rows {
            stream.transform(new_rows);
        }
        if !constant.is_empty() || kept.compressed.iter().any(Option::is_some) {
            self.compress_stream(&mut stream, &kept.compressed, constant);
        }
        let physical: Vec<_> = stream.row_type.iter().map(|column| column.physical).collect();
        let rows = SharedRows::kept(&physical, self.query, "Rows of the round before".to_owned())?;
        Ok((stream, rows))
    }

    /// What is equal where the values of columns are, none of it nested.
    fn equality_keys(&mut self, columns: &[ColumnId], stream: &mut Stream) -> Result<Vec<Expression>> {
        let key = |&column: &ColumnId| {
            let value = Expr::new(ExprKind::Column(column), self.plan.column(column).ty.clone(), true);
            Ok(as_stored(&self.compile(&key_of(value), stream)?))
        };
        columns.iter().map(key).collect()
    }
}

/// The step of a recursion, to be planned for each round.
struct Step {
    plan: Arc<Plan>,
    step: (NodeId, Vec<ColumnId>),
    of: ColumnId,
    kept: Arc<KeptColumns>,
    query: Arc<QueryContext>,
    /// Of the recursions around.
    rounds: Vec<Round>,
    /// What is the same in all rounds.
    invariant: Arc<HashSet<Kept>>,
    /// Its rows, once a round has been started that computes them.
    results: Mutex<HashMap<Kept, SharedResult>>,
}

/// A round that can be run.
struct PlannedRound {
    pipelines: Vec<Pipeline>,
    /// Where they leave their rows.
    rows: Arc<SharedRows>,
    explain: ExplainNode,
    /// What they keep, and what they read of earlier rounds.
    results: HashMap<Kept, SharedResult>,
}

impl Step {
    /// A round over these rows.
    fn plan(&self, rows: &Arc<SharedRows>, context: &PlanContext) -> Result<PlannedRound> {
        let round = Round { of: self.of, rows: rows.clone(), kept: self.kept.clone() };
        let mut planner = PhysicalPlanner {
            plan: &self.plan,
            query: &self.query,
            estimates: Estimates::new(&self.plan),
            context: context.again(),
            pipelines: Pipelines::default(),
            shared: self.results.lock().clone(),
            subqueries: HashMap::new(),
            rounds: self.rounds.iter().cloned().chain([round]).collect(),
            invariant: self.invariant.clone(),
        };
        let (stream, rows) = planner.round(&self.step, &self.kept)?;
        let (_, explain) = planner.close(stream, rows.sink());
        Ok(PlannedRound { pipelines: planner.pipelines.finish(), rows, explain, results: planner.shared })
    }

    /// Keeps for later rounds what is the same in them. They start when the round that computes it has ended.
    fn keep(&self, results: HashMap<Kept, SharedResult>) {
        let kept = results.into_iter().filter(|(kept, _)| self.invariant.contains(kept));
        *self.results.lock() = kept.map(|(kept, result)| (kept, result.complete())).collect();
    }
}

//! Recursive common table expressions.
//!
//! The rows of all rounds have the natural types of their columns: value ranges proven for one round don't hold for the
//! next. Most operators can run only once, so the step is planned again for each round, unless it has none of these.
//! Parts that are the same in all rounds (invariant.rs) are computed by the first one.
//!
//! With UNION the step is planned in one of two forms: as it is, with [`NewRows`] at its end, or as a join with all
//! rows of earlier rounds, which drops duplicates of those.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use godwit_common::Result;
use godwit_expression::{Expression, PlanContext};
use godwit_optimize::Estimates;
use godwit_pipeline::{Operator, Pipeline, QueryContext};
use godwit_plan::{ColumnId, Expr, ExprKind, NodeId, Plan, Recursive};
use godwit_vector::sql::column_type;
use godwit_vector::{ColumnType, PhysicalType, RowType};
use parking_lot::Mutex;

use super::invariant::invariants;
use super::lower::{self, key_of};
use super::shared::{Kept, SharedResult};
use super::stored::{CompressedColumns, as_stored, nested_columns};
use super::stream::Stream;
use super::{Branch, Needs, PhysicalPlanner, Pipelines};
use crate::explain::ExplainNode;
use crate::recursion::{Comparison, NewRows, RecursionSource, RoundKind, RoundRows, SeenRows, query_of_rounds};
use crate::shared_rows::SharedRows;

/// Rows of a recursion that its step reads: those of the last round, or of all earlier ones.
#[derive(Clone)]
pub(super) struct Round {
    /// Their id in [`godwit_plan::Node::WorkingRows`].
    of: ColumnId,
    rows: Arc<SharedRows>,
    kept: Arc<KeptColumns>,
}

/// The form in which rounds keep their rows.
struct KeptColumns {
    types: RowType,
    /// Compressions: lists, structs and maps are stored as bytes.
    compressed: CompressedColumns,
}

impl KeptColumns {
    fn new(types: RowType) -> Self {
        Self { compressed: nested_columns(&types), types }
    }

    /// The type of a column as it is stored in rows.
    fn stored(&self, at: usize) -> ColumnType {
        match &self.compressed[at] {
            Some(compressed) => {
                let column = Expression::column(at, self.types[at].clone());
                compressed.compression.compress(&column).output().clone()
            }
            None => self.types[at].clone(),
        }
    }

    /// The physical types of rows. They have at least one column.
    fn physical(&self) -> Vec<PhysicalType> {
        match self.types.is_empty() {
            true => vec![PhysicalType::Bool],
            false => (0..self.types.len()).map(|at| self.stored(at).physical).collect(),
        }
    }
}

impl PhysicalPlanner<'_> {
    pub(super) fn plan_recursive(&mut self, recursive: &Recursive, needs: &Needs) -> Result<Stream> {
        let types = recursive.columns.iter().map(|&column| column_type(&self.plan.column(column).ty, true));
        let kept = Arc::new(KeptColumns::new(types.collect::<Result<_>>()?));
        let rows = self.round_rows(recursive, &kept)?;
        let mut base = self.plan_round(&recursive.base, &kept)?;
        if let Some(seen) = &rows.seen {
            self.drop_known(&recursive.base.1, &mut base, seen, RoundKind::First)?;
        }
        self.store(&mut base, &kept)?;
        let (done, below) = self.close(base, rows.working.clone());

        let query = query_of_rounds(self.query);
        let step = Step::new(self, recursive, rows.clone(), kept.clone(), query.clone());
        // So that the step can be shown, or reported as unsupported, before there is a round.
        let mut shown = step.plan_first(&self.context)?;
        shown.role = Some("step");
        let context = self.context.again();
        let plan_round = move |comparison| step.pipelines(comparison, &context);
        let wanted: Vec<usize> =
            (0..recursive.columns.len()).filter(|&at| needs.columns.contains(recursive.columns[at])).collect();
        let width = recursive.columns.len();
        let source = RecursionSource::new(rows, width, wanted.clone(), Arc::new(plan_round), query);
        let mut explain = ExplainNode::leaf(source.metrics().clone()).above(below);
        explain.children.push(shown);
        let columns = wanted.iter().map(|&at| recursive.columns[at]).collect();
        Ok(self.kept_rows(columns, &wanted, &kept, Branch::new(source, done), explain))
    }

    /// The rows that rounds will read and produce.
    fn round_rows(&self, recursive: &Recursive, kept: &KeptColumns) -> Result<RoundRows> {
        let physical = kept.physical();
        let seen = match recursive.all {
            true => None,
            false => Some(SeenRows::new(&physical, self.query)?),
        };
        let working = SharedRows::kept(&physical, self.query, "Rows of the round before".to_owned())?;
        let made = working.alike(self.query, "Rows of the round".to_owned())?;
        Ok(RoundRows { working, made, seen })
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

    /// The columns `wanted` of rows that rounds keep, in their usual form.
    fn kept_rows(
        &self,
        columns: Vec<ColumnId>,
        wanted: &[usize],
        kept: &KeptColumns,
        branch: Branch,
        explain: ExplainNode,
    ) -> Stream {
        let stored = wanted.iter().map(|&at| kept.stored(at));
        let mut stream = Stream::new(columns, stored.collect(), branch, explain);
        let compressed = wanted.iter().map(|&at| kept.compressed[at].clone()).collect();
        self.decompress_stream(&mut stream, &compressed);
        stream
    }

    /// The rows of a round, with the types that all rounds have.
    fn plan_round(&mut self, (node, columns): &(NodeId, Vec<ColumnId>), kept: &KeptColumns) -> Result<Stream> {
        let mut stream = self.plan_node(*node, Needs::columns(columns.iter().copied().collect()))?;
        let values = stream
            .positions_of(columns)?
            .into_iter()
            .zip(&kept.types)
            .map(|(at, ty)| stream.column(at).with_physical(ty.physical));
        let values = values.collect();
        stream.project(columns.clone(), values);
        Ok(stream)
    }

    /// Drops rows that earlier rounds have produced.
    fn drop_known(
        &mut self,
        columns: &[ColumnId],
        stream: &mut Stream,
        seen: &Arc<SeenRows>,
        round: RoundKind,
    ) -> Result<()> {
        // A key that is equal if and only if the values are, without nested values.
        let key = |&column: &ColumnId| {
            let value = Expr::new(ExprKind::Column(column), self.plan.column(column).ty.clone(), true);
            Ok(as_stored(&self.compile(&key_of(value), stream)?))
        };
        let keys = columns.iter().map(key).collect::<Result<_>>()?;
        stream.transform(NewRows::new(keys, seen.clone(), round)?);
        Ok(())
    }

    /// Converts the rows of a round to the form in which they are kept.
    fn store(&mut self, stream: &mut Stream, kept: &KeptColumns) -> Result<()> {
        let constant = match kept.types.is_empty() {
            true => vec![Expression::boolean(true)],
            false => Vec::new(),
        };
        if !constant.is_empty() || kept.compressed.iter().any(Option::is_some) {
            self.compress_stream(stream, &kept.compressed, constant);
        }
        Ok(())
    }
}

/// The step of a recursion, to be planned for each round.
struct Step {
    plan: Arc<Plan>,
    /// The step as it is.
    step: (NodeId, Vec<ColumnId>),
    /// With UNION: its rows that didn't exist before, and the plan's id for those that did.
    difference: Option<((NodeId, Vec<ColumnId>), ColumnId)>,
    of: ColumnId,
    rows: RoundRows,
    kept: Arc<KeptColumns>,
    query: Arc<QueryContext>,
    /// The rounds of enclosing recursions.
    rounds: Vec<Round>,
    /// The subplans that are the same in all rounds.
    invariant: Arc<HashSet<Kept>>,
    /// Their rows, once a round that computes them has been started.
    results: Mutex<HashMap<Kept, SharedResult>>,
    /// The next round, if it is already planned and detects new rows as they arrive.
    next: Mutex<Option<PlannedRound>>,
}

/// A round that can be run.
struct PlannedRound {
    pipelines: Vec<Pipeline>,
    /// The results that its pipelines keep, and those of earlier rounds that they read.
    results: HashMap<Kept, SharedResult>,
}

impl Step {
    fn new(
        planner: &PhysicalPlanner<'_>,
        recursive: &Recursive,
        rows: RoundRows,
        kept: Arc<KeptColumns>,
        query: Arc<QueryContext>,
    ) -> Self {
        let mut plan = planner.plan.clone();
        let difference = rows.seen.is_some().then(|| lower::unseen_rows(&mut plan, &recursive.step));
        let root = difference.as_ref().map_or(recursive.step.0, |((root, _), _)| *root);
        Self {
            invariant: Arc::new(invariants(&plan, root)),
            plan: Arc::new(plan),
            step: recursive.step.clone(),
            difference,
            of: recursive.working,
            rows,
            kept,
            query,
            rounds: planner.rounds.clone(),
            results: Mutex::default(),
            next: Mutex::default(),
        }
    }

    /// Plans the first round, and shows it.
    fn plan_first(&self, context: &PlanContext) -> Result<ExplainNode> {
        let (planned, explain) = self.plan(Comparison::AsTheyCome, context)?;
        *self.next.lock() = Some(planned);
        Ok(explain)
    }

    /// The pipelines of a round.
    fn pipelines(&self, comparison: Comparison, context: &PlanContext) -> Result<Vec<Pipeline>> {
        let mut next = self.next.lock();
        let planned = match next.take().filter(|_| comparison == Comparison::AsTheyCome) {
            Some(planned) => planned,
            None => self.plan(comparison, context)?.0,
        };
        if comparison == Comparison::AsTheyCome && planned.pipelines.iter().all(Pipeline::is_reusable) {
            return Ok(next.insert(planned).pipelines.clone());
        }
        self.keep(planned.results);
        Ok(planned.pipelines)
    }

    fn plan(&self, comparison: Comparison, context: &PlanContext) -> Result<(PlannedRound, ExplainNode)> {
        let round = |of, rows: &Arc<SharedRows>| Round { of, rows: rows.clone(), kept: self.kept.clone() };
        let mut rounds = self.rounds.clone();
        rounds.push(round(self.of, &self.rows.working));
        let mut step = &self.step;
        if let (Comparison::ByJoin, Some((difference, all)), Some(seen)) =
            (comparison, &self.difference, &self.rows.seen)
        {
            rounds.push(round(*all, seen.rows()));
            step = difference;
        }
        let mut planner = PhysicalPlanner {
            plan: &self.plan,
            query: &self.query,
            estimates: Estimates::new(&self.plan, None),
            context: context.again(),
            pipelines: Pipelines::default(),
            shared: self.results.lock().clone(),
            subqueries: HashMap::new(),
            rounds,
            invariant: self.invariant.clone(),
        };
        let mut stream = planner.plan_round(step, &self.kept)?;
        if let (Comparison::AsTheyCome, Some(seen)) = (comparison, &self.rows.seen) {
            planner.drop_known(&step.1, &mut stream, seen, RoundKind::Later)?;
        }
        planner.store(&mut stream, &self.kept)?;
        let (_, explain) = planner.close(stream, self.rows.made.clone());
        Ok((PlannedRound { pipelines: planner.pipelines.finish(), results: planner.shared }, explain))
    }

    /// Keeps results that are the same in all rounds for the later ones, which start after the round that computes them
    /// has ended.
    fn keep(&self, results: HashMap<Kept, SharedResult>) {
        let kept = results.into_iter().filter(|(kept, _)| self.invariant.contains(kept));
        *self.results.lock() = kept.map(|(kept, result)| (kept, result.complete())).collect();
    }
}

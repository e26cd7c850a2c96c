//! Nodes.
//!
//! ```text
//! Scan        TableScan under the table's names, then a projection to the plan's
//! Values      Values; with subqueries in them, a union of projections
//! Limit       Limit; over a sort, which then keeps only so many rows
//! SetOperation   Union, Distinct; semi and anti joins with NULL = NULL; with ALL, counted rows
//! Unnest      a projection with the lists, then Unnest; ordinality is one more list, of numbers
//! Use         the shared plan under the names of the use; the executor finds what is equal and computes it once
//! Sample      rows with small random numbers
//! ```

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::Field;
use datafusion_common::{
    Column, DFSchema, JoinConstraint, JoinType, NullEquality, Spans, TableReference, UnnestOptions,
};
use datafusion_expr::expr::Sort as SortExpr;
use datafusion_expr::logical_plan::{
    EmptyRelation, Filter, Join, Limit as PlannerLimit, Projection, Sort, Subquery, TableScanBuilder, Union,
    Values as PlannerValues,
};
use datafusion_expr::{Distinct, Expr as PlannerExpr, LogicalPlan, LogicalPlanBuilder, lit};
use godwit_common::{Error, Result};
use godwit_plan::{
    ColumnId, Expr, ExprKind, Limit, Node, NodeId, Plan, Project, Sample, SampleSize, Scan, SetOperation, SetOperator,
    SharedId, SortKey, Unnest, Use, Values,
};
use godwit_types::{SqlType, Value};

use super::expr::{Expressions, unexpected};
use super::types::arrow_type;
use super::{ScannedTable, planning_error};
use crate::bound;
use crate::functions::FUNCTIONS;
use crate::table::ScanSource;

/// The plan for the executor, and the names of the result's columns.
pub fn to_logical_plan(plan: &Plan) -> Result<(LogicalPlan, Vec<String>)> {
    let bridge = Bridge { plan, shared: RefCell::default() };
    let root = bridge.node(plan.root.ok_or_else(|| unexpected("no root"))?)?;
    let names = plan.output.iter().map(|column| column.name.clone()).collect();
    Ok((bridge.result(root)?, names))
}

/// Converts one plan.
pub(super) struct Bridge<'a> {
    pub(super) plan: &'a Plan,
    /// Shared plans that are converted already.
    shared: RefCell<HashMap<SharedId, LogicalPlan>>,
}

impl Bridge<'_> {
    /// The name of a column in converted plans.
    pub(super) fn column_name(&self, id: ColumnId) -> String {
        format!("{}{id}", self.plan.column(id).name)
    }

    /// A column of a converted plan.
    pub(super) fn column(&self, id: ColumnId) -> PlannerExpr {
        PlannerExpr::Column(Column::new_unqualified(self.column_name(id)))
    }

    /// Calls `convert` with what converts expressions over the rows of a schema.
    pub(super) fn over<T>(
        &self,
        schema: &Arc<DFSchema>,
        convert: impl FnOnce(&Expressions<'_>) -> Result<T>,
    ) -> Result<T> {
        let name_of = |id| Some(Column::new_unqualified(self.column_name(id)));
        convert(&Expressions::of_plan(schema, &name_of, self))
    }

    /// An uncorrelated subquery as a value.
    pub(super) fn scalar_subquery(&self, plan: NodeId, column: ColumnId) -> Result<PlannerExpr> {
        let rows = project(self.node(plan)?, vec![self.column(column)])?;
        let subquery = Subquery { subquery: Arc::new(rows), outer_ref_columns: Vec::new(), spans: Spans::default() };
        Ok(PlannerExpr::ScalarSubquery(subquery))
    }

    /// The columns of the result, in order. A column that is there twice gets a number.
    fn result(&self, root: LogicalPlan) -> Result<LogicalPlan> {
        let mut seen: Vec<ColumnId> = Vec::new();
        let mut columns = Vec::with_capacity(self.plan.output.len());
        for (at, output) in self.plan.output.iter().enumerate() {
            let column = self.column(output.column);
            columns.push(match seen.contains(&output.column) {
                true => column.alias(format!("{} {at}", self.column_name(output.column))),
                false => column,
            });
            seen.push(output.column);
        }
        let is_as_it_is = root.schema().columns().into_iter().map(PlannerExpr::Column).eq(columns.iter().cloned());
        if is_as_it_is { Ok(root) } else { project(root, columns) }
    }

    /// A node with all below it.
    pub(super) fn node(&self, id: NodeId) -> Result<LogicalPlan> {
        match self.plan.node(id) {
            Node::Values(values) => self.values(values),
            Node::Scan(scan) => self.scan(scan),
            Node::Project(project) => self.project(project),
            Node::Filter { input, conditions } => {
                let input = self.node(*input)?;
                self.filter(input, conditions)
            }
            Node::Join(join) => self.join(join),
            Node::Aggregate(aggregate) => self.aggregate(aggregate),
            Node::Window(window) => self.window(window),
            Node::Sort { input, keys } => self.sort(*input, keys, None),
            Node::Limit(limit) => self.limit(limit),
            Node::SetOperation(operation) => self.set_operation(operation),
            Node::Unnest(unnest) => self.unnest(unnest),
            Node::Use(shared) => self.shared(shared),
            Node::Sample(sample) => self.sample(sample),
            Node::Recursive(_) | Node::WorkingRows { .. } => {
                Err(Error::unsupported("recursive common table expressions"))
            }
        }
    }

    /// A computed column of a converted plan: the value under the column's name.
    pub(super) fn named(&self, id: ColumnId, value: PlannerExpr) -> PlannerExpr {
        let name = self.column_name(id);
        match &value {
            PlannerExpr::Column(column) if column.relation.is_none() && column.name == name => value,
            _ => value.alias(name),
        }
    }

    fn values(&self, values: &Values) -> Result<LogicalPlan> {
        let fields = values.columns.iter().map(|&column| {
            let info = self.plan.column(column);
            let field = Field::new(self.column_name(column), arrow_type(&info.ty)?, info.nullable);
            Ok((None, Arc::new(field)))
        });
        let fields = fields.collect::<Result<Vec<_>>>()?;
        let schema = Arc::new(DFSchema::new_with_metadata(fields, HashMap::new()).map_err(planning_error)?);
        let is_empty = values.columns.is_empty();
        if values.rows.is_empty() || is_empty && values.rows.len() == 1 {
            let produce_one_row = !values.rows.is_empty();
            return Ok(LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row, schema }));
        }
        if is_empty || values.rows.iter().flatten().any(Expr::has_subquery) {
            return self.rows_one_by_one(values);
        }
        let nothing = Arc::new(DFSchema::empty());
        let convert = |row: &Vec<Expr>| {
            let cells = row.iter().zip(&values.columns);
            self.over(&nothing, |exprs| {
                cells.map(|(cell, &column)| exprs.typed(exprs.convert(cell)?, &self.plan.column(column).ty)).collect()
            })
        };
        let rows = values.rows.iter().map(convert).collect::<Result<Vec<Vec<PlannerExpr>>>>()?;
        Ok(LogicalPlan::Values(PlannerValues { schema, values: rows }))
    }

    /// Rows of expressions that only a projection can have.
    fn rows_one_by_one(&self, values: &Values) -> Result<LogicalPlan> {
        let rows = values.rows.iter().map(|row| {
            let one = LogicalPlanBuilder::empty(true).build().map_err(planning_error)?;
            let cells = self.over(&Arc::clone(one.schema()), |exprs| {
                let cells = row.iter().zip(&values.columns);
                cells
                    .map(|(cell, &column)| {
                        let value = exprs.typed(exprs.convert(cell)?, &self.plan.column(column).ty)?;
                        Ok(self.named(column, value))
                    })
                    .collect()
            })?;
            project(one, cells)
        });
        union(rows.collect::<Result<_>>()?)
    }

    fn scan(&self, scan: &Scan) -> Result<LogicalPlan> {
        let table = scan.relation.as_any().downcast_ref::<ScannedTable>();
        let table = table.ok_or_else(|| unexpected("a table of another kind"))?.definition();
        let reference = TableReference::bare(table.name.as_str());
        let column_at = |at: usize| Column::new(Some(reference.clone()), table.schema.field(at).name());
        let name_of = |id| scan.columns.iter().find(|(known, _)| *known == id).map(|&(_, at)| column_at(at));
        let schema = DFSchema::try_from_qualified_schema(reference.clone(), &table.schema).map_err(planning_error)?;
        let schema = Arc::new(schema);
        let exprs = Expressions::of_plan(&schema, &name_of, self);
        let filters = scan.filters.iter().map(|filter| exprs.convert(filter)).collect::<Result<Vec<_>>>()?;
        let (inside, above) = if table.evaluates_filters { (filters, Vec::new()) } else { (Vec::new(), filters) };
        let mut positions: Vec<usize> = scan.columns.iter().map(|&(_, at)| at).collect();
        positions.sort_unstable();
        positions.dedup();
        // Rows that a filter above drops don't count as enough.
        let fetch = scan.rows_enough.filter(|_| above.is_empty()).and_then(|rows| usize::try_from(rows).ok());
        let read = TableScanBuilder::new(reference.clone(), Arc::new(ScanSource::new(Arc::clone(table))))
            .with_projection(Some(positions))
            .with_filters(inside)
            .with_fetch(fetch);
        let mut rows = LogicalPlan::TableScan(read.build().map_err(planning_error)?);
        for condition in above {
            rows = LogicalPlan::Filter(Filter::try_new(condition, Arc::new(rows)).map_err(planning_error)?);
        }
        let columns =
            scan.columns.iter().map(|&(id, at)| PlannerExpr::Column(column_at(at)).alias(self.column_name(id)));
        project(rows, columns.collect())
    }

    fn project(&self, node: &Project) -> Result<LogicalPlan> {
        let input = self.node(node.input)?;
        let columns = self.over(&Arc::clone(input.schema()), |exprs| {
            node.columns.iter().map(|(id, value)| Ok(self.named(*id, exprs.convert(value)?))).collect()
        })?;
        project(input, columns)
    }

    /// The rows for which all conditions are TRUE.
    pub(super) fn filter(&self, input: LogicalPlan, conditions: &[Expr]) -> Result<LogicalPlan> {
        let condition = self.over(&Arc::clone(input.schema()), |exprs| exprs.conjunction(conditions))?;
        Ok(match condition {
            Some(condition) => {
                LogicalPlan::Filter(Filter::try_new(condition, Arc::new(input)).map_err(planning_error)?)
            }
            None => input,
        })
    }

    fn sort(&self, input: NodeId, keys: &[SortKey], fetch: Option<usize>) -> Result<LogicalPlan> {
        let input = self.node(input)?;
        let expr = self.over(&Arc::clone(input.schema()), |exprs| exprs.sort_keys(keys))?;
        Ok(LogicalPlan::Sort(Sort { expr, input: Arc::new(input), fetch }))
    }

    fn limit(&self, limit: &Limit) -> Result<LogicalPlan> {
        if limit.percent {
            return Err(Error::unsupported("LIMIT with a percentage").with_hint("give a number of rows"));
        }
        if limit.with_ties {
            return Err(Error::unsupported("WITH TIES").with_hint("filter by rank() in an outer query"));
        }
        let offset = number_of(limit.offset.as_ref(), "OFFSET")?;
        let count = number_of(limit.count.as_ref(), "LIMIT")?;
        let end = count.map(|count| offset.unwrap_or(0).saturating_add(count));
        let input = match (self.plan.node(limit.input), end) {
            (Node::Sort { input, keys }, Some(end)) => self.sort(*input, keys, usize::try_from(end).ok())?,
            _ => self.node(limit.input)?,
        };
        let constant = |rows: Option<i64>| rows.map(|rows| Box::new(lit(rows)));
        let (skip, fetch) = (constant(offset), constant(count));
        Ok(LogicalPlan::Limit(PlannerLimit { skip, fetch, input: Arc::new(input) }))
    }

    fn set_operation(&self, operation: &SetOperation) -> Result<LogicalPlan> {
        let inputs = operation.inputs.iter().map(|(input, columns)| {
            let input = self.node(*input)?;
            let renamed = columns.iter().zip(&operation.columns);
            project(input, renamed.map(|(&from, &to)| self.named(to, self.column(from))).collect())
        });
        let mut inputs = inputs.collect::<Result<Vec<LogicalPlan>>>()?;
        if operation.operator == SetOperator::Union {
            let all = union(inputs)?;
            return Ok(if operation.all { all } else { distinct(all) });
        }
        let (Some(right), Some(left)) = (inputs.pop(), inputs.pop()) else {
            return Err(unexpected("a set operation without two inputs"));
        };
        // Both sides have the names of the result; a join wants them apart.
        let right_name = |id| format!("{} right", self.column_name(id));
        let apart = operation.columns.iter().map(|&id| self.column(id).alias(right_name(id)));
        let right = project(right, apart.collect())?;
        let left = if operation.all { left } else { distinct(left) };
        let pair = |&id: &ColumnId| (self.column(id), PlannerExpr::Column(Column::new_unqualified(right_name(id))));
        let keeps_common = operation.operator == SetOperator::Intersect;
        let join = Join::try_new(
            Arc::new(left),
            Arc::new(right),
            operation.columns.iter().map(pair).collect(),
            None,
            if keeps_common { JoinType::LeftSemi } else { JoinType::LeftAnti },
            JoinConstraint::On,
            NullEquality::NullEqualsNull,
            false,
        );
        let join = join.map_err(planning_error)?;
        if operation.all {
            bound::counted(&join, keeps_common).map_err(planning_error)
        } else {
            Ok(LogicalPlan::Join(join))
        }
    }

    fn unnest(&self, unnest: &Unnest) -> Result<LogicalPlan> {
        let input = self.node(unnest.input)?;
        let mut columns: Vec<PlannerExpr> = input.schema().columns().into_iter().map(PlannerExpr::Column).collect();
        let mut lists = self.over(&Arc::clone(input.schema()), |exprs| {
            let list = |list: &godwit_plan::UnnestedList| {
                let value = exprs.convert(&list.list)?;
                match list.list.ty.element() {
                    Some(element) => Ok((list.column, exprs.typed(value, &SqlType::list_of(element.clone()))?)),
                    None => Err(unexpected("UNNEST of what is no list")),
                }
            };
            unnest.lists.iter().map(list).collect::<Result<Vec<_>>>()
        })?;
        if let Some(position) = unnest.ordinality {
            let lengths: Vec<PlannerExpr> = lists.iter().map(|(_, list)| length(list.clone())).collect();
            let longest = FUNCTIONS.scalar["greatest"].call(lengths);
            let numbers = FUNCTIONS.scalar["generate_series"].call(vec![lit(1_i64), longest]);
            lists.push((position, numbers));
        }
        let names: Vec<Column> =
            lists.iter().map(|&(column, _)| Column::new_unqualified(self.column_name(column))).collect();
        columns.extend(lists.into_iter().map(|(column, list)| list.alias(self.column_name(column))));
        let options = UnnestOptions::new().with_preserve_nulls(unnest.outer);
        LogicalPlanBuilder::from(project(input, columns)?)
            .unnest_columns_with_options(names, options)
            .and_then(LogicalPlanBuilder::build)
            .map_err(planning_error)
    }

    fn shared(&self, shared: &Use) -> Result<LogicalPlan> {
        let known = self.shared.borrow().get(&shared.shared).cloned();
        let rows = match known {
            Some(rows) => rows,
            None => {
                let rows = self.node(self.plan.shared(shared.shared).root)?;
                self.shared.borrow_mut().insert(shared.shared, rows.clone());
                rows
            }
        };
        project(rows, shared.columns.iter().map(|&(fresh, inner)| self.named(fresh, self.column(inner))).collect())
    }

    fn sample(&self, sample: &Sample) -> Result<LogicalPlan> {
        if sample.seed.is_some() {
            return Err(Error::unsupported("a sample with a seed").with_hint("leave REPEATABLE out"));
        }
        let input = Arc::new(self.node(sample.input)?);
        let random = FUNCTIONS.scalar["random"].call(Vec::new());
        match sample.size {
            SampleSize::Percent(percent) => {
                let condition = (random * lit(100.0)).lt(lit(percent));
                Filter::try_new(condition, input).map(LogicalPlan::Filter).map_err(planning_error)
            }
            SampleSize::Rows(rows) => {
                let key = SortExpr::new(random, true, false);
                let fetch = usize::try_from(rows).ok();
                let sorted = LogicalPlan::Sort(Sort { expr: vec![key], input, fetch });
                let fetch = Some(Box::new(lit(i64::try_from(rows).unwrap_or(i64::MAX))));
                Ok(LogicalPlan::Limit(PlannerLimit { skip: None, fetch, input: Arc::new(sorted) }))
            }
        }
    }
}

/// Some columns of a plan, and computed ones.
pub(super) fn project(input: LogicalPlan, columns: Vec<PlannerExpr>) -> Result<LogicalPlan> {
    Projection::try_new(columns, Arc::new(input)).map(LogicalPlan::Projection).map_err(planning_error)
}

fn distinct(input: LogicalPlan) -> LogicalPlan {
    LogicalPlan::Distinct(Distinct::All(Arc::new(input)))
}

/// The rows of all; one input is passed on as it is.
fn union(mut inputs: Vec<LogicalPlan>) -> Result<LogicalPlan> {
    if inputs.len() == 1 {
        return Ok(inputs.remove(0));
    }
    let inputs = inputs.into_iter().map(Arc::new).collect();
    Union::try_new_with_loose_types(inputs).map(LogicalPlan::Union).map_err(planning_error)
}

/// The number of a list's elements; 0 for NULL.
fn length(list: PlannerExpr) -> PlannerExpr {
    let length = FUNCTIONS.scalar["array_length"].call(vec![list]);
    let length = datafusion_expr::cast(length, arrow_schema::DataType::Int64);
    FUNCTIONS.scalar["coalesce"].call(vec![length, lit(0_i64)])
}

/// A constant number of rows; `None` for NULL.
fn number_of(expr: Option<&Expr>, clause: &str) -> Result<Option<i64>> {
    let Some(expr) = expr else { return Ok(None) };
    match &expr.kind {
        ExprKind::Literal(Value::Null) => Ok(None),
        ExprKind::Literal(Value::Integer(rows)) if *rows < 0 => {
            Err(Error::user(format!("{clause} must not be negative")).at_span(expr.span))
        }
        ExprKind::Literal(Value::Integer(rows)) => Ok(Some(i64::try_from(*rows).unwrap_or(i64::MAX))),
        _ => Err(Error::unsupported(format!("{clause} of what isn't a constant number")).at_span(expr.span)),
    }
}

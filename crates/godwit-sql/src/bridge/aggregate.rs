//! Aggregations.
//!
//! Keys of grouping sets are computed below, under names of their own, so that keys that are equal stay apart. The planner
//! crates number the sets by the order in which keys come up in them; a CASE on top makes the plan's number of theirs.

use std::sync::Arc;

use datafusion_common::{Column, DFSchema};
use datafusion_expr::expr::{AggregateFunction, AggregateFunctionParams, Case, GroupingSet, NullTreatment};
use datafusion_expr::logical_plan::{Aggregate as PlannerAggregate, EmptyRelation};
use datafusion_expr::{AggregateUDF, Expr as PlannerExpr, LogicalPlan, Operator, binary_expr, cast, lit};
use godwit_common::Result;
use godwit_plan::{Aggregate, AggregateCall, ColumnId, Expr, ExprKind, SortKey};
use godwit_types::Value;

use super::expr::{Expressions, unexpected};
use super::functions::AggregateImplementation;
use super::plan::{Bridge, project};
use super::planning_error;

/// A call as the planner crates see it.
pub(super) struct PlannedCall {
    pub(super) function: Arc<AggregateUDF>,
    pub(super) params: AggregateFunctionParams,
}

impl Bridge<'_> {
    pub(super) fn aggregate(&self, aggregate: &Aggregate) -> Result<LogicalPlan> {
        match &aggregate.sets {
            Some(sets) if !aggregate.keys.is_empty() => self.grouping_sets(aggregate, sets),
            _ => self.groups(aggregate),
        }
    }

    /// Groups by all keys.
    fn groups(&self, aggregate: &Aggregate) -> Result<LogicalPlan> {
        let input = self.node(aggregate.input)?;
        if aggregate.keys.is_empty() && aggregate.aggregates.is_empty() {
            let one = EmptyRelation { produce_one_row: true, schema: Arc::new(DFSchema::empty()) };
            let number = aggregate.grouping_id.map(|id| lit(0_i64).alias(self.column_name(id)));
            return project(LogicalPlan::EmptyRelation(one), number.into_iter().collect());
        }
        let keys = self.over(&Arc::clone(input.schema()), |exprs| {
            aggregate.keys.iter().map(|(id, key)| Ok(self.named(*id, exprs.convert(key)?))).collect()
        })?;
        let rows = self.aggregated(input, keys, aggregate)?;
        let columns = aggregate.keys.iter().map(|&(id, _)| self.column(id));
        let number = aggregate.grouping_id.map(|id| lit(0_i64).alias(self.column_name(id)));
        self.with_results(rows, columns.chain(number).collect(), aggregate)
    }

    fn grouping_sets(&self, aggregate: &Aggregate, sets: &[Vec<usize>]) -> Result<LogicalPlan> {
        let input = self.node(aggregate.input)?;
        let mut columns: Vec<PlannerExpr> = input.schema().columns().into_iter().map(PlannerExpr::Column).collect();
        let keys = self.over(&Arc::clone(input.schema()), |exprs| {
            aggregate.keys.iter().map(|(_, key)| exprs.convert(key)).collect::<Result<Vec<_>>>()
        })?;
        let names = aggregate.keys.iter().map(|&(id, _)| format!("{} key", self.column_name(id)));
        let names: Vec<String> = names.collect();
        columns.extend(keys.into_iter().zip(&names).map(|(key, name)| key.alias(name)));
        let input = project(input, columns)?;
        let key = |at: usize| PlannerExpr::Column(Column::new_unqualified(&names[at]));
        // The order in which keys come up, and in which the planner crates number them.
        let mut order: Vec<usize> = Vec::new();
        for &at in sets.iter().flatten() {
            if !order.contains(&at) {
                order.push(at);
            }
        }
        let listed = sets.iter().map(|set| set.iter().map(|&at| key(at)).collect()).collect();
        let group = PlannerExpr::GroupingSet(GroupingSet::GroupingSets(listed));
        let rows = self.aggregated(input, vec![group], aggregate)?;
        let columns = aggregate.keys.iter().enumerate().map(|(at, (id, expr))| {
            let value = match order.contains(&at) {
                true => key(at),
                false => lit(super::types::null(&super::types::arrow_type(&expr.ty)?)?),
            };
            Ok(value.alias(self.column_name(*id)))
        });
        let mut columns = columns.collect::<Result<Vec<_>>>()?;
        if let Some(id) = aggregate.grouping_id {
            columns.push(set_number(sets, &order, aggregate.keys.len())?.alias(self.column_name(id)));
        }
        self.with_results(rows, columns, aggregate)
    }

    /// The aggregation of rows by keys. Aggregates whose type is another to the planner crates have a name of their own.
    fn aggregated(&self, input: LogicalPlan, keys: Vec<PlannerExpr>, aggregate: &Aggregate) -> Result<LogicalPlan> {
        let calls = self.over(&Arc::clone(input.schema()), |exprs| {
            let calls = aggregate.aggregates.iter().map(|(id, call)| {
                let PlannedCall { function, params } = aggregate_call(exprs, call)?;
                let call = PlannerExpr::AggregateFunction(AggregateFunction { func: function, params });
                Ok(call.alias(self.column_name(*id)))
            });
            calls.collect::<Result<Vec<_>>>()
        })?;
        if calls.is_empty() && keys.is_empty() {
            return Err(unexpected("an aggregation of nothing"));
        }
        let aggregated = PlannerAggregate::try_new(Arc::new(input), keys, calls).map_err(planning_error)?;
        Ok(LogicalPlan::Aggregate(aggregated))
    }

    /// The keys and the aggregates, of the types that they have in the plan; the rows themselves if they are that already.
    fn with_results(&self, rows: LogicalPlan, keys: Vec<PlannerExpr>, aggregate: &Aggregate) -> Result<LogicalPlan> {
        let schema = Arc::clone(rows.schema());
        let results = aggregate.aggregates.iter().map(|(id, call)| self.result_column(&schema, *id, &call.ty));
        let columns: Vec<PlannerExpr> = keys.into_iter().map(Ok).chain(results).collect::<Result<_>>()?;
        let is_as_it_is = schema.columns().into_iter().map(PlannerExpr::Column).eq(columns.iter().cloned());
        if is_as_it_is { Ok(rows) } else { project(rows, columns) }
    }

    /// A column of computed rows as the type that it has in the plan.
    pub(super) fn result_column(
        &self,
        schema: &Arc<DFSchema>,
        id: ColumnId,
        ty: &godwit_types::SqlType,
    ) -> Result<PlannerExpr> {
        self.over(schema, |exprs| Ok(self.named(id, exprs.typed(self.column(id), ty)?)))
    }
}

/// The plan's number of a row's set, as a CASE over the planner crates' one.
fn set_number(sets: &[Vec<usize>], order: &[usize], keys: usize) -> Result<PlannerExpr> {
    if keys >= 63 {
        return Err(godwit_common::Error::unsupported("grouping sets over 63 or more keys"));
    }
    let number = |set: &[usize], order: &mut dyn Iterator<Item = usize>| {
        order.fold(0_i64, |number, key| number << 1 | i64::from(!set.contains(&key)))
    };
    let theirs = cast(
        PlannerExpr::Column(Column::new_unqualified(PlannerAggregate::INTERNAL_GROUPING_ID)),
        arrow_schema::DataType::Int64,
    );
    // Above the bits of the keys is how often the set came before.
    let mask = (1_i64 << order.len()) - 1;
    let theirs = binary_expr(theirs, Operator::BitwiseAnd, lit(mask));
    let mut branches: Vec<(i64, i64)> =
        sets.iter().map(|set| (number(set, &mut order.iter().copied()), number(set, &mut (0..keys)))).collect();
    branches.sort_unstable();
    branches.dedup();
    if branches.iter().all(|(theirs, ours)| theirs == ours) {
        return Ok(theirs);
    }
    let branches = branches.into_iter().map(|(theirs, ours)| (Box::new(lit(theirs)), Box::new(lit(ours))));
    Ok(PlannerExpr::Case(Case::new(Some(Box::new(theirs)), branches.collect(), None)))
}

/// An aggregate's function and arguments.
pub(super) fn aggregate_call(exprs: &Expressions<'_>, call: &AggregateCall) -> Result<PlannedCall> {
    let implementation = call.function.implementation.downcast_ref::<AggregateImplementation>();
    let implementation = implementation.ok_or_else(|| unexpected("an aggregate of another registry"))?;
    let mut order_by = exprs.sort_keys(&call.order_by)?;
    let mut args = Vec::with_capacity(call.args.len() + 1);
    if implementation.takes_key {
        let [key] = call.order_by.as_slice() else { return Err(unexpected("WITHIN GROUP of several keys")) };
        args.push(order_by.remove(0).expr);
        args.extend(
            call.args.iter().map(|fraction| exprs.convert(&from_start(fraction, key))).collect::<Result<Vec<_>>>()?,
        );
    } else {
        args.extend(call.args.iter().map(|argument| exprs.convert(argument)).collect::<Result<Vec<_>>>()?);
    }
    if args.is_empty() && implementation.function.name() == "count" {
        args.push(lit(1_i64));
    }
    let params = AggregateFunctionParams {
        args,
        distinct: call.distinct || implementation.distinct,
        filter: call.filter.as_ref().map(|filter| exprs.convert(filter).map(Box::new)).transpose()?,
        order_by,
        null_treatment: call.ignore_nulls.then_some(NullTreatment::IgnoreNulls),
    };
    Ok(PlannedCall { function: Arc::clone(&implementation.function), params })
}

/// A fraction of the way through values in ascending order.
fn from_start(fraction: &Expr, key: &SortKey) -> Expr {
    let turned = |value: &Value| match value {
        Value::Float(fraction) => Value::Float(1.0 - fraction),
        other => other.clone(),
    };
    match &fraction.kind {
        ExprKind::Literal(Value::List(fractions)) if key.descending => {
            let fractions: Vec<Value> = fractions.iter().map(turned).collect();
            Expr::literal(Value::List(fractions.into()), fraction.ty.clone())
        }
        ExprKind::Literal(value) if key.descending => Expr::literal(turned(value), fraction.ty.clone()),
        _ => fraction.clone(),
    }
}

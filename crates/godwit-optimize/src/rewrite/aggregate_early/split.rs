//! Aggregates that are computed in two steps: of rows, and of groups of them.
//!
//! | aggregate | of rows | of groups |
//! |---|---|---|
//! | `sum(x)` | `p := sum(x)` | `sum(p)` |
//! | `count(x)` | `p := count(x)` | `coalesce(sum(p), 0)` |
//! | `avg(x)` | `p := sum(x)`, `q := count(x)` | `sum(p) / sum(q)` |
//! | `min(x)`, `max(x)`, `bool_and(x)`, `bool_or(x)` | `p := min(x)` | `min(p)` |
//! | `sum(CASE WHEN c THEN x ELSE 0 END)` | `p := sum(x)` | `sum(CASE WHEN c THEN p ELSE 0 END)` |
//! | `sum(CASE WHEN c THEN 1 ELSE 0 END)` | `p := count(*)` | `sum(CASE WHEN c THEN p ELSE 0 END)` |
//! | `sum(x) FILTER (WHERE c)` | `p := sum(x)` | `sum(p) FILTER (WHERE c)` |
//!
//! The last three stand for all aggregates whose value is chosen by a condition `c` that has columns which the rows don't
//! have. Those of its columns that they do have become keys of the first step, so that it is the same for all rows of a
//! group.

use std::collections::HashMap;

use godwit_common::Span;
use godwit_plan::{Aggregate, AggregateCall, Arithmetic, ColumnId, ColumnSet, Expr, ExprKind, FunctionRegistry, Plan};
use godwit_types::{SqlType, Value};

use crate::properties::effects::never_fails;
use crate::rewrite::{aggregate_call, column};

/// Digits that the sum of a column needs beyond those of its values.
const SUM_DIGITS: u8 = 10;

/// The two steps of an aggregation.
pub(super) struct Split {
    /// Aggregates of the rows.
    pub(super) partial: Vec<(ColumnId, AggregateCall)>,
    /// Aggregates of their groups.
    pub(super) of_groups: Vec<(ColumnId, AggregateCall)>,
    /// The values of the original aggregates, computed from those of the groups.
    pub(super) values: Vec<(ColumnId, Expr)>,
}

/// How the values of groups become one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    Count,
    Sum,
    /// By the same function, which ignores duplicates.
    Pick,
}

/// Returns the columns of all values that are aggregated, without those of conditions; `None` if an aggregate can't be
/// computed in two steps.
pub(super) fn value_columns(aggregate: &Aggregate) -> Option<ColumnSet> {
    let mut columns = ColumnSet::new();
    for (_, call) in &aggregate.aggregates {
        if !has_two_steps(call) {
            return None;
        }
        call.args.iter().for_each(|arg| add_value_columns(arg, &mut columns));
    }
    Some(columns)
}

fn add_value_columns(value: &Expr, columns: &mut ColumnSet) {
    match choice(value) {
        Some(Choice { branches, otherwise }) => {
            branches.iter().for_each(|(_, value)| add_value_columns(value, columns));
            otherwise.iter().for_each(|value| add_value_columns(value, columns));
        }
        None => columns.union_with(&value.columns()),
    }
}

/// Returns true for aggregates that can be computed from those of parts of the rows, in any order.
fn has_two_steps(call: &AggregateCall) -> bool {
    !call.distinct
        && call.order_by.is_empty()
        && !call.ignore_nulls
        && match (&*call.function.name, &call.args[..]) {
            ("count", [] | [_]) => true,
            ("sum", [value]) => has_sum(&value.ty),
            ("avg", [value]) => has_sum(&value.ty) && call.ty == SqlType::Double,
            ("min" | "max" | "bool_and" | "bool_or", [_]) => true,
            _ => false,
        }
}

/// Returns true for numbers whose sums can't fail.
fn has_sum(ty: &SqlType) -> bool {
    match ty {
        SqlType::Decimal { precision, .. } => precision + SUM_DIGITS <= SqlType::DECIMAL_PRECISION_MAX,
        _ => *ty == SqlType::Double || ty.integer_bits().is_some_and(|bits| bits <= 64),
    }
}

/// A CASE.
struct Choice {
    /// (condition, value), in order.
    branches: Vec<(Expr, Expr)>,
    otherwise: Option<Expr>,
}

/// Returns a CASE, with the cast around it moved into its values.
fn choice(value: &Expr) -> Option<Choice> {
    match &value.kind {
        ExprKind::Case { branches, otherwise } => {
            Some(Choice { branches: branches.clone(), otherwise: otherwise.as_deref().cloned() })
        }
        ExprKind::Cast { input, lenient: false } => {
            let Choice { branches, otherwise } = choice(input)?;
            let cast = |part: Expr| match part.as_literal() {
                Some(Value::Null) => Expr::null(value.ty.clone()),
                _ => part.cast_to(&value.ty),
            };
            let branches = branches.into_iter().map(|(condition, part)| (condition, cast(part)));
            Some(Choice { branches: branches.collect(), otherwise: otherwise.map(cast) })
        }
        _ => None,
    }
}

/// Returns the value of a constant, also of one that is cast to a wider type.
fn constant(value: &Expr) -> Option<&Value> {
    match &value.kind {
        ExprKind::Literal(value) => Some(value),
        ExprKind::Cast { input, lenient: false } if never_fails(value) => constant(input),
        _ => None,
    }
}

/// Returns 0 in a type of sums.
fn zero(ty: &SqlType) -> Expr {
    let value = if ty.is_float() { Value::Float(0.0) } else { Value::Integer(0) };
    Expr::literal(value, ty.clone())
}

impl Split {
    /// Splits the aggregates over rows that have these columns; `None` if one can't be split.
    pub(super) fn of(
        plan: &mut Plan,
        functions: &dyn FunctionRegistry,
        aggregate: &Aggregate,
        columns: &ColumnSet,
    ) -> Option<Self> {
        let mut splitter =
            Splitter { plan, functions, columns, partial: Calls::default(), of_groups: Calls::default() };
        let mut values = Vec::with_capacity(aggregate.aggregates.len());
        for (id, call) in &aggregate.aggregates {
            values.push((*id, splitter.call(call)?));
        }
        Some(Self { partial: splitter.partial.calls, of_groups: splitter.of_groups.calls, values })
    }

    /// Returns the columns that the aggregates of groups use.
    pub(super) fn used_above(&self) -> ColumnSet {
        let mut columns = ColumnSet::new();
        for (_, call) in &self.of_groups {
            call.exprs().for_each(|expr| columns.union_with(&expr.columns()));
        }
        columns
    }
}

struct Splitter<'a> {
    plan: &'a mut Plan,
    functions: &'a dyn FunctionRegistry,
    /// The columns of the rows.
    columns: &'a ColumnSet,
    partial: Calls,
    of_groups: Calls,
}

/// Calls, each once.
#[derive(Default)]
struct Calls {
    calls: Vec<(ColumnId, AggregateCall)>,
    columns: HashMap<AggregateCall, ColumnId>,
}

impl Calls {
    /// Adds a call, unless there is the same already, and returns its column.
    fn add(&mut self, plan: &mut Plan, name: &str, call: AggregateCall) -> Expr {
        // Equal calls differ in their spans only.
        let call = AggregateCall { span: Span::NONE, ..call };
        let id = *self.columns.entry(call).or_insert_with_key(|call| {
            let id = plan.add_column(name, call.ty.clone(), call.nullable);
            self.calls.push((id, call.clone()));
            id
        });
        column(plan, id, plan.column(id).nullable)
    }
}

impl Splitter<'_> {
    /// Splits a call, and returns its value.
    fn call(&mut self, call: &AggregateCall) -> Option<Expr> {
        match &*call.function.name {
            "count" => self.count(call),
            "sum" => self.merged(Measure::Sum, call),
            "avg" => self.mean(call),
            _ => self.merged(Measure::Pick, call),
        }
    }

    fn count(&mut self, call: &AggregateCall) -> Option<Expr> {
        let sum = self.merged(Measure::Count, call)?;
        Some(Expr::new(ExprKind::Coalesce(vec![sum, Expr::bigint(0)]), SqlType::BigInt, false))
    }

    fn mean(&mut self, call: &AggregateCall) -> Option<Expr> {
        let of_same = |found: AggregateCall| AggregateCall { filter: call.filter.clone(), span: call.span, ..found };
        let may_be_null = |arg: &&Expr| arg.nullable;
        let counted = call.args.iter().filter(may_be_null).cloned().collect();
        let (sum, count) = (
            aggregate_call(self.functions, "sum", call.args.clone())?,
            aggregate_call(self.functions, "count", counted)?,
        );
        let sum = self.merged(Measure::Sum, &of_same(sum))?.cast_to(&SqlType::Double);
        let count = self.count(&of_same(count))?.cast_to(&SqlType::Double);
        // The sum is NULL if there is nothing to divide by.
        let branches = vec![(sum.clone().is_null(), Expr::null(SqlType::Double))];
        let mean = ExprKind::Arithmetic(Arithmetic::Divide, Box::new(sum), Box::new(count));
        let otherwise = Some(Box::new(Expr::new(mean, SqlType::Double, true)));
        Some(Expr::new(ExprKind::Case { branches, otherwise }, SqlType::Double, true).at(call.span))
    }

    /// Adds a call over groups, and returns its value.
    fn merged(&mut self, measure: Measure, call: &AggregateCall) -> Option<Expr> {
        // Where a condition of the other side chooses, some groups would have a value though the filter left no rows.
        let are_known = call.args.iter().chain(&call.filter).all(|expr| self.is_known(expr));
        let (below, above) = if are_known { (call.filter.clone(), None) } else { (None, call.filter.clone()) };
        let of_rows = AggregateCall { filter: below, ..call.clone() };
        let part = match call.args.first() {
            Some(value) => self.part(measure, &of_rows, value)?,
            None => self.partial(&of_rows, Vec::new()),
        };
        let function = match measure {
            Measure::Count | Measure::Sum => aggregate_call(self.functions, "sum", vec![part.clone()])?.function,
            Measure::Pick => call.function.clone(),
        };
        let (ty, name) = (part.ty.clone(), function.name.clone());
        let of_groups = AggregateCall { function, args: vec![part], filter: above, ty, nullable: true, ..call.clone() };
        Some(self.of_groups.add(self.plan, &name, of_groups))
    }

    /// Returns true for what can be computed for each row, whether or not it has a match.
    fn is_known(&self, expr: &Expr) -> bool {
        expr.columns().is_subset(self.columns) && never_fails(expr)
    }

    /// Returns the measure of a value in a group of rows, as an expression over the group. `call` measures a column.
    fn part(&mut self, measure: Measure, call: &AggregateCall, value: &Expr) -> Option<Expr> {
        if self.is_known(value) {
            return Some(self.partial(call, vec![value.clone()]));
        }
        let Choice { branches, otherwise } = choice(value)?;
        let ty = if measure == Measure::Pick { &value.ty } else { &call.ty };
        let mut chosen = Vec::with_capacity(branches.len());
        for (condition, value) in branches {
            chosen.push((condition, self.chosen(measure, call, &value)?));
        }
        let otherwise = self.chosen(measure, call, &otherwise.unwrap_or_else(|| Expr::null(value.ty.clone())))?;
        let kind = ExprKind::Case { branches: chosen, otherwise: Some(Box::new(otherwise)) };
        Some(Expr::new(kind, ty.clone(), true))
    }

    /// Returns the measure of a value that a condition has chosen for all rows of a group.
    fn chosen(&mut self, measure: Measure, call: &AggregateCall, value: &Expr) -> Option<Expr> {
        let Some(of_each_row) = constant(value) else { return self.part(measure, call, value) };
        match (measure, of_each_row) {
            (Measure::Pick, _) => Some(value.clone()),
            (Measure::Count, Value::Null) => Some(Expr::bigint(0)),
            (Measure::Sum, Value::Null) => Some(Expr::null(call.ty.clone())),
            (Measure::Sum, Value::Integer(0) | Value::Float(0.0)) => Some(zero(&call.ty)),
            (Measure::Sum, Value::Integer(1)) if call.ty == SqlType::BigInt => self.rows(call),
            (Measure::Sum, _) => None,
            (Measure::Count, _) => self.rows(call),
        }
    }

    /// Returns the number of a group's rows for which the call's filter holds.
    fn rows(&mut self, call: &AggregateCall) -> Option<Expr> {
        let count = aggregate_call(self.functions, "count", Vec::new())?;
        Some(self.partial(&AggregateCall { filter: call.filter.clone(), span: call.span, ..count }, Vec::new()))
    }

    /// Adds an aggregate of rows, and returns its column.
    fn partial(&mut self, call: &AggregateCall, args: Vec<Expr>) -> Expr {
        let name = format!("{} of rows", call.function.name);
        self.partial.add(self.plan, &name, AggregateCall { args, ..call.clone() })
    }
}

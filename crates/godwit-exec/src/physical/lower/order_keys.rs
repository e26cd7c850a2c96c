//! Values that can't be compared in rows: intervals, and nested values that contain one. They are replaced by their
//! keys ([`godwit_types::order_key`]).
//!
//! ```text
//! ORDER BY x, PARTITION BY x                      by key(x)
//! a = b in a join                                 key(a) = key(b)
//! GROUP BY x                                      GROUP BY key(x); x is any one of the group
//! count(DISTINCT x), arg_min(y, x)                count(DISTINCT key(x)), arg_min(y, key(x))
//! RANGE BETWEEN distance PRECEDING over x         key(distance) over key(x)
//! min(x)                                          the value in min({key(x), x})
//! sum(x), avg(x) of intervals                     made of the sums of their months, days and microseconds
//! ```

use std::sync::Arc;

use godwit_common::{Error, Span, SqlState};
use godwit_functions::{AggregateImplementation, ScalarImplementation};
use godwit_plan::{
    Aggregate, AggregateCall, AggregateFunction, ColumnId, Comparison, Expr, ExprKind, FrameBound, Join, JoinKind,
    Node, NodeId, ScalarFunction, SortKey, Volatility, Window, WindowCall, WindowTarget,
};
use godwit_types::{Interval, SqlType, Value, order_key, order_key_type};

use super::{Lowering, Rewrite};

/// The rewrite that replaces a node's values with their keys, if it has values of this kind.
pub(super) fn rewrite_of(node: &Node) -> Option<Rewrite> {
    let any_order_key = |keys: &[SortKey]| keys.iter().any(|key| order_key_type(&key.expr.ty).is_some());
    match node {
        Node::Sort { keys, .. } => any_order_key(keys).then_some(Lowering::sort_by_keys),
        Node::Join(join) => compared(join).any(by_equality_keys).then_some(Lowering::join_by_keys),
        Node::Aggregate(aggregate) => {
            let groups = aggregate.keys.iter().any(|(_, key)| order_key_type(&key.ty).is_some());
            let calls = || aggregate.aggregates.iter().map(|(_, call)| call);
            let is_by_keys = |call: &AggregateCall| {
                has_order_keys(call.exprs())
                    && (Parts::of(&call.function, &call.args, call.distinct).is_some()
                        || keyed_aggregate(call.clone()) != *call)
            };
            (groups || calls().any(is_by_keys)).then_some(Lowering::aggregate_by_keys)
        }
        Node::Window(window) => {
            let is_by_keys = |(_, call): &(ColumnId, WindowCall)| {
                has_order_keys(call.exprs())
                    && (Parts::of_window(call).is_some() || keyed_window(call.clone()) != *call)
            };
            window.calls.iter().any(is_by_keys).then_some(Lowering::window_by_keys)
        }
        _ => None,
    }
}

fn has_order_keys<'e>(mut exprs: impl Iterator<Item = &'e Expr>) -> bool {
    exprs.any(|expr| order_key_type(&expr.ty).is_some())
}

/// Everything that a join compares.
fn compared(join: &Join) -> impl Iterator<Item = &Expr> {
    let marked = match &join.kind {
        JoinKind::Mark { compare, .. } => &compare[..],
        _ => &[],
    };
    join.conditions.iter().chain(marked)
}

/// Whether it is an equality of values that have keys. Other comparisons aren't join keys.
fn by_equality_keys(condition: &Expr) -> bool {
    match &condition.kind {
        ExprKind::Compare(Comparison::Equal | Comparison::NotDistinct, a, _) => order_key_type(&a.ty).is_some(),
        _ => false,
    }
}

impl Lowering {
    fn sort_by_keys(&mut self, node: &Node) -> NodeId {
        let Node::Sort { input, keys } = node else { unreachable!("the rewrite of another node") };
        let keys = keys.iter().cloned().map(ordered).collect();
        self.plan.add(Node::Sort { input: *input, keys })
    }

    fn join_by_keys(&mut self, node: &Node) -> NodeId {
        let Node::Join(join) = node else { unreachable!("the rewrite of another node") };
        let mut join = join.clone();
        let marked = match &mut join.kind {
            JoinKind::Mark { compare, .. } => &mut compare[..],
            _ => &mut [],
        };
        for condition in join.conditions.iter_mut().chain(marked).filter(|condition| by_equality_keys(condition)) {
            let ExprKind::Compare(comparison, a, b) = &condition.kind else { unreachable!("it was just seen") };
            let by_keys = Expr::compare(*comparison, key_of((**a).clone()), key_of((**b).clone()));
            *condition = by_keys.at(condition.span);
        }
        self.plan.add(Node::Join(join))
    }

    fn aggregate_by_keys(&mut self, node: &Node) -> NodeId {
        let Node::Aggregate(aggregate) = node else { unreachable!("the rewrite of another node") };
        let (mut keys, mut calls, mut made) = (Vec::new(), Vec::new(), Vec::new());
        for (column, expr) in &aggregate.keys {
            if order_key_type(&expr.ty).is_none() {
                keys.push((*column, expr.clone()));
                continue;
            }
            let key = key_of(expr.clone());
            let key_column = self.plan.add_column("key", key.ty.clone(), true);
            let value = self.plan.add_column("value", expr.ty.clone(), true);
            keys.push((key_column, key));
            calls.push((value, any_value(expr.clone())));
            // Rows of sets without the key don't belong to the NULL group.
            let branches = vec![(self.column(key_column).is_null().negated(), self.column(value))];
            made.push((*column, Expr::new(ExprKind::Case { branches, otherwise: None }, expr.ty.clone(), true)));
        }
        for (column, call) in &aggregate.aggregates {
            match Parts::of(&call.function, &call.args, call.distinct) {
                None => calls.push((*column, keyed_aggregate(call.clone()))),
                Some(parts) => {
                    let of_part = |function, arg, ty| AggregateCall { function, args: vec![arg], ty, ..call.clone() };
                    made.push((*column, self.add_parts(parts, &mut calls, of_part)));
                }
            }
        }
        let aggregate = Aggregate { keys, aggregates: calls, ..aggregate.clone() };
        let rows = self.plan.add(Node::Aggregate(aggregate));
        self.with_made(rows, made)
    }

    fn window_by_keys(&mut self, node: &Node) -> NodeId {
        let Node::Window(window) = node else { unreachable!("the rewrite of another node") };
        let (mut calls, mut made) = (Vec::new(), Vec::new());
        for (column, call) in &window.calls {
            let by_keys = keyed_window(call.clone());
            match Parts::of_window(call) {
                None => calls.push((*column, by_keys)),
                Some(parts) => {
                    let of_part = |function, arg, ty| WindowCall {
                        function: WindowTarget::Aggregate(function),
                        args: vec![arg],
                        ty,
                        ..by_keys.clone()
                    };
                    made.push((*column, self.add_parts(parts, &mut calls, of_part)));
                }
            }
        }
        let rows = self.plan.add(Node::Window(Window { input: window.input, calls }));
        self.with_made(rows, made)
    }

    /// Adds the calls that a call is composed of; returns its value computed from theirs.
    fn add_parts<C>(
        &mut self,
        parts: Parts,
        calls: &mut Vec<(ColumnId, C)>,
        call: impl Fn(AggregateFunction, Expr, SqlType) -> C,
    ) -> Expr {
        let values = parts.calls.into_iter().map(|(function, arg, ty)| {
            let column = self.plan.add_column(&*function.name, ty.clone(), true);
            calls.push((column, call(function, arg, ty)));
            self.column(column)
        });
        let values = values.collect();
        (parts.value)(values)
    }

    /// Rows with columns computed from theirs.
    fn with_made(&mut self, rows: NodeId, made: Vec<(ColumnId, Expr)>) -> NodeId {
        if made.is_empty() {
            return rows;
        }
        let columns = self.columns(rows).into_iter().chain(made).collect();
        self.project(rows, columns)
    }
}

/// The aggregate over keys, where its value isn't one of them.
fn keyed_aggregate(mut call: AggregateCall) -> AggregateCall {
    let implementation = call.function.implementation.downcast_ref::<AggregateImplementation>();
    let is_distinct = call.distinct || implementation.is_some_and(|known| known.distinct);
    // The key of WITHIN GROUP may be the value itself, and DISTINCT is ordered by its arguments.
    if !is_distinct && !AggregateImplementation::takes_key(&call.function) {
        call.order_by = call.order_by.into_iter().map(ordered).collect();
    }
    call.args = args_by_keys(&call.function.name, is_distinct, call.args);
    call
}

/// The same for a window's keys, and the RANGE distances, which are measured in them.
fn keyed_window(mut call: WindowCall) -> WindowCall {
    let measures_keys = matches!(&call.order_by[..], [only] if order_key_type(&only.expr.ty).is_some());
    if measures_keys {
        (call.frame.start, call.frame.end) = (keyed_bound(call.frame.start), keyed_bound(call.frame.end));
    }
    call.partition_by = call.partition_by.into_iter().map(key_of).collect();
    call.order_by = call.order_by.into_iter().map(ordered).collect();
    let takes_key = |function: &WindowTarget| match function {
        WindowTarget::Aggregate(function) => AggregateImplementation::takes_key(function),
        WindowTarget::Window(_) => false,
    };
    if !takes_key(&call.function) {
        call.argument_order = call.argument_order.into_iter().map(ordered).collect();
    }
    let args = std::mem::take(&mut call.args);
    call.args = args_by_keys(call.name(), call.distinct, args);
    call
}

fn keyed_bound(bound: FrameBound) -> FrameBound {
    match bound {
        FrameBound::Preceding(distance) => FrameBound::Preceding(Box::new(key_of(*distance))),
        FrameBound::Following(distance) => FrameBound::Following(Box::new(key_of(*distance))),
        other => other,
    }
}

fn args_by_keys(name: &str, is_distinct: bool, mut args: Vec<Expr>) -> Vec<Expr> {
    match (name, &mut args[..]) {
        ("count", [arg]) if is_distinct => *arg = key_of(arg.clone()),
        ("approx_count_distinct", [arg]) => *arg = key_of(arg.clone()),
        ("arg_min" | "arg_max" | "arg_min_n" | "arg_max_n", [_, by, ..]) => *by = key_of(by.clone()),
        _ => {}
    }
    args
}

/// A call composed of others.
struct Parts {
    /// (function, argument, type of its value).
    calls: Vec<(AggregateFunction, Expr, SqlType)>,
    /// The value, computed from theirs.
    value: fn(Vec<Expr>) -> Expr,
}

impl Parts {
    fn of(function: &AggregateFunction, args: &[Expr], is_distinct: bool) -> Option<Self> {
        let [arg] = args else { return None };
        match &*function.name {
            "min" | "max" => {
                let value = beside_key(arg)?;
                let ty = value.ty.clone();
                Some(Self { calls: vec![(function.clone(), value, ty)], value: |values| value_beside_key(&values[0]) })
            }
            "sum" | "avg" if arg.ty == SqlType::Interval && !is_distinct => {
                let call =
                    |name: &str, part, ty| (AggregateFunction { name: name.into(), ..function.clone() }, part, ty);
                let sum = |part| call("sum", part, SqlType::HugeInt);
                let mut calls: Vec<_> = parts_of_interval(arg).map(sum).into();
                if &*function.name == "avg" {
                    calls.push(call("count", arg.clone(), SqlType::BigInt));
                }
                Some(Self { calls, value: interval_of })
            }
            _ => None,
        }
    }

    fn of_window(call: &WindowCall) -> Option<Self> {
        match &call.function {
            WindowTarget::Aggregate(function) => Self::of(function, &call.args, call.distinct),
            WindowTarget::Window(_) => None,
        }
    }
}

fn ordered(key: SortKey) -> SortKey {
    SortKey { expr: key_of(key.expr), ..key }
}

/// The key of a value; the value itself if it has none.
pub(in crate::physical) fn key_of(value: Expr) -> Expr {
    match order_key_type(&value.ty) {
        Some(ty) => call("order_key", ScalarImplementation::OrderKey, vec![value], ty, false),
        None => value,
    }
}

/// `{key, value}`; NULL for NULL.
fn beside_key(value: &Expr) -> Option<Expr> {
    let fields = [("key", order_key_type(&value.ty)?), ("value", value.ty.clone())];
    let both = |values: &[Value]| Ok(Value::Struct([order_key(&values[0]), values[0].clone()].into()));
    let both = ScalarImplementation::Values(Arc::new(both));
    Some(call("beside_key", both, vec![value.clone()], SqlType::struct_of(fields), false))
}

fn value_beside_key(both: &Expr) -> Expr {
    let ty = both.ty.fields().expect("a struct of two fields")[1].ty.clone();
    call("value_beside_key", ScalarImplementation::Field(1), vec![both.clone()], ty, false)
}

/// Months, days and microseconds.
fn parts_of_interval(interval: &Expr) -> [Expr; 3] {
    fn part(name: &str, interval: &Expr, part: fn(&Interval) -> i128) -> Expr {
        let compute = move |values: &[Value]| match &values[0] {
            Value::Interval(interval) => Ok(Value::Integer(part(interval))),
            other => Err(Error::internal(format!("{other:?} is no interval"))),
        };
        call(name, ScalarImplementation::Values(Arc::new(compute)), vec![interval.clone()], SqlType::HugeInt, false)
    }
    [
        part("months_of", interval, |interval| interval.months.into()),
        part("days_of", interval, |interval| interval.days.into()),
        part("micros_of", interval, |interval| interval.micros.into()),
    ]
}

/// The interval with these parts, divided by the number that follows them, if there is one.
fn interval_of(parts: Vec<Expr>) -> Expr {
    let compute = |values: &[Value]| {
        let part = |at: usize| match values.get(at) {
            Some(Value::Integer(part)) => Some(*part),
            _ => None,
        };
        let interval = || {
            let (months, days, micros) =
                (part(0)?.try_into().ok()?, part(1)?.try_into().ok()?, part(2)?.try_into().ok()?);
            let sum = Interval { months, days, micros };
            part(3).map_or(Some(sum), |rows| sum.checked_div(rows as f64))
        };
        let out_of_range = || Error::user("interval overflow in a sum").with_code(SqlState::DATETIME_FIELD_OVERFLOW);
        interval().map(Value::Interval).ok_or_else(out_of_range)
    };
    call("interval_of", ScalarImplementation::Values(Arc::new(compute)), parts, SqlType::Interval, true)
}

/// A call of an internal function that SQL can't name; NULL if an argument is NULL.
fn call(name: &str, implementation: ScalarImplementation, args: Vec<Expr>, ty: SqlType, may_fail: bool) -> Expr {
    let function = ScalarFunction {
        name: name.into(),
        volatility: Volatility::Immutable,
        strict: true,
        may_fail,
        implementation: Arc::new(implementation),
    };
    let nullable = args.iter().any(|arg| arg.nullable);
    let span = args.first().map_or(Span::NONE, |arg| arg.span);
    Expr::new(ExprKind::Call(function, args), ty, nullable).at(span)
}

/// One value of the group.
fn any_value(value: Expr) -> AggregateCall {
    AggregateCall {
        function: AggregateFunction {
            name: "any_value".into(),
            of_empty: Value::Null,
            ignores_duplicates: true,
            depends_on_order: true,
            implementation: Arc::new(AggregateImplementation::default()),
        },
        ty: value.ty.clone(),
        span: value.span,
        args: vec![value],
        distinct: false,
        filter: None,
        order_by: Vec::new(),
        ignore_nulls: false,
        nullable: true,
    }
}

//! LIMIT as a percentage of the rows, and WITH TIES.
//!
//! ```text
//! number   row_number() OVER (ORDER BY keys)
//! place    the number; with ties, rank() OVER (ORDER BY keys)
//! total    count(*) OVER ()
//!
//! number > offset AND place <= offset + count                              with ties, AND count >= 1
//! number > offset AND place - offset <= total * percent / 100              with ties, AND total * percent / 100 >= 1
//! ```

use std::sync::Arc;

use godwit_functions::Registry;
use godwit_plan::{
    AggregateFunction, ArgumentType, Arithmetic, Comparison, Expr, ExprKind, FunctionRegistry, Limit, Node, NodeId,
    SortKey, Window, WindowCall, WindowTarget,
};
use godwit_types::{SqlType, Value};

use super::{Lowering, arithmetic, numbering};

impl Lowering {
    pub(super) fn limit(&mut self, node: &Node) -> NodeId {
        let Node::Limit(limit) = node else { unreachable!("the rewrite of another node") };
        let (input, keys) = match self.plan.node(limit.input) {
            Node::Sort { input, keys } => (*input, keys.clone()),
            _ => (limit.input, Vec::new()),
        };
        let columns = self.columns(input);
        let number = self.plan.add_column("number", SqlType::BigInt, false);
        let mut calls = vec![(number, numbering("row_number", Vec::new(), keys.clone()))];
        let mut place = number;
        if limit.with_ties {
            place = self.plan.add_column("rank", SqlType::BigInt, false);
            calls.push((place, numbering("rank", Vec::new(), keys.clone())));
        }
        let offset = limit.offset.clone().map_or(Expr::bigint(0), |offset| not_negative(offset, "OFFSET"));
        let offset = Expr::new(ExprKind::Coalesce(vec![offset, Expr::bigint(0)]), SqlType::BigInt, false);
        let behind = arithmetic(Arithmetic::Subtract, self.column(place), offset.clone());
        let mut conditions = vec![Expr::compare(Comparison::Greater, self.column(number), offset)];
        match &limit.count {
            None => {}
            Some(percent) if limit.percent => {
                let total = self.plan.add_column("total", SqlType::BigInt, false);
                calls.push((total, total_rows()));
                let total = self.column(total).cast_to(&SqlType::Double);
                let share = arithmetic(Arithmetic::Multiply, total, percentage(percent.clone()));
                let share = arithmetic(Arithmetic::Divide, share, number_of(100.0));
                let behind = behind.cast_to(&SqlType::Double);
                conditions.push(within(behind, share, number_of(1.0), limit, percent));
            }
            Some(count) => {
                let rows = not_negative(count.clone(), "LIMIT");
                conditions.push(within(behind, rows, Expr::bigint(1), limit, count));
            }
        }
        let numbered = self.add(Node::Window(Window { input, calls }));
        let kept = self.filter(numbered, conditions);
        let rows = self.project(kept, columns);
        self.in_order(rows, keys)
    }

    fn in_order(&mut self, input: NodeId, keys: Vec<SortKey>) -> NodeId {
        if keys.is_empty() { input } else { self.add(Node::Sort { input, keys }) }
    }
}

/// Whether the row is within `rows` after the offset. NULL for `rows` means all.
fn within(behind: Expr, rows: Expr, one: Expr, limit: &Limit, given: &Expr) -> Expr {
    let mut comes = vec![Expr::compare(Comparison::LessOrEqual, behind, rows.clone())];
    if limit.with_ties {
        comes.push(Expr::compare(Comparison::GreaterOrEqual, rows, one));
    }
    Expr::or([given.clone().is_null(), Expr::and(comes)])
}

fn number_of(number: f64) -> Expr {
    Expr::literal(Value::Float(number), SqlType::Double)
}

/// `count(*) OVER ()`
fn total_rows() -> WindowCall {
    let function = AggregateFunction {
        name: "count".into(),
        of_empty: Value::Integer(0),
        ignores_duplicates: false,
        depends_on_order: false,
        implementation: Arc::new(()),
    };
    WindowCall::over(WindowTarget::Aggregate(function), SqlType::BigInt, Vec::new(), Vec::new())
}

/// A number of rows, which must not be negative.
fn not_negative(rows: Expr, clause: &str) -> Expr {
    let is_wrong = Expr::compare(Comparison::Less, rows.clone(), Expr::bigint(0));
    checked(rows, is_wrong, &format!("{clause} must not be negative"))
}

/// A share of the rows, checked to be a valid percentage.
fn percentage(percent: Expr) -> Expr {
    let outside = [
        Expr::compare(Comparison::Less, percent.clone(), number_of(0.0)),
        Expr::compare(Comparison::Greater, percent.clone(), number_of(100.0)),
    ];
    checked(percent, Expr::or(outside), "a percentage of rows must be between 0 and 100")
}

/// The value, or an error if it is wrong.
fn checked(value: Expr, is_wrong: Expr, message: &str) -> Expr {
    let is_right = match value.as_literal() {
        Some(Value::Integer(rows)) => *rows >= 0,
        Some(Value::Float(percent)) => (0.0..=100.0).contains(percent),
        _ => false,
    };
    if is_right {
        return value;
    }
    let text = SqlType::Varchar;
    let argument = ArgumentType { ty: &text, value: None, nullable: false, lambda_parameters: None };
    let function = Registry::default().scalar("error", &[argument]).expect("there is such a function").function;
    let (ty, nullable, span) = (value.ty.clone(), value.nullable, value.span);
    let message = Expr::literal(Value::Text(message.into()), SqlType::Varchar);
    let error = Expr::new(ExprKind::Call(function, vec![message]), SqlType::Varchar, true).at(span);
    let branches = vec![(is_wrong, error.cast_to(&ty))];
    Expr::new(ExprKind::Case { branches, otherwise: Some(Box::new(value)) }, ty, nullable).at(span)
}

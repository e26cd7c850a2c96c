//! Side effects and costs of expressions: whether they are volatile, whether they may fail, and how expensive they are.

use godwit_plan::{Arithmetic, Expr, ExprKind, Node, NodeId, Plan, Volatility};
use godwit_types::{SqlType, Value};

/// Returns true if an expression, or the plan of a subquery in it, gives a different value with each evaluation.
pub fn is_volatile(plan: &Plan, expr: &Expr) -> bool {
    let mut subqueries = Vec::new();
    let own = expr.any(|part| match &part.kind {
        ExprKind::Call(function, _) => function.volatility == Volatility::Volatile,
        ExprKind::Subquery(subquery) => {
            subqueries.push(subquery.plan);
            false
        }
        _ => false,
    });
    own || subqueries.into_iter().any(|subquery| has_volatile(plan, subquery))
}

/// Returns true if evaluating a plan twice may give different rows: an expression in it is volatile, or it picks rows
/// at random.
///
/// A shared plan is evaluated once, no matter how often it is used.
fn has_volatile(plan: &Plan, root: NodeId) -> bool {
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        let node = plan.node(id);
        if is_volatile_node(node) {
            return true;
        }
        node.for_each_expr(&mut |expr| {
            expr.for_each(&mut |part| {
                if let ExprKind::Subquery(subquery) = &part.kind {
                    open.push(subquery.plan);
                }
            });
        });
        open.extend(node.inputs());
    }
    false
}

/// Returns true if a node by itself, regardless of its inputs and subqueries, may give different rows each time.
pub fn is_volatile_node(node: &Node) -> bool {
    let mut volatile = matches!(node, Node::Sample(sample) if sample.seed.is_none());
    node.for_each_expr(&mut |expr| volatile |= expr.is_volatile());
    volatile
}

/// Returns true if an expression has a value for any values of its columns, so that it may be evaluated for rows for
/// which the statement wouldn't do so. Functions and most casts are taken to fail.
pub fn never_fails(expr: &Expr) -> bool {
    let operation = match &expr.kind {
        ExprKind::Column(_)
        | ExprKind::Literal(_)
        | ExprKind::Compare(..)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_)
        | ExprKind::IsNull(_)
        | ExprKind::Case { .. }
        | ExprKind::Coalesce(_)
        | ExprKind::InList(..) => true,
        ExprKind::Cast { input, lenient } => *lenient || is_widening(&input.ty, &expr.ty),
        ExprKind::Arithmetic(operation, left, right) => has_room(*operation, left, right, &expr.ty),
        ExprKind::Try(_) => return true,
        ExprKind::Parameter(_)
        | ExprKind::Match { .. }
        | ExprKind::Negate(_)
        | ExprKind::Call(..)
        | ExprKind::Let { .. }
        | ExprKind::Lambda(..)
        | ExprKind::Subquery(_) => false,
    };
    operation && expr.children().into_iter().all(never_fails)
}

/// Returns true if each value of a number type has a counterpart in another type.
fn is_widening(from: &SqlType, to: &SqlType) -> bool {
    match (from.integer_range(), to.integer_range()) {
        _ if *to == SqlType::Double => from.is_numeric(),
        _ if *to == SqlType::UHugeInt => from.is_unsigned_integer(),
        (Some(from_range), Some(to_range)) => to_range.0 <= from_range.0 && from_range.1 <= to_range.1,
        (_, None) => match (from.decimal_digits(), to.decimal_digits()) {
            // HUGEINT has values of 39 digits.
            (Some(digits), Some(to)) if from.integer_bits() != Some(128) => {
                digits.0 - digits.1 <= to.0 - to.1 && digits.1 <= to.1
            }
            _ => false,
        },
        _ => false,
    }
}

/// Returns true if an operation on numbers has a result of this type for any operands: on decimals that have room for
/// it, and the division by a constant.
fn has_room(operation: Arithmetic, left: &Expr, right: &Expr, ty: &SqlType) -> bool {
    let is_divisor = |value: &Value| matches!(value, Value::Float(divisor) if divisor.abs() >= 1.0);
    if operation == Arithmetic::Divide {
        return *ty == SqlType::Double && right.as_literal().is_some_and(is_divisor);
    }
    let digits = |ty: &SqlType| if ty.is_decimal() { ty.decimal_digits() } else { None };
    let (Some(left), Some(right), Some(result)) = (digits(&left.ty), digits(&right.ty), digits(ty)) else {
        return false;
    };
    let whole = |(precision, scale): (u8, u8)| precision - scale;
    match operation {
        Arithmetic::Add | Arithmetic::Subtract => {
            whole(result) > whole(left).max(whole(right)) && result.1 >= left.1.max(right.1)
        }
        Arithmetic::Multiply => whole(result) >= whole(left) + whole(right) && result.1 >= left.1 + right.1,
        Arithmetic::Divide | Arithmetic::Modulo => false,
    }
}

/// Returns the number of operations: a rough measure of the cost of evaluating it once more.
pub fn weight(expr: &Expr) -> usize {
    let mut operations = 0;
    expr.for_each(&mut |part| {
        operations +=
            usize::from(!matches!(part.kind, ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Parameter(_)));
    });
    operations
}

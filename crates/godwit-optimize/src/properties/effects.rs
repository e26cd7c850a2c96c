//! Side effects and costs of expressions: whether they are volatile, and how expensive they are.

use godwit_plan::{Expr, ExprKind, Node, NodeId, Plan, Volatility};

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

/// Returns the number of operations: a rough measure of the cost of evaluating it once more.
pub fn weight(expr: &Expr) -> usize {
    let mut operations = 0;
    expr.for_each(&mut |part| {
        operations +=
            usize::from(!matches!(part.kind, ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Parameter(_)));
    });
    operations
}

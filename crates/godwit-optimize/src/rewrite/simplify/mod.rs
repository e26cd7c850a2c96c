//! Simplification of expressions: constant folding and a table of rules.
//!
//! An expression is simplified from its leaves up. For each part, what is known about its columns determines whether it
//! may be NULL; then constants are folded, and rules are tried until none applies. A rule is a function from an
//! expression to one that has the same value for all rows, or `None`. It has no other input, so a test can evaluate
//! both sides for all values (`tests.rs` does so for each rule of [`RULES`], and fails for a rule for which it has no
//! expressions).
//!
//! For a *condition* only TRUE counts: FALSE and NULL are equivalent, and its conjuncts may be simplified together
//! (`conjuncts.rs`).
//!
//! Bound: each part is visited once, and at most [`ROUNDS_MAX`] rules are applied to it, each linear in what it
//! examines: the part and two levels below it.

mod arithmetic;
mod boolean;
mod casts;
mod comparisons;
mod conditional;
mod conjuncts;
mod lets;
mod lists;
mod nulls;
mod patterns;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use godwit_common::Result;
use godwit_plan::{
    AggregateCall, ColumnId, ColumnSet, Expr, ExprKind, FunctionRegistry, Join, JoinKind, Node, NodeId, Plan, Scan,
};

use super::Context;
use super::fold::fold;
use crate::properties::{Ranges, nullable_by};

pub(crate) use boolean::as_condition;
pub(crate) use conjuncts::simplify_conjuncts;

/// A rule: its name, and a function that returns the simpler form of an expression.
pub(crate) type Rule = (&'static str, fn(&Expr) -> Option<Expr>);

/// Maximum number of rules applied to a part.
const ROUNDS_MAX: usize = 16;

macro_rules! rules {
    ($($module:ident :: $rule:ident),* $(,)?) => {
        &[$((stringify!($rule), $module::$rule)),*]
    };
}

/// All rules, in the order in which they are tried.
pub(crate) const RULES: &[Rule] = rules![
    boolean::push_not,
    boolean::flatten,
    boolean::drop_constants,
    boolean::drop_duplicates,
    boolean::contradict,
    boolean::absorb,
    boolean::factor_out,
    boolean::collect_in_list,
    comparisons::literal_to_the_right,
    comparisons::compare_with_null,
    comparisons::compare_with_itself,
    comparisons::compare_with_truth,
    comparisons::distinct_without_nulls,
    casts::drop_cast,
    casts::drop_both_casts,
    casts::narrow_comparison,
    casts::narrow_in_list,
    nulls::strict_of_null,
    nulls::is_null_of_value,
    nulls::is_null_of_operation,
    nulls::shorten_coalesce,
    conditional::shorten_case,
    conditional::case_of_one_value,
    conditional::case_as_condition,
    lists::in_short_list,
    lists::in_distinct_list,
    patterns::like_without_wildcards,
    arithmetic::neutral_operand,
    arithmetic::negate_twice,
    lets::inline_let,
];

/// Simplifies all expressions of a plan.
pub(crate) fn simplify(plan: &mut Plan, context: &mut Context<'_>) -> Result<()> {
    let mut ranges = Ranges::default();
    let (check, trust_ranges) = (context.check, context.trust_ranges);
    super::bottom_up(plan, check, &mut |plan, id| {
        let id = simplify_node(plan, context, id, &ranges);
        if trust_ranges {
            ranges.add(plan, id);
        }
        Ok(id)
    })
}

fn simplify_node(plan: &mut Plan, context: &mut Context<'_>, id: NodeId, ranges: &Ranges) -> NodeId {
    let mut has_exprs = false;
    plan.node(id).for_each_expr(&mut |_| has_exprs = true);
    if !has_exprs {
        return id;
    }
    let mut simplifier = Simplifier::over_inputs(plan, context, id);
    let node = plan.node(id);
    if let Node::Filter { .. } | Node::Scan(_) | Node::Join(_) = node {
        // Conditions are simplified together.
    } else if simplifier.is_simple_node(node) {
        return id;
    }
    let node = match node.clone() {
        Node::Filter { input, conditions } => {
            let conditions = simplifier.conditions(conditions, ranges);
            if conditions.is_empty() {
                return input;
            }
            Node::Filter { input, conditions }
        }
        Node::Scan(scan) => {
            let filters = simplifier.conditions(scan.filters, ranges);
            Node::Scan(Scan { filters, ..scan })
        }
        Node::Join(join) => {
            let conditions = simplifier.conditions(join.conditions, ranges);
            let kind = match join.kind {
                JoinKind::Mark { mark, compare } => JoinKind::Mark {
                    mark,
                    compare: compare.into_iter().map(|part| simplifier.simplify(part)).collect(),
                },
                JoinKind::AsOf { outer, comparison, left, right } => {
                    let [left, right] = [left, right].map(|side| Box::new(simplifier.simplify(*side)));
                    JoinKind::AsOf { outer, comparison, left, right }
                }
                other => other,
            };
            Node::Join(Join { kind, conditions, ..join })
        }
        Node::Aggregate(mut aggregate) => {
            aggregate.keys = aggregate.keys.into_iter().map(|(id, key)| (id, simplifier.simplify(key))).collect();
            let calls = aggregate.aggregates.into_iter();
            aggregate.aggregates = calls.map(|(id, call)| (id, simplifier.call(call))).collect();
            Node::Aggregate(aggregate)
        }
        other => other.map_exprs(&mut |expr| simplifier.simplify(expr)),
    };
    plan.add(node)
}

/// Simplifies the expressions of a node.
pub(crate) struct Simplifier<'a> {
    functions: &'a dyn FunctionRegistry,
    /// Columns of the inputs, and those of them that may be NULL.
    known: ColumnSet,
    nullable: ColumnSet,
    /// Whether the value of a surrounding LET may be NULL.
    bound: HashMap<ColumnId, bool>,
}

impl<'a> Simplifier<'a> {
    /// Creates a simplifier for the expressions of a node.
    pub(crate) fn over_inputs(plan: &Plan, context: &mut Context<'a>, id: NodeId) -> Self {
        let (mut known, mut nullable) = (ColumnSet::new(), ColumnSet::new());
        for input in plan.node(id).inputs() {
            known.union_with(&context.properties.outputs(plan, input));
            nullable.union_with(&context.properties.nullable(plan, input));
        }
        Self { functions: context.functions, known, nullable, bound: HashMap::new() }
    }

    /// Returns true if no rule changes an expression of the node.
    fn is_simple_node(&self, node: &Node) -> bool {
        let mut is_simple = true;
        node.for_each_expr(&mut |expr| is_simple = is_simple && self.is_simple(expr));
        is_simple
    }

    /// Returns true if [`Self::simplify`] would leave it unchanged.
    fn is_simple(&self, expr: &Expr) -> bool {
        !expr.any(|part| match part.kind {
            ExprKind::Literal(_) | ExprKind::Parameter(_) => false,
            // A named value has to be seen before its uses.
            ExprKind::Let { .. } => true,
            _ => self.nullability(part) != part.nullable || self.simpler(part).is_some(),
        })
    }

    /// Returns the simplest form of an expression.
    pub(crate) fn simplify(&mut self, expr: Expr) -> Expr {
        let expr = self.with_simple_parts(expr);
        let expr = self.with_nullability(expr);
        self.apply_rules(expr)
    }

    fn apply_rules(&mut self, mut expr: Expr) -> Expr {
        for _ in 0..ROUNDS_MAX {
            match self.simpler(&expr) {
                Some(simpler) => expr = simpler.at(expr.span),
                None => break,
            }
        }
        expr
    }

    fn simpler(&self, expr: &Expr) -> Option<Expr> {
        if let ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Parameter(_) = expr.kind {
            return None;
        }
        fold(expr, self.functions).or_else(|| RULES.iter().find_map(|(_, apply)| apply(expr)))
    }

    fn with_simple_parts(&mut self, expr: Expr) -> Expr {
        let ExprKind::Let { column, value, body } = expr.kind else {
            return expr.map_children(&mut |part| self.simplify(part));
        };
        let value = self.simplify(*value);
        self.bound.insert(column, value.nullable);
        let body = self.simplify(*body);
        Expr { kind: ExprKind::Let { column, value: Box::new(value), body: Box::new(body) }, ..expr }
    }

    fn with_nullability(&self, expr: Expr) -> Expr {
        Expr { nullable: self.nullability(&expr), ..expr }
    }

    /// Returns true if the value may be NULL, given what is known about its parts.
    fn nullability(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Column(column) if self.known.contains(*column) => self.nullable.contains(*column),
            ExprKind::Column(column) => self.bound.get(column).copied().unwrap_or(expr.nullable),
            _ => nullable_by(expr, &mut |part| part.nullable),
        }
    }

    /// Simplifies the conjuncts of a condition: none if it is TRUE for all rows, FALSE alone if it is TRUE for none.
    pub(crate) fn conditions(&mut self, conditions: Vec<Expr>, ranges: &Ranges) -> Vec<Expr> {
        let simple = conditions.into_iter().map(|condition| self.simplify(condition)).map(as_condition);
        simplify_conjuncts(simple.flat_map(Expr::into_conjuncts).collect(), ranges)
    }

    fn call(&mut self, call: AggregateCall) -> AggregateCall {
        let mut call = call.map_exprs(&mut |expr| self.simplify(expr));
        let filter = call.filter.take().map(as_condition);
        call.filter = filter.filter(|filter| *filter != Expr::boolean(true));
        call
    }
}

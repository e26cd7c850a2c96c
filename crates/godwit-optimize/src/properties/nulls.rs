//! Values that may be NULL, and conditions that reject NULLs.

use std::rc::Rc;

use godwit_plan::{ColumnId, ColumnSet, Comparison, Expr, ExprKind, Join, JoinKind, Node, NodeId, Plan};
use godwit_types::{SqlType, Value};

use super::{Properties, is_pairs};

/// Evidence considered to find columns that aren't NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Basis {
    /// Only the structure of the plan.
    Structure,
    /// Conditions as well.
    Conditions,
}

impl Properties {
    /// Returns the columns of a node that may be NULL in its rows, regardless of conditions. This is more precise than
    /// [`Plan::nullable_columns`], since it considers the inputs of expressions.
    ///
    /// This is what may be recorded in expressions ([`Expr::nullable`]): they are moved to places where a condition
    /// doesn't hold yet.
    pub fn nullable(&mut self, plan: &Plan, id: NodeId) -> Rc<ColumnSet> {
        self.nullable_by(plan, id, Basis::Structure)
    }

    /// Returns the columns of a node that may be NULL in its rows, except those for which conditions reject NULLs.
    pub fn nullable_behind_conditions(&mut self, plan: &Plan, id: NodeId) -> Rc<ColumnSet> {
        self.nullable_by(plan, id, Basis::Conditions)
    }

    fn nullable_by(&mut self, plan: &Plan, id: NodeId, basis: Basis) -> Rc<ColumnSet> {
        if let Some(known) = self.nullable.get(&(id, basis)) {
            return Rc::clone(known);
        }
        let nullable = Rc::new(self.find_nullable(plan, id, basis));
        self.nullable.insert((id, basis), Rc::clone(&nullable));
        nullable
    }

    fn find_nullable(&mut self, plan: &Plan, id: NodeId, basis: Basis) -> ColumnSet {
        let mut of_input = |input: NodeId| (*self.nullable_by(plan, input, basis)).clone();
        match plan.node(id) {
            Node::Filter { input, conditions } => without_rejected(of_input(*input), conditions, basis),
            Node::Sort { input, .. } => of_input(*input),
            Node::Limit(limit) => of_input(limit.input),
            Node::Sample(sample) => of_input(sample.input),
            Node::Scan(scan) => without_rejected(plan.nullable_columns(id), &scan.filters, basis),
            Node::Project(project) => {
                let input = of_input(project.input);
                let known = self.outputs(plan, project.input);
                let of_column = |column| known.contains(column).then(|| input.contains(column));
                let made = project.columns.iter().filter(|(_, expr)| may_be_null(expr, &of_column));
                made.map(|&(column, _)| column).collect()
            }
            Node::Aggregate(aggregate) => {
                let input = of_input(aggregate.input);
                let known = self.outputs(plan, aggregate.input);
                let of_column = |column| known.contains(column).then(|| input.contains(column));
                let by_sets = aggregate.sets.is_some();
                let keys = aggregate.keys.iter().filter(|(_, key)| by_sets || may_be_null(key, &of_column));
                let calls = aggregate.aggregates.iter().filter(|(_, call)| call.nullable);
                keys.map(|&(column, _)| column).chain(calls.map(|&(column, _)| column)).collect()
            }
            Node::Window(window) => {
                let mut nullable = of_input(window.input);
                nullable.extend(window.calls.iter().filter(|(_, call)| call.nullable).map(|&(column, _)| column));
                nullable
            }
            Node::Unnest(unnest) => {
                let mut nullable = of_input(unnest.input);
                nullable.extend(unnest.lists.iter().map(|list| list.column));
                nullable.extend(unnest.ordinality.filter(|_| unnest.outer));
                nullable
            }
            Node::Join(join) => self.nullable_of_join(plan, id, join, basis),
            _ => plan.nullable_columns(id),
        }
    }

    fn nullable_of_join(&mut self, plan: &Plan, id: NodeId, join: &Join, basis: Basis) -> ColumnSet {
        let (fills_left, fills_right) = match join.kind {
            JoinKind::Left | JoinKind::Single | JoinKind::AsOf { outer: true, .. } => (false, true),
            JoinKind::Right => (true, false),
            JoinKind::Full | JoinKind::Positional => (true, true),
            _ => (false, false),
        };
        let mut side = |id, fills: bool| match fills {
            true => (*self.outputs(plan, id)).clone(),
            false => (*self.nullable_by(plan, id, basis)).clone(),
        };
        match &join.kind {
            JoinKind::Semi => without_rejected(side(join.left, false), &join.conditions, basis),
            JoinKind::Anti => side(join.left, false),
            JoinKind::Mark { mark, compare } => {
                let mut nullable = side(join.left, false);
                nullable.extend(compare.iter().any(|conjunct| conjunct.nullable).then_some(*mark));
                nullable
            }
            JoinKind::RightSemi | JoinKind::RightAnti => side(join.right, false),
            kind if is_pairs(kind) => {
                let both = side(join.left, fills_left).union(&side(join.right, fills_right));
                if *kind == JoinKind::Inner { without_rejected(both, &join.conditions, basis) } else { both }
            }
            _ => plan.nullable_columns(id),
        }
    }
}

/// Removes the columns that aren't NULL in rows for which all conditions are TRUE, if conditions are considered.
fn without_rejected(mut nullable: ColumnSet, conditions: &[Expr], basis: Basis) -> ColumnSet {
    for condition in conditions.iter().filter(|_| basis == Basis::Conditions) {
        for column in condition.columns().iter() {
            if nullable.contains(column) && rejects_nulls(condition, &std::iter::once(column).collect()) {
                nullable.remove(column);
            }
        }
    }
    nullable
}

/// Returns true if an expression may be NULL, given `of_column` for columns; where that returns `None`, the column's
/// own flag counts.
pub fn may_be_null(expr: &Expr, of_column: &dyn Fn(ColumnId) -> Option<bool>) -> bool {
    match &expr.kind {
        ExprKind::Column(column) => of_column(*column).unwrap_or(expr.nullable),
        ExprKind::Let { .. } | ExprKind::Lambda(..) => true,
        _ => nullable_by(expr, &mut |part| may_be_null(part, of_column)),
    }
}

/// Returns true if an expression may be NULL, given the same for its parts.
pub(crate) fn nullable_by(expr: &Expr, part: &mut dyn FnMut(&Expr) -> bool) -> bool {
    let mut any = |parts: &[Expr]| parts.iter().any(&mut *part);
    match &expr.kind {
        ExprKind::Literal(value) => value.is_null(),
        ExprKind::Cast { input, lenient } => {
            let opaque = [&input.ty, &expr.ty].into_iter().any(|ty| ty.is_nested() || *ty == SqlType::Json);
            *lenient || part(input) || (opaque && expr.nullable)
        }
        ExprKind::Compare(comparison, a, b) => !comparison.is_null_safe() && (part(a) || part(b)),
        ExprKind::And(all) | ExprKind::Or(all) => any(all),
        ExprKind::Not(input) | ExprKind::Negate(input) => part(input),
        ExprKind::IsNull(_) => false,
        ExprKind::Arithmetic(_, a, b) => part(a) || part(b),
        ExprKind::Match { input, pattern, .. } => part(input) || part(pattern),
        ExprKind::Case { branches, otherwise } => match otherwise {
            Some(otherwise) => part(otherwise) || branches.iter().any(|(_, value)| part(value)),
            None => true,
        },
        ExprKind::Coalesce(all) => all.iter().all(part),
        ExprKind::Try(_) => true,
        ExprKind::InList(value, list) => part(value) || list.iter().any(part),
        // A call that isn't NULL for arguments that are never NULL may still be NULL for others.
        ExprKind::Call(_, args) => expr.nullable || any(args),
        ExprKind::Let { body, .. } | ExprKind::Lambda(_, body) => part(body),
        ExprKind::Column(_) | ExprKind::Parameter(_) | ExprKind::Subquery(_) => expr.nullable,
    }
}

/// Returns true if the condition isn't TRUE in any row in which all these columns are NULL.
pub fn rejects_nulls(condition: &Expr, columns: &ColumnSet) -> bool {
    outcomes(condition, columns) & TRUE == 0
}

/// The possible values of an expression, as bits: NULL, FALSE, or TRUE; values of other types than BOOLEAN are NULL or
/// [`SOME`].
type Outcomes = u8;

const NULL: Outcomes = 1;
const FALSE: Outcomes = 2;
const TRUE: Outcomes = 4;
const SOME: Outcomes = FALSE | TRUE;

/// Returns the possible values of an expression when some columns are NULL.
fn outcomes(expr: &Expr, columns: &ColumnSet) -> Outcomes {
    let any_value = if expr.nullable { SOME | NULL } else { SOME };
    let of = |expr: &Expr| outcomes(expr, columns);
    // Certainly NULL if one of the parts is.
    let strict = |parts: &mut dyn Iterator<Item = &Expr>| {
        let parts: Outcomes = parts.map(of).fold(SOME, |all, part| match part {
            NULL => NULL,
            _ if all == NULL => NULL,
            part => all | part & NULL,
        });
        parts
    };
    match &expr.kind {
        ExprKind::Column(column) if columns.contains(*column) => NULL,
        ExprKind::Literal(Value::Null) => NULL,
        ExprKind::Literal(Value::Boolean(value)) => {
            if *value {
                TRUE
            } else {
                FALSE
            }
        }
        ExprKind::Literal(_) => SOME,
        ExprKind::Cast { input, lenient } => match of(input) {
            NULL => NULL,
            part if *lenient => part | NULL | SOME,
            part => (part & NULL) | SOME,
        },
        ExprKind::Compare(comparison, a, b) if comparison.is_null_safe() => null_safe(*comparison, of(a), of(b)),
        ExprKind::Compare(_, a, b) | ExprKind::Arithmetic(_, a, b) => strict(&mut [&**a, &**b].into_iter()),
        ExprKind::Match { input, pattern, .. } => strict(&mut [&**input, &**pattern].into_iter()),
        ExprKind::Try(input) => of(input) | NULL,
        ExprKind::Negate(input) => strict(&mut std::iter::once(&**input)),
        ExprKind::And(all) => all.iter().map(of).fold(TRUE, and),
        ExprKind::Or(all) => negate(all.iter().map(|part| negate(of(part))).fold(TRUE, and)),
        ExprKind::Not(input) => negate(of(input)),
        ExprKind::IsNull(input) => {
            let input = of(input);
            (if input & NULL != 0 { TRUE } else { 0 }) | (if input & SOME != 0 { FALSE } else { 0 })
        }
        ExprKind::Case { branches, otherwise } => of_case(branches, otherwise.as_deref(), columns),
        ExprKind::Coalesce(all) => {
            let parts: Vec<Outcomes> = all.iter().map(of).collect();
            let some = parts.iter().fold(0, |any, part| any | part & SOME);
            some | if parts.iter().all(|part| part & NULL != 0) { NULL } else { 0 }
        }
        ExprKind::InList(value, _) if of(value) == NULL => NULL,
        ExprKind::InList(..) => SOME | NULL,
        ExprKind::Call(function, args) => {
            let has_null = function.strict && args.iter().any(|arg| of(arg) == NULL);
            if has_null { NULL } else { SOME | NULL }
        }
        ExprKind::Let { column, value, body } => {
            let mut columns = columns.clone();
            if of(value) == NULL {
                columns.insert(*column);
            }
            outcomes(body, &columns)
        }
        ExprKind::Column(_) | ExprKind::Parameter(_) | ExprKind::Lambda(..) | ExprKind::Subquery(_) => any_value,
    }
}

fn null_safe(comparison: Comparison, a: Outcomes, b: Outcomes) -> Outcomes {
    let (same, different) = if comparison == Comparison::NotDistinct { (TRUE, FALSE) } else { (FALSE, TRUE) };
    match (a & NULL != 0, b & NULL != 0) {
        _ if a == NULL && b == NULL => same,
        (true, false) if a == NULL => different,
        (false, true) if b == NULL => different,
        _ => SOME,
    }
}

fn and(a: Outcomes, b: Outcomes) -> Outcomes {
    let is_false = (a | b) & FALSE;
    let is_true = a & b & TRUE;
    let not_false = |part: Outcomes| part & (TRUE | NULL) != 0;
    let is_null = (a | b) & NULL != 0 && not_false(a) && not_false(b);
    is_false | is_true | if is_null { NULL } else { 0 }
}

fn negate(a: Outcomes) -> Outcomes {
    (a & NULL) | (if a & TRUE != 0 { FALSE } else { 0 }) | (if a & FALSE != 0 { TRUE } else { 0 })
}

fn of_case(branches: &[(Expr, Expr)], otherwise: Option<&Expr>, columns: &ColumnSet) -> Outcomes {
    let mut all = 0;
    for (condition, value) in branches {
        let condition = outcomes(condition, columns);
        if condition & TRUE != 0 {
            all |= outcomes(value, columns);
        }
        if condition == TRUE {
            return all;
        }
    }
    all | otherwise.map_or(NULL, |value| outcomes(value, columns))
}

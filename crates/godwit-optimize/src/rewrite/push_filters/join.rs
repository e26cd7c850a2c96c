//! Pushing conditions through joins.
//!
//! | kind | from above to the left | from above to the right | own to the left | own to the right |
//! |---|---|---|---|---|
//! | inner | yes | yes | yes | yes |
//! | left, single, as-of | yes | no | no | yes |
//! | full, positional | no | no | no | no |
//! | semi | yes | | yes | yes |
//! | anti, mark | yes | | no | yes |
//!
//! Implied conditions go wherever conditions of that kind may go. A right join is treated as a left join from the other
//! side.

use std::collections::HashSet;

use godwit_common::Result;
use godwit_plan::{ColumnId, ColumnSet, Expr, ExprKind, Join, JoinKind, Node, NodeId, Plan};

use super::super::{extend, filter, used_columns};
use super::derive::derive;
use super::{Conditions, Pusher, rejected_columns};
use crate::properties::effects::is_volatile;
use crate::properties::rejects_nulls;

/// Where a kind of join lets conditions pass.
struct Ways {
    above_to_right: bool,
    own_to_left: bool,
    /// Conditions from above that use the right side or both sides become conditions of the join.
    joins_above: bool,
}

impl Ways {
    fn of(kind: &JoinKind) -> Option<Self> {
        let ways = |above_to_right, own_to_left, joins_above| Some(Self { above_to_right, own_to_left, joins_above });
        match kind {
            JoinKind::Inner => ways(true, true, true),
            JoinKind::Semi => ways(false, true, false),
            JoinKind::Left | JoinKind::Single | JoinKind::AsOf { .. } | JoinKind::Anti | JoinKind::Mark { .. } => {
                ways(false, false, false)
            }
            _ => None,
        }
    }
}

/// The sides whose columns a condition uses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Neither,
    Left,
    Right,
    Both,
}

impl Pusher<'_, '_> {
    pub(super) fn push_into_join(&mut self, plan: &mut Plan, join: Join, conditions: Conditions) -> Result<NodeId> {
        let Conditions { all, rejected } = conditions;
        let (stays, mut above): (Vec<Expr>, Vec<Expr>) = all.into_iter().partition(|expr| is_volatile(plan, expr));
        let mut join = from_the_left(join);
        join = self.without_needless_nulls(plan, join, &above, &rejected);
        let mark = settle_mark(&mut join, &mut above);
        let is_pinned = join.conditions.iter().any(|condition| is_volatile(plan, condition));
        let id = match Ways::of(&join.kind) {
            Some(ways) if !is_pinned => self.push_apart(plan, join, above, &rejected, &ways)?,
            _ => {
                let left = self.push(plan, join.left, Conditions::default())?;
                let right = self.push(plan, join.right, Conditions::default())?;
                let id = plan.add(Node::Join(Join { left, right, ..join }));
                filter(plan, id, above)
            }
        };
        let id = match mark {
            Some(mark) => extend(plan, self.context, id, vec![mark]),
            None => id,
        };
        Ok(filter(plan, id, stays))
    }

    /// Turns outer joins into inner ones where the rows that they add are rejected anyway.
    fn without_needless_nulls(&mut self, plan: &Plan, join: Join, above: &[Expr], rejected: &ColumnSet) -> Join {
        if !matches!(join.kind, JoinKind::Left | JoinKind::Full) {
            return join;
        }
        let mut rejects = |side: NodeId| {
            let columns = self.context.properties.outputs(plan, side);
            !columns.is_disjoint(rejected) || above.iter().any(|condition| rejects_nulls(condition, &columns))
        };
        let (rejects_left, rejects_right) = (rejects(join.left), rejects(join.right));
        match join.kind {
            JoinKind::Left if rejects_right => Join { kind: JoinKind::Inner, ..join },
            JoinKind::Full if rejects_left && rejects_right => Join { kind: JoinKind::Inner, ..join },
            // Left rows without a match are those that have NULLs on the right.
            JoinKind::Full if rejects_left => Join { kind: JoinKind::Left, ..join },
            JoinKind::Full if rejects_right => {
                Join { kind: JoinKind::Left, left: join.right, right: join.left, ..join }
            }
            _ => join,
        }
    }

    fn push_apart(
        &mut self,
        plan: &mut Plan,
        join: Join,
        above: Vec<Expr>,
        rejected: &ColumnSet,
        ways: &Ways,
    ) -> Result<NodeId> {
        let left_columns = self.context.properties.outputs(plan, join.left);
        let right_columns = self.context.properties.outputs(plan, join.right);
        let side = |plan: &Plan, condition: &Expr| {
            let used = used_columns(plan, [condition]);
            let other = used.difference(&left_columns);
            match (used.is_disjoint(&left_columns), other.is_empty(), other.is_subset(&right_columns)) {
                (true, true, _) => Side::Neither,
                (false, true, _) => Side::Left,
                (true, false, true) => Side::Right,
                _ => Side::Both,
            }
        };
        let (mut left, mut right, mut own, mut stays) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let known: Vec<Expr> = above.iter().chain(&join.conditions).cloned().collect();
        for condition in above {
            match side(plan, &condition) {
                Side::Left | Side::Neither => left.push(condition),
                Side::Right if ways.above_to_right => right.push(condition),
                _ if ways.joins_above => own.push(condition),
                _ => stays.push(condition),
            }
        }
        for condition in join.conditions {
            match side(plan, &condition) {
                Side::Left | Side::Neither if ways.own_to_left => left.push(condition),
                Side::Right | Side::Neither => right.push(condition),
                _ => own.push(condition),
            }
        }
        // Conditions that stay above may use columns that are NULL only after the join: they imply nothing inside.
        let staying: HashSet<&Expr> = stays.iter().collect();
        let usable = known.iter().filter(|condition| !staying.contains(condition));
        for condition in derive(usable, &left_columns, &right_columns) {
            match side(plan, &condition) {
                Side::Left if ways.own_to_left => left.push(condition),
                Side::Right => right.push(condition),
                _ => {}
            }
        }
        dedupe(&mut own);
        let mut rejected_left = rejected_columns(&left).union(rejected);
        let mut rejected_right = rejected_columns(&right);
        let of_own = rejected_columns(&own);
        rejected_right.union_with(&of_own);
        if ways.own_to_left {
            rejected_left.union_with(&of_own);
        }
        if ways.above_to_right {
            rejected_right.union_with(rejected);
        }
        if matches!(join.kind, JoinKind::AsOf { .. }) {
            rejected_right = ColumnSet::new();
        }
        rejected_left.intersect_with(&left_columns);
        rejected_right.intersect_with(&right_columns);
        let left = self.push(plan, join.left, Conditions { all: left, rejected: rejected_left })?;
        let right = self.push(plan, join.right, Conditions { all: right, rejected: rejected_right })?;
        let id = plan.add(Node::Join(Join { kind: join.kind, left, right, conditions: own }));
        Ok(filter(plan, id, stays))
    }
}

/// Mirrors a right join to a left join.
fn from_the_left(join: Join) -> Join {
    let kind = match join.kind {
        JoinKind::Right => JoinKind::Left,
        JoinKind::RightSemi => JoinKind::Semi,
        JoinKind::RightAnti => JoinKind::Anti,
        _ => return join,
    };
    Join { kind, left: join.right, right: join.left, conditions: join.conditions }
}

/// Turns a mark join into a semi join if the mark has to be TRUE, or into an anti join if it has to be FALSE and is
/// never NULL. The mark is then a constant, which is returned.
fn settle_mark(join: &mut Join, above: &mut Vec<Expr>) -> Option<(ColumnId, Expr)> {
    let JoinKind::Mark { mark, compare } = &join.kind else { return None };
    let mark = *mark;
    let is_mark = |expr: &Expr| expr.as_column() == Some(mark);
    let is_not_mark = |expr: &Expr| matches!(&expr.kind, ExprKind::Not(input) if is_mark(input));
    let value = match () {
        () if above.iter().any(is_mark) => true,
        () if above.iter().any(is_not_mark) && !compare.iter().any(|part| part.nullable) => false,
        () => return None,
    };
    join.conditions.extend(compare.iter().cloned());
    join.kind = if value { JoinKind::Semi } else { JoinKind::Anti };
    // Both may be there: what contradicts the value becomes FALSE.
    let is_settled = |expr: &Expr| if value { is_mark(expr) } else { is_not_mark(expr) };
    let constant = Expr::boolean(value);
    let rest = std::mem::take(above).into_iter().filter(|expr| !is_settled(expr));
    let rest = rest.map(|expr| expr.substitute(&|used| (used == mark).then(|| constant.clone())));
    *above = rest.collect();
    Some((mark, constant))
}

/// Removes duplicates, treating `a = b` and `b = a` as the same.
fn dedupe(conditions: &mut Vec<Expr>) {
    let mut seen = HashSet::new();
    conditions.retain(|condition| {
        let turned = match &condition.kind {
            ExprKind::Compare(comparison, a, b) => {
                Some(Expr::compare(comparison.swapped(), (**b).clone(), (**a).clone()))
            }
            _ => None,
        };
        !turned.is_some_and(|turned| seen.contains(&turned)) && seen.insert(condition.clone())
    });
}

//! Build sides of outer, semi and anti joins.
//!
//! In a finished plan the right input of every join is the build side. A join whose left input is clearly the smaller
//! one is mirrored: LEFT becomes RIGHT, a semi join gets the rows to keep on its right. The sides of mark joins and others
//! are fixed: their rows belong to the probe side. Those of inner joins are chosen along with their order.

use godwit_plan::{Join, JoinKind, Node, NodeId, Plan};

use crate::estimate::Estimates;

/// The left side must be smaller by this factor to be the build side of a semi, anti or outer join: these must mark
/// which of their build rows matched and emit them in a second pass.
const MIRROR_FACTOR: f64 = 2.0;

/// Adds a join to the plan, mirrored if its left input should build.
pub(super) fn add(plan: &mut Plan, estimates: &Estimates, join: Join) -> NodeId {
    let join = match mirrored(&join.kind) {
        Some(kind) if should_mirror(plan, estimates, &join.kind, join.left, join.right) => {
            Join { kind, left: join.right, right: join.left, conditions: join.conditions }
        }
        _ => join,
    };
    plan.add(Node::Join(join))
}

/// Should the left input of such a join build?
pub(super) fn should_mirror(plan: &Plan, estimates: &Estimates, kind: &JoinKind, left: NodeId, right: NodeId) -> bool {
    mirrored(kind).is_some() && {
        let (left, right) = (estimates.of(plan, left), estimates.of(plan, right));
        is_clearly_smaller((left.rows, left.row_bytes()), (right.rows, right.row_bytes()))
    }
}

/// Is the left side, by its rows and bytes per row, enough smaller that it should build?
pub(super) fn is_clearly_smaller(left: (f64, f64), right: (f64, f64)) -> bool {
    left.0 * left.1.max(1.0) * MIRROR_FACTOR < right.0 * right.1.max(1.0)
}

/// The kind of the same join with its sides exchanged.
fn mirrored(kind: &JoinKind) -> Option<JoinKind> {
    Some(match kind {
        JoinKind::Left => JoinKind::Right,
        JoinKind::Right => JoinKind::Left,
        JoinKind::Full => JoinKind::Full,
        JoinKind::Semi => JoinKind::RightSemi,
        JoinKind::RightSemi => JoinKind::Semi,
        JoinKind::Anti => JoinKind::RightAnti,
        JoinKind::RightAnti => JoinKind::Anti,
        JoinKind::Inner | JoinKind::Single | JoinKind::Mark { .. } | JoinKind::AsOf { .. } | JoinKind::Positional => {
            return None;
        }
    })
}

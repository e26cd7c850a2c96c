//! Build sides of outer, semi and anti joins.
//!
//! In a finished plan the right input of every join is the build side. A join whose left input is clearly smaller is
//! mirrored: LEFT becomes RIGHT, and a semi join gets the rows to keep on its right. The sides of mark joins and some
//! others are fixed, since their rows belong to the probe side. The sides of inner joins are chosen along with their
//! order.

use godwit_plan::{Join, JoinKind, Node, NodeId, Plan};

use crate::estimate::Estimates;

/// Factor by which the left side must be smaller to become the build side of a semi, anti or outer join: such a join
/// must mark the build rows that matched and emit them in a second pass.
const MIRROR_FACTOR: f64 = 2.0;

/// Adds a join to the plan, mirrored if its left input should be the build side.
pub(super) fn add(plan: &mut Plan, estimates: &Estimates, join: Join) -> NodeId {
    let join = match mirrored(&join.kind) {
        Some(kind) if should_mirror(plan, estimates, &join.kind, join.left, join.right) => {
            Join { kind, left: join.right, right: join.left, conditions: join.conditions }
        }
        _ => join,
    };
    plan.add(Node::Join(join))
}

/// Returns true if the left input of such a join should be the build side.
pub(super) fn should_mirror(plan: &Plan, estimates: &Estimates, kind: &JoinKind, left: NodeId, right: NodeId) -> bool {
    mirrored(kind).is_some() && {
        let (left, right) = (estimates.of(plan, left), estimates.of(plan, right));
        is_clearly_smaller((left.rows, left.row_bytes()), (right.rows, right.row_bytes()))
    }
}

/// Returns true if the left side, given (rows, bytes per row), is enough smaller to be the build side.
pub(super) fn is_clearly_smaller(left: (f64, f64), right: (f64, f64)) -> bool {
    left.0 * left.1.max(1.0) * MIRROR_FACTOR < right.0 * right.1.max(1.0)
}

/// Returns the kind of the same join with its sides swapped.
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

//! Regions: nodes of a plan whose join order can be chosen.
//!
//! ```text
//!        ⨝ p(a,d)                 conjuncts  p(a,d), q(a,b)
//!       /       \                 operators  a ⟕ c, on the left of which are {a, b}
//!   ⟕ r(a,c)     d                leaves     a, b, c, d
//!    /     \
//! ⨝ q(a,b)  c
//!  / \
//! a   b
//! ```
//!
//! Inner joins and filters dissolve into conjuncts wherever they are above other joins or on their left. On the NULL
//! side of an outer join, on both sides of a full one and on the right of a semi or anti join they don't: such a
//! subtree must be joined as a whole, so it is a leaf, and a region itself.

use std::ops::Range;

use godwit_plan::{Expr, Join, JoinKind, Node, NodeId, Plan, Project};

use super::conflict::Operation;
use super::graph::{RelationSet, one};

/// A tree of joins, taken apart.
#[derive(Default)]
pub(super) struct Region {
    /// Nodes to be joined.
    pub(super) leaves: Vec<NodeId>,
    /// Conditions that must be TRUE in all rows of the result.
    pub(super) conjuncts: Vec<Expr>,
    /// Joins other than inner joins, each after those below it.
    pub(super) operators: Vec<WrittenOperator>,
    /// Leaves that aren't below the NULL side of an outer join or the right side of a semi or anti join.
    pub(super) free: RelationSet,
    /// True if a node dropped columns.
    pub(super) has_dropped_columns: bool,
}

/// An outer, semi or anti join as written.
pub(super) struct WrittenOperator {
    pub(super) operation: Operation,
    pub(super) conditions: Vec<Expr>,
    pub(super) left: Part,
    pub(super) right: Part,
}

/// A subtree of a region.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) relations: RelationSet,
    /// The leaf at the end of its left side.
    pub(super) head: usize,
    /// The operators in it, by position.
    pub(super) operators: Range<usize>,
}

/// The position of a node in a region.
#[derive(Clone, Copy, PartialEq)]
enum Mobility {
    /// Its rows are those of the result, apart from rows that semi and anti joins drop.
    Free,
    /// Inner joins must stay here.
    Fixed,
}

impl Region {
    /// Collects the region below a node; `None` if the node isn't part of one.
    pub(super) fn collect(plan: &Plan, root: NodeId) -> Option<Self> {
        if !is_region(plan, root, Mobility::Free) {
            return None;
        }
        let mut region = Self::default();
        region.part(plan, root, Mobility::Free);
        Some(region)
    }

    /// Iterates over all of its expressions.
    pub(super) fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let operators = self.operators.iter_mut().flat_map(|operator| &mut operator.conditions);
        self.conjuncts.iter_mut().chain(operators)
    }

    fn part(&mut self, plan: &Plan, id: NodeId, place: Mobility) -> Part {
        if !is_region(plan, id, place) {
            return self.leaf(id, place);
        }
        match plan.node(id) {
            Node::Filter { input, conditions } => {
                self.conjuncts.extend(conditions.iter().cloned());
                self.part(plan, *input, place)
            }
            Node::Project(project) => {
                self.has_dropped_columns = true;
                self.part(plan, project.input, place)
            }
            Node::Join(join) => self.join(plan, join, place),
            _ => unreachable!("regions are of filters, choices of columns and joins"),
        }
    }

    fn leaf(&mut self, id: NodeId, place: Mobility) -> Part {
        let head = self.leaves.len();
        self.leaves.push(id);
        let relations = one(head);
        if place == Mobility::Free {
            self.free |= relations;
        }
        Part { relations, head, operators: self.operators.len()..self.operators.len() }
    }

    fn join(&mut self, plan: &Plan, join: &Join, place: Mobility) -> Part {
        let start = self.operators.len();
        let Some((operation, left, right)) = operation(join) else {
            self.conjuncts.extend(join.conditions.iter().cloned());
            let left = self.part(plan, join.left, place);
            let right = self.part(plan, join.right, place);
            return Part { relations: left.relations | right.relations, operators: start..right.operators.end, ..left };
        };
        let (left, right) = match operation {
            Operation::Left => (self.part(plan, left, place), self.part_of_null_side(plan, right)),
            Operation::Semi | Operation::Anti => (self.part(plan, left, place), self.leaf(right, Mobility::Fixed)),
            Operation::Full => {
                let (free, sides) =
                    (self.free, (self.part_of_null_side(plan, left), self.part_of_null_side(plan, right)));
                self.free = if place == Mobility::Free { free | sides.0.relations | sides.1.relations } else { free };
                sides
            }
        };
        let conditions = join.conditions.clone();
        let whole = Part {
            relations: left.relations | right.relations,
            head: left.head,
            operators: start..self.operators.len() + 1,
        };
        self.operators.push(WrittenOperator { operation, conditions, left, right });
        whole
    }

    fn part_of_null_side(&mut self, plan: &Plan, id: NodeId) -> Part {
        self.part(plan, id, Mobility::Fixed)
    }
}

/// Returns true if a node in this place is part of a region.
fn is_region(plan: &Plan, mut id: NodeId, place: Mobility) -> bool {
    loop {
        match plan.node(id) {
            Node::Filter { input, conditions } if place == Mobility::Free && !is_volatile(conditions) => id = *input,
            Node::Project(project) if is_choice(project) => id = project.input,
            Node::Join(join) if !is_volatile(&join.conditions) => {
                return match join.kind {
                    JoinKind::Left | JoinKind::Right | JoinKind::Full => true,
                    JoinKind::Inner | JoinKind::Semi | JoinKind::Anti | JoinKind::RightSemi | JoinKind::RightAnti => {
                        place == Mobility::Free
                    }
                    JoinKind::Single | JoinKind::Mark { .. } | JoinKind::AsOf { .. } | JoinKind::Positional => false,
                };
            }
            _ => return false,
        }
    }
}

fn is_volatile(conditions: &[Expr]) -> bool {
    conditions.iter().any(Expr::is_volatile)
}

/// Returns true if the projection only passes columns on.
fn is_choice(project: &Project) -> bool {
    project.columns.iter().all(|(column, expr)| expr.as_column() == Some(*column))
}

/// Returns the operation of a join with its left and right input, treating right joins as left ones; `None` for an
/// inner join.
fn operation(join: &Join) -> Option<(Operation, NodeId, NodeId)> {
    Some(match join.kind {
        JoinKind::Left => (Operation::Left, join.left, join.right),
        JoinKind::Right => (Operation::Left, join.right, join.left),
        JoinKind::Full => (Operation::Full, join.left, join.right),
        JoinKind::Semi => (Operation::Semi, join.left, join.right),
        JoinKind::RightSemi => (Operation::Semi, join.right, join.left),
        JoinKind::Anti => (Operation::Anti, join.left, join.right),
        JoinKind::RightAnti => (Operation::Anti, join.right, join.left),
        _ => return None,
    })
}

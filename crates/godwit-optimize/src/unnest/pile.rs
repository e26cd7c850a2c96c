//! Stacked joins over the same outer rows: those of the subqueries of a node, or one dependent join.
//!
//! ```text
//! Join      ◄─ steps, the last one on top
//! Extend
//! Join
//! base      ◄─ the outer rows, of which domains are made
//! ```
//!
//! Domains are made from the base rather than from the rows below a join, so that it is shared once, no matter how many
//! subqueries a node has. Therefore the steps are only recorded, and become nodes when the pile is finished.

use godwit_common::{Error, Result};
use godwit_plan::{ColumnId, ColumnSet, Comparison, Expr, Join, JoinKind, Node, NodeId, SharedId, Unnest};
use godwit_types::SqlType;

use super::build::{case, is_true};
use super::pull::Pulled;
use super::{Unnester, pull};

/// Outer rows and the joins over them.
pub(super) struct Pile {
    pub(super) base: NodeId,
    pub(super) base_columns: ColumnSet,
    /// The base as a shared plan, once a domain needs it: (column of the base, column of the shared plan).
    pub(super) shared: Option<(SharedId, Vec<(ColumnId, ColumnId)>)>,
    /// Number of each row of the base, once a domain needs one.
    pub(super) row_number: Option<ColumnId>,
    steps: Vec<Step>,
    /// Values of the subqueries placed so far.
    pub(super) values: Vec<(NodeId, Expr)>,
}

enum Step {
    Join { kind: JoinKind, right: NodeId, conditions: Vec<Expr> },
    Extend(Vec<(ColumnId, Expr)>),
    Filter(Vec<Expr>),
}

impl Pile {
    pub(super) fn new(unnester: &Unnester<'_>, base: NodeId) -> Self {
        let base_columns = unnester.plan.output_set(base);
        Self { base, base_columns, shared: None, row_number: None, steps: Vec::new(), values: Vec::new() }
    }

    fn add_join(&mut self, kind: JoinKind, right: NodeId, conditions: Vec<Expr>) {
        self.steps.push(Step::Join { kind, right, conditions });
    }

    pub(super) fn extend(&mut self, columns: Vec<(ColumnId, Expr)>) {
        if !columns.is_empty() {
            self.steps.push(Step::Extend(columns));
        }
    }

    fn filter(&mut self, conditions: Vec<Expr>) {
        if !conditions.is_empty() {
            self.steps.push(Step::Filter(conditions));
        }
    }
}

impl Unnester<'_> {
    /// Returns the base with all steps. It has the columns of the base and those that the steps add, perhaps more.
    pub(super) fn finish(&mut self, pile: Pile) -> NodeId {
        self.add_steps(pile.base, pile.steps)
    }

    fn add_steps(&mut self, base: NodeId, steps: Vec<Step>) -> NodeId {
        steps.into_iter().fold(base, |below, step| match step {
            Step::Join { kind, right, conditions } => {
                self.plan.add(Node::Join(Join { kind, left: below, right, conditions }))
            }
            Step::Extend(columns) => self.extend(below, columns),
            Step::Filter(conditions) => self.filter(below, conditions),
        })
    }

    /// Makes the current rows the base, so that subqueries can use their columns.
    pub(super) fn settle(&mut self, pile: &mut Pile) {
        if pile.steps.is_empty() {
            return;
        }
        let steps = std::mem::take(&mut pile.steps);
        pile.base = self.add_steps(pile.base, steps);
        pile.base_columns = self.plan.output_set(pile.base);
        pile.shared = None;
    }

    /// Joins the outer rows with a right side that may depend on them.
    pub(super) fn join(&mut self, pile: &mut Pile, kind: JoinKind, right: NodeId, conditions: Vec<Expr>) -> Result<()> {
        if self.free(right).is_disjoint(&pile.base_columns) {
            pile.add_join(kind, right, conditions);
            return Ok(());
        }
        if kind == JoinKind::Left
            && conditions.is_empty()
            && let Some(unnest) = self.unnested_list(right)
        {
            self.settle(pile);
            let unnest = Unnest { input: pile.base, outer: true, ..unnest };
            let grafted = self.plan.add(Node::Unnest(unnest));
            *pile = Pile::new(self, grafted);
            return Ok(());
        }
        let pulled = if self.is_volatile(right) { None } else { self.pull(right, &pile.base_columns)? };
        if let Some(pulled) = pulled.filter(|pulled| self.can_join(&kind, &conditions, pulled)) {
            return self.join_pulled(pile, kind, pulled, conditions);
        }
        if kind == JoinKind::Inner {
            self.settle(pile);
            if let Some(grafted) = self.graft(pile.base, right)? {
                let grafted = self.filter(grafted, conditions);
                *pile = Pile::new(self, grafted);
                return Ok(());
            }
        }
        let free = self.free(right).intersection(&pile.base_columns);
        let is_volatile = self.is_volatile(right);
        let domain = self.domain(pile, is_volatile, &free)?;
        let pulled = self.peel(right, &domain)?;
        let pulled = match pulled.filter(|pulled| self.can_join(&kind, &conditions, pulled)) {
            Some(pulled) => pulled,
            None => self.attach_whole(right, &domain)?,
        };
        self.join_pulled(pile, kind, pulled, conditions)
    }

    /// Returns true if this join can compute what was put off. A column declared as never NULL must not be computed
    /// above an outer join that adds NULLs, and the nearest row can only be found with all values available.
    fn can_join(&self, kind: &JoinKind, conditions: &[Expr], pulled: &Pulled) -> bool {
        if pulled.computed.is_empty() && !pulled.always {
            return true;
        }
        match kind {
            JoinKind::Inner | JoinKind::Semi | JoinKind::Anti | JoinKind::Mark { .. } => true,
            JoinKind::Left | JoinKind::Single if pulled.always => conditions.is_empty(),
            JoinKind::Left => pulled.computed.iter().all(|&(column, _)| self.plan.column(column).nullable),
            _ => false,
        }
    }

    fn join_pulled(&mut self, pile: &mut Pile, kind: JoinKind, pulled: Pulled, conditions: Vec<Expr>) -> Result<()> {
        if pulled.always {
            self.join_one_row(pile, kind, pulled, conditions);
            return Ok(());
        }
        let Pulled { node, conditions: risen, computed, .. } = pulled;
        let put_in = |expr: Expr| pull::put_in(expr, &computed);
        let mut conditions: Vec<Expr> = conditions.into_iter().map(put_in).collect();
        conditions.extend(risen);
        match kind {
            JoinKind::Inner if self.is_one_row(node) => {
                pile.filter(conditions);
                pile.extend(computed);
            }
            JoinKind::Inner => {
                pile.add_join(kind, node, conditions);
                pile.extend(computed);
            }
            JoinKind::Left if self.is_one_row(node) && conditions.is_empty() => pile.extend(computed),
            JoinKind::Left if !computed.is_empty() => {
                let matched = self.plan.add_column("matched", SqlType::Boolean, false);
                let node = self.extend(node, vec![(matched, Expr::boolean(true))]);
                pile.add_join(kind, node, conditions);
                let is_matched = is_true(self.column(matched));
                let value = |(column, expr): (ColumnId, Expr)| {
                    let null = Expr::null(expr.ty.clone());
                    (column, case(is_matched.clone(), expr, null))
                };
                pile.extend(computed.into_iter().map(value).collect());
            }
            JoinKind::Mark { mark, compare } => {
                let compare = compare.into_iter().map(put_in).collect();
                pile.add_join(JoinKind::Mark { mark, compare }, node, conditions);
            }
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti | JoinKind::Single | JoinKind::AsOf { .. } => {
                pile.add_join(kind, node, conditions);
            }
            JoinKind::Right | JoinKind::Full | JoinKind::RightSemi | JoinKind::RightAnti | JoinKind::Positional => {
                return Err(Error::internal(
                    "the right side of a join that keeps its rows uses columns of the left one",
                ));
            }
        }
        Ok(())
    }

    /// Joins a right side that has exactly one row for each outer row: an outer join finds it, and the condition of the
    /// join's kind is applied above.
    fn join_one_row(&mut self, pile: &mut Pile, kind: JoinKind, pulled: Pulled, conditions: Vec<Expr>) {
        pile.add_join(JoinKind::Left, pulled.node, pulled.conditions);
        pile.extend(pulled.computed);
        match kind {
            JoinKind::Mark { mark, compare } => {
                let value = if conditions.is_empty() {
                    Expr::and(compare)
                } else {
                    case(Expr::and(conditions), Expr::and(compare), Expr::boolean(false))
                };
                pile.extend(vec![(mark, value)]);
            }
            JoinKind::Anti => {
                pile.filter(vec![Expr::compare(Comparison::Distinct, Expr::and(conditions), Expr::boolean(true))]);
            }
            _ => pile.filter(conditions),
        }
    }
}

//! Joins.
//!
//! ```text
//! a = b, each of one side         a key; without NULLs
//! a IS NOT DISTINCT FROM b        a key; with NULL = NULL if no key of the join is an equality that may meet NULLs,
//!                                 else such equalities become keys with NULL = NULL, and are NOT NULL besides
//! everything else                 the residual condition
//!
//! mark, nothing to compare        one mark
//! mark of one equality alone      one mark that is NULL where the comparison is (the executor's null-aware join)
//! any other mark                  TRUE by one mark, NULL by a second one of pairs whose comparison is NULL, else FALSE
//! ```

use std::sync::Arc;

use datafusion_common::{Column, DFSchema, JoinConstraint, JoinType, NullEquality, ScalarValue};
use datafusion_expr::logical_plan::Join as PlannerJoin;
use datafusion_expr::{Expr as PlannerExpr, LogicalPlan, lit, when};
use godwit_common::{Error, Result};
use godwit_plan::{ColumnId, ColumnSet, Comparison, Expr, ExprKind, Join, JoinKind, NodeId};

use super::plan::{Bridge, project};
use super::planning_error;

/// What the planner crates call the column that a mark join adds.
const MARK: &str = "mark";

/// The inputs of a join, converted.
struct Sides {
    left: LogicalPlan,
    right: LogicalPlan,
    left_columns: ColumnSet,
    right_columns: ColumnSet,
}

/// The conditions of a join, as the executor wants them.
struct Conditions {
    on: Vec<(PlannerExpr, PlannerExpr)>,
    null_equality: NullEquality,
    filter: Option<PlannerExpr>,
}

/// A pair of keys.
struct Key<'e> {
    left: &'e Expr,
    right: &'e Expr,
    /// NULL is equal to NULL.
    null_safe: bool,
}

impl Bridge<'_> {
    pub(super) fn join(&self, join: &Join) -> Result<LogicalPlan> {
        let join_type = match &join.kind {
            JoinKind::Inner => JoinType::Inner,
            JoinKind::Left => JoinType::Left,
            JoinKind::Right => JoinType::Right,
            JoinKind::Full => JoinType::Full,
            JoinKind::Semi => JoinType::LeftSemi,
            JoinKind::Anti => JoinType::LeftAnti,
            JoinKind::RightSemi => JoinType::RightSemi,
            JoinKind::RightAnti => JoinType::RightAnti,
            JoinKind::Single => {
                return Err(Error::unsupported("a subquery that may return several rows for one row")
                    .with_hint("add an aggregate such as max(...)"));
            }
            JoinKind::Mark { mark, compare } => return self.mark_join(join, *mark, compare),
            JoinKind::AsOf { .. } => {
                return Err(Error::unsupported("ASOF JOIN")
                    .with_hint("join with an inequality, and keep the nearest row of each with DISTINCT ON"));
            }
            JoinKind::Positional => {
                return Err(Error::unsupported("POSITIONAL JOIN")
                    .with_hint("number the rows of both sides, and join by the number"));
            }
        };
        let sides = self.sides(join.left, join.right)?;
        let conditions = self.conditions(&sides, join.conditions.iter())?;
        joined(sides, conditions, join_type, false)
    }

    fn sides(&self, left: NodeId, right: NodeId) -> Result<Sides> {
        let (left_columns, right_columns) = (self.plan.output_set(left), self.plan.output_set(right));
        Ok(Sides { left: self.node(left)?, right: self.node(right)?, left_columns, right_columns })
    }

    fn conditions<'e>(&self, sides: &Sides, conditions: impl Iterator<Item = &'e Expr>) -> Result<Conditions> {
        let mut keys = Vec::new();
        let mut residual: Vec<Expr> = Vec::new();
        for condition in conditions {
            match sides.key(condition) {
                Some(key) => keys.push(key),
                None => residual.push(condition.clone()),
            }
        }
        let is_null_safe = keys.iter().any(|key| key.null_safe);
        if is_null_safe {
            // One of the two sides is enough: what NULL is equal to is NULL.
            let not_null = keys.iter().filter(|key| key.may_meet_nulls() && !key.null_safe);
            residual.extend(not_null.map(|key| key.left.clone().is_null().negated()));
        }
        let on = keys.iter().map(|key| {
            let left = self.over(sides.left.schema(), |exprs| exprs.convert(key.left))?;
            let right = self.over(sides.right.schema(), |exprs| exprs.convert(key.right))?;
            Ok((left, right))
        });
        Ok(Conditions {
            on: on.collect::<Result<_>>()?,
            null_equality: match is_null_safe {
                true => NullEquality::NullEqualsNull,
                false => NullEquality::NullEqualsNothing,
            },
            filter: self.over(&sides.both()?, |exprs| exprs.conjunction(&residual))?,
        })
    }

    /// Left rows, and whether they have a pair.
    fn mark_join(&self, join: &Join, mark: ColumnId, compare: &[Expr]) -> Result<LogicalPlan> {
        let sides = self.sides(join.left, join.right)?;
        let may_be_null = compare.iter().any(|condition| condition.nullable);
        let is_null_aware = match (join.conditions.as_slice(), compare) {
            ([], [only]) if may_be_null => sides.key(only).is_some_and(|key| !key.null_safe),
            _ => false,
        };
        let found = self.conditions(&sides, join.conditions.iter().chain(compare))?;
        if is_null_aware || !may_be_null {
            let marked = joined(sides, found, JoinType::LeftMark, is_null_aware)?;
            return self.with_mark(marked, join.left, mark, mark_column());
        }
        // Conjuncts that are never NULL must be TRUE where the whole is NULL.
        let (nullable, certain): (Vec<&Expr>, Vec<&Expr>) = compare.iter().partition(|condition| condition.nullable);
        let is_unknown = Expr::and(nullable.into_iter().cloned()).is_null();
        let conditions = join.conditions.iter().chain(certain).chain(std::iter::once(&is_unknown));
        let maybe = self.conditions(&sides, conditions)?;
        let again = self.node(join.right)?;
        let right_columns = sides.right_columns.clone();
        let left_columns = sides.left_columns.clone();
        let is_found = format!("{} found", self.column_name(mark));
        let first = joined(sides, found, JoinType::LeftMark, false)?;
        let first = self.with_alias(first, join.left, mark_column().alias(&is_found))?;
        let sides = Sides { left: first, right: again, left_columns, right_columns };
        let second = joined(sides, maybe, JoinType::LeftMark, false)?;
        let is_found = PlannerExpr::Column(Column::new_unqualified(is_found));
        let value = when(is_found, lit(true))
            .when(mark_column(), lit(ScalarValue::Boolean(None)))
            .otherwise(lit(false))
            .map_err(planning_error)?;
        self.with_mark(second, join.left, mark, value)
    }

    fn with_mark(&self, rows: LogicalPlan, left: NodeId, mark: ColumnId, value: PlannerExpr) -> Result<LogicalPlan> {
        self.with_alias(rows, left, value.alias(self.column_name(mark)))
    }

    /// The columns of a node, and one more.
    fn with_alias(&self, rows: LogicalPlan, node: NodeId, value: PlannerExpr) -> Result<LogicalPlan> {
        let columns = self.plan.outputs(node).into_iter().map(|column| self.column(column));
        project(rows, columns.chain([value]).collect())
    }
}

impl Sides {
    /// The schema of pairs.
    fn both(&self) -> Result<Arc<DFSchema>> {
        self.left.schema().join(self.right.schema()).map(Arc::new).map_err(planning_error)
    }

    /// The condition as a pair of keys, if it compares a value of one side with one of the other.
    fn key<'e>(&self, condition: &'e Expr) -> Option<Key<'e>> {
        let ExprKind::Compare(comparison, a, b) = &condition.kind else { return None };
        let null_safe = match comparison {
            Comparison::Equal => false,
            // Where one side is never NULL, NULLs are equal to nothing.
            Comparison::NotDistinct => a.nullable && b.nullable,
            _ => return None,
        };
        let (of_a, of_b) = (a.columns(), b.columns());
        let has_subquery = a.has_subquery() || b.has_subquery();
        if of_a.is_empty() || of_b.is_empty() || has_subquery || condition.is_volatile() {
            return None;
        }
        let is_pair = |left: &ColumnSet, right: &ColumnSet| {
            left.is_subset(&self.left_columns) && right.is_subset(&self.right_columns)
        };
        if is_pair(&of_a, &of_b) {
            Some(Key { left: a, right: b, null_safe })
        } else if is_pair(&of_b, &of_a) {
            Some(Key { left: b, right: a, null_safe })
        } else {
            None
        }
    }
}

impl Key<'_> {
    /// May both sides be NULL?
    fn may_meet_nulls(&self) -> bool {
        self.left.nullable && self.right.nullable
    }
}

fn mark_column() -> PlannerExpr {
    PlannerExpr::Column(Column::new_unqualified(MARK))
}

fn joined(sides: Sides, conditions: Conditions, join_type: JoinType, null_aware: bool) -> Result<LogicalPlan> {
    let Conditions { on, null_equality, filter } = conditions;
    let (left, right) = (Arc::new(sides.left), Arc::new(sides.right));
    let constraint = JoinConstraint::On;
    let join = PlannerJoin::try_new(left, right, on, filter, join_type, constraint, null_equality, null_aware);
    join.map(LogicalPlan::Join).map_err(planning_error)
}

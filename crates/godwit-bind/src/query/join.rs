//! Joins: conditions, and the merged columns of USING and NATURAL.
//!
//! A pair of USING columns is one column for unqualified names and `*`, the *merged* one: the left side's own for
//! inner, left, semi and anti joins, the right side's for right joins, `COALESCE(left, right)` for full joins. Each
//! side keeps its own column under its table's name. Source: PostgreSQL's documentation, "Joined Tables".

use std::sync::Arc;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{ColumnId, Comparison, Expr, ExprKind, Join, JoinKind, Node, NodeId, Project};
use godwit_syntax::ast::{self, JoinConstraint};

use super::source::Source;
use crate::Binder;
use crate::binder::{Clause, Collected, ExprContext};
use crate::scope::{Scope, VisibleColumn, visible_first};

/// A pair of columns that USING merges.
struct MergedPair {
    name: Arc<str>,
    left: ColumnId,
    right: ColumnId,
}

impl Binder {
    /// Binds `left JOIN …`.
    pub(super) fn join(&mut self, left: Source, join: &ast::Join, outer: &Scope<'_>) -> Result<Source> {
        let right = self.factor(&join.relation, Some(&left), outer)?;
        self.check_names(&left, &right, join.relation.span)?;
        let pairs = match &join.constraint {
            JoinConstraint::Using(names) => {
                names.iter().map(|name| merged_pair(&left, &right, name)).collect::<Result<Vec<_>>>()?
            }
            JoinConstraint::Natural => natural_pairs(&left, &right, join.span)?,
            JoinConstraint::On(_) | JoinConstraint::None => Vec::new(),
        };
        let sides = (left.node, right.node);
        let both = left.beside(right, sides.0);
        let mut conditions = Vec::new();
        for pair in &pairs {
            conditions.push(self.equality_of(pair, &both, join.span)?);
        }
        if let JoinConstraint::On(condition) = &join.constraint {
            let scope = both.scope(outer);
            let mut collected = Collected::default();
            let mut context =
                ExprContext { scope: &scope, clause: Clause::On, collected: &mut collected, windows: &[] };
            conditions.extend(self.condition(condition, &mut context)?.into_conjuncts());
        }
        let has_right_free = matches!(join.kind, ast::JoinKind::Right | ast::JoinKind::Full);
        if has_right_free && !self.plan.free_columns(sides.1).is_disjoint(&self.plan.output_set(sides.0)) {
            let error = Error::user("the right side of a RIGHT or FULL JOIN can't use columns of the left side");
            return Err(error.with_code(SqlState::INVALID_COLUMN_REFERENCE).at_span(join.relation.span));
        }
        let kind = match join.asof {
            true => self.as_of(join, &mut conditions, &sides, !pairs.is_empty())?,
            false => plan_kind(join.kind),
        };
        let only_left = matches!(kind, JoinKind::Semi | JoinKind::Anti);
        let (fills_left, fills_right) = fills(&kind);
        let node = self.plan.add(Node::Join(Join { kind, left: sides.0, right: sides.1, conditions }));
        let mut joined = Source { node, ..both };
        for (fills, side) in [(fills_left, sides.0), (fills_right, sides.1)] {
            if fills {
                joined.filled.union_with(&self.plan.output_set(side));
            }
        }
        if only_left {
            let there = self.plan.output_set(sides.0);
            joined.visible.retain(|column| there.contains(column.column));
            joined.relations.retain(|table| table.columns.iter().all(|column| there.contains(column.column)));
            return Ok(joined);
        }
        self.merge(joined, pairs, sides, join.kind)
    }

    /// Returns the condition that a pair of USING columns stands for.
    fn equality_of(&mut self, pair: &MergedPair, both: &Source, span: Span) -> Result<Expr> {
        let scope = Scope { filled: both.filled.clone(), ..Scope::default() };
        let sides = [pair.left, pair.right].map(|column| self.column(column, &scope).at(span));
        let sides = self.in_one_collation(sides.into(), None)?;
        let (mut sides, _) = self.unify(sides, &format!("the columns {} of USING", pair.name))?;
        let right = sides.pop().expect("two were given");
        let left = sides.pop().expect("two were given");
        Ok(Expr::compare(Comparison::Equal, left, right).at(span))
    }

    /// Replaces pairs by merged columns, before all others.
    fn merge(
        &mut self,
        mut source: Source,
        pairs: Vec<MergedPair>,
        sides: (NodeId, NodeId),
        kind: ast::JoinKind,
    ) -> Result<Source> {
        let mut merged: Vec<VisibleColumn> = Vec::new();
        let mut made = Vec::new();
        // A row without a match has its own side's value, which is NULL only if it was before this join.
        let nullable_inside = |binder: &Self, left, right| {
            let (of_left, of_right) = (binder.plan.nullable_columns(sides.0), binder.plan.nullable_columns(sides.1));
            of_left.contains(left) || of_right.contains(right)
        };
        for MergedPair { name, left, right } in pairs {
            let is_merged = |column: &VisibleColumn| {
                (column.column == left || column.column == right) && column.name.eq_ignore_ascii_case(&name)
            };
            source.visible.retain(|column| !is_merged(column));
            let scope = Scope { filled: source.filled.clone(), ..Scope::default() };
            let has_same_type = self.plan.column(left).ty == self.plan.column(right).ty;
            let column = match kind {
                ast::JoinKind::Right if has_same_type => right,
                ast::JoinKind::Full => {
                    let values = [left, right].map(|column| self.column(column, &scope));
                    let (values, ty) = self.unify(values.into(), "the columns of USING")?;
                    let nullable = nullable_inside(self, left, right);
                    let value = Expr::new(ExprKind::Coalesce(values), ty.clone(), nullable);
                    let column = self.plan.add_column(&*name, ty, nullable);
                    self.inherit_collation(column, &value);
                    made.push((column, value));
                    column
                }
                _ if has_same_type => left,
                // The value has the type of the comparison; the side's own column keeps its type.
                _ => {
                    let sides = [left, right].map(|column| self.column(column, &scope));
                    let (mut sides, _) = self.unify(sides.into(), "the columns of USING")?;
                    let value = sides.swap_remove((kind == ast::JoinKind::Right) as usize);
                    let column = self.add_column_of(&name, &value);
                    made.push((column, value));
                    column
                }
            };
            merged.push(VisibleColumn { name, column, hidden: false, relation: None });
        }
        merged.append(&mut source.visible);
        source.visible = merged;
        if !made.is_empty() {
            let columns = self.passed(source.node).into_iter().chain(made).collect();
            source.node = self.plan.add(Node::Project(Project { input: source.node, columns }));
        }
        Ok(source)
    }

    /// Binds ASOF: the one inequality of the condition determines the nearest row; with USING, it is the last column.
    fn as_of(
        &mut self,
        join: &ast::Join,
        conditions: &mut Vec<Expr>,
        sides: &(NodeId, NodeId),
        is_using: bool,
    ) -> Result<JoinKind> {
        let outer = match join.kind {
            ast::JoinKind::Inner | ast::JoinKind::Cross => false,
            ast::JoinKind::Left => true,
            _ => return Err(Error::unsupported("an ASOF join of this kind").at_span(join.span)),
        };
        let order = |condition: &Expr| match &condition.kind {
            ExprKind::Compare(comparison, ..) => {
                use Comparison::{Greater, GreaterOrEqual, Less, LessOrEqual};
                matches!(comparison, Less | LessOrEqual | Greater | GreaterOrEqual)
            }
            _ => false,
        };
        let at = match is_using {
            true => conditions.len().checked_sub(1),
            false => conditions.iter().position(order),
        };
        let error = || {
            let error = Error::user("an ASOF join needs one condition with <, <=, > or >=");
            error.with_code(SqlState::INVALID_DEFINITION).at_span(join.span)
        };
        let nearest = conditions.remove(at.ok_or_else(error)?);
        if conditions.iter().any(order) {
            return Err(error());
        }
        let ExprKind::Compare(comparison, left, right) = nearest.kind else { return Err(error()) };
        let comparison = if is_using { Comparison::GreaterOrEqual } else { comparison };
        let of_left = self.plan.output_set(sides.0);
        if left.columns().is_subset(&of_left) {
            return Ok(JoinKind::AsOf { outer, comparison, left, right });
        }
        Ok(JoinKind::AsOf { outer, comparison: comparison.swapped(), left: right, right: left })
    }
}

fn plan_kind(kind: ast::JoinKind) -> JoinKind {
    match kind {
        ast::JoinKind::Cross | ast::JoinKind::Inner => JoinKind::Inner,
        ast::JoinKind::Left => JoinKind::Left,
        ast::JoinKind::Right => JoinKind::Right,
        ast::JoinKind::Full => JoinKind::Full,
        ast::JoinKind::Semi => JoinKind::Semi,
        ast::JoinKind::Anti => JoinKind::Anti,
        ast::JoinKind::Positional => JoinKind::Positional,
    }
}

/// Returns which sides a join fills with NULLs: (left, right).
fn fills(kind: &JoinKind) -> (bool, bool) {
    match kind {
        JoinKind::Left | JoinKind::Single | JoinKind::AsOf { outer: true, .. } => (false, true),
        JoinKind::Right => (true, false),
        JoinKind::Full | JoinKind::Positional => (true, true),
        _ => (false, false),
    }
}

/// Returns the columns whose unqualified names both sides have.
fn natural_pairs(left: &Source, right: &Source, span: Span) -> Result<Vec<MergedPair>> {
    let mut pairs: Vec<MergedPair> = Vec::new();
    for column in left.visible.iter().filter(|column| !column.hidden) {
        let is_same = |other: &VisibleColumn| !other.hidden && other.name.eq_ignore_ascii_case(&column.name);
        if right.visible.iter().any(is_same) {
            let name = ast::Ident::new(column.name.clone(), span);
            pairs.push(merged_pair(left, right, &name)?);
        }
    }
    if pairs.is_empty() {
        let error = Error::user("the two sides of a NATURAL join have no column name in common");
        return Err(error.at_span(span).with_hint("use ON, or CROSS JOIN for all pairs"));
    }
    Ok(pairs)
}

/// Returns the columns of a USING name on both sides. The merged one takes the name of the left one.
fn merged_pair(left: &Source, right: &Source, name: &ast::Ident) -> Result<MergedPair> {
    let (left, right) = (only_column(left, name, "left")?, only_column(right, name, "right")?);
    Ok(MergedPair { name: left.name.clone(), left: left.column, right: right.column })
}

/// Returns the one column that a USING name refers to on a side.
fn only_column<'s>(source: &'s Source, name: &ast::Ident, side: &str) -> Result<&'s VisibleColumn> {
    match visible_first(&source.visible, &name.text)[..] {
        [column] => Ok(column),
        [] => {
            let message = format!("column {} of USING is not on the {side} side of the join", name.text);
            Err(Error::user(message).with_code(SqlState::UNDEFINED_COLUMN).at_span(name.span))
        }
        [one, two, ..] => {
            let table = |column: &VisibleColumn| column.relation.clone().unwrap_or_else(|| "a join".into());
            let (one, two) = (table(one), table(two));
            let message = format!("column {} of USING is in {one} and in {two}", name.text);
            let error = Error::user(message).with_code(SqlState::AMBIGUOUS_COLUMN).at_span(name.span);
            Err(error.with_hint("say which one with ON"))
        }
    }
}

//! Subqueries of expressions, as joins of a pile.
//!
//! | subquery | as a whole conjunct | as a value |
//! |---|---|---|
//! | `EXISTS` | semi join; `NOT`: anti join | mark join |
//! | `op ANY` | semi join; `NOT`, where nothing is NULL: anti join | mark join, three-valued |
//! | `op ALL` | as `NOT (negated op ANY)` | the same |
//! | scalar | | outer join with its row; with its only row if it has several |
//!
//! Joins don't fail: a subquery with more than one row also returns their number, and the error is raised by the
//! expression, which is evaluated only where SQL does.

use godwit_common::{Error, Result, Span};
use godwit_plan::{
    Aggregate, ColumnId, ColumnSet, Comparison, Expr, ExprKind, JoinKind, Node, NodeId, Project, Subquery, SubqueryKind,
};
use godwit_types::{SqlType, Value};

use super::Unnester;
use super::build::case;
use super::pile::Pile;

const SEVERAL_ROWS: &str = "more than one row returned by a subquery used as a value";

impl Unnester<'_> {
    /// Returns true if the expression has a subquery that must become a join. Scalar ones without free columns stay.
    pub(super) fn has_placeable(&mut self, expr: &Expr) -> bool {
        let mut plans = Vec::new();
        let mut found = false;
        expr.for_each(&mut |part| {
            if let ExprKind::Subquery(subquery) = &part.kind {
                match subquery.kind {
                    SubqueryKind::Scalar => plans.push(subquery.plan),
                    SubqueryKind::Exists | SubqueryKind::Quantified { .. } => found = true,
                }
            }
        });
        found || plans.into_iter().any(|plan| !self.free(plan).is_empty())
    }

    /// Replaces subqueries in the expression by columns of the pile.
    pub(super) fn place_in(&mut self, pile: &mut Pile, expr: Expr) -> Result<Expr> {
        self.place_inside(pile, expr, &ColumnSet::new())
    }

    /// Does the same below lambdas, whose parameters are `inner`: no join has them.
    fn place_inside(&mut self, pile: &mut Pile, expr: Expr, inner: &ColumnSet) -> Result<Expr> {
        if !self.has_placeable(&expr) {
            return Ok(expr);
        }
        let span = expr.span;
        match expr.kind {
            ExprKind::Let { column, value, body } if self.has_placeable(&body) => {
                let value = self.place_inside(pile, *value, inner)?;
                self.check_inner(&value, inner, span)?;
                pile.extend(vec![(column, value)]);
                self.settle(pile);
                self.place_inside(pile, *body, inner)
            }
            ExprKind::Lambda(parameters, body) => {
                let inner = inner.union(&parameters.iter().copied().collect());
                let body = Box::new(self.place_inside(pile, *body, &inner)?);
                Ok(Expr { kind: ExprKind::Lambda(parameters, body), ..expr })
            }
            ExprKind::Subquery(ref subquery) => {
                self.check_inner(&expr, inner, span)?;
                self.place_subquery(pile, (**subquery).clone(), &expr.ty, span)
            }
            _ => self.try_map_children(expr, &mut |unnester, child| unnester.place_inside(pile, child, inner)),
        }
    }

    fn check_inner(&mut self, expr: &Expr, inner: &ColumnSet, span: Span) -> Result<()> {
        if self.columns_of(expr).is_disjoint(inner) {
            return Ok(());
        }
        let error = Error::unsupported("a subquery inside a lambda function can't use the function's parameters");
        Err(error.at_span(span))
    }

    pub(super) fn try_map_children(
        &mut self,
        expr: Expr,
        map: &mut impl FnMut(&mut Self, Expr) -> Result<Expr>,
    ) -> Result<Expr> {
        let mut failure = Ok(());
        let mapped = expr.map_children(&mut |child| {
            if failure.is_err() {
                return child;
            }
            map(self, child).unwrap_or_else(|error| {
                failure = Err(error);
                Expr::boolean(false)
            })
        });
        failure.map(|()| mapped)
    }

    /// Places a subquery as a value.
    fn place_subquery(&mut self, pile: &mut Pile, subquery: Subquery, ty: &SqlType, span: Span) -> Result<Expr> {
        match subquery.kind {
            SubqueryKind::Scalar => self.place_scalar(pile, &subquery, ty, span),
            SubqueryKind::Exists => {
                if let Some((_, value)) = pile.values.iter().find(|(plan, _)| *plan == subquery.plan) {
                    return Ok(value.clone());
                }
                let value = self.place_exists(pile, subquery.plan)?;
                pile.values.push((subquery.plan, value.clone()));
                Ok(value)
            }
            SubqueryKind::Quantified { comparison, all, left } => {
                let mut placed = Vec::new();
                for expr in left {
                    let expr = self.place_in(pile, expr)?;
                    placed.push(self.once(pile, expr));
                }
                let (plan, columns) = self.take(subquery.plan, &subquery.columns);
                let comparison = if all { comparison.negated() } else { comparison };
                let compare = self.compare_rows(comparison, &placed, plan, &columns);
                let nullable = compare.iter().any(|conjunct| conjunct.nullable);
                let mark = self.plan.add_column("mark", SqlType::Boolean, nullable);
                self.join(pile, JoinKind::Mark { mark, compare }, plan, Vec::new())?;
                let value = Expr::new(ExprKind::Column(mark), SqlType::Boolean, nullable);
                Ok(if all { value.negated() } else { value })
            }
        }
    }

    fn place_exists(&mut self, pile: &mut Pile, plan: NodeId) -> Result<Expr> {
        let (plan, _) = self.take(plan, &[]);
        let Some(plan) = self.any_row(plan) else { return Ok(Expr::boolean(true)) };
        let mark = self.plan.add_column("exists", SqlType::Boolean, false);
        self.join(pile, JoinKind::Mark { mark, compare: Vec::new() }, plan, Vec::new())?;
        Ok(Expr::new(ExprKind::Column(mark), SqlType::Boolean, false))
    }

    /// Places a conjunct of a filter as a join; returns it if it is another kind of condition.
    pub(super) fn place_conjunct(&mut self, pile: &mut Pile, conjunct: Expr) -> Result<Option<Expr>> {
        let (inside, mut negated) = without_negations(&conjunct);
        let ExprKind::Subquery(subquery) = &inside.kind else { return Ok(Some(conjunct)) };
        let subquery = (**subquery).clone();
        match subquery.kind {
            SubqueryKind::Scalar => Ok(Some(conjunct)),
            SubqueryKind::Exists => {
                let (plan, _) = self.take(subquery.plan, &[]);
                let Some(plan) = self.any_row(plan) else { return Ok(Some(Expr::boolean(!negated))) };
                let kind = if negated { JoinKind::Anti } else { JoinKind::Semi };
                self.join(pile, kind, plan, Vec::new())?;
                Ok(None)
            }
            SubqueryKind::Quantified { mut comparison, all, left } => {
                if all {
                    comparison = comparison.negated();
                    negated = !negated;
                }
                let is_null_free = comparison.is_null_safe()
                    || (left.iter().all(|expr| self.is_never_null(pile, expr))
                        && subquery.columns.iter().all(|&column| self.is_made_without_nulls(subquery.plan, column)));
                if negated && !is_null_free {
                    return Ok(Some(conjunct));
                }
                let mut placed = Vec::new();
                for expr in left {
                    let expr = self.place_in(pile, expr)?;
                    placed.push(self.once(pile, expr));
                }
                let (plan, columns) = self.take(subquery.plan, &subquery.columns);
                let conditions = self.compare_rows(comparison, &placed, plan, &columns);
                let kind = if negated { JoinKind::Anti } else { JoinKind::Semi };
                self.join(pile, kind, plan, conditions)?;
                Ok(None)
            }
        }
    }

    /// Returns true if the column is made without NULLs. A column that a subquery passes on from outside may be NULL
    /// there.
    fn is_made_without_nulls(&mut self, plan: NodeId, column: ColumnId) -> bool {
        self.makes(plan).contains(column) && !self.may_be_null(plan, column)
    }

    fn is_never_null(&self, pile: &Pile, expr: &Expr) -> bool {
        let never = |column| pile.base_columns.contains(column) && !self.may_be_null(pile.base, column);
        !expr.nullable && !expr.has_subquery() && expr.columns().iter().all(never)
    }

    /// Makes a volatile left value be evaluated once per row, not per pair.
    fn once(&mut self, pile: &mut Pile, expr: Expr) -> Expr {
        if !expr.is_volatile() {
            return expr;
        }
        let column = self.column_for("left", &expr);
        let value = Expr::new(ExprKind::Column(column), expr.ty.clone(), expr.nullable);
        pile.extend(vec![(column, expr)]);
        value
    }

    /// Takes the plan of a subquery that is about to become a join. If it was a join before, it is copied, so that no
    /// two nodes make the same column; columns that it takes from outside get new ids.
    fn take(&mut self, plan: NodeId, columns: &[ColumnId]) -> (NodeId, Vec<ColumnId>) {
        let made = self.made_by_nodes(plan);
        let (plan, mut columns) = if made.is_disjoint(&self.placed) {
            self.placed.union_with(&made);
            (plan, columns.to_vec())
        } else {
            let (plan, renamed) = self.plan.copy_subtree(plan);
            let columns = columns.iter().map(|column| renamed.get(column).copied().unwrap_or(*column)).collect();
            self.placed.union_with(&self.made_by_nodes(plan));
            (plan, columns)
        };
        let made = self.makes(plan);
        if columns.iter().all(|&column| made.contains(column)) {
            return (plan, columns);
        }
        let mut own = Vec::new();
        for column in &mut columns {
            let (name, ty) = (self.plan.column(*column).name.clone(), self.plan.column(*column).ty.clone());
            let fresh = self.plan.add_column(name, ty, true);
            own.push((fresh, self.column(*column)));
            *column = fresh;
        }
        (self.plan.add(Node::Project(Project { input: plan, columns: own })), columns)
    }

    /// Returns the columns that the nodes of a subtree make, without those of subqueries in its expressions.
    fn made_by_nodes(&self, id: NodeId) -> ColumnSet {
        let mut made = ColumnSet::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            made.extend(self.plan.node(id).made_columns());
            open.extend(self.plan.node(id).inputs());
        }
        made
    }

    /// Compares a row value with each row, as conjuncts.
    fn compare_rows(&mut self, comparison: Comparison, left: &[Expr], plan: NodeId, columns: &[ColumnId]) -> Vec<Expr> {
        let right = columns.iter().map(|&column| {
            let ty = self.plan.column(column).ty.clone();
            Expr::new(ExprKind::Column(column), ty, self.may_be_null(plan, column))
        });
        let pairs: Vec<(Expr, Expr)> = left.iter().cloned().zip(right).collect();
        let compare = |comparison, (a, b): &(Expr, Expr)| Expr::compare(comparison, a.clone(), b.clone());
        let each = || pairs.iter().map(|pair| compare(comparison, pair));
        match comparison {
            Comparison::Equal | Comparison::NotDistinct => each().collect(),
            Comparison::NotEqual | Comparison::Distinct => vec![Expr::or(each())],
            Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual => {
                let strict = match comparison {
                    Comparison::LessOrEqual => Comparison::Less,
                    Comparison::GreaterOrEqual => Comparison::Greater,
                    other => other,
                };
                let (last, before) = pairs.split_last().expect("a row value has a column");
                let order = before.iter().rev().fold(compare(comparison, last), |rest, pair| {
                    Expr::or([compare(strict, pair), Expr::and([compare(Comparison::Equal, pair), rest])])
                });
                vec![order]
            }
        }
    }

    /// Returns a plan that has a row if and only if this one has; `None` if it always has one.
    fn any_row(&mut self, mut id: NodeId) -> Option<NodeId> {
        loop {
            let is_volatile = self.is_volatile(id);
            match self.plan.node(id) {
                _ if is_volatile => return Some(id),
                Node::Project(Project { input, .. }) | Node::Sort { input, .. } => id = *input,
                Node::Window(window) => id = window.input,
                Node::Limit(limit) if limit.offset.is_none() && lets_one_pass(limit) => id = limit.input,
                Node::Aggregate(Aggregate { sets: None, keys, .. }) if keys.is_empty() => return None,
                Node::Aggregate(Aggregate { sets: None, input, .. }) => id = *input,
                _ => return Some(id),
            }
        }
    }

    fn place_scalar(&mut self, pile: &mut Pile, subquery: &Subquery, ty: &SqlType, span: Span) -> Result<Expr> {
        if let Some((_, value)) = pile.values.iter().find(|(plan, _)| *plan == subquery.plan) {
            return Ok(value.clone());
        }
        let (plan, columns) = self.take(subquery.plan, &subquery.columns);
        let column = columns[0];
        let value = if self.is_single_row(plan) {
            let fresh = self.plan.add_column(self.plan.column(column).name.clone(), ty.clone(), true);
            let plan = self.project(plan, vec![(fresh, self.column(column))]);
            self.join(pile, JoinKind::Left, plan, Vec::new())?;
            self.column(fresh)
        } else {
            let (count, count_call) = self.aggregate_call("count", Vec::new())?;
            let (only, only_call) = self.aggregate_call("any_value", vec![self.column(column)])?;
            let aggregates = vec![(count, count_call), (only, only_call)];
            let aggregate = Aggregate { input: plan, keys: Vec::new(), sets: None, grouping_id: None, aggregates };
            let plan = self.plan.add(Node::Aggregate(aggregate));
            self.join(pile, JoinKind::Left, plan, Vec::new())?;
            let several = Expr::compare(Comparison::Greater, self.column(count), Expr::bigint(1));
            case(several, self.failure(SEVERAL_ROWS, ty, span)?, self.column(only).cast_to(ty))
        };
        let value = value.at(span);
        pile.values.push((subquery.plan, value.clone()));
        Ok(value)
    }

    /// Turns an expression without columns into an uncorrelated scalar subquery, whose own subqueries can become joins.
    pub(super) fn as_scalar(&mut self, expr: Expr) -> Expr {
        let (ty, nullable, span) = (expr.ty.clone(), expr.nullable, expr.span);
        let column = self.column_for("value", &expr);
        let input = self.one_row();
        let plan = self.project(input, vec![(column, expr)]);
        let subquery = Subquery { kind: SubqueryKind::Scalar, plan, columns: vec![column] };
        Expr::new(ExprKind::Subquery(Box::new(subquery)), ty, nullable).at(span)
    }
}

/// Returns true if the limit lets a row pass whenever there is one.
fn lets_one_pass(limit: &godwit_plan::Limit) -> bool {
    let most = limit.count.as_ref().map(Expr::as_literal);
    match most {
        None => true,
        Some(Some(Value::Integer(most))) => !limit.percent && *most > 0,
        Some(_) => false,
    }
}

/// Strips NOTs; also returns whether their number is odd.
fn without_negations(mut expr: &Expr) -> (&Expr, bool) {
    let mut negated = false;
    while let ExprKind::Not(inner) = &expr.kind {
        expr = inner;
        negated = !negated;
    }
    (expr, negated)
}

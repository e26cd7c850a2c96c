//! UNION, INTERSECT, EXCEPT, and their operands.

use std::sync::Arc;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{ColumnId, Comparison, Expr, ExprKind, Join, JoinKind, Node, SetOperation, SetOperator};
use godwit_syntax::ast::{self, SetExpr, SetExprKind};
use godwit_types::{SqlType, common_type};

use super::select::rename;
use crate::expr::CastContext;
use crate::scope::Scope;
use crate::{Binder, BoundQuery};

impl Binder {
    /// Binds an operand of a set operation, with a SELECT's own clauses only.
    pub(super) fn set_operand(&mut self, body: &SetExpr, scope: &Scope<'_>) -> Result<BoundQuery> {
        match &body.kind {
            SetExprKind::Select(select) => self.select(select, None, scope),
            SetExprKind::Query(query) => self.untyped_query(query, scope),
            SetExprKind::Operations(operations) => self.set_operations(operations, operations.steps.len(), scope),
            SetExprKind::Values(rows) => self.values(rows, body.span, scope),
            SetExprKind::Table(name) => {
                let source = self.named_table(name)?;
                let shown = source.visible.iter().filter(|column| !column.hidden);
                let columns = shown.map(|column| (column.name.clone(), column.column)).collect();
                Ok(BoundQuery { node: source.node, columns })
            }
            SetExprKind::Pivot(pivot) => self.pivot(pivot, scope),
            SetExprKind::Unpivot(unpivot) => self.unpivot(unpivot, scope),
            SetExprKind::Describe(describe) => self.describe(describe, scope),
            SetExprKind::Summarize(describe) => self.summarize(describe, scope),
            SetExprKind::Show(show) => self.show(show),
        }
    }

    /// Binds the first steps of a chain.
    pub(super) fn set_operations(
        &mut self,
        chain: &ast::SetOperations,
        steps: usize,
        scope: &Scope<'_>,
    ) -> Result<BoundQuery> {
        let mut left = self.set_operand(&chain.first, scope)?;
        let mut at = 0;
        while at < steps {
            // Adjacent steps with the same operation become one node with many inputs: a long chain isn't a deep plan.
            let step = &chain.steps[at];
            let mut inputs = vec![(left, chain.first.span)];
            while at < steps && is_same(step, &chain.steps[at]) && (takes_many(step) || inputs.len() < 2) {
                let right = &chain.steps[at].right;
                inputs.push((self.set_operand(right, scope)?, right.span));
                at += 1;
                if step.by_name {
                    break;
                }
            }
            left = self.set_operation(step, inputs)?;
        }
        Ok(left)
    }

    fn set_operation(&mut self, step: &ast::SetStep, inputs: Vec<(BoundQuery, Span)>) -> Result<BoundQuery> {
        let mut inputs = if step.by_name { self.matched_by_name(inputs)? } else { inputs };
        let width = inputs[0].0.columns.len();
        for (input, span) in &inputs {
            if input.columns.len() != width {
                let other = input.columns.len();
                let message = format!("one side of {} has {width} columns, the other {other}", name_of(step.op));
                return Err(Error::user(message).with_code(SqlState::SYNTAX_ERROR).at_span(*span));
            }
        }
        let mut types = Vec::new();
        for at in 0..width {
            types.push(self.common_type_of_column(&inputs, at, step)?);
        }
        let span = inputs[0].1;
        let mut typed = Vec::new();
        for (input, span) in inputs.drain(..) {
            typed.push(self.coerced(input, &types, CastContext::Explicit, span)?);
        }
        let mut columns: Vec<(Arc<str>, ColumnId)> = Vec::new();
        for (at, (name, _)) in typed[0].columns.iter().enumerate() {
            let nullable = typed.iter().any(|input| self.is_nullable(input, at));
            columns.push((name.clone(), self.plan.add_column(&**name, types[at].clone(), nullable)));
        }
        let operator = match step.op {
            ast::SetOperator::Union => SetOperator::Union,
            ast::SetOperator::Except => SetOperator::Except,
            ast::SetOperator::Intersect => SetOperator::Intersect,
        };
        let is_collated = self.collate_columns(step, &columns, &typed, span)?;
        match operator {
            SetOperator::Except if is_collated => return self.joined_in_collation(JoinKind::Anti, step, typed),
            SetOperator::Intersect if is_collated => return self.joined_in_collation(JoinKind::Semi, step, typed),
            SetOperator::Union | SetOperator::Except | SetOperator::Intersect => {}
        }
        let ids = |input: BoundQuery| (input.node, input.columns.into_iter().map(|(_, column)| column).collect());
        let inputs = typed.into_iter().map(ids).collect();
        let made = columns.iter().map(|&(_, column)| column).collect();
        let operation = SetOperation { operator, all: step.all || is_collated, columns: made, inputs };
        let node = self.plan.add(Node::SetOperation(operation));
        if step.all || !is_collated {
            return Ok(BoundQuery { node, columns });
        }
        let values = columns.iter().map(|&(_, column)| self.column(column, &Scope::default())).collect();
        let (node, renamed) = self.distinct_rows(node, values)?;
        rename(&mut columns, &renamed);
        Ok(BoundQuery { node, columns })
    }

    /// Returns the distinct rows of the first input that the others have, or don't have; texts are compared in their
    /// collations.
    fn joined_in_collation(
        &mut self,
        kind: JoinKind,
        step: &ast::SetStep,
        inputs: Vec<BoundQuery>,
    ) -> Result<BoundQuery> {
        if step.all {
            let error = Error::unsupported(format!("{} ALL of texts that have a collation", name_of(step.op)));
            return Err(error.with_hint("without ALL, or with IN or EXISTS, they are compared in it"));
        }
        let columns_of = |binder: &Self, input: &BoundQuery| -> Vec<Expr> {
            let scope = Scope { filled: binder.plan.nullable_columns(input.node), ..Scope::default() };
            input.columns.iter().map(|&(_, column)| binder.column(column, &scope)).collect()
        };
        let mut inputs = inputs.into_iter();
        let mut first = inputs.next().expect("a set operation has inputs");
        let values = columns_of(self, &first);
        let (mut node, renamed) = self.distinct_rows(first.node, values)?;
        rename(&mut first.columns, &renamed);
        for other in inputs {
            let left = columns_of(self, &BoundQuery { node, columns: first.columns.clone() });
            let pairs = left.into_iter().zip(columns_of(self, &other));
            let equal = pairs.map(|(left, right)| {
                let (left, right) = self.in_common_collation(left, right)?;
                Ok(Expr::compare(Comparison::NotDistinct, left, right))
            });
            let conditions = equal.collect::<Result<_>>()?;
            node = self.plan.add(Node::Join(Join { kind: kind.clone(), left: node, right: other.node, conditions }));
        }
        Ok(BoundQuery { node, columns: first.columns })
    }

    /// Gives the columns of a result the collations of the inputs' columns; returns true if one has a collation.
    fn collate_columns(
        &mut self,
        step: &ast::SetStep,
        columns: &[(Arc<str>, ColumnId)],
        inputs: &[BoundQuery],
        span: Span,
    ) -> Result<bool> {
        let mut is_collated = false;
        for (at, &(_, column)) in columns.iter().enumerate() {
            let texts = inputs.iter().map(|input| self.column(input.columns[at].1, &Scope::default()));
            let value = Expr::new(ExprKind::Coalesce(texts.collect()), self.plan.column(column).ty.clone(), true);
            // UNION ALL compares nothing: texts of several collations have none then.
            is_collated |= match step.all && step.op == ast::SetOperator::Union {
                true => false,
                false => self.collation_of(&value).map_err(|error| error.at_span(span))?.is_some(),
            };
            self.inherit_collation(column, &value);
        }
        Ok(is_collated)
    }

    fn is_nullable(&self, input: &BoundQuery, at: usize) -> bool {
        self.plan.nullable_columns(input.node).contains(input.columns[at].1)
    }

    fn common_type_of_column(&self, inputs: &[(BoundQuery, Span)], at: usize, step: &ast::SetStep) -> Result<SqlType> {
        let mut common: Option<SqlType> = None;
        for (input, span) in inputs {
            let column = input.columns[at].1;
            let ty = self.plan.column(column).ty.clone();
            common = Some(match common {
                None => ty,
                Some(known) => common_type(&known, &ty).ok_or_else(|| {
                    let (name, position) = (name_of(step.op), at + 1);
                    let message = format!("column {position} of {name} is {known} on one side and {ty} on the other");
                    let error = Error::user(message).with_code(SqlState::DATATYPE_MISMATCH).at_span(*span);
                    error.with_hint(format!("cast one of them: CAST(... AS {known})"))
                })?,
            });
        }
        let first = inputs.iter().map(|(input, _)| input.columns[at].1);
        Ok(match common {
            Some(SqlType::Unknown) => first
                .map(|column| self.type_of_untyped(column))
                .max_by_key(|ty| *ty == SqlType::Varchar)
                .expect("operations have inputs"),
            Some(ty) => ty,
            None => SqlType::Varchar,
        })
    }

    /// Returns the type of a column that its use doesn't determine.
    pub(super) fn type_of_untyped(&self, column: ColumnId) -> SqlType {
        match self.untyped.get(&column) {
            Some(constant) if constant.as_literal().is_some_and(|value| value.is_null()) => SqlType::Integer,
            Some(_) => SqlType::Varchar,
            None => self.plan.column(column).ty.clone(),
        }
    }

    /// Casts the columns of a query to other types, if the casts are possible.
    pub(super) fn coerced(
        &mut self,
        bound: BoundQuery,
        types: &[SqlType],
        context: CastContext,
        span: Span,
    ) -> Result<BoundQuery> {
        for (&(_, column), ty) in bound.columns.iter().zip(types) {
            let info = self.plan.column(column);
            if info.ty != *ty && !self.untyped.contains_key(&column) {
                let value = Expr::new(ExprKind::Column(column), info.ty.clone(), true).at(span);
                self.coerce(value, ty, context)?;
            }
        }
        self.typed(bound, types)
    }

    /// UNION BY NAME: matches columns with the same name; missing ones are NULL.
    fn matched_by_name(&mut self, inputs: Vec<(BoundQuery, Span)>) -> Result<Vec<(BoundQuery, Span)>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for (input, span) in &inputs {
            for (at, (name, _)) in input.columns.iter().enumerate() {
                if input.columns[..at].iter().any(|(earlier, _)| earlier.eq_ignore_ascii_case(name)) {
                    let error = Error::user(format!("column {name} is there twice, so BY NAME can't match it"));
                    return Err(error.with_code(SqlState::AMBIGUOUS_COLUMN).at_span(*span));
                }
                if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                    names.push(name.clone());
                }
            }
        }
        let mut matched = Vec::new();
        for (input, span) in inputs {
            let mut columns = Vec::new();
            for name in &names {
                let there = input.columns.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                let column = match there {
                    Some(&(_, column)) => column,
                    None => {
                        let column = self.plan.add_column(&**name, SqlType::Unknown, true);
                        self.untyped.insert(column, Expr::null(SqlType::Unknown));
                        column
                    }
                };
                columns.push((name.clone(), column));
            }
            let node = input.node;
            matched.push((BoundQuery { node, columns }, span));
        }
        Ok(matched)
    }
}

fn is_same(a: &ast::SetStep, b: &ast::SetStep) -> bool {
    a.op == b.op && a.all == b.all && a.by_name == b.by_name
}

/// Only UNION has more than two inputs.
fn takes_many(step: &ast::SetStep) -> bool {
    step.op == ast::SetOperator::Union
}

fn name_of(op: ast::SetOperator) -> &'static str {
    match op {
        ast::SetOperator::Union => "UNION",
        ast::SetOperator::Except => "EXCEPT",
        ast::SetOperator::Intersect => "INTERSECT",
    }
}

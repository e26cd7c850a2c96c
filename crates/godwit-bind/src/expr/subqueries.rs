//! Queries as values: `(SELECT …)`, EXISTS, IN, ANY and ALL, ARRAY(SELECT …).
//!
//! `x op ANY (list)` does the same over the elements of a list. A list literal becomes a few comparisons; any other
//! list becomes a subquery that unnests it.

use std::sync::Arc;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{
    Aggregate, ColumnId, Comparison, Expr, ExprKind, Node, NodeId, Project, Subquery, SubqueryKind, Unnest,
    UnnestedList,
};
use godwit_syntax::ast::{self, BinaryOperator, Quantified, Quantifier};
use godwit_types::{SqlType, Value, common_type};

use super::CastContext;
use super::operators::{Infix, infix};
use super::rows::{row_of, row_or_value};
use super::sharing::Shared;
use crate::binder::{Clause, Collected, Enclosing, ExprContext};
use crate::scope::Scope;
use crate::{Binder, BoundQuery};

/// A quantified comparison: `op ANY`, `op ALL`.
#[derive(Clone, Copy)]
struct Quantification {
    op: BinaryOperator,
    op_span: Span,
    all: bool,
}

impl Binder {
    /// Binds a subquery in an expression. Aggregates in it may belong to the enclosing query.
    fn subquery_of(&mut self, query: &ast::Query, cx: &mut ExprContext<'_>) -> Result<BoundQuery> {
        let aggregates = std::mem::take(&mut cx.collected.aggregates);
        let columns = cx.scope.of_query().own_columns();
        self.enclosing.push(Enclosing { clause: cx.clause, columns, aggregates });
        let bound = self.subquery(query, cx.scope);
        cx.collected.aggregates = self.enclosing.pop().expect("it was pushed").aggregates;
        bound
    }

    pub(super) fn scalar_subquery(&mut self, query: &ast::Query, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let bound = self.subquery_of(query, cx)?;
        let column = only_column(bound.columns.iter().map(|&(_, column)| column), query.span)?;
        Ok(self.scalar(bound.node, column))
    }

    /// Returns the single row of a query, as a struct if it has several columns, and the number of columns.
    pub(super) fn row_subquery(&mut self, query: &ast::Query, cx: &mut ExprContext<'_>) -> Result<(Expr, usize)> {
        let bound = self.subquery_of(query, cx)?;
        if let [(_, column)] = bound.columns[..] {
            return Ok((self.scalar(bound.node, column), 1));
        }
        let columns = bound.columns.iter().map(|&(_, column)| self.column(column, &Scope::default())).collect();
        let row = self.row_of_values(columns, query.span)?;
        let column = self.plan.add_column("row", row.ty.clone(), true);
        let project = Project { input: bound.node, columns: vec![(column, row)] };
        let node = self.plan.add(Node::Project(project));
        Ok((self.scalar(node, column), bound.columns.len()))
    }

    fn scalar(&self, plan: NodeId, column: ColumnId) -> Expr {
        let subquery = Subquery { kind: SubqueryKind::Scalar, plan, columns: vec![column] };
        Expr::new(ExprKind::Subquery(Box::new(subquery)), self.plan.column(column).ty.clone(), true)
    }

    pub(super) fn exists(&mut self, query: &ast::Query, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let bound = self.subquery_of(query, cx)?;
        let columns = bound.columns.into_iter().map(|(_, column)| column).collect();
        let subquery = Subquery { kind: SubqueryKind::Exists, plan: bound.node, columns };
        Ok(Expr::new(ExprKind::Subquery(Box::new(subquery)), SqlType::Boolean, false))
    }

    /// Returns the rows of a query as a list, in their order; an empty one if there are none.
    pub(super) fn array_subquery(&mut self, query: &ast::Query, span: Span, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let bound = self.subquery_of(query, cx)?;
        let column = only_column(bound.columns.iter().map(|&(_, column)| column), query.span)?;
        let value = self.column(column, &Scope::default());
        let mut collected = Collected::default();
        let (scope, clause) = (Scope::default(), Clause::Select);
        let mut rows = ExprContext { scope: &scope, clause, collected: &mut collected, windows: &[] };
        let list = self.call_aggregate("list", vec![value], span, &mut rows)?;
        let (column, mut call) = collected.aggregates.pop().expect("the aggregate was collected");
        if let Node::Sort { keys, .. } = self.plan.node(bound.node) {
            call.order_by = keys.clone();
        }
        let node = self.plan.add(Node::Aggregate(Aggregate {
            input: bound.node,
            keys: Vec::new(),
            sets: None,
            grouping_id: None,
            aggregates: vec![(column, call)],
        }));
        let empty = Expr::literal(Value::List(Vec::new().into()), list.ty.clone());
        Ok(Expr::new(ExprKind::Coalesce(vec![self.scalar(node, column), empty]), list.ty, false))
    }

    /// Binds IN over a query or a list, `op ANY` and `op ALL`.
    pub(super) fn quantified_expr(&mut self, expr: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let any = Quantification { op: BinaryOperator::Equal, op_span: expr.span, all: false };
        match &expr.kind {
            ast::ExprKind::InSubquery { operand, query, negated } => {
                let found = self.quantified_query(operand, any, query, cx)?;
                Ok(if *negated { found.negated() } else { found })
            }
            ast::ExprKind::InExpr { operand, list, negated } => {
                let found = self.quantified_list(operand, any, list, cx)?;
                Ok(if *negated { found.negated() } else { found })
            }
            ast::ExprKind::Quantified { left, op, op_span, quantifier, right } => {
                let how = Quantification { op: *op, op_span: *op_span, all: *quantifier == Quantifier::All };
                match right {
                    Quantified::Query(query) => self.quantified_query(left, how, query, cx),
                    Quantified::List(list) => self.quantified_list(left, how, list, cx),
                }
            }
            _ => unreachable!("the caller has looked"),
        }
    }

    fn quantified_query(
        &mut self,
        left: &ast::Expr,
        how: Quantification,
        query: &ast::Query,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let bound = self.subquery_of(query, cx)?;
        let columns: Vec<ColumnId> = bound.columns.iter().map(|&(_, column)| column).collect();
        let left = self.exprs(row_or_value(left), cx)?;
        if left.len() != columns.len() {
            let (left, right) = (counted(left.len(), "value"), counted(columns.len(), "column"));
            let error = Error::user(format!("the left side has {left}, the subquery {right}"));
            return Err(error.with_code(SqlState::SYNTAX_ERROR).at_span(query.span));
        }
        self.quantify(left, how, bound.node, columns)
    }

    fn quantified_list(
        &mut self,
        left: &ast::Expr,
        how: Quantification,
        list: &ast::Expr,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let value = self.expr(left, cx)?;
        if let (ast::ExprKind::List(items), None) = (&list.kind, row_of(left)) {
            let items = self.exprs(items, cx)?;
            return self.quantify_items(value, how, items);
        }
        let list = self.expr(list, cx)?;
        let wanted = SqlType::List(Arc::new(self.type_so_far(&value).into_owned()));
        let list = self.with_parameter_type(list, &wanted);
        let list = self.settle(list);
        let list = match &list.ty {
            SqlType::Map(_) => {
                let span = list.span;
                self.call_scalar("map_keys", vec![list], span)?
            }
            _ => list,
        };
        let Some(element) = list.ty.element().cloned() else {
            let error = Error::user(format!("the values to compare with are a list or a query, this is {}", list.ty));
            return Err(error.with_code(SqlState::DATATYPE_MISMATCH).at_span(list.span));
        };
        if list.is_volatile() {
            return Err(Error::unsupported("ANY and ALL of a volatile list").at_span(list.span));
        }
        let is_there = list.nullable.then(|| list.clone().is_null().negated());
        let list = self.coerce(list, &SqlType::list_of(element.clone()), CastContext::Implicit)?;
        let column = self.plan.add_column("element", element, true);
        let input = self.single_row();
        let lists = vec![UnnestedList { column, list }];
        let node = self.plan.add(Node::Unnest(Unnest { input, lists, ordinality: None, outer: false }));
        let compared = self.quantify(vec![value], how, node, vec![column])?;
        // Over a NULL list, the result is unknown.
        Ok(match is_there {
            None => compared,
            Some(is_there) => {
                let branches = vec![(is_there, compared)];
                Expr::new(ExprKind::Case { branches, otherwise: None }, SqlType::Boolean, true)
            }
        })
    }

    /// Compares with each item of a list literal.
    fn quantify_items(&mut self, value: Expr, how: Quantification, items: Vec<Expr>) -> Result<Expr> {
        let mut items: Vec<Expr> = std::iter::once(value).chain(items).collect();
        if matches!(infix(how.op).0, Infix::Compare(_)) {
            items = self.in_one_collation(items, None)?;
        }
        let value = items.remove(0);
        if how.op == BinaryOperator::Equal && !how.all {
            return self.is_one_of(value, items);
        }
        let mut shared = Shared::new();
        let value = self.share(value, &mut shared);
        let compared = items.into_iter().map(|item| {
            let compared = self.infix(how.op, how.op_span, value.clone(), item)?;
            self.check_condition(compared, how)
        });
        let compared = compared.collect::<Result<Vec<_>>>()?;
        let compared = if how.all { Expr::and(compared) } else { Expr::or(compared) };
        Ok(self.with_shared(compared, shared))
    }

    /// Compares with each row of a plan.
    fn quantify(&mut self, left: Vec<Expr>, how: Quantification, plan: NodeId, columns: Vec<ColumnId>) -> Result<Expr> {
        let filled = self.plan.nullable_columns(plan);
        let column = |binder: &Self, column: ColumnId| Expr {
            nullable: filled.contains(column),
            ..binder.column(column, &Scope::default())
        };
        let (Infix::Compare(comparison), _) = infix(how.op) else {
            // Other operators are evaluated for each row; then some or all must be TRUE.
            let (Ok([value]), [right]) = (<[Expr; 1]>::try_from(left), &columns[..]) else {
                return Err(Error::unsupported("rows with other operators than comparisons").at_span(how.op_span));
            };
            let compared = self.infix(how.op, how.op_span, value, column(self, *right))?;
            let compared = self.check_condition(compared, how)?;
            let nullable = compared.nullable;
            let truth = self.plan.add_column("truth", SqlType::Boolean, nullable);
            let plan = self.plan.add(Node::Project(Project { input: plan, columns: vec![(truth, compared)] }));
            return Ok(quantified(Comparison::Equal, how.all, vec![Expr::boolean(true)], plan, vec![truth], nullable));
        };
        let mut values = Vec::with_capacity(left.len());
        let mut projected = Vec::with_capacity(columns.len());
        let mut compared = Vec::with_capacity(columns.len());
        let mut nullable = false;
        for (value, &id) in left.into_iter().zip(&columns) {
            let (value, right) = self.in_common_collation(value, column(self, id))?;
            let (a, b) = (self.type_so_far(&value).into_owned(), right.ty.clone());
            let Some(ty) = common_type(&a, &b) else {
                let error = Error::user(format!("there is no {a} {} {b}", comparison.symbol()));
                let error = error.with_code(SqlState::UNDEFINED_FUNCTION).at_span(how.op_span);
                return Err(error.with_hint(format!("cast one side: CAST(... AS {a})")));
            };
            let value = self.coerce(value, &ty, CastContext::Explicit)?;
            nullable |= value.nullable || right.nullable;
            let made = match right.ty == ty && right.as_column() == Some(id) {
                true => id,
                false => self.plan.add_column(self.plan.column(id).name.clone(), ty.clone(), right.nullable),
            };
            if !compared.contains(&made) {
                projected.push((made, self.coerce(right, &ty, CastContext::Explicit)?));
            }
            compared.push(made);
            values.push(value);
        }
        let plan = match compared == columns {
            true => plan,
            false => self.plan.add(Node::Project(Project { input: plan, columns: projected })),
        };
        Ok(quantified(comparison, how.all, values, plan, compared, nullable))
    }

    fn check_condition(&self, compared: Expr, how: Quantification) -> Result<Expr> {
        if compared.ty == SqlType::Boolean {
            return Ok(compared);
        }
        let error =
            Error::user(format!("{} before ANY or ALL must give a BOOLEAN, not {}", infix(how.op).1, compared.ty));
        Err(error.with_code(SqlState::DATATYPE_MISMATCH).at_span(how.op_span))
    }
}

fn quantified(
    comparison: Comparison,
    all: bool,
    left: Vec<Expr>,
    plan: NodeId,
    columns: Vec<ColumnId>,
    nullable: bool,
) -> Expr {
    let subquery = Subquery { kind: SubqueryKind::Quantified { comparison, all, left }, plan, columns };
    Expr::new(ExprKind::Subquery(Box::new(subquery)), SqlType::Boolean, nullable)
}

fn only_column(mut columns: impl ExactSizeIterator<Item = ColumnId>, span: Span) -> Result<ColumnId> {
    match (columns.len(), columns.next()) {
        (1, Some(column)) => Ok(column),
        (count, _) => {
            let error = Error::user(format!("a subquery that is a value has one column, this has {count}"));
            Err(error.with_code(SqlState::SYNTAX_ERROR).at_span(span))
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("one {what}") } else { format!("{count} {what}s") }
}

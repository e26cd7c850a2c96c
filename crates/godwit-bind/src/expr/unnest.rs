//! UNNEST in the SELECT list: the elements of a list become rows, the fields of a struct become columns.
//!
//! One level is unnested, unless `recursive := true` or `max_depth := n` asks for the elements of elements. Lists are
//! collected for nodes above the windows; the expression refers to the column of the element. Lists side by side share
//! a node; a list that is an element of another one is unnested by a node above.

use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ColumnId, ColumnSet, Expr, ExprKind, Node, NodeId, Unnest, UnnestedList};
use godwit_syntax::ast;
use godwit_types::{SqlType, Value};

use super::CastContext;
use crate::Binder;
use crate::binder::{Clause, ExprContext};

/// Number of nesting levels that UNNEST takes apart.
struct Levels(usize);

impl Binder {
    /// Returns the call of UNNEST, if the item of the SELECT list is one.
    pub(crate) fn as_unnest<'e>(&self, expr: &'e ast::Expr) -> Option<&'e ast::Call> {
        let ast::ExprKind::Call(call) = &expr.kind else { return None };
        let is_unnest = call.name.single().is_some_and(|name| name.is("unnest"));
        (is_unnest && self.environment.find_macro(&["unnest"]).is_none()).then_some(call)
    }

    /// Returns the columns of an item that is UNNEST: one for a list, one for each field of a struct.
    pub(crate) fn unnested_columns(
        &mut self,
        call: &ast::Call,
        name: Arc<str>,
        cx: &mut ExprContext<'_>,
    ) -> Result<Vec<(Arc<str>, Expr)>> {
        super::calls::refuse_clauses(call, "unnest")?;
        let (value, levels) = self.unnest_arguments(call, cx)?;
        let mut columns = Vec::new();
        self.take_apart(value, name, levels.0, cx, &mut columns)?;
        Ok(columns)
    }

    /// Binds UNNEST within an expression: the elements of a list.
    pub(super) fn unnest(&mut self, call: &ast::Call, cx: &mut ExprContext<'_>) -> Result<Expr> {
        if !matches!(cx.clause, Clause::Select | Clause::Function) {
            let error = Error::user(format!("unnest can't stand in {}", cx.clause.name()));
            let error = error.with_code(SqlState::SYNTAX_ERROR).at_span(call.name.span);
            return Err(error.with_hint("it makes rows: use it in FROM, or as an item of the SELECT list"));
        }
        let mut columns = self.unnested_columns(call, "unnest".into(), cx)?;
        match columns.pop() {
            Some((_, element)) if columns.is_empty() => Ok(element),
            _ => {
                let error = Error::user("unnest of a struct gives several columns, so it can't be a part of a value");
                let error = error.with_code(SqlState::SYNTAX_ERROR).at_span(call.name.span);
                Err(error.with_hint("make it an item of the SELECT list of its own"))
            }
        }
    }

    fn unnest_arguments(&mut self, call: &ast::Call, cx: &mut ExprContext<'_>) -> Result<(Expr, Levels)> {
        let mut levels = Levels(1);
        let mut values = Vec::new();
        for argument in &call.args {
            match &argument.name {
                Some(option) => levels = self.unnest_levels(option, &argument.value)?,
                None => values.push(self.expr(&argument.value, cx)?),
            }
        }
        let Ok([value]) = <[Expr; 1]>::try_from(values) else {
            let error = Error::user("unnest takes one value").with_code(SqlState::UNDEFINED_FUNCTION);
            return Err(error.at_span(call.name.span));
        };
        let value = match value.ty {
            SqlType::Unknown => self.coerce(value, &SqlType::list_of(SqlType::Integer), CastContext::Implicit)?,
            _ => value,
        };
        if value.ty.element().is_none() && value.ty.fields().is_none() {
            let error = Error::user(format!("unnest takes a list or a struct, this is {}", value.ty));
            return Err(error.with_code(SqlState::DATATYPE_MISMATCH).at_span(value.span));
        }
        self.check_no_lambda_parameter(&[&value], "unnest", cx)?;
        Ok((value, levels))
    }

    fn unnest_levels(&mut self, option: &ast::Ident, value: &ast::Expr) -> Result<Levels> {
        let (constant, _) = self.constant(value, Clause::Select)?;
        match (&*option.text.to_lowercase(), constant) {
            ("recursive", Value::Boolean(true)) => Ok(Levels(usize::MAX)),
            ("recursive", Value::Boolean(false)) => Ok(Levels(1)),
            ("max_depth", Value::Integer(levels)) if levels >= 1 => {
                Ok(Levels(usize::try_from(levels).unwrap_or(usize::MAX)))
            }
            _ => {
                let error = Error::user(format!("unnest has no option {} of this value", option.text));
                let error = error.with_code(SqlState::INVALID_PARAMETER_VALUE).at_span(option.span);
                Err(error.with_hint("there are recursive := true and max_depth := 2"))
            }
        }
    }

    /// Returns the values at this depth inside a nested value.
    fn take_apart(
        &mut self,
        value: Expr,
        name: Arc<str>,
        levels: usize,
        cx: &mut ExprContext<'_>,
        columns: &mut Vec<(Arc<str>, Expr)>,
    ) -> Result<()> {
        if levels == 0 {
            columns.push((name, value));
        } else if let Some(element) = value.ty.element().cloned() {
            let element = self.element_of(value, element, cx)?;
            self.take_apart(element, name, levels - 1, cx, columns)?;
        } else if let Some(fields) = value.ty.fields().map(<[_]>::to_vec) {
            if value.is_volatile() {
                let error = Error::unsupported("unnest of a volatile struct").at_span(value.span);
                return Err(error.with_hint("compute it in a subquery in FROM"));
            }
            for field in fields {
                let name = ast::Ident { text: field.name, quoted: true, span: value.span };
                let part = self.field(value.clone(), &name)?;
                self.take_apart(part, name.text, levels - 1, cx, columns)?;
            }
        } else {
            columns.push((name, value));
        }
        Ok(())
    }

    /// Returns the column of a list's elements.
    fn element_of(&mut self, list: Expr, element: SqlType, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let list = self.coerce(list, &SqlType::list_of(element.clone()), CastContext::Implicit)?;
        let known = cx.collected.unnested.iter().find(|(_, known)| *known == list && !list.is_volatile());
        let column = known.map(|&(column, _)| column).unwrap_or_else(|| {
            let column = self.plan.add_column("unnest", element.clone(), true);
            cx.collected.unnested.push((column, list));
            column
        });
        Ok(Expr::new(ExprKind::Column(column), element, true))
    }

    /// Unnests lists above a node: (element, list).
    pub(crate) fn unnested_rows(&mut self, mut node: NodeId, mut lists: Vec<(ColumnId, Expr)>) -> NodeId {
        while !lists.is_empty() {
            let elements: ColumnSet = lists.iter().map(|&(element, _)| element).collect();
            let is_ready = |(_, list): &(ColumnId, Expr)| list.columns().is_disjoint(&elements);
            let (ready, later): (Vec<_>, Vec<_>) = lists.into_iter().partition(is_ready);
            let ready = ready.into_iter().map(|(column, list)| UnnestedList { column, list }).collect();
            node = self.plan.add(Node::Unnest(Unnest { input: node, lists: ready, ordinality: None, outer: false }));
            lists = later;
        }
        node
    }
}

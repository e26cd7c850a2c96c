//! COLUMNS: expressions that are repeated for each of several columns.
//!
//! ```text
//! SELECT max(COLUMNS('a|b'))          an item for each column
//! SELECT COLUMNS(c -> c LIKE 'a%')    likewise, of names for which the condition holds
//! WHERE COLUMNS(*) IS NOT NULL        a condition for each column, all of which must hold
//! SELECT coalesce(*COLUMNS('a|b'))    an argument for each column
//! ```

use std::borrow::Cow;
use std::sync::Arc;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::Expr;
use godwit_syntax::ast::{self, ExprKind, Ident, LikeKind};
use godwit_types::{SqlType, Value};
use regex::{Regex, RegexBuilder};

use super::items::{for_each_part, is_meant};
use crate::Binder;
use crate::binder::{Clause, ExprContext};
use crate::expr::like;
use crate::scope::{Scope, VisibleColumn};

impl Binder {
    /// Returns the columns that COLUMNS selects.
    pub(super) fn selected_columns(
        &mut self,
        columns: &ast::Columns,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Vec<VisibleColumn>> {
        let inner = match &columns.selection.kind {
            ExprKind::Wildcard(wildcard) => wildcard.qualifier.as_ref(),
            _ => None,
        };
        let all = self.wildcard_columns(columns.qualifier.as_ref().or(inner), span, scope)?;
        let all = all.into_iter().filter(|column| !column.hidden);
        let chosen: Vec<VisibleColumn> = match &columns.selection.kind {
            ExprKind::Wildcard(wildcard) if wildcard.replace.is_empty() && wildcard.rename.is_empty() => {
                let is_excluded = |column: &VisibleColumn| {
                    wildcard.exclude.iter().any(|name| is_meant(name, &column.name, column.relation.as_ref()))
                };
                all.filter(|column| !is_excluded(column)).collect()
            }
            ExprKind::Literal(ast::Literal::String(pattern)) => {
                let regex = RegexBuilder::new(pattern).build().map_err(|error| {
                    let error = Error::user(format!("'{pattern}' is not a regular expression: {error}"));
                    error.with_code(SqlState::INVALID_REGULAR_EXPRESSION).at_span(columns.selection.span)
                })?;
                all.filter(|column| regex.is_match(&column.name)).collect()
            }
            ExprKind::List(names) => {
                let names: Vec<Arc<str>> = names.iter().filter_map(ast::Expr::as_word).collect();
                all.filter(|column| names.iter().any(|name| name.eq_ignore_ascii_case(&column.name))).collect()
            }
            ExprKind::Lambda { parameters, body, .. } => {
                let [parameter] = &parameters[..] else {
                    let error = Error::user("the lambda of COLUMNS has one parameter: a column's name");
                    return Err(error.with_code(SqlState::SYNTAX_ERROR).at_span(columns.selection.span));
                };
                let mut chosen = Vec::new();
                for column in all {
                    if self.holds_for_name(&column.name, parameter, body)? {
                        chosen.push(column);
                    }
                }
                chosen
            }
            ExprKind::Wildcard(_) => {
                let error = Error::unsupported("REPLACE and RENAME in COLUMNS inside of an expression");
                return Err(error.at_span(columns.selection.span));
            }
            _ => {
                let error = Error::unsupported("COLUMNS of anything but *, a pattern, a list of names or a lambda");
                return Err(error.at_span(columns.selection.span));
            }
        };
        if chosen.is_empty() {
            return Err(no_such_column("COLUMNS").at_span(columns.selection.span));
        }
        Ok(chosen)
    }

    /// Whether a condition on the name of a column is true.
    fn holds_for_name(&mut self, name: &str, parameter: &Ident, condition: &ast::Expr) -> Result<bool> {
        let value = Expr::literal(Value::text(name), SqlType::Varchar);
        let scope = Scope { aliases: vec![(parameter.text.clone(), value)], ..Scope::default() };
        let folded = self.folded_in(&scope, condition, Clause::Where)?;
        if !matches!(folded.ty, SqlType::Boolean | SqlType::Unknown) {
            let error = Error::user(format!("the lambda of COLUMNS is a condition, this is {}", folded.ty));
            return Err(error.with_code(SqlState::DATATYPE_MISMATCH).at_span(condition.span));
        }
        match folded.as_literal() {
            Some(truth) => Ok(*truth == Value::Boolean(true)),
            None => {
                let error = Error::unsupported("this condition on the names of columns").at_span(condition.span);
                Err(error.with_hint("there are comparisons, LIKE, IN, AND, OR, NOT, and functions of the name"))
            }
        }
    }

    /// Returns the arguments or elements that `*COLUMNS(…)` stands for; `None` for other expressions.
    pub(crate) fn unpacked(&mut self, expr: &ast::Expr, scope: &Scope<'_>) -> Result<Option<Vec<ast::Expr>>> {
        let ExprKind::Columns(columns) = &expr.kind else { return Ok(None) };
        if !columns.unpack {
            return Ok(None);
        }
        let name = |text: Arc<str>| Ident { text, quoted: true, span: expr.span };
        let path = |column: VisibleColumn| {
            let path = column.relation.into_iter().chain([column.name]).map(name).collect();
            ast::Expr { kind: ExprKind::Column(path), span: expr.span }
        };
        Ok(Some(self.selected_columns(columns, expr.span, scope)?.into_iter().map(path).collect()))
    }

    /// Replaces each `*COLUMNS(…)` of a list by the columns that it stands for.
    pub(crate) fn all_unpacked<'e>(
        &mut self,
        list: &'e [ast::Expr],
        scope: &Scope<'_>,
    ) -> Result<Cow<'e, [ast::Expr]>> {
        if !list.iter().any(|item| matches!(&item.kind, ExprKind::Columns(columns) if columns.unpack)) {
            return Ok(Cow::Borrowed(list));
        }
        let mut all = Vec::new();
        for item in list {
            match self.unpacked(item, scope)? {
                Some(parts) => all.extend(parts),
                None => all.push(item.clone()),
            }
        }
        Ok(Cow::Owned(all))
    }

    /// Binds a condition with COLUMNS in it, which must hold for each of them.
    pub(crate) fn condition_of_each(&mut self, expr: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Option<Expr>> {
        if let ExprKind::And(operands) = &expr.kind
            && operands.iter().any(has_columns)
        {
            let holds = operands.iter().map(|operand| self.condition(operand, cx)).collect::<Result<Vec<_>>>()?;
            return Ok(Some(Expr::and(holds)));
        }
        let Some(columns) = columns_inside(expr)? else { return Ok(None) };
        let mut holds = Vec::new();
        for column in self.selected_columns(columns, expr.span, cx.scope)? {
            let scope = Scope { selected: Some(column.column), ..cx.scope.copied() };
            holds.push(self.condition(expr, &mut cx.with_scope(&scope))?);
        }
        Ok(Some(Expr::and(holds)))
    }
}

/// Returns the names that `* LIKE 'pattern'` matches, and whether matching columns are left out.
pub(super) fn names_like(condition: &ast::Expr) -> Result<(Regex, bool)> {
    let ExprKind::Like { kind, pattern, escape, negated, .. } = &condition.kind else {
        unreachable!("stars have no other condition")
    };
    let (LikeKind::Like | LikeKind::ILike, ExprKind::Literal(ast::Literal::String(text)), None) =
        (kind, &pattern.kind, escape)
    else {
        let error = Error::unsupported("a condition on the names of columns other than LIKE and ILIKE with a text");
        return Err(error.at_span(condition.span).with_hint("COLUMNS('pattern') takes a regular expression"));
    };
    let regex = like(text, None, matches!(kind, LikeKind::ILike)).map_err(|error| {
        let error = Error::user(format!("'{text}' can't be a pattern: {error}"));
        error.with_code(SqlState::INVALID_REGULAR_EXPRESSION).at_span(pattern.span)
    })?;
    Ok((regex, *negated))
}

fn has_columns(expr: &ast::Expr) -> bool {
    let mut found = false;
    for_each_part(expr, &mut |part| found |= matches!(&part.kind, ExprKind::Columns(columns) if !columns.unpack));
    found
}

/// Returns the COLUMNS for whose columns an expression is to be repeated, if there is one.
pub(super) fn columns_inside(expr: &ast::Expr) -> Result<Option<&ast::Columns>> {
    let mut found: Option<&ast::Columns> = None;
    let mut other = None;
    for_each_part(expr, &mut |part| match &part.kind {
        ExprKind::Columns(columns) if !columns.unpack => match found {
            Some(first) if first.to_string() != columns.to_string() => other = Some(part.span),
            Some(_) => {}
            None => found = Some(columns),
        },
        _ => {}
    });
    match other {
        Some(span) => Err(Error::unsupported("several different COLUMNS in one expression").at_span(span)),
        None => Ok(found),
    }
}

/// Returns the error for a condition on names that no column satisfies.
pub(super) fn no_such_column(condition: &str) -> Error {
    Error::user(format!("no column matches {condition}")).with_code(SqlState::UNDEFINED_COLUMN)
}

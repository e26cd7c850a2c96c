//! The SELECT list: what `*` and COLUMNS stand for, and the names of results.

use std::sync::Arc;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{ColumnId, Expr};
use godwit_syntax::Child;
use godwit_syntax::ast::{self, ExprKind};
use regex::RegexBuilder;

use crate::Binder;
use crate::scope::{Scope, VisibleColumn};

/// An item of the SELECT list, with wildcards taken apart.
#[derive(Debug, Clone)]
pub(crate) struct Item<'a> {
    /// Name of the result's column.
    pub name: Arc<str>,
    /// True if the name was written as an alias.
    pub is_alias: bool,
    pub value: ItemValue<'a>,
    pub span: Span,
}

/// What an item is.
#[derive(Debug, Clone)]
pub(crate) enum ItemValue<'a> {
    /// An expression of the text.
    Expr(&'a ast::Expr),
    /// An expression in which COLUMNS stands for a column.
    Each(&'a ast::Expr, ColumnId),
    /// A column that `*` stands for.
    Column(ColumnId),
    /// A value that a clause before SELECT has asked for. It is bound once: two subqueries are never the same.
    Bound(Expr),
}

impl Binder {
    /// The items of a SELECT list.
    pub(crate) fn items<'a>(&mut self, items: &'a [ast::SelectItem], scope: &Scope<'_>) -> Result<Vec<Item<'a>>> {
        let mut all = Vec::new();
        for item in items {
            let span = item.expr.span;
            match &item.expr.kind {
                ExprKind::Wildcard(wildcard) => self.expand(wildcard, span, scope, &mut all)?,
                _ => match columns_inside(&item.expr) {
                    Some(columns) => {
                        for column in self.selected_columns(columns, span, scope)? {
                            let name = match (&item.alias, &item.expr.kind) {
                                (Some(alias), _) => alias.text.clone(),
                                (None, ExprKind::Columns(_)) => column.name.clone(),
                                (None, _) => {
                                    let written =
                                        ast::Expr { kind: ExprKind::Columns(Box::new(columns.clone())), span };
                                    name_of(&item.expr).replace(&written.to_string(), &column.name).into()
                                }
                            };
                            let value = ItemValue::Each(&item.expr, column.column);
                            all.push(Item { name, is_alias: item.alias.is_some(), value, span });
                        }
                    }
                    None => {
                        let alias = item.alias.as_ref().map(|alias| alias.text.clone());
                        let is_alias = alias.is_some();
                        let name = alias.unwrap_or_else(|| name_of(&item.expr));
                        all.push(Item { name, is_alias, value: ItemValue::Expr(&item.expr), span });
                    }
                },
            }
        }
        Ok(all)
    }

    /// `*` and `t.*`, with EXCLUDE, REPLACE and RENAME.
    fn expand<'a>(
        &mut self,
        wildcard: &'a ast::Wildcard,
        span: Span,
        scope: &Scope<'_>,
        items: &mut Vec<Item<'a>>,
    ) -> Result<()> {
        let columns = self.wildcard_columns(wildcard.qualifier.as_ref(), span, scope)?;
        let mut unused: Vec<(&ast::ObjectName, &str)> = Vec::new();
        unused.extend(wildcard.exclude.iter().map(|name| (name, "EXCLUDE")));
        unused.extend(wildcard.replace.iter().map(|replaced| (&replaced.name, "REPLACE")));
        unused.extend(wildcard.rename.iter().map(|renamed| (&renamed.from, "RENAME")));
        for column in columns.iter().filter(|column| !column.hidden) {
            let is_meant = |name: &ast::ObjectName| is_meant(name, column);
            unused.retain(|(name, _)| !is_meant(name));
            if wildcard.exclude.iter().any(is_meant) {
                continue;
            }
            let renamed = wildcard.rename.iter().find(|renamed| is_meant(&renamed.from));
            let name = renamed.map_or_else(|| column.name.clone(), |renamed| renamed.to.text.clone());
            let value = match wildcard.replace.iter().find(|replaced| is_meant(&replaced.name)) {
                Some(replaced) => ItemValue::Expr(&replaced.expr),
                None => ItemValue::Column(column.column),
            };
            items.push(Item { name, is_alias: false, value, span });
        }
        match unused.first() {
            Some((name, clause)) => {
                let error = Error::user(format!("column {} of {clause} is not in FROM", name.last().text));
                Err(error.with_code(SqlState::UNDEFINED_COLUMN).at_span(name.span))
            }
            None => Ok(()),
        }
    }

    /// The columns that `*` or `t.*` stands for.
    fn wildcard_columns(
        &self,
        qualifier: Option<&ast::ObjectName>,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Vec<VisibleColumn>> {
        let Some(qualifier) = qualifier else {
            if scope.relations.is_empty() && scope.visible.is_empty() {
                let error = Error::user("* needs a FROM").with_code(SqlState::SYNTAX_ERROR).at_span(span);
                return Err(error);
            }
            return Ok(scope.visible.clone());
        };
        let parts: Vec<&str> = qualifier.parts.iter().map(|part| &*part.text).collect();
        let mut next = Some(scope);
        while let Some(scope) = next {
            let mut meant = scope.relations.iter().filter(|relation| relation.is_meant_by(&parts));
            match (meant.next(), meant.next()) {
                (Some(relation), None) => return Ok(relation.columns.clone()),
                (Some(one), Some(two)) => {
                    let (one, two) = (one.name.join("."), two.name.join("."));
                    let error = Error::user(format!("{} could be {one} or {two}", parts.join(".")));
                    return Err(error.with_code(SqlState::AMBIGUOUS_COLUMN).at_span(qualifier.span));
                }
                _ => next = scope.outer,
            }
        }
        let error = Error::user(format!("no table named {} in FROM", parts.join(".")));
        Err(error.with_code(SqlState::UNDEFINED_TABLE).at_span(qualifier.span))
    }

    /// The columns that COLUMNS selects.
    fn selected_columns(
        &mut self,
        columns: &ast::Columns,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Vec<VisibleColumn>> {
        let all = self.wildcard_columns(columns.qualifier.as_ref(), span, scope)?;
        let all = all.into_iter().filter(|column| !column.hidden);
        let chosen: Vec<VisibleColumn> = match &columns.selection.kind {
            ExprKind::Wildcard(wildcard) => {
                let is_excluded = |column: &VisibleColumn| wildcard.exclude.iter().any(|name| is_meant(name, column));
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
            _ => {
                let error = Error::unsupported("COLUMNS of anything but *, a pattern or a list of names");
                return Err(error.at_span(columns.selection.span));
            }
        };
        if chosen.is_empty() {
            let error = Error::user("no column matches COLUMNS").with_code(SqlState::UNDEFINED_COLUMN);
            return Err(error.at_span(columns.selection.span));
        }
        Ok(chosen)
    }
}

/// Does a name, perhaps qualified by the table's, mean a column?
fn is_meant(name: &ast::ObjectName, column: &VisibleColumn) -> bool {
    let table = name.parts.iter().rev().nth(1);
    name.last().is(&column.name)
        && table.is_none_or(|table| column.relation.as_ref().is_some_and(|relation| table.is(relation)))
}

/// The COLUMNS inside of an expression, if there is one.
fn columns_inside(expr: &ast::Expr) -> Option<&ast::Columns> {
    let mut found = None;
    for_each_part(expr, &mut |part| {
        if let ExprKind::Columns(columns) = &part.kind {
            found.get_or_insert(&**columns);
        }
    });
    found
}

/// Calls `visit` for an expression and all that it is made of; queries inside are left aside.
pub(super) fn for_each_part<'e>(expr: &'e ast::Expr, visit: &mut dyn FnMut(&'e ast::Expr)) {
    visit(expr);
    expr.for_each_child(&mut |child| {
        if let Child::Expr(child) = child {
            for_each_part(child, visit);
        }
    });
}

/// The name of a result without an alias: that of the column, else the text.
pub(super) fn name_of(expr: &ast::Expr) -> Arc<str> {
    match &expr.kind {
        ExprKind::Column(path) => folded(path.last().expect("paths have parts")),
        ExprKind::Field { name, .. } => folded(name),
        _ => expr.to_string().into(),
    }
}

/// A name as it is shown: in lower case unless it stood in quotes.
fn folded(name: &ast::Ident) -> Arc<str> {
    if name.quoted { name.text.clone() } else { name.text.to_lowercase().into() }
}

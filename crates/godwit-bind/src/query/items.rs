//! The SELECT list: expansion of `*`, and the names of results.

use std::sync::Arc;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{ColumnId, Expr};
use godwit_syntax::Child;
use godwit_syntax::ast::{self, ExprKind};

use super::columns::{columns_inside, names_like, no_such_column};
use crate::Binder;
use crate::binder::ExprContext;
use crate::scope::{Scope, VisibleColumn};

/// An item of the SELECT list, with wildcards expanded.
#[derive(Debug, Clone)]
pub(crate) struct Item<'a> {
    /// Name of the result column.
    pub name: Arc<str>,
    /// True if the name was written as an alias.
    pub is_alias: bool,
    pub value: ItemValue<'a>,
    pub span: Span,
}

/// The value of an item.
#[derive(Debug, Clone)]
pub(crate) enum ItemValue<'a> {
    /// An expression from the text.
    Expr(&'a ast::Expr),
    /// An expression in which COLUMNS stands for a column.
    Each(&'a ast::Expr, ColumnId),
    /// A column that `*` stands for.
    Column(ColumnId),
    /// A value that a clause before SELECT uses. It is bound once: two subqueries are never equal.
    Bound(Expr),
}

/// `*`, `COLUMNS(*)` or `* LIKE 'a%'`.
struct Star<'a> {
    wildcard: &'a ast::Wildcard,
    /// The condition on column names.
    like: Option<&'a ast::Expr>,
}

/// A column or field that `*` stands for, with its names.
struct Starred {
    name: Arc<str>,
    /// The table that it belongs to.
    relation: Option<Arc<str>>,
}

impl Binder {
    /// Returns the items of a SELECT list.
    pub(crate) fn items<'a>(&mut self, items: &'a [ast::SelectItem], scope: &Scope<'_>) -> Result<Vec<Item<'a>>> {
        let mut all = Vec::new();
        for item in items {
            let span = item.expr.span;
            if let Some(star) = star_of(item) {
                self.expand(star, span, scope, &mut all)?;
            } else if let Some(columns) = columns_inside(&item.expr)? {
                for column in self.selected_columns(columns, span, scope)? {
                    let name = match (&item.alias, &item.expr.kind) {
                        (Some(alias), _) => alias.text.clone(),
                        (None, ExprKind::Columns(_)) => column.name.clone(),
                        (None, _) => {
                            let written = ast::Expr { kind: ExprKind::Columns(Box::new(columns.clone())), span };
                            name_of(&item.expr).replace(&written.to_string(), &column.name).into()
                        }
                    };
                    let value = ItemValue::Each(&item.expr, column.column);
                    all.push(Item { name, is_alias: item.alias.is_some(), value, span });
                }
            } else {
                let alias = item.alias.as_ref().map(|alias| alias.text.clone());
                let is_alias = alias.is_some();
                let name = alias.unwrap_or_else(|| name_of(&item.expr));
                all.push(Item { name, is_alias, value: ItemValue::Expr(&item.expr), span });
            }
        }
        Ok(all)
    }

    /// Expands `*` and `t.*`, with EXCLUDE, REPLACE and RENAME, and with a condition on names.
    fn expand<'a>(&mut self, star: Star<'a>, span: Span, scope: &Scope<'_>, items: &mut Vec<Item<'a>>) -> Result<()> {
        let wildcard = star.wildcard;
        let like = star.like.map(names_like).transpose()?;
        let mut unused: Vec<(&ast::ObjectName, &str)> = Vec::new();
        unused.extend(wildcard.exclude.iter().map(|name| (name, "EXCLUDE")));
        unused.extend(wildcard.replace.iter().map(|replaced| (&replaced.name, "REPLACE")));
        unused.extend(wildcard.rename.iter().map(|renamed| (&renamed.from, "RENAME")));
        let known = items.len();
        for (column, own) in self.starred(wildcard.qualifier.as_ref(), span, scope)? {
            let is_meant = |name: &ast::ObjectName| is_meant(name, &column.name, column.relation.as_ref());
            unused.retain(|(name, _)| !is_meant(name));
            if wildcard.exclude.iter().any(is_meant) {
                continue;
            }
            if let Some((names, negated)) = &like
                && names.is_match(&column.name) == *negated
            {
                continue;
            }
            let renamed = wildcard.rename.iter().find(|renamed| is_meant(&renamed.from));
            let name = renamed.map_or_else(|| column.name.clone(), |renamed| renamed.to.text.clone());
            let value = match wildcard.replace.iter().find(|replaced| is_meant(&replaced.name)) {
                Some(replaced) => ItemValue::Expr(&replaced.expr),
                None => own,
            };
            items.push(Item { name, is_alias: false, value, span });
        }
        if let Some(condition) = star.like
            && items.len() == known
        {
            return Err(no_such_column(&condition.to_string()).at_span(span));
        }
        match unused.first() {
            Some((name, clause)) => {
                let error = Error::user(format!("column {} of {clause} is not in FROM", name.last().text));
                Err(error.with_code(SqlState::UNDEFINED_COLUMN).at_span(name.span))
            }
            None => Ok(()),
        }
    }

    /// Returns what `*`, `t.*` or `a_struct.*` stands for: columns, or the fields of a struct.
    fn starred<'a>(
        &mut self,
        qualifier: Option<&ast::ObjectName>,
        span: Span,
        scope: &Scope<'_>,
    ) -> Result<Vec<(Starred, ItemValue<'a>)>> {
        if let Some(qualifier) = qualifier {
            let parts: Vec<&str> = qualifier.parts.iter().map(|part| &*part.text).collect();
            let is_table = std::iter::once(scope)
                .chain(scope.around())
                .any(|scope| scope.relations.iter().any(|relation| relation.is_meant_by(&parts)));
            if !is_table
                && let Some(value) = self.find_path(&qualifier.parts, scope)?
                && value.ty.fields().is_some()
            {
                let field = |(name, value)| (Starred { name, relation: None }, ItemValue::Bound(value));
                return Ok(self.fields_of(value)?.into_iter().map(field).collect());
            }
        }
        let columns = self.wildcard_columns(qualifier, span, scope)?;
        let shown = columns.into_iter().filter(|column| !column.hidden);
        Ok(shown
            .map(|column| {
                let value = ItemValue::Column(column.column);
                (Starred { name: column.name, relation: column.relation }, value)
            })
            .collect())
    }

    /// Returns the fields of a struct, which must not be volatile.
    pub(crate) fn fields_of(&mut self, value: Expr) -> Result<Vec<(Arc<str>, Expr)>> {
        let names: Vec<Arc<str>> = value.ty.fields().into_iter().flatten().map(|field| field.name.clone()).collect();
        let mut fields = Vec::with_capacity(names.len());
        for name in names {
            let field =
                self.field(value.clone(), &ast::Ident { text: name.clone(), quoted: true, span: value.span })?;
            fields.push((name, field));
        }
        Ok(fields)
    }

    /// Expands `(value).*`: the fields of a struct.
    pub(super) fn all_fields(
        &mut self,
        operand: &ast::Expr,
        cx: &mut ExprContext<'_>,
    ) -> Result<Vec<(Arc<str>, Expr)>> {
        let value = self.settled(operand, cx)?;
        if value.ty.fields().is_none() {
            let error = Error::user(format!("only a struct has fields, this is {}", value.ty));
            return Err(error.with_code(SqlState::DATATYPE_MISMATCH).at_span(operand.span));
        }
        if value.is_volatile() {
            let error = Error::unsupported("all fields of a volatile value").at_span(operand.span);
            return Err(error.with_hint("compute it in a subquery in FROM"));
        }
        self.fields_of(value)
    }

    /// Returns the columns that `*` or `t.*` stands for.
    pub(crate) fn wildcard_columns(
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
}

/// Returns the star, if the item of the SELECT list is one.
fn star_of(item: &ast::SelectItem) -> Option<Star<'_>> {
    let (star, like) = match &item.expr.kind {
        ExprKind::Wildcard(_) => (&item.expr, None),
        ExprKind::Columns(columns) if columns.qualifier.is_none() && item.alias.is_none() => (&columns.selection, None),
        ExprKind::Like { operand, .. } => (&**operand, Some(&item.expr)),
        _ => return None,
    };
    match &star.kind {
        ExprKind::Wildcard(wildcard) => Some(Star { wildcard, like }),
        _ => None,
    }
}

/// Whether a name, possibly qualified by the table's, refers to a column.
pub(super) fn is_meant(name: &ast::ObjectName, column: &str, relation: Option<&Arc<str>>) -> bool {
    let table = name.parts.iter().rev().nth(1);
    name.last().is(column) && table.is_none_or(|table| relation.is_some_and(|relation| table.is(relation)))
}

/// Calls `visit` for an expression and all its parts, except queries inside it.
pub(super) fn for_each_part<'e>(expr: &'e ast::Expr, visit: &mut dyn FnMut(&'e ast::Expr)) {
    visit(expr);
    expr.for_each_child(&mut |child| {
        if let Child::Expr(child) = child {
            for_each_part(child, visit);
        }
    });
}

/// Returns the name of a result without an alias: that of the column, else the text.
pub(crate) fn name_of(expr: &ast::Expr) -> Arc<str> {
    match &expr.kind {
        ExprKind::Column(path) => folded(path.last().expect("paths have parts")),
        ExprKind::Field { name, .. } => folded(name),
        _ => expr.to_string().into(),
    }
}

/// Returns a name as shown: in lower case unless it was quoted.
fn folded(name: &ast::Ident) -> Arc<str> {
    if name.quoted { name.text.clone() } else { name.text.to_lowercase().into() }
}

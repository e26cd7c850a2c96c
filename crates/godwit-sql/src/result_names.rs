//! Names of a result's columns: an expression without an alias is named by its text, as the user wrote it.
//!
//! The plan keeps the planner crates' names, which spell out types and tables and must differ from each other; the names
//! here are put on the result only. Repeated expressions get an alias in the plan so that `SELECT 1, 1` is possible.

use std::collections::HashSet;

use datafusion_expr::LogicalPlan;
use datafusion_sql::sqlparser::ast::{Expr, Ident, Query, Select, SelectItem, SetExpr};

/// What the SELECT list tells about names; `None` stands for the plan's name.
#[derive(Default)]
pub(crate) struct ResultNames {
    /// Of the columns before the first wildcard, or of all.
    front: Vec<Option<String>>,
    /// Of the columns after the last wildcard; `None` if there is no wildcard.
    back: Option<Vec<Option<String>>>,
}

impl ResultNames {
    /// Reads the names from the outermost SELECT, of set operations from the left one, and gives aliases to repeated
    /// expressions of these SELECT lists. Expressions of different text may be the same to the binder, such as synonyms
    /// of functions: with `alias_all` all get one.
    pub(crate) fn of_query(query: &mut Query, alias_all: bool) -> Self {
        Self::of_set(&mut query.body, alias_all)
    }

    fn of_set(body: &mut SetExpr, alias_all: bool) -> Self {
        match body {
            SetExpr::Select(select) => Self::of_select(select, alias_all),
            SetExpr::Query(query) => Self::of_query(query, alias_all),
            SetExpr::SetOperation { left, right, .. } => {
                Self::of_set(right, alias_all);
                Self::of_set(left, alias_all)
            }
            _ => Self::default(),
        }
    }

    fn of_select(select: &mut Select, alias_all: bool) -> Self {
        let mut names = Self::default();
        let has_wildcard = select.projection.iter().any(is_wildcard);
        let mut seen = HashSet::new();
        for (at, item) in select.projection.iter_mut().enumerate() {
            if is_wildcard(item) {
                names.back = Some(Vec::new());
                continue;
            }
            let (key, mut name) = key_and_name(item);
            // A column may come a second time through the wildcard.
            let is_column = matches!(item, SelectItem::UnnamedExpr(Expr::Identifier(_)));
            let needs_alias = alias_all && matches!(item, SelectItem::UnnamedExpr(_));
            if !seen.insert(key.clone()) || needs_alias || (has_wildcard && is_column) {
                name.get_or_insert_with(|| key.clone());
                let alias = Ident::with_quote('"', format!("{key}:{}", at + 1));
                match item {
                    SelectItem::UnnamedExpr(expr) => {
                        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
                    }
                    SelectItem::ExprWithAlias { alias: repeated, .. } => *repeated = alias,
                    _ => {}
                }
            }
            names.back.as_mut().unwrap_or(&mut names.front).push(name);
        }
        names
    }

    /// A name for each column of the query's plan.
    pub(crate) fn of_plan(self, plan: &LogicalPlan) -> Vec<String> {
        let mut names: Vec<String> = plan.schema().fields().iter().map(|field| field.name().clone()).collect();
        let back = self.back.as_deref().unwrap_or_default();
        let known = self.front.len() + back.len();
        // A function may stand for several columns; then nothing can be aligned.
        if known > names.len() || (self.back.is_none() && known != names.len()) {
            return names;
        }
        let back_start = names.len() - back.len();
        let places = (0..self.front.len()).chain(back_start..names.len());
        for (place, name) in places.zip(self.front.iter().chain(back)) {
            if let Some(name) = name {
                names[place].clone_from(name);
            }
        }
        names
    }
}

/// True for an item that isn't one expression.
fn is_wildcard(item: &SelectItem) -> bool {
    !matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. })
}

/// What an item is known by in its SELECT list, and its name in the result if that isn't the plan's.
fn key_and_name(item: &SelectItem) -> (String, Option<String>) {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => (folded(alias), None),
        SelectItem::UnnamedExpr(Expr::Identifier(column)) => (folded(column), None),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
            let key = parts.iter().map(folded).collect::<Vec<_>>().join(".");
            (key, parts.last().map(folded))
        }
        other => {
            let text = other.to_string();
            (text.clone(), Some(text))
        }
    }
}

/// An identifier as the binder reads it.
fn folded(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
}

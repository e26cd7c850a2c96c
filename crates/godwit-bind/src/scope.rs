//! Name resolution within a clause.
//!
//! ```text
//! lambda parameters ─▶ columns of FROM ─▶ aliases of SELECT ─▶ the scope of the query around it ─▶ …
//! ```
//!
//! The innermost scope that knows a name wins: a column of an inner FROM hides those of outer queries. If a name
//! matches two columns of one scope, the error shows both. Hidden columns come last: one has a name only if nothing in
//! any scope has it.

use std::sync::Arc;

use godwit_plan::{ColumnId, ColumnSet, Expr};
use godwit_syntax::ast::Ident;

use crate::expr::MacroClauses;

/// The names visible to a clause of one SELECT.
#[derive(Default)]
pub(crate) struct Scope<'s> {
    /// The scope of the enclosing query.
    pub outer: Option<&'s Scope<'s>>,
    /// The tables to the left of a subquery in FROM that isn't LATERAL. They are searched last, when no scope around
    /// the query knows the name: DuckDB's users leave LATERAL out.
    pub implicit: bool,
    /// The tables of FROM, in order.
    pub relations: Vec<ScopeRelation>,
    /// The meanings of unqualified names and `*`, in order. A pair of USING columns appears once; each side's own
    /// column is only in `relations`.
    pub visible: Vec<VisibleColumn>,
    /// Columns that outer joins fill with NULLs.
    pub filled: ColumnSet,
    /// The values of SELECT under their aliases, for clauses that may use them.
    pub aliases: Vec<(Arc<str>, Expr)>,
    /// The column that COLUMNS stands for: an expression with it is bound once for each selected column.
    pub selected: Option<ColumnId>,
    /// Parameters of the lambdas around an expression, innermost last.
    pub lambda_parameters: Vec<(Arc<str>, ColumnId)>,
    /// The clauses of the macro's call whose body is bound.
    pub macro_clauses: Option<&'s MacroClauses>,
}

/// A table of FROM.
#[derive(Debug, Clone)]
pub(crate) struct ScopeRelation {
    /// Its alias, or else its name, qualified as far as known: outermost first, the table last.
    pub name: Vec<Arc<str>>,
    /// Its columns.
    pub columns: Vec<VisibleColumn>,
}

/// A column under a name.
#[derive(Debug, Clone)]
pub(crate) struct VisibleColumn {
    /// The name.
    pub name: Arc<str>,
    /// The column.
    pub column: ColumnId,
    /// True if `*` leaves it out.
    pub hidden: bool,
    /// The table that it belongs to, for messages; `None` for the merged columns of USING.
    pub relation: Option<Arc<str>>,
}

impl<'s> Scope<'s> {
    /// Returns a copy of the scope, to be changed for one expression.
    pub fn copied(&self) -> Scope<'s> {
        Scope {
            outer: self.outer,
            implicit: self.implicit,
            relations: self.relations.clone(),
            visible: self.visible.clone(),
            filled: self.filled.clone(),
            aliases: self.aliases.clone(),
            selected: self.selected,
            lambda_parameters: self.lambda_parameters.clone(),
            macro_clauses: self.macro_clauses,
        }
    }
}

impl ScopeRelation {
    /// Returns the column that the table's name stands for, if not for the row: a hidden one of this name.
    pub fn value(&self) -> Option<ColumnId> {
        let name = self.name.last()?;
        self.columns.iter().find(|column| column.hidden && column.name == *name).map(|column| column.column)
    }

    /// Whether a qualifier, outermost part first, refers to this table: `t` refers to `s.t`, `s.t` doesn't refer to
    /// `r.t`.
    pub fn is_meant_by(&self, qualifier: &[&str]) -> bool {
        qualifier.len() <= self.name.len()
            && self.name.iter().rev().zip(qualifier.iter().rev()).all(|(own, part)| own.eq_ignore_ascii_case(part))
    }
}

/// A way to read the leading names of a path in one scope.
pub(crate) struct Reading<'s> {
    /// What the names refer to; several columns if they are ambiguous.
    pub meaning: Meaning<'s>,
    /// Number of names that this reading consumes; the rest are fields.
    pub used: usize,
}

/// What a name stands for.
pub(crate) enum Meaning<'s> {
    /// Columns, each once.
    Columns(Vec<ColumnId>),
    /// A value of the SELECT list, or an argument of a macro.
    Alias(&'s Expr),
}

impl<'s> Scope<'s> {
    /// Returns this scope and those around it, in the order in which they are searched.
    pub fn in_order(&'s self) -> impl Iterator<Item = &'s Scope<'s>> {
        let all = |implicit: bool| {
            std::iter::successors(Some(self), |scope| scope.outer).filter(move |scope| scope.implicit == implicit)
        };
        all(false).chain(all(true))
    }

    /// Returns the innermost scope that belongs to a query rather than to a lambda.
    pub fn of_query(&'s self) -> &'s Scope<'s> {
        let mut scope = self;
        while let (false, Some(outer)) = (scope.lambda_parameters.is_empty(), scope.outer) {
            scope = outer;
        }
        scope
    }

    /// Returns the scopes around this one.
    pub fn around(&self) -> impl Iterator<Item = &Scope<'s>> {
        std::iter::successors(self.outer, |scope| scope.outer)
    }

    /// Returns the ways to read a path in this scope alone, the best first: a parameter of a lambda; a column of a
    /// table, the longest qualifier before shorter ones; a visible column without qualifier; an alias.
    pub fn readings(&self, path: &[&str]) -> Vec<Reading<'_>> {
        let mut readings = Vec::new();
        let mut columns = |ids: Vec<ColumnId>, used| {
            if !ids.is_empty() {
                readings.push(Reading { meaning: Meaning::Columns(ids), used });
            }
        };
        let own = |(name, _): &&(Arc<str>, ColumnId)| name.eq_ignore_ascii_case(path[0]);
        columns(self.lambda_parameters.iter().rev().find(own).map(|&(_, column)| column).into_iter().collect(), 1);
        for qualifier in (1..path.len()).rev() {
            let tables = self.relations.iter().filter(|table| table.is_meant_by(&path[..qualifier]));
            columns(ids(visible_first(tables.flat_map(|table| &table.columns), path[qualifier])), qualifier + 1);
        }
        columns(ids(named(&self.visible, path[0]).filter(|column| !column.hidden)), 1);
        let alias = self.aliases.iter().rev().find(|(name, _)| name.eq_ignore_ascii_case(path[0]));
        readings.extend(alias.map(|(_, value)| Reading { meaning: Meaning::Alias(value), used: 1 }));
        readings
    }

    /// Returns true if FROM has a visible column with a name.
    pub fn has_column(&self, name: &Ident) -> bool {
        self.visible.iter().any(|column| !column.hidden && name.is(&column.name))
    }

    /// Returns the hidden columns with a name, which is theirs only if nothing in any scope has it.
    pub fn hidden(&self, name: &str) -> Vec<ColumnId> {
        ids(named(&self.visible, name).filter(|column| column.hidden))
    }

    /// Returns the tables of FROM that the whole path refers to.
    pub fn tables(&self, path: &[&str]) -> impl Iterator<Item = &ScopeRelation> {
        self.relations.iter().filter(move |table| table.is_meant_by(path))
    }

    /// Returns the table that has a column, as shown in messages.
    pub fn table_of(&self, column: ColumnId) -> Option<String> {
        let has = |table: &&ScopeRelation| table.columns.iter().any(|known| known.column == column);
        self.relations.iter().find(has).map(|table| table.name.join("."))
    }

    /// Returns the columns of this scope's tables.
    pub fn own_columns(&self) -> ColumnSet {
        let own = self.relations.iter().flat_map(|table| &table.columns).chain(&self.visible);
        own.map(|known| known.column).collect()
    }
}

/// Returns the columns with this name.
fn named<'c>(
    columns: impl IntoIterator<Item = &'c VisibleColumn>,
    name: &str,
) -> impl Iterator<Item = &'c VisibleColumn> {
    columns.into_iter().filter(move |column| column.name.eq_ignore_ascii_case(name))
}

/// Returns the columns with this name: hidden ones only if there are no others.
pub(crate) fn visible_first<'c>(
    columns: impl IntoIterator<Item = &'c VisibleColumn>,
    name: &str,
) -> Vec<&'c VisibleColumn> {
    let mut found: Vec<&VisibleColumn> = named(columns, name).collect();
    if found.iter().any(|column| !column.hidden) {
        found.retain(|column| !column.hidden);
    }
    found
}

/// Returns each column once.
fn ids<'c>(columns: impl IntoIterator<Item = &'c VisibleColumn>) -> Vec<ColumnId> {
    let mut ids = Vec::new();
    for column in columns {
        if !ids.contains(&column.column) {
            ids.push(column.column);
        }
    }
    ids
}

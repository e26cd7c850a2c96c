//! The target of a statement: its rows in FROM, its columns by name, its defaults.

use std::sync::Arc;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{ColumnId, Expr};
use godwit_syntax::ast::{self, ExprKind, Ident};

use super::{Generation, WriteTarget};
use crate::Binder;
use crate::binder::{Clause, Collected, ExprContext};
use crate::expr::{CastContext, nearest};
use crate::query::Source;
use crate::scope::Scope;

impl WriteTarget {
    /// Returns the name by which a statement refers to the table.
    pub(super) fn scope_name(&self, alias: Option<&Ident>) -> Vec<Arc<str>> {
        match alias {
            Some(alias) => vec![alias.text.clone()],
            None => self.name.iter().map(|part| part.as_str().into()).collect(),
        }
    }

    /// Returns the position of a column, by its name.
    pub(super) fn position(&self, name: &Ident) -> Result<usize> {
        self.columns.iter().position(|column| name.is(&column.name)).ok_or_else(|| {
            let computed = self.relation.computed().iter().find(|column| name.is(&column.name));
            if let Some(computed) = computed {
                return self.is_generated(&computed.name, name.span);
            }
            let error = Error::user(format!("{} has no column {}", self.label, name.text));
            let error = error.with_code(SqlState::UNDEFINED_COLUMN).at_span(name.span);
            match nearest(&name.text, self.columns.iter().map(|column| column.name.as_str())) {
                Some(near) => error.with_hint(format!("did you mean {near}?")),
                None => error,
            }
        })
    }

    /// Returns the position of a column to which statements assign values.
    pub(super) fn given_position(&self, name: &Ident) -> Result<usize> {
        let at = self.position(name)?;
        match self.columns[at].generated {
            None => Ok(at),
            Some(_) => Err(self.is_generated(&self.columns[at].name, name.span)),
        }
    }

    /// Returns the positions of the columns to which statements assign values.
    pub(super) fn given(&self) -> Vec<usize> {
        (0..self.columns.len()).filter(|&at| self.columns[at].generated.is_none()).collect()
    }

    fn is_generated(&self, column: &str, span: Span) -> Error {
        let error = Error::user(format!("column {column} of {} is generated", self.label));
        let error = error.with_code(SqlState::GENERATED_ALWAYS).at_span(span);
        error.with_hint("leave it out, or write DEFAULT: its values follow from the other columns")
    }
}

impl Binder {
    /// Returns the rows of the target with their ids, and the id column.
    pub(super) fn target_rows(&mut self, target: &WriteTarget, alias: Option<&Ident>) -> Result<(Source, ColumnId)> {
        let source = self.scan(&target.relation, target.scope_name(alias))?;
        // A virtual column may come in between: the id is searched from the end.
        let ids = source.visible.iter().rev().find(|column| column.hidden).expect("the last column is the row's id");
        let row_id = ids.column;
        Ok((source, row_id))
    }

    /// Returns the default of a column, as its type.
    pub(super) fn default_of(&mut self, target: &WriteTarget, column: usize) -> Result<Expr> {
        let column = &target.columns[column];
        // Stored generated columns are filled in later.
        let is_stored = matches!(column.generated, Some(Generation::Stored(_)));
        match &column.default {
            Some(default) if !is_stored => {
                let what = format!("the default of {}", column.name);
                let value = self.of_catalog(&what, default, &Scope::default())?;
                self.coerce(value, &column.ty, CastContext::Explicit)
            }
            _ => Ok(Expr::null(column.ty.clone())),
        }
    }

    /// Binds an expression from the catalog. Positions in its text mean nothing to the reader of the statement.
    pub(super) fn of_catalog(&mut self, what: &str, expr: &ast::Expr, scope: &Scope<'_>) -> Result<Expr> {
        match self.stored_value(expr, scope) {
            Ok(bound) => Ok(bound.transform(&mut |part| part.at(Span::NONE))),
            Err(error) => {
                let told = Error::new(error.kind(), error.message()).with_code(error.code()).context(what.to_owned());
                Err(match error.hint() {
                    Some(hint) => told.with_hint(hint),
                    None => told,
                })
            }
        }
    }

    /// Binds a value assigned to a column, or its DEFAULT, as the column's type.
    pub(super) fn value_for(
        &mut self,
        target: &WriteTarget,
        column: usize,
        value: &ast::Expr,
        scope: &Scope<'_>,
        clause: Clause,
    ) -> Result<Expr> {
        if value.kind == ExprKind::Default {
            return self.default_of(target, column);
        }
        let mut collected = Collected::default();
        let mut context = ExprContext { scope, clause, collected: &mut collected, windows: &[] };
        let bound = self.expr(value, &mut context)?;
        self.assign(target, column, bound)
    }

    /// Casts a value to the type of the column that it is assigned to.
    pub(super) fn assign(&mut self, target: &WriteTarget, column: usize, value: Expr) -> Result<Expr> {
        let column = &target.columns[column];
        let span = value.span;
        self.coerce(value, &column.ty, CastContext::Assignment).map_err(|error| match error.code() {
            SqlState::DATATYPE_MISMATCH => error.context(format!("column {}", column.name)).at_span(span),
            _ => error,
        })
    }

    /// Binds a condition of the statement.
    pub(super) fn condition_of(&mut self, expr: &ast::Expr, scope: &Scope<'_>, clause: Clause) -> Result<Expr> {
        let mut collected = Collected::default();
        let mut context = ExprContext { scope, clause, collected: &mut collected, windows: &[] };
        self.condition(expr, &mut context)
    }
}

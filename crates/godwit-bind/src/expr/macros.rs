//! Macros: calls that stand for an expression, or for a query in FROM.
//!
//! The arguments are bound in the context of the call, the body in that of the macro's definition: it sees its
//! parameters, but nothing of the query around the call. In the body, a parameter's name is an alias of the argument.
//! Volatile arguments are computed once, in a [`Let`](godwit_plan::ExprKind::Let) around the body.

use std::sync::Arc;

use godwit_common::{Error, ErrorKind, Result, Span, SqlState};
use godwit_plan::{ColumnId, Expr, ExprKind};
use godwit_syntax::ast::{self, MacroBody, MacroOverload};

use super::sharing::Shared;
use super::{CastContext, MacroClauses};
use crate::binder::{Clause, Collected, ExprContext};
use crate::scope::Scope;
use crate::{Binder, Macro};

/// Values under the names of parameters.
type Arguments = Vec<(Arc<str>, Expr)>;

impl Binder {
    /// Returns the overload that a macro call in FROM selects, and its arguments.
    pub(crate) fn macro_arguments<'m>(
        &mut self,
        found: &'m Macro,
        call: &ast::Call,
        scope: &Scope<'_>,
    ) -> Result<(&'m MacroBody, Arguments)> {
        let mut collected = Collected::default();
        let mut cx = ExprContext { scope, clause: Clause::From, collected: &mut collected, windows: &[] };
        self.macro_form(found, call, &mut cx)
    }

    /// Binds a call of a scalar macro.
    pub(super) fn macro_call(
        &mut self,
        found: &Arc<Macro>,
        call: &ast::Call,
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let clauses = self.macro_clauses(call, &found.name, cx)?;
        let (body, arguments) = self.macro_form(found, call, cx)?;
        let MacroBody::Expr(body) = body else {
            let error = Error::user(format!("{} is a macro of rows, not of a value", found.name));
            let error = error.with_code(SqlState::UNDEFINED_FUNCTION).at_span(call.name.span);
            return Err(error.with_hint(format!("SELECT ... FROM {}(...)", found.name)));
        };
        if self.open_definitions.contains(&found.name) {
            let error = Error::user(format!("macro {} uses itself", found.name));
            return Err(error.with_code(SqlState::INVALID_DEFINITION).at_span(call.name.span));
        }
        let bound = self.expanded(found, body, arguments, clauses.as_ref(), span, cx)?;
        if let Some(clauses) = &clauses {
            clauses.check_used(call, &found.name, cx)?;
        }
        Ok(bound)
    }

    /// Binds the body of a scalar macro, applied to values.
    pub(super) fn expanded(
        &mut self,
        found: &Macro,
        body: &ast::Expr,
        arguments: Arguments,
        clauses: Option<&MacroClauses>,
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let (aliases, shared) = self.with_volatile_shared(arguments);
        let before = (cx.collected.aggregates.len(), cx.collected.windows.len());
        let scope = Scope { aliases, macro_clauses: clauses, ..Scope::default() };
        let bound = self.nested_text(span, |binder| {
            binder.inside_macro(found, |binder| {
                let (clause, collected) = (cx.clause, &mut *cx.collected);
                binder.expr(body, &mut ExprContext { scope: &scope, clause, collected, windows: &[] })
            })
        });
        // Positions in the macro's text mean nothing to the reader of the statement.
        let bound = bound.map_err(|error| in_macro(&error, &found.name).at_span(span))?;
        let bound = bound.transform(&mut |part| part.at(span));
        for (_, call) in &mut cx.collected.aggregates[before.0..] {
            *call = call.clone().map_exprs(&mut |expr| expr.transform(&mut |part| part.at(span)));
            call.span = span;
        }
        for (_, call) in &mut cx.collected.windows[before.1..] {
            *call = call.clone().map_exprs(&mut |expr| expr.transform(&mut |part| part.at(span)));
            call.span = span;
        }
        self.check_shared(&bound, &shared, cx, &found.name).map_err(|error| error.at_span(span))?;
        let used = bound.columns();
        let shared = shared.into_iter().filter(|(column, _)| used.contains(*column)).collect();
        Ok(self.with_shared(bound, shared))
    }

    /// Runs `bind` in the environment of the macro's definition.
    pub(crate) fn inside_macro<T>(&mut self, found: &Macro, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.open_definitions.push(found.name.clone());
        let around = std::mem::replace(&mut self.environment, found.environment.clone());
        let tables = std::mem::take(&mut self.common_tables);
        let bound = bind(self);
        self.common_tables = tables;
        self.environment = around;
        self.open_definitions.pop();
        bound
    }

    /// Returns the first overload that takes this many arguments with these names, and the arguments.
    fn macro_form<'m>(
        &mut self,
        found: &'m Macro,
        call: &ast::Call,
        cx: &mut ExprContext<'_>,
    ) -> Result<(&'m MacroBody, Arguments)> {
        let Some(form) = found.form_for(&call.args) else {
            let forms: Vec<String> = found.overloads.iter().map(|form| shown(&found.name, form)).collect();
            let message = format!("no form of the macro {} takes these arguments", found.name);
            let error = Error::user(message).with_code(SqlState::UNDEFINED_FUNCTION).at_span(call.name.span);
            let is = if forms.len() == 1 { "is" } else { "are" };
            return Err(error.with_hint(format!("there {is} {}", forms.join(", "))));
        };
        let mut arguments = Arguments::with_capacity(form.parameters.len());
        let mut placed = call.args.iter().filter(|argument| argument.name.is_none());
        for parameter in &form.parameters {
            let is_named =
                |argument: &&ast::Argument| argument.name.as_ref().is_some_and(|name| name.is(&parameter.name.text));
            let given = call.args.iter().find(is_named).or_else(|| placed.next());
            let value = match (given, &parameter.default) {
                (Some(argument), _) => self.expr(&argument.value, cx)?,
                (None, Some(default)) => self.inside_macro(found, |binder| {
                    let (scope, mut collected) = (Scope::default(), Collected::default());
                    let (clause, collected) = (Clause::Alone, &mut collected);
                    binder.expr(default, &mut ExprContext { scope: &scope, clause, collected, windows: &[] })
                })?,
                (None, None) => unreachable!("the form takes the arguments"),
            };
            let value = match &parameter.data_type {
                Some(ty) => {
                    let ty = self.inside_macro(found, |binder| binder.data_type(ty))?;
                    self.coerce(value, &ty, CastContext::Implicit)?
                }
                None => value,
            };
            arguments.push((parameter.name.text.clone(), value));
        }
        Ok((&form.body, arguments))
    }

    /// Gives columns to volatile arguments: each use of a name must have the same value.
    fn with_volatile_shared(&mut self, arguments: Arguments) -> (Arguments, Shared) {
        let mut shared = Shared::new();
        let aliases = arguments.into_iter().map(|(name, value)| {
            if !value.is_volatile() {
                return (name, value);
            }
            let (ty, nullable) = (value.ty.clone(), value.nullable);
            let column = self.plan.add_column(&*name, ty.clone(), nullable);
            shared.push((column, value));
            (name, Expr::new(ExprKind::Column(column), ty, nullable))
        });
        (aliases.collect(), shared)
    }

    /// Rejects uses of shared values in the nodes of aggregates and subqueries: they are known in the expression only.
    fn check_shared(&self, bound: &Expr, shared: &Shared, cx: &ExprContext<'_>, name: &str) -> Result<()> {
        let is_shared = |column: ColumnId| shared.iter().any(|(known, _)| *known == column);
        let aggregates = cx.collected.aggregates.iter().flat_map(|(_, call)| call.exprs());
        let windows = cx.collected.windows.iter().flat_map(|(_, call)| call.exprs());
        let lists = cx.collected.unnested.iter().map(|(_, list)| list);
        let set_aside: Vec<&Expr> =
            if shared.is_empty() { Vec::new() } else { aggregates.chain(windows).chain(lists).collect() };
        let mut is_elsewhere = self.used_columns(&set_aside).iter().any(is_shared);
        bound.for_each(&mut |part| {
            if let ExprKind::Subquery(subquery) = &part.kind
                && !shared.is_empty()
            {
                is_elsewhere |= self.plan.free_columns(subquery.plan).iter().any(is_shared);
            }
        });
        if is_elsewhere {
            let message = format!("a volatile argument of {name}, which uses it in an aggregate or a subquery");
            return Err(Error::unsupported(message).with_hint("compute it in a subquery in FROM"));
        }
        Ok(())
    }
}

impl Macro {
    /// Returns the first overload that can be called with these arguments.
    pub(crate) fn form_for(&self, args: &[ast::Argument]) -> Option<&MacroOverload> {
        self.overloads.iter().find(|form| takes(form, args))
    }
}

/// Whether the overload can be called with these arguments.
fn takes(form: &MacroOverload, args: &[ast::Argument]) -> bool {
    let parameters = &form.parameters;
    let is_given = |parameter: &ast::MacroParameter| {
        args.iter().filter_map(|argument| argument.name.as_ref()).any(|name| name.is(&parameter.name.text))
    };
    let named = args.iter().filter_map(|argument| argument.name.as_ref());
    let are_known = named.clone().all(|name| parameters.iter().any(|parameter| name.is(&parameter.name.text)));
    let placed = args.len() - named.count();
    let open: Vec<_> = parameters.iter().filter(|parameter| !is_given(parameter)).collect();
    are_known && placed <= open.len() && open[placed..].iter().all(|parameter| parameter.default.is_some())
}

/// Shows an overload as it is called.
fn shown(name: &str, form: &MacroOverload) -> String {
    let parameters: Vec<&str> = form.parameters.iter().map(|parameter| &*parameter.name.text).collect();
    format!("{name}({})", parameters.join(", "))
}

/// Wraps an error inside a macro, to be reported at the call.
pub(crate) fn in_macro(error: &Error, name: &str) -> Error {
    let told = Error::new(error.kind(), error.message()).with_code(error.code());
    let told = match error.kind() {
        ErrorKind::Cancelled => told,
        _ if error.message().starts_with("in macro ") => told,
        _ => told.context(format!("in macro {name}")),
    };
    match error.hint() {
        Some(hint) => told.with_hint(hint),
        None => told,
    }
}

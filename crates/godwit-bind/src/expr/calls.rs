//! Calls: determines what kind of function a name stands for, and chooses the scalar function.
//!
//! A macro hides everything else with its name that takes the same arguments; then come the special forms, session
//! values, and the functions of the registry. `a.f(x)` is `f(a, x)` if `a` is a column.

use std::borrow::Cow;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{ArgumentType, Expr, ExprKind, FunctionKind, NoFunction, ScalarMatch};
use godwit_syntax::ast;
use godwit_types::{SqlType, Value};

use super::CastContext;
use super::near::with_nearest;
use super::open_types::closed;
use super::special_forms::special_names;
use crate::Binder;
use crate::binder::{Clause, ExprContext};
use crate::write::MERGE_ACTION;

/// Schemas in which built-in functions may be called.
const BUILT_IN_SCHEMAS: [&str; 3] = ["main", "pg_catalog", "system"];

impl Binder {
    pub(crate) fn call(&mut self, call: &ast::Call, span: Span, cx: &mut ExprContext<'_>) -> Result<Expr> {
        if let Some(unpacked) = self.unpacked_call(call, cx)? {
            return self.call(&unpacked, span, cx);
        }
        let parts: Vec<&str> = call.name.parts.iter().map(|part| &*part.text).collect();
        if let Some(found) = self.environment.find_macro(&parts) {
            // It may only add forms to a function of its name.
            let is_function =
                matches!(parts[..], [name] if self.environment.functions().kind(&name.to_lowercase()).is_some());
            if !is_function || found.form_for(&call.args).is_some() {
                return self.macro_call(&found, call, span, cx);
            }
        }
        let (last, qualifier) = call.name.parts.split_last().expect("names have parts");
        if !qualifier.iter().all(|part| BUILT_IN_SCHEMAS.iter().any(|schema| part.is(schema))) {
            return self.method_call(call, qualifier, last, span, cx);
        }
        let name = last.text.to_lowercase();
        if let Some(bound) = self.special_form(&name, call, span, cx)? {
            return Ok(bound);
        }
        let has_args = call.star || !call.args.is_empty() || call.over.is_some();
        if name == MERGE_ACTION && cx.clause == Clause::Returning && !has_args {
            return self.path(std::slice::from_ref(last), cx.scope);
        }
        if let Some((value, ty)) = self.environment.session_value(&name).filter(|_| !has_args) {
            return Ok(Expr::literal(value, ty));
        }
        match (self.environment.functions().kind(&name), &call.over) {
            (Some(FunctionKind::Aggregate), None) => self.aggregate(&name, call, span, cx),
            (Some(FunctionKind::Aggregate | FunctionKind::Window), Some(over)) => {
                self.window(&name, call, over, span, cx)
            }
            (Some(FunctionKind::Window), None) => {
                let error = Error::user(format!("{name} is a window function, so it needs OVER"));
                let error = error.with_code(SqlState::WINDOWING_ERROR).at_span(call.name.span);
                Err(error.with_hint(format!("{name}(...) OVER (ORDER BY ...)")))
            }
            (Some(FunctionKind::Scalar), _) => {
                refuse_clauses(call, &name)?;
                if call.args.iter().any(|argument| matches!(argument.value.kind, ast::ExprKind::Lambda { .. })) {
                    return self.call_with_lambdas(&name, &call.args, span, cx);
                }
                let args = self.call_arguments(call, &name, cx)?;
                self.call_scalar(&name, args, span).map_err(|error| error.at_span(call.name.span))
            }
            (None, _) => Err(self.no_function(&name, &[], &NoFunction::UnknownName, call.name.span)),
        }
    }

    /// Whether anything that makes values has the name of a call.
    pub(crate) fn is_function(&self, name: &ast::ObjectName) -> bool {
        let parts: Vec<&str> = name.parts.iter().map(|part| &*part.text).collect();
        let own = name.last().text.to_lowercase();
        self.environment.find_macro(&parts).is_some()
            || self.environment.functions().kind(&own).is_some()
            || self.environment.session_value(&own).is_some()
            || special_names().any(|known| known == own)
    }

    /// Expands `*COLUMNS(…)` in a call into one argument per column; `None` if no argument has that form.
    fn unpacked_call(&mut self, call: &ast::Call, cx: &ExprContext<'_>) -> Result<Option<ast::Call>> {
        let is_unpacked = |value: &ast::Expr| matches!(&value.kind, ast::ExprKind::Columns(columns) if columns.unpack);
        if !call.args.iter().any(|argument| is_unpacked(&argument.value)) {
            return Ok(None);
        }
        let mut args = Vec::with_capacity(call.args.len());
        for argument in &call.args {
            match self.unpacked(&argument.value, cx.scope)? {
                Some(values) => args.extend(values.into_iter().map(|value| ast::Argument { name: None, value })),
                None => args.push(argument.clone()),
            }
        }
        Ok(Some(ast::Call { args, ..call.clone() }))
    }

    /// Binds `a.f(x)` as `f(a, x)`.
    fn method_call(
        &mut self,
        call: &ast::Call,
        qualifier: &[ast::Ident],
        name: &ast::Ident,
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        if self.find_path(qualifier, cx.scope)?.is_none() {
            let parts: Vec<&str> = call.name.parts.iter().map(|part| &*part.text).collect();
            let error = Error::user(format!("no function named {}", parts.join(".")));
            return Err(error.with_code(SqlState::UNDEFINED_FUNCTION).at_span(call.name.span));
        }
        let place = qualifier[0].span.to(qualifier[qualifier.len() - 1].span);
        let value = ast::Expr { kind: ast::ExprKind::Column(qualifier.to_vec()), span: place };
        let mut function = call.clone();
        function.name = ast::ObjectName::of(name.clone());
        function.args.insert(0, ast::Argument { name: None, value });
        self.call(&function, span, cx)
    }

    /// Binds the arguments of a function, none of which may have a name.
    pub(super) fn call_arguments(
        &mut self,
        call: &ast::Call,
        name: &str,
        cx: &mut ExprContext<'_>,
    ) -> Result<Vec<Expr>> {
        let mut args = Vec::with_capacity(call.args.len());
        for argument in &call.args {
            if let Some(given) = &argument.name {
                let error = Error::user(format!("{name} takes no argument by name"));
                let error = error.with_code(SqlState::SYNTAX_ERROR).at_span(given.span);
                return Err(error.with_hint(format!("a comparison is written {} = ...", given.text)));
            }
            if matches!(argument.value.kind, ast::ExprKind::Wildcard(_)) {
                let error = Error::user(format!("{name} takes values, only count takes *"));
                return Err(error.with_code(SqlState::SYNTAX_ERROR).at_span(argument.value.span));
            }
            args.push(self.expr(&argument.value, cx)?);
        }
        Ok(args)
    }

    /// Binds a call of the scalar function that takes these arguments.
    pub(crate) fn call_scalar(&mut self, name: &str, mut args: Vec<Expr>, span: Span) -> Result<Expr> {
        if name == "age" && args.len() == 1 {
            // The age is relative to midnight at the start of today (PostgreSQL).
            args.insert(0, self.call_scalar("current_date", Vec::new(), span)?);
        }
        if let Some(zone) = self.zone_of_call(name, &args) {
            return self.call_in_zone(&zone, name, args, span);
        }
        let args = self.searched(name, args)?;
        let environment = self.environment.clone();
        let choose = |types: &[ArgumentType<'_>]| environment.functions().scalar(name, types);
        let found = self.with_argument_types(&args, |types| match choose(types) {
            // What takes values of any type takes empty lists and maps as those of integers.
            Ok(found) if found.argument_types.iter().any(is_nested_in_unknown) => {
                let closed: Vec<SqlType> = types.iter().map(|argument| closed_in(argument.ty)).collect();
                let types = types.iter().zip(&closed).map(|(argument, ty)| ArgumentType { ty, ..*argument });
                choose(&types.collect::<Vec<_>>())
            }
            found => found,
        });
        let found = found.map_err(|error| self.no_function(name, &args, &error, span))?;
        self.applied(found, args, span)
    }

    /// Calls `choose` with the argument types that overload resolution needs.
    pub(super) fn with_argument_types<T>(&self, args: &[Expr], choose: impl FnOnce(&[ArgumentType<'_>]) -> T) -> T {
        let types: Vec<Cow<'_, SqlType>> = args.iter().map(|arg| self.type_so_far(arg)).collect();
        let arguments = args.iter().zip(&types).map(|(arg, ty)| ArgumentType {
            ty,
            value: arg.as_literal(),
            nullable: arg.nullable,
            lambda_parameters: match &arg.kind {
                ExprKind::Lambda(parameters, _) => Some(parameters.len()),
                _ => None,
            },
        });
        choose(&arguments.collect::<Vec<_>>())
    }

    /// Builds the call of a chosen function.
    pub(super) fn applied(&mut self, found: ScalarMatch, args: Vec<Expr>, span: Span) -> Result<Expr> {
        let args = self.cast_arguments(args, &found.argument_types)?;
        Ok(Expr::new(ExprKind::Call(found.function, args), closed(&found.ty), found.nullable).at(span))
    }

    /// Casts arguments to the types that a function takes.
    pub(super) fn cast_arguments(&mut self, args: Vec<Expr>, types: &[SqlType]) -> Result<Vec<Expr>> {
        assert_eq!(args.len(), types.len(), "a function that is found takes all arguments");
        let mut cast = Vec::with_capacity(args.len());
        for (arg, ty) in args.into_iter().zip(types) {
            cast.push(match arg.kind {
                ExprKind::Lambda(parameters, body) => {
                    let body = self.coerce(*body, ty, CastContext::Explicit)?;
                    let (ty, nullable, span) = (body.ty.clone(), body.nullable, body.span);
                    Expr::new(ExprKind::Lambda(parameters, Box::new(body)), ty, nullable).at(span)
                }
                _ if *ty == SqlType::Unknown => self.settle(arg),
                _ => self.coerce(arg, &closed(ty), CastContext::Explicit)?,
            });
        }
        Ok(cast)
    }

    /// Returns the error for a call that no function matches.
    pub(super) fn no_function(&self, name: &str, args: &[Expr], error: &NoFunction, span: Span) -> Error {
        let undefined = |message: String| Error::user(message).with_code(SqlState::UNDEFINED_FUNCTION);
        match error {
            NoFunction::UnknownName => {
                let error = undefined(format!("no function named {name}")).at_span(span);
                if self.environment.table_function_names().iter().any(|known| known == name) {
                    return error.with_hint(format!("{name} is a function of rows: SELECT ... FROM {name}(...)"));
                }
                let names = self.environment.functions().names();
                let known = names.iter().map(String::as_str).chain(special_names());
                with_nearest(error, name, known)
            }
            NoFunction::NoMatch { signatures } => {
                let shown: Vec<String> = args.iter().map(|arg| self.shown_type(arg)).collect();
                let error = undefined(format!("no function {name} takes ({})", shown.join(", "))).at_span(span);
                match &signatures[..] {
                    [] => error,
                    [only] => error.with_hint(format!("there is {only}")),
                    several => error.with_hint(format!("there are {}", several.join(", "))),
                }
            }
            NoFunction::BadArgument { argument, message, code } => {
                let place = argument.and_then(|at| args.get(at)).map_or(span, |arg| arg.span);
                Error::user(message).with_code(*code).at_span(place).at_span(span)
            }
        }
    }

    /// Returns the type of an argument, as shown to users.
    fn shown_type(&self, arg: &Expr) -> String {
        match (&*self.type_so_far(arg), arg.as_literal()) {
            _ if matches!(arg.kind, ExprKind::Lambda(..)) => "a lambda".to_owned(),
            (SqlType::Unknown, Some(Value::Null)) => "NULL".to_owned(),
            (SqlType::Unknown, Some(_)) => "text".to_owned(),
            (SqlType::Unknown, None) if arg.ty == SqlType::Unknown => "a parameter".to_owned(),
            _ => arg.ty.to_string(),
        }
    }
}

/// True for lists, maps and structs with parts of unknown type.
fn is_nested_in_unknown(ty: &SqlType) -> bool {
    *ty != SqlType::Unknown && closed(ty) != *ty
}

/// Replaces unknown parts, but not the whole type.
fn closed_in(ty: &SqlType) -> SqlType {
    if *ty == SqlType::Unknown { SqlType::Unknown } else { closed(ty) }
}

/// Rejects clauses that only calls of aggregates and window functions can have.
pub(super) fn refuse_clauses(call: &ast::Call, name: &str) -> Result<()> {
    match clause_of(call) {
        Some(clause) => Err(no_clause(name, clause).at_span(call.name.span)),
        None => Ok(()),
    }
}

/// Returns a clause that only calls of aggregates and window functions can have; `None` if there is none.
pub(super) fn clause_of(call: &ast::Call) -> Option<&'static str> {
    Some(match call {
        ast::Call { star: true, .. } => "*",
        ast::Call { distinct: true, .. } => "DISTINCT",
        ast::Call { filter: Some(_), .. } => "FILTER",
        ast::Call { over: Some(_), .. } => "OVER",
        ast::Call { nulls: Some(_), .. } => "IGNORE NULLS",
        _ if !call.order_by.is_empty() => "ORDER BY",
        _ if !call.within_group.is_empty() => "WITHIN GROUP",
        _ => return None,
    })
}

pub(super) fn no_clause(name: &str, clause: &str) -> Error {
    let error = Error::user(format!("{name} is neither an aggregate nor a window function, so it takes no {clause}"));
    error.with_code(SqlState::SYNTAX_ERROR)
}

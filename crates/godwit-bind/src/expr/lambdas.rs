//! Functions as arguments: `list_transform(l, x -> x + 1)`, `[x + 1 FOR x IN l IF x > 1]`.
//!
//! The other arguments are bound first; from their types, the registry derives those of a lambda's parameters, which
//! are columns of a scope around the body. A body that gives a reduction wider values than its first one is bound once
//! more, with a parameter that takes these.

use std::sync::Arc;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{ColumnId, Expr, ExprKind};
use godwit_syntax::ast::{self, Ident, ListComprehension};
use godwit_types::SqlType;

use crate::Binder;
use crate::binder::ExprContext;
use crate::scope::Scope;

/// A lambda before it is bound.
type Lambda<'e> = (&'e [Ident], &'e ast::Expr);

impl Binder {
    /// Binds a call with lambdas among its arguments.
    pub(super) fn call_with_lambdas(
        &mut self,
        name: &str,
        args: &[ast::Argument],
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let mut bound = Vec::with_capacity(args.len());
        let mut lambdas: Vec<(usize, Lambda<'_>)> = Vec::new();
        for (at, argument) in args.iter().enumerate() {
            if let ast::ExprKind::Lambda { parameters, body, .. } = &argument.value.kind {
                lambdas.push((at, (parameters, body)));
                bound.push(unbound().at(argument.value.span));
            } else {
                bound.push(self.expr(&argument.value, cx)?);
            }
        }
        self.apply_lambdas(name, bound, &lambdas, span, cx)
    }

    /// Binds a call of a function with bound arguments, and lambdas at some positions.
    fn apply_lambdas(
        &mut self,
        name: &str,
        mut args: Vec<Expr>,
        lambdas: &[(usize, Lambda<'_>)],
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let environment = self.environment.clone();
        let types = self.parameter_types(name, &args, lambdas, span)?;
        self.bind_lambdas(name, &mut args, lambdas, &types, cx)?;
        let found = self.with_argument_types(&args, |types| environment.functions().scalar(name, types));
        let found = found.map_err(|error| self.no_function(name, &args, &error, span))?;
        let wider = self.parameter_types(name, &args, lambdas, span)?;
        if wider != types {
            self.bind_lambdas(name, &mut args, lambdas, &wider, cx)?;
            for &(at, _) in lambdas {
                self.count_parts(&args[at], &format!("what lambdas of {name} and other names stand for"))?;
            }
        }
        self.applied(found, args, span)
    }

    /// Returns the types of the parameters of each lambda.
    fn parameter_types(
        &self,
        name: &str,
        args: &[Expr],
        lambdas: &[(usize, Lambda<'_>)],
        span: Span,
    ) -> Result<Vec<Vec<SqlType>>> {
        let types = self.with_argument_types(args, |types| {
            let mut types = types.to_vec();
            for &(at, (parameters, _)) in lambdas {
                types[at].lambda_parameters = Some(parameters.len());
            }
            self.environment.functions().lambda_parameters(name, &types)
        });
        types.map_err(|error| self.no_function(name, args, &error, span))
    }

    /// Binds the lambdas among arguments, with parameters of these types.
    fn bind_lambdas(
        &mut self,
        name: &str,
        args: &mut [Expr],
        lambdas: &[(usize, Lambda<'_>)],
        types: &[Vec<SqlType>],
        cx: &mut ExprContext<'_>,
    ) -> Result<()> {
        for &(at, (parameters, body)) in lambdas {
            let given = types.get(at).map_or(&[][..], Vec::as_slice);
            if parameters.len() > given.len() {
                let (has, takes) = (parameters.len(), given.len());
                let error = Error::user(format!("the lambda has {has} parameters, {name} gives it {takes}"));
                return Err(error.with_code(SqlState::UNDEFINED_FUNCTION).at_span(args[at].span));
            }
            args[at] = self.lambda(parameters, given, body, cx)?.at(args[at].span);
        }
        Ok(())
    }

    fn lambda(
        &mut self,
        parameters: &[Ident],
        types: &[SqlType],
        body: &ast::Expr,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let mut lambda_parameters: Vec<(Arc<str>, ColumnId)> = Vec::with_capacity(parameters.len());
        for (parameter, ty) in parameters.iter().zip(types) {
            if lambda_parameters.iter().any(|(known, _)| parameter.is(known)) {
                let error = Error::user(format!("the lambda has two parameters named {}", parameter.text));
                return Err(error.with_code(SqlState::DUPLICATE_ALIAS).at_span(parameter.span));
            }
            let column = self.plan.add_column(&*parameter.text, ty.clone(), true);
            lambda_parameters.push((parameter.text.clone(), column));
        }
        let columns = lambda_parameters.iter().map(|&(_, column)| column).collect();
        let scope = Scope { outer: Some(cx.scope), lambda_parameters, ..Scope::default() };
        let body = self.settled(body, &mut cx.with_scope(&scope))?;
        let (ty, nullable) = (body.ty.clone(), body.nullable);
        Ok(Expr::new(ExprKind::Lambda(columns, Box::new(body)), ty, nullable))
    }

    /// Binds `[result FOR x IN list IF condition]`: filters the list, then transforms it.
    pub(super) fn list_comprehension(
        &mut self,
        comprehension: &ListComprehension,
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let ListComprehension { result, variables, source, condition } = comprehension;
        let mut list = self.settled(source, cx)?;
        if let Some(condition) = condition {
            if variables.len() > 1 {
                let error = Error::unsupported("a condition in a list comprehension that counts its elements");
                return Err(error.at_span(condition.span));
            }
            let args = vec![list, unbound().at(condition.span)];
            list = self.apply_lambdas("list_filter", args, &[(1, (variables, condition))], span, cx)?;
        }
        let args = vec![list, unbound().at(result.span)];
        self.apply_lambdas("list_transform", args, &[(1, (variables, result))], span, cx)
    }
}

/// Returns a placeholder for a lambda until the types of its parameters are known.
fn unbound() -> Expr {
    let body = Box::new(Expr::null(SqlType::Unknown));
    Expr::new(ExprKind::Lambda(Vec::new(), body), SqlType::Unknown, true)
}

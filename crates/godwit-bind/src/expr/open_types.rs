//! Nested values with parts that have no type: NULL, `[]` and `MAP {}` within lists, structs and maps; and `error(…)`,
//! which has no value.
//!
//! As expressions, these parts are INTEGER, and `error(…)` VARCHAR; where the context requires another type, they take
//! that of the same part.

use std::borrow::Cow;
use std::sync::Arc;

use godwit_common::Result;
use godwit_plan::{Expr, ExprKind};
use godwit_types::{SqlType, StructField, Value, common_type};

use super::CastContext;
use crate::Binder;

/// Returns the type of an expression, with parts of unknown type.
pub(super) fn open_type(expr: &Expr) -> Cow<'_, SqlType> {
    let opened = match &expr.kind {
        ExprKind::Literal(value) if !value.is_null() => open_value(value, &expr.ty),
        ExprKind::Call(function, args) => open_call(&function.name, args, &expr.ty),
        _ => None,
    };
    opened.map_or(Cow::Borrowed(&expr.ty), Cow::Owned)
}

/// Returns true if a value of the type has parts of unknown type.
pub(super) fn is_open(value: &Value, ty: &SqlType) -> bool {
    open_value(value, ty).is_some_and(|opened| opened != *ty)
}

/// Returns the type of a nested value with parts of unknown type; `None` for others.
fn open_value(value: &Value, ty: &SqlType) -> Option<SqlType> {
    Some(match (value, ty) {
        (Value::List(values), SqlType::List(element)) if may_be_open(element) => {
            SqlType::list_of(common(values.iter().map(|value| open_part(value, element)))?)
        }
        (Value::Map(entries), SqlType::Map(types)) => {
            let keys = common(entries.iter().map(|(key, _)| open_part(key, &types.0)))?;
            SqlType::Map(Arc::new((keys, common(entries.iter().map(|(_, value)| open_part(value, &types.1)))?)))
        }
        (Value::Struct(values), SqlType::Struct(fields)) => {
            with_types(fields, |at| open_part(&values[at], &fields[at].ty))
        }
        _ => return None,
    })
}

/// Lists of other values, which may be long, have no open parts.
fn may_be_open(element: &SqlType) -> bool {
    *element == SqlType::Integer || element.is_nested()
}

fn open_part(value: &Value, ty: &SqlType) -> SqlType {
    match value {
        Value::Null if *ty == SqlType::Integer => SqlType::Unknown,
        _ => open_value(value, ty).unwrap_or_else(|| ty.clone()),
    }
}

/// Returns the type of a constructor of nested values, and of `error`; `None` for other functions.
fn open_call(name: &str, args: &[Expr], ty: &SqlType) -> Option<SqlType> {
    Some(match (name, ty, args) {
        ("error", SqlType::Varchar, _) => SqlType::Unknown,
        ("struct_pack", SqlType::Struct(fields), _) => with_types(fields, |at| open_argument(&args[2 * at + 1])),
        ("list_value", SqlType::List(element), [_, ..]) if may_be_open(element) => {
            SqlType::list_of(common(args.iter().map(open_argument))?)
        }
        ("map", SqlType::Map(_), [keys, values]) => {
            let (keys, values) = (open_type(keys), open_type(values));
            SqlType::Map(Arc::new((keys.element()?.clone(), values.element()?.clone())))
        }
        _ => return None,
    })
}

fn open_argument(expr: &Expr) -> SqlType {
    match expr.as_literal() {
        Some(Value::Null) if expr.ty == SqlType::Integer => SqlType::Unknown,
        _ => open_type(expr).into_owned(),
    }
}

fn common(mut types: impl Iterator<Item = SqlType>) -> Option<SqlType> {
    types.try_fold(SqlType::Unknown, |common, ty| common_type(&common, &ty))
}

fn with_types(fields: &[StructField], ty: impl Fn(usize) -> SqlType) -> SqlType {
    SqlType::struct_of(fields.iter().enumerate().map(|(at, field)| (&*field.name, ty(at))))
}

/// Replaces unknown parts of a type by INTEGER.
pub(super) fn closed(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::Unknown => SqlType::Integer,
        SqlType::List(element) => SqlType::list_of(closed(element)),
        SqlType::Array(element, length) => SqlType::Array(Arc::new(closed(element)), *length),
        SqlType::Map(entry) => SqlType::Map(Arc::new((closed(&entry.0), closed(&entry.1)))),
        SqlType::Struct(fields) => with_types(fields, |at| closed(&fields[at].ty)),
        other => other.clone(),
    }
}

impl Binder {
    /// Gives the parts of unknown type in a constructor of nested values those of `ty`, so that it can be cast; returns
    /// other expressions as they are.
    pub(super) fn with_parts_of(&mut self, expr: Expr, ty: &SqlType) -> Result<Expr> {
        if *open_type(&expr) == expr.ty {
            return Ok(expr);
        }
        let span = expr.span;
        match (&expr.kind, &expr.ty, ty) {
            (ExprKind::Call(function, args), SqlType::Struct(own), SqlType::Struct(wanted))
                if &*function.name == "struct_pack" =>
            {
                let mut fields = Vec::with_capacity(own.len());
                for (at, field) in own.iter().enumerate() {
                    let same = wanted.iter().find(|wanted| wanted.name.eq_ignore_ascii_case(&field.name));
                    let value = args[2 * at + 1].clone();
                    let is_open = open_argument(&value) != value.ty;
                    fields.push((
                        field.name.clone(),
                        match same.or_else(|| wanted.get(at)).filter(|_| is_open) {
                            Some(wanted) => self.part_as(value, &wanted.ty)?,
                            None => value,
                        },
                    ));
                }
                self.packed(fields, span)
            }
            (ExprKind::Call(function, args), _, SqlType::List(element) | SqlType::Array(element, _))
                if &*function.name == "list_value" =>
            {
                let args = args.iter().map(|arg| self.part_as(arg.clone(), element));
                let args = args.collect::<Result<_>>()?;
                self.call_scalar("list_value", args, span)
            }
            (ExprKind::Call(function, args), _, SqlType::Map(entry)) if &*function.name == "map" => {
                let types = [SqlType::list_of(entry.0.clone()), SqlType::list_of(entry.1.clone())];
                let args = args.iter().zip(&types);
                let args = args.map(|(arg, ty)| self.part_as(arg.clone(), ty));
                let args = args.collect::<Result<_>>()?;
                self.call_scalar("map", args, span)
            }
            (ExprKind::Call(function, _), SqlType::Varchar, _) if &*function.name == "error" => {
                Ok(Expr { ty: ty.clone(), ..expr })
            }
            _ => Ok(expr),
        }
    }

    fn part_as(&mut self, part: Expr, ty: &SqlType) -> Result<Expr> {
        match part.as_literal() {
            Some(Value::Null) => Ok(Expr::null(ty.clone()).at(part.span)),
            _ => self.coerce(part, ty, CastContext::Explicit),
        }
    }
}

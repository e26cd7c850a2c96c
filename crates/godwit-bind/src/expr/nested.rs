//! Structs, lists and maps: their construction, and access to their parts.
//!
//! All of these are function calls with DuckDB's names and arguments: `{'a': x}` is `struct_pack('a', x)`, `(x, y)` is
//! a struct of fields v1 and v2, `l[1]` is `list_extract(l, 1)`, `s.a` is `struct_extract(s, 'a')`.

use std::sync::Arc;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::Expr;
use godwit_syntax::ast;
use godwit_types::{SqlType, Value};

use super::CastContext;
use crate::Binder;
use crate::binder::ExprContext;

impl Binder {
    /// `(a, b)`, `ROW(a, b)`.
    pub(super) fn row(&mut self, items: &[ast::Expr], span: Span, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let values = self.exprs(items, cx)?;
        self.row_of_values(values, span)
    }

    pub(super) fn row_of_values(&mut self, values: Vec<Expr>, span: Span) -> Result<Expr> {
        let fields = values.into_iter().enumerate().map(|(at, value)| (format!("v{}", at + 1).into(), value));
        self.packed(fields.collect(), span)
    }

    /// `{'a': x, b: y}`.
    pub(super) fn struct_of(
        &mut self,
        fields: &[ast::StructField],
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let mut values: Vec<(Arc<str>, Expr)> = Vec::with_capacity(fields.len());
        for field in fields {
            check_new(&values, &field.name)?;
            values.push((field.name.text.clone(), self.expr(&field.value, cx)?));
        }
        self.packed(values, span)
    }

    /// `struct_pack(a := x)`; an argument without a name has that of its column.
    pub(super) fn struct_pack(&mut self, args: &[ast::Argument], span: Span, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let fields = self.named_fields("struct_pack", args, cx)?;
        self.packed(fields, span)
    }

    /// `struct_insert(structure, a := x)` and `struct_update`, which take fields as `struct_pack` does.
    pub(super) fn struct_with(
        &mut self,
        name: &str,
        args: &[ast::Argument],
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let Some((structure, fields)) = args.split_first() else {
            let error = Error::user(format!("{name} needs a struct")).with_code(SqlState::SYNTAX_ERROR);
            return Err(error.with_hint(format!("write {name}(struct, name := value)")).at_span(span));
        };
        let structure = self.expr(&structure.value, cx)?;
        let fields = self.named_fields(name, fields, cx)?;
        let args = std::iter::once(structure).chain(self.names_and_values(fields)).collect();
        self.call_scalar(name, args, span)
    }

    fn named_fields(
        &mut self,
        function: &str,
        args: &[ast::Argument],
        cx: &mut ExprContext<'_>,
    ) -> Result<Vec<(Arc<str>, Expr)>> {
        let mut values: Vec<(Arc<str>, Expr)> = Vec::with_capacity(args.len());
        for argument in args {
            let name = match (&argument.name, &argument.value.kind) {
                (Some(name), _) => name,
                (None, ast::ExprKind::Column(path)) => path.last().expect("paths have names"),
                (None, _) => {
                    let error = Error::user(format!("{function} needs a name for each field"));
                    let error = error.with_code(SqlState::SYNTAX_ERROR).at_span(argument.value.span);
                    return Err(error.with_hint("write name := value"));
                }
            };
            check_new(&values, name)?;
            values.push((name.text.clone(), self.expr(&argument.value, cx)?));
        }
        Ok(values)
    }

    fn names_and_values(&mut self, fields: Vec<(Arc<str>, Expr)>) -> Vec<Expr> {
        let mut args = Vec::with_capacity(fields.len() * 2);
        for (name, value) in fields {
            args.push(Expr::literal(Value::Text(name), SqlType::Varchar).at(value.span));
            args.push(self.settle(value));
        }
        args
    }

    /// Builds a struct of named values.
    pub(super) fn packed(&mut self, fields: Vec<(Arc<str>, Expr)>, span: Span) -> Result<Expr> {
        let args = self.names_and_values(fields);
        self.call_scalar("struct_pack", args, span)
    }

    /// `[a, b]`; a constant if all its items are.
    pub(super) fn list(&mut self, items: &[ast::Expr], span: Span, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let items = self.exprs(items, cx)?;
        self.list_of(items, span)
    }

    fn list_of(&mut self, items: Vec<Expr>, span: Span) -> Result<Expr> {
        let (items, element) = self.unify(items, "a list")?;
        let values: Option<Vec<Value>> = items.iter().map(|item| item.as_literal().cloned()).collect();
        match values {
            Some(values) => Ok(Expr::literal(Value::List(values.into()), SqlType::list_of(element)).at(span)),
            None => self.call_scalar("list_value", items, span),
        }
    }

    /// `MAP {k: v}`: the function map, called with the keys and the values.
    pub(super) fn map(&mut self, entries: &[ast::MapEntry], span: Span, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let (mut keys, mut values) = (Vec::with_capacity(entries.len()), Vec::with_capacity(entries.len()));
        for entry in entries {
            keys.push(self.expr(&entry.key, cx)?);
            values.push(self.expr(&entry.value, cx)?);
        }
        if keys.is_empty() {
            let ty = SqlType::Map(Arc::new((SqlType::Integer, SqlType::Integer)));
            return Ok(Expr::literal(Value::Map([].into()), ty).at(span));
        }
        let keys = self.list_of(keys, span)?;
        let values = self.list_of(values, span)?;
        self.call_scalar("map", vec![keys, values], span)
    }

    /// `x[index]`: an element of a list, a character of a text, a field of a struct, or a map's value for a key.
    pub(super) fn subscript(
        &mut self,
        operand: &ast::Expr,
        index: &ast::Expr,
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let value = self.settled(operand, cx)?;
        let index = self.expr(index, cx)?;
        let function = match &value.ty {
            SqlType::List(_) | SqlType::Array(..) => "list_extract",
            SqlType::Varchar => "array_extract",
            SqlType::Map(_) => "map_extract_value",
            SqlType::Json => "->",
            SqlType::Struct(_) => return self.subscript_of_struct(value, &index, span),
            _ if value.as_literal().is_some_and(Value::is_null) => return Ok(value),
            other => return Err(no_parts(other, value.span)),
        };
        let index = match &value.ty {
            SqlType::Map(entry) => self.coerce(index, &entry.0, CastContext::Implicit)?,
            SqlType::Json => index,
            _ => self.coerce(index, &SqlType::BigInt, CastContext::Assignment)?,
        };
        self.call_scalar(function, vec![value, index], span)
    }

    /// A field by its name or its 1-based position.
    fn subscript_of_struct(&mut self, value: Expr, index: &Expr, span: Span) -> Result<Expr> {
        let fields = value.ty.fields().expect("the caller has looked");
        let name = match index.as_literal() {
            Some(Value::Text(name)) => name.clone(),
            Some(Value::Integer(place)) if index.ty.is_integer() => {
                let at = usize::try_from(*place).ok().and_then(|place| place.checked_sub(1));
                match at.and_then(|at| fields.get(at)) {
                    Some(field) => field.name.clone(),
                    None => {
                        let error = Error::user(format!("the struct has {} fields, none at {place}", fields.len()));
                        return Err(error.with_code(SqlState::UNDEFINED_COLUMN).at_span(index.span));
                    }
                }
            }
            _ => {
                let error = Error::user("a field of a struct is told by a constant: its name or its place");
                return Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE).at_span(index.span));
            }
        };
        let name = ast::Ident { text: name, quoted: true, span: index.span };
        Ok(self.field(value, &name)?.at(span))
    }

    /// `x[low:high:step]`; without bounds, from the first to the last.
    pub(super) fn slice(
        &mut self,
        operand: &ast::Expr,
        [low, high, step]: [Option<&ast::Expr>; 3],
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let value = self.settled(operand, cx)?;
        let function = match &value.ty {
            SqlType::List(_) | SqlType::Array(..) => "list_slice",
            SqlType::Varchar => "array_slice",
            _ if value.as_literal().is_some_and(Value::is_null) => return Ok(value),
            other => return Err(no_parts(other, value.span)),
        };
        let mut args = vec![value];
        for (bound, default) in [(low, 1), (high, -1)] {
            args.push(match bound {
                Some(bound) => self.place(bound, cx)?,
                None => Expr::bigint(default),
            });
        }
        if let Some(step) = step {
            args.push(self.place(step, cx)?);
        }
        self.call_scalar(function, args, span)
    }

    fn place(&mut self, place: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let place = self.expr(place, cx)?;
        self.coerce(place, &SqlType::BigInt, CastContext::Assignment)
    }
}

fn check_new(fields: &[(Arc<str>, Expr)], name: &ast::Ident) -> Result<()> {
    if fields.iter().all(|(known, _)| !name.is(known)) {
        return Ok(());
    }
    let error = Error::user(format!("the struct has two fields named {}", name.text));
    Err(error.with_code(SqlState::DUPLICATE_COLUMN).at_span(name.span))
}

fn no_parts(ty: &SqlType, span: Span) -> Error {
    let error = Error::user(format!("{ty} has no elements: [...] takes parts of lists, texts, structs and maps"));
    error.with_code(SqlState::DATATYPE_MISMATCH).at_span(span)
}

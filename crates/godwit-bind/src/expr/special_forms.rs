//! Forms that look like calls but aren't: COALESCE and its kin, GROUPING, and values known at bind time.

use std::sync::Arc;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{Arithmetic, Comparison, Expr, ExprKind};
use godwit_syntax::ast;
use godwit_types::{SqlType, Value, cast_kind};

use super::CastContext;
use super::calls::refuse_clauses;
use super::sharing::Shared;
use crate::Binder;
use crate::binder::{Collected, ExprContext};
use crate::query::name_of;

/// A form, with what documents it.
pub struct SpecialForm {
    /// Its names, in lower case; the first is the one that is documented.
    pub names: &'static [&'static str],
    /// What it takes, as the documentation shows it.
    pub arguments: &'static str,
    /// Its result, in a sentence without a subject.
    pub description: &'static str,
    /// What may follow SELECT, and the result as text: of several rows, with commas between them.
    pub example: (&'static str, &'static str),
    /// Whether it is computed over groups of rows.
    pub is_aggregate: bool,
}

/// All forms.
pub const SPECIAL_FORMS: [SpecialForm; 18] = [
    form(&["alias"], "value", "The name that a result column of the value has")
        .example("alias(a) FROM (SELECT 1 AS a)", "a"),
    form(
        &["can_cast_implicitly"],
        "value, other",
        "Whether the first value becomes one of the second's type without a cast",
    )
    .example("can_cast_implicitly(1, 2.5::DOUBLE)", "true"),
    form(&["cast_to_type"], "value, other", "The first value cast to the type of the second")
        .example("cast_to_type('7', 1)", "7"),
    form(&["coalesce"], "value, …", "The first value that isn't NULL").example("coalesce(NULL, 2, 3)", "2"),
    form(&["count_if", "countif"], "BOOLEAN", "The number of rows for which the condition is true")
        .aggregate()
        .example("count_if(x > 1) FROM unnest([1, 2, 3]) AS t(x)", "2"),
    form(&["current_setting"], "name", "The value of a setting").example("current_setting('default_order')", "asc"),
    form(&["getvariable"], "name", "The value of a variable that SET VARIABLE made; NULL if there is none")
        .example("getvariable('unknown')", "NULL"),
    form(
        &["grouping", "grouping_id"],
        "key, …",
        "A bit for each key, set if the row's grouping set doesn't contain it",
    )
    .aggregate()
    .example("grouping(x) FROM unnest([1, 2]) AS t(x) GROUP BY ROLLUP (x) ORDER BY 1", "0, 0, 1"),
    form(&["if", "iff"], "BOOLEAN, value, other", "The first value if the condition is true, else the second")
        .example("if(1 < 2, 'yes', 'no')", "yes"),
    form(&["ifnull", "nvl"], "value, other", "The first value, or the second if that is NULL")
        .example("ifnull(NULL, 1)", "1"),
    form(&["mod"], "number, number", "The remainder of a division").example("mod(7, 3)", "1"),
    form(&["nullif"], "value, other", "The first value, or NULL if both are equal").example("nullif(1, 1)", "NULL"),
    form(&["row"], "value, …", "The struct of the values").example("row(1, 'a')", "{'v1': 1, 'v2': a}"),
    form(
        &["struct_insert", "struct_update"],
        "struct, name := value, …",
        "The struct with further fields, or with other values in them",
    )
    .example("struct_insert({'a': 1}, b := 2)", "{'a': 1, 'b': 2}"),
    form(&["struct_pack"], "name := value, …", "The struct of the values under these names")
        .example("struct_pack(a := 1, b := 2)", "{'a': 1, 'b': 2}"),
    form(&["try"], "value", "The value, or NULL if computing it is an error").example("try('x'::INTEGER)", "NULL"),
    form(&["typeof", "pg_typeof"], "value", "The name of the value's type").example("typeof(1.5)", "DECIMAL(2,1)"),
    form(&["unnest"], "list, …", "A row for each element of the lists").example("unnest([1, 2])", "1, 2"),
];

/// Creates a form, which still lacks its example.
const fn form(names: &'static [&'static str], arguments: &'static str, description: &'static str) -> SpecialForm {
    SpecialForm { names, arguments, description, example: ("", ""), is_aggregate: false }
}

impl SpecialForm {
    const fn example(self, call: &'static str, value: &'static str) -> Self {
        Self { example: (call, value), ..self }
    }

    const fn aggregate(self) -> Self {
        Self { is_aggregate: true, ..self }
    }
}

/// Returns the names of all forms.
pub(super) fn special_names<'n>() -> impl Iterator<Item = &'n str> {
    SPECIAL_FORMS.iter().flat_map(|form| form.names.iter().copied())
}

impl Binder {
    /// Binds a call of a special form; `None` if it isn't one.
    pub(super) fn special_form(
        &mut self,
        name: &str,
        call: &ast::Call,
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Option<Expr>> {
        if matches!(name, "date_part" | "datepart")
            && let [parts, moment] = &call.args[..]
            && let ast::ExprKind::List(parts) = &parts.value.kind
        {
            refuse_clauses(call, name)?;
            return self.date_parts(parts, &moment.value, span, cx).map(Some);
        }
        if !special_names().any(|known| known == name) {
            return Ok(None);
        }
        if matches!(name, "count_if" | "countif") {
            return self.count_if(name, call, span, cx).map(Some);
        }
        refuse_clauses(call, name)?;
        if name == "struct_pack" {
            return self.struct_pack(&call.args, span, cx).map(Some);
        }
        if matches!(name, "struct_insert" | "struct_update") {
            return self.struct_with(name, &call.args, span, cx).map(Some);
        }
        if matches!(name, "grouping" | "grouping_id") {
            return self.grouping(name, call, cx).map(Some);
        }
        if name == "unnest" {
            return self.unnest(call, cx).map(Some);
        }
        if name == "alias" {
            let [_] = taking(self.call_arguments(call, name, cx)?, call)?;
            return Ok(Some(Expr::literal(Value::text(name_of(&call.args[0].value)), SqlType::Varchar)));
        }
        if name == "try" {
            return self.attempted(call, span, cx).map(Some);
        }
        let args = self.call_arguments(call, name, cx)?;
        match name {
            "coalesce" => self.coalesce(args, call),
            "ifnull" | "nvl" => taking(args, call).and_then(|args: [Expr; 2]| self.coalesce(args.into(), call)),
            "nullif" => taking(args, call).and_then(|args| self.nullif(args, span)),
            "if" | "iff" => taking(args, call).and_then(|args| self.if_else(args)),
            "mod" => {
                taking(args, call).and_then(|[left, right]| self.arithmetic(Arithmetic::Modulo, left, right, span))
            }
            "row" => self.row_of_values(args, span),
            "cast_to_type" => taking(args, call).and_then(|[value, like]: [Expr; 2]| {
                let ty = self.settle(like).ty;
                self.coerce(value, &ty, CastContext::Explicit)
            }),
            "can_cast_implicitly" => taking(args, call).map(|[value, like]: [Expr; 2]| {
                let (from, to) = (self.settle(value).ty, self.settle(like).ty);
                Expr::boolean(cast_kind(&from, &to).is_some_and(|cast| cast.context == CastContext::Implicit))
            }),
            "typeof" | "pg_typeof" => taking(args, call).map(|args| self.type_name(args)),
            "getvariable" => taking(args, call).and_then(|args| self.variable(args)),
            "current_setting" => taking(args, call).and_then(|args| self.setting(args)),
            other => unreachable!("{other} is in the list of special forms"),
        }
        .map(Some)
    }

    /// NULL where the value is an error. What isn't computed row by row can't be within it: its errors end the statement
    /// before it is known whose row needs it.
    fn attempted(&mut self, call: &ast::Call, span: Span, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let mut inside = Collected::default();
        let mut context =
            ExprContext { scope: cx.scope, clause: cx.clause, collected: &mut inside, windows: cx.windows };
        let [value] = match self.call_arguments(call, "try", &mut context) {
            // A constant that isn't of its type.
            Err(error) if error.code().is_data_exception() => return Ok(Expr::null(SqlType::Unknown).at(span)),
            args => taking(args?, call)?,
        };
        let refused = |what: &str| {
            let error = Error::unsupported(format!("TRY of {what}")).at_span(value.span);
            Err(error.with_hint("write TRY around the part whose errors should become NULL"))
        };
        let Collected { aggregates, windows, unnested, groupings } = &inside;
        match () {
            () if !aggregates.is_empty() => refused("an aggregate"),
            () if !windows.is_empty() => refused("a window function"),
            () if !unnested.is_empty() || !groupings.is_empty() => refused("UNNEST or GROUPING"),
            () if value.any(|part| matches!(part.kind, ExprKind::Subquery(_))) => refused("a subquery"),
            () if value.is_volatile() => refused("a value that differs from call to call"),
            () => {
                let ty = value.ty.clone();
                Ok(Expr::new(ExprKind::Try(Box::new(value)), ty, true))
            }
        }
    }

    fn coalesce(&mut self, args: Vec<Expr>, call: &ast::Call) -> Result<Expr> {
        if args.is_empty() {
            return Err(wrong_count(call, "one argument or more"));
        }
        let (mut args, ty) = self.unify(args, "COALESCE")?;
        if args.len() == 1 {
            return Ok(args.remove(0));
        }
        let nullable = args.iter().all(|arg| arg.nullable);
        Ok(Expr::new(ExprKind::Coalesce(args), ty, nullable))
    }

    /// NULL if both are equal, else the first value, with its type.
    fn nullif(&mut self, [value, other]: [Expr; 2], span: Span) -> Result<Expr> {
        let value = match (&*self.type_so_far(&value), self.type_so_far(&other).into_owned()) {
            (SqlType::Unknown, SqlType::Unknown) => self.settle(value),
            (SqlType::Unknown, ty) => self.coerce(value, &ty, CastContext::Implicit)?,
            _ => value,
        };
        let mut shared = Shared::new();
        let value = self.share(value, &mut shared);
        let (left, right) = self.in_common_collation(value.clone(), other)?;
        let is_equal = self.compare(Comparison::Equal, left, right, span)?;
        let ty = value.ty.clone();
        let branches = vec![(is_equal, Expr::null(ty.clone()))];
        let case = ExprKind::Case { branches, otherwise: Some(Box::new(value)) };
        Ok(self.with_shared(Expr::new(case, ty, true), shared))
    }

    fn if_else(&mut self, [condition, then, otherwise]: [Expr; 3]) -> Result<Expr> {
        let condition = self.as_truth(condition, "the condition of IF")?;
        let (mut values, ty) = self.unify(vec![then, otherwise], "IF")?;
        let nullable = values.iter().any(|value| value.nullable);
        let otherwise = values.pop().map(Box::new);
        let branches = vec![(condition, values.remove(0))];
        Ok(Expr::new(ExprKind::Case { branches, otherwise }, ty, nullable))
    }

    /// `date_part(['year', 'month'], x)`: a struct with a field for each part, named after it.
    fn date_parts(
        &mut self,
        parts: &[ast::Expr],
        moment: &ast::Expr,
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let mut shared = Shared::new();
        let moment = self.settled(moment, cx)?;
        let moment = self.share(moment, &mut shared);
        let mut fields: Vec<(Arc<str>, Expr)> = Vec::with_capacity(parts.len());
        for part in parts {
            let name = self.settled(part, cx)?;
            let Some(Value::Text(text)) = name.as_literal() else {
                let error = Error::user("date_part of several parts takes a list of their names, as constants");
                return Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE).at_span(part.span));
            };
            let text: Arc<str> = text.to_string().into();
            if fields.iter().any(|(known, _)| known.eq_ignore_ascii_case(&text)) {
                return Err(Error::user(format!("the part {text} is there twice")).at_span(part.span));
            }
            let value = self.call_scalar("date_part", vec![name, moment.clone()], part.span)?;
            fields.push((text, value));
        }
        let parts = self.packed(fields, span)?;
        Ok(self.with_shared(parts, shared))
    }

    /// `count_if(x)`: `count(*) FILTER (WHERE x)`.
    fn count_if(&mut self, name: &str, call: &ast::Call, span: Span, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let [ast::Argument { name: None, value }] = &call.args[..] else {
            return Err(wrong_count(call, "one argument"));
        };
        if call.distinct {
            let error = Error::user(format!("{name} counts rows, so it takes no DISTINCT"));
            return Err(error.with_code(SqlState::SYNTAX_ERROR).at_span(call.name.span));
        }
        let mut count = call.clone();
        count.name = ast::ObjectName::of(ast::Ident::new("count", call.name.span));
        count.args = Vec::new();
        count.star = true;
        count.filter = Some(match call.filter.clone() {
            Some(filter) => {
                let span = value.span;
                ast::Expr { kind: ast::ExprKind::And(vec![filter, value.clone()]), span }
            }
            None => value.clone(),
        });
        self.call(&count, span, cx)
    }

    /// GROUPING(keys): a bit for each key, set if it isn't in the row's grouping set.
    fn grouping(&mut self, name: &str, call: &ast::Call, cx: &mut ExprContext<'_>) -> Result<Expr> {
        if !cx.clause.allows_aggregates() {
            let error = Error::user(format!("{} can't stand in {}", name.to_uppercase(), cx.clause.name()));
            return Err(error.with_code(SqlState::GROUPING_ERROR).at_span(call.name.span));
        }
        // Each key is a bit of a BIGINT.
        if call.args.is_empty() || call.args.len() > 62 {
            return Err(wrong_count(call, "1 to 62 keys of GROUP BY"));
        }
        let keys = self.call_arguments(call, name, cx)?;
        let known = cx.collected.groupings.iter().find(|(_, known)| *known == keys).map(|&(column, _)| column);
        let column = known.unwrap_or_else(|| {
            let column = self.plan.add_column("grouping", SqlType::BigInt, false);
            cx.collected.groupings.push((column, keys));
            column
        });
        Ok(Expr::new(ExprKind::Column(column), SqlType::BigInt, false))
    }

    /// Returns the name of a value's type.
    fn type_name(&mut self, [value]: [Expr; 1]) -> Expr {
        let is_null = value.ty == SqlType::Unknown && value.as_literal().is_some_and(Value::is_null);
        let name = if is_null { "NULL".to_owned() } else { self.settle(value).ty.to_string() };
        Expr::literal(Value::text(name), SqlType::Varchar)
    }

    /// Returns a session variable; NULL if it isn't set.
    fn variable(&mut self, [name]: [Expr; 1]) -> Result<Expr> {
        let Some(Value::Text(text)) = name.as_literal() else {
            let error = Error::user("getvariable takes a name in quotes");
            return Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE).at_span(name.span));
        };
        let found = self.environment.variable(&text.to_lowercase());
        Ok(found.map_or_else(|| Expr::null(SqlType::Unknown), |(value, ty)| Expr::literal(value, ty)))
    }

    /// Returns a session setting.
    fn setting(&mut self, [name]: [Expr; 1]) -> Result<Expr> {
        let Some(Value::Text(text)) = name.as_literal() else {
            let error = Error::user("current_setting takes a name in quotes");
            return Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE).at_span(name.span));
        };
        let found = self.environment.setting(&text.to_lowercase());
        let value = found.ok_or_else(|| {
            let error = Error::user(format!("there is no current_setting('{text}')")).at_span(name.span);
            error.with_code(SqlState::UNDEFINED_OBJECT).with_hint("SHOW ALL lists the settings, SHOW name shows one")
        })?;
        Ok(Expr::literal(Value::text(value), SqlType::Varchar))
    }
}

/// Returns exactly `N` arguments, or an error.
fn taking<const N: usize>(args: Vec<Expr>, call: &ast::Call) -> Result<[Expr; N]> {
    let arguments = if N == 1 { "one argument".to_owned() } else { format!("{N} arguments") };
    args.try_into().map_err(|_| wrong_count(call, &arguments))
}

fn wrong_count(call: &ast::Call, takes: &str) -> Error {
    let message = format!("{} takes {takes}, not {}", call.name.last().text, call.args.len());
    Error::user(message).with_code(SqlState::UNDEFINED_FUNCTION).at_span(call.name.span)
}

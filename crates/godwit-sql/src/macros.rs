//! Functions of DuckDB that are expressions over others: a call is replaced by the expression, with its arguments in it.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use datafusion_sql::sqlparser::ast::{Expr, Value, VisitMut, VisitorMut};
use datafusion_sql::sqlparser::parser::Parser;

use crate::grammar::Grammar;

/// Name, parameters, expression. A name with a second word is the call whose first argument is that word in quotes.
const MACROS: &[(&str, &[&str], &str)] = &[
    ("date_add", &["moment", "span"], "moment + span"),
    (
        "last_day",
        &["day"],
        "CAST(date_trunc('month', CAST(day AS TIMESTAMP)) + INTERVAL '1 month' - INTERVAL '1 day' AS DATE)",
    ),
    ("dayname", &["day"], "to_char(day, '%A')"),
    ("monthname", &["day"], "to_char(day, '%B')"),
    ("yearweek", &["day"], "date_part('isoyear', day) * 100 + date_part('week', day)"),
    ("century", &["day"], "CAST(ceil(date_part('year', day) / 100.0) AS BIGINT)"),
    ("decade", &["day"], "date_part('year', day) / 10"),
    ("millisecond", &["moment"], "CAST(date_part('millisecond', moment) AS BIGINT)"),
    ("microsecond", &["moment"], "CAST(date_part('microsecond', moment) AS BIGINT)"),
    ("date_diff year", &["a", "b"], "date_part('year', b) - date_part('year', a)"),
    (
        "date_diff quarter",
        &["a", "b"],
        "date_part('year', b) * 4 + date_part('quarter', b) - date_part('year', a) * 4 - date_part('quarter', a)",
    ),
    (
        "date_diff month",
        &["a", "b"],
        "date_part('year', b) * 12 + date_part('month', b) - date_part('year', a) * 12 - date_part('month', a)",
    ),
    (
        "date_diff week",
        &["a", "b"],
        "CAST(date_part('epoch', date_trunc('week', CAST(b AS TIMESTAMP))) - date_part('epoch', date_trunc('week', CAST(a AS TIMESTAMP))) AS BIGINT) / 604800",
    ),
    (
        "date_diff day",
        &["a", "b"],
        "CAST(date_part('epoch', date_trunc('day', CAST(b AS TIMESTAMP))) - date_part('epoch', date_trunc('day', CAST(a AS TIMESTAMP))) AS BIGINT) / 86400",
    ),
    (
        "date_diff hour",
        &["a", "b"],
        "CAST(date_part('epoch', date_trunc('hour', CAST(b AS TIMESTAMP))) - date_part('epoch', date_trunc('hour', CAST(a AS TIMESTAMP))) AS BIGINT) / 3600",
    ),
    (
        "date_diff minute",
        &["a", "b"],
        "CAST(date_part('epoch', date_trunc('minute', CAST(b AS TIMESTAMP))) - date_part('epoch', date_trunc('minute', CAST(a AS TIMESTAMP))) AS BIGINT) / 60",
    ),
    (
        "date_diff second",
        &["a", "b"],
        "CAST(date_part('epoch', date_trunc('second', CAST(b AS TIMESTAMP))) - date_part('epoch', date_trunc('second', CAST(a AS TIMESTAMP))) AS BIGINT)",
    ),
    (
        "time_bucket",
        &["width", "moment"],
        "date_bin(width, CAST(moment AS TIMESTAMP), TIMESTAMP '2000-01-03 00:00:00')",
    ),
    ("strptime", &["text", "format"], "to_timestamp(text, format)"),
    ("regexp_full_match", &["text", "pattern"], "regexp_like(text, '^(?:' || pattern || ')$')"),
    (
        "regexp_extract",
        &["text", "pattern"],
        "CASE WHEN text IS NOT NULL THEN coalesce(regexp_match(text, '(' || pattern || ')')[1], '') END",
    ),
    (
        "regexp_extract",
        &["text", "pattern", "part"],
        "CASE WHEN text IS NOT NULL THEN coalesce(regexp_match(text, '(' || pattern || ')')[part + 1], '') END",
    ),
    ("isinf", &["number"], "abs(number) = CAST('inf' AS DOUBLE)"),
    ("isfinite", &["number"], "abs(number) < CAST('inf' AS DOUBLE)"),
    ("list_reverse_sort", &["list"], "array_sort(list, 'DESC')"),
    ("list_unique", &["list"], "CAST(array_length(array_distinct(list)) AS BIGINT)"),
    ("geomean", &["number"], "exp(avg(ln(number)))"),
    ("geometric_mean", &["number"], "exp(avg(ln(number)))"),
    (
        "weighted_avg",
        &["number", "weight"],
        "CAST(sum(number * weight) AS DOUBLE) / sum(CASE WHEN number IS NOT NULL THEN weight END)",
    ),
    ("list_aggregate sum", &["list"], "list_sum(list)"),
    ("list_aggregate min", &["list"], "array_min(list)"),
    ("list_aggregate max", &["list"], "array_max(list)"),
];

struct Macro {
    parameters: &'static [&'static str],
    body: Expr,
}

/// By name and number of parameters.
static BY_NAME: LazyLock<HashMap<(&str, usize), Macro>> = LazyLock::new(|| {
    let parsed = |(name, parameters, body): &(&'static str, &'static [&'static str], &str)| {
        let parser = Parser::new(&Grammar).try_with_sql(body);
        let body = parser.and_then(|mut parser| parser.parse_expr()).expect("the expressions above are SQL");
        ((*name, parameters.len()), Macro { parameters, body })
    };
    MACROS.iter().map(parsed).collect()
});

/// The expression that a call stands for.
pub(crate) fn expanded(name: &str, arguments: &[&Expr]) -> Option<Expr> {
    let name = if name == "datediff" { "date_diff" } else { name };
    if let Some(found) = BY_NAME.get(&(name, arguments.len())) {
        return Some(found.with(arguments));
    }
    let word_at = if name == "list_aggregate" { 1 } else { 0 };
    let Some(Expr::Value(word)) = arguments.get(word_at) else { return None };
    let Value::SingleQuotedString(word) = &word.value else { return None };
    let others: Vec<&Expr> =
        arguments.iter().enumerate().filter(|(at, _)| *at != word_at).map(|(_, argument)| *argument).collect();
    let name = format!("{name} {}", word.to_lowercase().trim_end_matches('s'));
    BY_NAME.get(&(name.as_str(), others.len())).map(|found| found.with(&others))
}

impl Macro {
    fn with(&self, arguments: &[&Expr]) -> Expr {
        let mut expr = self.body.clone();
        let _: ControlFlow<()> = expr.visit(&mut Substitute { parameters: self.parameters, arguments });
        Expr::Nested(Box::new(expr))
    }
}

struct Substitute<'a> {
    parameters: &'a [&'a str],
    arguments: &'a [&'a Expr],
}

impl VisitorMut for Substitute<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && let Some(at) = self.parameters.iter().position(|parameter| *parameter == name.value)
        {
            *expr = Expr::Nested(Box::new(self.arguments[at].clone()));
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_macro_is_sql_with_its_parameters() {
        assert_eq!(BY_NAME.len(), MACROS.len());
        let one = Expr::value(Value::Number("1".to_owned(), false));
        let last_day = expanded("last_day", &[&one]).unwrap().to_string();
        assert!(last_day.contains("CAST((1) AS TIMESTAMP)"), "{last_day}");
        assert!(expanded("last_day", &[]).is_none());
    }
}

//! Expressions that catalogs keep as SQL text: defaults, checks, generated columns.
//!
//! They change with the names in them: a column is renamed, a virtual column is replaced by its expression, sequences
//! get full names. The text is edited at the positions given by its syntax tree; everything else stays as written.

use std::collections::HashMap;

use godwit_common::{Error, Result, Span};
use godwit_syntax::Child;
use godwit_syntax::ast::{Expr, ExprKind, Ident, Literal, Statement};

use crate::names::{literal_text, quoted_text, sql_of_name};

/// Parses an expression of a catalog.
pub fn expression(text: &str) -> Result<Expr> {
    godwit_syntax::parse_expression(text).map_err(|error| {
        Error::corrupt(format!("the expression {text} of the catalog can't be read: {}", error.message()))
    })
}

/// Parses the single statement of a definition.
pub fn statement(text: &str) -> Result<Statement> {
    let mut parsed = godwit_syntax::parse_script(text).map_err(|error| error.locate(text))?;
    match (parsed.pop(), parsed.is_empty()) {
        (Some(parsed), true) => Ok(parsed.statement),
        _ => Err(Error::corrupt("a definition of the catalog isn't one statement")),
    }
}

/// Returns the column of a name as an expression.
pub fn column(name: &str) -> Expr {
    let ident = Ident { text: name.into(), quoted: true, span: Span::NONE };
    Expr { kind: ExprKind::Column(vec![ident]), span: Span::NONE }
}

/// Returns true if an expression contains a column.
pub fn mentions(text: &str, column: &str) -> Result<bool> {
    let mut found = false;
    for_each_part(&expression(text)?, &mut |part| {
        if let ExprKind::Column(path) = &part.kind {
            found |= path.iter().any(|name| name.is(column));
        }
    });
    Ok(found)
}

/// Renames a column in an expression.
pub fn with_renamed(text: &str, from: &str, to: &str) -> Result<String> {
    let mut edits = Vec::new();
    for_each_part(&expression(text)?, &mut |part| {
        if let ExprKind::Column(path) = &part.kind {
            // A column may be followed by fields of its value and preceded by its table.
            let at = path.iter().take(2).position(|name| name.is(from));
            edits.extend(at.map(|at| (path[at].span, quoted_text(to))));
        }
    });
    Ok(edited(text, edits))
}

/// Replaces columns in an expression by texts, found by names in lower case.
pub fn with_values(text: &str, values: &HashMap<String, String>) -> Result<String> {
    expanded(text, values, 0)
}

fn expanded(text: &str, values: &HashMap<String, String>, depth: usize) -> Result<String> {
    if depth > values.len() {
        return Err(Error::user("generated columns are made of each other"));
    }
    let mut found: Vec<(Span, &str)> = Vec::new();
    for_each_part(&expression(text)?, &mut |part| {
        if let ExprKind::Column(path) = &part.kind
            && let [name] = &path[..]
            && let Some(value) = values.get(&name.text.to_lowercase())
        {
            found.push((name.span, value));
        }
    });
    let edits = found.into_iter().map(|(span, value)| Ok((span, format!("({})", expanded(value, values, depth + 1)?))));
    Ok(edited(text, edits.collect::<Result<_>>()?))
}

/// Renames the sequences in an expression: the constant arguments of `nextval` and `currval`.
pub fn with_sequences(text: &str, mut rename: impl FnMut(&str) -> Result<String>) -> Result<String> {
    let mut edits = Vec::new();
    for (span, name) in sequence_names(&expression(text)?) {
        edits.push((span, literal_text(&rename(&name)?)));
    }
    Ok(edited(text, edits))
}

/// Returns the full names of the sequences that an expression of the catalog uses.
pub fn sequences_in(text: &str) -> Vec<String> {
    match expression(text) {
        Ok(expr) => sequence_names(&expr).into_iter().map(|(_, name)| name).collect(),
        Err(_) => Vec::new(),
    }
}

/// Returns an expression of a database's catalog, with names of sequences that don't depend on the search path.
pub fn stored_expression(database: &str, text: &str) -> Result<Expr> {
    let qualified = |full: &str| Ok(format!("{}.{}", quoted_text(database), sql_of_name(full)));
    expression(&with_sequences(text, qualified)?)
}

fn sequence_names(expr: &Expr) -> Vec<(Span, String)> {
    let mut names = Vec::new();
    for_each_part(expr, &mut |part| {
        if let ExprKind::Call(call) = &part.kind
            && call.name.single().is_some_and(|name| ["nextval", "currval", "setval"].iter().any(|of| name.is(of)))
            && let [argument, ..] = &call.args[..]
            && let ExprKind::Literal(Literal::String(name)) = &argument.value.kind
        {
            names.push((argument.value.span, name.to_string()));
        }
    });
    names
}

/// Calls `visit` for an expression and all its parts, from left to right.
fn for_each_part(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    visit(expr);
    expr.for_each_child(&mut |child| match child {
        Child::Expr(child) => for_each_part(child, visit),
        Child::Query(query) => query.for_each_child(&mut |child| {
            if let Child::Expr(child) = child {
                for_each_part(child, visit);
            }
        }),
        Child::Write(_) | Child::File(_) => {}
    });
}

/// Returns the text with some places replaced.
fn edited(text: &str, mut edits: Vec<(Span, String)>) -> String {
    edits.sort_by_key(|(span, _)| span.start);
    let (mut result, mut end) = (String::with_capacity(text.len()), 0);
    for (span, new) in edits {
        result.push_str(&text[end..span.start as usize]);
        result.push_str(&new);
        end = span.end as usize;
    }
    result.push_str(&text[end..]);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_edited_where_names_stand() {
        assert_eq!(
            with_renamed("a + t.A * \"a\".x || 'a'", "a", "b c").unwrap(),
            r#""b c" + t."b c" * "b c".x || 'a'"#
        );
        assert!(mentions("f(x) > (y)", "Y").unwrap() && !mentions("f(x) > 'y'", "y").unwrap());
        let values = [("v", "a + 1"), ("w", "v * 2")].map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        assert_eq!(with_values("W - V", &values).unwrap(), "((a + 1) * 2) - (a + 1)");
        let circle = [("v", "w"), ("w", "v")].map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        assert!(with_values("v", &circle).unwrap_err().message().contains("made of each other"));
        assert_eq!(sequences_in("nextval('s.t') + currval('u') + f('x')"), ["s.t", "u"]);
        let stored = stored_expression("d", "nextval('s')").unwrap();
        assert_eq!(stored.to_string(), r#"nextval('"d"."main"."s"')"#);
    }

    /// Database files contain texts printed by the `sqlparser` crate.
    #[test]
    fn texts_of_older_files_are_read() {
        let texts = [
            "a > 0 AND b < 10",
            "CAST(a AS BIGINT) + 1",
            "a::VARCHAR || 'x'",
            "CASE WHEN a > 1 THEN 'x' ELSE 'y' END",
            "CASE a WHEN 1 THEN 2 END",
            "a BETWEEN 1 AND 3",
            "a NOT BETWEEN 1 AND 3",
            "a IN ('x', 'y')",
            "a NOT IN (1, 2)",
            "a IS NOT NULL",
            "(a IS NOT FALSE) IS TRUE",
            "a IS DISTINCT FROM b",
            "NOT a",
            "-a",
            "a LIKE 'x%'",
            "a NOT ILIKE 'x\\_%' ESCAPE '\\'",
            "EXTRACT(YEAR FROM d)",
            "SUBSTRING(a FROM 1 FOR 2)",
            "SUBSTRING(a, 1, 2)",
            "POSITION('x' IN a)",
            "TRIM(BOTH ' ' FROM a)",
            "TRIM(a)",
            "CEIL(a)",
            "FLOOR(a)",
            "INTERVAL '1' DAY",
            "INTERVAL '1 day'",
            "DATE '2020-01-01'",
            "TIMESTAMP '2020-01-01 00:00:00'",
            "current_timestamp",
            "CURRENT_DATE",
            "now()",
            "nextval('s')",
            "[1, 2, 3]",
            "{'a': 1, 'b': 'x'}",
            "struct_pack(a := 1)",
            "a[1]",
            "\"quoted name\" + 1",
            "coalesce(a, 0)",
            "a % 2 = 0",
            "a || b",
            "length(a) <= 3",
            "TRUE",
            "NULL",
            "'it''s'",
            "1.5",
            "1e10",
            "TRY_CAST(a AS INTEGER)",
            "a AT TIME ZONE 'UTC'",
            "(a, b) = (1, 2)",
            "CAST(a AS DECIMAL(10,2))",
            "CAST(a AS TIMESTAMP WITH TIME ZONE)",
            "CAST(a AS INTEGER[])",
            "CAST(a AS DOUBLE PRECISION)",
            "a ~ 'x.*'",
            "a ^ 2",
            "a // 2",
        ];
        let unread: Vec<String> =
            texts.iter().filter_map(|text| expression(text).err().map(|error| error.to_string())).collect();
        assert!(unread.is_empty(), "{unread:#?}");
    }
}

//! Conditions over constants, which are known before the query runs.

use godwit_plan::{Expr, ExprKind as Part, Match};
use godwit_types::{Value, compare_values};
use regex::{Regex, RegexBuilder};

/// Evaluates a condition over constants, `Some(None)` for NULL; `None` if it has other parts.
pub(super) fn truth(condition: &Expr) -> Option<Option<bool>> {
    let all = |operands: &[Expr]| operands.iter().map(truth).collect::<Option<Vec<_>>>();
    Some(match &condition.kind {
        Part::Literal(Value::Boolean(truth)) => Some(*truth),
        Part::Literal(Value::Null) => None,
        Part::Not(operand) => truth(operand)?.map(|truth| !truth),
        Part::IsNull(operand) => Some(operand.as_literal()?.is_null()),
        Part::And(operands) => decided(&all(operands)?, false),
        Part::Or(operands) => decided(&all(operands)?, true),
        Part::Compare(comparison, left, right) => {
            let (a, b) = (left.as_literal()?, right.as_literal()?);
            if a.is_null() || b.is_null() {
                return (!comparison.is_null_safe()).then_some(None);
            }
            Some(comparison.holds(compare_values(a, b, &left.ty)))
        }
        Part::InList(value, values) => {
            let wanted = value.as_literal()?;
            let values = values.iter().map(Expr::as_literal).collect::<Option<Vec<_>>>()?;
            let is_in = values.iter().any(|other| !other.is_null() && compare_values(wanted, other, &value.ty).is_eq());
            let is_unknown = wanted.is_null() || !is_in && values.iter().any(|other| other.is_null());
            (!is_unknown).then_some(is_in)
        }
        Part::Match { kind: kind @ (Match::Like | Match::ILike), input, pattern, escape } => {
            match (input.as_literal()?, pattern.as_literal()?) {
                (Value::Text(text), Value::Text(pattern)) => {
                    Some(like(pattern, *escape, *kind == Match::ILike).ok()?.is_match(text))
                }
                _ => None,
            }
        }
        _ => return None,
    })
}

/// Evaluates AND or OR: `by` if any operand is `by`; otherwise its opposite if no operand is NULL.
fn decided(operands: &[Option<bool>], by: bool) -> Option<bool> {
    match operands.contains(&Some(by)) {
        true => Some(by),
        false => operands.iter().all(Option::is_some).then_some(!by),
    }
}

/// Translates a LIKE pattern to a regular expression; a backslash, or another character, escapes a wildcard.
pub(crate) fn like(
    pattern: &str,
    escape: Option<char>,
    is_insensitive: bool,
) -> std::result::Result<Regex, regex::Error> {
    let escape = escape.unwrap_or('\\');
    let mut regex = String::from("^");
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            escaping if escaping == escape => {
                characters.next().into_iter().for_each(|taken| push_literal(&mut regex, taken));
            }
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            other => push_literal(&mut regex, other),
        }
    }
    regex.push('$');
    RegexBuilder::new(&regex).case_insensitive(is_insensitive).dot_matches_new_line(true).build()
}

/// Appends a character, escaped so that it stands for itself.
fn push_literal(regex: &mut String, character: char) {
    regex.push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
}

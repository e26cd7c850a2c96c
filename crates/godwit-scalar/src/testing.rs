//! Calls of functions for tests: with constants, and in vectors between other rows and NULLs.

use godwit_common::{ErrorKind, Result};
use godwit_plan::ArgumentType;
use godwit_types::{SqlType, Value, cast_value, format_value, number_literal};
use godwit_vector::sql::{Reader, vector_of_values};
use godwit_vector::{Data, Vector};

use crate::function::Form;
use crate::kernel::Bounded;

/// Parses an argument as SQL writes it: `'text'`, a number, `NULL`, `TRUE`, or `TYPE 'text'` as in `DATE '2024-02-29'`,
/// `INTEGER[] '[1, 2]'`.
pub(crate) fn literal(text: &str) -> (Value, SqlType) {
    if text == "NULL" {
        return (Value::Null, SqlType::Unknown);
    }
    if text == "TRUE" || text == "FALSE" {
        return (Value::Boolean(text == "TRUE"), SqlType::Boolean);
    }
    if let Some((ty, quoted)) = text.split_once('\'') {
        let value = Value::text(quoted.strip_suffix('\'').expect("quoted text ends"));
        if ty.is_empty() {
            return (value, SqlType::Varchar);
        }
        let ty = SqlType::from_definition(ty.trim()).unwrap_or_else(|| panic!("{ty} is no type"));
        return (cast_value(&value, &SqlType::Varchar, &ty).expect("the text is a value of its type"), ty);
    }
    match text.strip_prefix('-') {
        Some(number) => {
            let (value, ty) = number_literal(number).expect("a number");
            let value = match value {
                Value::Integer(number) => Value::Integer(-number),
                Value::Float(number) => Value::Float(-number),
                other => panic!("{other:?} is no number"),
            };
            (value, ty)
        }
        None => number_literal(text).expect("a number"),
    }
}

/// Maximum bytes that a test's function may make.
const BYTES_MAX: usize = 16 << 20;

/// Returns the result of a call and its type, after checking that constants and vectors give the same.
pub(crate) fn call(name: &str, arguments: &[&str]) -> Result<(Value, SqlType)> {
    let literals: Vec<(Value, SqlType)> = arguments.iter().map(|text| literal(text)).collect();
    let types: Vec<ArgumentType<'_>> = literals
        .iter()
        .map(|(value, ty)| ArgumentType { ty, value: Some(value), nullable: true, lambda_parameters: None })
        .collect();
    let (_, form) = crate::choose(name, &types).unwrap_or_else(|error| panic!("{name}{arguments:?}: {error:?}"));
    let cast = literals.iter().zip(&form.arguments).map(|((value, from), to)| cast_value(value, from, to));
    let values: Vec<Value> = cast.collect::<Result<_>>().expect("arguments fit their form");

    let constant = evaluate(&form, &values, Vector::constant);
    if let Err(error) = &constant {
        assert!(form.may_fail || error.kind() == ErrorKind::Resource, "{name}{arguments:?} fails: {error}");
    }
    let constant = constant?;
    let is_given = !values.iter().any(Value::is_null);
    assert!(!(constant.is_null() && is_given) || form.may_be_null || !form.strict, "{name}{arguments:?} is NULL");
    let in_rows = evaluate(&form, &values, |flat, rows| {
        assert_eq!(flat.len(), 1);
        Vector::flat(flat.take(&vec![0; rows]), None)
    })?;
    assert_eq!(constant, in_rows, "{name}{arguments:?} as constants and in rows");
    Ok((constant, form.result))
}

/// Evaluates the second of three rows, of which the first and the last are NULL.
fn evaluate(form: &Form, values: &[Value], vector: impl Fn(godwit_vector::Flat, usize) -> Vector) -> Result<Value> {
    const ROWS: usize = 3;
    let vectors = values.iter().zip(&form.arguments).enumerate().map(|(at, (value, ty))| {
        let single = vector_of_values(std::slice::from_ref(value), ty)?;
        let is_null = !single.is_valid(0);
        let Data::Flat(flat) = single.data().clone() else { unreachable!("values become flat vectors") };
        let all = vector(flat, ROWS);
        // NULLs around the row, in the first argument.
        let valid = godwit_vector::Bitmap::from_fn(ROWS, |row| !is_null && (at > 0 || row == 1));
        Ok(all.with_validity(Some(valid.into())))
    });
    let vectors = vectors.collect::<Result<Vec<Vector>>>()?;
    let result = form.kernel.evaluate(&vectors, ROWS, &Bounded::new(BYTES_MAX))?;
    assert_eq!(result.len(), ROWS);
    if form.strict && !vectors.is_empty() {
        assert!(!result.is_valid(0) && !result.is_valid(2), "NULL gives NULL");
    }
    Reader::new(&result, &form.result)?.value(1)
}

/// Returns the result of a call as text.
pub(crate) fn shown(name: &str, arguments: &[&str]) -> String {
    match call(name, arguments) {
        Ok((Value::Null, _)) => "NULL".to_owned(),
        Ok((value, ty)) => format_value(&value, &ty),
        Err(error) => panic!("{name}{arguments:?}: {error}"),
    }
}

/// Returns the message of a call that fails.
pub(crate) fn error_of(name: &str, arguments: &[&str]) -> String {
    match call(name, arguments) {
        Ok((value, _)) => panic!("{name}{arguments:?} is {value:?}"),
        Err(error) => error.message().to_owned(),
    }
}

/// Every function has a description and an example, and its names are in lower case.
#[test]
fn functions_are_described() {
    for function in crate::functions() {
        let name = function.name();
        assert!(!function.description.is_empty() && !function.description.ends_with('.'), "{name}");
        assert!(!function.examples.is_empty(), "{name} has no example");
        assert!(!function.forms.is_empty(), "{name} takes nothing");
        assert!(function.names.iter().all(|name| *name == name.to_lowercase()), "{name}");
    }
}

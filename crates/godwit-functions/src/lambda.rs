//! Functions that take lambdas: `list_transform(list, x -> x + 1)`.
//!
//! The lambda's parameters are the element and its position, from 1; it may leave out the position.

use std::sync::Arc;

use godwit_plan::{ArgumentType, NoFunction, ScalarFunction, ScalarMatch, Volatility};
use godwit_types::SqlType;

use crate::arguments::settled;
use crate::implementation::{LambdaForm, ScalarImplementation};

/// (name, what becomes of the lambda's results).
const FUNCTIONS: &[(&str, LambdaForm)] = &[
    ("list_transform", LambdaForm::Transform),
    ("array_transform", LambdaForm::Transform),
    ("list_apply", LambdaForm::Transform),
    ("array_apply", LambdaForm::Transform),
    ("apply", LambdaForm::Transform),
    ("list_filter", LambdaForm::Filter),
    ("array_filter", LambdaForm::Filter),
    ("filter", LambdaForm::Filter),
];

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}

fn form_of(name: &str) -> Option<LambdaForm> {
    FUNCTIONS.iter().find(|(known, _)| *known == name).map(|&(_, form)| form)
}

pub(crate) fn is_known(name: &str) -> bool {
    form_of(name).is_some()
}

/// Each function with each way to call it.
pub(crate) fn signatures() -> impl Iterator<Item = (&'static str, String)> {
    names().flat_map(|name| signatures_of(name).into_iter().map(move |signature| (name, signature)))
}

fn signatures_of(name: &str) -> Vec<String> {
    vec![format!("{name}(list, x -> …)"), format!("{name}(list, (x, position) -> …)")]
}

fn mismatch(name: &str) -> NoFunction {
    NoFunction::NoMatch { signatures: signatures_of(name) }
}

/// The types of the parameters of each argument that is a lambda.
pub(crate) fn parameters(name: &str, arguments: &[ArgumentType<'_>]) -> Result<Vec<Vec<SqlType>>, NoFunction> {
    if !is_known(name) {
        return Ok(vec![Vec::new(); arguments.len()]);
    }
    let [list, ArgumentType { lambda_parameters: Some(wanted), .. }] = arguments else { return Err(mismatch(name)) };
    let element = list.ty.element().cloned().map(settled).ok_or_else(|| mismatch(name))?;
    let mut types = vec![element, SqlType::BigInt];
    if !(1..=types.len()).contains(wanted) {
        return Err(mismatch(name));
    }
    types.truncate(*wanted);
    Ok(vec![Vec::new(), types])
}

pub(crate) fn resolve(name: &str, arguments: &[ArgumentType<'_>]) -> Result<ScalarMatch, NoFunction> {
    let form = form_of(name).ok_or(NoFunction::UnknownName)?;
    let [list, lambda @ ArgumentType { lambda_parameters: Some(_), .. }] = arguments else {
        return Err(mismatch(name));
    };
    let element = list.ty.element().cloned().map(settled).ok_or_else(|| mismatch(name))?;
    let list_type = settled(list.ty.clone());
    let (body, ty) = match form {
        LambdaForm::Transform => (settled(lambda.ty.clone()), SqlType::list_of(settled(lambda.ty.clone()))),
        LambdaForm::Filter => (SqlType::Boolean, SqlType::list_of(element)),
    };
    let function = ScalarFunction {
        name: name.into(),
        volatility: Volatility::Immutable,
        // NULL for no list; a lambda is never NULL.
        strict: true,
        may_fail: true,
        implementation: Arc::new(ScalarImplementation::Lambda(form)),
    };
    Ok(ScalarMatch { function, argument_types: vec![list_type, body], ty, nullable: true })
}

//! Functions that take lambdas: `list_transform(list, x -> x + 1)`.
//!
//! The lambda's parameters are the element and, optionally, its position, from 1. In `list_reduce`, the result so far
//! comes before these: of the type of the first one, or of a wider one that what the lambda gives needs.

use std::sync::Arc;

use godwit_common::SqlState;
use godwit_plan::{ArgumentType, NoFunction, ScalarFunction, ScalarMatch, Volatility};
use godwit_scalar::Category;
use godwit_types::{SqlType, common_type};

use crate::arguments::{any_type, fits, settled};
use crate::documented::{self, Documented, function};
use crate::implementation::{LambdaForm, ScalarImplementation};
use crate::listed::{Listed, ListedKind};

/// Functions, and how they use the lambda's results.
const FUNCTIONS: &[Documented<LambdaForm>] = &[
    function(
        &["list_transform", "array_transform", "list_apply", "array_apply", "apply"],
        LambdaForm::Transform,
        "The list of what the lambda gives for each element",
    )
    .example("list_transform([1, 2, 3], x -> x * 10)", "[10, 20, 30]"),
    function(
        &["list_filter", "array_filter", "filter"],
        LambdaForm::Filter,
        "The elements for which the lambda gives TRUE",
    )
    .example("list_filter([1, 2, 3], x -> x > 1)", "[2, 3]"),
    function(
        &["list_reduce", "array_reduce", "reduce"],
        LambdaForm::Reduce,
        "What the lambda makes of all elements, one after the other, beginning with the first or an initial value",
    )
    .example("list_reduce([1, 2, 3], (so_far, x) -> so_far + x, 100)", "106"),
];

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    documented::names(FUNCTIONS)
}

fn form_of(name: &str) -> Option<LambdaForm> {
    documented::find(FUNCTIONS, name).map(|function| function.form)
}

pub(crate) fn is_known(name: &str) -> bool {
    form_of(name).is_some()
}

pub(crate) fn listed() -> impl Iterator<Item = Listed> {
    FUNCTIONS.iter().map(|function| {
        Listed::of(function, ListedKind::Scalar, Category::List.title(), signatures_of(function.names[0]))
    })
}

fn signatures_of(name: &str) -> Vec<String> {
    match form_of(name) {
        Some(LambdaForm::Reduce) => [
            "list, (so_far, x) -> …",
            "list, (so_far, x, position) -> …",
            "list, (so_far, x) -> …, initial",
            "list, (so_far, x, position) -> …, initial",
        ]
        .map(|arguments| format!("{name}({arguments})"))
        .to_vec(),
        _ => vec![format!("{name}(list, x -> …)"), format!("{name}(list, (x, position) -> …)")],
    }
}

fn mismatch(name: &str) -> NoFunction {
    NoFunction::NoMatch { signatures: signatures_of(name) }
}

/// Returns the types of the parameters of each argument that is a lambda.
pub(crate) fn parameters(name: &str, arguments: &[ArgumentType<'_>]) -> Result<Vec<Vec<SqlType>>, NoFunction> {
    if !is_known(name) {
        return Ok(vec![Vec::new(); arguments.len()]);
    }
    let call = Call::of(name, arguments)?;
    let (mut types, least) = match call.form {
        LambdaForm::Transform | LambdaForm::Filter => (vec![call.element, SqlType::BigInt], 1),
        LambdaForm::Reduce => (vec![call.so_far(&arguments[1])?, call.element, SqlType::BigInt], 2),
    };
    let wanted = call.wanted;
    if !(least..=types.len()).contains(&wanted) {
        return Err(mismatch(name));
    }
    types.truncate(wanted);
    let mut of_arguments = vec![Vec::new(); arguments.len()];
    of_arguments[1] = types;
    Ok(of_arguments)
}

/// The arguments of a call.
struct Call {
    form: LambdaForm,
    element: SqlType,
    /// Parameters of the lambda.
    wanted: usize,
    /// The type of the initial value of a reduction, if one is given.
    initial: Option<SqlType>,
}

impl Call {
    fn of(name: &str, arguments: &[ArgumentType<'_>]) -> Result<Self, NoFunction> {
        let form = form_of(name).ok_or(NoFunction::UnknownName)?;
        let (list, wanted, initial) = match arguments {
            [list, ArgumentType { lambda_parameters: Some(wanted), .. }] => (list, *wanted, None),
            [list, ArgumentType { lambda_parameters: Some(wanted), .. }, initial] if form == LambdaForm::Reduce => {
                (list, *wanted, Some(any_type(initial)))
            }
            _ => return Err(mismatch(name)),
        };
        let element = list.ty.element().cloned().map(settled).ok_or_else(|| mismatch(name))?;
        Ok(Self { form, element, wanted, initial })
    }

    /// Returns the type of a reduction's result so far: that of the first one, if what the lambda gives becomes one.
    fn so_far(&self, lambda: &ArgumentType<'_>) -> Result<SqlType, NoFunction> {
        let first = self.initial.as_ref().unwrap_or(&self.element);
        if fits(lambda, first) {
            return Ok(first.clone());
        }
        common_type(first, lambda.ty).ok_or_else(|| {
            let message = format!("the lambda gives {}, the value so far is {first}: cast one of them", lambda.ty);
            NoFunction::BadArgument { argument: Some(1), message, code: SqlState::DATATYPE_MISMATCH }
        })
    }
}

pub(crate) fn resolve(name: &str, arguments: &[ArgumentType<'_>]) -> Result<ScalarMatch, NoFunction> {
    let call = Call::of(name, arguments)?;
    let (list_type, lambda) = (settled(arguments[0].ty.clone()), settled(arguments[1].ty.clone()));
    let (body, ty) = match call.form {
        LambdaForm::Transform => (lambda.clone(), SqlType::list_of(lambda)),
        LambdaForm::Filter => (SqlType::Boolean, SqlType::list_of(call.element)),
        LambdaForm::Reduce => {
            let value = call.so_far(&arguments[1])?;
            (value.clone(), value)
        }
    };
    let initial = call.initial.map(|_| ty.clone());
    let argument_types = [list_type, body].into_iter().chain(initial).collect();
    let function = ScalarFunction {
        name: name.into(),
        volatility: Volatility::Immutable,
        // A NULL list gives NULL; a lambda is never NULL. A reduction may begin with NULL.
        strict: arguments.len() == 2,
        may_fail: true,
        implementation: Arc::new(ScalarImplementation::Lambda(call.form)),
    };
    Ok(ScalarMatch { function, argument_types, ty, nullable: true })
}

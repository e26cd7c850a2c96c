//! Functions that take lambdas: `list_transform(list, x -> x + 1)`.
//!
//! A lambda's parameters have the types that follow from the other arguments; the type of its body is that of the argument
//! in the end.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::ScalarValue;
use datafusion_expr::type_coercion::functions::{
    value_fields_with_higher_order_udf, value_fields_with_higher_order_udf_and_lambdas,
};
use datafusion_expr::{HigherOrderReturnFieldArgs, HigherOrderUDF, LambdaParametersProgress, ValueOrLambda};
use godwit_plan::{ArgumentType, NoFunction, ScalarFunction, ScalarMatch};
use godwit_types::SqlType;

use super::{
    ScalarImplementation, Unknown, argument_type, constant_of, fields_of, message_of, properties, readable, settled,
};
use crate::functions::FUNCTIONS;

/// Most rounds in which the types of parameters are found; those of today's functions are there after the first.
const ROUNDS_MAX: usize = 8;

pub(super) fn function(name: &str) -> Option<Arc<HigherOrderUDF>> {
    FUNCTIONS.higher_order.get(name).cloned()
}

fn mismatch(name: &str) -> NoFunction {
    NoFunction::NoMatch { signatures: vec![format!("{name}(list, x -> …)")] }
}

fn refused(error: datafusion_common::DataFusionError) -> NoFunction {
    NoFunction::BadArgument { argument: None, message: message_of(error) }
}

pub(super) fn parameters(name: &str, arguments: &[ArgumentType<'_>]) -> Result<Vec<Vec<SqlType>>, NoFunction> {
    let none = || vec![Vec::new(); arguments.len()];
    let Some(function) = function(name) else { return Ok(none()) };
    let fields = fields_of(arguments, Unknown::Text)?;
    let fields: Vec<ValueOrLambda<FieldRef, Option<FieldRef>>> = arguments
        .iter()
        .zip(fields)
        .map(|(argument, field)| match argument.lambda_parameters {
            Some(_) => ValueOrLambda::Lambda(None),
            None => ValueOrLambda::Value(field),
        })
        .collect();
    let fields = value_fields_with_higher_order_udf(&fields, &function).map_err(|_| mismatch(name))?;
    let lambdas = (0..ROUNDS_MAX).find_map(|step| match function.lambda_parameters(step, &fields) {
        Ok(LambdaParametersProgress::Complete(lambdas)) => Some(Ok(lambdas)),
        Ok(LambdaParametersProgress::Partial(_)) => None,
        Err(error) => Some(Err(refused(error))),
    });
    let mut lambdas = lambdas.ok_or_else(|| mismatch(name))??.into_iter();
    let mut types = none();
    for (argument, types) in arguments.iter().zip(&mut types) {
        let Some(wanted) = argument.lambda_parameters else { continue };
        let of_lambda = lambdas.next().ok_or_else(|| mismatch(name))?;
        if wanted > of_lambda.len() {
            return Err(mismatch(name));
        }
        let known = of_lambda[..wanted].iter().map(|field| readable(field.data_type()).map(settled));
        *types = known.collect::<Result<_, _>>()?;
    }
    Ok(types)
}

pub(super) fn resolve(
    name: &str,
    function: &Arc<HigherOrderUDF>,
    arguments: &[ArgumentType<'_>],
) -> Result<ScalarMatch, NoFunction> {
    let fields = fields_of(arguments, Unknown::Text)?;
    let fields: Vec<ValueOrLambda<FieldRef, FieldRef>> = arguments
        .iter()
        .zip(fields)
        .map(|(argument, field)| match argument.lambda_parameters {
            Some(_) => ValueOrLambda::Lambda(field),
            None => ValueOrLambda::Value(field),
        })
        .collect();
    let coerced = value_fields_with_higher_order_udf_and_lambdas(&fields, function).map_err(|_| mismatch(name))?;
    let types = arguments.iter().zip(&coerced).map(|(argument, field)| match field {
        ValueOrLambda::Value(field) => argument_type(argument, field.data_type()),
        ValueOrLambda::Lambda(_) => Ok(argument.ty.clone()),
    });
    let argument_types = types.collect::<Result<Vec<SqlType>, NoFunction>>()?;
    let constants: Vec<Option<ScalarValue>> =
        arguments.iter().zip(&argument_types).map(|(argument, ty)| constant_of(argument, ty)).collect();
    let constants: Vec<Option<&ScalarValue>> = constants.iter().map(Option::as_ref).collect();
    let result = function
        .return_field_from_args(HigherOrderReturnFieldArgs { arg_fields: &coerced, scalar_arguments: &constants })
        .map_err(refused)?;
    let ty = settled(readable(result.data_type())?);
    let function = ScalarFunction {
        name: name.into(),
        volatility: properties::volatility(function.signature().volatility),
        strict: false,
        may_fail: true,
        implementation: Arc::new(ScalarImplementation::Lambda(Arc::clone(function))),
    };
    Ok(ScalarMatch { function, argument_types, ty, nullable: true })
}

/// A parameter of a lambda.
pub(in crate::bridge) fn parameter(name: &str, ty: DataType) -> FieldRef {
    Arc::new(Field::new(name, ty, true))
}

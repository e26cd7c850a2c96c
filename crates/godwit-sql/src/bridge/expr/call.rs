//! Calls of scalar functions.

use std::sync::Arc;

use arrow_schema::FieldRef;
use datafusion_common::ScalarValue;
use datafusion_expr::expr::{HigherOrderFunction, Lambda};
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::type_coercion::functions::{fields_with_udf, value_fields_with_higher_order_udf_and_lambdas};
use datafusion_expr::{Expr as PlannerExpr, ExprSchemable, HigherOrderUDF, ScalarUDF, ValueOrLambda, Volatility};
use datafusion_expr::{binary_expr, cast, lit};
use godwit_common::Result;
use godwit_plan::{Expr, ExprKind, ScalarFunction};
use godwit_types::SqlType;

use super::{Expressions, planning_error, unexpected};
use crate::bridge::functions::{CONFIG, ScalarImplementation, lambda};
use crate::bridge::types::arrow_type;
use crate::functions::FUNCTIONS;

/// Functions that the executor computes itself; their expansion would be slower.
const KEPT: [&str; 3] = ["coalesce", "nullif", "concat"];

impl Expressions<'_> {
    pub(super) fn call(&self, function: &ScalarFunction, arguments: &[Expr], ty: &SqlType) -> Result<PlannerExpr> {
        let implementation = function.implementation.downcast_ref::<ScalarImplementation>();
        let implementation = implementation.ok_or_else(|| unexpected("a function of another registry"))?;
        if let ScalarImplementation::Lambda(function) = implementation {
            return self.call_with_lambdas(function, arguments);
        }
        let mut converted = self.convert_all(arguments)?;
        Ok(match implementation {
            ScalarImplementation::Function { function, before, after } => {
                let constant = |value: &ScalarValue| lit(value.clone());
                let arguments = before.iter().map(constant).chain(converted).chain(after.iter().map(constant));
                self.planner_call(function, arguments.collect())?
            }
            ScalarImplementation::Element(function, position) => {
                let list = self.planner_call(function, converted)?;
                self.planner_call(&FUNCTIONS.scalar["array_element"], vec![list, lit(*position)])?
            }
            ScalarImplementation::Field(name) => {
                converted.truncate(1);
                converted.push(lit(name.as_ref()));
                self.planner_call(&FUNCTIONS.scalar["get_field"], converted)?
            }
            ScalarImplementation::Operator(op, before) => {
                let mut operands = before.iter().map(|value| lit(value.clone())).chain(converted);
                match (operands.next(), operands.next()) {
                    (Some(left), Some(right)) => binary_expr(left, *op, right),
                    _ => return Err(unexpected("an operator without operands")),
                }
            }
            ScalarImplementation::Cast => {
                let value = converted.pop().ok_or_else(|| unexpected("a cast of nothing"))?;
                cast(value, arrow_type(ty)?)
            }
            ScalarImplementation::Lambda(_) => return Err(unexpected("a lambda")),
        })
    }

    /// A call with the layouts that the function takes, in the form that can be evaluated.
    fn planner_call(&self, function: &Arc<ScalarUDF>, arguments: Vec<PlannerExpr>) -> Result<PlannerExpr> {
        if function.name() == "nvl" {
            return Ok(FUNCTIONS.scalar["coalesce"].call(arguments));
        }
        let arguments = match KEPT.contains(&function.name()) {
            true => arguments,
            false => self.coerced(function, arguments)?,
        };
        if KEPT.contains(&function.name()) || function.signature().volatility == Volatility::Volatile {
            return Ok(function.call(arguments));
        }
        // What depends on the moment is a constant from here on.
        let context = SimplifyContext::builder()
            .with_schema(Arc::clone(self.schema))
            .with_config_options(Arc::clone(&CONFIG))
            .with_current_time();
        Ok(match function.simplify(arguments, &context.build()).map_err(planning_error)? {
            ExprSimplifyResult::Simplified(simple) => simple,
            ExprSimplifyResult::Original(arguments) => function.call(arguments),
        })
    }

    fn coerced(&self, function: &ScalarUDF, arguments: Vec<PlannerExpr>) -> Result<Vec<PlannerExpr>> {
        let fields = arguments.iter().map(|argument| self.field_of(argument)).collect::<Result<Vec<_>>>()?;
        let wanted = fields_with_udf(&fields, function).map_err(planning_error)?;
        Ok(arguments.into_iter().zip(&fields).zip(&wanted).map(as_wanted).collect())
    }

    fn field_of(&self, expr: &PlannerExpr) -> Result<FieldRef> {
        Ok(expr.to_field(self.schema.as_ref()).map_err(planning_error)?.1)
    }

    fn call_with_lambdas(&self, function: &Arc<HigherOrderUDF>, arguments: &[Expr]) -> Result<PlannerExpr> {
        let mut converted = Vec::with_capacity(arguments.len());
        let mut fields = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let ExprKind::Lambda(parameters, body) = &argument.kind else {
                let value = self.convert(argument)?;
                fields.push(ValueOrLambda::Value(self.field_of(&value)?));
                converted.push(value);
                continue;
            };
            let bridge = self.bridge.ok_or_else(|| unexpected("a lambda"))?;
            let mut names = Vec::with_capacity(parameters.len());
            for &parameter in parameters {
                let name = bridge.column_name(parameter);
                let field = lambda::parameter(&name, arrow_type(&bridge.plan.column(parameter).ty)?);
                self.parameters.borrow_mut().push((parameter, field));
                names.push(name);
            }
            let body = self.convert(body);
            let kept = self.parameters.borrow().len() - parameters.len();
            self.parameters.borrow_mut().truncate(kept);
            let body = body?;
            fields.push(ValueOrLambda::Lambda(self.field_of(&body)?));
            converted.push(PlannerExpr::Lambda(Lambda::new(names, body)));
        }
        let wanted = value_fields_with_higher_order_udf_and_lambdas(&fields, function).map_err(planning_error)?;
        let coerced =
            converted.into_iter().zip(&fields).zip(&wanted).map(|((argument, field), wanted)| match (field, wanted) {
                (ValueOrLambda::Value(field), ValueOrLambda::Value(wanted)) => as_wanted(((argument, field), wanted)),
                _ => argument,
            });
        let call = HigherOrderFunction::new(Arc::clone(function), coerced.collect());
        Ok(PlannerExpr::HigherOrderFunction(call))
    }
}

fn as_wanted(((argument, field), wanted): ((PlannerExpr, &FieldRef), &FieldRef)) -> PlannerExpr {
    match field.data_type() == wanted.data_type() {
        true => argument,
        // Functions that insist on a constant see through no cast.
        false => match &argument {
            PlannerExpr::Literal(value, _) => match value.cast_to(wanted.data_type()) {
                Ok(value) => PlannerExpr::Literal(value, None),
                Err(_) => cast(argument, wanted.data_type().clone()),
            },
            _ => cast(argument, wanted.data_type().clone()),
        },
    }
}

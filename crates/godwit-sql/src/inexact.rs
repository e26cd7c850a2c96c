//! Averages and quotients of decimals are DOUBLE.
//!
//! The planner crates keep them decimals with four more digits than the argument has, which cuts off more than a user
//! of PostgreSQL or DuckDB expects: `avg` of prices would end after six digits. A DOUBLE keeps sixteen, and what is summed
//! before the division stays exact.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::arrow::array::cast::AsArray;
use datafusion_common::arrow::array::types::Float64Type;
use datafusion_common::arrow::array::{Array, Float64Array};
use datafusion_common::{DFSchema, Result, internal_err};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility, cast,
};
use datafusion_sql::sqlparser::ast::BinaryOperator;
use godwit_common::Error;

use crate::binder::external;

/// `avg` for all numeric types.
pub(crate) fn average() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::from(Average { signature: Signature::user_defined(Volatility::Immutable) }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Average {
    signature: Signature,
}

impl AggregateUDFImpl for Average {
    fn name(&self) -> &str {
        "avg"
    }

    fn aliases(&self) -> &[String] {
        static ALIASES: std::sync::LazyLock<[String; 1]> = std::sync::LazyLock::new(|| ["mean".to_owned()]);
        &*ALIASES
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Decimals are summed as they are, all other numbers as DOUBLE.
    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        match arguments {
            [argument] if argument.is_decimal() => Ok(vec![argument.clone()]),
            [argument] if argument.is_numeric() || argument.is_null() => Ok(vec![DataType::Float64]),
            [argument] => datafusion_common::plan_err!("avg can't take the mean of {argument}"),
            _ => datafusion_common::plan_err!("avg takes one argument, {} were given", arguments.len()),
        }
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, _arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        internal_err!("aggregates are computed by the executor's own operators")
    }

    fn state_fields(&self, _arguments: StateFieldsArgs<'_>) -> Result<Vec<arrow_schema::FieldRef>> {
        internal_err!("aggregates are computed by the executor's own operators")
    }
}

/// Plans `a / b` with a decimal on one side, and no float on the other, as a DOUBLE quotient.
#[derive(Debug)]
pub(crate) struct QuotientPlanner;

impl ExprPlanner for QuotientPlanner {
    fn plan_binary_op(&self, mut expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        // Division of integers cuts off under both names.
        if expr.op == BinaryOperator::DuckIntegerDivide {
            expr.op = BinaryOperator::Divide;
        }
        if expr.op != BinaryOperator::Divide {
            return Ok(PlannerResult::Original(expr));
        }
        // Types that aren't known yet (placeholders) are left to the planner crates.
        let (Ok(left), Ok(right)) = (expr.left.get_type(schema), expr.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(expr));
        };
        let is_exact = |ty: &DataType| ty.is_decimal() || ty.is_integer();
        if !(is_exact(&left) && is_exact(&right) && (left.is_decimal() || right.is_decimal())) {
            return Ok(PlannerResult::Original(expr));
        }
        let quotient = quotient_of(cast(expr.left, DataType::Float64), cast(expr.right, DataType::Float64));
        Ok(PlannerResult::Planned(quotient))
    }
}

/// The quotient of two DOUBLEs that come from exact numbers.
pub(crate) fn quotient_of(dividend: Expr, divisor: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(quotient(), vec![dividend, divisor]))
}

fn quotient() -> Arc<ScalarUDF> {
    static QUOTIENT: std::sync::LazyLock<Arc<ScalarUDF>> = std::sync::LazyLock::new(|| {
        let both = vec![DataType::Float64, DataType::Float64];
        Arc::new(ScalarUDF::from(Quotient { signature: Signature::exact(both, Volatility::Immutable) }))
    });
    Arc::clone(&QUOTIENT)
}

/// Division of two DOUBLEs that come from exact numbers: a zero divisor is an error, as for these.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Quotient {
    signature: Signature,
}

impl Quotient {
    /// `a / b`, without the casts that the user didn't write.
    fn infix(arguments: &[Expr], name: impl Fn(&Expr) -> Result<String>) -> Result<String> {
        let shown: Vec<String> = arguments
            .iter()
            .map(|argument| match argument {
                Expr::Cast(cast) => name(&cast.expr),
                other => name(other),
            })
            .collect::<Result<_>>()?;
        Ok(shown.join(" / "))
    }
}

impl ScalarUDFImpl for Quotient {
    fn name(&self) -> &str {
        "quotient"
    }

    fn display_name(&self, arguments: &[Expr]) -> Result<String> {
        Self::infix(arguments, |argument| Ok(argument.to_string()))
    }

    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        Self::infix(arguments, |argument| Ok(argument.schema_name().to_string()))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let (left, right) = (arrays[0].as_primitive::<Float64Type>(), arrays[1].as_primitive::<Float64Type>());
        let mut quotients = Vec::with_capacity(left.len());
        for row in 0..left.len() {
            let is_null = left.is_null(row) || right.is_null(row);
            if !is_null && right.value(row) == 0.0 {
                let error = Error::user("division by zero");
                return Err(external(error.with_hint("divide by NULLIF(divisor, 0) to get NULL instead")));
            }
            quotients.push((!is_null).then(|| left.value(row) / right.value(row)));
        }
        Ok(ColumnarValue::Array(Arc::new(Float64Array::from(quotients))))
    }
}

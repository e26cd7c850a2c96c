//! Folds `+`, `-`, `*` and unary minus of constants with a check for overflow.
//!
//! The simplifier of the planner crates computes with wrapping integers, and doesn't hold decimals to their precision:
//! it would make a wrong number of `9223372036854775807 + 1`. This rule runs before it and leaves nothing to wrap:
//!
//! ```text
//! both operands constant ──► in range ──► literal
//!                        └─► beyond   ──► overflow()   a function that is an error when it is called
//! ```
//!
//! The error comes at run time since the expression may stand where no row arrives, as in a branch of CASE.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::simplify::SimplifyContext;
use datafusion_expr::utils::merge_schema;
use datafusion_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use datafusion_optimizer::optimizer::ApplyOrder;
use datafusion_optimizer::simplify_expressions::ExprSimplifier;
use datafusion_optimizer::{OptimizerConfig, OptimizerRule};
use godwit_common::Error;

use crate::binder::external;

/// The rule; types must be coerced already.
#[derive(Debug)]
pub(crate) struct FoldConstantArithmetic;

impl OptimizerRule for FoldConstantArithmetic {
    fn name(&self) -> &str {
        "fold_constant_arithmetic"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let schema = match &plan {
            LogicalPlan::TableScan(scan) => {
                DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?
            }
            other => merge_schema(&other.inputs()),
        };
        let context = SimplifyContext::builder()
            .with_schema(Arc::new(schema))
            .with_config_options(config.options())
            .with_query_execution_start_time(config.query_execution_start_time())
            .build();
        let simplifier = ExprSimplifier::new(context);
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let folded = expr.transform_up(|part| fold(part, &simplifier))?;
            let transformed = folded.transformed;
            let expr = if transformed { name.restore(folded.data) } else { folded.data };
            Ok(Transformed::new_transformed(expr, transformed))
        })
    }
}

/// One operation whose operands were folded before.
fn fold(expr: Expr, simplifier: &ExprSimplifier) -> Result<Transformed<Expr>> {
    let (op, left, right) = match &expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply) =>
        {
            (*op, Some(left.as_ref()), right.as_ref())
        }
        Expr::Negative(operand) => (Operator::Minus, None, operand.as_ref()),
        _ => return Ok(Transformed::no(expr)),
    };
    if !left.is_none_or(may_be_constant) || !may_be_constant(right) {
        return Ok(Transformed::no(expr));
    }
    let Some(right_value) = constant(right, simplifier)? else {
        return Ok(Transformed::no(expr));
    };
    let left_value = match left {
        None => Number { value: 0, scale: right_value.scale },
        Some(left) => match constant(left, simplifier)? {
            Some(value) => value,
            None => return Ok(Transformed::no(expr)),
        },
    };
    let Ok(output) = expr.get_type(&DFSchema::empty()) else {
        return Ok(Transformed::no(expr));
    };
    let Some(range) = Range::of(&output) else {
        return Ok(Transformed::no(expr));
    };
    let computed = compute(op, left_value, right_value, range.scale).filter(|value| range.contains(*value));
    let folded = match computed.map(|value| literal(value, &output)) {
        Some(Some(scalar)) => Expr::Literal(scalar, None),
        Some(None) => return Ok(Transformed::no(expr)),
        None => {
            let overflow = Overflow::new(&expr, output);
            Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(ScalarUDF::from(overflow)), vec![]))
        }
    };
    Ok(Transformed::yes(folded))
}

/// False for what the simplifier never turns into a literal; saves the attempt for most operands.
fn may_be_constant(operand: &Expr) -> bool {
    if matches!(operand, Expr::BinaryExpr(_) | Expr::Negative(_)) {
        // Constant operations are folded by now. What is left becomes constant by an identity only, such as x * 0.
        return operand.exists(|part| Ok(is_identity(part))).unwrap_or(true);
    }
    !matches!(
        operand,
        Expr::Column(_)
            | Expr::OuterReferenceColumn(..)
            | Expr::AggregateFunction(_)
            | Expr::WindowFunction(_)
            | Expr::ScalarSubquery(_)
            | Expr::Placeholder(_)
    )
}

/// True for operations whose result doesn't depend on one of the operands, or may not.
fn is_identity(operation: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = operation else { return false };
    let is_literal = |operand: &Expr| matches!(operand, Expr::Literal(..) | Expr::Cast(_));
    match op {
        Operator::Plus => false,
        Operator::Minus | Operator::BitwiseXor => left == right,
        Operator::Multiply | Operator::Divide | Operator::Modulo | Operator::BitwiseAnd | Operator::BitwiseOr => {
            is_literal(left) || is_literal(right) || left == right
        }
        _ => true,
    }
}

/// The number that an operand always is, if the simplifier finds one.
fn constant(operand: &Expr, simplifier: &ExprSimplifier) -> Result<Option<Number>> {
    Ok(match operand {
        Expr::Literal(scalar, _) => Number::of(scalar),
        other => match simplifier.simplify(other.clone())? {
            Expr::Literal(scalar, _) => Number::of(&scalar),
            _ => None,
        },
    })
}

/// An integer, or a decimal as the integer that it is inside.
#[derive(Clone, Copy)]
struct Number {
    value: i128,
    scale: i8,
}

impl Number {
    /// `None` for NULL and for other types.
    fn of(scalar: &ScalarValue) -> Option<Self> {
        use ScalarValue as S;
        let (value, scale) = match scalar {
            S::Int8(value) => ((*value)?.into(), 0),
            S::Int16(value) => ((*value)?.into(), 0),
            S::Int32(value) => ((*value)?.into(), 0),
            S::Int64(value) => ((*value)?.into(), 0),
            S::UInt8(value) => ((*value)?.into(), 0),
            S::UInt16(value) => ((*value)?.into(), 0),
            S::UInt32(value) => ((*value)?.into(), 0),
            S::UInt64(value) => ((*value)?.into(), 0),
            S::Decimal128(value, _, scale) => ((*value)?, *scale),
            _ => return None,
        };
        Some(Self { value, scale })
    }

    /// The value with more digits after the point.
    fn scaled_to(self, scale: i8) -> Option<i128> {
        let digits = u32::try_from(i32::from(scale) - i32::from(self.scale)).ok()?;
        self.value.checked_mul(10_i128.checked_pow(digits)?)
    }
}

/// The values of an exact numeric type.
struct Range {
    min: i128,
    max: i128,
    scale: i8,
}

impl Range {
    fn of(data_type: &DataType) -> Option<Self> {
        let integers = |min: i128, max: i128| Some(Self { min, max, scale: 0 });
        match data_type {
            DataType::Int8 => integers(i8::MIN.into(), i8::MAX.into()),
            DataType::Int16 => integers(i16::MIN.into(), i16::MAX.into()),
            DataType::Int32 => integers(i32::MIN.into(), i32::MAX.into()),
            DataType::Int64 => integers(i64::MIN.into(), i64::MAX.into()),
            DataType::UInt8 => integers(0, u8::MAX.into()),
            DataType::UInt16 => integers(0, u16::MAX.into()),
            DataType::UInt32 => integers(0, u32::MAX.into()),
            DataType::UInt64 => integers(0, u64::MAX.into()),
            DataType::Decimal128(precision, scale) => {
                let max = 10_i128.checked_pow(u32::from(*precision))? - 1;
                Some(Self { min: -max, max, scale: *scale })
            }
            _ => None,
        }
    }

    fn contains(&self, value: i128) -> bool {
        (self.min..=self.max).contains(&value)
    }
}

/// The exact result in the output's scale; `None` beyond 128 bits.
fn compute(op: Operator, left: Number, right: Number, scale: i8) -> Option<i128> {
    match op {
        Operator::Plus => left.scaled_to(scale)?.checked_add(right.scaled_to(scale)?),
        Operator::Minus => left.scaled_to(scale)?.checked_sub(right.scaled_to(scale)?),
        _ => {
            let product = left.value.checked_mul(right.value)?;
            Number { value: product, scale: left.scale.checked_add(right.scale)? }.scaled_to(scale)
        }
    }
}

/// A value in the range of an exact numeric type.
fn literal(value: i128, output: &DataType) -> Option<ScalarValue> {
    Some(match output {
        DataType::UInt64 => ScalarValue::UInt64(Some(u64::try_from(value).ok()?)),
        DataType::Decimal128(precision, scale) => ScalarValue::Decimal128(Some(value), *precision, *scale),
        integer => ScalarValue::Int64(Some(i64::try_from(value).ok()?)).cast_to(integer).ok()?,
    })
}

/// Stands for an operation on constants whose result its type can't hold. Volatile, so that nobody computes it early.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Overflow {
    /// The operation, for the message.
    text: String,
    output: DataType,
    signature: Signature,
}

impl Overflow {
    fn new(operation: &Expr, output: DataType) -> Self {
        Self {
            text: operation.human_display().to_string(),
            output,
            signature: Signature::nullary(Volatility::Volatile),
        }
    }
}

impl ScalarUDFImpl for Overflow {
    fn name(&self) -> &str {
        "overflow"
    }

    fn display_name(&self, _arguments: &[Expr]) -> Result<String> {
        Ok(self.text.clone())
    }

    fn schema_name(&self, _arguments: &[Expr]) -> Result<String> {
        Ok(self.text.clone())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(self.output.clone())
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if arguments.number_rows == 0 {
            return Ok(ColumnarValue::Array(datafusion_common::arrow::array::new_empty_array(&self.output)));
        }
        let what = if self.output.is_decimal() { "decimal" } else { "integer" };
        let error = Error::user(format!("{what} overflow in {}", self.text))
            .with_hint("cast an operand to a wider type, such as BIGINT, DECIMAL(38, 0) or DOUBLE");
        Err(external(error))
    }
}

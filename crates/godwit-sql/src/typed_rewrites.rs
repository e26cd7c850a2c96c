//! Rewrites of expressions by the types of their operands, before the planner crates settle types.
//!
//! ```text
//! double * 0.5, double < 0.5, …    the decimal becomes DOUBLE; the planner crates would make a decimal of the double
//! CAST(2.5 AS INTEGER)             CAST(whole(2.5) AS INTEGER); Arrow, which folds constants, would cut off
//! length(list), len(list)          cardinality of the list; the planner crates know text only
//! list_sum(integers)               CAST(list_sum(integers) AS BIGINT); the planner crates sum as DOUBLE
//! ```

use std::sync::{Arc, LazyLock};

use arrow_schema::DataType;
use datafusion_common::arrow::array::cast::AsArray;
use datafusion_common::arrow::array::types::{Decimal128Type, Float32Type, Float64Type};
use datafusion_common::arrow::array::{ArrayRef, Decimal128Array};
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::Transformed;
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::expr::{Between, InList, ScalarFunction};
use datafusion_expr::expr_rewriter::FunctionRewrite;
use datafusion_expr::{
    BinaryExpr, Case, Cast, ColumnarValue, Expr, ExprSchemable, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, TryCast, Volatility, cast,
};

use crate::functions::FUNCTIONS;

/// Name of the function that rounds what a cast makes an integer of. `godwit-expression` leaves it out: its casts round.
const WHOLE: &str = "whole";

/// All rewrites, in the order in which they apply.
pub(crate) fn all() -> Vec<Arc<dyn FunctionRewrite + Send + Sync>> {
    vec![Arc::new(FloatsWin), Arc::new(CastsRound), Arc::new(ListFunctions)]
}

/// Where a float and a decimal meet, the float's type wins.
#[derive(Debug)]
struct FloatsWin;

impl FunctionRewrite for FloatsWin {
    fn name(&self) -> &str {
        "floats_win"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, _config: &ConfigOptions) -> Result<Transformed<Expr>> {
        let meets = |op: Operator| {
            use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
            op.is_numerical_operators()
                || matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
        };
        Ok(match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if meets(op) => {
                let mut operands = [*left, *right];
                let changed = unify(operands.iter_mut().collect(), schema);
                let [left, right] = operands;
                let binary = BinaryExpr { left: Box::new(left), op, right: Box::new(right) };
                Transformed::new_transformed(Expr::BinaryExpr(binary), changed)
            }
            Expr::Between(Between { mut expr, negated, mut low, mut high }) => {
                let changed = unify(vec![&mut expr, &mut low, &mut high], schema);
                Transformed::new_transformed(Expr::Between(Between { expr, negated, low, high }), changed)
            }
            Expr::InList(InList { mut expr, mut list, negated }) => {
                let changed = unify(std::iter::once(&mut *expr).chain(&mut list).collect(), schema);
                Transformed::new_transformed(Expr::InList(InList { expr, list, negated }), changed)
            }
            Expr::Case(Case { expr, mut when_then_expr, mut else_expr }) => {
                let results = when_then_expr.iter_mut().map(|(_, then)| &mut **then);
                let changed = unify(results.chain(else_expr.as_deref_mut()).collect(), schema);
                Transformed::new_transformed(Expr::Case(Case { expr, when_then_expr, else_expr }), changed)
            }
            Expr::ScalarFunction(mut call) if UNIFYING.contains(&call.func.name()) => {
                let changed = unify(call.args.iter_mut().collect(), schema);
                Transformed::new_transformed(Expr::ScalarFunction(call), changed)
            }
            other => Transformed::no(other),
        })
    }
}

/// Functions whose arguments have one type.
const UNIFYING: [&str; 5] = ["coalesce", "nullif", "greatest", "least", "make_array"];

/// Casts the decimals among expressions to the float type among them; false if there is nothing to do.
fn unify(exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    // Types that aren't known yet (placeholders) are left to the planner crates.
    let types: Vec<Option<DataType>> = exprs.iter().map(|expr| expr.get_type(schema).ok()).collect();
    let is_float = |ty: &&DataType| matches!(ty, DataType::Float32 | DataType::Float64);
    let Some(float) = types.iter().flatten().find(is_float) else { return false };
    let float = match types.contains(&Some(DataType::Float64)) {
        true => &DataType::Float64,
        false => float,
    };
    let mut changed = false;
    for (expr, ty) in exprs.into_iter().zip(&types) {
        if ty.as_ref().is_some_and(DataType::is_decimal) {
            let decimal = std::mem::take(expr);
            *expr = match &decimal {
                Expr::Literal(value, metadata) => match value.cast_to(float) {
                    Ok(value) => Expr::Literal(value, metadata.clone()),
                    Err(_) => cast(decimal, float.clone()),
                },
                _ => cast(decimal, float.clone()),
            };
            changed = true;
        }
    }
    changed
}

/// A cast to an integer rounds: decimals half away from zero, floats half to even.
#[derive(Debug)]
struct CastsRound;

impl FunctionRewrite for CastsRound {
    fn name(&self) -> &str {
        "casts_round"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, _config: &ConfigOptions) -> Result<Transformed<Expr>> {
        Ok(match expr {
            Expr::Cast(Cast { expr, field }) if field.data_type().is_integer() && has_fraction(&expr, schema) => {
                Transformed::yes(Expr::Cast(Cast { expr: Box::new(whole(*expr)), field }))
            }
            Expr::TryCast(TryCast { expr, field }) if field.data_type().is_integer() && has_fraction(&expr, schema) => {
                Transformed::yes(Expr::TryCast(TryCast { expr: Box::new(whole(*expr)), field }))
            }
            other => Transformed::no(other),
        })
    }
}

fn has_fraction(expr: &Expr, schema: &DFSchema) -> bool {
    let is_whole = matches!(expr, Expr::ScalarFunction(call) if call.func.name() == WHOLE);
    !is_whole
        && match expr.get_type(schema) {
            Ok(DataType::Decimal128(_, scale)) => scale > 0,
            Ok(ty) => matches!(ty, DataType::Float32 | DataType::Float64),
            Err(_) => false,
        }
}

fn whole(expr: Expr) -> Expr {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::any(1, Volatility::Immutable);
        Arc::new(ScalarUDF::from(Whole { signature }))
    });
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&FUNCTION), vec![expr]))
}

/// The nearest whole number, in the argument's type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Whole {
    signature: Signature,
}

impl ScalarUDFImpl for Whole {
    fn name(&self) -> &str {
        WHOLE
    }

    /// Only the cast around it was written.
    fn display_name(&self, arguments: &[Expr]) -> Result<String> {
        Ok(arguments[0].to_string())
    }

    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        Ok(arguments[0].schema_name().to_string())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments[0].clone())
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let array = ColumnarValue::values_to_arrays(&arguments.args)?.remove(0);
        let rounded: ArrayRef = match array.data_type() {
            DataType::Float32 => {
                let rounded = array.as_primitive::<Float32Type>().unary::<_, Float32Type>(f32::round_ties_even);
                Arc::new(rounded)
            }
            DataType::Float64 => {
                let rounded = array.as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::round_ties_even);
                Arc::new(rounded)
            }
            DataType::Decimal128(precision, scale) => {
                // The largest scale is 38, and 10^38 fits.
                let one = 10_i128.pow(scale.unsigned_abs().into());
                let decimals = array.as_primitive::<Decimal128Type>();
                let rounded: Decimal128Array = decimals.unary(|value| round_half_away(value, one));
                Arc::new(rounded.with_data_type(DataType::Decimal128(*precision, *scale)))
            }
            other => return datafusion_common::internal_err!("{other} has no fraction"),
        };
        Ok(match arguments.args.first() {
            Some(ColumnarValue::Scalar(_)) => ColumnarValue::Scalar(ScalarValue::try_from_array(&rounded, 0)?),
            _ => ColumnarValue::Array(rounded),
        })
    }
}

/// The multiple of `one` that is nearest, of two that are equally near the one away from zero.
fn round_half_away(value: i128, one: i128) -> i128 {
    let rest = value % one;
    let towards_zero = value - rest;
    if rest.unsigned_abs() >= one.unsigned_abs().div_ceil(2) {
        towards_zero + one * value.signum()
    } else {
        towards_zero
    }
}

/// Functions of lists with the types that users expect.
#[derive(Debug)]
struct ListFunctions;

impl FunctionRewrite for ListFunctions {
    fn name(&self) -> &str {
        "list_functions"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, _config: &ConfigOptions) -> Result<Transformed<Expr>> {
        let Expr::ScalarFunction(call) = &expr else { return Ok(Transformed::no(expr)) };
        let elements = match call.args.as_slice() {
            [argument] => elements_of(argument, schema),
            _ => None,
        };
        Ok(match (call.func.name(), elements) {
            ("character_length", Some(_)) => {
                let length = FUNCTIONS.scalar["array_length"].call(call.args.clone());
                Transformed::yes(cast(length, DataType::Int64))
            }
            ("list_sum" | "array_sum", Some(elements)) if elements.is_integer() => {
                Transformed::yes(cast(expr, DataType::Int64))
            }
            _ => Transformed::no(expr),
        })
    }
}

/// The type of a list's elements.
fn elements_of(list: &Expr, schema: &DFSchema) -> Option<DataType> {
    match list.get_type(schema) {
        Ok(DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _)) => {
            Some(field.data_type().clone())
        }
        _ => None,
    }
}

//! From the planner's aggregate expressions to aggregate calls.

use arrow_array::Array;
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::expr::{AggregateFunction, NullTreatment};
use datafusion_expr::{Expr, ExprSchemable};
use godwit_common::{Error, Result};
use godwit_expression::{CompileContext, Expression};
use godwit_vector::{ColumnType, PhysicalType, RowType};

/// What an aggregate computes.
#[derive(Debug, Clone, PartialEq)]
pub enum AggregateKind {
    /// Rows.
    CountStar,
    /// Values that aren't NULL.
    Count,
    /// Sum of integers, decimals, floats.
    Sum,
    /// Arithmetic mean.
    Avg,
    /// Smallest value.
    Min,
    /// Largest value.
    Max,
    /// Some value of the group; NULL only if there is no other.
    AnyValue,
    /// True if all are.
    BoolAnd,
    /// True if one is.
    BoolOr,
    /// Bitwise and.
    BitAnd,
    /// Bitwise or.
    BitOr,
    /// Bitwise exclusive or.
    BitXor,
    /// Variance of a sample.
    VarSamp,
    /// Variance of the population.
    VarPop,
    /// Standard deviation of a sample.
    StddevSamp,
    /// Standard deviation of the population.
    StddevPop,
    /// Standard error of the mean.
    Sem,
    /// Product of numbers, as a float.
    Product,
    /// Skewness of a sample.
    Skewness,
    /// Excess kurtosis of a sample.
    Kurtosis,
    /// Excess kurtosis of the population.
    KurtosisPop,
    /// What is known of pairs (y, x).
    Pairs(PairKind),
    /// The values at fractions of the sorted values: 0.5 is the median.
    Quantile {
        /// From 0 to 1.
        fractions: Vec<f64>,
        /// A value between two neighbours where the fraction falls there, else one of the values.
        interpolated: bool,
        /// The result is a list with a value per fraction; else there is one fraction.
        as_list: bool,
    },
    /// The median distance of the values to their median.
    MedianDeviation,
    /// A list of the best values of the group, the best one first.
    Best {
        /// Most values.
        rows: u64,
        /// Largest first, else smallest.
        largest: bool,
        /// They are compared by the second argument, else by themselves.
        by_other: bool,
    },
    /// The strings of the group, this separator between them.
    StringAgg(String),
    /// A list of all values, NULLs included.
    List,
    /// The value that occurs most often.
    Mode,
    /// How often each value occurs, as a map.
    Histogram,
    /// The entropy of the values' distribution, in bits.
    Entropy,
    /// The first argument in the row where the second is smallest.
    ArgMin,
    /// The first argument in the row where the second is largest.
    ArgMax,
    /// The first value in the order asked for.
    FirstValue {
        /// NULLs don't count as values.
        ignore_nulls: bool,
    },
    /// The last value in the order asked for.
    LastValue {
        /// NULLs don't count as values.
        ignore_nulls: bool,
    },
}

/// A measure of pairs (y, x), none of which has a NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the SQL functions")]
pub enum PairKind {
    Corr,
    CovarPop,
    CovarSamp,
    RegrCount,
    RegrAvgX,
    RegrAvgY,
    RegrSxx,
    RegrSyy,
    RegrSxy,
    RegrSlope,
    RegrIntercept,
    RegrR2,
}

/// A sort key of an ordered aggregate.
#[derive(Debug, Clone)]
pub struct AggregateOrder {
    /// What is compared.
    pub expression: Expression,
    /// Largest first.
    pub descending: bool,
    /// NULLs before all values.
    pub nulls_first: bool,
}

/// One aggregate of the SELECT list.
#[derive(Debug, Clone)]
pub struct AggregateCall {
    /// What it computes.
    pub kind: AggregateKind,
    /// Its arguments.
    pub arguments: Vec<Expression>,
    /// Only rows where this is TRUE count.
    pub filter: Option<Expression>,
    /// Equal arguments count once per group.
    pub distinct: bool,
    /// The order in which values are taken; empty if any will do.
    pub order_by: Vec<AggregateOrder>,
    /// The type of the result as the planner assigned it; the physical type may end up narrower.
    pub output: ColumnType,
}

/// Compiles group keys and aggregates over one input; equal subexpressions become one, which is evaluated once per row.
pub struct AggregateCompiler<'a> {
    schema: &'a DFSchema,
    input: &'a RowType,
    context: &'a CompileContext,
    compiled: Vec<(Expr, Expression)>,
}

impl<'a> AggregateCompiler<'a> {
    /// A compiler for expressions over `schema`, whose columns lie in memory as `input` says.
    pub fn new(schema: &'a DFSchema, input: &'a RowType, context: &'a CompileContext) -> Self {
        Self { schema, input, context, compiled: Vec::new() }
    }

    /// A group key or an argument.
    pub fn expression(&mut self, expr: &Expr) -> Result<Expression> {
        let bare = without_alias(expr);
        if let Some((_, known)) = self.compiled.iter().find(|(known, _)| known == bare) {
            return Ok(known.clone());
        }
        let expression = Expression::compile(bare, self.schema, self.input, self.context)?;
        if !expression.is_volatile() {
            self.compiled.push((bare.clone(), expression.clone()));
        }
        Ok(expression)
    }

    /// An aggregate.
    pub fn aggregate(&mut self, expr: &Expr) -> Result<AggregateCall> {
        let Expr::AggregateFunction(function) = without_alias(expr) else {
            return Err(Error::internal(format!("{expr} is not an aggregate")));
        };
        let params = &function.params;
        let (_, field) = expr.to_field(self.schema).map_err(|error| Error::user(error.strip_backtrace()))?;
        let output = ColumnType::new(field.data_type().clone(), field.is_nullable())?;
        let mut kind = kind_of(function)?;
        let arguments = match kind {
            AggregateKind::CountStar => &[][..],
            // The separator, the fraction and the number of values are part of the kind.
            AggregateKind::StringAgg(_) | AggregateKind::Quantile { .. } => &params.args[..1],
            AggregateKind::Best { by_other, .. } => &params.args[..1 + usize::from(by_other)],
            _ => &params.args[..],
        };
        let arguments = arguments
            .iter()
            .map(|argument| match kind {
                AggregateKind::Avg => self.expression(averaged(argument, self.schema)),
                _ => self.expression(argument),
            })
            .collect::<Result<Vec<_>>>()?;
        if let AggregateKind::Quantile { interpolated, .. } = &mut kind {
            // Nothing lies between two texts or truth values.
            *interpolated &= !matches!(arguments[0].output().physical, PhysicalType::Str | PhysicalType::Bool);
        }
        let filter = params.filter.as_ref().map(|filter| self.expression(filter)).transpose()?;
        let order_by = params
            .order_by
            .iter()
            .map(|sort| {
                let expression = self.expression(&sort.expr)?;
                Ok(AggregateOrder { expression, descending: !sort.asc, nulls_first: sort.nulls_first })
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(AggregateCall {
            distinct: params.distinct && kind.sees_duplicates(),
            kind,
            arguments,
            filter,
            order_by,
            output,
        })
    }
}

impl AggregateKind {
    /// True if it matters how often a value occurs.
    fn sees_duplicates(&self) -> bool {
        use AggregateKind::*;
        !matches!(
            self,
            Min | Max
                | AnyValue
                | BoolAnd
                | BoolOr
                | BitAnd
                | BitOr
                | ArgMin
                | ArgMax
                | FirstValue { .. }
                | LastValue { .. }
        )
    }

    /// True if rows without a value don't count.
    pub(super) fn skips_nulls(&self) -> bool {
        use AggregateKind::*;
        !matches!(self, CountStar | List | FirstValue { ignore_nulls: false } | LastValue { ignore_nulls: false })
    }

    /// The median.
    pub(crate) fn median() -> Self {
        AggregateKind::Quantile { fractions: vec![0.5], interpolated: true, as_list: false }
    }
}

fn without_alias(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => without_alias(&alias.expr),
        other => other,
    }
}

/// The argument of AVG without the planner's cast of integers to float: integers are summed exactly.
fn averaged<'e>(argument: &'e Expr, schema: &DFSchema) -> &'e Expr {
    match argument {
        Expr::Cast(cast) if cast.expr.get_type(schema).is_ok_and(|inner| inner.is_integer()) => &cast.expr,
        other => other,
    }
}

fn kind_of(function: &AggregateFunction) -> Result<AggregateKind> {
    let params = &function.params;
    let ignore_nulls = params.null_treatment == Some(NullTreatment::IgnoreNulls);
    let is_constant = |argument: &Expr| matches!(argument, Expr::Literal(scalar, _) if !scalar.is_null());
    Ok(match function.func.name() {
        "count" if !params.distinct && params.args.iter().all(is_constant) => AggregateKind::CountStar,
        "count" => AggregateKind::Count,
        "sum" => AggregateKind::Sum,
        "avg" | "mean" => AggregateKind::Avg,
        "min" => AggregateKind::Min,
        "max" => AggregateKind::Max,
        "any_value" => AggregateKind::AnyValue,
        "bool_and" => AggregateKind::BoolAnd,
        "bool_or" => AggregateKind::BoolOr,
        "bit_and" => AggregateKind::BitAnd,
        "bit_or" => AggregateKind::BitOr,
        "bit_xor" => AggregateKind::BitXor,
        "var" | "var_samp" => AggregateKind::VarSamp,
        "var_pop" => AggregateKind::VarPop,
        "stddev" => AggregateKind::StddevSamp,
        "stddev_pop" => AggregateKind::StddevPop,
        "sem" => AggregateKind::Sem,
        "product" => AggregateKind::Product,
        "skewness" => AggregateKind::Skewness,
        "kurtosis" => AggregateKind::Kurtosis,
        "kurtosis_pop" => AggregateKind::KurtosisPop,
        "fsum" => AggregateKind::Sum,
        "median" => AggregateKind::median(),
        "quantile_cont" => quantile_of(params.args.get(1), true)?,
        "quantile_disc" | "approx_quantile" => quantile_of(params.args.get(1), false)?,
        "mad" => AggregateKind::MedianDeviation,
        "min_n" | "max_n" | "arg_min_n" | "arg_max_n" => {
            let name = function.func.name();
            let (largest, by_other) = (name.contains("max"), name.starts_with("arg"));
            AggregateKind::Best { rows: rows_of(params.args.last())?, largest, by_other }
        }
        "mode" => AggregateKind::Mode,
        "histogram" => AggregateKind::Histogram,
        "entropy" => AggregateKind::Entropy,
        "arg_min" => AggregateKind::ArgMin,
        "arg_max" => AggregateKind::ArgMax,
        "array_agg" => AggregateKind::List,
        "string_agg" => AggregateKind::StringAgg(separator_of(params.args.get(1))?),
        "first_value" => AggregateKind::FirstValue { ignore_nulls },
        "last_value" => AggregateKind::LastValue { ignore_nulls },
        other => match pair_kind(other) {
            Some(kind) => AggregateKind::Pairs(kind),
            None => return Err(Error::unsupported(format!("the aggregate function {other}"))),
        },
    })
}

fn pair_kind(name: &str) -> Option<PairKind> {
    Some(match name {
        "corr" => PairKind::Corr,
        "covar_pop" => PairKind::CovarPop,
        "covar_samp" => PairKind::CovarSamp,
        "regr_count" => PairKind::RegrCount,
        "regr_avgx" => PairKind::RegrAvgX,
        "regr_avgy" => PairKind::RegrAvgY,
        "regr_sxx" => PairKind::RegrSxx,
        "regr_syy" => PairKind::RegrSyy,
        "regr_sxy" => PairKind::RegrSxy,
        "regr_slope" => PairKind::RegrSlope,
        "regr_intercept" => PairKind::RegrIntercept,
        "regr_r2" => PairKind::RegrR2,
        _ => return None,
    })
}

fn literal_of(argument: Option<&Expr>) -> Option<&ScalarValue> {
    match without_alias(argument?) {
        Expr::Literal(scalar, _) => Some(scalar),
        _ => None,
    }
}

/// A quantile at one fraction or at a list of them.
fn quantile_of(argument: Option<&Expr>, interpolated: bool) -> Result<AggregateKind> {
    let wrong = || {
        Error::user("the fraction of a quantile is not a number from 0 to 1")
            .with_hint("write it as a literal, such as 0.95 or [0.25, 0.75]")
    };
    let scalars = match argument.map(without_alias) {
        Some(Expr::Literal(ScalarValue::List(list), _)) if list.len() == 1 => {
            let items = list.value(0);
            let item = |row| ScalarValue::try_from_array(&items, row).map_err(|_| wrong());
            Some((0..items.len()).map(item).collect::<Result<Vec<_>>>()?)
        }
        Some(Expr::ScalarFunction(call)) if call.func.name() == "make_array" => {
            let scalars = call.args.iter().map(|item| literal_of(Some(item)).cloned().ok_or_else(wrong));
            Some(scalars.collect::<Result<_>>()?)
        }
        Some(Expr::Cast(cast)) => match quantile_of(Some(&cast.expr), interpolated)? {
            AggregateKind::Quantile { fractions, as_list: true, .. } => {
                Some(fractions.into_iter().map(ScalarValue::from).collect())
            }
            single => return Ok(single),
        },
        _ => None,
    };
    let as_list = scalars.is_some();
    let scalars = match scalars {
        Some(scalars) => scalars,
        None => vec![literal_of(argument).cloned().ok_or_else(wrong)?],
    };
    let fraction = |scalar: ScalarValue| match scalar.cast_to(&arrow_schema::DataType::Float64) {
        Ok(ScalarValue::Float64(Some(fraction))) if (0.0..=1.0).contains(&fraction) => Ok(fraction),
        _ => Err(wrong()),
    };
    let fractions: Vec<f64> = scalars.into_iter().map(fraction).collect::<Result<_>>()?;
    if fractions.is_empty() { Err(wrong()) } else { Ok(AggregateKind::Quantile { fractions, interpolated, as_list }) }
}

/// Most values that a list of the best ones may have.
const BEST_ROWS_MAX: i64 = 1_000_000;

/// How many of the best values are wanted.
fn rows_of(argument: Option<&Expr>) -> Result<u64> {
    let rows = match argument.map(without_alias) {
        Some(Expr::Cast(cast)) => return rows_of(Some(&cast.expr)),
        argument => literal_of(argument).and_then(|scalar| scalar.cast_to(&arrow_schema::DataType::Int64).ok()),
    };
    match rows {
        Some(ScalarValue::Int64(Some(rows))) if (1..=BEST_ROWS_MAX).contains(&rows) => Ok(rows as u64),
        _ => Err(Error::user(format!("the number of values to find is not a constant from 1 to {BEST_ROWS_MAX}"))
            .with_hint("write it as a literal, such as max(x, 3)")),
    }
}

fn separator_of(argument: Option<&Expr>) -> Result<String> {
    if argument.is_none() {
        return Ok(",".to_owned());
    }
    match literal_of(argument) {
        Some(scalar) if scalar.is_null() => Ok(String::new()),
        Some(ScalarValue::Utf8(Some(s)) | ScalarValue::LargeUtf8(Some(s)) | ScalarValue::Utf8View(Some(s))) => {
            Ok(s.clone())
        }
        _ => Err(Error::user("the separator of string_agg is not a literal")),
    }
}

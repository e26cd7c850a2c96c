//! From the planner's window expressions to window calls.

use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::expr::{AggregateFunction, NullTreatment, WindowFunction as WindowExpr};
use datafusion_expr::{Expr, ExprSchemable, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition};
use godwit_common::{Error, Result};
use godwit_expression::{CompileContext, Expression};
use godwit_vector::{ColumnType, PhysicalType, RowType};

use super::frame::{Frame, FrameBound, FrameUnits};
use super::range::RangeOffset;
use crate::hash_aggregate::{AggregateCall, AggregateCompiler, AggregateKind};

/// What a window function computes for each row.
#[derive(Debug, Clone)]
pub enum WindowFunction {
    /// The row's number in its partition, from 1 on.
    RowNumber,
    /// The number of the first of the row's peers.
    Rank,
    /// The number of the row's group of peers.
    DenseRank,
    /// (rank − 1) / (rows − 1).
    PercentRank,
    /// The share of rows that are not behind the row's peers.
    CumeDist,
    /// The number of the row's bucket, of so many that differ by one row at most.
    Ntile(u64),
    /// The value of the row this far behind; before, if negative. The second argument, if any, is the value where there
    /// is no such row.
    Shift {
        /// Rows.
        offset: i64,
        /// Rows whose value is NULL don't count.
        ignore_nulls: bool,
    },
    /// The n-th value of the frame, from 1 on; from its end, if negative.
    Nth {
        /// Never 0.
        n: i64,
        /// Rows whose value is NULL don't count.
        ignore_nulls: bool,
    },
    /// An aggregate over the frame.
    Aggregate(AggregateCall),
    /// An aggregate over the frame that has no state of a fixed size.
    Listed(ListedKind),
}

/// Aggregates that keep the values of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum ListedKind {
    /// The smallest string.
    Min,
    /// The largest string.
    Max,
    /// Number of different values.
    CountDistinct,
    /// The value at a fraction of the sorted values, interpolated between neighbours.
    Quantile(f64),
    /// The strings of the frame, this separator between them.
    StringAgg(String),
}

/// A window function of a query.
#[derive(Debug, Clone)]
pub struct WindowCall {
    /// What it computes.
    pub function: WindowFunction,
    /// Its arguments, but for constants and those of aggregates.
    pub arguments: Vec<Expression>,
    /// The rows that it looks at, if it depends on a frame.
    pub frame: Frame,
    /// The type of the result; the physical type may be narrower than the natural one.
    pub output: ColumnType,
}

/// Compiles window expressions over one input.
pub struct WindowCompiler<'a> {
    schema: &'a DFSchema,
    input: &'a RowType,
    context: &'a CompileContext,
    aggregates: AggregateCompiler<'a>,
}

impl<'a> WindowCompiler<'a> {
    /// A compiler for expressions over `schema`, whose columns lie in memory as `input` says.
    pub fn new(schema: &'a DFSchema, input: &'a RowType, context: &'a CompileContext) -> Self {
        Self { schema, input, context, aggregates: AggregateCompiler::new(schema, input, context) }
    }

    /// An argument or a key.
    pub fn expression(&mut self, expr: &Expr) -> Result<Expression> {
        Expression::compile(expr, self.schema, self.input, self.context)
    }

    /// A window function; `expr` is the expression that it is the content of.
    pub fn call(&mut self, expr: &Expr, window: &WindowExpr) -> Result<WindowCall> {
        let params = &window.params;
        let ignore_nulls = params.null_treatment == Some(NullTreatment::IgnoreNulls);
        let frame = frame_of(&params.window_frame)?;
        let (_, field) = expr.to_field(self.schema).map_err(|error| Error::user(error.strip_backtrace()))?;
        let mut output = ColumnType::new(field.data_type().clone(), true)?;
        let name = window.fun.name();
        let mut arguments = Vec::new();
        if params.filter.is_some() && matches!(window.fun, WindowFunctionDefinition::WindowUDF(_)) {
            return Err(Error::unsupported(format!("FILTER with the window function {name}"))
                .with_hint("only aggregates take a FILTER"));
        }
        let function = match name {
            "row_number" => WindowFunction::RowNumber,
            "rank" => WindowFunction::Rank,
            "dense_rank" => WindowFunction::DenseRank,
            "percent_rank" => WindowFunction::PercentRank,
            "cume_dist" => WindowFunction::CumeDist,
            "ntile" => match integer_of(params.args.first())? {
                Some(buckets) if buckets > 0 => WindowFunction::Ntile(buckets as u64),
                _ => return Err(Error::user("ntile needs a constant number of buckets above 0")),
            },
            "lag" | "lead" => {
                let offset = match params.args.get(1) {
                    None => 1,
                    some => integer_of(some)?
                        .ok_or_else(|| Error::user(format!("the offset of {name} is not a constant number")))?,
                };
                let offset = if name == "lag" { offset.checked_neg() } else { Some(offset) };
                let offset = offset.ok_or_else(|| Error::user(format!("the offset of {name} is too large")))?;
                arguments = self.shift_arguments(&params.args, &mut output)?;
                WindowFunction::Shift { offset, ignore_nulls }
            }
            "first_value" | "last_value" | "nth_value" | "any_value" => {
                let n = match name {
                    "last_value" => -1,
                    "nth_value" => match integer_of(params.args.get(1))? {
                        None | Some(0) => {
                            return Err(Error::user("nth_value needs a constant number that isn't 0"));
                        }
                        Some(n) => n,
                    },
                    _ => 1,
                };
                let value = self.expression(&params.args[0])?;
                keep_type(&mut output, value.output());
                arguments.push(value);
                WindowFunction::Nth { n, ignore_nulls: ignore_nulls || name == "any_value" }
            }
            _ => {
                let call = self.aggregate(window)?;
                match listed_kind(&call)? {
                    Some(kind) => {
                        let value = self.expression(&filtered(&params.args[0], params.filter.as_deref())?)?;
                        super::listed::check(&kind, value.output().physical, name)?;
                        if matches!(kind, ListedKind::Min | ListedKind::Max) {
                            keep_type(&mut output, value.output());
                        }
                        output.nullable = kind != ListedKind::CountDistinct;
                        arguments.push(value);
                        WindowFunction::Listed(kind)
                    }
                    None => WindowFunction::Aggregate(call),
                }
            }
        };
        if matches!(
            function,
            WindowFunction::RowNumber
                | WindowFunction::Rank
                | WindowFunction::DenseRank
                | WindowFunction::PercentRank
                | WindowFunction::CumeDist
                | WindowFunction::Ntile(_)
        ) {
            output.nullable = false;
        }
        Ok(WindowCall { function, arguments, frame, output })
    }

    /// The value and the default of LAG and LEAD, in one physical type.
    fn shift_arguments(&mut self, args: &[Expr], output: &mut ColumnType) -> Result<Vec<Expression>> {
        let value = self.expression(&args[0].clone().cast_to(&output.logical, self.schema).map_err(not_castable)?)?;
        let default = match args.get(2) {
            None | Some(Expr::Literal(ScalarValue::Null, _)) => {
                keep_type(output, value.output());
                return Ok(vec![value]);
            }
            Some(default) => default.clone().cast_to(&output.logical, self.schema).map_err(not_castable)?,
        };
        let default = self.expression(&default)?;
        output.physical = crate::planner::common_physical(value.output().physical, default.output().physical);
        output.nullable = true;
        Ok(vec![value.with_physical(output.physical), default.with_physical(output.physical)])
    }

    fn aggregate(&mut self, window: &WindowExpr) -> Result<AggregateCall> {
        let WindowFunctionDefinition::AggregateUDF(function) = &window.fun else {
            return Err(Error::unsupported(format!("the window function {}", window.fun.name())));
        };
        let params = &window.params;
        let aggregate = Expr::AggregateFunction(AggregateFunction::new_udf(
            function.clone(),
            params.args.clone(),
            params.distinct,
            params.filter.clone(),
            Vec::new(),
            params.null_treatment,
        ));
        let mut call = self.aggregates.aggregate(&aggregate)?;
        // A frame may be empty.
        call.output.nullable = !matches!(call.kind, AggregateKind::Count | AggregateKind::CountStar);
        Ok(call)
    }
}

/// How an aggregate keeps the values of its frame, if it has to.
fn listed_kind(call: &AggregateCall) -> Result<Option<ListedKind>> {
    let is_text = call.arguments.first().is_some_and(|argument| argument.output().physical == PhysicalType::Str);
    Ok(Some(match &call.kind {
        AggregateKind::Count if call.distinct && call.arguments.len() == 1 => ListedKind::CountDistinct,
        _ if call.distinct => {
            return Err(Error::unsupported("this aggregate with DISTINCT as a window function")
                .with_hint("mark the first row of each value with row_number() in a subquery, and aggregate those"));
        }
        AggregateKind::Min if is_text => ListedKind::Min,
        AggregateKind::Max if is_text => ListedKind::Max,
        AggregateKind::Quantile { fractions, interpolated: true, as_list: false } => ListedKind::Quantile(fractions[0]),
        AggregateKind::StringAgg(separator) => ListedKind::StringAgg(separator.clone()),
        _ => return Ok(None),
    }))
}

/// The argument where the filter is true, else NULL.
fn filtered(argument: &Expr, filter: Option<&Expr>) -> Result<Expr> {
    match filter {
        None => Ok(argument.clone()),
        Some(filter) => datafusion_expr::when(filter.clone(), argument.clone()).end().map_err(not_castable),
    }
}

fn not_castable(error: datafusion_common::DataFusionError) -> Error {
    Error::user(error.strip_backtrace())
}

/// The result lies in memory like the argument.
fn keep_type(output: &mut ColumnType, argument: &ColumnType) {
    output.physical = argument.physical;
    output.range = argument.range;
}

/// The number that an expression is; `None` if it is something else.
fn integer_of(expr: Option<&Expr>) -> Result<Option<i64>> {
    match expr {
        Some(Expr::Alias(alias)) => integer_of(Some(&alias.expr)),
        Some(Expr::Cast(cast)) => integer_of(Some(&cast.expr)),
        Some(Expr::Negative(inner)) => Ok(integer_of(Some(inner))?.and_then(i64::checked_neg)),
        Some(Expr::Literal(scalar, _)) => Ok(match scalar.cast_to(&arrow_schema::DataType::Int64) {
            Ok(ScalarValue::Int64(number)) => number,
            _ => None,
        }),
        _ => Ok(None),
    }
}

fn frame_of(frame: &WindowFrame) -> Result<Frame> {
    let units = match frame.units {
        WindowFrameUnits::Rows => FrameUnits::Rows,
        WindowFrameUnits::Groups => FrameUnits::Groups,
        WindowFrameUnits::Range => FrameUnits::Range,
    };
    let shifted = |scalar: &ScalarValue, sign: i64| match units {
        FrameUnits::Range => Ok(FrameBound::ShiftedValue(distance_of(scalar, sign)?)),
        _ => match scalar.cast_to(&arrow_schema::DataType::UInt64) {
            // Nothing is further away than what an i64 counts.
            Ok(ScalarValue::UInt64(Some(rows))) => {
                Ok(FrameBound::Shifted(sign * i64::try_from(rows).unwrap_or(i64::MAX / 2).min(i64::MAX / 2)))
            }
            _ => Err(Error::user(format!("the frame bound {scalar} is not a number of rows"))),
        },
    };
    let bound = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(offset) if offset.is_null() => Ok(FrameBound::UnboundedPreceding),
        WindowFrameBound::Following(offset) if offset.is_null() => Ok(FrameBound::UnboundedFollowing),
        WindowFrameBound::Preceding(offset) => shifted(offset, -1),
        WindowFrameBound::Following(offset) => shifted(offset, 1),
        WindowFrameBound::CurrentRow => Ok(FrameBound::CurrentRow),
    };
    Ok(Frame { units, start: bound(&frame.start_bound)?, end: bound(&frame.end_bound)? })
}

/// A distance in value, with a sign.
fn distance_of(scalar: &ScalarValue, sign: i64) -> Result<RangeOffset> {
    let integer = match *scalar {
        ScalarValue::Float32(Some(value)) => return not_negative(value as f64, scalar, sign),
        ScalarValue::Float64(Some(value)) => return not_negative(value, scalar, sign),
        ScalarValue::IntervalMonthDayNano(Some(interval)) => {
            return Ok(RangeOffset::Interval {
                months: sign as i32 * interval.months,
                days: sign as i32 * interval.days,
                nanoseconds: sign * interval.nanoseconds,
            });
        }
        ScalarValue::Int8(Some(value)) => value as i128,
        ScalarValue::Int16(Some(value)) => value as i128,
        ScalarValue::Int32(Some(value)) => value as i128,
        ScalarValue::Int64(Some(value)) => value as i128,
        ScalarValue::UInt8(Some(value)) => value as i128,
        ScalarValue::UInt16(Some(value)) => value as i128,
        ScalarValue::UInt32(Some(value)) => value as i128,
        ScalarValue::UInt64(Some(value)) => value as i128,
        ScalarValue::Decimal32(Some(value), _, _) => value as i128,
        ScalarValue::Decimal64(Some(value), _, _) => value as i128,
        ScalarValue::Decimal128(Some(value), _, _) => value,
        _ => return Err(Error::unsupported(format!("RANGE with the offset {scalar}"))),
    };
    if integer < 0 {
        return Err(negative(scalar));
    }
    Ok(RangeOffset::Integer(sign as i128 * integer))
}

fn not_negative(value: f64, scalar: &ScalarValue, sign: i64) -> Result<RangeOffset> {
    if value >= 0.0 { Ok(RangeOffset::Float(sign as f64 * value)) } else { Err(negative(scalar)) }
}

fn negative(scalar: &ScalarValue) -> Error {
    Error::user(format!("the frame bound {scalar} is negative"))
        .with_hint("swap PRECEDING and FOLLOWING, and give the distance without a sign")
}

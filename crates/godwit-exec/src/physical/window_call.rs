//! Translates the plan's window calls to those of the operator. Functions are identified by name.
//!
//! Inside the operator, nested values are bytes: a nested result has the nested type, but is stored as strings.

use godwit_common::{Error, Result, SqlState};
use godwit_expression::{Expression, Layout, PlanContext};
use godwit_functions::AggregateImplementation;
use godwit_plan::{
    AggregateCall as PlanAggregate, AggregateFunction, Expr, Frame as PlanFrame, FrameBound as PlanBound,
    FrameUnits as PlanUnits, WindowCall as Planned, WindowTarget,
};
use godwit_types::{SqlType, Value, cast_value};
use godwit_vector::sql::column_type;
use godwit_vector::sql::value_at;
use godwit_vector::{Chunk, ColumnType, PhysicalType, to_arrow};

use super::aggregate_call::AggregateCompiler;
use super::stored::{as_stored, common_physical};
use crate::hash_aggregate::{AggregateCall, AggregateKind, has_state};
use crate::window::{
    Frame, FrameBound, FrameUnits, ListedKind, WindowCall, WindowFunction, distance_of, grouped_call, invalid_distance,
};

/// No columns: the layout for constants.
const NOTHING: Layout<'_> = Layout { columns: &[], types: &[] };

/// Compiles window calls over one input.
pub(super) struct WindowCompiler<'a> {
    layout: Layout<'a>,
    context: &'a PlanContext,
    aggregates: AggregateCompiler<'a>,
    /// Distances that depend on the row, of all calls.
    pub(super) distances: Vec<Expression>,
}

impl<'a> WindowCompiler<'a> {
    pub(super) fn new(layout: Layout<'a>, context: &'a PlanContext) -> Self {
        Self { layout, context, aggregates: AggregateCompiler::new(layout, context), distances: Vec::new() }
    }

    /// An argument or key.
    pub(super) fn expression(&mut self, expr: &Expr) -> Result<Expression> {
        Expression::compile(expr, self.layout, self.context)
    }

    /// A window function.
    pub(super) fn call(&mut self, call: &Planned) -> Result<WindowCall> {
        self.call_of(call).map_err(|error| error.at_span(call.span))
    }

    fn call_of(&mut self, call: &Planned) -> Result<WindowCall> {
        // They arrive in the window's order anyway.
        let has_own_order = !call.argument_order.is_empty() && call.argument_order != call.order_by;
        let frame = self.frame(&call.frame)?;
        let mut output = column_type(&call.ty, true)?;
        let (function, arguments) = match &call.function {
            WindowTarget::Aggregate(function) if has_own_order || !picks_a_row(&function.name) => {
                self.aggregate(call, function, &mut output)?
            }
            WindowTarget::Window(_) if has_own_order => {
                return Err(Error::unsupported(format!("an order of the arguments of {}", call.name()))
                    .with_hint("order the window"));
            }
            _ if call.filter.is_some() => {
                return Err(Error::unsupported(format!("FILTER with the window function {}", call.name()))
                    .with_hint("only aggregates take a FILTER"));
            }
            _ => self.positional(call, &mut output)?,
        };
        Ok(WindowCall { function, arguments, frame, output })
    }

    /// A function that depends on a row's position, or takes the value of another row.
    fn positional(&mut self, call: &Planned, output: &mut ColumnType) -> Result<(WindowFunction, Vec<Expression>)> {
        let ignore_nulls = call.ignore_nulls;
        let ranking = match call.name() {
            "row_number" => Some(WindowFunction::RowNumber),
            "rank" => Some(WindowFunction::Rank),
            "dense_rank" => Some(WindowFunction::DenseRank),
            "percent_rank" => Some(WindowFunction::PercentRank),
            "cume_dist" => Some(WindowFunction::CumeDist),
            "ntile" => match self.integer(call.args.first())? {
                Some(buckets) if buckets > 0 => Some(WindowFunction::Ntile(buckets as u64)),
                _ => {
                    return Err(Error::user("ntile needs a constant number of buckets above 0")
                        .with_code(SqlState::INVALID_PARAMETER_VALUE));
                }
            },
            _ => None,
        };
        if let Some(ranking) = ranking {
            output.nullable = false;
            return Ok((ranking, Vec::new()));
        }
        match call.name() {
            "lag" | "lead" => self.shift(call, output),
            name @ ("first_value" | "last_value" | "nth_value" | "any_value") => {
                let n = match name {
                    "last_value" => -1,
                    "nth_value" => match self.integer(call.args.get(1))? {
                        None | Some(0) => {
                            return Err(Error::user("nth_value needs a constant number that isn't 0")
                                .with_code(SqlState::INVALID_PARAMETER_VALUE));
                        }
                        Some(n) => n,
                    },
                    _ => 1,
                };
                let value = as_stored(&self.expression(&call.args[0])?);
                keep_type(output, value.output());
                Ok((WindowFunction::Nth { n, ignore_nulls: ignore_nulls || name == "any_value" }, vec![value]))
            }
            name => Err(Error::unsupported(format!("the window function {name}"))),
        }
    }

    /// LAG or LEAD.
    fn shift(&mut self, call: &Planned, output: &mut ColumnType) -> Result<(WindowFunction, Vec<Expression>)> {
        let (ignore_nulls, backwards) = (call.ignore_nulls, call.name() == "lag");
        let mut arguments = self.shift_arguments(&call.args, output)?;
        let wrong = |what: &str| {
            let error = Error::user(format!("the offset of {} is {what}", call.name()));
            error.with_code(SqlState::INVALID_PARAMETER_VALUE)
        };
        let offset = match call.args.get(1) {
            None => 1,
            Some(offset) if is_constant(offset) => {
                self.integer(Some(offset))?.ok_or_else(|| wrong("not a constant number"))?
            }
            Some(_) if ignore_nulls => {
                return Err(Error::unsupported(format!("{} with IGNORE NULLS and an offset of each row", call.name())));
            }
            Some(offset) => {
                arguments.insert(1, self.expression(offset)?.with_physical(PhysicalType::I64));
                return Ok((WindowFunction::ShiftByColumn { backwards }, arguments));
            }
        };
        let offset = if backwards { offset.checked_neg() } else { Some(offset) };
        let offset = offset.ok_or_else(|| wrong("too large"))?;
        Ok((WindowFunction::Shift { offset, ignore_nulls }, arguments))
    }

    /// The value and the default of LAG and LEAD, with a common physical type.
    fn shift_arguments(&mut self, args: &[Expr], output: &mut ColumnType) -> Result<Vec<Expression>> {
        let value = as_stored(&self.expression(&args[0])?);
        let default = match args.get(2) {
            None => None,
            Some(default) if default.as_literal().is_some_and(Value::is_null) => None,
            Some(default) => Some(as_stored(&self.expression(default)?)),
        };
        let Some(default) = default else {
            keep_type(output, value.output());
            return Ok(vec![value]);
        };
        output.physical = common_physical(value.output().physical, default.output().physical);
        output.nullable = true;
        Ok(vec![value.with_physical(output.physical), default.with_physical(output.physical)])
    }

    /// An aggregate over the frame.
    fn aggregate(
        &mut self,
        call: &Planned,
        function: &AggregateFunction,
        output: &mut ColumnType,
    ) -> Result<(WindowFunction, Vec<Expression>)> {
        let is_order_of_window = call.argument_order == call.order_by && !AggregateImplementation::takes_key(function);
        let order = if is_order_of_window { &[][..] } else { &call.argument_order };
        let mut compiled = self.aggregates.aggregate(&PlanAggregate {
            function: function.clone(),
            args: call.args.clone(),
            distinct: call.distinct,
            filter: call.filter.clone(),
            order_by: order.to_vec(),
            ignore_nulls: call.ignore_nulls,
            ty: call.ty.clone(),
            nullable: call.nullable,
            span: call.span,
        })?;
        compiled.arguments.iter_mut().for_each(|argument| *argument = as_stored(argument));
        // A frame may be empty.
        compiled.output.nullable = !matches!(compiled.kind, AggregateKind::Count | AggregateKind::CountStar);
        let Some(kind) = ListedKind::of(&compiled) else {
            if has_state(&compiled)? {
                return Ok((WindowFunction::Aggregate(compiled), Vec::new()));
            }
            compiled.order_by.iter_mut().for_each(|order| order.expression = as_stored(&order.expression));
            let (function, arguments, ty) = grouped_call(compiled)?;
            *output = ty;
            return Ok((function, arguments));
        };
        let value = self.filtered(call, &compiled)?;
        if matches!(kind, ListedKind::Min | ListedKind::Max) {
            keep_type(output, value.output());
        }
        output.nullable = kind != ListedKind::CountDistinct;
        Ok((WindowFunction::Listed(kind), vec![value]))
    }

    /// The argument of an aggregate where its filter is TRUE, else NULL.
    fn filtered(&mut self, call: &Planned, compiled: &AggregateCall) -> Result<Expression> {
        let Some(filter) = &call.filter else { return Ok(compiled.arguments[0].clone()) };
        let argument = call.args[0].clone();
        let ty = argument.ty.clone();
        let kind = godwit_plan::ExprKind::Case { branches: vec![(filter.clone(), argument)], otherwise: None };
        Ok(as_stored(&self.expression(&Expr::new(kind, ty, true))?))
    }

    /// The value of a constant expression; `None` for others.
    fn constant(&self, expr: &Expr) -> Result<Option<Value>> {
        if !is_constant(expr) {
            return Ok(None);
        }
        let value = Expression::compile(expr, NOTHING, self.context)?;
        let array = to_arrow(&value.evaluate(&Chunk::new(Vec::new(), 1))?, &value.output().logical)?;
        value_at(&array, 0, &expr.ty).map(Some)
    }

    /// The integer value of an argument; `None` if it is NULL or missing.
    fn integer(&self, expr: Option<&Expr>) -> Result<Option<i64>> {
        let Some(expr) = expr else { return Ok(None) };
        let constant = self.constant(expr)?.ok_or_else(|| {
            Error::unsupported("an argument of a window function that isn't constant").at_span(expr.span)
        })?;
        Ok(whole_number(&constant, &expr.ty))
    }

    fn frame(&mut self, frame: &PlanFrame) -> Result<Frame> {
        let units = match frame.units {
            PlanUnits::Rows => FrameUnits::Rows,
            PlanUnits::Groups => FrameUnits::Groups,
            PlanUnits::Range => FrameUnits::Range,
        };
        let (start, end) = (self.bound(&frame.start, units)?, self.bound(&frame.end, units)?);
        Ok(Frame { units, start, end, exclude: frame.exclude })
    }

    fn bound(&mut self, bound: &PlanBound, units: FrameUnits) -> Result<FrameBound> {
        match bound {
            PlanBound::UnboundedPreceding => Ok(FrameBound::UnboundedPreceding),
            PlanBound::CurrentRow => Ok(FrameBound::CurrentRow),
            PlanBound::UnboundedFollowing => Ok(FrameBound::UnboundedFollowing),
            PlanBound::Preceding(distance) => self.distant(distance, units, false),
            PlanBound::Following(distance) => self.distant(distance, units, true),
        }
    }

    fn distant(&mut self, distance: &Expr, units: FrameUnits, is_following: bool) -> Result<FrameBound> {
        let Some(value) = self.constant(distance)? else {
            return Ok(FrameBound::Varying { distance: self.distance(distance)?, is_following });
        };
        let wrong = |what| invalid_distance(what).at_span(distance.span);
        if value.is_null() {
            return Err(wrong("NULL"));
        }
        let sign = if is_following { 1 } else { -1 };
        if units == FrameUnits::Range {
            return Ok(FrameBound::ShiftedValue(distance_of(&value, sign)?));
        }
        match whole_number(&value, &distance.ty) {
            // No distance exceeds an i64.
            Some(rows) if rows >= 0 => Ok(FrameBound::Shifted(sign * rows.min(i64::MAX / 2))),
            Some(_) => Err(wrong("negative")),
            None => Err(Error::internal(format!("a number of rows is a BIGINT, not {value:?}"))),
        }
    }

    /// The index of a distance that depends on the row.
    fn distance(&mut self, distance: &Expr) -> Result<usize> {
        let compiled = self.expression(distance)?;
        let known = self.distances.iter().position(|known| known.is_same(&compiled) && !compiled.is_volatile());
        Ok(known.unwrap_or_else(|| {
            self.distances.push(compiled);
            self.distances.len() - 1
        }))
    }
}

/// Whether it doesn't depend on the row.
fn is_constant(expr: &Expr) -> bool {
    expr.columns().is_empty() && !expr.has_subquery() && !expr.is_volatile()
}

/// Aggregates that, with OVER, take the value of one row of the frame.
fn picks_a_row(name: &str) -> bool {
    matches!(name, "first_value" | "last_value" | "nth_value" | "any_value")
}

/// Gives the result the argument's physical type.
fn keep_type(output: &mut ColumnType, argument: &ColumnType) {
    output.physical = argument.physical;
    output.range = argument.range;
}

/// A value as a BIGINT; `None` if it is NULL or can't be converted.
fn whole_number(value: &Value, ty: &SqlType) -> Option<i64> {
    let number = cast_value(value, ty, &SqlType::BigInt).ok()?;
    i64::try_from(number.as_integer()?).ok()
}

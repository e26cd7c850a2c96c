//! Window functions.

use std::sync::Arc;

use datafusion_common::ScalarValue;
use datafusion_expr::expr::{NullTreatment, WindowFunction, WindowFunctionParams};
use datafusion_expr::logical_plan::Window as PlannerWindow;
use datafusion_expr::{
    Expr as PlannerExpr, LogicalPlan, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition,
};
use godwit_common::{Error, Result};
use godwit_plan::{
    AggregateCall, Expr, ExprKind, Frame, FrameBound, FrameExclusion, FrameUnits, Window, WindowCall, WindowTarget,
};
use godwit_types::Value;

use super::aggregate::{PlannedCall, aggregate_call};
use super::expr::{Expressions, unexpected};
use super::plan::{Bridge, project};
use super::planning_error;
use super::types::scalar;
use crate::functions::FUNCTIONS;

/// What the bounds of frames call unbounded.
const UNBOUNDED: ScalarValue = ScalarValue::UInt64(None);

impl Bridge<'_> {
    pub(super) fn window(&self, window: &Window) -> Result<LogicalPlan> {
        let input = self.node(window.input)?;
        let calls = self.over(&Arc::clone(input.schema()), |exprs| {
            let calls = window.calls.iter().map(|(id, call)| {
                let function = window_function(exprs, call).map_err(|error| error.at_span(call.span))?;
                Ok(PlannerExpr::WindowFunction(Box::new(function)).alias(self.column_name(*id)))
            });
            calls.collect::<Result<Vec<_>>>()
        })?;
        if calls.is_empty() {
            return Ok(input);
        }
        let passed = input.schema().columns().into_iter().map(PlannerExpr::Column);
        let passed: Vec<PlannerExpr> = passed.collect();
        let rows = PlannerWindow::try_new(calls, Arc::new(input)).map(LogicalPlan::Window).map_err(planning_error)?;
        let schema = Arc::clone(rows.schema());
        let results = window.calls.iter().map(|(id, call)| self.result_column(&schema, *id, &call.ty));
        let columns: Vec<PlannerExpr> = passed.into_iter().map(Ok).chain(results).collect::<Result<_>>()?;
        let is_as_it_is = schema.columns().into_iter().map(PlannerExpr::Column).eq(columns.iter().cloned());
        if is_as_it_is { Ok(rows) } else { project(rows, columns) }
    }
}

fn window_function(exprs: &Expressions<'_>, call: &WindowCall) -> Result<WindowFunction> {
    if !call.argument_order.is_empty() && call.argument_order != call.order_by {
        return Err(Error::unsupported("an order of arguments inside a window")
            .with_hint("aggregate in that order in a subquery, or order the window"));
    }
    let (fun, args, distinct, filter) = target(exprs, call)?;
    let keys = call.partition_by.iter().map(|key| exprs.convert(key));
    let params = WindowFunctionParams {
        args,
        partition_by: keys.collect::<Result<_>>()?,
        order_by: exprs.sort_keys(&call.order_by)?,
        window_frame: frame(&call.frame)?,
        filter,
        null_treatment: call.ignore_nulls.then_some(NullTreatment::IgnoreNulls),
        distinct,
    };
    Ok(WindowFunction { fun, params })
}

type Target = (WindowFunctionDefinition, Vec<PlannerExpr>, bool, Option<Box<PlannerExpr>>);

fn target(exprs: &Expressions<'_>, call: &WindowCall) -> Result<Target> {
    let as_aggregate = match &call.function {
        // The executor takes the first value of a frame as a window function.
        WindowTarget::Aggregate(function) if !FUNCTIONS.window.contains_key(&*function.name) => function,
        _ => {
            let function = FUNCTIONS.window.get(call.name()).ok_or_else(|| unexpected("an unknown window function"))?;
            let args = call.args.iter().map(|argument| exprs.convert(argument)).collect::<Result<_>>()?;
            let filter = call.filter.as_ref().map(|filter| exprs.convert(filter).map(Box::new)).transpose()?;
            return Ok((WindowFunctionDefinition::WindowUDF(Arc::clone(function)), args, call.distinct, filter));
        }
    };
    let aggregate = AggregateCall {
        function: as_aggregate.clone(),
        args: call.args.clone(),
        distinct: call.distinct,
        filter: call.filter.clone(),
        order_by: Vec::new(),
        ignore_nulls: call.ignore_nulls,
        ty: call.ty.clone(),
        nullable: call.nullable,
        span: call.span,
    };
    let PlannedCall { function, params } = aggregate_call(exprs, &aggregate)?;
    Ok((WindowFunctionDefinition::AggregateUDF(function), params.args, params.distinct, params.filter))
}

fn frame(frame: &Frame) -> Result<WindowFrame> {
    if frame.exclude != FrameExclusion::NoOthers {
        return Err(Error::unsupported("EXCLUDE in a window frame"));
    }
    let units = match frame.units {
        FrameUnits::Rows => WindowFrameUnits::Rows,
        FrameUnits::Range => WindowFrameUnits::Range,
        FrameUnits::Groups => WindowFrameUnits::Groups,
    };
    let (start, end) = (bound(&frame.start, frame.units)?, bound(&frame.end, frame.units)?);
    Ok(WindowFrame::new_bounds(units, start, end))
}

fn bound(bound: &FrameBound, units: FrameUnits) -> Result<WindowFrameBound> {
    Ok(match bound {
        FrameBound::UnboundedPreceding => WindowFrameBound::Preceding(UNBOUNDED),
        FrameBound::Preceding(by) => WindowFrameBound::Preceding(distance(by, units)?),
        FrameBound::CurrentRow => WindowFrameBound::CurrentRow,
        FrameBound::Following(by) => WindowFrameBound::Following(distance(by, units)?),
        FrameBound::UnboundedFollowing => WindowFrameBound::Following(UNBOUNDED),
    })
}

fn distance(by: &Expr, units: FrameUnits) -> Result<ScalarValue> {
    match (&by.kind, units) {
        (ExprKind::Literal(Value::Null), _) => Err(Error::user("the bound of a frame is NULL").at_span(by.span)),
        (ExprKind::Literal(value), FrameUnits::Range) => scalar(value, &by.ty),
        (ExprKind::Literal(Value::Integer(rows)), _) => {
            let rows = u64::try_from(*rows);
            let rows = rows.map_err(|_| Error::user("the bound of a frame is negative").at_span(by.span))?;
            Ok(ScalarValue::UInt64(Some(rows)))
        }
        _ => Err(Error::unsupported("the bound of a frame that isn't constant").at_span(by.span)),
    }
}

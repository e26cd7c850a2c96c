//! Calls with OVER: window functions, and aggregates over windows.
//!
//! A window may refine a named one of the WINDOW clause, by PostgreSQL's rules ("SELECT", WINDOW Clause): it inherits
//! its partitions; it may add an order if that one has none; it can't refine one with a frame. `OVER w` and `OVER (w)`
//! are that window itself.

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{
    Expr, ExprKind, Frame, FrameBound, FrameExclusion, FrameUnits, FunctionKind, SortKey, WindowCall, WindowMatch,
    WindowTarget,
};
use godwit_syntax::ast::{self, NullTreatment, Over};
use godwit_types::{SqlType, Value, cast_value, common_type};

use super::near::with_nearest;
use super::{CastContext, Collation, MacroClauses};
use crate::Binder;
use crate::binder::{Clause, ExprContext};

/// A window with what it inherits from the one that it refines.
#[derive(Clone, Copy)]
pub(super) struct WindowDefinition<'a> {
    pub(super) partition_by: &'a [ast::Expr],
    pub(super) order_by: &'a [ast::OrderByExpr],
    frame: Option<&'a ast::Frame>,
}

/// A call without its window, and the function that computes the result from its value, if that is a list.
type Target = (WindowCall, Option<&'static str>);

/// The keys and the frame of a window.
#[derive(Clone)]
pub(super) struct BoundWindow {
    partition_by: Vec<Expr>,
    order_by: Vec<SortKey>,
    frame: Frame,
}

impl Binder {
    pub(super) fn window(
        &mut self,
        name: &str,
        call: &ast::Call,
        over: &Over,
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        if !cx.clause.allows_windows() {
            return Err(misplaced(name, cx.clause).at_span(call.name.span));
        }
        let window = written(over, cx.windows)?;
        if name == "fill" {
            return self.fill(call, window, span, cx);
        }
        let mut inside = inside(cx);
        let (mut bound, of_list) = self.window_target(name, call, span, &mut inside)?;
        let BoundWindow { partition_by, order_by, frame } = self.bound_window(window, &mut inside)?;
        let uses_frame = match &bound.function {
            WindowTarget::Window(function) => function.uses_frame,
            WindowTarget::Aggregate(_) => true,
        };
        bound.frame = if uses_frame { frame } else { Frame::default_of(!order_by.is_empty()) };
        (bound.partition_by, bound.order_by) = (partition_by, order_by);
        let bound = self.collect_window(name, bound, cx).map_err(|error| error.at_span(call.name.span))?;
        self.computed_of(bound, of_list, span)
    }

    /// Binds an aggregate in the body of a macro that is called with OVER.
    pub(super) fn aggregate_over(
        &mut self,
        name: &str,
        call: &ast::Call,
        clauses: &MacroClauses,
        window: BoundWindow,
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let BoundWindow { partition_by, order_by, frame } = window;
        let (target, of_list) = self.aggregate_target(name, call, Some(clauses), span, &mut inside(cx))?;
        let bound = WindowCall { partition_by, order_by, frame, ..target };
        let bound = self.collect_window(name, bound, cx).map_err(|error| error.at_span(call.name.span))?;
        clauses.note(&bound);
        self.computed_of(bound, of_list, span)
    }

    /// Binds the window of OVER in a call, in the context of its arguments.
    pub(super) fn bound_over(&mut self, over: &Over, cx: &mut ExprContext<'_>) -> Result<BoundWindow> {
        let window = written(over, cx.windows)?;
        self.bound_window(window, cx)
    }

    fn bound_window(&mut self, window: WindowDefinition<'_>, cx: &mut ExprContext<'_>) -> Result<BoundWindow> {
        let partition_by = self.partition_keys(window.partition_by, cx)?;
        let mut order_by = self.sort_keys(window.order_by, cx)?;
        let frame = match window.frame {
            Some(frame) => self.frame(frame, &mut order_by, cx)?,
            None => Frame::default_of(!order_by.is_empty()),
        };
        Ok(BoundWindow { partition_by, order_by, frame })
    }

    pub(super) fn partition_keys(&mut self, keys: &[ast::Expr], cx: &mut ExprContext<'_>) -> Result<Vec<Expr>> {
        let mut bound = Vec::with_capacity(keys.len());
        for expr in keys {
            let (expr, collation) = Collation::split(expr)?;
            let value = self.settled(expr, cx)?;
            bound.push(self.key_of(value, collation)?);
        }
        Ok(bound)
    }

    /// Returns the column of a window function: a new one, or that of an equal call.
    pub(super) fn collect_window(
        &mut self,
        name: &str,
        mut call: WindowCall,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let exprs: Vec<&Expr> = call.exprs().collect();
        self.check_no_lambda_parameter(&exprs, name, cx)?;
        let used = self.used_columns(&exprs);
        if cx.collected.windows.iter().any(|&(column, _)| used.contains(column)) {
            return Err(misplaced(name, Clause::WindowArgument));
        }
        let (ty, nullable, span) = (call.ty.clone(), call.nullable, call.span);
        let column = |column| Ok(Expr::new(ExprKind::Column(column), ty.clone(), nullable));
        if !call.exprs().any(Expr::is_volatile) {
            // Equal calls differ only in their spans.
            for (known, other) in &cx.collected.windows {
                call.span = other.span;
                if *other == call {
                    return column(*known);
                }
            }
            call.span = span;
        }
        let made = self.plan.add_column(name, ty.clone(), nullable);
        if let (SqlType::Varchar, Some(text)) = (&ty, call.args.first()) {
            self.inherit_collation(made, text);
        }
        cx.collected.windows.push((made, call));
        column(made)
    }

    /// Binds the function with its arguments; its window is bound later.
    fn window_target(&mut self, name: &str, call: &ast::Call, span: Span, cx: &mut ExprContext<'_>) -> Result<Target> {
        if self.environment.functions().kind(name) == Some(FunctionKind::Aggregate) {
            return self.aggregate_target(name, call, None, span, cx);
        }
        if !call.order_by.is_empty() {
            return Err(no_aggregate(name, "ORDER BY in its arguments").at_span(call.name.span));
        }
        refuse_aggregation(name, call)?;
        let args = self.call_arguments(call, name, cx)?;
        let found = self.window_function(name, &args, call.name.span)?;
        let target = WindowCall {
            args: self.cast_arguments(args, &found.argument_types)?,
            ignore_nulls: call.nulls == Some(NullTreatment::Ignore),
            nullable: found.nullable,
            span,
            ..WindowCall::over(WindowTarget::Window(found.function), found.ty, Vec::new(), Vec::new())
        };
        Ok((target, None))
    }

    /// Does the same for an aggregate.
    fn aggregate_target(
        &mut self,
        name: &str,
        call: &ast::Call,
        of_macro: Option<&MacroClauses>,
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Target> {
        let parts = self.aggregate_parts(name, call, of_macro, cx)?;
        let target = WindowCall {
            args: parts.args,
            distinct: parts.distinct,
            filter: parts.filter,
            argument_order: parts.order_by,
            ignore_nulls: parts.ignore_nulls,
            nullable: parts.found.nullable || parts.found.function.of_empty.is_null(),
            span,
            ..WindowCall::over(WindowTarget::Aggregate(parts.found.function), parts.found.ty, Vec::new(), Vec::new())
        };
        Ok((target, parts.found.of_list))
    }

    /// Returns the window function that takes these arguments.
    pub(super) fn window_function(&self, name: &str, args: &[Expr], span: Span) -> Result<WindowMatch> {
        let functions = self.environment.functions();
        let found = self.with_argument_types(args, |types| functions.window(name, types));
        found.map_err(|error| self.no_function(name, args, &error, span))
    }

    /// Binds an explicit frame. If the type of RANGE distances differs from that of the key, both get the common one.
    fn frame(&mut self, frame: &ast::Frame, order_by: &mut [SortKey], cx: &mut ExprContext<'_>) -> Result<Frame> {
        let wrong = |message: &str| {
            let error = Error::user(message).with_code(SqlState::WINDOWING_ERROR);
            Err(error.at_span(frame.span))
        };
        if let Some(message) = contradiction(&frame.start, &frame.end) {
            return wrong(message);
        }
        let has_distance = [&frame.start, &frame.end].into_iter().any(|bound| distance_of(bound).is_some());
        let units = match frame.units {
            ast::FrameUnits::Rows => FrameUnits::Rows,
            ast::FrameUnits::Range => FrameUnits::Range,
            ast::FrameUnits::Groups => FrameUnits::Groups,
        };
        match units {
            FrameUnits::Groups if order_by.is_empty() => return wrong("GROUPS needs an ORDER BY in the window"),
            FrameUnits::Range if has_distance && order_by.len() != 1 => {
                return wrong("RANGE with a distance needs an ORDER BY of one key in the window");
            }
            _ => {}
        }
        let mut distances = Vec::new();
        for written in [&frame.start, &frame.end].into_iter().filter_map(distance_of) {
            distances.push(self.distance(written, cx)?);
        }
        let distances = match units {
            FrameUnits::Range => self.range_distances(distances, order_by)?,
            FrameUnits::Rows | FrameUnits::Groups => {
                let counts =
                    distances.into_iter().map(|count| self.coerce(count, &SqlType::BigInt, CastContext::Implicit));
                counts.collect::<Result<Vec<_>>>()?
            }
        };
        if let Some(negative) = distances.iter().find(|distance| is_negative(distance)) {
            return Err(invalid_distance("negative", negative.span));
        }
        let mut distances = distances.into_iter();
        let (start, end) = (bound(&frame.start, &mut distances), bound(&frame.end, &mut distances));
        let exclude = match frame.exclude {
            ast::FrameExclusion::NoOthers => FrameExclusion::NoOthers,
            ast::FrameExclusion::CurrentRow => FrameExclusion::CurrentRow,
            ast::FrameExclusion::Group => FrameExclusion::Group,
            ast::FrameExclusion::Ties => FrameExclusion::Ties,
        };
        Ok(Frame { units, start, end, exclude })
    }

    /// Binds a frame bound's distance. NULL and negative distances that depend on the row are detected at run time.
    fn distance(&mut self, distance: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let bound = self.expr(distance, cx)?;
        if bound.as_literal().is_some_and(Value::is_null) {
            return Err(invalid_distance("NULL", distance.span));
        }
        Ok(bound)
    }

    /// Binds distances of RANGE: intervals for dates and times, numbers for numbers.
    fn range_distances(&mut self, distances: Vec<Expr>, order_by: &mut [SortKey]) -> Result<Vec<Expr>> {
        let [key] = order_by else { return Ok(distances) };
        let key_type = key.expr.ty.clone();
        let ty = if key_type.is_datetime() || key_type == SqlType::Interval {
            SqlType::Interval
        } else if key_type.is_numeric() {
            let mut common = key_type.clone();
            for distance in distances.iter().filter(|distance| !holds(&key_type, distance)) {
                let ty = self.type_so_far(distance).into_owned();
                common = common_type(&common, &ty).filter(SqlType::is_numeric).ok_or_else(|| {
                    let error = Error::user(format!("a distance from {key_type} is a number, not {ty}"));
                    error.with_code(SqlState::DATATYPE_MISMATCH).at_span(distance.span)
                })?;
            }
            let whole = std::mem::replace(&mut key.expr, Expr::boolean(false));
            key.expr = self.coerce(whole, &common, CastContext::Explicit)?;
            common
        } else if distances.is_empty() {
            return Ok(distances);
        } else {
            let message = format!("RANGE with a distance needs a number, a date or a time to order by, not {key_type}");
            let error = Error::user(message).with_code(SqlState::DATATYPE_MISMATCH);
            return Err(error.at_span(key.expr.span));
        };
        let context = if ty == SqlType::Interval { CastContext::Implicit } else { CastContext::Explicit };
        let distances = distances.into_iter().map(|distance| self.coerce(distance, &ty, context));
        distances.collect()
    }
}

/// The context of arguments and keys.
pub(super) fn inside<'c>(cx: &'c mut ExprContext<'_>) -> ExprContext<'c> {
    let (scope, windows) = (cx.scope, cx.windows);
    ExprContext { scope, clause: Clause::WindowArgument, collected: &mut *cx.collected, windows }
}

/// Returns the window that OVER describes.
fn written<'a>(over: &'a Over, windows: &'a [ast::NamedWindow]) -> Result<WindowDefinition<'a>> {
    match over {
        Over::Name(window) => named(windows, window),
        Over::Spec(spec) => resolved(windows, spec),
    }
}

/// Returns the window with a name.
fn named<'a>(windows: &'a [ast::NamedWindow], name: &ast::Ident) -> Result<WindowDefinition<'a>> {
    match windows.iter().position(|window| name.is(&window.name.text)) {
        // A window of the clause can refine only earlier ones, so this terminates.
        Some(at) => resolved(&windows[..at], &windows[at].spec),
        None => {
            let error = Error::user(format!("no window named {}", name.text));
            let error = error.with_code(SqlState::UNDEFINED_OBJECT).at_span(name.span);
            Err(with_nearest(error, &name.text, windows.iter().map(|window| &*window.name.text)))
        }
    }
}

fn resolved<'a>(windows: &'a [ast::NamedWindow], spec: &'a ast::WindowSpec) -> Result<WindowDefinition<'a>> {
    let own =
        WindowDefinition { partition_by: &spec.partition_by, order_by: &spec.order_by, frame: spec.frame.as_ref() };
    let Some(name) = &spec.base else { return Ok(own) };
    let base = named(windows, name)?;
    if own.partition_by.is_empty() && own.order_by.is_empty() && own.frame.is_none() {
        return Ok(base);
    }
    let reason = if !own.partition_by.is_empty() {
        "only it can have PARTITION BY"
    } else if !own.order_by.is_empty() && !base.order_by.is_empty() {
        "it has an ORDER BY already"
    } else if base.frame.is_some() {
        "it has a frame"
    } else {
        let order_by = if own.order_by.is_empty() { base.order_by } else { own.order_by };
        return Ok(WindowDefinition { partition_by: base.partition_by, order_by, frame: own.frame });
    };
    let error = Error::user(format!("the window {} can't be refined so: {reason}", name.text));
    Err(error.with_code(SqlState::WINDOWING_ERROR).at_span(spec.span))
}

/// Fails if a call has clauses that only aggregates take, other than ORDER BY.
pub(super) fn refuse_aggregation(name: &str, call: &ast::Call) -> Result<()> {
    let refused = match call {
        ast::Call { star: true, .. } => "*",
        ast::Call { distinct: true, .. } => "DISTINCT",
        ast::Call { filter: Some(_), .. } => "FILTER",
        _ if !call.within_group.is_empty() => "WITHIN GROUP",
        _ => return Ok(()),
    };
    Err(no_aggregate(name, refused).at_span(call.name.span))
}

fn no_aggregate(name: &str, refused: &str) -> Error {
    Error::user(format!("{name} is no aggregate, so it takes no {refused}")).with_code(SqlState::SYNTAX_ERROR)
}

/// Returns the reason why two bounds don't form a frame.
fn contradiction(start: &ast::FrameBound, end: &ast::FrameBound) -> Option<&'static str> {
    use ast::FrameBound::{CurrentRow, Following, Preceding, UnboundedFollowing, UnboundedPreceding};
    match (start, end) {
        (UnboundedFollowing, _) => Some("a frame can't start at UNBOUNDED FOLLOWING"),
        (_, UnboundedPreceding) => Some("a frame can't end at UNBOUNDED PRECEDING"),
        (CurrentRow, Preceding(_)) => Some("a frame that starts at the current row can't end before it"),
        (Following(_), Preceding(_) | CurrentRow) => {
            Some("a frame that starts behind the current row can't end at it or before it")
        }
        _ => None,
    }
}

fn distance_of(bound: &ast::FrameBound) -> Option<&ast::Expr> {
    match bound {
        ast::FrameBound::Preceding(distance) | ast::FrameBound::Following(distance) => Some(distance),
        _ => None,
    }
}

/// Builds a bound, with the next distance.
fn bound(written: &ast::FrameBound, distances: &mut impl Iterator<Item = Expr>) -> FrameBound {
    let mut next = || Box::new(distances.next().expect("each written distance was bound"));
    match written {
        ast::FrameBound::UnboundedPreceding => FrameBound::UnboundedPreceding,
        ast::FrameBound::Preceding(_) => FrameBound::Preceding(next()),
        ast::FrameBound::CurrentRow => FrameBound::CurrentRow,
        ast::FrameBound::Following(_) => FrameBound::Following(next()),
        ast::FrameBound::UnboundedFollowing => FrameBound::UnboundedFollowing,
    }
}

/// Whether the constant is also a value of the type.
fn holds(ty: &SqlType, constant: &Expr) -> bool {
    let Some(value) = constant.as_literal() else { return false };
    let there = cast_value(value, &constant.ty, ty);
    there.and_then(|there| cast_value(&there, ty, &constant.ty)).is_ok_and(|back| back == *value)
}

fn invalid_distance(what: &str, span: Span) -> Error {
    let error = Error::user(format!("a distance in a frame must not be {what}"));
    error.with_code(SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE).at_span(span)
}

fn is_negative(distance: &Expr) -> bool {
    match distance.as_literal() {
        Some(Value::Integer(value)) => *value < 0,
        Some(Value::Float(value)) => *value < 0.0 || value.is_nan(),
        Some(Value::Interval(value)) => value.estimate() < 0,
        _ => false,
    }
}

pub(super) fn misplaced(name: &str, clause: Clause) -> Error {
    let error = Error::user(format!("the window function {name} can't stand in {}", clause.name()));
    let error = error.with_code(SqlState::WINDOWING_ERROR);
    match clause {
        Clause::Where | Clause::Having => error.with_hint("conditions on window functions stand in QUALIFY"),
        Clause::AggregateArgument | Clause::WindowArgument => {
            error.with_hint("compute the inner one in a subquery in FROM")
        }
        _ => error,
    }
}

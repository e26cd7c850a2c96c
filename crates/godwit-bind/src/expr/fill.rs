//! `fill(value) OVER (ORDER BY position)`: the value, or if it is NULL, the one on the line through the nearest points.
//!
//! Points are the rows whose value and position are neither NULL nor infinite. Between two points the line goes through
//! them, beside all of them through the nearest two; a single point's value is that of all rows. So DuckDB's function
//! does. The frame doesn't matter.
//!
//! It becomes calls of `lag` and `lead` that skip other rows, and of `interpolate`:
//!
//! ```text
//! coalesce(value, interpolate(position, first point, second point), first point's value if there is no second)
//! ```

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{Expr, ExprKind, SortKey, WindowCall, WindowTarget};
use godwit_syntax::ast;
use godwit_types::SqlType;

use super::windows::{WindowDefinition, inside, refuse_aggregation};
use crate::Binder;
use crate::binder::ExprContext;

/// Its name.
const FILL: &str = "fill";

impl Binder {
    pub(super) fn fill(
        &mut self,
        call: &ast::Call,
        window: WindowDefinition<'_>,
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        refuse_aggregation(FILL, call)?;
        if call.nulls.is_some() {
            return Err(misused("fill takes no IGNORE NULLS, as it is about NULLs").at_span(call.name.span));
        }
        let mut within = inside(cx);
        let args = self.call_arguments(call, FILL, &mut within)?;
        let found = self.window_function(FILL, &args, call.name.span)?;
        let mut args = self.cast_arguments(args, &found.argument_types)?;
        let value = args.pop().expect("fill takes one argument");
        let order = if call.order_by.is_empty() { window.order_by } else { &call.order_by };
        let partition_by = self.partition_keys(window.partition_by, &mut within)?;
        let order_by = self.sort_keys(order, &mut within)?;
        let [key] = &order_by[..] else {
            return Err(misused("fill needs an ORDER BY of one key").at_span(call.name.span));
        };
        for (what, expr) in [("values", &value), ("positions", &key.expr)] {
            if !expr.ty.is_linear() {
                let error = Error::user(format!("fill takes {what} that lie on a line, not those of {}", expr.ty));
                return Err(error.with_code(SqlState::DATATYPE_MISMATCH).at_span(expr.span));
            }
        }
        let position = key.expr.clone();
        self.filled(&value, &position, &Points { partition_by, order_by, span }, cx)
    }

    fn filled(&mut self, value: &Expr, position: &Expr, points: &Points, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let is_point = self.is_point(&[value, position], points.span)?;
        let near = |binder: &mut Self, expr: &Expr, name: &str, distance: i64, cx: &mut ExprContext<'_>| {
            let at_points = case(is_point.clone(), expr.clone(), None);
            let args = vec![at_points, Expr::literal(distance.into(), SqlType::BigInt)];
            let call = binder.over_points(name, args, points)?;
            binder.collect_window(FILL, call, cx)
        };
        let mut point = |expr: &Expr| {
            let before = near(self, expr, "lag", 1, cx)?;
            let after = near(self, expr, "lead", 1, cx)?;
            let (earlier, later) = (near(self, expr, "lag", 2, cx)?, near(self, expr, "lead", 2, cx)?);
            let second = case(before.clone().is_null(), later, Some(first_of(vec![after.clone(), earlier])));
            Ok::<_, Error>((first_of(vec![before, after]), second))
        };
        let (first, second) = point(position)?;
        let (first_value, second_value) = point(value)?;
        let args = vec![position.clone(), first, first_value.clone(), second.clone(), second_value];
        let on_line = self.call_scalar("interpolate", args, points.span)?;
        let is_alone = Expr::new(
            ExprKind::And(vec![second.is_null(), self.is_point(&[position], points.span)?]),
            SqlType::Boolean,
            true,
        );
        Ok(first_of(vec![value.clone(), on_line, case(is_alone, first_value, None)]).at(points.span))
    }

    /// Returns whether none of the values is NULL or infinite.
    fn is_point(&mut self, values: &[&Expr], span: Span) -> Result<Expr> {
        let mut conditions = Vec::new();
        for &value in values {
            let is_null = Box::new(value.clone().is_null());
            conditions.push(Expr::new(ExprKind::Not(is_null), SqlType::Boolean, false));
            if value.ty.is_float() || value.ty.is_timestamp() || value.ty == SqlType::Date {
                conditions.push(self.call_scalar("isfinite", vec![value.clone()], span)?);
            }
        }
        Ok(match conditions.len() {
            1 => conditions.swap_remove(0),
            _ => Expr::new(ExprKind::And(conditions), SqlType::Boolean, true),
        })
    }

    /// Makes a call that skips NULLs.
    fn over_points(&self, name: &str, args: Vec<Expr>, points: &Points) -> Result<WindowCall> {
        let found = self.window_function(name, &args, points.span)?;
        let function = WindowTarget::Window(found.function);
        Ok(WindowCall {
            args,
            ignore_nulls: true,
            nullable: true,
            span: points.span,
            ..WindowCall::over(function, found.ty, points.partition_by.clone(), points.order_by.clone())
        })
    }
}

/// The window in which points are looked for.
struct Points {
    partition_by: Vec<Expr>,
    order_by: Vec<SortKey>,
    span: Span,
}

fn case(condition: Expr, value: Expr, otherwise: Option<Expr>) -> Expr {
    let ty = value.ty.clone();
    Expr::new(ExprKind::Case { branches: vec![(condition, value)], otherwise: otherwise.map(Box::new) }, ty, true)
}

fn first_of(values: Vec<Expr>) -> Expr {
    let ty = values[0].ty.clone();
    Expr::new(ExprKind::Coalesce(values), ty, true)
}

fn misused(message: &str) -> Error {
    Error::user(message).with_code(SqlState::WINDOWING_ERROR)
}

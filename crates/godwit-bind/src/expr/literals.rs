//! Constants, intervals and parameters.

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{Arithmetic, Expr, ExprKind};
use godwit_syntax::ast::{self, IntervalUnit as Written, Literal};
use godwit_types::{Interval, IntervalUnit, SqlType, Value, number_literal, parse_interval};

use super::CastContext;
use crate::Binder;
use crate::binder::ExprContext;

impl Binder {
    pub(super) fn literal(&self, literal: &Literal) -> Result<Expr> {
        Ok(match literal {
            Literal::Null => Expr::null(SqlType::Unknown),
            Literal::Boolean(value) => Expr::boolean(*value),
            Literal::Number(text) => {
                let (value, ty) = number_literal(text)?;
                Expr::literal(value, ty)
            }
            Literal::String(text) => Expr::literal(Value::Text(text.clone()), SqlType::Unknown),
            Literal::Blob(bytes) => Expr::literal(Value::Blob(bytes.clone()), SqlType::Blob),
            Literal::Bits(digits) => Expr::literal(Value::Text(digits.clone()), SqlType::Bit),
        })
    }

    /// `DATE '2020-01-01'`.
    pub(super) fn typed_literal(&self, data_type: &ast::DataType, text: &str, span: Span) -> Result<Expr> {
        let ty = self.data_type(data_type)?;
        let value = self.value_of_text(text, &ty).map_err(|error| error.at_span(span))?;
        Ok(Expr::literal(value, ty))
    }

    /// Binds a parameter: its value if that is known; else it has the type that its first use requires.
    pub(super) fn parameter(&mut self, parameter: &ast::Parameter) -> Expr {
        let name = match parameter {
            ast::Parameter::Number(number) => number.to_string(),
            ast::Parameter::Name(name) => name.to_string(),
        };
        if let Some((_, value, ty)) = self.parameter_values.iter().find(|(known, ..)| *known == name) {
            return Expr::literal(value.clone(), ty.clone());
        }
        let id = self.plan.parameter(&name);
        Expr::new(ExprKind::Parameter(id), self.plan.parameter_info(id).ty.clone(), true)
    }

    /// `INTERVAL '1 day'`, `INTERVAL '1' DAY`, `INTERVAL 1 DAY`, `INTERVAL (n) DAY`: a multiple of the unit.
    pub(super) fn interval(
        &mut self,
        value: &ast::Expr,
        unit: Option<Written>,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let (bare, is_range) = unit.map_or((IntervalUnit::Second, false), unit_of);
        if let ast::ExprKind::Literal(Literal::String(text) | Literal::Number(text)) = &value.kind {
            let interval = match unit {
                Some(Written::MinuteToSecond) if text.matches(':').count() == 1 => {
                    parse_interval(&text.replacen(':', " minutes ", 1), bare)
                }
                _ => parse_interval(text, bare),
            };
            let interval = interval.map_err(|error| error.at_span(value.span))?;
            return Ok(Expr::literal(Value::Interval(interval), SqlType::Interval));
        }
        if is_range {
            let error = Error::user("an interval of several units is written as text: INTERVAL '1-2' YEAR TO MONTH");
            return Err(error.with_code(SqlState::SYNTAX_ERROR).at_span(value.span));
        }
        let count = self.expr(value, cx)?;
        if let Some(Value::Integer(constant)) = count.as_literal().filter(|_| count.ty.is_integer()) {
            let interval = i64::try_from(*constant).ok().and_then(|constant| Interval::of(constant, bare));
            let interval = interval.ok_or_else(|| {
                let error = Error::user("the interval is out of range").with_code(SqlState::DATETIME_FIELD_OVERFLOW);
                error.at_span(value.span)
            })?;
            return Ok(Expr::literal(Value::Interval(interval), SqlType::Interval));
        }
        if !count.ty.is_numeric() && count.ty != SqlType::Unknown {
            let error = Error::user(format!("an interval is a number of units, this is {}", count.ty));
            return Err(error.with_code(SqlState::DATATYPE_MISMATCH).at_span(value.span));
        }
        let count = self.coerce(count, &SqlType::Double, CastContext::Implicit)?;
        let one = Interval::of(1, bare).expect("one unit is an interval");
        let one = Expr::literal(Value::Interval(one), SqlType::Interval);
        let nullable = count.nullable;
        let kind = ExprKind::Arithmetic(Arithmetic::Multiply, Box::new(one), Box::new(count));
        Ok(Expr::new(kind, SqlType::Interval, nullable))
    }
}

/// Returns the unit that a number counts, and whether several units were written; then the last one is counted.
fn unit_of(unit: Written) -> (IntervalUnit, bool) {
    let single = match unit {
        Written::YearToMonth => return (IntervalUnit::Month, true),
        Written::DayToHour => return (IntervalUnit::Hour, true),
        Written::DayToMinute | Written::HourToMinute => return (IntervalUnit::Minute, true),
        Written::DayToSecond | Written::HourToSecond | Written::MinuteToSecond => return (IntervalUnit::Second, true),
        Written::Millennium => IntervalUnit::Millennium,
        Written::Century => IntervalUnit::Century,
        Written::Decade => IntervalUnit::Decade,
        Written::Year => IntervalUnit::Year,
        Written::Quarter => IntervalUnit::Quarter,
        Written::Month => IntervalUnit::Month,
        Written::Week => IntervalUnit::Week,
        Written::Day => IntervalUnit::Day,
        Written::Hour => IntervalUnit::Hour,
        Written::Minute => IntervalUnit::Minute,
        Written::Second => IntervalUnit::Second,
        Written::Millisecond => IntervalUnit::Millisecond,
        Written::Microsecond => IntervalUnit::Microsecond,
    };
    (single, false)
}

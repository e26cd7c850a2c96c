//! The session's time zone.
//!
//! Plans don't know about it: a cast between TIMESTAMPTZ and a local time is done in UTC. If the session has another
//! zone, the binder instead makes a call with the zone as a constant argument: for a cast, for a function that reads
//! fields of a TIMESTAMPTZ, and for `TIMESTAMPTZ + interval`, which counts days by the calendar. So a plan means the
//! same in every session, and its constant parts may be computed at any time.
//!
//! A TIME WITH TIME ZONE is as clocks of the session's zone show it: on the day of a TIMESTAMPTZ, or today.
//!
//! Values within lists, structs and maps are cast in UTC.

use godwit_common::{Result, Span};
use godwit_plan::{Arithmetic, Expr, ExprKind};
use godwit_types::{SqlType, TimeZone, Value, parse_value};

use super::CastContext;
use crate::Binder;

/// Functions that read fields of a TIMESTAMPTZ.
const OF_FIELDS: [&str; 42] = [
    "millennium",
    "century",
    "decade",
    "year",
    "quarter",
    "month",
    "week",
    "weekofyear",
    "day",
    "dayofmonth",
    "dayofweek",
    "isodow",
    "isoyear",
    "weekday",
    "dayofyear",
    "hour",
    "minute",
    "second",
    "date_part",
    "datepart",
    "to_char",
    "date_trunc",
    "datetrunc",
    "strftime",
    "date_format",
    "dayname",
    "monthname",
    "last_day",
    "yearweek",
    "era",
    "julian",
    "millisecond",
    "microsecond",
    "nanosecond",
    "date_diff",
    "datediff",
    "date_sub",
    "datesub",
    "age",
    "to_local_time",
    "time_bucket",
    "date_bin",
];

/// Those whose result is again a TIMESTAMPTZ, if the argument is.
const OF_MOMENTS: [&str; 4] = ["date_trunc", "datetrunc", "time_bucket", "date_bin"];

/// Fields that are the same in all zones.
const OF_NO_ZONE: [&str; 4] = ["epoch", "timezone", "timezone_hour", "timezone_minute"];

/// Names of the current time without a zone, and the types to which `now()` is cast for them.
const CLOCKS: [(&str, SqlType); 6] = [
    ("localtimestamp", SqlType::Timestamp),
    ("current_date", SqlType::Date),
    ("today", SqlType::Date),
    ("current_time", SqlType::TimeTz),
    ("get_current_time", SqlType::TimeTz),
    ("localtime", SqlType::Time),
];

impl Binder {
    /// The session's zone, if it isn't UTC.
    fn zone(&self) -> Option<TimeZone> {
        Some(self.environment.time_zone()).filter(|zone| !zone.is_utc())
    }

    /// Converts quoted text to a value of a type.
    pub(super) fn value_of_text(&self, text: &str, ty: &SqlType) -> Result<Value> {
        match ty {
            SqlType::TimestampTz | SqlType::TimeTz => {
                self.environment.time_zone().cast(&Value::text(text), &SqlType::Varchar, ty)
            }
            SqlType::List(_) => parse_value(text, ty).or_else(|error| {
                // A list as PostgreSQL writes it.
                let inside = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}'));
                inside.and_then(|inside| parse_value(&format!("[{inside}]"), ty).ok()).ok_or(error)
            }),
            _ => parse_value(text, ty),
        }
    }

    /// Returns the zone that a cast depends on.
    pub(super) fn zone_of_cast(&self, from: &SqlType, to: &SqlType) -> Option<TimeZone> {
        let depends_on_zone = match (from, to) {
            (SqlType::TimestampTz | SqlType::Time | SqlType::Varchar, SqlType::TimeTz) => true,
            (SqlType::TimestampTz, other) | (other, SqlType::TimestampTz) => {
                is_local(other) || *other == SqlType::Varchar
            }
            _ => false,
        };
        self.zone().filter(|_| depends_on_zone)
    }

    /// Binds such a cast. A lenient one is NULL where it fails.
    pub(super) fn cast_in_zone(&mut self, zone: &TimeZone, expr: Expr, ty: &SqlType, lenient: bool) -> Result<Expr> {
        match (&expr.ty, ty) {
            // Infinite moments have no time of day.
            (SqlType::TimestampTz, SqlType::Time | SqlType::TimeTz) if lenient => {
                let is_finite = self.call_scalar("isfinite", vec![expr.clone()], expr.span)?;
                let value = self.cast_in_zone(zone, expr, ty, false)?;
                Ok(Expr::new(ExprKind::Case { branches: vec![(is_finite, value)], otherwise: None }, ty.clone(), true))
            }
            (SqlType::TimestampTz, SqlType::Varchar) => self.call_with_zone("timezone_text", zone, expr),
            (SqlType::Varchar, SqlType::TimeTz) if lenient => self.call_with_zone("try_timezone_time", zone, expr),
            (_, SqlType::TimeTz) => self.call_with_zone("timezone_time", zone, expr),
            (SqlType::TimestampTz, _) => {
                let local = self.call_with_zone("timezone", zone, expr)?;
                self.coerce(local, ty, CastContext::Explicit)
            }
            (SqlType::Varchar, _) if lenient => self.call_with_zone("try_timezone_moment", zone, expr),
            (SqlType::Varchar, _) => self.call_with_zone("timezone_moment", zone, expr),
            _ => {
                let local = self.coerce(expr, &SqlType::Timestamp, CastContext::Explicit)?;
                self.call_with_zone("timezone", zone, local)
            }
        }
    }

    /// Returns the zone that a call depends on.
    pub(super) fn zone_of_call(&self, name: &str, args: &[Expr]) -> Option<TimeZone> {
        let is_clock = args.is_empty() && CLOCKS.iter().any(|(known, _)| *known == name);
        let reads_fields = || {
            let field = args.first().and_then(Expr::as_literal);
            let is_of_no_zone = matches!(field, Some(Value::Text(field))
                if OF_NO_ZONE.iter().any(|known| field.eq_ignore_ascii_case(known)));
            OF_FIELDS.contains(&name) && !is_of_no_zone && args.iter().any(|arg| arg.ty == SqlType::TimestampTz)
        };
        let is_local = name == "make_timestamptz" && args.len() == 6;
        self.zone().filter(|_| is_clock || is_local || reads_fields())
    }

    /// Binds such a call, on the local time.
    pub(super) fn call_in_zone(&mut self, zone: &TimeZone, name: &str, args: Vec<Expr>, span: Span) -> Result<Expr> {
        if let Some((_, ty)) = CLOCKS.iter().find(|(known, _)| *known == name) {
            let now = self.call_scalar("now", Vec::new(), span)?;
            return self.coerce(now, ty, CastContext::Explicit);
        }
        if name == "make_timestamptz" {
            let made = self.call_scalar("make_timestamp", args, span)?;
            return self.call_with_zone("timezone", zone, made);
        }
        let local = |arg: Expr| match arg.ty {
            SqlType::TimestampTz => self.call_with_zone("timezone", zone, arg),
            _ => Ok(arg),
        };
        let args = args.into_iter().map(local).collect::<Result<_>>()?;
        let found = self.call_scalar(name, args, span)?;
        match OF_MOMENTS.contains(&name) && found.ty == SqlType::Timestamp {
            true => self.call_with_zone("timezone", zone, found),
            false => Ok(found),
        }
    }

    /// Returns the zone that a sum or difference depends on.
    pub(super) fn zone_of_shift(&self, op: Arithmetic, left: &SqlType, right: &SqlType) -> Option<TimeZone> {
        let is_shift = match op {
            Arithmetic::Add => {
                matches!(
                    (left, right),
                    (SqlType::TimestampTz, SqlType::Interval) | (SqlType::Interval, SqlType::TimestampTz)
                )
            }
            Arithmetic::Subtract => matches!((left, right), (SqlType::TimestampTz, SqlType::Interval)),
            _ => false,
        };
        self.zone().filter(|_| is_shift)
    }

    /// Binds such a sum or difference of a TIMESTAMPTZ and an interval.
    pub(super) fn shifted_in_zone(
        &mut self,
        zone: &TimeZone,
        op: Arithmetic,
        left: Expr,
        right: Expr,
        span: Span,
    ) -> Result<Expr> {
        let (moment, interval) = if left.ty == SqlType::TimestampTz { (left, right) } else { (right, left) };
        let nullable = interval.nullable;
        let interval = match op {
            Arithmetic::Subtract => Expr::new(ExprKind::Negate(Box::new(interval)), SqlType::Interval, nullable),
            _ => interval,
        };
        self.call_scalar("timezone_add", vec![constant(zone), moment, interval], span)
    }

    fn call_with_zone(&mut self, name: &str, zone: &TimeZone, expr: Expr) -> Result<Expr> {
        let span = expr.span;
        self.call_scalar(name, vec![constant(zone), expr], span)
    }
}

fn constant(zone: &TimeZone) -> Expr {
    Expr::literal(Value::text(zone.name()), SqlType::Varchar)
}

/// True for types of times without a zone.
fn is_local(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Date | SqlType::Time) || (ty.is_timestamp() && *ty != SqlType::TimestampTz)
}

//! What local times are to moments, and moments to local times: `AT TIME ZONE`, and what casts and operators are where the
//! session's time zone isn't UTC. The binder gives the zone to each of them as a constant, so plans don't depend on sessions.

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ArgumentType, ScalarMatch};
use godwit_types::{SqlType, TimeZone, Value};

use super::Found;
use super::own::{computed, constant_text, mismatch, plain};
use crate::arguments::bad_argument;
use crate::implementation::ScalarImplementation;

/// `moment AT TIME ZONE zone`: local time of a moment, or the moment of a local time.
pub(super) fn at_zone(zone: &ArgumentType<'_>, moment: &ArgumentType<'_>) -> Found {
    let (from, to) = match moment.ty {
        SqlType::TimestampTz => (SqlType::TimestampTz, SqlType::Timestamp),
        SqlType::Date | SqlType::Unknown => (SqlType::Timestamp, SqlType::TimestampTz),
        ty if ty.is_timestamp() => (SqlType::Timestamp, SqlType::TimestampTz),
        _ => return Err(mismatch("timezone")),
    };
    let zone = Zone::of(zone)?;
    if zone.is_utc() {
        let function = plain("timezone", false, ScalarImplementation::Cast);
        let nullable = moment.nullable;
        return Ok(ScalarMatch { function, argument_types: vec![SqlType::Varchar, from], ty: to, nullable });
    }
    let (of, ty) = (from.clone(), to.clone());
    let convert = move |values: &[Value]| zone.of_row(values)?.cast(&values[1], &of, &ty);
    Ok(computed("timezone", true, vec![SqlType::Varchar, from], to, convert))
}

/// `timezone_text(zone, moment)`: a moment as text, as clocks of the zone show it.
pub(super) fn text_of_moment(zone: &ArgumentType<'_>) -> Found {
    let zone = Zone::of(zone)?;
    let types = vec![SqlType::Varchar, SqlType::TimestampTz];
    let text = move |values: &[Value]| zone.of_row(values)?.cast(&values[1], &SqlType::TimestampTz, &SqlType::Varchar);
    Ok(computed("timezone_text", false, types, SqlType::Varchar, text))
}

/// `timezone_moment(zone, text)`: the moment of a text, in the zone if it doesn't say otherwise. A lenient one is NULL of
/// what can't be read.
pub(super) fn moment_of_text(name: &str, is_lenient: bool, zone: &ArgumentType<'_>) -> Found {
    let zone = Zone::of(zone)?;
    let moment = move |values: &[Value]| {
        let moment = zone.of_row(values)?.cast(&values[1], &SqlType::Varchar, &SqlType::TimestampTz);
        if is_lenient { Ok(moment.unwrap_or(Value::Null)) } else { moment }
    };
    Ok(computed(name, !is_lenient, vec![SqlType::Varchar; 2], SqlType::TimestampTz, moment))
}

/// `timezone_add(zone, moment, interval)`: a moment and an interval after it, by the calendar of the zone.
pub(super) fn add(zone: &ArgumentType<'_>) -> Found {
    let zone = Zone::of(zone)?;
    let types = vec![SqlType::Varchar, SqlType::TimestampTz, SqlType::Interval];
    let sum = move |values: &[Value]| match values {
        [_, Value::Timestamp(moment), Value::Interval(interval)] => {
            zone.of_row(values)?.add(*moment, *interval).map(Value::Timestamp).ok_or_else(|| {
                Error::user("the time is out of range for TIMESTAMP WITH TIME ZONE")
                    .with_code(SqlState::DATETIME_FIELD_OVERFLOW)
            })
        }
        _ => Err(Error::internal("a moment and an interval are added")),
    };
    Ok(computed("timezone_add", true, types, SqlType::TimestampTz, sum))
}

/// The zone of a call: known from the start, or the first value of each row.
struct Zone(Option<TimeZone>);

impl Zone {
    fn of(argument: &ArgumentType<'_>) -> std::result::Result<Self, godwit_plan::NoFunction> {
        let zone = constant_text(argument).map(TimeZone::named).transpose();
        zone.map(Self).map_err(|error| bad_argument(0, error.message().to_owned()))
    }

    fn is_utc(&self) -> bool {
        self.0.as_ref().is_some_and(TimeZone::is_utc)
    }

    fn of_row(&self, values: &[Value]) -> Result<TimeZone> {
        match (&self.0, values) {
            (Some(zone), _) => Ok(zone.clone()),
            (None, [Value::Text(name), ..]) => TimeZone::named(name),
            (None, _) => Err(Error::internal("the name of a time zone is text")),
        }
    }
}

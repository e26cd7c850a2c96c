//! Time zones: the local time at a moment, by the built-in IANA database.
//!
//! A TIMESTAMP WITH TIME ZONE is a moment: microseconds of UTC since 1970. All conversions between moments and local
//! times are here. When clocks go forward, a local time that they skip is read as if they hadn't; when they go back, a
//! local time that occurs twice is the later one. Both are as in PostgreSQL.

use std::fmt;

use godwit_common::{Error, Result, SqlState};
use jiff::Timestamp;
use jiff::tz::{self, AmbiguousOffset, Offset};

use crate::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND, finite_timestamp, is_finite_timestamp};
use crate::interval::timestamp_add;
use crate::text::times::{parse_moment, parse_time_tz, write_moment};
use crate::{Interval, SqlType, TimeTz, Value, cast_value};

/// Other names of UTC.
const NAMES_OF_UTC: [&str; 6] = ["utc", "gmt", "etc/utc", "z", "+00:00", "zulu"];

/// A time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeZone(tz::TimeZone);

impl Default for TimeZone {
    fn default() -> Self {
        Self::UTC
    }
}

impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl TimeZone {
    /// The zone of stored values.
    pub const UTC: Self = Self(tz::TimeZone::UTC);

    /// Returns the zone of this name, in any case.
    pub fn named(name: &str) -> Result<Self> {
        if NAMES_OF_UTC.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return Ok(Self::UTC);
        }
        tz::TimeZone::get(name).map(Self).map_err(|_| {
            Error::user(format!("the time zone '{name}' is not known"))
                .with_code(SqlState::INVALID_PARAMETER_VALUE)
                .with_hint("names are those of the IANA database, as 'Europe/Berlin'")
        })
    }

    /// Returns the zone whose clocks are always this much ahead of UTC: up to 15:59:59, without months and days.
    pub fn ahead_by(interval: Interval) -> Result<Self> {
        let Interval { months, days, micros } = interval;
        let seconds = micros / MICROS_PER_SECOND;
        let is_valid = months == 0 && days == 0 && seconds.unsigned_abs() <= TimeTz::OFFSET_SECONDS_MAX.unsigned_abs();
        let seconds = i32::try_from(seconds).ok().filter(|_| is_valid);
        let offset = seconds.and_then(|seconds| Offset::from_seconds(seconds).ok());
        offset.map(|offset| Self(tz::TimeZone::fixed(offset))).ok_or_else(|| {
            Error::user("a time zone is less than 16 hours from UTC, without months and days")
                .with_code(SqlState::INVALID_PARAMETER_VALUE)
        })
    }

    /// Its name in the database.
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// Returns true for UTC, in which moments are counted.
    pub fn is_utc(&self) -> bool {
        *self == Self::UTC
    }

    /// Returns the seconds that its clocks are ahead of UTC at a moment.
    pub fn offset_at(&self, moment: i64) -> i64 {
        self.0.to_offset(near(moment)).seconds().into()
    }

    /// Returns the seconds that its clocks are ahead of UTC today.
    pub fn offset_now(&self) -> i64 {
        if self.is_utc() { 0 } else { self.offset_at(Timestamp::now().as_microsecond()) }
    }

    /// Returns the local time at a moment, as microseconds of a TIMESTAMP. Infinite times stay, here and below.
    pub fn local(&self, moment: i64) -> Option<i64> {
        if !is_finite_timestamp(moment) {
            return Some(moment);
        }
        moment.checked_add(self.offset_at(moment) * MICROS_PER_SECOND).and_then(finite_timestamp)
    }

    /// Returns the moment of a local time.
    pub fn moment(&self, local: i64) -> Option<i64> {
        if !is_finite_timestamp(local) {
            return Some(local);
        }
        let offset = match self.0.to_ambiguous_timestamp(Offset::UTC.to_datetime(near(local))).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Gap { before, .. } => before,
            AmbiguousOffset::Fold { after, .. } => after,
        };
        local.checked_sub(i64::from(offset.seconds()) * MICROS_PER_SECOND).and_then(finite_timestamp)
    }

    /// Adds an interval to a moment: months and days by the calendar and the clock, the rest as elapsed time.
    pub fn add(&self, moment: i64, interval: Interval) -> Option<i64> {
        if !is_finite_timestamp(moment) {
            return Some(moment);
        }
        let Interval { months, days, micros } = interval;
        let moment = match (months, days) {
            (0, 0) => moment,
            _ => self.moment(timestamp_add(self.local(moment)?, Interval { months, days, micros: 0 })?)?,
        };
        moment.checked_add(micros).and_then(finite_timestamp)
    }

    /// Casts a value to another type, with local times in this zone, and times of day as clocks show them today. Without
    /// types that have a time zone, the same as [`cast_value`].
    pub fn cast(&self, value: &Value, from: &SqlType, to: &SqlType) -> Result<Value> {
        match (value, from, to) {
            (Value::Timestamp(moment), SqlType::TimestampTz, SqlType::Varchar) => {
                let mut text = String::new();
                write_moment(&mut text, *moment, self);
                Ok(Value::text(text))
            }
            (Value::Timestamp(moment), SqlType::TimestampTz, _) if is_local(to) => {
                let local = self.local(*moment).ok_or_else(|| out_of_range(to))?;
                cast_value(&Value::Timestamp(local), &SqlType::Timestamp, to)
            }
            (Value::Timestamp(moment), SqlType::TimestampTz, SqlType::TimeTz) => match cast_value(value, from, to)? {
                Value::TimeTz(utc) => zoned_time(utc.at_offset(self.offset_at(*moment))),
                null => Ok(null),
            },
            (Value::Time(micros), _, SqlType::TimeTz) => zoned_time(TimeTz::new(*micros, self.offset_now())),
            (Value::Text(text), _, SqlType::TimeTz) => parse_time_tz(text, self),
            (Value::Text(text), _, SqlType::TimestampTz) => parse_moment(text, self),
            (_, _, SqlType::TimestampTz) if is_local(from) => match cast_value(value, from, &SqlType::Timestamp)? {
                Value::Timestamp(local) => self.moment(local).map(Value::Timestamp).ok_or_else(|| out_of_range(to)),
                null => Ok(null),
            },
            _ => cast_value(value, from, to),
        }
    }
}

/// Returns a time as a value; an error if there is none.
fn zoned_time(time: Option<TimeTz>) -> Result<Value> {
    time.map(Value::TimeTz).ok_or_else(|| out_of_range(&SqlType::TimeTz))
}

/// True for times without a zone.
fn is_local(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Date | SqlType::Time) || (ty.is_timestamp() && *ty != SqlType::TimestampTz)
}

fn out_of_range(ty: &SqlType) -> Error {
    Error::user(format!("the time is out of range for {ty}")).with_code(SqlState::DATETIME_FIELD_OVERFLOW)
}

/// Returns the second of a moment. If the moment is beyond the database's range, a second near its ends is used
/// instead: rules don't change there.
fn near(micros: i64) -> Timestamp {
    let day = MICROS_PER_DAY / MICROS_PER_SECOND;
    let (first, last) = (Timestamp::MIN.as_second() + day, Timestamp::MAX.as_second() - day);
    Timestamp::from_second(micros.div_euclid(MICROS_PER_SECOND).clamp(first, last)).expect("it is within the bounds")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str, zone: &TimeZone) -> i64 {
        match parse_moment(text, zone) {
            Ok(Value::Timestamp(micros)) => micros,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn shown(moment: i64, zone: &TimeZone) -> String {
        let mut text = String::new();
        write_moment(&mut text, moment, zone);
        text
    }

    /// Local times and what PostgreSQL shows for them.
    #[test]
    fn times_of_a_zone_are_moments() {
        let cases = [
            ("Europe/Berlin", "2024-06-01 12:00:00", "2024-06-01 12:00:00+02", "2024-06-01 10:00:00+00"),
            ("Europe/Berlin", "2024-01-01 12:00:00.5", "2024-01-01 12:00:00.5+01", "2024-01-01 11:00:00.5+00"),
            // Skipped times, and times that occur twice.
            ("Europe/Berlin", "2024-03-31 02:30:00", "2024-03-31 03:30:00+02", "2024-03-31 01:30:00+00"),
            ("Europe/Berlin", "2024-10-27 02:30:00", "2024-10-27 02:30:00+01", "2024-10-27 01:30:00+00"),
            ("Europe/Berlin", "1850-01-01 00:00:00", "1850-01-01 00:00:00+00:53:28", "1849-12-31 23:06:32+00"),
            ("Asia/Kolkata", "2024-06-01 12:00:00", "2024-06-01 12:00:00+05:30", "2024-06-01 06:30:00+00"),
            ("America/St_Johns", "2024-12-31 23:00:00", "2024-12-31 23:00:00-03:30", "2025-01-01 02:30:00+00"),
            ("america/new_york", "2024-06-01 12:00:00+00", "2024-06-01 08:00:00-04", "2024-06-01 12:00:00+00"),
            ("UTC", "2024-06-01 12:00:00 Asia/Tokyo", "2024-06-01 03:00:00+00", "2024-06-01 03:00:00+00"),
            ("Asia/Tokyo", "2024-06-01 UTC", "2024-06-01 09:00:00+09", "2024-06-01 00:00:00+00"),
            ("Asia/Tokyo", "20000-06-01", "20000-06-01 00:00:00+09", "20000-05-31 15:00:00+00"),
            ("Asia/Tokyo", "2000-06-01 BC", "2000-06-01 00:00:00+09:18:59 BC", "2000-05-31 14:41:01+00 BC"),
        ];
        for (name, text, local, utc) in cases {
            let zone = TimeZone::named(name).unwrap();
            let moment = moment(text, &zone);
            assert_eq!(shown(moment, &zone), local, "{text} {name}");
            assert_eq!(shown(moment, &TimeZone::UTC), utc, "{text} {name}");
        }
        assert!(TimeZone::named("Europe/Nowhere").unwrap_err().message().contains("Europe/Nowhere"));
    }

    #[test]
    fn all_moments_have_local_times() {
        for name in ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Europe/Berlin"] {
            let zone = TimeZone::named(name).unwrap();
            assert_eq!(TimeZone::named(zone.name()).unwrap(), zone);
            for moment in [0, i64::MIN, i64::MAX, i64::MIN / 2, i64::MAX / 2, -1, 1_700_000_000_000_000] {
                let Some(local) = zone.local(moment) else { continue };
                assert_eq!(zone.moment(local).and_then(|moment| zone.local(moment)), Some(local), "{moment} {name}");
            }
        }
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        let zone = TimeZone::named("Europe/Berlin").unwrap();
        let before = moment("2024-03-30 12:00:00", &zone);
        let add = |months, days, hours: i64| {
            let interval = Interval { months, days, micros: hours * 3_600 * MICROS_PER_SECOND };
            shown(zone.add(before, interval).unwrap(), &zone)
        };
        assert_eq!(add(0, 1, 0), "2024-03-31 12:00:00+02");
        assert_eq!(add(0, 0, 24), "2024-03-31 13:00:00+02");
        assert_eq!(add(1, 0, 0), "2024-04-30 12:00:00+02");
        assert_eq!(add(-1, 1, -1), "2024-03-01 11:00:00+01");
    }
}

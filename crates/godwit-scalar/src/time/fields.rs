//! The fields of a time in a text, and the time that they make up.

use godwit_common::{Error, Result, SqlState};
use godwit_types::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND};
use godwit_types::{SqlType, TimeZone};

use super::moment::{JULIAN_DAY_OF_1970, MICROS_PER_HOUR, MICROS_PER_MINUTE, Moment, day_of, in_range, iso_year_start};

/// The fields that were read.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields {
    pub(super) year: Option<i64>,
    pub(super) is_before_christ: bool,
    pub(super) month: Option<i64>,
    pub(super) day: Option<i64>,
    pub(super) day_of_year: Option<i64>,
    pub(super) julian_day: Option<i64>,
    pub(super) iso_year: Option<i64>,
    pub(super) iso_week: Option<i64>,
    pub(super) sunday_week: Option<i64>,
    pub(super) monday_week: Option<i64>,
    /// From 0 for Sunday.
    pub(super) day_of_week: Option<i64>,
    pub(super) hour: Option<i64>,
    pub(super) is_afternoon: Option<bool>,
    pub(super) minute: Option<i64>,
    pub(super) second: Option<i64>,
    pub(super) micros: Option<i64>,
    pub(super) seconds_of_day: Option<i64>,
    /// Seconds ahead of UTC.
    pub(super) offset: Option<i64>,
    pub(super) zone: Option<TimeZone>,
}

/// The error for a text with a day or time that doesn't exist.
fn no_such(what: &str) -> Error {
    Error::user(format!("there is no such {what}")).with_code(SqlState::DATETIME_FIELD_OVERFLOW)
}

impl Fields {
    /// Returns the day, from the most exact fields; missing fields are the first of their kind, the year is `year`.
    pub(super) fn days(&self, year: i64) -> Result<i64> {
        let day = || no_such("day");
        if let Some(julian_day) = self.julian_day {
            return Ok(julian_day - JULIAN_DAY_OF_1970);
        }
        let year = match self.year {
            Some(year) if self.is_before_christ => 1 - year,
            Some(known) => known,
            None => year,
        };
        let monday_first = self.day_of_week.map(|day| (day + 6) % 7);
        if let Some(week) = self.iso_week {
            let start = iso_year_start(self.iso_year.unwrap_or(year)) + (week - 1) * 7;
            return Ok(start + monday_first.unwrap_or(0));
        }
        let new_year = day_of(year, 1, 1).ok_or_else(day)?;
        let first_day = Moment { days: new_year, micros: 0 };
        if let Some(week) = self.sunday_week {
            let first_sunday = new_year + (7 - first_day.day_of_week()) % 7;
            return Ok(first_sunday + (week - 1) * 7 + self.day_of_week.unwrap_or(0));
        }
        if let Some(week) = self.monday_week {
            let first_monday = new_year + (8 - first_day.iso_day_of_week()) % 7;
            return Ok(first_monday + (week - 1) * 7 + monday_first.unwrap_or(0));
        }
        if let Some(day_of_year) = self.day_of_year {
            let days = new_year + day_of_year - 1;
            let is_of_year = day_of_year >= 1 && Moment { days, micros: 0 }.civil().year == year;
            return is_of_year.then_some(days).ok_or_else(day);
        }
        day_of(year, self.month.unwrap_or(1), self.day.unwrap_or(1)).ok_or_else(day)
    }

    /// Returns the microseconds of the day.
    pub(super) fn time(&self) -> Result<i64> {
        let time = || no_such("time of day");
        if let Some(seconds) = self.seconds_of_day {
            let micros = seconds.checked_mul(MICROS_PER_SECOND).filter(|micros| (0..MICROS_PER_DAY).contains(micros));
            return micros.map(|micros| micros + self.micros.unwrap_or(0)).ok_or_else(time);
        }
        let hour = match (self.hour.unwrap_or(0), self.is_afternoon) {
            (0..=12, None) | (13.., None) => self.hour.unwrap_or(0),
            (hour @ 0..=12, Some(is_afternoon)) => hour % 12 + if is_afternoon { 12 } else { 0 },
            _ => return Err(time()),
        };
        let (minute, second) = (self.minute.unwrap_or(0), self.second.unwrap_or(0));
        let is_time = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
        let micros = hour * MICROS_PER_HOUR + minute * MICROS_PER_MINUTE + second * MICROS_PER_SECOND;
        if is_time { Ok(micros + self.micros.unwrap_or(0)) } else { Err(time()) }
    }

    /// Returns the timestamp, in UTC if the text gives a zone or an offset.
    pub(super) fn timestamp(&self, year: i64) -> Result<i64> {
        let local = Moment { days: self.days(year)?, micros: self.time()? }.timestamp();
        let timestamp = match (&self.zone, self.offset) {
            (Some(zone), _) => local.and_then(|local| zone.moment(local)),
            (None, Some(seconds)) => local.and_then(|local| local.checked_sub(seconds * MICROS_PER_SECOND)),
            (None, None) => local,
        };
        in_range(timestamp, &SqlType::Timestamp)
    }
}

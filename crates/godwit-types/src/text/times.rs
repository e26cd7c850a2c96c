//! Dates, times and timestamps as text.
//!
//! One parser handles them all, `[date] [time] [zone] [BC]`, and each type uses the parts that it needs, as in
//! PostgreSQL: a DATE ignores the time, a TIME the date.

use std::fmt::Write;

use godwit_common::{Error, Result, SqlState};

use super::digits::{pair, write_padded};
use super::scan::{Scan, number, rounded_fraction};
use super::{not_a, out_of_range, quoted};
use crate::calendar::{Civil, INFINITE_DAYS, INFINITE_TICKS, MICROS_PER_DAY, MICROS_PER_SECOND, SECONDS_PER_DAY};
use crate::calendar::{YEAR_MAX, civil_from_days, date_of, days_from_civil, ticks_per_second};
use crate::calendar::{finite_timestamp, infinity_text, is_finite_timestamp};
use crate::{SqlType, TimeTz, TimeZone, Value};

/// The parts of a text.
#[derive(Debug, Default)]
struct Moment<'t> {
    days: Option<i64>,
    time: Option<Clock<'t>>,
    zone: Zone,
}

/// The time zone of a text.
#[derive(Debug, Default)]
enum Zone {
    /// Not specified.
    #[default]
    None,
    /// This many seconds east.
    Offset(i64),
    /// The local time of a zone.
    Named(TimeZone),
}

#[derive(Debug, Default, Clone, Copy)]
struct Clock<'t> {
    seconds: i64,
    /// Digits after the point.
    fraction: &'t str,
}

impl Clock<'_> {
    /// Microseconds since midnight, rounded.
    fn micros(self) -> i64 {
        self.seconds * MICROS_PER_SECOND + rounded_fraction(self.fraction, 6)
    }
}

/// Why a text isn't a date or time.
#[derive(Debug)]
enum Flaw<'t> {
    /// The text has another form.
    Form,
    /// There is no such month, day, hour, minute or second.
    Field(&'static str),
    /// The time zone is unknown.
    Zone(&'t str),
}

impl Flaw<'_> {
    fn error(self, text: &str, ty: &SqlType) -> Error {
        match self {
            Flaw::Form => not_a(text, ty),
            Flaw::Field(what) => Error::user(format!("{}: there is no such {what}", not_a(text, ty).message()))
                .with_code(SqlState::DATETIME_FIELD_OVERFLOW),
            Flaw::Zone(name) => Error::user(format!("the time zone {} is not known", quoted(name)))
                .with_code(SqlState::INVALID_PARAMETER_VALUE)
                .with_hint("write its name, as 'Europe/Berlin', or its distance from UTC, as '+05:30'"),
        }
    }
}

/// Reads `infinity` and `-infinity`, in any case, or without the last letters: 1 or -1.
fn read_infinity(text: &str) -> Option<i64> {
    let text = text.trim();
    let (sign, word) = text.strip_prefix('-').map_or((1, text), |word| (-1, word));
    let is_infinity = ["infinity", "inf"].iter().any(|name| word.eq_ignore_ascii_case(name));
    is_infinity.then_some(sign)
}

pub(super) fn parse_date(text: &str) -> Result<Value> {
    let ty = SqlType::Date;
    if let Some(sign) = read_infinity(text) {
        return Ok(Value::Date(sign as i32 * INFINITE_DAYS));
    }
    let moment = read(text).map_err(|flaw| flaw.error(text, &ty))?;
    let days = moment.days.ok_or_else(|| not_a(text, &ty))?;
    date_of(days).map(Value::Date).ok_or_else(|| out_of_range(text.trim(), &ty))
}

pub(super) fn parse_time(text: &str) -> Result<Value> {
    let ty = SqlType::Time;
    let moment = read(text).map_err(|flaw| flaw.error(text, &ty))?;
    let micros = moment.time.ok_or_else(|| not_a(text, &ty))?.micros();
    // Unlike PostgreSQL, there is no 24:00:00: results are Arrow, which has none.
    if micros < MICROS_PER_DAY { Ok(Value::Time(micros)) } else { Err(out_of_range(text.trim(), &ty)) }
}

/// Parses a TIME WITH TIME ZONE, in `zone` unless the text says otherwise: as of the date before it, or of today. A zone in
/// the text, other than UTC, needs a date, as its distance from UTC may change.
pub(crate) fn parse_time_tz(text: &str, zone: &TimeZone) -> Result<Value> {
    let ty = SqlType::TimeTz;
    let moment = read(text).map_err(|flaw| flaw.error(text, &ty))?;
    let micros = moment.time.ok_or_else(|| not_a(text, &ty))?.micros();
    let on_day = |zone: &TimeZone, days: i64| {
        let local = days.checked_mul(MICROS_PER_DAY)?.checked_add(micros)?;
        zone.moment(local).map(|moment| zone.offset_at(moment))
    };
    let offset = match (moment.zone, moment.days) {
        (Zone::Offset(east), _) => Some(east),
        (Zone::Named(zone), _) if zone.is_utc() => Some(0),
        (Zone::Named(zone), Some(days)) => on_day(&zone, days),
        (Zone::Named(_), None) => {
            return Err(not_a(text, &ty).with_hint("write a date before it, or the distance from UTC, as '+05:30'"));
        }
        (Zone::None, Some(days)) => on_day(zone, days),
        (Zone::None, None) => Some(zone.offset_now()),
    };
    let time = offset.and_then(|offset| TimeTz::new(micros, offset));
    time.map(Value::TimeTz).ok_or_else(|| out_of_range(text.trim(), &ty))
}

/// Parses a TIMESTAMP of any kind; one with a time zone is in UTC unless the text specifies another.
pub(super) fn parse_timestamp(text: &str, ty: &SqlType) -> Result<Value> {
    parse_timestamp_in(text, ty, &TimeZone::UTC)
}

/// Parses a TIMESTAMP WITH TIME ZONE, in `zone` unless the text specifies another.
pub(crate) fn parse_moment(text: &str, zone: &TimeZone) -> Result<Value> {
    parse_timestamp_in(text, &SqlType::TimestampTz, zone)
}

fn parse_timestamp_in(text: &str, ty: &SqlType, zone: &TimeZone) -> Result<Value> {
    if let Some(sign) = read_infinity(text) {
        return Ok(Value::Timestamp(sign * INFINITE_TICKS));
    }
    let moment = read(text).map_err(|flaw| flaw.error(text, ty))?;
    let days = moment.days.ok_or_else(|| not_a(text, ty))?;
    let clock = moment.time.unwrap_or_default();
    let ticks = ticks_per_second(ty);
    let seconds = i128::from(days) * i128::from(SECONDS_PER_DAY) + i128::from(clock.seconds);
    let fraction = rounded_fraction(clock.fraction, ticks.ilog10() as usize);
    let local = i64::try_from(seconds * i128::from(ticks) + i128::from(fraction)).ok();
    let ticks = match (ty, moment.zone) {
        (SqlType::TimestampTz, Zone::None) => local.and_then(|local| zone.moment(local)),
        (SqlType::TimestampTz, Zone::Named(zone)) => local.and_then(|local| zone.moment(local)),
        (SqlType::TimestampTz, Zone::Offset(east)) => local.and_then(|local| local.checked_sub(east * ticks)),
        _ => local,
    };
    ticks.and_then(finite_timestamp).map(Value::Timestamp).ok_or_else(|| out_of_range(text.trim(), ty))
}

fn read(text: &str) -> std::result::Result<Moment<'_>, Flaw<'_>> {
    let mut scan = Scan::new(text);
    let mut moment = Moment::default();
    if scan.rest().eq_ignore_ascii_case("epoch") {
        return Ok(Moment { days: Some(0), time: Some(Clock::default()), zone: Zone::Offset(0) });
    }
    let mut date = None;
    if !begins_with_time(scan) {
        date = Some(read_date(&mut scan)?);
        if scan.eat('T') || scan.eat('t') {
            moment.time = Some(read_time(&mut scan)?);
        }
        scan.skip_blanks();
    }
    if moment.time.is_none() && scan.peek().is_some_and(|c| c.is_ascii_digit()) {
        moment.time = Some(read_time(&mut scan)?);
        scan.skip_blanks();
    }
    moment.zone = match read_zone(&mut scan) {
        // After a date alone, a word is unlikely to be a time zone.
        Err(Flaw::Zone(_)) if moment.time.is_none() => return Err(Flaw::Form),
        zone => zone?,
    };
    scan.skip_blanks();
    let before_christ = match scan.rest().to_ascii_uppercase().as_str() {
        "" | "AD" => false,
        "BC" | "(BC)" => true,
        _ => return Err(Flaw::Form),
    };
    if let Some((year, month, day)) = date {
        // The year before 1 AD is 1 BC.
        let year = if before_christ { 1 - year } else { year };
        moment.days = Some(days_from_civil(Civil { year, month, day }).ok_or(Flaw::Field("day"))?);
    }
    Ok(moment)
}

/// Adds minutes to the offset from UTC of a moment that was written to `out` at `start`, unless it has some: `+01` becomes
/// `+01:00`, which is what ISO 8601's readers know. Timestamps without an offset stay as they are.
pub fn write_offset_minutes(out: &mut String, start: usize) {
    let clock = out[start..].find(' ').map(|at| start + at);
    let sign = clock.and_then(|clock| out[clock..].find(['+', '-']).map(|at| clock + at));
    let Some(minutes) = sign.map(|sign| sign + "+00".len()) else { return };
    if !out[minutes..].starts_with(':') {
        out.insert_str(minutes, ":00");
    }
}

/// Returns a moment or timestamp's text according to ISO 8601, as PostgreSQL does in JSON: with `T` before the time, and
/// the minutes of the offset from UTC. Infinite ones stay as they are.
pub fn iso_moment(mut text: String) -> String {
    write_offset_minutes(&mut text, 0);
    text.replacen(' ', "T", 1)
}

fn begins_with_time(mut scan: Scan<'_>) -> bool {
    !scan.digits().is_empty() && scan.peek() == Some(':')
}

/// `YYYY-MM-DD`, `YYYY/MM/DD` or `YYYYMMDD`: year, month, day.
fn read_date<'t>(scan: &mut Scan<'t>) -> std::result::Result<(i64, u32, u32), Flaw<'t>> {
    let small = |digits: &str| match digits.len() {
        1 | 2 => digits.parse::<u32>().map_err(|_| Flaw::Form),
        _ => Err(Flaw::Form),
    };
    let year = scan.digits();
    let separator = ['-', '/'].into_iter().find(|&separator| scan.eat(separator));
    let (year, month, day) = match separator {
        None if year.len() == 8 => (&year[..4], small(&year[4..6])?, small(&year[6..])?),
        Some(separator) if year.len() >= 3 => {
            let month = small(scan.digits())?;
            if !scan.eat(separator) {
                return Err(Flaw::Form);
            }
            (year, month, small(scan.digits())?)
        }
        _ => return Err(Flaw::Form),
    };
    let year = number(year).filter(|year| *year <= YEAR_MAX).ok_or(Flaw::Field("year"))?;
    match month {
        _ if year == 0 => Err(Flaw::Field("year")),
        1..=12 => Ok((year, month, day)),
        _ => Err(Flaw::Field("month")),
    }
}

/// `HH:MM[:SS[.f]] [AM|PM]`.
fn read_time<'t>(scan: &mut Scan<'t>) -> std::result::Result<Clock<'t>, Flaw<'t>> {
    let field = |scan: &mut Scan<'t>, most: i64| match scan.digits() {
        digits if (1..=2).contains(&digits.len()) => {
            number(digits).filter(|value| *value <= most).ok_or(Flaw::Field("time of day"))
        }
        _ => Err(Flaw::Form),
    };
    let mut hour = field(scan, 24)?;
    if !scan.eat(':') {
        return Err(Flaw::Form);
    }
    let minute = field(scan, 59)?;
    let (second, fraction) = if scan.eat(':') { (field(scan, 60)?, scan.fraction()) } else { (0, "") };
    let mut ahead = *scan;
    ahead.skip_blanks();
    let half = ahead.word().to_ascii_uppercase();
    if half == "AM" || half == "PM" {
        if !(1..=12).contains(&hour) {
            return Err(Flaw::Field("time of day"));
        }
        hour = hour % 12 + if half == "PM" { 12 } else { 0 };
        *scan = ahead;
    }
    let seconds = (hour * 60 + minute) * 60 + second;
    let is_over =
        seconds > SECONDS_PER_DAY || seconds == SECONDS_PER_DAY && fraction.bytes().any(|digit| digit != b'0');
    if is_over { Err(Flaw::Field("time of day")) } else { Ok(Clock { seconds, fraction }) }
}

/// `Z`, `UTC`, `Europe/Berlin`, `+HH`, `+HHMM`, `+HH:MM`, `+HH:MM:SS`, or nothing.
fn read_zone<'t>(scan: &mut Scan<'t>) -> std::result::Result<Zone, Flaw<'t>> {
    let Some(west) = scan.sign() else {
        let mut ahead = *scan;
        let name = ahead.until_blank();
        if name.is_empty() || ["AD", "BC", "(BC)"].iter().any(|era| name.eq_ignore_ascii_case(era)) {
            return Ok(Zone::None);
        }
        let zone = TimeZone::named(name).map_err(|_| Flaw::Zone(name))?;
        *scan = ahead;
        return Ok(Zone::Named(zone));
    };
    let digits = scan.digits();
    let (hours, mut minutes, mut seconds) = match digits.len() {
        1 | 2 => (digits, "0", "0"),
        3 | 4 => (&digits[..digits.len() - 2], &digits[digits.len() - 2..], "0"),
        _ => return Err(Flaw::Form),
    };
    if digits.len() <= 2 && scan.eat(':') {
        minutes = scan.digits();
        seconds = if scan.eat(':') { scan.digits() } else { "0" };
    }
    let field = |digits: &str, most: i64| number(digits).filter(|value| *value <= most).ok_or(Flaw::Field("time zone"));
    let offset = field(hours, 15)? * 3_600 + field(minutes, 59)? * 60 + field(seconds, 59)?;
    Ok(Zone::Offset(if west { -offset } else { offset }))
}

/// `YYYY-MM-DD`, with ` BC` for years before the first; or `infinity`.
pub(super) fn write_date(out: &mut String, days: i64) {
    if days.abs() >= i64::from(INFINITE_DAYS) {
        return out.push_str(infinity_text(days < 0));
    }
    let date = civil_from_days(days);
    write_civil(out, date);
    out.push_str(era(date));
}

fn write_civil(out: &mut String, date: Civil) {
    if let Ok(year @ 1..=9999) = usize::try_from(date.year) {
        let mut text = *b"0000-00-00";
        text[..2].copy_from_slice(&pair(year / 100));
        text[2..4].copy_from_slice(&pair(year % 100));
        text[5..7].copy_from_slice(&pair(date.month as usize));
        text[8..].copy_from_slice(&pair(date.day as usize));
        return out.push_str(std::str::from_utf8(&text).expect("digits are ASCII"));
    }
    let year = if date.year <= 0 { 1 - date.year } else { date.year };
    write_padded(out, year.unsigned_abs(), 4);
    out.push('-');
    write_padded(out, date.month.into(), 2);
    out.push('-');
    write_padded(out, date.day.into(), 2);
}

fn era(date: Civil) -> &'static str {
    if date.year <= 0 { " BC" } else { "" }
}

pub(super) fn write_time(out: &mut String, micros: i64) {
    let (seconds, fraction) = (micros.div_euclid(MICROS_PER_SECOND), micros.rem_euclid(MICROS_PER_SECOND));
    write_clock(out, seconds, fraction, 6);
}

/// `HH:MM:SS.f+HH`, with the minutes and seconds of the offset where they aren't 0.
pub(super) fn write_time_tz(out: &mut String, time: TimeTz) {
    write_time(out, time.local_micros());
    write_offset(out, time.offset_seconds());
}

/// Writes `HH:MM:SS` and the fraction, without trailing zeros. Intervals may have more hours than a day.
pub(super) fn write_clock(out: &mut String, seconds: i64, fraction: i64, places: usize) {
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let mut text = *b"00:00:00";
    if let Ok(hours @ ..100) = usize::try_from(hours.unsigned_abs()) {
        text[..2].copy_from_slice(&pair(hours));
    } else {
        write_padded(out, hours.unsigned_abs(), 2);
    }
    text[3..5].copy_from_slice(&pair(minutes.unsigned_abs() as usize));
    text[6..].copy_from_slice(&pair(seconds.unsigned_abs() as usize));
    let written = if hours.unsigned_abs() < 100 { &text[..] } else { &text[2..] };
    out.push_str(std::str::from_utf8(written).expect("digits are ASCII"));
    if fraction != 0 {
        out.push('.');
        write_padded(out, fraction.unsigned_abs(), places);
        out.truncate(out.trim_end_matches('0').len());
    }
}

/// Writes date and time; for a TIMESTAMP WITH TIME ZONE those in UTC, with its offset.
pub(super) fn write_timestamp(out: &mut String, ticks: i64, ty: &SqlType) {
    match ty {
        SqlType::TimestampTz => write_moment(out, ticks, &TimeZone::UTC),
        // Dividing by a constant needs no division.
        SqlType::Timestamp => write_date_and_time(out, ticks, MICROS_PER_SECOND, None),
        _ => write_date_and_time(out, ticks, ticks_per_second(ty), None),
    }
}

/// Writes date and time in a zone, and the offset from UTC at that moment.
pub(crate) fn write_moment(out: &mut String, micros: i64, zone: &TimeZone) {
    write_date_and_time(out, micros, MICROS_PER_SECOND, Some(zone.offset_at(micros)));
}

#[inline]
fn write_date_and_time(out: &mut String, ticks: i64, per_second: i64, offset: Option<i64>) {
    if !is_finite_timestamp(ticks) {
        return out.push_str(infinity_text(ticks < 0));
    }
    let (seconds, fraction) = (ticks.div_euclid(per_second), ticks.rem_euclid(per_second));
    let seconds = seconds + offset.unwrap_or(0);
    let date = civil_from_days(seconds.div_euclid(SECONDS_PER_DAY));
    write_civil(out, date);
    out.push(' ');
    write_clock(out, seconds.rem_euclid(SECONDS_PER_DAY), fraction, per_second.ilog10() as usize);
    if let Some(offset) = offset {
        write_offset(out, offset);
    }
    out.push_str(era(date));
}

/// `+HH`, with `:MM` and `:SS` where they aren't 0.
fn write_offset(out: &mut String, offset: i64) {
    let (sign, seconds) = (if offset < 0 { '-' } else { '+' }, offset.abs());
    write!(out, "{sign}{:02}", seconds / 3_600).expect("strings take everything");
    for (part, is_there) in [(seconds / 60 % 60, seconds % 3_600 != 0), (seconds % 60, seconds % 60 != 0)] {
        if is_there {
            write!(out, ":{part:02}").expect("strings take everything");
        }
    }
}

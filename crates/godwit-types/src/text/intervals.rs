//! Intervals as text.
//!
//! Three forms are read, as in PostgreSQL:
//! - verbose: amounts with units, a time, `ago` at the end to reverse all signs: `@ 1 year 2 mons -3 days 04:05:06
//!   ago`. `1-2` is years and months, a number before a time is days, and a number by itself has the requested unit.
//! - ISO 8601 with designators: `P1Y2M3DT4H5M6.5S`.
//!
//! Fractions carry over into smaller parts: of years into months, of months and weeks into days, of days into time.
//! Unlike in PostgreSQL, a part may occur twice, and both are added.

use std::fmt::Write;

use godwit_common::{Error, Result};

use super::scan::{Scan, number, rounded_fraction};
use super::{not_a, out_of_range, times};
use crate::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::interval::UnitSize;
use crate::{Interval, IntervalUnit, SqlType};

/// Digits of a fraction that are used.
const FRACTION_PLACES: usize = 12;
/// A fraction of one.
const FRACTION_ONE: i128 = 1_000_000_000_000;

enum Flaw {
    /// The text has another form.
    Form,
    /// A part is too large.
    Range,
}

/// Parses an interval. A number without a unit is in units of `bare`: seconds, unless `INTERVAL '…' unit` specifies
/// another.
pub fn parse(text: &str, bare: IntervalUnit) -> Result<Interval> {
    let error = |flaw| -> Error {
        match flaw {
            Flaw::Form => not_a(text, &SqlType::Interval),
            Flaw::Range => out_of_range(text.trim(), &SqlType::Interval),
        }
    };
    let scan = Scan::new(text);
    let sum = if matches!(scan.peek(), Some('P' | 'p')) { read_iso(scan) } else { read_verbose(scan, bare) };
    sum.and_then(|sum| Interval::from_parts(sum.months, sum.days, sum.micros).ok_or(Flaw::Range)).map_err(error)
}

/// The parts so far.
#[derive(Default)]
struct Sum {
    months: i64,
    days: i64,
    micros: i64,
}

/// A number in front of a unit.
#[derive(Clone, Copy)]
struct Amount<'t> {
    negative: bool,
    whole: i64,
    fraction: &'t str,
}

impl Sum {
    fn add(&mut self, amount: Amount<'_>, unit: IntervalUnit) -> std::result::Result<(), Flaw> {
        self.add_parts(amount, unit.size()).ok_or(Flaw::Range)
    }

    fn add_parts(&mut self, amount: Amount<'_>, unit: UnitSize) -> Option<()> {
        let sign = if amount.negative { -1 } else { 1 };
        let fraction = i128::from(rounded_fraction(amount.fraction, FRACTION_PLACES));
        let whole = |size: i64| amount.whole.checked_mul(size)?.checked_mul(sign);
        // The fraction of a unit, in smaller ones.
        let parts = |count: i64| i128::from(sign) * fraction * i128::from(count);
        match unit {
            UnitSize::Months(months) => {
                self.months = self.months.checked_add(whole(months)?)?;
                self.add_months(parts(months), months >= 12)
            }
            UnitSize::Days(days) => {
                self.days = self.days.checked_add(whole(days)?)?;
                self.add_days(parts(days))
            }
            UnitSize::Micros(micros) => {
                self.micros = self.micros.checked_add(whole(micros)?)?;
                self.add_micros(parts(micros))
            }
        }
    }

    /// Fractions of years are rounded to months; those of months become days.
    fn add_months(&mut self, parts: i128, of_years: bool) -> Option<()> {
        let months = if of_years { rounded(parts) } else { parts / FRACTION_ONE };
        self.months = self.months.checked_add(i64::try_from(months).ok()?)?;
        if of_years { Some(()) } else { self.add_days(parts % FRACTION_ONE * 30) }
    }

    fn add_days(&mut self, parts: i128) -> Option<()> {
        self.days = self.days.checked_add(i64::try_from(parts / FRACTION_ONE).ok()?)?;
        self.add_micros(parts % FRACTION_ONE * i128::from(MICROS_PER_DAY))
    }

    fn add_micros(&mut self, parts: i128) -> Option<()> {
        self.micros = self.micros.checked_add(i64::try_from(rounded(parts)).ok()?)?;
        Some(())
    }

    fn negated(&self) -> Option<Self> {
        let Self { months, days, micros } = self;
        Some(Self { months: months.checked_neg()?, days: days.checked_neg()?, micros: micros.checked_neg()? })
    }
}

/// Converts parts of `FRACTION_ONE` to whole ones, rounded half away from zero.
fn rounded(parts: i128) -> i128 {
    (parts + parts.signum() * (FRACTION_ONE / 2)) / FRACTION_ONE
}

fn read_verbose(mut scan: Scan<'_>, bare: IntervalUnit) -> std::result::Result<Sum, Flaw> {
    let mut sum = Sum::default();
    let mut is_empty = true;
    scan.eat('@');
    scan.skip_blanks();
    while !scan.is_empty() {
        if !is_empty && scan.rest().eq_ignore_ascii_case("ago") {
            return sum.negated().ok_or(Flaw::Range);
        }
        let (negative, had_sign) = scan.sign().map_or((false, false), |negative| (negative, true));
        if had_sign {
            scan.skip_blanks();
        }
        if is_time(scan) {
            read_time(&mut scan, negative, &mut sum)?;
        } else {
            read_amount(&mut scan, negative, bare, &mut sum)?;
        }
        is_empty = false;
        scan.skip_blanks();
    }
    if is_empty { Err(Flaw::Form) } else { Ok(sum) }
}

fn is_time(mut scan: Scan<'_>) -> bool {
    !scan.digits().is_empty() && scan.peek() == Some(':')
}

/// `HH:MM[:SS[.f]]`, any number of hours.
fn read_time(scan: &mut Scan<'_>, negative: bool, sum: &mut Sum) -> std::result::Result<(), Flaw> {
    let hours = number(scan.digits()).ok_or(Flaw::Range)?;
    scan.eat(':');
    let minutes = number(scan.digits()).filter(|minutes| *minutes < 60).ok_or(Flaw::Form)?;
    let (seconds, fraction) = if scan.eat(':') {
        (number(scan.digits()).filter(|seconds| *seconds <= 60).ok_or(Flaw::Form)?, scan.fraction())
    } else {
        (0, "")
    };
    sum.add(Amount { negative, whole: hours, fraction: "" }, IntervalUnit::Hour)?;
    sum.add(Amount { negative, whole: minutes, fraction: "" }, IntervalUnit::Minute)?;
    sum.add(Amount { negative, whole: seconds, fraction }, IntervalUnit::Second)
}

/// A number and its unit, or years and months.
fn read_amount(
    scan: &mut Scan<'_>,
    negative: bool,
    bare: IntervalUnit,
    sum: &mut Sum,
) -> std::result::Result<(), Flaw> {
    let amount = read_number(scan, negative)?;
    if amount.fraction.is_empty() && scan.eat('-') {
        let months = number(scan.digits()).filter(|months| *months < 12).ok_or(Flaw::Form)?;
        sum.add(amount, IntervalUnit::Year)?;
        return sum.add(Amount { whole: months, ..amount }, IntervalUnit::Month);
    }
    scan.skip_blanks();
    let mut ahead = *scan;
    let word = ahead.word();
    let unit = if word.is_empty() || word.eq_ignore_ascii_case("ago") {
        let mut signed = *scan;
        signed.sign();
        match () {
            () if is_time(signed) => IntervalUnit::Day,
            () if scan.is_empty() || !word.is_empty() => bare,
            () => return Err(Flaw::Form),
        }
    } else {
        *scan = ahead;
        IntervalUnit::from_name(word).ok_or(Flaw::Form)?
    };
    sum.add(amount, unit)
}

fn read_number<'t>(scan: &mut Scan<'t>, negative: bool) -> std::result::Result<Amount<'t>, Flaw> {
    let whole = scan.digits();
    let fraction = scan.fraction();
    if whole.is_empty() && fraction.is_empty() {
        return Err(Flaw::Form);
    }
    let whole = if whole.is_empty() { 0 } else { number(whole).ok_or(Flaw::Range)? };
    Ok(Amount { negative, whole, fraction })
}

/// After `P` years, months, weeks and days; after `T` hours, minutes and seconds.
fn read_iso(mut scan: Scan<'_>) -> std::result::Result<Sum, Flaw> {
    let mut sum = Sum::default();
    let (mut in_time, mut is_empty) = (false, true);
    if !scan.eat('P') {
        scan.eat('p');
    }
    while let Some(next) = scan.peek() {
        if !in_time && matches!(next, 'T' | 't') {
            scan.eat(next);
            (in_time, is_empty) = (true, true);
            continue;
        }
        let negative = scan.sign().unwrap_or(false);
        let amount = read_number(&mut scan, negative)?;
        let designator = scan.peek().ok_or(Flaw::Form)?;
        let unit = match (in_time, designator.to_ascii_uppercase()) {
            (false, 'Y') => IntervalUnit::Year,
            (false, 'M') => IntervalUnit::Month,
            (false, 'W') => IntervalUnit::Week,
            (false, 'D') => IntervalUnit::Day,
            (true, 'H') => IntervalUnit::Hour,
            (true, 'M') => IntervalUnit::Minute,
            (true, 'S') => IntervalUnit::Second,
            _ => return Err(Flaw::Form),
        };
        scan.eat(designator);
        sum.add(amount, unit)?;
        is_empty = false;
    }
    if is_empty { Err(Flaw::Form) } else { Ok(sum) }
}

/// `1 year 2 months 3 days 04:05:06.5`, each part with its own sign; zero parts are omitted.
pub(super) fn write(out: &mut String, interval: Interval) {
    let Interval { months, days, micros } = interval;
    let mut parts = Vec::new();
    for (count, unit) in [(months / 12, "year"), (months % 12, "month"), (days, "day")] {
        if count != 0 {
            parts.push(format!("{count} {unit}{}", if count == 1 { "" } else { "s" }));
        }
    }
    out.push_str(&parts.join(" "));
    if micros != 0 || parts.is_empty() {
        let separator = if parts.is_empty() { "" } else { " " };
        let sign = if micros < 0 { "-" } else { "" };
        write!(out, "{separator}{sign}").expect("strings take everything");
        let micros = i128::from(micros).unsigned_abs();
        let part = |value: u128| i64::try_from(value).expect("a part of a 64-bit number");
        let second = u128::from(MICROS_PER_SECOND.unsigned_abs());
        times::write_clock(out, part(micros / second), part(micros % second), 6);
    }
}

//! Dates and times of day in common notations: parts in any order, separated by `-`, `/`, `.` or blanks.

use godwit_vector::kernels::date::{Civil, days_from_civil, days_in_month};

/// The order of a date's parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    YearMonthDay,
    DayMonthYear,
    MonthDayYear,
}

/// The notation of a column's dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DayForm {
    order: Order,
    separator: u8,
    /// True if years have two digits.
    is_short: bool,
}

const ORDERS: [Order; 3] = [Order::YearMonthDay, Order::DayMonthYear, Order::MonthDayYear];
const SEPARATORS: [u8; 4] = [b'-', b'/', b'.', b' '];

/// The number of [forms](DayForm::all).
pub(super) const DAY_FORMS: usize = 24;

impl DayForm {
    /// All forms, in order of preference among those that fit all values. `01/02/2020` is the first of February.
    pub(super) const ALL: [DayForm; DAY_FORMS] = {
        let mut all = [DayForm { order: Order::YearMonthDay, separator: b'-', is_short: false }; DAY_FORMS];
        let mut at = 0;
        while at < DAY_FORMS {
            all[at] = DayForm { order: ORDERS[at / 8], separator: SEPARATORS[at / 2 % 4], is_short: at % 2 == 1 };
            at += 1;
        }
        all
    };

    /// Returns true if casts read dates of this form, too: `2020-12-31`, `2020/12/31`.
    pub(super) const fn is_of_casts(&self) -> bool {
        matches!((self.order, self.separator, self.is_short), (Order::YearMonthDay, b'-' | b'/', false))
    }

    /// Returns the format in strptime's notation.
    pub(super) fn template(&self) -> String {
        let year = if self.is_short { "%y" } else { "%Y" };
        let parts = match self.order {
            Order::YearMonthDay => [year, "%m", "%d"],
            Order::DayMonthYear => ["%d", "%m", year],
            Order::MonthDayYear => ["%m", "%d", year],
        };
        parts.join(std::str::from_utf8(&[self.separator]).expect("separators are ASCII"))
    }
}

/// Three numbers that may be a date, and the text after them.
pub(super) struct DayParts<'a> {
    numbers: [u32; 3],
    digits: [usize; 3],
    separator: u8,
    pub rest: &'a [u8],
}

impl<'a> DayParts<'a> {
    pub(super) fn of(text: &'a [u8]) -> Option<Self> {
        let (first, first_digits, rest) = number(text, 4)?;
        let (&separator, rest) = rest.split_first()?;
        if !SEPARATORS.contains(&separator) {
            return None;
        }
        let (second, second_digits, rest) = number(rest, 2)?;
        let (third, third_digits, rest) = number(rest.strip_prefix(&[separator])?, 4)?;
        let digits = [first_digits, second_digits, third_digits];
        Some(Self { numbers: [first, second, third], digits, separator, rest })
    }

    /// Returns the days since 1970, if the date has this form.
    pub(super) fn day(&self, form: DayForm) -> Option<i32> {
        let [year, month, day] = match form.order {
            Order::YearMonthDay => [0, 1, 2],
            Order::DayMonthYear => [2, 1, 0],
            Order::MonthDayYear => [2, 0, 1],
        };
        let year_digits = if form.is_short { 2 } else { 4 };
        if self.separator != form.separator
            || self.digits[year] != year_digits
            || self.digits[month] > 2
            || self.digits[day] > 2
        {
            return None;
        }
        let year = match (form.is_short, i64::from(self.numbers[year])) {
            (false, year) => year,
            (true, year @ ..69) => 2000 + year,
            (true, year) => 1900 + year,
        };
        let (month, day) = (i64::from(self.numbers[month]), i64::from(self.numbers[day]));
        if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
            return None;
        }
        Some(days_from_civil(Civil { year, month, day }) as i32)
    }
}

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
const MICROS_PER_DAY: i64 = 1440 * MICROS_PER_MINUTE;

/// Parses a date of a form.
pub(super) fn day(text: &[u8], form: DayForm) -> Option<i32> {
    let parts = DayParts::of(text)?;
    if parts.rest.is_empty() { parts.day(form) } else { None }
}

/// Parses a moment: a date of a form, a blank or `T`, a time of day. Microseconds since 1970; in UTC if it has a zone.
pub(super) fn moment(text: &[u8], form: DayForm) -> Option<Moment> {
    let parts = DayParts::of(text)?;
    let clock = MomentClock::of(parts.rest)?;
    clock.on(parts.day(form)?)
}

/// Microseconds since 1970, and whether a zone was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub micros: i64,
    pub has_zone: bool,
}

/// The part of a moment after the date.
#[derive(Clone, Copy)]
pub(super) struct MomentClock {
    micros: i64,
    /// Offset from UTC, positive to the east.
    offset: Option<i64>,
}

impl MomentClock {
    pub(super) fn of(rest: &[u8]) -> Option<Self> {
        let (&blank, rest) = rest.split_first()?;
        if !matches!(blank, b' ' | b'T') {
            return None;
        }
        let (micros, rest) = clock(rest)?;
        let offset = match rest {
            [] | b" UTC" => None,
            b"Z" => Some(0),
            b" AM" | b" am" | b" PM" | b" pm" => {
                let hour = micros / (60 * MICROS_PER_MINUTE);
                if !(1..=12).contains(&hour) {
                    return None;
                }
                let is_afternoon = matches!(rest[1], b'P' | b'p');
                let shift = i64::from(is_afternoon) * 12 - if hour == 12 { 12 } else { 0 };
                return Some(Self { micros: micros + shift * 60 * MICROS_PER_MINUTE, offset: None });
            }
            [sign @ (b'+' | b'-'), zone @ ..] => {
                let (hours, digits, zone) = number(zone, 4)?;
                let minutes = match (digits, zone) {
                    (1 | 2, []) => hours * 60,
                    (1 | 2, [b':', minutes @ ..]) => match number(minutes, 2)? {
                        (minutes @ ..60, 2, []) => hours * 60 + minutes,
                        _ => return None,
                    },
                    (4, []) => hours / 100 * 60 + hours % 100,
                    _ => return None,
                };
                Some(i64::from(minutes) * MICROS_PER_MINUTE * if *sign == b'-' { -1 } else { 1 })
            }
            _ => return None,
        };
        Some(Self { micros, offset })
    }

    pub(super) fn has_zone(&self) -> bool {
        self.offset.is_some()
    }

    fn on(&self, day: i32) -> Option<Moment> {
        let micros = i64::from(day) * MICROS_PER_DAY + self.micros - self.offset.unwrap_or(0);
        Some(Moment { micros, has_zone: self.has_zone() })
    }
}

/// Parses a time of day in microseconds: `13:45`, `1:45:00.5`.
pub(super) fn time(text: &[u8]) -> Option<i64> {
    let (micros, rest) = clock(text)?;
    rest.is_empty().then_some(micros)
}

/// Parses a time of day; also returns the text after it.
fn clock(text: &[u8]) -> Option<(i64, &[u8])> {
    let (hours, _, rest) = number(text, 2)?;
    let (minutes, 2, mut rest) = number(rest.strip_prefix(b":")?, 2)? else { return None };
    let (mut seconds, mut fraction) = (0, 0);
    if let Some(behind) = rest.strip_prefix(b":") {
        let (whole, 2, behind) = number(behind, 2)? else { return None };
        (seconds, rest) = (whole, behind);
        if let Some(digits) = rest.strip_prefix(b".") {
            let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if count == 0 {
                return None;
            }
            let kept = digits[..count.min(6)].iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
            fraction = kept * 10i64.pow(6 - count.min(6) as u32);
            rest = &digits[count..];
        }
    }
    let is_midnight = (hours, minutes, seconds, fraction) == (24, 0, 0, 0);
    if (hours > 23 && !is_midnight) || minutes > 59 || seconds > 59 {
        return None;
    }
    let micros = (i64::from(hours) * 60 + i64::from(minutes)) * MICROS_PER_MINUTE;
    Some((micros + i64::from(seconds) * MICROS_PER_SECOND + fraction, rest))
}

/// Parses a number of at most `most` digits; returns its value, its digits, and the text after it.
fn number(text: &[u8], most: usize) -> Option<(u32, usize, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 || digits > most {
        return None;
    }
    let value = text[..digits].iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
    Some((value, digits, &text[digits..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(text: &str) -> Vec<String> {
        let fits = |form: &&DayForm| day(text.as_bytes(), **form).is_some();
        DayForm::ALL.iter().filter(fits).map(DayForm::template).collect()
    }

    #[test]
    fn forms_of_dates_are_told_apart() {
        assert_eq!(forms("2020-1-5"), ["%Y-%m-%d"]);
        assert_eq!(forms("31.12.2020"), ["%d.%m.%Y"]);
        assert_eq!(forms("12/31/2020"), ["%m/%d/%Y"]);
        assert_eq!(forms("01/02/2020"), ["%d/%m/%Y", "%m/%d/%Y"]);
        assert_eq!(forms("31-12-20"), ["%y-%m-%d", "%d-%m-%y"]);
        for none in ["2020-13-01", "2020-02-30", "31/13/2020", "2020-01/01", "20200101", "1-2-3", "2020-01-01x", ""] {
            assert_eq!(forms(none), [""; 0], "{none}");
        }
        assert_eq!(day(b"69-01-01", DayForm::ALL[1]), Some(-365));
    }

    #[test]
    fn moments_are_read() {
        let iso = DayForm::ALL[0];
        let second =
            |text: &str| moment(text.as_bytes(), iso).map(|moment| (moment.micros / 1_000_000, moment.has_zone));
        assert_eq!(second("1970-01-01 01:00"), Some((3600, false)));
        assert_eq!(second("1970-01-01T01:00:00Z"), Some((3600, true)));
        assert_eq!(second("1970-01-01 01:00:00.25+01:30"), Some((-1799, true)));
        assert_eq!(second("1970-01-01 12:00:01 AM"), Some((1, false)));
        assert_eq!(second("1970-01-01 11:00:00 PM"), Some((82_800, false)));
        for none in ["1970-01-01", "1970-01-01 25:00", "1970-01-01 1", "1970-01-01 13:00 PM", "1970-01-01 10:00+1:5"] {
            assert_eq!(second(none), None, "{none}");
        }
        assert_eq!(
            (time(b"1:45"), time(b"24:00:00"), time(b"24:01")),
            (Some(6_300_000_000), Some(86_400_000_000), None)
        );
    }
}

//! `to_char(moment, template)` with the templates of PostgreSQL, such as `YYYY-MM-DD`.
//!
//! A template that isn't a constant, or has a `%`, is left to DataFusion: it is one of `strftime`.

use std::fmt::Write;

use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::calendar::{Civil, civil_from_days, days_from_civil};
use godwit_types::{SqlType, Value};

use super::Found;
use super::own::computed;
use super::times::days_and_micros;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    /// The last so many digits of the year; all for 4.
    Year(usize),
    Quarter,
    Month,
    MonthName,
    /// The first three letters.
    MonthShort,
    Day,
    DayOfYear,
    /// From 1, which is Sunday.
    DayOfWeek,
    DayName,
    DayShort,
    Hour24,
    Hour12,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    HalfDay,
}

/// The longer of two that begin alike comes first.
const PATTERNS: [(&str, Field); 22] = [
    ("YYYY", Field::Year(4)),
    ("YYY", Field::Year(3)),
    ("YY", Field::Year(2)),
    ("Y", Field::Year(1)),
    ("Q", Field::Quarter),
    ("MONTH", Field::MonthName),
    ("MON", Field::MonthShort),
    ("MM", Field::Month),
    ("MI", Field::Minute),
    ("MS", Field::Millisecond),
    ("DAY", Field::DayName),
    ("DDD", Field::DayOfYear),
    ("DD", Field::Day),
    ("DY", Field::DayShort),
    ("D", Field::DayOfWeek),
    ("HH24", Field::Hour24),
    ("HH12", Field::Hour12),
    ("HH", Field::Hour12),
    ("SS", Field::Second),
    ("US", Field::Microsecond),
    ("AM", Field::HalfDay),
    ("PM", Field::HalfDay),
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Names of months and days are filled up with blanks to the longest of them.
const NAME_WIDTH: usize = 9;

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Field {
        field: Field,
        letters: Letters,
        /// With zeros before numbers and blanks behind names: without `FM`.
        is_filled: bool,
    },
}

/// How names are written: as their pattern is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Letters {
    Upper,
    Lower,
    Capitalized,
}

/// The call, if the template is one of PostgreSQL's.
pub(super) fn to_char(name: &str, moment: &ArgumentType<'_>, template: &ArgumentType<'_>) -> Option<Found> {
    let Some(Value::Text(template)) = template.value else { return None };
    if template.contains('%') || !(*moment.ty == SqlType::Date || moment.ty.is_timestamp()) {
        return None;
    }
    let parts = parse(template);
    let ty = moment.ty.clone();
    let write = move |arguments: &[Value]| -> Result<Value> {
        let moment = Moment::new(days_and_micros(arguments.first(), &ty)?);
        let mut text = String::new();
        parts.iter().for_each(|part| part.write(&moment, &mut text));
        Ok(Value::text(text))
    };
    Some(Ok(computed(name, false, vec![moment.ty.clone(), SqlType::Varchar], SqlType::Varchar, write)))
}

/// The parts of a template; what is no pattern, or stands in double quotes, is text.
fn parse(template: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut rest = template;
    while let Some(first) = rest.chars().next() {
        if first == '"' {
            let quoted = rest[1..].split('"').next().unwrap_or_default();
            text.push_str(quoted);
            rest = rest.get(quoted.len() + 2..).unwrap_or_default();
            continue;
        }
        let filling = strip(rest, "FM");
        let after = filling.unwrap_or(rest);
        let found = PATTERNS.iter().find_map(|&(pattern, field)| Some((pattern, field, strip(after, pattern)?)));
        match found {
            Some((pattern, field, behind)) => {
                if !text.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut text)));
                }
                let letters = Letters::of(&after[..pattern.len()]);
                parts.push(Part::Field { field, letters, is_filled: filling.is_none() });
                rest = behind;
            }
            None => {
                text.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    parts
}

/// What is behind a prefix, in any case.
fn strip<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

impl Letters {
    fn of(pattern: &str) -> Self {
        let mut upper = pattern.chars().map(|letter| letter.is_ascii_uppercase());
        match (upper.next(), upper.next()) {
            (Some(true), Some(false)) => Self::Capitalized,
            (Some(true), _) => Self::Upper,
            _ => Self::Lower,
        }
    }

    fn apply(self, name: &str) -> String {
        match self {
            Self::Upper => name.to_uppercase(),
            Self::Lower => name.to_lowercase(),
            Self::Capitalized => name.to_owned(),
        }
    }
}

/// What patterns show.
struct Moment {
    days: i64,
    civil: Civil,
    /// Of the day.
    micros: i64,
}

impl Moment {
    fn new((days, micros): (i64, i64)) -> Self {
        Self { days, civil: civil_from_days(days), micros }
    }

    /// 0 is Sunday; 1970-01-01 was a Thursday.
    fn day_of_week(&self) -> usize {
        (self.days + 4).rem_euclid(7) as usize
    }

    fn day_of_year(&self) -> i64 {
        let first = days_from_civil(Civil { month: 1, day: 1, ..self.civil });
        self.days - first.expect("years begin") + 1
    }

    fn hour(&self) -> i64 {
        self.micros / 3_600_000_000
    }

    /// A number, and how many digits it has at least.
    fn number(&self, field: Field) -> (i64, usize) {
        let Civil { year, month, day } = self.civil;
        // The year before 1 is the year 1 BC.
        let year = if year > 0 { year } else { 1 - year };
        match field {
            Field::Year(4) => (year, 4),
            Field::Year(digits) => (year % 10_i64.pow(digits as u32), digits),
            Field::Quarter => (i64::from(month - 1) / 3 + 1, 1),
            Field::Month => (month.into(), 2),
            Field::Day => (day.into(), 2),
            Field::DayOfYear => (self.day_of_year(), 3),
            Field::DayOfWeek => (self.day_of_week() as i64 + 1, 1),
            Field::Hour24 => (self.hour(), 2),
            Field::Hour12 => ((self.hour() + 11) % 12 + 1, 2),
            Field::Minute => (self.micros / 60_000_000 % 60, 2),
            Field::Second => (self.micros / 1_000_000 % 60, 2),
            Field::Millisecond => (self.micros / 1_000 % 1_000, 3),
            Field::Microsecond => (self.micros % 1_000_000, 6),
            Field::MonthName | Field::MonthShort | Field::DayName | Field::DayShort | Field::HalfDay => {
                unreachable!("{field:?} is a name")
            }
        }
    }
}

impl Part {
    fn write(&self, moment: &Moment, text: &mut String) {
        let (field, letters, is_filled) = match self {
            Self::Text(literal) => return text.push_str(literal),
            Self::Field { field, letters, is_filled } => (*field, *letters, *is_filled),
        };
        let month = MONTHS[moment.civil.month as usize - 1];
        let day = DAYS[moment.day_of_week()];
        let name = match field {
            Field::MonthName => month,
            Field::MonthShort => &month[..3],
            Field::DayName => day,
            Field::DayShort => &day[..3],
            Field::HalfDay if moment.hour() < 12 => "AM",
            Field::HalfDay => "PM",
            _ => {
                let (number, width) = moment.number(field);
                let width = if is_filled { width } else { 0 };
                return write!(text, "{number:0width$}").expect("text takes all");
            }
        };
        let is_long = matches!(field, Field::MonthName | Field::DayName);
        let width = if is_filled && is_long { NAME_WIDTH } else { 0 };
        write!(text, "{:width$}", letters.apply(name)).expect("text takes all");
    }
}

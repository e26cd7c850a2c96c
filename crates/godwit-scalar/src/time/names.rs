//! Names of months and days, in English as everywhere in SQL.

use super::moment::{Moment, time_function};
use crate::function::Function;
use crate::rows::{Date, Timestamp, TimestampTz, label};

pub(super) const MONTHS: [&str; 12] = [
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

/// From Sunday.
pub(super) const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Length of the short names.
pub(super) const SHORT: usize = 3;

pub(super) fn month_name(moment: Moment) -> &'static str {
    MONTHS[month(moment)]
}

pub(super) fn day_name(moment: Moment) -> &'static str {
    DAYS[day(moment)]
}

/// Returns the index of the moment's month.
fn month(moment: Moment) -> usize {
    moment.civil().month as usize - 1
}

/// Returns the index of the moment's day of the week.
fn day(moment: Moment) -> usize {
    moment.day_of_week() as usize
}

/// Finds the name at the start of a text, in any case; returns its index and length. Short names are tried last.
pub(super) fn find(names: &[&str], text: &str) -> Option<(usize, usize)> {
    let begins = |name: &str| text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    let full = names.iter().position(|name| begins(name)).map(|at| (at, names[at].len()));
    full.or_else(|| names.iter().position(|name| begins(&name[..SHORT])).map(|at| (at, SHORT)))
}

pub(super) fn functions() -> Vec<Function> {
    let day_name = time_function(&["dayname"], "The name of the day of the week");
    let month_name = time_function(&["monthname"], "The name of the month");
    vec![
        with_names(day_name.example("dayname(DATE '2024-05-17')", "Friday"), &DAYS, day),
        with_names(month_name.example("monthname(DATE '2024-05-17')", "May"), &MONTHS, month),
    ]
}

/// Adds the forms that return the name at the index of a moment.
fn with_names(function: Function, names: &[&str], place: fn(Moment) -> usize) -> Function {
    function
        .form(label::<(Timestamp,)>(names, move |(at,)| Moment::of_finite_timestamp(at).map(place)))
        .form(label::<(Date,)>(names, move |(days,)| Moment::of_finite_date(days).map(place)))
        .form(label::<(TimestampTz,)>(names, move |(at,)| Moment::of_finite_timestamp(at).map(place)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::shown;

    #[test]
    fn names() {
        assert_eq!(shown("dayname", &["DATE '2024-05-19'"]), "Sunday");
        assert_eq!(shown("monthname", &["TIMESTAMP '0044-03-15 BC'"]), "March");
        assert_eq!(shown("dayname", &["NULL"]), "NULL");
        assert_eq!(find(&MONTHS, "SEPT 1"), Some((8, 3)));
        assert_eq!(find(&MONTHS, "september"), Some((8, 9)));
        assert_eq!(find(&MONTHS, "may"), Some((4, 3)));
        assert_eq!(find(&DAYS, "é"), None);
    }
}

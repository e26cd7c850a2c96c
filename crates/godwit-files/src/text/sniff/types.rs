//! Detection of the narrowest type of a column's values.

use godwit_types::SqlType;

use super::super::columns::{ColumnForm, Nulls};
use super::super::options::TextOptions;
use super::super::parse;
use super::super::times::{DAY_FORMS, DayForm, DayParts, MomentClock, time};

/// A type that values may have. A value has at most a few of them, of which the first is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Boolean,
    Time,
    Date,
    Timestamp,
    TimestampTz,
    BigInt,
    HugeInt,
    Double,
}

const KINDS: [(Kind, SqlType); 8] = [
    (Kind::Boolean, SqlType::Boolean),
    (Kind::Time, SqlType::Time),
    (Kind::Date, SqlType::Date),
    (Kind::Timestamp, SqlType::Timestamp),
    (Kind::TimestampTz, SqlType::TimestampTz),
    (Kind::BigInt, SqlType::BigInt),
    (Kind::HugeInt, SqlType::HugeInt),
    (Kind::Double, SqlType::Double),
];

/// A set of [`Kind`]s.
type Kinds = u8;

const fn set(kinds: &[Kind]) -> Kinds {
    let (mut all, mut at) = (0, 0);
    while at < kinds.len() {
        all |= 1 << kinds[at] as u8;
        at += 1;
    }
    all
}

const ANY: Kinds = Kinds::MAX;
const MOMENTS: Kinds = set(&[Kind::Date, Kind::Timestamp, Kind::TimestampTz]);
const ALL_FORMS: u32 = (1 << DAY_FORMS) - 1;

/// Number of digits of the longest HUGEINT.
const HUGEINT_DIGITS_MAX: usize = 38;

/// The knowledge about a column from its values so far.
#[derive(Clone)]
pub(super) struct Guess {
    given: Option<SqlType>,
    kinds: Kinds,
    /// Forms that all dates and timestamps have, by position in [`DayForm::ALL`].
    forms: u32,
    has_values: bool,
    /// True if some are numbers other than `nan` and `inf`, which by themselves are words.
    has_numbers: bool,
    /// The user's notation of values.
    form: ColumnForm,
}

/// Returns the kinds of values that some of the types have; text is always one.
fn kinds_among(types: &[SqlType]) -> Kinds {
    let widest = |ty: &SqlType| match ty {
        ty if ty.integer_bits().is_some_and(|bits| bits <= 64) => SqlType::BigInt,
        ty if ty.is_integer() => SqlType::HugeInt,
        ty if ty.is_numeric() => SqlType::Double,
        ty => ty.clone(),
    };
    let wanted: Vec<SqlType> = types.iter().map(widest).collect();
    let kinds = KINDS.iter().filter(|(_, ty)| wanted.contains(ty));
    kinds.fold(0, |all, (kind, _)| all | set(&[*kind]))
}

impl Guess {
    pub(super) fn new(given: Option<SqlType>, options: &TextOptions) -> Self {
        let form = ColumnForm {
            day: None,
            date_format: options.date_format.clone(),
            timestamp_format: options.timestamp_format.clone(),
            thousands: options.thousands,
            decimal_separator: options.decimal_separator,
        };
        let kinds = options.type_candidates.as_ref().map_or(ANY, |types| kinds_among(types));
        Self { given, kinds, forms: ALL_FORMS, has_values: false, has_numbers: false, form }
    }

    /// Takes a value into account.
    pub(super) fn see(&mut self, field: &[u8], nulls: Nulls<'_>) {
        let field = field.trim_ascii();
        if (self.kinds == 0 && self.has_values) || nulls.has(field) {
            return;
        }
        let (kinds, forms) = self.kinds_of(field);
        self.has_values = true;
        self.has_numbers |= field.iter().any(u8::is_ascii_digit);
        self.kinds &= kinds;
        self.forms &= forms;
        if self.forms == 0 {
            self.kinds &= !MOMENTS;
        }
    }

    /// Returns true if a value fits the column.
    pub(super) fn may_be(&self, field: &[u8], nulls: Nulls<'_>) -> bool {
        let trimmed = field.trim_ascii();
        if nulls.has(trimmed) || !self.has_values && self.given.is_none() {
            return true;
        }
        if let Some(given) = &self.given {
            return *given == SqlType::Varchar || given.is_nested() || self.form.value(trimmed, given).is_some();
        }
        let (kinds, forms) = self.kinds_of(trimmed);
        let first = self.kinds & self.kinds.wrapping_neg();
        first == 0 || kinds & first != 0 && (first & MOMENTS == 0 || forms & self.forms != 0)
    }

    /// Returns the type and the notation of values.
    pub(super) fn outcome(&self, options: &TextOptions) -> (SqlType, ColumnForm) {
        let form = |is_moment: bool| {
            let first = DayForm::ALL.get(self.forms.trailing_zeros() as usize).copied();
            let day = first.filter(|_| is_moment && self.has_values && self.given.is_none());
            ColumnForm { day, ..self.form.clone() }
        };
        if let Some(given) = &self.given {
            return (given.clone(), form(false));
        }
        if options.all_varchar || !self.has_values {
            return (SqlType::Varchar, form(false));
        }
        let found = KINDS.iter().find(|(kind, _)| self.kinds & set(&[*kind]) != 0);
        match found {
            Some((Kind::Double, _)) if !self.has_numbers => (SqlType::Varchar, form(false)),
            Some((kind, ty)) => (ty.clone(), form(MOMENTS & set(&[*kind]) != 0)),
            None => (SqlType::Varchar, form(false)),
        }
    }

    /// Returns the types that a value may have; for dates and timestamps, also the forms.
    fn kinds_of(&self, field: &[u8]) -> (Kinds, u32) {
        let Some(&first) = field.first() else { return (0, ALL_FORMS) };
        let mut kinds = 0;
        if matches!(first, b't' | b'T' | b'f' | b'F' | b'y' | b'Y' | b'n' | b'N') && is_boolean(field) {
            kinds |= set(&[Kind::Boolean]);
        }
        if let Some(format) = &self.form.date_format
            && self.form.value(field, &SqlType::Date).is_some()
        {
            return (kinds | set(&[Kind::Date]), if format.is_empty() { 0 } else { ALL_FORMS });
        }
        if self.form.timestamp_format.is_some() && self.form.value(field, &SqlType::Timestamp).is_some() {
            return (kinds | set(&[Kind::Timestamp]), ALL_FORMS);
        }
        if matches!(first, b'n' | b'N' | b'i' | b'I' | b'-') && is_odd_float(field) {
            return (kinds | set(&[Kind::Double]), ALL_FORMS);
        }
        if !(first.is_ascii_digit() || matches!(first, b'-' | b'.') || self.form.marks_numbers()) {
            return (kinds, ALL_FORMS);
        }
        kinds |= self.number_kinds(field);
        if kinds == 0 {
            return self.moment_kinds(field);
        }
        (kinds, ALL_FORMS)
    }

    fn number_kinds(&self, field: &[u8]) -> Kinds {
        if self.form.marks_numbers() {
            let is_number = |ty: &SqlType| self.form.value(field, ty).is_some();
            let has_point = field.contains(&self.form.decimal_separator.unwrap_or(b'.'));
            return match is_number(&SqlType::Double) && field.iter().any(u8::is_ascii_digit) {
                true if !has_point && is_number(&SqlType::BigInt) => set(&[Kind::BigInt, Kind::Double]),
                true => set(&[Kind::Double]),
                false => 0,
            };
        }
        let digits = field.strip_prefix(b"-").unwrap_or(field);
        let whole = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        // Identifiers of people, places and things may begin with zeros; quantities don't.
        if whole == digits.len() && whole > 0 {
            return match digits {
                [b'0', _, ..] if field.len() == digits.len() => 0,
                _ if parse::integer(field).is_some() || self.form.value(field, &SqlType::BigInt).is_some() => {
                    set(&[Kind::BigInt, Kind::HugeInt, Kind::Double])
                }
                _ if whole <= HUGEINT_DIGITS_MAX => set(&[Kind::HugeInt, Kind::Double]),
                _ => set(&[Kind::Double]),
            };
        }
        if let [b'0', b'x' | b'X' | b'b' | b'B', ..] = digits {
            let is_integer = self.form.value(field, &SqlType::BigInt).is_some();
            return if is_integer { set(&[Kind::BigInt, Kind::HugeInt]) } else { 0 };
        }
        let is_padded = whole > 1 && digits[0] == b'0';
        let is_of_double = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'-' | b'+');
        let may_be_double = !is_padded && field.iter().all(is_of_double) && digits.iter().any(u8::is_ascii_digit);
        let is_double =
            may_be_double && (parse::float(field).is_some() || self.form.value(field, &SqlType::Double).is_some());
        if is_double { set(&[Kind::Double]) } else { 0 }
    }

    fn moment_kinds(&self, field: &[u8]) -> (Kinds, u32) {
        if time(field).is_some() {
            return (set(&[Kind::Time]), ALL_FORMS);
        }
        let Some(parts) = DayParts::of(field) else { return (0, ALL_FORMS) };
        let kinds = match (parts.rest, MomentClock::of(parts.rest)) {
            ([], _) => set(&[Kind::Date]),
            (_, Some(clock)) if clock.has_zone() => set(&[Kind::TimestampTz]),
            (_, Some(_)) => set(&[Kind::Timestamp]),
            (_, None) => 0,
        };
        let fits = |at: &usize| self.forms & (1 << at) != 0 && parts.day(DayForm::ALL[*at]).is_some();
        let forms = (0..DAY_FORMS).filter(fits).fold(0, |forms, at| forms | (1 << at));
        if forms == 0 { (0, ALL_FORMS) } else { (kinds, forms) }
    }
}

fn is_boolean(field: &[u8]) -> bool {
    ["true", "false", "t", "f", "yes", "no"].iter().any(|word| word.as_bytes().eq_ignore_ascii_case(field))
}

fn is_odd_float(field: &[u8]) -> bool {
    let field = field.strip_prefix(b"-").unwrap_or(field);
    ["nan", "inf", "infinity"].iter().any(|word| word.as_bytes().eq_ignore_ascii_case(field))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn type_of(fields: &[&str]) -> String {
        let options = TextOptions::of(Path::new("x.csv"), &[]).unwrap();
        let mut guess = Guess::new(None, &options);
        let nulls = [Vec::new()];
        fields.iter().for_each(|field| guess.see(field.as_bytes(), Nulls::of(&nulls)));
        let (ty, form) = guess.outcome(&options);
        match form.day {
            Some(day) => format!("{ty} {}", day.template()),
            None => ty.to_string(),
        }
    }

    #[test]
    fn types_are_the_narrowest() {
        for (fields, expected) in [
            (&["1", "-2", ""][..], "BIGINT"),
            (&["007", "1"], "VARCHAR"),
            (&["0", "0.5", "-.5", "5."], "DOUBLE"),
            (&["00.5"], "VARCHAR"),
            (&["9223372036854775807"], "BIGINT"),
            (&["9223372036854775808", "1"], "HUGEINT"),
            (&["123456789012345678901234567890123456789012"], "DOUBLE"),
            (&["0x1F", "12"], "BIGINT"),
            (&["+1"], "VARCHAR"),
            (&["inf", "nan"], "VARCHAR"),
            (&["inf", "1", "nan"], "DOUBLE"),
            (&["true", "F", "no"], "BOOLEAN"),
            (&["1", "true"], "VARCHAR"),
            (&["1:45", "23:59:59.5"], "TIME"),
            (&["01/02/2020", "31/12/2020"], "DATE %d/%m/%Y"),
            (&["01/02/2020", "12/31/2020"], "DATE %m/%d/%Y"),
            (&["01/02/2020"], "DATE %d/%m/%Y"),
            (&["31/12/2020", "12/31/2020"], "VARCHAR"),
            (&["2020-01-05", "2020-01-05 10:00"], "VARCHAR"),
            (&["2020-01-05T10:00", "2020-01-05 10:00:01.5"], "TIMESTAMP %Y-%m-%d"),
            (&["2020-01-05 10:00:00Z", "2020-01-05 10:00:00+05:30"], "TIMESTAMP WITH TIME ZONE %Y-%m-%d"),
            (&["12/31/2020 11:59:59 PM"], "TIMESTAMP %m/%d/%Y"),
            (&["", ""], "VARCHAR"),
            (&["- 5"], "VARCHAR"),
        ] {
            assert_eq!(type_of(fields), expected, "{fields:?}");
        }
    }
}

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

/// The forms that casts read.
const CAST_FORMS: u32 = {
    let (mut forms, mut at) = (0, 0);
    while at < DAY_FORMS {
        forms |= (DayForm::ALL[at].is_of_casts() as u32) << at;
        at += 1;
    }
    forms
};

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
        let form = ColumnForm::of_user(options);
        let kinds = options.type_candidates.as_ref().map_or(ANY, |types| kinds_among(types));
        Self { given, kinds, forms: ALL_FORMS, has_values: false, has_numbers: false, form }
    }

    /// Takes a value into account.
    pub(super) fn see(&mut self, field: &[u8], nulls: Nulls<'_>) {
        let field = field.trim_ascii();
        if let Some(given) = &self.given {
            // Values that aren't of the type, or of another form than those before, are errors when they are read.
            if let Some(forms) = self.forms_as(given, field) {
                self.forms &= forms;
            }
            return;
        }
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

    pub(super) fn is_given_text(&self) -> bool {
        self.given == Some(SqlType::Varchar)
    }

    /// Returns true if a value fits the column.
    pub(super) fn may_be(&self, field: &[u8], nulls: Nulls<'_>) -> bool {
        let trimmed = field.trim_ascii();
        if nulls.has(trimmed) || !self.has_values && self.given.is_none() {
            return true;
        }
        if let Some(given) = &self.given {
            return self.forms_as(given, trimmed).is_some() || self.form.value(trimmed, given).is_some();
        }
        let (kinds, forms) = self.kinds_of(trimmed);
        let first = self.kinds & self.kinds.wrapping_neg();
        first == 0 || kinds & first != 0 && (first & MOMENTS == 0 || forms & self.forms != 0)
    }

    /// Returns the type and the notation of values.
    pub(super) fn outcome(&self, options: &TextOptions) -> (SqlType, ColumnForm) {
        let ty = match &self.given {
            Some(given) => given.clone(),
            None if options.all_varchar || !self.has_values => SqlType::Varchar,
            None => match KINDS.iter().find(|(kind, _)| self.kinds & set(&[*kind]) != 0) {
                Some((Kind::Double, _)) if !self.has_numbers => SqlType::Varchar,
                Some((_, ty)) => ty.clone(),
                None => SqlType::Varchar,
            },
        };
        let form = self.form_of(&ty);
        (ty, form)
    }

    /// Returns the notation of values as which they are read.
    fn form_of(&self, ty: &SqlType) -> ColumnForm {
        let mut form = self.form.clone();
        if *ty == SqlType::TimestampTz && self.given.is_none() {
            // Values in the user's format would be timestamps without a zone.
            form.timestamp_format = None;
        }
        let format = if *ty == SqlType::Date { &form.date_format } else { &form.timestamp_format };
        if moments_of(ty) != 0 && format.is_none() {
            let first = DayForm::ALL.get(self.forms.trailing_zeros() as usize).copied();
            // Given types are read as casts do, unless the form is one that casts don't know.
            form.day = first.filter(|day| self.given.is_none() || !day.is_of_casts());
        }
        form
    }

    /// Returns the forms that a date or timestamp of a given type may have; `None` if it isn't one, or has another form
    /// than those so far.
    fn forms_as(&self, given: &SqlType, field: &[u8]) -> Option<u32> {
        let wanted = moments_of(given);
        let (kinds, forms) = if wanted == 0 { (0, 0) } else { self.moment_kinds(field) };
        (kinds & wanted != 0).then_some(forms)
    }

    /// Returns the types that a value may have; for dates and timestamps, also the forms.
    fn kinds_of(&self, field: &[u8]) -> (Kinds, u32) {
        let Some(&first) = field.first() else { return (0, ALL_FORMS) };
        let mut kinds = 0;
        if matches!(first, b't' | b'T' | b'f' | b'F' | b'y' | b'Y' | b'n' | b'N') && is_boolean(field) {
            kinds |= set(&[Kind::Boolean]);
        }
        if self.form.date_format.is_some() && self.form.value(field, &SqlType::Date).is_some() {
            kinds |= set(&[Kind::Date]);
        }
        if self.form.timestamp_format.is_some() && self.form.value(field, &SqlType::Timestamp).is_some() {
            kinds |= set(&[Kind::Timestamp]);
        }
        if matches!(first, b'n' | b'N' | b'i' | b'I' | b'-') && is_odd_float(field) {
            return (kinds | set(&[Kind::Double]), ALL_FORMS);
        }
        if !(first.is_ascii_digit() || matches!(first, b'-' | b'.') || self.form.marks_numbers()) {
            return (kinds, ALL_FORMS);
        }
        match self.number_kinds(field) {
            0 => {
                let (moments, forms) = self.moment_kinds(field);
                (kinds | moments, forms)
            }
            numbers => (kinds | numbers, ALL_FORMS),
        }
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
                _ if self.form.value(field, &SqlType::HugeInt).is_some() => set(&[Kind::HugeInt, Kind::Double]),
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

    /// Returns what a value is in its own notation. If the user gives a format for its type, this isn't the format, and
    /// the value is of the next wider type if a cast to that reads it (DuckDB).
    fn moment_kinds(&self, field: &[u8]) -> (Kinds, u32) {
        if time(field).is_some() {
            return (set(&[Kind::Time]), ALL_FORMS);
        }
        let Some(parts) = DayParts::of(field) else { return (0, ALL_FORMS) };
        let mut kinds = match (parts.rest, MomentClock::of(parts.rest)) {
            ([], _) => set(&[Kind::Date]),
            (_, Some(clock)) if clock.has_zone() => set(&[Kind::TimestampTz]),
            (_, Some(_)) => set(&[Kind::Timestamp]),
            (_, None) => 0,
        };
        let mut possible = self.forms;
        for (kind, wider, format) in [
            (Kind::Date, Kind::Timestamp, &self.form.date_format),
            (Kind::Timestamp, Kind::TimestampTz, &self.form.timestamp_format),
        ] {
            if format.is_some() && kinds == set(&[kind]) {
                kinds = set(&[wider]);
                possible &= CAST_FORMS;
            }
        }
        let fits = |at: &usize| possible & (1 << at) != 0 && parts.day(DayForm::ALL[*at]).is_some();
        let forms = (0..DAY_FORMS).filter(fits).fold(0, |forms, at| forms | (1 << at));
        if forms == 0 { (0, ALL_FORMS) } else { (kinds, forms) }
    }
}

/// Returns the kinds of values that are read as dates or timestamps of a type, which has a zone or not.
fn moments_of(ty: &SqlType) -> Kinds {
    match ty {
        SqlType::Date => set(&[Kind::Date]),
        SqlType::Timestamp | SqlType::TimestampTz => set(&[Kind::Timestamp, Kind::TimestampTz]),
        _ => 0,
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

    use godwit_catalog::CopyOption;

    use super::*;

    fn type_of(fields: &[&str]) -> String {
        type_with(None, &[], fields)
    }

    fn type_with(given: Option<SqlType>, options: &[(&str, &str)], fields: &[&str]) -> String {
        let options: Vec<_> = options.iter().map(|(name, value)| CopyOption::new(*name, *value)).collect();
        let options = TextOptions::of(Path::new("x.csv"), &options).unwrap();
        let mut guess = Guess::new(given, &options);
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
            (&["170141183460469231731687303715884105727"], "HUGEINT"),
            (&["170141183460469231731687303715884105728"], "DOUBLE"),
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

    #[test]
    fn given_dates_have_forms_that_casts_do_not_know() {
        for (fields, expected) in [
            (&["31.12.2020", "", "x"][..], "DATE %d.%m.%Y"),
            (&["01/02/2020", "12/31/2020"], "DATE %m/%d/%Y"),
            (&["2020/12/31", "2020-12-31"], "DATE"),
            (&["20201231", "infinity"], "DATE"),
            (&["31.12.2020 10:00:00"], "DATE"),
        ] {
            assert_eq!(type_with(Some(SqlType::Date), &[], fields), expected, "{fields:?}");
        }
        let moment = |fields: &[&str]| type_with(Some(SqlType::Timestamp), &[], fields);
        assert_eq!(moment(&["31.12.2020 10:00:00"]), "TIMESTAMP %d.%m.%Y");
        assert_eq!([moment(&["31.12.2020"]), moment(&["2020-12-31"])], ["TIMESTAMP"; 2]);
    }

    #[test]
    fn formats_are_for_columns_that_have_them() {
        let date = [("dateformat", "%d.%m.%Y")];
        let moment = [("timestampformat", "%d.%m.%Y %H:%M:%S")];
        let both = [date[0], moment[0]];
        for (options, fields, expected) in [
            (&date[..], &["31.12.2020"][..], "DATE"),
            (&date, &["2020-12-31", "2020-12-31 10:00:00"], "TIMESTAMP %Y-%m-%d"),
            (&date, &["31.12.2020", "2020-12-31"], "VARCHAR"),
            (&date, &["12/31/2020"], "VARCHAR"),
            (&moment, &["31.12.2020 10:00:00"], "TIMESTAMP"),
            (&moment, &["31.12.2020"], "DATE %d.%m.%Y"),
            (&moment, &["2020-12-31 10:00:00"], "TIMESTAMP WITH TIME ZONE %Y-%m-%d"),
            (&both, &["2020-12-31"], "TIMESTAMP WITH TIME ZONE %Y-%m-%d"),
            (&[("dateformat", "%Y%m%d")], &["20201231", "5"], "BIGINT"),
        ] {
            assert_eq!(type_with(None, options, fields), expected, "{options:?} {fields:?}");
        }
    }
}

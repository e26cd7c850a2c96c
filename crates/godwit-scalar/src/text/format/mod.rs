//! Texts with values inserted according to a format.
//!
//! ```text
//! format('{:>5}', x)      braces.rs     DuckDB's, that of C++ and Python
//! format('%5s', x)        postgres.rs   PostgreSQL's, for formats without braces
//! printf('%5d', x)        percent.rs    C's
//!     ──► template.rs   texts and fields ──► field.rs   a value in its field (digits of numbers: numbers.rs)
//! ```

mod braces;
mod field;
mod numbers;
mod percent;
mod postgres;
mod template;

use std::sync::Arc;

use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::{SqlType, Value};
use godwit_vector::{Bitmap, Flat, Vector};

use self::field::{Cell, Fields};
use self::template::{Style, Template};
use super::concat::is_textual;
use crate::function::{Category, Form, Function, function};
use crate::kernel::{Kernel, Work};
use crate::rows::{Argument, Strings, Values, Writer, for_each_row, with_nulls};

pub(super) fn functions() -> Vec<Function> {
    let text_function = |names, description| function(Category::Text, names, description);
    vec![
        text_function(
            &["format"],
            "The text with values in place of fields like {}, {1} or {:>8.2f}; in a text without braces, \
             PostgreSQL's fields %s (text), %I (name) and %L (literal)",
        )
        .example("format('{} has {:.1f} %', 'godwit', 99.54)", "godwit has 99.5 %")
        .example("format('{1:,} of {0}', 'x', 1234567)", "1,234,567 of x")
        .example("format('SELECT %I FROM t WHERE a = %L', 'b c', 'it''s')", "SELECT \"b c\" FROM t WHERE a = 'it''s'")
        .chosen("format(VARCHAR, value, …)", |arguments| formatted(arguments, false).map(Ok)),
        text_function(&["printf"], "The text with values in place of fields like %d, %s or %8.2f, as C has them")
            .example("printf('%s: %05.1f', 'x', 2.25)", "x: 002.2")
            .example("printf('%,d', 1234567)", "1,234,567")
            .chosen("printf(VARCHAR, value, …)", |arguments| formatted(arguments, true).map(Ok)),
    ]
}

fn formatted(arguments: &[ArgumentType<'_>], is_printf: bool) -> Option<Form> {
    let (format, values) = arguments.split_first()?;
    let is_text = crate::choose::fits(format, &SqlType::Varchar);
    if !is_text || !values.iter().all(is_textual) {
        return None;
    }
    // PostgreSQL's fields show values as casts to text do.
    let as_texts = matches!(format.value, Some(Value::Text(text)) if Style::of(text, is_printf) == Style::Postgres);
    let type_of = |value: &ArgumentType<'_>| if as_texts { SqlType::Varchar } else { taken_as(value.ty) };
    let types: Vec<SqlType> = std::iter::once(SqlType::Varchar).chain(values.iter().map(type_of)).collect();
    let kernel = Arc::new(Format { types: types.clone(), is_printf });
    let result = SqlType::Varchar;
    Some(Form { arguments: types, repeats: false, result, strict: false, may_fail: true, may_be_null: true, kernel })
}

/// Returns the type that a value has in a field: integer, float, boolean, or text for all others.
fn taken_as(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::Boolean => SqlType::Boolean,
        SqlType::UBigInt | SqlType::HugeInt => SqlType::HugeInt,
        SqlType::UHugeInt => SqlType::Varchar,
        _ if ty.is_integer() => SqlType::BigInt,
        _ if ty.is_float() || ty.is_decimal() => SqlType::Double,
        _ => SqlType::Varchar,
    }
}

struct Format {
    types: Vec<SqlType>,
    is_printf: bool,
}

impl Kernel for Format {
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        let formats = Strings::of(&arguments[0]);
        let format_valid = arguments[0].validity();
        let columns: Vec<Column> =
            arguments[1..].iter().zip(&self.types[1..]).map(|(vector, ty)| Column::of(vector, ty)).collect();
        // Most rows have the format of the previous one.
        let mut last: Option<(&[u8], Template)> = None;
        let mut fields = Fields::default();
        let mut writer = Writer::new(rows, work);
        let mut nulls = Vec::new();
        for_each_row(rows, None, work, |row, _| {
            let is_written = format_valid.is_none_or(|valid| valid.get(row)) && {
                let format = formats.bytes(row);
                let template = match &mut last {
                    Some((text, template)) if *text == format => template,
                    other => {
                        let template = Template::parse(formats.text(row), columns.len(), self.is_printf, work)?;
                        &other.insert((format, template)).1
                    }
                };
                let cell = |argument: usize| columns[argument].cell(row);
                let takes_nulls = template.style == Style::Postgres;
                let has_null = !takes_nulls && (0..columns.len()).any(|argument| !columns[argument].is_valid(row));
                if !has_null {
                    template.write(cell, &mut fields, &mut writer)?;
                }
                !has_null
            };
            if !is_written {
                nulls.push(row);
            }
            writer.end_row()
        })?;
        Ok(with_nulls(Flat::Str(writer.finish()), None, &nulls))
    }
}

/// The values of an argument.
struct Column {
    values: ColumnValues,
    valid: Option<Arc<Bitmap>>,
}

enum ColumnValues {
    Boolean(<bool as Argument>::Column),
    BigInt(Values<i64>),
    HugeInt(Values<i128>),
    Double(Values<f64>),
    Text(Strings),
}

impl Column {
    fn of(vector: &Vector, ty: &SqlType) -> Self {
        let values = match ty {
            SqlType::Boolean => ColumnValues::Boolean(bool::column(vector)),
            SqlType::BigInt => ColumnValues::BigInt(Values::of(vector)),
            SqlType::HugeInt => ColumnValues::HugeInt(Values::of(vector)),
            SqlType::Double => ColumnValues::Double(Values::of(vector)),
            _ => ColumnValues::Text(Strings::of(vector)),
        };
        Self { values, valid: vector.validity().cloned() }
    }

    fn is_valid(&self, row: usize) -> bool {
        self.valid.as_ref().is_none_or(|valid| valid.get(row))
    }

    fn cell(&self, row: usize) -> Cell<'_> {
        if !self.is_valid(row) {
            return Cell::Null;
        }
        match &self.values {
            ColumnValues::Boolean(values) => Cell::Boolean(bool::item(values, row)),
            ColumnValues::BigInt(values) => Cell::Integer(values.get(row).into()),
            ColumnValues::HugeInt(values) => Cell::Integer(values.get(row)),
            ColumnValues::Double(values) => Cell::Float(values.get(row)),
            ColumnValues::Text(values) => Cell::Text(values.text(row)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, error_of, shown};

    fn check(name: &str, cases: &[(&[&str], &str)]) {
        for (arguments, expected) in cases {
            assert_eq!(shown(name, arguments), *expected, "{name}{arguments:?}");
        }
    }

    #[test]
    fn braces_take_values_in_order_or_by_number() {
        check(
            "format",
            &[
                (&["'{}'", "1"], "1"),
                (&["'{} {}é'", "1", "'a'"], "1 aé"),
                (&["'{1} {0}'", "1", "'a'"], "a 1"),
                (&["'{{{}}}'", "1"], "{1}"),
                (&["'a}}b'"], "a}b"),
                (&["'{}%'", "TRUE"], "true%"),
                (&["'{}'", "INTEGER[] '[1, 2]'"], "[1, 2]"),
                (&["'{:>12}'", "DATE '2020-01-01'"], "  2020-01-01"),
                (&["'{}'", "NULL"], "NULL"),
                (&["NULL", "1"], "NULL"),
                (&["'{:{}}'", "1", "5"], "    1"),
                (&["'{:.{}f}'", "1.23456", "2"], "1.23"),
            ],
        );
    }

    #[test]
    fn braces_align_and_fill() {
        check(
            "format",
            &[
                (&["'{:>10}'", "1"], "         1"),
                (&["'{:<5}|'", "'a'"], "a    |"),
                (&["'{:^10}|'", "'a'"], "    a     |"),
                (&["'{:*^10}|'", "'a'"], "****a*****|"),
                (&["'{:é^5}'", "'a'"], "ééaéé"),
                (&["'{:>5}'", "'é'"], "    é"),
                (&["'{:4}|{:4}|'", "'a'", "1"], "a   |   1|"),
                (&["'{:.2}'", "'aéb'"], "aé"),
                (&["'{:^6}|'", "FALSE"], "false |"),
                (&["'{:=+5}'", "42"], "+  42"),
                (&["'{:0>5}'", "1.5"], "001.5"),
            ],
        );
    }

    #[test]
    fn integers() {
        check(
            "format",
            &[
                (&["'{:,}'", "1234567"], "1,234,567"),
                (&["'{:t.}'", "1234567"], "1.234.567"),
                (&["'{:_}'", "-123456"], "-123_456"),
                (&["'{:10,}'", "1234567"], " 1,234,567"),
                (&["'{:x} {:#x} {:X}'", "255", "255", "255"], "ff 0xff FF"),
                (&["'{:b} {:#b} {:o} {:#o}'", "5", "5", "8", "8"], "101 0b101 10 010"),
                (&["'{:x}'", "-255"], "-ff"),
                (&["'{:#06x}'", "255"], "0x00ff"),
                (&["'{:05d} {:+d} {: d}'", "42", "42", "42"], "00042 +42  42"),
                (&["'{:c}'", "65"], "A"),
                (&["'{:d}'", "TRUE"], "1"),
                (
                    &["'{}'", "HUGEINT '-170141183460469231731687303715884105728'"],
                    "-170141183460469231731687303715884105728",
                ),
                (&["'{}'", "UBIGINT '18446744073709551615'"], "18446744073709551615"),
                (&["'{:.1f}'", "5"], "5.0"),
            ],
        );
    }

    #[test]
    fn floats() {
        check(
            "format",
            &[
                (&["'{} {} {}'", "DOUBLE '1'", "DOUBLE '0.1'", "DOUBLE '-0.0'"], "1.0 0.1 -0.0"),
                (
                    &["'{} {} {}'", "DOUBLE '1e15'", "DOUBLE '1e16'", "DOUBLE '1e300'"],
                    "1000000000000000.0 1e+16 1e+300",
                ),
                (&["'{} {}'", "DOUBLE '0.0001'", "DOUBLE '0.00001'"], "0.0001 1e-05"),
                (&["'{}'", "DOUBLE '1.2345678901234568e17'"], "1.2345678901234568e+17"),
                (&["'{} {} {:08}'", "DOUBLE 'nan'", "DOUBLE '-inf'", "DOUBLE 'inf'"], "nan -inf      inf"),
                (&["'{:.2f} {:.0f} {:.1f}'", "1.005", "2.5", "0.25"], "1.00 2 0.2"),
                (&["'{:,} {:,.2f}'", "1234567.891", "1234567.891"], "1,234,567.891 1,234,567.89"),
                (&["'{:,} {:,}'", "DOUBLE '1e20'", "DOUBLE '0.5'"], "1e+20 0.5"),
                (&["'{:.2} {:.3} {:.2}'", "1.2345", "1234.5", "1.0"], "1.2 1.23e+03 1.0"),
                (&["'{:e} {:E} {:+.1e}'", "1.5", "1.5", "-12345.678"], "1.500000e+00 1.500000E+00 -1.2e+04"),
                (&["'{:g} {:g} {:g}'", "100000.0", "1000000.0", "0.00001"], "100000 1e+06 1e-05"),
                (&["'{:#.3g} {:g}'", "1.5", "DOUBLE '1e20'"], "1.50 1e+20"),
                (&["'{:08.3f} {:F}'", "-3.14159", "1.5"], "-003.142 1.500000"),
                (&["'{}'", "1.10"], "1.1"),
            ],
        );
    }

    #[test]
    fn braces_that_are_wrong() {
        for arguments in [
            &["'{'"][..],
            &["'}'"],
            &["'{}'"],
            &["'{0} {}'", "1", "2"],
            &["'{2}'", "1"],
            &["'{a}'", "1"],
            &["'{ }'", "1"],
            &["'{:'", "1"],
            &["'{0'", "1"],
            &["'{:99999999999}'", "1"],
            &["'{:.99999999f}'", "1.5"],
            &["'{:t}'", "1"],
            &["'{:.}'", "1.5"],
            &["'{:{}'", "1", "2"],
            &["'{:{}}'", "1", "-3"],
            &["'{:{}}'", "1", "'b'"],
            &["'{:.{}}'", "'a'", "-1"],
            &["'{:.{}}'", "'a'", "'b'"],
            &["'{:d}'", "'a'"],
            &["'{:d}'", "1.5"],
            &["'{:z}'", "1"],
            &["'{:.5d}'", "5"],
            &["'{:+}'", "'a'"],
            &["'{:05}'", "'a'"],
            &["'{:c}'", "-1"],
        ] {
            error_of("format", arguments);
        }
    }

    #[test]
    fn percents() {
        check(
            "printf",
            &[
                (
                    &["'%05.2f|%x|%X|%o|%e|%g|%c'", "1.234", "255", "255", "8", "1.5", "1.5", "65"],
                    "01.23|ff|FF|10|1.500000e+00|1.5|A",
                ),
                (&["'%i|%u|%5d|%-5d|%+d|% d|%s'", "1", "2", "3", "4", "5", "6", "'x'"], "1|2|    3|4    |+5| 6|x"),
                (
                    &["'%,d %''d %_d %.d'", "1234567", "1234567", "1234567", "1234567"],
                    "1,234,567 1'234'567 1_234_567 1.234.567",
                ),
                (&["'%,15d|%,.2f'", "1234567", "1234567.891"], "      1,234,567|1,234,567.89"),
                (&["'%d%% %ld %lld'", "1", "2", "3"], "1% 2 3"),
                (&["'%d'", "1", "2"], "1"),
                (&["'%s %d'", "TRUE", "TRUE"], "true 1"),
                (&["'%s %s %.2s'", "1", "1.5", "'abc'"], "1 1.5 ab"),
                (&["'%*d|%*d|%-*s|'", "5", "1", "-5", "1", "3", "'é'"], "    1|1    |é  |"),
                (&["'%.*f'", "2", "1.234"], "1.23"),
                (&["'%2$s %1$s'", "'a'", "'b'"], "b a"),
                (&["'%x %u %o'", "-1", "-1", "-1"], "ffffffffffffffff 18446744073709551615 1777777777777777777777"),
                (&["'%X'", "HUGEINT '-1'"], "FFFFFFFFFFFFFFFF"),
                (&["'%#x %#010x'", "255", "255"], "0xff 0x000000ff"),
                (&["'%.3d %.f %05s|%-05d|'", "5", "2.5", "'a'", "3"], "005 2     a|3    |"),
                (&["'%f %g %5.1f'", "DOUBLE 'inf'", "DOUBLE '0'", "2.25"], "inf 0   2.2"),
                (&["'%s'", "NULL"], "NULL"),
                (&["NULL", "1"], "NULL"),
                (&["'%5c|%c'", "65", "955"], "    A|λ"),
                (&["''"], ""),
            ],
        );
        for arguments in [
            &["'%s'"][..],
            &["'%'", "1"],
            &["'%z'", "1"],
            &["'%d'", "'x'"],
            &["'%d'", "1.5"],
            &["'%c'", "'a'"],
            &["'%p'", "1"],
            &["'%1$d %d'", "1", "2"],
            &["'%0$d'", "1"],
            &["'%*d'", "'a'", "1"],
            &["'%.*f'", "100000000", "1.5"],
        ] {
            error_of("printf", arguments);
        }
    }

    #[test]
    fn fields_of_postgresql() {
        check(
            "format",
            &[
                (&["'%s %I %L'", "'a'", "'b c'", "'it's'"], "a \"b c\" 'it''s'"),
                (&["'%L'", "NULL"], "NULL"),
                (&["'%s|'", "NULL"], "|"),
                (&["'%1$s %1$s %2$s'", "'a'", "'b'"], "a a b"),
                (&["'%10s|%-10s|'", "'a'", "'é'"], "         a|é         |"),
                (&["'%*s|%*s|'", "5", "'a'", "-5", "'b'"], "    a|b    |"),
                (&["'%1$*2$s|'", "'a'", "5"], "    a|"),
                (&["'%s %2$s %s'", "'a'", "'b'", "'c'"], "a b c"),
                (&["'%%'"], "%"),
                (&["'x'", "'a'"], "x"),
                (&["'%s %s'", "TRUE", "1.10"], "true 1.10"),
                (&["NULL", "1"], "NULL"),
            ],
        );
        for arguments in
            [&["'%I'", "NULL"][..], &["'%'"], &["'%d'", "1"], &["'%s'"], &["'%0$s'", "1"], &["'%*s'", "'x'", "1"]]
        {
            error_of("format", arguments);
        }
    }

    #[test]
    fn wide_fields_ask_for_memory() {
        assert!(error_of("format", &["'{:99999999}'", "1"]).contains("bytes"));
        assert!(error_of("printf", &["'%99999999s'", "'a'"]).contains("bytes"));
        assert!(error_of("printf", &["'%*d'", "9223372036854775807", "1"]).contains("longer"));
        assert!(error_of("format", &["'%99999999s'", "'a'"]).contains("bytes"));
        assert!(call("format", &["'{:.10000f}'", "1.5"]).is_ok());
    }
}

//! Tests of floats, such as for NaN; the neighbors of a number.

use godwit_types::calendar::{is_finite_date, is_finite_timestamp};

use super::number_function;
use crate::function::Function;
use crate::rows::{Date, Timestamp, TimestampTz, mapped, scalar};

pub(super) fn functions() -> Vec<Function> {
    vec![
        number_function(&["isnan"], "Whether it is NaN")
            .example("isnan(1)", "false")
            .form(mapped::<f64, bool>(f64::is_nan))
            .form(mapped::<f32, bool>(f32::is_nan)),
        number_function(&["isinf"], "Whether it is infinite")
            .example("isinf(1)", "false")
            .form(mapped::<f64, bool>(f64::is_infinite))
            .form(mapped::<f32, bool>(f32::is_infinite))
            .example("isinf(DATE '-infinity')", "true")
            .form(scalar::<(Date,), bool, _>(|(days,)| !is_finite_date(days)))
            .form(scalar::<(Timestamp,), bool, _>(|(timestamp,)| !is_finite_timestamp(timestamp)))
            .form(scalar::<(TimestampTz,), bool, _>(|(moment,)| !is_finite_timestamp(moment))),
        number_function(&["isfinite"], "Whether it is neither infinite nor NaN")
            .example("isfinite(1)", "true")
            .form(mapped::<f64, bool>(f64::is_finite))
            .form(mapped::<f32, bool>(f32::is_finite))
            .form(scalar::<(Date,), bool, _>(|(days,)| is_finite_date(days)))
            .form(scalar::<(Timestamp,), bool, _>(|(timestamp,)| is_finite_timestamp(timestamp)))
            .form(scalar::<(TimestampTz,), bool, _>(|(moment,)| is_finite_timestamp(moment))),
        number_function(&["iszero"], "Whether it is 0")
            .example("iszero(0)", "true")
            .form(scalar::<(f64,), bool, _>(|(number,)| number == 0.0))
            .form(scalar::<(f32,), bool, _>(|(number,)| number == 0.0)),
        number_function(&["signbit"], "Whether its sign is negative, that of -0 as well")
            .example("signbit(-1)", "true")
            .form(scalar::<(f64,), bool, _>(|(number,)| number.is_sign_negative()))
            .form(scalar::<(f32,), bool, _>(|(number,)| number.is_sign_negative())),
        number_function(&["nanvl"], "The first number, or the second if the first is NaN")
            .example("nanvl(1, 2)", "1.0")
            .form(scalar::<(f64, f64), f64, _>(|(number, other)| if number.is_nan() { other } else { number }))
            .form(scalar::<(f32, f32), f32, _>(|(number, other)| if number.is_nan() { other } else { number })),
        number_function(&["nextafter"], "The number that is next to the first in the direction of the second")
            .example("nextafter(1.0, 2.0)", "1.0000000000000002")
            .form(scalar::<(f64, f64), f64, _>(|(from, to)| match from.partial_cmp(&to) {
                Some(std::cmp::Ordering::Less) => from.next_up(),
                Some(std::cmp::Ordering::Greater) => from.next_down(),
                Some(std::cmp::Ordering::Equal) => to,
                None => f64::NAN,
            }))
            .form(scalar::<(f32, f32), f32, _>(|(from, to)| match from.partial_cmp(&to) {
                Some(std::cmp::Ordering::Less) => from.next_up(),
                Some(std::cmp::Ordering::Greater) => from.next_down(),
                Some(std::cmp::Ordering::Equal) => to,
                None => f32::NAN,
            })),
    ]
}

#[cfg(test)]
mod tests {
    use crate::testing::shown;

    #[test]
    fn kinds_of_numbers() {
        for (name, argument, expected) in [
            ("isnan", "DOUBLE 'nan'", "true"),
            ("isnan", "REAL 'nan'", "true"),
            ("isnan", "1.5", "false"),
            ("isnan", "NULL", "NULL"),
            ("isinf", "DOUBLE '-inf'", "true"),
            ("isinf", "9223372036854775807", "false"),
            ("isinf", "DATE '2000-01-01'", "false"),
            ("isfinite", "DOUBLE 'nan'", "false"),
            ("isfinite", "REAL 'inf'", "false"),
            ("isfinite", "TIMESTAMP '2000-01-01'", "true"),
            ("isfinite", "DATE '2000-01-01'", "true"),
            ("iszero", "DOUBLE '-0.0'", "true"),
            ("iszero", "0.00", "true"),
            ("iszero", "1", "false"),
            ("signbit", "DOUBLE '-0.0'", "true"),
            ("signbit", "1", "false"),
        ] {
            assert_eq!(shown(name, &[argument]), expected, "{name}({argument})");
        }
    }

    #[test]
    fn neighbours() {
        assert_eq!(shown("nextafter", &["DOUBLE '1'", "DOUBLE '2'"]), "1.0000000000000002");
        assert_eq!(shown("nextafter", &["REAL '1'", "REAL '0'"]), "0.99999994");
        assert_eq!(shown("nextafter", &["DOUBLE '0'", "DOUBLE '-1'"]), "-5e-324");
        assert_eq!(shown("nextafter", &["DOUBLE '1'", "DOUBLE 'nan'"]), "NaN");
        assert_eq!(shown("nanvl", &["DOUBLE 'nan'", "2"]), "2.0");
        assert_eq!(shown("nanvl", &["DOUBLE '1'", "NULL"]), "NULL");
        assert_eq!(shown("nanvl", &["REAL '1.5'", "REAL 'nan'"]), "1.5");
    }
}

//! Absolute values and signs.

use std::sync::Arc;

use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::SqlType;
use godwit_vector::Vector;

use super::digits::{are_narrow, digits_of, vector_of_digits};
use super::{number_function, out_of_range};
use crate::function::{Form, Function};
use crate::kernel::{Kernel, Work};
use crate::rows::{Argument, mapped, scalar};

pub(super) fn functions() -> Vec<Function> {
    vec![
        absolute(),
        number_function(&["signum", "sign"], "The sign: -1, 0 or 1; that of NaN is 0")
            .example("sign(-3)", "-1.0")
            .form(mapped::<f64, f64>(|number| if number == 0.0 || number.is_nan() { 0.0 } else { number.signum() }))
            .form(mapped::<f32, f32>(|number| if number == 0.0 || number.is_nan() { 0.0 } else { number.signum() })),
        number_function(&["even"], "The even number that is nearest away from zero, or the number itself")
            .example("even(2.5)", "4.0")
            .form(scalar::<(f64,), f64, _>(|(number,)| {
                let whole = number.abs().ceil();
                let even = if whole % 2.0 == 1.0 { whole + 1.0 } else { whole };
                even.copysign(number)
            })),
    ]
}

macro_rules! checked {
    ($function:expr, $($ty:ty),*) => {
        $function$(.form(scalar::<($ty,), $ty, _>(|(number,)| {
            number.checked_abs().ok_or_else(|| overflow(<$ty>::TYPE))
        })))*
    };
}

macro_rules! unsigned {
    ($function:expr, $($ty:ty),*) => {
        $function$(.form(scalar::<($ty,), $ty, _>(|(number,)| number)))*
    };
}

fn absolute() -> Function {
    let function = number_function(&["abs"], "The number without its sign")
        .example("abs(-5)", "5")
        .form(mapped::<f64, f64>(f64::abs))
        .form(mapped::<f32, f32>(f32::abs));
    let function = checked!(function, i8, i16, i32, i64, i128);
    let function = unsigned!(function, u8, u16, u32, u64);
    function.chosen("abs(DECIMAL)", |arguments| match arguments {
        [ArgumentType { ty: ty @ SqlType::Decimal { .. }, .. }] => Some(Ok(absolute_of_decimals(ty))),
        _ => None,
    })
}

fn overflow(ty: SqlType) -> godwit_common::Error {
    out_of_range(format!("the absolute value is out of range for {ty}"))
}

fn absolute_of_decimals(ty: &SqlType) -> Form {
    let kernel = Arc::new(Absolute { ty: ty.clone() });
    Form::strict(vec![ty.clone()], ty.clone(), false, false, kernel)
}

struct Absolute {
    ty: SqlType,
}

impl Kernel for Absolute {
    fn evaluate(&self, arguments: &[Vector], _rows: usize, work: &dyn Work) -> Result<Vector> {
        work.check()?;
        let absolute = match are_narrow([&self.ty]) {
            true => vector_of_digits(digits_of::<i64>(&arguments[0]).into_iter().map(i64::abs).collect(), &self.ty),
            false => vector_of_digits(digits_of::<i128>(&arguments[0]).into_iter().map(i128::abs).collect(), &self.ty),
        };
        Ok(absolute?.with_validity(arguments[0].validity().cloned()))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, error_of, shown};

    #[test]
    fn absolute_values_keep_the_type() {
        for (argument, expected, ty) in [
            ("-5", "5", "INTEGER"),
            ("TINYINT '-127'", "127", "TINYINT"),
            ("BIGINT '-9223372036854775807'", "9223372036854775807", "BIGINT"),
            (
                "HUGEINT '-170141183460469231731687303715884105727'",
                "170141183460469231731687303715884105727",
                "HUGEINT",
            ),
            ("UBIGINT '18446744073709551615'", "18446744073709551615", "UBIGINT"),
            ("-2.50", "2.50", "DECIMAL(3,2)"),
            (
                "DECIMAL(38,2) '-123456789012345678901234567890.12'",
                "123456789012345678901234567890.12",
                "DECIMAL(38,2)",
            ),
            ("DOUBLE '-0.0'", "0.0", "DOUBLE"),
            ("REAL '-inf'", "inf", "REAL"),
            ("NULL", "NULL", "DOUBLE"),
        ] {
            assert_eq!(shown("abs", &[argument]), expected, "{argument}");
            assert_eq!(call("abs", &[argument]).unwrap().1.to_string(), ty, "{argument}");
        }
        assert_eq!(error_of("abs", &["TINYINT '-128'"]), "the absolute value is out of range for TINYINT");
        assert!(error_of("abs", &["BIGINT '-9223372036854775808'"]).contains("out of range for BIGINT"));
    }

    #[test]
    fn signs() {
        for (name, argument, expected) in [
            ("sign", "-3", "-1.0"),
            ("sign", "0", "0.0"),
            ("signum", "2.5", "1.0"),
            ("sign", "DOUBLE 'nan'", "0.0"),
            ("sign", "REAL '-inf'", "-1.0"),
            ("even", "2.5", "4.0"),
            ("even", "-3.1", "-4.0"),
            ("even", "4", "4.0"),
            ("even", "5e-324", "2.0"),
            ("even", "0", "0.0"),
            ("even", "DOUBLE 'inf'", "inf"),
            ("even", "NULL", "NULL"),
        ] {
            assert_eq!(shown(name, &[argument]), expected, "{name}({argument})");
        }
    }
}

//! Powers, roots and logarithms.

use godwit_common::Result;

use super::{bounded, number_function, out_of_range};
use crate::function::Function;
use crate::rows::{mapped_where, scalar};

pub(super) fn functions() -> Vec<Function> {
    vec![
        number_function(&["exp"], "e to the power of the number")
            .example("exp(0)", "1.0")
            .form(scalar::<(f64,), f64, _>(|(exponent,)| bounded(exponent.exp(), &[exponent]))),
        number_function(&["power", "pow"], "A base to the power of an exponent")
            .example("power(2, 10)", "1024.0")
            .form(scalar::<(f64, f64), f64, _>(|(base, exponent)| power(base, exponent))),
        number_function(&["sqrt"], "The square root").example("sqrt(16)", "4.0").form(mapped_where::<f64, f64>(
            |number| (number.sqrt(), (number >= 0.0) | number.is_nan()),
            |_| out_of_range("cannot take square root of a negative number"),
        )),
        number_function(&["cbrt"], "The cube root")
            .example("cbrt(27)", "3.0")
            .form(scalar::<(f64,), f64, _>(|(number,)| number.cbrt())),
        number_function(&["ln"], "The natural logarithm")
            .example("ln(1)", "0.0")
            .form(scalar::<(f64,), f64, _>(|(number,)| logarithm(number, f64::ln))),
        number_function(&["log2"], "The logarithm to base 2")
            .example("log2(8)", "3.0")
            .form(scalar::<(f64,), f64, _>(|(number,)| logarithm(number, f64::log2))),
        number_function(&["log10"], "The logarithm to base 10").example("log10(1000)", "3.0").form(scalar::<
            (f64,),
            f64,
            _,
        >(
            |(number,)| logarithm(number, f64::log10),
        )),
        number_function(&["log"], "The logarithm to base 10, or to the base that stands before the number")
            .example("log(100)", "2.0")
            .example("log(2, 8)", "3.0")
            .form(scalar::<(f64,), f64, _>(|(number,)| logarithm(number, f64::log10)))
            .form(scalar::<(f64, f64), f64, _>(|(base, number)| logarithm_to(base, number))),
    ]
}

#[inline]
fn power(base: f64, exponent: f64) -> Result<f64> {
    let result = base.powf(exponent);
    if result.is_finite() {
        return Ok(result);
    }
    if base == 0.0 && exponent < 0.0 {
        return Err(out_of_range("zero raised to a negative power is undefined"));
    }
    if result.is_nan() && !base.is_nan() && !exponent.is_nan() {
        let message = "a negative number raised to a non-integer power yields a complex result";
        return Err(out_of_range(message));
    }
    bounded(result, &[base, exponent])
}

#[inline]
fn logarithm(number: f64, of: impl Fn(f64) -> f64) -> Result<f64> {
    if number > 0.0 || number.is_nan() {
        return Ok(of(number));
    }
    Err(out_of_range(match number == 0.0 {
        true => "cannot take logarithm of zero",
        false => "cannot take logarithm of a negative number",
    }))
}

/// Powers of 2 and 10 have integer logarithms, which a quotient of natural ones may miss.
fn logarithm_to(base: f64, number: f64) -> Result<f64> {
    if base == 1.0 {
        return Err(out_of_range("the base of a logarithm can't be 1"));
    }
    if base == 2.0 {
        return logarithm(number, f64::log2);
    }
    if base == 10.0 {
        return logarithm(number, f64::log10);
    }
    Ok(logarithm(number, f64::log2)? / logarithm(base, f64::log2)?)
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    #[test]
    fn powers_and_roots() {
        for (name, arguments, expected) in [
            ("exp", &["1"][..], "2.718281828459045"),
            ("exp", &["-1000"], "0.0"),
            ("exp", &["DOUBLE 'inf'"], "inf"),
            ("power", &["2", "10"], "1024.0"),
            ("pow", &["2.5", "-1"], "0.4"),
            ("pow", &["-8", "3"], "-512.0"),
            ("pow", &["DOUBLE 'nan'", "0"], "1.0"),
            ("pow", &["0", "0"], "1.0"),
            ("sqrt", &["2"], "1.4142135623730951"),
            ("sqrt", &["DOUBLE '-0.0'"], "-0.0"),
            ("sqrt", &["DOUBLE 'nan'"], "NaN"),
            ("cbrt", &["-27"], "-3.0"),
            ("sqrt", &["NULL"], "NULL"),
            ("pow", &["2", "NULL"], "NULL"),
        ] {
            assert_eq!(shown(name, arguments), expected, "{name}{arguments:?}");
        }
        assert_eq!(error_of("sqrt", &["-1"]), "cannot take square root of a negative number");
        assert_eq!(error_of("exp", &["1000"]), "the result is out of range for DOUBLE");
        assert_eq!(error_of("pow", &["1e300", "10"]), "the result is out of range for DOUBLE");
        assert_eq!(error_of("pow", &["0", "-1"]), "zero raised to a negative power is undefined");
        assert!(error_of("pow", &["-1", "0.5"]).contains("complex result"));
    }

    #[test]
    fn logarithms() {
        for (name, arguments, expected) in [
            ("ln", &["2"][..], "0.6931471805599453"),
            ("log2", &["8"], "3.0"),
            ("log10", &["1000"], "3.0"),
            ("log", &["100"], "2.0"),
            ("log", &["2", "1024"], "10.0"),
            ("log", &["10", "1000"], "3.0"),
            ("log", &["3", "81"], "4.0"),
            ("log", &["0.5", "8"], "-3.0"),
            ("ln", &["DOUBLE 'inf'"], "inf"),
            ("ln", &["DOUBLE 'nan'"], "NaN"),
        ] {
            assert_eq!(shown(name, arguments), expected, "{name}{arguments:?}");
        }
        assert_eq!(error_of("ln", &["0"]), "cannot take logarithm of zero");
        assert_eq!(error_of("log10", &["-1"]), "cannot take logarithm of a negative number");
        assert_eq!(error_of("log", &["0", "8"]), "cannot take logarithm of zero");
        assert_eq!(error_of("log", &["1", "8"]), "the base of a logarithm can't be 1");
    }
}

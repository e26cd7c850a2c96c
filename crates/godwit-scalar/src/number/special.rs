//! Factorials and the gamma function, the integral of the normal distribution.

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

use godwit_common::Result;

use super::{bounded, number_function, out_of_range};
use crate::function::Function;
use crate::rows::scalar;

pub(super) fn functions() -> Vec<Function> {
    vec![
        number_function(&["factorial"], "The product of all whole numbers from 1 to the number")
            .example("factorial(5)", "120")
            .form(scalar::<(i64,), i128, _>(|(number,)| factorial(number))),
        number_function(&["gamma"], "The gamma function: of a whole number, the factorial of the number before it")
            .example("gamma(5)", "24.0")
            .form(scalar::<(f64,), f64, _>(|(number,)| gamma(number))),
        number_function(&["lgamma"], "The natural logarithm of the absolute value of the gamma function")
            .example("lgamma(1)", "0.0")
            .form(scalar::<(f64,), f64, _>(|(number,)| bounded_log_gamma(number))),
        number_function(&["erf"], "The error function")
            .example("erf(0)", "0.0")
            .form(scalar::<(f64,), f64, _>(|(number,)| error_function(number))),
        number_function(&["erfc"], "What the error function lacks to 1").example("erfc(0)", "1.0").form(scalar::<
            (f64,),
            f64,
            _,
        >(
            |(number,)| complement(number),
        )),
    ]
}

fn factorial(number: i64) -> Result<i128> {
    if number < 0 {
        return Err(out_of_range("the factorial of a negative number is undefined"));
    }
    let product = (1..=i128::from(number.min(100))).try_fold(1, i128::checked_mul);
    product.ok_or_else(|| out_of_range(format!("the factorial of {number} is out of range for HUGEINT")))
}

/// From here on, the first terms of Stirling's series are exact to the last bit of a DOUBLE.
const STIRLING_MIN: f64 = 16.0;

/// Coefficients of Stirling's series in 1/x, 1/x³, 1/x⁵, …: Bernoulli numbers B(2n) / 2n(2n - 1).
const STIRLING: [f64; 7] =
    [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1_260.0, -1.0 / 1_680.0, 1.0 / 1_188.0, -691.0 / 360_360.0, 1.0 / 156.0];

/// Returns the term to add to ln(√(2π/x) (x/e)^x) for the logarithm of gamma.
fn stirling_rest(x: f64) -> f64 {
    let square = 1.0 / (x * x);
    STIRLING.iter().rev().fold(0.0, |sum, coefficient| sum * square + coefficient) / x
}

/// Gamma overflows beyond about 171.
const GAMMA_ARGUMENT_MAX: f64 = 171.7;

fn gamma(x: f64) -> Result<f64> {
    let is_pole = x == 0.0 || x < 0.0 && (x.fract() == 0.0 || x.is_infinite());
    if is_pole || x.is_finite() && x > GAMMA_ARGUMENT_MAX {
        return Err(out_of_range("the result is out of range for DOUBLE"));
    }
    if x.is_nan() || x.is_infinite() {
        return Ok(x);
    }
    bounded(if x < 0.5 { reflected_gamma(x) } else { positive_gamma(x) }, &[x])
}

/// Γ(x) Γ(1 - x) = π / sin πx. Far below zero Γ(1 - x) is too large for a DOUBLE, and the result 0.
fn reflected_gamma(x: f64) -> f64 {
    if x < -GAMMA_ARGUMENT_MAX - 15.0 {
        return 0.0;
    }
    // Two factors, neither of which is too large.
    let other = 1.0 - x;
    let (near, product) = shifted_down(other, GAMMA_ARGUMENT_MAX - 1.0);
    PI / (sine_of_turns(x) * positive_gamma(near)) / product
}

/// sin πx, exact in the period.
fn sine_of_turns(x: f64) -> f64 {
    let rest = x.rem_euclid(2.0);
    let (sign, rest) = if rest >= 1.0 { (-1.0, rest - 1.0) } else { (1.0, rest) };
    sign * (PI * if rest > 0.5 { 1.0 - rest } else { rest }).sin()
}

/// Returns a number of at most `limit`, and the factor by which Γ(x) is larger than its gamma.
fn shifted_down(mut x: f64, limit: f64) -> (f64, f64) {
    let mut product = 1.0;
    while x > limit {
        x -= 1.0;
        product *= x;
    }
    (x, product)
}

fn positive_gamma(x: f64) -> f64 {
    // Integers are exact.
    if x.fract() == 0.0 && x <= 23.0 {
        return (1..x as u32).fold(1.0, |product, factor| product * f64::from(factor));
    }
    let (mut shifted, mut product) = (x, 1.0);
    while shifted < STIRLING_MIN {
        product *= shifted;
        shifted += 1.0;
    }
    // The power in two halves: the whole may overflow where the result doesn't.
    let half = shifted.powf(0.5 * shifted - 0.25);
    (2.0 * PI).sqrt() * half * (-shifted).exp() * half * stirling_rest(shifted).exp() / product
}

fn bounded_log_gamma(x: f64) -> Result<f64> {
    let is_pole = x <= 0.0 && x.fract() == 0.0;
    if is_pole || x.is_infinite() {
        return Ok(f64::INFINITY);
    }
    bounded(log_gamma(x), &[x])
}

/// Closer to 0 than this, gamma is the reciprocal in all digits, and may overflow.
const RECIPROCAL_MAX: f64 = 1e-300;

fn log_gamma(x: f64) -> f64 {
    if x.abs() < RECIPROCAL_MAX {
        return -x.abs().ln();
    }
    if x < 0.5 {
        return (PI / sine_of_turns(x).abs()).ln() - log_gamma(1.0 - x);
    }
    if x < STIRLING_MIN {
        return positive_gamma(x).ln();
    }
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + stirling_rest(x)
}

/// Up to here, the power series of erf is short and precise; beyond, the continued fraction of erfc is.
const SERIES_MAX: f64 = 2.0;

/// Up to here, erfc is so large that it loses no precision as a difference from 1.
const DIFFERENCE_MAX: f64 = 1.0;

fn error_function(x: f64) -> f64 {
    match x.abs() <= SERIES_MAX {
        true => series(x),
        false if x.is_nan() => x,
        false => (1.0 - complement_of_large(x.abs())).copysign(x),
    }
}

fn complement(x: f64) -> f64 {
    match x.abs() <= DIFFERENCE_MAX {
        true => 1.0 - series(x),
        false if x.is_nan() => x,
        false if x < 0.0 => 2.0 - complement_of_large(-x),
        false => complement_of_large(x),
    }
}

/// erf(x) = 2/√π e^(-x²) Σ 2ⁿ x^(2n+1) / (1 · 3 · … · (2n+1)): all terms have the same sign.
fn series(x: f64) -> f64 {
    let square = x * x;
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > sum.abs() * (f64::EPSILON / 4.0) {
        odd += 2.0;
        term *= 2.0 * square / odd;
        sum += term;
    }
    FRAC_2_SQRT_PI * (-square).exp() * sum
}

/// Steps of the continued fraction: the larger x, the fewer are needed, and 200 suffice from 1 on.
const FRACTION_STEPS: u32 = 200;

/// erfc(x) = e^(-x²)/√π · 1/(x + ½/(x + 1/(x + 3/2/(x + …)))), evaluated from the inside out.
fn complement_of_large(x: f64) -> f64 {
    if x > 30.0 {
        return 0.0;
    }
    let fraction = (1..=FRACTION_STEPS).rev().fold(x, |inner, step| x + f64::from(step) / 2.0 / inner);
    // The square in two parts, to keep its rounding error out of the exponential.
    let high = f64::from(x as f32);
    (-high * high).exp() * ((high - x) * (high + x)).exp() / fraction * (FRAC_2_SQRT_PI / 2.0)
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, error_of, shown};

    #[test]
    fn factorials_end_at_hugeint() {
        assert_eq!(shown("factorial", &["0"]), "1");
        assert_eq!(shown("factorial", &["20"]), "2432902008176640000");
        assert_eq!(shown("factorial", &["33"]), "8683317618811886495518194401280000000");
        assert!(error_of("factorial", &["34"]).contains("out of range for HUGEINT"));
        assert!(error_of("factorial", &["9223372036854775807"]).contains("out of range"));
        assert!(error_of("factorial", &["-1"]).contains("negative"));
        assert_eq!(shown("factorial", &["NULL"]), "NULL");
    }

    /// Checks a result to within a few units in the last place.
    fn close(name: &str, argument: f64, expected: f64) {
        let argument = format!("DOUBLE '{argument:?}'");
        let found: f64 = shown(name, &[&argument]).parse().unwrap();
        let error = (found - expected).abs() / expected.abs().max(1e-300);
        assert!(error < 4e-14 || found == expected, "{name}({argument}) = {found}, not {expected}");
    }

    #[test]
    fn gamma_functions() {
        assert_eq!(shown("gamma", &["5"]), "24.0");
        for (x, expected) in [
            (0.5, 1.772453850905516),
            (-1.5, 2.363271801207355),
            (1.0, 1.0),
            (10.1, 454760.7514415855),
            (171.0, 7.257415615307999e306),
            (171.6, 1.5858969096672565e308),
            (1e-10, 9999999999.422785),
            (-170.5, -3.312739521538607e-308),
            (-20.5, -2.8346565743913346e-19),
            (-200.5, 0.0),
        ] {
            close("gamma", x, expected);
        }
        for (x, expected) in [
            (10.0, 12.801827480081469),
            (0.5, 0.5723649429247001),
            (1e10, 220258509288.81058),
            (-1.5, 0.8600470153764809),
            (5e-324, 744.4400719213812),
            (-1e-310, 713.8013788281542),
            (16.5, 29.27775451504082),
        ] {
            close("lgamma", x, expected);
        }
        assert_eq!(shown("lgamma", &["0"]), "inf");
        assert_eq!(shown("lgamma", &["-3"]), "inf");
        assert_eq!(shown("gamma", &["DOUBLE 'inf'"]), "inf");
        assert_eq!(shown("gamma", &["DOUBLE 'nan'"]), "NaN");
        for pole in ["0", "-1", "172", "1e300", "DOUBLE '-inf'"] {
            assert!(error_of("gamma", &[pole]).contains("out of range"), "{pole}");
        }
        assert!(call("lgamma", &["1e308"]).is_err());
    }

    #[test]
    fn error_functions() {
        for (x, erf, erfc) in [
            (0.1, 0.1124629160182849, 0.8875370839817152),
            (0.5, 0.5204998778130465, 0.4795001221869535),
            (1.0, 0.8427007929497149, 0.15729920705028513),
            (2.0, 0.9953222650189527, 0.004677734981047266),
            (3.0, 0.9999779095030014, 2.209049699858544e-05),
            (-1.0, -0.8427007929497149, 1.8427007929497148),
            (6.0, 1.0, 2.1519736712498913e-17),
            (20.0, 1.0, 5.395865611607901e-176),
        ] {
            close("erf", x, erf);
            close("erfc", x, erfc);
        }
        assert_eq!(shown("erf", &["DOUBLE '-inf'"]), "-1.0");
        assert_eq!(shown("erfc", &["DOUBLE '-inf'"]), "2.0");
        assert_eq!(shown("erf", &["DOUBLE 'nan'"]), "NaN");
    }
}

//! Angles, in radians and in degrees, and hyperbolic functions.

use super::{mapped_bounded, number_function, out_of_range};
use crate::function::Function;
use crate::rows::{mapped, scalar};

pub(super) fn functions() -> Vec<Function> {
    [radians(), hyperbolic(), degrees()].into_iter().flatten().collect()
}

fn total(
    names: &'static [&'static str],
    description: &'static str,
    example: (&'static str, &'static str),
    compute: impl Fn(f64) -> f64 + Send + Sync + 'static,
) -> Function {
    number_function(names, description)
        .example(example.0, example.1)
        .form(scalar::<(f64,), f64, _>(move |(number,)| compute(number)))
}

/// Creates a function that isn't defined everywhere.
fn partial(
    names: &'static [&'static str],
    description: &'static str,
    example: (&'static str, &'static str),
    is_defined: impl Fn(f64) -> bool + Send + Sync + 'static,
    compute: impl Fn(f64) -> f64 + Send + Sync + 'static,
) -> Function {
    number_function(names, description).example(example.0, example.1).form(scalar::<(f64,), f64, _>(move |(number,)| {
        match is_defined(number) || number.is_nan() {
            true => Ok(compute(number)),
            false => Err(out_of_range("input is out of range")),
        }
    }))
}

fn is_angle(number: f64) -> bool {
    number.is_finite()
}

fn is_sine(number: f64) -> bool {
    number.abs() <= 1.0
}

fn radians() -> Vec<Function> {
    vec![
        partial(&["sin"], "The sine of an angle in radians", ("sin(0)", "0.0"), is_angle, f64::sin),
        partial(&["cos"], "The cosine of an angle in radians", ("cos(0)", "1.0"), is_angle, f64::cos),
        partial(&["tan"], "The tangent of an angle in radians", ("tan(0)", "0.0"), is_angle, f64::tan),
        partial(&["cot"], "The cotangent of an angle in radians", ("round(cot(0.5), 2)", "1.83"), is_angle, |angle| {
            1.0 / angle.tan()
        }),
        partial(&["asin"], "The angle in radians of a sine", ("asin(0)", "0.0"), is_sine, f64::asin),
        partial(&["acos"], "The angle in radians of a cosine", ("acos(1)", "0.0"), is_sine, f64::acos),
        total(&["atan"], "The angle in radians of a tangent", ("atan(0)", "0.0"), f64::atan),
        number_function(&["atan2"], "The angle in radians of the point with these coordinates: first y, then x")
            .example("atan2(0, 1)", "0.0")
            .form(scalar::<(f64, f64), f64, _>(|(y, x)| y.atan2(x))),
        number_function(&["pi"], "The ratio of a circle's circumference to its diameter")
            .example("pi()", "3.141592653589793")
            .form(scalar::<(), f64, _>(|()| std::f64::consts::PI)),
        number_function(&["degrees"], "An angle in radians as one in degrees")
            .example("degrees(pi())", "180.0")
            .form(mapped_bounded(f64::to_degrees)),
        number_function(&["radians"], "An angle in degrees as one in radians")
            .example("radians(0)", "0.0")
            .form(mapped::<f64, f64>(f64::to_radians)),
    ]
}

fn hyperbolic() -> Vec<Function> {
    vec![
        total(&["sinh"], "The hyperbolic sine", ("sinh(0)", "0.0"), f64::sinh),
        total(&["cosh"], "The hyperbolic cosine", ("cosh(0)", "1.0"), f64::cosh),
        total(&["tanh"], "The hyperbolic tangent", ("tanh(0)", "0.0"), f64::tanh),
        total(&["asinh"], "The inverse of the hyperbolic sine", ("asinh(0)", "0.0"), inverse_sine),
        partial(&["acosh"], "The inverse of the hyperbolic cosine", ("acosh(1)", "0.0"), |x| x >= 1.0, inverse_cosine),
        partial(&["atanh"], "The inverse of the hyperbolic tangent", ("atanh(0)", "0.0"), is_sine, f64::atanh),
    ]
}

/// From here on, the square of a number may overflow, and the 1 added to it is negligible.
const HYPERBOLIC_LARGE: f64 = 1e150;

fn inverse_sine(number: f64) -> f64 {
    match number.abs() {
        large if large > HYPERBOLIC_LARGE => (large.ln() + std::f64::consts::LN_2).copysign(number),
        _ => number.asinh(),
    }
}

fn inverse_cosine(number: f64) -> f64 {
    if number > HYPERBOLIC_LARGE { number.ln() + std::f64::consts::LN_2 } else { number.acosh() }
}

fn degrees() -> Vec<Function> {
    vec![
        partial(&["sind"], "The sine of an angle in degrees", ("sind(30)", "0.5"), is_angle, sine),
        partial(&["cosd"], "The cosine of an angle in degrees", ("cosd(60)", "0.5"), is_angle, |x| {
            sine(90.0 - x % 360.0)
        }),
        partial(&["tand"], "The tangent of an angle in degrees", ("tand(45)", "1.0"), is_angle, tangent),
        partial(&["cotd"], "The cotangent of an angle in degrees", ("cotd(45)", "1.0"), is_angle, |x| 1.0 / tangent(x)),
        partial(&["asind"], "The angle in degrees of a sine", ("asind(0.5)", "30.0"), is_sine, angle_of_sine),
        partial(&["acosd"], "The angle in degrees of a cosine", ("acosd(0.5)", "60.0"), is_sine, |x| {
            90.0 - angle_of_sine(x)
        }),
        total(&["atand"], "The angle in degrees of a tangent", ("atand(1)", "45.0"), |x| degrees_of(x.atan())),
        number_function(&["atan2d"], "The angle in degrees of the point with these coordinates: first y, then x")
            .example("atan2d(1, 1)", "45.0")
            .form(scalar::<(f64, f64), f64, _>(|(y, x)| degrees_of(y.atan2(x)))),
    ]
}

/// Scaled to make the angle whose tangent is 1, which is 45 degrees, exact.
fn degrees_of(angle: f64) -> f64 {
    angle / 1f64.atan() * 45.0
}

/// Returns the sine of degrees, exact where it is 0, ½ or 1: up to 30 degrees sines are scaled; beyond, where the
/// cosine is of at most 60 degrees, cosines are.
fn sine(degrees: f64) -> f64 {
    let turned = degrees % 360.0;
    let (sign, turned) = if turned < 0.0 { (-1.0, -turned) } else { (1.0, turned) };
    let (sign, half) = if turned > 180.0 { (-sign, 360.0 - turned) } else { (sign, turned) };
    let quarter = if half > 90.0 { 180.0 - half } else { half };
    let first = match quarter <= 30.0 {
        true => quarter.to_radians().sin() / 30f64.to_radians().sin() / 2.0,
        false => 1.0 - (1.0 - (90.0 - quarter).to_radians().cos()) / (1.0 - 60f64.to_radians().cos()) / 2.0,
    };
    sign * first
}

fn tangent(degrees: f64) -> f64 {
    let one = sine(45.0) / sine(90.0 - 45.0);
    sine(degrees) / sine(90.0 - degrees % 360.0) / one
}

/// Exact at 30 and 90 degrees.
fn angle_of_sine(sine: f64) -> f64 {
    let size = sine.abs();
    let angle = match size <= 0.5 {
        true => size.asin() / 0.5f64.asin() * 30.0,
        false => 90.0 - size.acos() / 0.5f64.acos() * 60.0,
    };
    angle.copysign(sine)
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    #[test]
    fn angles() {
        for (name, argument, expected) in [
            ("sin", "0.5", "0.479425538604203"),
            ("cos", "0.5", "0.8775825618903728"),
            ("tan", "0.5", "0.5463024898437905"),
            ("cot", "0.5", "1.830487721712452"),
            ("cot", "0", "inf"),
            ("asin", "0.5", "0.5235987755982989"),
            ("acos", "-1", "3.141592653589793"),
            ("atan", "DOUBLE 'inf'", "1.5707963267948966"),
            ("sinh", "1", "1.1752011936438014"),
            ("cosh", "1", "1.5430806348152437"),
            ("cosh", "1000", "inf"),
            ("tanh", "1", "0.7615941559557649"),
            ("asinh", "0.5", "0.48121182505960347"),
            ("acosh", "2", "1.3169578969248166"),
            ("asinh", "1e308", "709.889355822726"),
            ("asinh", "-1e308", "-709.889355822726"),
            ("acosh", "1e308", "709.889355822726"),
            ("acosh", "DOUBLE 'inf'", "inf"),
            ("asinh", "DOUBLE '-inf'", "-inf"),
            ("atanh", "1", "inf"),
            ("degrees", "1", "57.29577951308232"),
            ("radians", "180", "3.141592653589793"),
            ("sin", "DOUBLE 'nan'", "NaN"),
            ("acos", "DOUBLE 'nan'", "NaN"),
            ("sin", "NULL", "NULL"),
        ] {
            assert_eq!(shown(name, &[argument]), expected, "{name}({argument})");
        }
        assert_eq!(shown("atan2", &["1", "-1"]), "2.356194490192345");
        assert_eq!(shown("atan2d", &["1", "-1"]), "135.0");
        assert_eq!(shown("pi", &[]), "3.141592653589793");
    }

    #[test]
    fn round_degrees_have_exact_values() {
        for (degrees, sine) in [
            ("0", "0.0"),
            ("30", "0.5"),
            ("90", "1.0"),
            ("150", "0.5"),
            ("-30", "-0.5"),
            ("270", "-1.0"),
            ("720", "0.0"),
        ] {
            assert_eq!(shown("sind", &[degrees]), sine, "{degrees}");
        }
        for (degrees, cosine) in
            [("0", "1.0"), ("60", "0.5"), ("90", "0.0"), ("120", "-0.5"), ("-60", "0.5"), ("180", "-1.0")]
        {
            assert_eq!(shown("cosd", &[degrees]), cosine, "{degrees}");
        }
        assert_eq!(shown("tand", &["45"]), "1.0");
        assert_eq!(shown("tand", &["135"]), "-1.0");
        assert_eq!(shown("cotd", &["45"]), "1.0");
        assert_eq!(shown("asind", &["-0.5"]), "-30.0");
        assert_eq!(shown("asind", &["1"]), "90.0");
        assert_eq!(shown("acosd", &["0.5"]), "60.0");
        assert_eq!(shown("acosd", &["-1"]), "180.0");
        assert_eq!(shown("atand", &["1"]), "45.0");
    }

    #[test]
    fn what_is_not_defined() {
        for (name, argument) in [
            ("sin", "DOUBLE 'inf'"),
            ("cos", "DOUBLE '-inf'"),
            ("tan", "DOUBLE 'inf'"),
            ("cot", "DOUBLE 'inf'"),
            ("acos", "2"),
            ("asin", "-1.5"),
            ("acosh", "0"),
            ("atanh", "2"),
            ("sind", "DOUBLE 'inf'"),
        ] {
            assert_eq!(error_of(name, &[argument]), "input is out of range", "{name}({argument})");
        }
        assert!(error_of("degrees", &["1e308"]).contains("out of range for DOUBLE"));
    }
}

//! `equi_width_bins`: bins of equal width for a histogram, as the list of their greatest values.

use godwit_common::{Error, Result, SqlState};
use godwit_plan::ArgumentType;
use godwit_types::SqlType;
use godwit_types::calendar::{MICROS_PER_DAY, is_finite_timestamp};
use godwit_vector::{Native, Vector};

use super::call::{Call, strict};
use super::elements::Elements;
use super::list_function;
use super::types::{Chosen, is_bigint, type_of_all};
use crate::choose::fits;
use crate::function::Function;
use crate::rows::Argument;

/// Maximum number of bins that may be asked for, as in DuckDB.
const BINS_MAX: i64 = 1_000_000;

pub(super) fn functions() -> Vec<Function> {
    vec![
        list_function(
            &["equi_width_bins"],
            "The greatest values of as many bins of one width as the number says; with TRUE, of about as many with round bounds",
        )
        .example("equi_width_bins(0, 10, 2, false)", "[5, 10]")
        .example("equi_width_bins(0, 101, 5, true)", "[20, 40, 60, 80, 100, 120]")
        .chosen("equi_width_bins(BIGINT, BIGINT, BIGINT, BOOLEAN)", integers)
        .chosen("equi_width_bins(DOUBLE, DOUBLE, BIGINT, BOOLEAN)", floats)
        .chosen("equi_width_bins(TIMESTAMP, TIMESTAMP, BIGINT, BOOLEAN)", moments),
    ]
}

fn refused(message: &str) -> Error {
    Error::user(message).with_code(SqlState::INVALID_PARAMETER_VALUE)
}

/// Returns the common type of the bounds, if the other arguments are those of the function.
fn type_of_bounds(arguments: &[ArgumentType<'_>]) -> Option<SqlType> {
    let [_, _, count, is_round] = arguments else { return None };
    (is_bigint(count) && fits(is_round, &SqlType::Boolean)).then(|| type_of_all(&arguments[..2]))?
}

/// Creates the form for values that are read as one type, and listed as another.
fn form(read: SqlType, listed: SqlType, compute: fn(&Call<'_>) -> Result<Vector>) -> Chosen {
    let types = vec![read.clone(), read, SqlType::BigInt, SqlType::Boolean];
    Some(Ok(strict(types, SqlType::list_of(listed), compute).never_null()))
}

fn integers(arguments: &[ArgumentType<'_>]) -> Chosen {
    let ty = type_of_bounds(arguments)?;
    let compute: fn(&Call<'_>) -> Result<Vector> = match ty {
        SqlType::TinyInt => of_integers::<i8>,
        SqlType::SmallInt => of_integers::<i16>,
        SqlType::Integer => of_integers::<i32>,
        SqlType::BigInt => of_integers::<i64>,
        _ => return None,
    };
    form(SqlType::BigInt, ty, compute)
}

fn floats(arguments: &[ArgumentType<'_>]) -> Chosen {
    let is_number = type_of_bounds(arguments)?.is_numeric();
    if is_number { form(SqlType::Double, SqlType::Double, of_floats) } else { None }
}

fn moments(arguments: &[ArgumentType<'_>]) -> Chosen {
    match type_of_bounds(arguments)? {
        SqlType::Date => form(SqlType::Timestamp, SqlType::Date, |call| {
            of_moments(call, |micros| micros.div_euclid(MICROS_PER_DAY) as i32)
        }),
        SqlType::Timestamp => form(SqlType::Timestamp, SqlType::Timestamp, |call| of_moments(call, |micros| micros)),
        _ => None,
    }
}

/// The arguments besides the bounds.
struct Wanted {
    count: i64,
    is_round: bool,
}

/// Lists bins for each row.
fn made<T: Native, B: Argument>(
    call: &Call<'_>,
    list: impl Fn(B::Item<'_>, B::Item<'_>, Wanted, &mut Elements<'_, T>) -> Result<()>,
) -> Result<Vector> {
    let [least, greatest] = [0, 1].map(|at| B::column(&call.arguments[at]));
    let (counts, are_round) = (call.integers(2), bool::column(&call.arguments[3]));
    call.made::<T, _>(|row, out| {
        let wanted = Wanted { count: counts.get(row), is_round: bool::item(&are_round, row) };
        if !(1..=BINS_MAX).contains(&wanted.count) {
            return Err(refused(&format!("the number of bins is from 1 to {BINS_MAX}, not {}", wanted.count)));
        }
        call.work.check()?;
        // Round bounds make up to one and a half times as many bins, and one more.
        out.reserve(2 * wanted.count as usize)?;
        list(B::item(&least, row), B::item(&greatest, row), wanted, out)
    })
}

fn wrong_order() -> Error {
    refused("the greatest value of bins is below the least one")
}

fn of_integers<T: Native + TryFrom<i128>>(call: &Call<'_>) -> Result<Vector> {
    made::<T, i64>(call, |least, greatest, wanted, out| {
        let (least, greatest, count) = (i128::from(least), i128::from(greatest), i128::from(wanted.count));
        let span = greatest - least;
        if span < 0 {
            return Err(wrong_order());
        }
        // No bound is less than the type's least value. Rounded up, the last one may be above the greatest.
        let mut push = |bound: i128| out.push(T::try_from(bound).or(T::try_from(greatest)).unwrap_or_default());
        if wanted.is_round && 4 * span >= 3 * count {
            let step = round_step(span, count);
            let first = (least.div_euclid(step) + 1) * step;
            let last = (greatest + step - 1).div_euclid(step) * step;
            (0..=(last - first) / step).for_each(|at| push(first + at * step));
            return Ok(());
        }
        let mut before = None;
        for bound in (1..=count).map(|at| least + span * at / count) {
            if before.replace(bound) != Some(bound) {
                push(bound);
            }
        }
        Ok(())
    })
}

/// Returns the number of the form 1, 2 or 5 times a power of ten that is next to `span / count`, if that is 0.75 or more.
fn round_step(span: i128, count: i128) -> i128 {
    let mut power = 1;
    loop {
        // Steps, and twice the quotient from which on the next one is taken.
        for (step, limit) in [(1, 3), (2, 6), (5, 15)] {
            if 2 * span < limit * power * count {
                return step * power;
            }
        }
        power *= 10;
    }
}

fn of_floats(call: &Call<'_>) -> Result<Vector> {
    made::<f64, f64>(call, |least, greatest, wanted, out| {
        if !least.is_finite() || !greatest.is_finite() {
            return Err(refused("the bounds of bins are finite numbers"));
        }
        if greatest < least {
            return Err(wrong_order());
        }
        let step = greatest / wanted.count as f64 - least / wanted.count as f64;
        let mut bounds = Vec::new();
        match RoundStep::next_to(step).filter(|_| wanted.is_round) {
            Some(step) => {
                let last = (greatest / step.value()).ceil();
                let bounds_down = (0..2 * wanted.count).map(|at| step.times(last - at as f64));
                bounds.extend(bounds_down.take_while(|bound| *bound > least && bound.is_finite()));
            }
            None => {
                let next = |bound: &f64| Some(bound - step).filter(|next| next < bound);
                bounds.extend(std::iter::successors(Some(greatest), next).take(wanted.count as usize));
            }
        }
        bounds.iter().rev().for_each(|&bound| out.push(bound));
        Ok(())
    })
}

/// `digit * 10 ^ exponent`.
struct RoundStep {
    digit: f64,
    exponent: i32,
}

impl RoundStep {
    /// Returns the step that is next to a number; `None` for 0, and numbers without full precision.
    fn next_to(number: f64) -> Option<Self> {
        if !number.is_normal() {
            return None;
        }
        let exponent = number.log10().floor() as i32;
        let fraction = number / 10_f64.powi(exponent);
        let (digit, exponent) = match fraction {
            _ if fraction < 1.5 => (1.0, exponent),
            _ if fraction < 3.0 => (2.0, exponent),
            _ if fraction < 7.5 => (5.0, exponent),
            _ => (1.0, exponent + 1),
        };
        Some(Self { digit, exponent })
    }

    fn value(&self) -> f64 {
        self.times(1.0)
    }

    /// Returns a multiple; a division is exact where the power of ten is.
    fn times(&self, factor: f64) -> f64 {
        let multiple = self.digit * factor;
        if self.exponent < 0 { multiple / 10_f64.powi(-self.exponent) } else { multiple * 10_f64.powi(self.exponent) }
    }
}

fn of_moments<T: Native>(call: &Call<'_>, of_micros: fn(i64) -> T) -> Result<Vector> {
    made::<T, i64>(call, |least, greatest, wanted, out| {
        if ![least, greatest].into_iter().all(is_finite_timestamp) {
            return Err(refused("the bounds of bins are finite times"));
        }
        if greatest < least {
            return Err(wrong_order());
        }
        if wanted.is_round {
            let error = Error::unsupported("equi_width_bins of times with round bounds");
            return Err(error.with_hint("pass FALSE to get bins of exactly one width"));
        }
        let (first, span, count) =
            (i128::from(least), i128::from(greatest) - i128::from(least), i128::from(wanted.count));
        let count = if span == 0 { 1 } else { count };
        (1..=count).for_each(|at| out.push(of_micros((first + span * at / count) as i64)));
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, error_of, shown};

    fn bins(least: &str, greatest: &str, count: &str, is_round: &str) -> String {
        shown("equi_width_bins", &[least, greatest, count, is_round])
    }

    #[test]
    fn bins_of_one_width() {
        for (least, greatest, count, expected) in [
            ("0", "10", "2", "[5, 10]"),
            ("0", "10", "3", "[3, 6, 10]"),
            ("0", "2", "10", "[0, 1, 2]"),
            ("5", "5", "3", "[5]"),
            ("TINYINT '-128'", "TINYINT '127'", "3", "[-43, 42, 127]"),
            ("DOUBLE '0.5'", "10.3", "3", "[3.766666666666666, 7.033333333333333, 10.3]"),
            ("DOUBLE '5'", "DOUBLE '5'", "3", "[5.0]"),
            ("DOUBLE '-1e308'", "DOUBLE '1e308'", "4", "[-5e307, 0.0, 5e307, 1e308]"),
            ("DATE '2020-01-01'", "DATE '2020-12-31'", "4", "[2020-04-01, 2020-07-01, 2020-09-30, 2020-12-31]"),
            ("TIMESTAMP '2020-01-01'", "TIMESTAMP '2020-01-02'", "2", "[2020-01-01 12:00:00, 2020-01-02 00:00:00]"),
            ("NULL", "1", "2", "NULL"),
        ] {
            assert_eq!(bins(least, greatest, count, "FALSE"), expected, "{least} {greatest} {count}");
        }
        assert_eq!(
            call("equi_width_bins", &["SMALLINT '1'", "TINYINT '2'", "1", "FALSE"]).unwrap().1.to_string(),
            "SMALLINT[]"
        );
        assert_eq!(call("equi_width_bins", &["1", "2.5", "1", "FALSE"]).unwrap().1.to_string(), "DOUBLE[]");
    }

    #[test]
    fn round_bounds() {
        for (least, greatest, count, expected) in [
            ("0", "10", "3", "[5, 10]"),
            ("0", "101", "1", "[100, 200]"),
            ("17", "101", "12", "[20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 100, 105]"),
            ("-17", "101", "3", "[0, 50, 100, 150]"),
            ("3", "5", "3", "[3, 4, 5]"),
            ("3", "6", "4", "[4, 5, 6]"),
            ("TINYINT '100'", "TINYINT '127'", "2", "[110, 120, 127]"),
            (
                "BIGINT '-9223372036854775808'",
                "BIGINT '9223372036854775807'",
                "4",
                "[-5000000000000000000, 0, 5000000000000000000, 9223372036854775807]",
            ),
            ("DOUBLE '0.1'", "0.9", "4", "[0.2, 0.4, 0.6, 0.8, 1.0]"),
            ("DOUBLE '0.001'", "0.0175", "5", "[0.005, 0.01, 0.015, 0.02]"),
            ("DOUBLE '3'", "DOUBLE '6'", "5", "[3.5, 4.0, 4.5, 5.0, 5.5, 6.0]"),
            ("DOUBLE '5'", "DOUBLE '5'", "3", "[5.0]"),
        ] {
            assert_eq!(bins(least, greatest, count, "TRUE"), expected, "{least} {greatest} {count}");
        }
    }

    #[test]
    fn bins_that_cannot_be() {
        for (arguments, expected) in [
            (["0", "10", "0", "TRUE"], "from 1 to 1000000, not 0"),
            (["0", "10", "2000000", "TRUE"], "not 2000000"),
            (["10", "0", "3", "TRUE"], "is below the least"),
            (["DOUBLE '10'", "0", "3", "TRUE"], "is below the least"),
            (["DOUBLE '0'", "DOUBLE 'nan'", "3", "TRUE"], "finite numbers"),
            (["DATE '2020-01-01'", "DATE 'infinity'", "3", "FALSE"], "finite times"),
            (["DATE '2020-01-01'", "DATE '2021-01-01'", "3", "TRUE"], "round bounds"),
        ] {
            assert!(error_of("equi_width_bins", &arguments).contains(expected), "{arguments:?}");
        }
    }
}

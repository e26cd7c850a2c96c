//! Lists of numbers or moments in equal steps.

use godwit_common::{Error, Result, SqlState};
use godwit_plan::ArgumentType;
use godwit_types::calendar::is_finite_timestamp;
use godwit_types::interval::timestamp_add;
use godwit_types::{Interval, SqlType};

use super::call::{Call, strict};
use super::elements::Elements;
use super::list_function;
use super::types::{Chosen, is_bigint};
use crate::choose::fits;
use crate::function::Function;
use crate::rows::{Argument, Intervals};

pub(super) fn functions() -> Vec<Function> {
    vec![
        list_function(&["range"], "The list of the numbers or moments from the first, in steps, to before the last")
            .example("range(3)", "[0, 1, 2]")
            .example("range(1, 10, 4)", "[1, 5, 9]")
            .chosen("range(BIGINT)", |bounds| series(bounds, false))
            .chosen("range(BIGINT, BIGINT)", |bounds| series(bounds, false))
            .chosen("range(BIGINT, BIGINT, BIGINT)", |bounds| series(bounds, false))
            .chosen("range(TIMESTAMP, TIMESTAMP, INTERVAL)", |bounds| moments(bounds, false)),
        list_function(&["generate_series"], "The list of the numbers or moments from the first to the last, in steps")
            .example("generate_series(1, 3)", "[1, 2, 3]")
            .example("generate_series(3, 1, -2)", "[3, 1]")
            .chosen("generate_series(BIGINT)", |bounds| series(bounds, true))
            .chosen("generate_series(BIGINT, BIGINT)", |bounds| series(bounds, true))
            .chosen("generate_series(BIGINT, BIGINT, BIGINT)", |bounds| series(bounds, true))
            .chosen("generate_series(TIMESTAMP, TIMESTAMP, INTERVAL)", |bounds| moments(bounds, true)),
    ]
}

/// Elements between two checks for cancellation.
const CHECK_ELEMENTS: usize = 64 << 10;

fn wrong_step(message: &str) -> Error {
    Error::user(message.to_owned()).with_code(SqlState::INVALID_PARAMETER_VALUE)
}

fn series(arguments: &[ArgumentType<'_>], with_last: bool) -> Chosen {
    if !matches!(arguments.len(), 1..=3) || !arguments.iter().all(is_bigint) {
        return None;
    }
    let compute = move |call: &Call<'_>| {
        let bounds: Vec<_> = (0..call.arguments.len()).map(|at| call.integers(at)).collect();
        call.made::<i64, _>(|row, out| match &bounds[..] {
            [last] => numbers(0, last.get(row), 1, with_last, call, out),
            [first, last] => numbers(first.get(row), last.get(row), 1, with_last, call, out),
            [first, last, step, ..] => numbers(first.get(row), last.get(row), step.get(row), with_last, call, out),
            [] => unreachable!("a series has a bound"),
        })
    };
    let types = vec![SqlType::BigInt; arguments.len()];
    Some(Ok(strict(types, SqlType::list_of(SqlType::BigInt), compute).never_null()))
}

fn numbers(
    first: i64,
    last: i64,
    step: i64,
    with_last: bool,
    call: &Call<'_>,
    out: &mut Elements<'_, i64>,
) -> Result<()> {
    if step == 0 {
        return Err(wrong_step("the step of a series is 0"));
    }
    let distance = (i128::from(last) - i128::from(first)) * i128::from(step.signum());
    let distance = if with_last { distance } else { distance - 1 };
    if distance < 0 {
        return Ok(());
    }
    let count = distance / i128::from(step.unsigned_abs()) + 1;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    out.reserve(count)?;
    for start in (0..count).step_by(CHECK_ELEMENTS) {
        call.work.check()?;
        let end = count.min(start + CHECK_ELEMENTS);
        (start..end).for_each(|at| out.push(first.wrapping_add(step.wrapping_mul(at as i64))));
    }
    Ok(())
}

fn moments(arguments: &[ArgumentType<'_>], with_last: bool) -> Chosen {
    let [first, last, step] = arguments else { return None };
    let is_zoned = [first, last].iter().any(|moment| *moment.ty == SqlType::TimestampTz);
    let moment = if is_zoned { SqlType::TimestampTz } else { SqlType::Timestamp };
    if ![first, last].iter().all(|bound| fits(bound, &moment)) || !fits(step, &SqlType::Interval) {
        return None;
    }
    let compute = move |call: &Call<'_>| {
        let (first, last) = (call.integers(0), call.integers(1));
        let steps = Intervals::column(&call.arguments[2]);
        call.made::<i64, _>(|row, out| {
            if ![first.get(row), last.get(row)].into_iter().all(is_finite_timestamp) {
                return Err(wrong_step("a series begins and ends at finite times"));
            }
            let step = Step::new(Intervals::item(&steps, row))?;
            step.walk(first.get(row), last.get(row), with_last, call, out)
        })
    };
    let types = vec![moment.clone(), moment.clone(), SqlType::Interval];
    Some(Ok(strict(types, SqlType::list_of(moment), compute).never_null()))
}

/// An interval whose parts have one sign, so it goes in one direction on every day.
struct Step {
    interval: Interval,
    is_backward: bool,
}

impl Step {
    fn new(interval: Interval) -> Result<Self> {
        let parts = [i64::from(interval.months), i64::from(interval.days), interval.micros];
        let (is_forward, is_backward) = (parts.iter().any(|&part| part > 0), parts.iter().any(|&part| part < 0));
        match (is_forward, is_backward) {
            (true, true) => Err(wrong_step("the step of a series goes forward and backward at once")),
            (false, false) => Err(wrong_step("the step of a series is 0")),
            _ => Ok(Self { interval, is_backward }),
        }
    }

    /// Computes each moment by a step from the previous one, as PostgreSQL does.
    fn walk(&self, first: i64, last: i64, with_last: bool, call: &Call<'_>, out: &mut Elements<'_, i64>) -> Result<()> {
        let is_inside = |moment: i64| {
            let is_before = if self.is_backward { moment > last } else { moment < last };
            is_before || with_last && moment == last
        };
        let mut next = Some(first).filter(|&moment| is_inside(moment));
        let mut count = 0_usize;
        while let Some(moment) = next {
            if count.is_multiple_of(CHECK_ELEMENTS) {
                call.work.check()?;
            }
            // Doubles the request, to make few of them.
            if count.is_power_of_two() {
                out.reserve(count)?;
            }
            out.push(moment);
            count += 1;
            next = timestamp_add(moment, self.interval).filter(|&moment| is_inside(moment));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, error_of, shown};

    #[test]
    fn series_of_numbers() {
        assert_eq!(shown("range", &["3"]), "[0, 1, 2]");
        assert_eq!(shown("generate_series", &["3"]), "[0, 1, 2, 3]");
        assert_eq!(shown("range", &["10", "1", "-3"]), "[10, 7, 4]");
        assert_eq!(shown("range", &["1", "1"]), "[]");
        assert_eq!(shown("generate_series", &["1", "1"]), "[1]");
        assert_eq!(shown("generate_series", &["3", "1"]), "[]");
        assert_eq!(shown("generate_series", &["1", "3", "NULL"]), "NULL");
        assert_eq!(error_of("range", &["1", "3", "0"]), "the step of a series is 0");
        let (least, greatest) = ("-9223372036854775808", "9223372036854775807");
        assert_eq!(
            shown("generate_series", &[least, greatest, greatest]),
            "[-9223372036854775808, -1, 9223372036854775806]"
        );
        assert_eq!(shown("generate_series", &[greatest, greatest]), "[9223372036854775807]");
        assert_eq!(shown("generate_series", &[greatest, least, least]), "[9223372036854775807, -1]");
        assert!(error_of("range", &[greatest]).contains("more than 2147483647"));
        assert!(error_of("range", &["1000000000"]).contains("bytes"));
    }

    #[test]
    fn series_of_moments() {
        let series = |first: &str, last: &str, step: &str| {
            let (first, last) = (format!("TIMESTAMP '{first}'"), format!("TIMESTAMP '{last}'"));
            shown("generate_series", &[&first, &last, &format!("INTERVAL '{step}'")])
        };
        let months = series("2020-01-31", "2020-03-31", "1 month");
        assert_eq!(months, "[2020-01-31 00:00:00, 2020-02-29 00:00:00, 2020-03-29 00:00:00]");
        assert_eq!(series("2020-01-02", "2020-01-01", "-1 day"), "[2020-01-02 00:00:00, 2020-01-01 00:00:00]");
        assert_eq!(series("2020-01-02", "2020-01-01", "1 day"), "[]");
        let days = ["DATE '2020-01-01'", "DATE '2020-01-03'", "INTERVAL '36 hours'"];
        assert_eq!(shown("range", &days), "[2020-01-01 00:00:00, 2020-01-02 12:00:00]");
        assert_eq!(call("range", &days).unwrap().1.to_string(), "TIMESTAMP[]");
        let of_step = |step| error_of("range", &[days[0], days[1], step]);
        assert!(of_step("INTERVAL '1 month -30 days'").contains("forward and backward"));
        assert!(of_step("INTERVAL '0 days'").contains("is 0"));
        let wide = ["TIMESTAMP '2000-01-01'", "TIMESTAMP '200000-01-01'", "INTERVAL '1 microsecond'"];
        assert!(error_of("range", &wide).contains("bytes"));
    }
}

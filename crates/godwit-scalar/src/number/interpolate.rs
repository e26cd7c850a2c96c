//! Values on the line through two points.

use std::sync::Arc;

use godwit_common::Result;
use godwit_plan::{ArgumentType, NoFunction};
use godwit_types::calendar::{is_finite_date, is_finite_timestamp};
use godwit_types::{SqlType, Value, common_type};
use godwit_vector::Vector;
use godwit_vector::sql::{Reader, vector_of_values};

use crate::function::{Category, Form, Function, function};
use crate::kernel::{Kernel, Work};

pub(super) fn functions() -> Vec<Function> {
    let description = "The value at a position on the line through two points, each a position and a value; NULL if it is \
                       out of range";
    vec![
        function(Category::Value, &["interpolate"], description)
            .example("interpolate(2, 1, 10.0, 5, 20.0)", "12.5")
            .example("interpolate(DATE '2024-01-02', DATE '2024-01-01', 0, DATE '2024-01-03', 24)", "12")
            .chosen("interpolate(position, position, value, position, value)", interpolate),
    ]
}

fn interpolate(arguments: &[ArgumentType<'_>]) -> Option<std::result::Result<Form, NoFunction>> {
    let [at, from, from_value, to, to_value] = arguments else { return None };
    let position = common_type(&common_type(at.ty, from.ty)?, to.ty).filter(SqlType::is_linear)?;
    let value = common_type(from_value.ty, to_value.ty).filter(SqlType::is_linear)?;
    let kernel = Arc::new(Interpolate { position: position.clone(), value: value.clone() });
    let types = vec![position.clone(), position.clone(), value.clone(), position, value.clone()];
    Some(Ok(Form { may_be_null: true, ..Form::strict(types, value, false, true, kernel) }))
}

struct Interpolate {
    position: SqlType,
    value: SqlType,
}

impl Kernel for Interpolate {
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        work.check()?;
        let types = [&self.position, &self.position, &self.value, &self.position, &self.value];
        let readers = arguments.iter().zip(types).map(|(argument, ty)| Reader::new(argument, ty));
        let readers = readers.collect::<Result<Vec<_>>>()?;
        let value = |row: usize| {
            let of = |at: usize| readers[at].value(row);
            let share = share(&of(0)?, &of(1)?, &of(3)?);
            Ok(share.and_then(|share| between(&of(2).ok()?, &of(4).ok()?, share, &self.value)).unwrap_or(Value::Null))
        };
        vector_of_values(&(0..rows).map(value).collect::<Result<Vec<_>>>()?, &self.value)
    }
}

/// Returns how far a position is on the way between two others: 0 at the first, 1 at the second. `None` if it is beyond
/// all numbers.
fn share(at: &Value, from: &Value, to: &Value) -> Option<f64> {
    let (passed, whole) = match (at, from, to) {
        (Value::Float(at), Value::Float(from), Value::Float(to)) => (at - from, to - from),
        _ => {
            let [at, from, to] = [finite_integer(at)?, finite_integer(from)?, finite_integer(to)?];
            (difference(at, from), difference(to, from))
        }
    };
    let share = if whole == 0.0 { 0.0 * passed } else { passed / whole };
    share.is_finite().then_some(share)
}

/// Returns a value between two others, or beyond them: rounded towards the first between them, to the nearest beyond.
fn between(from: &Value, to: &Value, share: f64, ty: &SqlType) -> Option<Value> {
    if let (Value::Float(from), Value::Float(to)) = (from, to) {
        let value = from + (to - from) * share;
        let value = if *ty == SqlType::Real { f64::from(value as f32) } else { value };
        return value.is_finite().then_some(Value::Float(value));
    }
    let (from, to) = (finite_integer(from)?, finite_integer(to)?);
    let way = difference(to, from) * share;
    let inside = match (0.0..=1.0).contains(&share) {
        true => from.checked_add(way.trunc() as i128)?,
        // A cast of what no 128 bits hold gives their limits, and the sum an overflow.
        false => from.checked_add(way.round() as i128)?,
    };
    Value::of_integer(inside, ty).filter(|value| is_in_range(value, ty))
}

fn difference(a: i128, b: i128) -> f64 {
    a.checked_sub(b).map_or(a as f64 - b as f64, |difference| difference as f64)
}

/// Returns the integer that represents a value, unless the value is infinite.
fn finite_integer(value: &Value) -> Option<i128> {
    match value {
        Value::Date(days) if !is_finite_date(*days) => None,
        Value::Timestamp(ticks) if !is_finite_timestamp(*ticks) => None,
        value => value.as_integer(),
    }
}

/// Returns whether a value, of an integer in the range of its representation, is one of its type.
fn is_in_range(value: &Value, ty: &SqlType) -> bool {
    use godwit_types::calendar::MICROS_PER_DAY;
    match (value, ty) {
        (Value::Integer(unscaled), SqlType::Decimal { precision, .. }) => {
            unscaled.unsigned_abs() < 10u128.pow(u32::from(*precision))
        }
        (Value::Time(micros), _) => (0..MICROS_PER_DAY).contains(micros),
        (Value::Date(_) | Value::Timestamp(_), _) => finite_integer(value).is_some(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::shown;

    #[test]
    fn values_on_a_line() {
        for (arguments, expected) in [
            (["2", "1", "10", "5", "20"], "12"),
            (["2", "1", "-10", "5", "-13"], "-10"),
            (["8", "2", "10", "5", "11"], "12"),
            (["0", "2", "10", "5", "11"], "9"),
            (["1", "1", "10", "1", "20"], "10"),
            (["2", "1", "1.5", "4", "3.0"], "2.0"),
            (["2.5", "1", "DATE '2024-01-01'", "4", "DATE '2024-01-11'"], "2024-01-06"),
            (["TIMESTAMP '2024-01-02'", "TIMESTAMP '2024-01-01'", "1", "TIMESTAMP '2024-01-05'", "20"], "5"),
            (["2", "1", "TIME '10:00'", "4", "TIME '10:30'"], "10:10:00"),
            (["9", "1", "TIME '10:00'", "2", "TIME '12:30'"], "NULL"),
            (["7", "1", "UTINYINT '200'", "2", "UTINYINT '100'"], "NULL"),
            (["3", "1", "1.0", "2", "2.5"], "4.0"),
            (["30", "1", "1.0", "2", "9.9"], "NULL"),
            (["2", "1", "DOUBLE '1.0'", "3", "DOUBLE 'inf'"], "NULL"),
            (["DATE 'infinity'", "DATE '2020-01-01'", "1", "DATE '2020-01-02'", "2"], "NULL"),
            (["2", "1", "1", "3", "NULL"], "NULL"),
        ] {
            assert_eq!(shown("interpolate", &arguments), expected, "{arguments:?}");
        }
    }
}

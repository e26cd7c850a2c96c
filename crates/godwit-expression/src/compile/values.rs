//! Values of constants and of vectors.

use arrow_array::cast::AsArray;
use arrow_array::types::IntervalMonthDayNanoType;
use godwit_common::{Error, Result};
use godwit_types::{Interval, SqlType, Value};
use godwit_vector::sql::{Reader, sql_interval};
use godwit_vector::{Flat, Vector};

use crate::Expression;

/// Returns the value of an expression that is a constant of type `ty`.
pub(super) fn literal_value(expression: &Expression, ty: &SqlType) -> Option<Value> {
    let (flat, is_null) = expression.as_literal()?;
    if is_null {
        return Some(Value::Null);
    }
    Reader::new(&Vector::flat(flat.clone(), None), ty).ok()?.value(0).ok()
}

/// Returns the text of a row.
pub(super) fn text_at(flat: &Flat, row: usize) -> Result<&str> {
    std::str::from_utf8(flat.strings().get(row)).map_err(|_| Error::corrupt("a text value is not valid UTF-8"))
}

/// Returns the intervals of a vector; NULL rows hold arbitrary ones.
pub(super) fn intervals(vector: &Vector) -> Vec<Interval> {
    let Flat::Nested(array) = vector.to_flat() else { unreachable!("intervals are nested") };
    array.as_primitive::<IntervalMonthDayNanoType>().values().iter().copied().map(sql_interval).collect()
}

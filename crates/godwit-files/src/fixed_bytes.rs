//! Values of fixed length that stand for something else than bytes: UUIDs and intervals.

use std::sync::Arc;

use arrow_array::IntervalMonthDayNanoArray;
use arrow_buffer::IntervalMonthDayNano;
use godwit_types::{SqlType, Value, write_value};
use godwit_vector::{Flat, StrColumn, Vector};

/// Bytes of a UUID.
pub(crate) const UUID_BYTES: usize = 16;
/// Bytes of a UUID as text.
pub(crate) const UUID_TEXT_BYTES: usize = 36;
/// Bytes of an interval: months, days and milliseconds, of 32 bits each.
pub(crate) const INTERVAL_BYTES: usize = 12;

/// Returns UUIDs as texts, as which they are held.
pub(crate) fn uuid_texts<'b>(values: impl Iterator<Item = &'b [u8]>) -> StrColumn {
    let (mut texts, mut ends) = (String::new(), Vec::with_capacity(values.size_hint().0));
    for value in values {
        // NULL's place has any bytes.
        let value = value.try_into().map_or(0, u128::from_be_bytes);
        write_value(&mut texts, &Value::Uuid(value), &SqlType::Uuid);
        ends.push(texts.len());
    }
    StrColumn::from_parts(texts.into_bytes(), &ends)
}

/// Returns a vector of UUIDs' bytes as one of their texts.
pub(crate) fn uuids(stored: &Vector) -> Vector {
    let flat = stored.to_flat();
    let texts = uuid_texts(flat.strings().iter());
    Vector::flat(Flat::Str(texts), None).with_validity(stored.validity().cloned())
}

/// Returns a vector of intervals' bytes as intervals.
pub(crate) fn intervals(stored: &Vector) -> Vector {
    let flat = stored.to_flat();
    let interval = |bytes: &[u8]| {
        let part =
            |at: usize| bytes.get(at..at + 4).and_then(|part| part.try_into().ok()).map_or(0, u32::from_le_bytes);
        let nanos = i64::from(part(8)) * 1_000_000;
        // Some writers store negative months and days.
        IntervalMonthDayNano::new(part(0).cast_signed(), part(4).cast_signed(), nanos)
    };
    let values: Vec<IntervalMonthDayNano> = flat.strings().iter().map(interval).collect();
    Vector::flat(Flat::Nested(Arc::new(IntervalMonthDayNanoArray::from(values))), None)
        .with_validity(stored.validity().cloned())
}

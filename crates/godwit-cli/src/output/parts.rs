//! Batches of large rows in parts: their text uses the shell's own memory, which no limit covers.

use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;

/// Maximum bytes of values that become text together, unless a single row has more.
const PART_BYTES: usize = 1 << 20;

/// Splits a batch into parts with few bytes.
pub fn light_parts(batch: &RecordBatch) -> impl Iterator<Item = RecordBatch> {
    let rows = batch.num_rows();
    let bytes: usize = batch.columns().iter().map(|column| value_bytes(column)).sum();
    let parts = bytes.div_ceil(PART_BYTES).clamp(1, rows.max(1));
    let rows_per_part = rows.div_ceil(parts).max(1);
    (0..rows.max(1)).step_by(rows_per_part).map(move |start| batch.slice(start, rows_per_part.min(rows - start)))
}

/// Returns the bytes of an array's values.
fn value_bytes(array: &dyn Array) -> usize {
    let data = array.to_data();
    match data.data_type() {
        // The length of a value is in the lowest 32 bits of its view.
        DataType::Utf8View | DataType::BinaryView => {
            data.buffer::<u128>(0)[..data.len()].iter().map(|view| *view as u32 as usize).sum()
        }
        DataType::List(_) | DataType::FixedSizeList(..) | DataType::Map(..) | DataType::Struct(_) => {
            data.child_data().iter().map(|child| value_bytes(&arrow_array::make_array(child.clone()))).sum()
        }
        _ => data.get_slice_memory_size().unwrap_or_else(|_| data.get_array_memory_size()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array, StringViewArray};

    use super::*;

    fn rows_of_parts(rows: usize, text_bytes: usize) -> Vec<usize> {
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..rows as i32));
        let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values(vec!["x".repeat(text_bytes); rows]));
        let batch = RecordBatch::try_from_iter([("number", numbers), ("text", texts)]).unwrap();
        let mut start = 0;
        let check = |part: RecordBatch| {
            assert_eq!(part, batch.slice(start, part.num_rows()));
            start += part.num_rows();
            part.num_rows()
        };
        light_parts(&batch).map(check).collect()
    }

    #[test]
    fn heavy_rows_come_in_parts() {
        assert_eq!(rows_of_parts(2_048, 10), [2_048]);
        assert_eq!(rows_of_parts(3, 2 << 20), [1, 1, 1]);
        assert_eq!(rows_of_parts(5, 512 << 10), [2, 2, 1]);
        assert_eq!(rows_of_parts(0, 0), [0]);
    }
}

//! Casts of nested values, within the memory limit.
//!
//! Texts are written part by part by `godwit-scalar`. Other casts convert rows to values and back ([`super::rows`]): a
//! value takes many times the memory of an element, which is reserved while they are computed.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use godwit_common::Result;
use godwit_scalar::{Room, Work, nested_as_text};
use godwit_types::{SqlType, Value};
use godwit_vector::sql::column_type;
use godwit_vector::{Flat, Vector};

use super::calls::FunctionCall;
use crate::Expression;
use crate::expression::Kernel;

/// Bytes for each part of a nested value while it is read from a text: its text, its value in a list that grows and in its
/// place, and what it is in the result. Measured: 88 for integers.
pub(super) const READ_PART_BYTES: usize = 2 * size_of::<Value>() + 32;

/// The same while it is cast to another type, where there are values of both types. Measured: 122 from integers to
/// integers, 170 to texts.
pub(super) const CAST_PART_BYTES: usize = 4 * size_of::<Value>() + 40;

/// Casts nested values to VARCHAR.
pub(super) fn written(argument: Expression, from: &SqlType, work: &Arc<dyn Work>) -> Result<Expression> {
    let output = column_type(&SqlType::Varchar, argument.output().nullable)?;
    let kernel = nested_as_text(from.clone());
    let call = FunctionCall { kernel, work: Arc::clone(work), can_fail: false, is_volatile: false };
    Ok(Expression::strict(call, vec![argument], output))
}

/// A cast whose values are counted while it is computed.
pub(super) struct Counted<K> {
    cast: K,
    part_bytes: usize,
    work: Arc<dyn Work>,
}

impl<K: Kernel> Counted<K> {
    pub(super) fn new(cast: K, part_bytes: usize, work: &Arc<dyn Work>) -> Self {
        Self { cast, part_bytes, work: Arc::clone(work) }
    }
}

impl<K: Kernel> Kernel for Counted<K> {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let mut room = Room::new(rows, &*self.work);
        room.count(parts_of(&arguments[0]).saturating_mul(self.part_bytes))?;
        self.cast.evaluate(arguments, rows)
    }

    fn can_fail(&self) -> bool {
        self.cast.can_fail()
    }

    fn is_volatile(&self) -> bool {
        self.cast.is_volatile()
    }
}

/// Number of values that the rows of a vector consist of; for texts of nested values, at most that.
fn parts_of(vector: &Vector) -> usize {
    match vector.to_flat() {
        Flat::Str(texts) => {
            let commas = texts.iter().map(|text| text.iter().filter(|&&byte| byte == b',').count());
            vector.len() + commas.sum::<usize>()
        }
        Flat::Nested(array) => parts_of_array(&array),
        _ => vector.len(),
    }
}

fn parts_of_array(array: &ArrayRef) -> usize {
    let within = |values: &ArrayRef, offsets: &[i32]| match (offsets.first(), offsets.last()) {
        (Some(&first), Some(&last)) => parts_of_array(&values.slice(first as usize, (last - first) as usize)),
        _ => 0,
    };
    let inside = match array.data_type() {
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            within(lists.values(), lists.value_offsets())
        }
        DataType::Map(..) => {
            let maps = array.as_map();
            let entries: ArrayRef = Arc::new(maps.entries().clone());
            within(&entries, maps.value_offsets())
        }
        DataType::FixedSizeList(..) => parts_of_array(array.as_fixed_size_list().values()),
        DataType::Struct(_) => array.as_struct().columns().iter().map(parts_of_array).sum(),
        _ => 0,
    };
    array.len() + inside
}

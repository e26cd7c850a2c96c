//! Casts of nested values, within the memory limit.
//!
//! Texts are written part by part by `godwit-scalar`. Casts between nested types have kernels ([`super::part_casts`]).
//! Other casts convert rows to values and back ([`super::rows`]): a value takes many times the memory of an element, which
//! is reserved while they are computed.

use std::iter::Sum;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use godwit_common::Result;
use godwit_scalar::{Room, Work, long_as_text};
use godwit_types::{SqlType, Value};
use godwit_vector::sql::column_type;
use godwit_vector::{Data, Flat, StrColumn, Vector};

use super::calls::FunctionCall;
use crate::Expression;
use crate::expression::Kernel;

/// Bytes for each part of a nested value while it is read from a text: its text, its value in a list that grows and in its
/// place, and what it is in the result. Measured: 88 for integers.
const READ_PART_BYTES: usize = 2 * size_of::<Value>() + 32;

/// The same while it is cast to another type, where there are values of both types. Measured: 122 from integers to
/// integers, 170 to texts.
const CAST_PART_BYTES: usize = 4 * size_of::<Value>() + 40;

/// How often the bytes of texts and BLOBs are there meanwhile, besides the argument: as values of both types, while one is
/// parsed, and in the result.
const TEXT_COPIES: usize = 4;

/// Casts nested values to VARCHAR.
pub(super) fn written(argument: Expression, from: &SqlType, work: &Arc<dyn Work>) -> Result<Expression> {
    let output = column_type(&SqlType::Varchar, argument.output().nullable)?;
    let kernel = long_as_text(from.clone());
    let call = FunctionCall { kernel, work: Arc::clone(work), can_fail: false, is_volatile: false };
    Ok(Expression::strict(call, vec![argument], output))
}

/// A cast whose values are counted while it is computed.
pub(super) struct Counted<K> {
    cast: K,
    part_bytes: usize,
    /// How many parts a struct of the new type has at most, whose text may leave them out.
    fields: usize,
    work: Arc<dyn Work>,
}

impl<K: Kernel> Counted<K> {
    /// `from` is nested or VARCHAR, `to` nested.
    pub(super) fn new(cast: K, from: &SqlType, to: &SqlType, work: &Arc<dyn Work>) -> Self {
        let part_bytes = if from.is_nested() { CAST_PART_BYTES } else { READ_PART_BYTES };
        Self { cast, part_bytes, fields: parts_of_type(to), work: Arc::clone(work) }
    }

    /// Bytes that computing it takes.
    fn bytes_of(&self, vector: &Vector) -> usize {
        let weight = |flat: &Flat| match flat {
            Flat::Str(texts) => weight_of_texts(texts, self.fields),
            Flat::Nested(array) => weight_of(array),
            flat => Weight { parts: flat.len(), text_bytes: 0 },
        };
        let (Weight { parts, text_bytes }, times) = match vector.data() {
            // It is cast for each row.
            Data::Constant(flat) => (weight(flat), vector.len()),
            _ => (weight(&vector.to_flat()), 1),
        };
        let bytes = parts.saturating_mul(self.part_bytes).saturating_add(text_bytes.saturating_mul(TEXT_COPIES));
        bytes.saturating_mul(times)
    }
}

impl<K: Kernel> Kernel for Counted<K> {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let mut room = Room::new(rows, &*self.work);
        room.count(self.bytes_of(&arguments[0]))?;
        self.cast.evaluate(arguments, rows)
    }

    fn can_fail(&self) -> bool {
        self.cast.can_fail()
    }

    fn is_volatile(&self) -> bool {
        self.cast.is_volatile()
    }
}

/// What values consist of.
#[derive(Default, Clone, Copy)]
struct Weight {
    /// Number of values in them, and they themselves.
    parts: usize,
    /// Bytes of all texts and BLOBs.
    text_bytes: usize,
}

impl Sum for Weight {
    fn sum<I: Iterator<Item = Self>>(weights: I) -> Self {
        weights.fold(Self::default(), |a, b| Self { parts: a.parts + b.parts, text_bytes: a.text_bytes + b.text_bytes })
    }
}

/// Number of values in one of a type, if its lists have one element.
fn parts_of_type(ty: &SqlType) -> usize {
    1 + match ty {
        SqlType::List(element) | SqlType::Array(element, _) => parts_of_type(element),
        SqlType::Struct(fields) => fields.iter().map(|field| parts_of_type(&field.ty)).sum(),
        SqlType::Map(entry) => parts_of_type(&entry.0) + parts_of_type(&entry.1),
        _ => 0,
    }
}

/// The weight of nested values in texts, at most: what opens a struct may stand for all of its `fields`.
fn weight_of_texts(texts: &StrColumn, fields: usize) -> Weight {
    let parts = |byte: &u8| match byte {
        b',' | b'=' | b'[' => 1,
        b'{' | b'(' => fields,
        _ => 0,
    };
    texts.iter().map(|text| Weight { parts: 1 + text.iter().map(parts).sum::<usize>(), text_bytes: text.len() }).sum()
}

fn weight_of(array: &ArrayRef) -> Weight {
    let within = |values: &ArrayRef, offsets: &[i32]| match (offsets.first(), offsets.last()) {
        (Some(&first), Some(&last)) => weight_of(&values.slice(first as usize, (last - first) as usize)),
        _ => Weight::default(),
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
        DataType::FixedSizeList(..) => weight_of(array.as_fixed_size_list().values()),
        DataType::Struct(_) => array.as_struct().columns().iter().map(weight_of).sum(),
        DataType::Utf8View => {
            let views = array.as_string_view().views();
            Weight { parts: 0, text_bytes: views.iter().map(|&view| view as u32 as usize).sum() }
        }
        DataType::BinaryView => {
            let views = array.as_binary_view().views();
            Weight { parts: 0, text_bytes: views.iter().map(|&view| view as u32 as usize).sum() }
        }
        _ => Weight::default(),
    };
    Weight { parts: array.len() + inside.parts, ..inside }
}

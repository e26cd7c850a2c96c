//! Arrow arrays in and out. Buffers are shared where the layouts agree.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, StringViewArray, downcast_dictionary_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, TimeUnit};
use godwit_common::{Error, Result};

use crate::{Bitmap, Data, Dictionary, Flat, Heaps, PhysicalType, StrColumn, StrView, Vector};

/// Converts an Arrow array to a vector of its natural physical type.
pub fn from_arrow(array: &ArrayRef) -> Result<Vector> {
    match array.as_any_dictionary_opt() {
        Some(dictionary) => {
            let values = from_arrow(dictionary.values())?.to_flat();
            from_arrow_codes(array, &Arc::new(Dictionary::new(values, false)))
        }
        None => Ok(Vector::flat(flat_of(array)?, validity_of(array))),
    }
}

/// Converts a dictionary array, whose values are those of `dictionary`, to a vector of codes.
pub fn from_arrow_codes(array: &ArrayRef, dictionary: &Arc<Dictionary>) -> Result<Vector> {
    // An empty dictionary has no codes: every row is NULL.
    if dictionary.is_empty() {
        return Ok(Vector::null(dictionary.values().physical(), array.len()));
    }
    let any: &dyn Array = array.as_ref();
    downcast_dictionary_array!(
        any => {
            let codes: Vec<u32> = any.keys_iter().map(|key| key.unwrap_or(0) as u32).collect();
            Ok(Vector::dictionary(codes.into(), dictionary.clone(), validity_of(array)))
        },
        other => Err(Error::unsupported(format!("codes of the type {other}")))
    )
}

fn validity_of(array: &ArrayRef) -> Option<Bitmap> {
    array.logical_nulls().map(|nulls| bitmap_of(nulls.inner()))
}

fn flat_of(array: &ArrayRef) -> Result<Flat> {
    macro_rules! share {
        ($variant:ident, $arrow:ty) => {
            Flat::$variant(array.as_primitive::<$arrow>().values().clone())
        };
    }
    Ok(match array.data_type() {
        DataType::Null => Flat::Bool(vec![0u8; array.len()].into()),
        DataType::Boolean => Flat::Bool(bitmap_of(array.as_boolean().values()).to_bytes().into()),
        DataType::Int8 => share!(I8, Int8Type),
        DataType::Int16 => share!(I16, Int16Type),
        DataType::Int32 => share!(I32, Int32Type),
        DataType::Int64 => share!(I64, Int64Type),
        DataType::UInt8 => share!(U8, UInt8Type),
        DataType::UInt16 => share!(U16, UInt16Type),
        DataType::UInt32 => share!(U32, UInt32Type),
        DataType::UInt64 => share!(U64, UInt64Type),
        DataType::Float32 => share!(F32, Float32Type),
        DataType::Float64 => share!(F64, Float64Type),
        DataType::Date32 => share!(I32, Date32Type),
        DataType::Date64 => share!(I64, Date64Type),
        DataType::Time32(TimeUnit::Second) => share!(I32, Time32SecondType),
        DataType::Time32(_) => share!(I32, Time32MillisecondType),
        DataType::Time64(TimeUnit::Microsecond) => share!(I64, Time64MicrosecondType),
        DataType::Time64(_) => share!(I64, Time64NanosecondType),
        DataType::Timestamp(TimeUnit::Second, _) => share!(I64, TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => share!(I64, TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => share!(I64, TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => share!(I64, TimestampNanosecondType),
        DataType::Duration(TimeUnit::Second) => share!(I64, DurationSecondType),
        DataType::Duration(TimeUnit::Millisecond) => share!(I64, DurationMillisecondType),
        DataType::Duration(TimeUnit::Microsecond) => share!(I64, DurationMicrosecondType),
        DataType::Duration(TimeUnit::Nanosecond) => share!(I64, DurationNanosecondType),
        DataType::Decimal32(_, _) => share!(I32, Decimal32Type),
        DataType::Decimal64(_, _) => share!(I64, Decimal64Type),
        DataType::Decimal128(precision, _) => {
            let values = array.as_primitive::<Decimal128Type>().values();
            match precision {
                0..=9 => Flat::I32(values.iter().map(|&v| v as i32).collect::<Vec<_>>().into()),
                10..=18 => Flat::I64(values.iter().map(|&v| v as i64).collect::<Vec<_>>().into()),
                _ => Flat::I128(values.clone()),
            }
        }
        DataType::Utf8 => {
            let strings = array.as_string::<i32>();
            strings_of((0..array.len()).map(|i| strings.value(i).as_bytes()), Heaps::one(Arc::new(array.clone())))
        }
        DataType::LargeUtf8 => {
            let strings = array.as_string::<i64>();
            strings_of((0..array.len()).map(|i| strings.value(i).as_bytes()), Heaps::one(Arc::new(array.clone())))
        }
        DataType::Utf8View => {
            let strings = array.as_string_view();
            strings_of((0..array.len()).map(|i| strings.value(i).as_bytes()), Heaps::one(Arc::new(array.clone())))
        }
        DataType::Binary => {
            let strings = array.as_binary::<i32>();
            strings_of((0..array.len()).map(|i| strings.value(i)), Heaps::one(Arc::new(array.clone())))
        }
        DataType::LargeBinary => {
            let strings = array.as_binary::<i64>();
            strings_of((0..array.len()).map(|i| strings.value(i)), Heaps::one(Arc::new(array.clone())))
        }
        DataType::BinaryView => {
            let strings = array.as_binary_view();
            strings_of((0..array.len()).map(|i| strings.value(i)), Heaps::one(Arc::new(array.clone())))
        }
        DataType::FixedSizeBinary(_) => {
            let strings = array.as_fixed_size_binary();
            strings_of((0..array.len()).map(|i| strings.value(i)), Heaps::one(Arc::new(array.clone())))
        }
        other => match PhysicalType::natural(other)? {
            PhysicalType::Nested => Flat::Nested(array.clone()),
            _ => return Err(Error::unsupported(format!("values of type {other}"))),
        },
    })
}

/// Builds a column of strings that lie in `heaps` (short ones are copied into their views).
fn strings_of<'a>(strings: impl Iterator<Item = &'a [u8]>, heaps: Heaps) -> Flat {
    // SAFETY: Arrow buffers don't move while a reference to the array lives, and `heaps` holds one.
    Flat::Str(unsafe { StrColumn::new(strings.map(StrView::new).collect(), heaps) })
}

/// Converts bits of Arrow to a bitmap.
pub fn bitmap_of(bits: &BooleanBuffer) -> Bitmap {
    let chunks = bits.bit_chunks();
    Bitmap::from_words(chunks.iter_padded().collect(), bits.len())
}

/// Converts a vector to an Arrow array of type `logical`. Integers of another width are widened or narrowed; the plan
/// guarantees that they fit.
pub fn to_arrow(vector: &Vector, logical: &DataType) -> Result<ArrayRef> {
    let nulls = nulls_of(vector);
    let flat = vector.to_flat();
    macro_rules! primitive {
        ($arrow:ty, $native:ty) => {
            Arc::new(PrimitiveArray::<$arrow>::new(integers::<$native>(&flat), nulls).with_data_type(logical.clone()))
        };
    }
    Ok(match logical {
        DataType::Null => Arc::new(arrow_array::NullArray::new(vector.len())),
        DataType::Boolean => {
            let bytes = flat.bools();
            Arc::new(BooleanArray::new(BooleanBuffer::collect_bool(bytes.len(), |i| bytes[i] != 0), nulls))
        }
        DataType::Int8 => primitive!(Int8Type, i8),
        DataType::Int16 => primitive!(Int16Type, i16),
        DataType::Int32 => primitive!(Int32Type, i32),
        DataType::Int64 => primitive!(Int64Type, i64),
        DataType::UInt8 => primitive!(UInt8Type, u8),
        DataType::UInt16 => primitive!(UInt16Type, u16),
        DataType::UInt32 => primitive!(UInt32Type, u32),
        DataType::UInt64 => primitive!(UInt64Type, u64),
        DataType::Float32 => Arc::new(PrimitiveArray::<Float32Type>::new(flat_buffer::<f32>(&flat), nulls)),
        DataType::Float64 => Arc::new(PrimitiveArray::<Float64Type>::new(flat_buffer::<f64>(&flat), nulls)),
        DataType::Date32 => primitive!(Date32Type, i32),
        DataType::Date64 => primitive!(Date64Type, i64),
        DataType::Time32(TimeUnit::Second) => primitive!(Time32SecondType, i32),
        DataType::Time32(_) => primitive!(Time32MillisecondType, i32),
        DataType::Time64(TimeUnit::Microsecond) => primitive!(Time64MicrosecondType, i64),
        DataType::Time64(_) => primitive!(Time64NanosecondType, i64),
        DataType::Timestamp(TimeUnit::Second, _) => primitive!(TimestampSecondType, i64),
        DataType::Timestamp(TimeUnit::Millisecond, _) => primitive!(TimestampMillisecondType, i64),
        DataType::Timestamp(TimeUnit::Microsecond, _) => primitive!(TimestampMicrosecondType, i64),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => primitive!(TimestampNanosecondType, i64),
        DataType::Duration(TimeUnit::Second) => primitive!(DurationSecondType, i64),
        DataType::Duration(TimeUnit::Millisecond) => primitive!(DurationMillisecondType, i64),
        DataType::Duration(TimeUnit::Microsecond) => primitive!(DurationMicrosecondType, i64),
        DataType::Duration(TimeUnit::Nanosecond) => primitive!(DurationNanosecondType, i64),
        DataType::Decimal32(_, _) => primitive!(Decimal32Type, i32),
        DataType::Decimal64(_, _) => primitive!(Decimal64Type, i64),
        DataType::Decimal128(_, _) => primitive!(Decimal128Type, i128),
        other if flat.physical() == PhysicalType::Str => strings_to_arrow(flat.strings(), vector, other)?,
        _ => match flat {
            Flat::Nested(array) => array,
            flat => return Err(Error::internal(format!("{:?} can't become {logical}", flat.physical()))),
        },
    })
}

fn flat_buffer<T: crate::Native>(flat: &Flat) -> ScalarBuffer<T> {
    T::of(flat).unwrap_or_else(|| panic!("expected {:?}, found {:?}", T::PHYSICAL, flat.physical())).clone()
}

/// Returns integers as `T`: shared if they already have that type, else cast one by one.
fn integers<T: crate::Native + TryFromAny>(flat: &Flat) -> ScalarBuffer<T> {
    if let Some(values) = T::of(flat) {
        return values.clone();
    }
    macro_rules! cast {
        ($values:expr) => {
            $values.iter().map(|&v| T::narrow(v as i128)).collect::<Vec<T>>().into()
        };
    }
    match flat {
        Flat::Bool(v) | Flat::U8(v) => cast!(v),
        Flat::I8(v) => cast!(v),
        Flat::I16(v) => cast!(v),
        Flat::I32(v) => cast!(v),
        Flat::I64(v) => cast!(v),
        Flat::I128(v) => cast!(v),
        Flat::U16(v) => cast!(v),
        Flat::U32(v) => cast!(v),
        Flat::U64(v) => cast!(v),
        other => panic!("expected integers, found {:?}", other.physical()),
    }
}

/// Narrowing of integers that are known to fit; NULL rows may hold anything.
trait TryFromAny {
    fn narrow(value: i128) -> Self;
}
macro_rules! narrow {
    ($($t:ty),*) => { $( impl TryFromAny for $t { fn narrow(value: i128) -> Self { value as $t } } )* };
}
narrow!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

fn strings_to_arrow(strings: &StrColumn, vector: &Vector, logical: &DataType) -> Result<ArrayRef> {
    use arrow_array::builder::*;
    let rows = 0..vector.len();
    let text = |row: usize| std::str::from_utf8(strings.get(row)).map_err(|_| no_utf8());
    macro_rules! build {
        ($builder:expr, $value:expr) => {{
            let mut builder = $builder;
            for row in rows {
                if vector.is_valid(row) {
                    builder.append_value($value(row)?);
                } else {
                    builder.append_null();
                }
            }
            Arc::new(builder.finish())
        }};
    }
    let bytes = |row: usize| Ok::<_, Error>(strings.get(row));
    Ok(match logical {
        DataType::Utf8 => build!(StringBuilder::new(), text),
        DataType::LargeUtf8 => build!(LargeStringBuilder::new(), text),
        DataType::Utf8View => Arc::new(string_views(strings, vector)?),
        DataType::Binary => build!(BinaryBuilder::new(), bytes),
        DataType::LargeBinary => build!(LargeBinaryBuilder::new(), bytes),
        DataType::BinaryView => build!(BinaryViewBuilder::new(), bytes),
        DataType::FixedSizeBinary(width) => {
            let mut builder = FixedSizeBinaryBuilder::with_capacity(vector.len(), *width);
            for row in rows {
                if vector.is_valid(row) {
                    builder.append_value(strings.get(row)).map_err(|e| Error::internal(e.to_string()))?;
                } else {
                    builder.append_null();
                }
            }
            Arc::new(builder.finish())
        }
        other => return Err(Error::internal(format!("strings can't become {other}"))),
    })
}

/// Maximum size of a buffer of string views: offsets have 32 bits, and some programs treat the top one as a sign.
const VIEW_BUFFER_BYTES_MAX: usize = i32::MAX as usize;

/// Copies the long strings of a vector into new buffers, and returns views of them.
fn string_views(strings: &StrColumn, vector: &Vector) -> Result<StringViewArray> {
    let mut views: Vec<u128> = Vec::with_capacity(strings.len());
    let (mut buffers, mut buffer): (Vec<Vec<u8>>, Vec<u8>) = Default::default();
    // Whether all strings begin at a character boundary; whether their bytes are valid UTF-8 is checked for many
    // strings at once.
    let mut begin_well = true;
    for (row, view) in strings.views().iter().enumerate() {
        if !vector.is_valid(row) {
            views.push(0);
            continue;
        }
        let string = strings.get(row);
        if view.is_inline() {
            if !view.is_inline_ascii() {
                std::str::from_utf8(string).map_err(|_| no_utf8())?;
            }
            // Inline views have the same layout in both.
            views.push(view.bits());
            continue;
        }
        if buffer.len() + string.len() > VIEW_BUFFER_BYTES_MAX && !buffer.is_empty() {
            buffers.push(std::mem::take(&mut buffer));
        }
        const CONTINUATION: std::ops::Range<u8> = 0x80..0xc0;
        begin_well &= !CONTINUATION.contains(&string[0]);
        views.push(u128::from(view.head()) | (buffers.len() as u128) << 64 | (buffer.len() as u128) << 96);
        buffer.extend_from_slice(string);
    }
    buffers.push(buffer);
    if !begin_well || buffers.iter().any(|buffer| std::str::from_utf8(buffer).is_err()) {
        return Err(no_utf8());
    }
    let buffers: Vec<Buffer> = buffers.into_iter().filter(|buffer| !buffer.is_empty()).map(Buffer::from_vec).collect();
    // SAFETY: each view is inline, or has the length, the first four bytes and the offset of a string in its buffer.
    // Buffers are UTF-8 and their strings begin at a character boundary, so they end at one, too.
    Ok(unsafe { StringViewArray::new_unchecked(views.into(), buffers, nulls_of(vector)) })
}

fn no_utf8() -> Error {
    Error::corrupt("a text value is not valid UTF-8")
}

fn nulls_of(vector: &Vector) -> Option<NullBuffer> {
    vector.validity().map(|validity| null_buffer(validity))
}

/// Returns the null mask of Arrow for a validity.
pub(crate) fn null_buffer(validity: &Bitmap) -> NullBuffer {
    NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(validity.words().to_vec()), 0, validity.len()))
}

/// Access to dictionary codes.
impl Vector {
    /// Returns the codes and the dictionary, if this is a dictionary vector.
    pub fn as_dictionary(&self) -> Option<(&[u32], &Arc<Dictionary>)> {
        match self.data() {
            Data::Dictionary(codes, dictionary) => Some((codes, dictionary)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_views_that_are_sound() {
        let texts =
            ["", "short", "ü", "a text that isn't inline", "ein längerer Text", "twelve bytes", "thirteen byte"];
        let vector = |texts: &[&[u8]], validity| Vector::flat(Flat::Str(StrColumn::from_strings(texts)), validity);
        let bytes: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        let validity = Bitmap::from_fn(texts.len(), |row| row != 1 && row != 3);
        let array = to_arrow(&vector(&bytes, Some(validity)), &DataType::Utf8View).unwrap();
        array.to_data().validate_full().unwrap();
        let expected = texts.iter().enumerate().map(|(row, text)| (row != 1 && row != 3).then_some(*text));
        assert_eq!(array.as_string_view().iter().collect::<Vec<_>>(), expected.collect::<Vec<_>>());

        let halves: [&[u8]; 2] = [b"a text that ends with half of \xc3", b"\xbc, where the next one begins"];
        for wrong in [&[b"\xff".as_slice()][..], &[b"some longer text \xff".as_slice()], &halves] {
            assert!(to_arrow(&vector(wrong, None), &DataType::Utf8View).is_err());
            // Values of NULL rows are arbitrary.
            let nulls = Some(Bitmap::filled(wrong.len(), false));
            assert_eq!(to_arrow(&vector(wrong, nulls), &DataType::Utf8View).unwrap().null_count(), wrong.len());
        }
    }
}

//! Nested values as bytes that compare as the values do, to let rows hold lists, structs and maps as they hold text.
//!
//! ```text
//! item      0x01 value  |  0x02: NULL, after all values
//! integer   big-endian, sign inverted        float   its bits as an integer of the same order; −0 is 0, all NaN are one
//! text      its bytes, 0x00 as 0x00 0xFF, then 0x00 0x01
//! list      its items, then 0x00             a list sorts before those that it is a prefix of
//! struct    an item per field                map     the list of its entries
//! ```
//!
//! Equal values have equal bytes. Intervals compare by months, then days, then the rest.

mod lists;
mod words;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{IntervalDayTimeType, IntervalMonthDayNanoType};
use arrow_array::*;
use arrow_buffer::{BooleanBufferBuilder, Buffer, IntervalDayTime, IntervalMonthDayNano, NullBuffer, OffsetBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, IntervalUnit};
use godwit_common::{Error, Result};

pub use self::lists::Lists;
use self::words::{Word, Words, ordered};
use crate::kernels::string::build;
use crate::{Bitmap, Flat, StrBuilder, Vector, in_layout};

const END: u8 = 0x00;
const VALUE: u8 = 0x01;
const NULL: u8 = 0x02;
/// Follows a zero byte of a text; `TEXT_END` follows the one that ends it.
const ZERO: u8 = 0xFF;
const TEXT_END: u8 = 0x01;

/// Converts the values of a nested vector to strings.
pub fn nested_to_bytes(vector: &Vector) -> Result<Vector> {
    let Flat::Nested(array) = vector.to_flat() else {
        return Err(Error::internal("only nested values become bytes"));
    };
    let reader = Reader::new(&array)?;
    let strings = build(vector.len(), |row, bytes| {
        if vector.is_valid(row) {
            reader.content.put(row, bytes);
        }
    });
    Ok(Vector::flat(Flat::Str(strings), None).with_validity(vector.validity().cloned()))
}

/// Converts such strings back to nested values of type `logical`.
pub fn nested_from_bytes(vector: &Vector, logical: &DataType) -> Result<Vector> {
    let flat = vector.to_flat();
    let strings = flat.strings();
    let mut builder = Builder::new(logical)?;
    builder.reserve((0..vector.len()).map(|row| strings.get(row).len()).sum());
    for row in 0..vector.len() {
        let mut bytes = strings.get(row);
        match vector.is_valid(row) {
            true => builder.take(&mut bytes)?,
            false => builder.push_null(),
        }
    }
    Ok(Vector::flat(Flat::Nested(builder.finish()?), None).with_validity(vector.validity().cloned()))
}

/// The values of an array, or the items in it.
struct Reader<'a> {
    nulls: Option<NullBuffer>,
    content: Values<'a>,
}

enum Values<'a> {
    Null,
    Bool(&'a BooleanArray),
    /// Little-endian words with this many bytes each.
    Words(Vec<u8>, usize, Word),
    Intervals(&'a IntervalMonthDayNanoArray),
    DayTimes(&'a IntervalDayTimeArray),
    Texts(Box<dyn Fn(usize) -> &'a [u8] + 'a>),
    /// The bounds of each row's items.
    Lists(Vec<usize>, Box<Reader<'a>>),
    Struct(Vec<Reader<'a>>),
}

/// Size and kind of the words of a fixed-width type.
fn word_of(ty: &DataType) -> Option<(usize, Word)> {
    use DataType::*;
    let kind = match ty {
        UInt8 | UInt16 | UInt32 | UInt64 => Word::Unsigned,
        Float32 | Float64 => Word::Float,
        Int8
        | Int16
        | Int32
        | Int64
        | Date32
        | Date64
        | Time32(_)
        | Time64(_)
        | Timestamp(_, _)
        | Duration(_)
        | Decimal32(_, _)
        | Decimal64(_, _)
        | Decimal128(_, _)
        | Interval(IntervalUnit::YearMonth) => Word::Signed,
        _ => return None,
    };
    Some((ty.primitive_width()?, kind))
}

fn unsupported(ty: &DataType) -> Error {
    Error::unsupported(format!("values of type {ty} in a sort, join or aggregation"))
        .with_hint("select their fields, or cast them to text")
}

impl<'a> Reader<'a> {
    fn new(array: &'a ArrayRef) -> Result<Self> {
        use DataType::*;
        let rows = array.len();
        let content = match array.data_type() {
            ty if word_of(ty).is_some() => {
                let (width, kind) = word_of(ty).expect("just seen");
                let data = array.to_data();
                let begin = data.offset() * width;
                Values::Words(data.buffers()[0].as_slice()[begin..begin + rows * width].to_vec(), width, kind)
            }
            Null => Values::Null,
            Boolean => Values::Bool(array.as_boolean()),
            Interval(IntervalUnit::MonthDayNano) => Values::Intervals(array.as_primitive()),
            Interval(IntervalUnit::DayTime) => Values::DayTimes(array.as_primitive()),
            Utf8 => Values::texts(|row| array.as_string::<i32>().value(row).as_bytes()),
            LargeUtf8 => Values::texts(|row| array.as_string::<i64>().value(row).as_bytes()),
            Utf8View => Values::texts(|row| array.as_string_view().value(row).as_bytes()),
            Binary => Values::texts(|row| array.as_binary::<i32>().value(row)),
            LargeBinary => Values::texts(|row| array.as_binary::<i64>().value(row)),
            BinaryView => Values::texts(|row| array.as_binary_view().value(row)),
            FixedSizeBinary(_) => Values::texts(|row| array.as_fixed_size_binary().value(row)),
            List(_) => Values::lists(array.as_list::<i32>().value_offsets(), array.as_list::<i32>().values())?,
            LargeList(_) => Values::lists(array.as_list::<i64>().value_offsets(), array.as_list::<i64>().values())?,
            FixedSizeList(_, len) => {
                let list = array.as_fixed_size_list();
                // The items of a sliced array begin with its first row.
                let offsets: Vec<i32> = (0..=rows as i32).map(|row| row * len).collect();
                Values::lists(&offsets, list.values())?
            }
            Map(_, _) => {
                let map = array.as_map();
                let fields = map.entries().columns().iter().map(Reader::new).collect::<Result<_>>()?;
                let entries = Reader { nulls: None, content: Values::Struct(fields) };
                Values::Lists(map.value_offsets().iter().map(|&end| end as usize).collect(), Box::new(entries))
            }
            Struct(_) => Values::Struct(array.as_struct().columns().iter().map(Reader::new).collect::<Result<_>>()?),
            other => return Err(unsupported(other)),
        };
        Ok(Self { nulls: array.logical_nulls(), content })
    }

    /// Writes an item: a value or NULL.
    fn put(&self, row: usize, bytes: &mut Vec<u8>) {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return bytes.push(NULL);
        }
        bytes.push(VALUE);
        self.content.put(row, bytes);
    }
}

impl<'a> Values<'a> {
    fn texts(get: impl Fn(usize) -> &'a [u8] + 'a) -> Self {
        Values::Texts(Box::new(get))
    }

    fn lists<O: OffsetSizeTrait>(offsets: &[O], items: &'a ArrayRef) -> Result<Self> {
        let offsets = offsets.iter().map(|offset| offset.as_usize()).collect();
        Ok(Values::Lists(offsets, Box::new(Reader::new(items)?)))
    }

    fn put(&self, row: usize, bytes: &mut Vec<u8>) {
        match self {
            Values::Null => {}
            Values::Bool(values) => bytes.push(values.value(row) as u8),
            Values::Words(values, width, kind) => {
                let begin = bytes.len();
                bytes.extend(values[row * width..(row + 1) * width].iter().rev());
                ordered(&mut bytes[begin..], *kind);
            }
            Values::Intervals(values) => {
                let IntervalMonthDayNano { months, days, nanoseconds } = values.value(row);
                bytes.extend((months ^ i32::MIN).to_be_bytes());
                bytes.extend((days ^ i32::MIN).to_be_bytes());
                bytes.extend((nanoseconds ^ i64::MIN).to_be_bytes());
            }
            Values::DayTimes(values) => {
                let IntervalDayTime { days, milliseconds } = values.value(row);
                bytes.extend((days ^ i32::MIN).to_be_bytes());
                bytes.extend((milliseconds ^ i32::MIN).to_be_bytes());
            }
            Values::Texts(get) => {
                for (part, text) in get(row).split(|&byte| byte == 0).enumerate() {
                    if part > 0 {
                        bytes.extend([0, ZERO]);
                    }
                    bytes.extend_from_slice(text);
                }
                bytes.extend([0, TEXT_END]);
            }
            Values::Lists(offsets, items) => {
                (offsets[row]..offsets[row + 1]).for_each(|item| items.put(item, bytes));
                bytes.push(END);
            }
            Values::Struct(fields) => fields.iter().for_each(|field| field.put(row, bytes)),
        }
    }
}

/// Which items are not NULL.
#[derive(Default)]
struct Validity {
    items: usize,
    nulls: Vec<usize>,
}

impl Validity {
    #[inline]
    fn push(&mut self, is_valid: bool) {
        if !is_valid {
            self.nulls.push(self.items);
        }
        self.items += 1;
    }

    /// Adds this many items that are not NULL.
    #[inline]
    fn push_values(&mut self, items: usize) {
        self.items += items;
    }

    /// The null mask as a bitmap; `None` if there are no NULLs.
    fn bitmap(self) -> Option<Bitmap> {
        if self.nulls.is_empty() {
            return None;
        }
        let mut valid = Bitmap::filled(self.items, true);
        self.nulls.iter().for_each(|&item| valid.set(item, false));
        Some(valid)
    }

    /// The null mask for Arrow; `None` if there are no NULLs.
    fn finish(self) -> Option<NullBuffer> {
        if self.nulls.is_empty() {
            return None;
        }
        let mut valid = BooleanBufferBuilder::new(self.items);
        valid.append_n(self.items, true);
        self.nulls.iter().for_each(|&item| valid.set_bit(item, false));
        Some(NullBuffer::new(valid.finish()))
    }
}

/// An array under construction.
struct Builder<'t> {
    ty: &'t DataType,
    valid: Validity,
    content: Content<'t>,
}

enum Content<'t> {
    Null,
    Bool(Vec<bool>),
    Words(Words),
    Intervals(Vec<IntervalMonthDayNano>),
    DayTimes(Vec<IntervalDayTime>),
    Texts(StrBuilder),
    Lists(Vec<usize>, Box<Builder<'t>>),
    Struct(Vec<Builder<'t>>),
}

impl<'t> Builder<'t> {
    fn new(ty: &'t DataType) -> Result<Self> {
        use DataType::*;
        let content = match ty {
            ty if word_of(ty).is_some() => {
                let (width, kind) = word_of(ty).expect("just seen");
                Content::Words(Words::new(width, kind))
            }
            Null => Content::Null,
            Boolean => Content::Bool(Vec::new()),
            Interval(IntervalUnit::MonthDayNano) => Content::Intervals(Vec::new()),
            Interval(IntervalUnit::DayTime) => Content::DayTimes(Vec::new()),
            Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => {
                Content::Texts(StrBuilder::default())
            }
            List(item) | LargeList(item) | FixedSizeList(item, _) => {
                Content::Lists(Vec::new(), Box::new(Builder::new(item.data_type())?))
            }
            Map(entries, _) => Content::Lists(Vec::new(), Box::new(Builder::new(entries.data_type())?)),
            Struct(fields) => {
                Content::Struct(fields.iter().map(|field| Builder::new(field.data_type())).collect::<Result<_>>()?)
            }
            other => return Err(unsupported(other)),
        };
        Ok(Self { ty, valid: Validity::default(), content })
    }

    /// Makes room for the items of lists with this many bytes in total.
    fn reserve(&mut self, bytes: usize) {
        if let Content::Lists(_, items) = &mut self.content
            && let Content::Words(words) = &mut items.content
        {
            words.bytes.reserve(bytes);
        }
    }

    fn push_null(&mut self) {
        self.valid.push(false);
        match &mut self.content {
            Content::Null => {}
            Content::Bool(values) => values.push(false),
            Content::Words(words) => words.push_zero(),
            Content::Intervals(values) => values.push(IntervalMonthDayNano::ZERO),
            Content::DayTimes(values) => values.push(IntervalDayTime::ZERO),
            Content::Texts(texts) => {
                let len = if let DataType::FixedSizeBinary(len) = self.ty { *len as usize } else { 0 };
                texts.write(|bytes| bytes.resize(bytes.len() + len, 0));
            }
            Content::Lists(lens, items) => {
                let len = if let DataType::FixedSizeList(_, len) = self.ty { *len as usize } else { 0 };
                (0..len).for_each(|_| items.push_null());
                lens.push(len);
            }
            Content::Struct(fields) => fields.iter_mut().for_each(Builder::push_null),
        }
    }

    /// Takes an item from the front of `bytes`.
    fn take_item(&mut self, bytes: &mut &[u8]) -> Result<()> {
        match take(bytes, 1)?[0] {
            NULL => self.push_null(),
            _ => self.take(bytes)?,
        }
        Ok(())
    }

    /// Takes a value from the front of `bytes`.
    fn take(&mut self, bytes: &mut &[u8]) -> Result<()> {
        self.valid.push(true);
        match &mut self.content {
            Content::Null => {}
            Content::Bool(values) => values.push(take(bytes, 1)?[0] != 0),
            Content::Words(words) => words.take(bytes)?,
            Content::Intervals(values) => {
                let (months, days) = (take_i32(bytes)?, take_i32(bytes)?);
                let nanoseconds = i64::from_be_bytes(take(bytes, 8)?.try_into().expect("eight bytes")) ^ i64::MIN;
                values.push(IntervalMonthDayNano { months, days, nanoseconds });
            }
            Content::DayTimes(values) => {
                values.push(IntervalDayTime { days: take_i32(bytes)?, milliseconds: take_i32(bytes)? });
            }
            Content::Texts(texts) => return texts.write(|text| take_text(bytes, text)),
            Content::Lists(lens, items) => {
                if let Content::Words(words) = &mut items.content {
                    lens.push(words.take_list(&mut items.valid, bytes)?);
                    return Ok(());
                }
                let mut len = 0;
                while *bytes.first().ok_or_else(malformed)? != END {
                    items.take_item(bytes)?;
                    len += 1;
                }
                take(bytes, 1)?;
                lens.push(len);
            }
            Content::Struct(fields) => return fields.iter_mut().try_for_each(|field| field.take_item(bytes)),
        }
        Ok(())
    }

    fn finish(self) -> Result<ArrayRef> {
        let Self { ty, valid, content } = self;
        let rows = valid.items;
        let nulls = valid.finish();
        let array: ArrayRef = match content {
            Content::Null => Arc::new(NullArray::new(rows)),
            Content::Bool(values) => Arc::new(BooleanArray::new(values.into(), nulls)),
            Content::Words(Words { bytes, .. }) => {
                let data = ArrayData::builder(ty.clone()).len(rows).add_buffer(Buffer::from_vec(bytes)).nulls(nulls);
                make_array(data.align_buffers(true).build().map_err(internal)?)
            }
            Content::Intervals(values) => {
                Arc::new(PrimitiveArray::<IntervalMonthDayNanoType>::new(values.into(), nulls))
            }
            Content::DayTimes(values) => Arc::new(PrimitiveArray::<IntervalDayTimeType>::new(values.into(), nulls)),
            Content::Texts(texts) => texts_of(&texts, nulls, ty)?,
            Content::Lists(lens, items) => lists_of(lens, items.finish()?, nulls, ty)?,
            Content::Struct(builders) => {
                let DataType::Struct(fields) = ty else { return Err(unsupported(ty)) };
                let columns = builders.into_iter().map(Builder::finish).collect::<Result<_>>()?;
                let array = StructArray::try_new_with_length(fields.clone(), columns, nulls, rows);
                Arc::new(array.map_err(internal)?)
            }
        };
        Ok(array)
    }
}

fn texts_of(texts: &StrBuilder, nulls: Option<NullBuffer>, ty: &DataType) -> Result<ArrayRef> {
    let is_valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    let values = (0..texts.len()).map(|row| is_valid(row).then_some(texts.get(row)));
    if let DataType::FixedSizeBinary(width) = ty {
        let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, *width);
        return Ok(Arc::new(array.map_err(internal)?));
    }
    let binary: ArrayRef = match ty {
        DataType::Utf8 | DataType::Binary => Arc::new(BinaryArray::from_iter(values)),
        DataType::LargeUtf8 | DataType::LargeBinary => Arc::new(LargeBinaryArray::from_iter(values)),
        _ => Arc::new(BinaryViewArray::from_iter(values)),
    };
    in_layout(&binary, ty)
}

fn lists_of(lens: Vec<usize>, items: ArrayRef, nulls: Option<NullBuffer>, ty: &DataType) -> Result<ArrayRef> {
    fn offsets<O: OffsetSizeTrait>(lens: Vec<usize>, items: usize) -> Result<OffsetBuffer<O>> {
        match O::from_usize(items) {
            Some(_) => Ok(OffsetBuffer::from_lengths(lens)),
            None => Err(Error::unsupported(format!("lists with {items} values in one chunk"))),
        }
    }
    let len = items.len();
    Ok(match ty {
        DataType::List(item) => {
            Arc::new(ListArray::try_new(item.clone(), offsets(lens, len)?, items, nulls).map_err(internal)?)
        }
        DataType::LargeList(item) => {
            Arc::new(LargeListArray::try_new(item.clone(), offsets(lens, len)?, items, nulls).map_err(internal)?)
        }
        DataType::FixedSizeList(_, width) if lens.iter().any(|&len| len != *width as usize) => return Err(malformed()),
        DataType::FixedSizeList(item, width) => Arc::new(
            FixedSizeListArray::try_new_with_length(item.clone(), *width, items, nulls, lens.len())
                .map_err(internal)?,
        ),
        DataType::Map(entries, is_sorted) => {
            let structs = items.as_struct().clone();
            let map = MapArray::try_new(entries.clone(), offsets(lens, len)?, structs, nulls, *is_sorted);
            Arc::new(map.map_err(internal)?)
        }
        other => return Err(unsupported(other)),
    })
}

/// Appends the text at the front of `bytes` to `texts`.
fn take_text(bytes: &mut &[u8], texts: &mut Vec<u8>) -> Result<()> {
    loop {
        let len = bytes.iter().position(|&byte| byte == 0).ok_or_else(malformed)?;
        texts.extend_from_slice(take(bytes, len)?);
        if take(bytes, 2)?[1] == TEXT_END {
            return Ok(());
        }
        texts.push(0);
    }
}

fn take<'b>(bytes: &mut &'b [u8], len: usize) -> Result<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(len).ok_or_else(malformed)?;
    *bytes = rest;
    Ok(taken)
}

fn take_i32(bytes: &mut &[u8]) -> Result<i32> {
    Ok(i32::from_be_bytes(take(bytes, 4)?.try_into().expect("four bytes")) ^ i32::MIN)
}

fn malformed() -> Error {
    Error::internal("the bytes of a nested value are not those of its type")
}

fn internal(error: ArrowError) -> Error {
    Error::internal(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use arrow_array::builder::*;
    use arrow_array::types::Int32Type;
    use arrow_schema::{Field, Fields};
    use proptest::prelude::*;

    use super::*;
    use crate::StrColumn;

    /// A list of structs (number, text), any of it NULL.
    type Model = Option<Vec<Option<(Option<i32>, Option<String>)>>>;

    fn model() -> impl Strategy<Value = Model> {
        let text = prop::sample::select(vec!["", "\0", "\0\0a", "a", "a\0", "ab", "b\u{1}"]);
        let item = (prop::option::of(-3..3i32), prop::option::of(text.prop_map(str::to_owned)));
        prop::option::of(prop::collection::vec(prop::option::of(item), 0..4))
    }

    fn item_type() -> DataType {
        DataType::Struct(Fields::from(vec![
            Field::new("number", DataType::Int32, true),
            Field::new("text", DataType::Utf8View, true),
        ]))
    }

    fn array_of(rows: &[Model]) -> ArrayRef {
        let fields: Vec<Box<dyn ArrayBuilder>> =
            vec![Box::new(PrimitiveBuilder::<Int32Type>::new()), Box::new(StringViewBuilder::new())];
        let DataType::Struct(types) = item_type() else { unreachable!() };
        let mut builder = ListBuilder::new(StructBuilder::new(types, fields));
        for row in rows {
            for item in row.iter().flatten() {
                let (number, text) = item.clone().unwrap_or_default();
                let fields = builder.values();
                fields.field_builder::<PrimitiveBuilder<Int32Type>>(0).unwrap().append_option(number);
                fields.field_builder::<StringViewBuilder>(1).unwrap().append_option(text);
                fields.append(item.is_some());
            }
            builder.append(row.is_some());
        }
        Arc::new(builder.finish())
    }

    /// The order that the bytes are meant to have: NULLs after values, a list before those that it is a prefix of.
    fn compare(a: &Model, b: &Model) -> Ordering {
        fn nulls_last<T>(a: &Option<T>, b: &Option<T>, values: impl Fn(&T, &T) -> Ordering) -> Ordering {
            match (a, b) {
                (Some(a), Some(b)) => values(a, b),
                (a, b) => a.is_none().cmp(&b.is_none()),
            }
        }
        let items = |a: &Option<(Option<i32>, Option<String>)>, b: &_| {
            nulls_last(a, b, |a, b| nulls_last(&a.0, &b.0, i32::cmp).then(nulls_last(&a.1, &b.1, String::cmp)))
        };
        nulls_last(a, b, |a, b| {
            let different = a.iter().zip(b).map(|(a, b)| items(a, b)).find(|order| order.is_ne());
            different.unwrap_or(a.len().cmp(&b.len()))
        })
    }

    proptest! {
        #[test]
        fn values_come_back_and_keep_their_order(rows in prop::collection::vec(model(), 1..20), skip in 0..3usize) {
            let skip = skip.min(rows.len() - 1);
            let (array, rows) = (array_of(&rows).slice(skip, rows.len() - skip), &rows[skip..]);
            let vector = crate::from_arrow(&array).unwrap();
            let bytes = nested_to_bytes(&vector).unwrap();
            let back = nested_from_bytes(&bytes, array.data_type()).unwrap();
            prop_assert_eq!(&crate::to_arrow(&back, array.data_type()).unwrap(), &array);
            let flat = bytes.to_flat();
            for (a, left) in rows.iter().enumerate().filter(|(_, row)| row.is_some()) {
                for (b, right) in rows.iter().enumerate().filter(|(_, row)| row.is_some()) {
                    prop_assert_eq!(flat.strings().get(a).cmp(flat.strings().get(b)), compare(left, right));
                }
            }
        }

        #[test]
        fn floats_keep_their_order(values in prop::collection::vec(any::<f64>(), 1..20)) {
            let mut lists = ListBuilder::new(Float64Builder::new());
            values.iter().for_each(|&value| lists.append_value([Some(value)]));
            let array: ArrayRef = Arc::new(lists.finish());
            let bytes = nested_to_bytes(&crate::from_arrow(&array).unwrap()).unwrap().to_flat();
            for (a, left) in values.iter().enumerate() {
                for (b, right) in values.iter().enumerate() {
                    let expected = left.partial_cmp(right).unwrap_or(left.is_nan().cmp(&right.is_nan()));
                    prop_assert_eq!(bytes.strings().get(a).cmp(bytes.strings().get(b)), expected);
                }
            }
        }
    }

    #[test]
    fn all_types_come_back() {
        let fields: Vec<(&str, ArrayRef)> = vec![
            ("i8", Arc::new(Int8Array::from(vec![Some(-7), None]))),
            ("u64", Arc::new(UInt64Array::from(vec![Some(u64::MAX), None]))),
            ("f32", Arc::new(Float32Array::from(vec![Some(-1.5), None]))),
            ("decimal", Arc::new(Decimal128Array::from(vec![Some(-123), None]))),
            ("date", Arc::new(Date32Array::from(vec![Some(-1), None]))),
            ("moment", Arc::new(TimestampMicrosecondArray::from(vec![Some(5), None]).with_timezone("UTC"))),
            ("flag", Arc::new(BooleanArray::from(vec![Some(true), None]))),
            ("text", Arc::new(LargeStringArray::from(vec![Some("ä\0"), None]))),
            ("bytes", Arc::new(BinaryArray::from(vec![Some(&[0u8, 255][..]), None]))),
            ("nothing", Arc::new(NullArray::new(2))),
            (
                "interval",
                Arc::new(IntervalMonthDayNanoArray::from(vec![Some(IntervalMonthDayNano::new(-1, 2, -3)), None])),
            ),
        ];
        let fields: Vec<_> = fields
            .into_iter()
            .map(|(name, array)| (Arc::new(Field::new(name, array.data_type().clone(), true)), array))
            .collect();
        let array: ArrayRef = Arc::new(StructArray::from(fields));
        let bytes = nested_to_bytes(&crate::from_arrow(&array).unwrap()).unwrap();
        let back = nested_from_bytes(&bytes, array.data_type()).unwrap();
        assert_eq!(crate::to_arrow(&back, array.data_type()).unwrap().as_ref(), array.as_ref());
        let cut = Vector::flat(Flat::Str(StrColumn::from_strings([&bytes.to_flat().strings().get(0)[..5]])), None);
        assert!(nested_from_bytes(&cut, array.data_type()).is_err());
    }
}

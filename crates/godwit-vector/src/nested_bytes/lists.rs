//! Lists of fixed-width items as two columns, lengths and items: the same content as their ordered bytes, in a form that
//! can be stored and read without a look at each item.

use arrow_array::UInt32Array;
use arrow_select::take::take;

use super::words::{Word, Words};
use super::*;
use crate::arrow::null_buffer;
use crate::{Bitmap, Native, PhysicalType, StrColumn, match_flat, match_physical};

/// Lists: the number of items of each, and the items of all of them.
pub struct Lists {
    /// Items of each list; 0 for NULL rows.
    pub lengths: Vec<u32>,
    /// The items, as a flat vector.
    pub items: Vector,
    /// Which lists are not NULL; `None` if all are.
    pub validity: Option<Bitmap>,
}

impl Lists {
    /// Returns the physical type of the items of a list type; `None` for other types, and if items have no fixed width.
    pub fn item_type(list: &DataType) -> Option<PhysicalType> {
        use PhysicalType as P;
        let (DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _)) = list else {
            return None;
        };
        match word_of(item.data_type())? {
            (1, Word::Signed) => Some(P::I8),
            (2, Word::Signed) => Some(P::I16),
            (4, Word::Signed) => Some(P::I32),
            (8, Word::Signed) => Some(P::I64),
            (16, Word::Signed) => Some(P::I128),
            (1, Word::Unsigned) => Some(P::U8),
            (2, Word::Unsigned) => Some(P::U16),
            (4, Word::Unsigned) => Some(P::U32),
            (8, Word::Unsigned) => Some(P::U64),
            (4, Word::Float) => Some(P::F32),
            (8, Word::Float) => Some(P::F64),
            _ => None,
        }
    }

    /// Takes lists with items of type `item` from their ordered bytes; `None` stands for a NULL row. Returns `None` if
    /// some bytes aren't those of such a list, or if there are more than `items_max` items and those of one list.
    pub fn from_bytes<'a>(
        rows: impl Iterator<Item = Option<&'a [u8]>>,
        item: PhysicalType,
        items_max: usize,
    ) -> Option<Self> {
        let mut words = Words::new(item.width_bytes(), kind_of(item)?);
        let mut items = Validity::default();
        let (mut lengths, mut valid) = (Vec::new(), Validity::default());
        for row in rows {
            valid.push(row.is_some());
            let length = match row {
                None => 0,
                Some(mut bytes) => {
                    let length = words.take_list(&mut items, &mut bytes).ok()?;
                    if !bytes.is_empty() || items.items > items_max {
                        return None;
                    }
                    u32::try_from(length).ok()?
                }
            };
            lengths.push(length);
        }
        let flat = match_physical!(item, T => {
            let (words, _) = words.bytes.as_chunks();
            T::into_flat(words.iter().map(|&word| T::from_le_bytes(word)).collect::<Vec<T>>().into())
        });
        Some(Self { lengths, items: Vector::flat(flat, items.bitmap()), validity: valid.bitmap() })
    }

    /// Returns the lists as ordered bytes.
    pub fn to_bytes(&self) -> StrColumn {
        let flat = self.items.to_flat();
        let item = flat.physical();
        let mut words = Vec::with_capacity(flat.len() * item.width_bytes());
        match_flat!(
            &flat,
            values => values.iter().for_each(|value| words.extend(value.to_le_bytes())),
            _s => unreachable!("items have a fixed width"),
            _a => unreachable!("items have a fixed width")
        );
        let kind = kind_of(item).expect("items are numbers");
        let reader = Reader {
            nulls: self.items.validity().map(|validity| null_buffer(validity)),
            content: Values::Words(words, item.width_bytes(), kind),
        };
        let ends = self.lengths.iter().scan(0, |end, &length| {
            *end += length as usize;
            Some(*end)
        });
        let lists = Values::Lists(std::iter::once(0).chain(ends).collect(), Box::new(reader));
        build(self.lengths.len(), |row, bytes| lists.put(row, bytes))
    }

    /// Returns the lists as values of type `logical`, whose [`item_type`](Self::item_type) is that of the items. The
    /// items aren't copied, unless lists of a fixed size are NULL.
    pub fn to_nested(self, logical: &DataType) -> Result<Vector> {
        let Self { lengths, items, validity } = self;
        let mut lengths: Vec<usize> = lengths.into_iter().map(|length| length as usize).collect();
        let (DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _)) = logical else {
            return Err(unsupported(logical));
        };
        let flat = items.to_flat();
        let buffer = match_flat!(
            &flat,
            values => values.inner().clone(),
            _s => return Err(unsupported(logical)),
            _a => return Err(unsupported(logical))
        );
        let data = ArrayData::builder(item.data_type().clone()).len(flat.len()).add_buffer(buffer);
        let data = data.nulls(items.validity().map(|validity| null_buffer(validity)));
        let mut array = make_array(data.build().map_err(internal)?);
        if let (DataType::FixedSizeList(_, size), Some(validity)) = (logical, &validity) {
            array = padded(&array, &mut lengths, validity, *size as usize)?;
        }
        let lists = lists_of(lengths, array, validity.as_ref().map(null_buffer), logical)?;
        Ok(Vector::flat(Flat::Nested(lists), validity))
    }
}

/// Gives each row that is NULL `size` NULL items: in lists of a fixed size it has items, too.
fn padded(items: &ArrayRef, lengths: &mut [usize], validity: &Bitmap, size: usize) -> Result<ArrayRef> {
    let mut end = 0;
    let mut rows: Vec<Option<u32>> = Vec::with_capacity(items.len());
    for (row, length) in lengths.iter_mut().enumerate() {
        rows.extend((end..end + *length).map(|item| Some(item as u32)));
        end += *length;
        if !validity.get(row) {
            rows.extend((*length..size).map(|_| None));
            *length = size.max(*length);
        }
    }
    take(items, &UInt32Array::from(rows), None).map_err(internal)
}

fn kind_of(item: PhysicalType) -> Option<Word> {
    use PhysicalType::*;
    match item {
        I8 | I16 | I32 | I64 | I128 => Some(Word::Signed),
        U8 | U16 | U32 | U64 => Some(Word::Unsigned),
        F32 | F64 => Some(Word::Float),
        Bool | Str | Nested => None,
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::*;
    use arrow_schema::Field;
    use proptest::prelude::*;

    use super::*;

    fn lists_and_back(array: &ArrayRef) {
        let vector = crate::from_arrow(array).unwrap();
        let bytes = nested_to_bytes(&vector).unwrap();
        let flat = bytes.to_flat();
        let strings = flat.strings();
        let item = Lists::item_type(array.data_type()).unwrap();
        let rows = (0..bytes.len()).map(|row| bytes.is_valid(row).then(|| strings.get(row)));
        let lists = Lists::from_bytes(rows, item, usize::MAX).unwrap();
        let again = lists.to_bytes();
        for row in (0..bytes.len()).filter(|&row| bytes.is_valid(row)) {
            assert_eq!(again.get(row), strings.get(row));
        }
        let nested = lists.to_nested(array.data_type()).unwrap();
        assert_eq!(&crate::to_arrow(&nested, array.data_type()).unwrap(), array);
    }

    proptest! {
        #[test]
        fn lists_come_back(
            rows in prop::collection::vec(prop::option::of(prop::collection::vec(prop::option::of(any::<i64>()), 0..5)), 0..20),
            floats in prop::collection::vec(prop::option::of(prop::array::uniform2(prop::option::of(-3f32..3.0))), 1..20),
        ) {
            let mut of_numbers = ListBuilder::new(Int64Builder::new());
            let mut of_bytes = LargeListBuilder::new(UInt8Builder::new());
            for row in &rows {
                of_numbers.append_option(row.clone());
                of_bytes.append_option(row.clone().map(|row| row.into_iter().map(|item| item.map(|item| item as u8))));
            }
            let mut of_pairs = FixedSizeListBuilder::new(Float32Builder::new(), 2);
            for row in &floats {
                row.unwrap_or_default().into_iter().for_each(|item| of_pairs.values().append_option(item));
                of_pairs.append(row.is_some());
            }
            let arrays: [ArrayRef; 3] =
                [Arc::new(of_numbers.finish()), Arc::new(of_bytes.finish()), Arc::new(of_pairs.finish())];
            arrays.iter().for_each(lists_and_back);
        }
    }

    #[test]
    fn lists_of_a_fixed_size_have_it() {
        let pairs = DataType::FixedSizeList(Arc::new(Field::new("item", DataType::Int32, true)), 2);
        let nested = |lengths: &[u32], validity: Option<Bitmap>| {
            let items = (0..lengths.iter().sum::<u32>() as i32).collect();
            Lists { lengths: lengths.to_vec(), items: Vector::from_values(items, None), validity }.to_nested(&pairs)
        };
        assert_eq!(nested(&[2, 2], None).unwrap().len(), 2);
        assert_eq!(nested(&[2, 0], Some(Bitmap::from_fn(2, |row| row == 0))).unwrap().len(), 2);
        assert!(nested(&[2, 4], None).is_err());
        assert!(nested(&[1, 3], None).is_err());
        assert!(nested(&[2, 4], Some(Bitmap::from_fn(2, |row| row == 0))).is_err());
        assert!(nested(&[0, 1, 0], Some(Bitmap::from_fn(3, |row| row == 1))).is_err());
    }

    #[test]
    fn other_bytes_are_refused() {
        let of = |bytes: &[u8]| {
            Lists::from_bytes([Some(bytes)].into_iter(), PhysicalType::I16, 1).map(|lists| lists.lengths)
        };
        assert_eq!(of(&[1, 0x80, 5, 0]), Some(vec![1]));
        assert_eq!(of(&[0]), Some(vec![0]));
        assert_eq!(of(&[]), None, "no end");
        assert_eq!(of(&[1, 0x80, 5]), None, "no end");
        assert_eq!(of(&[3, 0x80, 5, 0]), None, "no marker");
        assert_eq!(of(&[1, 0x80, 5, 0, 0]), None, "more than a list");
        assert_eq!(of(&[1, 0x80, 5, 1, 0x80, 6, 0]), None, "more items than wanted");
        let texts = DataType::List(Arc::new(Field::new("item", DataType::Utf8, true)));
        assert_eq!(Lists::item_type(&texts), None);
    }
}

//! Lists and other nested values, as functions read them.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_schema::DataType;
use godwit_common::{Error, Result};
use godwit_types::SqlType;
use godwit_vector::sql::arrow_type;
use godwit_vector::{Bitmap, Data, Flat, Vector, from_arrow, in_layout, to_arrow};

use crate::rows::strided;

/// Values of an argument as an Arrow array: one for each row, or one for all.
pub(crate) struct Items {
    pub(crate) array: ArrayRef,
    stride: usize,
    validity: Option<Arc<Bitmap>>,
}

impl Items {
    pub(crate) fn of(vector: &Vector, ty: &SqlType) -> Result<Self> {
        let expected = arrow_type(ty)?;
        let (flat, stride) = strided(vector);
        let array = match flat {
            Flat::Nested(array) => array,
            flat => to_arrow(&Vector::flat(flat, None), &expected)?,
        };
        Ok(Self { array: in_layout(&array, &expected)?, stride, validity: vector.validity().cloned() })
    }

    /// Returns the index of a row's value in the array; `None` for NULL.
    #[inline]
    pub(crate) fn place(&self, row: usize) -> Option<usize> {
        let is_valid = self.validity.as_ref().is_none_or(|validity| validity.get(row));
        is_valid.then_some(row * self.stride)
    }

    /// Returns the values of all rows, with NULLs where the argument has them.
    pub(crate) fn in_rows(&self, rows: usize) -> Result<ArrayRef> {
        if self.stride == 1 && self.validity.is_none() {
            return Ok(Arc::clone(&self.array));
        }
        let places: UInt32Array = (0..rows).map(|row| self.place(row).map(|place| place as u32)).collect();
        taken(&self.array, &places)
    }
}

pub(crate) fn taken(array: &ArrayRef, places: &UInt32Array) -> Result<ArrayRef> {
    arrow_select::take::take(array, places, None).map_err(|error| Error::internal(error.to_string()))
}

/// Lists, arrays, or the entries of maps: the range of each row's elements among those of all rows.
pub(crate) struct Lists {
    offsets: Vec<usize>,
    stride: usize,
    validity: Option<Arc<Bitmap>>,
    /// The elements of all rows; the entries of maps are structs.
    pub(crate) elements: ArrayRef,
}

impl Lists {
    pub(crate) fn of(vector: &Vector, ty: &SqlType) -> Result<Self> {
        let stride = usize::from(!matches!(vector.data(), Data::Constant(_)));
        let items = Items::of(vector, ty)?;
        Ok(Self { stride, validity: items.validity, ..Self::of_array(&items.array) })
    }

    /// Reads the lists in an array.
    pub(crate) fn of_array(array: &ArrayRef) -> Self {
        let (offsets, elements) = match array.data_type() {
            DataType::FixedSizeList(_, length) => {
                let length = usize::try_from(*length).expect("lengths aren't negative");
                let offsets = (0..=array.len()).map(|row| row * length).collect();
                (offsets, Arc::clone(array.as_fixed_size_list().values()))
            }
            DataType::Map(..) => {
                let maps = array.as_map();
                from_zero(maps.value_offsets(), &(Arc::new(maps.entries().clone()) as ArrayRef))
            }
            _ => {
                let lists = array.as_list::<i32>();
                from_zero(lists.value_offsets(), lists.values())
            }
        };
        let validity = array.nulls().map(|nulls| Arc::new(Bitmap::from_fn(array.len(), |row| nulls.is_valid(row))));
        Self { offsets, stride: 1, validity, elements }
    }

    #[inline]
    pub(crate) fn is_valid(&self, row: usize) -> bool {
        self.validity.as_ref().is_none_or(|validity| validity.get(row))
    }

    /// Returns the range of a row's elements; an arbitrary one for NULL.
    #[inline]
    pub(crate) fn range(&self, row: usize) -> Range<usize> {
        let row = row * self.stride;
        self.offsets[row]..self.offsets[row + 1]
    }

    /// Returns the range of a row's elements; an empty one for NULL.
    #[inline]
    pub(crate) fn range_or_none(&self, row: usize) -> Range<usize> {
        if self.is_valid(row) { self.range(row) } else { 0..0 }
    }

    #[inline]
    pub(crate) fn length(&self, row: usize) -> usize {
        self.range(row).len()
    }

    /// Returns the elements of all rows as a flat vector.
    pub(crate) fn vector(&self) -> Result<Vector> {
        from_arrow(&self.elements)
    }

    /// Returns the elements, which are themselves lists.
    pub(crate) fn nested(&self) -> Lists {
        Self::of_array(&self.elements)
    }

    /// Returns the keys of all rows' maps, and their values.
    pub(crate) fn keys_and_values(&self) -> (&ArrayRef, &ArrayRef) {
        let entries = self.elements.as_struct();
        (entries.column(0), entries.column(1))
    }
}

/// Returns the elements that offsets refer to, with offsets from zero: an array may be a slice of a larger one.
fn from_zero(offsets: &[i32], elements: &ArrayRef) -> (Vec<usize>, ArrayRef) {
    let first = offsets[0];
    let offsets: Vec<usize> = offsets.iter().map(|offset| (offset - first) as usize).collect();
    let reached = offsets.last().copied().unwrap_or(0);
    (offsets, elements.slice(first as usize, reached))
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::{ListBuilder, StringBuilder};
    use godwit_plan::ArgumentType;
    use godwit_types::{Value, format_value, parse_value};
    use godwit_vector::Dictionary;
    use godwit_vector::sql::{Reader, vector_of_values};

    use super::*;
    use crate::kernel::Bounded;

    /// Returns the results of a call for all rows, as text.
    fn shown(name: &str, arguments: &[(&Vector, &SqlType)]) -> String {
        let types: Vec<ArgumentType<'_>> = arguments
            .iter()
            .map(|(_, ty)| ArgumentType { ty, value: None, nullable: true, lambda_parameters: None })
            .collect();
        let (_, form) = crate::choose(name, &types).unwrap();
        let vectors: Vec<Vector> = arguments.iter().map(|(vector, _)| (*vector).clone()).collect();
        let rows = vectors[0].len();
        let result = form.kernel.evaluate(&vectors, rows, &Bounded::new(1 << 20)).unwrap();
        let reader = Reader::new(&result, &form.result).unwrap();
        let texts = (0..rows).map(|row| format_value(&reader.value(row).unwrap(), &form.result));
        texts.collect::<Vec<_>>().join(" ")
    }

    fn vector(texts: &[&str], ty: &SqlType) -> Vector {
        let value = |text: &&str| if *text == "NULL" { Value::Null } else { parse_value(text, ty).unwrap() };
        vector_of_values(&texts.iter().map(value).collect::<Vec<_>>(), ty).unwrap()
    }

    #[test]
    fn parts_of_vectors_are_read() {
        let (list, array) = (SqlType::list_of(SqlType::Integer), SqlType::Array(SqlType::Integer.into(), 2));
        let lists = vector(&["[1]", "[2, 3]", "NULL", "[]", "[4, NULL]", "[5]"], &list).slice(1, 4);
        let arrays = vector(&["[1, 2]", "NULL", "[3, NULL]", "[4, 5]", "[6, 7]"], &array).slice(1, 4);
        let numbers = vector(&["0", "3", "NULL", "9", "4"], &SqlType::Integer).slice(1, 4);
        let seven = Vector::constant(vector(&["7"], &SqlType::Integer).to_flat(), 4);
        let (integer, bigint) = (&SqlType::Integer, &SqlType::BigInt);
        assert_eq!(shown("list_append", &[(&lists, &list), (&numbers, integer)]), "[2, 3, 3] [NULL] [9] [4, NULL, 4]");
        assert_eq!(
            shown("list_append", &[(&arrays, &array), (&seven, integer)]),
            "[7] [3, NULL, 7] [4, 5, 7] [6, 7, 7]"
        );
        assert_eq!(shown("list_contains", &[(&lists, &list), (&numbers, integer)]), "true NULL false true");
        assert_eq!(shown("list_max", &[(&arrays, &array)]), "NULL 3 5 7");
        assert_eq!(
            shown("list_concat", &[(&lists, &list), (&lists, &list)]),
            "[2, 3, 2, 3] NULL [] [4, NULL, 4, NULL]"
        );
        let second = Vector::constant(vector(&["2"], &SqlType::BigInt).to_flat(), 4);
        assert_eq!(shown("list_extract", &[(&lists, &list), (&second, bigint)]), "3 NULL NULL NULL");
    }

    #[test]
    fn constants_and_dictionaries_are_read() {
        let list = SqlType::list_of(SqlType::Varchar);
        let values = vector(&["[a, b]", "[]", "[ein längerer Text]"], &list).to_flat();
        let dictionary = Arc::new(Dictionary::new(values.clone(), false));
        let coded = Vector::dictionary(vec![2, 0, 0, 1].into(), dictionary, Some(Bitmap::from_fn(4, |row| row != 1)));
        let same = Vector::constant(values.slice(0, 1), 4);
        let texts = vector(&["b", "x", "NULL", "a"], &SqlType::Varchar);
        assert_eq!(shown("list_reverse", &[(&coded, &list)]), "[ein längerer Text] NULL [b, a] []");
        assert_eq!(shown("list_position", &[(&same, &list), (&texts, &SqlType::Varchar)]), "2 NULL NULL 1");
        assert_eq!(
            shown("list_union", &[(&coded, &list), (&same, &list)]),
            "[ein längerer Text, a, b] NULL [a, b] [a, b]"
        );
    }

    #[test]
    fn layouts_of_files_are_read() {
        let mut builder = ListBuilder::new(StringBuilder::new());
        builder.append_value([Some("a"), None]);
        builder.append_null();
        builder.append_value([Some("b")]);
        let vector = from_arrow(&(Arc::new(builder.finish()) as ArrayRef)).unwrap();
        let list = SqlType::list_of(SqlType::Varchar);
        assert_eq!(shown("list_sort", &[(&vector, &list)]), "[a, NULL] NULL [b]");
        assert_eq!(shown("list_compact", &[(&vector, &list)]), "[a] NULL [b]");
    }
}

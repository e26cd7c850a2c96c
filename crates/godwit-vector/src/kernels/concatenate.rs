//! Concatenation of vectors.

use arrow_array::Array;

use crate::{Bitmap, Flat, Native, PhysicalType, StrColumn, Vector};

/// Concatenates the rows of all vectors, which have one physical type, into a flat vector.
pub fn concatenated(vectors: &[Vector]) -> Vector {
    assert!(!vectors.is_empty(), "no vectors have no type");
    let flats: Vec<Flat> = vectors.iter().map(Vector::to_flat).collect();
    let flat = concatenated_values(&flats, vectors[0].physical());
    Vector::flat(flat, concatenated_validity(vectors))
}

/// Concatenates the validity of all vectors; `None` if no row is NULL.
pub fn concatenated_validity(vectors: &[Vector]) -> Option<Bitmap> {
    let mut rows = vectors.iter().flat_map(|vector| (0..vector.len()).map(|row| vector.is_valid(row)));
    let len = vectors.iter().map(Vector::len).sum();
    let has_nulls = vectors.iter().any(Vector::has_nulls);
    has_nulls.then(|| Bitmap::from_fn(len, |_| rows.next().unwrap_or(false)))
}

/// Concatenates the values of all columns, which have this physical type. Strings and nested values are copied.
pub fn concatenated_values(pieces: &[Flat], physical: PhysicalType) -> Flat {
    fn of<T: Native>(pieces: &[Flat], rows: usize) -> Flat {
        let mut values: Vec<T> = Vec::with_capacity(rows);
        pieces.iter().for_each(|piece| values.extend_from_slice(piece.values()));
        T::into_flat(values.into())
    }
    use PhysicalType as P;
    let rows = pieces.iter().map(Flat::len).sum();
    match physical {
        P::Bool => {
            let mut values: Vec<u8> = Vec::with_capacity(rows);
            pieces.iter().for_each(|piece| values.extend_from_slice(piece.bools()));
            Flat::Bool(values.into())
        }
        P::I8 => of::<i8>(pieces, rows),
        P::I16 => of::<i16>(pieces, rows),
        P::I32 => of::<i32>(pieces, rows),
        P::I64 => of::<i64>(pieces, rows),
        P::I128 => of::<i128>(pieces, rows),
        P::U8 => of::<u8>(pieces, rows),
        P::U16 => of::<u16>(pieces, rows),
        P::U32 => of::<u32>(pieces, rows),
        P::U64 => of::<u64>(pieces, rows),
        P::F32 => of::<f32>(pieces, rows),
        P::F64 => of::<f64>(pieces, rows),
        P::Str => Flat::Str(StrColumn::from_strings(pieces.iter().flat_map(|piece| piece.strings().iter()))),
        P::Nested => {
            let arrays: Vec<&dyn Array> = pieces.iter().map(|piece| &**piece.nested()).collect();
            Flat::Nested(arrow_select::concat::concat(&arrays).expect("pieces have one type, and fit into an array"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::ListArray;
    use arrow_array::types::Int32Type;

    use super::*;

    #[test]
    fn rows_follow_each_other() {
        let numbers = |values: Vec<i32>, valid: bool| {
            let rows = values.len();
            Vector::from_values(values, Some(Bitmap::filled(rows, valid)))
        };
        let all = concatenated(&[numbers(vec![1, 2], true), numbers(vec![3], false), numbers(vec![4], true)]);
        assert_eq!(all.to_flat().values::<i32>(), [1, 2, 3, 4]);
        assert_eq!((0..4).map(|row| all.is_valid(row)).collect::<Vec<_>>(), [true, true, false, true]);
        let text = |text: &str| Vector::constant(Flat::Str(StrColumn::from_strings([text])), 2);
        let all = concatenated(&[text("a"), text("longer than inline")]);
        assert_eq!(all.to_flat().strings().get(3), b"longer than inline");
        let lists = |lists: Vec<Option<Vec<Option<i32>>>>| {
            let array = ListArray::from_iter_primitive::<Int32Type, _, _>(lists);
            Vector::flat(Flat::Nested(Arc::new(array)), None)
        };
        let all =
            concatenated(&[lists(vec![Some(vec![Some(1), None])]), lists(vec![Some(vec![]), Some(vec![Some(2)])])]);
        let expected = lists(vec![Some(vec![Some(1), None]), Some(vec![]), Some(vec![Some(2)])]);
        assert_eq!(all.to_flat().nested(), expected.to_flat().nested());
    }
}

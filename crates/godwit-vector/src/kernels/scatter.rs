//! Results assembled from parts: the branches of CASE, the arguments of COALESCE.

use arrow_array::ArrayRef;
use arrow_buffer::ArrowNativeType;

use crate::{Bitmap, Data, Flat, Heaps, PhysicalType, StrColumn, StrView, Vector};

/// A vector under construction. Parts may overwrite each other; rows that no part covers are zero or empty, and a bug
/// for nested values.
pub struct Scatter {
    target: Target,
    /// `None` if no part had a NULL so far.
    validity: Option<Bitmap>,
    len: usize,
}

enum Target {
    Bool(Vec<u8>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    I128(Vec<i128>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Str(Vec<StrView>, Heaps),
    /// The arrays so far and, for each row, the array and the row in it.
    Nested(Vec<ArrayRef>, Vec<(usize, usize)>),
}

/// The rows that a part covers, and which of its rows goes where.
#[derive(Clone, Copy)]
enum RowMapping<'a> {
    /// Row i to row i.
    All,
    /// Row i to row `rows[i]`.
    Compact(&'a [u32]),
    /// Row `rows[i]` to row `rows[i]`.
    Aligned(&'a [u32]),
    /// Row `rows[i]` to row `start + i`.
    Gathered(usize, &'a [u32]),
}

impl RowMapping<'_> {
    #[inline(always)]
    fn for_each(self, len: usize, mut step: impl FnMut(usize, usize)) {
        match self {
            RowMapping::All => (0..len).for_each(|row| step(row, row)),
            RowMapping::Compact(rows) => rows.iter().enumerate().for_each(|(from, &to)| step(from, to as usize)),
            RowMapping::Aligned(rows) => rows.iter().for_each(|&row| step(row as usize, row as usize)),
            RowMapping::Gathered(start, rows) => {
                rows.iter().enumerate().for_each(|(place, &row)| step(row as usize, start + place));
            }
        }
    }
}

impl Scatter {
    /// Creates `len` rows of a physical type.
    pub fn new(physical: PhysicalType, len: usize) -> Self {
        use PhysicalType as P;
        let target = match physical {
            P::Bool => Target::Bool(vec![0; len]),
            P::I8 => Target::I8(vec![0; len]),
            P::I16 => Target::I16(vec![0; len]),
            P::I32 => Target::I32(vec![0; len]),
            P::I64 => Target::I64(vec![0; len]),
            P::I128 => Target::I128(vec![0; len]),
            P::U8 => Target::U8(vec![0; len]),
            P::U16 => Target::U16(vec![0; len]),
            P::U32 => Target::U32(vec![0; len]),
            P::U64 => Target::U64(vec![0; len]),
            P::F32 => Target::F32(vec![0.0; len]),
            P::F64 => Target::F64(vec![0.0; len]),
            P::Str => Target::Str(vec![StrView::default(); len], Heaps::none()),
            P::Nested => Target::Nested(Vec::new(), vec![(0, 0); len]),
        };
        Self { target, validity: None, len }
    }

    /// Copies row i of `part` to row i, for all rows.
    pub fn put_all(&mut self, part: &Vector) {
        assert_eq!(part.len(), self.len);
        self.write(RowMapping::All, part);
    }

    /// Copies row i of `part` to row `rows[i]`.
    pub fn put(&mut self, rows: &[u32], part: &Vector) {
        assert_eq!(part.len(), rows.len());
        self.write(RowMapping::Compact(rows), part);
    }

    /// Copies rows `rows` of `part`, which is as long as the result, to the same rows.
    pub fn put_aligned(&mut self, rows: &[u32], part: &Vector) {
        assert_eq!(part.len(), self.len);
        self.write(RowMapping::Aligned(rows), part);
    }

    /// Copies the values at `rows` to consecutive rows from `start`. The caller handles NULLs.
    pub(crate) fn put_values(&mut self, start: usize, values: &Flat, rows: &[u32]) {
        self.write_values(RowMapping::Gathered(start, rows), values, rows.len(), false);
    }

    /// Returns the finished vector.
    pub fn finish(self) -> Vector {
        let flat = match self.target {
            Target::Bool(v) => Flat::Bool(v.into()),
            Target::I8(v) => Flat::I8(v.into()),
            Target::I16(v) => Flat::I16(v.into()),
            Target::I32(v) => Flat::I32(v.into()),
            Target::I64(v) => Flat::I64(v.into()),
            Target::I128(v) => Flat::I128(v.into()),
            Target::U8(v) => Flat::U8(v.into()),
            Target::U16(v) => Flat::U16(v.into()),
            Target::U32(v) => Flat::U32(v.into()),
            Target::U64(v) => Flat::U64(v.into()),
            Target::F32(v) => Flat::F32(v.into()),
            Target::F64(v) => Flat::F64(v.into()),
            // SAFETY: every view was copied from a part whose heaps were added, or is the empty string.
            Target::Str(views, heaps) => Flat::Str(unsafe { StrColumn::new(views, heaps) }),
            Target::Nested(arrays, sources) => {
                let arrays: Vec<&dyn arrow_array::Array> = arrays.iter().map(|array| array.as_ref()).collect();
                Flat::Nested(arrow_select::interleave::interleave(&arrays, &sources).expect("parts have one type"))
            }
        };
        Vector::flat(flat, self.validity)
    }

    fn write(&mut self, place: RowMapping<'_>, part: &Vector) {
        match part.data() {
            Data::Constant(value) => self.write_values(place, value, part.len(), true),
            Data::Flat(values) => self.write_values(place, values, part.len(), false),
            Data::Dictionary(..) => self.write_values(place, &part.to_flat(), part.len(), false),
        }
        let validity = &mut self.validity;
        match part.validity() {
            None => {
                if let Some(validity) = validity {
                    place.for_each(part.len(), |_, to| validity.set(to, true));
                }
            }
            Some(nulls) => {
                let validity = validity.get_or_insert_with(|| Bitmap::filled(self.len, true));
                place.for_each(part.len(), |from, to| validity.set(to, nulls.get(from)));
            }
        }
    }

    fn write_values(&mut self, place: RowMapping<'_>, values: &Flat, len: usize, constant: bool) {
        fn copy<T: Copy>(place: RowMapping<'_>, len: usize, constant: bool, from: &[T], to: &mut [T]) {
            match (constant, place) {
                (true, _) => {
                    let value = from[0];
                    place.for_each(len, |_, row| to[row] = value);
                }
                (false, RowMapping::All) => to.copy_from_slice(from),
                (false, _) => place.for_each(len, |row, target| to[target] = from[row]),
            }
        }
        fn fixed<T: ArrowNativeType>(place: RowMapping<'_>, len: usize, constant: bool, from: &[T], to: &mut [T]) {
            copy(place, len, constant, from, to);
        }
        match (&mut self.target, values) {
            (Target::Bool(to), Flat::Bool(from)) | (Target::U8(to), Flat::U8(from)) => {
                fixed(place, len, constant, from, to)
            }
            (Target::I8(to), Flat::I8(from)) => fixed(place, len, constant, from, to),
            (Target::I16(to), Flat::I16(from)) => fixed(place, len, constant, from, to),
            (Target::I32(to), Flat::I32(from)) => fixed(place, len, constant, from, to),
            (Target::I64(to), Flat::I64(from)) => fixed(place, len, constant, from, to),
            (Target::I128(to), Flat::I128(from)) => fixed(place, len, constant, from, to),
            (Target::U16(to), Flat::U16(from)) => fixed(place, len, constant, from, to),
            (Target::U32(to), Flat::U32(from)) => fixed(place, len, constant, from, to),
            (Target::U64(to), Flat::U64(from)) => fixed(place, len, constant, from, to),
            (Target::F32(to), Flat::F32(from)) => fixed(place, len, constant, from, to),
            (Target::F64(to), Flat::F64(from)) => fixed(place, len, constant, from, to),
            (Target::Str(to, heaps), Flat::Str(from)) => {
                *heaps = heaps.union(from.heaps());
                copy(place, len, constant, from.views(), to);
            }
            (Target::Nested(arrays, sources), Flat::Nested(from)) => {
                let array = arrays.len();
                arrays.push(from.clone());
                place.for_each(len, |row, target| sources[target] = (array, if constant { 0 } else { row }));
            }
            (_, values) => panic!("a part of type {:?} doesn't fit the others", values.physical()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_land_where_they_belong() {
        let mut scatter = Scatter::new(PhysicalType::Str, 5);
        let all = Flat::Str(StrColumn::from_strings(["a", "b", "c", "d", "a rather long string, e"]));
        scatter.put_all(&Vector::flat(all.clone(), Some(Bitmap::from_fn(5, |i| i != 1))));
        scatter.put(&[3, 1], &Vector::flat(Flat::Str(StrColumn::from_strings(["X", "another long string, Y"])), None));
        scatter.put(&[0], &Vector::null(PhysicalType::Str, 1));
        scatter.put_aligned(&[3], &Vector::flat(all, None));
        let result = scatter.finish();
        let strings = result.to_flat();
        let seen: Vec<&[u8]> = strings.strings().iter().collect();
        assert_eq!(seen[1..], [&b"another long string, Y"[..], b"c", b"d", b"a rather long string, e"]);
        assert_eq!((0..5).map(|i| result.is_valid(i)).collect::<Vec<_>>(), [false, true, true, true, true]);
    }

    #[test]
    fn constants_fill_their_rows() {
        let mut scatter = Scatter::new(PhysicalType::I64, 4);
        scatter.put_all(&Vector::constant(Flat::I64(vec![7].into()), 4));
        scatter.put(&[0, 2], &Vector::constant(Flat::I64(vec![9].into()), 2));
        assert_eq!(scatter.finish().to_flat().values::<i64>(), [9, 7, 9, 7]);
    }
}

//! Compressed materialization: columns take fewer bytes while an operator keeps their rows.
//!
//! ```text
//! integers, dates, decimals, times:  value − min            as the narrowest unsigned type that holds max − min
//! text whose values are all known:    place among them       likewise; back as codes into one shared dictionary
//! lists, structs, maps:              bytes                  not to be narrower, but because rows hold nothing else
//! ```
//!
//! All keep the order of values: a compressed column can be a group key, the argument of MIN and MAX, or a sort key.
//! [`Compression::compress`] and [`Compression::decompress`] are ordinary expressions: the physical plan puts them into
//! projections before and after an operator, which knows nothing of it. What proves the range or the values of a column
//! is checked where it is read; a value that breaks the promise of a [`TextDomain`] is an error here.
//!
//! Source: section 5 of the external-hash-join paper; codes go beyond it.

use std::sync::Arc;

use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;
use godwit_common::{Error, Result};
use godwit_vector::kernels::cast::{add_wrapping, convert, subtract_narrowing};
use godwit_vector::{
    ColumnType, Data, Dictionary, Flat, PhysicalType, ValueRange, Vector, nested_from_bytes, nested_to_bytes,
};
use parking_lot::Mutex;

use crate::expression::Kernel;
use crate::range;
use crate::text_domain::EMPTY;
use crate::{Expression, TextDomain};

/// Number of dictionaries whose translation into codes a column remembers: those of the row groups being read.
const TRANSLATIONS_MAX: usize = 16;

/// How a column is compressed.
#[derive(Clone)]
pub enum Compression {
    /// The difference from a base.
    Offset {
        /// The smallest value, or 0.
        base: i128,
        /// The proven range.
        range: ValueRange,
        /// The type of the difference.
        physical: PhysicalType,
    },
    /// The position among all values.
    Codes {
        /// The values.
        domain: Arc<TextDomain>,
        /// The type of the codes.
        physical: PhysicalType,
    },
    /// Nested values as bytes of the same order ([`nested_to_bytes`]).
    Bytes,
}

impl Compression {
    /// Compression that narrows a column of integers, decimals, dates or times, if there is one.
    pub fn of_range(ty: &ColumnType) -> Option<Self> {
        let range = ty.range.filter(|range| ty.physical.is_integer() && range.min <= range.max)?;
        let physical = narrowest(range.max.checked_sub(range.min)? as u128)?;
        let base = range.min;
        (physical.width_bytes() < ty.physical.width_bytes()).then_some(Self::Offset { base, range, physical })
    }

    /// Like [`Compression::of_range`], but only narrows the type and keeps the values: for keys that are compared with
    /// uncompressed keys.
    pub fn of_key(ty: &ColumnType) -> Option<Self> {
        let range = ty.range.filter(|range| ty.physical.is_integer() && 0 <= range.min && range.min <= range.max)?;
        let physical = narrowest(range.max as u128)?;
        (physical.width_bytes() < ty.physical.width_bytes()).then_some(Self::Offset { base: 0, range, physical })
    }

    /// Compression for rows that can't hold values of the type.
    pub fn of_nested(ty: &ColumnType) -> Option<Self> {
        (ty.physical == PhysicalType::Nested).then_some(Self::Bytes)
    }

    /// Compression of a text column whose values are all known.
    pub fn of_domain(domain: Arc<TextDomain>) -> Self {
        let physical = narrowest(domain.len().max(1) as u128 - 1).expect("codes fit into 64 bits");
        Self::Codes { domain, physical }
    }

    /// Like [`of_domain`](Self::of_domain), in a type that holds one code more than there are values: for keys that are
    /// compared with keys outside the domain.
    pub(crate) fn of_key_domain(domain: Arc<TextDomain>) -> Self {
        let physical = narrowest(domain.len() as u128).expect("codes fit into 64 bits");
        Self::Codes { domain, physical }
    }

    /// True if values become codes of a domain.
    pub fn is_codes(&self) -> bool {
        matches!(self, Self::Codes { .. })
    }

    /// The range of compressed values, if they are integers.
    fn compressed_range(&self) -> Option<ValueRange> {
        match self {
            Self::Offset { base, range, .. } => Some(range::new(range.min - base, range.max - base)),
            Self::Codes { domain, .. } => Some(range::new(0, domain.len().max(1) as i128 - 1)),
            Self::Bytes => None,
        }
    }

    /// The physical type of compressed values.
    pub fn physical(&self) -> PhysicalType {
        match self {
            Self::Offset { physical, .. } | Self::Codes { physical, .. } => *physical,
            Self::Bytes => PhysicalType::Str,
        }
    }

    /// The type of compressed values.
    pub(crate) fn compressed_type(&self, nullable: bool) -> ColumnType {
        let physical = self.physical();
        let logical = match physical {
            PhysicalType::U8 => DataType::UInt8,
            PhysicalType::U16 => DataType::UInt16,
            PhysicalType::U32 => DataType::UInt32,
            PhysicalType::Str => DataType::Binary,
            _ => DataType::UInt64,
        };
        ColumnType { logical, physical, nullable, range: self.compressed_range() }
    }

    /// Codes in the type of this compression, NULL where `like` is.
    pub(crate) fn narrowed(&self, codes: ScalarBuffer<u32>, like: &Vector) -> Vector {
        let codes = Vector::flat(Flat::U32(codes), None).with_validity(like.validity().cloned());
        convert(&codes, self.physical())
    }

    /// Compresses the values of `expression`, for whose type this was made.
    pub fn compress(&self, expression: &Expression) -> Expression {
        let mut output = self.compressed_type(expression.output().nullable);
        // The proven range of this side of a join, which may be narrower than that of both sides.
        if let Self::Offset { base: 0, .. } = self {
            output.range = expression.output().range;
        }
        match self {
            Self::Offset { base, .. } => {
                let kernel = Subtract { base: *base, physical: self.physical() };
                Expression::strict(kernel, vec![expression.clone()], output).per_entry(None)
            }
            Self::Codes { domain, .. } => {
                let (domain, compression) = (domain.clone(), self.clone());
                let kernel = Encode { domain, compression, translations: Mutex::default() };
                Expression::strict(kernel, vec![expression.clone()], output)
            }
            Self::Bytes => Expression::strict(ToBytes, vec![expression.clone()], output),
        }
    }

    /// Restores the values that `expression` compressed: of type `original`, but as nullable as `expression`.
    pub fn decompress(&self, expression: &Expression, original: &ColumnType) -> Expression {
        let output = ColumnType { nullable: expression.output().nullable, ..original.clone() };
        let arguments = vec![expression.clone()];
        match self {
            Self::Offset { base, .. } => {
                Expression::strict(Add { base: *base, physical: original.physical }, arguments, output)
            }
            Self::Codes { domain, .. } => Expression::strict(Decode { domain: domain.clone() }, arguments, output),
            Self::Bytes => Expression::strict(FromBytes { logical: original.logical.clone() }, arguments, output),
        }
    }
}

/// The narrowest unsigned type up to 64 bits that holds `max`.
fn narrowest(max: u128) -> Option<PhysicalType> {
    use PhysicalType::*;
    [U8, U16, U32, U64].into_iter().find(|&physical| max < 1 << (8 * physical.width_bytes()))
}

struct ToBytes;

impl Kernel for ToBytes {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        nested_to_bytes(&arguments[0])
    }

    fn can_fail(&self) -> bool {
        true
    }
}

struct FromBytes {
    logical: DataType,
}

impl Kernel for FromBytes {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        nested_from_bytes(&arguments[0], &self.logical)
    }

    fn can_fail(&self) -> bool {
        true
    }
}

struct Subtract {
    base: i128,
    physical: PhysicalType,
}

impl Kernel for Subtract {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        Ok(subtract_narrowing(&arguments[0], self.base, self.physical))
    }
}

struct Add {
    base: i128,
    physical: PhysicalType,
}

impl Kernel for Add {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        Ok(add_wrapping(&arguments[0], self.base, self.physical))
    }
}

struct Encode {
    domain: Arc<TextDomain>,
    compression: Compression,
    /// Codes of the entries of the most recently met dictionaries, by identity.
    translations: Mutex<Vec<(u64, Arc<Vec<u32>>)>>,
}

impl Encode {
    fn translation(&self, dictionary: &Dictionary) -> Arc<Vec<u32>> {
        let mut known = self.translations.lock();
        if let Some((_, places)) = known.iter().find(|(id, _)| *id == dictionary.id()) {
            return places.clone();
        }
        let places = Arc::new(self.domain.places_of_entries(dictionary));
        if known.len() == TRANSLATIONS_MAX {
            known.remove(0);
        }
        known.push((dictionary.id(), places.clone()));
        places
    }

    /// Checks that the codes of all non-NULL rows are known.
    fn checked(&self, mut places: Vec<u32>, like: &Vector) -> Result<Vec<u32>> {
        if places.contains(&EMPTY) {
            for (row, place) in places.iter_mut().enumerate().filter(|(_, place)| **place == EMPTY) {
                if like.is_valid(row) {
                    return Err(Error::user("a text column has a value that is in none of its dictionaries")
                        .with_hint("the file is corrupt or has changed; SET compressed_materialization = false"));
                }
                *place = 0;
            }
        }
        Ok(places)
    }
}

impl Kernel for Encode {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let vector = &arguments[0];
        let places = match vector.data() {
            Data::Dictionary(_, dictionary) if dictionary.is_empty() => vec![EMPTY; rows],
            Data::Dictionary(codes, dictionary) if dictionary.id() == self.domain.dictionary().id() => {
                return Ok(self.compression.narrowed(codes.clone(), vector));
            }
            Data::Dictionary(codes, dictionary) => {
                let translation = self.translation(dictionary);
                codes.iter().map(|&code| translation[code as usize]).collect()
            }
            Data::Flat(flat) => self.domain.places(flat.strings()),
            Data::Constant(flat) => vec![self.domain.places(flat.strings())[0]; rows],
        };
        Ok(self.compression.narrowed(self.checked(places, vector)?.into(), vector))
    }

    fn can_fail(&self) -> bool {
        true
    }
}

struct Decode {
    domain: Arc<TextDomain>,
}

impl Kernel for Decode {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let vector = &arguments[0];
        if self.domain.is_empty() {
            return Ok(Vector::null(PhysicalType::Str, rows));
        }
        let Flat::U32(mut codes) = convert(vector, PhysicalType::U32).to_flat() else { unreachable!("made so") };
        if vector.has_nulls() {
            // NULL rows hold arbitrary values, and codes must be in bounds.
            let last = self.domain.len() as u32 - 1;
            codes = codes.iter().map(|&code| code.min(last)).collect();
        }
        let codes = Vector::dictionary(codes, self.domain.dictionary().clone(), None);
        Ok(codes.with_validity(vector.validity().cloned()))
    }
}

#[cfg(test)]
mod tests {
    use godwit_vector::{Bitmap, Chunk, StrColumn};
    use proptest::prelude::*;

    use super::*;

    fn round_trip(compression: &Compression, column: &Vector, ty: &ColumnType) -> (Vector, Vector) {
        let chunk = Chunk::new(vec![column.clone()], column.len());
        let compressed = compression.compress(&Expression::column(0, ty.clone()));
        let narrow = compressed.evaluate(&chunk).unwrap();
        assert_eq!(narrow.physical(), compression.physical());
        let chunk = Chunk::new(vec![narrow.clone()], narrow.len());
        let back = compression.decompress(&Expression::column(0, compressed.output().clone()), ty);
        assert_eq!(back.output(), ty);
        (narrow, back.evaluate(&chunk).unwrap())
    }

    fn validity(nulls: &[bool]) -> Option<Bitmap> {
        Some(Bitmap::from_fn(nulls.len(), |row| !nulls[row]))
    }

    proptest! {
        #[test]
        fn integers_come_back_and_keep_their_order(
            min in any::<i64>(), span in 0u64..1 << 40, values in prop::collection::vec((any::<u64>(), any::<bool>()), 1..50),
        ) {
            let span = span.min(min.abs_diff(i64::MAX));
            let ty = ColumnType {
                range: Some(range::new(min as i128, min as i128 + span as i128)),
                ..ColumnType::new(DataType::Int64, true).unwrap()
            };
            let Some(compression) = Compression::of_range(&ty) else {
                prop_assert!(span >= 1 << 32);
                return Ok(());
            };
            let numbers: Vec<i64> = values.iter().map(|(v, _)| min.wrapping_add((v % (span + 1)) as i64)).collect();
            let nulls: Vec<bool> = values.iter().map(|(_, null)| *null).collect();
            let column = Vector::from_values(numbers.clone(), validity(&nulls));
            let (narrow, back) = round_trip(&compression, &column, &ty);
            let narrow = convert(&narrow, PhysicalType::U64).to_flat();
            for row in 0..numbers.len() {
                prop_assert_eq!(back.is_valid(row), !nulls[row]);
                if !nulls[row] {
                    prop_assert_eq!(back.to_flat().values::<i64>()[row], numbers[row]);
                    prop_assert_eq!(narrow.values::<u64>()[row], numbers[row].abs_diff(min));
                }
            }
        }

        #[test]
        fn texts_come_back_and_keep_their_order(
            values in prop::collection::vec(("[a-c]{0,3}|long[a-b]{12,16}", any::<bool>()), 1..50), form in 0..3,
        ) {
            let texts: Vec<&str> = values.iter().map(|(text, _)| text.as_str()).collect();
            let nulls: Vec<bool> = values.iter().map(|(_, null)| *null).collect();
            let ty = ColumnType::new(DataType::Utf8View, true).unwrap();
            let domain = TextDomain::new(texts.iter().map(|text| text.as_bytes())).unwrap();
            let codes = || domain.places(&StrColumn::from_strings(&texts));
            let flat = Flat::Str(StrColumn::from_strings(&texts));
            let column = match form {
                0 => Vector::flat(flat, validity(&nulls)),
                1 => {
                    let codes: Vec<u32> = (0..texts.len() as u32).collect();
                    Vector::dictionary(codes.into(), Arc::new(Dictionary::new(flat, false)), validity(&nulls))
                }
                _ => Vector::dictionary(codes().into(), domain.dictionary().clone(), validity(&nulls)),
            };
            let compression = Compression::of_domain(Arc::new(domain));
            let (narrow, back) = round_trip(&compression, &column, &ty);
            let codes = convert(&narrow, PhysicalType::U32).to_flat();
            let codes = codes.values::<u32>();
            for a in (0..texts.len()).filter(|&row| !nulls[row]) {
                let flat = back.to_flat();
                prop_assert_eq!(flat.strings().get(a), texts[a].as_bytes());
                for b in (0..texts.len()).filter(|&row| !nulls[row]) {
                    prop_assert_eq!(codes[a].cmp(&codes[b]), texts[a].cmp(texts[b]));
                }
            }
            prop_assert!((0..texts.len()).all(|row| back.is_valid(row) != nulls[row]));
        }
    }

    #[test]
    fn an_unknown_text_is_an_error() {
        let domain = TextDomain::new([&b"a"[..], b"b"]).unwrap();
        let ty = ColumnType::new(DataType::Utf8View, false).unwrap();
        let compressed = Compression::of_domain(Arc::new(domain)).compress(&Expression::column(0, ty));
        let column = Vector::flat(Flat::Str(StrColumn::from_strings(["a", "c"])), None);
        assert!(compressed.evaluate(&Chunk::new(vec![column], 2)).is_err());
    }

    #[test]
    fn wide_ranges_are_left_alone() {
        let wide =
            ColumnType { range: Some(range::new(0, 1 << 33)), ..ColumnType::new(DataType::Int64, false).unwrap() };
        assert!(Compression::of_range(&wide).is_none());
    }
}

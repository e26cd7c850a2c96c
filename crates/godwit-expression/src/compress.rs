//! Compressed materialization: columns in fewer bytes while an operator keeps their rows.
//!
//! ```text
//! integers, dates, decimals, times:  value − min            as the narrowest unsigned type that holds max − min
//! text with few, known values:       place among them       likewise; back as codes into one shared dictionary
//! lists, structs, maps:              bytes                  not to be narrower, but because rows hold nothing else
//! ```
//!
//! All keep the order of values, so that a compressed column can be a group key, the argument of MIN and MAX, or a sort
//! key. [`Compression::compress`] and [`Compression::decompress`] are expressions like all others: the planner puts them
//! into projections before and after an operator, which knows nothing of it. What proves the range or the values of a
//! column is checked where it is read; a value that breaks the promise of a [`TextDomain`] is an error here.
//!
//! Source: section 5 of the external-hash-join paper; codes go beyond it.

use std::sync::Arc;

use arrow_schema::DataType;
use godwit_common::{Error, Result};
use godwit_vector::kernels::cast::{add_wrapping, subtract_narrowing};
use godwit_vector::kernels::hash::hash_string;
use godwit_vector::{
    ColumnType, Data, Dictionary, Flat, PhysicalType, StrColumn, ValueRange, Vector, nested_from_bytes, nested_to_bytes,
};
use parking_lot::Mutex;

use crate::Expression;
use crate::expression::Kernel;
use crate::range;

/// Most values of a [`TextDomain`]: codes take two bytes.
pub const DOMAIN_VALUES_MAX: usize = 1 << 16;

/// Dictionaries whose translation into codes a column remembers: the row groups that workers have under way.
const TRANSLATIONS_MAX: usize = 16;

/// All values that a text column can have, in order.
pub struct TextDomain {
    dictionary: Arc<Dictionary>,
    /// Open addressing by hash: place of a value, or `EMPTY`.
    slots: Vec<u32>,
}

const EMPTY: u32 = u32::MAX;

impl TextDomain {
    /// The domain of these values, which needn't be distinct; `None` if there are too many.
    pub fn new<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Option<Self> {
        let mut values: Vec<&[u8]> = values.into_iter().collect();
        values.sort_unstable();
        values.dedup();
        if values.len() > DOMAIN_VALUES_MAX {
            return None;
        }
        let strings = StrColumn::from_strings(values);
        Some(Self::of_sorted(Arc::new(Dictionary::new(Flat::Str(strings), true))))
    }

    /// The domain of an ordered dictionary, whose codes need no translation; `None` if it has too many values.
    pub fn of_dictionary(dictionary: Arc<Dictionary>) -> Option<Self> {
        assert!(dictionary.is_ordered(), "codes of a domain are in the order of its values");
        (dictionary.len() <= DOMAIN_VALUES_MAX).then(|| Self::of_sorted(dictionary))
    }

    fn of_sorted(dictionary: Arc<Dictionary>) -> Self {
        let strings = dictionary.values().strings();
        let mut slots = vec![EMPTY; (strings.len() * 2 + 1).next_power_of_two()];
        for (place, view) in strings.views().iter().enumerate() {
            let mut slot = hash_string(view, strings.get(place)) as usize & (slots.len() - 1);
            while slots[slot] != EMPTY {
                slot = (slot + 1) & (slots.len() - 1);
            }
            slots[slot] = place as u32;
        }
        Self { dictionary, slots }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.dictionary.len()
    }

    /// True if there is no value: all rows are NULL.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Size of the longest value, in bytes.
    pub fn bytes_max(&self) -> usize {
        self.dictionary.values().strings().views().iter().map(|view| view.len()).max().unwrap_or(0)
    }

    /// The places of strings, `EMPTY` for those that aren't there.
    fn places(&self, strings: &StrColumn) -> Vec<u32> {
        let known = self.dictionary.values().strings();
        let mask = self.slots.len() - 1;
        let place_of = |(row, view)| {
            let bytes = strings.get(row);
            let mut slot = hash_string(view, bytes) as usize & mask;
            loop {
                match self.slots[slot] {
                    EMPTY => return EMPTY,
                    place if known.get(place as usize) == bytes => return place,
                    _ => slot = (slot + 1) & mask,
                }
            }
        };
        strings.views().iter().enumerate().map(place_of).collect()
    }
}

/// How a column is compressed.
#[derive(Clone)]
pub enum Compression {
    /// The difference to a base.
    Offset {
        /// The smallest value, or 0.
        base: i128,
        /// The proven bound.
        range: ValueRange,
        /// The type of the difference.
        physical: PhysicalType,
    },
    /// The place among all values.
    Codes(Arc<TextDomain>),
    /// Nested values as bytes of the same order ([`nested_to_bytes`]).
    Bytes,
}

impl Compression {
    /// How a column of integers, decimals, dates or times gets narrower, if it does.
    pub fn of_range(ty: &ColumnType) -> Option<Self> {
        let range = ty.range.filter(|range| ty.physical.is_integer() && range.min <= range.max)?;
        let physical = narrowest(range.max.checked_sub(range.min)? as u128)?;
        let base = range.min;
        (physical.width_bytes() < ty.physical.width_bytes()).then_some(Self::Offset { base, range, physical })
    }

    /// As [`Compression::of_range`], but values stay what they are, only their type gets narrower: for keys that meet
    /// keys which aren't compressed.
    pub fn of_key(ty: &ColumnType) -> Option<Self> {
        let range = ty.range.filter(|range| ty.physical.is_integer() && 0 <= range.min && range.min <= range.max)?;
        let physical = narrowest(range.max as u128)?;
        (physical.width_bytes() < ty.physical.width_bytes()).then_some(Self::Offset { base: 0, range, physical })
    }

    /// How a column has to be written into rows that hold no values of its type.
    pub fn of_nested(ty: &ColumnType) -> Option<Self> {
        (ty.physical == PhysicalType::Nested).then_some(Self::Bytes)
    }

    /// How a text column whose values are all known is compressed.
    pub fn of_domain(domain: Arc<TextDomain>) -> Self {
        Self::Codes(domain)
    }

    /// The bound of compressed values, if they are integers.
    fn compressed_range(&self) -> Option<ValueRange> {
        match self {
            Self::Offset { base, range, .. } => Some(range::new(range.min - base, range.max - base)),
            Self::Codes(domain) => Some(range::new(0, domain.len().max(1) as i128 - 1)),
            Self::Bytes => None,
        }
    }

    /// The type of compressed values.
    pub fn physical(&self) -> PhysicalType {
        match self {
            Self::Offset { physical, .. } => *physical,
            Self::Codes(domain) => narrowest(domain.len().max(1) as u128 - 1).expect("codes have two bytes"),
            Self::Bytes => PhysicalType::Str,
        }
    }

    /// The compressed values of `expression`, whose type it was made for.
    pub fn compress(&self, expression: &Expression) -> Expression {
        let physical = self.physical();
        let logical = match physical {
            PhysicalType::U8 => DataType::UInt8,
            PhysicalType::U16 => DataType::UInt16,
            PhysicalType::U32 => DataType::UInt32,
            PhysicalType::Str => DataType::Binary,
            _ => DataType::UInt64,
        };
        let range = match self {
            // What is proven of this side of a join, which may be less than of both.
            Self::Offset { base: 0, .. } => expression.output().range,
            _ => self.compressed_range(),
        };
        let output = ColumnType { logical, physical, nullable: expression.output().nullable, range };
        match self {
            Self::Offset { base, .. } => {
                let kernel = Subtract { base: *base, physical };
                Expression::strict(kernel, vec![expression.clone()], output).per_entry()
            }
            Self::Codes(domain) => {
                let kernel = Encode { domain: domain.clone(), physical, translations: Mutex::default() };
                Expression::strict(kernel, vec![expression.clone()], output)
            }
            Self::Bytes => Expression::strict(ToBytes, vec![expression.clone()], output),
        }
    }

    /// The values that `expression` has compressed, as they were: of type `original`, but as nullable as `expression`.
    pub fn decompress(&self, expression: &Expression, original: &ColumnType) -> Expression {
        let output = ColumnType { nullable: expression.output().nullable, ..original.clone() };
        let arguments = vec![expression.clone()];
        match self {
            Self::Offset { base, .. } => {
                Expression::strict(Add { base: *base, physical: original.physical }, arguments, output)
            }
            Self::Codes(domain) => Expression::strict(Decode { domain: domain.clone() }, arguments, output),
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
    physical: PhysicalType,
    /// Places of the entries of dictionaries that were met last, by identity.
    translations: Mutex<Vec<(u64, Arc<Vec<u32>>)>>,
}

impl Encode {
    fn translation(&self, dictionary: &Dictionary) -> Arc<Vec<u32>> {
        let mut known = self.translations.lock();
        if let Some((_, places)) = known.iter().find(|(id, _)| *id == dictionary.id()) {
            return places.clone();
        }
        let places = Arc::new(self.domain.places(dictionary.values().strings()));
        if known.len() == TRANSLATIONS_MAX {
            known.remove(0);
        }
        known.push((dictionary.id(), places.clone()));
        places
    }

    /// Checks that all places of rows that aren't NULL are known, and narrows them.
    fn narrowed(&self, mut places: Vec<u32>, like: &Vector) -> Result<Vector> {
        if places.contains(&EMPTY) {
            for (row, place) in places.iter_mut().enumerate().filter(|(_, place)| **place == EMPTY) {
                if like.is_valid(row) {
                    return Err(Error::user("a text column has a value that is in none of its file's dictionaries")
                        .with_hint("the file is corrupt or has changed; SET compressed_materialization = false"));
                }
                *place = 0;
            }
        }
        let codes = Vector::from_values(places, None).with_validity(like.validity().cloned());
        Ok(godwit_vector::kernels::cast::convert(&codes, self.physical))
    }
}

impl Kernel for Encode {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let vector = &arguments[0];
        let places = match vector.data() {
            Data::Dictionary(_, dictionary) if dictionary.is_empty() => vec![EMPTY; rows],
            Data::Dictionary(codes, dictionary) if dictionary.id() == self.domain.dictionary.id() => codes.to_vec(),
            Data::Dictionary(codes, dictionary) => {
                let translation = self.translation(dictionary);
                codes.iter().map(|&code| translation[code as usize]).collect()
            }
            Data::Flat(flat) => self.domain.places(flat.strings()),
            Data::Constant(flat) => vec![self.domain.places(flat.strings())[0]; rows],
        };
        self.narrowed(places, vector)
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
        let last = self.domain.len() as u32 - 1;
        let wide = godwit_vector::kernels::cast::convert(vector, PhysicalType::U32).to_flat();
        // NULL rows hold arbitrary values, and codes must be in bounds.
        let codes: Vec<u32> = wide.values::<u32>().iter().map(|&code| code.min(last)).collect();
        let codes = Vector::dictionary(codes.into(), self.domain.dictionary.clone(), None);
        Ok(codes.with_validity(vector.validity().cloned()))
    }
}

#[cfg(test)]
mod tests {
    use godwit_vector::{Bitmap, Chunk};
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
            let narrow = godwit_vector::kernels::cast::convert(&narrow, PhysicalType::U64).to_flat();
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
            values in prop::collection::vec(("[a-c]{0,3}|long[a-b]{12,16}", any::<bool>()), 1..50), as_dictionary: bool,
        ) {
            let texts: Vec<&str> = values.iter().map(|(text, _)| text.as_str()).collect();
            let nulls: Vec<bool> = values.iter().map(|(_, null)| *null).collect();
            let ty = ColumnType::new(DataType::Utf8View, true).unwrap();
            let domain = TextDomain::new(texts.iter().map(|text| text.as_bytes())).unwrap();
            let compression = Compression::of_domain(Arc::new(domain));
            let flat = Flat::Str(StrColumn::from_strings(&texts));
            let column = match as_dictionary {
                true => {
                    let codes: Vec<u32> = (0..texts.len() as u32).collect();
                    Vector::dictionary(codes.into(), Arc::new(Dictionary::new(flat, false)), validity(&nulls))
                }
                false => Vector::flat(flat, validity(&nulls)),
            };
            let (narrow, back) = round_trip(&compression, &column, &ty);
            let codes = godwit_vector::kernels::cast::convert(&narrow, PhysicalType::U32).to_flat();
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
    fn wide_ranges_and_long_lists_are_left_alone() {
        let wide =
            ColumnType { range: Some(range::new(0, 1 << 33)), ..ColumnType::new(DataType::Int64, false).unwrap() };
        assert!(Compression::of_range(&wide).is_none());
        let texts: Vec<String> = (0..DOMAIN_VALUES_MAX + 1).map(|i| i.to_string()).collect();
        assert!(TextDomain::new(texts.iter().map(|text| text.as_bytes())).is_none());
    }
}

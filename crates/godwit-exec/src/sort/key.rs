//! Normalized keys: all sort keys of a row in one integer that compares as the row does.
//!
//! ```text
//! most significant                                                     least significant
//! | NULL? | value − min, in as few bits as the range needs | NULL? | string prefix | length | … | open |
//! ```
//!
//! - *Widths.* An integer takes the bits that its proven range needs, a float all of its own (−0 is 0, NaN is above
//!   all). A column that can't be NULL has no NULL bit. If everything fits into 64 bits, keys are `u64`, else `u128`.
//! - *Directions.* Descending fields are inverted; the NULL bit says on which side NULLs are.
//! - *Strings* contribute their first bytes, padded with zeros, and their length or "longer". Two strings with equal
//!   prefixes and equal known lengths are equal; if they are longer, the key is *open*: the following fields are zero
//!   and the last bit is set. Two equal open keys decide nothing, and the rows must be compared
//!   ([`godwit_rows::RowOrder`]).
//! - If not all fields fit, all keys are open.
//!
//! So different keys always decide correctly, and so do equal keys unless they are open.

use godwit_vector::{Bitmap, ColumnType, Flat, PhysicalType, Vector};

use super::SortKey;
use super::config::PREFIX_BYTES_MIN;

/// An integer that holds normalized keys.
pub(crate) trait KeyWord: Copy + Ord + Default + Send + Sync + 'static {
    /// Width.
    const BITS: u32;
    /// Sets the bits `value << shift`; bits that don't fit are a bug.
    fn or(self, value: u128, shift: u32) -> Self;
    /// `or` for values of 64 bits.
    fn or_u64(self, value: u64, shift: u32) -> Self;
    /// The 64 most significant bits.
    fn high(self) -> u64;
    /// The least significant bit.
    fn is_odd(self) -> bool;
    /// The 8 bits starting at `shift`.
    fn byte(self, shift: u32) -> u8;
    /// A key of these bits; those that don't fit are a bug.
    fn of_bits(bits: u128) -> Self;
}

impl KeyWord for u64 {
    const BITS: u32 = 64;
    #[inline(always)]
    fn or(self, value: u128, shift: u32) -> Self {
        self.or_u64(value as u64, shift)
    }
    #[inline(always)]
    fn or_u64(self, value: u64, shift: u32) -> Self {
        self | value << shift
    }
    #[inline(always)]
    fn high(self) -> u64 {
        self
    }
    #[inline(always)]
    fn is_odd(self) -> bool {
        self & 1 == 1
    }
    #[inline(always)]
    fn byte(self, shift: u32) -> u8 {
        (self >> shift) as u8
    }
    #[inline(always)]
    fn of_bits(bits: u128) -> Self {
        bits as u64
    }
}

impl KeyWord for u128 {
    const BITS: u32 = 128;
    #[inline(always)]
    fn or(self, value: u128, shift: u32) -> Self {
        self | value << shift
    }
    #[inline(always)]
    fn or_u64(self, value: u64, shift: u32) -> Self {
        self | (value as u128) << shift
    }
    #[inline(always)]
    fn high(self) -> u64 {
        (self >> 64) as u64
    }
    #[inline(always)]
    fn is_odd(self) -> bool {
        self & 1 == 1
    }
    #[inline(always)]
    fn byte(self, shift: u32) -> u8 {
        (self >> shift) as u8
    }
    #[inline(always)]
    fn of_bits(bits: u128) -> Self {
        bits
    }
}

/// How the sort keys of a row are packed into an integer. The same for all rows of a sort.
pub(crate) struct KeyLayout {
    fields: Vec<Field>,
    /// The last bit tells whether a key is open.
    has_open_bit: bool,
    /// Not all fields fit: every key is open.
    always_open: bool,
}

/// One sort key inside the integer.
struct Field {
    content: Content,
    descending: bool,
    /// The value of the NULL bit for NULL, if there is such a bit.
    null_bit: Option<bool>,
    /// Bits without the NULL bit.
    bits: u32,
    /// Position of the least significant bit; the NULL bit is at `shift + bits`.
    shift: u32,
}

#[derive(Clone, Copy)]
enum Content {
    /// The difference from the smallest value, without its `dropped` lowest bits.
    Integer {
        min: i128,
        dropped: u32,
    },
    F32,
    F64 {
        dropped: u32,
    },
    /// The first bytes, this many, then a byte for the length.
    Prefix {
        bytes: u32,
    },
}

/// Bits of the length after a prefix.
const LENGTH_BITS: u32 = 8;

/// Bits that a value of the type needs; `None` for strings, which are unbounded.
fn value_bits(ty: &ColumnType) -> Option<u32> {
    match ty.physical {
        PhysicalType::F32 => Some(32),
        PhysicalType::F64 => Some(64),
        PhysicalType::Str => None,
        PhysicalType::Nested => panic!("nested values have no order"),
        _ => {
            let bound = ty.bound().expect("integers have a bound");
            Some(u128::BITS - (bound.max.wrapping_sub(bound.min) as u128).leading_zeros())
        }
    }
}

impl KeyLayout {
    /// Bits of all keys together; `None` if they are unbounded.
    pub(crate) fn exact_bits(keys: &[SortKey]) -> Option<u32> {
        keys.iter()
            .map(|key| Some(value_bits(key.expression.output())? + key.expression.output().nullable as u32))
            .sum()
    }

    /// The layout for keys of type `K`.
    pub(crate) fn new<K: KeyWord>(keys: &[SortKey]) -> Self {
        let has_open_bit = Self::exact_bits(keys).is_none_or(|bits| bits > K::BITS);
        let mut free_bits = K::BITS - has_open_bit as u32;
        let mut fields = Vec::new();
        let mut always_open = false;
        for (index, key) in keys.iter().enumerate() {
            let ty = key.expression.output();
            let null_bits = ty.nullable as u32;
            // A field with a single value takes no room, so it fits even if none is left.
            let bits_min = if value_bits(ty) == Some(0) { 0 } else { 1 };
            if free_bits < null_bits + bits_min {
                always_open = true;
                break;
            }
            let (content, bits) = match value_bits(ty) {
                Some(bits) => {
                    let dropped = bits.saturating_sub(free_bits - null_bits);
                    let content = match ty.physical {
                        PhysicalType::F32 => Content::F32,
                        PhysicalType::F64 => Content::F64 { dropped },
                        _ => Content::Integer { min: ty.bound().expect("integers have a bound").min, dropped },
                    };
                    always_open = dropped > 0;
                    (content, bits - dropped)
                }
                None => {
                    let bytes = prefix_bytes(free_bits - null_bits, &keys[index + 1..]);
                    (Content::Prefix { bytes }, bytes * 8 + LENGTH_BITS)
                }
            };
            // A truncated 32-bit float would need a variant of its own for a case that hardly ever occurs.
            if bits + null_bits > free_bits || (always_open && matches!(content, Content::F32)) {
                always_open = true;
                break;
            }
            free_bits -= bits + null_bits;
            let null_bit = ty.nullable.then_some(!key.nulls_first);
            fields.push(Field { content, descending: key.descending, null_bit, bits, shift: 0 });
            if always_open {
                break;
            }
        }
        let mut shift = K::BITS;
        for field in &mut fields {
            shift -= field.bits + field.null_bit.is_some() as u32;
            field.shift = shift;
        }
        assert!(has_open_bit || !always_open, "keys that fit exactly are never open");
        Self { fields, has_open_bit, always_open }
    }

    /// True if equal keys may belong to different values. `key.is_odd()` then tells whether a given key is one of
    /// these.
    pub(crate) fn has_open_keys(&self) -> bool {
        self.has_open_bit
    }

    /// The sort key whose string continues after its prefix, which made this key open, and the length of the prefix;
    /// `None` if the key is open only for lack of room.
    pub(crate) fn opened_by<K: KeyWord>(&self, key: K) -> Option<(usize, usize)> {
        self.fields.iter().enumerate().find_map(|(index, field)| {
            let Content::Prefix { bytes } = field.content else { return None };
            let length = key.byte(field.shift) ^ if field.descending { u8::MAX } else { 0 };
            (length as u32 == bytes + 1).then_some((index, bytes as usize))
        })
    }

    /// The keys of `rows` rows, given the values of all sort keys (dense); replaces the content of `keys`.
    pub(crate) fn encode<K: KeyWord>(&self, values: &[Vector], rows: usize, keys: &mut Vec<K>) {
        keys.clear();
        keys.resize(rows, K::default());
        let mut open = if self.has_open_bit { vec![false; rows] } else { Vec::new() };
        for (index, (field, vector)) in self.fields.iter().zip(values).enumerate() {
            // Only strings open a key, and the first field can't follow one.
            let may_be_open = index > 0 && self.has_open_bit;
            field.encode(vector, keys, &mut open, may_be_open);
        }
        if self.always_open {
            keys.iter_mut().for_each(|key| *key = key.or_u64(1, 0));
        } else if self.has_open_bit {
            keys.iter_mut().zip(&open).for_each(|(key, &open)| *key = key.or_u64(open as u64, 0));
        }
    }
}

/// Bytes for the prefix of a string if `free_bits` are left, with other keys behind it.
fn prefix_bytes(free_bits: u32, behind: &[SortKey]) -> u32 {
    let whole = |bits: u32| bits.saturating_sub(LENGTH_BITS) / 8;
    let types = || behind.iter().map(|key| key.expression.output());
    let strings = 1 + types().filter(|ty| value_bits(ty).is_none()).count() as u32;
    let others: u32 = types().map(|ty| value_bits(ty).unwrap_or(0) + ty.nullable as u32).sum();
    let fair = whole(free_bits.saturating_sub(others) / strings);
    if fair >= PREFIX_BYTES_MIN { fair } else { whole(free_bits) }
}

impl Field {
    fn encode<K: KeyWord>(&self, vector: &Vector, keys: &mut [K], open: &mut [bool], may_be_open: bool) {
        let flat = vector.to_flat();
        let validity = vector.validity().map(|bitmap| &**bitmap);
        let mut sink = FieldSink { field: self, validity, keys, open, may_be_open };
        macro_rules! differences {
            ($values:expr) => {{
                let Content::Integer { min, dropped } = self.content else { panic!("a key of integers was planned") };
                // Exact modulo 2^64, and the range of the difference is below that.
                sink.put_u64($values, |&value| (value as u64).wrapping_sub(min as u64) >> dropped);
            }};
        }
        match &flat {
            Flat::Bool(values) | Flat::U8(values) => differences!(values),
            Flat::I8(values) => differences!(values),
            Flat::I16(values) => differences!(values),
            Flat::I32(values) => differences!(values),
            Flat::I64(values) => differences!(values),
            Flat::U16(values) => differences!(values),
            Flat::U32(values) => differences!(values),
            Flat::U64(values) => differences!(values),
            Flat::I128(values) => {
                let Content::Integer { min, dropped } = self.content else { panic!("a key of integers was planned") };
                sink.put(values, |&value| value.wrapping_sub(min) as u128 >> dropped);
            }
            Flat::F32(values) => sink.put_u64(values, |&value| ordered_f32(value) as u64),
            Flat::F64(values) => {
                let Content::F64 { dropped } = self.content else { panic!("a key of floats was planned") };
                sink.put_u64(values, |&value| ordered_f64(value) >> dropped);
            }
            Flat::Str(strings) => {
                let Content::Prefix { bytes } = self.content else { panic!("a key of strings was planned") };
                sink.put_strings(bytes, |row| strings.get(row));
            }
            Flat::Nested(_) => panic!("nested values have no order"),
        }
    }
}

/// A float as an integer that sorts the same way: −0 and 0 are equal, all NaNs are equal and above everything else.
#[inline(always)]
fn ordered_f64(value: f64) -> u64 {
    let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
    let bits = value.to_bits();
    bits ^ ((bits as i64 >> 63) as u64 | 1 << 63)
}

#[inline(always)]
fn ordered_f32(value: f32) -> u32 {
    let value = if value.is_nan() { f32::NAN } else { value + 0.0 };
    let bits = value.to_bits();
    bits ^ ((bits as i32 >> 31) as u32 | 1 << 31)
}

/// Where the values of one field go.
struct FieldSink<'a, K> {
    field: &'a Field,
    validity: Option<&'a Bitmap>,
    keys: &'a mut [K],
    /// Per row, if there are open keys at all.
    open: &'a mut [bool],
    may_be_open: bool,
}

impl<K: KeyWord> FieldSink<'_, K> {
    /// The mask that inverts values: all ones below `bits` if descending.
    fn inversion(&self) -> u128 {
        match (self.field.descending, self.field.bits) {
            (false, _) | (_, 0) => 0,
            (true, bits) => u128::MAX >> (u128::BITS - bits),
        }
    }

    #[inline(always)]
    fn put_u64<T>(&mut self, values: &[T], convert: impl Fn(&T) -> u64) {
        let invert = self.inversion() as u64;
        let shift = self.field.shift;
        if self.field.bits == 0 {
            self.put_rows(|_, key| key);
        } else {
            self.put_rows(|row, key| key.or_u64(convert(&values[row]) ^ invert, shift));
        }
    }

    #[inline(always)]
    fn put<T>(&mut self, values: &[T], convert: impl Fn(&T) -> u128) {
        let invert = self.inversion();
        let shift = self.field.shift;
        if self.field.bits == 0 {
            self.put_rows(|_, key| key);
        } else {
            self.put_rows(|row, key| key.or(convert(&values[row]) ^ invert, shift));
        }
    }

    /// Applies `put` to the key of every row that is neither open nor NULL, and sets the NULL bits.
    #[inline(always)]
    fn put_rows(&mut self, put: impl Fn(usize, K) -> K) {
        let null_bit = self.field.null_bit;
        let null_shift = self.field.shift + self.field.bits;
        let valid_bits = null_bit.map_or(0, |bit| !bit as u64);
        if self.validity.is_none() && !self.may_be_open {
            if valid_bits == 0 {
                self.keys.iter_mut().enumerate().for_each(|(row, key)| *key = put(row, *key));
            } else {
                let keys = self.keys.iter_mut().enumerate();
                keys.for_each(|(row, key)| *key = put(row, *key).or_u64(1, null_shift));
            }
            return;
        }
        for (row, key) in self.keys.iter_mut().enumerate() {
            if self.may_be_open && self.open[row] {
                continue;
            }
            let is_valid = self.validity.is_none_or(|validity| validity.get(row));
            assert!(is_valid || null_bit.is_some(), "a sort key that can't be NULL is NULL");
            if is_valid {
                *key = put(row, *key);
            }
            if null_bit.is_some_and(|bit| bit != is_valid) {
                *key = key.or_u64(1, null_shift);
            }
        }
    }

    #[inline(always)]
    fn put_strings<'s>(&mut self, bytes: u32, string: impl Fn(usize) -> &'s [u8]) {
        let invert = self.inversion();
        let shift = self.field.shift;
        self.put_rows(|row, key| key.or(prefix_and_length(string(row), bytes) ^ invert, shift));
        for row in 0..self.keys.len() {
            let is_valid = self.validity.is_none_or(|validity| validity.get(row));
            self.open[row] |= is_valid && string(row).len() > bytes as usize;
        }
    }
}

/// The first `bytes` (at most 15) bytes as a number, then the length, or `bytes + 1` if it is longer.
#[inline(always)]
pub(super) fn prefix_and_length(string: &[u8], bytes: u32) -> u128 {
    let mut padded = [0u8; 16];
    let kept = string.len().min(bytes as usize);
    padded[..kept].copy_from_slice(&string[..kept]);
    let prefix = if bytes == 0 { 0 } else { u128::from_be_bytes(padded) >> (128 - 8 * bytes) };
    prefix << LENGTH_BITS | string.len().min(bytes as usize + 1) as u128
}

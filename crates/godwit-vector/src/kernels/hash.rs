//! Hashes of rows, column by column.
//!
//! ```text
//! raw   = what identifies a value in 64 bits: an integer itself, a string's hash, a fixed pattern for NULL
//! hash' = mix(raw ^ hash * K)            per column; the first one starts from hash = 0
//! ```
//!
//! `mix` is a bijection whose output bits each depend on all input bits: hash tables take the slot from the low bits,
//! the radix partition from the middle, the salt from the top 16.
//!
//! Equal values hash equally in every representation: flat, constant and dictionary, and integers of all widths, so a
//! key that was narrowed on one side of a join matches one that wasn't. -0.0 hashes as 0.0, all NaN alike.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{ColumnView, Data, Flat, StrColumn, StrView, Vector};

/// Odd, with irregular bits; decorrelates the columns of a key.
const COLUMN_FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
/// The contribution of a NULL.
const NULL_RAW: u64 = 0x6A09_E667_F3BC_C908;
/// Secrets of the string hash: fractional digits of square roots, which have no structure.
const SECRETS: [u64; 3] = [0xBB67_AE85_84CA_A73B, 0x3C6E_F372_FE94_F82B, 0xA54F_F53A_5F1D_36F1];
/// A dictionary is hashed by entry if it has at most this many entries per row of the vector: hashing an entry
/// costs a little more than looking up a hash.
const ENTRIES_PER_ROW_MAX: usize = 1;

static COLLIDE: AtomicBool = AtomicBool::new(false);

/// Makes all hashes of the process equal (or ends that): the test world in which hash tables see only collisions.
/// Must not change while a query runs.
pub fn force_hash_collisions(collide: bool) {
    COLLIDE.store(collide, Ordering::Relaxed);
}

/// Computes the hash of each of the `rows` rows over all `columns`; replaces the content of `hashes`.
pub fn hash_columns(columns: &[ColumnView<'_>], rows: usize, hashes: &mut Vec<u64>) {
    hashes.clear();
    hashes.resize(rows, 0);
    if COLLIDE.load(Ordering::Relaxed) {
        return;
    }
    for column in columns {
        combine_column(*column, hashes);
    }
}

/// [`hash_columns`] for dense vectors.
pub fn hash_vectors(vectors: &[Vector], rows: usize, hashes: &mut Vec<u64>) {
    let views: Vec<ColumnView<'_>> = vectors.iter().map(|vector| ColumnView { vector, selection: None }).collect();
    hash_columns(&views, rows, hashes);
}

/// Computes the hash of each value, for sketches: they don't survive the test world of [`force_hash_collisions`], and
/// have no need to.
pub fn hash_values(values: &Vector, hashes: &mut Vec<u64>) {
    hashes.clear();
    hashes.resize(values.len(), 0);
    combine_column(ColumnView { vector: values, selection: None }, hashes);
}

/// Returns the hash of a single string, for sets and sketches.
#[inline]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    hash_string(&StrView::new(bytes), bytes)
}

/// Returns [`hash_bytes`] of `bytes` if there is a view of them already.
#[inline]
pub fn hash_string(view: &StrView, bytes: &[u8]) -> u64 {
    mix(raw_string(view, bytes))
}

/// Returns the hash of a single integer, as [`hash_columns`] gives it for a single column.
#[inline]
pub fn hash_integer(value: i64) -> u64 {
    mix(value as u64)
}

/// A bijection of 64-bit words in which every input bit changes every output bit with probability about one half.
#[inline(always)]
fn mix(mut x: u64) -> u64 {
    x ^= x >> 32;
    x = x.wrapping_mul(0xE9B5_DBA5_9A2C_1F6D);
    x ^= x >> 29;
    x = x.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x ^ (x >> 32)
}

#[inline(always)]
fn combine(hash: &mut u64, raw: u64) {
    *hash = mix(raw ^ hash.wrapping_mul(COLUMN_FACTOR));
}

/// Values that 64 bits identify.
trait Raw: Copy {
    fn raw(self) -> u64;
}

macro_rules! raw_small {
    ($($t:ty),*) => { $( impl Raw for $t { #[inline(always)] fn raw(self) -> u64 { self as i64 as u64 } } )* };
}
raw_small!(i8, i16, i32, i64, u8, u16, u32);

impl Raw for i128 {
    /// The low half if it is the whole value, to agree with an `i64` of the same value.
    #[inline(always)]
    fn raw(self) -> u64 {
        let (low, high) = (self as u64, (self >> 64) as u64);
        let extension = ((low as i64) >> 63) as u64;
        if high == extension { low } else { low ^ mix(high ^ SECRETS[0]) }
    }
}

impl Raw for u64 {
    #[inline(always)]
    fn raw(self) -> u64 {
        (self as i128).raw()
    }
}

impl Raw for f64 {
    #[inline(always)]
    fn raw(self) -> u64 {
        if self.is_nan() { f64::NAN.to_bits() } else { (self + 0.0).to_bits() }
    }
}

impl Raw for f32 {
    #[inline(always)]
    fn raw(self) -> u64 {
        (self as f64).raw()
    }
}

#[inline(always)]
fn folded_multiply(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    (product as u64) ^ (product >> 64) as u64
}

/// Hashes a short string from its view; `bytes` are those of `view`.
#[inline(always)]
fn raw_string(view: &StrView, bytes: &[u8]) -> u64 {
    if view.is_inline() {
        let bits = view.bits();
        folded_multiply(bits as u64 ^ SECRETS[0], (bits >> 64) as u64 ^ SECRETS[1])
    } else {
        raw_long(bytes)
    }
}

/// Hashes a string longer than 12 bytes: 16 bytes per multiplication, the last ones overlapping bytes already read.
fn raw_long(bytes: &[u8]) -> u64 {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let mut state = bytes.len() as u64 ^ SECRETS[2];
    let mut at = 0;
    while at + 16 < bytes.len() {
        state = folded_multiply(word(at) ^ SECRETS[0], word(at + 8) ^ state);
        at += 16;
    }
    let first = word(bytes.len().saturating_sub(16).min(bytes.len() - 8));
    folded_multiply(first ^ SECRETS[1], word(bytes.len() - 8) ^ state)
}

fn raws_of(flat: &Flat) -> Vec<u64> {
    fn all<T: Raw>(values: &[T]) -> Vec<u64> {
        values.iter().map(|value| value.raw()).collect()
    }
    match flat {
        Flat::Bool(v) | Flat::U8(v) => all(v),
        Flat::I8(v) => all(v),
        Flat::I16(v) => all(v),
        Flat::I32(v) => all(v),
        Flat::I64(v) => all(v),
        Flat::I128(v) => all(v),
        Flat::U16(v) => all(v),
        Flat::U32(v) => all(v),
        Flat::U64(v) => all(v),
        Flat::F32(v) => all(v),
        Flat::F64(v) => all(v),
        Flat::Str(v) => v.views().iter().zip(v.iter()).map(|(view, bytes)| raw_string(view, bytes)).collect(),
        Flat::Nested(_) => panic!("nested keys are stored as order-preserving bytes before they are hashed"),
    }
}

/// Folds one column into the hashes of its rows.
fn combine_column(column: ColumnView<'_>, hashes: &mut [u64]) {
    let ColumnView { vector, selection } = column;
    match vector.data() {
        Data::Flat(flat) => combine_flat(flat, vector, selection, hashes),
        Data::Constant(flat) => {
            let raw = raws_of(flat)[0];
            combine_rows(vector, selection, hashes, |_| raw);
        }
        Data::Dictionary(codes, dictionary) if dictionary.len() <= hashes.len() * ENTRIES_PER_ROW_MAX => {
            let mut raws = raws_of(dictionary.values());
            // Codes of NULL rows are 0 even if the dictionary is empty.
            if raws.is_empty() {
                raws.push(NULL_RAW);
            }
            combine_rows(vector, selection, hashes, |position| raws[codes[position] as usize]);
        }
        Data::Dictionary(codes, dictionary) => {
            let values = dictionary.values();
            let dense: Vec<u32> = match selection {
                Some(selection) => selection.iter().map(|&position| codes[position as usize]).collect(),
                None => codes.to_vec(),
            };
            dictionary.note_loads(&dense);
            let raws = raws_of(&values.take(&dense));
            for (row, hash) in hashes.iter_mut().enumerate() {
                let position = selection.map_or(row, |selection| selection[row] as usize);
                combine(hash, if vector.is_valid(position) { raws[row] } else { NULL_RAW });
            }
        }
    }
}

fn combine_flat(flat: &Flat, vector: &Vector, selection: Option<&[u32]>, hashes: &mut [u64]) {
    macro_rules! fixed {
        ($values:expr) => {{
            let values = &$values[..];
            match (selection, vector.validity()) {
                (None, None) => combine_dense(&values[..hashes.len()], hashes),
                (Some(selection), None) => {
                    let picked: Vec<_> = selection.iter().map(|&position| values[position as usize]).collect();
                    combine_dense(&picked, hashes)
                }
                _ => combine_rows(vector, selection, hashes, |position| values[position].raw()),
            }
        }};
    }
    match flat {
        Flat::Bool(v) | Flat::U8(v) => fixed!(v),
        Flat::I8(v) => fixed!(v),
        Flat::I16(v) => fixed!(v),
        Flat::I32(v) => fixed!(v),
        Flat::I64(v) => fixed!(v),
        Flat::I128(v) => fixed!(v),
        Flat::U16(v) => fixed!(v),
        Flat::U32(v) => fixed!(v),
        Flat::U64(v) => fixed!(v),
        Flat::F32(v) => fixed!(v),
        Flat::F64(v) => fixed!(v),
        Flat::Str(v) => combine_strings(v, vector, selection, hashes),
        Flat::Nested(_) => panic!("nested keys are stored as order-preserving bytes before they are hashed"),
    }
}

fn combine_strings(strings: &StrColumn, vector: &Vector, selection: Option<&[u32]>, hashes: &mut [u64]) {
    let views = strings.views();
    // NULL rows may hold any view, so their bytes aren't followed.
    combine_rows(vector, selection, hashes, |position| {
        let view = &views[position];
        if view.is_inline() { raw_string(view, &[]) } else { raw_long(strings.get(position)) }
    });
}

/// Folds values without NULLs into the hashes of their rows.
fn combine_dense<T: Raw>(values: &[T], hashes: &mut [u64]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512dq") && std::arch::is_x86_feature_detected!("avx512vl") {
        // SAFETY: the CPU has the features.
        return unsafe { combine_dense_avx512(values, hashes) };
    }
    combine_dense_portable(values, hashes)
}

/// The portable loop, compiled for CPUs that multiply vectors of 64-bit integers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512dq,avx512vl")]
unsafe fn combine_dense_avx512<T: Raw>(values: &[T], hashes: &mut [u64]) {
    combine_dense_portable(values, hashes)
}

#[inline(always)]
fn combine_dense_portable<T: Raw>(values: &[T], hashes: &mut [u64]) {
    hashes.iter_mut().zip(values).for_each(|(hash, value)| combine(hash, value.raw()));
}

/// Folds `raw(position)` of each valid row into its hash, and [`NULL_RAW`] for NULLs.
#[inline(always)]
fn combine_rows(vector: &Vector, selection: Option<&[u32]>, hashes: &mut [u64], raw: impl Fn(usize) -> u64) {
    match (selection, vector.validity()) {
        (None, None) => {
            for (row, hash) in hashes.iter_mut().enumerate() {
                combine(hash, raw(row));
            }
        }
        (Some(selection), None) => {
            for (hash, &position) in hashes.iter_mut().zip(selection) {
                combine(hash, raw(position as usize));
            }
        }
        (None, Some(validity)) => {
            for (row, hash) in hashes.iter_mut().enumerate() {
                combine(hash, if validity.get(row) { raw(row) } else { NULL_RAW });
            }
        }
        (Some(selection), Some(validity)) => {
            for (hash, &position) in hashes.iter_mut().zip(selection) {
                let position = position as usize;
                combine(hash, if validity.get(position) { raw(position) } else { NULL_RAW });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Bitmap, Dictionary};

    fn hashes(vector: &Vector) -> Vec<u64> {
        let mut hashes = Vec::new();
        hash_vectors(std::slice::from_ref(vector), vector.len(), &mut hashes);
        hashes
    }

    #[test]
    fn equal_values_hash_equally_in_every_representation() {
        let wide: Vec<i128> = vec![-128, -1, 0, 1, 127];
        let expected = hashes(&Vector::from_values(wide.clone(), None));
        assert_eq!(hashes(&Vector::from_values(wide.iter().map(|&v| v as i8).collect(), None)), expected);
        assert_eq!(hashes(&Vector::from_values(wide.iter().map(|&v| v as i64).collect(), None)), expected);
        let values = Flat::I32(wide.iter().map(|&v| v as i32).collect::<Vec<_>>().into());
        for repeat in [1, 3] {
            // Once with fewer rows than entries, once with more.
            let codes: Vec<u32> = (2..5).flat_map(|code| vec![code; repeat]).collect();
            let vector =
                Vector::dictionary(codes.clone().into(), Arc::new(Dictionary::new(values.clone(), true)), None);
            let looked_up: Vec<u64> = codes.iter().map(|&code| expected[code as usize]).collect();
            assert_eq!(hashes(&vector), looked_up);
        }
        assert_eq!(hashes(&Vector::constant(values.slice(1, 1), 4)), vec![expected[1]; 4]);
        assert_eq!(expected[1], hash_integer(-1));

        let large = [u64::MAX, 1 << 63, 5];
        let as_i128 = Vector::from_values(large.map(|v| v as i128).to_vec(), None);
        assert_eq!(hashes(&Vector::from_values(large.to_vec(), None)), hashes(&as_i128));
        assert_ne!(hashes(&as_i128)[0], hash_integer(-1));

        let floats = hashes(&Vector::from_values(vec![0.0, -0.0, f64::NAN, -f64::NAN], None));
        assert_eq!((floats[0], floats[2]), (floats[1], floats[3]));
    }

    #[test]
    fn nulls_and_selections_are_seen() {
        let strings = ["", "short", "a string that is longer than a view", "a string that is longer than a wiev"];
        let flat = Flat::Str(StrColumn::from_strings(strings));
        let plain = hashes(&Vector::flat(flat.clone(), None));
        for (hash, string) in plain.iter().zip(strings) {
            assert_eq!(*hash, hash_bytes(string.as_bytes()), "{string}");
        }
        let nullable = Vector::flat(flat, Some(Bitmap::from_fn(4, |i| i != 2)));
        let selection = [3, 2, 1, 2];
        let mut selected = Vec::new();
        hash_columns(&[ColumnView { vector: &nullable, selection: Some(&selection) }], 4, &mut selected);
        assert_eq!(selected, [plain[3], mix(NULL_RAW), plain[1], mix(NULL_RAW)]);
        assert_eq!(hashes(&Vector::null(crate::PhysicalType::I64, 1)), [mix(NULL_RAW)]);
    }

    /// Counts collisions of `bits` bits starting at `shift`, relative to what a random function would give.
    fn load(hashes: &[u64], shift: u32, bits: u32) -> f64 {
        let mut counts = vec![0u64; 1 << bits];
        hashes.iter().for_each(|hash| counts[(hash >> shift) as usize & ((1 << bits) - 1)] += 1);
        let expected = hashes.len() as f64 / counts.len() as f64;
        counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum::<f64>() / counts.len() as f64
    }

    #[test]
    #[cfg_attr(miri, ignore = "too many rows")]
    fn all_bits_are_mixed() {
        let rows = 1 << 16;
        let strings: Vec<String> = (0..rows).map(|i| format!("Customer#{i:09}")).collect();
        let keys: [Vec<Vector>; 4] = [
            vec![Vector::from_values((0..rows).collect::<Vec<i64>>(), None)],
            vec![Vector::from_values((0..rows).map(|i| i << 40).collect::<Vec<i64>>(), None)],
            vec![
                Vector::from_values((0..rows).map(|i| i >> 8).collect::<Vec<i64>>(), None),
                Vector::from_values((0..rows).map(|i| i & 255).collect::<Vec<i64>>(), None),
            ],
            vec![Vector::flat(Flat::Str(StrColumn::from_strings(strings)), None)],
        ];
        for (which, key) in keys.iter().enumerate() {
            let mut hashes = Vec::new();
            hash_vectors(key, rows as usize, &mut hashes);
            for shift in [0, 10, 24, 40, 52] {
                let chi = load(&hashes, shift, 12);
                assert!((0.8..1.2).contains(&chi), "key {which}, bits from {shift}: {chi}");
            }
        }
    }
}

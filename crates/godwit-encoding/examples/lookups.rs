//! Point lookups in packed against flat vectors, by size, after Windheuser et al., "Adaptive Compression For Databases", 2024,
//! figure 2: 64-bit integers, a random permutation of `0 .. n`, looked up in random order.
//!
//! ```sh
//! cargo run --release -p godwit-encoding --example lookups
//! ```
//!
//! A lookup is what a scan of single rows does: [`Part::take`] of some rows of a part. The number of lookups is the
//! same for each size; they run in batches of rows of one part, and the parts come in random order. Writes a JSON
//! object for each size: nanoseconds per lookup, and bytes.

use std::hint::black_box;
use std::time::Instant;

use godwit_encoding::{EncodedPart, EncodingChoice, Part, ROW_GROUP_ROWS, encode};
use godwit_vector::{SharedBytes, Vector};

/// Lookups for each measurement.
const LOOKUPS: usize = 4_000_000;

/// Lookups in one part before another part's turn.
const BATCH: usize = 64;

/// Runs of each measurement; the fastest counts.
const RUNS: usize = 5;

fn main() {
    let mut random = Random(42);
    for bits in 1..=27 {
        let size = 1usize << bits;
        let values = permutation(size, &mut random);
        let batches = batches(size, &mut random);
        let [flat, packed] =
            [EncodingChoice::Plain, EncodingChoice::Packed].map(|choice| measure(&values, &batches, choice));
        println!(
            r#"{{"size": {size}, "flat_nanos": {:.3}, "packed_nanos": {:.3}, "flat_bytes": {}, "packed_bytes": {}}}"#,
            flat.0, packed.0, flat.1, packed.1
        );
    }
}

/// Nanoseconds for a lookup, and bytes of all parts.
fn measure(values: &[i64], batches: &[(usize, Vec<u32>)], choice: EncodingChoice) -> (f64, usize) {
    let parts: Vec<(EncodedPart, SharedBytes)> = values
        .chunks(ROW_GROUP_ROWS)
        .map(|values| {
            let encoded = encode(&Vector::from_values(values.to_vec(), None), choice);
            let words: Vec<u64> = encoded.body.chunks(8).map(word).collect();
            let length = encoded.body.len();
            (encoded, SharedBytes::new(Words { words, length }))
        })
        .collect();
    let bytes = parts.iter().map(|(part, _)| part.body.len()).sum();
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let began = Instant::now();
        for (part, rows) in batches {
            let (encoded, body) = &parts[*part];
            let part = Part::shared(&encoded.header, body).expect("it was just encoded");
            black_box(part.take(0, rows).expect("the rows are there"));
        }
        let lookups = batches.len() * BATCH;
        best = best.min(began.elapsed().as_nanos() as f64 / lookups as f64);
    }
    (best, bytes)
}

/// Bytes at an address that is a multiple of eight, as in pages.
struct Words {
    words: Vec<u64>,
    length: usize,
}

impl AsRef<[u8]> for Words {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.length]
    }
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_ne_bytes(word)
}

fn permutation(size: usize, random: &mut Random) -> Vec<i64> {
    let mut values: Vec<i64> = (0..size as i64).collect();
    for index in (1..size).rev() {
        values.swap(index, random.below(index + 1));
    }
    values
}

/// Parts, and ascending rows of them.
fn batches(size: usize, random: &mut Random) -> Vec<(usize, Vec<u32>)> {
    let parts = size.div_ceil(ROW_GROUP_ROWS);
    let batch = |_| {
        let part = random.below(parts);
        let rows = ROW_GROUP_ROWS.min(size - part * ROW_GROUP_ROWS);
        let mut rows: Vec<u32> = (0..BATCH).map(|_| random.below(rows) as u32).collect();
        rows.sort_unstable();
        (part, rows)
    };
    (0..LOOKUPS / BATCH).map(batch).collect()
}

/// Random numbers, the same in each run (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}

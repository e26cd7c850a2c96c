//! What each scheme costs per row: decoding windows of a part, taking single rows, and keeping those in a range.
//!
//! `cargo run --release -p godwit-encoding --example encoding_speed`
//!
//! One thread, parts that fit in the cache. Prints a line of JSON per data set for `bench/encodings.py`: bytes per row,
//! decoded GB per second (fixed-width values, or bytes of strings), and nanoseconds per row.

use std::hint::black_box;
use std::time::Instant;

use godwit_encoding::{EncodingChoice, encode};
use godwit_vector::{Flat, StrColumn, ValueRange, Vector};

const ROWS: usize = 65_536;
const WINDOW_ROWS: usize = 2_048;

/// Rounds of each measurement; the fastest counts.
const ROUNDS: usize = 60;

/// Sampling steps: every n-th row is taken, a few of a block of 1,024, or many.
const TAKEN: [usize; 2] = [200, 10];

const WORDS: [&str; 20] = [
    "carefully",
    "regular",
    "deposits",
    "sleep",
    "among",
    "the",
    "pending",
    "ideas",
    "furiously",
    "express",
    "packages",
    "about",
    "final",
    "requests",
    "haggle",
    "blithely",
    "even",
    "accounts",
    "quickly",
    "special",
];

/// Evenly spread numbers below `bound`, the same in each run.
fn spread(bound: u64) -> impl Fn(usize) -> u64 {
    move |row| {
        let mixed = (row as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) % bound
    }
}

fn integers(value: impl Fn(usize) -> i64) -> Vector {
    Vector::from_values((0..ROWS).map(value).collect(), None)
}

fn doubles(value: impl Fn(usize) -> f64) -> Vector {
    Vector::from_values((0..ROWS).map(value).collect(), None)
}

fn comments() -> Vector {
    let comment = |row: usize| {
        let words = 3 + spread(5)(row) as usize;
        let text: Vec<&str> = (0..words).map(|word| WORDS[spread(20)(8 * row + word) as usize]).collect();
        text.join(" ")
    };
    let strings: Vec<String> = (0..ROWS / 8).map(comment).collect();
    Vector::flat(Flat::Str(StrColumn::from_strings(&strings)), None)
}

/// A name, its values, and how they are to be encoded.
fn data() -> Vec<(&'static str, Vector, EncodingChoice)> {
    let auto = EncodingChoice::Auto;
    vec![
        ("constant", integers(|_| 7), auto),
        ("packed, 12 bits", integers(|row| 700_000 + spread(4_000)(row) as i64), auto),
        ("packed, 24 bits", integers(|row| spread(1 << 24)(row) as i64), auto),
        ("multiples of 100", integers(|row| 100 * spread(50)(row) as i64), auto),
        ("ascending keys", integers(|row| 4 * row as i64 + spread(4)(row) as i64), auto),
        ("runs of 10", integers(|row| spread(100_000)(row / 10) as i64), EncodingChoice::RunLength),
        ("runs of 100", integers(|row| spread(100_000)(row / 100) as i64), EncodingChoice::RunLength),
        ("prices", doubles(|row| spread(1_000_000)(row) as f64 / 100.0), auto),
        ("prices, 1 in 1,000 is NaN", doubles(price_or_nan), auto),
        ("noise", doubles(|row| (spread(1 << 40)(row) as f64).sqrt()), auto),
        ("text", comments(), EncodingChoice::Plain),
        ("symbols", comments(), EncodingChoice::Symbols),
    ]
}

fn price_or_nan(row: usize) -> f64 {
    if row.is_multiple_of(1_000) { f64::NAN } else { spread(1_000_000)(row) as f64 / 100.0 }
}

/// Seconds of the fastest round.
fn best(mut work: impl FnMut()) -> f64 {
    let seconds = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(seconds).fold(f64::INFINITY, f64::min)
}

fn value_bytes(values: &Vector) -> usize {
    match values.to_flat() {
        Flat::Str(strings) => strings.iter().map(<[u8]>::len).sum(),
        flat => flat.len() * flat.physical().width_bytes(),
    }
}

fn main() {
    for (name, values, choice) in data() {
        let rows = values.len();
        let encoded = encode(&values, choice);
        let part = encoded.part();
        let windows = || (0..rows).step_by(WINDOW_ROWS).map(|start| start..rows.min(start + WINDOW_ROWS));
        let decoding = best(|| windows().for_each(|rows| drop(black_box(part.decode(rows).expect("it was encoded")))));
        let taking = TAKEN.map(|step| {
            let picked: Vec<u32> = (0..WINDOW_ROWS as u32).step_by(step).collect();
            let take = |start: usize| drop(black_box(part.take(start, &picked).expect("it was encoded")));
            let seconds = best(|| windows().for_each(|rows| take(rows.start)));
            seconds * 1e9 / (windows().count() * picked.len()) as f64
        });
        let retaining = encoded.header.range.map_or(f64::NAN, |range| {
            let wanted = ValueRange { min: range.min + 1, max: range.max - (range.max - range.min) / 2 };
            let seconds = best(|| {
                for rows in windows() {
                    let mut mask = vec![u64::MAX; rows.len().div_ceil(64)];
                    part.retain_range(rows, wanted, &mut mask).expect("it was encoded");
                    black_box(mask);
                }
            });
            seconds * 1e9 / rows as f64
        });
        let encoding = best(|| drop(black_box(encode(&values, choice))));
        println!(
            "{{\"data\": \"{name}\", \"scheme\": \"{}\", \"bytes_per_row\": {:.3}, \"decode_gb_per_s\": {:.2}, \
             \"decode_ns_per_row\": {:.3}, \"take_few_ns_per_row\": {:.1}, \"take_many_ns_per_row\": {:.1}, \
             \"retain_ns_per_row\": {:.3}, \"encode_ns_per_row\": {:.1}}}",
            encoded.header.encoding.name(),
            encoded.body.len() as f64 / rows as f64,
            value_bytes(&values) as f64 / decoding / 1e9,
            decoding * 1e9 / rows as f64,
            taking[0],
            taking[1],
            retaining,
            encoding * 1e9 / rows as f64,
        );
    }
}

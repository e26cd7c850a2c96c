//! Operators, described by what they read per row, and the resulting addresses.

/// An operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    /// Computation per row, besides waiting for caches and memory, in nanoseconds of a worker.
    pub compute_ns: f64,
    /// The reads per row.
    pub patterns: Vec<Pattern>,
}

/// A kind of reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Packed codes of a column, in order; each worker has a part of the column, which never ends.
    Sequential {
        /// Width of a code.
        bits_per_row: u32,
    },
    /// One location per row, chosen uniformly at random.
    Random {
        /// Size of the structure; of each one, if every worker has its own.
        bytes: u64,
        /// Whether workers share it.
        sharing: Sharing,
    },
}

/// Whether workers share a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// One for all workers.
    Shared,
    /// One for each worker.
    PerWorker,
}

/// Bytes per group in a worker's hash table: a key and a maximum of four bytes each, 57 % full. 22 workers' tables of
/// 10^5 groups take 29 MiB; so the curve of the thesis's figure 4.4 bends where it should, below 40 MiB.
const GROUP_BYTES: u64 = 14;
/// Bytes per value of a dictionary: 10^6 values take 4 MB.
const VALUE_BYTES: u64 = 4;

/// Computation per row, chosen to reproduce the drops in the thesis's figures 4.4 to 4.7.
const SCAN_NS: f64 = 0.4;
const GROUPING_NS: f64 = 5.0;
const JOIN_NS: f64 = 14.0;

impl Operator {
    /// `SELECT count(*) FROM a WHERE x > ?` on packed codes of 20 bits.
    pub fn column_scan() -> Self {
        Self { compute_ns: SCAN_NS, patterns: vec![Pattern::Sequential { bits_per_row: bits(1_000_000) }] }
    }

    /// `SELECT max(v), g FROM b GROUP BY g`, `v` from a dictionary of `values`: 10^6, 10^7 and 10^8 take 4, 40 and 400
    /// MB.
    pub fn grouping(values: u64, groups: u64) -> Self {
        Self {
            compute_ns: GROUPING_NS,
            patterns: vec![
                Pattern::Sequential { bits_per_row: bits(values) },
                Pattern::Sequential { bits_per_row: bits(groups) },
                Pattern::Random { bytes: values * VALUE_BYTES, sharing: Sharing::Shared },
                Pattern::Random { bytes: groups * GROUP_BYTES, sharing: Sharing::PerWorker },
            ],
        }
    }

    /// `SELECT count(*) FROM r, s WHERE r.p = s.f`, probing a bit vector of `keys`.
    pub fn foreign_key_join(keys: u64) -> Self {
        Self {
            compute_ns: JOIN_NS,
            patterns: vec![
                Pattern::Sequential { bits_per_row: bits(keys) },
                Pattern::Random { bytes: keys.div_ceil(8), sharing: Sharing::Shared },
            ],
        }
    }

    /// Number of lines that a row touches.
    pub(super) fn lines_per_row(&self, line_bytes: u64) -> f64 {
        let lines = |pattern: &Pattern| match *pattern {
            Pattern::Sequential { bits_per_row } => f64::from(bits_per_row) / 8.0 / line_bytes as f64,
            Pattern::Random { .. } => 1.0,
        };
        self.patterns.iter().map(lines).sum()
    }
}

/// Width of a code for `values` distinct values.
fn bits(values: u64) -> u32 {
    values.next_power_of_two().trailing_zeros().max(1)
}

/// Address space per structure, and per worker in it.
const STRUCTURE_BYTES_LOG2: u32 = 48;
const WORKER_BYTES_LOG2: u32 = 40;
/// Structures start at a random page within this many bytes, as they would in memory; otherwise those of all workers
/// would map to the same sets.
const START_BYTES_LOG2: u32 = 32;
const PAGE_BYTES: u64 = 4096;

/// The addresses of one worker.
pub(super) struct Worker {
    cursors: Vec<Cursor>,
    random: Random,
}

enum Cursor {
    Sequential { base: u64, bits: u64, bits_per_row: u64 },
    Random { base: u64, bytes: u64 },
}

impl Worker {
    /// Worker `index` of operator number `number`, with its own structures.
    pub(super) fn new(operator: &Operator, number: usize, index: usize) -> Self {
        let cursor = |(place, pattern): (usize, &Pattern)| {
            let structure = ((number * 16 + place) as u64) << STRUCTURE_BYTES_LOG2;
            let base = |part: u64| {
                let place = structure + (part << WORKER_BYTES_LOG2);
                place + Random::new(place).below(1 << START_BYTES_LOG2) / PAGE_BYTES * PAGE_BYTES
            };
            match *pattern {
                Pattern::Sequential { bits_per_row } => {
                    Cursor::Sequential { base: base(index as u64), bits: 0, bits_per_row: bits_per_row.into() }
                }
                Pattern::Random { bytes, sharing: Sharing::Shared } => Cursor::Random { base: base(0), bytes },
                Pattern::Random { bytes, sharing: Sharing::PerWorker } => {
                    Cursor::Random { base: base(index as u64), bytes }
                }
            }
        };
        let random = Random::new(((number as u64) << 32) + index as u64 + 1);
        Self { cursors: operator.patterns.iter().enumerate().map(cursor).collect(), random }
    }

    /// The accesses of `rows` rows, one pattern after the other, as in vectorized execution. In a sequence, each line
    /// counts once: the rest of it is read from registers or the first level.
    pub(super) fn run(&mut self, rows: u64, line_bytes: u64, mut visit: impl FnMut(usize, u64)) {
        for (place, cursor) in self.cursors.iter_mut().enumerate() {
            match cursor {
                Cursor::Sequential { base, bits, bits_per_row } => {
                    let lines_at = |bits: u64| bits.div_ceil(8 * line_bytes);
                    let first = lines_at(*bits);
                    *bits += rows * *bits_per_row;
                    (first..lines_at(*bits)).for_each(|line| visit(place, *base + line * line_bytes));
                }
                Cursor::Random { base, bytes } => {
                    (0..rows).for_each(|_| visit(place, *base + self.random.below(*bytes)));
                }
            }
        }
    }
}

/// Random numbers, the same in each run: SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
/// Generators", 2014).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `limit`, which is above 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ mixed >> 31) * u128::from(limit)) >> 64) as u64
    }
}

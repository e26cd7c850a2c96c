//! The cost model of compaction (section 3).
//!
//! ```text
//! g(d) = C1 + d · C2      copying a chunk of d rows, each with its strings, into the buffer
//! f(d) = C3 + d · C4      what an operator needs for a chunk of d rows
//! Gains(dB, di) = C3 − g(di) + C3 · Σ_j Vj · (min(Rj, dB) + min(Rj, di) − min(Rj, dB + di))
//! ```
//!
//! Rj and Vj are the products of the chunk-reducing factors and of the row factors of the first j operators downstream.
//! The constants are measured on this machine when they are first needed; the factors are derived from counts taken
//! while the pipeline runs. C4 doesn't appear in the gains: compaction doesn't change the number of rows.

use std::sync::OnceLock;
use std::time::Instant;

use godwit_pipeline::{Flow, FlowCounts};
use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::kernels::select::select_true;
use godwit_vector::{CHUNK_ROWS, Chunk, ChunkBuilder, Flat, StrColumn, Vector};

/// Counts of what arrives at the compactors of a pipeline and what leaves them.
pub(super) struct Traffic {
    points: Vec<Point>,
}

#[derive(Default)]
struct Point {
    arrived: Flow,
    left: Flow,
    /// Operators between this compactor and the sink, compactors not counted.
    followers: usize,
}

impl Traffic {
    /// For each compactor, how many operators follow.
    pub(super) fn new(followers: Vec<usize>) -> Self {
        Self { points: followers.into_iter().map(|followers| Point { followers, ..Point::default() }).collect() }
    }

    /// Adds what arrived at a compactor and what left it.
    pub(super) fn note(&self, point: usize, arrived: FlowCounts, left: FlowCounts) {
        self.points[point].arrived.add(arrived);
        self.points[point].left.add(left);
    }

    /// The (R, V) of the operators behind a compactor, one by one. An operator that reduces nothing has the factors of
    /// the one before it; behind the last compactor no factors are known, and the last operator needs none.
    fn factors(&self, point: usize) -> Vec<(f64, f64)> {
        let mut factors = Vec::new();
        let (mut reduction, mut expansion) = (1.0, 1.0);
        for pair in self.points[point..].windows(2) {
            let operators = pair[0].followers - pair[1].followers;
            factors.extend(std::iter::repeat_n((reduction, expansion), operators - 1));
            let (left, arrived) = (pair[0].left.counts(), pair[1].arrived.counts());
            reduction *= (left.mean_rows() / arrived.mean_rows().max(1.0)).max(1.0);
            expansion *= arrived.rows as f64 / left.rows.max(1) as f64;
            factors.push((reduction, expansion));
        }
        let rest = self.points.last().expect("there is a compactor").followers;
        factors.extend(std::iter::repeat_n((reduction, expansion), rest - 1));
        factors
    }

    /// The largest threshold at which compaction still pays off (section 3.4, Dynamic Compaction): up to half a chunk.
    pub(super) fn threshold(&self, point: usize, costs: Costs, shape: RowShape, chunk_rows: usize) -> usize {
        let factors = self.factors(point);
        let half = chunk_rows / 2;
        let gains = |rows: usize| costs.gains(&factors, shape, half as f64, rows as f64) >= 0.0;
        // The gain falls as the size grows: find the largest size with a gain.
        let (mut low, mut high) = (0, half);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if gains(middle) { low = middle } else { high = middle - 1 }
        }
        low
    }
}

/// The size of the copy of a row.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowShape {
    pub(super) columns: usize,
    /// Bytes of strings beyond their views, without those that are already shared with the buffer.
    pub(super) string_bytes: f64,
}

/// The constants of the model, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costs {
    /// C1: cost of copying a chunk, for each column.
    copy_chunk: f64,
    /// C2: cost of copying a row, for each column.
    copy_row: f64,
    /// The part of C2 due to strings: cost of copying a byte of them.
    copy_string_byte: f64,
    /// C3: cost of calling an operator.
    operate_chunk: f64,
}

impl Costs {
    /// Measured on this machine, once per process.
    pub(super) fn measured() -> Self {
        static COSTS: OnceLock<Costs> = OnceLock::new();
        *COSTS.get_or_init(measure)
    }

    fn gains(self, factors: &[(f64, f64)], shape: RowShape, buffer: f64, chunk: f64) -> f64 {
        let strings = chunk * shape.string_bytes * self.copy_string_byte;
        let copy = shape.columns as f64 * (self.copy_chunk + chunk * self.copy_row) + strings;
        let saved = |&(reduction, expansion): &(f64, f64)| {
            expansion * (buffer.min(reduction) + chunk.min(reduction) - (buffer + chunk).min(reduction))
        };
        self.operate_chunk - copy + self.operate_chunk * factors.iter().map(saved).sum::<f64>()
    }
}

/// Columns of the chunks used for measuring.
const MEASURED_COLUMNS: usize = 4;

/// Chunks measured per size; the fastest counts, as interference only adds time. All sizes together take less than a
/// millisecond.
const MEASURED_CHUNKS: usize = 8;

/// Rows and length of the strings used for measuring: long ones, so that bytes dominate.
const MEASURED_STRING_ROWS: usize = 256;
const MEASURED_STRING_BYTES: usize = 256;

fn measure() -> Costs {
    let (few, many) = (1, CHUNK_ROWS / 2);
    let copy = |rows: usize| {
        let mut builder = ChunkBuilder::new(CHUNK_ROWS);
        fastest(rows, |chunk| {
            if builder.room() < chunk.len() {
                builder.finish();
            }
            builder.append(chunk, 0, chunk.len());
        })
    };
    let (copy_few, copy_many) = (copy(few), copy(many));
    let columns = MEASURED_COLUMNS as f64;
    let copy_row = ((copy_many - copy_few) / (many - few) as f64).max(0.0) / columns;
    let copy_string = fastest_copy_of_strings() / MEASURED_STRING_ROWS as f64;
    let copy_string_byte = ((copy_string - copy_row) / MEASURED_STRING_BYTES as f64).max(0.0);
    // What any operator does: it evaluates something on each row, and selects among the rows.
    let (mut hashes, mut rows) = (Vec::new(), Vec::new());
    let operate_chunk = fastest(few, |chunk| {
        hash_vectors(&[chunk.dense(0)], chunk.len(), &mut hashes);
        let bits: Vec<u8> = hashes.iter().map(|hash| (hash & 1) as u8).collect();
        select_true(&bits, None, &mut rows);
        let mut selected = chunk.clone();
        selected.select(&rows);
        selected.push(Vector::from_values(vec![0i64; rows.len()], None));
        std::hint::black_box(selected);
    });
    Costs { copy_chunk: (copy_few / columns - copy_row).max(1.0), copy_row, copy_string_byte, operate_chunk }
}

/// Nanoseconds for the strings of [`MEASURED_STRING_ROWS`] rows whose buffers aren't shared.
fn fastest_copy_of_strings() -> f64 {
    let strings = || {
        let texts = (0..MEASURED_STRING_ROWS).map(|row| format!("{row:0MEASURED_STRING_BYTES$}"));
        let column = Vector::flat(Flat::Str(StrColumn::from_strings(texts)), None);
        Chunk::new(vec![column], MEASURED_STRING_ROWS)
    };
    let (first, other) = (strings(), strings());
    let times = (0..MEASURED_CHUNKS).map(|_| {
        let mut builder = ChunkBuilder::new(CHUNK_ROWS);
        builder.append(&first, 0, 1);
        let begun = Instant::now();
        builder.append(&other, 0, MEASURED_STRING_ROWS);
        begun.elapsed().as_nanos() as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Nanoseconds for a chunk of `rows` rows out of a full one.
fn fastest(rows: usize, mut work: impl FnMut(&Chunk)) -> f64 {
    let column = || Vector::from_values((0..CHUNK_ROWS as i64).collect::<Vec<_>>(), None);
    let mut chunk = Chunk::new((0..MEASURED_COLUMNS).map(|_| column()).collect(), CHUNK_ROWS);
    let step = CHUNK_ROWS / rows;
    chunk.select(&(0..rows).map(|row| (row * step) as u32).collect::<Vec<_>>());
    let times = (0..MEASURED_CHUNKS).map(|_| {
        let begun = Instant::now();
        work(&chunk);
        begun.elapsed().as_nanos() as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The proportions of the paper's figure 4, for chunks of one column.
    const PAPER: Costs = Costs { copy_chunk: 250.0, copy_row: 40.0, copy_string_byte: 0.5, operate_chunk: 2400.0 };

    fn columns(columns: usize) -> RowShape {
        RowShape { columns, string_bytes: 0.0 }
    }

    /// Compactors after each of `joins` probes but the last, each of which reduces chunks by `factor`.
    fn traffic(joins: usize, factor: u64) -> Traffic {
        let traffic = Traffic::new((1..joins).rev().collect());
        for point in 0..joins - 1 {
            let rows = 1 << 20;
            let arrived = FlowCounts { rows, chunks: rows * factor / 2048 };
            traffic.note(point, arrived, FlowCounts { rows, chunks: rows / 2048 });
        }
        traffic
    }

    #[test]
    fn thresholds_are_those_of_the_paper() {
        // Section 3.4: {293, 53, 0} and {1024, 53, 0}; before the sink there is no compactor here.
        for (factor, first) in [(4, 293), (256, 1024)] {
            let traffic = traffic(3, factor);
            assert_eq!([0, 1].map(|point| traffic.threshold(point, PAPER, columns(1), 2048)), [first, 53]);
        }
    }

    #[test]
    fn wide_rows_and_weak_reduction_make_it_careful() {
        let threshold = |factor, shape| traffic(4, factor).threshold(0, PAPER, shape, 2048);
        assert!(threshold(256, columns(1)) >= threshold(16, columns(1)));
        assert!(threshold(2, columns(8)) < threshold(2, columns(1)));
        assert_eq!(threshold(2, columns(100)), 0);
        let with_strings = |string_bytes| threshold(2, RowShape { columns: 1, string_bytes });
        assert!(with_strings(100.0) < with_strings(10.0) && with_strings(10.0) < threshold(2, columns(1)));
    }

    #[test]
    fn the_machine_has_costs() {
        let costs = Costs::measured();
        assert!(costs.copy_chunk > 0.0 && costs.copy_row > 0.0 && costs.operate_chunk > 0.0, "{costs:?}");
        assert!((0.0..100.0).contains(&costs.copy_string_byte), "{costs:?}");
        assert!(costs.operate_chunk < 1e6, "{costs:?}");
    }
}

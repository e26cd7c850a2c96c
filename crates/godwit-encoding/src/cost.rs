//! The cost of decoding, and its weight: all numbers that the choice of a scheme depends on.
//!
//! The unit of cost is the time in which bit unpacking decodes the same number of bytes of values: 16 picoseconds per
//! byte on the machine of docs/encodings.md, which the costs are taken from (`examples/encoding_speed.rs`).

/// A scheme of this cost must take half the bytes of one that costs nothing: at 20, symbols must save 18 % of plain
/// text, runs of ten rows 37 % of bit packing. A lower value would leave comments of short words uncompressed, a higher
/// one would slow down scans for hardly any saving.
const COST_OF_HALF: f64 = 20.0;

pub(crate) const CONSTANT: f64 = 0.2;
pub(crate) const PLAIN: f64 = 0.8;
pub(crate) const PACKED: f64 = 1.0;
pub(crate) const MULTIPLES: f64 = 1.0;
pub(crate) const EVEN_STEPS: f64 = 1.0;
/// Decoding costs four times as much as with packing, and single rows, which joins and late materialization take, nine
/// times as much. With the keys of lineitem and orders as differences, at a third of their packed bytes, TPC-H took 7 %
/// longer: they must take a tenth.
pub(crate) const DELTA: f64 = 200.0;
pub(crate) const DECIMALS: f64 = 3.0;
pub(crate) const TEXT: f64 = 3.0;
pub(crate) const SYMBOLS: f64 = 8.0;

/// The cost of very long runs, and the extra cost if each row is a run. Runs of ten rows are read at a quarter of
/// packing's speed; with the keys of lineitem in runs of four, at half of their packed bytes, TPC-H took 15 % longer.
pub(crate) const RUN_LENGTH: f64 = 1.0;
pub(crate) const RUN_PER_ROW: f64 = 120.0;

/// The measure by which proposals are compared: lower is better.
pub(crate) fn weighted(bytes: usize, cost: f64) -> f64 {
    bytes as f64 * (1.0 + cost / COST_OF_HALF)
}

//! What decoding costs, and what it is worth: all numbers that the choice of a scheme depends on.
//!
//! The unit of a cost is the time in which bit packing decodes as many bytes of values: 16 picoseconds per byte where
//! docs/encodings.md was measured, from which the costs are taken (`examples/encoding_speed.rs`).

/// A scheme of this cost must have half the bytes of one that costs nothing: at 20, symbols must save 18 % of plain text,
/// runs of ten rows 37 % of bit packing. More would leave comments of short words uncompressed, less would
/// trade a scan's time for bytes that are hardly fewer.
const COST_OF_HALF: f64 = 20.0;

pub(crate) const CONSTANT: f64 = 0.2;
pub(crate) const PLAIN: f64 = 0.8;
pub(crate) const PACKED: f64 = 1.0;
pub(crate) const MULTIPLES: f64 = 1.0;
pub(crate) const EVEN_STEPS: f64 = 1.0;
/// Decoding costs four times what packing does, and single rows, which is what joins and late columns take, nine times. With the
/// keys of lineitem and orders as differences, a third of their packed bytes, TPC-H took 7 % longer: they must take a tenth.
pub(crate) const DELTA: f64 = 200.0;
pub(crate) const DECIMALS: f64 = 3.0;
pub(crate) const TEXT: f64 = 3.0;
pub(crate) const SYMBOLS: f64 = 8.0;

/// Of runs without rows, and how much more if each row is a run. Runs of ten rows are read at a quarter of packing's speed; with the
/// keys of lineitem in runs of four, half of their packed bytes, TPC-H took 15 % longer.
pub(crate) const RUN_LENGTH: f64 = 1.0;
pub(crate) const RUN_PER_ROW: f64 = 120.0;

/// The measure by which proposals are compared: less is better.
pub(crate) fn weighted(bytes: usize, cost: f64) -> f64 {
    bytes as f64 * (1.0 + cost / COST_OF_HALF)
}

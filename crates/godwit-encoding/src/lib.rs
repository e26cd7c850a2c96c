//! Encodings of column segments: how values are stored in the file and, compressed, in memory.
//!
//! A *segment* is one column of one row group (at most [`ROW_GROUP_ROWS`] rows), cut into *parts* that fit a page. A
//! part is a header, which lives with the table's metadata, and a body of bytes. Any range of rows can be decoded in
//! bulk, any row alone, and range predicates are evaluated on packed values, without decoding them.
//!
//! ```text
//!            encode (choose.rs)                     Part::decode, take, retain (part.rs)
//!   Vector ──────────────────▶ PartHeader + body ────────────────────────────────────▶ Vector, mask of rows
//!      │                            ▲    │
//!      ▼ propose         write      │    │ decode, take, retain: one call per window
//!   ┌────────────────────────── registry.rs: the schemes, their numbers and names ─────────────────────────┐
//!   │ null  constant  packed  multiples  delta  decimals  run_length  plain  text  symbols  lists         │
//!   └─ schemes/<name>/{mod, encode, decode, take, retain, validate, tests}.rs, all behind scheme.rs ───────┘
//!        packing.rs    bit packing in blocks of 1,024 (fastlanes)     used by most
//!        lengths.rs    lengths of strings and lists                   used by text, symbols and lists
//! ```
//!
//! Each scheme proposes how to store a column: the size, exact where that is cheap to compute, and the cost of
//! decoding. The smallest is taken, weighted by cost (`cost.rs`). A new scheme is a directory and a line of the
//! registry; the tests of all schemes (`conformance.rs`) find it there.
//!
//! Strings of few distinct values are not encoded here: the table replaces them with the codes of its
//! [`OrderedDictionary`], which are integers like any others.
//!
//! A body starts with the validity bitmap if the part has NULLs and values. Everything read is checked against the
//! header and never trusted: a body that contradicts its header is an error of kind `Corrupt`, or yields wrong values,
//! but it doesn't crash. The storage's checksums verify that it is the body that was written.
//!
//! Source: thesis 2.2.1.

mod choose;
mod column;
mod cost;
mod dictionary;
mod flat;
mod header;
mod lengths;
mod packing;
mod parameters;
mod part;
mod registry;
mod scheme;
mod schemes;
mod validity;

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod tests;

pub use choose::{Encoder, EncodingChoice, encode};
pub use dictionary::{OrderedDictionary, UnitedDictionary};
pub use header::{PartContent, PartHeader};
pub use part::{CodeFilter, EncodedPart, Part};
pub use registry::Encoding;

/// Maximum number of rows in a row group, and thus in a segment: 64 chunks.
pub const ROW_GROUP_ROWS: usize = 131_072;

/// Decoding starts at a multiple of this many rows: the block size of `fastlanes`.
pub const BLOCK_ROWS: usize = 1_024;

//! Encodings of column segments: how values lie in the file and, compressed, in memory.
//!
//! A *segment* is one column of one row group (at most [`ROW_GROUP_ROWS`] rows), cut into *parts* that fit a page. A part
//! is a header, which lives with the table's metadata, and a body of bytes. Any run of rows can be decoded in bulk, any
//! row alone, and range predicates are evaluated on what is packed, without decoding the values.
//!
//! ```text
//!            encode (choose.rs)                         Part::decode, take, select
//!   values ───────────────────▶ PartHeader + body ────────────────────────────────▶ vectors, row numbers
//!
//!   Constant     one value, or NULL only                          no body
//!   Packed       integers: base + offsets of a few bits           packed.rs   (fastlanes)
//!   Decimals     doubles that are decimals: packed integers       decimals.rs
//!   RunLength    ends of runs, a value per run                    run_length.rs
//!   Plain        fixed-width values as they are                   plain.rs
//!   Text         strings as they are, shared with the body        text.rs
//!   Symbols      strings by a table of symbols                    text.rs     (FSST)
//! ```
//!
//! Strings of few distinct values are not encoded here: the table replaces them by the codes of its
//! [`OrderedDictionary`], which are integers like others.
//!
//! A body starts with the validity bitmap if the part has NULLs and values. Everything read is checked against the header
//! and never trusted: a body that contradicts its header is an error of kind `Corrupt`, or yields wrong values, but it
//! doesn't crash. That it is the body that was written is for the storage's checksums to say.
//!
//! Source: thesis 2.2.1.

mod choose;
mod decimals;
mod dictionary;
mod header;
mod packed;
mod part;
mod plain;
mod run_length;
mod text;
mod validity;

#[cfg(test)]
mod tests;

pub use choose::{EncodingChoice, encode};
pub use dictionary::{OrderedDictionary, UnitedDictionary};
pub use header::{Encoding, PartHeader};
pub use part::{CodeFilter, EncodedPart, Part};

/// Most rows of a row group, and so of a segment: 64 chunks.
pub const ROW_GROUP_ROWS: usize = 131_072;

/// Parts are decoded from rows that are a multiple of this: what `fastlanes` packs together.
pub const BLOCK_ROWS: usize = 1_024;

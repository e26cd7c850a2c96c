//! Columns in flight: physical types, vectors, selection vectors, chunks, and the kernels that work on them.
//!
//! ```text
//! Chunk ── up to CHUNK_ROWS rows
//!  ├─ selections: [sel0, sel1, …]       each: one u32 position per row of the chunk
//!  └─ columns:    [(Vector, Some(sel0)), (Vector, None), …]
//!                    └─ Flat | Constant | Dictionary(codes, shared Dictionary)
//! ```
//!
//! Row `i` of a column is `vector[sel[i]]`, or `vector[i]` if the column has no selection. Filters and joins rewrite
//! the few selections of a chunk and never touch the columns (chunk-compaction paper, section 5).
//!
//! Kernels take *dense* vectors ([`Chunk::dense`]); a predicate on a dictionary vector is evaluated once per entry.
//! Vectors carry physical types only; what a value means (scale, time zone, nullability) is in the plan's
//! [`ColumnType`]s.

mod arrow;
mod bitmap;
mod chunk;
mod chunk_builder;
mod dictionary;
pub mod kernels;
mod layout;
mod nested_bytes;
mod shared_bytes;
pub mod sql;
mod str_builder;
mod str_view;
mod types;
mod vector;

pub use arrow::{bitmap_of, from_arrow, from_arrow_codes, to_arrow};
pub use bitmap::Bitmap;
pub use chunk::{Chunk, ColumnView, Selection};
pub use chunk_builder::ChunkBuilder;
pub use dictionary::Dictionary;
pub use layout::in_layout;
pub use nested_bytes::{Lists, nested_from_bytes, nested_to_bytes};
pub use shared_bytes::SharedBytes;
pub use str_builder::StrBuilder;
pub use str_view::{Heap, Heaps, StrColumn, StrView};
pub use types::{ColumnType, PhysicalType, RowType, ValueRange};
pub use vector::{Data, Flat, Native, Vector};

/// Maximum number of rows in a chunk: large enough to pay for interpretation, small enough that a few columns stay in
/// the L1/L2 cache (the paper's D).
pub const CHUNK_ROWS: usize = 2048;

//! The database file, its log, and the read-optimized part of tables.
//!
//! ```text
//!   x.godwit       blocks of 256 KiB, written once, referred to by (number, checksum)     file/
//!     header A, B  take turns; the newer sound one says where the newest checkpoint is
//!     blocks       segments, dictionaries, and streams of metadata
//!   x.godwit.wal   what was committed since that checkpoint, a record per commit          log/
//!
//!   blocks         held by who may still read them; in the file or in the pool            block.rs
//!   byte streams   bodies of segments over blocks                                         byte_stream.rs
//!   tables         row groups of encoded columns, dictionaries, bulk loads                table/
//! ```
//!
//! A checkpoint writes new blocks beside the old ones, syncs, then overwrites the older header and syncs again: up to
//! that instant the file is the old checkpoint, from then on the new one. Blocks that only the old checkpoint used are
//! then free. The log's own header says which checkpoint it continues; a log of an older one is stale and is dropped,
//! so that the header switch is the only instant that counts.
//!
//! The byte-level format is in `docs/format.md`.
#![forbid(unsafe_code)]

pub mod block;
mod byte_stream;
pub mod file;
pub mod log;
pub mod table;
pub mod wire;

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Number of a checkpoint, starting at 1; the log continues the checkpoint whose number it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CheckpointNumber(pub u64);

impl CheckpointNumber {
    /// The empty one of a new file.
    pub const FIRST: Self = Self(1);

    /// The next one.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The checksum of bytes at a place: the same bytes at another place have another checksum, so that a block or record
/// written to the wrong place isn't mistaken for the right one.
fn checksum(bytes: &[u8], place: u64) -> u64 {
    xxh3_64_with_seed(bytes, place)
}

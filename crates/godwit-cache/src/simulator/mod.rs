//! A cache hierarchy fed by addresses: private caches of cores above one shared cache whose ways can be masked.
//!
//! ```text
//!  core 0      core 1    …                 lookups, in this order
//! ┌───────┐  ┌───────┐
//! │private│  │private│   LRU                1. a hit here, or
//! └───┬───┘  └───┬───┘
//!   ┌─┴──────────┴─┐                        2. a hit in *any* way here, or
//!   │    shared    │     as told            3. memory: evicts a line of the ways of the access's *mask*
//!   └──────────────┘                           and takes it from the cores' caches, too (inclusion)
//! ```
//!
//! Inclusion matters: lines that a core uses all the time hit in its private cache, so the shared one considers them
//! unused and evicts them under a stream. Processors with an exclusive or non-inclusive shared cache don't suffer from
//! that; see [`Hierarchy::new`].
//!
//! *Set sampling* makes runs short: only one in n sets of all caches is simulated ([`SetSampling`]), and accesses that
//! map to others cost next to nothing. Sets are independent, so hit ratios are those of the whole, up to sampling
//! error.
//!
//! Left out: write-backs, prefetchers, instructions, and the hash by which processors choose a slice.

mod cache;
mod hierarchy;
mod plru;
mod replay;

pub use cache::{Cache, Geometry, Lookup, Replacement};
pub use hierarchy::{Hierarchy, Level, SetSampling};
pub use replay::{Hits, Replay, SHARES_PERCENT};

#[cfg(test)]
mod tests;

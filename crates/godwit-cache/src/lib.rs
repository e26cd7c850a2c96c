//! The last-level cache: how operators use it, how to divide it, and what that is worth.
//!
//! All cores of a processor share its last-level cache. A scan fills it with data that won't be read again, and evicts
//! the hash tables, dictionaries and bit vectors of others. Hardware can confine a thread to some *ways* of the cache:
//! it can still hit everywhere, but its loads only evict lines in these ways. So this crate follows chapter 4 of Stefan
//! Noll, "Resource-Efficient Data Processing" (thesis):
//!
//! ```text
//! operators say     CacheUsage   Polluting    Depends { bytes }         Sensitive, Table { bytes }
//!                                   │      ┌──────┴────────┐               │
//! by cache size     CacheClass   Polluting ◀ else  near ▶ Comparable    Sensitive       usage.rs, machine.rs
//!                                   │                      │               │
//! ways                             10 %       disjoint    60 %           100 %          partitioning/
//! ```
//!
//! # How workers use it
//!
//! A pipeline's class is that of its neediest operator ([`CacheSizes::class_of_all`]); operators that don't say are
//! [`CacheUsage::Sensitive`], so that nothing gets slower because it was forgotten. The scheduler classifies a pipeline
//! when it launches it, because the sizes of tables are known by then, and each worker thread enters the class before
//! each quantum:
//!
//! ```
//! use godwit_cache::{CachePartitioning, CacheSizes, CacheUsage, OffReason};
//! use std::sync::Arc;
//!
//! let partitioning = Arc::new(CachePartitioning::off(OffReason::Setting));
//! let caches = CacheSizes::of_this_machine();
//! std::thread::scope(|scope| {
//!     scope.spawn(|| {
//!         let mut place = partitioning.thread(); // when a worker thread starts
//!         let usages = [CacheUsage::Polluting, CacheUsage::Depends { bytes: 1 << 20 }];
//!         place.enter(caches.class_of_all(&usages)); // before a quantum: a system call only if the class differs
//!     }); // dropped when the thread ends: it goes home
//! });
//! assert_eq!(partitioning.status().to_string(), "off: cache_partitioning is set to off");
//! ```
//!
//! A user's thread that runs a small query itself doesn't take part, and keeps the entire cache. Threads inherit the
//! class of the thread that starts them, so a place doesn't assume that its thread is at home.
//!
//! # The other half: is it worth it?
//!
//! * [`simulator`]: a cache hierarchy with ways that can be masked per access, fed by addresses.
//! * [`model`]: the operators of the thesis's experiments as streams of addresses, and times from where they hit.
//! * [`latency`]: a measurement on the user's machine: pointer chasing, alone and alongside threads that pollute.
//!
//! # Patents
//!
//! Published patents exist on cache partitioning for database workloads, such as US 10,891,234. Whether one concerns
//! you is for you to find out. A build can leave partitioning out: the feature `partitioning` contains everything that
//! moves threads, and nothing else in this crate needs it; without it, [`CachePartitioning`] is always off and says so.
//! Dependants can also leave out the whole crate.
#![forbid(unsafe_code)]

pub mod latency;
mod machine;
pub mod model;
mod partitioning;
pub mod simulator;
mod usage;
mod ways;

pub use machine::{CacheSizes, Origin};
pub use partitioning::{CachePartitioning, Mode, OffReason, Status, ThreadPlace};
#[cfg(all(unix, feature = "partitioning"))]
pub use partitioning::{Call, Imitation};
#[cfg(feature = "partitioning")]
pub use partitioning::{CommandFile, OsFiles, Paths, SystemFiles};
pub use usage::{CacheClass, CacheUsage};
pub use ways::WayMask;

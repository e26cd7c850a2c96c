//! Models operators as streams of addresses, and their speed by where these hit: the thesis's experiments without its
//! machine.
//!
//! ```text
//! Operator ─▶ 22 workers' addresses ─▶ simulator::Hierarchy ─▶ accesses by level ─▶ time per row ─▶ rows per second
//!                    ▲                                                                                    │
//!                    └──────────── operators that run together take turns at these speeds ────────────────┘
//! ```
//!
//! *Time* is linear: a row costs its computation and, per access, the cost of the level that it hits ([`Costs`]). If
//! all operators together need more than the memory's bandwidth, the time spent waiting for memory is stretched by a
//! common factor until they don't.
//!
//! *Rows*: data structures have their full sizes; there are as many rows as it takes until hit ratios are stable, and
//! only then do they count. A run starts with empty caches, and its first half only fills them.
//!
//! # What it shows, and what not
//!
//! Computation per row, the size of a group, the overlap of lookups and the replacement policy were chosen to match the
//! thesis's figures: the results are a fit, not a prediction. Compared with the thesis's text, by `bench/insight.py`:
//!
//! * *Alone* (figures 4.3 to 4.7): scans don't care; groupings lose more than half where dictionary or hash tables are
//!   comparable to the cache; of the bit vectors, only that of 10^8 keys loses a third.
//! * *Beside a scan* (4.10 to 4.12): with the smallest dictionary 10^5 groups gain most (13 %; thesis 20 %), fewer
//!   nothing; with that of 40 MiB all gain (30 to 74 %; up to 21 %); with that of 400 MiB a few percent (4 to 7 %, but
//!   34 % with 10^5 groups; 3 to 9 %).
//! * *Beside a join that needs the cache* (4.14): a tenth of the cache costs the join a third and more (15 to 31 %),
//!   and gives the aggregation up to 11 % (up to 19 %); 60 % cost it nothing, and give 1 % (up to 9 %).
//!
//! Deviations, with their likely causes:
//!
//! * Gains beside a scan are too large with 40 MiB, and with 400 MiB and 10^5 groups. Here the scan gets its share of
//!   the memory's bandwidth as if it had the cores to itself; there, two threads share each core, and the scan loads
//!   less, and thus evicts less.
//! * With a dictionary of 4 MiB and few groups, throughput falls only a little in 5.5 MiB of cache; in the thesis it
//!   falls by 46 %, starting at 20 MiB. A real operator has some 10 MiB beyond its dictionary and tables: buffers of
//!   its workers, instructions, tables in which results are merged. The model has none of that.
//! * With one of 400 MiB it falls by less than in the thesis, for the same reason, and because page walks, whose
//!   entries also take up cache, aren't modelled.
//! * The bit vector of 10^9 keys falls a little more than in the thesis (18 %; 5 to 14 %): page walks would add the
//!   same cost to each of its lookups in caches of all sizes.
//! * Beside a join of 10^6 keys (4.13) the thesis gains most, 38 %; the model nothing: a join that reads packed keys,
//!   slowly enough for figure 4.7, reads 3.6 GB/s and evicts little. The thesis doesn't say what else it reads or
//!   writes.
//! * Beside a join of 10^8 keys that is confined to a tenth, aggregations of 10^6 groups lose a quarter: the join's
//!   additional misses take bandwidth from them.

mod machine;
mod operator;
mod run;

pub use machine::{Costs, Machine};
pub(crate) use operator::Random;
pub use operator::{Operator, Pattern, Sharing};
pub use run::{Load, Outcome, run};

#[cfg(test)]
mod tests;

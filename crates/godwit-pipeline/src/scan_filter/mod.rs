//! What scans of all kinds of tables have in common: filters in stages, and pruning by bounds.

mod bounds;
mod condition;
mod stages;

pub use bounds::{Bounds, Pruning, compare, refuted};
pub use condition::{Condition, Conjunct};
pub use stages::{Stage, StagePlan, Stages, plan};

//! Models of Godwit's concurrent code: loom tries all interleavings of its threads, and all values that they may see.
//! `cargo xtask soundness` compiles them with `--cfg loom`.
//!
//! The code is the product's own, file by file: what is modelled depends on nothing else.
#![cfg(all(test, loom))]

#[macro_use]
#[path = "../../../crates/godwit-rows/src/chain_insert.rs"]
#[allow(dead_code, reason = "the product's words aren't used")]
mod chain_insert;
#[path = "../../../crates/godwit-memory/src/page_state.rs"]
#[allow(dead_code, reason = "models use a part")]
mod page_state;
#[path = "../../../crates/godwit-pipeline/src/signal.rs"]
mod signal;

mod chains;
mod pages;
mod signals;

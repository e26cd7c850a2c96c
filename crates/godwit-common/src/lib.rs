//! Code shared by all crates of Godwit: the error type, the tags that memory carries, and a few small utilities.
//!
//! Nothing here knows about queries, pages or vectors.
#![forbid(unsafe_code)]

mod error;
mod foreign;
mod json;
mod memory_tag;
mod named;
mod secrets;
mod size;
mod sql_state;
mod stack;

pub use error::{Error, ErrorKind, Position, Result, Span};
pub use foreign::{call_foreign, is_in_foreign_call};
pub use json::Json;
pub use memory_tag::MemoryTag;
pub use named::Named;
pub use secrets::without_secrets;
pub use size::{format_bytes, parse_bytes};
pub use sql_state::SqlState;
pub use stack::{INLINE_LEVELS_MAX, with_stack};

/// Returns early with an [`Error`] of the given kind: `bail!(User, "no table named {name}")`.
#[macro_export]
macro_rules! bail {
    ($kind:ident, $($message:tt)+) => {
        return Err($crate::Error::new($crate::ErrorKind::$kind, format!($($message)+)))
    };
}

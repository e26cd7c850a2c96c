//! The scalar functions of SQL: their descriptions, and their kernels over vectors.
//!
//! ```text
//! library.rs    all functions by name
//! function.rs   Function: names, description, examples, forms     Form: types of arguments and result, a kernel
//! choose.rs     types of arguments ──► the form that takes them
//! kernel.rs     Kernel: vectors ──► a vector; Work: grants memory, and tells whether to go on
//! rows/         kernels made from a Rust function of one row: types of arguments and result, NULLs, errors
//! text/ …       the functions, by subject: each file has a list of them
//! ```
//!
//! Adding a function takes one entry in the list of its subject: the signature comes from the types of the Rust
//! function that computes a row; binding, messages, documentation and tests come from the entry.
//!
//! Arguments have the natural physical types of the form's argument types, as must the result. Rows with a NULL
//! argument aren't computed and give NULL, unless a form says otherwise.
#![forbid(unsafe_code)]

mod binary;
mod choose;
mod enumeration;
mod function;
mod json;
mod kernel;
mod library;
mod list;
mod number;
mod pattern;
mod room;
mod rows;
mod shared;
#[cfg(test)]
mod stopping;
mod structure;
#[cfg(test)]
mod testing;
mod text;
mod time;

pub use choose::choose;
pub use function::{Category, Form, Forms, Function};
pub use kernel::{Bounded, Kernel, Lease, TEXT_BYTES_MAX, Work};
pub use library::{functions, is_known};
pub use room::Room;
pub use text::long_as_text;

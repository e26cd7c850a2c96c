//! A directory for each scheme, with the same files in each; a file is left out where the scheme doesn't need it.
//!
//! ```text
//!   mod.rs       what is stored, with a picture of the body; the parameters and their place in the trait
//!   encode.rs    what it would take, and writing it
//!   decode.rs    runs of rows
//!   take.rs      single rows
//!   retain.rs    filters on what is stored
//!   validate.rs  whether parameters and body fit
//!   tests.rs     what the tests of all schemes (conformance.rs) don't see
//! ```

pub(crate) mod constant;
pub(crate) mod decimals;
pub(crate) mod delta;
pub(crate) mod lists;
pub(crate) mod multiples;
pub(crate) mod null;
pub(crate) mod packed;
pub(crate) mod plain;
pub(crate) mod run_length;
pub(crate) mod symbols;
pub(crate) mod text;

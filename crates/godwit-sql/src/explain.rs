//! `EXPLAIN`.
//!
//! ```text
//! EXPLAIN [ANALYZE] statement
//! EXPLAIN ( option, … ) statement    option: ANALYZE | FORMAT text | FORMAT json
//! ```
//!
//! ANALYZE runs the statement: a change of rows is made.

/// Options of EXPLAIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExplainOptions {
    /// Runs the statement, discards its rows, and shows what happened.
    pub analyze: bool,
    /// Shows it as JSON instead of text.
    pub json: bool,
}

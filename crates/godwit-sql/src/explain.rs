//! `EXPLAIN`.
//!
//! ```text
//! EXPLAIN [ANALYZE] query
//! EXPLAIN ( option, … ) query        option: ANALYZE | FORMAT text | FORMAT json
//! ```

/// Options of EXPLAIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExplainOptions {
    /// Runs the query, discards its rows, and shows what happened.
    pub analyze: bool,
    /// Shows it as JSON instead of text.
    pub json: bool,
}

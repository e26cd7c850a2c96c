//! `EXPLAIN`.
//!
//! ```text
//! EXPLAIN [ANALYZE] query
//! EXPLAIN ( option, … ) query        option: ANALYZE | FORMAT text | FORMAT json
//! ```

/// Options of EXPLAIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExplainOptions {
    /// Run the query, discard its rows, and show what happened.
    pub analyze: bool,
    /// As JSON, not as text.
    pub json: bool,
}

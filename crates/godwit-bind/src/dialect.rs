//! Choices of a session where dialects of SQL differ.

use godwit_common::Named;

/// What a statement means where dialects differ. The expressions and queries of definitions have the default, whatever
/// the session has chosen that uses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// Where orders without NULLS FIRST or LAST have NULLs.
    pub null_order: NullOrder,
    /// True if orders without ASC or DESC descend.
    pub descending: bool,
    /// True if `/` of two integers truncates, as in PostgreSQL; otherwise it is a DOUBLE, as in DuckDB.
    pub integer_division: bool,
}

impl Default for Dialect {
    fn default() -> Self {
        Self { null_order: NullOrder::Greatest, descending: false, integer_division: true }
    }
}

/// Where an order has NULLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NullOrder {
    /// As the greatest values: last, or first if the order descends; as in PostgreSQL.
    Greatest,
    /// As the least values: first, or last if the order descends; as in SQLite.
    Least,
    /// First.
    First,
    /// Last, as in DuckDB.
    Last,
}

impl NullOrder {
    /// Returns true if NULLs come first.
    pub(crate) fn is_first(self, descending: bool) -> bool {
        match self {
            Self::Greatest => descending,
            Self::Least => !descending,
            Self::First => true,
            Self::Last => false,
        }
    }
}

impl Named for NullOrder {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("nulls_last_on_asc_first_on_desc", Self::Greatest),
        ("nulls_first_on_asc_last_on_desc", Self::Least),
        ("nulls_first", Self::First),
        ("nulls_last", Self::Last),
    ];
}

//! Ids that replace names in a bound statement.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            /// Creates the id for an index.
            pub(crate) fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("a statement has fewer than 2^32 of everything"))
            }

            /// Returns the index.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }
    };
}

id!(
    /// A column of a table instance, or a computed one. Unique within a statement.
    ColumnId,
    "#"
);
id!(
    /// A node of a plan's arena.
    NodeId,
    "n"
);
id!(
    /// A shared plan: a subplan with several uses.
    SharedId,
    "shared "
);
id!(
    /// A parameter of a prepared statement.
    ParameterId,
    "$"
);

//! Ids that replace names when a statement is bound.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            /// The id at a position.
            pub(crate) fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("a statement has fewer than 2^32 of everything"))
            }

            /// The position.
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
    /// A column of an instance of a table, or a computed one. Unique in a statement.
    ColumnId,
    "#"
);
id!(
    /// A node of a plan's arena.
    NodeId,
    "n"
);
id!(
    /// A subplan that is used more than once.
    SharedId,
    "shared "
);
id!(
    /// A value that is given when a prepared statement runs.
    ParameterId,
    "$"
);

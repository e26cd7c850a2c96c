//! Tests of unnesting: shapes of plans, their results, and limits on their size.

mod bounds;
mod meaning;
mod query;
mod random;
mod shapes;

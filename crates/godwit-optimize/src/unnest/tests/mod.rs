//! Tests of unnesting: what plans look like, what they mean, and how large they may be.

mod bounds;
mod meaning;
mod query;
mod random;
mod shapes;

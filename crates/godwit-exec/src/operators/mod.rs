//! The small operators: those that keep no rows.

mod filter;
mod limit;
mod nothing;
mod project;
mod repeat;
mod unnest;
mod values;

pub use filter::FilterTransform;
pub use limit::LimitTransform;
pub use nothing::NothingSink;
pub use project::ProjectTransform;
pub use repeat::RepeatTransform;
pub use unnest::{UnnestColumn, UnnestTransform};
pub use values::ValuesSource;

use godwit_vector::Chunk;

use crate::pipeline::TransformVerdict;

/// The answer of a transform that makes at most one chunk of each: hands out what waits, if it has rows.
fn emit(waiting: &mut Option<Chunk>) -> TransformVerdict {
    match waiting.take() {
        Some(chunk) if !chunk.is_empty() => TransformVerdict::Chunk(chunk),
        _ => TransformVerdict::NeedInput,
    }
}

#[cfg(test)]
mod tests;

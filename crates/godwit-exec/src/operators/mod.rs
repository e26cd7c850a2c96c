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

/// The answer of a transform that makes one chunk of each, whose rows may all be dropped.
fn only(chunk: Chunk) -> TransformVerdict {
    if chunk.is_empty() { TransformVerdict::NeedInput } else { TransformVerdict::LastChunk(chunk) }
}

#[cfg(test)]
mod tests;

//! The small operators: those that keep no rows.

mod filter;
mod in_order;
mod limit;
mod nothing;
mod number;
mod project;
mod sample;
mod unnest;
mod values;

pub use filter::FilterTransform;
pub use in_order::InOrderSource;
pub use limit::{LimitTransform, RowNumber};
pub use nothing::NothingSink;
pub use number::NumberTransform;
pub use project::ProjectTransform;
pub use sample::SampleTransform;
pub use unnest::{UnnestColumn, UnnestTransform};
pub use values::ValuesSource;

use godwit_pipeline::TransformVerdict;
use godwit_vector::Chunk;

/// The verdict of a transform that turns each chunk into one, of which no rows may be left.
fn only(chunk: Chunk) -> TransformVerdict {
    if chunk.is_empty() { TransformVerdict::NeedInput } else { TransformVerdict::LastChunk(chunk) }
}

#[cfg(test)]
mod tests;

//! Expressions: DataFusion's `Expr` compiled to trees of kernels, with value ranges that prove narrow arithmetic safe.
//!
//! ```text
//! Expr ──compile──→ Expression (immutable tree, shared by workers) ──evaluate(chunk)──→ dense Vector
//!                   Predicate  (conjuncts)  ──worker()──→ PredicateWorker ──select(chunk)──→ fewer rows
//!                   Projection (several)    ──evaluate(chunk)──→ Chunk
//! ```
//!
//! - *Types.* An expression's logical type is the planner's; its physical type follows from proven ranges
//!   ([`range`]): a DECIMAL(38,4) product is computed in `i64`, unchecked, where the ranges of its operands allow it.
//! - *Dictionaries.* A subtree over one column that can't fail is evaluated once per dictionary entry.
//! - *Errors* come only from rows that SQL would evaluate: branches of CASE, COALESCE, AND and OR that can fail see only
//!   the rows that reach them.
//! - *Long tail.* Functions without a kernel here run as DataFusion's `ScalarUDF`s on Arrow arrays.
#![forbid(unsafe_code)]

mod arithmetic;
mod arrow_call;
mod batch;
mod bits;
mod cast;
mod compare;
mod compile;
mod compress;
mod conditional;
mod context;
mod expression;
mod key_codes;
mod like;
mod literal;
mod ordered;
mod predicate;
mod projection;
pub mod range;
mod set;
mod temporal;
mod text;
mod text_domain;

pub use compress::Compression;
pub use context::{CompileContext, Parameter, ScalarSubquery};
pub use expression::Expression;
pub use key_codes::KeyCodes;
pub use literal::{literal_value, scalar_from_integer, scalar_to_integer};
pub use ordered::{OrderedKey, ordered_value, value_of_ordered};
pub use predicate::{Predicate, PredicateWorker};
pub use projection::Projection;
pub use text_domain::{DOMAIN_VALUES_MAX, TextDomain};

#[cfg(test)]
mod tests;

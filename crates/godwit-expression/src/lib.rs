//! Expressions: compiles the plan's to trees of kernels, with value ranges that prove narrow arithmetic safe.
//!
//! ```text
//! Expr ──compile──→ Expression (immutable tree, shared by workers) ──evaluate(chunk)──→ dense Vector
//!                   Predicate  (conjuncts)  ──worker()──→ PredicateWorker ──select(chunk)──→ fewer rows
//!                   Projection (several)    ──evaluate(chunk)──→ Chunk
//! ```
//!
//! - *Types.* An expression's logical type is the plan's; its physical type follows from proven ranges
//!   ([`range`]): a DECIMAL(38,4) product is computed in `i64`, unchecked, where the ranges of its operands allow it.
//! - *Dictionaries.* A subtree over one column is evaluated once per dictionary entry (`entries.rs`), unless an entry fails.
//! - *Errors* come only from rows that SQL would evaluate: branches of CASE, COALESCE, AND and OR that can fail see only
//!   the rows that reach them.
//! - *Long tail.* Functions without a kernel here have one in `godwit-scalar`, or run row by row.
#![forbid(unsafe_code)]

mod arithmetic;
mod batch;
mod bits;
mod branches;
mod cast;
mod compare;
mod compile;
mod compress;
mod conditional;
mod entries;
mod expression;
mod key_codes;
mod like;
mod literal;
mod native;
mod ordered;
mod parameter;
mod pattern;
mod predicate;
mod projection;
pub mod range;
mod set;
mod temporal;
mod text;
mod text_domain;

pub use compile::{Layout, PlanContext, PlanSubquery};
pub use compress::Compression;
pub use expression::Expression;
pub use key_codes::KeyCodes;
pub use ordered::{OrderedKey, ordered_value, value_of_ordered};
pub use parameter::Parameter;
pub use predicate::{Predicate, PredicateWorker};
pub use projection::Projection;
pub use text_domain::{DOMAIN_VALUES_MAX, TextDomain};

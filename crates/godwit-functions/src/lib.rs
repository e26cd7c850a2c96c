//! The functions of SQL: which there are, what they take, and what computes them.
//!
//! ```text
//! Registry ── names, types of arguments ──► matches: argument types, result type, properties      (for the binder)
//!    │                                         └─ implementation, carried along unseen            (for the executor)
//!    ├─ scalar/, rows.rs, lambda.rs    ScalarImplementation: DataFusion's functions over Arrow arrays, and ours
//!    ├─ aggregate.rs                   AggregateImplementation: the executor computes aggregates by their names
//!    ├─ window.rs                      nothing: likewise
//!    └─ evaluate.rs                    calls with constants                                       (for the optimizer)
//!
//! SqlType ↔ Arrow's DataType (types.rs)       Value ↔ Arrow's scalars and arrays (values.rs)
//! ```
//!
//! DataFusion's scalar functions are used as they are: a signature, and a function of Arrow arrays. Nothing else of
//! DataFusion is.
#![forbid(unsafe_code)]

mod aggregate;
mod arguments;
mod errors;
mod evaluate;
mod implementation;
mod lambda;
mod registry;
mod rows;
mod scalar;
#[cfg(test)]
mod tests;
mod types;
mod values;
mod window;

pub use errors::{error_of, error_of_arrow};
pub use implementation::{AggregateImplementation, LambdaForm, Operator, ScalarImplementation, ValueFunction};
pub use registry::Registry;
pub use rows::{Check, RowFunction};
pub use types::{arrow_type, field_of, sql_type, type_of_field};
pub use values::{array_of_values, arrow_interval, scalar_of_value, sql_interval, value_at, value_of_scalar};

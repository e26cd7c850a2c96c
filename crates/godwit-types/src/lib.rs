//! SQL's types, the casts between them, and single values.
//!
//! ```text
//! SqlType ──► cast.rs         one table: which type becomes which, when, and whether something is lost
//!    │        unify.rs        the one type of several values
//!    │        arithmetic.rs   what + - * / % take and give
//!    │        names.rs        types by name
//!    │
//!    └──────► Value           a value of a type that its holder knows
//!             text/           reads and writes it as PostgreSQL does
//!             convert.rs      casts it
//!             compare.rs      puts it in order
//!             order_key.rs    what stands for it where representations are compared
//!             literal.rs      numbers of a statement
//!             definition.rs   a type as text, to be kept
//!             interval.rs     arithmetic with intervals, on the days of calendar.rs
//!             time_tz.rs      times of day with their distance from UTC
//!             time_zone.rs    moments and the local times of a zone
//! ```
//!
//! Types are SQL's: a user can write what a message says. How values are stored in vectors, and what Arrow calls them,
//! follows from the type in the crates above.
#![forbid(unsafe_code)]

mod arithmetic;
pub mod calendar;
mod cast;
mod compare;
mod convert;
mod definition;
mod exact;
pub mod interval;
mod literal;
mod names;
mod order_key;
mod sql_type;
mod text;
mod time_tz;
mod time_zone;
mod unify;
mod uuid;
mod value;

#[cfg(test)]
mod tests;

pub use arithmetic::{Arithmetic, ArithmeticTypes, arithmetic_type};
pub use cast::{Cast, Context, cast_kind, field_sources};
pub use compare::{compare_floats, compare_values, sql_compare, sql_equals};
pub use convert::cast_value;
pub use interval::IntervalUnit;
pub use literal::number_literal;
pub use order_key::{order_key, order_key_type};
pub use sql_type::{EnumType, SqlType, StructField};
pub use text::intervals::parse as parse_interval;
pub use text::times::{iso_moment, write_offset_minutes};
pub use text::{
    format_value, is_json, is_json_while, needs_quotes, parse_value, special_in_string, write_escaped, write_hex,
    write_integer, write_json_escaped, write_json_string, write_part, write_quoted, write_value,
};
pub use time_tz::TimeTz;
pub use time_zone::TimeZone;
pub use unify::common_type;
pub use uuid::UuidGenerator;
pub use value::{Interval, Value};

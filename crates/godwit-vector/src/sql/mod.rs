//! Conversion of SQL's types and values to those of vectors, and back.

mod reader;
#[cfg(test)]
mod tests;
mod text;
mod types;
mod values;

pub use reader::Reader;
pub use text::TextSink;
pub use types::{
    arrow_type, collation_of_field, column_type, field_of, is_same_but_layout, sql_type, type_of_field, with_collation,
};
pub use values::{array_of_values, arrow_interval, sql_interval, value_at, vector_of_values};

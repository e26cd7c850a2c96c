//! Types as written in SQL.

use std::sync::Arc;

use godwit_common::Span;

use super::{Expr, Ident, ObjectName};

/// A type.
#[derive(Debug, Clone, PartialEq)]
pub struct DataType {
    /// Its kind.
    pub kind: DataTypeKind,
    /// Its span in the text.
    pub span: Span,
}

/// The syntactic forms of types; the binder knows the names.
#[derive(Debug, Clone, PartialEq)]
pub enum DataTypeKind {
    /// `INTEGER`, `DECIMAL(10, 2)`, `my_schema.mood`. Names of several words have one spelling: `double precision`,
    /// `character varying`, `timestamp with time zone`, `time with time zone`, `bit varying`, `bigint unsigned`; the
    /// span covers the original text. `WITHOUT TIME ZONE` is omitted.
    Named {
        /// The name.
        name: ObjectName,
        /// The arguments in parentheses: numbers, and names or string literals for types that take them.
        arguments: Vec<Expr>,
    },
    /// `of[]`, `of[3]`, `of ARRAY`, `of ARRAY[3]`.
    Array {
        /// The type of the elements.
        of: Box<DataType>,
        /// The number of elements, if fixed.
        length: Option<u64>,
    },
    /// `STRUCT(a INTEGER, b VARCHAR)`, `ROW(…)`.
    Struct(Vec<StructTypeField>),
    /// `MAP(key, value)`.
    Map(Box<DataType>, Box<DataType>),
    /// `ENUM('a', 'b')`.
    Enum(Vec<Arc<str>>),
}

/// A field of a struct type.
#[derive(Debug, Clone, PartialEq)]
pub struct StructTypeField {
    /// The name.
    pub name: Ident,
    /// The type.
    pub data_type: DataType,
}

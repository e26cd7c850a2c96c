//! Types as they are written.

use std::sync::Arc;

use godwit_common::Span;

use super::{Expr, Ident, ObjectName};

/// A type.
#[derive(Debug, Clone, PartialEq)]
pub struct DataType {
    /// What it is.
    pub kind: DataTypeKind,
    /// Its place in the text.
    pub span: Span,
}

/// The kinds of types by form; which names there are is the binder's business.
#[derive(Debug, Clone, PartialEq)]
pub enum DataTypeKind {
    /// `INTEGER`, `DECIMAL(10, 2)`, `my_schema.mood`. Names of several words have one spelling: `double precision`,
    /// `character varying`, `timestamp with time zone`, `time with time zone`, `bit varying`, `bigint unsigned`;
    /// the span tells what was written. `WITHOUT TIME ZONE` is left out.
    Named {
        /// The name.
        name: ObjectName,
        /// The contents of parentheses: numbers, and names or texts for types that take them.
        arguments: Vec<Expr>,
    },
    /// `of[]`, `of[3]`, `of ARRAY`, `of ARRAY[3]`.
    Array {
        /// The type of the elements.
        of: Box<DataType>,
        /// How many there are, if that is fixed.
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

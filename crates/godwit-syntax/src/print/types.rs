//! Types.

use std::fmt::{Display, Formatter, Result};

use super::{Commas, Text, list_in_parens};
use crate::ast::{DataType, DataTypeKind, StructTypeField};

impl Display for DataType {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.kind {
            DataTypeKind::Named { name, arguments } => {
                let text = name.to_string();
                // The precision of a time stands inside its name.
                let (first, last) = match text.split_once(" with time zone") {
                    Some((first, _)) if !name.last().quoted => (first, " with time zone"),
                    _ => (text.as_str(), ""),
                };
                f.write_str(first)?;
                list_in_parens(f, "", arguments)?;
                f.write_str(last)
            }
            DataTypeKind::Array { of, length: Some(length) } => write!(f, "{of}[{length}]"),
            DataTypeKind::Array { of, length: None } => write!(f, "{of}[]"),
            DataTypeKind::Struct(fields) => write!(f, "STRUCT({})", Commas(fields)),
            DataTypeKind::Map(key, value) => write!(f, "MAP({key}, {value})"),
            DataTypeKind::Enum(labels) => {
                let labels: Vec<_> = labels.iter().map(|label| Text(label)).collect();
                write!(f, "ENUM({})", Commas(&labels))
            }
        }
    }
}

impl Display for StructTypeField {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} {}", self.name, self.data_type)
    }
}

//! Type names in SQL text.

use std::collections::HashSet;
use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};
use godwit_syntax::ast::{self, DataTypeKind};
use godwit_types::{EnumType, SqlType, StructField};

use crate::Binder;

impl Binder {
    /// Resolves a type as written: built-in names first, then user-defined types.
    pub fn data_type(&self, data_type: &ast::DataType) -> Result<SqlType> {
        let bound = match &data_type.kind {
            DataTypeKind::Named { name, arguments } => self.named_type(name, arguments),
            DataTypeKind::Array { of, length } => {
                let of = Arc::new(self.data_type(of)?);
                match length {
                    None => Ok(SqlType::List(of)),
                    Some(length) => match u32::try_from(*length) {
                        Ok(length @ 1..) => Ok(SqlType::Array(of, length)),
                        _ => Err(wrong(format!("an array can't have {length} elements"))),
                    },
                }
            }
            DataTypeKind::Struct(fields) => self.struct_type(fields),
            DataTypeKind::Map(key, value) => Ok(SqlType::Map(Arc::new((self.data_type(key)?, self.data_type(value)?)))),
            DataTypeKind::Enum(labels) => enum_type(labels),
        };
        bound.map_err(|error| error.at_span(data_type.span))
    }

    fn named_type(&self, name: &ast::ObjectName, arguments: &[ast::Expr]) -> Result<SqlType> {
        let numbers = arguments.iter().map(number).collect::<Result<Vec<u64>>>()?;
        let parts: Vec<&str> = name.parts.iter().map(|part| &*part.text).collect();
        let built_in = match &parts[..] {
            [single] => SqlType::from_name(single, &numbers),
            [schema, single] if schema.eq_ignore_ascii_case("pg_catalog") => SqlType::from_name(single, &numbers),
            _ => Err(Error::user(format!("no type named {}", parts.join("."))).with_code(SqlState::UNDEFINED_OBJECT)),
        };
        match built_in {
            Err(error) if error.code() == SqlState::UNDEFINED_OBJECT => {
                self.environment.named_type(&parts).ok_or(error)
            }
            other => other,
        }
    }

    fn struct_type(&self, fields: &[ast::StructTypeField]) -> Result<SqlType> {
        let mut bound: Vec<StructField> = Vec::with_capacity(fields.len());
        for field in fields {
            if bound.iter().any(|known| field.name.is(&known.name)) {
                let error = Error::user(format!("the struct has two fields named {}", field.name.text));
                return Err(error.with_code(SqlState::DUPLICATE_COLUMN).at_span(field.name.span));
            }
            bound.push(StructField { name: field.name.text.clone(), ty: self.data_type(&field.data_type)? });
        }
        Ok(SqlType::Struct(bound.into()))
    }
}

fn enum_type(labels: &[Arc<str>]) -> Result<SqlType> {
    if labels.is_empty() {
        return Err(wrong("an enumeration has one label at least".to_owned()));
    }
    let mut known = HashSet::with_capacity(labels.len());
    if let Some(label) = labels.iter().find(|label| !known.insert(*label)) {
        return Err(wrong(format!("the enumeration has the label '{label}' twice")));
    }
    Ok(SqlType::Enum(Arc::new(EnumType { name: "".into(), labels: labels.to_vec() })))
}

/// Returns a number in the parentheses after a type's name.
fn number(argument: &ast::Expr) -> Result<u64> {
    let number = match &argument.kind {
        ast::ExprKind::Literal(ast::Literal::Number(digits)) => digits.parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| wrong("a type takes whole numbers in parentheses".to_owned()).at_span(argument.span))
}

fn wrong(message: String) -> Error {
    Error::user(message).with_code(SqlState::INVALID_PARAMETER_VALUE)
}

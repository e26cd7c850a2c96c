//! Conversion of JSON values to SQL values.

use std::borrow::Cow;
use std::sync::Arc;

use godwit_types::{SqlType, StructField, Value, parse_value};

use super::super::columns::ColumnForm;
use super::tree::{Node, NodeKind};

/// Returns the value of a type; an error has the text that isn't one.
pub(super) fn value(node: &Node<'_>, ty: &SqlType, form: &ColumnForm) -> Result<Value, String> {
    let wrong = || node.raw.to_owned();
    match (&node.kind, ty) {
        (NodeKind::Null, _) => Ok(Value::Null),
        (_, SqlType::Json) => Ok(Value::text(node.raw)),
        (NodeKind::Text(text), SqlType::Varchar) => Ok(Value::text(&**text)),
        (_, SqlType::Varchar) => Ok(Value::text(node.raw)),
        (NodeKind::List(nodes), SqlType::List(element)) => values(nodes, element, form).map(Value::List),
        (NodeKind::List(nodes), SqlType::Array(element, length)) if nodes.len() == *length as usize => {
            values(nodes, element, form).map(Value::List)
        }
        (NodeKind::Object(keys), SqlType::Struct(fields)) => {
            let field = |field: &StructField| match find(keys, &field.name) {
                Some(node) => value(node, &field.ty, form),
                None => Ok(Value::Null),
            };
            Ok(Value::Struct(fields.iter().map(field).collect::<Result<_, _>>()?))
        }
        (NodeKind::Object(keys), SqlType::Map(entry)) => {
            let pair = |(key, node): &(Cow<'_, str>, Node<'_>)| {
                let key = parse_value(key, &entry.0).map_err(|_| key.to_string())?;
                Ok((key, value(node, &entry.1, form)?))
            };
            Ok(Value::Map(keys.iter().map(pair).collect::<Result<_, String>>()?))
        }
        (NodeKind::Boolean(value), SqlType::Boolean) => Ok(Value::Boolean(*value)),
        (NodeKind::Text(text), _) => form.value(text.trim().as_bytes(), ty).ok_or_else(wrong),
        (NodeKind::Number, _) if ty.is_numeric() => form.value(node.raw.as_bytes(), ty).ok_or_else(wrong),
        _ => Err(wrong()),
    }
}

fn values(nodes: &[Node<'_>], ty: &SqlType, form: &ColumnForm) -> Result<Arc<[Value]>, String> {
    nodes.iter().map(|node| value(node, ty, form)).collect()
}

/// Returns the value of a key, whose case matters only if several match.
pub(super) fn find<'n, 'a>(keys: &'n [(Cow<'a, str>, Node<'a>)], name: &str) -> Option<&'n Node<'a>> {
    let exact = keys.iter().rev().find(|(key, _)| key == name);
    exact.or_else(|| keys.iter().rev().find(|(key, _)| key.eq_ignore_ascii_case(name))).map(|(_, node)| node)
}

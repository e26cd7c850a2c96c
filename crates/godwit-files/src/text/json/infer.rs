//! The type of JSON values: the narrowest that holds all of them.

use godwit_types::{SqlType, parse_value};

use super::super::columns::ColumnForm;
use super::super::times::{DayForm, DayParts, MomentClock, time};
use super::tree::{Node, NodeKind};

/// Number of keys from which objects are maps.
const MAP_KEYS_MIN: usize = 200;

/// The common type of values so far.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Inferred {
    /// Only NULLs.
    Nothing,
    Boolean,
    BigInt,
    HugeInt,
    Double,
    /// Texts that all denote values of this type, or `Varchar`.
    Text(SqlType),
    List(Box<Inferred>),
    Object(Vec<(String, Inferred)>),
    /// Values of different kinds.
    Json,
}

impl Inferred {
    /// Returns the type of a value; `form` has the user's formats.
    pub(super) fn of(node: &Node<'_>, form: &ColumnForm) -> Self {
        match &node.kind {
            NodeKind::Null => Inferred::Nothing,
            NodeKind::Boolean(_) => Inferred::Boolean,
            NodeKind::Number => number(node.raw),
            NodeKind::Text(text) => Inferred::Text(text_type(text, form)),
            NodeKind::List(nodes) => {
                let elements = nodes.iter().fold(Inferred::Nothing, |all, node| all.with(Inferred::of(node, form)));
                Inferred::List(Box::new(elements))
            }
            NodeKind::Object(fields) => {
                let fields = fields.iter().map(|(key, node)| (key.to_string(), Inferred::of(node, form)));
                Inferred::Object(fields.collect())
            }
        }
    }

    /// Returns a common type.
    pub(super) fn with(self, other: Self) -> Self {
        use Inferred as I;
        match (self, other) {
            (I::Nothing, known) | (known, I::Nothing) => known,
            (a, b) if a == b => a,
            (I::BigInt | I::HugeInt, I::BigInt | I::HugeInt) => I::HugeInt,
            (I::BigInt | I::HugeInt | I::Double, I::BigInt | I::HugeInt | I::Double) => I::Double,
            (I::Text(_), I::Text(_)) => I::Text(SqlType::Varchar),
            (I::List(a), I::List(b)) => I::List(Box::new(a.with(*b))),
            (I::Object(mut fields), I::Object(others)) => {
                for (at, (name, ty)) in others.into_iter().enumerate() {
                    // Most objects have the same keys in the same order.
                    let place = match fields.get(at) {
                        Some((known, _)) if *known == name => Some(at),
                        _ => fields.iter().position(|(known, _)| *known == name),
                    };
                    match place {
                        Some(place) => {
                            let known = std::mem::replace(&mut fields[place].1, I::Nothing);
                            fields[place].1 = known.with(ty);
                        }
                        None => fields.push((name, ty)),
                    }
                }
                I::Object(fields)
            }
            _ => I::Json,
        }
    }

    /// Returns the SQL type.
    pub(super) fn sql_type(self) -> SqlType {
        match self {
            Inferred::Nothing | Inferred::Json => SqlType::Json,
            Inferred::Boolean => SqlType::Boolean,
            Inferred::BigInt => SqlType::BigInt,
            Inferred::HugeInt => SqlType::HugeInt,
            Inferred::Double => SqlType::Double,
            Inferred::Text(ty) => ty,
            Inferred::List(element) => SqlType::list_of(element.sql_type()),
            Inferred::Object(fields) if fields.is_empty() => SqlType::Json,
            Inferred::Object(fields) if fields.len() >= MAP_KEYS_MIN => {
                let values = fields.into_iter().fold(Inferred::Nothing, |all, (_, ty)| all.with(ty));
                SqlType::Map(std::sync::Arc::new((SqlType::Varchar, values.sql_type())))
            }
            Inferred::Object(fields) => {
                let has_twins = (1..fields.len())
                    .any(|at| fields[..at].iter().any(|(name, _)| name.eq_ignore_ascii_case(&fields[at].0)));
                // Fields of structs are found by name in any case.
                if has_twins {
                    return SqlType::Json;
                }
                let types: Vec<_> = fields.into_iter().map(|(name, ty)| (name, ty.sql_type())).collect();
                SqlType::struct_of(types.iter().map(|(name, ty)| (name.as_str(), ty.clone())))
            }
        }
    }
}

fn number(text: &str) -> Inferred {
    match text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        true if text.parse::<i64>().is_ok() => Inferred::BigInt,
        true if parse_value(text, &SqlType::HugeInt).is_ok() => Inferred::HugeInt,
        _ => Inferred::Double,
    }
}

/// Length of a UUID as text.
const UUID_BYTES: usize = 36;

fn text_type(text: &str, form: &ColumnForm) -> SqlType {
    let bytes = text.as_bytes();
    let is_in = |format: &Option<String>, ty| format.is_some() && form.value(bytes.trim_ascii(), ty).is_some();
    if is_in(&form.date_format, &SqlType::Date) {
        return SqlType::Date;
    }
    if is_in(&form.timestamp_format, &SqlType::Timestamp) {
        return SqlType::Timestamp;
    }
    if bytes.len() == UUID_BYTES && bytes[8] == b'-' && parse_value(text, &SqlType::Uuid).is_ok() {
        return SqlType::Uuid;
    }
    if !bytes.first().is_some_and(u8::is_ascii_digit) {
        return SqlType::Varchar;
    }
    if time(bytes).is_some() {
        return SqlType::Time;
    }
    // Only ISO 8601 dates.
    let Some(parts) = DayParts::of(bytes).filter(|parts| parts.day(DayForm::ALL[0]).is_some()) else {
        return SqlType::Varchar;
    };
    match (parts.rest, MomentClock::of(parts.rest)) {
        // The user's formats are the only ones of their types.
        ([], _) if form.date_format.is_none() => SqlType::Date,
        (_, Some(clock)) if clock.has_zone() => SqlType::TimestampTz,
        (_, Some(_)) if form.timestamp_format.is_none() => SqlType::Timestamp,
        _ => SqlType::Varchar,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::read;
    use super::*;

    fn type_of(values: &[&str]) -> String {
        let of = |text: &&str| Inferred::of(&read(text, 0).ok().unwrap().0, &ColumnForm::default());
        values.iter().map(of).fold(Inferred::Nothing, Inferred::with).sql_type().to_string()
    }

    #[test]
    fn types_are_the_narrowest() {
        for (values, expected) in [
            (&["1", "null"][..], "BIGINT"),
            (&["1", "12345678901234567890"], "HUGEINT"),
            (&["1", "2.5"], "DOUBLE"),
            (&["1", "\"x\""], "JSON"),
            (&["true", "1"], "JSON"),
            (&["\"2020-01-01\""], "DATE"),
            (&["\"2020-01-01\"", "\"x\""], "VARCHAR"),
            (&["\"2020-01-01T10:00:00\""], "TIMESTAMP"),
            (&["\"2020-01-01T10:00:00Z\""], "TIMESTAMP WITH TIME ZONE"),
            (&["\"31.12.2020\""], "VARCHAR"),
            (&["\"10:00:00\""], "TIME"),
            (&["\"550e8400-e29b-41d4-a716-446655440000\""], "UUID"),
            (&["[1]", "[null, 2.5]"], "DOUBLE[]"),
            (&["[]"], "JSON[]"),
            (&["[1]", "1"], "JSON"),
            (&["{\"a\": 1}", "{\"b\": [\"x\"]}"], "STRUCT(\"a\" BIGINT, \"b\" VARCHAR[])"),
            (&["{}"], "JSON"),
            (&["null"], "JSON"),
        ] {
            assert_eq!(type_of(values), expected, "{values:?}");
        }
        let keys: Vec<String> = (0..300).map(|key| format!("{{\"k{key}\": {key}}}")).collect();
        assert_eq!(type_of(&keys.iter().map(String::as_str).collect::<Vec<_>>()), "MAP(VARCHAR, BIGINT)");
    }
}

//! Single values.

use std::sync::Arc;

use crate::{SqlType, TimeTz};

/// A value whose [`SqlType`](crate::SqlType) is known to its holder.
///
/// Equality is identity of the representation, for comparing plans: `-0.0` and `0.0` differ, and NaN equals itself.
/// SQL's `=` is different.
#[derive(Debug, Clone)]
pub enum Value {
    /// NULL of any type.
    Null,
    /// BOOLEAN.
    Boolean(bool),
    /// All integers but UHUGEINT; DECIMAL, unscaled; positions of ENUM labels.
    Integer(i128),
    /// UHUGEINT.
    UHuge(u128),
    /// REAL and DOUBLE. A REAL is widened exactly.
    Float(f64),
    /// VARCHAR, BIT, JSON, and quoted text of unknown type.
    Text(Arc<str>),
    /// BLOB.
    Blob(Arc<[u8]>),
    /// DATE: days since 1970-01-01.
    Date(i32),
    /// TIME: microseconds since midnight.
    Time(i64),
    /// TIME WITH TIME ZONE.
    TimeTz(TimeTz),
    /// All kinds of TIMESTAMP: ticks of the type's unit since 1970-01-01.
    Timestamp(i64),
    /// INTERVAL.
    Interval(Interval),
    /// UUID.
    Uuid(u128),
    /// LIST and ARRAY.
    List(Arc<[Value]>),
    /// STRUCT: one value per field.
    Struct(Arc<[Value]>),
    /// MAP: (key, value), in order of insertion.
    Map(Arc<[(Value, Value)]>),
}

/// Months, days and microseconds, each with its own sign: a month isn't a fixed number of days, nor a day of hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Interval {
    /// Months, twelve to a year.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

impl Value {
    /// Creates a text value.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Value::Text(text.into())
    }

    /// Returns the type of a value that a caller gives without a type: the widest of its kind. Text and NULL take the
    /// type that is required; nested values have only the types of their parts.
    pub fn natural_type(&self) -> SqlType {
        match self {
            Value::Null | Value::Text(_) => SqlType::Varchar,
            Value::Boolean(_) => SqlType::Boolean,
            Value::Integer(number) if i64::try_from(*number).is_ok() => SqlType::BigInt,
            Value::Integer(_) => SqlType::HugeInt,
            Value::UHuge(_) => SqlType::UHugeInt,
            Value::Float(_) => SqlType::Double,
            Value::Blob(_) => SqlType::Blob,
            Value::Date(_) => SqlType::Date,
            Value::Time(_) => SqlType::Time,
            Value::TimeTz(_) => SqlType::TimeTz,
            Value::Timestamp(_) => SqlType::Timestamp,
            Value::Interval(_) => SqlType::Interval,
            Value::Uuid(_) => SqlType::Uuid,
            Value::List(values) => SqlType::list_of(values.first().map_or(SqlType::Varchar, Value::natural_type)),
            Value::Struct(_) | Value::Map(_) => SqlType::Varchar,
        }
    }

    /// Returns true for NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Returns the integer that represents it in vectors: 0 or 1 of a boolean, digits of a decimal, position of a
    /// label, days of a date, ticks of a time, bits of one with a zone. `None` for NULL and for values that aren't
    /// represented by an integer.
    pub fn as_integer(&self) -> Option<i128> {
        match *self {
            Value::Boolean(value) => Some(value.into()),
            Value::Integer(value) => Some(value),
            Value::Date(days) => Some(days.into()),
            Value::Time(ticks) | Value::Timestamp(ticks) => Some(ticks.into()),
            Value::TimeTz(time) => Some(time.to_bits().into()),
            Value::Null
            | Value::UHuge(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::Blob(_)
            | Value::Interval(_)
            | Value::Uuid(_)
            | Value::List(_)
            | Value::Struct(_)
            | Value::Map(_) => None,
        }
    }

    /// Returns the value of a type that this integer represents: the inverse of [`as_integer`](Self::as_integer).
    /// `None` if the type's values aren't integers inside, or it is out of their range.
    pub fn of_integer(inside: i128, ty: &SqlType) -> Option<Self> {
        Some(match ty {
            SqlType::Boolean => Value::Boolean(match inside {
                0 => false,
                1 => true,
                _ => return None,
            }),
            SqlType::Date => Value::Date(i32::try_from(inside).ok()?),
            SqlType::Time => Value::Time(i64::try_from(inside).ok()?),
            SqlType::TimeTz => Value::TimeTz(TimeTz::from_bits(i64::try_from(inside).ok()?)?),
            _ if ty.is_timestamp() => Value::Timestamp(i64::try_from(inside).ok()?),
            SqlType::Decimal { .. } | SqlType::Enum(_) => Value::Integer(inside),
            _ => {
                let (min, max) = ty.integer_range()?;
                (min..=max).contains(&inside).then_some(Value::Integer(inside))?
            }
        })
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Boolean(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Value::Integer(value.into())
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Integer(value.into())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::text(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        use Value::*;
        match (self, other) {
            (Null, Null) => true,
            (Boolean(a), Boolean(b)) => a == b,
            (Integer(a), Integer(b)) => a == b,
            (UHuge(a), UHuge(b)) | (Uuid(a), Uuid(b)) => a == b,
            (Float(a), Float(b)) => a.to_bits() == b.to_bits(),
            (Text(a), Text(b)) => a == b,
            (Blob(a), Blob(b)) => a == b,
            (Date(a), Date(b)) => a == b,
            (Time(a), Time(b)) | (Timestamp(a), Timestamp(b)) => a == b,
            (TimeTz(a), TimeTz(b)) => a == b,
            (Interval(a), Interval(b)) => a == b,
            (List(a), List(b)) | (Struct(a), Struct(b)) => a == b,
            (Map(a), Map(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl std::hash::Hash for Value {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        use Value::*;
        std::mem::discriminant(self).hash(state);
        match self {
            Null => {}
            Boolean(value) => value.hash(state),
            Integer(value) => value.hash(state),
            UHuge(value) | Uuid(value) => value.hash(state),
            Float(value) => value.to_bits().hash(state),
            Text(value) => value.hash(state),
            Blob(value) => value.hash(state),
            Date(value) => value.hash(state),
            Time(value) | Timestamp(value) => value.hash(state),
            TimeTz(value) => value.hash(state),
            Interval(value) => value.hash(state),
            List(values) | Struct(values) => values.hash(state),
            Map(entries) => entries.hash(state),
        }
    }
}

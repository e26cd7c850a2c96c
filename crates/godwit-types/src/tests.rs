//! Types and values shared by the tests of several modules.

use std::sync::Arc;

use crate::SqlType as T;
use crate::{EnumType, Interval, SqlType, Value, parse_value};

/// At least one type of each kind.
pub(crate) fn sample_types() -> Vec<SqlType> {
    let labels = |labels: &[&str]| {
        T::Enum(Arc::new(EnumType { name: "".into(), labels: labels.iter().map(|&label| label.into()).collect() }))
    };
    vec![
        T::Boolean,
        T::TinyInt,
        T::SmallInt,
        T::Integer,
        T::BigInt,
        T::HugeInt,
        T::UTinyInt,
        T::USmallInt,
        T::UInteger,
        T::UBigInt,
        T::UHugeInt,
        T::Real,
        T::Double,
        T::decimal(1, 1),
        T::decimal(4, 1),
        T::decimal(18, 3),
        T::decimal(38, 0),
        T::decimal(38, 38),
        T::Varchar,
        T::Blob,
        T::Bit,
        T::Date,
        T::Time,
        T::TimeTz,
        T::Timestamp,
        T::TimestampS,
        T::TimestampMs,
        T::TimestampNs,
        T::TimestampTz,
        T::Interval,
        T::Uuid,
        T::Json,
        labels(&["sad", "it's, [ok]", "NULL", ""]),
        labels(&["ok", "sad"]),
        T::list_of(T::Integer),
        T::list_of(T::Varchar),
        T::list_of(T::list_of(T::Timestamp)),
        T::Array(T::Double.into(), 2),
        T::struct_of([("a", T::Integer), ("it's", T::Varchar)]),
        T::struct_of([("it's", T::Varchar), ("A", T::BigInt)]),
        T::Map((T::Varchar, T::Double).into()),
        T::Map((T::Interval, T::list_of(T::Blob)).into()),
    ]
}

/// The least, the greatest and the unusual values of a type.
pub(crate) fn extremes(ty: &SqlType) -> Vec<Value> {
    let texts = |texts: &[&str]| texts.iter().map(|text| parse_value(text, ty).unwrap()).collect::<Vec<_>>();
    let mut values = match ty {
        T::Boolean => texts(&["false", "true"]),
        T::UHugeInt => [0, 1, u128::MAX, u128::MAX - 1, 1 << 127].map(Value::UHuge).to_vec(),
        T::Decimal { precision, scale } => {
            let greatest = 10i128.pow(u32::from(*precision)) - 1;
            let one = 10i128.pow(u32::from(*scale)).min(greatest);
            [-greatest, -one, -1, 0, 1, one, one / 2, greatest - 1, greatest].map(Value::Integer).to_vec()
        }
        _ if ty.is_integer() => {
            let (least, greatest) = ty.integer_range().unwrap();
            [least, least + 1, greatest - 1, greatest, 0, 1, 100].map(Value::Integer).to_vec()
        }
        T::Real => {
            let values = [
                f32::MIN,
                f32::MAX,
                f32::MIN_POSITIVE,
                -0.0,
                0.0,
                0.1,
                1e-5,
                1.5e-6,
                2.5,
                1e16,
                f32::NAN,
                f32::INFINITY,
            ];
            values.map(|value| Value::Float(f64::from(value))).to_vec()
        }
        T::Double => {
            let (huge, least) = (u128::MAX as f64, f64::from_bits(1));
            let values = [f64::MIN, f64::MAX, least, -0.0, 0.0, 0.1, 2.5, 9.3e18, -9.3e18, huge, -huge, 1e15, 1e16];
            let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
            values.into_iter().chain(special).map(Value::Float).collect()
        }
        T::Varchar => {
            let long = "9".repeat(500);
            let texts =
                ["", "NULL", "nan", "1e99999999999", "-1e-99999999999", "2000-01-01", "[", "{'", "ä\\x", &long, "0x"];
            texts.into_iter().map(Value::text).collect()
        }
        T::Blob => texts(&["", "\\x00ff", "text"]),
        T::Bit => texts(&["0", "101"]),
        T::Date => [-i32::MAX, i32::MAX, i32::MAX - 1, 0, -719_163, 106_751_992].map(Value::Date).to_vec(),
        T::Time => [0, 1, 86_399_999_999].map(Value::Time).to_vec(),
        T::TimeTz => texts(&["00:00:00+15:59:59", "00:00:00", "09:00:00.5+05:30", "23:59:59.999999-15:59:59"]),
        T::Interval => {
            let parts = [(i32::MIN, i64::MIN), (i32::MAX, i64::MAX), (0, 0), (-13, -1), (1, -1), (0, 1_500_000)];
            parts.map(|(days, micros)| Value::Interval(Interval { months: days, days, micros })).to_vec()
        }
        T::Uuid => [0, 1, u128::MAX].map(Value::Uuid).to_vec(),
        T::Json => texts(&["{\"a\": [1, \"x\"]}", "null", "\"it's\"", "-0.5e3"]),
        T::Enum(labels) => (0..labels.labels.len()).map(|at| Value::Integer(at as i128)).collect(),
        T::List(element) => {
            let inner = extremes(element);
            vec![Value::List([].into()), Value::List(inner.into())]
        }
        T::Array(element, length) => vec![Value::List(extremes(element).into_iter().take(*length as usize).collect())],
        T::Struct(fields) => (0..6)
            .map(|at| {
                let pick = |values: Vec<Value>| values[at % values.len()].clone();
                Value::Struct(fields.iter().map(|field| pick(extremes(&field.ty))).collect())
            })
            .collect(),
        T::Map(entry) => {
            let keys = extremes(&entry.0).into_iter().filter(|key| !key.is_null());
            vec![Value::Map([].into()), Value::Map(keys.zip(extremes(&entry.1)).collect())]
        }
        _ => [-i64::MAX, i64::MAX, i64::MAX - 1, 0, -1, 1_234_567_890_123_456_789, -62_135_596_800_000_000]
            .map(Value::Timestamp)
            .to_vec(),
    };
    values.push(Value::Null);
    values
}

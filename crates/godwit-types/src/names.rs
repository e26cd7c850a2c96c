//! The names of types, PostgreSQL's and DuckDB's.
//!
//! `FLOAT` is REAL and `INT8` is BIGINT, as in both (`FLOAT` as in DuckDB; PostgreSQL's is `FLOAT(24)`). Lengths of
//! texts are read and ignored; the digits of the second choose the timestamp type, as in DuckDB.

use godwit_common::{Error, Result, SqlState};

use crate::SqlType;

/// The meaning of the numbers after a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arguments {
    /// None are allowed.
    None,
    /// A length, which is ignored.
    Length,
    /// Total digits, and those after the point.
    Digits,
    /// Bits of the significand.
    Significand,
    /// Digits of the second, which are ignored.
    Seconds,
    /// Digits of the second, which choose the unit.
    Unit,
}

use Arguments as A;
use SqlType as T;

/// (names, type, arguments); names in lower case, with single blanks between words.
static NAMES: &[(&[&str], SqlType, Arguments)] = &[
    (&["boolean", "bool", "logical"], T::Boolean, A::None),
    (&["tinyint", "int1"], T::TinyInt, A::None),
    (&["smallint", "int2", "int16", "short"], T::SmallInt, A::None),
    (&["integer", "int", "int4", "int32", "signed", "integral"], T::Integer, A::None),
    (&["bigint", "int8", "int64", "long", "oid"], T::BigInt, A::None),
    (&["hugeint", "int128"], T::HugeInt, A::None),
    (&["utinyint", "uint8", "tinyint unsigned"], T::UTinyInt, A::None),
    (&["usmallint", "uint16", "smallint unsigned"], T::USmallInt, A::None),
    (&["uinteger", "uint", "uint32", "integer unsigned", "int unsigned"], T::UInteger, A::None),
    (&["ubigint", "uint64", "bigint unsigned"], T::UBigInt, A::None),
    (&["uhugeint", "uint128", "hugeint unsigned"], T::UHugeInt, A::None),
    (&["real", "float4"], T::Real, A::None),
    (&["float"], T::Real, A::Significand),
    (&["double", "double precision", "float8"], T::Double, A::None),
    (&["decimal", "numeric", "dec"], T::decimal(18, 3), A::Digits),
    (
        &["varchar", "text", "string", "char", "character", "character varying", "bpchar", "nvarchar", "name"],
        T::Varchar,
        A::Length,
    ),
    (&["blob", "bytea", "binary", "varbinary", "binary varying"], T::Blob, A::Length),
    (&["bit", "bitstring", "bit varying", "varbit"], T::Bit, A::Length),
    (&["date"], T::Date, A::None),
    (&["time", "time without time zone"], T::Time, A::Seconds),
    (&["timetz", "time with time zone"], T::TimeTz, A::Seconds),
    (&["timestamp", "timestamp without time zone", "datetime", "timestamp_us"], T::Timestamp, A::Unit),
    (&["timestamp_s"], T::TimestampS, A::None),
    (&["timestamp_ms"], T::TimestampMs, A::None),
    (&["timestamp_ns"], T::TimestampNs, A::None),
    (&["timestamptz", "timestamp with time zone"], T::TimestampTz, A::Seconds),
    (&["interval"], T::Interval, A::Seconds),
    (&["uuid", "guid"], T::Uuid, A::None),
    (&["json", "jsonb"], T::Json, A::None),
];

impl SqlType {
    /// Returns the built-in type of a name, in any case, with the numbers written after it: `decimal`, `[10, 2]`.
    pub fn from_name(name: &str, args: &[u64]) -> Result<SqlType> {
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase();
        match NAMES.iter().find(|(names, _, _)| names.contains(&name.as_str())) {
            Some((_, ty, arguments)) => with_arguments(&name, ty, *arguments, args),
            None => Err(unknown(&name)),
        }
    }
}

fn with_arguments(name: &str, ty: &SqlType, arguments: Arguments, args: &[u64]) -> Result<SqlType> {
    let most = match arguments {
        A::None => 0,
        A::Digits => 2,
        _ => 1,
    };
    if args.len() > most {
        let numbers = ["no number", "at most one number", "at most two numbers"][most];
        return Err(invalid(format!("the type {name} takes {numbers} in parentheses")));
    }
    let Some(&first) = args.first() else { return Ok(ty.clone()) };
    match arguments {
        A::Digits => decimal(first, args.get(1).copied().unwrap_or(0)),
        A::Significand => match first {
            1..=24 => Ok(SqlType::Real),
            25..=53 => Ok(SqlType::Double),
            _ => Err(invalid(format!("a float has 1 to 53 bits, not {first}"))),
        },
        A::Unit => match first {
            0 => Ok(SqlType::TimestampS),
            1..=3 => Ok(SqlType::TimestampMs),
            4..=6 => Ok(SqlType::Timestamp),
            7..=9 => Ok(SqlType::TimestampNs),
            _ => Err(invalid(format!("a timestamp has 0 to 9 digits of the second, not {first}"))),
        },
        A::Length if first == 0 => Err(invalid(format!("the length of the type {name} must be 1 or more"))),
        _ => Ok(ty.clone()),
    }
}

fn decimal(precision: u64, scale: u64) -> Result<SqlType> {
    let max = SqlType::DECIMAL_PRECISION_MAX;
    match (u8::try_from(precision), u8::try_from(scale)) {
        (Ok(precision @ 1..), _) if precision <= max && scale > u64::from(precision) => {
            Err(invalid(format!("a DECIMAL of {precision} digits can't have {scale} of them behind the point")))
        }
        (Ok(precision @ 1..), Ok(scale)) if precision <= max => Ok(SqlType::decimal(precision, scale)),
        _ => Err(invalid(format!("a DECIMAL has 1 to {max} digits, not {precision}"))),
    }
}

fn invalid(message: String) -> Error {
    Error::user(message).with_code(SqlState::INVALID_PARAMETER_VALUE)
}

fn unknown(name: &str) -> Error {
    let error = Error::user(format!("no type named {name}")).with_code(SqlState::UNDEFINED_OBJECT);
    match nearest(name, NAMES.iter().flat_map(|(names, _, _)| names.iter().copied())) {
        Some(near) => error.with_hint(format!("did you mean {near}?")),
        None => error,
    }
}

/// Returns the name that was probably meant: the nearest, if at most a third of its letters differ.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let distance = |known: &str| strsim::damerau_levenshtein(name, known);
    let (distance, near) = known.map(|known| (distance(known), known)).min_by_key(|(distance, _)| *distance)?;
    (distance * 3 <= near.chars().count()).then_some(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_any_case() {
        let cases: [(&str, &[u64], SqlType); 16] = [
            ("INT4", &[], T::Integer),
            ("int8", &[], T::BigInt),
            ("uint8", &[], T::UTinyInt),
            ("Bigint  Unsigned", &[], T::UBigInt),
            ("double precision", &[], T::Double),
            ("float", &[], T::Real),
            ("float", &[53], T::Double),
            ("numeric", &[], T::decimal(18, 3)),
            ("dec", &[5], T::decimal(5, 0)),
            ("decimal", &[38, 38], T::decimal(38, 38)),
            ("character varying", &[20], T::Varchar),
            ("bpchar", &[1], T::Varchar),
            ("timestamp with time zone", &[], T::TimestampTz),
            ("datetime", &[], T::Timestamp),
            ("timestamp", &[3], T::TimestampMs),
            ("bytea", &[], T::Blob),
        ];
        for (name, args, expected) in cases {
            assert_eq!(SqlType::from_name(name, args).unwrap(), expected, "{name}");
        }
    }

    #[test]
    fn types_are_read_as_they_are_shown() {
        for (_, ty, _) in NAMES {
            let shown = ty.to_string();
            let (name, args): (&str, &[u64]) = if ty.is_decimal() { ("DECIMAL", &[18, 3]) } else { (&shown, &[]) };
            assert_eq!(SqlType::from_name(name, args).unwrap(), *ty);
        }
    }

    #[test]
    fn errors_say_what_to_do() {
        let error = SqlType::from_name("integr", &[]).unwrap_err();
        assert_eq!((error.message(), error.hint()), ("no type named integr", Some("did you mean integer?")));
        assert_eq!(error.code(), SqlState::UNDEFINED_OBJECT);
        assert_eq!(SqlType::from_name("geometry", &[]).unwrap_err().hint(), None);
        let cases: [(&str, &[u64], &str); 6] = [
            ("decimal", &[39], "a DECIMAL has 1 to 38 digits, not 39"),
            ("decimal", &[0], "a DECIMAL has 1 to 38 digits, not 0"),
            ("decimal", &[3, 4], "a DECIMAL of 3 digits can't have 4 of them behind the point"),
            ("decimal", &[1, 2, 3], "the type decimal takes at most two numbers in parentheses"),
            ("date", &[3], "the type date takes no number in parentheses"),
            ("float", &[u64::MAX], "a float has 1 to 53 bits, not 18446744073709551615"),
        ];
        for (name, args, message) in cases {
            assert_eq!(SqlType::from_name(name, args).unwrap_err().message(), message);
        }
    }
}

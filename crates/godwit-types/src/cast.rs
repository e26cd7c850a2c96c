//! The casts: which type becomes which, when, and whether anything is lost.
//!
//! [`TABLE`] has a row for each pair of families of types; where the pair alone doesn't decide, the row names a function
//! of the two types. Anything else isn't a cast. Nested types are cast element by element.
//!
//! The contexts are PostgreSQL's. *Implicit* casts happen wherever a value of another type is needed, *assignment*
//! casts where a value goes into a column, *explicit* ones where CAST or `::` is written. A VARCHAR column is never
//! cast implicitly; quoted text in a statement is [`SqlType::Unknown`] and takes the type that its context needs.

use Context::{Assignment, Explicit, Implicit};
use Effect::{Changes, Exact, Relabels, Rounds};

use crate::calendar::ticks_per_second;
use crate::exact::pow10;
use crate::{SqlType, StructField};

/// A cast between two types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cast {
    /// The contexts in which it happens by itself.
    pub context: Context,
    /// True if every value is accepted, equal values stay equal and different ones different, and the cast back
    /// restores the value. Dates beyond the years of timestamps are disregarded.
    pub lossless: bool,
    /// True if the cast is monotonic: a value that isn't greater than another doesn't become greater. Comparisons can
    /// be moved across such a cast.
    pub keeps_order: bool,
}

/// The contexts in which a cast happens by itself. The greater context includes the smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Context {
    /// Every expression.
    Implicit,
    /// Only values that go into a column.
    Assignment,
    /// None: the cast has to be written.
    Explicit,
}

/// The effect of a cast on the values that it accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Nothing is lost, and the order stays.
    Exact,
    /// Different values may become one, and some may be rejected; the order stays.
    Rounds,
    /// Nothing is lost, but the order differs.
    Relabels,
    /// Neither is promised.
    Changes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Unknown,
    Boolean,
    Integer,
    Decimal,
    Float,
    Varchar,
    Blob,
    Bit,
    Date,
    Time,
    TimeTz,
    Timestamp,
    TimestampTz,
    Interval,
    Uuid,
    Json,
    Enum,
    Nested,
}

/// How the context and effect of a row are found.
enum Rule {
    /// Always the same for these families.
    Always(Context, Effect),
    /// Depends on the types.
    By(fn(&SqlType, &SqlType) -> (Context, Effect)),
}

use Family as F;
use Rule::{Always, By};

/// (from, to, rule). Every type also becomes itself.
const TABLE: &[(Family, Family, Rule)] = &[
    // Numbers. Narrow types become wider ones implicitly; the way back checks or rounds.
    (F::Integer, F::Integer, By(between_integers)),
    (F::Integer, F::Decimal, By(to_decimal)),
    (F::Integer, F::Float, By(integer_to_float)),
    (F::Decimal, F::Integer, By(decimal_to_integer)),
    (F::Decimal, F::Decimal, By(to_decimal)),
    (F::Decimal, F::Float, By(decimal_to_float)),
    (F::Float, F::Integer, Always(Assignment, Rounds)),
    (F::Float, F::Decimal, Always(Assignment, Rounds)),
    (F::Float, F::Float, By(between_floats)),
    // FALSE is 0, TRUE is 1; every other number is TRUE as well.
    (F::Boolean, F::Integer, Always(Explicit, Exact)),
    (F::Boolean, F::Decimal, Always(Explicit, Rounds)),
    (F::Boolean, F::Float, Always(Explicit, Exact)),
    (F::Integer, F::Boolean, Always(Explicit, Changes)),
    (F::Decimal, F::Boolean, Always(Explicit, Changes)),
    (F::Float, F::Boolean, Always(Explicit, Changes)),
    // Dates and times. A date becomes its midnight. Values with a time zone are read and shown in that of the session,
    // whose clocks may be set back, so no order is promised.
    (F::Date, F::Timestamp, Always(Implicit, Exact)),
    (F::Date, F::TimestampTz, Always(Implicit, Changes)),
    (F::Timestamp, F::Timestamp, By(between_timestamps)),
    (F::Timestamp, F::TimestampTz, Always(Implicit, Changes)),
    (F::Timestamp, F::Date, Always(Assignment, Rounds)),
    (F::Timestamp, F::Time, Always(Assignment, Changes)),
    (F::TimestampTz, F::Timestamp, Always(Assignment, Changes)),
    (F::TimestampTz, F::Date, Always(Assignment, Changes)),
    (F::TimestampTz, F::Time, Always(Assignment, Changes)),
    (F::TimestampTz, F::TimeTz, Always(Assignment, Changes)),
    (F::Time, F::TimeTz, Always(Implicit, Changes)),
    (F::TimeTz, F::Time, Always(Assignment, Changes)),
    (F::Time, F::Interval, Always(Implicit, Exact)),
    (F::Interval, F::Time, Always(Assignment, Changes)),
    // To text: where a column takes it. As text, numbers and dates sort differently; `0.0` and `-0.0` are equal but
    // have different texts, and so are a month and thirty days.
    (F::Boolean, F::Varchar, Always(Assignment, Exact)),
    (F::Integer, F::Varchar, Always(Assignment, Relabels)),
    (F::Decimal, F::Varchar, Always(Assignment, Relabels)),
    (F::Float, F::Varchar, Always(Assignment, Changes)),
    (F::Blob, F::Varchar, Always(Assignment, Exact)),
    (F::Bit, F::Varchar, Always(Assignment, Exact)),
    (F::Date, F::Varchar, Always(Assignment, Relabels)),
    (F::Time, F::Varchar, Always(Assignment, Relabels)),
    (F::TimeTz, F::Varchar, Always(Assignment, Relabels)),
    (F::Timestamp, F::Varchar, Always(Assignment, Relabels)),
    (F::TimestampTz, F::Varchar, Always(Assignment, Changes)),
    (F::Interval, F::Varchar, Always(Assignment, Changes)),
    (F::Uuid, F::Varchar, Always(Assignment, Exact)),
    (F::Json, F::Varchar, Always(Assignment, Exact)),
    (F::Enum, F::Varchar, Always(Implicit, Relabels)),
    (F::Nested, F::Varchar, Always(Assignment, Changes)),
    // From text: where a cast is written, or a column takes it, as DuckDB does. JSON is validated text, and labels are
    // chosen ones.
    (F::Varchar, F::Boolean, Always(Assignment, Changes)),
    (F::Varchar, F::Integer, Always(Assignment, Changes)),
    (F::Varchar, F::Decimal, Always(Assignment, Changes)),
    (F::Varchar, F::Float, Always(Assignment, Changes)),
    (F::Varchar, F::Blob, Always(Assignment, Changes)),
    (F::Varchar, F::Bit, Always(Assignment, Changes)),
    (F::Varchar, F::Date, Always(Assignment, Changes)),
    (F::Varchar, F::Time, Always(Assignment, Changes)),
    (F::Varchar, F::TimeTz, Always(Assignment, Changes)),
    (F::Varchar, F::Timestamp, Always(Assignment, Changes)),
    (F::Varchar, F::TimestampTz, Always(Assignment, Changes)),
    (F::Varchar, F::Interval, Always(Assignment, Changes)),
    (F::Varchar, F::Uuid, Always(Assignment, Changes)),
    (F::Varchar, F::Json, Always(Assignment, Rounds)),
    (F::Varchar, F::Enum, Always(Assignment, Changes)),
    (F::Varchar, F::Nested, Always(Assignment, Changes)),
    // The bits of a number or of bytes, the highest first.
    (F::Integer, F::Bit, Always(Explicit, Changes)),
    (F::Bit, F::Integer, Always(Explicit, Changes)),
    (F::Blob, F::Bit, Always(Explicit, Changes)),
    (F::Bit, F::Blob, Always(Explicit, Changes)),
    // Labels that both types have in common.
    (F::Enum, F::Enum, Always(Explicit, Changes)),
];

/// Returns the cast from one type to another; `None` if there is none.
pub fn cast_kind(from: &SqlType, to: &SqlType) -> Option<Cast> {
    if from == to {
        return Some(Cast::new(Implicit, Exact));
    }
    match (from, to) {
        (SqlType::Unknown, _) => Some(Cast::new(Implicit, Changes)),
        _ if from.is_nested() && to.is_nested() => nested(from, to),
        _ => {
            let families = (family(from), family(to));
            let (_, _, rule) = TABLE.iter().find(|(from, to, _)| (*from, *to) == families)?;
            let (context, effect) = match rule {
                Always(context, effect) => (*context, *effect),
                By(rule) => rule(from, to),
            };
            Some(Cast::new(context, effect))
        }
    }
}

impl Cast {
    const fn new(context: Context, effect: Effect) -> Self {
        Self { context, lossless: matches!(effect, Exact | Relabels), keeps_order: matches!(effect, Exact | Rounds) }
    }

    /// Combines two casts that apply to different parts of a value. Parts are compared in turn: if different values of
    /// the first part may have become equal, the next part decides the order where it didn't before.
    fn and(self, other: Self) -> Self {
        let lossless = self.lossless && other.lossless;
        Self {
            context: self.context.max(other.context),
            lossless,
            keeps_order: lossless && self.keeps_order && other.keeps_order,
        }
    }
}

fn family(ty: &SqlType) -> Family {
    match ty {
        SqlType::Unknown => F::Unknown,
        SqlType::Boolean => F::Boolean,
        SqlType::Decimal { .. } => F::Decimal,
        SqlType::Real | SqlType::Double => F::Float,
        SqlType::Varchar => F::Varchar,
        SqlType::Blob => F::Blob,
        SqlType::Bit => F::Bit,
        SqlType::Date => F::Date,
        SqlType::Time => F::Time,
        SqlType::TimeTz => F::TimeTz,
        SqlType::Timestamp | SqlType::TimestampS | SqlType::TimestampMs | SqlType::TimestampNs => F::Timestamp,
        SqlType::TimestampTz => F::TimestampTz,
        SqlType::Interval => F::Interval,
        SqlType::Uuid => F::Uuid,
        SqlType::Json => F::Json,
        SqlType::Enum(_) => F::Enum,
        SqlType::List(_) | SqlType::Array(..) | SqlType::Struct(_) | SqlType::Map(_) => F::Nested,
        _ => F::Integer,
    }
}

/// Implicit if one type's range includes the other's.
fn between_integers(from: &SqlType, to: &SqlType) -> (Context, Effect) {
    let bits = |ty: &SqlType| ty.integer_bits().expect("the row is one of integers");
    let widens = match (from.is_signed_integer(), to.is_signed_integer()) {
        (false, true) => bits(to) > bits(from),
        (true, false) => false,
        _ => bits(to) >= bits(from),
    };
    if widens { (Implicit, Exact) } else { (Assignment, Rounds) }
}

/// Implicit if all digits fit; HUGEINT counts as a type of 38 digits, though its greatest values have 39.
fn to_decimal(from: &SqlType, to: &SqlType) -> (Context, Effect) {
    let digits = |ty: &SqlType| ty.decimal_digits().expect("the row is one of exact numbers");
    let ((from_precision, from_scale), (to_precision, to_scale)) = (digits(from), digits(to));
    let fits = to_precision - to_scale >= from_precision - from_scale && to_scale >= from_scale;
    let huge = matches!(from, SqlType::HugeInt | SqlType::UHugeInt);
    (if fits { Implicit } else { Assignment }, if fits && !huge { Exact } else { Rounds })
}

/// Lossless if the decimal has no digits after the point and the integer has room for all others.
fn decimal_to_integer(from: &SqlType, to: &SqlType) -> (Context, Effect) {
    let fits = match (from, to.integer_range()) {
        (SqlType::Decimal { precision, scale: 0 }, Some((_, greatest))) => {
            to.is_signed_integer() && pow10(*precision).is_some_and(|limit| limit - 1 <= greatest.unsigned_abs())
        }
        _ => false,
    };
    (Assignment, if fits { Exact } else { Rounds })
}

/// A significand of 24 bits holds 16-bit integers, one of 53 bits holds 32-bit integers.
fn integer_to_float(from: &SqlType, to: &SqlType) -> (Context, Effect) {
    let bits = from.integer_bits().expect("the row is one of integers");
    let exact = bits <= if *to == SqlType::Real { 16 } else { 32 };
    (Implicit, if exact { Exact } else { Rounds })
}

/// Decimals of up to 6 digits stay distinct as REAL, those of up to 15 as DOUBLE.
fn decimal_to_float(from: &SqlType, to: &SqlType) -> (Context, Effect) {
    let (precision, _) = from.decimal_digits().expect("the row is one of decimals");
    let exact = precision <= if *to == SqlType::Real { 6 } else { 15 };
    (Implicit, if exact { Exact } else { Rounds })
}

fn between_floats(_: &SqlType, to: &SqlType) -> (Context, Effect) {
    if *to == SqlType::Double { (Implicit, Exact) } else { (Assignment, Rounds) }
}

/// Finer units take coarser ones implicitly, but have a smaller range.
fn between_timestamps(from: &SqlType, to: &SqlType) -> (Context, Effect) {
    (if ticks_per_second(from) <= ticks_per_second(to) { Implicit } else { Assignment }, Rounds)
}

fn nested(from: &SqlType, to: &SqlType) -> Option<Cast> {
    let same = Cast::new(Implicit, Exact);
    Some(match (from, to) {
        (SqlType::List(from), SqlType::List(to)) | (SqlType::Array(from, _), SqlType::List(to)) => {
            same.and(cast_kind(from, to)?)
        }
        // The length is checked.
        (SqlType::List(from), SqlType::Array(to, _)) => Cast::new(Assignment, Rounds).and(cast_kind(from, to)?),
        (SqlType::Array(from, length), SqlType::Array(to, expected)) if length == expected => {
            same.and(cast_kind(from, to)?)
        }
        (SqlType::Struct(from), SqlType::Struct(to)) => {
            let sources = field_sources(from, to)?;
            let in_place = sources.iter().copied().eq((0..to.len()).map(Some));
            let lost = (0..from.len()).any(|at| !sources.contains(&Some(at)));
            let mut cast = match (in_place, lost) {
                (_, true) => Cast::new(Assignment, Changes),
                (true, false) => Cast::new(Implicit, Exact),
                (false, false) => Cast::new(Implicit, Relabels),
            };
            for (field, source) in to.iter().zip(sources) {
                if let Some(source) = source {
                    cast = cast.and(cast_kind(&from[source].ty, &field.ty)?);
                }
            }
            cast
        }
        (SqlType::Map(from), SqlType::Map(to)) => same.and(cast_kind(&from.0, &to.0)?).and(cast_kind(&from.1, &to.1)?),
        _ => return None,
    })
}

/// Returns, for each field of the struct `to`, the position in `from` of the field that it is cast from: the one with the
/// same name, ignoring case; `None` if there isn't one, and the field becomes NULL. Between `ROW(…)`, whose fields have no
/// names of their own, and a struct, fields are matched by position. `None` as a whole if nothing matches.
pub fn field_sources(from: &[StructField], to: &[StructField]) -> Option<Vec<Option<usize>>> {
    let sources: Vec<Option<usize>> = to.iter().map(|field| position_of(&field.name, from)).collect();
    if sources.iter().any(Option::is_some) {
        return Some(sources);
    }
    StructField::meet_by_place(from, to).then(|| (0..to.len()).map(Some).collect())
}

/// Returns the position of the field of a name, in any case.
pub(crate) fn position_of(name: &str, fields: &[StructField]) -> Option<usize> {
    fields.iter().position(|field| field.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqlType as T;

    fn context(from: &T, to: &T) -> Option<Context> {
        cast_kind(from, to).map(|cast| cast.context)
    }

    #[test]
    fn contexts() {
        let list = T::list_of;
        let cases = [
            (T::Unknown, T::Date, Some(Implicit)),
            (T::Date, T::Unknown, None),
            (T::SmallInt, T::Integer, Some(Implicit)),
            (T::UInteger, T::BigInt, Some(Implicit)),
            (T::UInteger, T::Integer, Some(Assignment)),
            (T::TinyInt, T::UHugeInt, Some(Assignment)),
            (T::Integer, T::decimal(12, 2), Some(Implicit)),
            (T::Integer, T::decimal(9, 2), Some(Assignment)),
            (T::decimal(5, 2), T::Real, Some(Implicit)),
            (T::Double, T::Real, Some(Assignment)),
            (T::Boolean, T::Integer, Some(Explicit)),
            (T::Integer, T::Boolean, Some(Explicit)),
            (T::Date, T::TimestampTz, Some(Implicit)),
            (T::TimestampS, T::TimestampNs, Some(Implicit)),
            (T::TimestampNs, T::Timestamp, Some(Assignment)),
            (T::Integer, T::Varchar, Some(Assignment)),
            (T::Varchar, T::Integer, Some(Assignment)),
            (T::Varchar, T::Json, Some(Assignment)),
            (T::Integer, T::Date, None),
            (T::Date, T::Time, None),
            (list(T::Integer), list(T::BigInt), Some(Implicit)),
            (list(T::Integer), list(T::Date), None),
            (T::Array(T::Integer.into(), 3), list(T::Integer), Some(Implicit)),
            (list(T::Integer), T::Array(T::Integer.into(), 3), Some(Assignment)),
            (T::Array(T::Integer.into(), 2), T::Array(T::Integer.into(), 3), None),
            (list(T::Integer), T::Integer, None),
        ];
        for (from, to, expected) in cases {
            assert_eq!(context(&from, &to), expected, "{from} to {to}");
        }
    }

    #[test]
    fn the_table_has_one_row_for_a_pair() {
        for (index, (from, to, _)) in TABLE.iter().enumerate() {
            assert!(!TABLE[..index].iter().any(|(f, t, _)| (f, t) == (from, to)), "{from:?} to {to:?}");
        }
    }

    #[test]
    fn what_is_lost() {
        let effect = |from: T, to: T| cast_kind(&from, &to).map(|cast| (cast.lossless, cast.keeps_order));
        assert_eq!(effect(T::BigInt, T::Double), Some((false, true)));
        assert_eq!(effect(T::Integer, T::Double), Some((true, true)));
        assert_eq!(effect(T::decimal(4, 2), T::decimal(4, 1)), Some((false, true)));
        assert_eq!(effect(T::Integer, T::Varchar), Some((true, false)));
        assert_eq!(effect(T::Timestamp, T::Date), Some((false, true)));
        // [1.4, 1] < [1.5, 0], but [1, 1] > [1, 0] once the fraction is cut.
        assert_eq!(effect(T::list_of(T::Timestamp), T::list_of(T::Date)), Some((false, false)));
    }

    #[test]
    fn fields_go_by_name_or_place() {
        let from = T::struct_of([("a", T::Integer), ("b", T::Varchar)]);
        let swapped = T::struct_of([("B", T::Varchar), ("A", T::BigInt)]);
        let row = T::Struct(StructField::of_row([T::BigInt, T::Varchar]));
        assert_eq!(context(&from, &swapped), Some(Implicit));
        assert!(!cast_kind(&from, &swapped).unwrap().keeps_order);
        assert!(cast_kind(&from, &row).unwrap().keeps_order);
        assert_eq!(cast_kind(&from, &T::struct_of([("x", T::BigInt), ("y", T::Varchar)])), None);
        // A field more becomes NULL, a field less is for columns only.
        let more = T::struct_of([("a", T::Integer), ("b", T::Varchar), ("c", T::Date)]);
        assert_eq!((context(&from, &more), context(&more, &from)), (Some(Implicit), Some(Assignment)));
    }
}

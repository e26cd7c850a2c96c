//! Aggregate functions: their names, arguments and types. The executor computes them by name.
//!
//! ```text
//! count(*)                                     count()
//! min(x, n), arg_min(x, y, n)                  min_n(x, n), arg_min_n(x, y, n): lists of the n best
//! quantile_cont(f) WITHIN GROUP (ORDER BY x)   quantile_cont(x, f): the key is the value that it is about
//! approx_count_distinct(x)                     by a sketch if there are few groups, else exactly
//! ```

use std::sync::Arc;

use godwit_plan::{AggregateFunction, AggregateMatch, ArgumentType, NoFunction};
use godwit_types::{SqlType, Value};

use crate::arguments::{any_type, no_match};
use crate::implementation::AggregateImplementation;

/// Additional digits of a sum of decimals.
const SUM_DIGITS: u8 = 10;

/// The arguments of a function; then its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A value, or none; the number of rows in which it isn't NULL.
    Count,
    /// A number; the sum, in a type with more room. Or an INTERVAL.
    Sum,
    /// A number, unchanged; a DOUBLE. Or an INTERVAL or a time; the same type.
    Mean,
    /// A truth value; a truth value.
    Truth,
    /// An integer; one of the same type.
    Bits,
    /// This many numbers as DOUBLE; a DOUBLE.
    Doubles(usize),
    /// Two numbers as DOUBLE; the number of pairs.
    CountOfPairs,
    /// This many values; one of the first argument.
    Pick(usize),
    /// This many values and a number n; a list of n values of the first argument.
    PickMany(usize),
    /// A value; one that lies between those of the group, if the type has such values.
    Between,
    /// Likewise, at a given fraction of the way; for a list of fractions, a list.
    BetweenAt,
    /// A value, at a given fraction of the way; for a list of fractions, a list.
    PickAt,
    /// A value; a list of them.
    List,
    /// A value; how often each occurs.
    Histogram,
    /// A value; a DOUBLE that isn't NULL.
    Entropy,
    /// Text, and an optional separator; text.
    Text,
}

/// (name, other names, form).
type Function = (&'static str, &'static [&'static str], Form);

const FUNCTIONS: &[Function] = &[
    ("count", &[], Form::Count),
    ("approx_count_distinct", &["approx_distinct"], Form::Count),
    ("sum", &[], Form::Sum),
    ("fsum", &["sumkahan", "kahan_sum"], Form::Doubles(1)),
    ("avg", &["mean", "favg"], Form::Mean),
    ("product", &[], Form::Doubles(1)),
    ("min", &[], Form::Pick(1)),
    ("max", &[], Form::Pick(1)),
    // The names in plans of `min`, `max`, `arg_min` and `arg_max` with a number after their arguments.
    ("min_n", &[], Form::PickMany(1)),
    ("max_n", &[], Form::PickMany(1)),
    ("arg_min_n", &[], Form::PickMany(2)),
    ("arg_max_n", &[], Form::PickMany(2)),
    ("arg_min", &["argmin", "min_by"], Form::Pick(2)),
    ("arg_max", &["argmax", "max_by"], Form::Pick(2)),
    ("any_value", &[], Form::Pick(1)),
    ("first_value", &["first", "arbitrary"], Form::Pick(1)),
    ("last_value", &["last"], Form::Pick(1)),
    ("mode", &[], Form::Pick(1)),
    ("bool_and", &["every"], Form::Truth),
    ("bool_or", &[], Form::Truth),
    ("bit_and", &[], Form::Bits),
    ("bit_or", &[], Form::Bits),
    ("bit_xor", &[], Form::Bits),
    ("var_samp", &["var", "variance", "var_sample"], Form::Doubles(1)),
    ("var_pop", &["var_population"], Form::Doubles(1)),
    ("stddev", &["stddev_samp"], Form::Doubles(1)),
    ("stddev_pop", &[], Form::Doubles(1)),
    ("sem", &[], Form::Doubles(1)),
    ("skewness", &[], Form::Doubles(1)),
    ("kurtosis", &[], Form::Doubles(1)),
    ("kurtosis_pop", &[], Form::Doubles(1)),
    ("corr", &[], Form::Doubles(2)),
    ("covar_samp", &["covar"], Form::Doubles(2)),
    ("covar_pop", &[], Form::Doubles(2)),
    ("regr_count", &[], Form::CountOfPairs),
    ("regr_avgx", &[], Form::Doubles(2)),
    ("regr_avgy", &[], Form::Doubles(2)),
    ("regr_sxx", &[], Form::Doubles(2)),
    ("regr_syy", &[], Form::Doubles(2)),
    ("regr_sxy", &[], Form::Doubles(2)),
    ("regr_slope", &[], Form::Doubles(2)),
    ("regr_intercept", &[], Form::Doubles(2)),
    ("regr_r2", &[], Form::Doubles(2)),
    ("median", &[], Form::Between),
    ("mad", &[], Form::Doubles(1)),
    ("quantile_cont", &["percentile_cont"], Form::BetweenAt),
    ("quantile_disc", &["quantile", "percentile_disc"], Form::PickAt),
    ("approx_quantile", &[], Form::PickAt),
    ("array_agg", &["list"], Form::List),
    ("string_agg", &["group_concat", "listagg"], Form::Text),
    ("histogram", &[], Form::Histogram),
    ("entropy", &[], Form::Entropy),
];

/// Functions for which repeated rows don't matter.
const IGNORE_DUPLICATES: &[&str] =
    &["approx_count_distinct", "min", "max", "any_value", "bool_and", "bool_or", "bit_and", "bit_or"];

/// Functions for which the order of rows matters.
const DEPEND_ON_ORDER: &[&str] = &[
    "array_agg",
    "string_agg",
    "first_value",
    "last_value",
    "any_value",
    "arg_min",
    "arg_max",
    "arg_min_n",
    "arg_max_n",
    "mode",
];

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().flat_map(|(name, aliases, _)| [*name].into_iter().chain(aliases.iter().copied()))
}

/// Each name with each of its signatures.
pub(crate) fn signatures() -> impl Iterator<Item = (&'static str, String)> {
    FUNCTIONS.iter().flat_map(|&(name, aliases, form)| {
        // Plans and users have different names for these.
        let name = if matches!(form, Form::PickMany(_)) { name.trim_end_matches("_n") } else { name };
        let names = [name].into_iter().chain(aliases.iter().copied());
        names.flat_map(move |name| form.signatures(name).into_iter().map(move |signature| (name, signature)))
    })
}

fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|(known, aliases, _)| *known == name || aliases.contains(&name))
}

pub(crate) fn is_known(name: &str) -> bool {
    find(name).is_some()
}

pub(crate) fn resolve(
    name: &str,
    arguments: &[ArgumentType<'_>],
    order_by: &[ArgumentType<'_>],
) -> Result<AggregateMatch, NoFunction> {
    let &(mut name, _, mut form) = find(name).ok_or(NoFunction::UnknownName)?;
    if let Form::Pick(values) = form
        && arguments.len() == values + 1
        && let Some(&(of_many, _, many)) = find(&format!("{name}_n"))
    {
        (name, form) = (of_many, many);
    }
    let takes_key = form.wants_key(name, arguments.len()) && order_by.len() == 1;
    let all: Vec<ArgumentType<'_>> = order_by.iter().filter(|_| takes_key).chain(arguments).copied().collect();
    let (mut argument_types, ty) = form.types(&all).ok_or_else(|| no_match(&form.signatures(name)))?;
    let key = takes_key.then(|| argument_types.remove(0));
    let of_empty = match form {
        Form::Count | Form::CountOfPairs => Value::Integer(0),
        Form::Entropy => Value::Float(0.0),
        _ => Value::Null,
    };
    let nullable = of_empty.is_null();
    let function = AggregateFunction {
        name: name.into(),
        ignores_duplicates: IGNORE_DUPLICATES.contains(&name),
        depends_on_order: DEPEND_ON_ORDER.contains(&name),
        of_empty,
        implementation: Arc::new(AggregateImplementation { key, distinct: name == "approx_count_distinct" }),
    };
    Ok(AggregateMatch { function, argument_types, ty, nullable })
}

impl Form {
    /// True if the value to aggregate isn't an argument and so has to be the key of WITHIN GROUP.
    fn wants_key(self, name: &str, arguments: usize) -> bool {
        match self {
            Form::BetweenAt | Form::PickAt => arguments == 1,
            _ => name == "mode" && arguments == 0,
        }
    }

    /// Returns the types that arguments are cast to, and the result's; `None` if the function doesn't take them.
    fn types(self, arguments: &[ArgumentType<'_>]) -> Option<(Vec<SqlType>, SqlType)> {
        let any = || arguments.iter().map(any_type).collect::<Vec<_>>();
        let same = |ty: SqlType| (vec![ty.clone()], ty);
        Some(match (self, arguments) {
            (Form::Count, [] | [_]) => (any(), SqlType::BigInt),
            (Form::Sum, [value]) => sum_types(value.ty)?,
            (Form::Mean, [value]) if *value.ty == SqlType::Interval => same(SqlType::Interval),
            (Form::Mean, [value]) if *value.ty == SqlType::Date => same(SqlType::Timestamp),
            (Form::Mean, [value]) if value.ty.is_timestamp() || *value.ty == SqlType::Time => same(value.ty.clone()),
            (Form::Mean, [value]) => (vec![averaged(value.ty)?], SqlType::Double),
            (Form::Truth, [value]) if matches!(value.ty, SqlType::Boolean | SqlType::Unknown) => same(SqlType::Boolean),
            (Form::Bits, [value]) if *value.ty == SqlType::Unknown => same(SqlType::BigInt),
            (Form::Bits, [value]) if value.ty.integer_bits().is_some_and(|bits| bits <= 64) => same(value.ty.clone()),
            (Form::Doubles(number), _) if arguments.len() == number => (doubles(arguments)?, SqlType::Double),
            (Form::CountOfPairs, [_, _]) => (doubles(arguments)?, SqlType::BigInt),
            (Form::Pick(number), [first, ..]) if arguments.len() == number => (any(), any_type(first)),
            (Form::PickMany(number), [first, ..]) if arguments.len() == number + 1 => {
                let mut types = any();
                types[number] = SqlType::BigInt;
                (types, SqlType::list_of(any_type(first)))
            }
            // There is no value between two clocks.
            (Form::Between | Form::BetweenAt, [value, ..]) if *value.ty == SqlType::TimeTz => return None,
            (Form::Between, [value]) => same(continuous(value)),
            (Form::BetweenAt, [value, fraction]) => at_fraction(continuous(value), fraction),
            (Form::PickAt, [value, fraction]) => at_fraction(any_type(value), fraction),
            (Form::List, [value]) => (any(), SqlType::list_of(any_type(value))),
            (Form::Histogram, [value]) => (any(), SqlType::Map(Arc::new((any_type(value), SqlType::UBigInt)))),
            (Form::Entropy, [_]) => (any(), SqlType::Double),
            (Form::Text, [_] | [_, _]) => (vec![SqlType::Varchar; arguments.len()], SqlType::Varchar),
            _ => return None,
        })
    }

    /// The signatures of the function, for messages.
    fn signatures(self, name: &str) -> Vec<String> {
        let forms: &[&str] = match self {
            Form::Count => &["*", "value"],
            Form::Sum => &["number", "INTERVAL", "BOOLEAN"],
            Form::Mean => &["number", "INTERVAL", "TIMESTAMP", "TIME"],
            Form::Doubles(1) => &["number"],
            Form::Doubles(_) | Form::CountOfPairs => &["number, number"],
            Form::Truth => &["BOOLEAN"],
            Form::Bits => &["integer"],
            Form::Pick(1) | Form::List | Form::Histogram | Form::Entropy | Form::Between => &["value"],
            Form::Pick(_) => &["value, value"],
            Form::PickMany(1) => &["value, BIGINT"],
            Form::PickMany(_) => &["value, value, BIGINT"],
            Form::BetweenAt | Form::PickAt => &["value, DOUBLE", "value, DOUBLE[]"],
            Form::Text => &["VARCHAR", "VARCHAR, VARCHAR"],
        };
        forms.iter().map(|form| format!("{name}({form})")).collect()
    }
}

/// 64 bits have room for the sum of 2³¹ integers of 32 bits, but hardly for that of 64-bit integers.
fn sum_types(value: &SqlType) -> Option<(Vec<SqlType>, SqlType)> {
    let same = |ty: SqlType| (vec![ty.clone()], ty);
    Some(match value {
        SqlType::BigInt | SqlType::UBigInt => (vec![value.clone()], SqlType::HugeInt),
        SqlType::HugeInt => same(SqlType::HugeInt),
        // TRUE counts as 1.
        SqlType::Boolean => same(SqlType::BigInt),
        ty if ty.is_signed_integer() => same(SqlType::BigInt),
        SqlType::UTinyInt | SqlType::USmallInt | SqlType::UInteger => same(SqlType::UBigInt),
        SqlType::Real | SqlType::Double | SqlType::UHugeInt | SqlType::Unknown => same(SqlType::Double),
        SqlType::Interval => same(SqlType::Interval),
        SqlType::Decimal { precision, scale } => {
            let room = (precision + SUM_DIGITS).min(SqlType::DECIMAL_PRECISION_MAX);
            (vec![value.clone()], SqlType::decimal(room, *scale))
        }
        _ => return None,
    })
}

/// Integers and decimals are summed exactly, before the division.
fn averaged(value: &SqlType) -> Option<SqlType> {
    match value {
        SqlType::Real | SqlType::Double | SqlType::UHugeInt | SqlType::Unknown => Some(SqlType::Double),
        exact if exact.is_numeric() => Some(exact.clone()),
        _ => None,
    }
}

fn doubles(arguments: &[ArgumentType<'_>]) -> Option<Vec<SqlType>> {
    let double = |argument: &ArgumentType<'_>| {
        (argument.ty.is_numeric() || *argument.ty == SqlType::Unknown).then_some(SqlType::Double)
    };
    arguments.iter().map(double).collect()
}

/// Returns the type of values between those of a type.
fn continuous(value: &ArgumentType<'_>) -> SqlType {
    match value.ty {
        SqlType::Unknown => SqlType::Double,
        SqlType::Date => SqlType::Timestamp,
        ty if ty.is_integer() => SqlType::Double,
        SqlType::Enum(_) => SqlType::Varchar,
        ty => ty.clone(),
    }
}

fn at_fraction(value: SqlType, fraction: &ArgumentType<'_>) -> (Vec<SqlType>, SqlType) {
    match fraction.ty.element() {
        Some(_) => (vec![value.clone(), SqlType::list_of(SqlType::Double)], SqlType::list_of(value)),
        None => (vec![value.clone(), SqlType::Double], value),
    }
}

//! Aggregate functions: their names, arguments and types. The executor computes them by name.
//!
//! ```text
//! count(*)                                     count()
//! min(x, n), arg_min(x, y, n)                  min_n(x, n), arg_min_n(x, y, n): lists of the n best
//! quantile_cont(f) WITHIN GROUP (ORDER BY x)   quantile_cont(x, f): the key is the value that it is about
//! approx_count_distinct(x)                     by a sketch if there are few groups, else exactly
//! bit_and(x) of BIT and UHUGEINT               list_bit_and(array_agg(x))
//! ```

use std::sync::Arc;

use godwit_plan::{AggregateFunction, AggregateMatch, ArgumentType, NoFunction};
use godwit_types::{SqlType, Value};

use crate::arguments::{any_type, no_match};
use crate::documented::{self, Documented, function};
use crate::implementation::AggregateImplementation;
use crate::listed::{Listed, ListedKind};

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
    /// An integer or bits; a value of the same type.
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

type Function = Documented<Form>;

const FUNCTIONS: &[Function] = &[
    function(&["count"], Form::Count, "The number of rows, or of those in which the value isn't NULL")
        .example("count(x) FROM unnest([1, NULL, 3]) AS t(x)", "2"),
    function(
        &["approx_count_distinct", "approx_distinct"],
        Form::Count,
        "About the number of different values that aren't NULL",
    )
    .example("approx_count_distinct(x) FROM unnest([1, 2, 2]) AS t(x)", "2"),
    function(&["sum"], Form::Sum, "The sum of the numbers or intervals; the number of those that are TRUE")
        .example("sum(x) FROM unnest([1, 2, 4]) AS t(x)", "7"),
    function(
        &["fsum", "sumkahan", "kahan_sum"],
        Form::Doubles(1),
        "The sum of the numbers as DOUBLE, with what rounding takes from it",
    )
    .example("fsum(x) FROM unnest([1e100, 1, -1e100]) AS t(x)", "1.0"),
    function(&["favg"], Form::Doubles(1), "The mean of the numbers as DOUBLE, with what rounding takes from their sum")
        .example("favg(x) FROM unnest([1e100, 2, -1e100, 2]) AS t(x)", "1.0"),
    function(&["avg", "mean"], Form::Mean, "The mean of the numbers, intervals or times")
        .example("avg(x) FROM unnest([1, 2, 6]) AS t(x)", "3.0"),
    function(&["product"], Form::Doubles(1), "The product of the numbers")
        .example("product(x) FROM unnest([2, 3, 4]) AS t(x)", "24.0"),
    function(&["min"], Form::Pick(1), "The least value").example("min(x) FROM unnest([3, 1, 2]) AS t(x)", "1"),
    function(&["max"], Form::Pick(1), "The greatest value").example("max(x) FROM unnest([3, 1, 2]) AS t(x)", "3"),
    // The names in plans of `min`, `max`, `arg_min` and `arg_max` with a number after their arguments.
    function(&["min_n"], Form::PickMany(1), "The list of the least values, as many as the number says")
        .example("min(x, 2) FROM unnest([3, 1, 2]) AS t(x)", "[1, 2]"),
    function(&["max_n"], Form::PickMany(1), "The list of the greatest values, as many as the number says")
        .example("max(x, 2) FROM unnest([3, 1, 2]) AS t(x)", "[3, 2]"),
    function(
        &["arg_min_n"],
        Form::PickMany(2),
        "The list of first values in the rows with the least second values, as many as the number says",
    )
    .example("arg_min(x, y, 2) FROM (VALUES ('a', 3), ('b', 1), ('c', 2)) AS t(x, y)", "[b, c]"),
    function(
        &["arg_max_n"],
        Form::PickMany(2),
        "The list of first values in the rows with the greatest second values, as many as the number says",
    )
    .example("arg_max(x, y, 2) FROM (VALUES ('a', 3), ('b', 1), ('c', 2)) AS t(x, y)", "[a, c]"),
    function(&["arg_min", "argmin", "min_by"], Form::Pick(2), "The first value in the row with the least second value")
        .example("arg_min(x, y) FROM (VALUES ('a', 3), ('b', 1)) AS t(x, y)", "b"),
    function(
        &["arg_max", "argmax", "max_by"],
        Form::Pick(2),
        "The first value in the row with the greatest second value",
    )
    .example("arg_max(x, y) FROM (VALUES ('a', 3), ('b', 1)) AS t(x, y)", "a"),
    function(&["any_value"], Form::Pick(1), "The first value that isn't NULL")
        .example("any_value(x) FROM unnest([NULL, 1, 2]) AS t(x)", "1"),
    function(
        &["first_value", "first", "arbitrary"],
        Form::Pick(1),
        "The value of the first row; with OVER, of the frame",
    )
    .example("first(x ORDER BY x DESC) FROM unnest([1, 2, 4]) AS t(x)", "4"),
    function(&["last_value", "last"], Form::Pick(1), "The value of the last row; with OVER, of the frame")
        .example("last(x ORDER BY x DESC) FROM unnest([1, 2, 4]) AS t(x)", "1"),
    function(&["mode"], Form::Pick(1), "The most frequent value; of several, the one that comes first")
        .example("mode(x) FROM unnest([1, 2, 2]) AS t(x)", "2"),
    function(&["bool_and", "every"], Form::Truth, "Whether all of the values are TRUE")
        .example("bool_and(x > 1) FROM unnest([1, 2, 4]) AS t(x)", "false"),
    function(&["bool_or"], Form::Truth, "Whether one of the values is TRUE")
        .example("bool_or(x > 1) FROM unnest([1, 2, 4]) AS t(x)", "true"),
    function(&["bit_and"], Form::Bits, "The bits that are set in all of the values")
        .example("bit_and(x) FROM unnest([6, 3]) AS t(x)", "2"),
    function(&["bit_or"], Form::Bits, "The bits that are set in one of the values")
        .example("bit_or(x) FROM unnest([6, 3]) AS t(x)", "7"),
    function(&["bit_xor"], Form::Bits, "The bits that are set in an odd number of the values")
        .example("bit_xor(x) FROM unnest([6, 3]) AS t(x)", "5"),
    function(
        &["var_samp", "var", "variance", "var_sample"],
        Form::Doubles(1),
        "The variance of the numbers as a sample: NULL for less than two",
    )
    .example("var_samp(x) FROM unnest([1, 2, 6]) AS t(x)", "7.0"),
    function(&["var_pop", "var_population"], Form::Doubles(1), "The variance of the numbers as the population")
        .example("var_pop(x) FROM unnest([1, 5]) AS t(x)", "4.0"),
    function(
        &["stddev", "stddev_samp"],
        Form::Doubles(1),
        "The standard deviation of the numbers as a sample: NULL for less than two",
    )
    .example("stddev(x) FROM unnest([1, 2, 3]) AS t(x)", "1.0"),
    function(&["stddev_pop"], Form::Doubles(1), "The standard deviation of the numbers as the population")
        .example("stddev_pop(x) FROM unnest([1, 5]) AS t(x)", "2.0"),
    function(&["sem"], Form::Doubles(1), "The standard error of the mean")
        .example("sem(x) FROM unnest([1, 3, 1, 3]) AS t(x)", "0.5"),
    function(
        &["skewness"],
        Form::Doubles(1),
        "How much the numbers lean to one side of their mean: NULL for less than three",
    )
    .example("skewness(x) FROM unnest([1, 2, 3]) AS t(x)", "0.0"),
    function(
        &["kurtosis"],
        Form::Doubles(1),
        "The excess kurtosis of the numbers as a sample: NULL for less than four",
    )
    .example("round(kurtosis(x), 6) FROM unnest([1, 2, 3, 4]) AS t(x)", "-1.2"),
    function(&["kurtosis_pop"], Form::Doubles(1), "The excess kurtosis of the numbers as the population")
        .example("kurtosis_pop(x) FROM unnest([1, 2, 1, 2]) AS t(x)", "-2.0"),
    function(&["corr"], Form::Doubles(2), "The correlation of the pairs, from -1 to 1")
        .example("corr(y, x) FROM (VALUES (1, 2), (2, 4), (3, 6)) AS t(y, x)", "1.0"),
    function(
        &["covar_samp", "covar"],
        Form::Doubles(2),
        "The covariance of the pairs as a sample: NULL for less than two",
    )
    .example("covar_samp(y, x) FROM (VALUES (1, 2), (2, 4), (3, 6)) AS t(y, x)", "2.0"),
    function(&["covar_pop"], Form::Doubles(2), "The covariance of the pairs as the population")
        .example("covar_pop(y, x) FROM (VALUES (1, 2), (3, 6)) AS t(y, x)", "2.0"),
    function(&["regr_count"], Form::CountOfPairs, "The number of pairs without NULL")
        .example("regr_count(y, x) FROM (VALUES (1, 2), (2, NULL)) AS t(y, x)", "1"),
    function(&["regr_avgx"], Form::Doubles(2), "The mean of the second numbers of pairs without NULL")
        .example("regr_avgx(y, x) FROM (VALUES (1, 2), (3, 6)) AS t(y, x)", "4.0"),
    function(&["regr_avgy"], Form::Doubles(2), "The mean of the first numbers of pairs without NULL")
        .example("regr_avgy(y, x) FROM (VALUES (1, 2), (3, 6)) AS t(y, x)", "2.0"),
    function(&["regr_sxx"], Form::Doubles(2), "The sum of the squared distances of the second numbers from their mean")
        .example("regr_sxx(y, x) FROM (VALUES (1, 2), (3, 6)) AS t(y, x)", "8.0"),
    function(&["regr_syy"], Form::Doubles(2), "The sum of the squared distances of the first numbers from their mean")
        .example("regr_syy(y, x) FROM (VALUES (1, 2), (3, 6)) AS t(y, x)", "2.0"),
    function(&["regr_sxy"], Form::Doubles(2), "The sum of the products of both numbers' distances from their means")
        .example("regr_sxy(y, x) FROM (VALUES (1, 2), (3, 6)) AS t(y, x)", "4.0"),
    function(&["regr_slope"], Form::Doubles(2), "The slope of the line through points that fits best: first y, then x")
        .example("regr_slope(y, x) FROM (VALUES (3, 1), (5, 2)) AS t(y, x)", "2.0"),
    function(
        &["regr_intercept"],
        Form::Doubles(2),
        "Where the line through points that fits best is at x = 0: first y, then x",
    )
    .example("regr_intercept(y, x) FROM (VALUES (3, 1), (5, 2)) AS t(y, x)", "1.0"),
    function(
        &["regr_r2"],
        Form::Doubles(2),
        "The square of the correlation: how well a line fits the pairs, from 0 to 1",
    )
    .example("regr_r2(y, x) FROM (VALUES (3, 1), (5, 2)) AS t(y, x)", "1.0"),
    function(&["median"], Form::Between, "The value in the middle, or between the two there")
        .example("median(x) FROM unnest([1, 2, 6, 8]) AS t(x)", "4.0"),
    function(&["mad"], Form::Doubles(1), "The median of the distances from the median")
        .example("mad(x) FROM unnest([1, 2, 6]) AS t(x)", "1.0"),
    function(
        &["quantile_cont", "percentile_cont"],
        Form::BetweenAt,
        "The value at a fraction of the way through the ordered values, or between two; of fractions, a list",
    )
    .example("quantile_cont(x, 0.25) FROM unnest([1, 2, 6]) AS t(x)", "1.5"),
    function(
        &["quantile_disc", "quantile", "percentile_disc", "reservoir_quantile"],
        Form::PickAt,
        "The value at a fraction of the way through the ordered values, one of them; of fractions, a list",
    )
    .example("quantile_disc(x, 0.5) FROM unnest([1, 2, 6]) AS t(x)", "2"),
    function(
        &["approx_quantile"],
        Form::PickAt,
        "About the value at a fraction of the way through the ordered values; of fractions, a list",
    )
    .example("approx_quantile(x, 0.5) FROM unnest([1, 2, 6]) AS t(x)", "2"),
    function(&["array_agg", "list"], Form::List, "The list of all values, NULL included")
        .example("array_agg(x ORDER BY x) FROM unnest([3, 1, 2]) AS t(x)", "[1, 2, 3]"),
    function(
        &["string_agg", "group_concat", "listagg"],
        Form::Text,
        "The texts that aren't NULL, one after the other, with a text between them, a comma if none is said",
    )
    .example("string_agg(x, '-' ORDER BY x) FROM unnest(['b', 'a']) AS t(x)", "a-b"),
    function(&["histogram"], Form::Histogram, "A map from each value to how often it occurs")
        .example("histogram(x) FROM unnest([1, 2, 2]) AS t(x)", "{1=1, 2=2}"),
    function(&["entropy"], Form::Entropy, "The entropy of the values in bits: how much one of them tells on average")
        .example("entropy(x) FROM unnest([1, 2, 2, 1]) AS t(x)", "1.0"),
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
    documented::names(FUNCTIONS)
}

pub(crate) fn listed() -> impl Iterator<Item = Listed> {
    FUNCTIONS.iter().map(|function| {
        let mut listed = Listed::of(function, ListedKind::Aggregate, "Aggregates", Vec::new());
        if matches!(function.form, Form::PickMany(_)) {
            // Plans and users have different names for these.
            listed.names[0] = listed.names[0].trim_end_matches("_n");
        }
        listed.signatures = function.form.signatures(listed.names[0]);
        listed
    })
}

fn find(name: &str) -> Option<&'static Function> {
    documented::find(FUNCTIONS, name)
}

pub(crate) fn is_known(name: &str) -> bool {
    find(name).is_some()
}

pub(crate) fn resolve(
    name: &str,
    arguments: &[ArgumentType<'_>],
    order_by: &[ArgumentType<'_>],
) -> Result<AggregateMatch, NoFunction> {
    let mut found = find(name).ok_or(NoFunction::UnknownName)?;
    let of_list = of_list(found, arguments);
    if of_list.is_some() {
        found = find("array_agg").expect("it is in the list");
    }
    if let Form::Pick(values) = found.form
        && arguments.len() == values + 1
        && let Some(of_many) = find(&format!("{}_n", found.names[0]))
    {
        found = of_many;
    }
    let (name, form) = (found.names[0], found.form);
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
    Ok(AggregateMatch { function, argument_types, ty, nullable, of_list })
}

/// Returns the function of a list that is the aggregate of its elements, for values for which there is no state.
fn of_list(found: &Function, arguments: &[ArgumentType<'_>]) -> Option<&'static str> {
    let [ArgumentType { ty: SqlType::Bit | SqlType::UHugeInt, .. }] = arguments else { return None };
    match found.names[0] {
        "bit_and" => Some("list_bit_and"),
        "bit_or" => Some("list_bit_or"),
        "bit_xor" => Some("list_bit_xor"),
        _ => None,
    }
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
            (Form::Bits, [value]) if value.ty.is_integer() => same(value.ty.clone()),
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
            Form::Bits => &["integer", "BIT"],
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

//! Statistics of a list's elements: sums, means, moments. NULLs don't count; without values, they give NULL.

use std::ops::Range;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::ArgumentType;
use godwit_types::SqlType;
use godwit_vector::kernels::compensated::CompensatedSum;
use godwit_vector::{Flat, Native, Vector, match_integer_type};

use super::call::{Call, strict};
use super::lists::Lists;
use super::types::{Chosen, element_of, list_as};
use super::{list_function, order};
use crate::choose::fits;
use crate::function::Function;
use crate::kernel::Work;
use crate::room::Room;
use crate::rows::{Pace, parts_of};

pub(super) fn functions() -> Vec<Function> {
    vec![
        list_function(&["list_sum", "array_sum"], "The sum of the list's elements; exact for integers and decimals")
            .example("list_sum([1, 2, NULL])", "3")
            .chosen("list_sum(list)", sum),
        list_function(&["list_avg", "array_avg"], "The mean of the list's elements")
            .example("list_avg([1, 2])", "1.5")
            .chosen("list_avg(list)", |list| moment(list, mean)),
        list_function(&["list_product", "array_product"], "The product of the list's elements")
            .example("list_product([2, 3])", "6.0")
            .chosen("list_product(list)", |list| moment(list, product)),
        list_function(&["list_median", "array_median"], "The value in the middle of the list's elements in order")
            .example("list_median([1, 2, 4])", "2.0")
            .chosen("list_median(list)", median),
        list_function(&["list_stddev_samp"], "The standard deviation of the list's elements as a sample")
            .example("list_stddev_samp([1, 3, 5])", "2.0")
            .chosen("list_stddev_samp(list)", |list| moment(list, deviation)),
        list_function(&["list_stddev_pop"], "The standard deviation of the list's elements")
            .example("list_stddev_pop([1, 3])", "1.0")
            .chosen("list_stddev_pop(list)", |list| moment(list, deviation_of_all)),
        list_function(&["list_var_samp"], "The variance of the list's elements as a sample")
            .example("list_var_samp([1, 3, 5])", "4.0")
            .chosen("list_var_samp(list)", |list| moment(list, variance)),
        list_function(&["list_var_pop"], "The variance of the list's elements")
            .example("list_var_pop([1, 3])", "1.0")
            .chosen("list_var_pop(list)", |list| moment(list, variance_of_all)),
        list_function(&["list_sem"], "The standard error of the mean of the list's elements")
            .example("list_sem([1, 1])", "0.0")
            .chosen("list_sem(list)", |list| moment(list, error_of_mean)),
        list_function(&["list_skewness"], "The skewness of the list's elements")
            .example("list_skewness([1, 2, 3])", "0.0")
            .chosen("list_skewness(list)", |list| moment(list, skewness)),
        list_function(&["list_kurtosis"], "The excess kurtosis of the list's elements as a sample")
            .example("list_kurtosis([1, 1, 1, 1, 6])", "5.0")
            .chosen("list_kurtosis(list)", |list| moment(list, kurtosis)),
        list_function(&["list_kurtosis_pop"], "The excess kurtosis of the list's elements")
            .example("list_kurtosis_pop([1, 3])", "-2.0")
            .chosen("list_kurtosis_pop(list)", |list| moment(list, kurtosis_of_all)),
        list_function(&["list_mad"], "The median of the distances of the list's elements from their median")
            .example("list_mad([1, 2, 9])", "1.0")
            .chosen("list_mad(list)", |list| moment(list, median_distance)),
    ]
}

pub(super) fn sum(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    // TRUE counts as 1.
    let element = element_of(list).map(|ty| if ty == SqlType::Boolean { SqlType::BigInt } else { ty })?;
    let types = vec![list_as(list, &element)];
    let result = match &element {
        SqlType::HugeInt => SqlType::HugeInt,
        SqlType::Decimal { scale, .. } => SqlType::decimal(SqlType::DECIMAL_PRECISION_MAX, *scale),
        ty if ty.integer_range().is_some() => SqlType::BigInt,
        ty if ty.is_numeric() => return moment(arguments, sum_of_floats),
        _ => return None,
    };
    let compute = |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let vector = lists.vector()?;
        let sums = |row: usize| exact_sum(&vector, lists.range(row), call);
        match call.result {
            SqlType::BigInt => call.fixed::<i64, _>(|row| {
                let sum = sums(row)?.map(i64::try_from).transpose();
                sum.map_err(|_| out_of_range(call.result))
            }),
            _ => call.fixed::<i128, _>(sums),
        }
    };
    Some(Ok(strict(types, result, compute)))
}

fn out_of_range(ty: &SqlType) -> Error {
    Error::user(format!("the sum of the list is out of range for {ty}")).with_code(SqlState::NUMERIC_VALUE_OUT_OF_RANGE)
}

/// Greater than all decimals of 38 digits.
const DECIMAL_LIMIT: u128 = 10_u128.pow(SqlType::DECIMAL_PRECISION_MAX as u32);

#[allow(clippy::unnecessary_cast, reason = "one of the types is i128 already")]
fn exact_sum(vector: &Vector, range: Range<usize>, call: &Call<'_>) -> Result<Option<i128>> {
    let flat = vector.to_flat();
    let (mut sum, mut has_values) = (Some(0_i128), false);
    let mut pace = Pace::new(call.work);
    match_integer_type!(flat.physical(), T => {
        let values = flat.values::<T>();
        for part in parts_of(range) {
            pace.go(part.len())?;
            for at in part.filter(|&at| vector.is_valid(at)) {
                sum = sum.and_then(|sum| sum.checked_add(values[at] as i128));
                has_values = true;
            }
        }
    });
    let is_decimal = call.result.is_decimal();
    let sum = sum.filter(|sum| !is_decimal || sum.unsigned_abs() < DECIMAL_LIMIT);
    let sum = sum.ok_or_else(|| out_of_range(call.result))?;
    Ok(has_values.then_some(sum))
}

/// A statistic of all values of a list, of which there is at least one.
type Moment = fn(&mut [f64], &dyn Work) -> Result<Option<f64>>;

pub(super) fn moment(arguments: &[ArgumentType<'_>], moment: Moment) -> Chosen {
    let [list] = arguments else { return None };
    element_of(list).filter(SqlType::is_numeric)?;
    let compute = move |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let vector = lists.vector()?;
        let flat = vector.to_flat();
        let values = flat.values::<f64>();
        let mut valid = Valid::new(&vector, values, call);
        call.fixed::<f64, Result<Option<f64>>>(|row| {
            let valid = valid.of(lists.range(row))?;
            if valid.is_empty() { Ok(None) } else { moment(valid, call.work) }
        })
    };
    let types = vec![list_as(list, &SqlType::Double)];
    Some(Ok(strict(types, SqlType::Double, compute).total()))
}

/// The values of rows that aren't NULL, one row at a time.
struct Valid<'c, T> {
    vector: &'c Vector,
    values: &'c [T],
    /// Those of the row.
    kept: Vec<T>,
    room: Room<'c>,
    work: &'c dyn Work,
}

impl<'c, T: Native> Valid<'c, T> {
    fn new(vector: &'c Vector, values: &'c [T], call: &Call<'c>) -> Self {
        Self { vector, values, kept: Vec::new(), room: Room::new(1, call.work), work: call.work }
    }

    fn of(&mut self, range: Range<usize>) -> Result<&mut [T]> {
        self.kept.clear();
        self.room.grow(&mut self.kept, range.len())?;
        let mut pace = Pace::new(self.work);
        for part in parts_of(range) {
            pace.go(part.len())?;
            self.kept.extend(part.filter(|&at| self.vector.is_valid(at)).map(|at| self.values[at]));
        }
        Ok(&mut self.kept)
    }
}

/// Adds up what each value counts for.
fn sum_by(values: &[f64], work: &dyn Work, term: impl Fn(f64) -> f64) -> Result<f64> {
    // Sums of floats begin with −0.
    let (mut sum, mut pace) = (-0.0, Pace::new(work));
    for part in parts_of(0..values.len()) {
        pace.go(part.len())?;
        sum = values[part].iter().fold(sum, |sum, &value| sum + term(value));
    }
    Ok(sum)
}

pub(super) fn sum_of_floats(values: &mut [f64], work: &dyn Work) -> Result<Option<f64>> {
    sum_by(values, work, |value| value).map(Some)
}

pub(super) fn mean(values: &mut [f64], work: &dyn Work) -> Result<Option<f64>> {
    Ok(Some(sum_by(values, work, |value| value)? / values.len() as f64))
}

pub(super) fn compensated_sum(values: &mut [f64], work: &dyn Work) -> Result<Option<f64>> {
    let (mut sum, mut pace) = (CompensatedSum::default(), Pace::new(work));
    for part in parts_of(0..values.len()) {
        pace.go(part.len())?;
        sum = values[part].iter().fold(sum, |sum, &value| sum.with(value));
    }
    Ok(Some(sum.total()))
}

pub(super) fn compensated_mean(values: &mut [f64], work: &dyn Work) -> Result<Option<f64>> {
    Ok(compensated_sum(values, work)?.map(|sum| sum / values.len() as f64))
}

pub(super) fn product(values: &mut [f64], work: &dyn Work) -> Result<Option<f64>> {
    let (mut product, mut pace) = (1.0, Pace::new(work));
    for value in values.iter() {
        product *= value;
        pace.go(1)?;
    }
    Ok(Some(product))
}

/// Returns the mean of a power of the deviations from the mean.
fn central(values: &[f64], power: i32, work: &dyn Work) -> Result<f64> {
    let count = values.len() as f64;
    let mean = sum_by(values, work, |value| value)? / count;
    Ok(sum_by(values, work, |value| (value - mean).powi(power))? / count)
}

pub(super) fn variance_of_all(values: &mut [f64], work: &dyn Work) -> Result<Option<f64>> {
    central(values, 2, work).map(Some)
}

pub(super) fn variance(values: &mut [f64], work: &dyn Work) -> Result<Option<f64>> {
    let count = values.len() as f64;
    Ok(if count > 1.0 { Some(central(values, 2, work)? * count / (count - 1.0)) } else { None })
}

pub(super) fn deviation_of_all(values: &mut [f64], work: &dyn Work) -> Result<Option<f64>> {
    Ok(variance_of_all(values, work)?.map(f64::sqrt))
}

pub(super) fn deviation(values: &mut [f64], work: &dyn Work) -> Result<Option<f64>> {
    Ok(variance(values, work)?.map(f64::sqrt))
}

pub(super) fn error_of_mean(values: &mut [f64], work: &dyn Work) -> Result<Option<f64>> {
    Ok(Some((central(values, 2, work)? / values.len() as f64).sqrt()))
}

pub(super) fn skewness(values: &mut [f64], work: &dyn Work) -> Result<Option<f64>> {
    let count = values.len() as f64;
    let spread = central(values, 2, work)?;
    if count <= 2.0 || spread == 0.0 {
        return Ok(None);
    }
    Ok(Some((count * (count - 1.0)).sqrt() / (count - 2.0) * central(values, 3, work)? / spread.powf(1.5)))
}

pub(super) fn kurtosis_of_all(values: &mut [f64], work: &dyn Work) -> Result<Option<f64>> {
    let spread = central(values, 2, work)?;
    Ok(if spread == 0.0 { None } else { Some(central(values, 4, work)? / (spread * spread) - 3.0) })
}

pub(super) fn kurtosis(values: &mut [f64], work: &dyn Work) -> Result<Option<f64>> {
    let count = values.len() as f64;
    let of_all = kurtosis_of_all(values, work)?.filter(|_| count > 3.0);
    Ok(of_all.map(|of_all| (count - 1.0) * ((count + 1.0) * of_all + 6.0) / ((count - 2.0) * (count - 3.0))))
}

fn sort(values: &mut [f64], work: &dyn Work) -> Result<()> {
    order::sort(values, work, |a, b| godwit_types::compare_floats(*a, *b))
}

fn middle(values: &mut [f64], work: &dyn Work) -> Result<Option<f64>> {
    sort(values, work)?;
    let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
    Ok(Some(if low == high { low } else { low + (high - low) / 2.0 }))
}

pub(super) fn median_distance(values: &mut [f64], work: &dyn Work) -> Result<Option<f64>> {
    let Some(median) = middle(values, work)? else { return Ok(None) };
    values.iter_mut().for_each(|value| *value = (*value - median).abs());
    middle(values, work)
}

/// The fractions of a quantile: a number, or a list of them.
pub(super) struct Fractions {
    values: Flat,
    lists: Option<(Lists, Vector)>,
}

impl Fractions {
    /// The type of an argument that is one; `None` if it can't be.
    pub(super) fn ty(argument: &ArgumentType<'_>) -> Option<SqlType> {
        match argument.ty.element() {
            Some(element) => element.is_numeric().then(|| SqlType::list_of(SqlType::Double)),
            None => fits(argument, &SqlType::Double).then_some(SqlType::Double),
        }
    }

    pub(super) fn of(call: &Call<'_>, at: usize) -> Result<Self> {
        let lists = match call.types[at].element() {
            Some(_) => {
                let lists = call.lists(at)?;
                let vector = lists.vector()?;
                Some((lists, vector))
            }
            None => None,
        };
        let values = lists.as_ref().map_or_else(|| call.arguments[at].to_flat(), |(_, vector)| vector.to_flat());
        Ok(Self { values, lists })
    }

    /// Those of a row, checked.
    pub(super) fn in_row(&self, row: usize) -> Result<&[f64]> {
        let range = match &self.lists {
            None => row..row + 1,
            Some((lists, vector)) => {
                let range = lists.range(row);
                if !range.clone().all(|at| vector.is_valid(at)) {
                    let error = Error::user("a fraction of a quantile is NULL");
                    return Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE));
                }
                range
            }
        };
        let fractions = &self.values.values::<f64>()[range];
        match fractions.iter().find(|fraction| !(0.0..=1.0).contains(*fraction)) {
            Some(wrong) => Err(Error::user(format!("a quantile lies between 0 and 1, not at {wrong}"))
                .with_code(SqlState::NUMERIC_VALUE_OUT_OF_RANGE)),
            None => Ok(fractions),
        }
    }
}

/// The value at a fraction of the way through sorted numbers, interpolated between two of them if necessary.
fn between(sorted: &[f64], fraction: f64) -> Option<f64> {
    let place = fraction * sorted.len().saturating_sub(1) as f64;
    let (low, high) = (sorted.get(place.floor() as usize)?, sorted.get(place.ceil() as usize)?);
    Some(if low == high { *low } else { low + (high - low) * place.fract() })
}

/// The value at a fraction of the way through the sorted numbers; at several fractions, a list.
pub(super) fn quantile(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list, fractions] = arguments else { return None };
    element_of(list).filter(SqlType::is_numeric)?;
    let result = Fractions::ty(fractions)?;
    let compute = |call: &Call<'_>| {
        let (lists, fractions) = (call.lists(0)?, Fractions::of(call, 1)?);
        let vector = lists.vector()?;
        let flat = vector.to_flat();
        let mut valid = Valid::new(&vector, flat.values::<f64>(), call);
        if *call.result == SqlType::Double {
            return call.fixed::<f64, Result<Option<f64>>>(|row| {
                let sorted = valid.of(lists.range(row))?;
                sort(sorted, call.work)?;
                Ok(between(sorted, fractions.in_row(row)?[0]))
            });
        }
        call.made::<f64, Result<Option<()>>>(|row, out| {
            let sorted = valid.of(lists.range(row))?;
            sort(sorted, call.work)?;
            fractions
                .in_row(row)?
                .iter()
                .filter_map(|fraction| between(sorted, *fraction))
                .for_each(|value| out.push(value));
            Ok((!sorted.is_empty()).then_some(()))
        })
    };
    Some(Ok(strict(vec![list_as(list, &SqlType::Double), result.clone()], result, compute)))
}

/// For numbers and moments, the midpoint of the two middle values; for other types, the first of them.
pub(super) fn median(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    let element = element_of(list)?;
    if element.is_numeric() {
        return moment(arguments, middle);
    }
    let result = match element {
        SqlType::Date => SqlType::Timestamp,
        other => other,
    };
    let compute = |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let vector = lists.vector()?;
        let flat = vector.to_flat();
        if !call.result.is_timestamp() {
            let keys = call.element_keys(0, &lists)?;
            return call.element(&lists.elements, |row| super::sort::middle(&keys, lists.range(row), call.work));
        }
        let Flat::I64(ticks) = &flat else { unreachable!("timestamps are 64 bits wide") };
        let mut valid = Valid::new(&vector, ticks, call);
        call.fixed::<i64, Result<Option<i64>>>(|row| {
            let valid = valid.of(lists.range(row))?;
            order::sort(valid, call.work, i64::cmp)?;
            let low = valid.len().checked_sub(1).map(|last| valid[last / 2]);
            Ok(low.map(|low| i64::midpoint(low, valid[valid.len() / 2])))
        })
    };
    Some(Ok(strict(vec![list_as(list, &result)], result, compute).total()))
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, error_of, shown};

    #[test]
    fn sums_are_exact() {
        assert_eq!(shown("list_sum", &["BIGINT[] '[9007199254740993, NULL]'"]), "9007199254740993");
        assert_eq!(shown("list_sum", &["BIGINT[] '[9223372036854775807, 1, -1]'"]), "9223372036854775807");
        assert!(error_of("list_sum", &["BIGINT[] '[9223372036854775807, 1]'"]).contains("out of range for BIGINT"));
        assert_eq!(shown("list_sum", &["UTINYINT[] '[255, 255]'"]), "510");
        assert_eq!(shown("list_sum", &["DECIMAL(3,1)[] '[99.9, 0.2]'"]), "100.1");
        assert_eq!(call("list_sum", &["DECIMAL(3,1)[] '[]'"]).unwrap().1.to_string(), "DECIMAL(38,1)");
        assert_eq!(shown("list_sum", &["DOUBLE[] '[1.5, 2]'"]), "3.5");
        assert_eq!(shown("list_sum", &["BOOLEAN[] '[true, NULL, true, false]'"]), "2");
        assert_eq!(shown("list_sum", &["INTEGER[] '[]'"]), "NULL");
        assert_eq!(shown("list_sum", &["INTEGER[] '[NULL]'"]), "NULL");
        let greatest = "170141183460469231731687303715884105727";
        assert!(error_of("list_sum", &[&format!("HUGEINT[] '[{greatest}, 1]'")]).contains("HUGEINT"));
        let nines = "9".repeat(38);
        assert!(error_of("list_sum", &[&format!("DECIMAL(38,0)[] '[{nines}, 1]'")]).contains("DECIMAL"));
    }

    #[test]
    fn moments_are_those_of_the_aggregates() {
        let list = ["INTEGER[] '[1, 2, NULL, 3, 4, 100]'"];
        let near = |name: &str, expected: f64| {
            let value: f64 = shown(name, &list).parse().unwrap();
            assert!((value - expected).abs() < 1e-12 * expected.abs().max(1.0), "{name}: {value}");
        };
        near("list_avg", 22.0);
        near("list_product", 2400.0);
        near("list_median", 3.0);
        near("list_mad", 1.0);
        near("list_skewness", 2.232395911636458);
        near("list_stddev_samp", 43.617656975128774);
        near("list_var_pop", 1522.0);
        assert_eq!(shown("list_avg", &["INTEGER[] '[]'"]), "NULL");
        assert_eq!(shown("list_var_samp", &["INTEGER[] '[1]'"]), "NULL");
        assert_eq!(shown("list_var_pop", &["INTEGER[] '[1]'"]), "0.0");
        assert_eq!(shown("list_skewness", &["INTEGER[] '[1, 1, 1]'"]), "NULL");
        assert_eq!(shown("list_avg", &["DECIMAL(2,1)[] '[1.5]'"]), "1.5");
    }

    #[test]
    fn sums_of_floats_keep_what_rounding_takes() {
        let list = "DOUBLE[] '[1e100, 2, -1e100, 2]'";
        assert_eq!(shown("list_aggregate", &[list, "'fsum'"]), "4.0");
        assert_eq!(shown("list_aggregate", &[list, "'favg'"]), "1.0");
    }

    #[test]
    fn medians_lie_in_the_middle() {
        assert_eq!(shown("list_median", &["INTEGER[] '[2, 1]'"]), "1.5");
        assert_eq!(shown("list_median", &["VARCHAR[] '[b, a, NULL]'"]), "a");
        assert_eq!(shown("list_median", &["DATE[] '[2020-01-04, 2020-01-01]'"]), "2020-01-02 12:00:00");
        assert_eq!(shown("list_median", &["DOUBLE[] '[inf, inf]'"]), "inf");
        assert_eq!(shown("list_median", &["VARCHAR[] '[]'"]), "NULL");
        assert_eq!(shown("list_median", &["TIMESTAMP[] '[]'"]), "NULL");
    }
}

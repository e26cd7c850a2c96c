//! Aggregates over the elements of a list: counts, and `list_aggregate`, which takes the name of an aggregate.

use std::sync::Arc;

use arrow_array::{ArrayRef, StructArray, UInt32Array, UInt64Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;
use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::SqlType;
use godwit_vector::Vector;
use godwit_vector::sql::arrow_type;

use super::call::{Call, strict};
use super::keys::Keys;
use super::lists::{Lists, taken};
use super::picks::{internal, list_vector, too_many};
use super::sets::Groups;
use super::types::{Chosen, bad_argument, constant_text, element_of, is_bigint, list_as, open_element};
use super::{bits, element, list_function, numbers, sort, text};
use crate::function::{Chooser, Form, Function};
use crate::kernel::{Kernel, Work};

pub(super) fn functions() -> Vec<Function> {
    vec![
        list_function(
            &["list_aggregate", "list_aggr", "array_aggregate", "array_aggr", "aggregate"],
            "The value that an aggregate has for the list's elements",
        )
        .example("list_aggregate([1, 2, NULL], 'sum')", "3")
        .example("list_aggregate(['a', 'b'], 'string_agg', '-')", "a-b")
        .chosen("list_aggregate(list, 'name', argument, …)", aggregate),
        list_function(&["list_count"], "The number of the list's elements that aren't NULL")
            .example("list_count([1, NULL])", "1")
            .chosen("list_count(list)", count),
        list_function(&["list_approx_count_distinct"], "The number of the list's different elements, without NULL")
            .example("list_approx_count_distinct([1, 1, NULL])", "1")
            .chosen("list_approx_count_distinct(list)", count_distinct),
        list_function(&["list_bool_and"], "Whether all elements of the list that aren't NULL are TRUE")
            .example("list_bool_and([true, NULL])", "true")
            .chosen("list_bool_and(list)", |list| of_booleans(list, false)),
        list_function(&["list_bool_or"], "Whether an element of the list is TRUE")
            .example("list_bool_or([false, NULL])", "false")
            .chosen("list_bool_or(list)", |list| of_booleans(list, true)),
        list_function(&["list_entropy"], "The entropy of the list's elements, in bits")
            .example("list_entropy([1, 2])", "1.0")
            .chosen("list_entropy(list)", entropy),
        list_function(&["list_histogram"], "A map of the list's different elements to their numbers")
            .example("list_histogram([2, 1, 2])", "{1=1, 2=2}")
            .chosen("list_histogram(list)", histogram),
    ]
}

/// The aggregates by name.
const AGGREGATES: &[(&[&str], Chooser)] = &[
    (&["sum", "sum_no_overflow"], numbers::sum),
    (&["fsum", "sumkahan", "kahan_sum"], |list| numbers::moment(list, numbers::compensated_sum)),
    (&["avg", "mean"], |list| numbers::moment(list, numbers::mean)),
    (&["favg"], |list| numbers::moment(list, numbers::compensated_mean)),
    (&["product"], |list| numbers::moment(list, numbers::product)),
    (&["stddev", "stddev_samp"], |list| numbers::moment(list, numbers::deviation)),
    (&["stddev_pop"], |list| numbers::moment(list, numbers::deviation_of_all)),
    (&["variance", "var", "var_samp", "var_sample"], |list| numbers::moment(list, numbers::variance)),
    (&["var_pop", "var_population"], |list| numbers::moment(list, numbers::variance_of_all)),
    (&["sem"], |list| numbers::moment(list, numbers::error_of_mean)),
    (&["skewness"], |list| numbers::moment(list, numbers::skewness)),
    (&["kurtosis"], |list| numbers::moment(list, numbers::kurtosis)),
    (&["kurtosis_pop"], |list| numbers::moment(list, numbers::kurtosis_of_all)),
    (&["mad"], |list| numbers::moment(list, numbers::median_distance)),
    (&["median"], numbers::median),
    (&["quantile_cont", "percentile_cont"], numbers::quantile),
    (&["quantile_disc", "quantile", "percentile_disc", "approx_quantile", "reservoir_quantile"], sort::quantile),
    (&["min"], |list| element::least(list).or_else(|| sort::best(list, false))),
    (&["max"], |list| element::greatest(list).or_else(|| sort::best(list, true))),
    (&["first", "first_value", "arbitrary"], element::first),
    (&["last", "last_value"], element::last),
    (&["any_value"], element::any_value),
    (&["mode"], element::mode),
    (&["string_agg", "group_concat", "listagg"], text::string_agg),
    (&["list", "array_agg"], all),
    (&["count"], count),
    (&["count_if", "countif"], count_true),
    (&["approx_count_distinct", "approx_distinct"], count_distinct),
    (&["bool_and", "every"], |list| of_booleans(list, false)),
    (&["bool_or"], |list| of_booleans(list, true)),
    (&["bit_and"], bits::all),
    (&["bit_or"], bits::any),
    (&["bit_xor"], bits::odd),
    (&["bitstring_agg"], bits::string),
    (&["entropy"], entropy),
    (&["histogram"], histogram),
    (&["approx_top_k"], most_frequent),
];

fn aggregate(arguments: &[ArgumentType<'_>]) -> Chosen {
    let (list, rest) = arguments.split_first()?;
    let (name, rest) = rest.split_first()?;
    open_element(list)?;
    let Some(name) = constant_text(name) else {
        return Some(Err(bad_argument(1, "the name of an aggregate has to be a constant")));
    };
    let name = name.to_lowercase();
    let Some((_, choose)) = AGGREGATES.iter().find(|(names, _)| names.contains(&name.as_str())) else {
        let names: Vec<&str> = AGGREGATES.iter().flat_map(|(names, _)| names.iter().copied()).collect();
        let message = format!("lists have no aggregate {name}, but {}", names.join(", "));
        return Some(Err(bad_argument(1, message)));
    };
    let of_list: Vec<ArgumentType<'_>> = std::iter::once(list).chain(rest).copied().collect();
    Some(choose(&of_list)?.map(without_second))
}

/// A kernel that ignores its second argument.
struct WithoutSecond(Arc<dyn Kernel>);

impl Kernel for WithoutSecond {
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        let kept: Vec<Vector> = arguments[..1].iter().chain(&arguments[2..]).cloned().collect();
        self.0.evaluate(&kept, rows, work)
    }
}

/// Adds a text after a form's first argument, which the form ignores.
fn without_second(form: Form) -> Form {
    let mut arguments = form.arguments.clone();
    arguments.insert(1, SqlType::Varchar);
    Form { arguments, kernel: Arc::new(WithoutSecond(Arc::clone(&form.kernel))), ..form }
}

fn count(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    let element = element_of(list)?;
    let compute = |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let vector = lists.vector()?;
        call.fixed::<i64, _>(|row| lists.range(row).filter(|&at| vector.is_valid(at)).count() as i64)
    };
    Some(Ok(strict(vec![list_as(list, &element)], SqlType::BigInt, compute).total().never_null()))
}

fn count_true(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    matches!(open_element(list)?, SqlType::Boolean | SqlType::Unknown).then_some(())?;
    let compute = |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let vector = lists.vector()?;
        let flat = vector.to_flat();
        let bits = flat.bools();
        call.fixed::<i64, _>(|row| {
            let valid = lists.range(row).filter(|&at| vector.is_valid(at));
            valid.map(|at| i64::from(bits[at] != 0)).reduce(|sum, bit| sum + bit)
        })
    };
    Some(Ok(strict(vec![list_as(list, &SqlType::Boolean)], SqlType::BigInt, compute).total()))
}

/// The elements themselves; without any, there is no list.
fn all(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    let element = element_of(list)?;
    let compute = |call: &Call<'_>| {
        let lists = call.lists(0)?;
        call.picked(&[&lists.elements], |row, out| {
            out.extend(lists.range(row));
            (!lists.range(row).is_empty()).then_some(())
        })
    };
    Some(Ok(strict(vec![list_as(list, &element)], SqlType::list_of(element), compute)))
}

/// Returns whether one of the booleans is `sought`; for FALSE, whether none is.
fn of_booleans(arguments: &[ArgumentType<'_>], sought: bool) -> Chosen {
    let [list] = arguments else { return None };
    let element = match open_element(list)? {
        SqlType::Boolean | SqlType::Unknown => SqlType::Boolean,
        _ => return None,
    };
    let compute = move |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let vector = lists.vector()?;
        let flat = vector.to_flat();
        let bits = flat.bools();
        call.fixed::<bool, _>(|row| {
            let mut valid = lists.range(row).filter(|&at| vector.is_valid(at)).map(|at| bits[at] != 0).peekable();
            valid.peek().is_some().then(|| valid.any(|bit| bit == sought) == sought)
        })
    };
    Some(Ok(strict(vec![list_as(list, &element)], SqlType::Boolean, compute).total()))
}

/// Calls `then` with the count of each distinct element of a row, by their first occurrences; NULLs don't count.
fn counted<O>(
    lists: &Lists,
    keys: &Keys,
    groups: &mut Groups,
    call: &Call<'_>,
    row: usize,
    then: impl FnOnce(Vec<(usize, u64)>) -> O,
) -> Result<O> {
    let range = lists.range(row);
    let firsts = groups.of_list(keys, range.clone(), call.work)?;
    let mut counts = vec![0_u64; firsts.len()];
    let valid = firsts.iter().enumerate().filter(|(at, _)| keys.is_valid(range.start + at));
    valid.for_each(|(_, &first)| counts[first as usize] += 1);
    let counts = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
    Ok(then(counts.map(|(at, count)| (range.start + at, count)).collect()))
}

fn count_distinct(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    let element = element_of(list)?;
    let compute = |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let keys = call.element_keys(0, &lists)?;
        let mut groups = Groups::default();
        call.fixed::<i64, _>(|row| counted(&lists, &keys, &mut groups, call, row, |counts| counts.len() as i64))
    };
    Some(Ok(strict(vec![list_as(list, &element)], SqlType::BigInt, compute).total().never_null()))
}

fn entropy(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    let element = element_of(list)?;
    let compute = |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let keys = call.element_keys(0, &lists)?;
        let mut groups = Groups::default();
        call.fixed::<f64, _>(|row| {
            counted(&lists, &keys, &mut groups, call, row, |counts| {
                let all = counts.iter().map(|(_, count)| count).sum::<u64>() as f64;
                counts.iter().map(|&(_, count)| count as f64 / all).fold(0.0, |sum, part| sum - part * part.log2())
            })
        })
    };
    Some(Ok(strict(vec![list_as(list, &element)], SqlType::Double, compute).total().never_null()))
}

fn histogram(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    let element = element_of(list)?;
    let result = SqlType::Map((element.clone(), SqlType::UBigInt).into());
    Some(Ok(strict(vec![list_as(list, &element)], result, histograms).total()))
}

/// Builds maps with keys in order; without values, there is no map.
fn histograms(call: &Call<'_>) -> Result<Vector> {
    let lists = call.lists(0)?;
    let keys = call.element_keys(0, &lists)?;
    let mut groups = Groups::default();
    let (mut places, mut numbers, mut offsets, mut nulls) = (Vec::new(), Vec::new(), vec![0_i32], Vec::new());
    for row in 0..call.rows {
        if call.is_computed(row) {
            let counts = counted(&lists, &keys, &mut groups, call, row, |counts| counts)?;
            if counts.is_empty() {
                nulls.push(row);
            }
            let order = sort::of_places(&keys, &counts, call.work)?;
            places.extend(order.iter().map(|&(at, _)| at as u32));
            numbers.extend(order.iter().map(|&(_, count)| count));
        }
        offsets.push(i32::try_from(places.len()).map_err(|_| too_many())?);
    }
    let map = arrow_type(call.result)?;
    let DataType::Map(field, _) = &map else { unreachable!("a histogram is a map") };
    let DataType::Struct(fields) = field.data_type() else { unreachable!("the entries of a map are structs") };
    let columns: Vec<ArrayRef> =
        vec![taken(&lists.elements, &UInt32Array::from(places))?, Arc::new(UInt64Array::from(numbers))];
    let entries = StructArray::try_new(fields.clone(), columns, None).map_err(internal)?;
    list_vector(OffsetBuffer::new(offsets.into()), Arc::new(entries), call.result, call.validity_without(&nulls))
}

/// The most frequent elements, as many as the second argument says; of equally frequent ones the first.
fn most_frequent(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list, _] = arguments else { return None };
    let element = element_of(list).filter(|_| is_bigint(&arguments[1]))?;
    let compute = |call: &Call<'_>| {
        let (lists, numbers) = (call.lists(0)?, call.integers(1));
        let keys = call.element_keys(0, &lists)?;
        let mut groups = Groups::default();
        call.picked(&[&lists.elements], |row, out| {
            let number = sort::checked_number(numbers.get(row))?;
            let mut counts = counted(&lists, &keys, &mut groups, call, row, |counts| counts)?;
            counts.sort_unstable_by_key(|(at, count)| (std::cmp::Reverse(*count), *at));
            counts.iter().take(number).for_each(|(at, _)| out.push(*at));
            Ok((!counts.is_empty()).then_some(()))
        })
    };
    Some(Ok(strict(vec![list_as(list, &element), SqlType::BigInt], SqlType::list_of(element), compute)))
}

#[cfg(test)]
mod tests {
    use godwit_plan::ArgumentType;
    use godwit_types::{SqlType, Value};

    use crate::testing::{error_of, shown};

    #[test]
    fn aggregates_have_names() {
        let list = "INTEGER[] '[3, NULL, 1, 1]'";
        let cases = [
            ("SUM", "5"),
            ("count", "3"),
            ("min", "1"),
            ("mode", "1"),
            ("median", "1.0"),
            ("first", "3"),
            ("last", "1"),
            ("product", "3.0"),
            ("bit_or", "3"),
            ("approx_count_distinct", "2"),
            ("histogram", "{1=2, 3=1}"),
            ("string_agg", "3,1,1"),
        ];
        for (name, expected) in cases {
            assert_eq!(shown("list_aggregate", &[list, &format!("'{name}'")]), expected, "{name}");
        }
        assert_eq!(shown("list_aggr", &["VARCHAR[] '[a, b]'", "'string_agg'", "'-'"]), "a-b");
        let quantile = |list: &str, fraction: &str| shown("list_aggr", &[list, "'quantile_cont'", fraction]);
        assert_eq!(quantile("INTEGER[] '[4, 1, NULL, 2]'", "0.25"), "1.5");
        assert_eq!(quantile("INTEGER[] '[4, 1, 2]'", "1"), "4.0");
        assert_eq!(quantile("DOUBLE[] '[]'", "0.5"), "NULL");
        assert_eq!(quantile("DOUBLE[] '[1]'", "NULL"), "NULL");
        for name in ["'quantile_cont'", "'quantile'"] {
            assert!(error_of("list_aggr", &["INTEGER[] '[1]'", name, "1.5"]).contains("between 0 and 1"));
        }
        let discrete = |list: &str, fraction: &str| shown("list_aggr", &[list, "'quantile'", fraction]);
        assert_eq!(discrete("INTEGER[] '[5, 3, NULL, 1, 9]'", "0.5"), "3");
        assert_eq!(discrete("INTEGER[] '[5, 3, NULL, 1, 9]'", "0.51"), "5");
        assert_eq!(discrete("INTEGER[] '[5, 3, 1, 9]'", "0"), "1");
        assert_eq!(discrete("VARCHAR[] '[b, a]'", "1"), "b");
        assert_eq!(discrete("VARCHAR[] '[NULL]'", "1"), "NULL");
        assert_eq!(shown("list_aggr", &["BOOLEAN[] '[true, false, NULL, true]'", "'countif'"]), "2");
        assert_eq!(shown("list_aggr", &["BOOLEAN[] '[NULL]'", "'countif'"]), "NULL");
        assert_eq!(shown("list_aggr", &["VARCHAR[] '[b, NULL]'", "'list'"]), "[b, NULL]");
        assert_eq!(shown("list_aggr", &["INTEGER[] '[]'", "'array_agg'"]), "NULL");
        assert_eq!(shown("list_aggregate", &["NULL", "'count'"]), "NULL");
        assert_eq!(shown("list_aggregate", &["INTEGER[] '[]'", "'count'"]), "0");
    }

    #[test]
    fn aggregates_with_arguments() {
        let of = |list: &str, name: &str, argument: &str| shown("list_aggr", &[list, &format!("'{name}'"), argument]);
        let list = "INTEGER[] '[3, NULL, 1, 3, 2]'";
        assert_eq!(of(list, "quantile_cont", "DOUBLE[] '[0.5, 0]'"), "[2.5, 1.0]");
        assert_eq!(of(list, "quantile_disc", "DOUBLE[] '[0.5, 1]'"), "[2, 3]");
        assert_eq!(of(list, "approx_quantile", "0.5"), "2");
        assert_eq!(of("INTEGER[] '[]'", "quantile_cont", "DOUBLE[] '[0.5]'"), "NULL");
        assert_eq!(of("INTEGER[] '[NULL]'", "quantile", "DOUBLE[] '[0.5]'"), "NULL");
        assert_eq!(of(list, "min", "2"), "[1, 2]");
        assert_eq!(of(list, "max", "9"), "[3, 3, 2, 1]");
        assert_eq!(of("VARCHAR[] '[NULL]'", "max", "1"), "NULL");
        assert_eq!(of(list, "approx_top_k", "2"), "[3, 1]");
        assert_eq!(of("INTEGER[] '[]'", "approx_top_k", "2"), "NULL");
        for name in ["'min'", "'approx_top_k'"] {
            assert!(error_of("list_aggr", &[list, name, "0"]).contains("at least 1"));
        }
        for name in ["'quantile_cont'", "'quantile'"] {
            assert!(error_of("list_aggr", &[list, name, "DOUBLE[] '[0.5, 2]'"]).contains("between 0 and 1"));
            assert!(error_of("list_aggr", &[list, name, "DOUBLE[] '[NULL]'"]).contains("NULL"));
        }
    }

    #[test]
    fn unknown_aggregates_are_refused() {
        let (list, name) = (SqlType::list_of(SqlType::Integer), Value::text("foo"));
        let argument = |ty, value| ArgumentType { ty, value, nullable: true, lambda_parameters: None };
        let arguments = [argument(&list, None), argument(&SqlType::Unknown, Some(&name))];
        let error = crate::choose("list_aggregate", &arguments).err().unwrap();
        assert!(format!("{error:?}").contains("no aggregate foo"));
    }

    #[test]
    fn booleans() {
        assert_eq!(shown("list_bool_and", &["BOOLEAN[] '[true, NULL]'"]), "true");
        assert_eq!(shown("list_bool_and", &["BOOLEAN[] '[true, false]'"]), "false");
        assert_eq!(shown("list_bool_or", &["BOOLEAN[] '[NULL]'"]), "NULL");
    }

    #[test]
    fn elements_are_counted() {
        assert_eq!(shown("list_histogram", &["VARCHAR[] '[b, a, NULL, b]'"]), "{a=1, b=2}");
        assert_eq!(shown("list_histogram", &["VARCHAR[] '[]'"]), "NULL");
        assert_eq!(shown("list_entropy", &["INTEGER[] '[1, 2, 3, 4, NULL]'"]), "2.0");
        assert_eq!(shown("list_entropy", &["INTEGER[] '[]'"]), "0.0");
        assert_eq!(shown("list_count", &["INTEGER[] '[1, NULL]'"]), "1");
    }
}

//! Lists as vectors of numbers: products, distances, sums.
//!
//! They are computed in DOUBLE; for two lists of REAL, results are rounded to REAL at the end.

use std::ops::Range;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::ArgumentType;
use godwit_types::SqlType;
use godwit_vector::{Flat, Vector};

use super::call::{Call, strict};
use super::elements::Elements;
use super::list_function;
use super::lists::Lists;
use super::types::{Chosen, element_of_all, list_as};
use crate::choose::fits;
use crate::function::Function;
use crate::rows::Values;

pub(super) fn functions() -> Vec<Function> {
    vec![
        list_function(
            &[
                "list_inner_product",
                "array_inner_product",
                "list_dot_product",
                "array_dot_product",
                "inner_product",
                "dot_product",
            ],
            "The inner product of two lists of numbers",
        )
        .example("list_inner_product([1, 2], [3, 4])", "11.0")
        .chosen("list_inner_product(list, list)", |lists| number(lists, inner_product)),
        list_function(
            &[
                "list_negative_inner_product",
                "array_negative_inner_product",
                "list_negative_dot_product",
                "array_negative_dot_product",
            ],
            "The inner product of two lists of numbers with the other sign",
        )
        .example("list_negative_inner_product([1, 2], [3, 4])", "-11.0")
        .chosen("list_negative_inner_product(list, list)", |lists| number(lists, |a, b| -inner_product(a, b))),
        list_function(&["list_distance", "array_distance", "<->"], "The Euclidean distance of two lists of numbers")
            .example("list_distance([1, 2], [4, 6])", "5.0")
            .chosen("list_distance(list, list)", |lists| number(lists, distance)),
        list_function(
            &["list_cosine_similarity", "array_cosine_similarity"],
            "The cosine of the angle between two lists of numbers; NaN if one is zero",
        )
        .example("list_cosine_similarity([3, 4], [3, 4])", "1.0")
        .chosen("list_cosine_similarity(list, list)", |lists| number(lists, similarity)),
        list_function(
            &["list_cosine_distance", "array_cosine_distance", "cosine_distance", "<=>"],
            "One minus the cosine of the angle between two lists of numbers",
        )
        .example("list_cosine_distance([3, 4], [3, 4])", "0.0")
        .chosen("list_cosine_distance(list, list)", |lists| number(lists, |a, b| 1.0 - similarity(a, b))),
        list_function(
            &["array_cross_product", "list_cross_product"],
            "The cross product of two lists of three numbers",
        )
        .example("array_cross_product([1, 0, 0], [0, 1, 0])", "[0.0, 0.0, 1.0]")
        .chosen("array_cross_product(list, list)", cross_product),
        list_function(&["array_add", "list_add"], "The sums of the elements of two lists, one by one")
            .example("array_add([1, 2], [3, NULL])", "[4.0, NULL]")
            .chosen("array_add(list, list)", |lists| by_element(lists, |a, b| a + b)),
        list_function(&["array_subtract", "list_subtract"], "The differences of the elements of two lists, one by one")
            .example("array_subtract([1, 2], [3, NULL])", "[-2.0, NULL]")
            .chosen("array_subtract(list, list)", |lists| by_element(lists, |a, b| a - b)),
        list_function(&["array_scale", "list_scale"], "The elements of the list times a number")
            .example("array_scale([1, NULL], 1.5)", "[1.5, NULL]")
            .chosen("array_scale(list, DOUBLE)", scale),
        list_function(
            &["array_normalize", "list_normalize"],
            "The list as a vector of length 1; NULL if it is zero or has a NULL",
        )
        .example("array_normalize([3, 4])", "[0.6, 0.8]")
        .chosen("array_normalize(list)", normalize),
    ]
}

fn inner_product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b)
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + (a - b) * (a - b)).sqrt()
}

fn similarity(a: &[f64], b: &[f64]) -> f64 {
    let cosine = inner_product(a, b) / (inner_product(a, a) * inner_product(b, b)).sqrt();
    // Rounding errors must not exceed the range of a cosine; NaN stays.
    cosine.clamp(-1.0, 1.0)
}

/// Lists of DOUBLE.
struct Numbers {
    lists: Lists,
    vector: Vector,
    flat: Flat,
}

impl Numbers {
    fn of(call: &Call<'_>, at: usize) -> Result<Self> {
        let lists = call.lists(at)?;
        let vector = lists.vector()?;
        Ok(Self { flat: vector.to_flat(), vector, lists })
    }

    fn row(&self, row: usize) -> (Range<usize>, &[f64]) {
        let range = self.lists.range(row);
        (range.clone(), &self.flat.values::<f64>()[range])
    }

    /// Returns the numbers of a row; fails if one is NULL.
    fn all(&self, row: usize) -> Result<&[f64]> {
        let (mut range, values) = self.row(row);
        if self.vector.has_nulls() && !range.all(|at| self.vector.is_valid(at)) {
            return Err(wrong("a vector has an element that is NULL"));
        }
        Ok(values)
    }
}

fn wrong(message: &str) -> Error {
    Error::user(message.to_owned()).with_code(SqlState::INVALID_PARAMETER_VALUE)
}

fn of_one_length(a: usize, b: usize) -> Result<()> {
    if a == b { Ok(()) } else { Err(wrong(&format!("the lists have different lengths: {a} and {b}"))) }
}

fn are_numbers(lists: &[ArgumentType<'_>]) -> Option<SqlType> {
    element_of_all(lists).filter(SqlType::is_numeric)
}

fn number(arguments: &[ArgumentType<'_>], compute: fn(&[f64], &[f64]) -> f64) -> Chosen {
    let [first, second] = arguments else { return None };
    let result = if are_numbers(arguments)? == SqlType::Real { SqlType::Real } else { SqlType::Double };
    let compute = move |call: &Call<'_>| {
        let (first, second) = (Numbers::of(call, 0)?, Numbers::of(call, 1)?);
        let of_row = |row: usize| {
            let (a, b) = (first.all(row)?, second.all(row)?);
            of_one_length(a.len(), b.len())?;
            Ok(compute(a, b))
        };
        match call.result {
            SqlType::Real => call.fixed::<f32, Result<f32>>(|row| of_row(row).map(|number| number as f32)),
            _ => call.fixed::<f64, Result<f64>>(of_row),
        }
    };
    let types = vec![list_as(first, &SqlType::Double), list_as(second, &SqlType::Double)];
    Some(Ok(strict(types, result, compute).never_null()))
}

fn doubles() -> SqlType {
    SqlType::list_of(SqlType::Double)
}

fn cross_product(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [first, second] = arguments else { return None };
    are_numbers(arguments)?;
    let compute = |call: &Call<'_>| {
        let (first, second) = (Numbers::of(call, 0)?, Numbers::of(call, 1)?);
        call.made::<f64, _>(|row, out| {
            let (&[a, b, c], &[d, e, f]) = (first.all(row)?, second.all(row)?) else {
                return Err(wrong("a cross product is one of lists of three numbers"));
            };
            [b * f - c * e, c * d - a * f, a * e - b * d].into_iter().for_each(|number| out.push(number));
            Ok(())
        })
    };
    let types = vec![list_as(first, &SqlType::Double), list_as(second, &SqlType::Double)];
    Some(Ok(strict(types, doubles(), compute).never_null()))
}

fn by_element(arguments: &[ArgumentType<'_>], compute: fn(f64, f64) -> f64) -> Chosen {
    let [first, second] = arguments else { return None };
    are_numbers(arguments)?;
    let compute = move |call: &Call<'_>| {
        let (first, second) = (Numbers::of(call, 0)?, Numbers::of(call, 1)?);
        call.made::<f64, _>(|row, out| {
            let ((left, a), (right, b)) = (first.row(row), second.row(row));
            of_one_length(a.len(), b.len())?;
            for at in 0..a.len() {
                let is_valid = first.vector.is_valid(left.start + at) && second.vector.is_valid(right.start + at);
                push(out, is_valid.then(|| compute(a[at], b[at])));
            }
            Ok(())
        })
    };
    let types = vec![list_as(first, &SqlType::Double), list_as(second, &SqlType::Double)];
    Some(Ok(strict(types, doubles(), compute).never_null()))
}

fn push(out: &mut Elements<'_, f64>, number: Option<f64>) {
    match number {
        Some(number) => out.push(number),
        None => out.push_null(),
    }
}

fn scale(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list, factor] = arguments else { return None };
    are_numbers(&arguments[..1]).filter(|_| fits(factor, &SqlType::Double))?;
    let compute = |call: &Call<'_>| {
        let (list, factors) = (Numbers::of(call, 0)?, Values::<f64>::of(&call.arguments[1]));
        call.made::<f64, _>(|row, out| {
            let (range, values) = list.row(row);
            let factor = factors.get(row);
            let numbers = range.zip(values).map(|(at, value)| list.vector.is_valid(at).then(|| value * factor));
            numbers.for_each(|number| push(out, number));
        })
    };
    Some(Ok(strict(vec![list_as(list, &SqlType::Double), SqlType::Double], doubles(), compute).total().never_null()))
}

fn normalize(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    are_numbers(arguments)?;
    let compute = |call: &Call<'_>| {
        let list = Numbers::of(call, 0)?;
        call.made::<f64, _>(|row, out| {
            let (mut range, values) = list.row(row);
            let length = inner_product(values, values).sqrt();
            if !range.all(|at| list.vector.is_valid(at)) || length == 0.0 && !values.is_empty() {
                return None;
            }
            values.iter().for_each(|value| out.push(value / length));
            Some(())
        })
    };
    Some(Ok(strict(vec![list_as(list, &SqlType::Double)], doubles(), compute).total()))
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, error_of, shown};

    #[test]
    fn numbers_of_two_vectors() {
        let pair = ["INTEGER[] '[1, 2]'", "DOUBLE[] '[3, 4]'"];
        assert_eq!(shown("inner_product", &pair), "11.0");
        assert_eq!(shown("array_negative_dot_product", &pair), "-11.0");
        assert_eq!(shown("array_distance", &["INTEGER[2] '[1, 2]'", "INTEGER[2] '[4, 6]'"]), "5.0");
        assert_eq!(shown("list_cosine_similarity", &pair), "0.9838699100999074");
        assert_eq!(shown("cosine_distance", &["DOUBLE[] '[0]'", "DOUBLE[] '[1]'"]), "NaN");
        assert_eq!(shown("list_distance", &["INTEGER[] '[]'", "INTEGER[] '[]'"]), "0.0");
        assert_eq!(shown("list_distance", &["INTEGER[] '[]'", "NULL"]), "NULL");
        assert_eq!(call("list_distance", &["REAL[] '[1]'", "REAL[] '[1]'"]).unwrap().1.to_string(), "REAL");
        assert!(error_of("list_distance", &["INTEGER[] '[1]'", "INTEGER[] '[1, 2]'"]).contains("1 and 2"));
        assert!(error_of("list_distance", &["INTEGER[] '[NULL]'", "INTEGER[] '[1]'"]).contains("NULL"));
    }

    #[test]
    fn new_vectors() {
        assert_eq!(shown("array_cross_product", &["REAL[3] '[1, 2, 3]'", "REAL[3] '[4, 5, 6]'"]), "[-3.0, 6.0, -3.0]");
        assert!(error_of("array_cross_product", &["INTEGER[] '[1]'", "INTEGER[] '[1]'"]).contains("three"));
        assert_eq!(shown("array_add", &["INTEGER[] '[1, NULL]'", "DOUBLE[] '[0.5, 1]'"]), "[1.5, NULL]");
        assert!(error_of("array_subtract", &["INTEGER[] '[1]'", "INTEGER[] '[]'"]).contains("1 and 0"));
        assert_eq!(shown("array_scale", &["INTEGER[] '[1, NULL]'", "-2"]), "[-2.0, NULL]");
        assert_eq!(shown("array_normalize", &["INTEGER[] '[3, 4]'"]), "[0.6, 0.8]");
        assert_eq!(shown("array_normalize", &["INTEGER[] '[0]'"]), "NULL");
        assert_eq!(shown("array_normalize", &["INTEGER[] '[1, NULL]'"]), "NULL");
        assert_eq!(shown("array_normalize", &["INTEGER[] '[]'"]), "[]");
    }
}

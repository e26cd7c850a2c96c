//! The greatest or least of several values, and choices that depend on whether a value is NULL.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::Array;
use godwit_common::Result;
use godwit_plan::{ArgumentType, NoFunction};
use godwit_types::{SqlType, Value, common_type, compare_floats, compare_values};
use godwit_vector::kernels::scatter::Scatter;
use godwit_vector::sql::Reader;
use godwit_vector::{Bitmap, Flat, Native, PhysicalType, Vector, match_integer_type};

use crate::function::{Category, Form, Function, function};
use crate::kernel::{Kernel, Work};
use crate::rows::{Strings, Values};

pub(super) fn functions() -> Vec<Function> {
    vec![
        function(Category::Value, &["greatest"], "The greatest of the values that aren't NULL")
            .example("greatest(1, 3, NULL)", "3")
            .chosen("greatest(value, …)", |arguments| extreme(arguments, Ordering::Greater)),
        function(Category::Value, &["least"], "The least of the values that aren't NULL")
            .example("least(2, 1.5)", "1.5")
            .chosen("least(value, …)", |arguments| extreme(arguments, Ordering::Less)),
        function(Category::Value, &["nvl2"], "The second value if the first isn't NULL, else the third")
            .example("nvl2(NULL, 'a', 'b')", "b")
            .chosen("nvl2(tested, value, value)", if_not_null),
    ]
}

type Chosen = Option<std::result::Result<Form, NoFunction>>;

/// Returns the common type of some arguments; quoted texts alone are text.
fn unified(arguments: &[ArgumentType<'_>]) -> Option<SqlType> {
    let (first, rest) = arguments.split_first()?;
    let common = rest.iter().try_fold(first.ty.clone(), |common, argument| common_type(&common, argument.ty))?;
    let has_text = arguments.iter().any(|argument| argument.value.is_some_and(|value| !value.is_null()));
    Some(match common {
        SqlType::Unknown if has_text => SqlType::Varchar,
        SqlType::Unknown => SqlType::Integer,
        SqlType::List(element) if *element == SqlType::Unknown => SqlType::list_of(SqlType::Integer),
        known => known,
    })
}

/// Creates a form that is also computed for NULLs.
fn lenient(arguments: Vec<SqlType>, result: SqlType, kernel: Arc<dyn Kernel>) -> Form {
    Form { strict: false, may_be_null: true, ..Form::strict(arguments, result, false, true, kernel) }
}

fn extreme(arguments: &[ArgumentType<'_>], wanted: Ordering) -> Chosen {
    let ty = unified(arguments)?;
    let kernel = Arc::new(Extreme { ty: ty.clone(), wanted });
    Some(Ok(lenient(vec![ty.clone(); arguments.len()], ty, kernel)))
}

fn if_not_null(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [tested, values @ ..] = arguments else { return None };
    if values.len() != 2 {
        return None;
    }
    let tested = unified(&[*tested])?;
    let ty = unified(values)?;
    Some(Ok(lenient(vec![tested, ty.clone(), ty.clone()], ty, Arc::new(IfNotNull))))
}

/// Determines which argument each row takes, then gathers the rows of each argument.
struct Extreme {
    ty: SqlType,
    wanted: Ordering,
}

impl Kernel for Extreme {
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        work.check()?;
        let physical = arguments[0].physical();
        Ok(match (&self.ty, physical) {
            // Their representation has another order.
            (SqlType::Bit | SqlType::Uuid | SqlType::Enum(_), _) | (_, PhysicalType::Nested) => {
                return self.of_values(arguments, rows, work);
            }
            (_, PhysicalType::Str) => {
                let texts: Vec<Strings> = arguments.iter().map(Strings::of).collect();
                let compare = |row: usize, a: usize, b: usize| texts[a].bytes(row).cmp(texts[b].bytes(row));
                self.picked(arguments, rows, compare)
            }
            (_, PhysicalType::F32) => {
                self.of_numbers::<f32>(arguments, rows, |a, b| compare_floats(a.into(), b.into()))
            }
            (_, PhysicalType::F64) => self.of_numbers::<f64>(arguments, rows, compare_floats),
            (_, PhysicalType::Bool) => {
                let bools: Vec<Flat> = arguments.iter().map(Vector::to_flat).collect();
                self.picked(arguments, rows, |row, a, b| bools[a].bools()[row].cmp(&bools[b].bools()[row]))
            }
            (_, integer) => match_integer_type!(integer, T => self.of_numbers::<T>(arguments, rows, |a, b| a.cmp(&b))),
        })
    }
}

impl Extreme {
    fn of_numbers<T: Native>(&self, arguments: &[Vector], rows: usize, compare: impl Fn(T, T) -> Ordering) -> Vector {
        let mut validity: Option<Bitmap> = None;
        let mut best: Vec<T> = Vec::new();
        for argument in arguments {
            let values = Values::<T>::of(argument);
            if best.is_empty() {
                best = (0..rows).map(|row| values.get(row)).collect();
                validity = argument.validity().map(|valid| valid.as_ref().clone());
                continue;
            }
            let has_nulls = validity.is_some() || argument.validity().is_some();
            for (row, best) in best.iter_mut().enumerate() {
                let value = values.get(row);
                let is_better = match has_nulls {
                    false => compare(value, *best) == self.wanted,
                    true => {
                        let is_first = validity.as_ref().is_some_and(|valid| !valid.get(row));
                        argument.is_valid(row) && (is_first || compare(value, *best) == self.wanted)
                    }
                };
                if is_better {
                    *best = value;
                }
            }
            validity = validity.map(|valid| Bitmap::from_fn(rows, |row| valid.get(row) || argument.is_valid(row)));
        }
        Vector::from_values(best, validity)
    }

    fn picked(&self, arguments: &[Vector], rows: usize, compare: impl Fn(usize, usize, usize) -> Ordering) -> Vector {
        let pick = |row: usize| {
            let valid = (0..arguments.len()).filter(|&at| arguments[at].is_valid(row));
            let better = |best, at| if compare(row, at, best) == self.wanted { at } else { best };
            valid.reduce(better).unwrap_or(0)
        };
        put_together(arguments, rows, pick)
    }

    fn of_values(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        let readers = arguments.iter().map(|argument| Reader::new(argument, &self.ty));
        let readers = readers.collect::<Result<Vec<_>>>()?;
        let mut picks = Vec::with_capacity(rows);
        for row in 0..rows {
            if row % 64 == 0 {
                work.check()?;
            }
            let mut best: Option<(usize, Value)> = None;
            for (at, reader) in readers.iter().enumerate() {
                let value = reader.value(row)?;
                let is_better = match &best {
                    None => true,
                    Some((_, best)) => compare_values(&value, best, &self.ty) == self.wanted,
                };
                if !value.is_null() && is_better {
                    best = Some((at, value));
                }
            }
            picks.push(best.map_or(0, |(at, _)| at));
        }
        Ok(put_together(arguments, rows, |row| picks[row]))
    }
}

/// Builds a vector whose rows are each taken from one of the vectors.
fn put_together(vectors: &[Vector], rows: usize, pick: impl Fn(usize) -> usize) -> Vector {
    let mut rows_of: Vec<Vec<u32>> = vec![Vec::new(); vectors.len()];
    for row in 0..rows {
        rows_of[pick(row)].push(u32::try_from(row).expect("chunks are short"));
    }
    if let Some(all) = rows_of.iter().position(|taken| taken.len() == rows) {
        return vectors[all].clone();
    }
    if vectors[0].physical() == PhysicalType::Nested {
        return put_together_nested(vectors, &(0..rows).map(|row| (pick(row), row)).collect::<Vec<_>>());
    }
    let mut scatter = Scatter::new(vectors[0].physical(), rows);
    for (vector, rows) in vectors.iter().zip(&rows_of) {
        scatter.put_aligned(rows, vector);
    }
    scatter.finish()
}

/// The same for nested values, which are Arrow arrays; the rows are (vector, row).
fn put_together_nested(vectors: &[Vector], rows: &[(usize, usize)]) -> Vector {
    let flats: Vec<Flat> = vectors.iter().map(Vector::to_flat).collect();
    let arrays: Vec<_> = flats.iter().map(nested).collect();
    let array = arrow_select::interleave::interleave(&arrays, rows).expect("the arrays have one type");
    let validity = Bitmap::from_fn(rows.len(), |at| vectors[rows[at].0].is_valid(rows[at].1));
    Vector::flat(Flat::Nested(array), Some(validity))
}

fn nested(flat: &Flat) -> &dyn Array {
    match flat {
        Flat::Nested(array) => array.as_ref(),
        other => unreachable!("{:?} isn't nested", other.physical()),
    }
}

struct IfNotNull;

impl Kernel for IfNotNull {
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        work.check()?;
        let [tested, values @ ..] = arguments else { unreachable!("the form has three arguments") };
        Ok(put_together(values, rows, |row| usize::from(!tested.is_valid(row))))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, shown};

    fn check(name: &str, arguments: &[&str], expected: &str, ty: &str) {
        assert_eq!(shown(name, arguments), expected, "{name}{arguments:?}");
        assert_eq!(call(name, arguments).unwrap().1.to_string(), ty, "{name}{arguments:?}");
    }

    #[test]
    fn greatest_and_least() {
        check("greatest", &["1", "3", "2"], "3", "INTEGER");
        check("least", &["2", "1.5"], "1.5", "DECIMAL(11,1)");
        check("greatest", &["1", "NULL", "2"], "2", "INTEGER");
        check("greatest", &["NULL", "NULL"], "NULL", "INTEGER");
        check("least", &["NULL", "5"], "5", "INTEGER");
        check("greatest", &["'a'", "'ä'", "'b'"], "ä", "VARCHAR");
        check("least", &["'b'", "NULL", "'abc'"], "abc", "VARCHAR");
        check("greatest", &["DOUBLE 'nan'", "100"], "NaN", "DOUBLE");
        check("least", &["DOUBLE 'nan'", "100"], "100.0", "DOUBLE");
        check("greatest", &["REAL '-inf'", "REAL '1'"], "1.0", "REAL");
        check("greatest", &["TRUE", "FALSE"], "true", "BOOLEAN");
        check(
            "greatest",
            &["DATE '2024-01-01'", "TIMESTAMP '2024-01-01 00:00:01'"],
            "2024-01-01 00:00:01",
            "TIMESTAMP",
        );
        check("least", &["INTERVAL '1 month'", "INTERVAL '29 days'"], "29 days", "INTERVAL");
        check("greatest", &["INTEGER[] '[NULL, 3]'", "INTEGER[] '[1]'"], "[NULL, 3]", "INTEGER[]");
        check("greatest", &["INTEGER[] '[1]'", "INTEGER[] '[2]'", "NULL"], "[2]", "INTEGER[]");
        check(
            "least",
            &["UUID '00000000-0000-0000-0000-000000000002'", "UUID '00000000-0000-0000-0000-000000000001'"],
            "00000000-0000-0000-0000-000000000001",
            "UUID",
        );
        check("greatest", &["7"], "7", "INTEGER");
    }

    #[test]
    fn values_for_null() {
        check("nvl2", &["NULL", "'a'", "'b'"], "b", "VARCHAR");
        check("nvl2", &["1", "'a'", "'b'"], "a", "VARCHAR");
        check("nvl2", &["1", "2", "3.5"], "2.0", "DECIMAL(11,1)");
        check("nvl2", &["'x'", "NULL", "3"], "NULL", "INTEGER");
        check("nvl2", &["NULL", "INTEGER[] '[1]'", "INTEGER[] '[2]'"], "[2]", "INTEGER[]");
    }
}

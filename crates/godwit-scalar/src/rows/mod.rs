//! Kernels made from a function of one row.
//!
//! ```text
//! scalar::<(Text, i64), bool, _>(|(text, at)| …)        a value: T, Option<T> for NULLs, Result<_> if it may fail
//! text::<(Text, i64), Text, _>(|(text, at), out| …)     a text, written to `out`
//! part::<(Text, i64)>(|(text, at)| …)                   a part of the first argument, whose bytes are shared
//! checked_part::<(i64,)>(|(at,)| …, |text, (at,)| …)    the same, where the other arguments may be refused
//! label::<(Date,)>(&["Sunday", …], |(days,)| …)         one of a few texts, by its index
//! any_texts(types, repeats, |texts, out| …)             a text from any number of texts and NULLs
//! lists(types, |texts, out| …)                          VARCHAR[] from any number of texts and NULLs
//! texts::<(Text, i64), _>(|(text, at), out| …)          a list of texts, written to `out`
//! scalar_checked(|(text, at), work| …)                  like `scalar`, for loops within one row: `work` may stop them
//! paced_part::<(Text,), _>(|text, (other,), pace| …)    like `part`, for the same
//! mapped::<f64, f64>(|number| …)                        from one number, without branches: a loop that is vectorized
//! mapped_where::<f64, f64>(|number| …, |number| …)      the same, where some numbers are refused
//! ```
//!
//! The loop over rows is compiled for each of them. Constants are read in place; dictionaries have been decoded before.

mod any_texts;
mod arguments;
mod labels;
mod mapped;
mod pace;
mod pieces;
mod results;
mod text_lists;

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::Arc;

use godwit_common::Result;
use godwit_vector::kernels::string::map_parts;
use godwit_vector::{Bitmap, Flat, StrColumn, Vector};

pub(crate) use self::any_texts::{any_texts, lists};
pub(crate) use self::arguments::{
    Argument, Arguments, Blob, Date, Intervals, Json, Needle, Pattern, Text, TextBytes, Time, TimeTz, Timestamp,
    TimestampTz, Values, strided,
};
pub(crate) use self::labels::label;
pub(crate) use self::mapped::{mapped, mapped_where};
pub(crate) use self::pace::{Pace, byte_pieces, parts_of, text_pieces};
pub(crate) use self::pieces::Pieces;
pub(crate) use self::results::{Answer, Fixed, TextResult, Writer, Written};
pub(crate) use self::text_lists::{CHECK_ELEMENTS, ELEMENT_BYTES, ListWriter, texts};
use crate::function::Form;
use crate::kernel::{Kernel, Work};

/// Rows between two checks for cancellation.
const CHECK_ROWS: usize = 256;

/// Creates a form with a fixed-width result.
pub(crate) fn scalar<A: Arguments, R: Fixed, O: Answer<R::Native> + 'static>(
    compute: impl for<'a> Fn(A::Items<'a>) -> O + Send + Sync + 'static,
) -> Form {
    scalar_checked::<A, R, O>(move |items: A::Items<'_>, _: &dyn Work| compute(items))
}

/// The same, for functions that may take long for one row.
pub(crate) fn scalar_checked<A: Arguments, R: Fixed, O: Answer<R::Native> + 'static>(
    compute: impl for<'a> Fn(A::Items<'a>, &dyn Work) -> O + Send + Sync + 'static,
) -> Form {
    let kernel = ScalarKernel { compute, types: PhantomData::<fn(A) -> (R, O)> };
    Form::strict(A::types(), R::TYPE, O::MAY_FAIL, O::MAY_BE_NULL, Arc::new(kernel))
}

/// Creates a form that writes a text.
pub(crate) fn text<A: Arguments, R: TextResult, O: Written + 'static>(
    write: impl for<'a, 'w> Fn(A::Items<'a>, &'w mut Writer<'_>) -> O + Send + Sync + 'static,
) -> Form {
    let kernel = TextKernel { write, types: PhantomData::<fn(A) -> (R, O)> };
    Form::strict(A::types(), R::TYPE, O::MAY_FAIL, O::MAY_BE_NULL, Arc::new(kernel))
}

/// Creates a form whose result is a part of its first argument, a text.
pub(crate) fn part<A: Arguments>(
    part: impl for<'a> Fn(&'a str, A::Items<'_>) -> &'a str + Send + Sync + 'static,
) -> Form {
    part_form::<A, ()>(|_| (), move |text, items, _| Ok(part(text, items)))
}

/// The same, where `check` may refuse the arguments after the text.
pub(crate) fn checked_part<A: Arguments>(
    check: impl Fn(A::Items<'_>) -> Result<()> + Send + Sync + 'static,
    part: impl for<'a> Fn(&'a str, A::Items<'_>) -> &'a str + Send + Sync + 'static,
) -> Form {
    part_form::<A, Result<()>>(check, move |text, items, _| Ok(part(text, items)))
}

/// The same, for functions that may take long for one row; `check` may always allow.
pub(crate) fn paced_part<A: Arguments, O: Answer<()> + 'static>(
    check: impl Fn(A::Items<'_>) -> O + Send + Sync + 'static,
    part: impl for<'a> Fn(&'a str, A::Items<'_>, &mut Pace<'_>) -> Result<&'a str> + Send + Sync + 'static,
) -> Form {
    part_form::<A, O>(check, part)
}

fn part_form<A: Arguments, O: Answer<()> + 'static>(
    check: impl Fn(A::Items<'_>) -> O + Send + Sync + 'static,
    part: impl for<'a> Fn(&'a str, A::Items<'_>, &mut Pace<'_>) -> Result<&'a str> + Send + Sync + 'static,
) -> Form {
    let kernel = PartKernel { check, part, types: PhantomData::<fn(A) -> O> };
    let types = std::iter::once(Text::TYPE).chain(A::types()).collect();
    Form::strict(types, Text::TYPE, O::MAY_FAIL, false, Arc::new(kernel))
}

/// Returns the rows in which no argument is NULL; `None` if these are all rows.
pub(crate) fn valid_rows(arguments: &[Vector]) -> Option<Arc<Bitmap>> {
    let mut validities = arguments.iter().filter_map(Vector::validity);
    let first = validities.next()?.clone();
    Some(validities.fold(first, |all, validity| Arc::new(all.and(validity))))
}

/// Calls `row` for each row with whether it is valid, with checks for cancellation in between.
pub(crate) fn for_each_row(
    rows: usize,
    valid: Option<&Bitmap>,
    work: &dyn Work,
    mut row: impl FnMut(usize, bool) -> Result<()>,
) -> Result<()> {
    for start in (0..rows).step_by(CHECK_ROWS) {
        work.check()?;
        let end = rows.min(start + CHECK_ROWS);
        match valid {
            None => (start..end).try_for_each(|at| row(at, true))?,
            Some(valid) => (start..end).try_for_each(|at| row(at, valid.get(at)))?,
        }
    }
    Ok(())
}

struct ScalarKernel<F, T> {
    compute: F,
    types: PhantomData<T>,
}

impl<A, R, O, F> Kernel for ScalarKernel<F, fn(A) -> (R, O)>
where
    A: Arguments,
    R: Fixed,
    O: Answer<R::Native>,
    F: for<'a> Fn(A::Items<'a>, &dyn Work) -> O + Send + Sync,
{
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        let columns = A::columns(arguments);
        let valid = valid_rows(arguments);
        let mut values = vec![R::Native::default(); rows];
        let mut nulls = Vec::new();
        for_each_row(rows, valid.as_deref(), work, |row, is_valid| {
            if is_valid {
                match (self.compute)(A::items(&columns, row), work).answer()? {
                    Some(value) => values[row] = value,
                    None => nulls.push(row),
                }
            }
            Ok(())
        })?;
        Ok(with_nulls(R::flat(values), valid, &nulls))
    }
}

struct TextKernel<F, T> {
    write: F,
    types: PhantomData<T>,
}

impl<A, R, O, F> Kernel for TextKernel<F, fn(A) -> (R, O)>
where
    A: Arguments,
    R: TextResult,
    O: Written,
    F: for<'a, 'w> Fn(A::Items<'a>, &'w mut Writer<'_>) -> O + Send + Sync,
{
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        let columns = A::columns(arguments);
        let valid = valid_rows(arguments);
        let mut writer = Writer::new(rows, work);
        let mut nulls = Vec::new();
        for_each_row(rows, valid.as_deref(), work, |row, is_valid| {
            if is_valid && !(self.write)(A::items(&columns, row), &mut writer).written()? {
                nulls.push(row);
            }
            writer.end_row()
        })?;
        Ok(with_nulls(Flat::Str(writer.finish()), valid, &nulls))
    }
}

struct PartKernel<C, F, T> {
    check: C,
    part: F,
    types: PhantomData<T>,
}

impl<A, O, C, F> Kernel for PartKernel<C, F, fn(A) -> O>
where
    A: Arguments,
    O: Answer<()>,
    C: Fn(A::Items<'_>) -> O + Send + Sync,
    F: for<'a> Fn(&'a str, A::Items<'_>, &mut Pace<'_>) -> Result<&'a str> + Send + Sync,
{
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        work.check()?;
        let whole = arguments[0].to_flat();
        let columns = A::columns(&arguments[1..]);
        let valid = valid_rows(arguments);
        if O::MAY_FAIL {
            for_each_row(rows, valid.as_deref(), work, |row, is_valid| match is_valid {
                true => (self.check)(A::items(&columns, row)).answer().map(|_| ()),
                false => Ok(()),
            })?;
        }
        // Parts can't be errors: the last failure is told at the end.
        let (pace, failure) = (RefCell::new(Pace::new(work)), Cell::new(None));
        let parts = map_parts(whole.strings(), |row, whole| {
            if !valid.as_ref().is_none_or(|valid| valid.get(row)) {
                return &[];
            }
            let part = (self.part)(arguments::text_of(whole), A::items(&columns, row), &mut pace.borrow_mut());
            part.map(str::as_bytes).unwrap_or_else(|error| {
                failure.set(Some(error));
                &[]
            })
        });
        if let Some(error) = failure.into_inner() {
            return Err(error);
        }
        Ok(Vector::flat(Flat::Str(parts), None).with_validity(valid))
    }
}

/// Returns values that are NULL where an argument is, and in the rows of `nulls`.
pub(crate) fn with_nulls(values: Flat, valid: Option<Arc<Bitmap>>, nulls: &[usize]) -> Vector {
    let valid = without_nulls(valid, nulls, values.len());
    Vector::flat(values, None).with_validity(valid)
}

/// Returns the valid rows without those of `nulls`.
fn without_nulls(valid: Option<Arc<Bitmap>>, nulls: &[usize], rows: usize) -> Option<Arc<Bitmap>> {
    if nulls.is_empty() {
        return valid;
    }
    let mut is_null = vec![false; rows];
    nulls.iter().for_each(|&row| is_null[row] = true);
    let is_valid = |row: usize| !is_null[row] && valid.as_ref().is_none_or(|valid| valid.get(row));
    Some(Arc::new(Bitmap::from_fn(rows, is_valid)))
}

/// The strings of a vector, one for each row or one for all.
pub(crate) struct Strings {
    strings: StrColumn,
    /// 0 for a constant, else 1.
    stride: usize,
}

impl Strings {
    pub(crate) fn of(vector: &Vector) -> Self {
        let (flat, stride) = arguments::strided(vector);
        Self { strings: flat.strings().clone(), stride }
    }

    #[inline]
    pub(crate) fn bytes(&self, row: usize) -> &[u8] {
        self.strings.get(row * self.stride)
    }

    #[inline]
    pub(crate) fn text(&self, row: usize) -> &str {
        arguments::text_of(self.bytes(row))
    }
}

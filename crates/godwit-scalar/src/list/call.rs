//! Kernels over nested values, whose types are determined for each call.

use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};
use godwit_common::Result;
use godwit_types::SqlType;
use godwit_vector::{Bitmap, Flat, Vector, from_arrow};

use super::keys::Keys;
use super::lists::{Items, Lists, taken};
use super::picks::Picks;
use crate::function::Form;
use crate::kernel::{Kernel, Work};
use crate::rows::{Answer, Fixed, Strings, Values, Writer, Written, for_each_row, valid_rows, with_nulls};

/// The arguments of a chunk, and the ways to build results.
///
/// These take a function of a row, which is called where no argument is NULL; in a lenient form, it is called for all
/// rows.
pub(crate) struct Call<'a> {
    pub(crate) arguments: &'a [Vector],
    pub(crate) types: &'a [SqlType],
    pub(crate) result: &'a SqlType,
    pub(crate) rows: usize,
    pub(crate) work: &'a dyn Work,
    valid: Option<Arc<Bitmap>>,
}

struct Computed<F> {
    types: Vec<SqlType>,
    result: SqlType,
    strict: bool,
    compute: F,
}

impl<F: Fn(&Call<'_>) -> Result<Vector> + Send + Sync> Kernel for Computed<F> {
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        let valid = if self.strict { valid_rows(arguments) } else { None };
        (self.compute)(&Call { arguments, types: &self.types, result: &self.result, rows, work, valid })
    }
}

fn form(
    types: Vec<SqlType>,
    result: SqlType,
    strict: bool,
    compute: impl Fn(&Call<'_>) -> Result<Vector> + Send + Sync + 'static,
) -> Form {
    let kernel = Computed { types: types.clone(), result: result.clone(), strict, compute };
    Form {
        arguments: types,
        repeats: false,
        result,
        strict,
        may_fail: true,
        may_be_null: true,
        kernel: Arc::new(kernel),
    }
}

/// Creates a form that gives NULL for NULL.
pub(crate) fn strict(
    types: Vec<SqlType>,
    result: SqlType,
    compute: impl Fn(&Call<'_>) -> Result<Vector> + Send + Sync + 'static,
) -> Form {
    form(types, result, true, compute)
}

/// Creates a form that is also computed for NULL.
pub(crate) fn lenient(
    types: Vec<SqlType>,
    result: SqlType,
    compute: impl Fn(&Call<'_>) -> Result<Vector> + Send + Sync + 'static,
) -> Form {
    form(types, result, false, compute)
}

impl Form {
    /// Declares that the form never fails.
    pub(crate) fn total(self) -> Self {
        Self { may_fail: false, ..self }
    }

    /// Declares that the form gives NULL only where an argument is NULL.
    pub(crate) fn never_null(self) -> Self {
        Self { may_be_null: false, ..self }
    }
}

impl Call<'_> {
    /// Reads an argument that is a list.
    pub(crate) fn lists(&self, at: usize) -> Result<Lists> {
        Lists::of(&self.arguments[at], &self.types[at])
    }

    /// Returns the keys of an argument.
    pub(crate) fn keys(&self, at: usize) -> Result<Keys> {
        Keys::of(&self.arguments[at], &self.types[at])
    }

    /// Returns the keys of the elements of a list argument.
    pub(crate) fn element_keys(&self, at: usize, lists: &Lists) -> Result<Keys> {
        let element = self.types[at].element().expect("lists have elements");
        Keys::of_array(&lists.elements, element)
    }

    /// Reads an argument of the elements' type.
    pub(crate) fn items(&self, at: usize) -> Result<Items> {
        Items::of(&self.arguments[at], &self.types[at])
    }

    pub(crate) fn integers(&self, at: usize) -> Values<i64> {
        Values::of(&self.arguments[at])
    }

    pub(crate) fn strings(&self, at: usize) -> Strings {
        Strings::of(&self.arguments[at])
    }

    pub(crate) fn is_null(&self, at: usize, row: usize) -> bool {
        !self.arguments[at].is_valid(row)
    }

    /// True if a row is computed.
    pub(crate) fn is_computed(&self, row: usize) -> bool {
        self.valid.as_ref().is_none_or(|valid| valid.get(row))
    }

    /// Builds fixed-width results.
    pub(crate) fn fixed<R: Fixed, O: Answer<R::Native>>(&self, mut value: impl FnMut(usize) -> O) -> Result<Vector> {
        let mut values = vec![R::Native::default(); self.rows];
        let mut nulls = Vec::new();
        for_each_row(self.rows, self.valid.as_deref(), self.work, |row, is_valid| {
            if is_valid {
                match value(row).answer()? {
                    Some(value) => values[row] = value,
                    None => nulls.push(row),
                }
            }
            Ok(())
        })?;
        Ok(with_nulls(R::flat(values), self.valid.clone(), &nulls))
    }

    /// Builds texts.
    pub(crate) fn texts<O: Written>(&self, mut write: impl FnMut(usize, &mut Writer<'_>) -> O) -> Result<Vector> {
        let mut writer = Writer::new(self.rows, self.work);
        let mut nulls = Vec::new();
        for_each_row(self.rows, self.valid.as_deref(), self.work, |row, is_valid| {
            if is_valid && !write(row, &mut writer).written()? {
                nulls.push(row);
            }
            writer.end_row()
        })?;
        Ok(with_nulls(Flat::Str(writer.finish()), self.valid.clone(), &nulls))
    }

    /// Builds lists of elements of some arrays, which are numbered consecutively.
    pub(crate) fn picked<O: Written>(
        &self,
        sources: &[&ArrayRef],
        mut pick: impl FnMut(usize, &mut Picks<'_>) -> O,
    ) -> Result<Vector> {
        let mut picks = Picks::new(sources, self.rows, self.work)?;
        let mut nulls = Vec::new();
        for_each_row(self.rows, self.valid.as_deref(), self.work, |row, is_valid| {
            if is_valid && !pick(row, &mut picks).written()? {
                nulls.push(row);
            }
            picks.end_row()
        })?;
        picks.finish(self.result, self.validity_without(&nulls))
    }

    /// Takes one element of an array for each row, or NULL.
    pub(crate) fn element<O: Answer<usize>>(
        &self,
        source: &ArrayRef,
        mut place: impl FnMut(usize) -> O,
    ) -> Result<Vector> {
        let mut places: Vec<Option<u32>> = vec![None; self.rows];
        for_each_row(self.rows, self.valid.as_deref(), self.work, |row, is_valid| {
            if is_valid {
                places[row] = place(row).answer()?.map(|place| place as u32);
            }
            Ok(())
        })?;
        from_arrow(&taken(source, &UInt32Array::from(places))?)
    }

    /// Returns the non-NULL rows: NULL neither by an argument nor by `nulls`.
    pub(crate) fn validity_without(&self, nulls: &[usize]) -> Option<Bitmap> {
        if nulls.is_empty() {
            return self.valid.as_deref().filter(|valid| !valid.all()).cloned();
        }
        let mut validity = Bitmap::from_fn(self.rows, |row| self.is_computed(row));
        nulls.iter().for_each(|&row| validity.set(row, false));
        Some(validity)
    }
}

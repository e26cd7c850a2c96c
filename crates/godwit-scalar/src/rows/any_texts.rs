//! Functions of any number of texts, some of them NULL.

use std::sync::Arc;

use godwit_common::Result;
use godwit_types::SqlType;
use godwit_vector::{Bitmap, Flat, Vector};

use super::{ListWriter, Strings, Writer, Written, for_each_row, with_nulls};
use crate::function::Form;
use crate::kernel::{Kernel, Work};

/// Creates a form that writes a text from texts and NULLs. The last argument may repeat.
pub(crate) fn any_texts<O: Written + 'static>(
    arguments: Vec<SqlType>,
    repeats: bool,
    write: impl Fn(&[Option<&[u8]>], &mut Writer<'_>) -> O + Send + Sync + 'static,
) -> Form {
    let kernel = Arc::new(AnyTexts { write });
    let (may_fail, may_be_null) = (O::MAY_FAIL, O::MAY_BE_NULL);
    Form { arguments, repeats, result: SqlType::Varchar, strict: false, may_fail, may_be_null, kernel }
}

/// Creates a form that writes a list of texts, VARCHAR[], from texts and NULLs.
pub(crate) fn lists<O: Written + 'static>(
    arguments: Vec<SqlType>,
    write: impl Fn(&[Option<&[u8]>], &mut ListWriter<'_>) -> O + Send + Sync + 'static,
) -> Form {
    let kernel = Arc::new(Lists { write });
    let (may_fail, may_be_null) = (O::MAY_FAIL, O::MAY_BE_NULL);
    let result = SqlType::list_of(SqlType::Varchar);
    Form { arguments, repeats: false, result, strict: false, may_fail, may_be_null, kernel }
}

fn for_each_texts(
    arguments: &[Vector],
    rows: usize,
    work: &dyn Work,
    mut each: impl FnMut(usize, &[Option<&[u8]>]) -> Result<()>,
) -> Result<()> {
    let columns: Vec<(Strings, Option<&Arc<Bitmap>>)> =
        arguments.iter().map(|argument| (Strings::of(argument), argument.validity())).collect();
    let mut texts: Vec<Option<&[u8]>> = Vec::with_capacity(columns.len());
    for_each_row(rows, None, work, |row, _| {
        texts.clear();
        texts.extend(columns.iter().map(|(strings, valid)| match valid.is_none_or(|valid| valid.get(row)) {
            true => Some(strings.bytes(row)),
            false => None,
        }));
        each(row, &texts)
    })
}

struct AnyTexts<F> {
    write: F,
}

impl<O: Written, F: Fn(&[Option<&[u8]>], &mut Writer<'_>) -> O + Send + Sync> Kernel for AnyTexts<F> {
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        let mut writer = Writer::new(rows, work);
        let mut nulls = Vec::new();
        for_each_texts(arguments, rows, work, |row, texts| {
            if !(self.write)(texts, &mut writer).written()? {
                nulls.push(row);
            }
            writer.end_row()
        })?;
        Ok(with_nulls(Flat::Str(writer.finish()), None, &nulls))
    }
}

struct Lists<F> {
    write: F,
}

impl<O: Written, F: Fn(&[Option<&[u8]>], &mut ListWriter<'_>) -> O + Send + Sync> Kernel for Lists<F> {
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        let mut writer = ListWriter::new(rows, work);
        let mut nulls = Vec::new();
        for_each_texts(arguments, rows, work, |row, texts| {
            if !(self.write)(texts, &mut writer).written()? {
                nulls.push(row);
            }
            writer.end_row()
        })?;
        Ok(with_nulls(writer.finish()?, None, &nulls))
    }
}

//! Kernels whose result is one of a few texts: they return codes of a dictionary.

use std::marker::PhantomData;
use std::sync::Arc;

use godwit_common::Result;
use godwit_vector::{Dictionary, Flat, StrColumn, Vector};

use super::{Argument, Arguments, Text, for_each_row, valid_rows, without_nulls};
use crate::function::Form;
use crate::kernel::{Kernel, Work};

/// Creates a form whose result is the label at an index, or NULL; all labels differ.
pub(crate) fn label<A: Arguments>(
    labels: &[&str],
    place: impl for<'a> Fn(A::Items<'a>) -> Option<usize> + Send + Sync + 'static,
) -> Form {
    let dictionary = Arc::new(Dictionary::new(Flat::Str(StrColumn::from_strings(labels)), false));
    let kernel = LabelKernel { place, dictionary, types: PhantomData::<fn(A)> };
    Form::strict(A::types(), Text::TYPE, false, true, Arc::new(kernel))
}

struct LabelKernel<F, T> {
    place: F,
    dictionary: Arc<Dictionary>,
    types: PhantomData<T>,
}

impl<A, F> Kernel for LabelKernel<F, fn(A)>
where
    A: Arguments,
    F: for<'a> Fn(A::Items<'a>) -> Option<usize> + Send + Sync,
{
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        let columns = A::columns(arguments);
        let valid = valid_rows(arguments);
        let mut places = vec![0u32; rows];
        let mut nulls = Vec::new();
        for_each_row(rows, valid.as_deref(), work, |row, is_valid| {
            if is_valid {
                match (self.place)(A::items(&columns, row)) {
                    Some(place) => places[row] = place as u32,
                    None => nulls.push(row),
                }
                assert!((places[row] as usize) < self.dictionary.len());
            }
            Ok(())
        })?;
        let labels = Vector::dictionary(places.into(), Arc::clone(&self.dictionary), None);
        Ok(labels.with_validity(without_nulls(valid, &nulls, rows)))
    }
}

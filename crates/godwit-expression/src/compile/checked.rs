//! Kernels of one argument that may have no result: an error, or NULL.

use std::marker::PhantomData;

use godwit_common::{Error, Result};
use godwit_vector::{Bitmap, Native, Vector};

use crate::expression::Kernel;

/// Applies `convert` to each value.
pub(super) struct Checked<A, R, F> {
    /// Returns the result, if there is one.
    convert: F,
    /// For values without a result.
    failure: Error,
    /// True for NULL instead of the failure.
    is_lenient: bool,
    /// False if every value of the argument has a result.
    can_fail: bool,
    types: PhantomData<fn(A) -> R>,
}

impl<A, R, F: Fn(A) -> Option<R>> Checked<A, R, F> {
    pub(super) fn new(convert: F, failure: Error) -> Self {
        Self { convert, failure, is_lenient: false, can_fail: true, types: PhantomData }
    }

    /// Sets whether the result is NULL instead of the failure.
    pub(super) fn lenient(self, is_lenient: bool) -> Self {
        Self { is_lenient, ..self }
    }

    /// Sets whether a value of the argument may have no result.
    pub(super) fn failing(self, can_fail: bool) -> Self {
        Self { can_fail, ..self }
    }
}

impl<A: Native, R: Native, F: Fn(A) -> Option<R> + Send + Sync> Kernel for Checked<A, R, F> {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let argument = &arguments[0];
        let mut has_failed = false;
        let converted = |value: A| (self.convert)(value);
        let values = argument.to_flat();
        let values = values.values::<A>();
        let results = values.iter().map(|&value| {
            converted(value).unwrap_or_else(|| {
                has_failed = true;
                R::default()
            })
        });
        let results = Vector::from_values(results.collect::<Vec<R>>(), None);
        if !has_failed {
            return Ok(results.with_validity(argument.validity().cloned()));
        }
        // NULL rows hold arbitrary values: only others count.
        let is_valid = |row: usize| argument.is_valid(row) && converted(values[row]).is_some();
        let valid = Bitmap::from_fn(rows, is_valid);
        let expected = argument.validity().map_or(rows, |validity| validity.count_ones());
        if !self.is_lenient && valid.count_ones() < expected {
            return Err(self.failure.clone());
        }
        Ok(results.with_validity(Some(valid.into())))
    }

    fn can_fail(&self) -> bool {
        self.can_fail && !self.is_lenient
    }
}

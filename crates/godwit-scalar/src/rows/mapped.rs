//! Kernels of branch-free functions of one number: loops over all rows that the compiler vectorizes.
//!
//! NULL rows hold some number, too; the result computed from it is never seen.

use std::marker::PhantomData;
use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_vector::{Native, Vector};

use super::{Argument, Fixed};
use crate::function::Form;
use crate::kernel::{Kernel, Work};

/// Creates a form from a function of one number.
pub(crate) fn mapped<A: Argument + Native, R: Fixed>(compute: impl Fn(A) -> R::Native + Send + Sync + 'static) -> Form {
    let compute = move |number| (compute(number), true);
    let refuse = |_| unreachable!("all numbers have a value");
    form::<A, R>(MappedKernel { compute, refuse, types: PhantomData::<fn(A) -> R> }, false)
}

/// The same, where `compute` also tells whether the function is defined there; if not, `refuse` gives the error.
pub(crate) fn mapped_where<A: Argument + Native, R: Fixed>(
    compute: impl Fn(A) -> (R::Native, bool) + Send + Sync + 'static,
    refuse: impl Fn(A) -> Error + Send + Sync + 'static,
) -> Form {
    form::<A, R>(MappedKernel { compute, refuse, types: PhantomData::<fn(A) -> R> }, true)
}

fn form<A: Argument, R: Fixed>(kernel: impl Kernel + 'static, may_fail: bool) -> Form {
    Form::strict(vec![A::TYPE], R::TYPE, may_fail, false, Arc::new(kernel))
}

struct MappedKernel<C, F, T> {
    compute: C,
    refuse: F,
    types: PhantomData<T>,
}

impl<A, R, C, F> Kernel for MappedKernel<C, F, fn(A) -> R>
where
    A: Argument + Native,
    R: Fixed,
    C: Fn(A) -> (R::Native, bool) + Send + Sync,
    F: Fn(A) -> Error + Send + Sync,
{
    fn evaluate(&self, arguments: &[Vector], _rows: usize, work: &dyn Work) -> Result<Vector> {
        work.check()?;
        let numbers = &arguments[0];
        let flat = numbers.to_flat();
        let numbers_of_rows = flat.values::<A>();
        let mut all_have_values = true;
        let value = |&number: &A| {
            let (value, has_value) = (self.compute)(number);
            all_have_values &= has_value;
            value
        };
        let values: Vec<R::Native> = numbers_of_rows.iter().map(value).collect();
        if !all_have_values {
            let valid = numbers_of_rows.iter().enumerate().filter(|(row, _)| numbers.is_valid(*row));
            let mut refused = valid.filter(|(_, number)| !(self.compute)(**number).1);
            if let Some((_, number)) = refused.next() {
                return Err((self.refuse)(*number));
            }
        }
        Ok(Vector::flat(R::flat(values), None).with_validity(numbers.validity().cloned()))
    }
}

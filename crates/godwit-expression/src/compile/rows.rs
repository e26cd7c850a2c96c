//! Kernels that compute row by row on values, with the functions of `godwit-types`: for operations that are rare, or
//! cost more than converting the values.

use godwit_common::Result;
use godwit_types::{SqlType, Value};
use godwit_vector::Vector;
use godwit_vector::sql::{Reader, column_type, vector_of_values};

use crate::Expression;
use crate::expression::Kernel;

/// A function of a row's values.
pub(super) struct RowFunction<F> {
    /// Type of the result.
    pub(super) ty: SqlType,
    /// Rows with a NULL give NULL, without a call.
    pub(super) is_strict: bool,
    /// Some rows may fail.
    pub(super) can_fail: bool,
    /// Equal rows may give different values.
    pub(super) is_volatile: bool,
    /// Computes the result.
    pub(super) compute: F,
}

impl<F: Fn(&[Value]) -> Result<Value> + Send + Sync + 'static> RowFunction<F> {
    /// Compiles a call; the result is never NULL unless `nullable`.
    pub(super) fn call(self, arguments: Vec<(Expression, SqlType)>, nullable: bool) -> Result<Expression> {
        let output = column_type(&self.ty, nullable)?;
        let (arguments, types): (Vec<Expression>, Vec<SqlType>) = arguments.into_iter().unzip();
        Ok(Expression::strict(self.kernel(types), arguments, output))
    }

    /// The kernel of a call with arguments of these types.
    pub(super) fn kernel(self, types: Vec<SqlType>) -> impl Kernel + 'static {
        RowKernel { function: self, types }
    }
}

struct RowKernel<F> {
    function: RowFunction<F>,
    /// Types of the arguments.
    types: Vec<SqlType>,
}

impl<F: Fn(&[Value]) -> Result<Value> + Send + Sync> Kernel for RowKernel<F> {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let readers = arguments.iter().zip(&self.types).map(|(argument, ty)| Reader::new(argument, ty));
        let readers = readers.collect::<Result<Vec<_>>>()?;
        let mut results = Vec::with_capacity(rows);
        let mut values = Vec::with_capacity(readers.len());
        for row in 0..rows {
            values.clear();
            for reader in &readers {
                values.push(reader.value(row)?);
            }
            let is_null = self.function.is_strict && values.iter().any(Value::is_null);
            results.push(if is_null { Value::Null } else { (self.function.compute)(&values)? });
        }
        vector_of_values(&results, &self.function.ty)
    }

    fn can_fail(&self) -> bool {
        self.function.can_fail
    }

    fn is_volatile(&self) -> bool {
        self.function.is_volatile
    }
}

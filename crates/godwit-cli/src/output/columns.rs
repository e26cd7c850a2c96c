//! The columns of a result.

use godwit::{QueryResult, Result, SqlType};

/// Names and types.
#[derive(Debug, Clone)]
pub struct Columns {
    pub names: Vec<String>,
    pub types: Vec<SqlType>,
}

impl Columns {
    /// Returns the columns of a result.
    pub fn of(result: &QueryResult) -> Result<Self> {
        let names = result.schema().fields().iter().map(|field| field.name().clone()).collect();
        Ok(Self { names, types: result.types()? })
    }

    /// Returns whether each column holds numbers, which are right-aligned.
    pub(super) fn numbers(&self) -> Vec<bool> {
        self.types.iter().map(is_number).collect()
    }
}

pub(super) fn is_number(ty: &SqlType) -> bool {
    use SqlType as T;
    matches!(
        ty,
        T::TinyInt
            | T::SmallInt
            | T::Integer
            | T::BigInt
            | T::HugeInt
            | T::UTinyInt
            | T::USmallInt
            | T::UInteger
            | T::UBigInt
            | T::UHugeInt
            | T::Real
            | T::Double
            | T::Decimal { .. }
    )
}

//! Casts.

use godwit_vector::PhysicalType;

use crate::Expression;

/// The same values in another integer type.
pub(crate) fn to_physical(expression: &Expression, physical: PhysicalType) -> Expression {
    assert_eq!(expression.output().physical, physical);
    expression.clone()
}

//! Single values that are known when an expression is compiled.

use godwit_vector::{Bitmap, Data, Flat, Vector};

/// A value known at compile time, or NULL.
#[derive(Clone)]
pub(crate) struct Literal {
    /// One value; arbitrary if NULL.
    pub(crate) value: Flat,
    pub(crate) is_null: bool,
}

impl Literal {
    /// Takes the single row of a vector.
    pub(crate) fn of_vector(vector: &Vector) -> Literal {
        assert_eq!(vector.len(), 1);
        Literal { value: vector.to_flat(), is_null: !vector.is_valid(0) }
    }

    /// Returns `rows` rows of it.
    pub(crate) fn vector(&self, rows: usize) -> Vector {
        let vector = Vector::constant(self.value.clone(), rows);
        if self.is_null { vector.with_validity(Some(Bitmap::filled(rows, false).into())) } else { vector }
    }
}

/// Returns the value of all rows of `vector` if it is one value, or NULL, by construction.
pub(crate) fn constant_of(vector: &Vector) -> Option<Literal> {
    let Data::Constant(value) = vector.data() else { return None };
    match vector.validity() {
        None => Some(Literal { value: value.clone(), is_null: false }),
        Some(validity) if validity.count_ones() == 0 => Some(Literal { value: value.clone(), is_null: true }),
        Some(_) => None,
    }
}

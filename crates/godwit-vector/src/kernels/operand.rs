//! Arguments of kernels: a value per row, or one for all rows.

use crate::{Data, Flat, Vector};

/// Values of a vector, with dictionary codes looked up.
pub(crate) struct Operand {
    pub(crate) flat: Flat,
    /// `flat` has one value, for all rows.
    pub(crate) constant: bool,
}

impl Operand {
    pub(crate) fn of(vector: &Vector) -> Operand {
        match vector.data() {
            Data::Constant(flat) => Operand { flat: flat.clone(), constant: true },
            Data::Flat(flat) => Operand { flat: flat.clone(), constant: false },
            Data::Dictionary(..) => Operand { flat: vector.to_flat(), constant: false },
        }
    }
}

/// Applies `f` to each pair of rows; a constant side has one value.
#[inline(always)]
pub(crate) fn map_pairs<A: Copy, B: Copy, R: Copy>(
    (a, a_constant): (&[A], bool),
    (b, b_constant): (&[B], bool),
    rows: usize,
    mut f: impl FnMut(A, B) -> R,
) -> Vec<R> {
    match (a_constant, b_constant) {
        (false, false) => a[..rows].iter().zip(&b[..rows]).map(|(&x, &y)| f(x, y)).collect(),
        (false, true) => {
            let y = b[0];
            a[..rows].iter().map(|&x| f(x, y)).collect()
        }
        (true, false) => {
            let x = a[0];
            b[..rows].iter().map(|&y| f(x, y)).collect()
        }
        (true, true) => vec![f(a[0], b[0]); rows],
    }
}

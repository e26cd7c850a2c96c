//! Reads states into vectors. The rows are those of an owner that lets them be read, or shared.

use godwit_vector::kernels::compensated::CompensatedSum;
use godwit_vector::{Flat, PhysicalType, match_physical};

use super::distinct::{Registers, estimate};
use super::{Comoments, Digest, Moments, PowerSums, StateKind, StateLayout, load};
use crate::Rows;

impl StateLayout {
    /// The counts or ordinals of state `index`.
    pub fn counts(&self, index: usize, rows: Rows<'_>) -> Vec<u64> {
        assert!(matches!(self.kind(index), StateKind::Count | StateKind::Ordinal));
        self.read(index, rows)
    }

    /// The sums of state `index`, if they have 64 bits.
    pub fn sums_i64(&self, index: usize, rows: Rows<'_>) -> Option<Vec<i64>> {
        (self.kind(index) == StateKind::SumI64).then(|| self.read(index, rows))
    }

    /// The sums of state `index`, widened if they have 64 bits.
    pub fn sums_i128(&self, index: usize, rows: Rows<'_>) -> Vec<i128> {
        match self.kind(index) {
            StateKind::SumI128 => self.read(index, rows),
            StateKind::SumI64 => self.read::<i64>(index, rows).into_iter().map(i128::from).collect(),
            other => panic!("{other:?} is not an integer sum"),
        }
    }

    /// The sums or products of state `index`, floats.
    pub fn sums_f64(&self, index: usize, rows: Rows<'_>) -> Vec<f64> {
        match self.kind(index) {
            StateKind::SumF64 | StateKind::Product => self.read(index, rows),
            StateKind::CompensatedSum => {
                self.read::<CompensatedSum>(index, rows).into_iter().map(CompensatedSum::total).collect()
            }
            other => panic!("{other:?} is not a float"),
        }
    }

    /// The moments of state `index`.
    pub fn moments(&self, index: usize, rows: Rows<'_>) -> Vec<Moments> {
        assert_eq!(self.kind(index), StateKind::Moments);
        self.read(index, rows)
    }

    /// The power sums of state `index`.
    pub fn power_sums(&self, index: usize, rows: Rows<'_>) -> Vec<PowerSums> {
        assert_eq!(self.kind(index), StateKind::PowerSums);
        self.read(index, rows)
    }

    /// The moments of pairs of state `index`.
    pub fn comoments(&self, index: usize, rows: Rows<'_>) -> Vec<Comoments> {
        assert_eq!(self.kind(index), StateKind::Comoments);
        self.read(index, rows)
    }

    /// The estimated numbers of different values of state `index`.
    pub fn distinct_counts(&self, index: usize, rows: Rows<'_>) -> Vec<i64> {
        assert_eq!(self.kind(index), StateKind::Distinct);
        map_states(self.at(index, rows.layout()), rows, |state| {
            // SAFETY: the state is made of registers, and the rows are pinned and readable.
            let registers = unsafe { &*state.cast::<Registers>() };
            estimate(registers).round() as i64
        })
    }

    /// The values of state `index`, a digest, at these fractions of the way; `None` for groups without values.
    pub fn quantiles(&self, index: usize, rows: Rows<'_>, fractions: &[f64]) -> Vec<Option<Vec<f64>>> {
        assert_eq!(self.kind(index), StateKind::Digest);
        map_states(self.at(index, rows.layout()), rows, |state| {
            // SAFETY: the state is a digest, and the rows are pinned and readable.
            let digest = unsafe { load::<Digest>(state) };
            digest.quantiles(fractions)
        })
    }

    /// The bits of state `index`.
    pub fn bits(&self, index: usize, rows: Rows<'_>) -> Vec<i128> {
        assert!(matches!(self.kind(index), StateKind::BitAnd | StateKind::BitOr | StateKind::BitXor));
        self.read(index, rows)
    }

    /// The values of a minimum or maximum; those of groups without values are arbitrary.
    pub fn extremes(&self, index: usize, rows: Rows<'_>) -> Flat {
        let (StateKind::Min(physical) | StateKind::Max(physical)) = self.kind(index) else {
            panic!("{:?} is not an extreme", self.kind(index))
        };
        read_values(physical, self.at(index, rows.layout()), rows)
    }

    fn read<T: Copy>(&self, index: usize, rows: Rows<'_>) -> Vec<T> {
        read_all(self.at(index, rows.layout()), rows)
    }
}

fn read_all<T: Copy>(at: usize, rows: Rows<'_>) -> Vec<T> {
    // SAFETY: callers pass the type of the state; the rows are pinned and readable.
    map_states(at, rows, |state| unsafe { load(state) })
}

/// Returns `f` of the address of each row's state.
fn map_states<R>(at: usize, rows: Rows<'_>, f: impl Fn(*const u8) -> R) -> Vec<R> {
    rows.check_readable();
    rows.note_loads(at);
    rows.pointers().iter().map(|row| f(row.as_ptr().wrapping_add(at))).collect()
}

fn read_values(physical: PhysicalType, at: usize, rows: Rows<'_>) -> Flat {
    if physical == PhysicalType::Bool {
        return Flat::Bool(read_all::<u8>(at, rows).into());
    }
    match_physical!(physical, T => <T as godwit_vector::Native>::into_flat(read_all::<T>(at, rows).into()))
}

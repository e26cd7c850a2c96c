//! Updates states from vectors of arguments: one typed loop per state. The functions of [`StateLayout`] check that the
//! rows are those of an owner that is borrowed mutably; all others rely on it.

use std::borrow::Cow;

use godwit_common::{Error, Result};
use godwit_vector::kernels::compensated::CompensatedSum;
use godwit_vector::kernels::hash::hash_values;
use godwit_vector::{Bitmap, Flat, Vector, match_flat, match_physical};

use super::distinct::{Registers, add_hash};
use super::states::Ordered;
use super::{Comoments, Digest, Moments, PowerSums, StateKind, StateLayout, borrow, for_each_state, load, store};
use crate::{RowOwner, Rows};

impl StateLayout {
    /// Adds row `i` of the arguments to state `index` of row `i`. Rows with a NULL are left out; a count without an
    /// argument counts every row.
    pub fn update(&self, owner: &mut RowOwner, index: usize, rows: Rows<'_>, arguments: &[Vector]) -> Result<()> {
        owner.check(rows);
        let (kind, at) = (self.kind(index), self.at(index, rows.layout()));
        assert!(arguments.iter().all(|argument| argument.len() == rows.len()));
        let argument = match arguments {
            [] => {
                assert_eq!(kind, StateKind::Count, "only counts have no argument");
                count(rows, at, None);
                return Ok(());
            }
            [argument] => argument,
            [y, x] if kind == StateKind::Comoments => {
                comoments(rows, at, x, y);
                return Ok(());
            }
            several => unreachable!("{kind:?} of {} arguments", several.len()),
        };
        let validity = argument.validity().map(|validity| &**validity);
        if kind == StateKind::Count {
            count(rows, at, validity);
            return Ok(());
        }
        if kind == StateKind::Distinct {
            distinct(rows, at, argument);
            return Ok(());
        }
        let flat = argument.to_flat();
        match kind {
            StateKind::SumI64 => sum_i64(rows, at, &flat, validity),
            StateKind::SumI128 => return sum_i128(rows, at, &flat, validity),
            StateKind::SumF64 => sum_f64(rows, at, &flat, validity),
            StateKind::Min(physical) => {
                match_physical!(physical, T => extreme(rows, at, typed::<T>(&flat), validity, |new, old| new.is_less(old)))
            }
            StateKind::Max(physical) => {
                match_physical!(physical, T => extreme(rows, at, typed::<T>(&flat), validity, |new, old| old.is_less(new)))
            }
            StateKind::BitAnd => bits(rows, at, &flat, validity, |a, b| a & b),
            StateKind::BitOr => bits(rows, at, &flat, validity, |a, b| a | b),
            StateKind::BitXor => bits(rows, at, &flat, validity, |a, b| a ^ b),
            StateKind::Product => floats::<f64>(rows, at, &flat, validity, |old, value| old * value),
            StateKind::CompensatedSum => {
                let values = flat.values::<f64>();
                modify::<CompensatedSum>(rows, at, validity, |i, old| old.with(values[i]));
            }
            StateKind::Moments => floats(rows, at, &flat, validity, Moments::with),
            StateKind::PowerSums => floats(rows, at, &flat, validity, PowerSums::with),
            StateKind::Digest => digest(rows, at, &flat, validity),
            StateKind::Count | StateKind::Distinct | StateKind::Comoments | StateKind::Ordinal => {
                unreachable!("not updated from flat values")
            }
        }
        Ok(())
    }

    /// Adds `amounts[i]` to the count or integer sum `index` of row `i`: totals accumulated elsewhere.
    pub fn add(&self, owner: &mut RowOwner, index: usize, rows: Rows<'_>, amounts: &[i64]) {
        owner.check(rows);
        assert_eq!(rows.len(), amounts.len());
        let at = self.at(index, rows.layout());
        match self.kind(index) {
            StateKind::Count | StateKind::SumI64 => {
                modify::<i64>(rows, at, None, |i, old| old.wrapping_add(amounts[i]));
            }
            StateKind::SumI128 => modify::<i128>(rows, at, None, |i, old| old.wrapping_add(amounts[i] as i128)),
            other => panic!("{other:?} is no count or integer sum"),
        }
    }

    /// Sets the ordinal of row `i` to `first + i`.
    pub fn number(&self, owner: &mut RowOwner, index: usize, rows: Rows<'_>, first: u64) {
        owner.check(rows);
        assert_eq!(self.kind(index), StateKind::Ordinal);
        // SAFETY: an ordinal is a u64; the rows are pinned, and their owner is borrowed mutably.
        for_each_state(rows, self.at(index, rows.layout()), |i, at| unsafe { store(at, first + i as u64) });
    }
}

/// Booleans are values of type u8 here.
trait Typed: Sized {
    fn slice(flat: &Flat) -> Option<&[Self]>;
}
macro_rules! typed_natives {
    ($($t:ty),*) => { $(
        impl Typed for $t {
            fn slice(flat: &Flat) -> Option<&[Self]> { <$t as godwit_vector::Native>::of(flat).map(|values| &values[..]) }
        }
    )* };
}
typed_natives!(i8, i16, i32, i64, i128, u16, u32, u64, f32, f64);
impl Typed for u8 {
    fn slice(flat: &Flat) -> Option<&[Self]> {
        match flat {
            Flat::Bool(values) | Flat::U8(values) => Some(values),
            _ => None,
        }
    }
}

fn typed<T: Typed>(flat: &Flat) -> &[T] {
    T::slice(flat).unwrap_or_else(|| panic!("the state is of another type than {:?}", flat.physical()))
}

/// Calls `f` with the number of each valid row and the address of its state.
#[inline(always)]
fn for_each_valid(rows: Rows<'_>, at: usize, validity: Option<&Bitmap>, mut f: impl FnMut(usize, *mut u8)) {
    rows.note_loads(at);
    match validity {
        None => for_each_state(rows, at, f),
        Some(validity) => for_each_state(rows, at, |i, state| {
            if validity.get(i) {
                f(i, state);
            }
        }),
    }
}

/// Replaces the `T` of each valid row's state with `f(row number, old)`.
#[inline(always)]
fn modify<T: Copy>(rows: Rows<'_>, at: usize, validity: Option<&Bitmap>, mut f: impl FnMut(usize, T) -> T) {
    if let Some(state) = only_state(rows, at) {
        // SAFETY: callers pass the type of the state; the rows are pinned, and nobody else uses them.
        let mut value = unsafe { load::<T>(state) };
        for i in 0..rows.len() {
            if validity.is_none_or(|validity| validity.get(i)) {
                value = f(i, value);
            }
        }
        // SAFETY: as above.
        return unsafe { store(state, value) };
    }
    // SAFETY: as above.
    for_each_valid(rows, at, validity, |i, state| unsafe { store(state, f(i, load::<T>(state))) });
}

/// The state of all rows if they share one: it can then stay in a register instead of being read and written for each
/// row.
fn only_state(rows: Rows<'_>, at: usize) -> Option<*mut u8> {
    let [first, others @ .., last] = rows.pointers() else { return None };
    let is_only = first == last && others.iter().all(|row| row == first);
    is_only.then(|| first.as_ptr().wrapping_add(at))
}

fn count(rows: Rows<'_>, at: usize, validity: Option<&Bitmap>) {
    match validity {
        None => modify::<u64>(rows, at, None, |_, old| old + 1),
        Some(validity) => modify::<u64>(rows, at, None, |i, old| old + validity.get(i) as u64),
    }
}

fn sum_i64(rows: Rows<'_>, at: usize, flat: &Flat, validity: Option<&Bitmap>) {
    macro_rules! sum {
        ($values:expr) => {{
            let values = &$values[..rows.len()];
            modify::<i64>(rows, at, validity, |i, old| old.wrapping_add(values[i] as i64))
        }};
    }
    match_flat!(flat, values => sum!(values), _s => unreachable!("strings have no sum"), _a => unreachable!("nor lists"))
}

fn sum_i128(rows: Rows<'_>, at: usize, flat: &Flat, validity: Option<&Bitmap>) -> Result<()> {
    if let Flat::I128(values) = flat {
        let mut overflow = false;
        modify::<i128>(rows, at, validity, |i, old| {
            let (sum, overflowed) = old.overflowing_add(values[i]);
            overflow |= overflowed;
            sum
        });
        return if overflow { Err(sum_overflow()) } else { Ok(()) };
    }
    macro_rules! sum {
        ($values:expr) => {{
            let values = &$values[..rows.len()];
            modify::<i128>(rows, at, validity, |i, old| old.wrapping_add(values[i] as i128))
        }};
    }
    match_flat!(flat, values => sum!(values), _s => unreachable!("strings have no sum"), _a => unreachable!("nor lists"));
    Ok(())
}

pub(super) fn sum_overflow() -> Error {
    Error::user("a sum has more than 38 digits").with_hint("cast the argument to DOUBLE")
}

fn sum_f64(rows: Rows<'_>, at: usize, flat: &Flat, validity: Option<&Bitmap>) {
    match flat {
        Flat::F64(values) => {
            let values = &values[..rows.len()];
            modify::<f64>(rows, at, validity, |i, old| old + values[i]);
        }
        Flat::F32(values) => {
            let values = &values[..rows.len()];
            modify::<f64>(rows, at, validity, |i, old| old + values[i] as f64);
        }
        other => unreachable!("{:?} is summed as integers", other.physical()),
    }
}

#[inline(always)]
fn extreme<T: Ordered>(
    rows: Rows<'_>,
    at: usize,
    values: &[T],
    validity: Option<&Bitmap>,
    is_better: impl Fn(T, T) -> bool,
) {
    modify::<T>(rows, at, validity, |i, old| if is_better(values[i], old) { values[i] } else { old });
}

fn bits(rows: Rows<'_>, at: usize, flat: &Flat, validity: Option<&Bitmap>, f: impl Fn(i128, i128) -> i128) {
    macro_rules! apply {
        ($values:expr) => {
            modify::<i128>(rows, at, validity, |i, old| f(old, $values[i] as i128))
        };
    }
    match_flat!(flat, values => apply!(values), _s => unreachable!("strings have no bits"), _a => unreachable!("nor lists"))
}

/// Replaces the state of each valid row with `f(old, value as a float)`.
#[inline(always)]
fn floats<T: Copy>(rows: Rows<'_>, at: usize, flat: &Flat, validity: Option<&Bitmap>, f: impl Fn(T, f64) -> T) {
    macro_rules! apply {
        ($values:expr) => {
            modify::<T>(rows, at, validity, |i, old| f(old, $values[i] as f64))
        };
    }
    match_flat!(flat, values => apply!(values), _s => unreachable!("strings have no mean"), _a => unreachable!("nor lists"))
}

fn distinct(rows: Rows<'_>, at: usize, values: &Vector) {
    let mut hashes = Vec::new();
    hash_values(values, &mut hashes);
    let validity = values.validity().map(|validity| &**validity);
    // SAFETY: the state is made of registers; states begin at multiples of 8 bytes, and nobody else uses the rows.
    for_each_valid(rows, at, validity, |i, state| unsafe { add_hash(borrow::<Registers>(state), hashes[i]) });
}

#[allow(clippy::unnecessary_cast, reason = "the loop is compiled for every type of numbers")]
fn digest(rows: Rows<'_>, at: usize, flat: &Flat, validity: Option<&Bitmap>) {
    let values: Vec<f64> = match_flat!(
        flat,
        values => values.iter().map(|&value| value as f64).collect(),
        _s => unreachable!("strings have no digest"),
        _a => unreachable!("nor lists")
    );
    // SAFETY: the state is a digest; states begin at multiples of 8 bytes, and nobody else uses the rows.
    for_each_valid(rows, at, validity, |i, state| unsafe { borrow::<Digest>(state).add(values[i]) });
}

fn comoments(rows: Rows<'_>, at: usize, x: &Vector, y: &Vector) {
    let (flat_x, flat_y) = (x.to_flat(), y.to_flat());
    let (xs, ys) = (flat_x.values::<f64>(), flat_y.values::<f64>());
    let validity = match (x.validity(), y.validity()) {
        (Some(x), Some(y)) => Some(Cow::Owned(x.and(y))),
        (one, other) => one.or(other).map(|validity| Cow::Borrowed(&**validity)),
    };
    modify::<Comoments>(rows, at, validity.as_deref(), |i, old| old.with(xs[i], ys[i]));
}

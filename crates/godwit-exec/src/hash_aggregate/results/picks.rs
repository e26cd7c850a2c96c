//! Results that are values at known positions of their group: first, last, quantiles.
//!
//! Each group has a slot for every value that the aggregate takes from a group. The number of the group's values
//! determines a slot's position, so one pass over the stream fills all of them.
#![allow(clippy::unnecessary_cast, reason = "loops are compiled for every integer type")]

use std::sync::Arc;

use arrow_array::ListArray;
use arrow_buffer::{NullBuffer, OffsetBuffer};
use godwit_common::{Error, Result};
use godwit_vector::kernels::scatter::Scatter;
use godwit_vector::{Bitmap, ColumnType, Flat, PhysicalType, Vector, match_flat};

use super::super::finish::integers;
use super::{CollectedKind, GroupCursor, item_of, items_of, owned, present};

/// Fills the slots.
pub(in super::super) struct Picks<'a> {
    kind: &'a CollectedKind,
    value: &'a ColumnType,
    ty: &'a ColumnType,
    counts: &'a [u64],
    cursor: GroupCursor<'a>,
    slots_per_group: usize,
    scatter: Scatter,
}

/// Positions of a group's slots among its `count` values.
fn positions(kind: &CollectedKind, count: u64, positions: &mut Vec<u64>) {
    positions.clear();
    match kind {
        CollectedKind::First => positions.push(0),
        CollectedKind::Last => positions.push(count - 1),
        CollectedKind::Quantile { fractions, interpolated: true, .. } => positions.extend(
            fractions
                .iter()
                .map(|fraction| fraction * (count - 1) as f64)
                .flat_map(|place| [place.floor() as u64, place.ceil() as u64]),
        ),
        CollectedKind::Quantile { fractions, .. } => {
            positions
                .extend(fractions.iter().map(|fraction| ((fraction * count as f64).ceil() as u64).clamp(1, count) - 1));
        }
        other => unreachable!("{other:?} takes all values"),
    }
}

impl<'a> Picks<'a> {
    pub(super) fn new(kind: &'a CollectedKind, value: &'a ColumnType, counts: &'a [u64], ty: &'a ColumnType) -> Self {
        let mut of_one = Vec::new();
        positions(kind, 1, &mut of_one);
        let slots_per_group = of_one.len();
        let scatter = Scatter::new(value.physical, counts.len() * slots_per_group);
        Self { kind, value, ty, counts, cursor: GroupCursor::new(counts), slots_per_group, scatter }
    }

    pub(super) fn add(&mut self, values: &Vector) {
        let (mut rows, mut slots, mut of_group) = (Vec::new(), Vec::new(), Vec::new());
        let (kind, counts, width) = (self.kind, self.counts, self.slots_per_group);
        self.cursor.advance(values.len(), |group, first, part| {
            positions(kind, counts[group], &mut of_group);
            for (slot, &position) in of_group.iter().enumerate() {
                if (first..first + part.len() as u64).contains(&position) {
                    slots.push((group * width + slot) as u32);
                    rows.push((part.start as u64 + position - first) as u32);
                }
            }
        });
        if !rows.is_empty() {
            self.scatter.put(&slots, &owned(values.take(&rows)));
        }
    }

    pub(super) fn finish(self) -> Result<Vector> {
        let Self { kind, value, ty, counts, scatter, .. } = self;
        let picked = scatter.finish();
        let groups = present(counts);
        match kind {
            CollectedKind::Quantile { fractions, interpolated, as_list } => {
                let item = match as_list {
                    true => ColumnType::new(item_of(ty)?.data_type().clone(), true)?,
                    false => ty.clone(),
                };
                let values = match interpolated {
                    true => interpolate(&picked, fractions, counts, value, &item)?,
                    false => picked,
                };
                if *as_list { lists(&values, fractions.len(), &groups, ty) } else { Ok(only_in(values, &groups)) }
            }
            _ => Ok(only_in(picked, &groups)),
        }
    }
}

/// The same values, NULL for groups without any.
fn only_in(values: Vector, groups: &Bitmap) -> Vector {
    let validity = values.validity().map_or_else(|| groups.clone(), |validity| validity.and(groups));
    values.with_validity(Some(Arc::new(validity)))
}

/// Lists of `len` values each.
pub(in super::super) fn lists(values: &Vector, len: usize, groups: &Bitmap, ty: &ColumnType) -> Result<Vector> {
    let item = item_of(ty)?;
    // Groups without values have nothing in their slots, not even the bytes of a nested value.
    let picked = Bitmap::from_fn(values.len(), |slot| groups.get(slot / len));
    let items = items_of(&only_in(values.clone(), &picked), item.data_type())?;
    let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(len, groups.len()));
    let nulls = NullBuffer::from_iter((0..groups.len()).map(|group| groups.get(group)));
    let array = ListArray::try_new(item.clone(), offsets, items, Some(nulls));
    let array = array.map_err(|error| Error::internal(error.to_string()))?;
    Ok(Vector::flat(Flat::Nested(Arc::new(array)), Some(groups.clone())))
}

/// The value at the given fraction of the way between two.
pub(crate) fn part_of_the_way(lower: f64, upper: f64, way: f64) -> f64 {
    match lower.is_finite() {
        _ if way == 0.0 => lower,
        true => lower + (upper - lower) * way,
        // The distance from an infinity isn't a number.
        false => lower * (1.0 - way) + upper * way,
    }
}

/// The integer at the given fraction of the way between two, cut towards zero. The sum is taken in floating point where
/// that represents the ends: `0.57 * 100` alone is a little less than 57, and would lose a unit.
pub(crate) fn integer_part_of_the_way(lower: i128, upper: i128, way: f64) -> i128 {
    const EXACT_MAX: u128 = 1 << f64::MANTISSA_DIGITS;
    let distance = upper.wrapping_sub(lower);
    match lower.unsigned_abs() <= EXACT_MAX && upper.unsigned_abs() <= EXACT_MAX {
        true => (lower as f64 + distance as f64 * way) as i128,
        false if way == 0.5 => lower + distance / 2,
        false => lower + (distance as f64 * way) as i128,
    }
}

/// The value between each pair of neighbours in `picked`, at the given fraction of the way from the lower one.
fn interpolate(
    picked: &Vector,
    fractions: &[f64],
    counts: &[u64],
    value: &ColumnType,
    ty: &ColumnType,
) -> Result<Vector> {
    let flat = picked.to_flat();
    let is_float = matches!(flat, Flat::F32(_) | Flat::F64(_));
    if !is_float && !flat.physical().is_integer() {
        return Err(Error::unsupported(format!("interpolating between values of type {}", value.logical))
            .with_hint("use quantile_disc"));
    }
    let ways = counts
        .iter()
        .flat_map(|count| fractions.iter().map(move |fraction| (fraction * count.saturating_sub(1) as f64).fract()));
    if is_float || matches!(ty.physical, PhysicalType::F32 | PhysicalType::F64) {
        let scale = 10f64.powi(value.scale() as i32);
        let number = |row: usize| -> f64 {
            match_flat!(&flat, values => values[row] as f64 / scale, _s => f64::NAN, _a => f64::NAN)
        };
        let between = |(slot, way): (usize, f64)| part_of_the_way(number(2 * slot), number(2 * slot + 1), way);
        let values = ways.enumerate().map(between);
        let flat = match ty.physical {
            PhysicalType::F32 => Flat::F32(values.map(|value| value as f32).collect::<Vec<f32>>().into()),
            _ => Flat::F64(values.collect::<Vec<f64>>().into()),
        };
        return Ok(Vector::flat(flat, None));
    }
    let integer = |row: usize| -> i128 { match_flat!(&flat, values => values[row] as i128, _s => 0, _a => 0) };
    let between = |(slot, way): (usize, f64)| integer_part_of_the_way(integer(2 * slot), integer(2 * slot + 1), way);
    Ok(Vector::flat(integers(ty.physical, ways.enumerate().map(between)), None))
}

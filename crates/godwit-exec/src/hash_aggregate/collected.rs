//! Aggregates that need all values of a group, or values without a fixed width: quantiles, string_agg, ordered first and
//! last values.
//!
//! Phase one keeps the values as rows (group keys, value, sort keys) in partitions that run along with those of the groups.
//! Phase two numbers the groups of a partition, looks the number of each row's group up, sorts where the aggregate asks for
//! it, and makes one result per group.
#![allow(clippy::unnecessary_cast, reason = "loops are compiled for every integer type")]

use std::cmp::Ordering;
use std::sync::Arc;

use godwit_common::{Error, MemoryTag, Result};
use godwit_memory::BufferManager;
use godwit_rows::{PartitionedRows, PinnedRows, RowCollection, RowLayout, RowLayoutOptions, RowPtr};
use godwit_vector::{Bitmap, CHUNK_ROWS, ColumnType, Flat, Heap, Heaps, PhysicalType, StrColumn, Vector, match_flat};
use parking_lot::Mutex;

use super::finish::integers;
use super::partition::{FinishedGroups, PartitionAggregator};
use super::plan::CollectedSet;
use super::{AggregateKind, HashAggregate};

/// The rows of a collected set, of all workers.
pub(super) struct SharedCollected {
    layout: Arc<RowLayout>,
    keys: usize,
    radix_bits: u32,
    rows: Mutex<Option<PartitionedRows>>,
}

impl SharedCollected {
    pub(super) fn new(keys: &[PhysicalType], set: &CollectedSet, radix_bits: u32) -> Result<Self> {
        let columns: Vec<PhysicalType> = keys.iter().chain(&set.types).copied().collect();
        let layout = RowLayout::new(&columns, RowLayoutOptions { hash: true, extra_bytes: 0 })?;
        Ok(Self { layout, keys: keys.len(), radix_bits, rows: Mutex::new(None) })
    }

    /// Empty partitions for a worker.
    pub(super) fn new_rows(&self, memory: &BufferManager) -> PartitionedRows {
        PartitionedRows::new(memory, &self.layout, self.radix_bits)
    }

    /// Keeps the values of a chunk's rows, or of the selected ones, under their keys.
    pub(super) fn append<'a>(
        &self,
        rows: &mut PartitionedRows,
        keys: &'a [Vector],
        values: impl Iterator<Item = &'a Vector>,
        hashes: &[u64],
        selected: Option<&[u32]>,
    ) -> Result<()> {
        let columns: Vec<Vector> = keys.iter().chain(values).cloned().collect();
        rows.append(&columns, selected, hashes, None)
    }

    /// Takes over the rows of a worker.
    pub(super) fn combine(&self, rows: PartitionedRows) {
        match &mut *self.rows.lock() {
            Some(others) => others.combine(rows),
            none => *none = Some(rows),
        }
    }

    /// The rows of all workers.
    pub(super) fn take(&self, memory: &BufferManager) -> PartitionedRows {
        self.rows.lock().take().unwrap_or_else(|| self.new_rows(memory))
    }
}

/// The values of a set in the partitions of a morsel.
struct Values {
    /// The number of each row's group.
    groups: Vec<u32>,
    /// Value, then sort keys.
    columns: Vec<Vector>,
}

impl HashAggregate {
    /// A vector per collected set with the results of all groups.
    pub(super) fn finish_collected(
        &self,
        aggregator: &mut PartitionAggregator,
        groups: &mut FinishedGroups,
    ) -> Result<Vec<Vector>> {
        let plan = self.plan();
        let Some(ordinal) = plan.ordinal else { return Ok(Vec::new()) };
        let base = self.groups().grouping.base();
        let mut rows = Vec::new();
        for begin in (0..groups.len()).step_by(CHUNK_ROWS) {
            groups.rows(begin, groups.len().min(begin + CHUNK_ROWS), &mut rows);
            plan.layout.number(ordinal, base, &rows, begin as u64);
        }
        let results = self.collected().iter().zip(&plan.collected).zip(std::mem::take(&mut groups.collected));
        let types = plan.outputs.iter().filter(|(output, _)| matches!(output, super::plan::Output::Collected(_)));
        results
            .zip(types)
            .map(|(((shared, set), collections), (_, ty))| {
                let rows: u64 = collections.iter().map(RowCollection::rows).sum();
                let row_bytes: usize =
                    set.types.iter().map(|ty| ty.width_bytes()).sum::<usize>() + 3 * size_of::<u64>();
                // Results can be as long as all strings together.
                let heap_bytes: u64 = if matches!(set.kind, AggregateKind::StringAgg(_)) {
                    collections.iter().map(RowCollection::bytes).sum()
                } else {
                    0
                };
                let bytes = rows as usize * row_bytes + heap_bytes as usize;
                let reservation = self.memory().reserve(bytes, MemoryTag::Other)?;
                let pinned = collections.iter().map(RowCollection::pin).collect::<Result<Vec<_>>>()?;
                let values = self.values(shared, ordinal, &pinned, aggregator)?;
                let result = finish_set(set, values, groups.len(), ty);
                drop(reservation);
                result
            })
            .collect()
    }

    fn values(
        &self,
        shared: &SharedCollected,
        ordinal: usize,
        pinned: &[PinnedRows],
        aggregator: &mut PartitionAggregator,
    ) -> Result<Values> {
        let heaps = Heaps::many(pinned.iter().flat_map(|rows| rows.heaps().as_slice()).cloned().collect::<Vec<Heap>>());
        let mut rows: Vec<RowPtr> = Vec::new();
        pinned.iter().for_each(|pinned| pinned.pointers(0..pinned.rows(), &mut rows));
        let mut groups = Vec::with_capacity(rows.len());
        let mut hashes = Vec::new();
        for block in rows.chunks(CHUNK_ROWS) {
            shared.layout.hashes(block, &mut hashes);
            let keys: Vec<Vector> = (0..shared.keys).map(|key| shared.layout.gather(block, key, &heaps)).collect();
            let found = aggregator.find(&keys, &hashes)?;
            let ordinals = self.plan().layout.counts(ordinal, self.groups().grouping.base(), found);
            groups.extend(ordinals.into_iter().map(|ordinal| ordinal as u32));
        }
        let columns = (shared.keys..shared.layout.columns().len())
            .map(|column| shared.layout.gather(&rows, column, &heaps))
            .collect();
        Ok(Values { groups, columns })
    }
}

/// The results of `groups` groups.
fn finish_set(set: &CollectedSet, values: Values, groups: usize, ty: &ColumnType) -> Result<Vector> {
    use AggregateKind as K;
    let value = &values.columns[0];
    match &set.kind {
        K::FirstValue { ignore_nulls } => {
            let order = values.sorted(groups, set, *ignore_nulls);
            Ok(values.take_of_each(&order, |rows| rows.first()))
        }
        K::LastValue { ignore_nulls } => {
            let order = values.sorted(groups, set, *ignore_nulls);
            Ok(values.take_of_each(&order, |rows| rows.last()))
        }
        K::StringAgg(separator) => {
            let order = values.sorted(groups, set, true);
            let strings = value.to_flat();
            let strings = strings.strings();
            let joined = order.iter().map(|rows| {
                let parts: Vec<&[u8]> = rows.iter().map(|&row| strings.get(row as usize)).collect();
                parts.join(separator.as_bytes())
            });
            let column = StrColumn::from_strings(joined);
            Ok(Vector::flat(Flat::Str(column), Some(Bitmap::from_fn(groups, |group| !order[group].is_empty()))))
        }
        K::Quantile(fraction) => {
            let by_value = CollectedSet { columns: vec![0, 0], order: vec![(false, false)], ..set.clone() };
            let values = Values { columns: vec![value.clone(), value.clone()], groups: values.groups };
            let order = values.sorted(groups, &by_value, true);
            quantiles(value, &order, *fraction, ty)
        }
        other => Err(Error::internal(format!("{other:?} is not made of collected values"))),
    }
}

impl Values {
    /// The rows of each group in the order asked for, or in that of their arrival.
    fn sorted(&self, groups: usize, set: &CollectedSet, skips_nulls: bool) -> Vec<Vec<u32>> {
        let mut of_groups: Vec<Vec<u32>> = vec![Vec::new(); groups];
        for (row, &group) in self.groups.iter().enumerate() {
            if !skips_nulls || self.columns[0].is_valid(row) {
                of_groups[group as usize].push(row as u32);
            }
        }
        if set.order.is_empty() {
            return of_groups;
        }
        let keys: Vec<Vector> = self.columns[1..].iter().map(Vector::flattened).collect();
        let by_keys = |a: &u32, b: &u32| {
            let (a, b) = (*a as usize, *b as usize);
            let ordering = |(key, &(descending, nulls_first)): (&Vector, &(bool, bool))| match (
                key.is_valid(a),
                key.is_valid(b),
            ) {
                (true, true) if descending => compare(key, b, a),
                (true, true) => compare(key, a, b),
                (valid_a, valid_b) if nulls_first => valid_a.cmp(&valid_b),
                (valid_a, valid_b) => valid_b.cmp(&valid_a),
            };
            keys.iter().zip(&set.order).map(ordering).find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
        };
        of_groups.iter_mut().for_each(|rows| rows.sort_by(by_keys));
        of_groups
    }

    /// The value of the row that `choose` takes from those of each group.
    fn take_of_each(&self, groups: &[Vec<u32>], choose: impl Fn(&[u32]) -> Option<&u32>) -> Vector {
        let picked: Vec<Option<u32>> = groups.iter().map(|rows| choose(rows).copied()).collect();
        take_optional(&self.columns[0], &picked)
    }
}

/// The values at these rows; NULL where there is none.
fn take_optional(value: &Vector, rows: &[Option<u32>]) -> Vector {
    if value.is_empty() {
        return Vector::null(value.physical(), rows.len());
    }
    let taken = value.take(&rows.iter().map(|row| row.unwrap_or(0)).collect::<Vec<u32>>());
    let validity = Bitmap::from_fn(rows.len(), |i| rows[i].is_some_and(|row| value.is_valid(row as usize)));
    Vector::flat(taken.to_flat(), Some(validity))
}

/// The order of two values of a flat vector that aren't NULL; NaN is the largest float.
fn compare(vector: &Vector, a: usize, b: usize) -> Ordering {
    let godwit_vector::Data::Flat(flat) = vector.data() else { panic!("gathered columns are flat") };
    match flat {
        Flat::F32(values) => compare_floats(values[a] as f64, values[b] as f64),
        Flat::F64(values) => compare_floats(values[a], values[b]),
        flat => match_flat!(
            flat,
            values => values[a].partial_cmp(&values[b]).expect("integers are ordered"),
            strings => strings.get(a).cmp(strings.get(b)),
            _array => panic!("rows hold no lists")
        ),
    }
}

fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// The value at `fraction` of each group's sorted rows, interpolated between its neighbours.
fn quantiles(value: &Vector, groups: &[Vec<u32>], fraction: f64, ty: &ColumnType) -> Result<Vector> {
    let validity = Bitmap::from_fn(groups.len(), |group| !groups[group].is_empty());
    // The neighbours' rows and the way from the lower to the upper one.
    let neighbours = |rows: &Vec<u32>| {
        let place = fraction * rows.len().saturating_sub(1) as f64;
        let row = |place: f64| rows.get(place as usize).map(|&row| row as usize);
        Some((row(place.floor())?, row(place.ceil())?, place.fract()))
    };
    let flat = value.to_flat();
    let is_float = matches!(flat, Flat::F32(_) | Flat::F64(_));
    if !is_float && !flat.physical().is_integer() {
        return Err(Error::unsupported(format!("quantiles of {}", ty.logical)));
    }
    let number =
        |row: usize| -> f64 { match_flat!(&flat, values => values[row] as f64, _s => f64::NAN, _a => f64::NAN) };
    if is_float || matches!(ty.physical, PhysicalType::F32 | PhysicalType::F64) {
        let interpolate = |rows| {
            let (lower, upper, way) = neighbours(rows)?;
            Some(if way == 0.0 { number(lower) } else { number(lower) + (number(upper) - number(lower)) * way })
        };
        let values: Vec<f64> = groups.iter().map(|rows| interpolate(rows).unwrap_or(0.0)).collect();
        let flat = match ty.physical {
            PhysicalType::F32 => Flat::F32(values.into_iter().map(|value| value as f32).collect::<Vec<f32>>().into()),
            _ => Flat::F64(values.into()),
        };
        return Ok(Vector::flat(flat, Some(validity)));
    }
    let integer = |row: usize| -> i128 { match_flat!(&flat, values => values[row] as i128, _s => 0, _a => 0) };
    let interpolate = |rows| {
        let (lower, upper, way) = neighbours(rows)?;
        let distance = integer(upper).wrapping_sub(integer(lower));
        // Half of an odd distance rounds down, as the planner's type has no room for it.
        let step = if way == 0.5 { distance / 2 } else { (distance as f64 * way) as i128 };
        Some(integer(lower) + step)
    };
    let values = groups.iter().map(|rows| interpolate(rows).unwrap_or(0));
    Ok(Vector::flat(integers(ty.physical, values), Some(validity)))
}

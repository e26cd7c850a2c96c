//! Finds rows by key, without an index that each commit would have to maintain.
//!
//! ```text
//!   keys ─ hashes ─▶ row group            within its bounds? ─▶ its index: which windows? ─▶ decode them, compare
//!                 ─▶ chunk of the delta                         in its index?             ─▶ compare
//! ```
//!
//! Row groups and chunks never change, so neither do their indexes ([`KeyIndexes`](godwit_storage::table::KeyIndexes)),
//! which are built when they are first needed, and which versions of a table share. For keys of ascending numbers,
//! bounds alone decide; others cost a lookup per row group. Scans for few keys, of filters or of joins, use the same
//! indexes to read only the windows that may have one.

use std::ops::Range;
use std::sync::Arc;

use godwit_catalog::TableRules;
use godwit_common::Result;
use godwit_storage::table::{RowGroup, WINDOW_ROWS, WindowSet};
use godwit_vector::kernels::cast::{convert, min_max};
use godwit_vector::kernels::compare::{Comparison, compare};
use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::{CHUNK_ROWS, PhysicalType, Vector};

use crate::deleted::{DELTA, RowSet};
use crate::delta::DeltaChunk;
use crate::version::TableVersion;

/// More keys than this aren't looked up one by one.
const KEYS_MAX: u64 = CHUNK_ROWS as u64;

/// Smaller chunks of the delta have no index: they will soon be merged with others.
const INDEXED_ROWS_MIN: usize = CHUNK_ROWS / 2;

/// The keys to look up: rows without NULL, and their hashes.
#[derive(Default)]
struct Keys {
    vectors: Vec<Vector>,
    hashes: Vec<u64>,
    /// The keys in the order of their hashes.
    by_hash: Vec<u32>,
}

/// The keys that have been found so far.
struct Search<'a> {
    keys: &'a Keys,
    types: Vec<PhysicalType>,
    found: Vec<bool>,
    hashes: Vec<u64>,
}

impl TableVersion {
    /// True if the rows added since `before`, which are those of `added`, have keys that differ from each other and
    /// from those of all other rows; false if they may not. `None` if there are too many to look up. The rows of
    /// `checked` have already been compared.
    pub fn keeps_key(
        &self,
        before: &TableVersion,
        added: &TableVersion,
        checked: Option<&TableVersion>,
        columns: &[String],
    ) -> Result<Option<bool>> {
        let Some(columns) = self.places_of(columns) else { return Ok(None) };
        let Some(keys) = added.few_keys(&columns)? else { return Ok(None) };
        let mut sorted = keys.hashes.clone();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Ok(Some(false));
        }
        let (mut groups, mut delta_rows) = (0..before.main().groups.len(), 0..before.delta_rows());
        // Unless its rows have moved since.
        let checked =
            checked.filter(|checked| checked.is_same_table(before) && Arc::ptr_eq(checked.epoch(), before.epoch()));
        if let Some(checked) = checked {
            (groups.start, delta_rows.start) = (checked.main().groups.len(), checked.delta_rows());
        }
        let found = self.find(&columns, &keys, groups, delta_rows)?;
        Ok(Some(!found.contains(&true)))
    }

    /// True if `parent` has the keys that all rows refer to; false if it doesn't. `None` if there are too many to look
    /// up, or the columns have different types.
    pub fn has_parents(
        &self,
        columns: &[String],
        parent: &TableVersion,
        parent_columns: &[String],
    ) -> Result<Option<bool>> {
        let (Some(own), Some(theirs)) = (self.places_of(columns), parent.places_of(parent_columns)) else {
            return Ok(None);
        };
        let differ = |(&own, &theirs): (&usize, &usize)| {
            let (own, theirs) = (self.schema().field(own), parent.schema().field(theirs));
            own.data_type() != theirs.data_type() || own.metadata() != theirs.metadata()
        };
        if own.iter().zip(&theirs).any(differ) {
            return Ok(None);
        }
        let Some(keys) = self.few_keys(&own)? else { return Ok(None) };
        let found = parent.find(&theirs, &keys, 0..parent.main().groups.len(), 0..parent.delta_rows())?;
        Ok(Some(!found.contains(&false)))
    }

    /// The positions of columns; `None` if their values can't be looked up: nested ones may be equal although their
    /// bytes differ.
    fn places_of(&self, columns: &[String]) -> Option<Vec<usize>> {
        let fields = self.schema().fields();
        let place = |name: &String| fields.iter().position(|field| field.name().eq_ignore_ascii_case(name));
        let is_nested = |at: usize| {
            PhysicalType::natural(fields[at].data_type()).is_ok_and(|physical| physical == PhysicalType::Nested)
        };
        columns.iter().map(|name| place(name).filter(|&at| !is_nested(at))).collect()
    }

    /// The keys of all rows; `None` if there are too many, or if they aren't in memory.
    fn few_keys(&self, columns: &[usize]) -> Result<Option<Keys>> {
        if !self.main().groups.is_empty() || self.rows() > KEYS_MAX {
            return Ok(None);
        }
        let mut pieces: Vec<Vec<Vector>> = Vec::new();
        self.visit_live_delta(0, |rows| {
            pieces.push(columns.iter().map(|&column| rows.dense(column)).collect());
            Ok(())
        })?;
        if pieces.is_empty() {
            return Ok(Some(Keys::default()));
        }
        let joined = (0..columns.len()).map(|at| {
            let of_column: Vec<Vector> = pieces.iter().map(|piece| piece[at].clone()).collect();
            godwit_vector::kernels::concatenate::concatenated(&of_column)
        });
        Ok(Some(Keys::new(joined.collect())))
    }

    /// Determines which keys belong to undeleted rows, among these row groups and rows of the delta.
    fn find(
        &self,
        columns: &[usize],
        keys: &Keys,
        groups: Range<usize>,
        delta_rows: Range<usize>,
    ) -> Result<Vec<bool>> {
        let mut search = Search::new(keys, columns.iter().map(|&column| self.stored_types()[column]).collect());
        if keys.hashes.is_empty() {
            return Ok(search.found);
        }
        for number in groups {
            let group = &self.main().groups[number];
            if !keys.may_be_within(group, columns, &search.types) {
                continue;
            }
            let (rows, memory) = (group.rows as usize, self.memory());
            let visit = |add: &mut dyn FnMut(&[u64])| self.visit_hashes(number, columns, add);
            let windows = group.key_indexes.windows(columns, rows, &keys.hashes, memory, visit)?;
            let some = windows.iter().copied().fold(WindowSet::EMPTY, WindowSet::union);
            let deleted = self.deleted().of(number as u32).map(AsRef::as_ref);
            for window in (0..rows.div_ceil(WINDOW_ROWS)).filter(|&window| some.contains(window)) {
                let wanted = keys.sorted(|key| windows[key].contains(window));
                let vectors = self.main().window(number, columns, window, memory)?;
                let start = window * WINDOW_ROWS;
                search.compare(&wanted, &vectors, WINDOW_ROWS.min(rows - start), start, deleted);
            }
        }
        self.find_in_delta(columns, &mut search, delta_rows)?;
        Ok(search.found)
    }

    /// Passes on the hashes of columns of a row group.
    fn visit_hashes(&self, group: usize, columns: &[usize], add: &mut dyn FnMut(&[u64])) -> Result<()> {
        let mut hashes = Vec::new();
        self.main().for_each_window(group, columns, self.memory(), |vectors, rows| {
            hash_vectors(vectors, rows, &mut hashes);
            add(&hashes);
            Ok(())
        })
    }

    /// The key or index all of whose columns have a single value, or whose only column has few, if scans may ask for it:
    /// its columns and the hashes of their values. `values` are columns with all their values, `hashes` are columns with
    /// the hashes of all of them.
    pub(crate) fn looked_up(
        &self,
        values: &[(usize, Vector)],
        hashes: &[(usize, Vec<u64>)],
    ) -> Option<(Vec<usize>, Vec<u64>)> {
        let fields = self.schema().fields();
        let is = |column: usize, name: &str| fields.get(column).is_some_and(|it| it.name().eq_ignore_ascii_case(name));
        let single = |name: &String| values.iter().find(|(column, it)| it.len() == 1 && is(*column, name));
        let TableRules { keys, indexes, .. } = &**self.rules();
        let mut lists = keys.iter().map(|key| &key.columns).chain(indexes.iter().map(|index| &index.columns));
        let found: Option<Vec<_>> = lists.clone().find_map(|names| names.iter().map(single).collect());
        if let Some(found) = found {
            let (columns, vectors): (Vec<usize>, Vec<Vector>) = found.into_iter().cloned().unzip();
            return Some((columns, hashes_of(&vectors)));
        }
        lists.find_map(|names| {
            let [name] = &names[..] else { return None };
            let listed = values.iter().find(|(column, _)| is(*column, name));
            let listed = listed.map(|(column, values)| (vec![*column], hashes_of(std::slice::from_ref(values))));
            let known = || hashes.iter().find(|(column, _)| is(*column, name));
            listed.or_else(|| known().map(|(column, hashes)| (vec![*column], hashes.clone())))
        })
    }

    /// The windows of a row group that may have a row with one of these hashes in columns that [`Self::looked_up`]
    /// returned. Builds an index if that is due and more may be built.
    pub(crate) fn windows_of(
        &self,
        group: usize,
        columns: &[usize],
        hashes: &[u64],
        builds_left: &mut usize,
    ) -> Result<WindowSet> {
        let RowGroup { key_indexes, rows, .. } = &*self.main().groups[group];
        let visit = |add: &mut dyn FnMut(&[u64])| self.visit_hashes(group, columns, add);
        key_indexes.windows_of_scan(columns, *rows as usize, hashes, builds_left, self.memory(), visit)
    }

    fn find_in_delta(&self, columns: &[usize], search: &mut Search<'_>, delta_rows: Range<usize>) -> Result<()> {
        let (keys, deleted) = (search.keys, self.deleted().of(DELTA));
        let mut end = 0;
        for DeltaChunk { chunk, key_indexes, .. } in self.delta().chunks() {
            let start = end;
            end += chunk.len();
            if start >= delta_rows.end {
                break;
            }
            if end <= delta_rows.start {
                continue;
            }
            let values = |&column: &usize| self.delta().values(column, &chunk.dense(column));
            let vectors: Vec<Vector> = columns.iter().map(values).collect();
            let windows = match chunk.len() < INDEXED_ROWS_MIN {
                true => vec![WindowSet::ALL; keys.hashes.len()],
                false => {
                    let visit = |add: &mut dyn FnMut(&[u64])| {
                        let mut hashes = Vec::new();
                        hash_vectors(&vectors, chunk.len(), &mut hashes);
                        add(&hashes);
                        Ok(())
                    };
                    key_indexes.windows(columns, chunk.len(), &keys.hashes, self.memory(), visit)?
                }
            };
            let wanted = keys.sorted(|key| !windows[key].is_empty());
            if !wanted.is_empty() {
                let rows = chunk.len().min(delta_rows.end - start);
                search.compare(&wanted, &vectors, rows, start, deleted.map(AsRef::as_ref));
            }
        }
        Ok(())
    }
}

fn hashes_of(columns: &[Vector]) -> Vec<u64> {
    let mut hashes = Vec::new();
    hash_vectors(columns, columns.first().map_or(0, Vector::len), &mut hashes);
    hashes
}

impl Keys {
    /// Leaves out rows with a NULL: they aren't keys.
    fn new(vectors: Vec<Vector>) -> Self {
        let rows = vectors.first().map_or(0, Vector::len);
        let is_key = |row: usize| vectors.iter().all(|vector| vector.is_valid(row));
        let vectors = match vectors.iter().any(Vector::has_nulls) {
            false => vectors,
            true => {
                let kept: Vec<u32> = (0..rows).filter(|&row| is_key(row)).map(|row| row as u32).collect();
                vectors.iter().map(|vector| vector.take(&kept)).collect()
            }
        };
        let hashes = hashes_of(&vectors);
        let mut by_hash: Vec<u32> = (0..hashes.len() as u32).collect();
        by_hash.sort_unstable_by_key(|&key| hashes[key as usize]);
        Self { vectors, hashes, by_hash }
    }

    /// False if the bounds of a column of the row group exclude all keys.
    fn may_be_within(&self, group: &RowGroup, columns: &[usize], types: &[PhysicalType]) -> bool {
        let is_outside = |((&column, vector), ty): ((&usize, &Vector), &PhysicalType)| {
            let wanted = if ty.is_integer() { min_max(vector) } else { None };
            let Some(wanted) = wanted else { return false };
            let there = group.segments[column].range();
            there.is_none_or(|there| wanted.max < there.min || there.max < wanted.min)
        };
        !columns.iter().zip(&self.vectors).zip(types).any(is_outside)
    }

    /// The hashes of the wanted keys, ascending, each with its key.
    fn sorted(&self, is_wanted: impl Fn(usize) -> bool) -> Vec<(u64, u32)> {
        let wanted = self.by_hash.iter().filter(|&&key| is_wanted(key as usize));
        wanted.map(|&key| (self.hashes[key as usize], key)).collect()
    }
}

impl<'a> Search<'a> {
    fn new(keys: &'a Keys, types: Vec<PhysicalType>) -> Self {
        Self { keys, types, found: vec![false; keys.hashes.len()], hashes: Vec::new() }
    }

    /// Compares keys with rows; the first of them is row `start` of its place.
    fn compare(
        &mut self,
        wanted: &[(u64, u32)],
        vectors: &[Vector],
        rows: usize,
        start: usize,
        deleted: Option<&RowSet>,
    ) {
        let len = vectors.first().map_or(0, Vector::len);
        hash_vectors(vectors, len, &mut self.hashes);
        let (mut there, mut keys) = (Vec::new(), Vec::new());
        for (row, &hash) in self.hashes[..rows].iter().enumerate() {
            let first = wanted.partition_point(|&(wanted, _)| wanted < hash);
            for &(_, key) in wanted[first..].iter().take_while(|(wanted, _)| *wanted == hash) {
                if !deleted.is_some_and(|deleted| deleted.contains(start + row)) {
                    there.push(row as u32);
                    keys.push(key);
                }
            }
        }
        if there.is_empty() {
            return;
        }
        let mut are_equal = vec![true; there.len()];
        for ((vector, key), &ty) in vectors.iter().zip(&self.keys.vectors).zip(&self.types) {
            let natural = |vector: &Vector, rows: &[u32]| match ty {
                PhysicalType::Str => vector.take(rows).flattened(),
                ty => convert(&vector.take(rows), ty),
            };
            let equal = compare(Comparison::Equal, &natural(vector, &there), &natural(key, &keys));
            let flat = equal.to_flat();
            let values = flat.bools().iter().enumerate();
            are_equal.iter_mut().zip(values).for_each(|(all, (row, &one))| *all &= one == 1 && equal.is_valid(row));
        }
        let equal = keys.iter().zip(are_equal).filter(|(_, is_equal)| *is_equal);
        equal.for_each(|(&key, _)| self.found[key as usize] = true);
    }
}

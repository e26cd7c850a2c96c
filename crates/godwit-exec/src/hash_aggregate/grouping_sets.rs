//! Grouping sets: each is filled with the groups of the smallest other set that has its keys, or else with the input.
//!
//! ```text
//! ROLLUP (a, b)    input ─▶ (a, b) ─groups─▶ (a) ─groups─▶ ()
//! CUBE (a, b)      input ─▶ (a, b) ─groups─▶ (a), (b) ─groups of the smaller─▶ ()
//! level                       0                1                            2
//! ```
//!
//! While the final groups of a level are emitted, their states are added to the groups of the next level, where keys
//! that the coarser set lacks are NULL. The levels follow each other in phase two (source.rs). States can be added up
//! and payload can be compared, but values that were collected or deduplicated for one group can't be used for another.
//! With those, every set is filled from the input: there is one level.

use std::cmp::Reverse;

use arrow_schema::DataType;
use godwit_common::{Error, Result};
use godwit_rows::{RowList, RowOwner};
use godwit_vector::kernels::cast::convert;
use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::{ColumnType, PhysicalType, RowType, ValueRange, Vector};

use super::finish::integers;
use super::groups::LocalGroups;
use super::{HashAggregate, KeySet};

/// Maximum number of keys of grouping sets: one bit each of a BIGINT, below the sign.
const KEYS_MAX: usize = 63;

/// A grouping set: which keys it has, and its number.
#[derive(Debug, Clone)]
pub(super) struct GroupingSet {
    pub(super) has_key: Vec<bool>,
    pub(super) id: u64,
    /// The set whose groups are added up to those of this one; `None` if it is filled from the input.
    parent: Option<usize>,
    level: usize,
}

impl GroupingSet {
    /// True for the set whose only group is that of all rows.
    fn is_empty(&self) -> bool {
        !self.has_key.contains(&true)
    }

    fn has_all_keys_of(&self, other: &Self) -> bool {
        self.has_key.iter().zip(&other.has_key).all(|(has, needed)| *has || !needed)
    }
}

/// The grouping sets of an aggregation.
#[derive(Debug, Clone)]
pub(super) struct GroupingSets {
    sets: Vec<GroupingSet>,
    id_type: ColumnType,
}

impl GroupingSets {
    /// Numbers the sets: a bit per key, the last key lowest, set if the set lacks the key; above them, which occurrence
    /// of the same set it is. All are filled from the input.
    pub(super) fn new(sets: &[KeySet], keys: usize) -> Result<Self> {
        if keys > KEYS_MAX {
            return Err(Error::unsupported(format!("grouping sets over more than {KEYS_MAX} columns")));
        }
        let mut numbered: Vec<GroupingSet> = Vec::new();
        for set in sets {
            let has_key: Vec<bool> = (0..keys).map(|key| set.keys.contains(&key)).collect();
            let mask = has_key.iter().fold(0u64, |mask, &has| mask << 1 | !has as u64);
            let ordinal = numbered.iter().filter(|known| known.has_key == has_key).count();
            if ordinal >> (KEYS_MAX - keys) > 0 {
                return Err(Error::unsupported("so many equal grouping sets over so many columns"));
            }
            numbered.push(GroupingSet { has_key, id: mask | (ordinal as u64) << keys, parent: None, level: 0 });
        }
        let id_type = ColumnType::new(DataType::Int64, false)?;
        Ok(Self { sets: numbered, id_type })
    }

    /// Fills sets from the groups of others; `sets`, in the same order, have the expected numbers of groups.
    pub(super) fn derive(&mut self, sets: &[KeySet]) {
        let keys: Vec<usize> = self.sets.iter().map(|set| set.has_key.iter().filter(|has| **has).count()).collect();
        // Sets with more keys come first, equal sets in their given order: so there are no cycles.
        let mut order: Vec<usize> = (0..self.sets.len()).collect();
        order.sort_by_key(|&set| (Reverse(keys[set]), set));
        for (place, &child) in order.iter().enumerate() {
            let finer = order[..place].iter().filter(|&&set| self.sets[set].has_all_keys_of(&self.sets[child]));
            let Some(&parent) = finer.min_by_key(|&&set| (sets[set].estimated_groups, keys[set])) else { continue };
            let level = self.sets[parent].level + 1;
            self.sets[child] = GroupingSet { parent: Some(parent), level, ..self.sets[child].clone() };
        }
    }

    /// The sets that are filled from the input.
    pub(super) fn sets_of_input(&self) -> impl Iterator<Item = &GroupingSet> {
        self.sets.iter().filter(|set| set.parent.is_none())
    }

    /// The sets that are filled from the groups of the set numbered `id`.
    pub(super) fn sets_of_groups(&self, id: u64) -> impl Iterator<Item = &GroupingSet> {
        let parent = self.sets.iter().position(|set| set.id == id);
        self.sets.iter().filter(move |set| parent.is_some() && set.parent == parent)
    }

    /// The sets with a single group, that of all rows; they aren't filled from each other.
    pub(super) fn global(&self) -> impl Iterator<Item = &GroupingSet> {
        let is_empty = |set: usize| self.sets[set].is_empty();
        self.sets.iter().filter(move |set| set.is_empty() && !set.parent.is_some_and(is_empty))
    }

    /// The number of levels: the groups of each must be final before the sets of the next are filled.
    pub(super) fn levels(&self) -> usize {
        self.sets.iter().map(|set| set.level + 1).max().unwrap_or(1)
    }

    /// For `EXPLAIN ANALYZE`; `None` if there is nothing to report.
    pub(super) fn describe(&self) -> Option<String> {
        let derived = self.sets.iter().filter(|set| set.parent.is_some()).count();
        (derived > 0).then(|| format!("{derived} of {} from groups of another", self.sets.len()))
    }

    /// The types of all groups' keys, followed by that of the set number; `types` are those of the input.
    pub(super) fn key_types(&self, types: &[ColumnType]) -> RowType {
        self.types_in(types, self.sets.iter())
    }

    /// The same for groups that are filled from the input.
    pub(super) fn key_types_from_input(&self, types: &[ColumnType]) -> RowType {
        self.types_in(types, self.sets_of_input())
    }

    fn types_in<'s>(&self, types: &[ColumnType], sets: impl Iterator<Item = &'s GroupingSet>) -> RowType {
        let mut types = types.to_vec();
        let (mut min, mut max) = (u64::MAX, 0);
        for set in sets {
            (min, max) = (set.id.min(min), set.id.max(max));
            types.iter_mut().zip(&set.has_key).for_each(|(ty, has_key)| ty.nullable |= !has_key);
        }
        let range = Some(ValueRange { min: min.min(max) as i128, max: max as i128 });
        types.push(ColumnType { range, ..self.id_type.clone() });
        types
    }
}

impl HashAggregate {
    /// The keys of a chunk's rows in one grouping set: NULL where the set lacks the key, then the number of the set.
    pub(super) fn keys_of_set(&self, set: &GroupingSet, keys: &[Vector], rows: usize) -> Vec<Vector> {
        let id_type = self.plan().key_types.last().expect("the grouping id").physical;
        let id = Vector::constant(integers(id_type, [set.id as i128]), rows);
        let key =
            |(has_key, key): (&bool, &Vector)| if *has_key { key.clone() } else { Vector::null(key.physical(), rows) };
        set.has_key.iter().zip(keys).map(key).chain([id]).collect()
    }

    /// Adds final groups with the keys `keys` to `coarser`, the groups of the sets that are filled from them.
    pub(super) fn roll_up(
        &self,
        keys: &[Vector],
        owner: &RowOwner,
        rows: &RowList,
        coarser: &mut LocalGroups,
    ) -> Result<()> {
        let grouping = &self.groups().grouping;
        let sets = self.plan().grouping_sets.as_ref().expect("groups of grouping sets");
        let (ids, keys) = keys.split_last().expect("the grouping id");
        let mut hashes = Vec::new();
        for (id, positions) in rows_by_id(ids) {
            let children: Vec<&GroupingSet> = sets.sets_of_groups(id).collect();
            if children.is_empty() {
                continue;
            }
            let mut parents = RowList::new(&grouping.layout);
            parents.append_picked(rows.all(), &positions);
            let rows = owner.read(parents.all());
            let is_all = positions.len() == ids.len();
            let keys: Vec<Vector> =
                keys.iter().map(|key| if is_all { key.clone() } else { key.take(&positions) }).collect();
            let payload: Vec<Vector> = grouping.payload_columns().map(|column| rows.gather(column)).collect();
            for child in children {
                let keys = self.keys_of_set(child, &keys, rows.len());
                hash_vectors(&keys, rows.len(), &mut hashes);
                coarser.add_rows(&keys, &payload, &hashes, rows)?;
            }
        }
        Ok(())
    }
}

/// The positions of each value of `ids`.
fn rows_by_id(ids: &Vector) -> Vec<(u64, Vec<u32>)> {
    let ids = convert(ids, PhysicalType::U64).to_flat();
    let mut rows: Vec<(u64, u32)> = ids.values::<u64>().iter().copied().zip(0..).collect();
    rows.sort_unstable();
    let same_id = rows.chunk_by(|a, b| a.0 == b.0);
    same_id.map(|rows| (rows[0].0, rows.iter().map(|row| row.1).collect())).collect()
}

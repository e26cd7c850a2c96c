//! Where rows move when a table is folded, and how earlier row ids are translated.
//!
//! ```text
//!   Epoch ── Moves ──▶ Epoch ── Moves ──▶ Epoch        newest
//!     ▲                  ▲                  ▲
//!   base of an open    a query that       what is
//!   transaction        still runs         committed
//! ```
//!
//! Folding changes row ids: row groups that have lost many rows, and the delta, become new row groups. A version holds
//! the epoch that its row ids belong to, an epoch holds the next one. A commit of changes to rows of an earlier epoch
//! follows the moves to the newest one. When an epoch is no longer held, it is dropped along with its moves; so nothing
//! ever waits for anything else.

use std::sync::{Arc, OnceLock};

use crate::deleted::{DELTA, DeletedRows, Marks, Place, RowId, RowSet};

/// A period during which row ids identify the same rows.
#[derive(Default)]
pub(crate) struct Epoch {
    /// Set once the next epoch is committed.
    next: OnceLock<(Moves, Arc<Epoch>)>,
}

impl Epoch {
    /// Ends the epoch.
    ///
    /// # Panics
    /// If it has already ended.
    pub(crate) fn end(&self, moves: Moves, next: Arc<Epoch>) {
        assert!(self.next.set((moves, next)).is_ok(), "an epoch ends once");
    }

    /// The ids of rows of this epoch in a later one; `None` if one of the rows no longer exists.
    pub(crate) fn translated(self: &Arc<Self>, mut marks: Marks, to: &Arc<Epoch>) -> Option<Marks> {
        let mut epoch = self;
        while !Arc::ptr_eq(epoch, to) {
            let (moves, next) = epoch.next.get()?;
            marks = moves.applied(&marks)?;
            epoch = next;
        }
        Some(marks)
    }
}

/// The moves of a table's places.
pub(crate) struct Moves {
    groups: Vec<Move>,
    /// Number of delta rows that moved; those after them stay in the delta.
    delta_rows: u32,
    delta: Move,
    /// The row groups that took moved rows: number of the first, and the moved row up to which each of them goes.
    first_group: u32,
    ends: Vec<u64>,
}

enum Move {
    /// The row group has another number.
    Renamed(Place),
    /// Its undeleted rows moved; the first of them became the moved row of this number.
    Appended { first: u64, deleted: Option<Arc<RowSet>> },
}

impl Moves {
    /// Row groups `moved` (ascending) of `group_rows`, then the first rows of the delta, were appended in this order
    /// after the row groups that stayed, without deleted rows; they form row groups of `appended` rows.
    pub(crate) fn new(
        group_rows: &[u32],
        moved: &[usize],
        delta_rows: usize,
        deleted: &DeletedRows,
        appended: impl Iterator<Item = u32>,
    ) -> Self {
        let (mut kept, mut first) = (0, 0);
        let mut append = |place: Place, rows: u32| {
            let deleted = deleted.of(place).cloned();
            let gone = deleted.as_ref().map_or(0, |set| set.iter().take_while(|&row| row < rows).count());
            let moved = Move::Appended { first, deleted };
            first += rows as u64 - gone as u64;
            moved
        };
        let groups = group_rows.iter().enumerate().map(|(number, &rows)| {
            if moved.binary_search(&number).is_ok() {
                return append(number as u32, rows);
            }
            kept += 1;
            Move::Renamed(kept - 1)
        });
        let groups = groups.collect();
        let delta = append(DELTA, delta_rows as u32);
        let ends = appended.scan(0, |end, rows| {
            *end += rows as u64;
            Some(*end)
        });
        Self { groups, delta_rows: delta_rows as u32, delta, first_group: kept, ends: ends.collect() }
    }

    /// The new ids of rows; `None` if one of them wasn't moved because it had been deleted.
    pub(crate) fn applied(&self, marks: &Marks) -> Option<Marks> {
        let mut applied = Marks::default();
        for (place, rows) in marks.places() {
            let moved = if place == DELTA { &self.delta } else { self.groups.get(place as usize)? };
            match moved {
                Move::Renamed(place) => rows.for_each(|row| {
                    applied.insert(RowId { place: *place, row });
                }),
                Move::Appended { first, deleted } => {
                    let mut gone = deleted.iter().flat_map(|set| set.iter()).peekable();
                    let mut gone_rows = 0;
                    for row in rows {
                        if place == DELTA && row >= self.delta_rows {
                            applied.insert(RowId { place, row: row - self.delta_rows });
                            continue;
                        }
                        while gone.next_if(|&gone| gone < row).is_some() {
                            gone_rows += 1;
                        }
                        if gone.peek() == Some(&row) {
                            return None;
                        }
                        applied.insert(self.appended(first + row as u64 - gone_rows));
                    }
                }
            }
        }
        Some(applied)
    }

    /// The location of the moved row with this number.
    fn appended(&self, number: u64) -> RowId {
        let group = self.ends.partition_point(|&end| end <= number);
        let start = if group == 0 { 0 } else { self.ends[group - 1] };
        RowId { place: self.first_group + group as u32, row: (number - start) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use godwit_memory::{BufferConfig, BufferManager};
    use proptest::prelude::*;

    use super::*;

    fn marks(ids: impl IntoIterator<Item = RowId>) -> Marks {
        let mut marks = Marks::default();
        for id in ids {
            marks.insert(id);
        }
        marks
    }

    proptest! {
        #[test]
        fn every_row_is_found_again(
            groups in prop::collection::vec((1u32..100, any::<bool>()), 0..5),
            delta in (0usize..100, 0usize..50),
            gone in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
            group_rows in 1usize..60,
        ) {
            let memory = BufferManager::new(BufferConfig::new(64 << 20)).unwrap();
            let (folded, later) = delta;
            let sizes: Vec<u32> = groups.iter().map(|group| group.0).collect();
            let moved: Vec<usize> = (0..groups.len()).filter(|&number| groups[number].1).collect();
            let places = sizes.iter().enumerate().map(|(number, &rows)| (number as u32, rows));
            let all: Vec<RowId> = places
                .chain([(DELTA, folded as u32)])
                .flat_map(|(place, rows)| (0..rows).map(move |row| RowId { place, row }))
                .collect();
            let gone = match all.is_empty() {
                true => Marks::default(),
                false => marks(gone.iter().map(|index| all[index.index(all.len())])),
            };
            let deleted = DeletedRows::default().with(&gone, &memory).unwrap();
            let is_gone = |id: &RowId| deleted.of(id.place).is_some_and(|set| set.contains(id.row as usize));

            // The naive way: row groups that stay, then everything else in its order, cut into row groups.
            let mut expected: BTreeMap<RowId, RowId> = BTreeMap::new();
            let stays = |id: &RowId| id.place != DELTA && !groups[id.place as usize].1;
            let kept = groups.iter().filter(|group| !group.1).count() as u32;
            for id in all.iter().filter(|id| stays(id)) {
                let place = groups[..id.place as usize].iter().filter(|group| !group.1).count() as u32;
                expected.insert(*id, RowId { place, row: id.row });
            }
            let appended: Vec<&RowId> = all.iter().filter(|id| !stays(id) && !is_gone(id)).collect();
            for (number, id) in appended.iter().enumerate() {
                let place = kept + (number / group_rows) as u32;
                expected.insert(**id, RowId { place, row: (number % group_rows) as u32 });
            }
            for row in 0..later as u32 {
                expected.insert(RowId { place: DELTA, row: folded as u32 + row }, RowId { place: DELTA, row });
            }
            let new_groups = appended.chunks(group_rows).map(|rows| rows.len() as u32);
            let moves = Moves::new(&sizes, &moved, folded, &deleted, new_groups);

            let (first, last) = (Arc::new(Epoch::default()), Arc::new(Epoch::default()));
            first.end(moves, last.clone());
            for (from, to) in &expected {
                let translated = first.translated(marks([*from]), &last).unwrap();
                let found: Vec<_> = translated.places().flat_map(|(place, rows)| rows.map(move |row| (place, row))).collect();
                prop_assert_eq!(found, [(to.place, to.row)]);
            }
            let together = first.translated(marks(expected.keys().copied()), &last).unwrap();
            prop_assert_eq!(together.places().map(|(_, rows)| rows.count()).sum::<usize>(), expected.len());
            for id in all.iter().filter(|id| !stays(id) && is_gone(id)) {
                prop_assert!(first.translated(marks([*id]), &last).is_none());
            }
        }
    }
}

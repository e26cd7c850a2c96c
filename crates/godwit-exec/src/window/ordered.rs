//! Sorted rows by number, whether they are all pinned or in pages that come and go.

use std::ops::Range;
use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::Reservation;
use godwit_rows::{PagedRows, PinnedRows, RowLayout, RowPtr};
use godwit_vector::{Heaps, Vector};

use super::marks::Marks;

/// Rows of whole partitions, sorted by partition and order.
pub(super) struct Ordered {
    layout: Arc<RowLayout>,
    place: Place,
    /// First rows of partitions.
    partitions: Marks,
    /// First rows of groups of peers.
    peers: Marks,
    /// For the marks and the list of rows.
    _reservation: Reservation,
}

enum Place {
    /// Pinned rows in any order, and their addresses in order.
    InPlace { pointers: Vec<RowPtr>, pinned: PinnedRows },
    /// Rows in order, in pages that may be on disk.
    Paged(PagedRows),
}

/// Some rows, pinned as long as `heaps` is held.
pub(super) struct Pinned {
    pub(super) pointers: Vec<RowPtr>,
    pub(super) heaps: Heaps,
}

impl Ordered {
    pub(super) fn in_place(
        layout: &Arc<RowLayout>,
        pointers: Vec<RowPtr>,
        pinned: PinnedRows,
        (partitions, peers): (Marks, Marks),
        reservation: Reservation,
    ) -> Self {
        let place = Place::InPlace { pointers, pinned };
        Self { layout: layout.clone(), place, partitions, peers, _reservation: reservation }
    }

    pub(super) fn paged(
        layout: &Arc<RowLayout>,
        rows: PagedRows,
        (partitions, peers): (Marks, Marks),
        reservation: Reservation,
    ) -> Self {
        Self { layout: layout.clone(), place: Place::Paged(rows), partitions, peers, _reservation: reservation }
    }

    pub(super) fn len(&self) -> usize {
        match &self.place {
            Place::InPlace { pointers, .. } => pointers.len(),
            Place::Paged(rows) => rows.rows(),
        }
    }

    /// First rows of partitions.
    pub(super) fn partitions(&self) -> &Marks {
        &self.partitions
    }

    /// First rows of groups of peers.
    pub(super) fn peers(&self) -> &Marks {
        &self.peers
    }

    /// Pins consecutive rows.
    pub(super) fn pin(&self, rows: Range<usize>) -> Result<Pinned> {
        match &self.place {
            Place::InPlace { pointers, pinned } => {
                Ok(Pinned { pointers: pointers[rows].to_vec(), heaps: pinned.heaps().clone() })
            }
            Place::Paged(_) => self.pin_each(rows),
        }
    }

    /// Pins rows.
    pub(super) fn pin_each(&self, rows: impl IntoIterator<Item = usize>) -> Result<Pinned> {
        match &self.place {
            Place::InPlace { pointers, pinned } => Ok(Pinned {
                pointers: rows.into_iter().map(|row| pointers[row]).collect(),
                heaps: pinned.heaps().clone(),
            }),
            Place::Paged(paged) => {
                let mut pointers = Vec::new();
                let heaps = paged.pin(rows, &mut pointers)?;
                Ok(Pinned { pointers, heaps })
            }
        }
    }

    /// A column of pinned rows.
    pub(super) fn gather(&self, rows: &Pinned, column: usize) -> Vector {
        self.layout.gather(&rows.pointers, column, &rows.heaps)
    }
}

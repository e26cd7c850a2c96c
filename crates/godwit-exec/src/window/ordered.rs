//! Sorted rows, accessed by number, whether they are all pinned or in pages that may be evicted.

use std::ops::Range;

use godwit_common::Result;
use godwit_memory::Reservation;
use godwit_rows::{PagedRows, RowList};
use godwit_vector::Vector;

use super::marks::Marks;

/// Rows of whole partitions, sorted by partition and order.
pub(super) struct Ordered {
    place: OrderedRows,
    /// First rows of partitions.
    partitions: Marks,
    /// First rows of groups of peers.
    peers: Marks,
    /// Memory of the marks and the list of rows.
    _reservation: Reservation,
}

enum OrderedRows {
    /// A list of rows, all of them pinned.
    InPlace(RowList),
    /// Rows in order, in pages that may be on disk.
    Paged(PagedRows),
}

impl Ordered {
    pub(super) fn in_place(rows: RowList, (partitions, peers): (Marks, Marks), reservation: Reservation) -> Self {
        Self { place: OrderedRows::InPlace(rows), partitions, peers, _reservation: reservation }
    }

    pub(super) fn paged(rows: PagedRows, (partitions, peers): (Marks, Marks), reservation: Reservation) -> Self {
        Self { place: OrderedRows::Paged(rows), partitions, peers, _reservation: reservation }
    }

    pub(super) fn len(&self) -> usize {
        match &self.place {
            OrderedRows::InPlace(rows) => rows.len(),
            OrderedRows::Paged(rows) => rows.rows(),
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
    pub(super) fn pin(&self, rows: Range<usize>) -> Result<RowList> {
        match &self.place {
            OrderedRows::InPlace(all) => {
                let mut pinned = RowList::new(all.all().layout());
                pinned.append(all.slice(rows));
                Ok(pinned)
            }
            OrderedRows::Paged(_) => self.pin_each(rows),
        }
    }

    /// Pins rows.
    pub(super) fn pin_each(&self, rows: impl IntoIterator<Item = usize>) -> Result<RowList> {
        match &self.place {
            OrderedRows::InPlace(all) => {
                let mut pinned = RowList::new(all.all().layout());
                rows.into_iter().for_each(|row| pinned.push(all.all(), row));
                Ok(pinned)
            }
            OrderedRows::Paged(paged) => paged.pin(rows),
        }
    }

    /// A column of pinned rows.
    pub(super) fn gather(&self, rows: &RowList, column: usize) -> Vector {
        rows.all().gather(column)
    }
}

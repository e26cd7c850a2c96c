//! A step: rows that are computed together, and the partitions and groups of peers that they belong to.

use std::ops::Range;

use super::ordered::Ordered;

/// Rows `begin .. end` of a sequence; the vectors have an element per row.
#[derive(Default)]
pub(super) struct Step {
    pub(super) begin: usize,
    pub(super) end: usize,
    pub(super) partition_begins: Vec<usize>,
    pub(super) partition_ends: Vec<usize>,
    pub(super) peer_begins: Vec<usize>,
    pub(super) peer_ends: Vec<usize>,
    /// Number of the group of peers in its partition, starting at 0.
    pub(super) groups: Vec<u64>,
    /// The partition and the group of the last row.
    partition: Range<usize>,
    peers: Range<usize>,
    group: u64,
}

impl Step {
    /// Moves on to the next `rows` rows.
    pub(super) fn advance(&mut self, ordered: &Ordered, rows: usize) {
        self.begin = self.end;
        self.end += rows;
        self.partition_begins.clear();
        self.partition_ends.clear();
        self.peer_begins.clear();
        self.peer_ends.clear();
        self.groups.clear();
        let mut row = self.begin;
        while row < self.end {
            if row >= self.partition.end {
                self.partition = row..ordered.partitions().next(row + 1);
            }
            if row >= self.peers.end {
                self.group = if row == self.partition.start { 0 } else { self.group + 1 };
                self.peers = row..ordered.peers().next(row + 1);
            }
            // Peers belong to one partition.
            let end = self.peers.end.min(self.end);
            let run = end - row;
            self.partition_begins.extend(std::iter::repeat_n(self.partition.start, run));
            self.partition_ends.extend(std::iter::repeat_n(self.partition.end, run));
            self.peer_begins.extend(std::iter::repeat_n(self.peers.start, run));
            self.peer_ends.extend(std::iter::repeat_n(self.peers.end, run));
            self.groups.extend(std::iter::repeat_n(self.group, run));
            row = end;
        }
    }

    /// The row `offset` rows after row i of the step, or (`is_end`) the one after that, in the partition.
    pub(super) fn row_edge(&self, i: usize, offset: i64, is_end: bool) -> usize {
        let row = ((self.begin + i) as i64).saturating_add(offset).saturating_add(is_end as i64).max(0);
        (row as usize).clamp(self.partition_begins[i], self.partition_ends[i])
    }

    /// The first row of the group `offset` groups after that of row i, or (`is_end`) the row after its last one.
    pub(super) fn group_edge(&self, ordered: &Ordered, i: usize, offset: i64, is_end: bool) -> usize {
        let (begin, end) = (self.partition_begins[i], self.partition_ends[i]);
        let peers = ordered.peers();
        match (self.groups[i] as i64).saturating_add(offset).saturating_add(is_end as i64) {
            ..=0 => begin,
            group => peers.select(peers.rank(begin).saturating_add(group as usize)).min(end),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.end - self.begin
    }

    pub(super) fn rows(&self) -> Range<usize> {
        self.begin..self.end
    }
}

//! Which rows have a value, for functions that ignore NULLs: the n-th such row of a frame, or at a distance.

use std::collections::VecDeque;

use godwit_common::Result;

use super::config::BLOCK_ROWS;
use super::frame::Bounds;
use super::ordered::Ordered;
use super::step::Step;

/// Follows frames that never go back, and keeps as many rows with a value as the distance asks for.
pub(super) struct ValidRows {
    column: usize,
    distance: i64,
    /// Rows with a value, in order: the first ones of the frame, or the last ones if the distance is negative.
    kept: VecDeque<usize>,
    /// The first row that was not looked at.
    next: usize,
    block_begin: usize,
    block: Vec<bool>,
}

impl ValidRows {
    pub(super) fn new(column: usize, distance: i64) -> Self {
        Self { column, distance, kept: VecDeque::new(), next: 0, block_begin: 0, block: Vec::new() }
    }

    /// Per frame, the row with its n-th value, n being the distance.
    pub(super) fn of_frames(&mut self, rows: &Ordered, bounds: &Bounds) -> Result<Vec<Option<usize>>> {
        bounds.begins.iter().zip(&bounds.ends).map(|(&begin, &end)| self.nth(rows, begin, end)).collect()
    }

    /// Per row, the row with a value that is the distance behind it, or before it.
    pub(super) fn shifted(&mut self, rows: &Ordered, step: &Step) -> Result<Vec<Option<usize>>> {
        step.rows()
            .enumerate()
            .map(|(i, row)| match self.distance {
                0 => Ok(Some(row)),
                1.. => self.nth(rows, row + 1, step.partition_ends[i]),
                _ => self.nth(rows, step.partition_begins[i], row),
            })
            .collect()
    }

    fn nth(&mut self, rows: &Ordered, begin: usize, end: usize) -> Result<Option<usize>> {
        let wanted = self.distance.unsigned_abs() as usize;
        self.next = self.next.max(begin);
        while self.kept.front().is_some_and(|&row| row < begin) {
            self.kept.pop_front();
        }
        while self.next < end && (self.distance < 0 || self.kept.len() < wanted) {
            if self.is_valid(rows, self.next)? {
                if self.kept.len() == wanted {
                    self.kept.pop_front();
                }
                self.kept.push_back(self.next);
            }
            self.next += 1;
        }
        Ok(match self.distance {
            // Rows that were found for an earlier frame may lie behind this one's end.
            0.. => self.kept.get(wanted - 1).copied().filter(|&row| row < end),
            _ => self.kept.front().copied().filter(|_| self.kept.len() == wanted),
        })
    }

    fn is_valid(&mut self, rows: &Ordered, row: usize) -> Result<bool> {
        if !(self.block_begin..self.block_begin + self.block.len()).contains(&row) {
            let end = rows.len().min(row + BLOCK_ROWS);
            let column = rows.gather(&rows.pin(row..end)?, self.column);
            self.block_begin = row;
            self.block.clear();
            self.block.extend((0..column.len()).map(|i| column.is_valid(i)));
        }
        Ok(self.block[row - self.block_begin])
    }
}

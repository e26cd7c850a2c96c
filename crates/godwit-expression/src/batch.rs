//! The rows that an expression is evaluated on: a chunk, some rows of another batch, or the entries of a dictionary.

use std::cell::RefCell;

use godwit_common::Result;
use godwit_vector::{Chunk, Vector};

use crate::expression::LocalId;

enum Source<'a> {
    Chunk(&'a Chunk),
    /// Some rows of another batch.
    Rows(&'a Batch<'a>, &'a [u32]),
    /// A single column, dense.
    Column(usize, Vector),
    /// Another batch with the value of a Let.
    Local(&'a Batch<'a>, LocalId, Vector),
}

/// A value that can be read from a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Column(usize),
    Local(LocalId),
}

/// Returns columns densely, gathering each at most once however often the expression refers to it.
pub(crate) struct Batch<'a> {
    source: Source<'a>,
    rows: usize,
    gathered: RefCell<Vec<(Slot, Vector)>>,
}

impl<'a> Batch<'a> {
    pub(crate) fn of_chunk(chunk: &'a Chunk) -> Self {
        Self { source: Source::Chunk(chunk), rows: chunk.len(), gathered: RefCell::default() }
    }

    /// Creates a batch whose only column is `vector`, with the number `index`.
    pub(crate) fn of_column(index: usize, vector: Vector) -> Batch<'static> {
        Batch { rows: vector.len(), source: Source::Column(index, vector), gathered: RefCell::default() }
    }

    /// Returns the rows of this batch at `rows`.
    pub(crate) fn select(&'a self, rows: &'a [u32]) -> Batch<'a> {
        Batch { source: Source::Rows(self, rows), rows: rows.len(), gathered: RefCell::default() }
    }

    /// Evaluates the first half of the rows, then the second one.
    pub(crate) fn by_halves(&self, evaluate: impl Fn(&Batch<'_>) -> Result<Vector>) -> Result<[Vector; 2]> {
        let rows: Vec<u32> = (0..self.rows as u32).collect();
        let (first, second) = rows.split_at(rows.len() / 2);
        Ok([evaluate(&self.select(first))?, evaluate(&self.select(second))?])
    }

    /// Returns the same rows, with the value of a Let.
    pub(crate) fn with_local(&'a self, id: LocalId, value: Vector) -> Batch<'a> {
        Batch { source: Source::Local(self, id, value), rows: self.rows, gathered: RefCell::default() }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns column `index`, one value per row.
    pub(crate) fn column(&self, index: usize) -> Vector {
        match &self.source {
            Source::Chunk(chunk) if chunk.column(index).selection.is_none() => chunk.dense(index),
            Source::Chunk(chunk) => self.gathered(Slot::Column(index), || chunk.dense(index)),
            Source::Rows(batch, rows) => self.gathered(Slot::Column(index), || batch.column(index).take(rows)),
            Source::Local(batch, _, _) => batch.column(index),
            Source::Column(only, vector) => {
                assert_eq!(*only, index, "the expression uses one column");
                vector.clone()
            }
        }
    }

    /// Returns the value of the enclosing Let `id`.
    pub(crate) fn local(&self, id: LocalId) -> Vector {
        match &self.source {
            Source::Local(_, own, value) if *own == id => value.clone(),
            Source::Local(batch, _, _) => batch.local(id),
            Source::Rows(batch, rows) => self.gathered(Slot::Local(id), || batch.local(id).take(rows)),
            Source::Chunk(_) | Source::Column(..) => unreachable!("locals stand in the body of their Let"),
        }
    }

    fn gathered(&self, slot: Slot, gather: impl FnOnce() -> Vector) -> Vector {
        if let Some((_, vector)) = self.gathered.borrow().iter().find(|(gathered, _)| *gathered == slot) {
            return vector.clone();
        }
        let vector = gather();
        self.gathered.borrow_mut().push((slot, vector.clone()));
        vector
    }
}

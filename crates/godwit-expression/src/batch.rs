//! The rows that an expression is evaluated on: a chunk, some rows of another batch, or the entries of a dictionary.

use std::cell::RefCell;

use godwit_vector::{Chunk, Vector};

enum Source<'a> {
    Chunk(&'a Chunk),
    /// These rows of another batch.
    Rows(&'a Batch<'a>, &'a [u32]),
    /// One column only, given densely.
    Column(usize, Vector),
}

/// Gives columns densely, gathering each at most once however often the expression refers to it.
pub(crate) struct Batch<'a> {
    source: Source<'a>,
    rows: usize,
    gathered: RefCell<Vec<(usize, Vector)>>,
}

impl<'a> Batch<'a> {
    pub(crate) fn of_chunk(chunk: &'a Chunk) -> Self {
        Self { source: Source::Chunk(chunk), rows: chunk.len(), gathered: RefCell::default() }
    }

    /// A batch whose only column is `vector`, under the number `index`.
    pub(crate) fn of_column(index: usize, vector: Vector) -> Batch<'static> {
        Batch { rows: vector.len(), source: Source::Column(index, vector), gathered: RefCell::default() }
    }

    /// The rows of this batch at `rows`.
    pub(crate) fn select(&'a self, rows: &'a [u32]) -> Batch<'a> {
        Batch { source: Source::Rows(self, rows), rows: rows.len(), gathered: RefCell::default() }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Column `index`, one value per row.
    pub(crate) fn column(&self, index: usize) -> Vector {
        match &self.source {
            Source::Chunk(chunk) if chunk.column(index).selection.is_none() => return chunk.dense(index),
            Source::Column(only, vector) => {
                assert_eq!(*only, index, "the expression uses one column");
                return vector.clone();
            }
            _ => {}
        }
        if let Some((_, vector)) = self.gathered.borrow().iter().find(|(gathered, _)| *gathered == index) {
            return vector.clone();
        }
        let vector = match &self.source {
            Source::Chunk(chunk) => chunk.dense(index),
            Source::Rows(batch, rows) => batch.column(index).take(rows),
            Source::Column(..) => unreachable!("returned above"),
        };
        self.gathered.borrow_mut().push((index, vector.clone()));
        vector
    }
}

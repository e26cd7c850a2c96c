//! Chunks: up to [`CHUNK_ROWS`](crate::CHUNK_ROWS) rows of several columns, under a few shared selections.

use arrow_buffer::ScalarBuffer;

use crate::Vector;

/// Positions of a chunk's rows in the vectors of a group of columns: dense, unsorted, may repeat.
pub type Selection = ScalarBuffer<u32>;

/// Maximum number of selections in a chunk; beyond it, the smallest group of columns is gathered instead
/// (chunk-compaction paper, figure 13: from about eight on, composing selections costs more than copying).
const SELECTIONS_MAX: usize = 8;

/// A column of a chunk: row `i` is `vector[sel[i]]`, or `vector[i]` without a selection.
#[derive(Clone, Copy)]
pub struct ColumnView<'a> {
    /// The values.
    pub vector: &'a Vector,
    /// Positions of the chunk's rows, `None` if they are 0, 1, 2, …
    pub selection: Option<&'a [u32]>,
}

#[derive(Clone)]
struct Column {
    vector: Vector,
    /// Index into the chunk's selections.
    selection: Option<usize>,
}

/// Rows in flight between operators. Cheap to clone.
#[derive(Clone, Default)]
pub struct Chunk {
    len: usize,
    columns: Vec<Column>,
    /// Each has `len` positions and serves at least one column.
    selections: Vec<Selection>,
}

impl Chunk {
    /// A chunk of dense columns with `len` rows each. `len` matters when there are no columns (`count(*)`).
    pub fn new(vectors: Vec<Vector>, len: usize) -> Self {
        assert!(vectors.iter().all(|vector| vector.len() == len), "all columns of a chunk have its length");
        let columns = vectors.into_iter().map(|vector| Column { vector, selection: None }).collect();
        Self { len, columns, selections: Vec::new() }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Returns column `index` as it is.
    pub fn column(&self, index: usize) -> ColumnView<'_> {
        let column = &self.columns[index];
        ColumnView { vector: &column.vector, selection: column.selection.map(|s| &self.selections[s][..]) }
    }

    /// Returns column `index` with one value per row of the chunk: gathered if it is under a selection, else shared.
    pub fn dense(&self, index: usize) -> Vector {
        let view = self.column(index);
        match view.selection {
            Some(selection) => view.vector.take(selection),
            None => view.vector.clone(),
        }
    }

    /// Returns all columns, dense.
    pub fn dense_columns(&self) -> Vec<Vector> {
        (0..self.width()).map(|index| self.dense(index)).collect()
    }

    /// Keeps the rows at `rows` (any order, repeats allowed) without touching the columns: each selection is composed
    /// once, and columns without a selection share a new one.
    pub fn select(&mut self, rows: &[u32]) {
        debug_assert!(rows.iter().all(|&row| (row as usize) < self.len));
        for selection in &mut self.selections {
            *selection = rows.iter().map(|&row| selection[row as usize]).collect::<Vec<u32>>().into();
        }
        let shared = self.selections.len();
        let mut dense_columns = self.columns.iter_mut().filter(|column| column.selection.is_none()).peekable();
        if dense_columns.peek().is_some() {
            dense_columns.for_each(|column| column.selection = Some(shared));
            self.selections.push(rows.to_vec().into());
        }
        self.len = rows.len();
        self.bound_selections();
    }

    /// Returns rows `offset .. offset + len`.
    pub fn slice(&self, offset: usize, len: usize) -> Chunk {
        assert!(offset + len <= self.len);
        let columns = self
            .columns
            .iter()
            .map(|column| Column {
                vector: match column.selection {
                    Some(_) => column.vector.clone(),
                    None => column.vector.slice(offset, len),
                },
                selection: column.selection,
            })
            .collect();
        let selections = self.selections.iter().map(|selection| selection.slice(offset, len)).collect();
        Chunk { len, columns, selections }
    }

    /// Bytes of the strings of all columns and rows.
    pub fn text_bytes(&self) -> usize {
        (0..self.width()).map(|index| self.dense(index).text_bytes()).sum()
    }

    /// Cuts the chunk into pieces of consecutive rows with strings of about `text_bytes_max` bytes at most, or of one
    /// row, judging by the average row.
    pub fn pieces(&self, text_bytes_max: usize) -> impl Iterator<Item = Chunk> {
        let rows = (text_bytes_max as u128 * self.len as u128).checked_div(self.text_bytes() as u128);
        let rows = rows.map_or(self.len, |rows| usize::try_from(rows).unwrap_or(self.len)).clamp(1, self.len.max(1));
        (0..self.len).step_by(rows).map(move |start| self.slice(start, rows.min(self.len - start)))
    }

    /// Appends a dense column.
    pub fn push(&mut self, vector: Vector) {
        assert!(vector.len() == self.len, "all columns of a chunk have its length");
        self.columns.push(Column { vector, selection: None });
    }

    /// Returns the columns at `indices`, in that order.
    pub fn project(&self, indices: &[usize]) -> Chunk {
        let mut renumbered: Vec<Option<usize>> = vec![None; self.selections.len()];
        let mut selections = Vec::new();
        let columns = indices
            .iter()
            .map(|&index| {
                let column = &self.columns[index];
                let selection = column.selection.map(|old| {
                    *renumbered[old].get_or_insert_with(|| {
                        selections.push(self.selections[old].clone());
                        selections.len() - 1
                    })
                });
                Column { vector: column.vector.clone(), selection }
            })
            .collect();
        Chunk { len: self.len, columns, selections }
    }

    /// Puts the columns of both chunks side by side; both have the same number of rows.
    pub fn zip(mut self, right: Chunk) -> Chunk {
        assert_eq!(self.len, right.len);
        let offset = self.selections.len();
        self.selections.extend(right.selections);
        self.columns.extend(
            right.columns.into_iter().map(|c| Column { vector: c.vector, selection: c.selection.map(|s| s + offset) }),
        );
        self.bound_selections();
        self
    }

    /// Returns the same rows with every column dense.
    pub fn flattened(&self) -> Chunk {
        Chunk::new(self.dense_columns(), self.len)
    }

    /// Gathers the columns of the selections that serve the fewest columns until at most [`SELECTIONS_MAX`] are left.
    fn bound_selections(&mut self) {
        while self.selections.len() > SELECTIONS_MAX {
            let users = |s: usize| self.columns.iter().filter(|column| column.selection == Some(s)).count();
            let cheapest = (0..self.selections.len()).min_by_key(|&s| users(s)).expect("there are selections");
            let selection = self.selections.remove(cheapest);
            for column in &mut self.columns {
                match column.selection {
                    Some(s) if s == cheapest => {
                        column.vector = column.vector.take(&selection);
                        column.selection = None;
                    }
                    Some(s) if s > cheapest => column.selection = Some(s - 1),
                    _ => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(chunk: &Chunk, column: usize) -> Vec<i64> {
        chunk.dense(column).to_flat().values::<i64>().to_vec()
    }

    #[test]
    fn selections_compose_and_stay_few() {
        let column = |offset: i64| Vector::from_values((0..100).map(|i| i + offset).collect::<Vec<i64>>(), None);
        let mut chunk = Chunk::new(vec![column(0)], 100);
        let mut expected: Vec<Vec<i64>> = vec![(0..100).collect()];
        for step in 1..=12i64 {
            let rows: Vec<u32> = (0..chunk.len() as u32).filter(|row| row % 13 != 5).rev().collect();
            chunk.select(&rows);
            for column in &mut expected {
                *column = rows.iter().map(|&row| column[row as usize]).collect();
            }
            let next: Vec<i64> = (0..chunk.len() as i64).map(|i| i * step).collect();
            chunk.push(Vector::from_values(next.clone(), None));
            expected.push(next);
            assert!(chunk.selections.len() <= SELECTIONS_MAX);
            for (index, column) in expected.iter().enumerate() {
                assert_eq!(&values(&chunk, index), column);
            }
        }
        let projected = chunk.project(&[3, 0, 3]);
        assert_eq!(values(&projected, 1), expected[0]);
        assert_eq!(values(&projected.slice(2, 5), 0), expected[3][2..7]);
    }
}

//! UNNEST: a row for each element of lists, columns for the fields of structs.
//!
//! Several lists of a row are expanded side by side: the row is repeated for each element of the longest, and shorter
//! ones are padded with NULLs. A chunk is expanded piece by piece, so that long lists never make long chunks.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_schema::DataType;
use godwit_common::{Error, Result};
use godwit_pipeline::{
    CacheUse, ChunkEffect, Operator, OperatorMetrics, QueryContext, Transform, TransformVerdict, TransformWorker,
};
use godwit_vector::{Bitmap, Chunk, ColumnView, Data, Flat, Vector, from_arrow};

/// Bytes of nested values that are repeated in one chunk: unlike texts, rows can't share them.
const REPEATED_BYTES_MAX: usize = 4 << 20;

/// What happens to input columns, in the order of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnnestColumn {
    /// The value of an input column, repeated.
    Repeat(usize),
    /// The elements of a list column.
    Elements(usize),
    /// A field of a struct column, repeated.
    Field(usize, usize),
    /// The position of the elements in their lists, from 1; NULL in a row that has none.
    Position,
}

impl UnnestColumn {
    /// The input column, if there is one.
    pub fn input(self) -> Option<usize> {
        match self {
            UnnestColumn::Repeat(column) | UnnestColumn::Elements(column) | UnnestColumn::Field(column, _) => {
                Some(column)
            }
            UnnestColumn::Position => None,
        }
    }
}

/// Expands lists and structs.
pub struct UnnestTransform {
    columns: Arc<[UnnestColumn]>,
    /// A row whose lists are all empty or NULL is emitted once, with NULLs.
    keep_empty: bool,
    metrics: Arc<OperatorMetrics>,
}

impl UnnestTransform {
    /// An operator that `EXPLAIN` shows as `name`.
    pub fn new(columns: Vec<UnnestColumn>, keep_empty: bool, name: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { columns: columns.into(), keep_empty, metrics: OperatorMetrics::new(name) })
    }
}

impl Operator for UnnestTransform {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }

    fn cache_use(&self) -> CacheUse {
        CacheUse::CHUNKS
    }

    fn is_reusable(&self) -> bool {
        true
    }
}

impl Transform for UnnestTransform {
    fn worker(self: Arc<Self>, query: &Arc<QueryContext>) -> Result<Box<dyn TransformWorker>> {
        Ok(Box::new(UnnestWorker {
            columns: self.columns.clone(),
            keep_empty: self.keep_empty,
            rows_max: query.settings.chunk_rows,
            waiting: None,
        }))
    }

    fn effect(&self) -> ChunkEffect {
        ChunkEffect::Streams
    }
}

struct UnnestWorker {
    columns: Arc<[UnnestColumn]>,
    keep_empty: bool,
    rows_max: usize,
    waiting: Option<Expansion>,
}

/// A chunk that is being expanded.
struct Expansion {
    chunk: Chunk,
    /// For each `Elements` column of the output: the elements of all its lists, and each row's part of them.
    lists: Vec<(ArrayRef, Vec<Range<usize>>)>,
    /// How many rows each input row becomes.
    repeats: Vec<usize>,
    /// The next input row, and how many of its output rows have been emitted.
    row: usize,
    emitted: usize,
    /// Maximum number of rows emitted at once.
    rows_max: usize,
}

impl TransformWorker for UnnestWorker {
    fn push(&mut self, chunk: Chunk) -> Result<TransformVerdict> {
        let mut lists = Vec::new();
        for column in self.columns.iter() {
            if let UnnestColumn::Elements(column) = *column {
                lists.push(elements_of(chunk.column(column), chunk.len())?);
            }
        }
        let least = usize::from(self.keep_empty || lists.is_empty());
        let longest = |row: usize| lists.iter().map(|(_, ranges)| ranges[row].len()).max().unwrap_or(0);
        let repeats = (0..chunk.len()).map(|row| longest(row).max(least)).collect();
        let repeated = self.columns.iter().filter_map(|column| match *column {
            UnnestColumn::Repeat(column) | UnnestColumn::Field(column, _) => Some(nested_bytes(chunk.column(column))),
            UnnestColumn::Elements(_) | UnnestColumn::Position => None,
        });
        let row_bytes: usize = repeated.sum();
        let rows_max = (REPEATED_BYTES_MAX / row_bytes.max(1)).clamp(1, self.rows_max);
        self.waiting = Some(Expansion { chunk, lists, repeats, row: 0, emitted: 0, rows_max });
        self.pull()
    }

    fn pull(&mut self) -> Result<TransformVerdict> {
        let Some(expansion) = &mut self.waiting else { return Ok(TransformVerdict::NeedInput) };
        let (rows, positions) = expansion.next_rows();
        if rows.is_empty() {
            self.waiting = None;
            return Ok(TransformVerdict::NeedInput);
        }
        expansion.emit(&self.columns, &rows, &positions).map(TransformVerdict::Chunk)
    }
}

impl Expansion {
    /// The input rows of the next output rows, and the position of each among the rows of its input row.
    fn next_rows(&mut self) -> (Vec<u32>, Vec<usize>) {
        let (mut rows, mut positions) = (Vec::new(), Vec::new());
        while rows.len() < self.rows_max && self.row < self.repeats.len() {
            let count = (self.repeats[self.row] - self.emitted).min(self.rows_max - rows.len());
            rows.resize(rows.len() + count, self.row as u32);
            positions.extend(self.emitted..self.emitted + count);
            self.emitted += count;
            if self.emitted == self.repeats[self.row] {
                (self.row, self.emitted) = (self.row + 1, 0);
            }
        }
        (rows, positions)
    }

    fn emit(&self, columns: &[UnnestColumn], rows: &[u32], positions: &[usize]) -> Result<Chunk> {
        let mut repeated = self.chunk.clone();
        repeated.select(rows);
        let mut lists = self.lists.iter();
        let vectors = columns.iter().map(|column| match *column {
            UnnestColumn::Repeat(column) => Ok(repeated.dense(column)),
            UnnestColumn::Field(column, field) => field_of(&repeated.dense(column), field),
            UnnestColumn::Position => Ok(self.positions(rows, positions)),
            UnnestColumn::Elements(_) => {
                let (elements, ranges) = lists.next().expect("a list for each column of elements");
                let element = |(&row, &position): (&u32, &usize)| {
                    let range = &ranges[row as usize];
                    (position < range.len()).then(|| (range.start + position) as u32)
                };
                let indices: UInt32Array = rows.iter().zip(positions).map(element).collect();
                let taken = arrow_select::take::take(elements, &indices, None)
                    .map_err(|error| Error::internal(format!("taking elements of lists: {error}")))?;
                from_arrow(&taken)
            }
        });
        Ok(Chunk::new(vectors.collect::<Result<_>>()?, rows.len()))
    }
}

impl Expansion {
    /// The positions of the elements in their lists.
    fn positions(&self, rows: &[u32], positions: &[usize]) -> Vector {
        let numbers: Vec<i64> = positions.iter().map(|&position| position as i64 + 1).collect();
        let has_element =
            |at: usize| self.lists.iter().any(|(_, ranges)| positions[at] < ranges[rows[at] as usize].len());
        Vector::from_values(numbers, Some(Bitmap::from_fn(rows.len(), has_element)))
    }
}

/// The values that a vector's rows refer to: one for each row, one for all, or those of a dictionary.
fn values_of(vector: &Vector) -> &Flat {
    match vector.data() {
        Data::Flat(flat) | Data::Constant(flat) => flat,
        Data::Dictionary(_, dictionary) => dictionary.values(),
    }
}

/// Values of a vector as an Arrow array of nested values.
fn nested_of(vector: &Vector, values: &Flat) -> Result<ArrayRef> {
    match values {
        Flat::Nested(array) => Ok(array.clone()),
        // A column that is all NULL has no nested type.
        _ if vector.validity().is_some_and(|valid| valid.count_ones() == 0) => {
            Ok(arrow_array::new_null_array(&DataType::Null, values.len()))
        }
        flat => Err(Error::internal(format!("UNNEST of {:?}", flat.physical()))),
    }
}

/// Bytes of a nested value of a column, on average; 0 for other columns.
fn nested_bytes(column: ColumnView<'_>) -> usize {
    match values_of(column.vector) {
        Flat::Nested(array) => array.to_data().get_slice_memory_size().unwrap_or(0) / array.len().max(1),
        _ => 0,
    }
}

/// The elements of a column's lists, and the range of each row's list; NULL has none. Rows may share a list: it isn't
/// repeated for each of them.
fn elements_of(column: ColumnView<'_>, rows: usize) -> Result<(ArrayRef, Vec<Range<usize>>)> {
    let vector = column.vector;
    let lists = nested_of(vector, values_of(vector))?;
    let place = |row: usize| match vector.data() {
        Data::Flat(_) => row,
        Data::Constant(_) => 0,
        Data::Dictionary(codes, _) => codes[row] as usize,
    };
    let (elements, of_list): (ArrayRef, Box<dyn Fn(usize) -> Range<usize> + '_>) = match lists.data_type() {
        DataType::List(_) => {
            let list = lists.as_list::<i32>();
            let offsets = list.value_offsets();
            (list.values().clone(), Box::new(|at| offsets[at] as usize..offsets[at + 1] as usize))
        }
        DataType::LargeList(_) => {
            let list = lists.as_list::<i64>();
            let offsets = list.value_offsets();
            (list.values().clone(), Box::new(|at| offsets[at] as usize..offsets[at + 1] as usize))
        }
        DataType::FixedSizeList(_, _) => {
            let list = lists.as_fixed_size_list();
            (list.values().clone(), Box::new(|at| list.value_offset(at) as usize..list.value_offset(at + 1) as usize))
        }
        DataType::Null => return Ok((lists, vec![0..0; rows])),
        other => return Err(Error::unsupported(format!("UNNEST of {other}"))),
    };
    let range = |row: usize| {
        let row = column.selection.map_or(row, |selection| selection[row] as usize);
        if vector.is_valid(row) { of_list(place(row)) } else { 0..0 }
    };
    Ok((elements, (0..rows).map(range).collect()))
}

/// A field of all structs; that of a NULL is NULL.
fn field_of(vector: &Vector, field: usize) -> Result<Vector> {
    let array = nested_of(vector, &vector.to_flat())?;
    let Some(structs) = array.as_struct_opt() else {
        return Err(Error::unsupported(format!("UNNEST of {}", array.data_type())));
    };
    let values = from_arrow(structs.column(field))?;
    if !vector.has_nulls() {
        return Ok(values);
    }
    let valid = Bitmap::from_fn(values.len(), |row| vector.is_valid(row) && values.is_valid(row));
    Ok(values.with_validity(Some(Arc::new(valid))))
}

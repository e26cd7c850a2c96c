//! Rows of several chunks, copied into one.
//!
//! Columns whose pieces are codes of one dictionary stay codes. Strings are shared as long as their heaps are among
//! those of the first piece, and copied otherwise: a few surviving rows must not keep alive the large buffers of all
//! the rows that were filtered out.

use std::sync::Arc;

use arrow_buffer::Buffer;

use crate::kernels::scatter::Scatter;
use crate::{Bitmap, Chunk, Data, Dictionary, Flat, Heap, Heaps, PhysicalType, StrColumn, StrView, Vector};

/// Size of a block of copied strings: a chunk's worth of short strings.
const STRING_BLOCK_BYTES: usize = 32 * 1024;

/// A chunk under construction. All appended chunks have the same types.
pub struct ChunkBuilder {
    columns: Vec<ColumnBuilder>,
    len: usize,
    capacity: usize,
    /// Positions 0, 1, 2, … for columns without a selection.
    all: Vec<u32>,
}

impl ChunkBuilder {
    /// Creates a builder of chunks of at most `capacity` rows.
    pub fn new(capacity: usize) -> Self {
        Self { columns: Vec::new(), len: 0, capacity, all: Vec::new() }
    }

    /// Number of rows so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of rows that still fit.
    pub fn room(&self) -> usize {
        self.capacity - self.len
    }

    /// Bytes of copied strings.
    pub fn copied_bytes(&self) -> usize {
        let copied = |column: &ColumnBuilder| match &column.values {
            Values::Strings(strings) => strings.blocks.iter().map(Vec::len).sum(),
            _ => 0,
        };
        self.columns.iter().map(copied).sum()
    }

    /// Appends rows `offset .. offset + len` of a chunk.
    ///
    /// # Panics
    /// If there is no room for them.
    pub fn append(&mut self, chunk: &Chunk, offset: usize, len: usize) {
        assert!(len <= self.room() && offset + len <= chunk.len());
        if self.columns.is_empty() {
            self.columns.resize_with(chunk.width(), || ColumnBuilder { values: Values::None, validity: None });
        }
        let end = (offset + len) as u32;
        self.all.extend(self.all.len() as u32..end);
        for (index, column) in self.columns.iter_mut().enumerate() {
            let view = chunk.column(index);
            let rows = &view.selection.unwrap_or(&self.all)[offset..offset + len];
            column.append(self.len, self.capacity, view.vector, rows);
        }
        self.len += len;
    }

    /// Returns the rows so far and empties the builder.
    pub fn finish(&mut self) -> Chunk {
        let len = std::mem::take(&mut self.len);
        let columns = self.columns.drain(..).map(|column| column.finish(len)).collect();
        Chunk::new(columns, len)
    }
}

struct ColumnBuilder {
    values: Values,
    /// `None` if there was no NULL so far; as long as the capacity.
    validity: Option<Bitmap>,
}

enum Values {
    /// No rows yet.
    None,
    Codes(Vec<u32>, Arc<Dictionary>),
    Strings(Strings),
    Others(Scatter),
}

impl ColumnBuilder {
    fn append(&mut self, start: usize, capacity: usize, vector: &Vector, rows: &[u32]) {
        if let Some(nulls) = vector.validity() {
            let validity = self.validity.get_or_insert_with(|| Bitmap::filled(capacity, true));
            rows.iter().enumerate().for_each(|(place, &row)| validity.set(start + place, nulls.get(row as usize)));
        }
        match (vector.data(), &mut self.values) {
            (Data::Dictionary(codes, dictionary), Values::Codes(target, known)) if known.id() == dictionary.id() => {
                target.extend(rows.iter().map(|&row| codes[row as usize]));
            }
            (Data::Dictionary(codes, dictionary), values @ Values::None) => {
                let mut target = Vec::with_capacity(capacity);
                target.extend(rows.iter().map(|&row| codes[row as usize]));
                *values = Values::Codes(target, dictionary.clone());
            }
            (Data::Dictionary(codes, dictionary), values) => {
                let codes: Vec<u32> = rows.iter().map(|&row| codes[row as usize]).collect();
                values.put_looked_up(start, capacity, &codes, dictionary);
            }
            (Data::Flat(flat), values) => values.put(start, capacity, flat, rows),
            (Data::Constant(value), values) => values.put(start, capacity, value, &vec![0; rows.len()]),
        }
    }

    fn finish(self, len: usize) -> Vector {
        let validity = self.validity.map(|bitmap| bitmap.slice(0, len));
        match self.values {
            Values::None => unreachable!("a column is made with its first rows"),
            Values::Codes(codes, dictionary) => Vector::dictionary(codes.into(), dictionary, validity),
            Values::Strings(strings) => Vector::flat(Flat::Str(strings.finish()), validity),
            Values::Others(scatter) => scatter.finish().slice(0, len).with_validity(validity.map(Arc::new)),
        }
    }
}

impl Values {
    /// Decodes the rows so far, for values that aren't codes of the same dictionary.
    fn decode(&mut self, capacity: usize, physical: PhysicalType) {
        let (codes, dictionary) = match std::mem::replace(self, Values::None) {
            Values::None => (Vec::new(), None),
            Values::Codes(codes, dictionary) => (codes, Some(dictionary)),
            decoded => return *self = decoded,
        };
        *self = match physical {
            PhysicalType::Str => Values::Strings(Strings::default()),
            _ => Values::Others(Scatter::new(physical, capacity)),
        };
        if let Some(dictionary) = dictionary {
            self.put_looked_up(0, capacity, &codes, &dictionary);
        }
    }

    fn put_looked_up(&mut self, start: usize, capacity: usize, codes: &[u32], dictionary: &Dictionary) {
        if dictionary.is_empty() {
            // All rows are NULL.
            let zero = Flat::zeros(dictionary.values().physical(), 1);
            self.put(start, capacity, &zero, &vec![0; codes.len()]);
        } else {
            self.put(start, capacity, dictionary.values(), codes);
        }
    }

    fn put(&mut self, start: usize, capacity: usize, values: &Flat, rows: &[u32]) {
        self.decode(capacity, values.physical());
        match (self, values) {
            (Values::Strings(target), Flat::Str(strings)) => target.extend(strings, rows),
            (Values::Others(target), values) => target.put_values(start, values, rows),
            _ => panic!("pieces of a column have one type"),
        }
    }
}

/// Strings of a few heaps.
#[derive(Default)]
struct Strings {
    views: Vec<StrView>,
    /// The heaps of the first piece, whose strings are shared.
    shared: Option<Heaps>,
    /// Copied strings. A block never grows beyond its capacity, so its bytes don't move.
    blocks: Vec<Vec<u8>>,
}

impl Strings {
    fn extend(&mut self, strings: &StrColumn, rows: &[u32]) {
        let is_shared = strings.heaps().are_within(self.shared.get_or_insert_with(|| strings.heaps().clone()));
        let views = strings.views();
        self.views.reserve(rows.len());
        for &row in rows {
            let view = views[row as usize];
            let view = if is_shared || view.is_inline() { view } else { self.copy(strings.get(row as usize)) };
            self.views.push(view);
        }
    }

    fn copy(&mut self, bytes: &[u8]) -> StrView {
        if self.blocks.last().is_none_or(|block| block.capacity() - block.len() < bytes.len()) {
            self.blocks.push(Vec::with_capacity(bytes.len().max(STRING_BLOCK_BYTES)));
        }
        let block = self.blocks.last_mut().expect("just made");
        let start = block.len();
        block.extend_from_slice(bytes);
        StrView::new(&block[start..])
    }

    fn finish(self) -> StrColumn {
        let copied = self.blocks.into_iter().map(|block| Arc::new(Buffer::from_vec(block)) as Heap);
        let heaps = Heaps::many(self.shared.iter().flat_map(|heaps| heaps.as_slice()).cloned().chain(copied).collect());
        // SAFETY: each view is inline, points into a shared heap, or points into a block, whose allocation becomes a
        // heap as it is.
        unsafe { StrColumn::new(self.views, heaps) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A column of each kind, with values that identify the piece and the row.
    fn piece(number: usize, rows: usize, dictionary: &Arc<Dictionary>, selected: &[u32], with_nulls: bool) -> Chunk {
        let validity = || with_nulls.then(|| Bitmap::from_fn(rows, |row| row % 3 != number % 3));
        let text = |row: usize| format!("a string of piece {number} that is long, row {row}");
        let own = Arc::new(Dictionary::new(Flat::Str(StrColumn::from_strings([text(0), text(1)])), false));
        let codes: Vec<u32> = (0..rows).map(|row| (row % 2) as u32).collect();
        let integers: Vec<i64> = (0..rows).map(|row| (number * 1000 + row) as i64).collect();
        let mut chunk = Chunk::new(
            vec![
                Vector::from_values(integers, validity()),
                Vector::flat(Flat::Str(StrColumn::from_strings((0..rows).map(text))), validity()),
                Vector::dictionary(codes.clone().into(), dictionary.clone(), validity()),
                Vector::dictionary(codes.into(), own, None),
                Vector::constant(Flat::I32(vec![number as i32].into()), rows),
                Vector::null(PhysicalType::F64, rows),
            ],
            rows,
        );
        chunk.select(selected);
        chunk.push(Vector::from_bools((0..selected.len()).map(|row| (row % 2) as u8).collect(), None));
        chunk
    }

    fn rows_of(chunk: &Chunk) -> Vec<Vec<String>> {
        let columns: Vec<Vector> = chunk.dense_columns().iter().map(Vector::flattened).collect();
        let cell = |column: &Vector, row: usize| {
            if !column.is_valid(row) {
                return "NULL".to_owned();
            }
            crate::match_flat!(
                column.to_flat(),
                values => format!("{:?}", values[row]),
                strings => String::from_utf8(strings.get(row).to_vec()).unwrap(),
                _nested => unreachable!()
            )
        };
        (0..chunk.len()).map(|row| columns.iter().map(|column| cell(column, row)).collect()).collect()
    }

    proptest! {
        #[test]
        fn built_chunks_hold_the_rows_of_their_pieces(
            pieces in prop::collection::vec((prop::collection::vec(0u32..40, 1..30), any::<bool>(), 0usize..8), 1..12)
        ) {
            let dictionary = Arc::new(Dictionary::new(Flat::I64(vec![7, 9].into()), true));
            let mut builder = ChunkBuilder::new(400);
            let mut expected = Vec::new();
            for (number, (selected, with_nulls, skipped)) in pieces.iter().enumerate() {
                let piece = piece(number, 40, &dictionary, selected, *with_nulls);
                let offset = (*skipped).min(selected.len() - 1);
                builder.append(&piece, offset, selected.len() - offset);
                expected.extend_from_slice(&rows_of(&piece)[offset..]);
                prop_assert_eq!(builder.len(), expected.len());
            }
            let built = builder.finish();
            prop_assert!(builder.is_empty());
            prop_assert_eq!(rows_of(&built), expected);
            prop_assert!(matches!(built.column(2).vector.data(), Data::Dictionary(_, kept) if kept.id() == dictionary.id()));
        }
    }

    #[test]
    fn surviving_strings_keep_few_heaps_alive() {
        let mut builder = ChunkBuilder::new(100);
        for number in 0..100 {
            let text = format!("string number {number}, too long for a view");
            let strings = StrColumn::from_strings([text.as_str(), &"x".repeat(1 << 16)]);
            builder.append(&Chunk::new(vec![Vector::flat(Flat::Str(strings), None)], 2), 0, 1);
        }
        let built = builder.finish().dense(0).to_flat();
        assert_eq!(built.strings().heaps().as_slice().len(), 2, "the first piece's, and one block");
        for (number, string) in built.strings().iter().enumerate() {
            assert_eq!(string, format!("string number {number}, too long for a view").as_bytes());
        }
    }
}

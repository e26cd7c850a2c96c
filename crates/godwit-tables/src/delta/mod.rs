//! The delta of a table: rows added since the last row groups were built, in memory and in the log.
//!
//! ```text
//!   chunk     n      s            strings of s: codes of a dictionary of the column        (dictionary.rs)
//!   0         7 9 8  0 1 0        or, in a column of mostly distinct values, strings
//!   1         5 3    2 1
//! ```
//!
//! Versions of a table share chunks and dictionaries. If a text column's vector in a chunk is `U32`, it has codes, as
//! parts of row groups do. Single-column keys are stored as strings: all of them differ.

mod dictionary;
pub(crate) mod traced;

use std::sync::{Arc, OnceLock};

use godwit_common::{MemoryTag, Result};
use godwit_encoding::OrderedDictionary;
use godwit_memory::{BufferManager, Reservation};
use godwit_storage::table::KeyIndexes;
use godwit_vector::kernels::concatenate::concatenated;
use godwit_vector::{CHUNK_ROWS, Chunk, Dictionary, Flat, PhysicalType, Vector};

use dictionary::DeltaDictionary;
pub(crate) use dictionary::UnitedCodes;

/// Beyond this many values per row, strings are looked up one by one, not through a snapshot of all values.
const VALUES_PER_ROW_MAX: usize = 4;

/// The rows of a version that aren't in row groups.
#[derive(Clone, Default)]
pub(crate) struct Delta {
    chunks: Vec<DeltaChunk>,
    rows: usize,
    /// By column, for those that have had codes.
    texts: Vec<Option<TextColumn>>,
}

/// At most [`CHUNK_ROWS`] rows: dense columns as they are stored, or codes.
#[derive(Clone)]
pub(crate) struct DeltaChunk {
    /// The columns as they are kept.
    pub chunk: Chunk,
    memory: Arc<Reservation>,
    /// Where keys are: in it, or not.
    pub key_indexes: Arc<KeyIndexes>,
}

impl Drop for DeltaChunk {
    fn drop(&mut self) {
        if Arc::strong_count(&self.memory) == 1 {
            traced::forget(&self.chunk);
        }
    }
}

/// How strings of a column are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextForm {
    /// As they are; also for columns other than text.
    Values,
    /// As codes, unless most of them differ.
    CodesIfFew,
    /// As codes.
    Codes,
}

#[derive(Clone)]
struct TextColumn {
    dictionary: Arc<DeltaDictionary>,
    /// Number of values when the last rows of this version arrived: all codes are below it.
    values: usize,
    /// The snapshot, once it has been requested.
    snapshot: OnceLock<Arc<Dictionary>>,
}

impl TextColumn {
    fn snapshot(&self) -> &Arc<Dictionary> {
        self.snapshot.get_or_init(|| self.dictionary.snapshot(self.values))
    }
}

/// True if a vector of a text column has codes.
pub(crate) fn has_codes(stored: &Vector) -> bool {
    stored.physical() == PhysicalType::U32
}

impl Delta {
    /// Adds rows. `form` says how strings of a column are kept.
    pub fn append(
        &mut self,
        columns: &[Vector],
        rows: usize,
        form: impl Fn(usize) -> TextForm,
        memory: &BufferManager,
    ) -> Result<()> {
        self.texts.resize_with(columns.len(), || None);
        let mut stored = Vec::with_capacity(columns.len());
        for ((at, column), text) in columns.iter().enumerate().zip(&mut self.texts) {
            stored.push(match column.physical() {
                PhysicalType::Str => as_kept(column, form(at), text, memory)?,
                _ => column.clone(),
            });
        }
        for start in (0..rows).step_by(CHUNK_ROWS) {
            let count = CHUNK_ROWS.min(rows - start);
            let columns: Vec<Vector> = stored.iter().map(|column| column.slice(start, count)).collect();
            let bytes = columns.iter().map(bytes_of).sum();
            let memory = Arc::new(memory.reserve(bytes, MemoryTag::Table)?);
            self.chunks.push(DeltaChunk { chunk: Chunk::new(columns, count), memory, key_indexes: Arc::default() });
        }
        self.rows += rows;
        self.merge_small(memory)
    }

    /// Merges chunks of similar size at the end, so that many small commits result in few chunks, and each row is
    /// copied only a few times.
    fn merge_small(&mut self, memory: &BufferManager) -> Result<()> {
        while let [.., before, last] = &self.chunks[..]
            && before.chunk.len() <= 2 * last.chunk.len()
            && before.chunk.len() + last.chunk.len() <= CHUNK_ROWS
        {
            let (first, second) = (&before.chunk, &last.chunk);
            let columns = (0..second.width()).map(|column| (first.dense(column), second.dense(column)));
            let columns: Vec<(Vector, Vector)> = columns.collect();
            if columns.iter().any(|(first, second)| first.physical() != second.physical()) {
                break;
            }
            let bytes = before.memory.bytes() + last.memory.bytes();
            let memory = Arc::new(memory.reserve(bytes, MemoryTag::Table)?);
            let joined = columns.into_iter().map(|(first, second)| concatenated(&[first, second]));
            let chunk = Chunk::new(joined.collect(), first.len() + second.len());
            self.chunks.truncate(self.chunks.len() - 2);
            self.chunks.push(DeltaChunk { chunk, memory, key_indexes: Arc::default() });
        }
        Ok(())
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Memory that chunks take, without dictionaries, which are shared with other versions.
    pub fn bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.memory.bytes()).sum()
    }

    /// The chunks, as they are kept.
    pub fn chunks(&self) -> &[DeltaChunk] {
        &self.chunks
    }

    /// The dictionary of a column as this version sees it, if any of its rows may have codes.
    pub fn dictionary(&self, column: usize) -> Option<&Arc<Dictionary>> {
        self.texts.get(column)?.as_ref().map(TextColumn::snapshot)
    }

    /// All values of a column, which has a [`dictionary`](Self::dictionary), and those of `main`; `None` if there isn't
    /// enough memory.
    pub fn united(&self, column: usize, main: &OrderedDictionary, memory: &BufferManager) -> Option<Arc<UnitedCodes>> {
        let text = self.texts[column].as_ref()?;
        text.dictionary.united(main, text.snapshot(), memory)
    }

    /// Values of a column as it is kept, with codes as vectors of the dictionary.
    pub fn values(&self, column: usize, stored: &Vector) -> Vector {
        match self.texts.get(column).and_then(Option::as_ref).filter(|_| has_codes(stored)) {
            Some(text) => with_dictionary(stored, text.snapshot()),
            None => stored.clone(),
        }
    }

    /// Values of a column as it is kept, with codes as strings of their own: for few rows.
    pub fn strings(&self, column: usize, stored: &Vector) -> Vector {
        match self.texts.get(column).and_then(Option::as_ref).filter(|_| has_codes(stored)) {
            Some(text) => text.dictionary.strings(stored),
            None => stored.clone(),
        }
    }

    /// Passes on the rows starting at `first`, as they are kept.
    pub fn visit_kept(&self, first: usize, mut visit: impl FnMut(Chunk) -> Result<()>) -> Result<()> {
        let mut start = 0;
        for DeltaChunk { chunk, .. } in &self.chunks {
            let skipped = first.saturating_sub(start).min(chunk.len());
            start += chunk.len();
            if skipped < chunk.len() {
                visit(chunk.slice(skipped, chunk.len() - skipped))?;
            }
        }
        Ok(())
    }

    /// Passes on the rows starting at `first`, as values.
    pub fn visit(&self, first: usize, mut visit: impl FnMut(Chunk) -> Result<()>) -> Result<()> {
        let rows = self.rows.saturating_sub(first);
        let are_few = |text: &TextColumn| text.values > rows.saturating_mul(VALUES_PER_ROW_MAX);
        let are_few: Vec<bool> = self.texts.iter().map(|text| text.as_ref().is_some_and(are_few)).collect();
        self.visit_kept(first, |kept| {
            let columns = kept.dense_columns().into_iter().zip(&are_few).enumerate();
            let values = columns.map(|(column, (stored, &are_few))| match are_few {
                true => self.strings(column, &stored),
                false => self.values(column, &stored),
            });
            visit(Chunk::new(values.collect(), kept.len()))
        })
    }

    /// The rows starting at `first`, with dictionaries of their own.
    pub fn since(&self, first: usize, form: impl Fn(usize) -> TextForm, memory: &BufferManager) -> Result<Self> {
        let mut since = Self::default();
        self.visit(first, |chunk| since.append(&chunk.dense_columns(), chunk.len(), &form, memory))?;
        Ok(since)
    }
}

/// Codes as the strings of a dictionary.
pub(crate) fn with_dictionary(codes: &Vector, dictionary: &Arc<Dictionary>) -> Vector {
    if dictionary.is_empty() {
        return Vector::null(PhysicalType::Str, codes.len());
    }
    let Flat::U32(values) = codes.to_flat() else { panic!("codes are U32") };
    Vector::dictionary(values, dictionary.clone(), None).with_validity(codes.validity().cloned())
}

/// A text column as codes, or as it is.
fn as_kept(column: &Vector, form: TextForm, text: &mut Option<TextColumn>, memory: &BufferManager) -> Result<Vector> {
    if form == TextForm::Values {
        return Ok(column.clone());
    }
    let dictionary = match text {
        Some(text) => text.dictionary.clone(),
        None => Arc::new(DeltaDictionary::new(memory)?),
    };
    let codes = dictionary.codes(column, form == TextForm::Codes);
    if codes.is_some() {
        *text = Some(TextColumn { values: dictionary.len(), dictionary, snapshot: OnceLock::new() });
    }
    Ok(codes.unwrap_or_else(|| column.clone()))
}

/// The approximate memory of a vector.
fn bytes_of(vector: &Vector) -> usize {
    let strings = match vector.physical() {
        PhysicalType::Str => {
            let flat = vector.to_flat();
            let strings = flat.strings();
            (0..vector.len()).filter(|&row| vector.is_valid(row)).map(|row| strings.get(row).len()).sum()
        }
        _ => 0,
    };
    strings + vector.len() * vector.physical().width_bytes()
}

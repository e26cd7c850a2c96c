//! Evaluation of an expression over one column on the entries of a dictionary instead of on rows.
//!
//! The entries are evaluated once as many rows have been seen under the dictionary: at most twice the work is done as
//! without this. The results serve all later rows, of all workers.

use std::collections::VecDeque;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use godwit_common::{Error, Result};
use godwit_scalar::{Lease, Work};
use godwit_vector::kernels::scatter::Scatter;
use godwit_vector::kernels::select::select_bits;
use godwit_vector::{Data, Dictionary, Flat, Vector};
use parking_lot::Mutex;

use crate::Expression;
use crate::batch::Batch;
use crate::literal::{Literal, constant_of};

/// Maximum size of dictionaries that are evaluated: look-ups in larger results would miss the caches and cost as much.
const ENTRIES_MAX: usize = 1 << 16;

/// Number of dictionaries remembered: as many as workers read at a time, those of row groups of files.
const DICTIONARIES_MAX: usize = 64;

/// Maximum bytes of results that are kept.
const KEPT_BYTES_MAX: usize = 4 << 20;

/// Maximum bytes of results that need no reservation: those of a dictionary as small as a chunk.
const FREE_BYTES: usize = 64 << 10;

/// Results of an expression for the dictionaries that its workers met most recently.
pub(crate) struct EntryCache {
    /// Grants memory. Without it, only small dictionaries are evaluated.
    work: Option<Arc<dyn Work>>,
    /// The newest is last.
    met: Mutex<VecDeque<Arc<Met>>>,
}

/// A dictionary that was met.
struct Met {
    dictionary: u64,
    rows: AtomicUsize,
    /// Set once the entries were evaluated; to `None` if one of them failed or there was no room.
    results: OnceLock<Option<EntryResults>>,
}

/// Results for each entry of a dictionary, and for NULL.
struct EntryResults {
    entries: Vector,
    null: Vector,
    bytes: usize,
    _lease: Option<Lease>,
}

impl EntryCache {
    pub(crate) fn new(work: Option<Arc<dyn Work>>) -> Arc<Self> {
        Arc::new(Self { work, met: Mutex::default() })
    }

    /// Creates an empty cache for another expression.
    pub(crate) fn renewed(&self) -> Arc<Self> {
        Self::new(self.work.clone())
    }

    /// Evaluates `inner`, which is always the same expression over one column.
    pub(crate) fn evaluate(&self, inner: &Expression, batch: &Batch<'_>) -> Result<Vector> {
        let rows = batch.rows();
        let index = inner.columns()[0];
        let vector = batch.column(index);
        if constant_of(&vector).is_some() {
            let result = inner.evaluate_batch(&Batch::of_column(index, vector.slice(0, 1)))?;
            return Ok(Literal::of_vector(&result).vector(rows));
        }
        let Data::Dictionary(_, dictionary) = vector.data() else { return inner.evaluate_batch(batch) };
        let entries = dictionary.len();
        if entries == 0 || entries > ENTRIES_MAX {
            return inner.evaluate_batch(batch);
        }
        let met = self.met(dictionary.id());
        let before = met.rows.fetch_add(rows, Relaxed);
        if before < entries && entries <= before + rows {
            // Only one worker gets here; the others go on row by row meanwhile.
            let _ = met.results.set(self.evaluated(inner, index, dictionary).ok());
        }
        match met.results.get() {
            Some(Some(results)) => Ok(results.of_rows(&vector)),
            _ => inner.evaluate_batch(batch),
        }
    }

    fn met(&self, dictionary: u64) -> Arc<Met> {
        let mut all = self.met.lock();
        if let Some(met) = all.iter().rev().find(|met| met.dictionary == dictionary) {
            return Arc::clone(met);
        }
        if all.len() == DICTIONARIES_MAX {
            all.pop_front();
        }
        let met = Arc::new(Met { dictionary, rows: AtomicUsize::new(0), results: OnceLock::new() });
        all.push_back(Arc::clone(&met));
        met
    }

    /// Evaluates `inner` on all entries and on NULL. Entries that no row refers to may lie outside the column's proven
    /// range, and fail although no row does.
    fn evaluated(&self, inner: &Expression, index: usize, dictionary: &Dictionary) -> Result<EntryResults> {
        let values = dictionary.values();
        let entries = inner.evaluate_batch(&Batch::of_column(index, Vector::flat(values.clone(), None)))?.flattened();
        let bytes = match entries.data() {
            Data::Flat(Flat::Nested(array)) => array.get_array_memory_size(),
            _ => entries.len() * entries.physical().width_bytes() + entries.text_bytes(),
        };
        let lease = self.room(bytes)?;
        let null_value = Literal { value: values.slice(0, 1), is_null: true }.vector(1);
        let null = inner.evaluate_batch(&Batch::of_column(index, null_value))?;
        Ok(EntryResults { entries, null, bytes, _lease: lease })
    }

    /// Makes room for results by dropping older ones.
    fn room(&self, bytes: usize) -> Result<Option<Lease>> {
        let mut all = self.met.lock();
        let kept = |met: &Arc<Met>| met.results.get().and_then(Option::as_ref).map_or(0, |results| results.bytes);
        while bytes + all.iter().map(kept).sum::<usize>() > KEPT_BYTES_MAX {
            let oldest = all.iter().position(|met| kept(met) > 0);
            let oldest =
                oldest.ok_or_else(|| Error::resource("the results of a dictionary's entries are too heavy"))?;
            all.remove(oldest);
        }
        drop(all);
        match &self.work {
            _ if bytes <= FREE_BYTES => Ok(None),
            Some(work) => work.reserve(bytes).map(Some),
            None => Err(Error::resource("the results of a dictionary's entries can't be reserved")),
        }
    }
}

impl EntryResults {
    /// Returns the results of a dictionary vector's rows.
    fn of_rows(&self, vector: &Vector) -> Vector {
        let (codes, _) = vector.as_dictionary().expect("results belong to a dictionary vector");
        let valid = self.entries.take(codes);
        let Some(validity) = vector.validity() else { return valid };
        let null_is_null = !self.null.is_valid(0);
        if null_is_null && !valid.has_nulls() {
            return valid.with_validity(Some(Arc::clone(validity)));
        }
        let mut null_rows = Vec::new();
        select_bits(validity, false, &mut null_rows);
        let mut scatter = Scatter::new(valid.physical(), vector.len());
        scatter.put_all(&valid);
        scatter.put(&null_rows, &Literal::of_vector(&self.null).vector(null_rows.len()));
        scatter.finish()
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;
    use godwit_vector::{Bitmap, Chunk, ColumnType, StrColumn};

    use super::*;
    use crate::expression::Kernel;

    /// Lengths of texts, refusing 13; counts the rows that are computed.
    struct Lengths(Arc<AtomicUsize>);

    impl Kernel for Lengths {
        fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
            self.0.fetch_add(rows, Relaxed);
            let flat = arguments[0].to_flat();
            let lengths: Vec<i32> = flat.strings().views().iter().map(|view| view.len() as i32).collect();
            match lengths.contains(&13) {
                true => Err(Error::user("13")),
                false => Ok(Vector::from_values(lengths, None).with_validity(arguments[0].validity().cloned())),
            }
        }

        fn can_fail(&self) -> bool {
            true
        }
    }

    /// Counts the rows computed for three chunks of 60 rows, whose entries are among those of a dictionary of 100.
    fn rows_computed(length: impl Fn(usize) -> usize) -> Vec<usize> {
        let computed = Arc::new(AtomicUsize::new(0));
        let column = Expression::column(0, ColumnType::new(DataType::Utf8View, true).unwrap());
        let output = ColumnType::new(DataType::Int32, true).unwrap();
        let lengths = Expression::strict(Lengths(Arc::clone(&computed)), vec![column], output).per_entry(None);
        let texts = StrColumn::from_strings((0..100).map(|entry| "x".repeat(length(entry))));
        let dictionary = Arc::new(Dictionary::new(Flat::Str(texts), false));
        let mut after_chunks = Vec::new();
        for chunk in 0..3 {
            let codes: Vec<u32> = (0..60).map(|row| (row * 7 + chunk) % 90).collect();
            let validity = Bitmap::from_fn(60, |row| row % 5 != 0);
            let coded = Vector::dictionary(codes.clone().into(), Arc::clone(&dictionary), Some(validity));
            let found = lengths.evaluate(&Chunk::new(vec![coded], 60)).unwrap();
            for (row, &code) in codes.iter().enumerate() {
                assert_eq!(found.is_valid(row), row % 5 != 0);
                if row % 5 != 0 {
                    assert_eq!(found.to_flat().values::<i32>()[row] as usize, length(code as usize));
                }
            }
            after_chunks.push(computed.load(Relaxed));
        }
        after_chunks
    }

    #[test]
    fn entries_are_computed_once_there_were_as_many_rows() {
        // The entries, and NULL.
        assert_eq!(rows_computed(|entry| entry + 20), [60, 161, 161]);
    }

    #[test]
    fn rows_are_computed_if_an_entry_fails_that_no_row_has() {
        assert_eq!(rows_computed(|entry| if entry == 95 { 13 } else { entry + 20 }), [60, 220, 280]);
    }
}

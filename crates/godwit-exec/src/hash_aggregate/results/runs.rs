//! Results that count equal values, which are neighbours in the sorted stream: modes, histograms, entropies.
//!
//! ```text
//! stream   a a a │ b │ c c      runs of one group; the last one stays open, as it may go on in the next chunk
//!          3       1   2        mode: a    histogram: {a: 3, b: 1, c: 2}    entropy: H(3/6, 1/6, 2/6)
//! ```
#![allow(clippy::unnecessary_cast, reason = "loops are compiled for every integer type")]

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, MapArray, StructArray, UInt64Array, new_empty_array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use godwit_common::{Error, Result};
use godwit_vector::kernels::scatter::Scatter;
use godwit_vector::{ColumnType, Flat, Vector, match_flat};

use super::{CollectedKind, GroupCursor, items_of, owned, present};

/// Tracks the runs and computes results from them.
pub(in super::super) struct Runs<'a> {
    counts: &'a [u64],
    cursor: GroupCursor<'a>,
    /// The last run so far, and its value.
    open: Option<(Run, Vector)>,
    content: Content<'a>,
}

/// Equal values of a group.
#[derive(Clone, Copy, Default)]
struct Run {
    group: usize,
    rows: u64,
    /// Arrival of the first of them.
    arrival: u64,
}

enum Content<'a> {
    Modes {
        /// The longest run of each group.
        best: Vec<Run>,
        values: Scatter,
    },
    Histograms {
        ty: &'a ColumnType,
        /// Distinct values, how often each occurs, and how many each group has.
        keys: Vec<ArrayRef>,
        rows: Vec<u64>,
        lens: Vec<usize>,
    },
    Entropies(Vec<f64>),
}

impl<'a> Runs<'a> {
    pub(super) fn new(kind: &CollectedKind, value: &ColumnType, counts: &'a [u64], ty: &'a ColumnType) -> Self {
        let groups = counts.len();
        let content = match kind {
            CollectedKind::Mode { .. } => {
                Content::Modes { best: vec![Run::default(); groups], values: Scatter::new(value.physical, groups) }
            }
            CollectedKind::Histogram => {
                Content::Histograms { ty, keys: Vec::new(), rows: Vec::new(), lens: vec![0; groups] }
            }
            _ => Content::Entropies(vec![0.0; groups]),
        };
        Self { counts, cursor: GroupCursor::new(counts), open: None, content }
    }

    /// Adds values and, for modes, their arrival.
    pub(super) fn add(&mut self, columns: &[Vector]) -> Result<()> {
        let values = columns[0].flattened();
        let arrivals = columns.get(1).map(Vector::to_flat);
        let is_start = starts(self.open.as_ref().map(|(_, value)| value), &values);
        let mut runs: Vec<Run> = Vec::new();
        let mut begins: Vec<u32> = Vec::new();
        let open = &mut self.open;
        self.cursor.advance(values.len(), |group, first, rows| {
            for row in rows.clone() {
                if is_start[row] || (first == 0 && row == rows.start) {
                    let arrival = arrivals.as_ref().map_or(0, |arrivals| arrivals.values::<u64>()[row]);
                    runs.push(Run { group, rows: 0, arrival });
                    begins.push(row as u32);
                }
                let run = runs.last_mut().or(open.as_mut().map(|(run, _)| run));
                run.expect("the first value begins a run").rows += 1;
            }
        });
        let Some(last) = runs.pop() else { return Ok(()) };
        let begun = values.take(&begins);
        if let Some((run, value)) = self.open.replace((last, owned(begun.slice(runs.len(), 1)))) {
            self.content.end(&[run], &value, self.counts)?;
        }
        self.content.end(&runs, &begun.slice(0, runs.len()), self.counts)
    }

    pub(super) fn finish(mut self) -> Result<Vector> {
        if let Some((run, value)) = self.open.take() {
            self.content.end(&[run], &value, self.counts)?;
        }
        let groups = present(self.counts);
        match self.content {
            Content::Modes { values, .. } => Ok(values.finish().with_validity(Some(Arc::new(groups)))),
            Content::Entropies(entropies) => Ok(Vector::from_values(entropies, None)),
            Content::Histograms { ty, keys, rows, lens } => {
                let DataType::Map(field, ordered) = &ty.logical else { return Err(no_map(&ty.logical)) };
                let DataType::Struct(fields) = field.data_type() else { return Err(no_map(&ty.logical)) };
                let keys: Vec<&dyn Array> = keys.iter().map(|part| &**part).collect();
                let keys = match keys.is_empty() {
                    true => new_empty_array(fields[0].data_type()),
                    false => arrow_select::concat::concat(&keys).map_err(internal)?,
                };
                let entries = vec![keys, Arc::new(UInt64Array::from(rows)) as ArrayRef];
                let entries = StructArray::try_new(fields.clone(), entries, None).map_err(internal)?;
                let nulls = NullBuffer::from_iter((0..groups.len()).map(|group| groups.get(group)));
                let offsets = OffsetBuffer::from_lengths(lens);
                let maps = MapArray::try_new(field.clone(), offsets, entries, Some(nulls), *ordered);
                Ok(Vector::flat(Flat::Nested(Arc::new(maps.map_err(internal)?)), Some(groups)))
            }
        }
    }
}

impl Content<'_> {
    /// Runs that are complete, each with its value.
    fn end(&mut self, runs: &[Run], values: &Vector, counts: &[u64]) -> Result<()> {
        if runs.is_empty() {
            return Ok(());
        }
        match self {
            Content::Modes { best, values: modes } => {
                let (mut groups, mut rows): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
                for (row, run) in runs.iter().enumerate() {
                    let known = &mut best[run.group];
                    if run.rows > known.rows || (run.rows == known.rows && run.arrival < known.arrival) {
                        *known = *run;
                        // Of a group's runs that beat all before them, the last is the best.
                        if groups.pop_if(|group| *group == run.group as u32).is_some() {
                            rows.pop();
                        }
                        groups.push(run.group as u32);
                        rows.push(row as u32);
                    }
                }
                if !groups.is_empty() {
                    modes.put(&groups, &owned(values.take(&rows)));
                }
            }
            Content::Histograms { ty, keys, rows, lens } => {
                let DataType::Map(field, _) = &ty.logical else { return Err(no_map(&ty.logical)) };
                let DataType::Struct(fields) = field.data_type() else { return Err(no_map(&ty.logical)) };
                keys.push(items_of(&owned(values.clone()), fields[0].data_type())?);
                rows.extend(runs.iter().map(|run| run.rows));
                runs.iter().for_each(|run| lens[run.group] += 1);
            }
            Content::Entropies(entropies) => {
                for run in runs {
                    let share = run.rows as f64 / counts[run.group] as f64;
                    entropies[run.group] -= share * share.log2();
                }
            }
        }
        Ok(())
    }
}

/// Whether each value, none of which is NULL, differs from the previous one. `last` is the one before the first.
fn starts(last: Option<&Vector>, values: &Vector) -> Vec<bool> {
    fn differ<T>(len: usize, get: impl Fn(usize) -> T, last: Option<T>, equal: impl Fn(&T, &T) -> bool) -> Vec<bool> {
        let first = last.is_none_or(|last| !equal(&last, &get(0)));
        std::iter::once(first).chain((1..len).map(|row| !equal(&get(row - 1), &get(row)))).collect()
    }
    let len = values.len();
    let same_float = |a: &f64, b: &f64| a == b || a.is_nan() && b.is_nan();
    match (values.to_flat(), last.map(Vector::to_flat)) {
        (Flat::F64(v), last) => differ(len, |row| v[row], last.map(|last| last.values::<f64>()[0]), same_float),
        (Flat::F32(v), last) => {
            differ(len, |row| v[row] as f64, last.map(|last| last.values::<f32>()[0] as f64), same_float)
        }
        (Flat::Str(v), last) => {
            differ(len, |row| v.get(row), last.as_ref().map(|last| last.strings().get(0)), |a, b| a == b)
        }
        (flat, last) => {
            // Integers and booleans, by their value.
            let integer = |flat: &Flat, row: usize| -> i128 {
                match_flat!(flat, v => v[row] as i128, _s => unreachable!("see above"), _a => unreachable!("nested"))
            };
            differ(len, |row| integer(&flat, row), last.as_ref().map(|last| integer(last, 0)), |a, b| a == b)
        }
    }
}

fn internal(error: arrow_schema::ArrowError) -> Error {
    Error::internal(error.to_string())
}

fn no_map(ty: &DataType) -> Error {
    Error::internal(format!("a histogram as {ty}"))
}

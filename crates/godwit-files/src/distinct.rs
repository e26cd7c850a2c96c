//! Cheap estimates of the number of distinct values of a column.
//!
//! - Chunks that are dictionary-encoded throughout: the size of the dictionary is the number of distinct values in the
//!   row group. The ranges of row groups show how these add up: if one covers the whole range, all have the same
//!   values; if each covers a part of it, their values differ.
//! - Others: some rows from two places of the table. If they have values in common, values recur all over the table:
//!   the share of the second place's values that the first has, too, tells how many there are (capture and recapture,
//!   by Lincoln and Petersen). If they have none, the share of distinct values in one place, extrapolated to all rows,
//!   is right for keys and for clustered columns. The width of the range is a bound; if it is just the number of rows, as
//!   for keys that count up, or if there are several rows for each of its values, it is taken as it is, and nothing is
//!   read.

use std::ops::Range;
use std::sync::Arc;

use godwit_catalog::ColumnStatistics;
use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_pipeline::Table;
use godwit_types::Value;
use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::{PhysicalType, Vector};
use parquet::basic::Encoding;

use crate::column::{ColumnReader, SharedDictionary};
use crate::config::{FULL_RANGE_ROWS_MIN, READ_BYTES_MIN, SAMPLED_ROW_GROUPS, SAMPLED_ROWS};
use crate::page::{PageHeader, PageReader, ReadWindow};
use crate::sample::places_of;
use crate::table::{ParquetTable, TableFile};

/// A row group of a table: its file, and its number there.
pub(crate) type Group = (usize, usize);

/// Estimates the distinct values of a column; `None` if that isn't possible.
pub(crate) fn estimate(
    table: &ParquetTable,
    column: usize,
    known: &ColumnStatistics,
    memory: &BufferManager,
) -> Result<Option<u64>> {
    let groups = row_groups(table);
    if table.files().iter().any(|file| file.column(column).is_none()) {
        return Ok(None);
    }
    let rows = table.statistics().rows;
    if rows == 0 {
        return Ok(Some(0));
    }
    let values = values_of(known, rows);
    let limit = known.range.map_or(u64::MAX, |range| range.count().min(u64::MAX as u128) as u64).min(values);
    let all_dictionaries =
        groups.iter().all(|&(file, group)| is_dictionary_encoded(&table.files()[file], group, column));
    let estimate = match all_dictionaries {
        true => from_dictionaries(table, column, &groups, known, memory)?,
        false if has_full_range(known, values) => Some(limit),
        false => from_samples(table, column, &groups, values, memory)?,
    };
    Ok(estimate.map(|estimate| estimate.clamp(1, limit.max(1))))
}

/// Returns the number of rows that aren't NULL, as far as that is known.
fn values_of(known: &ColumnStatistics, rows: u64) -> u64 {
    rows - known.null_count.unwrap_or(0).min(rows)
}

/// Returns true if nearly all values of the column's range should occur among its values.
fn has_full_range(known: &ColumnStatistics, values: u64) -> bool {
    let values = u128::from(values);
    known.range.is_some_and(|range| {
        let width = range.count();
        width == values || width.saturating_mul(FULL_RANGE_ROWS_MIN) <= values
    })
}

/// Returns where [`estimate`] will read, as files and ranges in them.
pub(crate) fn places(table: &ParquetTable, column: usize) -> Vec<(usize, Range<u64>)> {
    let groups = row_groups(table);
    if groups.is_empty() {
        return Vec::new();
    }
    if groups.iter().all(|&(file, group)| is_dictionary_encoded(&table.files()[file], group, column)) {
        let header = |&(file, group): &Group| {
            let part = &table.files()[file];
            let chunk = part.file.chunk(group, part.column(column)?).ok()?;
            Some((file, chunk.start..chunk.end.min(chunk.start + READ_BYTES_MIN as u64)))
        };
        return groups.iter().step_by(groups.len().div_ceil(SAMPLED_ROW_GROUPS)).filter_map(header).collect();
    }
    let known = &table.statistics().columns[column];
    if has_full_range(known, values_of(known, table.statistics().rows)) {
        return Vec::new();
    }
    let sampled = sampled_groups(&groups);
    let rows = |group: Group, place| sampled_rows(table, group, place).map(|rows| (group, rows));
    let rows = sampled.into_iter().filter_map(|(group, place)| rows(group, place));
    rows.flat_map(|(group, rows)| places_of(table, group, column, rows)).collect()
}

/// Returns the two places of a table that are compared.
fn sampled_groups(groups: &[Group]) -> [(Group, SamplePosition); 2] {
    let place = if groups.len() == 1 { SamplePosition::Middle } else { SamplePosition::End };
    [(groups[groups.len() / 2], SamplePosition::End), (groups[0], place)]
}

/// Returns the row groups that have rows.
pub(crate) fn row_groups(table: &ParquetTable) -> Vec<Group> {
    let files = table.files().iter().enumerate();
    files
        .flat_map(|(file, part)| {
            let rows = &part.file.row_group_rows;
            (0..rows.len()).filter(|&group| rows[group] > 0).map(move |group| (file, group)).collect::<Vec<_>>()
        })
        .collect()
}

/// Returns true if every data page of the chunk has codes.
pub(crate) fn is_dictionary_encoded(file: &TableFile, group: usize, column: usize) -> bool {
    let Some(column) = file.column(column) else { return false };
    let chunk = file.file.metadata().row_group(group).column(file.file.columns[column].leaf);
    let only_codes = chunk
        .page_encoding_stats_mask()
        .is_some_and(|mask| mask.is_only(Encoding::RLE_DICTIONARY) || mask.is_only(Encoding::PLAIN_DICTIONARY));
    only_codes && file.file.decoding(group, column).is_some()
}

fn from_dictionaries(
    table: &ParquetTable,
    column: usize,
    groups: &[Group],
    known: &ColumnStatistics,
    memory: &BufferManager,
) -> Result<Option<u64>> {
    let step = groups.len().div_ceil(SAMPLED_ROW_GROUPS);
    let window = ReadWindow::new(memory)?;
    let (mut largest, mut sum, mut sampled, mut widest) = (0u64, 0u64, 0u64, 0.0f64);
    let chunk_of = |&(file, group): &Group| {
        let part = &table.files()[file];
        Some(part.file.chunk(group, part.column(column)?).map(|chunk| (part, group, chunk)))
    };
    let chunks = groups.iter().step_by(step).filter_map(chunk_of).collect::<Result<Vec<_>>>()?;
    for (part, _, chunk) in &chunks {
        part.file.bytes.advise(chunk.start, (chunk.end - chunk.start).min(READ_BYTES_MIN as u64));
    }
    for (part, group, chunk) in chunks {
        let mut reader = PageReader::new(part.file.bytes.clone(), chunk, 0..0, window.clone(), memory)?;
        let Some(PageHeader { values: entries, .. }) = reader.dictionary_header()? else { return Ok(None) };
        largest = largest.max(entries as u64);
        sum += entries as u64;
        sampled += 1;
        if let Some(bounds) = part.bounds(column).map(|bounds| bounds.get(group)) {
            let min = bounds.min.as_ref().and_then(Value::as_integer);
            let max = bounds.max.as_ref().and_then(Value::as_integer);
            if let (Some(min), Some(max)) = (min, max) {
                widest = widest.max((max - min) as f64 + 1.0);
            }
        }
    }
    // The number of row groups that it takes to cover the range, if it is known.
    let parts = match known.range {
        Some(range) if widest > 0.0 => range.count() as f64 / widest,
        _ => 1.0,
    };
    let all = sum as f64 / sampled as f64 * groups.len() as f64;
    Ok(Some((largest as f64 * parts).min(all).max(largest as f64) as u64))
}

/// Estimates the number of values in all rows from two places of a table.
fn from_samples(
    table: &ParquetTable,
    column: usize,
    groups: &[Group],
    values: u64,
    memory: &BufferManager,
) -> Result<Option<u64>> {
    let [(here, at_end), (there, place)] = sampled_groups(groups);
    let Some(here) = sample(table, column, here, at_end, memory)? else { return Ok(None) };
    let there = sample(table, column, there, place, memory)?;
    let carried_over = here.distinct.len() as f64 / here.values.max(1) as f64 * values as f64;
    let recaptured = there.and_then(|there| here.recaptured_by(&there));
    Ok(Some(recaptured.map_or(carried_over, |all| all.min(carried_over)) as u64))
}

/// The place in a row group where rows are sampled.
#[derive(Clone, Copy)]
enum SamplePosition {
    /// Before the second half.
    Middle,
    /// At the end: chunks that outgrew their dictionary have codes only at the start.
    End,
}

/// Values of neighbouring rows.
struct Sample {
    /// Number of non-NULL values.
    values: usize,
    /// Their distinct hashes, ascending.
    distinct: Vec<u64>,
}

impl Sample {
    fn of(vector: &Vector) -> Self {
        let mut hashes = Vec::new();
        hash_vectors(std::slice::from_ref(vector), vector.len(), &mut hashes);
        let mut distinct: Vec<u64> =
            (0..vector.len()).filter(|&row| vector.is_valid(row)).map(|row| hashes[row]).collect();
        let values = distinct.len();
        distinct.sort_unstable();
        distinct.dedup();
        Self { values, distinct }
    }

    /// Estimates the number of values from which both are samples; `None` if they have none in common.
    fn recaptured_by(&self, other: &Self) -> Option<f64> {
        let common = self.distinct.iter().filter(|hash| other.distinct.binary_search(hash).is_ok()).count();
        (common > 0).then(|| self.distinct.len() as f64 * other.distinct.len() as f64 / common as f64)
    }
}

/// Samples rows of a row group; `None` if they can't be read, or if there are too few for any place but the end.
fn sample(
    table: &ParquetTable,
    column: usize,
    (file, group): Group,
    place: SamplePosition,
    memory: &BufferManager,
) -> Result<Option<Sample>> {
    let part = &table.files()[file];
    let Some(rows) = sampled_rows(table, (file, group), place) else { return Ok(None) };
    let Some(column_of_file) = part.column(column) else { return Ok(None) };
    if table.row_type()[column].physical == PhysicalType::Nested {
        return Ok(None);
    }
    let Some(part) = part.file.part(group, column_of_file, rows.clone())? else { return Ok(None) };
    let dictionary = Arc::new(SharedDictionary::default());
    let window = ReadWindow::new(memory)?;
    let mut reader = ColumnReader::new(part, table.range(column), dictionary, &window, memory)?;
    reader.keep_pages();
    Ok(Some(Sample::of(&reader.read(rows.start, rows.len(), None)?)))
}

/// Returns the rows of a place; `None` if there are too few for any place but the end.
fn sampled_rows(table: &ParquetTable, (file, group): Group, place: SamplePosition) -> Option<Range<usize>> {
    let all_rows = table.files()[file].file.row_group_rows[group];
    let rows = all_rows.min(SAMPLED_ROWS);
    let start = match place {
        SamplePosition::End => all_rows - rows,
        SamplePosition::Middle if all_rows < 2 * SAMPLED_ROWS => return None,
        SamplePosition::Middle => all_rows / 2 - rows,
    };
    Some(start..start + rows)
}

#[cfg(test)]
mod tests {
    use godwit_vector::kernels::hash::hash_integer;

    use super::*;

    /// Two samples of a thousand rows each whose values are given by row number.
    fn estimate(values: impl Fn(u64) -> u64, second: u64) -> Option<f64> {
        let at = |first: u64| {
            Sample::of(&Vector::from_values(
                (first..first + 1000).map(|row| values(row) as i64).collect::<Vec<_>>(),
                None,
            ))
        };
        at(0).recaptured_by(&at(second))
    }

    #[test]
    fn values_that_recur_are_counted_and_others_are_not() {
        let scattered = |domain: u64| move |row: u64| (hash_integer(row as i64) >> 20) % domain;
        assert_eq!(estimate(scattered(7), 500_000), Some(7.0));
        let found = estimate(scattered(20_000), 500_000).unwrap();
        assert!((12_000.0..32_000.0).contains(&found), "{found}");
        assert_eq!(estimate(|row| row, 500_000), None, "keys");
        assert_eq!(estimate(|row| row / 4, 500_000), None, "clustered");
    }
}

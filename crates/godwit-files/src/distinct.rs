//! Estimates of the number of distinct values of a column, from what costs next to nothing.
//!
//! - Chunks that are dictionary-encoded throughout: the size of the dictionary is the number of distinct values in the
//!   row group. How row groups add up shows in their ranges: if one covers the whole range, all have the same values;
//!   if each covers a part of it, the values differ.
//! - Others: some rows from the middle of the table. The share of distinct values among them, carried over to all rows,
//!   is right for keys and for clustered columns; for others the width of the range is the better bound.

use std::sync::Arc;

use godwit_common::Result;
use godwit_expression::scalar_to_integer;
use godwit_memory::BufferManager;
use godwit_sql::ColumnStatistics;
use godwit_vector::Vector;
use godwit_vector::kernels::hash::hash_vectors;
use parquet::basic::Encoding;

use crate::column::{ColumnReader, SharedDictionary};
use crate::config::{SAMPLED_ROW_GROUPS, SAMPLED_ROWS};
use crate::page::{PageReader, ReadWindow};
use crate::table::{ParquetTable, TableFile};

/// A row group of a table: file and number in it.
pub(crate) type Group = (usize, usize);

/// The estimate for a column; `None` if nothing can be said.
pub(crate) fn estimate(
    table: &ParquetTable,
    column: usize,
    known: &ColumnStatistics,
    memory: &BufferManager,
) -> Result<Option<u64>> {
    let groups = row_groups(table);
    let rows: u64 = groups.iter().map(|&(file, group)| table.files()[file].file.row_group_rows[group] as u64).sum();
    if rows == 0 {
        return Ok(Some(0));
    }
    let values = rows - known.null_count.unwrap_or(0).min(rows);
    let limit = known.range.map_or(u64::MAX, |range| range.count().min(u64::MAX as u128) as u64).min(values);
    let all_dictionaries =
        groups.iter().all(|&(file, group)| is_dictionary_encoded(&table.files()[file], group, column));
    let estimate = if all_dictionaries {
        from_dictionaries(table, column, &groups, known, memory)?
    } else {
        from_sample(table, column, groups[groups.len() / 2], memory)?.map(|share| (share * values as f64) as u64)
    };
    Ok(estimate.map(|estimate| estimate.clamp(1, limit.max(1))))
}

/// Row groups with rows.
pub(crate) fn row_groups(table: &ParquetTable) -> Vec<Group> {
    let files = table.files().iter().enumerate();
    files
        .flat_map(|(file, part)| {
            let rows = &part.file.row_group_rows;
            (0..rows.len()).filter(|&group| rows[group] > 0).map(move |group| (file, group)).collect::<Vec<_>>()
        })
        .collect()
}

/// True if every data page of the chunk has codes.
pub(crate) fn is_dictionary_encoded(file: &TableFile, group: usize, column: usize) -> bool {
    let column = file.column(column);
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
    for &(file, group) in groups.iter().step_by(step) {
        let part = &table.files()[file];
        let chunk = part.file.chunk(group, part.column(column))?;
        let entries = PageReader::new(part.file.bytes.clone(), chunk, window.clone(), memory)?.dictionary_entries()?;
        let Some(entries) = entries else { return Ok(None) };
        largest = largest.max(entries as u64);
        sum += entries as u64;
        sampled += 1;
        if let Some(bounds) = part.bounds(column).map(|bounds| bounds.get(group)) {
            let min = bounds.min.as_ref().and_then(scalar_to_integer);
            let max = bounds.max.as_ref().and_then(scalar_to_integer);
            if let (Some(min), Some(max)) = (min, max) {
                widest = widest.max((max - min) as f64 + 1.0);
            }
        }
    }
    // How many row groups it takes to cover the range, if it is known.
    let parts = match known.range {
        Some(range) if widest > 0.0 => range.count() as f64 / widest,
        _ => 1.0,
    };
    let all = sum as f64 / sampled as f64 * groups.len() as f64;
    Ok(Some((largest as f64 * parts).min(all).max(largest as f64) as u64))
}

/// Distinct values per row among some rows from the middle of a row group.
fn from_sample(table: &ParquetTable, column: usize, group: Group, memory: &BufferManager) -> Result<Option<f64>> {
    let part = &table.files()[group.0];
    let file_column = part.column(column);
    let Some(decoding) = part.file.decoding(group.1, file_column) else { return Ok(None) };
    let chunk = part.file.chunk(group.1, file_column)?;
    // Near the end, because dictionaries are at the start of chunks that outgrew theirs.
    let rows = chunk.rows.min(SAMPLED_ROWS);
    let start = chunk.rows - rows;
    let dictionary = Arc::new(SharedDictionary::default());
    let range = table.range(column);
    let window = ReadWindow::new(memory)?;
    let mut reader = ColumnReader::new(part.file.bytes.clone(), chunk, decoding, range, dictionary, &window, memory)?;
    let vector = reader.read(start, rows, None)?;
    Ok(Some(distinct_share(&vector)))
}

fn distinct_share(vector: &Vector) -> f64 {
    let mut hashes = Vec::new();
    hash_vectors(std::slice::from_ref(vector), vector.len(), &mut hashes);
    let mut hashes: Vec<u64> = (0..vector.len()).filter(|&row| vector.is_valid(row)).map(|row| hashes[row]).collect();
    let values = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    if values == 0 { 0.0 } else { hashes.len() as f64 / values as f64 }
}

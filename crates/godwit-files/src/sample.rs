//! The rows of a table on which planning tries filters.

use std::ops::Range;
use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_pipeline::{Table, pick_sample, sampled_values};
use godwit_vector::{PhysicalType, Vector};

use crate::column::{ColumnReader, SharedDictionary};
use crate::config::SAMPLED_BYTES_MAX;
use crate::distinct::{Group, row_groups};
use crate::footer::ChunkLocation;
use crate::page::{PageReader, ReadWindow};
use crate::table::ParquetTable;

/// Returns where [`read`] will read, as files and ranges in them.
pub(crate) fn places(table: &ParquetTable, column: usize) -> Vec<(usize, Range<u64>)> {
    let groups = row_groups(table);
    let rows: Vec<usize> = groups.iter().map(|&(file, group)| table.files()[file].file.row_group_rows[group]).collect();
    let sample = pick_sample(&rows);
    sample.iter().flat_map(|sampled| places_of(table, groups[sampled.part], column, sampled.rows.clone())).collect()
}

/// Returns where the dictionary and the pages of some rows of a column are.
pub(crate) fn places_of(
    table: &ParquetTable,
    (file, group): Group,
    column: usize,
    rows: Range<usize>,
) -> Vec<(usize, Range<u64>)> {
    let part = &table.files()[file];
    let chunk = part.column(column).and_then(|column| part.file.chunk(group, column).ok());
    let Some(chunk) = &chunk else { return Vec::new() };
    ranges_of(chunk, std::iter::once(rows)).map(|range| (file, range)).collect()
}

/// Returns where the dictionary and the pages of some ranges of rows of a column chunk are. Without an offset index,
/// pages are found by reading sequentially: that's all of a chunk that is read as a whole, and unknown in larger ones.
fn ranges_of(chunk: &ChunkLocation, rows: impl Iterator<Item = Range<usize>>) -> impl Iterator<Item = Range<u64>> {
    let (whole, pages) = match &chunk.pages {
        Some(pages) => (Some(chunk.start..pages[0].offset), Some(rows)),
        None => (Some(chunk.start..chunk.end).filter(|_| chunk.is_read_whole()), None),
    };
    whole.into_iter().chain(pages.into_iter().flatten().map(|rows| PageReader::bytes_of(chunk, rows)))
}

/// Returns sampled values of a column; `None` if it is nested, or isn't decoded by this crate.
pub(crate) fn read(table: &ParquetTable, column: usize, memory: &BufferManager) -> Result<Option<Vector>> {
    if table.row_type()[column].physical == PhysicalType::Nested {
        return Ok(None);
    }
    let groups = row_groups(table);
    let rows: Vec<usize> = groups.iter().map(|&(file, group)| table.files()[file].file.row_group_rows[group]).collect();
    let window = ReadWindow::new(memory)?;
    let mut pieces = Vec::new();
    let sample = pick_sample(&rows);
    let mut parts = Vec::new();
    let mut bytes = 0;
    for picked in sample.chunk_by(|a, b| a.part == b.part) {
        let (file, group) = groups[picked[0].part];
        let file = &table.files()[file];
        let (all_rows, sampled) =
            (rows[picked[0].part], picked.iter().map(|sampled| sampled.rows.len()).sum::<usize>());
        let Some(column) = file.column(column) else { return Ok(None) };
        bytes += file.file.decompressed_bytes(group, column) / all_rows as u64 * sampled as u64;
        if bytes > SAMPLED_BYTES_MAX {
            return Ok(None);
        }
        // No range of rows, since the windows are far apart.
        let Some(part) = file.file.part(group, column, 0..0)? else { return Ok(None) };
        parts.push((part, picked));
    }
    // All at once, before the first is read: a disk is faster if it knows the next requests.
    for (part, picked) in &parts {
        ranges_of(&part.chunk, picked.iter().map(|sampled| sampled.rows.clone()))
            .for_each(|range| part.file.advise(range.start, range.end - range.start));
    }
    let mut reader: Option<ColumnReader> = None;
    for (part, picked) in parts {
        let dictionary = Arc::new(SharedDictionary::default());
        let reader = match &mut reader {
            Some(reader) => {
                reader.reopen(part, dictionary)?;
                reader
            }
            none => none.insert(ColumnReader::new(part, table.range(column), dictionary, &window, memory)?),
        };
        reader.keep_pages();
        for sampled in picked {
            let (rows, positions) = (&sampled.rows, sampled.positions());
            let values = reader.read(rows.start, rows.len(), Some(&positions))?;
            // Immediately, so pages can be released.
            let Some(values) = sampled_values(&[values]) else { return Ok(None) };
            pieces.push(values);
        }
    }
    Ok(if pieces.len() > 1 { sampled_values(&pieces) } else { pieces.pop() })
}

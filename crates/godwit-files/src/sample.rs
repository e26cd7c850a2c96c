//! The rows of a table that planning tries filters on.

use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_pipeline::{pick_sample, sampled_values};
use godwit_vector::Vector;

use crate::column::{ColumnReader, SharedDictionary};
use crate::distinct::row_groups;
use crate::page::{PageReader, ReadWindow};
use crate::table::ParquetTable;

/// The values of a column; `None` if it isn't decoded by this crate.
pub(crate) fn read(table: &ParquetTable, column: usize, memory: &BufferManager) -> Result<Option<Vector>> {
    let groups = row_groups(table);
    let rows: Vec<usize> = groups.iter().map(|&(file, group)| table.files()[file].file.row_group_rows[group]).collect();
    let window = ReadWindow::new(memory)?;
    let mut pieces = Vec::new();
    let sample = pick_sample(&rows);
    // All at once: the windows are far apart, and a disk is fast if it knows what comes.
    for sampled in &sample {
        let (file, group) = groups[sampled.part];
        let file = &table.files()[file];
        let chunk = file.file.chunk(group, file.column(column))?;
        if let Some(pages) = &chunk.pages {
            // The dictionary, too.
            file.file.bytes.advise(chunk.start, pages[0].offset - chunk.start);
            PageReader::read_ahead(&file.file.bytes, &chunk, sampled.rows.clone());
        }
    }
    for picked in sample.chunk_by(|a, b| a.part == b.part) {
        let (file, group) = groups[picked[0].part];
        let part = &table.files()[file];
        // The windows are far apart.
        let Some(part) = part.file.part(group, part.column(column), 0..0)? else { return Ok(None) };
        let dictionary = Arc::new(SharedDictionary::default());
        let mut reader = ColumnReader::new(part, table.range(column), dictionary, &window, memory)?;
        for sampled in picked {
            let (rows, positions) = (&sampled.rows, sampled.positions());
            let values = reader.read(rows.start, rows.len(), Some(&positions))?;
            // At once, so that pages go.
            let Some(values) = sampled_values(&[values]) else { return Ok(None) };
            pieces.push(values);
        }
    }
    Ok(sampled_values(&pieces))
}

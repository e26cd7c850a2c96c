//! All values of a text column, from the dictionaries of its chunks; compressed materialization turns them into codes.
//!
//! Known only if every page of every chunk has codes and the dictionaries are small, so reading them costs little
//! compared with any query that keeps the column's rows.

use std::collections::HashSet;
use std::sync::Arc;

use godwit_common::Result;
use godwit_expression::{DOMAIN_VALUES_MAX, TextDomain};
use godwit_memory::BufferManager;
use godwit_pipeline::Table;
use godwit_vector::PhysicalType;

use crate::column::ColumnReader;
use crate::config::DOMAIN_ENTRIES_MAX;
use crate::distinct::{is_dictionary_encoded, row_groups};
use crate::page::{PageReader, ReadWindow};
use crate::table::ParquetTable;

/// Returns the values of a column; `None` if it isn't text, or too much would have to be read.
pub(crate) fn find(table: &ParquetTable, column: usize, memory: &BufferManager) -> Result<Option<Arc<TextDomain>>> {
    let groups = row_groups(table);
    let is_text = table.row_type()[column].physical == PhysicalType::Str;
    if !is_text || !groups.iter().all(|&(file, group)| is_dictionary_encoded(&table.files()[file], group, column)) {
        return Ok(None);
    }
    let window = ReadWindow::new(memory)?;
    let mut values: HashSet<Vec<u8>> = HashSet::new();
    for &(file, group) in &groups {
        let part = &table.files()[file];
        let Some(file_column) = part.column(column) else { return Ok(None) };
        let chunk = part.file.chunk(group, file_column)?;
        let mut header = PageReader::new(part.file.bytes.clone(), chunk, 0..0, window.clone(), memory)?;
        // The largest dictionaries are rejected before they are read.
        let entries = header.dictionary_entries()?;
        if entries.is_none_or(|entries| entries * groups.len() > DOMAIN_ENTRIES_MAX) {
            return Ok(None);
        }
        let Some(part) = part.file.part(group, file_column, 0..0)? else { return Ok(None) };
        let mut reader = ColumnReader::new(part, None, Arc::default(), &window, memory)?;
        let Some(dictionary) = reader.load_dictionary()? else { return Ok(None) };
        for value in dictionary.entries.values().strings().iter() {
            if !values.contains(value) {
                values.insert(value.to_vec());
            }
        }
        if values.len() > DOMAIN_VALUES_MAX {
            return Ok(None);
        }
    }
    Ok(TextDomain::new(values.iter().map(Vec::as_slice)).map(Arc::new))
}

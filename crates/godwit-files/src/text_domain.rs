//! All values of a text column, from the dictionaries of its chunks; compressed materialization turns them into codes.
//!
//! Known only if every page of every chunk has codes and the dictionaries are small, so reading them costs little
//! compared with any query that keeps the column's rows.

use std::collections::HashSet;
use std::sync::Arc;

use godwit_common::{MemoryTag, Result};
use godwit_expression::{DOMAIN_VALUES_MAX, TextDomain};
use godwit_memory::{BufferManager, Reservation};
use godwit_pipeline::Table;
use godwit_vector::{PhysicalType, StrView};

use crate::column::ColumnReader;
use crate::config::{DOMAIN_BYTES_MAX, DOMAIN_ENTRIES_MAX};
use crate::distinct::{is_dictionary_encoded, row_groups};
use crate::page::{PageReader, ReadWindow};
use crate::table::ParquetTable;

/// What a value takes besides its bytes: a slot of the table, and a vector or a view.
const ENTRY_BYTES: usize = size_of::<StrView>() + size_of::<Vec<u8>>();

/// The values of a column.
pub(crate) struct KnownDomain {
    pub domain: Arc<TextDomain>,
    _memory: Reservation,
}

/// Returns the values of a column; `None` if it isn't text, or too much would have to be read. What is read on the way is
/// accounted for with `memory`, the domain with the table's memory.
pub(crate) fn find(table: &ParquetTable, column: usize, memory: &BufferManager) -> Result<Option<KnownDomain>> {
    let groups = row_groups(table);
    let is_text = table.row_type()[column].physical == PhysicalType::Str;
    if !is_text || !groups.iter().all(|&(file, group)| is_dictionary_encoded(&table.files()[file], group, column)) {
        return Ok(None);
    }
    let window = ReadWindow::new(memory)?;
    let mut held = table.memory().reserve(0, MemoryTag::Reader)?;
    let mut values: HashSet<Vec<u8>> = HashSet::new();
    for &(file, group) in &groups {
        let part = &table.files()[file];
        let Some(file_column) = part.column(column) else { return Ok(None) };
        let chunk = part.file.chunk(group, file_column)?;
        let mut reader = PageReader::new(part.file.bytes.clone(), chunk, 0..0, window.clone(), memory)?;
        // The largest dictionaries are rejected before they are read.
        let Some(header) = reader.dictionary_header()? else { return Ok(None) };
        if header.values.saturating_mul(groups.len()) > DOMAIN_ENTRIES_MAX
            || header.uncompressed_bytes.saturating_mul(groups.len()) > DOMAIN_BYTES_MAX
        {
            return Ok(None);
        }
        let Some(part) = part.file.part(group, file_column, 0..0)? else { return Ok(None) };
        let mut reader = ColumnReader::new(part, None, Arc::default(), &window, memory)?;
        let Some(dictionary) = reader.load_dictionary()? else { return Ok(None) };
        // What its new values take as a set and then, when the domain is made of it, once more.
        held.resize(held.bytes() + 2 * (header.uncompressed_bytes + header.values * ENTRY_BYTES))?;
        for value in dictionary.entries.values().strings().iter() {
            if !values.contains(value) {
                values.insert(value.to_vec());
            }
        }
        if values.len() > DOMAIN_VALUES_MAX {
            return Ok(None);
        }
    }
    let bytes = values.iter().map(Vec::len).sum::<usize>() + values.len() * ENTRY_BYTES;
    let domain = TextDomain::new(values.iter().map(Vec::as_slice)).map(Arc::new);
    drop(values);
    held.resize(bytes)?;
    Ok(domain.map(|domain| KnownDomain { domain, _memory: held }))
}

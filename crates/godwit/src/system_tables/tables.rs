//! The structure of the database's own tables.

use std::sync::Arc;

use arrow_array::RecordBatch;
use godwit_common::Result;
use godwit_tables::TableVersion;

use super::{batch, numbers, texts};
use crate::database::Shared;

pub(super) fn rows(shared: &Shared) -> Result<RecordBatch> {
    let tables = shared.store.tables();
    let bytes = |table: &Arc<TableVersion>| {
        let segments: u64 = table.segments().iter().map(|segment| segment.bytes).sum();
        segments + table.dictionaries().iter().map(|dictionary| dictionary.bytes).sum::<u64>()
    };
    batch(vec![
        ("name", texts(tables.iter().map(|table| table.name()))),
        ("rows", numbers(tables.iter().map(|table| table.rows()))),
        ("delta_rows", numbers(tables.iter().map(|table| table.delta_rows() as u64))),
        ("deleted_rows", numbers(tables.iter().map(|table| table.deleted_rows()))),
        ("row_groups", numbers(tables.iter().map(|table| table.main().groups.len() as u64))),
        ("bytes", numbers(tables.iter().map(bytes))),
    ])
}

pub(super) fn segment_rows(shared: &Shared) -> Result<RecordBatch> {
    let tables = shared.store.tables();
    let segments: Vec<_> = tables
        .iter()
        .flat_map(|table| table.segments().into_iter().map(|segment| (table.name().to_owned(), segment)))
        .collect();
    batch(vec![
        ("table", texts(segments.iter().map(|(table, _)| table))),
        ("column", texts(segments.iter().map(|(_, segment)| &segment.column))),
        ("row_group", numbers(segments.iter().map(|(_, segment)| segment.row_group))),
        ("object", texts(segments.iter().map(|(_, segment)| &segment.object))),
        ("rows", numbers(segments.iter().map(|(_, segment)| segment.rows))),
        ("nulls", numbers(segments.iter().map(|(_, segment)| segment.nulls))),
        ("encoding", texts(segments.iter().map(|(_, segment)| &segment.encoding))),
        ("bytes", numbers(segments.iter().map(|(_, segment)| segment.bytes))),
    ])
}

pub(super) fn dictionary_rows(shared: &Shared) -> Result<RecordBatch> {
    let tables = shared.store.tables();
    let dictionaries: Vec<_> = tables
        .iter()
        .flat_map(|table| table.dictionaries().into_iter().map(|dictionary| (table.name().to_owned(), dictionary)))
        .collect();
    batch(vec![
        ("table", texts(dictionaries.iter().map(|(table, _)| table))),
        ("column", texts(dictionaries.iter().map(|(_, dictionary)| &dictionary.column))),
        ("strings", numbers(dictionaries.iter().map(|(_, dictionary)| dictionary.strings))),
        ("bytes", numbers(dictionaries.iter().map(|(_, dictionary)| dictionary.bytes))),
    ])
}

//! The sample of a version on which planning tries filters: the undeleted rows that [`pick_sample`] picks.

use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_pipeline::{SampledRows, pick_sample, sampled_values};
use godwit_storage::table::{RowGroup, WINDOW_ROWS};
use godwit_vector::{PhysicalType, Vector};

use super::reader::{ColumnReader, Dictionaries, GroupWindow};
use crate::deleted::{DELTA, Place};
use crate::version::TableVersion;

/// The sampled values of a column, from row groups and the delta; `None` for row ids and nested values, and if there
/// are no rows.
pub(crate) fn read(version: &TableVersion, column: usize, memory: &BufferManager) -> Result<Option<Vector>> {
    if version.row_type().get(column).is_none_or(|ty| ty.physical == PhysicalType::Nested) {
        return Ok(None);
    }
    let dictionaries = Dictionaries::load(version, &[column])?;
    let mut reader = ColumnReader::new(version, column, &dictionaries);
    let groups = &version.main().groups;
    let delta: Vec<_> = version.delta().chunks().iter().map(|delta| &delta.chunk).collect();
    let parts = groups.iter().map(|group| group.rows as usize).chain(delta.iter().map(|chunk| chunk.len()));
    let mut pieces = Vec::new();
    for sampled in pick_sample(&parts.collect::<Vec<_>>()) {
        match sampled.part.checked_sub(groups.len()) {
            None => {
                let rows = live_rows(version, sampled.part as Place, 0, &sampled);
                read_group(version, &mut reader, &groups[sampled.part], &rows, memory, &mut pieces)?;
            }
            Some(at) => {
                let first = delta[..at].iter().map(|chunk| chunk.len()).sum();
                let rows = live_rows(version, DELTA, first, &sampled);
                let kept = delta[at].dense(column).take(&rows);
                pieces.extend(sampled_values(&[version.delta().strings(column, &kept)]));
            }
        }
    }
    Ok(sampled_values(&pieces))
}

/// The sampled rows of a part that aren't deleted; the part begins with row `first` of its place.
fn live_rows(version: &TableVersion, place: Place, first: usize, sampled: &SampledRows) -> Vec<u32> {
    let deleted = version.deleted().of(place);
    let is_live = |row: &u32| deleted.is_none_or(|set| !set.contains(first + *row as usize));
    sampled.positions().into_iter().map(|position| sampled.rows.start as u32 + position).filter(is_live).collect()
}

/// The values of some rows of a row group, ascending, window by window.
fn read_group(
    version: &TableVersion,
    reader: &mut ColumnReader,
    group: &Arc<RowGroup>,
    rows: &[u32],
    memory: &BufferManager,
    pieces: &mut Vec<Vector>,
) -> Result<()> {
    let window_of = |row: u32| row as usize / WINDOW_ROWS * WINDOW_ROWS;
    for rows in rows.chunk_by(|&a, &b| window_of(a) == window_of(b)) {
        let start = window_of(rows[0]);
        let end = (start + WINDOW_ROWS).min(group.rows as usize);
        let window = GroupWindow::new(version, group, &(start..end), &(start..end));
        let selected: Vec<u32> = rows.iter().map(|&row| row - start as u32).collect();
        let values = reader.read(&window, Some(&selected), memory)?;
        // Copied immediately, so that blocks can be released.
        pieces.extend(sampled_values(&[values]));
    }
    Ok(())
}

//! The sample of a version on which planning tries filters: the undeleted rows that [`pick_sample`] picks.

use std::ops::Range;
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
    let live = pick_sample(&parts.collect::<Vec<_>>()).into_iter().map(|sampled| {
        let part = sampled.part;
        match part.checked_sub(groups.len()) {
            None => (part, live_rows(version, part as Place, 0, &sampled)),
            Some(at) => (part, live_rows(version, DELTA, delta[..at].iter().map(|chunk| chunk.len()).sum(), &sampled)),
        }
    });
    let live: Vec<(usize, Vec<u32>)> = live.collect();
    // All at once: one after the other, a device is waited for as often as there are windows.
    for (group, rows) in live.iter().filter_map(|(part, rows)| Some((groups.get(*part)?, rows))) {
        windows_of(group, rows).for_each(|(window, _)| group.segments[column].read_ahead_rows(&window));
    }
    let mut pieces = Vec::new();
    for (part, rows) in &live {
        match part.checked_sub(groups.len()) {
            None => read_group(version, &mut reader, &groups[*part], rows, memory, &mut pieces)?,
            Some(at) => {
                let kept = delta[at].dense(column).take(rows);
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
    for (window, rows) in windows_of(group, rows) {
        let selected: Vec<u32> = rows.iter().map(|&row| row - window.start as u32).collect();
        let window = GroupWindow::new(version, group, &window, &window);
        let values = reader.read(&window, Some(&selected), memory)?;
        // Copied immediately, so that blocks can be released.
        pieces.extend(sampled_values(&[values]));
    }
    Ok(())
}

/// The windows of a row group that have some of these rows, ascending, and the rows of each.
fn windows_of<'a>(group: &RowGroup, rows: &'a [u32]) -> impl Iterator<Item = (Range<usize>, &'a [u32])> {
    let group_rows = group.rows as usize;
    let start_of = |row: u32| row as usize / WINDOW_ROWS * WINDOW_ROWS;
    rows.chunk_by(move |&a, &b| start_of(a) == start_of(b)).map(move |rows| {
        let start = start_of(rows[0]);
        (start..(start + WINDOW_ROWS).min(group_rows), rows)
    })
}

//! Results that hold all values of their group: strings and lists.

use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, new_empty_array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::FieldRef;
use godwit_common::{Error, Result};
use godwit_vector::{Flat, StrColumn, Vector};

use super::{GroupCursor, items_of, present};

/// Joins strings.
pub(in super::super) struct Texts<'a> {
    separator: &'a [u8],
    counts: &'a [u64],
    cursor: GroupCursor<'a>,
    bytes: Vec<u8>,
    /// Current end of each group's string; 0 for groups without one.
    ends: Vec<usize>,
}

impl<'a> Texts<'a> {
    pub(super) fn new(separator: &'a str, counts: &'a [u64]) -> Self {
        let cursor = GroupCursor::new(counts);
        Self { separator: separator.as_bytes(), counts, cursor, bytes: Vec::new(), ends: vec![0; counts.len()] }
    }

    pub(super) fn add(&mut self, values: &Vector) {
        let flat = values.to_flat();
        let strings = flat.strings();
        let Self { separator, cursor, bytes, ends, .. } = self;
        cursor.advance(values.len(), |group, first, rows| {
            for row in rows.clone() {
                if first > 0 || row > rows.start {
                    bytes.extend_from_slice(separator);
                }
                bytes.extend_from_slice(strings.get(row));
            }
            ends[group] = bytes.len();
        });
    }

    pub(super) fn finish(mut self) -> Result<Vector> {
        let mut end = 0;
        for group_end in &mut self.ends {
            let begin = end;
            end = end.max(*group_end);
            *group_end = end;
            if end - begin > u32::MAX as usize {
                return Err(Error::resource("a text made by string_agg is longer than 4 GiB"));
            }
        }
        let strings = StrColumn::from_parts(self.bytes, &self.ends);
        Ok(Vector::flat(Flat::Str(strings), Some(present(self.counts))))
    }
}

/// Makes lists.
pub(in super::super) struct Lists<'a> {
    item: &'a FieldRef,
    counts: &'a [u64],
    cursor: GroupCursor<'a>,
    /// Maximum length of a list; only the first values are kept.
    rows_max: u64,
    parts: Vec<ArrayRef>,
}

impl<'a> Lists<'a> {
    pub(super) fn new(counts: &'a [u64], rows_max: u64, item: &'a FieldRef) -> Self {
        Self { item, counts, cursor: GroupCursor::new(counts), rows_max, parts: Vec::new() }
    }

    pub(super) fn add(&mut self, values: &Vector) -> Result<()> {
        let item = self.item.data_type();
        if self.rows_max == u64::MAX {
            self.parts.push(items_of(values, item)?);
            return Ok(());
        }
        let mut rows: Vec<u32> = Vec::new();
        self.cursor.advance(values.len(), |_, first, part| {
            let wanted = self.rows_max.saturating_sub(first).min(part.len() as u64) as usize;
            rows.extend(part.start as u32..(part.start + wanted) as u32);
        });
        if !rows.is_empty() {
            self.parts.push(items_of(&values.take(&rows), item)?);
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Vector> {
        let lens = || self.counts.iter().map(|&count| count.min(self.rows_max));
        let items: u64 = lens().sum();
        if i32::try_from(items).is_err() {
            return Err(Error::resource(format!("a list of {items} values; the most is {}", i32::MAX)));
        }
        let parts: Vec<&dyn arrow_array::Array> = self.parts.iter().map(|part| &**part).collect();
        let items = match parts.is_empty() {
            true => new_empty_array(self.item.data_type()),
            false => arrow_select::concat::concat(&parts).map_err(internal)?,
        };
        let offsets = OffsetBuffer::from_lengths(lens().map(|len| len as usize));
        let groups = present(self.counts);
        let nulls = NullBuffer::from_iter((0..groups.len()).map(|group| groups.get(group)));
        let lists = ListArray::try_new(self.item.clone(), offsets, items, Some(nulls)).map_err(internal)?;
        Ok(Vector::flat(Flat::Nested(Arc::new(lists)), Some(groups)))
    }
}

fn internal(error: arrow_schema::ArrowError) -> Error {
    Error::internal(error.to_string())
}

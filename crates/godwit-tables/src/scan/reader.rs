//! Reads one column of row groups.

use std::ops::Range;
use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_encoding::OrderedDictionary;
use godwit_memory::BufferManager;
use godwit_storage::table::{Main, OpenPart, RowGroup};
use godwit_vector::{PhysicalType, Vector};

use super::packed::PackedFilter;

/// The dictionaries of the columns that a scan reads, by column.
pub(super) struct Dictionaries(Vec<Option<OrderedDictionary>>);

impl Dictionaries {
    pub(super) fn load(main: &Main, columns: &[usize], memory: &BufferManager) -> Result<Self> {
        let mut dictionaries = vec![None; main.columns.len()];
        for &column in columns {
            if let Some(dictionary) = main.columns.get(column).and_then(|column| column.dictionary.as_ref()) {
                dictionaries[column] = Some(dictionary.load(memory)?);
            }
        }
        Ok(Self(dictionaries))
    }

    pub(super) fn get(&self, column: usize) -> Option<&OrderedDictionary> {
        self.0[column].as_ref()
    }
}

/// One worker's reader of a column. Holds the part that it read last.
pub(super) struct ColumnReader {
    column: usize,
    is_text: bool,
    dictionary: Option<OrderedDictionary>,
    open: Option<(Arc<RowGroup>, OpenPart)>,
}

impl ColumnReader {
    pub(super) fn new(column: usize, physical: PhysicalType, dictionaries: &Dictionaries) -> Self {
        let is_text = physical == PhysicalType::Str;
        Self { column, is_text, dictionary: dictionaries.get(column).cloned(), open: None }
    }

    /// The part with the window's rows, and the window in it.
    fn part(
        &mut self,
        group: &Arc<RowGroup>,
        window: &Range<usize>,
        memory: &BufferManager,
    ) -> Result<(&OpenPart, Range<usize>)> {
        let is_open = |(opened, part): &(Arc<RowGroup>, OpenPart)| {
            Arc::ptr_eq(opened, group) && part.rows().contains(&window.start)
        };
        if !self.open.as_ref().is_some_and(is_open) {
            self.open = None;
            let part = group.segments[self.column].part_of(window.start).open(memory)?;
            self.open = Some((group.clone(), part));
        }
        let part = &self.open.as_ref().expect("it was opened").1;
        let first = part.rows().start;
        Ok((part, window.start - first..window.end - first))
    }

    /// The values of a window, or of those of its rows that are `selected`, in ascending order.
    pub(super) fn read(
        &mut self,
        group: &Arc<RowGroup>,
        window: &Range<usize>,
        selected: Option<&[u32]>,
        memory: &BufferManager,
    ) -> Result<Vector> {
        let (is_text, dictionary) = (self.is_text, self.dictionary.clone());
        let (open, rows) = self.part(group, window, memory)?;
        let part = open.part()?;
        let values = match selected {
            Some(selected) => part.take(rows.start, selected)?,
            None => part.decode(rows)?,
        };
        match is_text && values.physical() == PhysicalType::U32 {
            true => with_dictionary(&values, dictionary.as_ref()),
            false => Ok(values),
        }
    }

    /// True if the values of the window are integers, or codes of a dictionary: what packed filters work on.
    pub(super) fn is_packed(&self, group: &RowGroup, window: &Range<usize>) -> bool {
        !self.is_text || group.segments[self.column].part_of(window.start).has_codes()
    }

    /// Clears the bits of `mask` of the window's rows that don't pass.
    pub(super) fn retain(
        &mut self,
        group: &Arc<RowGroup>,
        window: &Range<usize>,
        filter: &PackedFilter,
        mask: &mut [u64],
        memory: &BufferManager,
    ) -> Result<()> {
        if let PackedFilter::Range(wanted) = filter {
            // The bounds of the part may tell without its values.
            let header = &group.segments[self.column].part_of(window.start).header;
            let Some(range) = header.range else {
                mask.fill(0);
                return Ok(());
            };
            if wanted.max < range.min || range.max < wanted.min {
                mask.fill(0);
                return Ok(());
            }
            if header.nulls == 0 && wanted.min <= range.min && range.max <= wanted.max {
                return Ok(());
            }
        }
        let (open, rows) = self.part(group, window, memory)?;
        match filter {
            PackedFilter::Range(wanted) => open.part()?.retain_range(rows, *wanted, mask),
            PackedFilter::Codes(codes) => open.part()?.retain_codes(rows, codes, mask),
        }
    }
}

/// Codes as the strings that they stand for.
fn with_dictionary(codes: &Vector, dictionary: Option<&OrderedDictionary>) -> Result<Vector> {
    let strings = match dictionary {
        Some(dictionary) => dictionary.with_codes(codes),
        None => OrderedDictionary::from_sorted([]).with_codes(codes),
    };
    strings.ok_or_else(|| Error::corrupt("a column segment is damaged: it has a code that the dictionary doesn't have"))
}

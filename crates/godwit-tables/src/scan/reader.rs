//! Reads one column of row groups.

use std::ops::Range;
use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_encoding::OrderedDictionary;
use godwit_memory::BufferManager;
use godwit_storage::table::{Main, OpenPart, RowGroup};
use godwit_vector::{Bitmap, PhysicalType, ValueRange, Vector};

/// If fewer than one in so many rows of a window are wanted, they are read one by one, else the window is decoded.
const TAKEN_ROWS_SHARE: usize = 8;

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

    /// The values of a window, or of those of its rows that are `selected`.
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
        let few = selected.filter(|selected| selected.len() * TAKEN_ROWS_SHARE < rows.len());
        let (values, rest) = match few {
            Some(few) => {
                let rows: Vec<u32> = few.iter().map(|&row| row + rows.start as u32).collect();
                (part.take(&rows)?, None)
            }
            None => (part.decode(rows)?, selected),
        };
        let values = match is_text && values.physical() == PhysicalType::U32 {
            true => with_dictionary(&values, dictionary.as_ref())?,
            false => values,
        };
        Ok(match rest {
            Some(selected) => values.take(selected),
            None => values,
        })
    }

    /// True if the values of the window are integers, or codes of a dictionary: what packed filters work on.
    pub(super) fn is_packed(
        &mut self,
        group: &Arc<RowGroup>,
        window: &Range<usize>,
        memory: &BufferManager,
    ) -> Result<bool> {
        let is_text = self.is_text;
        let (part, _) = self.part(group, window, memory)?;
        Ok(!is_text || part.header().physical == PhysicalType::U32)
    }

    /// Appends the rows of the window whose integer or code is in `wanted`.
    pub(super) fn select_range(
        &mut self,
        group: &Arc<RowGroup>,
        window: &Range<usize>,
        wanted: ValueRange,
        selected: &mut Vec<u32>,
        memory: &BufferManager,
    ) -> Result<()> {
        let (open, rows) = self.part(group, window, memory)?;
        open.part()?.select_range(rows, wanted, selected)
    }

    /// Appends the rows of the window whose code has its bit set.
    pub(super) fn select_codes(
        &mut self,
        group: &Arc<RowGroup>,
        window: &Range<usize>,
        wanted: &Bitmap,
        selected: &mut Vec<u32>,
        memory: &BufferManager,
    ) -> Result<()> {
        let (open, rows) = self.part(group, window, memory)?;
        open.part()?.select_codes(rows, wanted, selected)
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

//! Reads one column of row groups.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::DataType;
use godwit_common::{Error, Result};
use godwit_encoding::{OrderedDictionary, PartContent};
use godwit_memory::BufferManager;
use godwit_pipeline::ColumnReads;
use godwit_storage::table::{OpenPart, RowGroup, WINDOW_ROWS};
use godwit_vector::{Dictionary, PhysicalType, Vector, nested_from_bytes};

use super::packed::PackedFilter;
use crate::codes::TextCodes;
use crate::delta::{has_codes, with_dictionary};
use crate::version::TableVersion;

/// The meaning of the codes of the columns that a scan reads, by column.
pub(super) struct Dictionaries(Vec<Texts>);

/// The meaning of the codes of a text column.
#[derive(Clone, Default)]
pub(super) struct Texts {
    main: Option<OrderedDictionary>,
    delta: Option<Arc<Dictionary>>,
    /// The codes that the scan emits, if the plan asked for them.
    codes: Option<Arc<TextCodes>>,
}

impl Dictionaries {
    pub(super) fn load(version: &TableVersion, columns: &[usize]) -> Result<Self> {
        let mut texts = vec![Texts::default(); version.row_type().len()];
        // Row ids have no dictionary.
        for &column in columns.iter().filter(|&&column| column < version.row_type().len()) {
            let main = version.main().columns[column].dictionary.as_ref();
            texts[column] = Texts {
                main: main.map(|dictionary| dictionary.load(version.memory())).transpose()?,
                delta: version.delta().dictionary(column).cloned(),
                codes: version.codes(column).cloned(),
            };
        }
        Ok(Self(texts))
    }

    /// The dictionary of the main part.
    pub(super) fn get(&self, column: usize) -> Option<&OrderedDictionary> {
        self.0[column].main.as_ref()
    }

    /// Bytes of all of them.
    pub(super) fn bytes(&self) -> u64 {
        let main = self.0.iter().filter_map(|texts| texts.main.as_ref()).map(|main| main.shared().bytes());
        let delta = self.0.iter().filter_map(|texts| texts.delta.as_ref()).map(|delta| delta.bytes());
        main.sum::<u64>() + delta.sum::<u64>()
    }

    pub(super) fn texts(&self, column: usize) -> &Texts {
        &self.0[column]
    }
}

impl Texts {
    /// Codes of the main part as strings.
    pub(super) fn of_main(&self, codes: &Vector) -> Result<Vector> {
        let strings = match &self.main {
            Some(dictionary) => dictionary.with_codes(codes),
            None => OrderedDictionary::from_sorted([]).with_codes(codes),
        };
        let unknown = "a column segment is damaged: it has a code that the dictionary doesn't have";
        let strings = strings.ok_or_else(|| Error::corrupt(unknown))?;
        let translated = self.codes.as_ref().filter(|_| self.main.is_some()).and_then(|known| known.of_main(codes));
        Ok(translated.unwrap_or(strings))
    }

    /// A column of the delta as it is kept, as strings.
    pub(super) fn of_delta(&self, kept: &Vector) -> Vector {
        match (&self.codes, &self.delta) {
            _ if !has_codes(kept) => kept.clone(),
            (Some(codes), _) => codes.of_delta(kept),
            (None, Some(dictionary)) => with_dictionary(kept, dictionary),
            (None, None) => unreachable!("a delta with codes has a dictionary"),
        }
    }

    /// The dictionary of the delta.
    pub(super) fn delta(&self) -> Option<&Arc<Dictionary>> {
        self.delta.as_ref()
    }
}

/// Rows of a row group that are read together.
pub(super) struct GroupWindow<'a> {
    version: &'a TableVersion,
    group: &'a Arc<RowGroup>,
    rows: Range<usize>,
    /// Where the rows of the morsel end in the row group.
    morsel_end: usize,
}

impl<'a> GroupWindow<'a> {
    /// The window `rows` of a morsel of a row group of `version`.
    pub(super) fn new(
        version: &'a TableVersion,
        group: &'a Arc<RowGroup>,
        rows: &Range<usize>,
        morsel: &Range<usize>,
    ) -> Self {
        Self { version, group, rows: rows.clone(), morsel_end: morsel.end }
    }

    /// Rows of the table before the row group.
    fn first_row(&self) -> u64 {
        let groups = self.version.main().groups.iter();
        groups.take_while(|group| !Arc::ptr_eq(group, self.group)).map(|group| u64::from(group.rows)).sum()
    }
}

/// One worker's reader of a column. Holds on to the part that it read last.
pub(super) struct ColumnReader {
    column: usize,
    /// Values are strings, or become them.
    is_text: bool,
    /// The type of values that are kept as bytes.
    nested: Option<DataType>,
    texts: Texts,
    open: Option<(Arc<RowGroup>, OpenPart)>,
    reads: ColumnReads,
}

impl ColumnReader {
    pub(super) fn new(version: &TableVersion, column: usize, dictionaries: &Dictionaries) -> Self {
        let is_text = version.stored_types()[column] == PhysicalType::Str;
        let ty = &version.row_type()[column];
        let texts = dictionaries.texts(column).clone();
        let nested = (ty.physical == PhysicalType::Nested).then(|| ty.logical.clone());
        Self { column, is_text, nested, texts, open: None, reads: ColumnReads::default() }
    }

    /// The part with the window's rows, and the window in it.
    fn part(&mut self, window: &GroupWindow<'_>, memory: &BufferManager) -> Result<(&OpenPart, Range<usize>)> {
        let (group, rows) = (window.group, &window.rows);
        let is_open = |(opened, part): &(Arc<RowGroup>, OpenPart)| {
            Arc::ptr_eq(opened, group) && part.rows().contains(&rows.start)
        };
        if !self.open.as_ref().is_some_and(is_open) {
            self.open = None;
            let segment = &group.segments[self.column];
            let opened = segment.open_rows(&(rows.start..window.morsel_end), memory)?;
            if godwit_trace::is_on() {
                opened.declare(segment, window.first_row());
            }
            let bytes = opened.header().body_bytes.into();
            if let Some(object) = segment.object() {
                let wanted = window.morsel_end.min(opened.rows().end) - rows.start;
                match wanted <= WINDOW_ROWS {
                    true => object.note_lookup(wanted, bytes),
                    false => object.note_scan(wanted, bytes),
                }
            }
            self.reads += ColumnReads { bytes, pages: 1, pages_cached: 0 };
            self.open = Some((group.clone(), opened));
        }
        let part = &self.open.as_ref().expect("it was opened").1;
        let first = part.rows().start;
        Ok((part, rows.start - first..rows.end - first))
    }

    /// The reads since the last call.
    pub(super) fn take_reads(&mut self) -> ColumnReads {
        std::mem::take(&mut self.reads)
    }

    /// The values of a window, or of those of its rows that are `selected`, in ascending order.
    pub(super) fn read(
        &mut self,
        window: &GroupWindow<'_>,
        selected: Option<&[u32]>,
        memory: &BufferManager,
    ) -> Result<Vector> {
        let is_nested = self.nested.is_some();
        let (open, rows) = self.part(window, memory)?;
        let part = open.part()?;
        let has_codes = open.header().content == PartContent::Codes;
        let lists = match selected {
            _ if !is_nested => None,
            Some(selected) => part.take_lists(rows.start, selected)?,
            None => part.decode_lists(rows.clone())?,
        };
        if let Some(lists) = lists {
            return lists.to_nested(self.nested.as_ref().expect("lists are nested"));
        }
        let values = match selected {
            Some(selected) => part.take(rows.start, selected)?,
            None => part.decode(rows)?,
        };
        let values = if has_codes { self.texts.of_main(&values)? } else { values };
        self.unpacked(values)
    }

    /// The values of a column of the delta.
    pub(super) fn read_delta(&self, kept: &Vector) -> Result<Vector> {
        self.unpacked(if self.is_text { self.texts.of_delta(kept) } else { kept.clone() })
    }

    /// Decodes nested values from their stored bytes; leaves all others unchanged.
    fn unpacked(&self, values: Vector) -> Result<Vector> {
        match &self.nested {
            Some(ty) => nested_from_bytes(&values, ty),
            None => Ok(values),
        }
    }

    /// True if a column of the delta is kept as codes.
    pub(super) fn is_coded(&self, kept: &Vector) -> bool {
        self.is_text && has_codes(kept)
    }

    /// True if the values of the window are integers, or codes of a dictionary, which packed filters work on.
    pub(super) fn is_packed(&self, window: &GroupWindow<'_>) -> bool {
        !self.is_text || window.group.segments[self.column].part_of(window.rows.start).has_codes()
    }

    /// Clears the bits of `mask` of the window's rows that don't pass.
    pub(super) fn retain(
        &mut self,
        window: &GroupWindow<'_>,
        filter: &PackedFilter,
        mask: &mut [u64],
        memory: &BufferManager,
    ) -> Result<()> {
        if let PackedFilter::Range(wanted) = filter {
            // The bounds of the part may decide without its values.
            let header = &window.group.segments[self.column].part_of(window.rows.start).header;
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
        let (open, rows) = self.part(window, memory)?;
        match filter {
            PackedFilter::Range(wanted) => open.part()?.retain_range(rows, *wanted, mask),
            PackedFilter::Codes(codes) => open.part()?.retain_codes(rows, codes, mask),
        }
    }
}

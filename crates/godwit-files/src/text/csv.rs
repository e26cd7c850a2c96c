//! Records and fields of CSV.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

/// Which characters separate and quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    pub delimiter: u8,
    pub quote: u8,
    /// The escape character for a quote in a quoted field; `None`: the quote itself.
    pub escape: Option<u8>,
}

impl Dialect {
    /// A quote in a quoted field is written twice.
    pub(super) fn escapes_by_quote(&self) -> bool {
        self.escape.is_none_or(|escape| escape == self.quote)
    }
}

/// Reads the records of some bytes.
pub(super) struct Records {
    core: Reader,
    at: usize,
    fields: Vec<u8>,
    ends: Vec<usize>,
}

/// Room for the fields of usual records; it grows.
const FIELD_BYTES: usize = 1 << 10;
const FIELDS: usize = 64;

impl Records {
    /// Records from the beginning of bytes, the first of which is in a line of this number.
    pub(super) fn new(dialect: &Dialect, first_line: u64) -> Self {
        let mut builder = ReaderBuilder::new();
        builder.delimiter(dialect.delimiter).quote(dialect.quote);
        if let Some(escape) = dialect.escape.filter(|&escape| escape != dialect.quote) {
            builder.escape(Some(escape)).double_quote(false);
        }
        let mut core = builder.build();
        core.set_line(first_line);
        Self { core, at: 0, fields: vec![0; FIELD_BYTES], ends: vec![0; FIELDS] }
    }

    /// The approximate line of the next record: empty lines before it don't count.
    pub(super) fn line(&self) -> u64 {
        self.core.line()
    }

    /// Where the next record begins, or the rest of the line break before it.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The fields of the next record of `bytes`, always the same bytes; `None` at their end. Empty lines aren't
    /// records.
    pub(super) fn next(&mut self, bytes: &[u8]) -> Option<Fields<'_>> {
        let (mut written, mut count) = (0, 0);
        loop {
            let (fields, ends) = (&mut self.fields[written..], &mut self.ends[count..]);
            let (result, read, bytes_out, ends_out) = self.core.read_record(&bytes[self.at..], fields, ends);
            self.at += read;
            written += bytes_out;
            count += ends_out;
            match result {
                // At the end, nothing to read says that nothing follows.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.fields.resize(self.fields.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record => return Some(Fields { bytes: &self.fields, ends: &self.ends[..count] }),
                ReadRecordResult::End => return None,
            }
        }
    }
}

/// The fields of a record, with quotes and escapes removed.
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    ends: &'a [usize],
}

impl<'a> Fields<'a> {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, index: usize) -> &'a [u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }
}

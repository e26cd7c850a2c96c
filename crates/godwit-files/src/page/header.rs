//! Page headers: Thrift structures in compact protocol.
//!
//! Only the fields needed for decoding are kept; all others, above all statistics, are skipped without being built.
//! Every read is checked against the available bytes: the header of a damaged file is an error, never a panic.

use godwit_common::{Error, Result};

use crate::thrift::{Compact, Parsed, Stop, Wire};

/// The kind of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageKind {
    /// Dictionary entries.
    Dictionary,
    /// Rows, format version 1: levels and values are compressed together.
    DataV1,
    /// Rows, format version 2: uncompressed levels are in front of the values.
    DataV2 {
        /// Bytes of the repetition levels.
        repetition_bytes: usize,
        /// Bytes of the definition levels.
        definition_bytes: usize,
        /// False if the values are stored uncompressed, whatever the codec of the chunk.
        is_compressed: bool,
    },
    /// Anything else; skipped by readers.
    Other,
}

/// The encoding of a page's values; numbers as in the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueEncoding {
    /// Values in sequence.
    Plain,
    /// Codes into the dictionary page.
    Dictionary,
    /// Runs and bit-packed groups (booleans).
    Rle,
    /// An encoding unknown to this decoder.
    Other(i32),
}

impl ValueEncoding {
    fn of(number: i32) -> Self {
        match number {
            0 => ValueEncoding::Plain,
            2 | 8 => ValueEncoding::Dictionary,
            3 => ValueEncoding::Rle,
            other => ValueEncoding::Other(other),
        }
    }
}

/// The header in front of every page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageHeader {
    /// The kind of the page.
    pub kind: PageKind,
    /// Number of values, including NULLs.
    pub values: usize,
    /// Encoding of the values.
    pub encoding: ValueEncoding,
    /// Bytes that follow the header in the file.
    pub compressed_bytes: usize,
    /// Decompressed size of the page.
    pub uncompressed_bytes: usize,
}

impl PageHeader {
    /// Returns false if the page's values are stored as they are, whatever the codec of its column.
    pub(crate) fn is_compressed(&self) -> bool {
        match self.kind {
            PageKind::DataV2 { is_compressed, .. } => is_compressed,
            PageKind::Dictionary | PageKind::DataV1 | PageKind::Other => true,
        }
    }

    /// Parses the header at the start of `bytes`; also returns its length. `None` if `bytes` end inside it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(PageHeader, usize)>> {
        let mut input = Compact::new(bytes);
        match parse_page_header(&mut input) {
            Ok(header) => Ok(Some((header, input.position()))),
            Err(Stop::End) => Ok(None),
            Err(Stop::Invalid(what)) => Err(Error::corrupt(format!("invalid page header: {what}"))),
        }
    }
}

/// Fields of the data and dictionary page headers, which number them differently.
#[derive(Default)]
struct Details {
    values: Option<i32>,
    encoding: Option<i32>,
    repetition_bytes: i32,
    definition_bytes: i32,
    is_uncompressed: bool,
}

fn parse_page_header(input: &mut Compact<'_>) -> Parsed<PageHeader> {
    let (mut page_type, mut uncompressed, mut compressed) = (None, None, None);
    let mut details = Details::default();
    input.fields(|input, id, wire| {
        match id {
            1 => page_type = Some(input.i32(wire)?),
            2 => uncompressed = Some(input.i32(wire)?),
            3 => compressed = Some(input.i32(wire)?),
            5 | 7 if wire == Wire::STRUCTURE => input.fields(|input, id, wire| {
                match id {
                    1 => details.values = Some(input.i32(wire)?),
                    2 => details.encoding = Some(input.i32(wire)?),
                    _ => input.skip(wire, 0)?,
                }
                Ok(())
            })?,
            8 if wire == Wire::STRUCTURE => input.fields(|input, id, wire| {
                match id {
                    1 => details.values = Some(input.i32(wire)?),
                    4 => details.encoding = Some(input.i32(wire)?),
                    5 => details.definition_bytes = input.i32(wire)?,
                    6 => details.repetition_bytes = input.i32(wire)?,
                    7 => details.is_uncompressed = wire == Wire::FALSE,
                    _ => input.skip(wire, 0)?,
                }
                Ok(())
            })?,
            _ => input.skip(wire, 0)?,
        }
        Ok(())
    })?;
    let size =
        |value: Option<i32>, what| value.and_then(|value| usize::try_from(value).ok()).ok_or(Stop::Invalid(what));
    let kind = match page_type {
        Some(0) => PageKind::DataV1,
        Some(2) => PageKind::Dictionary,
        Some(3) => PageKind::DataV2 {
            repetition_bytes: size(Some(details.repetition_bytes), "length of repetition levels")?,
            definition_bytes: size(Some(details.definition_bytes), "length of definition levels")?,
            is_compressed: !details.is_uncompressed,
        },
        Some(_) => PageKind::Other,
        None => return Err(Stop::Invalid("no page type")),
    };
    let is_read = kind != PageKind::Other;
    Ok(PageHeader {
        kind,
        values: if is_read { size(details.values, "number of values")? } else { 0 },
        encoding: ValueEncoding::of(details.encoding.unwrap_or(-1)),
        compressed_bytes: size(compressed, "compressed size")?,
        uncompressed_bytes: size(uncompressed, "uncompressed size")?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A data page of version 1: 300 values, PLAIN, 1000 of 2000 bytes, with statistics (a struct with a binary).
    const DATA_V1: &[u8] = &[
        0x15, 0x00, 0x15, 0xA0, 0x1F, 0x15, 0xD0, 0x0F, 0x2C, 0x15, 0xD8, 0x04, 0x15, 0x00, 0x15, 0x06, 0x15, 0x06,
        0x1C, 0x18, 0x02, 0xAA, 0xBB, 0x00, 0x00, 0x00,
    ];

    #[test]
    fn a_data_page_header_is_read_and_its_statistics_are_skipped() {
        let (header, length) = PageHeader::parse(DATA_V1).unwrap().unwrap();
        let expected = PageHeader {
            kind: PageKind::DataV1,
            values: 300,
            encoding: ValueEncoding::Plain,
            compressed_bytes: 1000,
            uncompressed_bytes: 2000,
        };
        assert_eq!((header, length), (expected, DATA_V1.len()));
        for cut in 0..DATA_V1.len() {
            assert_eq!(PageHeader::parse(&DATA_V1[..cut]).unwrap(), None, "{cut}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = PageHeader::parse(&bytes);
        }
    }
}
